/*
 * test_own_boxes.c
 *		Sample boxes from the table's own points, and what shapes made for them are worth.
 */
#include <math.h>
#include <stdlib.h>

#include "testlib.h"

#include "renc_shape_search.h"
#include "renc_zorder.h"

#define RANGES		128
#define KEYS		800
#define SAMPLES		1024
#define BITS		20.0
#define PLACES		300

#if defined(__SANITIZE_ADDRESS__)
#define QUERIES		100
#else
#define QUERIES		500
#endif

static renc_program program;
static renc_trial *trial;
static uint64_t all_keys[RANGES * KEYS];
static uint64_t unsorted[RANGES * KEYS];
static renc_keys ranges[RANGES];
static renc_sample sample[SAMPLES];
static renc_own_box own[SAMPLES];
static uint32_t place[PLACES][2];

static uint64_t
uniform_point(void)
{
	return renc_zorder((uint32_t) (rnd() >> 33), (uint32_t) (rnd() >> 33));
}

/* Points crowd around places, more of them the closer they are. */
static uint64_t
crowded_point(void)
{
	const uint32_t *p = place[rnd_below(PLACES)];

	return renc_zorder(p[0] + (uint32_t) (rnd() >> (42 + rnd_below(10))),
					   p[1] + (uint32_t) (rnd() >> (42 + rnd_below(10))));
}

static void
make_points(uint64_t (*point) (void))
{
	for (int i = 0; i < PLACES; i++)
	{
		place[i][0] = (uint32_t) (rnd() >> 33);
		place[i][1] = (uint32_t) (rnd() >> 33);
	}
	for (size_t i = 0; i < RANGES * KEYS; i++)
		unsorted[i] = all_keys[i] = point();
	for (int r = 0; r < RANGES; r++)
	{
		ranges[r].key = all_keys + r * KEYS;
		ranges[r].n = sort_keys(all_keys + r * KEYS, KEYS);
	}
}

static bool
in_box(const renc_box *b, uint64_t key)
{
	uint32_t	x;
	uint32_t	y;

	renc_zorder_split(key, &x, &y);
	return x >= b->xlo && x <= b->xhi && y >= b->ylo && y <= b->yhi;
}

static bool
has_point(const renc_keys *r, const renc_box *b)
{
	uint64_t	lo = renc_zorder(b->xlo, b->ylo);
	uint64_t	hi = renc_zorder(b->xhi, b->yhi);
	size_t		left = 0;
	size_t		right = r->n;

	/* Keys are in Z-order, so a box is within its corners. */
	while (left < right)
	{
		size_t		middle = left + (right - left) / 2;

		if (r->key[middle] < lo)
			left = middle + 1;
		else
			right = middle;
	}
	for (; left < r->n && r->key[left] <= hi; left++)
		if (in_box(b, r->key[left]))
			return true;
	return false;
}

static int
not_a_box(const renc_sample *s, const renc_own_box *o)
{
	const renc_box *b = &o->box;

	return b->xlo > b->xhi || b->ylo > b->yhi || b->xhi > RENC_AXIS_LAST || b->yhi > RENC_AXIS_LAST ||
		s->lo > s->hi || s->query != &o->query;
}

/* The same seed, the same samples, also of fewer; boxes hold a point of their range, if any. */
static void
test_reach(const char *name, uint64_t (*point) (void))
{
	static renc_sample again[SAMPLES];
	static renc_own_box again_own[SAMPLES];
	int			wrong = 0;
	int			beside = 0;
	int			n;
	int			fewer;

	make_points(point);
	n = renc_own_samples_make_boxes(ranges, RANGES, 1e5, 7, own, sample, SAMPLES);
	fewer = renc_own_samples_make_boxes(ranges, RANGES, 1e5, 7, again_own, again, SAMPLES / 8);
	for (int i = 0; i < n; i++)
	{
		const renc_sample *s = &sample[i];
		const renc_box *b = &own[i].box;

		wrong += not_a_box(s, &own[i]);
		if (i < fewer)
			wrong += s->lo != again[i].lo || s->hi != again[i].hi ||
				s->anchor != again[i].anchor || b->xlo != again_own[i].box.xlo ||
				b->yhi != again_own[i].box.yhi;
		if (s->anchor >= 0)
			wrong += !has_point(&ranges[s->anchor], b);
		else
			beside++;
	}
	tap_ok(n == SAMPLES && fewer == SAMPLES / 8 && wrong == 0, "%s: %d boxes, %d wrong", name, n, wrong);
	tap_ok(beside > n / 5 && beside < n / 2, "%s: %d boxes beside points", name, beside);
}

