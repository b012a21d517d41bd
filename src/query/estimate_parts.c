/*
 * estimate_parts.c
 *		Which part of the keys between two bounds a query asks for.
 *
 * All bounds, those of the parts and those of the query's intervals, are sorted, and each base
 * run is asked in this order how many of its rows lie before them: a pass over its leaves, however
 * many parts there are.  The rest is arithmetic.
 */
#include "query/estimate_parts.h"

#include "miscadmin.h"

#include "store/run_pages.h"

/* A bound of an interval, and how many rows of the base runs lie before it. */
typedef struct RankedBound
{
	uint64		key;
	renc_run_side side;
	double		rows;
} RankedBound;

typedef struct Ranks
{
	RankedBound *bound;			/* ascending, distinct */
	int			n;
} Ranks;

static int
compare_ranked_bounds(const void *a, const void *b)
{
	const RankedBound *x = (const RankedBound *) a;
	const RankedBound *y = (const RankedBound *) b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (int) x->side - (int) y->side;
}

/* Adds both bounds of an interval. */
static void
add_bounds(Ranks *ranks, uint64 lo, uint64 hi)
{
	ranks->bound[ranks->n++] = (RankedBound)
	{
		lo, RENC_RUN_BELOW, 0
	};
	ranks->bound[ranks->n++] = (RankedBound)
	{
		hi, RENC_RUN_UPTO, 0
	};
}

/* All bounds whose ranks are wanted, sorted. */
static void
make_ranks(Ranks *ranks, const renc_interval_set *set, uint32 coder, const RencoderKeyPart *parts,
		   int n)
{
	int			distinct = 0;

	memset(ranks, 0, sizeof(*ranks));
	ranks->bound = palloc_extended(2 * (n + set->n) * sizeof(RankedBound), MCXT_ALLOC_HUGE);
	for (size_t i = 0; i < set->n; i++)
		add_bounds(ranks, set->interval[i].lo, set->interval[i].hi);
	for (int i = 0; i < n; i++)
	{
		if (parts[i].coder == coder)
			add_bounds(ranks, parts[i].min, parts[i].max);
	}
	qsort(ranks->bound, ranks->n, sizeof(RankedBound), compare_ranked_bounds);
	for (int i = 0; i < ranks->n; i++)
	{
		if (i == 0 || compare_ranked_bounds(&ranks->bound[i], &ranks->bound[i - 1]) != 0)
			ranks->bound[distinct++] = ranks->bound[i];
	}
	ranks->n = distinct;
}

/* Adds the rows of a run. */
static const char *
rank_in_run(Ranks *ranks, Relation index, const RencoderRunInfoData *info, BlockNumber *blkno)
{
	RencoderRunReader reader;
	renc_run_ranker ranker;
	const char *fault = NULL;

	if (!rencoder_run_reader_begin(&reader, index, info, 0))
		return NULL;
	renc_run_ranker_init(&ranker, &reader.run, rencoder_run_read, &reader, true);
	for (int i = 0; i < ranks->n && fault == NULL; i++)
	{
		RankedBound *bound = &ranks->bound[i];
		renc_run_count count;
		const char *wrong = renc_run_rank(&ranker, bound->key, bound->side, &count);

		CHECK_FOR_INTERRUPTS();
		if (wrong != NULL)
		{
			*blkno = ranker.failed_page;
			fault = rencoder_run_reader_fault(&reader, wrong, blkno);
		}
		bound->rows += count.rows;
	}
	rencoder_run_reader_end(&reader);
	return fault;
}

/* Adds the rows of all base runs whose keys the coder made. */
static const char *
rank_in_runs(Ranks *ranks, Relation index, const RencoderRuns *runs, uint32 coder,
			 BlockNumber *blkno)
{
	const char *fault = NULL;

	for (uint32 i = 0; i < runs->list.n && fault == NULL; i++)
	{
		const RencoderRunEntry *entry = &runs->list.entry[i];
		RencoderRunInfo info;

		if (entry->state != RENCODER_RUN_LIVE || entry->kind != RENCODER_RUN_BASE)
			continue;
		*blkno = entry->info;
		info = rencoder_run_info(index, entry, &fault);
		if (info == NULL)
			return fault;
		fault = info->column[0].coder == coder ? rank_in_run(ranks, index, info, blkno) : NULL;
		pfree(info);
	}
	return fault;
}

