/*
 * renc_run_spread.h
 *		In how many heap pages do the entries of an interval lie?
 */
#ifndef RENC_RUN_SPREAD_H
#define RENC_RUN_SPREAD_H

#include <stdbool.h>

#include "renc_run.h"

/* Entries that are looked at, of both pieces together. */
#define RENC_RUN_SPREAD_ENTRIES 512

/* What was seen. */
typedef struct renc_run_spread
{
	uint32_t	n;
	bool		all;			/* are these all entries of the interval? */
	bool		in_order;		/* mostly of one cell, or the table is in the
								 * order of the keys */
	uint32_t	page[RENC_RUN_SPREAD_ENTRIES];	/* heap page of each */
} renc_run_spread;

/*
 * Looks at entries that meet the interval, in two leaves at most: the first ones, and others from
 * the middle of its keys on.  What cannot be read is left out.
 */
extern void renc_run_spread_look(renc_run_spread *spread, const renc_run *run, renc_run_read read,
								 void *arg, renc_interval interval);

/*
 * The heap pages of "entries" entries, which these are some of, and in how many places they lie, one
 * after the other in each.  Exact if these are all; 0 without any.
 */
extern void renc_run_spread_estimate(renc_run_spread *spread, const renc_run *run, double entries,
									 double *pages, double *places);

#endif							/* RENC_RUN_SPREAD_H */
