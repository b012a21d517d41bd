/*
 * vacuum.c
 *		VACUUM: summarizes what is left, and rebuilds what has come to suit
 *		the rows or the queries badly.
 *
 * Deleted rows leave their bits behind; that only costs time, until their
 * group is rebuilt.
 */
#include "rencoder.h"

#include "access/table.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "autosummarize.h"
#include "horizon.h"
#include "retune.h"
#include "sampling.h"
#include "space.h"
#include "summarize.h"

/*
 * CREATE INDEX CONCURRENTLY is about to put all rows into the index that its second
 * snapshot sees.  A row that came after the first snapshot, before inserters
 * cared for the index, and is gone by now is not among them.  Whoever needs it has an
 * xmin of at most the deleting id, and a standby may have such a snapshot when the
 * index becomes valid; the primary waits for its own only.  So no snapshot of the
 * present may trust what the first look has found (INV-9).
 */
static void
distrust_first_look(Relation index)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	Relation	heap = table_open(IndexGetRelation(RelationGetRelid(index), false),
								  AccessShareLock);
	uint64		nranges = rencoder_range_count(&meta, RelationGetNumberOfBlocks(heap));
	uint64		horizon = rencoder_horizon(heap, 0, true);

	rencoder_meta_lock_maintainer(index);
	for (uint64 range = 0; range < nranges; range += RENC_GROUP_RANGES)
	{
		CHECK_FOR_INTERRUPTS();
		rencoder_group_raise_horizon(index, &meta, rencoder_group_of_range(range), horizon);
	}
	rencoder_meta_unlock_maintainer(index);
	table_close(heap, AccessShareLock);
}

IndexBulkDeleteResult *
rencoderbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
				   IndexBulkDeleteCallback callback, void *callback_state)
{
	/* Or VACUUM has come to what an interrupted CREATE INDEX CONCURRENTLY left: no harm. */
	if (!info->index->rd_index->indisvalid)
		distrust_first_look(info->index);

	/* Nothing refers to single rows. */
	if (stats == NULL)
		stats = (IndexBulkDeleteResult *) palloc0(sizeof(IndexBulkDeleteResult));
	return stats;
}

IndexBulkDeleteResult *
rencodervacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	Relation	heap;
	uint64		nranges;
	int64		rebuilt;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = (IndexBulkDeleteResult *) palloc0(sizeof(IndexBulkDeleteResult));

	heap = table_open(IndexGetRelation(RelationGetRelid(info->index), false),
					  AccessShareLock);
	nranges = rencoder_range_count(rencoder_meta_get(info->index),
								   RelationGetNumberOfBlocks(heap));

	if (rencoder_worth_summarizing(rencoder_meta_get(info->index), RelationGetNumberOfBlocks(heap)))
		(void) rencoder_summarize(info->index, heap, 0, nranges - 1, true);
	rencoder_sampling_prepare(info->index, RelationGetNumberOfBlocks(heap));
	rebuilt = rencoder_retune_some(info->index, heap);
	if (rebuilt > 0)
		ereport(info->message_level,
				(errmsg("index \"%s\": %lld groups of block ranges were rebuilt",
						RelationGetRelationName(info->index), (long long) rebuilt)));
	table_close(heap, AccessShareLock);

	/*
	 * Every row is in the index, unless it is a partial one, whose number of
	 * rows stays what the build or ANALYZE found.
	 */
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	stats->num_index_tuples = info->num_heap_tuples;
	stats->estimated_count = info->estimated_count ||
		RelationGetIndexPredicate(info->index) != NIL;
	stats->pages_free = (BlockNumber) rencoder_space_free_pages(info->index, NULL);
	return stats;
}
