/*
 * test_trial_long.c
 *		Trials of queries that just do not fit a program, and a search with hardly a key.
 */
#include <math.h>
#include <stdlib.h>

#include "testlib.h"

#include "renc_shape_search.h"

#define RANGES		128
#define KEYS		280
#define BITS		20.0

#if defined(__SANITIZE_ADDRESS__)
#define LONG_QUERIES 2000
#else
#define LONG_QUERIES 6000
#endif

static renc_program program;
static renc_trial *trial;
static uint64_t keys[RANGES * KEYS];
static renc_keys ranges[RANGES];

static void
sort_ranges(int nranges, size_t per_range)
{
	for (int r = 0; r < nranges; r++)
	{
		ranges[r].key = keys + r * per_range;
		ranges[r].n = sort_keys(keys + r * per_range, per_range);
	}
}

static renc_trial_input
trial_input(int nranges, const renc_sample *sample, size_t nsamples, double bits)
{
	renc_trial_input in;
	uint32_t	counts[RANGES];

	for (int r = 0; r < nranges; r++)
		counts[r] = (uint32_t) ranges[r].n;
	memset(&in, 0, sizeof(in));
	in.ranges = ranges;
	in.nranges = nranges;
	in.group_ranges = RANGES;
	in.nwindows = renc_window_count_for_keys(renc_rule_capacity(counts, nranges), bits, TEST_ROWS);
	in.rows = TEST_ROWS;
	in.pages_per_range = 8;
	in.window_cost = 0.02;
	in.asked_share = 1;
	in.max_kw = 4;
	in.sample = sample;
	in.nsamples = nsamples;
	return in;
}

/* Measured rate over the ranges that do not match. */
static double
measure(const renc_shape *shape, uint32_t nwindows, const renc_interval_set *queries,
		const renc_mask *truth, int n, int *missed)
{
	test_filter f = filter_new(nwindows, TEST_ROWS, RENC_MATRIX_WIDTH);
	renc_windows windows = filter_windows(&f);
	double		empty = 0;
	double		passed = 0;

	filter_fill(&f, shape, ranges, RANGES);
	for (int i = 0; i < n; i++)
	{
		renc_mask	mask;

		renc_program_compile(&program, shape, TEST_ROWS, &queries[i]);
		mask = renc_program_execute(&program, &windows, renc_mask_all());
		passed += renc_mask_count(renc_mask_andnot(mask, truth[i]));
		*missed += renc_mask_count(renc_mask_andnot(truth[i], mask));
		empty += RANGES - renc_mask_count(truth[i]);
	}
	filter_free(&f);
	return empty > 0 ? passed / empty : 0;
}

/*
 * Lengths up to a little more than 2^20, and a root of which one query in 60 needs more than
 * there may be trees: it passes everything.
 */
static void
test_not_fitting(void)
{
	static renc_interval interval[LONG_QUERIES];
	static renc_interval_set set[LONG_QUERIES];
	static renc_mask truth[LONG_QUERIES];
	static renc_sample sample[LONG_QUERIES];
	renc_shape	shape = make_shape(52, 4, 6, 53, 1, 1);
	renc_trial_input in;
	renc_prediction p;
	double		fpr;
	int			missed = 0;

	for (int i = 0; i < RANGES * KEYS; i++)
		keys[i] = (UINT64_C(1) << 63) + rnd_below(UINT64_C(1) << 33);
	sort_ranges(RANGES, KEYS);
	for (int i = 0; i < LONG_QUERIES; i++)
	{
		interval[i].lo = (UINT64_C(1) << 63) + rnd_below(UINT64_C(1) << 33);
		interval[i].hi = interval[i].lo + rnd_below((1 << 20) + (1 << 14));
		set[i].interval = &interval[i];
		set[i].n = 1;
		truth[i] = true_ranges(ranges, RANGES, interval[i].lo, interval[i].hi);
		sample[i].lo = (UINT64_C(1) << 63) + rnd_below(UINT64_C(1) << 33);
		sample[i].hi = sample[i].lo + rnd_below((1 << 20) + (1 << 14));
		sample[i].anchor = -1;
		sample[i].kind = RENC_SAMPLE_ASKED;
	}
	in = trial_input(RANGES, sample, LONG_QUERIES, 40);
	trial = trial_room(trial);
	renc_trial_init(trial, &in);
	renc_trial_try_shape(trial, &shape, INFINITY, &p);
	fpr = measure(&shape, in.nwindows, set, truth, LONG_QUERIES, &missed);
	tap_ok(missed == 0, "long intervals: %d true matches missed", missed);
	tap_ok(renc_shape_valid(&shape, NULL) && p.fpr / fpr > 0.25 && p.fpr / fpr < 4,
		   "long intervals, few of which do not fit: predicted %.3g, measured %.3g", p.fpr, fpr);
}

/*
 * A few keys, as the first slice of a group whose column is mostly null has them, after
 * a group of which only the shape is known: there must be a shape.
 */
static void
test_few_keys(void)
{
	int			invalid = 0;

	for (size_t n = 1; n <= 40; n++)
	{
		static renc_sample sample[64];
		renc_trial_input in;
		renc_choice choice;
		renc_shape	shape;

		for (size_t i = 0; i < 8 * n; i++)
			keys[i] = rnd();
		sort_ranges(8, n);
		for (int i = 0; i < 64; i++)
		{
			uint64_t	lo = rnd() / 2;
			renc_sample s = {lo, lo + 10, -1, RENC_SAMPLE_ASKED};

			sample[i] = s;
		}
		in = trial_input(8, sample, 64, BITS);
		renc_rule_shape(ranges, 8, BITS, false, &shape);
		trial = trial_room(trial);
		renc_shape_search(trial, &in, &shape, &shape, false, &choice);

		invalid += !renc_shape_valid(&choice.shape, NULL);
	}
	tap_ok(invalid == 0, "resumed with few keys: %d shapes not valid", invalid);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_trial_long");
	test_not_fitting();
	test_few_keys();
	free(trial);
	return tap_finish();
}
