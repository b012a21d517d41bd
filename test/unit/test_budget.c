/*
 * test_budget.c
 *		Probe programs of long intervals and of many: never a false negative,
 *		whether or not the node budget is exceeded.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"


#define MAX_INTERVALS	600

static renc_program program;

typedef struct group
{
	renc_keys	ranges[RENC_GROUP_RANGES];
	renc_shape	shape;
	test_filter filter;
} group;

/* Keys spread over the domain >> shift; the ends of the domain in a few. */
static void
make_group(group *g, int shift)
{
	int			first;

	for (int i = 0; i < RENC_GROUP_RANGES; i++)
	{
		size_t		n = 1 + rnd_below(30);
		uint64_t   *keys = (uint64_t *) test_alloc(n * sizeof(uint64_t));

		for (size_t k = 0; k < n; k++)
			keys[k] = rnd() >> shift;
		if (i % 50 == 3)
			keys[0] = 0;
		if (i % 50 == 5)
			keys[0] = ~UINT64_C(0);
		g->ranges[i].n = sort_keys(keys, n);
		g->ranges[i].key = keys;
	}
	first = 1 + (int) rnd_below(55);
	random_shape(&g->shape, first, first + 9);
	g->filter = filter_new(1 + (uint32_t) rnd_below(4), TEST_ROWS, RENC_MATRIX_WIDTH);
	filter_fill(&g->filter, &g->shape, g->ranges, RENC_GROUP_RANGES);
}

static void
free_group(group *g)
{
	for (int i = 0; i < RENC_GROUP_RANGES; i++)
		free((void *) g->ranges[i].key);
	filter_free(&g->filter);
}

/* A bound: near a key, at an end of the domain, or anywhere. */
static uint64_t
random_bound(const group *g, int shift)
{
	const renc_keys *r = &g->ranges[rnd_below(RENC_GROUP_RANGES)];

	switch (rnd_below(4))
	{
		case 0:
			return r->key[rnd_below(r->n)] + rnd_below(3) - 1;
		case 1:
			return rnd_below(2) ? 0 : ~UINT64_C(0);
		default:
			return rnd() >> shift;
	}
}

static int
compare_intervals(const void *a, const void *b)
{
	uint64_t	x = ((const renc_interval *) a)->lo;
	uint64_t	y = ((const renc_interval *) b)->lo;

	return (x > y) - (x < y);
}

/* Sorted disjoint intervals out of random bounds. */
static size_t
random_set(const group *g, int shift, renc_interval *out, size_t n)
{
	size_t		kept = 0;

	for (size_t i = 0; i < n; i++)
	{
		uint64_t	a = random_bound(g, shift);
		uint64_t	b = rnd_below(3) == 0 && n < 10 ? random_bound(g, shift) :
			a + (rnd() >> (20 + rnd_below(44)));

		out[i].lo = a < b ? a : b;
		out[i].hi = a < b ? b : a;
	}
	qsort(out, n, sizeof(*out), compare_intervals);
	for (size_t i = 0; i < n; i++)
	{
		if (kept > 0 && out[i].lo <= out[kept - 1].hi)
		{
			if (out[i].hi > out[kept - 1].hi)
				out[kept - 1].hi = out[i].hi;
		}
		else
			out[kept++] = out[i];
	}
	return kept;
}

typedef struct findings
{
	long		runs;
	long		always;
	long		cut;
	long		false_negatives;
	long		outside;		/* not within the candidates */
	long		malformed;
} findings;

/* The parts of a program that a run relies on. */
static bool
well_formed(const renc_program *p)
{
	int32_t		next = 0;

	if (p->ntrees > RENC_MAX_TREES || p->nnodes > RENC_MAX_NODES)
		return false;
	for (int t = 0; t < p->ntrees; t++)
	{
		const renc_tree *tree = &p->tree[t];

		if (tree->first_node != next && tree->stage == 0 && t == 0)
			return false;
		if (tree->link >= tree->first_node || (tree->link < 0) != (tree->stage == 0))
			return false;
		for (int32_t i = tree->first_node; i < tree->first_node + tree->nnodes; i++)
			if (p->node[i].parent >= i || (p->node[i].parent >= 0 &&
										   p->node[i].parent < tree->first_node))
				return false;
		next += tree->nnodes;
	}
	return next == p->nnodes;
}

