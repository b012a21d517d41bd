/*
 * exhaust.h
 *		Shapes from all over the design space, and the best of many by building them.
 */
#ifndef EXHAUST_H
#define EXHAUST_H

#include "trial.h"

typedef struct exhaust_effort
{
	int			grid;			/* regular shapes, drawn from all of them */
	int			neighbours;		/* of each of the better ones, and of the chosen */
	size_t		queries;		/* for the first look; later ones take more */
} exhaust_effort;

/* The winner and the runner-up. */
#define EXHAUST_BEST	2

/* A shape for ranges of n keys, anything that may be of use for some query. */
extern renc_shape exhaust_random_shape(double n, double bits_per_key);

/*
 * The best shapes by measured rate, with queries of its own.  Every shape is built on
 * some of the ranges; the better ones on more, with more queries; then their
 * neighbours and those of "chosen".  The rates they won with are of no use
 * afterwards: the best of many is lucky.
 */
extern void exhaust_search(const trial_source *source, const trial *whole,
						   const exhaust_effort *effort, const renc_shape *chosen,
						   renc_shape best[EXHAUST_BEST]);

#endif							/* EXHAUST_H */
