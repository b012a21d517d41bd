/*
 * renc_search_work.h
 *		What the files of the search share; private to renc_search*.c.
 */
#ifndef RENC_SEARCH_WORK_H
#define RENC_SEARCH_WORK_H

#include <math.h>

#include "renc_search.h"

/* Predictions of a full search. */
#define SEARCH_PREDICTIONS	1200

/* A shape, and what is predicted of it. */
typedef struct search_result
{
	renc_shape	shape;
	renc_prediction p;
} search_result;

/* splitmix64 */
static inline uint64_t
renc_next_random(uint64_t *state)
{
	uint64_t	z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* In [0, 1). */
static inline double
renc_next_unit(uint64_t *state)
{
	return (double) (renc_next_random(state) >> 11) * ldexp(1, -53);
}

/* renc_search.c: the shape by rule for "in". */
extern void renc_search_rule(const renc_model_input *in, double bits_per_key, renc_shape *shape);

/*
 * renc_search.c: searches with a model that has been prepared for "in".  "from"
 * (or NULL) is a shape to start from; "grid": look at regular shapes, too.
 */
extern void renc_search_model(renc_model *model, const renc_model_input *in,
							  double bits_per_key, const renc_shape *from, bool grid,
							  int predictions, search_result *result);

#endif							/* RENC_SEARCH_WORK_H */
