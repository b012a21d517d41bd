/*
 * cost_runs.c
 *		What the planner learns from the runs of an index.
 *
 * The inner pages of a run count what lies before each of their children.  So two descents
 * tell how many entries, which are pairs of a cell and a heap page, lie between two keys: nearly
 * exactly, and better than statistics of the table know.
 *
 * How many false pages a query meets is known since the run was made: its encoder adds it up
 * (run/renc_run_plan.c), the info page has it (store/run_pages.c), cost_covered.c charges for it.
 *
 * Of a growing table there are a few large runs and many young ones.  The largest are looked at
 * first; those that are left when enough pages were read count as these do.
 */
#include "cost/cost_runs.h"

#include <math.h>

#include "access/htup_details.h"
#include "miscadmin.h"

#include "key/boxes.h"
#include "run/renc_run_spread.h"
#include "store/run_pages.h"

/*
 * Pages of runs read when planning, at most: a descent of three pages, and another one, whose root
 * is known by then; a leaf, and the page above it, to see how many heap pages the entries in
 * between have.  And as many for each element of a list that is looked for.
 */
#define MAX_RUN_PAGES	8
#define ELEMENT_PAGES	2

/* Pages that describe runs, likewise. */
#define MAX_INFO_PAGES	4

/* Intervals asked for one by one; of more, and of boxes, the outer bounds are. */
#define MAX_INTERVALS	2

/* Of so few rows that the statistics expect, leaves are not asked how few they are. */
#define FEW_ROWS		10

/* Children of an inner page, about. */
#define FANOUT			400

/* A base run. */
typedef struct RencoderCostBase
{
	const RencoderRunEntry *entry;
	RencoderRunInfo info;		/* NULL: not read */
	double		pages;			/* that it covers */
	double		share;			/* of those that it has read */
	bool		searched;		/* by a scan */
} RencoderCostBase;

/* Reads a tree, within the limit, and remembers the last page of each level. */
typedef struct RankReader
{
	RencoderRunReader reader;
	RencoderCostRuns *runs;		/* which know how many may be read */
	bool		no_leaves;		/* stop above them */
	bool		stopped;		/* it did */
	BlockNumber blkno[RENC_RUN_MAX_LEVEL + 1];
	const uint8_t *payload[RENC_RUN_MAX_LEVEL + 1];
} RankReader;

static bool
may_read(RencoderCostRuns *runs, Relation index, BlockNumber blkno)
{
	if (runs->pages_left <= 0 || !rencoder_meta_has_block(index, blkno))
		return false;
	runs->pages_left--;
	return true;
}

static const uint8_t *
read_run(void *arg, uint32_t page, int level)
{
	RankReader *r = (RankReader *) arg;

	r->stopped = r->no_leaves && level == 0;
	if (r->stopped)
		return NULL;
	if (r->payload[level] != NULL && r->blkno[level] == page)
		return r->payload[level];
	if (!may_read(r->runs, r->reader.index, page))
		return NULL;
	r->blkno[level] = page;
	r->payload[level] = rencoder_run_reader_read(&r->reader, page, level);
	return r->payload[level];
}

/*
 * Entries of the run that a search reads before the bound of an interval, or those of the leaves
 * before its own; false: not to be learnt.
 */
static bool
rank_bound(RankReader *r, uint64 key, renc_run_side side, double *before)
{
	r->stopped = false;
	return renc_run_rank(&r->reader.run, read_run, r, key, side, before) == NULL ||
		r->stopped;
}

/* Entries of the run that a search of the interval reads; < 0: not to be learnt. */
static double
rank_interval(RankReader *r, renc_interval interval)
{
	double		below;
	double		upto;

	if (!rank_bound(r, interval.hi, RENC_RUN_UPTO, &upto) ||
		!rank_bound(r, interval.lo, RENC_RUN_BELOW, &below))
		return -1;
	return Max(upto - below, 0);
}

/*
 * Entries that a search of an interval reads, as rank_interval(), and in how many heap pages they
 * are.  "short": it is within one leaf, of which they may be few.
 */
