/*
 * build_parallel.h
 *		Building the groups of a new index by several processes.
 */
#ifndef RENCODER_BUILD_PARALLEL_H
#define RENCODER_BUILD_PARALLEL_H

#include "build/build_run.h"

/*
 * Builds all groups with as many workers as the planner allows for this index
 * (max_parallel_maintenance_workers, maintenance_work_mem, the table's size and its
 * parallel_workers, parallel-safe expressions) and sets *totals.  False, and nothing is done, if
 * there are none to be had or too few groups.
 *
 * Sets plan->memory, and finishes the run, if there is to be one.  Locks and errors as
 * rencoder_build_group_run(); an error of a worker is raised here, and an error here ends
 * the workers.
 */
extern bool rencoder_build_parallel(Relation heap, Relation index, IndexInfo *indexInfo,
									RencoderBuildPlan *plan, RencoderBuildRun *run,
									RencoderBuildTotals *totals);

#endif							/* RENCODER_BUILD_PARALLEL_H */
