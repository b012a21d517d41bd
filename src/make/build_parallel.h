/*
 * build_parallel.h
 *		Reading the table for a new index by several processes.
 */
#ifndef RENCODER_BUILD_PARALLEL_H
#define RENCODER_BUILD_PARALLEL_H

#include "make/read_rows.h"

/* Pages that are read at once. */
#define RENCODER_BUILD_PIECE	256

/*
 * Begins *rows, and reads all pages with as many workers as the planner allows for this index
 * (max_parallel_maintenance_workers, maintenance_work_mem, the table's size and its
 * parallel_workers, parallel-safe expressions).  False, and nothing is done, if there are none to be had,
 * or too few pages.
 *
 * Locks and errors as rencoder_read_rows(); an error of a worker is raised here, and an error here ends
 * the workers.
 */
extern bool rencoder_build_parallel(RencoderReadRows *rows, BlockNumber nblocks);

/* After what was read is written: ends what the other has begun, if anything. */
extern void rencoder_build_end_parallel(void);

#endif							/* RENCODER_BUILD_PARALLEL_H */