static double
rank_with_spread(RankReader *r, renc_interval interval, bool is_short, double share,
				 RencoderCostRunColumn *column)
{
	const renc_run *run = &r->reader.run;
	renc_run_spread spread;
	double		between;
	double		pages;
	double		places;

	spread.n = 0;
	spread.all = false;
	if (is_short)
		renc_run_spread_look(&spread, run, read_run, r, interval);
	between = spread.all ? spread.n : rank_interval(r, interval);
	if (between <= 0)
		return between;
	if (!is_short)
		renc_run_spread_look(&spread, run, read_run, r, interval);
	renc_run_spread_estimate(&spread, run, between, &pages, &places);
	if (pages > 0)
	{
		column->near += share * between;
		column->near_pages += share * pages;
		column->near_places += share * places;
	}
	return between;
}

/* Entries of all intervals; < 0: not to be learnt. */
static double
rank_intervals(RankReader *r, renc_interval_set set, bool are_short, double share,
			   RencoderCostRunColumn *column)
{
	double		sum = 0;

	for (size_t i = 0; i < set.n; i++)
	{
		double		between = rank_with_spread(r, set.interval[i], are_short, share, column);

		if (between < 0)
			return between;
		sum += between;
	}
	return sum;
}

/* Entries of intervals, as far as inner pages tell; *n: of how many it was learnt. */
static double
rank_whole_leaves(RankReader *r, renc_interval_set set, size_t *n)
{
	double		sum = 0;

	r->no_leaves = true;
	for (*n = 0; *n < set.n; (*n)++)
	{
		double		between = rank_interval(r, set.interval[*n]);

		if (between < 0)
			break;
		sum += between;
	}
	r->no_leaves = false;
	return sum;
}

/* Entries that meet any of the intervals, by accident or not; < 0: not to be learnt. */
static double
find_entries(RankReader *r, renc_interval_set set)
{
	renc_run_search search;
	double		found = 0;

	renc_run_search_begin(&search, &r->reader.run, read_run, r, &set);
	while (renc_run_search_next(&search))
	{
		CHECK_FOR_INTERRUPTS();
		found += search.n;
	}
	return search.failure == NULL ? found : -1;
}

/*
 * Entries that the intervals of a column ask for, of which there are few; < 0: not to be learnt.
 */
static double
rank_few_intervals(RankReader *r, const RencoderRunColumn *tree, renc_interval_set set,
				   const RencoderCostAsked *asked, double share, RencoderCostRunColumn *column)
{
	double		leaf_entries = (double) tree->entries / Max(tree->nleaves, 1);
	size_t		n = 0;
	double		between = 0;
	bool		are_short = false;

	if (asked->rows <= leaf_entries || asked->is_wide)
	{
		between = rank_whole_leaves(r, set, &n);
		are_short = n == set.n && between == 0;
	}

	/*
	 * Is each interval within one leaf?  Then a leaf's entries are the most
	 * that any has, and reading it would cost as much as the query itself.
	 */
	if (are_short && (asked->rows <= FEW_ROWS || asked->is_wide))
	{
		column->bounds_only = true;
		return leaf_entries * set.n;
	}
	if (asked->is_wide)
	{
		if (n < set.n)
			return -1;
	}
	else
		between = rank_intervals(r, set, are_short, share, column);
	column->in_leaves += share * Max(between, 0);
	return between;
}

/*
 * The same of more intervals, and of boxes: the outer bounds are asked for, and about how many lie
 * in.
 */
