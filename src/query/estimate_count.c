/*
 * estimate_count.c
 *		How many rows have keys that a query asks for, from the index alone.
 *
 * Rows of covered ranges are in runs, whose inner pages count the rows before each child: two
 * descents tell how many lie between two keys, exactly but for two leaves.  Of boxes, which are no
 * interval of keys, the entries are looked at one by one.  Pending entries are compared one by one,
 * too.
 *
 * What is not covered has no ranks.  A page there is taken to have as many rows as one that is
 * covered, or, if none is, as one of the table has according to its statistics.  Which part of them
 * is asked for, is told by the least and greatest key of a sealed group, or of a range: between the
 * two, keys are taken to lie evenly.  Of unsummarized ranges not even these are known: their part
 * is that of all others.
 *
 * Runs may be taken away meanwhile, which their numbers tell (INV-12): then it begins anew.
 */
#include "query/estimate_count.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/plancat.h"

#include "store/group.h"
#include "store/pending.h"
#include "store/run_pages.h"

/* In how many parts the keys of a group are compared with boxes. */
#define BOX_PARTS	1024

/* How far the rows of a table may be off that VACUUM has counted in part, or ANALYZE. */
#define STATISTICS_ERROR	1.1

/* What is known of the ranges of a group. */
typedef struct CountedGroup
{
	uint32		run;			/* that it names, 0: none */
	uint64		cut;
	double		covered;		/* heap pages, or noted */
} CountedGroup;

typedef struct RowCount
{
	Relation	index;
	RencoderQuery *query;
	RencoderMeta meta;
	BlockNumber nblocks;		/* of the table */
	RencoderRuns runs;
	uint32		ngroups;
	CountedGroup *group;
	double		covered;		/* heap pages, or noted */
	double		unsummarized;	/* likewise */
	double		rate;			/* rows with a key on a page that is covered */

	/* Rows with a key, and those asked for. */
	double		total;
	double		found;

	/* Corruption only if no run and no pending page has gone. */
	const char *fault;
	BlockNumber fault_blkno;
} RowCount;

/* Heap pages of a range that exist. */
static double
range_pages(const RowCount *c, uint32 group, uint32 slot)
{
	uint64		first = ((uint64) group * RENC_GROUP_RANGES + slot) * c->meta.pages_per_range;

	return first >= c->nblocks ? 0 : (double) Min(c->meta.pages_per_range, c->nblocks - first);
}

static double
group_pages(const RowCount *c, uint32 group)
{
	double		pages = 0;

	for (uint32 slot = 0; slot < RENC_GROUP_RANGES; slot++)
		pages += range_pages(c, group, slot);
	return pages;
}

static bool
note_count_fault(RowCount *c, BlockNumber blkno, const char *fault)
{
	c->fault = fault;
	c->fault_blkno = blkno;
	return false;
}

/* ---- Runs ---- */

static bool
note_run_fault(RowCount *c, const RencoderRunReader *reader, const char *failure, BlockNumber blkno)
{
	const char *fault = rencoder_run_reader_fault(reader, failure, &blkno);

	return note_count_fault(c, blkno, fault);
}

/* Rows of the tree whose keys are in the interval. */
static bool
rows_between(RowCount *c, RencoderRunReader *reader, renc_run_ranker *ranker,
			 renc_interval interval, double *rows)
{
	renc_run_count below;
	renc_run_count upto;
	const char *wrong = renc_run_rank(ranker, interval.lo, RENC_RUN_BELOW, &below);

	if (wrong == NULL)
		wrong = renc_run_rank(ranker, interval.hi, RENC_RUN_UPTO, &upto);
	if (wrong != NULL)
		return note_run_fault(c, reader, wrong, ranker->failed_page);
	*rows = Max(upto.rows - below.rows, 0);
	return true;
}

/* The same for boxes.  A cell that they cut counts by the part of it that is in them. */
static bool
rows_in_boxes(RowCount *c, RencoderRunReader *reader, const RencoderRunColumn *column,
			  const RencoderKeySet *keys, double *rows)
{
	RencoderIntervals cover = {0};
	renc_interval_set set;
	renc_run_search search;
	double		entries = 0;

	rencoder_boxes_cover(&keys->boxes, &cover);
	set.interval = cover.interval;
	set.n = cover.n;
	renc_run_search_begin(&search, &reader->run, rencoder_run_read, reader, &set);
	while (renc_run_search_next(&search))
	{
		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; i < search.n; i++)
			entries += rencoder_boxes_part(&keys->boxes, renc_run_entry_lo(&search, i),
										   renc_run_entry_hi(&search, i));
	}
	if (search.failure != NULL)
		return note_run_fault(c, reader, search.failure, search.failed_page);
	*rows = entries * (double) column->rows / Max((double) column->entries, 1);
	return true;
}

