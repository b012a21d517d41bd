/*
 * renc_shape_search.h
 *		The shape with the least expected cost, among some that are tried.
 *
 * The rule proposes a shape; trials decide which of those like it is the best:
 *
 *		n = renc_own_samples_make(ranges, .., samples)	-- or query samples
 *		renc_shape_search(trial, &input, &rule, NULL, true, &choice)
 *		-- choice.shape, choice.best.fpr, choice.best.cost
 *
 * The next group starts from this one's shape.  To ask whether an existing group should be
 * rebuilt under the present sample, look at choice.now.cost against choice.best.cost.
 */
#ifndef RENC_SHAPE_SEARCH_H
#define RENC_SHAPE_SEARCH_H

#include "renc_trial.h"

/*
 * Windows per root that a search takes at most: an insert writes to all of them.  Where queries
 * are known a third or fourth one may be worth it.
 */
#define RENC_SEARCH_KW			2
#define RENC_SEARCH_ASKED_KW	4

typedef struct renc_choice
{
	renc_shape	shape;			/* the best */
	renc_prediction best;		/* of it */
	renc_prediction now;		/* of the shape that the search started from */
} renc_choice;

/*
 * The best of the candidates and of "from" (or NULL), which is what choice->now is about, else about
 * the rule's.  Unless "grid", these two are all that is tried.  "trial" is memory of
 * renc_trial_size() bytes.  False if samples tell nothing: the shape is the rule's.
 */
extern bool renc_shape_search(renc_trial *trial, const renc_trial_input *in, const renc_shape *rule,
							  const renc_shape *from, bool grid, renc_choice *choice);

/*
 * Samples for a group of which no queries are known, of keys of its ranges and beside them.
 * The range that a key is of (renc_sample.anchor) does not count.  The more ranges the table has
 * (table_ranges), the shorter intervals match few rows of it.  The same seed gives the same samples.
 * Returns their number: n, or 0 without keys.
 */
extern int	renc_own_samples_make(const renc_keys *ranges, int nranges, double table_ranges,
								  uint64_t seed, renc_sample *sample, int n);

#endif							/* RENC_SHAPE_SEARCH_H */
