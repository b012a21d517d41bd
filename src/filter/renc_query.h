/*
 * renc_query.h
 *		What a query asks of a column's keys, as a predicate over nodes.
 *
 * A node of the segment tree is an interval [lo, hi] of keys.  Whoever asks how nodes, or cells
 * of a run, relate to a query need not know whether it is of intervals or of boxes over Z-order keys.
 * Probe programs are of intervals, which may cover boxes.
 */
#ifndef RENC_QUERY_H
#define RENC_QUERY_H

#include "renc_base.h"

typedef enum renc_overlap
{
	RENC_DISJOINT,				/* no key of the node satisfies the query */
	RENC_PARTIAL,				/* some may */
	RENC_INSIDE					/* all do */
} renc_overlap;

/*
 * "hull_lo" and "hull_hi" bound all keys that may satisfy the query.
 * "overlap" may answer RENC_PARTIAL on doubt, never RENC_DISJOINT.
 */
typedef struct renc_query
{
	uint64_t	hull_lo;
	uint64_t	hull_hi;
	renc_overlap (*overlap) (const void *arg, uint64_t lo, uint64_t hi);
	const void *arg;
} renc_query;

/* A closed interval of keys. */
typedef struct renc_interval
{
	uint64_t	lo;
	uint64_t	hi;
} renc_interval;

/* Sorted disjoint intervals; at least one. */
typedef struct renc_interval_set
{
	const renc_interval *interval;
	size_t		n;
} renc_interval_set;

/* The first interval that ends at the key or above; n: none. */
static inline size_t
renc_interval_set_first(const renc_interval_set *set, uint64_t key)
{
	size_t		left = 0;
	size_t		right = set->n;

	while (left < right)
	{
		size_t		mid = left + (right - left) / 2;

		if (set->interval[mid].hi < key)
			left = mid + 1;
		else
			right = mid;
	}
	return left;
}

static inline renc_overlap
renc_interval_set_overlap(const void *arg, uint64_t lo, uint64_t hi)
{
	const renc_interval_set *set = (const renc_interval_set *) arg;
	size_t		left = renc_interval_set_first(set, lo);

	if (left == set->n || set->interval[left].lo > hi)
		return RENC_DISJOINT;
	if (set->interval[left].lo <= lo && set->interval[left].hi >= hi)
		return RENC_INSIDE;
	return RENC_PARTIAL;
}

/* Nodes of a level, which is not 0, that intervals meet. */
static inline double
renc_interval_set_nodes(const renc_interval_set *set, int level)
{
	int			shift = RENC_KEY_BITS - level;
	double		nodes = 0;

	for (size_t i = 0; i < set->n; i++)
	{
		uint64_t	first = set->interval[i].lo >> shift;

		nodes += (double) ((set->interval[i].hi >> shift) - first);
		nodes += i == 0 || set->interval[i - 1].hi >> shift < first;
	}
	return nodes;
}

/* The query of a set of intervals; "set" must outlive it. */
static inline renc_query
renc_query_intervals(const renc_interval_set *set)
{
	renc_query	q;

	q.hull_lo = set->interval[0].lo;
	q.hull_hi = set->interval[set->n - 1].hi;
	q.overlap = renc_interval_set_overlap;
	q.arg = set;
	return q;
}

#endif							/* RENC_QUERY_H */
