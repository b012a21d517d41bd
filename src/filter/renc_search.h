/*
 * renc_search.h
 *		Search for the shape with the least expected cost.
 *
 * What a caller does at each group of a build:
 *
 *		renc_search_start(&search, bits_per_key)		-- once per build and column
 *		for each group:
 *			n = renc_search_own_samples(ranges, .., samples, n)	-- or query samples
 *			renc_search_group(&search, model, &input, &choice)
 *			-- choice.shape, choice.best.fpr, choice.best.cost
 *
 * The search starts from the previous group's shape and only goes on from there
 * when its predicted cost has drifted.  To ask whether an existing group should be
 * rebuilt under the present sample:
 *
 *		renc_search_compare(model, &input, bits_per_key, &shape_now, &choice)
 *		-- choice.now.cost against choice.best.cost
 */
#ifndef RENC_SEARCH_H
#define RENC_SEARCH_H

#include "renc_model.h"
#include "renc_zorder.h"

/* Search again when the predicted cost is over this times the last search's. */
#define RENC_SEARCH_DRIFT	1.3

/* Samples that renc_search_own_samples() is best asked for. */
#define RENC_SEARCH_SAMPLES	1024

typedef struct renc_choice
{
	renc_shape	shape;			/* the best */
	renc_prediction best;		/* of it; for a shape kept without a look,
								 * that of the group looked at last */
	renc_prediction now;		/* of the shape that the search started from */
	bool		searched;		/* false: the previous group's shape was kept */
	int			predictions;	/* shapes looked at */
} renc_choice;

/* State of a build, from group to group. */
typedef struct renc_search
{
	double		bits_per_key;
	renc_shape	shape;			/* of the previous group */
	double		reference;		/* its cost, as predicted when it was found;
								 * 0: unknown */
	double		reference_fpr;	/* and its false positive rate; < 0: unknown */
	bool		fresh;			/* no group but the one it was found for has
								 * been looked at: there it is the least of
								 * many, by luck */
	renc_prediction last;		/* its latest prediction */
	bool		warm;			/* there is a previous group */
	bool		due;			/* improving it did not help enough: a full
								 * search is due when there is credit for one */
	double		credit;			/* work allowed, in keys set in a filter */
	int			searches;
	int			groups;
} renc_search;

extern void renc_search_start(renc_search *search, double bits_per_key);

/*
 * Resumes from a shape known from elsewhere (the neighbouring group's, say)
 * and the false positive rate predicted for it when it was found, under the same
 * samples; if it has not grown, there is no search.  fpr < 0: unknown, which makes
 * the next search a full one.
 */
extern void renc_search_resume(renc_search *search, double bits_per_key,
							   const renc_shape *shape, double fpr);

/*
 * Goes on from the shape that another search of the same build has found; what
 * either has spent does not count for the other.
 */
extern void renc_search_adopt(renc_search *search, const renc_search *from);

/*
 * The shape for a group.  "model" is memory of renc_model_size() bytes.  With
 * no samples, or samples that tell nothing, it is renc_rule_shape()'s.
 */
extern void renc_search_group(renc_search *search, renc_model *model,
							  const renc_model_input *in, renc_choice *choice);

/* Full search, and the prediction for "now", under the samples of "in". */
extern void renc_search_compare(renc_model *model, const renc_model_input *in,
								double bits_per_key, const renc_shape *now,
								renc_choice *choice);

/*
 * Samples for a group of which no queries are known: intervals that start at
 * keys of one of its ranges, with lengths from points to a few times the spacing
 * of a range's keys.  That range (renc_sample.anchor) does not count.  Long ones
 * weigh less, by the part of the table's ranges (table_ranges; 0 = unknown) they
 * match.  The same seed gives the same samples.  Returns their number, up to n;
 * 0 without keys.
 */
extern int	renc_search_own_samples(const renc_keys *ranges, int nranges,
									double table_ranges, uint64_t seed,
									renc_sample *sample, int n);

/* A sample box, with all that its query needs. */
typedef struct renc_own_box
{
	renc_box	box;
	renc_box_set set;
	renc_query	query;
} renc_own_box;

/*
 * The same for keys in Z-order: boxes around and beside keys, from points to what
 * most ranges match.  The samples refer to "box", which has room for n.
 */
extern int	renc_search_own_boxes(const renc_keys *ranges, int nranges,
								  double table_ranges, uint64_t seed,
								  renc_own_box *box, renc_sample *sample, int n);

#endif							/* RENC_SEARCH_H */
