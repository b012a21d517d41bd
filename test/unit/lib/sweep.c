/*
 * sweep.c
 *		All intervals of a small key domain, asked of a group of filters.
 */
#include "sweep.h"

#include <stdlib.h>

#include "renc_flat.h"
#include "shape_text.h"

/* The filters of a group in all forms, and their keys. */
typedef struct group
{
	renc_keys	ranges[RENC_GROUP_RANGES];
	renc_mask	holders[1024];	/* ranges that hold each small key */
	renc_shape	shape;
	test_filter matrix;
	test_filter slice[RENC_GROUP_SLICES];
	uint8_t    *flat[RENC_GROUP_RANGES];
} group;

/* What a sweep has found; the tests are on the counters being zero. */
typedef struct findings
{
	long		intervals;
	long		cut;			/* where the node budget was exceeded */
	long		false_negatives;
	long		sampled;		/* intervals whose false positives were counted */
	long		false_positives;
	long		oracle_differs;
	long		slices_differ;
} findings;

static renc_program program;

static uint64_t
small_key(const placement *at, int bits, uint64_t v)
{
	int			shift = RENC_KEY_BITS - at->above - bits;

	/* Any value below the small key: keys need not be multiples. */
	return at->base | v << shift | (shift > 0 ? rnd() >> (RENC_KEY_BITS - shift) : 0);
}

static void
make_keys(group *g, const placement *at, int bits)
{
	memset(g->holders, 0, sizeof(g->holders));
	for (int i = 0; i < RENC_GROUP_RANGES; i++)
	{
		/* Also empty ranges, and one that is nearly full. */
		size_t		n = i == 7 ? (size_t) 1 << bits : rnd_below(10 + i % 40);
		uint64_t   *keys = (uint64_t *) test_alloc(n * sizeof(uint64_t));

		for (size_t k = 0; k < n; k++)
		{
			uint64_t	v = rnd_below(UINT64_C(1) << bits);

			keys[k] = small_key(at, bits, v);
			renc_mask_set(&g->holders[v], i);
		}
		g->ranges[i].n = sort_keys(keys, n);
		g->ranges[i].key = keys;
	}
}

static void
make_filters(group *g, uint32_t nwindows, uint32_t rows)
{
	g->matrix = filter_new(nwindows, rows, RENC_MATRIX_WIDTH);
	filter_fill(&g->matrix, &g->shape, g->ranges, RENC_GROUP_RANGES);
	for (int s = 0; s < RENC_GROUP_SLICES; s++)
	{
		g->slice[s] = filter_new(nwindows, rows, RENC_SLICE_WIDTH);
		filter_fill(&g->slice[s], &g->shape, &g->ranges[s * RENC_SLICE_RANGES],
					RENC_SLICE_RANGES);
	}
	for (int i = 0; i < RENC_GROUP_RANGES; i++)
	{
		g->flat[i] = (uint8_t *) test_alloc(renc_flat_size(nwindows, rows));
		renc_flat_fill(g->flat[i], &g->shape, nwindows, rows,
					   g->ranges[i].key, g->ranges[i].n);
	}
}

static void
free_filters(group *g)
{
	filter_free(&g->matrix);
	for (int s = 0; s < RENC_GROUP_SLICES; s++)
		filter_free(&g->slice[s]);
	for (int i = 0; i < RENC_GROUP_RANGES; i++)
		free(g->flat[i]);
}

static void
free_keys(group *g)
{
	for (int i = 0; i < RENC_GROUP_RANGES; i++)
		free((void *) g->ranges[i].key);
}

/* Interleaving the slices gives the bytes of the matrix built at once. */
static bool
interleaves(const group *g)
{
	test_filter m = filter_new(g->matrix.nwindows, g->matrix.rows, RENC_MATRIX_WIDTH);
	bool		same;

	for (int s = 0; s < RENC_GROUP_SLICES; s++)
		for (uint32_t w = 0; w < m.nwindows; w++)
			memcpy(m.image + ((size_t) w * RENC_MATRIX_WIDTH + s) * m.rows,
				   g->slice[s].image + (size_t) w * m.rows, m.rows);
	same = memcmp(m.image, g->matrix.image, filter_size(&m)) == 0;
	filter_free(&m);
	return same;
}

/* Did the node budget stop the descent anywhere? */
static bool
was_cut(const renc_program *p)
{
	int			deepest = renc_stage_deepest(&p->shape.stage[p->shape.nstages - 1]);

	for (int i = 0; i < p->nnodes; i++)
		if ((p->node[i].flags & RENC_NODE_RESULT) && p->node[i].level != deepest)
			return true;
	return p->always;
}