/* Rows of a run that are asked for. */
static bool
rows_of_run(RowCount *c, const RencoderRunEntry *entry, const RencoderRunInfoData *info,
			double *rows)
{
	const RencoderRunColumn *column = &info->column[0];
	const RencoderKeySet *keys = rencoder_key_set(c->query, 0, column->coder);
	RencoderRunReader reader;
	renc_run_ranker ranker;
	bool		sound = true;

	*rows = 0;
	if (keys == NULL)
		return note_count_fault(c, entry->info, "The coder of its keys is missing.");
	if (keys->none || !rencoder_run_reader_begin(&reader, c->index, info, 0))
		return true;
	renc_run_ranker_init(&ranker, &reader.run, rencoder_run_read, &reader, true);
	if (keys->boxes.n > 0)
		sound = rows_in_boxes(c, &reader, column, keys, rows);
	for (size_t i = 0; i < keys->set.n && keys->boxes.n == 0 && sound; i++)
	{
		double		between = 0;

		sound = rows_between(c, &reader, &ranker, keys->set.interval[i], &between);
		*rows += between;
	}
	rencoder_run_reader_end(&reader);
	return sound;
}

/*
 * Which part of a run's rows still counts?  Of a base run what is covered by it: groups may name a
 * newer one already, and ranges be desummarized.  Of a delta what is in no base run yet, of the
 * groups that it has keys of.
 */
static double
run_weight(const RowCount *c, const RencoderRunEntry *entry, const RencoderRunColumn *column)
{
	uint64		end = Min((uint64) entry->first_group + entry->ngroups, c->ngroups);
	double		pages = 0;
	double		all = 0;

	for (uint64 g = entry->first_group; g < end; g++)
	{
		const CountedGroup *group = &c->group[g];

		all += group->covered;
		if (entry->kind == RENCODER_RUN_BASE ? group->run == entry->number :
			group->cut < entry->upto)
			pages += group->covered;
	}
	if (entry->kind == RENCODER_RUN_BASE)
		return Min(1, pages / Max(column->npages, 1));
	return pages / Max(all, 1);
}

static bool
count_runs(RowCount *c)
{
	for (uint32 i = 0; i < c->runs.list.n; i++)
	{
		const RencoderRunEntry *entry = &c->runs.list.entry[i];
		const char *fault;
		RencoderRunInfo info;
		double		rows;
		double		weight;

		if (entry->state != RENCODER_RUN_LIVE)
			continue;
		info = rencoder_run_trees(c->index, entry, 1, NULL, NULL, &fault);
		if (info == NULL)
			return note_count_fault(c, entry->info, fault);
		if (!rows_of_run(c, entry, info, &rows))
			return false;
		weight = run_weight(c, entry, &info->column[0]);
		c->found += weight * rows;
		c->total += weight * (double) info->column[0].rows;
		pfree(info);
	}
	return true;
}

/* ---- Pending list ---- */

static bool
count_pending_entry(RowCount *c, const RencoderPendingEntry *entry, uint64 number, BlockNumber blkno)
{
	uint32		group = rencoder_group_of_range(rencoder_range_of_block(&c->meta, entry->page));
	const RencoderKeySet *keys;

	/*
	 * Its base run may have it already; in groups of filters it counts with
	 * the pages.
	 */
	if (entry->page >= c->nblocks || (entry->nulls & 1) || group >= c->ngroups ||
		number <= c->group[group].cut)
		return true;
	keys = rencoder_key_set(c->query, 0, rencoder_pending_coders(entry, c->meta.natts)[0]);
	if (keys == NULL)
		return note_count_fault(c, blkno, "The coder of its keys is missing.");
	c->total++;
	c->found += rencoder_key_set_meets_bounds(keys, entry->key[0], entry->key[0]);
	return true;
}

