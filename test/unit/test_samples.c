/*
 * test_samples.c
 *		Samples from the table's own values, and what shapes made for them are worth.
 */
#include <stdlib.h>

#include "testlib.h"

#include "renc_shape_search.h"

#define RANGES		128
#define KEYS		800
#define SAMPLES		1024
#define BITS		20.0

/* Sanitizers look for other faults than wrong rates, and take ten times as long. */
#if defined(__SANITIZE_ADDRESS__)
#define QUERIES		300
#else
#define QUERIES		3000
#endif

/* Keys crowd together on two islands; between them lie FIRST_END .. SECOND - 1. */
#define FIRST_END	UINT64_C(64496)
#define SECOND		UINT64_C(131072)
#define SECOND_END	UINT64_C(200000)

static renc_program program;
static uint64_t all_keys[RANGES * KEYS];
static renc_keys ranges[RANGES];
static renc_sample sample[SAMPLES];

static uint64_t
uniform_key(void)
{
	return rnd();
}

/* One in a thousand stands elsewhere. */
static uint64_t
island_key(void)
{
	if (rnd_below(1000) == 0)
		return rnd_below(UINT64_C(1) << 32);
	return rnd_below(3) > 0 ? rnd_below(FIRST_END) : SECOND + rnd_below(SECOND_END - SECOND);
}

static void
make_keys(uint64_t (*key) (void))
{
	for (size_t i = 0; i < RANGES * KEYS; i++)
		all_keys[i] = key();
	for (int r = 0; r < RANGES; r++)
	{
		ranges[r].key = all_keys + r * KEYS;
		ranges[r].n = sort_keys(all_keys + r * KEYS, KEYS);
	}
}

static bool
in_gap(const renc_sample *s)
{
	return s->kind == RENC_SAMPLE_APART;
}

/* The same seed, the same samples; all but those apart begin at a key of their range. */
static void
test_reach(const char *name, uint64_t (*key) (void))
{
	static renc_sample again[SAMPLES];
	int			wrong = 0;
	int			n;

	make_keys(key);
	n = renc_own_samples_make(ranges, RANGES, 0, 7, sample, SAMPLES);
	renc_own_samples_make(ranges, RANGES, 0, 7, again, SAMPLES);
	for (int i = 0; i < n; i++)
	{
		const renc_sample *s = &sample[i];

		wrong += s->lo != again[i].lo || s->hi != again[i].hi ||
			s->anchor != again[i].anchor;
		wrong += s->lo > s->hi;
		if (!in_gap(s))
			wrong += !keys_meet(ranges[s->anchor].key, ranges[s->anchor].n, s->lo, s->lo);
	}
	tap_ok(n == SAMPLES && wrong == 0, "%s: %d samples, %d wrong", name, n, wrong);
}

/* Where keys crowd together there are samples of what lies between. */
static void
test_gaps(void)
{
	int			apart = 0;
	int			between = 0;
	int			n;

	make_keys(island_key);
	n = renc_own_samples_make(ranges, RANGES, 0, rnd(), sample, SAMPLES);
	for (int i = 0; i < n; i++)
	{
		apart += in_gap(&sample[i]);
		between += in_gap(&sample[i]) && sample[i].lo >= FIRST_END && sample[i].hi < SECOND;
	}
	tap_ok(apart > n / 10 && apart <= n / 3 && between > 2,
		   "islands: %d samples apart, %d of them between the islands", apart, between);
}

