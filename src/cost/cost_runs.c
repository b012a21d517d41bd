/*
 * cost_runs.c
 *		What the planner learns from the runs of an index.
 *
 * The inner pages of a run count what lies before each of their children.  So two descents
 * tell how many entries, which are pairs of a cell and a heap page, lie between two keys: nearly
 * exactly, and better than statistics of the table know.
 *
 * How many false pages a query meets is known since the run was made: its encoder adds it up
 * (run/renc_run_plan.c), the info page has it (store/run_pages.c), cost.c charges for it.
 */
#include "cost/cost_runs.h"

#include <math.h>

#include "access/htup_details.h"
#include "miscadmin.h"

#include "base/workspace.h"
#include "key/boxes.h"
#include "run/renc_run_spread.h"
#include "store/run_pages.h"

/*
 * Pages of runs read when planning, at most: a page that describes a run, a descent of three
 * pages, and another one, whose root is known by then; a leaf, and the page above it, to see how
 * many heap pages the entries in between have.  And as many for each element of a list that is
 * looked for.
 */
#define MAX_RUN_PAGES	8
#define ELEMENT_PAGES	2

/* Intervals asked for one by one; of more, and of boxes, the outer bounds are. */
#define MAX_INTERVALS	2

/* Of so few rows that the statistics expect, leaves are not asked how few they are. */
#define FEW_ROWS		10

/* Children of an inner page, about. */
#define FANOUT			400

/* What may be read. */
typedef struct ReadLimit
{
	Relation	index;
	int			pages_left;
} ReadLimit;

/* Reads a tree, within the limit, and remembers the last page of each level. */
typedef struct RankReader
{
	RencoderRunReader reader;
	ReadLimit  *limit;
	bool		no_leaves;		/* stop above them */
	bool		stopped;		/* it did */
	BlockNumber blkno[RENC_RUN_MAX_LEVEL + 1];
	const uint8_t *payload[RENC_RUN_MAX_LEVEL + 1];
} RankReader;

static bool
may_read(ReadLimit *limit, BlockNumber blkno)
{
	if (limit->pages_left <= 0 || !rencoder_meta_has_block(limit->index, blkno))
		return false;
	limit->pages_left--;
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
	if (!may_read(r->limit, page))
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
 * Entries that a search of an interval reads, as rank_interval(), and in how many heap pages they are.
 * "short": it is within one leaf, of which they may be few.
 */
static double
rank_with_spread(RankReader *r, renc_interval interval, bool is_short, RencoderCostRunColumn *column)
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
		column->near += between;
		column->near_pages += pages;
		column->near_places += places;
	}
	return between;
}