static double
rank_outer_bounds(RankReader *r, const RencoderRunColumn *tree, const RencoderKeySet *keys, double share,
				  RencoderCostRunColumn *column)
{
	renc_interval hull = {keys->query.hull_lo, keys->query.hull_hi};
	double		between = rank_interval(r, hull);
	double		leaf_entries = (double) tree->entries / Max(tree->nleaves, 1);
	double		part = 1;

	column->bounds_only = true;
	if (keys->boxes.n > 0)
		part = rencoder_boxes_covered_part(&keys->boxes, keys->cover);
	if (tree->level == 0)
		column->in_leaves += share * Max(find_entries(r, keys->cover), 0);
	else
	{
		size_t		n;
		double		entries = rank_whole_leaves(r, keys->cover, &n);

		/*
		 * What inner pages say of one interval is wrong by a leaf at most,
		 * either way, and of many together by 0.4 times their root in the
		 * root mean square.
		 */
		column->in_leaves += share * part *
			Max(entries - leaf_entries * Max(1, 0.4 * sqrt((double) n)), 0);
	}
	return between;
}

/* What a run has for the keys of the query, in pages that it covers; < 0: not to be learnt. */
static double
rank_run(Relation index, RencoderQuery *query, const RencoderCostBase *base, int col,
		 const RencoderCostAsked *asked, RencoderCostRuns *runs)
{
	const RencoderRunColumn *tree = col == 0 ? &base->entry->first :
		base->info == NULL ? NULL : &base->info->column[col];
	RencoderCostRunColumn *column = &runs->column[col];
	const RencoderKeySet *keys = tree == NULL ? NULL : rencoder_key_get_set(query, col, tree->coder);
	RankReader	r = {.runs = runs};
	double		entries;

	if (keys == NULL)
		return -1;
	if (tree->root == RENCODER_NO_BLOCK || keys->none ||
		!rencoder_key_set_meets_bounds(keys, tree->least, tree->greatest))
		return 0;
	if (base->info == NULL || !rencoder_run_reader_begin(&r.reader, index, base->info, col))
		return -1;
	r.reader.roots = true;
	if (asked->sampled > 0)
		entries = keys->set.n > 0 ? find_entries(&r, keys->set) : -1;
	else if (keys->set.n > 0 && keys->set.n <= MAX_INTERVALS)
		entries = rank_few_intervals(&r, tree, keys->set, asked, base->share, column);
	else
		entries = rank_outer_bounds(&r, tree, keys, base->share, column);
	rencoder_run_reader_end(&r.reader);
	return entries < 0 ? -1 : entries * base->share;
}

/* Runs that were not asked, or did not say, are like the others, if these are most. */
static double
extrapolate(const RencoderCostRuns *runs, double entries, double pages)
{
	return pages < runs->covered / 2 ? -1 : entries * runs->covered / Max(pages, 1);
}

void
rencoder_cost_runs_rank(Relation index, RencoderQuery *query, const RencoderCostAsked *asked,
						RencoderCostRuns *runs)
{
	runs->pages_left = MAX_RUN_PAGES;
	for (int col = 0; col < query->natts; col++)
		runs->pages_left += ELEMENT_PAGES * asked[col].sampled;
	for (int col = 0; col < query->natts; col++)
	{
		RencoderCostRunColumn *column = &runs->column[col];
		double		entries = 0;
		double		pages = 0;

		if (!query->column[col].has_keys)
			continue;
		for (int i = 0; i < runs->nbase; i++)
		{
			double		of_run = rank_run(index, query, &runs->base[i], col, &asked[col], runs);

			if (of_run < 0)
				continue;
			entries += of_run;
			pages += runs->base[i].pages;
		}
		entries = extrapolate(runs, entries, pages);
		*(asked[col].sampled > 0 ? &column->found : &column->between) = entries;
	}
}

/* Trees of a run that a scan looks at. */
static int
asked_trees(const RencoderQuery *query)
{
	int			nasked = 0;
	int			ntrees = 0;

	for (int col = 0; col < query->natts; col++)
	{
		const RencoderColumnQuery *q = &query->column[col];

		if (!rencoder_column_is_asked(q))
			continue;
		nasked++;
		ntrees = q->wants_null || q->wants_values ? rencoder_run_null_tree(query->natts, col) + 1 : col + 1;
	}
	return nasked > 1 ? rencoder_run_ntrees(query->natts) : ntrees;
}

