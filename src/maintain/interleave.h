/*
 * interleave.h
 *		Making the slices of a full group one matrix.
 */
#ifndef RENCODER_INTERLEAVE_H
#define RENCODER_INTERLEAVE_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * Interleaves the slices of group "number", if it is full; false if there is nothing to do.  The
 * caller has the maintainer lock.
 */
extern bool rencoder_interleave(Relation index, uint32 number);

#endif							/* RENCODER_INTERLEAVE_H */
