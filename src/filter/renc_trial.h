/*
 * renc_trial.h
 *		What a shape costs, by trying it on some ranges of a group and a sample of queries.
 *
 * Fill in a renc_trial_input, renc_trial_init() once for each group (it compares every sample with
 * every range), then renc_trial_try_shape() for each shape.  A trial is a block of renc_trial_size()
 * bytes from the caller, which keeps pointers to the keys and samples.
 */
#ifndef RENC_TRIAL_H
#define RENC_TRIAL_H

#include "renc_query.h"
#include "renc_rule.h"
#include "renc_shape.h"

/* What a sample stands for. */
typedef enum renc_sample_kind
{
	RENC_SAMPLE_ASKED,			/* a query that was put */
	RENC_SAMPLE_POINT,			/* a value of the table: the keys tell, no
								 * sample is asked */
	RENC_SAMPLE_NEAR,			/* made up: an interval at a value, */
	RENC_SAMPLE_APART,			/* or at some distance from one */
	RENC_SAMPLE_KINDS
} renc_sample_kind;

/* A sample query: an interval. */
typedef struct renc_sample
{
	uint64_t	lo;
	uint64_t	hi;
	int32_t		anchor;			/* index of a range that does not count, or -1 */
	renc_sample_kind kind;
} renc_sample;

typedef struct renc_trial_input
{
	const renc_keys *ranges;	/* sorted distinct keys of ranges of the group */
	int			nranges;		/* 1 .. 128 */
	int			group_ranges;	/* ranges of the whole group, >= nranges */

	uint32_t	nwindows;		/* windows of a filter */
	uint32_t	rows;			/* rows of a window, up to RENC_TRIAL_ROWS */
	double		capacity;		/* keys that a filter is made for; ranges over
								 * four times that do not count; 0 = no limit */
	double		pages_per_range;
	double		window_cost;	/* of a window read, in heap pages */

	const renc_sample *sample;
	size_t		nsamples;		/* the first RENC_TRIAL_SAMPLES count */
	int			max_kw;			/* a search takes no more windows per root */
	double		asked_share;	/* what queries that were put count for, if
								 * there are others */
} renc_trial_input;

#define RENC_TRIAL_SAMPLES	2048
#define RENC_TRIAL_ROWS		512

typedef struct renc_prediction
{
	double		fpr;			/* share of the ranges without a match that
								 * pass */
	double		windows;		/* windows read per query and group */
	double		cost;			/* of a query in the group, in heap pages */
} renc_prediction;

typedef struct renc_trial renc_trial;

extern size_t renc_trial_size(void);

/*
 * Prepares for a group.  False if no pair of a sample and a range can tell anything: no
 * samples, no keys, or every sample matches every range.
 */
extern bool renc_trial_init(renc_trial *trial, const renc_trial_input *in);

/*
 * Tries a valid shape.  Gives up, and returns false, as soon as it is known to cost more than "limit";
 * pass INFINITY to have the exact numbers.
 */
extern bool renc_trial_try_shape(renc_trial *trial, const renc_shape *shape, double limit,
								 renc_prediction *out);

/* From now on a query has so many nodes at most. */
extern void renc_trial_limit(renc_trial *trial, int nodes);

/* How many shapes have been tried since init. */
extern int	renc_trial_count_tries(const renc_trial *trial);

#endif							/* RENC_TRIAL_H */
