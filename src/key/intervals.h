/*
 * intervals.h
 *		Sets of keys as lists of closed intervals.
 */
#ifndef RENCODER_INTERVALS_H
#define RENCODER_INTERVALS_H

#include "base/workspace.h"

#include "filter/renc_query.h"

typedef struct RencoderIntervals
{
	renc_interval *interval;	/* palloc'd, possibly huge; NULL if never used */
	size_t		n;
	size_t		capacity;
} RencoderIntervals;

/* Appends [lo, hi]; nothing if lo > hi. */
extern void rencoder_intervals_add(RencoderIntervals *list, uint64 lo, uint64 hi);

/* Sorts, and unites what overlaps or touches. */
extern void rencoder_intervals_normalize(RencoderIntervals *list);

/* Leaves of "list" what is also in "other".  Both are normalized. */
extern void rencoder_intervals_intersect(RencoderIntervals *list,
										 const RencoderIntervals *other);

#endif							/* RENCODER_INTERVALS_H */