/* Ranges of few keys, or of keys far from each other. */
static void
test_few(void)
{
	static const uint64_t edge[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
		UINT64_C(1) << 40, ~UINT64_C(0) - 9, ~UINT64_C(0) - 8, ~UINT64_C(0) - 7, ~UINT64_C(0) - 6,
		~UINT64_C(0) - 5, ~UINT64_C(0) - 4, ~UINT64_C(0) - 3, ~UINT64_C(0) - 2, ~UINT64_C(0) - 1,
	~UINT64_C(0)};
	renc_keys	few[3];
	int			wrong = 0;
	int			apart = 0;
	size_t		count = sizeof(edge) / sizeof(edge[0]);

	for (size_t first = 0; first <= count; first++)
	{
		for (size_t end = first; end <= count; end++)
		{
			int			n;

			few[0].key = edge + first;
			few[0].n = end - first;
			few[1].key = edge;
			few[1].n = 0;
			few[2] = few[0];
			n = renc_own_samples_make(few, 3, 0, rnd(), sample, 40);
			wrong += n != (first == end ? 0 : 40);
			for (int i = 0; i < n; i++)
			{
				wrong += sample[i].lo > sample[i].hi;
				apart += in_gap(&sample[i]);
			}
		}
	}
	tap_ok(wrong == 0 && apart > 0, "few keys: %d samples apart, %d wrong", apart, wrong);
}

/* Share of the ranges without a match that pass. */
static double
measure(const test_filter *f, const renc_shape *shape, const renc_interval *query, int n)
{
	renc_windows windows = filter_windows(f);
	renc_mask	all = renc_mask_none();
	double		passed = 0;
	double		empty = 0;

	for (int r = 0; r < RANGES; r++)
		renc_mask_set(&all, r);
	for (int i = 0; i < n; i++)
	{
		renc_interval_set set = {(renc_interval *) &query[i], 1};
		renc_mask	truth = true_ranges(ranges, RANGES, query[i].lo, query[i].hi);

		renc_program_compile(&program, shape, TEST_ROWS, &set);
		passed += renc_mask_count(renc_mask_andnot(renc_program_execute(&program, &windows, all), truth));
		empty += RANGES - renc_mask_count(truth);
	}
	return passed / empty;
}

/* With no query known, on islands: long intervals between them, and single values. */
static void
test_default_shape(void)
{
	static renc_interval between[QUERIES];
	static renc_interval value[QUERIES];
	uint32_t	counts[RANGES];
	renc_trial *trial;
	renc_trial_input in = {0};
	renc_choice choice;
	renc_shape	rule;
	test_filter f;
	double		long_rate;
	double		value_rate;

	make_keys(island_key);
	for (int r = 0; r < RANGES; r++)
		counts[r] = (uint32_t) ranges[r].n;
	in.ranges = ranges;
	in.nranges = in.group_ranges = RANGES;
	in.max_kw = 2;
	in.capacity = renc_rule_capacity(counts, RANGES);
	in.nwindows = renc_window_count_for_keys(in.capacity, BITS, TEST_ROWS);
	in.rows = TEST_ROWS;
	in.pages_per_range = 8;
	in.window_cost = 0.02;
	in.sample = sample;
	in.nsamples = (size_t) renc_own_samples_make(ranges, RANGES, 0, rnd(), sample, SAMPLES);
	trial = (renc_trial *) test_alloc(renc_trial_size());
	renc_rule_shape(ranges, RANGES, BITS, false, &rule);
	renc_shape_search(trial, &in, &rule, NULL, true, &choice);

	f = filter_new(in.nwindows, TEST_ROWS, RENC_MATRIX_WIDTH);
	filter_fill(&f, &choice.shape, ranges, RANGES);
	for (int i = 0; i < QUERIES; i++)
	{
		value[i].lo = value[i].hi = all_keys[rnd_below(RANGES * KEYS)];
		between[i].lo = FIRST_END + rnd_below(SECOND - FIRST_END - 1022);
		between[i].hi = between[i].lo + 1022;
	}
	long_rate = measure(&f, &choice.shape, between, QUERIES);
	value_rate = measure(&f, &choice.shape, value, QUERIES);
	tap_ok(long_rate < 0.03, "islands: 1,023 values between them pass %.1e of the ranges", long_rate);
	tap_ok(value_rate < 2e-3, "islands: a value of another range passes %.1e", value_rate);
	filter_free(&f);
	free(trial);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_samples");
	test_reach("uniform keys", uniform_key);
	test_reach("islands", island_key);
	test_gaps();
	test_few();
	test_default_shape();
	return tap_finish();
}
