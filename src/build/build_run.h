/*
 * build_run.h
 *		The run of a new index: where its keys go instead of filters.
 */
#ifndef RENCODER_BUILD_RUN_H
#define RENCODER_BUILD_RUN_H

#include "build/build_group.h"
#include "store/run_pages.h"

typedef struct RencoderBuildRun RencoderBuildRun;

/*
 * Begins the run of all groups of the plan and sets plan->run and plan->places; NULL, and nothing
 * is done, if the index is to have none: its owner does not want one, or the table has less than 8
 * ranges.  In the current memory context.
 */
extern RencoderBuildRun *rencoder_build_run_begin(Relation heap, Relation index, RencoderBuildPlan *plan);

/*
 * Begins a sorter for each of "natts" columns, which share "memory" bytes; in the current
 * memory context.  Keys are in places before "nplaces".  With a file set, those of a worker, whose
 * work another process takes over.
 */
extern void rencoder_build_run_sorters(RencoderRunSorter **sorter, int natts, Size memory,
									   uint32 nplaces, FileSet *fileset, int worker);

/* A worker leaves what it has sorted in files, and its sorters end. */
extern void rencoder_build_run_export(RencoderRunSorter **sorter, int natts);

/* Takes over what workers 0 .. nworkers - 1 have left. */
extern void rencoder_build_run_import(RencoderRunSorter **sorter, int natts, FileSet *fileset,
									  int nworkers);

/*
 * Sorts what a sorter was given and writes the tree of a column, whose entries may name "places";
 * one without keys has none.
 * It gets its share of the
 * false pages of a table of "heap_pages".  The column's query samples weigh the width of cells.
 *
 * "done": how many rows of other columns a build has written, which reports phases and rows
 * (pg_stat_progress_create_index), and is told how many these are with the column's; -1: this is no
 * build, and nothing is reported.
 */
extern int64 rencoder_build_run_column(RencoderRunWriter *writer, Relation index,
									   RencoderRunSorter *sorter, int col, uint32 coder,
									   BlockNumber first_page, uint32 npages, renc_places places,
									   double heap_pages, int64 done);

/*
 * What the cells of a column are made for, as the run notes it: the bits that the owner has set, or
 * its query samples.  Would others be made now?
 */
extern uint32 rencoder_build_run_aim(Relation index, int col, uint32 coder);
extern bool rencoder_build_run_aim_changed(uint32 before, uint32 now);

/*
 * Sorts what the sorters were given, writes it and makes the run LIVE.  Ends the
 * sorters and frees *run.  WAL: none; the build logs the fork.
 */
extern void rencoder_build_run_finish(RencoderBuildRun *run, RencoderRunSorter **sorter,
									  const RencoderBuildTotals *totals);

#endif							/* RENCODER_BUILD_RUN_H */