/*
 * Rows of what the entries of a tree name.  Where rows have fewer entries, leaves name coarse parts,
 * or pages if these have no more rows to check for one that matches.
 */
static double
checked_rows(const RencoderRunColumn *tree)
{
	double		rows = (double) tree->rows * tree->part_rows;
	double		joined = (double) tree->rows - tree->entries;

	return tree->parts > 1 ? rows + (tree->part_rows > 1 ? 0 : (RENC_COARSE - 1) * Max(joined, 0)) :
		(double) tree->entries * MaxHeapTuplesPerPage;
}

static void
add_tree(const RencoderRunColumn *tree, double share, RencoderCostRunColumn *column)
{
	if (column->coder == 0)
		column->coder = tree->coder;
	column->entries += share * tree->entries;
	column->rows += share * tree->rows;
	column->places += share * tree->npages * Max(tree->parts, 1);
	column->checked += share * checked_rows(tree);
	if (tree->false_pages > 0)	/* not if it is NaN */
		column->false_pages += share * tree->false_pages;
	column->leaves += tree->nleaves;
}

static void
add_null_tree(const RencoderRunColumn *tree, double share, RencoderCostRunColumn *column)
{
	column->null_entries += share * tree->entries;
	column->null_rows += share * tree->rows;
	column->null_leaves += tree->nleaves;

	/* What they name that are rare, or common but do not fill pages. */
	column->null_part = Max(column->null_part, Max(tree->part_rows, RENC_COARSE));
}

/* Adds what runs say of a column, and multiplies it for those that were not read. */
static void
add_column(const RencoderCostRuns *runs, const RencoderQuery *query, int col,
		   RencoderCostRunColumn *column)
{
	const RencoderColumnQuery *q = &query->column[col];
	double		pages = 0;
	double		times;
	int			searched = 0;
	int			known = 0;

	for (int i = 0; i < runs->nbase; i++)
	{
		const RencoderCostBase *base = &runs->base[i];
		const RencoderRunColumn *tree;

		searched += base->searched;
		if (base->info == NULL)
			continue;
		pages += base->pages;
		Assert(runs->ntrees > (q->wants_null || q->wants_values ? rencoder_run_null_tree(query->natts, col) : col));
		tree = &base->info->column[col];
		add_tree(tree, base->share, column);
		if (base->searched)
		{
			known++;
			column->trees += tree->nleaves > 0;
			column->inner_pages += Max(Min(tree->level, RENC_RUN_MAX_LEVEL), 0);
		}
		if (q->wants_null || q->wants_values)
			add_null_tree(&base->info->column[rencoder_run_null_tree(query->natts, col)], base->share,
						  column);
	}
	column->trees *= (double) searched / Max(known, 1);
	column->inner_pages *= (double) searched / Max(known, 1);
	times = pages > 0 ? runs->covered / pages : 1;
	column->entries *= times;
	column->rows *= times;
	column->places *= times;
	column->checked *= times;
	column->false_pages *= times;
	column->leaves *= times;
	column->null_entries *= times;
	column->null_rows *= times;
	column->null_leaves *= times;
}

/* Does a scan read a run at all?  Of most young ones the catalog says that it need not. */
static bool
may_find_in_run(RencoderQuery *query, bool may_look, const RencoderRunEntry *entry)
{
	const RencoderKeySet *keys;

	if (!may_look || !query->column[0].has_keys || entry->keyless)
		return true;
	keys = rencoder_key_get_set(query, 0, entry->first.coder);
	return keys == NULL || rencoder_key_set_meets_bounds(keys, entry->first.least, entry->first.greatest);
}

