/*
 * renc_rule.h
 *		The shape rule: a shape from the keys of a group.
 *
 * A documented rule of thumb for groups of which no queries are known.  It
 * looks at how many distinct prefixes the keys have at each level and how
 * often a key of one block range has a neighbour in another.
 */
#ifndef RENC_RULE_H
#define RENC_RULE_H

#include "renc_shape.h"

/* The distinct keys of one block range, sorted. */
typedef struct renc_keys
{
	const uint64_t *key;
	size_t		n;
} renc_keys;

/* The index of the first of the keys that is >= key; n: none. */
static inline size_t
renc_keys_first_from(const renc_keys *keys, uint64_t key)
{
	size_t		first = 0;
	size_t		end = keys->n;

	while (first < end)
	{
		size_t		middle = first + (end - first) / 2;

		if (keys->key[middle] < key)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* What the rule and trials know of the keys of ranges. */
typedef struct renc_key_profile
{
	double		n;				/* mean distinct keys of a range */
	double		distinct[RENC_KEY_BITS + 1];	/* mean distinct prefixes, by
												 * their length */
	double		close[RENC_KEY_BITS + 1];	/* probability that a key of
											 * another range shares a prefix
											 * of the length with an unequal
											 * one of a range */
	double		pairs;			/* of ranges and keys that told "close"; 0:
								 * they tell nothing */
} renc_key_profile;

extern void renc_rule_profile(const renc_keys *ranges, int nranges, renc_key_profile *p);

/*
 * Chooses the shape for the ranges given (some sampled ranges of a group will
 * do; at least one key in all) at a budget of bits per distinct key.  "areal": keys in Z-order,
 * which are asked for by boxes.
 */
extern void renc_rule_shape(const renc_keys *ranges, int nranges, double bits_per_key, bool areal,
							renc_shape *shape);

/*
 * Distinct keys per range that the filters of a group are made for: a little
 * more than the median, so that one range with many keys does not size the
 * others' filters.  "counts" is reordered.
 */
extern double renc_rule_capacity(uint32_t *counts, int nranges);

/*
 * Is a range too full for filters made for "capacity" keys?  At 20 bits a key,
 * twice the keys still have a false positive rate of 2 %, four times 40 %; and
 * a full column is nobody's trouble but its own range's.
 */
static inline bool
renc_rule_overfull(double nkeys, double capacity)
{
	return nkeys > 4 * capacity;
}

#endif							/* RENC_RULE_H */
