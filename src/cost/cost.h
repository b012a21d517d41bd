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
 *		cost.c				clauses -> ranges and index pages to be read
 *		cost_groups.c		what directory, headers and filters say of the groups
 *		cost_runs.c			what the runs say
 *		cost_privileges.c	whether the planner may look at the keys of rows
 *		cost_heap.c			telling the planner about the heap pages, of bitmap and plain scans
 */
extern void rencodercostestimate(PlannerInfo *root, IndexPath *path,
								 double loop_count, Cost *indexStartupCost,
								 Cost *indexTotalCost, Selectivity *indexSelectivity,
								 double *indexCorrelation, double *indexPages);

#endif							/* RENCODER_COST_H */
