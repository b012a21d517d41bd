/*
 * test_rule.c
 *		The rule: sizes, shapes for odd keys.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

static void
test_capacity(void)
{
	uint32_t	counts[RENC_GROUP_RANGES];
	double		even;
	double		one_big;

	for (int i = 0; i < RENC_GROUP_RANGES; i++)
		counts[i] = 1000;
	even = renc_rule_capacity(counts, RENC_GROUP_RANGES);
	tap_ok(even == 1000, "equal ranges get what they need: %g", even);

	for (int i = 0; i < RENC_GROUP_RANGES; i++)
		counts[i] = i == 50 ? 10000 : 1000;
	one_big = renc_rule_capacity(counts, RENC_GROUP_RANGES);
	tap_ok(one_big < 1.6 * even, "one range of ten times the keys: %g times the size",
		   one_big / even);
	tap_ok(renc_rule_overfull(10000, one_big) && !renc_rule_overfull(1000, one_big),
		   "and that range only is overfull");

	for (int i = 0; i < RENC_GROUP_RANGES; i++)
		counts[i] = 0;
	tap_ok(renc_rule_capacity(counts, RENC_GROUP_RANGES) == 1, "empty ranges: 1");
	counts[5] = 700;
	tap_ok(renc_rule_capacity(counts, RENC_GROUP_RANGES) == 700,
		   "a single range with keys gets what it needs");
	tap_ok(renc_rule_capacity(counts, 0) == 1, "no ranges: 1");
}

static void
test_capacity_random(void)
{
	int			wrong = 0;
	int			too_many = 0;

	for (int i = 0; i < 20000; i++)
	{
		uint32_t	counts[RENC_GROUP_RANGES];
		int			n = 1 + (int) rnd_below(RENC_GROUP_RANGES);
		int			filled = 0;
		int			overfull = 0;
		uint32_t	max = 0;
		double		capacity;

		for (int k = 0; k < n; k++)
		{
			counts[k] = rnd_below(4) == 0 ? 0 : (uint32_t) (rnd() >> (40 + rnd_below(24)));
			filled += counts[k] > 0;
			max = counts[k] > max ? counts[k] : max;
		}
		capacity = renc_rule_capacity(counts, n);
		for (int k = 0; k < n; k++)
			overfull += renc_rule_overfull(counts[k], capacity);
		/* Never more than the greatest needs; at most two in a group lost. */
		wrong += max > 0 && (capacity > max || capacity <= 0);
		too_many += overfull > (filled < 4 ? 0 : filled < 64 ? 1 : filled / 64);
	}
	tap_ok(wrong == 0, "capacities of 20000 random groups, %d wrong", wrong);
	tap_ok(too_many == 0, "at most two ranges of a group are overfull, %d wrong", too_many);
}

/* Keys of odd kinds: the rule's shape is valid and within the budget. */
static uint64_t
odd_key(int kind, uint64_t i)
{
	switch (kind)
	{
		case 0:
			return rnd();
		case 1:
			return rnd() >> rnd_below(64);
		case 2:
			return 42;
		case 3:
			return i;
		case 4:
			return (UINT64_C(1) << 63) + rnd_below(100);
		case 5:
			return ~UINT64_C(0) - rnd_below(3);
		case 6:
			return rnd_below(2) ? 0 : ~UINT64_C(0);
		case 7:
			return rnd_below(1000000) * 60000000;
		case 8:
			return rnd_below(50) << 40 | rnd_below(100);
		case 9:
			return rnd() & ~UINT64_C(0) << 32;
		default:
			/* Clusters in clusters: each level splits off one key in eight. */
			for (int bit = 62; bit > 0; bit--)
				if (rnd_below(8) == 0)
					return (UINT64_C(1) << 63) + (UINT64_C(1) << bit) + (rnd() >> 1 >> (64 - bit));
			return UINT64_C(1) << 63;
	}
}

/*
 * Share of set bits in the filter of the range with the most keys, when it is
 * made for that many.  1.5 bits set for each bit there is would give 0.78, the
 * best number (ln 2) gives 0.5.
 */
