/*
 * look.c
 *		What a maintainer sees of an index.
 *
 * Each run costs a query a descent.  So where MERGE_RUNS neighbours are of about the same size, or MERGE_QUIET
 * when no rows come, one takes their place, which is made of the table, since cells do not have whole keys.
 */
#include "make/look.h"

#include "catalog/index.h"
#include "common/pg_prng.h"
#include "miscadmin.h"

#include "make/make_delta.h"
#include "store/run_pages.h"
#include "table/heap_read.h"

/*
 * So many neighbours become one, if the largest is not more than SIZES times as large as the others are; when no
 * rows come, not larger than all others together, so that a load does not have much of the table written again.
 */
#define MERGE_RUNS		4
#define MERGE_QUIET		3		/* when no rows come */
#define MERGE_SIZES		4

/*
 * A run of more pages than RENCODER_YOUNG_PAGES has no more than this part of the table: else it would leave so large
 * a hole that it is moved there (shrink.c), which reads its pages once more; and pieces stay what they are.
 */
#define MERGE_SHARE		3

/* A table of fewer pages is one piece: runs of so many pages are merged soon, too. */
#define LARGE_PAGES		RENCODER_YOUNG_PAGES

/*
 * Where runs have so many times the nulls that some pages of the table promise, and that part of its
 * rows besides, the others are set by now, as in a queue, where all rows were null once.
 */
#define STALE_NULLS			1.5
#define STALE_PART			8
#define SAMPLED_PAGES		64

static const RencoderPages nothing = {0, 0};

void
rencoder_look_again(RencoderLook *look)
{
	rencoder_catalog_copy(look->index, &look->catalog, NULL, NULL, NULL);
	look->end = look->catalog.frontier;
	if (look->end == RENCODER_NO_FRONTIER)
		look->end = look->nblocks;
	look->n = rencoder_catalog_segments(&look->catalog, look->end, look->segment);
}

RencoderLook *
rencoder_look_begin(Relation index, Relation heap)
{
	RencoderLook *look = palloc0(sizeof(RencoderLook));

	look->index = index;
	look->nblocks = RelationGetNumberOfBlocks(heap);
	look->rows = -1;
	rencoder_look_again(look);
	return look;
}

double
rencoder_look_base_rows(const RencoderLook *look)
{
	double		rows = 0;

	for (int i = 0; i < look->n; i++)
	{
		const RencoderSegment *s = &look->segment[i];

		if (s->run != NULL)
			rows += (double) s->run->first.rows * (s->to - s->from) /
				(Min(s->run->to, look->end) - s->run->from);
	}
	return rows;
}

double
rencoder_look_run_rows(const RencoderLook *look, bool deltas)
{
	double		rows = 0;

	for (uint32 i = 0; i < look->catalog.n; i++)
	{
		const RencoderRunEntry *run = &look->catalog.entry[i];

		if (rencoder_run_covers(run) != deltas && run->state == RENCODER_RUN_LIVE)
			rows += (double) run->first.rows;
	}
	return rows;
}

void
rencoder_look_count_late(RencoderLook *look)
{
	rencoder_look_again(look);
	rencoder_make_delta_count(look->index, rencoder_look_piece_pages(look), look->late, RENCODER_PIECES);
}

BlockNumber
rencoder_look_piece_pages(const RencoderLook *look)
{
	return look->end < LARGE_PAGES ? look->end : (look->end + RENCODER_PIECES - 1) / RENCODER_PIECES;
}

RencoderPages
rencoder_look_piece(const RencoderLook *look, BlockNumber from)
{
	BlockNumber npages = rencoder_look_piece_pages(look);
	RencoderPages piece;

	/*
	 * With a page on either side: rows that come to one piece after the other
	 * fill both.
	 */
	piece.from = from > 0 ? from - 1 : 0;
	piece.to = (BlockNumber) Min((uint64) from + npages + 1, look->end);

	/* The whole of a run stays as long as it covers a page. */
	for (int i = 0; i < look->n; i++)
	{
		const RencoderSegment *s = &look->segment[i];

		if (s->from < piece.to && piece.to < s->to && s->to - piece.to <= npages / 2)
			piece.to = s->to;
		if (s->from < piece.from && piece.from < s->to && piece.from - s->from <= npages / 2)
			piece.from = s->from;
	}
	return piece;
}

/* ---- Merging ---- */

/* Neighbours that are worth merging, "count" of them from the i-th segment on. */
static bool
is_tier(const RencoderLook *look, int i, int count)
{
	uint64		sum = 0;
	uint64		greatest = 0;

	for (int k = i; k < i + count; k++)
	{
		uint64		npages = look->segment[k].to - look->segment[k].from;

		sum += npages;
		greatest = Max(greatest, npages);
	}
	return look->quiet ? greatest <= sum - greatest :
		greatest * (count - 1) <= (sum - greatest) * MERGE_SIZES;
}

