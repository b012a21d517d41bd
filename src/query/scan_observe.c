/*
 * scan_observe.c
 *		On how many of the pages that an index let pass was nothing found?
 *
 * An index access method is not told.  The executor's bitmap heap scan knows how many pages it
 * has read, and each row that it returns has a page.  So the rows of those scans go through a
 * function that counts their pages, if the bitmap is that of one of our indexes alone and all
 * conditions of the scan are the index's: others would hide rows that were found.  A page of which
 * the snapshot sees no row counts as one without.
 */
#include "query/scan_observe.h"

#include "base/compat.h"

#include "access/amapi.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "query/scan.h"
#include "query/scan_instrument.h"
#include "query/scan_recheck.h"
#include "query/scan_stats.h"

typedef struct ObservedScan
{
	BitmapHeapScanState *node;
	ExecProcNodeMtd next_row;	/* of the executor */
	Oid			indexoid;
	BlockNumber page;			/* of the last row */
	int64		scans;
	int64		hits;			/* pages with a row */
	int64		reported;		/* pages that the node's instrumentation knows */
	EState	   *estate;
	MemoryContextCallback forget;
	struct ObservedScan *next;
} ObservedScan;

/* Of all queries that are being executed; the one asked for last is the first. */
static ObservedScan *observed = NULL;

static ExecutorStart_hook_type next_executor_start = NULL;
static ExecutorEnd_hook_type next_executor_end = NULL;

static ObservedScan *
find_observed(PlanState *node)
{
	ObservedScan **link = &observed;
	ObservedScan *scan;

	while ((scan = *link) != NULL && &scan->node->ss.ps != node)
		link = &scan->next;
	if (scan == NULL)
		elog(ERROR, "bitmap heap scan is not observed");
	*link = scan->next;
	scan->next = observed;
	observed = scan;
	return scan;
}

/* Adds what is new: those of parallel workers are added to the same counters. */
static void
instrument_row(ObservedScan *scan, bool found)
{
	RencoderNodeCounts *instrument = scan->node->ss.ps.instrument;
	int64		pages;

	if (instrument == NULL)
		return;
	pages = rencoder_bitmap_heap_pages(scan->node);
	RencoderScanPagesRead(instrument) += pages - scan->reported;
	RencoderScanPagesFound(instrument) += found;
	scan->reported = pages;
}

static TupleTableSlot *
observe_row(PlanState *node)
{
	ObservedScan *scan = observed != NULL && &observed->node->ss.ps == node ? observed :
		find_observed(node);
	TupleTableSlot *slot;
	bool		found = false;

	/* It begins, or begins again. */
	if (!scan->node->initialized)
	{
		scan->scans++;
		scan->page = InvalidBlockNumber;
	}
	slot = scan->next_row(node);
	if (!TupIsNull(slot))
	{
		BlockNumber page = ItemPointerGetBlockNumber(&scan->node->ss.ss_ScanTupleSlot->tts_tid);

		found = page != scan->page;
		scan->hits += found;
		scan->page = page;
	}
	instrument_row(scan, found);
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
rencoder_scan_index(PlanState *node)
{
	Relation	index;

	if (node == NULL || !IsA(node, BitmapIndexScanState))
		return NULL;
	index = ((BitmapIndexScanState *) node)->biss_RelationDesc;
	return index != NULL && index->rd_indam->amoptions == rencoderoptions ? index : NULL;
}

bool
rencoder_scan_is_observed(PlanState *node)
{
	return IsA(node, BitmapHeapScanState) && node->qual == NULL &&
		rencoder_scan_index(outerPlanState(node)) != NULL;
}

static void
observe_scan(BitmapHeapScanState *node)
{
	EState	   *estate = node->ss.ps.state;
	ObservedScan *scan = MemoryContextAllocZero(estate->es_query_cxt, sizeof(ObservedScan));

	scan->node = node;
	scan->next_row = node->ss.ps.ExecProcNodeReal;
	scan->indexoid = RelationGetRelid(rencoder_scan_index(outerPlanState(node)));
	scan->page = InvalidBlockNumber;
	scan->estate = estate;
	scan->forget.func = forget_observed;
	scan->forget.arg = scan;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &scan->forget);
	scan->next = observed;
	observed = scan;
	ExecSetExecProcNode(&node->ss.ps, observe_row);
}

/* Is it, or is below it, a scan of ours? */
static bool
has_scan(PlanState *node, void *context)
{
	return node != NULL &&
		(rencoder_scan_index(node) != NULL || planstate_tree_walker(node, has_scan, context));
}

/* "context" is whether the plan is going to be executed. */
static bool
observe_plan(PlanState *node, void *context)
{
	if (node == NULL)
		return false;

	if (*(bool *) context && IsA(node, BitmapHeapScanState) &&
		has_scan(outerPlanState(node), NULL))
		rencoder_scan_recheck((BitmapHeapScanState *) node);

	/*
	 * A subquery in the condition of an index is met twice: its recheck has
	 * it, too.
	 */
	if (rencoder_scan_is_observed(node) && node->ExecProcNodeReal != observe_row)
		observe_scan((BitmapHeapScanState *) node);
	if (rencoder_scan_index(node) != NULL)
		rencoder_scan_instrument(((BitmapIndexScanState *) node)->biss_ScanDesc, node->instrument);
	return planstate_tree_walker(node, observe_plan, context);
}

/* Plans that begin no scan of ours are not looked at. */
static void
observe_start(QueryDesc *desc, int eflags)
{
	uint64		begun = rencoder_scans_begun;
	bool		execute = (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0;

	if (next_executor_start)
		next_executor_start(desc, eflags);
	else
		standard_ExecutorStart(desc, eflags);
	if (rencoder_scans_begun != begun)
		(void) observe_plan(desc->planstate, &execute);
}

static void
observe_end(QueryDesc *desc)
{
	for (ObservedScan *scan = observed; scan != NULL; scan = scan->next)
	{
		RencoderStats stats = {0};
		int64		pages;

		if (scan->estate != desc->estate || scan->scans == 0)
			continue;
		pages = rencoder_bitmap_heap_pages(scan->node);
		stats.count[RENCODER_STATS_CHECKED_SCANS] = scan->scans;
		stats.count[RENCODER_STATS_CHECKED_PAGES] = pages;
		stats.count[RENCODER_STATS_FALSE_PAGES] = Max(pages - scan->hits, 0);
		rencoder_scan_stats_add(scan->indexoid, &stats);
	}
	if (next_executor_end)
		next_executor_end(desc);
	else
		standard_ExecutorEnd(desc);
}

void
rencoder_scan_observe_init(void)
{
	next_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = observe_start;
	next_executor_end = ExecutorEnd_hook;
	ExecutorEnd_hook = observe_end;
}
