/*
 * make_delta.c
 *		Deltas: runs of the entries of the pending list.
 *
 * src/README.md (section 7, Delta) has the steps, README.md which deltas a new one takes in.  All that
 * it is made of is read as often as it has trees, and sorted tree by tree.  Closed pages and LIVE runs
 * do not change, and go only by the hand of the maintainer, whom the caller is (INV-7).
 *
 * An entry is left out if it is not needed (INV-13).
 */
#include "make/make_delta.h"

#include <math.h>

#include "access/htup_details.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "make/run_sorter.h"
#include "make/shrink.h"
#include "store/pending.h"
#include "store/run_pages.h"
#include "store/stats_page.h"

/* Pages of a delta, beside the one that describes it, for each page of the pending list. */
#define PENDING_PART	0.5

/* With more runs than this in the catalog, all deltas become one. */
#define CROWDED			48

/* A factor: all deltas, even one alone. */
#define ALL_DELTAS		PG_INT32_MAX

/* What a delta is made of. */
typedef struct Merge
{
	Relation	index;
	int			natts;
	RencoderCatalog catalog;	/* as it is before */
	uint64		since;			/* deltas up to this pending page stay */
	uint64		upto;			/* the last pending page to take, 0: none */
	int			nmerged;
	uint32		merged[RENCODER_MAX_RUNS];	/* numbers of deltas to merge */
	RencoderRunInfo info[RENCODER_MAX_RUNS];

	/* What was found there. */
	List	   *coders[RENCODER_MAX_TREES]; /* of each tree: its generations */
	int			ngenerations;	/* of the tree that has the most */
	uint64		npages;			/* of the heap: number of the last + 1 */
	uint64		first_page;		/* of the heap */
	renc_places places;			/* that it names */
} Merge;

/* ---- The pending list ---- */

typedef void (*EntryVisitor) (Merge *m, const RencoderPendingEntry *entry, void *arg);

/* Visits the entries of the pages to take, from the oldest on. */
static void
visit_pending(Merge *m, EntryVisitor visit, void *arg)
{
	RencoderPendingWalk walk;

	if (m->upto == 0)
		return;
	rencoder_pending_walk_begin(&walk, m->index, &m->catalog.pending, m->upto);
	while (rencoder_pending_walk_next(&walk))
	{
		rencoder_vacuum_delay_point();
		for (int i = 0; i < walk.copy.nentries; i++)
		{
			const RencoderPendingEntry *entry = rencoder_pending_entry(&walk.copy, i);

			if (rencoder_catalog_needs(&m->catalog, entry->page, walk.number))
				visit(m, entry, arg);
		}
	}
	if (walk.fault != NULL)
		rencoder_page_corrupted(m->index, walk.blkno, walk.fault);
	rencoder_pending_walk_end(&walk);
}

/* Notes that a tree has entries of that generation, on heap pages "first" to before "npages". */
static void
note_entries(Merge *m, int tree, uint32 coder, uint64 first, uint64 npages)
{
	m->first_page = Min(m->first_page, first);
	m->coders[tree] = list_append_unique_oid(m->coders[tree], coder);
	m->ngenerations = Max(m->ngenerations, list_length(m->coders[tree]));
	m->npages = Max(m->npages, npages);
}

static void
note_entry(Merge *m, const RencoderPendingEntry *entry, void *arg)
{
	if (*rencoder_pending_line_pointer(entry, m->natts) == 0)
		m->places = renc_whole_pages();
	for (int col = 0; col < m->natts; col++)
	{
		int			tree = rencoder_pending_tree(entry, m->natts, col);

		note_entries(m, tree, rencoder_pending_coders(entry, m->natts)[col], entry->page,
					 (uint64) entry->page + 1);
	}
}

/* Where keys go. */
typedef struct Target
{
	RencoderRunSorter *sorter;	/* NULL: they are counted */
	uint64	   *count;			/* by pieces of so many pages, */
	BlockNumber piece;
	int			npieces;		/* and so many pieces */
	int			tree;
	uint32		coder;			/* keys of this generation */
} Target;

static void
add_delta_target_key(const Merge *m, const Target *target, uint64 key, BlockNumber page, uint32 row,
					 uint32 rows)
{
	if (target->sorter != NULL)
		rencoder_run_sorter_add(target->sorter, key, renc_place_of(&m->places, page, row), rows);
	else if (page / target->piece < (BlockNumber) target->npieces)
		target->count[page / target->piece] += rows;
}

