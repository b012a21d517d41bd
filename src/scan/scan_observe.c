/*
 * scan_observe.c
 *		On how many of the pages that an index let pass was nothing found?
 *
 * An index access method is not told.  The executor's bitmap heap scan knows how many pages it
 * has read, a plain scan of ours of how many it has handed out rows, and each row that these nodes
 * return has a page.  So their rows go through a function that counts the pages, if the index is
 * the only one, and one of ours, and all conditions of the scan are the index's: others would hide
 * rows that were found.  A page of which the snapshot sees no row counts as one without.
 */
#include "scan/scan_observe.h"

#include "base/compat.h"

#include "access/amapi.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "scan/scan.h"
#include "scan/scan_stats.h"

typedef struct ObservedScan
{
	PlanState  *node;			/* of a bitmap heap scan, or an index scan */
	ExecProcNodeMtd next_row;	/* of the executor */
	Oid			indexoid;
	BlockNumber page;			/* of the last row */
	int64		scans;
	int64		hits;			/* pages with a row */
	int64		reported;		/* pages that the node's instrumentation knows */
	bool		judged;			/* are all conditions the index's? */
	EState	   *estate;
	MemoryContextCallback forget;
	struct ObservedScan *next;
} ObservedScan;

/* Of all queries that are being executed; the one asked for last is the first. */
static ObservedScan *observed = NULL;

static ExecutorStart_hook_type next_executor_start = NULL;
static ExecutorEnd_hook_type next_executor_end = NULL;
static bool expected = false;

static ObservedScan *
find_observed(PlanState *node)
{
	ObservedScan **link = &observed;
	ObservedScan *scan;

	while ((scan = *link) != NULL && scan->node != node)
		link = &scan->next;
	if (scan == NULL)
		elog(ERROR, "scan is not observed");
	*link = scan->next;
	scan->next = observed;
	observed = scan;
	return scan;
}

/* Pages of the table that it has read so far. */
static int64
get_observed_pages_read(PlanState *node)
{
	int64		npages;

	if (IsA(node, BitmapHeapScanState))
		return rencoder_bitmap_heap_pages((BitmapHeapScanState *) node);
	(void) rencoder_scan_plain_counts(rencoder_scan_of_node(node), &npages);
	return npages;
}

/* Adds what is new: those of parallel workers are added to the same counters. */
static void
instrument_observed_row(ObservedScan *scan, bool found)
{
	RencoderNodeCounts *instrument = scan->node->instrument;
	int64		pages;

	if (instrument == NULL)
		return;
	pages = get_observed_pages_read(scan->node);
	if (IsA(scan->node, IndexScanState))
		RencoderScanPages(instrument) += pages - scan->reported;
	else
		RencoderScanPagesRead(instrument) += pages - scan->reported;
	if (scan->judged && IsA(scan->node, IndexScanState))
		RencoderPlainPagesFound(instrument) += found;
	else if (scan->judged)
		RencoderScanPagesFound(instrument) += found;
	scan->reported = pages;
}

/* It begins, or begins again? */
static bool
begins(const ObservedScan *scan)
{
	return IsA(scan->node, BitmapHeapScanState) && !((BitmapHeapScanState *) scan->node)->initialized;
}

/* An index scan begins when its first row is asked for. */
static bool
observed_has_begun(const ObservedScan *scan)
{
	return IsA(scan->node, IndexScanState) &&
		rencoder_scan_plain_counts(rencoder_scan_of_node(scan->node), NULL) != scan->scans;
}

static TupleTableSlot *
observe_row(PlanState *node)
{
	ObservedScan *scan = observed != NULL && observed->node == node ? observed : find_observed(node);
	bool		again = begins(scan);
	TupleTableSlot *slot = scan->next_row(node);
	bool		found = false;

	if (again || observed_has_begun(scan))
	{
		scan->scans++;
		scan->page = InvalidBlockNumber;
	}
	if (!TupIsNull(slot))
	{
		BlockNumber page = ItemPointerGetBlockNumber(&((ScanState *) node)->ss_ScanTupleSlot->tts_tid);

		found = page != scan->page;
		scan->hits += found;
		scan->page = page;
	}
	instrument_observed_row(scan, found);
	return slot;
}

/* The memory of the query goes, whether it ends or fails. */
static void
forget_observed(void *arg)
{
	ObservedScan **link = &observed;

	while (*link != NULL && *link != (ObservedScan *) arg)
		link = &(*link)->next;
	if (*link != NULL)
		*link = (*link)->next;
}