static RencoderPages
segments_from(const RencoderLook *look, int i, int count)
{
	return (RencoderPages)
	{
		look->segment[i].from, look->segment[i + count - 1].to
	};
}

/* The least neighbours, of MERGE_RUNS. */
static RencoderPages
choose_least_neighbours(const RencoderLook *look)
{
	RencoderPages least = nothing;

	for (int i = 0; i + MERGE_RUNS <= look->n; i++)
	{
		RencoderPages choice = segments_from(look, i, MERGE_RUNS);

		if (least.to == least.from || choice.to - choice.from < least.to - least.from)
			least = choice;
	}
	return least;
}

RencoderPages
rencoder_look_merge(const RencoderLook *look)
{
	BlockNumber most = Max(RENCODER_YOUNG_PAGES, look->end / MERGE_SHARE);
	int			count = look->quiet ? MERGE_QUIET : MERGE_RUNS;

	for (int i = look->n - count; i >= 0; i--)
	{
		RencoderPages choice = segments_from(look, i, count);

		if (is_tier(look, i, count) && choice.to - choice.from <= most)
			return choice;
	}
	return look->catalog.n > RENCODER_MOST_RUNS ? choose_least_neighbours(look) : nothing;
}

/* ---- Some pages of the table ---- */

/*
 * Rows of a queue are born with a null, which is set when they are done.  Nothing tells the index that the nulls have
 * gone: PostgreSQL 16 and later do not even remove a line pointer.
 */

/* Rows of some pages of the table, and how many are null in each column. */
typedef struct SampledNulls
{
	int			natts;
	double		rows;
	double		nulls[INDEX_MAX_KEYS];
} SampledNulls;

static void
count_sampled_nulls(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool tupleIsAlive,
					void *state)
{
	SampledNulls *sample = (SampledNulls *) state;

	sample->rows++;
	for (int col = 0; col < sample->natts; col++)
		sample->nulls[col] += isnull[col];
}

/* Reads one page of each 64th of the table, at no fixed distance, which nulls might have, too; returns how many. */
static uint32
sample_table(Relation index, Relation heap, SampledNulls *sample)
{
	IndexInfo  *indexInfo = BuildIndexInfo(index);
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	uint32		n = Min(nblocks, SAMPLED_PAGES);
	pg_prng_state prng;

	indexInfo->ii_Concurrent = false;
	pg_prng_seed(&prng, nblocks);
	for (uint32 i = 0; i < n; i++)
	{
		uint64		first = (uint64) i * nblocks / n;
		uint64		last = (uint64) (i + 1) * nblocks / n - 1;

		CHECK_FOR_INTERRUPTS();
		(void) rencoder_heap_read(heap, index, indexInfo, true,
								  (BlockNumber) pg_prng_uint64_range(&prng, first, last), 1,
								  count_sampled_nulls, sample, NULL);
	}
	return n;
}

double
rencoder_look_sample_rows(Relation index, Relation heap)
{
	SampledNulls now = {0};
	uint32		n = sample_table(index, heap, &now);

	return n == 0 ? 0 : now.rows * RelationGetNumberOfBlocks(heap) / n;
}

bool
rencoder_look_nulls_are_stale(Relation index, Relation heap)
{
	SampledNulls in_runs = {.natts = IndexRelationGetNumberOfKeyAttributes(index)};
	SampledNulls now = in_runs;
	bool		any = false;
	bool		stale = false;
	uint32		n;
	RencoderCatalog catalog;

	rencoder_catalog_copy(index, &catalog, NULL, NULL, NULL);
	for (uint32 i = 0; i < catalog.n; i++)
	{
		const RencoderRunEntry *entry = &catalog.entry[i];
		const char *fault;
		RencoderRunInfo info = entry->state != RENCODER_RUN_LIVE ? NULL :
			rencoder_run_read_info(index, entry, &fault);

		for (int col = 0; info != NULL && col < info->natts; col++)
		{
			const RencoderRunColumn *tree = &info->column[rencoder_run_null_tree(info->natts, col)];

			/* Else it has values without a key, too. */
			if (tree->greatest < RENCODER_RUN_KEYLESS)
				in_runs.nulls[col] += (double) tree->rows;
		}
		in_runs.rows += info == NULL ? 0 : (double) info->column[0].rows +
			info->column[rencoder_run_null_tree(info->natts, 0)].rows;
	}
	for (int col = 0; col < now.natts; col++)
		any |= in_runs.nulls[col] > in_runs.rows / STALE_PART;
	if (!any)
		return false;
	n = sample_table(index, heap, &now);
	for (int col = 0; col < now.natts; col++)
		stale |= in_runs.nulls[col] * n > STALE_NULLS * (now.nulls[col] + now.rows / STALE_PART) *
			RelationGetNumberOfBlocks(heap);
	return stale;
}