static void
merge_pending_entry(Merge *m, const RencoderPendingEntry *entry, void *arg)
{
	const Target *target = (const Target *) arg;
	int			col = target->tree % m->natts;

	if (rencoder_pending_tree(entry, m->natts, col) == target->tree &&
		rencoder_pending_coders(entry, m->natts)[col] == target->coder)
		add_delta_target_key(m, target, entry->key[col], entry->page,
							 *rencoder_pending_line_pointer(entry, m->natts), 1);
}

/* ---- Deltas that are merged ---- */

/* The places of a delta that is merged are to be parts of those of the new one. */
static void
note_places(Merge *m, const RencoderRunColumn *column)
{
	if (m->places.parts == 1 || column->parts == 1 ||
		Max(column->part_rows, m->places.part_rows) % Min(column->part_rows, m->places.part_rows) != 0)
		m->places = renc_whole_pages();
	else if (column->part_rows > m->places.part_rows)
	{
		m->places.parts = column->parts;
		m->places.part_rows = column->part_rows;
	}
}

static void
read_delta_info(Merge *m, int i)
{
	const char *fault;
	const RencoderRunEntry *entry = rencoder_catalog_find(&m->catalog, m->merged[i]);

	m->info[i] = rencoder_run_read_info(m->index, entry, &fault);
	if (m->info[i] == NULL)
		rencoder_page_corrupted(m->index, entry->info, fault);
	for (int tree = 0; tree < rencoder_run_ntrees(m->natts); tree++)
	{
		const RencoderRunColumn *column = &m->info[i]->column[tree];

		if (column->entries == 0)
			continue;
		note_entries(m, tree, column->coder, column->first_page,
					 (uint64) column->first_page + column->npages);
		note_places(m, column);
	}
}

/*
 * Adds the entries of a batch.  A leaf says how many rows all of its entries stand for, so each
 * gets its share; *due is what rounding has left over.
 */
static void
merge_found_entries(Merge *m, const renc_run_search *search, const renc_places *places, uint64 upto,
					const Target *target, double *due)
{
	double		rows = (double) search->leaf.rows / Max(search->leaf.entries, 1);

	for (uint32 i = 0; i < search->n; i++)
	{
		uint32		whole;

		*due += rows;
		whole = (uint32) Min(Max(rint(*due), 1), PG_INT32_MAX);
		*due -= whole;
		if (rencoder_catalog_needs(&m->catalog, search->page[i], upto))
			add_delta_target_key(m, target, search->cell[i], search->page[i],
								 renc_part_first(places, search->part[i]), whole);
	}
}

/* Adds the entries of a delta. */
static void
add_delta(Merge *m, int i, const Target *target)
{
	const RencoderRunInfoData *info = m->info[i];
	uint64		upto = rencoder_catalog_find(&m->catalog, m->merged[i])->cut;
	static const renc_interval everything = {0, PG_UINT64_MAX};
	renc_interval_set set = {&everything, 1};
	RencoderRunReader reader;
	renc_run_search search;
	renc_places places = rencoder_run_places(&info->column[target->tree]);
	double		due = 0;

	if (info->column[target->tree].coder != target->coder ||
		!rencoder_run_reader_begin(&reader, m->index, info, target->tree))
		return;
	renc_run_search_begin(&search, &reader.run, rencoder_run_reader_read, &reader, &set);
	while (renc_run_search_next(&search))
	{
		CHECK_FOR_INTERRUPTS();
		if (search.width != 0)
			rencoder_page_corrupted(m->index, reader.run.root, "A delta has cells of several keys.");
		merge_found_entries(m, &search, &places, upto, target, &due);
	}
	if (search.failure != NULL)
	{
		const char *fault = rencoder_run_reader_fault(&reader, search.failure, &search.failed_page);

		rencoder_page_corrupted(m->index, search.failed_page, fault);
	}
	rencoder_run_reader_end(&reader);
}

static bool
is_delta(const RencoderRunEntry *entry)
{
	return entry->kind == RENCODER_RUN_DELTA && entry->state == RENCODER_RUN_LIVE;
}

static int
compare_delta_pages(const void *a, const void *b)
{
	uint32		x = ((const RencoderRunEntry *) a)->npages;
	uint32		y = ((const RencoderRunEntry *) b)->npages;

	return x < y ? -1 : x > y;
}

/*
 * Chooses the deltas to merge, of "most" pages in all unless the catalog is crowded: the largest that
 * has not more than "factor" times the pages of the new entries and of all smaller deltas, and
 * these.  So each delta is more than "factor" times as large as all smaller ones together.
 */
