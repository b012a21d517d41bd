/*
 * trial.c
 *		Ranges, queries and the truth, to measure shapes with.
 */
#include "trial.h"

#include <stdlib.h>

/* More keys in an interval than this: each range is asked for its own. */
#define FEW_KEYS	256

static renc_program program;

void
trial_make(trial *t, const trial_source *source)
{
	size_t		n = source->per_range * source->nranges;

	memset(t, 0, sizeof(*t));
	t->own_range = source->own_range;
	if (source->made == NULL)
		bench_group_init(&t->g, source->column, source->ncolumn, source->per_range,
						 source->bits_per_key);
	else
	{
		t->keys = (uint64_t *) test_alloc(n * sizeof(uint64_t));
		for (size_t i = 0; i < n; i++)
			t->keys[i] = source->made->key(i);
		bench_group_init(&t->g, t->keys, n, source->per_range, source->bits_per_key);
	}
	t->all = t->g;
}

void
trial_part(trial *t, const trial *whole, int nranges)
{
	bench_group *g = &t->g;
	int			step;

	memset(t, 0, sizeof(*t));
	t->all = whole->g;
	t->own_range = whole->own_range;
	if (nranges > whole->g.nranges)
		nranges = whole->g.nranges;
	step = whole->g.nranges / nranges;
	*g = whole->g;
	g->nranges = nranges;
	for (int i = 0; i < nranges; i++)
		g->ranges[i] = whole->g.ranges[i * step + step / 2];
	g->width = nranges <= RENC_SLICE_RANGES ? RENC_SLICE_WIDTH : RENC_MATRIX_WIDTH;
	g->image = (uint8_t *) test_alloc(renc_image_size(g->nwindows, BENCH_ROWS, g->width));
}

static void
free_queries(trial *t)
{
	free(t->interval);
	free(t->truth);
	free(t->asked);
	free(t->passed);
	t->nqueries = 0;
}

static int
compare_keys(const void *a, const void *b)
{
	const trial_key *x = (const trial_key *) a;
	const trial_key *y = (const trial_key *) b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->range - y->range;
}

static void
sort_trial(trial *t)
{
	size_t		n = 0;

	for (int r = 0; r < t->g.nranges; r++)
		n += t->g.ranges[r].n;
	t->sorted = (trial_key *) test_alloc(n * sizeof(trial_key));
	t->nsorted = 0;
	for (int r = 0; r < t->g.nranges; r++)
	{
		for (size_t i = 0; i < t->g.ranges[r].n; i++)
		{
			trial_key  *k = &t->sorted[t->nsorted++];

			k->key = t->g.ranges[r].key[i];
			k->range = r;
		}
	}
	qsort(t->sorted, n, sizeof(trial_key), compare_keys);
}

/* The ranges that have a key in an interval. */
static renc_mask
true_ranges(trial *t, const renc_interval *q)
{
	renc_mask	truth = renc_mask_none();
	size_t		first = 0;
	size_t		end;
	size_t		i;

	if (t->sorted == NULL)
		sort_trial(t);
	end = t->nsorted;
	while (first < end)
	{
		size_t		mid = first + (end - first) / 2;

		if (t->sorted[mid].key < q->lo)
			first = mid + 1;
		else
			end = mid;
	}
	for (i = first; i < t->nsorted && t->sorted[i].key <= q->hi && i < first + FEW_KEYS; i++)
		renc_mask_set(&truth, t->sorted[i].range);
	if (i == first + FEW_KEYS)
	{
		for (int r = 0; r < t->g.nranges; r++)
			if (keys_meet(t->g.ranges[r].key, t->g.ranges[r].n, q->lo, q->hi))
				renc_mask_set(&truth, r);
	}
	return truth;
}

void
trial_queries(trial *t, const trial_source *source, size_t n)
{
	free_queries(t);
	t->nqueries = n;
	t->interval = (renc_interval *) test_alloc(n * sizeof(renc_interval));
	t->truth = (renc_mask *) test_alloc(n * sizeof(renc_mask));
	t->asked = (renc_mask *) test_alloc(n * sizeof(renc_mask));
	t->passed = (uint8_t *) test_alloc(n);
	for (size_t i = 0; i < n; i++)
	{
		renc_interval *q = &t->interval[i];

		if (t->own_range)
		{
			int			r = (int) (i % t->g.nranges);
			bench_group one;

			one.nranges = 1;
			one.ranges[0] = t->g.ranges[r];
			one.least = t->g.least;
			one.greatest = t->g.greatest;
			source->kind->query(&one, source->unit, &q->lo, &q->hi);
			renc_mask_set(&t->asked[i], r);
			if (keys_meet(t->g.ranges[r].key, t->g.ranges[r].n, q->lo, q->hi))
				renc_mask_set(&t->truth[i], r);
		}
		else
		{
			source->kind->query(&t->all, source->unit, &q->lo, &q->hi);
			for (int r = 0; r < t->g.nranges; r++)
				renc_mask_set(&t->asked[i], r);
			t->truth[i] = true_ranges(t, q);
		}
	}
}

void
trial_free(trial *t)
{
	free_queries(t);
	bench_group_free(&t->g);
	free(t->sorted);
	free(t->keys);
	t->sorted = NULL;
	t->keys = NULL;
}

bench_result
trial_run(trial *t, const renc_shape *shape, size_t n, double limit)
{
	renc_windows windows = bench_windows(&t->g);
	bench_result result = {0, 0, 0, 0};

	bench_fill(&t->g, t->g.nranges, shape);
	for (size_t i = 0; i < n && i < t->nqueries; i++)
	{
		renc_interval_set set = {&t->interval[i], 1};
		renc_mask	mask;

		renc_program_compile(&program, shape, BENCH_ROWS, &set);
		mask = renc_program_execute(&program, &windows, t->asked[i]);
		t->passed[i] = (uint8_t) renc_mask_count(renc_mask_andnot(mask, t->truth[i]));
		result.passed += t->passed[i];
		result.missed += renc_mask_count(renc_mask_andnot(t->truth[i], mask));
		result.empty += renc_mask_count(renc_mask_andnot(t->asked[i], t->truth[i]));
		if (result.passed > TRIAL_SURE && result.passed > limit * result.empty)
			break;
	}
	result.fpr = result.empty > 0 ? result.passed / result.empty : 0;
	return result;
}
