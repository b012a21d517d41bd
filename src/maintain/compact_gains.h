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

/*
 * Groups whose flags say that there are nulls, where there are few by now: neighbouring groups of
 * base runs, the first of "most" at most; returns how many, 0 if there are none.  Reads the directory, and of up to 128 groups that have such flags, chosen evenly, the headers
 * and eight pages of the table for each column.  Locks: the caller has at least RowExclusiveLock on
 * table and index, and no content lock.
 */
extern uint32 rencoder_compact_gains_stale_nulls(Relation index, Relation heap, uint32 most, uint32 *first);

#endif							/* RENCODER_COMPACT_GAINS_H */