static void
choose_deltas(Merge *m, double most, double factor)
{
	const RencoderCatalog *list = &m->catalog;
	RencoderRunEntry delta[RENCODER_MAX_RUNS];
	int			n = 0;
	double		sum = m->upto == 0 ? 0 :
		1 + PENDING_PART * (m->upto - m->catalog.pending.first_number + 1);

	for (uint32 i = 0; i < list->n; i++)
	{
		if (is_delta(&list->entry[i]) && list->entry[i].cut > m->since)
			delta[n++] = list->entry[i];
	}
	qsort(delta, n, sizeof(RencoderRunEntry), compare_delta_pages);
	for (int i = 0; i < n; i++)
	{
		bool		fits = factor >= ALL_DELTAS || delta[i].npages <= factor * sum;

		sum += delta[i].npages;
		if ((fits && sum <= most) || list->n > CROWDED)
			m->nmerged = i + 1;
	}
	for (int i = 0; i < m->nmerged; i++)
		m->merged[i] = delta[i].number;

	/* One alone is as it was, but for what nobody needs. */
	if (m->upto == 0 && m->nmerged < 2 && factor < ALL_DELTAS)
		m->nmerged = 0;
}

/* ---- Making one ---- */

/* All keys of a tree of one generation. */
static void
add_all(Merge *m, const Target *target)
{
	visit_pending(m, merge_pending_entry, (void *) target);
	for (int i = 0; i < m->nmerged; i++)
		add_delta(m, i, target);
}

/* Writes a tree, with its keys of one generation. */
static void
write_merged_tree(Merge *m, RencoderRunWriter *writer, int tree, uint32 coder)
{
	Target		target = {.tree = tree,.coder = coder};
	RencoderRunPair pair;

	target.sorter = rencoder_run_sorter_begin(rencoder_options_sort_memory() / 2,
											  (uint32) Min(m->npages * m->places.parts, PG_UINT32_MAX));
	add_all(m, &target);
	rencoder_run_sorter_sort(target.sorter);
	rencoder_run_writer_begin_tree(writer, tree, coder, (BlockNumber) m->first_page,
								   (uint32) (m->npages - m->first_page), m->places,
								   RENC_RUN_EXACT, 0, 0);
	while (rencoder_run_sorter_next(target.sorter, &pair))
	{
		CHECK_FOR_INTERRUPTS();
		rencoder_run_writer_push(writer, pair.key, pair.place, pair.rows);
	}
	rencoder_run_writer_end_tree(writer);
	rencoder_run_sorter_end(target.sorter);
}

/* The last pending page that what is made has entries of. */
static uint64
last_page_merged(const Merge *m)
{
	uint64		last = m->upto;

	for (int i = 0; i < m->nmerged; i++)
		last = Max(last, rencoder_catalog_find(&m->catalog, m->merged[i])->cut);
	return last;
}

/* Writes the i-th run; false if the catalog is full. */
static bool
write_delta_run(Merge *m, int i, RencoderNewRun *made)
{
	RencoderRunWriter *writer = rencoder_run_writer_begin(m->index, RENCODER_RUN_DELTA,
														  (BlockNumber) m->first_page,
														  (BlockNumber) m->npages,
														  last_page_merged(m), true);

	if (writer == NULL)
		return false;

	/*
	 * A delta lives shortly: what is free before a base run is for the next
	 * one.
	 */
	rencoder_run_writer_keep_behind(writer, rencoder_shrink_runs_end(m->index, &m->catalog, false));
	for (int tree = 0; tree < rencoder_run_ntrees(m->natts); tree++)
	{
		if (i < list_length(m->coders[tree]))
			write_merged_tree(m, writer, tree, list_nth_oid(m->coders[tree], i));
	}
	rencoder_run_writer_finish(writer, made);
	made->horizon = 0;
	return true;
}

/* Writes the runs, in the place of what they are made of; false if the catalog is full. */
static bool
write_merged(Merge *m)
{
	RencoderNewRun *made = palloc0(Max(m->ngenerations, 1) * sizeof(RencoderNewRun));

	for (int i = 0; i < m->ngenerations; i++)
	{
		if (!write_delta_run(m, i, &made[i]))
			return false;
	}
	rencoder_catalog_publish(m->index, made, m->ngenerations, m->upto, m->merged, m->nmerged, true);
	return true;
}

/*
 * Decides what is to be made of what there is, of pages up to number "upto" (0: none); false: nothing.
 */
