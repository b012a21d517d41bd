/*
 * renc_flat.h
 *		One filter by itself: the test oracle of the sliced form.
 *
 * The same bits as the column of one range in a matrix, in a plain array of
 * nwindows * rows bits, and a query written independently of the probe
 * programs: it walks the tree for one filter, as the REncoder paper does
 * (section 3.4), and has no node budget.  Not part of the extension; tests
 * compare the two, and benchmarks measure what slicing gains.
 */
#ifndef RENC_FLAT_H
#define RENC_FLAT_H

#include "renc_shape.h"

/* Bytes of a filter; the caller provides them, zeroed. */
static inline size_t
renc_flat_size(uint32_t nwindows, uint32_t rows)
{
	return ((size_t) nwindows * rows + 7) / 8;
}

/* Sets the bits of "n" keys, in any order. */
extern void renc_flat_fill(uint8_t *bits, const renc_shape *shape,
						   uint32_t nwindows, uint32_t rows,
						   const uint64_t *keys, size_t n);

/*
 * False if certainly no key lies in [lo, hi].  The time grows with the number
 * of nodes of the topmost level in the interval.
 */
extern bool renc_flat_may_contain(const uint8_t *bits, const renc_shape *shape,
								  uint32_t nwindows, uint32_t rows,
								  uint64_t lo, uint64_t hi);

#endif							/* RENC_FLAT_H */