Relation
rencoder_scan_index_of_node(PlanState *node)
{
	Relation	index = NULL;

	if (node != NULL && IsA(node, BitmapIndexScanState))
		index = ((BitmapIndexScanState *) node)->biss_RelationDesc;
	else if (node != NULL && IsA(node, IndexScanState))
		index = ((IndexScanState *) node)->iss_RelationDesc;
	return index != NULL && index->rd_indam->amoptions == rencoderoptions ? index : NULL;
}

IndexScanDesc
rencoder_scan_of_node(PlanState *node)
{
	return IsA(node, IndexScanState) ? ((IndexScanState *) node)->iss_ScanDesc :
		((BitmapIndexScanState *) node)->biss_ScanDesc;
}

/* The node that scans the index of a scan of the table, which has no other index; or NULL. */
static PlanState *
observed_index_node(PlanState *node)
{
	if (IsA(node, IndexScanState))
		return node;
	return IsA(node, BitmapHeapScanState) ? outerPlanState(node) : NULL;
}

bool
rencoder_scan_is_observed(PlanState *node)
{
	return node->qual == NULL && rencoder_scan_index_of_node(observed_index_node(node)) != NULL;
}

static void
observe_scan(PlanState *node)
{
	EState	   *estate = node->state;
	ObservedScan *scan = MemoryContextAllocZero(estate->es_query_cxt, sizeof(ObservedScan));

	scan->node = node;
	scan->next_row = node->ExecProcNodeReal;
	scan->indexoid = RelationGetRelid(rencoder_scan_index_of_node(observed_index_node(node)));
	scan->judged = rencoder_scan_is_observed(node);
	scan->page = InvalidBlockNumber;
	scan->estate = estate;
	scan->forget.func = forget_observed;
	scan->forget.arg = scan;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &scan->forget);
	scan->next = observed;
	observed = scan;
	ExecSetExecProcNode(node, observe_row);
}

/* Is it, or is below it, a scan of ours? */
static bool
has_observed_scan(PlanState *node, void *context)
{
	return node != NULL &&
		(rencoder_scan_index_of_node(node) != NULL ||
		 planstate_tree_walker(node, has_observed_scan, context));
}

/* "context" is whether the plan is going to be executed. */
static bool
observe_plan(PlanState *node, void *context)
{
	if (node == NULL)
		return false;

	if (*(bool *) context &&
		((IsA(node, BitmapHeapScanState) && has_observed_scan(outerPlanState(node), NULL)) ||
		 (IsA(node, IndexScanState) && rencoder_scan_index_of_node(node) != NULL)))
		rencoder_scan_recheck(node);

	/*
	 * A subquery in the condition of an index is met twice: its recheck has
	 * it, too.  What a plain scan hands out is counted in any case.
	 */
	if ((rencoder_scan_is_observed(node) ||
		 (IsA(node, IndexScanState) && rencoder_scan_index_of_node(node) != NULL)) &&
		node->ExecProcNodeReal != observe_row)
		observe_scan(node);
	if (IsA(node, BitmapIndexScanState) && rencoder_scan_index_of_node(node) != NULL)
		rencoder_scan_instrument(rencoder_scan_of_node(node), node->instrument);
	return planstate_tree_walker(node, observe_plan, context);
}

static void
observe_start(QueryDesc *desc, int eflags)
{
	bool		execute = (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0;

	if (next_executor_start)
		next_executor_start(desc, eflags);
	else
		standard_ExecutorStart(desc, eflags);
	if (expected)
		(void) observe_plan(desc->planstate, &execute);
}

static void
observe_end(QueryDesc *desc)
{
	for (ObservedScan *scan = observed; scan != NULL; scan = scan->next)
	{
		RencoderStats stats = {0};
		int64		pages;

		if (scan->estate != desc->estate || scan->scans == 0 || !scan->judged)
			continue;
		pages = get_observed_pages_read(scan->node);
		stats.count[RENCODER_STATS_CHECKED_SCANS] = scan->scans;
		stats.count[RENCODER_STATS_CHECKED_PAGES] = pages;
		stats.count[RENCODER_STATS_FALSE_PAGES] = Max(pages - scan->hits, 0);
		rencoder_scan_stats_add(scan->indexoid, &stats, 0);
	}
	if (next_executor_end)
		next_executor_end(desc);
	else
		standard_ExecutorEnd(desc);
}

void
rencoder_scan_observe_expect(void)
{
	expected = true;
}

void
rencoder_scan_observe_init(void)
{
	next_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = observe_start;
	next_executor_end = ExecutorEnd_hook;
	ExecutorEnd_hook = observe_end;
}