static double
fullest_fill(const renc_keys *ranges, int nranges, const renc_shape *shape,
			 double bits_per_key)
{
	const uint32_t rows = 510;
	uint32_t	count;
	const renc_keys *fullest = &ranges[0];
	uint32_t	nwindows;
	uint8_t    *image;

	for (int r = 1; r < nranges; r++)
	{
		if (ranges[r].n > fullest->n)
			fullest = &ranges[r];
	}
	nwindows = renc_window_count_for_keys((double) fullest->n, bits_per_key, rows);
	image = (uint8_t *) test_alloc(renc_image_size(nwindows, rows, RENC_SLICE_WIDTH));
	memset(image, 0, renc_image_size(nwindows, rows, RENC_SLICE_WIDTH));
	renc_window_fill(image, RENC_SLICE_WIDTH, 0, shape, nwindows, rows, fullest->key, fullest->n);
	count = renc_band_count_bits(image, nwindows * rows, 0);
	free(image);
	return count / ((double) nwindows * rows);
}

static void
test_shapes(void)
{
	static const double bits[] = {4, 5.5, 8, 12, 16, 20, 24, 32, 48, 64};
	int			wrong = 0;
	int			heavy = 0;
	int			shapes = 0;

	for (int i = 0; i < 3000; i++)
	{
		renc_keys	ranges[RENC_GROUP_RANGES];
		int			nranges = 1 + (int) rnd_below(rnd_below(2) ? RENC_GROUP_RANGES : 8);
		int			kind = (int) rnd_below(11);
		size_t		size = 1 + rnd_below(rnd_below(4) ? 60 : rnd_below(2) ? 2 : 1000);
		double		bits_per_key = bits[rnd_below(10)];
		renc_shape	shape;
		const char *reason = NULL;
		uint64_t	density = rnd_below(5);
		int			filled = (int) rnd_below(nranges);

		for (int r = 0; r < nranges; r++)
		{
			size_t		n = r == filled || rnd_below(4) < density ? 1 + rnd_below(size) : 0;
			uint64_t   *keys = (uint64_t *) test_alloc(n * sizeof(uint64_t));

			for (size_t k = 0; k < n; k++)
				keys[k] = odd_key(kind, (uint64_t) r * 60 + k);
			ranges[r].n = sort_keys(keys, n);
			ranges[r].key = keys;
		}
		memset(&shape, 0xee, sizeof(shape));
		renc_rule_shape(ranges, nranges, bits_per_key, false, &shape);
		shapes++;
		if (!renc_shape_valid(&shape, &reason))
			wrong++;
		/* Kinds whose prefixes are distinct: no more bits than a filter takes. */
		else if (kind == 0 && size > 30 && fullest_fill(ranges, nranges, &shape, bits_per_key) > 0.78)
			heavy++;
		for (int r = 0; r < nranges; r++)
			free((void *) ranges[r].key);
	}
	tap_ok(wrong == 0, "%d shapes for odd keys, %d not valid", shapes, wrong);
	tap_ok(heavy == 0, "shapes within the bit budget, %d too heavy", heavy);
}

/* The same keys give the same shape: tests and benchmarks rely on it. */
static void
test_repeatable(void)
{
	uint64_t	keys[2][300];
	renc_keys	ranges[2];
	renc_shape	a;
	renc_shape	b;

	for (int r = 0; r < 2; r++)
	{
		for (int k = 0; k < 300; k++)
			keys[r][k] = rnd();
		ranges[r].n = sort_keys(keys[r], 300);
		ranges[r].key = keys[r];
	}
	renc_rule_shape(ranges, 2, 20, false, &a);
	renc_rule_shape(ranges, 2, 20, false, &b);
	tap_ok(memcmp(&a, &b, sizeof(a)) == 0, "the same keys give the same shape");
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_rule");
	test_capacity();
	test_capacity_random();
	test_shapes();
	test_repeatable();
	return tap_finish();
}
