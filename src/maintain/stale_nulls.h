/*
 * stale_nulls.h
 *		Groups whose flags say that there are nulls, where there are few by now.
 */
#ifndef RENCODER_STALE_NULLS_H
#define RENCODER_STALE_NULLS_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * The first of such groups, which are neighbours and in base runs, "most" at most; returns how many,
 * 0 if there are none.  Reads the directory, and of up to 128 groups that have such flags, chosen
 * evenly, the headers and eight pages of the table for each column.  Locks: the caller has at least
 * RowExclusiveLock on table and index, and no content lock.
 */
extern uint32 rencoder_stale_nulls_find(Relation index, Relation heap, uint32 most, uint32 *first);

#endif							/* RENCODER_STALE_NULLS_H */
