/*
 * cost_runs.c
 *		What the planner learns from the runs of an index.
 *
 * The inner pages of a run count what lies before each of their children.  So two descents
 * tell how many entries, which are pairs of a cell and a heap page, lie between two keys: nearly
 * exactly, and better than statistics of the table know.
 */
#include "query/cost_runs.h"

#include <math.h>

#include "store/run_pages.h"

/*
 * Pages of runs read when planning, at most: a page that describes a run, a descent of three
 * pages, and another one, whose root is known by then.
 */
#define MAX_RUN_PAGES	6

/* Intervals asked for one by one; of more, and of boxes, the outer bounds are. */
#define MAX_INTERVALS	2

/* Children of an inner page, about. */
#define FANOUT			300

/* What may be read. */
typedef struct ReadLimit
{
	BlockNumber nblocks;		/* of the index */
	int			pages_left;
} ReadLimit;

/* Reads a tree, within the limit, and remembers the last page of each level. */
typedef struct RankReader
{
	RencoderRunReader reader;
	ReadLimit  *limit;
	BlockNumber blkno[RENC_RUN_MAX_LEVEL + 1];
	const uint8_t *payload[RENC_RUN_MAX_LEVEL + 1];
} RankReader;

static bool
may_read(ReadLimit *limit, BlockNumber blkno)
{
	if (limit->pages_left <= 0 || blkno >= limit->nblocks)
		return false;
	limit->pages_left--;
	return true;
}

static const uint8_t *
read_for_rank(void *arg, uint32_t page, int level)
{
	RankReader *r = (RankReader *) arg;

	if (r->payload[level] != NULL && r->blkno[level] == page)
		return r->payload[level];
	if (!may_read(r->limit, page))
		return NULL;
	r->blkno[level] = page;
	r->payload[level] = rencoder_run_read(&r->reader, page, level);
	return r->payload[level];
}

/* Entries of the run whose keys are in the interval; < 0: not to be learnt. */
static double
rank_interval(RankReader *r, renc_interval interval)
{
	double		below;
	double		upto = (double) r->reader.run.entries;
	double		rows;
	uint32_t	failed;

	if (renc_run_rank(&r->reader.run, read_for_rank, r, interval.lo, &below, &rows, &failed) != NULL)
		return -1;
	if (interval.hi < PG_UINT64_MAX &&
		renc_run_rank(&r->reader.run, read_for_rank, r, interval.hi + 1, &upto, &rows, &failed) != NULL)
		return -1;
	return Max(upto - below, 0);
}

/* Adds what the run has between the bounds of the query. */
static void
rank_column(Relation index, RencoderQuery *query, const RencoderRunInfoData *info, int col,
			ReadLimit *limit, RencoderCostRunColumn *column)
{
	const RencoderKeySet *keys = rencoder_key_set(query, col, info->column[col].coder);
	RankReader	r = {.limit = limit};
	renc_interval hull;
	renc_interval_set set = {&hull, 1};

	if (keys == NULL)
		column->between = -1;
	if (keys == NULL || keys->none || !rencoder_run_reader_begin(&r.reader, index, info, col))
		return;
	hull = (renc_interval)
	{
		keys->query.hull_lo, keys->query.hull_hi
	};
	if (keys->set.n > 0 && keys->set.n <= MAX_INTERVALS)
		set = keys->set;
	else
		column->at_most = true;
	for (size_t i = 0; i < set.n && column->between >= 0; i++)
	{
		double		between = rank_interval(&r, set.interval[i]);

		column->between = between < 0 ? -1 : column->between + between;
	}
	rencoder_run_reader_end(&r.reader);
}

static void
add_base_run(Relation index, const RencoderRunEntry *entry, RencoderQuery *query,
			 ReadLimit *limit, RencoderCostRuns *runs)
{
	RencoderRunInfo info = NULL;
	const char *fault;

	if (may_read(limit, entry->info))
		info = rencoder_run_info(index, entry, &fault);
	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(index); col++)
	{
		RencoderCostRunColumn *column = &runs->column[col];

		if (info == NULL)
		{
			column->between = -1;
			continue;
		}
		column->entries += (double) info->column[col].entries;
		column->rows += (double) info->column[col].rows;
		column->leaves += info->column[col].nleaves;
		column->descent += Min(info->column[col].level, RENC_RUN_MAX_LEVEL) + 1;
		if (info->column[col].false_pages > 0)	/* not if it is NaN */
			column->false_pages += info->column[col].false_pages;
		if (query != NULL && query->column[col].has_keys && column->between >= 0)
			rank_column(index, query, info, col, limit, column);
	}
	if (info != NULL)
		pfree(info);
}

void
rencoder_cost_runs_read(Relation index, const RencoderRuns *lists, RencoderQuery *query,
						bool may_rank, RencoderCostRuns *runs)
{
	ReadLimit	limit = {RelationGetNumberOfBlocks(index), MAX_RUN_PAGES};

	memset(runs, 0, sizeof(*runs));
	for (int col = 0; col < INDEX_MAX_KEYS; col++)
		runs->column[col].between = may_rank ? 0 : -1;
	for (uint32 i = 0; i < lists->list.n; i++)
	{
		const RencoderRunEntry *entry = &lists->list.entry[i];

		if (entry->state != RENCODER_RUN_LIVE)
			continue;
		runs->fixed_pages++;
		if (entry->kind == RENCODER_RUN_BASE)
		{
			runs->any = true;
			add_base_run(index, entry, may_rank ? query : NULL, &limit, runs);
		}
		else
			runs->delta_descent += 1 + ceil(log(Max(entry->npages, 1.0)) / log(FANOUT));
	}
	if (lists->list.n > 0)
		runs->fixed_pages++;
	if (lists->pending_first != RENCODER_NO_BLOCK)
		runs->fixed_pages += (double) (lists->pending_last_number - lists->pending_first_number) + 1;
}

double
rencoder_cost_runs_search(const RencoderCostRuns *runs, int col, double entries, double elements)
{
	const RencoderCostRunColumn *column = &runs->column[col];
	double		leaves = column->leaves * entries / Max(column->entries, 1);

	return Min(column->descent * elements + leaves, 2 * column->leaves) +
		runs->delta_descent * elements;
}