static bool
prepare_delta_merge(Merge *m, uint64 upto, double most, double factor)
{
	uint64		npages;

	m->first_page = PG_UINT64_MAX;
	m->upto = upto;
	choose_deltas(m, most, factor);
	if (m->upto == 0 && m->nmerged == 0)
		return false;
	visit_pending(m, note_entry, NULL);
	npages = m->npages;
	for (int i = 0; i < m->nmerged; i++)
		npages = Max(npages, rencoder_catalog_find(&m->catalog, m->merged[i])->to);
	m->places = rencoder_pending_places(m->index, npages);
	for (int i = 0; i < m->nmerged; i++)
		read_delta_info(m, i);

	/* Not to be found out when some are written. */
	if (m->catalog.n + (uint32) m->ngenerations > RENCODER_MAX_RUNS)
		return false;

	/* Deltas of different generations do not become fewer. */
	return m->upto > 0 || m->ngenerations < m->nmerged || factor == ALL_DELTAS;
}

/*
 * Makes a delta, in a memory context of its own, of pages up to "upto"; deltas up to pending page "since"
 * stay, and a run that the caller is making.
 */
static void
make_delta_of_pages(Relation index, const RencoderCatalog *catalog, uint64 upto, uint32 most,
					double factor, uint64 since, uint32 making)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "rencoder delta",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Merge	   *m = palloc0(sizeof(Merge));

	m->index = index;
	m->natts = rencoder_key_columns(index);
	m->catalog = *catalog;
	m->since = since;
	if (prepare_delta_merge(m, upto, most, factor) && write_merged(m) && m->nmerged > 0)
		rencoder_catalog_free(index, making);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* The last closed page, if "least" are closed, or 0. */
static uint64
last_page_to_take(const RencoderCatalog *catalog, uint64 least)
{
	return rencoder_pending_pages(&catalog->pending) > least ? catalog->pending.last_number - 1 : 0;
}

void
rencoder_make_delta(Relation index, uint64 least, uint32 most, double factor)
{
	RencoderCatalog *catalog = palloc(sizeof(RencoderCatalog));

	rencoder_catalog_free(index, 0);
	rencoder_catalog_copy(index, catalog, NULL, NULL, NULL);
	make_delta_of_pages(index, catalog, last_page_to_take(catalog, least), most, factor, 0, 0);
	pfree(catalog);
}

void
rencoder_make_delta_meanwhile(Relation index, uint64 cut, uint32 making)
{
	RencoderCatalog *catalog;

	if (!rencoder_pending_has_closed(index, RENCODER_DELTA_PAGES))
		return;
	catalog = palloc(sizeof(RencoderCatalog));
	rencoder_catalog_copy(index, catalog, NULL, NULL, NULL);
	if (catalog->pending.last_number > Max(cut, catalog->pending.first_number - 1) + RENCODER_DELTA_PAGES)
	{
		if (catalog->pending.first_number <= cut)
			make_delta_of_pages(index, catalog, cut, 0, 0, PG_UINT64_MAX, making);
		rencoder_catalog_copy(index, catalog, NULL, NULL, NULL);
		make_delta_of_pages(index, catalog, last_page_to_take(catalog, 1), PG_UINT32_MAX,
							RENCODER_DELTA_BUSY, cut, making);
	}
	pfree(catalog);
}

/* The rows that the first column tells of, with a key or without one. */
void
rencoder_make_delta_count(Relation index, BlockNumber npages, uint64 *count, int n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "rencoder delta",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Merge	   *m = palloc0(sizeof(Merge));
	Target		target = {.count = count,.piece = npages,.npieces = n};

	memset(count, 0, n * sizeof(uint64));
	m->index = index;
	m->natts = rencoder_key_columns(index);
	rencoder_catalog_copy(index, &m->catalog, NULL, NULL, NULL);
	m->places = renc_whole_pages();
	choose_deltas(m, PG_UINT32_MAX, ALL_DELTAS);
	for (int i = 0; i < m->nmerged; i++)
	{
		read_delta_info(m, i);
		for (target.tree = 0; target.tree < rencoder_run_ntrees(m->natts); target.tree += m->natts)
		{
			target.coder = m->info[i]->column[target.tree].coder;
			add_delta(m, i, &target);
		}
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Makes a delta of all that is closed, under the maintainer lock. */
static void
make_delta_locked(Relation index, double factor)
{
	rencoder_meta_lock_maintainer(index);
	rencoder_make_delta(index, 1, PG_UINT32_MAX, factor);
	rencoder_stats_unlock_maintainer(index);
}

void
rencoder_make_delta_at_rest(Relation index, bool all)
{
	if (all || rencoder_pending_has_closed(index, 1))
		(void) rencoder_pending_close(index);
	make_delta_locked(index, RENCODER_DELTA_AT_REST);
}

void
rencoder_make_delta_anew(Relation index)
{
	make_delta_locked(index, ALL_DELTAS);
}
