/*
 * run_samples.h
 *		The query samples of a column, as the encoder of runs wants them.
 */
#ifndef RENCODER_RUN_SAMPLES_H
#define RENCODER_RUN_SAMPLES_H

#include "base/compat.h"

#include "utils/rel.h"

#include "run/renc_run.h"

/*
 * Reads the samples of a column (0-based) of the index that are intervals of keys of this generation
 * of its coder, for one encoder; palloc'd in one piece.  NULL: there are none.  Locks: as
 * rencoder_samples_read().
 */
extern renc_run_samples *rencoder_run_samples_load(Relation index, int col, uint32 coder);

/*
 * A stamp, not 0, of what the user has said of base runs: options, and the query samples that were
 * added.  Locks likewise.
 */
extern uint64 rencoder_run_samples_stamp(Relation index);

#endif							/* RENCODER_RUN_SAMPLES_H */
