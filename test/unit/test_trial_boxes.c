/*
 * test_trial_boxes.c
 *		Trials of boxes, of queries that just do not fit a program, and a search with
 *		hardly a key.
 */
#include <math.h>
#include <stdlib.h>

#include "testlib.h"

#include "renc_shape_search.h"
#include "renc_zorder.h"

#define RANGES		128
#define KEYS		280
#define BITS		20.0

#if defined(__SANITIZE_ADDRESS__)
#define QUERIES		500
#define SAMPLES		300
#define LONG_QUERIES 2000
#else
#define QUERIES		2000
#define SAMPLES		700
#define LONG_QUERIES 6000
#endif

static renc_program program;
static renc_trial *trial;
static uint64_t keys[RANGES * KEYS];
static renc_keys ranges[RANGES];

/* A box with all that its query needs. */
typedef struct boxed
{
	renc_box	box;
	renc_box_set set;
	renc_query	query;
} boxed;

static void
make_box(boxed *b, uint32_t xlo, uint32_t xhi, uint32_t ylo, uint32_t yhi)
{
	b->box.xlo = xlo;
	b->box.xhi = xhi;
	b->box.ylo = ylo;
	b->box.yhi = yhi;
	b->set.box = &b->box;
	b->set.n = renc_box_set_prepare(&b->box, 1);
	b->query = renc_query_boxes(&b->set);
}

static renc_sample
box_sample(const boxed *b)
{
	renc_sample s = {b->query.hull_lo, b->query.hull_hi, &b->query, -1, RENC_SAMPLE_ASKED};

	return s;
}

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

static uint32_t
between(uint32_t a, uint32_t b)
{
	return a + (uint32_t) rnd_below((uint64_t) b - a + 1);
}

/* Measured rate over the ranges that do not match. */
static double
measure(const renc_shape *shape, uint32_t nwindows, const renc_query *queries,
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

/* Points that crowd around places, and small boxes near points. */
static double
test_boxes(void)
{
	static boxed b[QUERIES];
	static renc_query query[QUERIES];
	static renc_mask truth[QUERIES];
	static renc_sample sample[SAMPLES];
	static uint64_t unsorted[RANGES * KEYS];
	uint32_t	place[300][2];
	renc_trial_input in;
	static renc_keys others[RANGES];
	renc_prediction other;
	renc_choice choice;
	renc_shape	rule;
	double		fpr;
	int			missed = 0;

	for (int i = 0; i < 300; i++)
	{
		place[i][0] = between(0, UINT32_C(1) << 31);
		place[i][1] = between(0, UINT32_C(1) << 31);
	}
	for (int i = 0; i < RANGES * KEYS; i++)
	{
		const uint32_t *p = place[rnd_below(300)];

		unsorted[i] = keys[i] = renc_zorder(p[0] + (uint32_t) (rnd() >> (42 + rnd_below(6))),
											p[1] + (uint32_t) (rnd() >> (42 + rnd_below(6))));
	}
	sort_ranges(RANGES, KEYS);
	for (int i = 0; i < QUERIES; i++)
	{
		uint32_t	x;
		uint32_t	y;

		renc_zorder_split(unsorted[rnd_below(RANGES * KEYS)], &x, &y);
		x += (uint32_t) rnd_below(1 << 18);
		y += (uint32_t) rnd_below(1 << 18);
		make_box(&b[i], x, x + (1 << 14), y, y + (1 << 14));
	}
	for (int i = 0; i < QUERIES; i++)
	{
		query[i] = b[i].query;
		truth[i] = renc_mask_none();
		for (int r = 0; r < RANGES; r++)
			for (size_t k = 0; k < ranges[r].n; k++)
				if (query[i].overlap(query[i].arg, ranges[r].key[k], ranges[r].key[k]) !=
					RENC_DISJOINT)
				{
					renc_mask_set(&truth[i], r);
					break;
				}
	}

	/* Some of the queries are the sample. */
	for (int i = 0; i < SAMPLES; i++)
		sample[i] = box_sample(&b[i]);
	in = trial_input(RANGES, sample, SAMPLES, BITS);
	renc_rule_shape(ranges, RANGES, BITS, true, &rule);
	in.areal = true;
	trial = trial_room(trial);
	renc_shape_search(trial, &in, &rule, NULL, true, &choice);

	fpr = measure(&choice.shape, in.nwindows, query, truth, QUERIES, &missed);
	tap_ok(missed == 0, "boxes: %d true matches missed", missed);

	/* Of some hundred shapes the one chosen was lucky with samples and ranges; so by others. */
	for (int i = 0; i < SAMPLES; i++)
		sample[i] = box_sample(&b[SAMPLES + i]);
	for (int i = 0; i < RANGES; i++)
		others[i] = ranges[(i + 1) % RANGES];
	in.ranges = others;
	tap_ok(renc_trial_init(trial, &in) &&
		   renc_trial_try_shape(trial, &choice.shape, INFINITY, &other),
		   "boxes: predicted / measured %.2f of the shape chosen, which has %.3g",
		   other.fpr / fpr, fpr);
	tap_ok(fpr < measure(&rule, in.nwindows, query, truth, QUERIES, &missed),
		   "boxes: better than by rule");
	return other.fpr / fpr;
}

/*
 * Lengths up to 2^20, and a root of which one query in 256 needs more than there may be
 * trees: it passes everything.
 */
static void
test_not_fitting(void)
{
	static renc_interval interval[LONG_QUERIES];
	static renc_interval_set set[LONG_QUERIES];
	static renc_query query[LONG_QUERIES];
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
		interval[i].hi = interval[i].lo + rnd_below(1 << 20);
		set[i].interval = &interval[i];
		set[i].n = 1;
		query[i] = renc_query_intervals(&set[i]);
		truth[i] = true_ranges(ranges, RANGES, interval[i].lo, interval[i].hi);
		sample[i].lo = (UINT64_C(1) << 63) + rnd_below(UINT64_C(1) << 33);
		sample[i].hi = sample[i].lo + rnd_below(1 << 20);
		sample[i].query = NULL;
		sample[i].anchor = -1;
		sample[i].kind = RENC_SAMPLE_ASKED;
	}
	in = trial_input(RANGES, sample, LONG_QUERIES, 40);
	trial = trial_room(trial);
	renc_trial_init(trial, &in);
	renc_trial_try_shape(trial, &shape, INFINITY, &p);
	fpr = measure(&shape, in.nwindows, query, truth, LONG_QUERIES, &missed);
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
			renc_sample s = {lo, lo + 10, NULL, -1, RENC_SAMPLE_ASKED};

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
	double		ratio = 0;

	tap_start(argc, argv, "test_trial_boxes");
	for (int i = 0; i < 3; i++)
		ratio += test_boxes() / 3;
	tap_ok(ratio > 0.5 && ratio < 2, "boxes: predicted / measured, mean: %.2f", ratio);
	test_not_fitting();
	test_few_keys();
	free(trial);
	return tap_finish();
}