static void
check_set(const group *g, const renc_interval *intervals, size_t n, findings *f)
{
	renc_interval_set set = {intervals, n};
	renc_windows windows = filter_windows(&g->filter);
	renc_mask	candidates = {{rnd() | rnd(), rnd() | rnd()}};
	renc_mask	truth = renc_mask_none();
	renc_mask	result;
	int			deepest = renc_stage_deepest(&g->shape.stage[g->shape.nstages - 1]);

	for (size_t i = 0; i < n; i++)
		truth = renc_mask_or(truth, true_ranges(g->ranges, RENC_GROUP_RANGES,
												intervals[i].lo, intervals[i].hi));
	renc_program_compile(&program, &g->shape, TEST_ROWS, &set);
	result = renc_program_execute(&program, &windows, candidates);

	f->runs++;
	f->always += program.always;
	for (int i = 0; i < program.nnodes; i++)
		if ((program.node[i].flags & RENC_NODE_RESULT) && program.node[i].level != deepest)
		{
			f->cut++;
			break;
		}
	f->false_negatives += renc_mask_count(renc_mask_andnot(renc_mask_and(truth, candidates),
														   result));
	f->outside += !mask_subset(result, candidates);
	if (program.always ? !mask_equal(result, candidates) : !well_formed(&program))
		f->malformed++;
}

static void
report(const char *what, const findings *f)
{
	tap_ok(f->runs > 0 && f->false_negatives == 0 && f->outside == 0 && f->malformed == 0,
		   "%s: %ld programs, %ld cut, %ld always, %ld false negatives, "
		   "%ld outside the candidates, %ld malformed", what, f->runs, f->cut,
		   f->always, f->false_negatives, f->outside, f->malformed);
}

static void
test_random_intervals(size_t nintervals, int groups, int queries)
{
	static renc_interval intervals[MAX_INTERVALS];
	static group g;
	findings	f = {0};
	char		what[80];

	for (int i = 0; i < groups; i++)
	{
		int			shift = (int) rnd_below(3) * 20;

		make_group(&g, shift);
		for (int q = 0; q < queries; q++)
			check_set(&g, intervals, random_set(&g, shift, intervals, nintervals), &f);
		free_group(&g);
	}
	sprintf(what, "random sets of up to %d intervals", (int) nintervals);
	report(what, &f);
}

/* The ends of the domain, alone and as far as each other. */
static void
test_edges(void)
{
	static group g;
	findings	f = {0};
	uint64_t	max = ~UINT64_C(0);

	for (int i = 0; i < 200; i++)
	{
		renc_interval edge[] = {{0, 0}, {max, max}, {0, max}, {0, 1}, {max - 1, max},
		{1, max - 1}, {0, max - 1}, {1, max}, {max / 2, max / 2 + 1}};
		renc_interval both[] = {{0, 0}, {max, max}};

		make_group(&g, 0);
		for (size_t e = 0; e < sizeof(edge) / sizeof(edge[0]); e++)
			check_set(&g, &edge[e], 1, &f);
		check_set(&g, both, 2, &f);
		free_group(&g);
	}
	report("ends of the domain", &f);
}

/*
 * "always" is for more roots or boundary nodes than the budget only: an
 * interval within RENC_MAX_TREES roots has at most two boundary nodes a level.
 */
static void
test_always(void)
{
	renc_interval interval = {0, 0};
	renc_interval_set set = {&interval, 1};
	int			wrong = 0;
	int			unexpected = 0;

	for (int i = 0; i < 2000; i++)
	{
		int			root = (int) rnd_below(50);
		renc_shape	shape = make_shape(root, 2, 1, root + 14, 2, 7);
		uint64_t	roots;

		interval.lo = rnd();
		interval.hi = interval.lo + (rnd() >> rnd_below(64));
		if (interval.hi < interval.lo)
			interval.hi = ~UINT64_C(0);
		roots = root == 0 ? 1 : (interval.hi >> (64 - root)) - (interval.lo >> (64 - root)) + 1;
		renc_program_compile(&program, &shape, TEST_ROWS, &set);
		/* Each inside root has 4 nodes of the first level: they fit as well. */
		if (program.always && roots <= RENC_MAX_TREES)
			unexpected++;
		if (!program.always && roots > RENC_MAX_TREES)
			wrong++;
	}
	tap_ok(unexpected == 0, "no always within %d roots, %d wrong", RENC_MAX_TREES, unexpected);
	tap_ok(wrong == 0, "always beyond %d roots, %d wrong", RENC_MAX_TREES, wrong);
}

/* Where the second stage has too many roots, the first one is asked alone. */
static void
test_first_stage(void)
{
	renc_interval interval = {0, 0};
	renc_interval_set set = {&interval, 1};
	int			wrong = 0;

	for (int i = 0; i < 500; i++)
	{
		renc_shape	shape = {2, {{RENC_LEVEL_BIT(22) | RENC_LEVEL_BIT(24), 20, 1, 4},
		{RENC_LEVEL_BIT(45), 40, 2, 2}}};

		interval.lo = rnd();
		interval.hi = interval.lo + (UINT64_C(300) << (RENC_KEY_BITS - 40)) + (rnd() >> 28);
		if (interval.hi < interval.lo)
			continue;
		renc_program_compile(&program, &shape, TEST_ROWS, &set);
		wrong += program.always || program.nnodes == 0;
		for (int n = 0; n < program.nnodes; n++)
			wrong += program.node[n].level > 24;
	}
	tap_ok(wrong == 0, "too many roots of the second stage: %d wrong", wrong);
}

