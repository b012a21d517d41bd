/*
 * renc_run_expect.h
 *		False pages that are to be expected of the blocks made so far.
 *
 * Used by the run core only.
 */
#ifndef RENC_RUN_EXPECT_H
#define RENC_RUN_EXPECT_H

#include "renc_run_plan.h"

/* What is expected of some pairs: sums. */
typedef struct renc_run_expected
{
	double		bits;
	double		rows;
	double		keys;
	double		own;			/* as in a piece (renc_run_plan.h) */
	double		gaps;
	double		absent;
} renc_run_expected;

/* Adds the first n pairs of a piece. */
extern void renc_run_expect_add(renc_run_expected *sum, const renc_run_piece *piece, const renc_run_pair *pair,
								uint32_t n);

/* "part" of what was expected counts from now on. */
extern void renc_run_expect_fade(renc_run_expected *sum, double part);

/*
 * False pages of a query for a key, or of one for a value that is none, whichever meets
 * more on average.
 */
extern double renc_run_expect_mean(const renc_run_expected *sum);

#endif							/* RENC_RUN_EXPECT_H */
