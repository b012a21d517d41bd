/*
 * renc_search_work.h
 *		What the files of the search share; private to renc_search*.c.
 */
#ifndef RENC_SEARCH_WORK_H
#define RENC_SEARCH_WORK_H

#include "renc_search.h"

/* Predictions of a full search. */
#define SEARCH_PREDICTIONS	1200

/* A shape, and what is predicted of it. */
typedef struct search_result
{
	renc_shape	shape;
	renc_prediction p;
} search_result;

/*
 * renc_search.c: searches with a model that has been prepared for "in".  "from"
 * (or NULL) is a shape to start from; "grid": look at regular shapes, too.
 */
extern void renc_search_model(renc_model *model, const renc_model_input *in,
						 double bits_per_key, const renc_shape *from, bool grid,
						 int predictions, search_result *result);

#endif							/* RENC_SEARCH_WORK_H */