/* A set of intervals finds what its intervals find one by one. */
static void
test_set_is_union(void)
{
	static group g;
	static renc_interval intervals[MAX_INTERVALS];
	int			wrong = 0;
	int			compared = 0;

	for (int i = 0; i < 400; i++)
	{
		renc_interval_set set = {intervals, 0};
		renc_windows windows;
		renc_mask	united;
		renc_mask	parts = renc_mask_none();
		bool		cut;

		make_group(&g, 40);
		g.shape = make_shape(38, 2, 1, 50, 3, 4);
		memset(g.filter.image, 0, filter_size(&g.filter));
		filter_fill(&g.filter, &g.shape, g.ranges, RENC_GROUP_RANGES);
		for (int k = 0; k < 6; k++)
		{
			intervals[k].lo = ((uint64_t) k << 20) + rnd_below(1 << 19);
			intervals[k].hi = intervals[k].lo + (rnd() >> (46 + rnd_below(17)));
		}
		windows = filter_windows(&g.filter);
		set.n = 6;
		renc_program_compile(&program, &g.shape, TEST_ROWS, &set);
		united = renc_program_execute(&program, &windows, renc_mask_all());
		cut = program.always;
		for (int k = 0; k < 6; k++)
		{
			renc_interval_set one = {&intervals[k], 1};

			renc_program_compile(&program, &g.shape, TEST_ROWS, &one);
			parts = renc_mask_or(parts, renc_program_execute(&program, &windows, renc_mask_all()));
			cut |= program.always;
		}
		if (!cut)
		{
			compared++;
			wrong += !mask_equal(united, parts);
		}
		free_group(&g);
	}
	tap_ok(wrong == 0 && compared > 100, "a set finds what its intervals find: %d compared, %d wrong",
		   compared, wrong);
}

static const uint8_t *
no_window(void *arg, uint32_t window)
{
	(void) arg;
	(void) window;
	return NULL;
}

/* Windows that cannot be read count as all bits set. */
static void
test_unreadable(void)
{
	renc_interval interval = {1000, 1010};
	renc_interval_set set = {&interval, 1};
	renc_windows windows = {5, RENC_MATRIX_WIDTH, no_window, NULL};
	renc_mask	candidates = {{rnd(), rnd()}};
	int			wrong = 0;

	for (int i = 0; i < 200; i++)
	{
		renc_shape	shape;

		random_shape(&shape, 50, 64);
		renc_program_compile(&program, &shape, TEST_ROWS, &set);
		wrong += !mask_equal(renc_program_execute(&program, &windows, candidates), candidates);
	}
	tap_ok(wrong == 0, "unreadable windows: all candidates stay, %d wrong", wrong);
}

/* Each window of a tree is asked for at most once, and kw of them at most. */
static int	window_calls;

static const uint8_t *
counting_window(void *arg, uint32_t window)
{
	const renc_windows *w = (const renc_windows *) arg;

	window_calls++;
	return w->window(w->arg, window);
}

static void
test_window_reads(void)
{
	static group g;
	int			wrong = 0;

	for (int i = 0; i < 200; i++)
	{
		make_group(&g, 0);
		for (int q = 0; q < 20; q++)
		{
			renc_interval interval = {rnd(), 0};
			renc_interval_set set = {&interval, 1};
			renc_windows inner = filter_windows(&g.filter);
			renc_windows outer = inner;
			int			bound = 0;

			interval.hi = interval.lo + rnd_below(1000);
			if (interval.hi < interval.lo)
				continue;
			renc_program_compile(&program, &g.shape, TEST_ROWS, &set);
			outer.window = counting_window;
			outer.arg = &inner;
			window_calls = 0;
			(void) renc_program_execute(&program, &outer, renc_mask_all());
			for (int t = 0; t < program.ntrees; t++)
				bound += g.shape.stage[program.tree[t].stage].kw;
			if (!program.always && window_calls > bound)
				wrong++;
			window_calls = 0;
			(void) renc_program_execute(&program, &outer, renc_mask_none());
			if (window_calls != 0)
				wrong++;
		}
		free_group(&g);
	}
	tap_ok(wrong == 0, "at most kw windows a tree, none without candidates, %d wrong", wrong);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_budget");
	test_random_intervals(1, 200, 50);
	test_random_intervals(5, 200, 25);
	test_random_intervals(60, 100, 20);
	test_random_intervals(MAX_INTERVALS, 60, 20);
	test_edges();
	test_always();
	test_first_stage();
	test_set_is_union();
	test_unreadable();
	test_window_reads();
	return tap_finish();
}
