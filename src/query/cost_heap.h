/*
 * cost_heap.h
 *		Telling the planner about the heap pages that a scan visits, in a bitmap or a plain scan.
 */
#ifndef RENCODER_COST_HEAP_H
#define RENCODER_COST_HEAP_H

#include "query/cost_path.h"

/*
 * Of several indexes for the same clauses the planner keeps that of the least index cost, which is
 * BRIN's as soon as there are some rows.  Nothing is left of a btree then but a plain scan.  True
 * if that is dearer than a sequential one, so that no exact index is taken.  Wants rows and
 * correlation.
 */
extern bool rencoder_cost_exact_hidden(const RencoderCostPath *p);

/* What the planner is told of a path: as amcostestimate. */
typedef struct RencoderCostReport
{
	Cost		startup;		/* without operands */
	Cost		total;			/* likewise */
	Selectivity selectivity;
	double		correlation;
} RencoderCostReport;

/*
 * Reports the costs of a path with its results, so that the planner arrives at
 * their sum, and rightly compares it with paths of other indexes on the way.
 */
extern RencoderCostReport rencoder_cost_report(const RencoderCostPath *p);

#endif							/* RENCODER_COST_HEAP_H */
