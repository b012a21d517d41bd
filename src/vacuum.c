/*
 * vacuum.c
 *		VACUUM: summarizes what is left, rebuilds what has come to suit the
 *		rows or the queries badly, makes a delta of the pending list, and runs of full groups.
 *
 * Deleted rows leave their bits behind; that only costs time, until their
 * group is rebuilt.
 */
#include "named_rows.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "base/options.h"
#include "maintain/compact.h"
#include "maintain/delta.h"
#include "maintain/retune.h"
#include "maintain/summarize.h"
#include "plan/sample_record.h"
#include "store/group_edit.h"
#include "store/horizon.h"
#include "store/pending.h"
#include "store/space.h"
#include "table/coder_columns.h"
#include "worker/autosummarize.h"
#include "worker/worker_queue.h"

/*
 * CREATE INDEX CONCURRENTLY is about to put all rows into the index that its second
 * snapshot sees.  A row that came after the first snapshot, before inserters
 * cared for the index, and is gone by now is not among them.  Whoever needs it has an
 * xmin of at most the deleting id, and a standby may have such a snapshot when the
 * index becomes valid; the primary waits for its own only.  So no snapshot of the
 * present may trust what the first look has found (INV-9).
 */
static void
distrust_first_look(Relation index, Relation heap)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	RencoderGroup group;
	uint64		nranges = rencoder_range_count(&meta, RelationGetNumberOfBlocks(heap));
	uint64		horizon = rencoder_horizon(heap, 0, true);

	rencoder_meta_lock_maintainer(index);
	for (uint64 range = 0; range < nranges; range += RENC_GROUP_RANGES)
	{
		CHECK_FOR_INTERRUPTS();
		if (rencoder_group_locate(&group, index, &meta, rencoder_group_of_range(range)))
			rencoder_group_edit_raise_horizon(&group, horizon);
	}
	rencoder_meta_unlock_maintainer(index);
}

IndexBulkDeleteResult *
rencoderbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
				   IndexBulkDeleteCallback callback, void *callback_state)
{
	/*
	 * Or VACUUM has come to what an interrupted CREATE INDEX CONCURRENTLY
	 * left: no harm, but it has no use for rows that are in the index.
	 */
	if (!info->index->rd_index->indisvalid)
	{
		Relation	heap = table_open(IndexGetRelation(RelationGetRelid(info->index), false),
									  AccessShareLock);

		distrust_first_look(info->index, heap);
		if ((MyProc->statusFlags & PROC_IN_VACUUM) == 0 &&
			heap->rd_rel->relam == HEAP_TABLE_AM_OID)
			rencoder_named_rows_report(info->index, heap, callback, callback_state);
		table_close(heap, AccessShareLock);
	}

	/* Nothing refers to single rows. */
	if (stats == NULL)
		stats = (IndexBulkDeleteResult *) palloc0(sizeof(IndexBulkDeleteResult));
	return stats;
}

/*
 * May rows be put into expressions of the index here?  In a parallel VACUUM all of its
 * processes are in parallel mode, the leader included, whatever indexes it cleans up
 * itself; and a function with an EXCEPTION block, for one, fails there.  One that says
 * that it is parallel safe is believed, as by any parallel query.
 */
static bool
may_evaluate(Relation index)
{
	PlannerInfo *root;

	if (!IsInParallelMode())
		return true;
	root = makeNode(PlannerInfo);
	root->glob = makeNode(PlannerGlobal);
	root->glob->maxParallelHazard = PROPARALLEL_UNSAFE; /* not known: look */
	return is_parallel_safe(root, (Node *) RelationGetIndexExpressions(index)) &&
		is_parallel_safe(root, (Node *) RelationGetIndexPredicate(index));
}

/*
 * Does somebody wait for this VACUUM, because transaction ids run short?  Then what can be done
 * later is left to the next one.
 */
static bool
is_urgent(void)
{
	return (MyProc->statusFlags & PROC_VACUUM_FOR_WRAPAROUND) != 0;
}

/*
 * Summarizes what is not, makes a delta of what is pending and runs of what is full, and retunes.
 * An index that has lost a coder is left as it is, with a warning: queries report it, and VACUUM of
 * the table must go on.
 */
static void
maintain(const IndexVacuumInfo *info, Relation heap)
{
	Relation	index = info->index;
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	RencoderMeta meta = *rencoder_meta_get(index);
	int64		rebuilt = 0;

	if (!rencoder_columns_check_coders(index, WARNING))
		return;
	if (rencoder_autosummarize_is_worth(&meta, nblocks))
		(void) rencoder_summarize(index, heap, 0, rencoder_range_count(&meta, nblocks) - 1, true);
	rencoder_sample_record_prepare(index, nblocks);
	(void) rencoder_delta_make_of_all(index);
	if (!is_urgent())
	{
		rebuilt += rencoder_retune_coders(index, heap, false);
		rencoder_compact_vacuum(index, heap);
	}
	rencoder_meta_lock_maintainer(index);
	rencoder_pending_free_spares(index);
	rencoder_meta_unlock_maintainer(index);
	rebuilt += rencoder_retune_some(index, heap);
	if (rebuilt > 0)
		ereport(info->message_level,
				(errmsg_plural("index \"%s\": %lld group of block ranges was rebuilt",
							   "index \"%s\": %lld groups of block ranges were rebuilt",
							   (unsigned long) rebuilt,
							   RelationGetRelationName(index), (long long) rebuilt)));
}

/*
 * With a search path that nobody can put anything in front of, as the worker and the SQL functions
 * have it: before version 17, VACUUM goes by that of the session.
 */
static void
maintain_safely(const IndexVacuumInfo *info, Relation heap)
{
	int			nestlevel = NewGUCNestLevel();

	rencoder_restrict_search_path();
	maintain(info, heap);
	AtEOXact_GUC(false, nestlevel);
}

/* Leaves it to the worker, where that may do it. */
static void
do_without(Relation index)
{
	if (rencoder_options_autosummarize(index) &&
		rencoder_worker_queue_put(RelationGetRelid(index), 0, true))
		return;
	ereport(NOTICE,
			(errmsg("index \"%s\" is not summarized by a parallel VACUUM",
					RelationGetRelationName(index)),
			 errdetail("It has an expression or predicate that is not parallel safe."),
			 errhint("Use VACUUM (PARALLEL 0) to summarize it.")));
}

IndexBulkDeleteResult *
rencodervacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	Relation	heap;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = (IndexBulkDeleteResult *) palloc0(sizeof(IndexBulkDeleteResult));

	heap = table_open(IndexGetRelation(RelationGetRelid(info->index), false),
					  AccessShareLock);
	if (may_evaluate(info->index))
		maintain_safely(info, heap);
	else
		do_without(info->index);
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
