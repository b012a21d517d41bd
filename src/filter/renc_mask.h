/*
 * renc_mask.h
 *		Masks: sets of the block ranges of one group.
 */
#ifndef RENC_MASK_H
#define RENC_MASK_H

#include "renc_base.h"

/* A set of the ranges of one group: bit j of byte j / 8 is range j. */
typedef struct renc_mask
{
	uint64_t	w[2];
} renc_mask;

static inline renc_mask
renc_mask_none(void)
{
	renc_mask	m = {{0, 0}};

	return m;
}

static inline renc_mask
renc_mask_all(void)
{
	renc_mask	m = {{~UINT64_C(0), ~UINT64_C(0)}};

	return m;
}

static inline bool
renc_mask_empty(renc_mask m)
{
	return (m.w[0] | m.w[1]) == 0;
}

static inline renc_mask
renc_mask_and(renc_mask a, renc_mask b)
{
	a.w[0] &= b.w[0];
	a.w[1] &= b.w[1];
	return a;
}

static inline renc_mask
renc_mask_or(renc_mask a, renc_mask b)
{
	a.w[0] |= b.w[0];
	a.w[1] |= b.w[1];
	return a;
}

static inline renc_mask
renc_mask_andnot(renc_mask a, renc_mask b)
{
	a.w[0] &= ~b.w[0];
	a.w[1] &= ~b.w[1];
	return a;
}

static inline bool
renc_mask_test(renc_mask m, unsigned int i)
{
	return (m.w[i >> 6] >> (i & 63)) & 1;
}

static inline void
renc_mask_set(renc_mask *m, unsigned int i)
{
	m->w[i >> 6] |= UINT64_C(1) << (i & 63);
}

/* The first range of the mask from "from" on; RENC_GROUP_RANGES: none. */
static inline unsigned int
renc_mask_next(renc_mask m, unsigned int from)
{
	for (unsigned int i = from >> 6; i < 2; i++)
	{
		uint64_t	rest = m.w[i];

		if (i == from >> 6)
			rest &= ~UINT64_C(0) << (from & 63);
		if (rest != 0)
			return i * 64 + (unsigned int) __builtin_ctzll(rest);
	}
	return RENC_GROUP_RANGES;
}

/* For each range of the mask, ascending; "mask" is evaluated again for each. */
#define renc_mask_each(slot, mask) \
	for (unsigned int slot = renc_mask_next(mask, 0); slot < RENC_GROUP_RANGES; \
		 slot = renc_mask_next(mask, slot + 1))

static inline int
renc_mask_count(renc_mask m)
{
	return __builtin_popcountll(m.w[0]) + __builtin_popcountll(m.w[1]);
}

/* A mask of 16 bytes, which need not be aligned. */
static inline renc_mask
renc_mask_load(const uint8_t *bytes)
{
	renc_mask	m = {{renc_load64(bytes), renc_load64(bytes + 8)}};

	return m;
}

#endif							/* RENC_MASK_H */
