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

/* The first n bits. */
static inline renc_mask
renc_mask_first(unsigned int n)
{
	renc_mask	m = renc_mask_all();

	if (n < 64)
		m.w[0] = (UINT64_C(1) << n) - 1;
	if (n < 128)
		m.w[1] = n <= 64 ? 0 : (UINT64_C(1) << (n - 64)) - 1;
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

/* Is each range of "a" in "b"? */
static inline bool
renc_mask_within(renc_mask a, renc_mask b)
{
	return renc_mask_empty(renc_mask_andnot(a, b));
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

static inline void
renc_mask_clear(renc_mask *m, unsigned int i)
{
	m->w[i >> 6] &= ~(UINT64_C(1) << (i & 63));
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

/*
 * The eight ranges of a slice of "m" as ranges 0 .. 7, where a slice's storage has
 * them, and back.
 */
static inline renc_mask
renc_mask_to_slice(renc_mask m, int slice)
{
	renc_mask	narrow = {{(m.w[slice / 8] >> (slice % 8 * 8)) & 0xFF, 0}};

	return narrow;
}

static inline renc_mask
renc_mask_from_slice(renc_mask narrow, int slice)
{
	renc_mask	m = {{0, 0}};

	m.w[slice / 8] = (narrow.w[0] & 0xFF) << (slice % 8 * 8);
	return m;
}

/* Ranges 8 * band .. 8 * band + 7. */
static inline uint8_t
renc_mask_band(renc_mask m, int band)
{
	return (uint8_t) (m.w[band / 8] >> (band % 8 * 8));
}

static inline int
renc_mask_count(renc_mask m)
{
	return __builtin_popcountll(m.w[0]) + __builtin_popcountll(m.w[1]);
}

/* A mask as 16 bytes, which need not be aligned, and back. */
static inline renc_mask
renc_mask_load(const uint8_t *bytes)
{
	renc_mask	m = {{renc_load64(bytes), renc_load64(bytes + 8)}};

	return m;
}

static inline void
renc_mask_store(uint8_t *bytes, renc_mask m)
{
	renc_store64(bytes, m.w[0]);
	renc_store64(bytes + 8, m.w[1]);
}

#endif							/* RENC_MASK_H */
