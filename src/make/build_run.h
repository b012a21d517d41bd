/*
 * build_run.h
 *		The run of a new index: where its keys go instead of filters.
 */
#ifndef RENCODER_BUILD_RUN_H
#define RENCODER_BUILD_RUN_H

#include "make/build_group.h"
#include "store/run_pages.h"

typedef struct RencoderBuildRun RencoderBuildRun;

/*
 * Begins the run of all groups of the plan and sets plan->run and plan->places; NULL, and nothing
 * is done, if the index is to have none: its owner does not want one, or the table has less than 8
 * ranges.  In the current memory context.
 */
extern RencoderBuildRun *rencoder_build_run_begin(Relation heap, Relation index, RencoderBuildPlan *plan);

/*
 * Begins a sorter for each tree of an index with "natts" columns (store/run_format.h), which share
 * "memory" bytes; in the current memory context.  Keys are in places before "nplaces".  With a file
 * set, those of a worker, whose work another process takes over.
 */
extern void rencoder_build_run_begin_sorters(RencoderRunSorter **sorter, int natts, Size memory,
											 uint32 nplaces, FileSet *fileset, int worker);

/* A worker leaves what it has sorted in files, and its sorters end. */
extern void rencoder_build_run_export(RencoderRunSorter **sorter, int natts);

/* Takes over what workers 0 .. nworkers - 1 have left. */
extern void rencoder_build_run_import(RencoderRunSorter **sorter, int natts, FileSet *fileset,
									  int nworkers);

/* Ends them without a run. */
extern void rencoder_build_run_end_sorters(RencoderRunSorter **sorter, int natts);

/* What the trees of a run have in common. */
typedef struct RencoderBuildTrees
{
	const uint32 *coder;		/* generation, by column */
	BlockNumber first_page;		/* of the heap */
	uint32		npages;
	renc_places places;			/* that entries may name */
	double		heap_pages;		/* of the table, of whose false pages it gets
								 * its share */
	bool		report;			/* phases and rows
								 * (pg_stat_progress_create_index) */
} RencoderBuildTrees;

/*
 * Sorts what the sorters were given, writes the trees, and ends the sorters.  What has no pairs
 * gets no tree.  A column's query samples weigh the width of cells.
 */
extern void rencoder_build_run_write_trees(RencoderRunWriter *writer, Relation index,
										   RencoderRunSorter **sorter, const RencoderBuildTrees *trees);

/*
 * Sorts what the sorters were given, writes it and makes the run LIVE.  Ends the
 * sorters and frees *run.  WAL: none; the build logs the fork.
 */
extern void rencoder_build_run_finish(RencoderBuildRun *run, RencoderRunSorter **sorter,
									  const RencoderBuildTotals *totals);

/* ---- All of it, by several processes (build_parallel.c) ---- */

/*
 * Builds all groups with as many workers as the planner allows for this index
 * (max_parallel_maintenance_workers, maintenance_work_mem, the table's size and its
 * parallel_workers, parallel-safe expressions) and sets *totals.  False, and nothing is done, if
 * there are none to be had or too few groups.
 *
 * Sets plan->memory, and finishes the run, if there is to be one.  Locks and errors as
 * rencoder_build_group_make(); an error of a worker is raised here, and an error here ends
 * the workers.
 */
extern bool rencoder_build_parallel(Relation heap, Relation index, IndexInfo *indexInfo,
									RencoderBuildPlan *plan, RencoderBuildRun *run,
									RencoderBuildTotals *totals);

#endif							/* RENCODER_BUILD_RUN_H */
