/*
 * sweep.h
 *		All intervals of a small key domain, asked of a group of filters.
 *
 * The 8 or 10 bits of a small key stand at the top, at the bottom or in the
 * middle of the 64-bit key.  The filters are small on purpose, so that false
 * positives are frequent: equal answers then mean equal bits.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "testlib.h"

/* Where in the 64-bit key a small key stands. */
typedef struct placement
{
	const char *name;
	int			above;			/* constant bits above the small key */
	uint64_t	base;			/* their value */
} placement;

/* How a sweep is done. */
typedef struct sweep_plan
{
	int			bits;			/* of a small key, at most 10 */
	int			step;			/* every step-th interval is also asked of the slices */
	int			oracle;			/* and of the oracle, for so many ranges */
	bool		may_cut;		/* the node budget may stop some descents */
} sweep_plan;

/*
 * One test: random keys, and all intervals of the domain.  No false negative, and
 * the same answers from the matrix, its slices and the flat oracle.
 */
extern bool test_sweep(const renc_shape *shape, const placement *at, const sweep_plan *plan);

#endif							/* SWEEP_H */
