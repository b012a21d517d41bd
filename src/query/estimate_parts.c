/*
 * estimate_parts.c
 *		Which part of the keys between two bounds a query asks for.
 *
 * All bounds, those of the parts and those of the query's intervals, are sorted, and each base
 * run is asked in this order how many of its rows lie below them: a pass over its leaves, however
 * many parts there are.  The rest is arithmetic.
 */
#include "query/estimate_parts.h"

#include "miscadmin.h"

#include "store/run_pages.h"

/* How many rows of the base runs lie below each of some keys. */
typedef struct Ranks
{
	uint64	   *key;			/* ascending, distinct */
	double	   *rows;
	int			n;
	double		total;			/* rows of all keys */
} Ranks;

static int
compare_ranked_keys(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return x < y ? -1 : x > y;
}

/* Adds the keys where an interval begins and where what lies above it begins. */
static void
add_bounds(Ranks *ranks, uint64 lo, uint64 hi)
{
	ranks->key[ranks->n++] = lo;
	if (hi < PG_UINT64_MAX)
		ranks->key[ranks->n++] = hi + 1;
}

/* All keys whose ranks are wanted, sorted. */
static void
make_ranks(Ranks *ranks, const renc_interval_set *set, uint32 coder, const RencoderKeyPart *parts,
		   int n)
{
	int			distinct = 0;

	memset(ranks, 0, sizeof(*ranks));
	ranks->key = palloc_extended(2 * (n + set->n) * sizeof(uint64), MCXT_ALLOC_HUGE);
	for (size_t i = 0; i < set->n; i++)
		add_bounds(ranks, set->interval[i].lo, set->interval[i].hi);
	for (int i = 0; i < n; i++)
	{
		if (parts[i].coder == coder)
			add_bounds(ranks, parts[i].min, parts[i].max);
	}
	qsort(ranks->key, ranks->n, sizeof(uint64), compare_ranked_keys);
	for (int i = 0; i < ranks->n; i++)
	{
		if (i == 0 || ranks->key[i] != ranks->key[i - 1])
			ranks->key[distinct++] = ranks->key[i];
	}
	ranks->n = distinct;
	ranks->rows = palloc_extended(distinct * sizeof(double), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static void
free_ranks(Ranks *ranks)
{
	pfree(ranks->key);
	pfree(ranks->rows);
}

/* Adds the rows of a run. */
static const char *
rank_in_run(Ranks *ranks, Relation index, const RencoderRunInfoData *info, BlockNumber *blkno)
{
	RencoderRunReader reader;
	const char *fault = NULL;

	if (!rencoder_run_reader_begin(&reader, index, info, 0))
		return NULL;
	ranks->total += (double) info->column[0].rows;
	for (int i = 0; i < ranks->n && fault == NULL; i++)
	{
		double		entries;
		double		rows;
		const char *wrong = renc_run_rank(&reader.run, rencoder_run_read, &reader, ranks->key[i],
										  &entries, &rows, blkno);

		CHECK_FOR_INTERRUPTS();
		if (wrong != NULL)
			fault = rencoder_run_reader_fault(&reader, wrong, blkno);
		ranks->rows[i] += rows;
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

/* Rows below a key that is among those ranked. */
static double
rows_below(const Ranks *ranks, uint64 key)
{
	const uint64 *found = bsearch(&key, ranks->key, ranks->n, sizeof(uint64), compare_ranked_keys);

	Assert(found != NULL);
	return ranks->rows[found - ranks->key];
}

static double
rows_upto(const Ranks *ranks, uint64 key)
{
	return key == PG_UINT64_MAX ? ranks->total : rows_below(ranks, key + 1);
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
	free_ranks(&ranks);
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
