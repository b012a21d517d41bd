/*
 * scan_report.c
 *		What the scans of one query skipped, for EXPLAIN.
 *
 * From PostgreSQL 18 on EXPLAIN (ANALYZE) says it at the nodes of the plan; it looks into no
 * function, and says no more than PostgreSQL does there (rows and pages of each node, rows that a
 * policy removed).  The counts are those of scan.h: of all processes and all rescans.
 */

#include "scan/scan_observe.h"

#include "scan/scan.h"

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