/* Notes the base runs that cover pages, the largest first, and how many pages are covered. */
static void
find_base_runs(const RencoderCopies *copies, RencoderCostRuns *runs)
{
	const RencoderCatalog *catalog = &copies->catalog;
	double		pages[RENCODER_MAX_RUNS] = {0};

	runs->base = palloc(Max(catalog->n, 1) * sizeof(RencoderCostBase));
	for (int i = 0; i < copies->nsegments; i++)
	{
		const RencoderSegment *segment = &copies->segment[i];

		if (segment->run == NULL)
			runs->uncovered += segment->to - segment->from;
		else if (segment->run->kind == RENCODER_RUN_MATRIX)
			runs->matrix_pages += segment->to - segment->from;
		else
			pages[segment->run - catalog->entry] += segment->to - segment->from;
	}
	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *entry = &catalog->entry[i];
		int			at = runs->nbase;

		if (pages[i] == 0)
			continue;
		for (; at > 0 && runs->base[at - 1].pages < pages[i]; at--)
			runs->base[at] = runs->base[at - 1];
		runs->base[at].entry = entry;
		runs->base[at].info = NULL;
		runs->base[at].pages = pages[i];
		runs->base[at].share = pages[i] / Max(Min(entry->to, copies->nblocks) - entry->from, 1);
		runs->nbase++;
		runs->covered += pages[i];
	}
}

void
rencoder_cost_runs_read(Relation index, Snapshot snapshot, RencoderCopies *copies, RencoderQuery *query,
						bool may_look, RencoderCostRuns *runs)
{
	const RencoderCatalog *catalog = &copies->catalog;
	int64		npages = 0;

	rencoder_copies_begin(copies, index, snapshot, &npages);
	find_base_runs(copies, runs);
	runs->pages_left = MAX_INFO_PAGES;
	runs->ntrees = asked_trees(query);
	runs->pages_per_range = rencoder_meta_get(index)->pages_per_range;
	runs->column = palloc0(query->natts * sizeof(RencoderCostRunColumn));
	for (int i = 0; i < runs->nbase; i++)
	{
		RencoderCostBase *base = &runs->base[i];
		const char *fault;

		if (runs->ntrees <= 1 || may_read(runs, index, base->entry->info))
			base->info = rencoder_run_read_trees(index, base->entry, runs->ntrees, &copies->pages, NULL,
												 &fault);
		base->searched = may_find_in_run(query, may_look, base->entry);
		runs->info_pages += base->searched && runs->ntrees > 1;
	}
	for (int col = 0; col < query->natts; col++)
	{
		runs->column[col].between = runs->column[col].found = -1;
		if (rencoder_column_is_asked(&query->column[col]))
			add_column(runs, query, col, &runs->column[col]);
	}
	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *entry = &catalog->entry[i];

		if (runs->column[0].coder == 0)
			runs->column[0].coder = entry->first.coder;
		if (entry->state != RENCODER_RUN_LIVE || entry->kind != RENCODER_RUN_DELTA)
			continue;
		runs->info_pages += runs->ntrees > 1;
		runs->delta_pages += entry->npages;
		runs->delta_descent += 1 + ceil(log(Max(entry->npages, 1.0)) / log(FANOUT));
	}
	runs->info_pages += Max(npages - 1, 0);
	runs->pending_pages = (double) rencoder_pending_pages(&catalog->pending);
}

double
rencoder_cost_runs_checked_rows(const RencoderCostRunColumn *column, double entries,
								double rows_per_page)
{
	return entries * Min(column->checked / Max(column->entries, 1), rows_per_page);
}

double
rencoder_cost_runs_leaves(const RencoderCostRuns *runs, int col, double entries, double elements)
{
	const RencoderCostRunColumn *column = &runs->column[col];
	double		leaves = column->leaves * entries / Max(column->entries, 1);

	return Min(column->trees * elements + leaves, column->leaves) +
		Min(runs->delta_descent * elements, runs->delta_pages);
}

double
rencoder_cost_runs_leaves_of_all(const RencoderCostRuns *runs, double leaves)
{
	return leaves + Min(runs->delta_descent, runs->delta_pages);
}

double
rencoder_cost_runs_inner_pages(const RencoderCostRuns *runs, int col, double elements)
{
	const RencoderCostRunColumn *column = &runs->column[col];

	return Min(column->inner_pages * elements, column->inner_pages + column->leaves / FANOUT);
}
