/*
 * cost_heap.h
 *		Telling the planner about the heap pages.
 */
#ifndef RENCODER_COST_HEAP_H
#define RENCODER_COST_HEAP_H

#include "query/cost_path.h"

/*
 * Reports the costs of a path with its results, so that the planner arrives at
 * their sum, and rightly compares it with paths of other indexes on the way.
 */
extern void rencoder_cost_report(const RencoderCostPath *p, Cost *index_cost,
								 Selectivity *selectivity);

#endif							/* RENCODER_COST_HEAP_H */