static bool
count_pending(RowCount *c)
{
	RencoderPendingWalk walk;

	rencoder_pending_walk_begin(&walk, c->index, c->runs.pending_first,
								c->runs.pending_first_number, c->runs.pending_last_number);
	while (rencoder_pending_walk_next(&walk))
	{
		for (int i = 0; i < walk.copy.nentries; i++)
		{
			if (!count_pending_entry(c, rencoder_pending_entry(&walk.copy, i), walk.number, walk.blkno))
				return false;
		}
	}
	rencoder_pending_walk_end(&walk);
	return walk.fault == NULL || note_count_fault(c, walk.blkno, walk.fault);
}

/* ---- What is not covered ---- */

/* The part of the keys from min to max that is asked for, if they lie evenly. */
static double
part_asked(const RencoderKeySet *keys, uint64 min, uint64 max)
{
	const renc_interval_set *set = &keys->set;
	uint64		step = (max - min) / BOX_PARTS + 1;
	double		part = 0;
	double		n = 0;

	for (size_t i = renc_interval_set_first(set, min); i < set->n && set->interval[i].lo <= max; i++)
		part += ((double) (Min(max, set->interval[i].hi) - Max(min, set->interval[i].lo)) + 1) /
			((double) (max - min) + 1);
	if (keys->boxes.n == 0)
		return Min(1, part);
	part = 0;
	for (uint64 lo = min;; lo += step)
	{
		uint64		hi = max - lo < step ? max : lo + step - 1;
		renc_overlap overlap = keys->query.overlap(keys->query.arg, lo, hi);

		part += overlap == RENC_INSIDE ? 1 : overlap == RENC_PARTIAL ? 0.5 : 0;
		n++;
		if (hi == max)
			return part / n;
	}
}

static void
add_uncovered(RowCount *c, double pages, double part)
{
	c->total += c->rate * pages;
	c->found += c->rate * pages * part;
}

/* Pages whose keys lie from min to max. */
static bool
count_between(RowCount *c, double pages, uint32 coder, uint64 min, uint64 max, BlockNumber named_by)
{
	const RencoderKeySet *keys = rencoder_key_set(c->query, 0, coder);

	if (keys == NULL)
		return note_count_fault(c, named_by, "The coder of its keys is missing.");
	add_uncovered(c, pages,
				  rencoder_key_set_meets_bounds(keys, min, max) ? part_asked(keys, min, max) : 0);
	return true;
}

/* The ranges of a group that are not covered, one by one, if its header does not say "no key". */
static bool
count_ranges(RowCount *c, const RencoderGroup *group, RencoderHeader header)
{
	rencoder_group_copy_header(group, 0, header);
	for (uint32 slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (!renc_mask_test(rencoder_header_filtered(header), slot) ||
			header->min[slot] > header->max[slot])
			continue;
		if (!count_between(c, range_pages(c, group->number, slot), header->config.coder,
						   header->min[slot], header->max[slot], group->header))
			return false;
	}
	return true;
}

/* Groups of filters, and those that are covered in part. */
static bool
count_uncovered(RowCount *c)
{
	RencoderHeader header = palloc(sizeof(RencoderHeaderData));
	RencoderEntry entry = palloc(c->meta.entry_size);
	bool		sound = true;

	for (uint32 g = 0; g < c->ngroups && sound; g++)
	{
		RencoderGroup group = {c->index, &c->meta, g, RENCODER_NO_BLOCK, RENCODER_NO_BLOCK};

		CHECK_FOR_INTERRUPTS();
		if (c->group[g].covered >= group_pages(c, g))
			continue;
		group.directory = rencoder_directory_read(c->index, &c->meta, NULL, g, NULL, entry);
		group.header = entry->header;
		if (group.header == RENCODER_NO_BLOCK)
			continue;
		if (!(entry->flags & RENCODER_ENTRY_SEALED) || entry->run != 0)
			sound = count_ranges(c, &group, header);
		else if (entry->column[0].min <= entry->column[0].max)
			sound = count_between(c, group_pages(c, g), entry->column[0].config.coder,
								  entry->column[0].min, entry->column[0].max, group.directory);
	}
	pfree(entry);
	pfree(header);
	return sound;
}

/* ---- All of it ---- */