/*
 * Boxes around a point are of all sizes: from a part of what one other row of the table is expected in
 * to what nearly all ranges match.
 */
static void
test_sizes(void)
{
	int			small = 0;
	int			large = 0;
	int			around = 0;
	int			n;

	make_points(uniform_point);
	n = renc_own_samples_make_boxes(ranges, RANGES, 1e5, rnd(), own, sample, SAMPLES);
	for (int i = 0; i < n; i++)
	{
		const renc_box *b = &own[i].box;
		double		area = ((double) b->xhi - b->xlo + 1) * ((double) b->yhi - b->ylo + 1);
		double		expected = area / 0x1p62 * KEYS;

		if (sample[i].kind != RENC_SAMPLE_NEAR)
			continue;
		around++;
		small += expected < 1e-5;
		large += expected > 1;
	}
	tap_ok(around > n / 2 && small > around / 5 && small < around / 2 && large > 2 && large < around / 5,
		   "sizes: of %d boxes %d are small, %d match nearly all ranges", around, small, large);
}

/* Ranges of few keys, at the edges of the plane, or that are no place. */
static void
test_few(void)
{
	uint64_t	edge[] = {0, 1, 2, 3, 4, 5, 6, 7, 8,
		renc_zorder(0, RENC_AXIS_LAST), renc_zorder(RENC_AXIS_LAST, 0),
		renc_zorder(RENC_AXIS_LAST - 1, RENC_AXIS_LAST),
	renc_zorder(RENC_AXIS_LAST, RENC_AXIS_LAST), RENC_POINT_NAN};
	renc_keys	few[3];
	int			wrong = 0;
	size_t		count = sizeof(edge) / sizeof(edge[0]);

	sort_keys(edge, count);
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
			for (int nranges = 1; nranges <= 3; nranges++)
			{
				n = renc_own_samples_make_boxes(few, nranges, nranges, rnd(), own, sample, 40);
				wrong += n != (first == end ? 0 : 40);
				for (int i = 0; i < n; i++)
					wrong += not_a_box(&sample[i], &own[i]);
			}
		}
	}
	tap_ok(wrong == 0, "few keys: %d boxes wrong", wrong);
}

static renc_trial_input
trial_input(void)
{
	uint32_t	counts[RANGES];
	renc_trial_input in;

	memset(&in, 0, sizeof(in));
	for (int r = 0; r < RANGES; r++)
		counts[r] = (uint32_t) ranges[r].n;
	in.ranges = ranges;
	in.nranges = in.group_ranges = RANGES;
	in.max_kw = 2;
	in.capacity = renc_rule_capacity(counts, RANGES);
	in.nwindows = renc_window_count_for_keys(in.capacity, BITS, TEST_ROWS);
	in.rows = TEST_ROWS;
	in.pages_per_range = 32;
	in.window_cost = 0.02;
	in.areal = true;
	in.sample = sample;
	return in;
}

/* The shape for points of which no queries are known. */
static renc_choice
search(renc_trial_input *in)
{
	renc_choice choice;
	renc_shape	rule;

	in->nsamples = (size_t) renc_own_samples_make_boxes(ranges, RANGES, 1e4, 7, own, sample, 512);
	trial = trial_room(trial);
	renc_rule_shape(ranges, RANGES, BITS, true, &rule);
	renc_shape_search(trial, in, &rule, NULL, true, &choice);

	return choice;
}

/*
 * Share of the ranges without a match that pass boxes with a side; around points, or anywhere.
 * Nearly all ranges match the largest: *read is the share of all that are read.
 */