/* Entries of all intervals; < 0: not to be learnt. */
static double
rank_intervals(RankReader *r, renc_interval_set set, bool are_short, RencoderCostRunColumn *column)
{
	double		sum = 0;

	for (size_t i = 0; i < set.n; i++)
	{
		double		between = rank_with_spread(r, set.interval[i], are_short, column);

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

/* Sums up what is known of all runs, or not of one of them. */
static void
add_known_run_costs(double *sum, double of_run)
{
	*sum = *sum < 0 || of_run < 0 ? -1 : *sum + of_run;
}

/* Adds what the run has for the keys of the query. */
static void
rank_column(Relation index, RencoderQuery *query, const RencoderRunInfoData *info, int col,
			const RencoderCostAsked *asked, ReadLimit *limit,
			RencoderCostRunColumn *column)
{
	const RencoderRunColumn *tree = &info->column[col];
	const RencoderKeySet *keys = rencoder_key_get_set(query, col, tree->coder);
	double		leaf_entries = (double) tree->entries / Max(tree->nleaves, 1);
	RankReader	r = {.limit = limit};
	renc_interval hull;
	size_t		n;

	if (keys == NULL)
		column->between = column->found = -1;
	if (keys == NULL || keys->none || !rencoder_run_reader_begin(&r.reader, index, info, col))
		return;
	hull.lo = keys->query.hull_lo;
	hull.hi = keys->query.hull_hi;
	if (asked->sampled > 0)
		add_known_run_costs(&column->found, keys->set.n > 0 ? find_entries(&r, keys->set) : -1);
	else if (keys->set.n > 0 && keys->set.n <= MAX_INTERVALS)
	{
		bool		are_short = asked->rows <= leaf_entries &&
			rank_whole_leaves(&r, keys->set, &n) == 0 && n == keys->set.n;
		double		between;

		/*
		 * Is each interval within one leaf?  Then a leaf's entries are the
		 * most that any has, and reading it would cost as much as the query
		 * itself.
		 */
		if (asked->rows <= FEW_ROWS && are_short)
		{
			column->bounds_only = true;
			between = leaf_entries * keys->set.n;
		}
		else if (asked->is_wide)
		{
			between = rank_whole_leaves(&r, keys->set, &n);
			if (n < keys->set.n)
				between = -1;
			column->in_leaves += Max(between, 0);
		}
		else
		{
			between = rank_intervals(&r, keys->set, are_short, column);
			column->in_leaves += Max(between, 0);
		}
		add_known_run_costs(&column->between, between);
	}
	else
	{
		double		part = 1;

		column->bounds_only = true;
		add_known_run_costs(&column->between, rank_interval(&r, hull));
		if (keys->boxes.n > 0)
			part = rencoder_boxes_covered_part(&keys->boxes, keys->cover);
		if (tree->level == 0)
			column->in_leaves += Max(find_entries(&r, keys->cover), 0);
		else
		{
			double		entries = rank_whole_leaves(&r, keys->cover, &n);

			/*
			 * What inner pages say of one interval is wrong by a leaf at
			 * most, either way, and of many together by 0.4 times their root
			 * in the root mean square.
			 */
			column->in_leaves += part * Max(entries - leaf_entries * Max(1, 0.4 * sqrt((double) n)), 0);
		}
	}
	rencoder_run_reader_end(&r.reader);
}

/* Trees of a run that are to be looked at. */
static int
asked_trees(const RencoderQuery *query)
{
	int			ntrees = query->natts;

	for (int col = 0; col < query->natts; col++)
	{
		if (query->column[col].wants_null || query->column[col].wants_values)
			ntrees = rencoder_run_null_tree(query->natts, col) + 1;
	}
	return ntrees;
}

static void
add_run_nulls(const RencoderRunColumn *tree, RencoderCostRunColumn *column)
{
	column->null_entries += (double) tree->entries;
	column->null_rows += (double) tree->rows;
	column->null_leaves += tree->nleaves;

	/* What they name that are rare, or common but do not fill pages. */
	column->null_part = Max(column->null_part, Max(tree->part_rows, RENC_COARSE));
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
add_base_run_cost(Relation index, const RencoderRunEntry *entry, RencoderKept *kept,
				  RencoderQuery *query, bool may_rank,
				  const RencoderCostAsked *asked, ReadLimit *limit, RencoderCostRuns *runs)
{
	RencoderRunInfo info = NULL;
	const char *fault;
	int			ntrees = asked_trees(query);

	if (ntrees == 1 || may_read(limit, entry->info))
		info = rencoder_run_read_trees(index, entry, ntrees, kept, NULL, &fault);
	for (int col = 0; col < query->natts; col++)
	{
		RencoderCostRunColumn *column = &runs->column[col];

		if (info == NULL)
		{
			column->between = column->found = -1;
			continue;
		}
		column->entries += (double) info->column[col].entries;
		column->rows += (double) info->column[col].rows;
		column->places += (double) info->column[col].npages * Max(info->column[col].parts, 1);
		column->checked += checked_rows(&info->column[col]);
		column->leaves += info->column[col].nleaves;
		column->trees += info->column[col].nleaves > 0;
		column->inner_pages += Max(Min(info->column[col].level, RENC_RUN_MAX_LEVEL), 0);
		if (info->column[col].false_pages > 0)	/* not if it is NaN */
			column->false_pages += info->column[col].false_pages;
		if (query->column[col].wants_null || query->column[col].wants_values)
			add_run_nulls(&info->column[rencoder_run_null_tree(query->natts, col)], column);
		if (may_rank && query->column[col].has_keys && column->between >= 0 && column->found >= 0)
			rank_column(index, query, info, col, &asked[col], limit, column);
	}
	if (info != NULL)
		pfree(info);
}

void
rencoder_cost_runs_read(Relation index, const RencoderRuns *lists, RencoderKept *kept,
						RencoderQuery *query, bool may_rank, const RencoderCostAsked *asked,
						RencoderCostRuns *runs)
{
	ReadLimit	limit = {index, MAX_RUN_PAGES};
	RencoderWorkspace *workspace;
	MemoryContext caller;

	runs->column = palloc0(query->natts * sizeof(RencoderCostRunColumn));
	for (int col = 0; col < query->natts; col++)
	{
		runs->column[col].between = runs->column[col].found = may_rank ? 0 : -1;
		limit.pages_left += ELEMENT_PAGES * asked[col].sampled;
	}
	workspace = rencoder_workspace_borrow();
	caller = MemoryContextSwitchTo(workspace->context);
	for (uint32 i = 0; i < lists->list.n; i++)
	{
		const RencoderRunEntry *entry = &lists->list.entry[i];

		if (entry->state != RENCODER_RUN_LIVE)
			continue;
		runs->info_pages += asked_trees(query) > 1;
		if (entry->kind == RENCODER_RUN_BASE)
		{
			add_base_run_cost(index, entry, kept, query, may_rank, asked, &limit, runs);
			continue;
		}
		runs->delta_pages += entry->npages;
		runs->delta_descent += 1 + ceil(log(Max(entry->npages, 1.0)) / log(FANOUT));
	}
	if (lists->list.n > RENCODER_META_RUNS)
		runs->info_pages++;
	runs->pending_pages = (double) rencoder_pending_pages(&lists->pending);
	MemoryContextSwitchTo(caller);
	rencoder_workspace_give_back(workspace);
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
