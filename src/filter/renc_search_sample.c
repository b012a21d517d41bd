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
 *
 * Where keys crowd together, all of these lie within or close to the crowds, and a
 * shape made for nothing else may let through nearly every range for an interval
 * of some length that lies between two crowds.  So one sample in four is an interval
 * in a gap between a range's keys, longer than the spacing of the crowd beside it.  Short
 * gaps are many and large ones few, so the orders of magnitude of gaps are asked about
 * alike; distance from the crowd and length are spread over the orders of magnitude, too.
 * What a gap is, is_key_gap() says: keys that are spread at random have none.  A sample in
 * a gap weighs a tenth of a point.
 *
 * Measured by bench/filter/defaults.sh, at 3,520 and 880 rows a range: of AS numbers,
 * intervals of 1,024 at some distance from a key passed 0.75 and 0.76 of the ranges without
 * such samples, 1.5e-4 and 1.0e-3 with them; points 2.3e-5 and 3.3e-5, now 7.1e-5 and
 * 2.0e-4.  For numbers of places (1,120 rows) 8.9e-3 and 3.0e-5, points 2e-5 in both cases.
 */
#include <math.h>

#include "renc_search_work.h"

/* Greatest length in spacings. */
#define MAX_SPACINGS	4

/* Tables grow: ranges of a table of 16 GB, for smaller ones. */
#define LEAST_RANGES	65536.0

/* Keys to each side by whose distance the spacing is told. */
#define NEIGHBOURS		4

/* One sample in so many is of a gap, if there are gaps; what it weighs. */
#define GAP_SAMPLES		4
#define GAP_WEIGHT		0.1

/* A gap is so many times as long as what so many keys beside it take up. */
#define GAP_CROWDS		8
#define CROWD_KEYS		8

/* Ranges in which gaps are looked for, and gaps kept of each order of magnitude. */
#define GAP_RANGES		16
#define GAPS_KEPT		8

/* A gap between neighbouring keys of a range. */
typedef struct gap
{
	uint64_t	lo;				/* no key from here on, for */
	uint64_t	length;			/* so many values */
	double		spacing;		/* of the keys of the denser side */
} key_gap;

typedef struct gaps
{
	const renc_keys *range[GAP_RANGES];
	int			nranges;
	int			norders;		/* orders of magnitude that there are: log2 of
								 * the */
	uint8_t		order[RENC_KEY_BITS];	/* length, rounded down */
	size_t		found[RENC_KEY_BITS];	/* gaps of each */
	key_gap		kept[RENC_KEY_BITS][GAPS_KEPT]; /* some of them, at random */
} key_gaps;

/* Mean distance between a key and the next, around key i. */
static double
spacing_at(const renc_keys *keys, size_t i)
{
	size_t		first = i > NEIGHBOURS ? i - NEIGHBOURS : 0;
	size_t		last = i + NEIGHBOURS < keys->n ? i + NEIGHBOURS : keys->n - 1;

	if (first == last)
		return ldexp(1, 63);
	return (double) (keys->key[last] - keys->key[first]) / (double) (last - first);
}

/*
 * Is there a gap before key i?  Of keys spread at random one place in 20 million
 * is taken for one, so that what is made for them stays as it is.
 */
static bool
is_key_gap(const renc_keys *keys, size_t i, key_gap *g)
{
	const uint64_t *key = keys->key;
	uint64_t	crowd = ~UINT64_C(0);

	g->lo = key[i - 1] + 1;
	g->length = key[i] - g->lo;
	if (i > CROWD_KEYS)
		crowd = key[i - 1] - key[i - 1 - CROWD_KEYS];
	if (i + CROWD_KEYS < keys->n && key[i + CROWD_KEYS] - key[i] < crowd)
		crowd = key[i + CROWD_KEYS] - key[i];
	g->spacing = (double) crowd / CROWD_KEYS;
	return crowd <= g->length / GAP_CROWDS;
}