/* Rows before a bound that is among those ranked. */
static double
rows_before(const Ranks *ranks, uint64 key, renc_run_side side)
{
	RankedBound bound = {key, side, 0};
	const RankedBound *found = bsearch(&bound, ranks->bound, ranks->n, sizeof(RankedBound),
									   compare_ranked_bounds);

	Assert(found != NULL);
	return found->rows;
}

static double
rows_below(const Ranks *ranks, uint64 key)
{
	return rows_before(ranks, key, RENC_RUN_BELOW);
}

static double
rows_upto(const Ranks *ranks, uint64 key)
{
	return rows_before(ranks, key, RENC_RUN_UPTO);
}

/*
 * The part of the keys from min to max that lies in intervals, if they lie as those of the runs
 * do, or evenly where these have none.  asked[n] is how many rows the first n intervals have.
 */
static double
part_in_intervals(const Ranks *ranks, const renc_interval_set *set, const double *asked,
				  uint64 min, uint64 max)
{
	size_t		first = renc_interval_set_first(set, min);
	size_t		end = renc_interval_set_first(set, max);
	double		all = rows_upto(ranks, max) - rows_below(ranks, min);
	double		part = 0;

	if (end < set->n && set->interval[end].lo <= max)
		end++;
	if (first >= end)
		return 0;
	if (all >= 1)
	{
		part = asked[end] - asked[first];
		if (set->interval[first].lo < min)
			part -= rows_below(ranks, min) - rows_below(ranks, set->interval[first].lo);
		if (set->interval[end - 1].hi > max)
			part -= rows_upto(ranks, set->interval[end - 1].hi) - rows_upto(ranks, max);
		return Min(1, Max(part, 0) / all);
	}
	for (size_t i = first; i < end; i++)
	{
		uint64		lo = Max(min, set->interval[i].lo);
		uint64		hi = Min(max, set->interval[i].hi);

		part += ((double) (hi - lo) + 1) / ((double) (max - min) + 1);
	}
	return Min(1, part);
}

/* The parts whose keys one coder made. */
static const char *
ask_of_coder(Relation index, const RencoderRuns *runs, const renc_interval_set *set, uint32 coder,
			 RencoderKeyPart *parts, int n, BlockNumber *blkno)
{
	Ranks		ranks;
	double	   *asked;
	const char *fault;

	make_ranks(&ranks, set, coder, parts, n);
	fault = rank_in_runs(&ranks, index, runs, coder, blkno);
	if (fault == NULL)
	{
		asked = palloc_extended((set->n + 1) * sizeof(double), MCXT_ALLOC_HUGE);
		asked[0] = 0;
		for (size_t i = 0; i < set->n; i++)
			asked[i + 1] = asked[i] + rows_upto(&ranks, set->interval[i].hi) -
				rows_below(&ranks, set->interval[i].lo);
		for (int i = 0; i < n; i++)
		{
			if (parts[i].coder == coder)
				parts[i].part = part_in_intervals(&ranks, set, asked, parts[i].min, parts[i].max);
		}
		pfree(asked);
	}
	pfree(ranks.bound);
	return fault;
}

const char *
rencoder_key_parts_ask(Relation index, const RencoderRuns *runs, RencoderQuery *query,
					   RencoderKeyPart *parts, int n, BlockNumber *blkno)
{
	const char *fault = NULL;

	for (int i = 0; i < n; i++)
		parts[i].part = -1;
	for (int i = 0; i < n && fault == NULL; i++)
	{
		const RencoderKeySet *keys;

		if (parts[i].part >= 0)
			continue;
		keys = rencoder_key_set(query, 0, parts[i].coder);
		Assert(keys != NULL && keys->set.n > 0);
		fault = ask_of_coder(index, runs, &keys->set, parts[i].coder, parts, n, blkno);
	}
	return fault;
}
