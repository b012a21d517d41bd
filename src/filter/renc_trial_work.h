/*
 * renc_trial_work.h
 *		What a trial knows; private to renc_trial*.c.
 */
#ifndef RENC_TRIAL_WORK_H
#define RENC_TRIAL_WORK_H

#include "renc_program.h"
#include "renc_trial.h"
#include "renc_window.h"

/* Ranges looked at, and a probability for each. */
#define RANGES			64
typedef float chances __attribute__((vector_size(RANGES * sizeof(float)), aligned(4)));

/* Windows of the filter that is built. */
#define MOST_WINDOWS	128.0

/* A sample that tells something. */
typedef struct asked_sample
{
	const renc_sample *sample;
	double		must;			/* heap pages of the group that match */
	double		passed;			/* of the last shape that all were asked of */
	uint64_t	empty;			/* positions without a match that count */
	uint64_t	below[RENC_KEY_BITS + 1];	/* positions with a key in the
											 * node of this level that holds
											 * its first key, */
	uint64_t	above[RENC_KEY_BITS + 1];	/* and its last one */
} asked_sample;

/* Sums over the samples of a kind. */
typedef struct kind_sums
{
	double		share;			/* of all kinds */
	int			n;				/* samples that tell something */
	int			made;			/* all samples, */
	int			without;		/* and those without a match */
	double		pairs;			/* of a sample and a range, without a match */

	/* Of the run. */
	double		windows;
	double		passed;			/* of the pairs */
	double		costs;			/* logarithms of how many times as much is
								 * read */
	double		rates;			/* and of the share of the ranges that passes */
} kind_sums;

struct renc_trial
{
	renc_trial_input in;
	const renc_keys *at[RANGES];	/* the ranges looked at, ascending in keys */
	int			n;
	uint32_t	nwindows;		/* of the filter that is built, */
	renc_keys	filled;			/* and its keys */
	renc_key_profile profile;
	int			most_nodes;		/* of a query */
	int			runs;
	kind_sums	kind[RENC_SAMPLE_KINDS];
	int			nasked;
	asked_sample asked[RENC_TRIAL_SAMPLES];
	asked_sample *order[RENC_TRIAL_SAMPLES];
	uint8_t		image[(int) MOST_WINDOWS * RENC_TRIAL_ROWS];
	float		fill[(int) MOST_WINDOWS];

	/* Of the query that is asked. */
	renc_program program;
	uint64_t	present[RENC_MAX_NODES];	/* ranges with a key in the node */
	double		reached[RENC_MAX_NODES];	/* mean probability that all above
											 * pass and it does */
	chances		any[RENC_MAX_NODES];	/* that one of its children passes;
										 * later: it does itself */
	chances		tree[RENC_MAX_TREES];	/* that an absent node passes; later:
										 * one of the tree's */
	chances		top;			/* the query */
};

#endif							/* RENC_TRIAL_WORK_H */
