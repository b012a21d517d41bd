/*
 * renc_search_sample.c
 *		Samples from the table's own values.
 *
 * Users look for things that look like the data: equal to a value, or an interval
 * that begins at one.  So with no query known, the keys of one range are the
 * queries put to all others.  The range a key comes from does not count, neither
 * does any that truly matches.
 *
 * Half of the samples are points; the lengths of the others are spread evenly
 * over the orders of magnitude up to a few times the spacing of a range's keys.
 * A sample's weight is one over the ranges of the whole table that it can be
 * expected to match: what a false positive costs is seen in proportion to what
 * the query must read.  Without that the long intervals, of which no filter
 * rejects many, would get all the bits, and points would suffer.
 */
#include <math.h>

#include "renc_search.h"

/* Greatest length in spacings. */
#define MAX_SPACINGS	4

/* Tables grow: ranges of a table of 16 GB, for smaller ones. */
#define LEAST_RANGES	65536.0

/* Keys to each side by whose distance the spacing is told. */
#define NEIGHBOURS		4

/* splitmix64 */
static uint64_t
next_random(uint64_t *state)
{
	uint64_t	z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Mean distance between a key and the next, around key i. */
static double
spacing_at(const renc_keys *keys, size_t i)
{
	size_t		first = i > NEIGHBOURS ? i - NEIGHBOURS : 0;
	size_t		last = i + NEIGHBOURS < keys->n ? i + NEIGHBOURS : keys->n - 1;

	if (first == last)
		return 0x1p63;
	return (double) (keys->key[last] - keys->key[first]) / (double) (last - first);
}

int
renc_search_own_samples(const renc_keys *ranges, int nranges, double table_ranges,
						uint64_t seed, renc_sample *sample, int n)
{
	uint64_t	state = seed;
	int			filled[RENC_GROUP_RANGES];
	int			nfilled = 0;

	for (int r = 0; r < nranges; r++)
		if (ranges[r].n > 0)
			filled[nfilled++] = r;
	if (nfilled == 0)
		return 0;
	if (table_ranges < LEAST_RANGES)
		table_ranges = LEAST_RANGES;
	for (int i = 0; i < n; i++)
	{
		/* Every range is asked about, whatever the seed. */
		int			range = filled[i % nfilled];
		const renc_keys *keys = &ranges[range];
		size_t		k = (size_t) (next_random(&state) % keys->n);
		double		spacing = spacing_at(keys, k);
		double		unit = (double) (next_random(&state) >> 11) * 0x1p-53;
		double		more = 0;

		if (i / nfilled % 2 == 1)
			more = exp2(unit * log2(MAX_SPACINGS * spacing + 1)) - 1;
		sample[i].lo = keys->key[k];
		sample[i].hi = more >= (double) (~UINT64_C(0) - sample[i].lo) ? ~UINT64_C(0) :
			sample[i].lo + (uint64_t) more;
		sample[i].query = NULL;
		sample[i].anchor = range;
		sample[i].weight = (float) (1 / (1 - table_ranges * expm1(-more / spacing)));
	}
	return n;
}
