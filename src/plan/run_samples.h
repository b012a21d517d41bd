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
 * Reads the samples of a column (0-based) of the index that are intervals of keys of this
 * generation of its coder, and not made of the table's own values, for one encoder; palloc'd in one
 * piece.  NULL: there are none.  Locks: as rencoder_samples_read().
 */
extern renc_run_samples *rencoder_run_samples(Relation index, int col, uint32 coder);

/*
 * What tells whether samples have come: 15 bits that depend on those that the owner has given, and,
 * in the lower 16 bits, how many scans have recorded.
 */
extern uint32 rencoder_run_samples_stamp(Relation index, int col, uint32 coder);

/* Do the samples differ enough from those before to be worth other cells? */
extern bool rencoder_run_samples_changed(uint32 before, uint32 now);

#endif							/* RENCODER_RUN_SAMPLES_H */
