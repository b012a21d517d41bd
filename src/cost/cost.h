/*
 * cost.h
 *		The cost estimate of an index scan.
 */
#ifndef RENCODER_COST_H
#define RENCODER_COST_H

#include "base/compat.h"

#include "nodes/pathnodes.h"

/*
 * Callback of the access method.  Its parts:
 *
 *		cost.c				clauses -> pages to be read
 *		cost_clauses.c		what the clauses ask of each column
 *		cost_runs.c			what catalog and runs say
 *		cost_covered.c		what is visited of pages that runs cover; nulls: cost_nulls.c
 *		cost_privileges.c	whether the planner may look at the keys of rows
 *		cost_heap.c			telling the planner about the heap pages, of bitmap and plain scans
 *		cost_order.c		telling it which indexes have an order
 */
extern void rencodercostestimate(PlannerInfo *root, IndexPath *path,
								 double loop_count, Cost *indexStartupCost,
								 Cost *indexTotalCost, Selectivity *indexSelectivity,
								 double *indexCorrelation, double *indexPages);

/* Sets the hook by which the planner learns of the order of indexes. */
extern void rencoder_cost_order_init(void);

#endif							/* RENCODER_COST_H */
