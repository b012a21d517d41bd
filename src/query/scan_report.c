/*
 * scan_report.c
 *		What the scans of one query skipped, for whoever asks for it.
 *
 * From PostgreSQL 18 on EXPLAIN (ANALYZE) says it at the nodes of the plan; it looks into no
 * function, and says no more than PostgreSQL does there (rows and pages of each node, rows that a
 * policy removed).  Under rencoder.report_scans any version says it when a query has ended, if the
 * scan is reportable: also in functions and views, so not what the user must not learn.  The counts
 * are those of scan.h: of all processes and all rescans.
 */

#include "query/scan_observe.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "base/options.h"
#include "query/scan.h"

/* ---- Messages ---- */

static void
report_index(Relation index, const RencoderNodeCounts *scan, const RencoderNodeCounts *heap)
{
	if (RencoderScanRanges(scan) == 0)
		return;					/* it never began, or nothing could match */
	ereport(INFO,
			(errmsg("index \"%s\": pages passed: %.0f, block ranges skipped: %.0f of %.0f",
					RelationGetRelationName(index), RencoderScanPages(scan),
					RencoderScanSkipped(scan), RencoderScanRanges(scan)),
			 heap == NULL ? 0 :
			 errdetail("Pages read: %.0f, without rows: %.0f.", RencoderScanPagesRead(heap),
					   RencoderScanPagesRead(heap) - RencoderScanPagesFound(heap))));
}

/* A plain scan has no other pages than those that it has handed out rows of. */
static void
report_plain_scan(Relation index, PlanState *node)
{
	const RencoderNodeCounts *scan = node->instrument;

	if (rencoder_scan_plain_counts(rencoder_scan_of_node(node), NULL) == 0 &&
		RencoderScanPages(scan) == 0)
		return;					/* it never began, or nothing could match */
	ereport(INFO,
			(errmsg("index \"%s\": pages passed: %.0f", RelationGetRelationName(index),
					RencoderScanPages(scan)),
			 !rencoder_scan_is_observed(node) ? 0 :
			 errdetail("Pages read: %.0f, without rows: %.0f.", RencoderScanPages(scan),
					   RencoderScanPages(scan) - RencoderPlainPagesFound(scan))));
}

/* Reports a scan of ours, with the heap scan that takes all of its pages and no others, or NULL. */
static void
report_scan(PlanState *scan, PlanState *heap, List **reported)
{
	if (scan->instrument == NULL || list_member_ptr(*reported, scan) ||
		!rencoder_scan_is_reportable(rencoder_scan_of_node(scan)))
		return;
	*reported = lappend(*reported, scan);
	if (IsA(scan, IndexScanState))
		report_plain_scan(rencoder_scan_index_of_node(scan), scan);
	else
		report_index(rencoder_scan_index_of_node(scan), scan->instrument,
					 heap == NULL ? NULL : heap->instrument);
}

/* "context": what is reported.  A plan has some subqueries in several places. */
static bool
report_plan(PlanState *node, void *context)
{
	List	  **reported = (List **) context;

	if (node == NULL)
		return false;
	if (rencoder_scan_is_observed(node) && IsA(node, BitmapHeapScanState))
		report_scan(outerPlanState(node), node, reported);
	else if (rencoder_scan_index_of_node(node) != NULL)
		report_scan(node, NULL, reported);
	return planstate_tree_walker(node, report_plan, context);
}

void
rencoder_scan_report(QueryDesc *desc)
{
	List	   *reported = NIL;

	if (rencoder_report_scans && !IsParallelWorker())
		(void) report_plan(desc->planstate, &reported);
	list_free(reported);
}

/* ---- EXPLAIN ---- */

#ifdef RENCODER_HAVE_EXPLAIN_NODE

static explain_per_node_hook_type next_explain_node = NULL;

static void
explain_index(const RencoderNodeCounts *scan, ExplainState *es)
{
	ExplainPropertyFloat("Pages Passed", NULL, RencoderScanPages(scan), 0, es);
	ExplainPropertyFloat("Block Ranges", NULL, RencoderScanRanges(scan), 0, es);
	ExplainPropertyFloat("Block Ranges Skipped", NULL, RencoderScanSkipped(scan), 0, es);
}

static void
explain_plain(PlanState *node, ExplainState *es)
{
	const RencoderNodeCounts *scan = node->instrument;

	if (es->format == EXPLAIN_FORMAT_TEXT && RencoderScanPages(scan) == 0)
		return;
	ExplainPropertyFloat("Pages Passed", NULL, RencoderScanPages(scan), 0, es);
	if (rencoder_scan_is_observed(node))
		ExplainPropertyFloat("Pages Without Rows", NULL, RencoderScanPages(scan) -
							 RencoderPlainPagesFound(scan), 0, es);
}

/* As PostgreSQL does: text has no line of what did not happen. */
static void
explain_node(PlanState *node, List *ancestors, const char *relationship, const char *plan_name,
			 ExplainState *es)
{
	const RencoderNodeCounts *instrument = node->instrument;

	if (next_explain_node)
		next_explain_node(node, ancestors, relationship, plan_name, es);
	if (!es->analyze || instrument == NULL)
		return;
	if (IsA(node, IndexScanState) && rencoder_scan_index_of_node(node) != NULL)
	{
		explain_plain(node, es);
		return;
	}
	if (rencoder_scan_index_of_node(node) != NULL &&
		(es->format != EXPLAIN_FORMAT_TEXT || RencoderScanRanges(instrument) > 0))
		explain_index(instrument, es);
	if (rencoder_scan_is_observed(node) &&
		(es->format != EXPLAIN_FORMAT_TEXT || RencoderScanPagesRead(instrument) > 0))
		ExplainPropertyFloat("Pages Without Rows", NULL, RencoderScanPagesRead(instrument) -
							 RencoderScanPagesFound(instrument), 0, es);
}

#endif

void
rencoder_scan_report_init(void)
{
	static bool hooked = false;

	if (hooked)
		return;
	hooked = true;
	rencoder_scan_observe_init();
#ifdef RENCODER_HAVE_EXPLAIN_NODE
	next_explain_node = explain_per_node_hook;
	explain_per_node_hook = explain_node;
#endif
}
