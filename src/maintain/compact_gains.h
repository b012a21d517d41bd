/*
 * compact_gains.h
 *		Is a base run worth making anew?
 */
#ifndef RENCODER_COMPACT_GAINS_H
#define RENCODER_COMPACT_GAINS_H

#include "maintain/run_groups.h"

/*
 * Would a new run of these groups differ from what they have: one run of all of them and of their
 * rows as they are, with cells for the queries that are known?
 * Locks: those of looking at the run list, and of reading its pages.
 */
extern bool rencoder_compact_gains(Relation index, Relation heap, const RencoderRunGroups *groups,
								   uint32 first, uint32 n);

#endif							/* RENCODER_COMPACT_GAINS_H */