/* Runs the program over the 16 slices, and compares. */
static void
check_slices(const group *g, renc_mask result, findings *f)
{
	renc_mask	sliced = renc_mask_none();

	for (int s = 0; s < RENC_GROUP_SLICES; s++)
	{
		renc_mask	all = {{0xff, 0}};
		renc_windows windows = filter_windows(&g->slice[s]);
		renc_mask	m = renc_program_execute(&program, &windows, all);

		sliced.w[s / 8] |= m.w[0] << (s % 8 * 8);
		if (m.w[0] > 0xff || m.w[1] != 0)
			f->slices_differ++;
	}
	if (!mask_equal(sliced, result))
		f->slices_differ++;
}

/* Asks the oracle for some of the ranges, from a random one on. */
static void
check_oracle(const group *g, uint64_t lo, uint64_t hi, int nranges,
			 renc_mask result, findings *f)
{
	int			first = (int) rnd_below(RENC_GROUP_RANGES);

	for (int i = first; i < first + nranges; i++)
	{
		int			r = i % RENC_GROUP_RANGES;

		if (renc_flat_may_contain(g->flat[r], &g->shape, g->matrix.nwindows,
								  g->matrix.rows, lo, hi) != renc_mask_test(result, r))
			f->oracle_differs++;
	}
}

/* One interval; "truth" are the ranges that hold a key of it. */
static void
check_interval(const group *g, const sweep_plan *plan, const renc_interval *interval,
			   renc_mask truth, findings *f)
{
	renc_interval_set set = {interval, 1};
	renc_windows windows = filter_windows(&g->matrix);
	renc_mask	result;

	renc_program_compile(&program, &g->shape, g->matrix.rows, &set);
	result = renc_program_execute(&program, &windows, renc_mask_all());

	f->false_negatives += !mask_subset(truth, result);
	if (f->intervals++ % plan->step == 0)
	{
		check_slices(g, result, f);
		f->sampled++;
		f->false_positives += renc_mask_count(renc_mask_andnot(result, truth));
	}
	if (was_cut(&program))
		f->cut++;
	else if (f->intervals % plan->step == 0)
		check_oracle(g, interval->lo, interval->hi, plan->oracle, result, f);
}

/* All intervals [lo, hi] of small keys. */
static void
sweep(const group *g, const placement *at, const sweep_plan *plan, findings *f)
{
	int			shift = RENC_KEY_BITS - at->above - plan->bits;

	for (uint64_t lo = 0; lo >> plan->bits == 0; lo++)
	{
		renc_mask	truth = renc_mask_none();

		for (uint64_t hi = lo; hi >> plan->bits == 0; hi++)
		{
			renc_interval interval;

			interval.lo = at->base | lo << shift;
			interval.hi = at->base | hi << shift | ((UINT64_C(1) << shift) - 1);
			truth = renc_mask_or(truth, g->holders[hi]);
			check_interval(g, plan, &interval, truth, f);
		}
	}
}

static bool
report(const group *g, const placement *at, const sweep_plan *plan, const findings *f, bool bytes)
{
	char		shape[400];

	renc_shape_describe(&g->shape, shape, sizeof(shape));
	return tap_ok(f->false_negatives == 0 && f->oracle_differs == 0 &&
				  f->slices_differ == 0 && bytes &&
				  (plan->may_cut ? f->cut < f->intervals : f->cut == 0),
				  "%d-bit keys at the %s, %s: %ld intervals, %ld cut, "
				  "%ld with false negatives, %ld other than the oracle, "
				  "%ld slices differ, fpr %.3f%s",
				  plan->bits, at->name, shape, f->intervals, f->cut,
				  f->false_negatives, f->oracle_differs, f->slices_differ,
				  (double) f->false_positives / f->sampled / RENC_GROUP_RANGES,
				  bytes ? "" : ", interleaved bytes differ");
}

bool
test_sweep(const renc_shape *shape, const placement *at, const sweep_plan *plan)
{
	static group g;
	findings	f = {0};
	bool		bytes;
	bool		good;

	g.shape = *shape;
	make_keys(&g, at, plan->bits);
	make_filters(&g, 1 + (uint32_t) rnd_below(4), 40 + (uint32_t) rnd_below(60));
	bytes = interleaves(&g);
	sweep(&g, at, plan, &f);
	good = report(&g, at, plan, &f, bytes);
	free_filters(&g);
	free_keys(&g);
	return good;
}