static void
find_gaps(const renc_keys *ranges, const int *filled, int nfilled, uint64_t *state, key_gaps *found)
{
	int			step = (nfilled + GAP_RANGES - 1) / GAP_RANGES;
	key_gap		g;

	found->nranges = 0;
	found->norders = 0;
	memset(found->found, 0, sizeof(found->found));
	for (int f = 0; f < nfilled; f += step)
	{
		const renc_keys *keys = &ranges[filled[f]];

		found->range[found->nranges++] = keys;
		for (size_t i = 1; i < keys->n; i++)
		{
			int			order;
			size_t		at;

			if (!is_key_gap(keys, i, &g))
				continue;
			order = RENC_KEY_BITS - 1 - __builtin_clzll(g.length);
			at = found->found[order]++;
			if (at == 0)
				found->order[found->norders++] = (uint8_t) order;
			else if (at >= GAPS_KEPT)
				at = (size_t) (renc_next_random(state) % (at + 1));
			if (at < GAPS_KEPT)
				found->kept[order][at] = g;
		}
	}
}

/* Share of the ranges looked at that have a key in an interval. */
static double
share_matching(const key_gaps *g, uint64_t lo, uint64_t hi)
{
	int			matching = 0;

	for (int r = 0; r < g->nranges; r++)
	{
		const renc_keys *keys = g->range[r];
		size_t		first = 0;
		size_t		end = keys->n;

		while (first < end)
		{
			size_t		middle = first + (end - first) / 2;

			if (keys->key[middle] < lo)
				first = middle + 1;
			else
				end = middle;
		}
		matching += first < keys->n && keys->key[first] <= hi;
	}
	return (double) matching / g->nranges;
}

/* A whole number of [least, most], spread over the orders of magnitude. */
static uint64_t
log_uniform(uint64_t *state, double least, uint64_t most)
{
	double		x = least * pow((double) most / least, renc_next_unit(state));

	return x >= (double) most ? most : (uint64_t) x;
}

/*
 * An interval in a gap of an order of magnitude drawn at random; false if there are no
 * gaps.  Of one that not every range has, there are fewer, in proportion: false, too.
 */
static bool
sample_gap(const key_gaps *found, double table_ranges, uint64_t *state, renc_sample *sample)
{
	int			order;
	size_t		kept;
	const key_gap *g;
	uint64_t	length;
	uint64_t	distance;

	if (found->norders == 0)
		return false;
	order = found->order[renc_next_random(state) % (uint64_t) found->norders];
	kept = found->found[order] < GAPS_KEPT ? found->found[order] : GAPS_KEPT;
	g = &found->kept[order][renc_next_random(state) % kept];
	if (renc_next_unit(state) * found->nranges > (double) found->found[order])
		return false;
	length = log_uniform(state, g->spacing, g->length);
	distance = log_uniform(state, 1, g->length - length + 1) - 1;
	sample->lo = g->lo + (renc_next_random(state) % 2 == 0 ? distance : g->length - length - distance);
	sample->hi = sample->lo + (length - 1);
	sample->anchor = -1;
	sample->weight = (float) (GAP_WEIGHT /
							  (1 + table_ranges * share_matching(found, sample->lo, sample->hi)));
	return true;
}

int
renc_search_own_samples(const renc_keys *ranges, int nranges, double table_ranges,
						uint64_t seed, renc_sample *sample, int n)
{
	uint64_t	state = seed;
	int			filled[RENC_GROUP_RANGES];
	int			nfilled = 0;
	key_gaps	found;

	for (int r = 0; r < nranges; r++)
		if (ranges[r].n > 0)
			filled[nfilled++] = r;
	if (nfilled == 0)
		return 0;
	if (table_ranges < LEAST_RANGES)
		table_ranges = LEAST_RANGES;
	find_gaps(ranges, filled, nfilled, &state, &found);
	for (int i = 0; i < n; i++)
	{
		/* Every range is asked about, whatever the seed. */
		int			range = filled[i % nfilled];
		const renc_keys *keys = &ranges[range];
		size_t		k = (size_t) (renc_next_random(&state) % keys->n);
		double		spacing = spacing_at(keys, k);
		double		unit = renc_next_unit(&state);
		double		more = 0;

		sample[i].query = NULL;
		if (i / nfilled % GAP_SAMPLES == GAP_SAMPLES - 1 &&
			sample_gap(&found, table_ranges, &state, &sample[i]))
			continue;
		if (i / nfilled % 2 == 1)
			more = exp2(unit * log2(MAX_SPACINGS * spacing + 1)) - 1;
		sample[i].lo = keys->key[k];
		sample[i].hi = more >= (double) (~UINT64_C(0) - sample[i].lo) ? ~UINT64_C(0) :
			sample[i].lo + (uint64_t) more;
		sample[i].anchor = range;
		sample[i].weight = (float) (1 / (1 - table_ranges * expm1(-more / spacing)));
	}
	return n;
}
