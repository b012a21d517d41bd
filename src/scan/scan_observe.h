/*
 * scan_observe.h
 *		On how many of the pages that an index let pass was nothing found?  And what else the executor
 *		and EXPLAIN do for scans of ours.
 */
#ifndef RENCODER_SCAN_OBSERVE_H
#define RENCODER_SCAN_OBSERVE_H

#include "base/compat.h"

#include "executor/execdesc.h"

/* Hooks into the executor: once, by rencoder_scan_report_init(). */
extern void rencoder_scan_observe_init(void);

/* This process may execute plans with scans of ours: until then it looks at none. */
extern void rencoder_scan_observe_expect(void);

/* The index of ours that the node scans, or NULL. */
extern Relation rencoder_scan_index_of_node(PlanState *node);

/* The scan of the index by such a node; NULL: it has not begun. */
extern IndexScanDesc rencoder_scan_of_node(PlanState *node);

/*
 * Is it known on which pages a bitmap heap scan, or a plain index scan, has found a row for its
 * index?  So if the index is its only one and one of ours, and all conditions of the scan are the
 * index's.
 */
extern bool rencoder_scan_is_observed(PlanState *node);

/* ---- How rows are compared with lists of values (scan_recheck.c) ---- */

/*
 * Has the recheck of a scan that is about to begin, a bitmap heap scan or an index scan, look lists
 * up in hash tables, where it is certain that they stay as they are.  Evaluates no expression, and
 * raises no error.
 */
extern void rencoder_scan_recheck(PlanState *node);

/* ---- What the scans of one query skipped, for EXPLAIN (scan_report.c) ---- */

/*
 * Hooks into the executor and EXPLAIN, once: before a session's first plan with a scan of ours
 * is executed.
 */
extern void rencoder_scan_report_init(void);

#endif							/* RENCODER_SCAN_OBSERVE_H */
