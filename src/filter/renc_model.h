/*
 * renc_model.h
 *		Predicted false positive rate and cost of a shape.
 *
 * Given the keys of a group's ranges and a sample of queries, the model says
 * for any shape how many of the ranges without a matching key a query passes
 * nevertheless, and how many windows it reads.  Nothing is built.  The
 * derivation stands in renc_model.c.
 *
 * Use: fill in a renc_model_input, renc_model_init() once for each group (it
 * compares every sample with every range), then renc_model_predict() for each
 * shape.  The model is one block of memory of renc_model_size() bytes from the
 * caller; it keeps pointers to the keys and samples.
 */
#ifndef RENC_MODEL_H
#define RENC_MODEL_H

#include "renc_query.h"
#include "renc_rule.h"
#include "renc_shape.h"

/* Samples used; of more, as many are taken at even distances. */
#define RENC_MODEL_MAX_SAMPLES	20480

/*
 * What reading a window costs, in heap pages.  From shared buffers it takes 60 ..
 * 90 ns, and visiting a heap page 3.5 us at 35 rows a page and 8.5 us at 185: 0.01
 * .. 0.025.  Cold, one is as good as the other: 1.  In between, a third window buys
 * a tenth less false positives.
 */
#define RENC_MODEL_WINDOW_COST	0.1

/* Windows per root that a search takes at most, unless told. */
#define RENC_SEARCH_KW			4

/* A sample query. */
typedef struct renc_sample
{
	uint64_t	lo;				/* the interval, or the hull of "query" */
	uint64_t	hi;
	const renc_query *query;	/* NULL: the interval [lo, hi] itself */
	float		weight;			/* 1 for an ordinary one; 0 is left out */
	int32_t		anchor;			/* index of a range that does not count, or -1 */
} renc_sample;

typedef struct renc_model_input
{
	/*
	 * Sorted distinct keys of the ranges.  Some ranges of the group will do
	 * (see group_ranges), but a sample of few sees few close neighbours.
	 */
	const renc_keys *ranges;
	int			nranges;		/* 1 .. 128 */
	int			group_ranges;	/* ranges of the whole group, >= nranges */

	uint32_t	nwindows;		/* windows of a filter, m */
	uint32_t	rows;			/* rows of a window */
	double		capacity;		/* keys that a filter is made for; ranges over
								 * four times that do not count; 0 = no limit */
	double		pages_per_range;
	double		window_cost;	/* of a window read, in heap pages */
	int			max_kw;			/* a search takes no more windows per root; an
								 * insert writes to all of them.  0 =
								 * RENC_SEARCH_KW */
	int			max_predictions;	/* of a search; 0 = by the number of keys */
	double		table_keys;		/* of all groups of a table about to be
								 * indexed, as far as known; 0 = of this one */

	const renc_sample *sample;
	size_t		nsamples;
	bool		areal;			/* keys in Z-order, asked for by boxes */
	size_t		(*draw) (void *arg, size_t own);	/* makes so many samples
													 * besides those that are
													 * known, and says how
													 * many there are then.
													 * NULL: they are there.
													 * Only a search draws */
	void	   *draw_arg;
	bool		asked;			/* the samples are queries that were put, not
								 * made up: a first search takes what it takes */
	size_t		max_samples;	/* use at most so many; 0 = no limit of one's
								 * own */
} renc_model_input;

typedef struct renc_prediction
{
	double		fpr;			/* share of the ranges without a match that
								 * pass */
	double		windows;		/* windows read per query and group */
	double		cost;			/* windows * window_cost + fpr * heap pages of
								 * the group; in heap pages */
	bool		complete;		/* false: given up early, "cost" tells only
								 * that it is above the limit */
} renc_prediction;

typedef struct renc_model renc_model;

/* Bytes of a model (about 2 MB), aligned as malloc does. */
extern size_t renc_model_size(void);

/*
 * Prepares "model" for a group.  False if no pair of a sample and a range can
 * tell anything: no samples, no keys, or every sample matches every range.
 * Predictions are then all zero.
 */
extern bool renc_model_init(renc_model *model, const renc_model_input *in);

/*
 * Predicts for a valid shape.  Gives up as soon as the cost is known to exceed
 * "limit"; pass INFINITY (or anything huge) to have the exact numbers.
 */
extern void renc_model_predict(renc_model *model, const renc_shape *shape,
							   double limit, renc_prediction *out);

/*
 * Share of the pairs without a match that have a key in a node of "level" that
 * meets the query: no shape whose deepest level that is can have a lower rate.
 */
extern double renc_model_close_share(const renc_model *model, int level);

/* Predictions made since init: what a search has cost. */
extern int	renc_model_predictions(const renc_model *model);

#endif							/* RENC_MODEL_H */
