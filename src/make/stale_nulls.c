/*
 * stale_nulls.c
 *		Have runs nulls that the table has not, by now, and how many rows has it?
 *
 * Rows of a queue are born with a null, which is set when they are done.  Nothing tells the index that
 * the nulls have gone: PostgreSQL 16 and later do not even remove a line pointer.  So VACUUM looks at
 * some pages.
 */
#include "make/stale_nulls.h"

#include "catalog/index.h"
#include "common/pg_prng.h"
#include "miscadmin.h"

#include "store/run_pages.h"
#include "table/heap_read.h"

/*
 * Where runs have so many times the nulls that some pages of the table promise, and that part of its
 * rows besides, the others are set by now, as in a queue, where all rows were null once.
 */
#define STALE_NULLS			1.5
#define STALE_PART			8
#define SAMPLED_PAGES		64

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
rencoder_nulls_sample_rows(Relation index, Relation heap)
{
	SampledNulls now = {0};
	uint32		n = sample_table(index, heap, &now);

	return n == 0 ? 0 : now.rows * RelationGetNumberOfBlocks(heap) / n;
}

bool
rencoder_nulls_are_stale(Relation index, Relation heap)
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