static double
measure(const renc_shape *shape, uint32_t nwindows, uint32_t side, bool around, int *missed, double *read)
{
	test_filter f = filter_new(nwindows, TEST_ROWS, RENC_MATRIX_WIDTH);
	renc_windows windows = filter_windows(&f);
	double		empty = 0;
	double		passed = 0;

	*read = 0;
	filter_fill(&f, shape, ranges, RANGES);
	for (int i = 0; i < QUERIES; i++)
	{
		renc_box	box = {0};
		renc_box_set set = {&box, 1};
		uint64_t	key = around ? unsorted[(size_t) i * 37 % (RANGES * KEYS)] : uniform_point();
		renc_query	query;
		renc_mask	mask;

		renc_zorder_split(key, &box.xlo, &box.ylo);
		box.xlo -= box.xlo < side / 2 ? box.xlo : side / 2;
		box.ylo -= box.ylo < side / 2 ? box.ylo : side / 2;
		box.xhi = box.xlo + side;
		box.yhi = box.ylo + side;
		renc_box_set_prepare(&box, 1);
		query = renc_query_boxes(&set);
		renc_program_compile(&program, shape, TEST_ROWS, &query);
		mask = renc_program_execute(&program, &windows, renc_mask_all());
		for (int r = 0; r < RANGES; r++)
		{
			bool		match = has_point(&ranges[r], &box);

			empty += !match;
			passed += !match && renc_mask_test(mask, r);
			*read += renc_mask_test(mask, r) / (double) (RANGES * QUERIES);
			*missed += match && !renc_mask_test(mask, r);
		}
	}
	filter_free(&f);
	return empty > 0 ? passed / empty : 0;
}

/* Points spread evenly: boxes that are as good as empty, from points on. */
static void
test_uniform(void)
{
	renc_trial_input in;
	renc_choice choice;
	renc_shape	rule;
	double		read;
	int			missed = 0;

	make_points(uniform_point);
	in = trial_input();
	renc_rule_shape(ranges, RANGES, BITS, true, &rule);
	choice = search(&in);
	for (uint32_t side = 0; side <= 20000; side = side * 10 + 200)
	{
		double		by_rule = measure(&rule, in.nwindows, side, false, &missed, &read);
		double		fpr = measure(&choice.shape, in.nwindows, side, false, &missed, &read);

		tap_ok(missed == 0 && by_rule > 0.01 && fpr < by_rule / 20,
			   "uniform: boxes of %u cells pass %.2e of the ranges, with the rule's shape %.2e", side, fpr,
			   by_rule);
	}
}

/* Crowds: of no size much worse than by rule, and in all better. */
static void
test_crowds(void)
{
	renc_trial_input in;
	renc_choice choice;
	renc_shape	rule;
	double		all = 0;
	double		read;
	double		read_by_rule;
	int			worse = 0;
	int			missed = 0;

	make_points(crowded_point);
	in = trial_input();
	renc_rule_shape(ranges, RANGES, BITS, true, &rule);
	choice = search(&in);
	for (int bits = 6; bits <= 22; bits += 4)
	{
		uint32_t	side = UINT32_C(1) << bits;
		double		by_rule = measure(&rule, in.nwindows, side, true, &missed, &read_by_rule);
		double		fpr = measure(&choice.shape, in.nwindows, side, true, &missed, &read);

		tap_diag("crowds: boxes of 2^%d cells: %.2e of %.2f read, by rule %.2e of %.2f", bits, fpr, read,
				 by_rule, read_by_rule);
		worse += fpr > 2 * by_rule + 0.001;
		all += log(fpr + 1e-5) - log(by_rule + 1e-5);
	}
	tap_ok(missed == 0 && worse == 0 && all < log(0.5) * 5, "crowds: of %d sizes twice as bad as by rule, in all %.2f times",
		   worse, exp(all / 5));
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_own_boxes");
	test_reach("uniform points", uniform_point);
	test_reach("crowds", crowded_point);
	test_sizes();
	test_few();
	test_uniform();
	test_crowds();
	free(trial);
	return tap_finish();
}
