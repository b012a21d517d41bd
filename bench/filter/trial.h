/*
 * trial.h
 *		Ranges, queries and the truth, to measure shapes with.
 *
 * A trial of correlated queries on made keys asks each query of one range only: the
 * one a key of which it was placed at.  All its pairs are close then, as with filters
 * that are measured one at a time; else only one range in 128 would be.
 */
#ifndef TRIAL_H
#define TRIAL_H

#include "workload.h"

/* What trials of a cell are made from. */
typedef struct trial_source
{
	const key_kind *made;		/* NULL: the column below */
	uint64_t   *column;
	size_t		ncolumn;
	uint64_t	unit;
	size_t		per_range;
	int			nranges;
	bool		own_range;		/* a query is asked of the range it is placed in */
	double		bits_per_key;
	const query_kind *kind;
} trial_source;

/* A key of the ranges, in the order of all. */
typedef struct trial_key
{
	uint64_t	key;
	int			range;
} trial_key;

typedef struct trial
{
	bench_group g;
	bench_group all;			/* the ranges among which queries are placed */
	bool		own_range;
	uint64_t   *keys;			/* NULL if another trial's */
	trial_key  *sorted;			/* of all ranges, NULL until needed */
	size_t		nsorted;
	renc_interval *interval;
	renc_mask  *truth;
	renc_mask  *asked;			/* ranges that the query is asked of */
	uint8_t    *passed;			/* false positives of each query in the last run */
	size_t		nqueries;
} trial;

/* Ranges of new keys (of a column: the same ones each time), without queries. */
extern void trial_make(trial *t, const trial_source *source);

/* Every so-manieth range of "whole"; it must outlive the part. */
extern void trial_part(trial *t, const trial *whole, int nranges);

/* New queries in place of those it had. */
extern void trial_queries(trial *t, const trial_source *source, size_t n);

extern void trial_free(trial *t);

/*
 * Builds a shape and probes up to n queries.  Gives up when the rate is over "limit"
 * for certain: more than TRIAL_SURE false positives at that rate.
 */
#define TRIAL_SURE	40
extern bench_result trial_run(trial *t, const renc_shape *shape, size_t n, double limit);

#endif							/* TRIAL_H */
