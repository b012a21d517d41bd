/*
 * vacuum.c
 *		VACUUM: makes a run of what is behind the frontier, a delta of the pending list, and other runs in
 *		the place of those that suit the table badly by now.  When: make/choose.c.
 *
 * Deleted rows leave their keys behind; that only costs time, until their pages are read again.
 * A table that VACUUM has truncated is shorter than its runs; the next one, or the worker, lowers the
 * frontier.
 */
#include "rencoder.h"

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
#include "base/subtransaction.h"
#include "make/choose.h"
#include "make/shrink.h"
#include "store/hint_pages.h"
#include "table/coder_columns.h"
#include "table/heap_read.h"
#include "worker/worker_queue.h"

/* What the second phase of CREATE INDEX CONCURRENTLY does. */
typedef struct Validation
{
	Relation	index;
	Relation	heap;
	BlockNumber nblocks;		/* of the table, before it was read */
} Validation;

static void
index_all_rows(void *arg)
{
	Validation *v = (Validation *) arg;

	v->nblocks = RelationGetNumberOfBlocks(v->heap);
	(void) rencoder_choose_all(v->index, v->heap);
}

/* Reports the TIDs of all rows of the table, and unused ones. */
static void
report_tids_to_vacuum(const Validation *v, IndexBulkDeleteCallback callback, void *callback_state)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	ItemPointerData tid;

	for (BlockNumber block = 0; block < v->nblocks; block++)
	{
		OffsetNumber max = rencoder_heap_last_line_pointer(v->heap, block, strategy);

		CHECK_FOR_INTERRUPTS();
		for (OffsetNumber offset = FirstOffsetNumber; offset <= max; offset++)
		{
			ItemPointerSet(&tid, block, offset);
			(void) callback(&tid, callback_state);
		}
	}
	FreeAccessStrategy(strategy);
}

/*
 * The second phase of CREATE INDEX CONCURRENTLY asks the index for the TIDs of all its rows, and
 * inserts what it finds in the table besides.  The first phase has left the index empty.  By now it
 * is open for inserts, and nobody is left who has inserted rows before it was.  So a run
 * has all versions that anybody may see, as in any index in use, and what comes meanwhile is put
 * in by its inserters: nothing is left to insert.
 *
 * If an expression fails, as it may for a version that the phase itself does not see, no TID is
 * reported: what has no run is read by all scans, and an error of a row that is seen is
 * raised by the phase.  Where there is none, an error is the statement's: else a full disk would leave a
 * valid index that knows no row.
 */
IndexBulkDeleteResult *
rencoderbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
				   IndexBulkDeleteCallback callback, void *callback_state)
{
	/*
	 * Or VACUUM has come to what an interrupted CREATE INDEX CONCURRENTLY
	 * left: it has no use for TIDs.
	 */
	if (!info->index->rd_index->indisvalid && (MyProc->statusFlags & PROC_IN_VACUUM) == 0)
	{
		Validation	v = {.index = info->index};

		v.heap = table_open(IndexGetRelation(RelationGetRelid(info->index), false), AccessShareLock);
		if (v.heap->rd_rel->relam == HEAP_TABLE_AM_OID)
		{
			bool		done = true;

			if (rencoder_heap_runs_functions(info->index))
				done = rencoder_best_effort(index_all_rows, &v, info->index, "read all rows");
			else
				index_all_rows(&v);
			if (done)
				report_tids_to_vacuum(&v, callback, callback_state);
		}
		table_close(v.heap, AccessShareLock);
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
vacuum_may_evaluate(Relation index)
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
vacuum_is_urgent(void)
{
	return (MyProc->statusFlags & PROC_VACUUM_FOR_WRAPAROUND) != 0;
}

/*
 * An index that has lost a coder is left as it is, with a warning: queries report it, and VACUUM of
 * the table must go on.
 */
static void
maintain_in_vacuum(const IndexVacuumInfo *info, Relation heap)
{
	if (!rencoder_columns_check_coders(info->index, WARNING))
		return;
	rencoder_hints_make_pages(info->index, RelationGetNumberOfBlocks(heap), true);
	rencoder_choose_in_vacuum(info->index, heap, vacuum_is_urgent());

	/*
	 * A standby has the lock until the transaction ends, and so nobody there
	 * could ask the table while VACUUM goes on.  That of the worker ends at
	 * once.
	 */
	if (!vacuum_is_urgent() && rencoder_shrink_is_due(info->index) &&
		!(rencoder_options(info->index)->autosummarize && !RelationUsesLocalBuffers(info->index) &&
		  rencoder_worker_queue_put(RelationGetRelid(info->index), false)))
		rencoder_shrink_file(info->index, heap);
}

/* Leaves it to the worker, where that may do it. */
static void
leave_vacuum_to_worker(Relation index)
{
	if (rencoder_options(index)->autosummarize &&
		rencoder_worker_queue_put(RelationGetRelid(index), true))
		return;
	ereport(NOTICE,
			(errmsg("index \"%s\" is not maintained by a parallel VACUUM",
					RelationGetRelationName(index)),
			 errdetail("It has an expression or predicate that is not parallel safe."),
			 errhint("Use VACUUM (PARALLEL 0) to maintain it.")));
}

IndexBulkDeleteResult *
rencodervacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	Relation	heap;
	int			nestlevel;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = (IndexBulkDeleteResult *) palloc0(sizeof(IndexBulkDeleteResult));

	heap = table_open(IndexGetRelation(RelationGetRelid(info->index), false),
					  AccessShareLock);

	/*
	 * With a search path that nobody can put anything in front of, as the
	 * worker and the SQL functions have it: before version 17, VACUUM goes by
	 * that of the session.
	 */
	nestlevel = NewGUCNestLevel();
	rencoder_restrict_search_path();
	if (vacuum_may_evaluate(info->index))
		maintain_in_vacuum(info, heap);
	else
		leave_vacuum_to_worker(info->index);
	AtEOXact_GUC(false, nestlevel);
	table_close(heap, AccessShareLock);

	/*
	 * Every row is in the index, unless it is a partial one, whose number of
	 * rows stays what the build or ANALYZE found.
	 */
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	stats->num_index_tuples = info->num_heap_tuples;
	stats->estimated_count = info->estimated_count ||
		RelationGetIndexPredicate(info->index) != NIL;
	stats->pages_free = (BlockNumber) rencoder_space_count_free_pages(info->index, InvalidBlockNumber, NULL);
	return stats;
}