static void
look_at_ranges(RowCount *c, const RencoderGroup *group, RencoderHeader header)
{
	CountedGroup *counted = &c->group[group->number];

	rencoder_group_copy_header(group, 0, header);
	counted->run = header->run;
	counted->cut = header->run == 0 && renc_mask_empty(rencoder_set_get(header->noted)) ?
		PG_UINT64_MAX : rencoder_group_least_cut(header);
	for (uint32 slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		double		pages = range_pages(c, group->number, slot);

		if (rencoder_set_test(header->covered, slot) || rencoder_set_test(header->noted, slot))
			counted->covered += pages;
		else if (!rencoder_set_test(header->summarized, slot))
			c->unsummarized += pages;
	}
}

/* Which pages are covered, and by which run. */
static void
look_at_groups(RowCount *c)
{
	RencoderMetaPageData *metadata = rencoder_meta_copy(c->index);
	RencoderHeader header = palloc(sizeof(RencoderHeaderData));
	RencoderEntry entry = palloc(c->meta.entry_size);

	for (uint32 g = 0; g < c->ngroups; g++)
	{
		RencoderGroup group = {c->index, &c->meta, g, RENCODER_NO_BLOCK, RENCODER_NO_BLOCK};

		CHECK_FOR_INTERRUPTS();
		group.directory = rencoder_directory_read(c->index, &c->meta, metadata, g, NULL, entry);
		group.header = entry->header;
		if (group.header == RENCODER_NO_BLOCK)
			c->unsummarized += group_pages(c, g);
		else if (entry->flags & RENCODER_ENTRY_COVERED)
		{
			c->group[g].run = entry->run;
			c->group[g].cut = entry->cut;
			c->group[g].covered = group_pages(c, g);
		}
		else if (entry->flags & RENCODER_ENTRY_SEALED)
			c->group[g].cut = PG_UINT64_MAX;
		else
			look_at_ranges(c, &group, header);
		c->covered += c->group[g].covered;
	}
	pfree(entry);
	pfree(header);
	pfree(metadata);
}

/* Rows of the table, as far as VACUUM and ANALYZE know; < 0: not at all. */
static double
rows_of_table(Relation heap, BlockNumber nblocks)
{
	const FormData_pg_class *form = heap->rd_rel;

	if (form->reltuples < 0 || form->relpages <= 0)
		return -1;
	return form->reltuples / form->relpages * nblocks;
}

/*
 * What the planner takes for the rows of a table that has no statistics: as from PostgreSQL 18 on a
 * new one without autovacuum, whose CREATE INDEX leaves none.
 */
static double
guessed_rows(Relation heap)
{
	BlockNumber pages;
	double		rows;
	double		visible;

	estimate_rel_size(heap, NULL, &pages, &rows, &visible);
	return rows;
}

/* Counts; false: a page was not what it should be. */
static bool
count_rows(RowCount *c, Relation heap, double table_rows)
{
	look_at_groups(c);
	if (!count_runs(c) || !count_pending(c))
		return false;
	if (c->covered > 0)
		c->rate = c->total / c->covered;
	else
		c->rate = (table_rows >= 0 ? table_rows : guessed_rows(heap)) / Max(c->nblocks, 1);
	if (!count_uncovered(c))
		return false;
	add_uncovered(c, c->unsummarized, c->total > 0 ? c->found / c->total : 0);
	return true;
}

double
rencoder_estimate_count_rows(Relation index, Relation heap, RencoderQuery *query)
{
	RowCount	c = {.index = index,.query = query};
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	double		table_rows = rows_of_table(heap, nblocks);

	if (query->empty)
		return 0;
	for (;;)
	{
		uint64		changes = c.runs.changes;
		const char *fault = c.fault;
		BlockNumber blkno = c.fault_blkno;

		memset(&c, 0, sizeof(c));
		c.index = index;
		c.query = query;
		c.meta = *rencoder_meta_get(index);
		c.nblocks = nblocks;
		c.ngroups = rencoder_group_count(rencoder_range_count(&c.meta, nblocks));
		c.group = palloc0(Max(c.ngroups, 1) * sizeof(CountedGroup));
		rencoder_runs_look(index, &c.runs, NULL);
		if (fault != NULL && c.runs.changes == changes)
			rencoder_page_corrupted(index, blkno, fault);
		if (count_rows(&c, heap, table_rows))
			break;
		pfree(c.group);
	}

	/*
	 * Dead rows stay in runs until these are made anew.  Where they were is
	 * not known, and how many they are only if they are many.
	 */
	if (table_rows >= 0 && c.total > table_rows * STATISTICS_ERROR)
		c.found *= table_rows / c.total;
	return rint(c.found);
}
