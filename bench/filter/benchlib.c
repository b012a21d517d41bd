/*
 * benchlib.c
 *		What the programs of bench/filter share.
 */
#include "benchlib.h"

#include "shape_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static renc_program program;

uint64_t
bench_below(uint64_t n)
{
	return (uint64_t) (((unsigned __int128) rnd() * n) >> 64);
}

double
bench_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec + t.tv_nsec * 1e-9;
}

uint64_t *
bench_read_column(const char *file, size_t *n)
{
	FILE	   *f = fopen(file, "r");
	size_t		room = 1 << 20;
	uint64_t   *keys = (uint64_t *) test_alloc(room * sizeof(uint64_t));
	char		line[64];

	if (f == NULL)
	{
		perror(file);
		exit(EXIT_FAILURE);
	}
	for (*n = 0; fgets(line, sizeof(line), f) != NULL; (*n)++)
	{
		if (*n == room)
		{
			room *= 2;
			keys = (uint64_t *) realloc(keys, room * sizeof(uint64_t));
			if (keys == NULL)
				exit(EXIT_FAILURE);
		}
		keys[*n] = strtoull(line, NULL, 10);
	}
	fclose(f);
	return keys;
}

void
bench_group_init(bench_group *g, uint64_t *keys, size_t n, size_t per_range,
				 double bits_per_key)
{
	uint32_t	counts[RENC_GROUP_RANGES];

	memset(g, 0, sizeof(*g));
	for (size_t first = 0; first < n && g->nranges < RENC_GROUP_RANGES; first += per_range)
	{
		renc_keys  *r = &g->ranges[g->nranges];

		r->key = keys + first;
		r->n = sort_keys(keys + first, n - first < per_range ? n - first : per_range);
		counts[g->nranges++] = (uint32_t) r->n;
		if (first == 0 || r->key[0] < g->least)
			g->least = r->key[0];
		if (r->key[r->n - 1] > g->greatest)
			g->greatest = r->key[r->n - 1];
	}
	g->bits_per_key = bits_per_key;
	g->capacity = renc_rule_capacity(counts, g->nranges);
	g->nwindows = renc_window_count_for_keys(g->capacity, bits_per_key, BENCH_ROWS);
	g->width = g->nranges <= RENC_SLICE_RANGES ? RENC_SLICE_WIDTH : RENC_MATRIX_WIDTH;
	g->image = (uint8_t *) test_alloc(renc_image_size(g->nwindows, BENCH_ROWS, g->width));
}

void
bench_group_free(bench_group *g)
{
	free(g->image);
	g->image = NULL;
}

renc_trial_input
bench_input(const bench_group *g, const renc_sample *sample, size_t nsamples)
{
	renc_trial_input in;

	memset(&in, 0, sizeof(in));
	in.ranges = g->ranges;
	in.nranges = g->nranges;
	in.group_ranges = RENC_GROUP_RANGES;
	in.nwindows = g->nwindows;
	in.rows = BENCH_ROWS;
	in.capacity = g->capacity;
	in.pages_per_range = 32;
	in.window_cost = BENCH_WINDOW_COST;
	in.sample = sample;
	in.nsamples = nsamples;
	in.asked_share = 1;
	in.max_kw = RENC_SEARCH_ASKED_KW;
	return in;
}

renc_trial *
bench_room(void)
{
	static renc_trial *room;

	free(room);
	room = (renc_trial *) test_alloc(renc_trial_size());
	return room;
}

renc_trial *
bench_search(const renc_trial_input *in, double bits_per_key, const renc_shape *from,
			 renc_choice *choice)
{
	renc_trial *room = bench_room();
	renc_shape	rule;

	renc_rule_shape(in->ranges, in->nranges, bits_per_key, false, &rule);
	renc_shape_search(room, in, &rule, from, true, choice);

	return room;
}

bench_queries
bench_queries_make(const bench_group *g, renc_interval *interval, size_t n)
{
	bench_queries q;

	q.n = n;
	q.interval = interval;
	q.truth = (renc_mask *) test_alloc(n * sizeof(renc_mask));
	for (size_t i = 0; i < n; i++)
		for (int r = 0; r < g->nranges; r++)
			if (keys_meet(g->ranges[r].key, g->ranges[r].n, interval[i].lo, interval[i].hi))
				renc_mask_set(&q.truth[i], r);
	return q;
}

void
bench_queries_free(bench_queries *q)
{
	free(q->interval);
	free(q->truth);
}

static const uint8_t *
bench_window(void *arg, uint32_t window)
{
	const bench_group *g = (const bench_group *) arg;

	return g->image + (size_t) window * BENCH_ROWS * g->width;
}

renc_windows
bench_windows(const bench_group *g)
{
	renc_windows windows = {g->nwindows, g->width, bench_window, (void *) g};

	return windows;
}

void
bench_fill(bench_group *g, int nranges, const renc_shape *shape)
{
	memset(g->image, 0, renc_image_size(g->nwindows, BENCH_ROWS, g->width));
	for (int r = 0; r < nranges; r++)
		renc_window_fill(g->image, g->width, r, shape, g->nwindows, BENCH_ROWS,
				  g->ranges[r].key, g->ranges[r].n);
}

bench_result
bench_probe(const bench_group *g, int nranges, const renc_shape *shape,
			const bench_queries *q, size_t nqueries)
{
	renc_windows windows = bench_windows(g);
	renc_mask	all = renc_mask_none();
	bench_result result = {0, 0, 0, 0};

	for (int r = 0; r < nranges; r++)
		renc_mask_set(&all, r);
	for (size_t i = 0; i < nqueries && i < q->n; i++)
	{
		renc_interval_set set = {&q->interval[i], 1};
		renc_mask	truth = renc_mask_and(q->truth[i], all);
		renc_mask	mask;

		renc_program_compile(&program, shape, BENCH_ROWS, &set);
		mask = renc_program_execute(&program, &windows, all);
		result.passed += renc_mask_count(renc_mask_andnot(mask, truth));
		result.missed += renc_mask_count(renc_mask_andnot(truth, mask));
		result.empty += nranges - renc_mask_count(truth);
	}
	result.fpr = result.empty > 0 ? result.passed / result.empty : 0;
	return result;
}

bench_result
bench_measure(bench_group *g, int nranges, const renc_shape *shape,
			  const bench_queries *q, size_t nqueries)
{
	bench_fill(g, nranges, shape);
	return bench_probe(g, nranges, shape, q, nqueries);
}

const char *
bench_describe(const renc_shape *shape)
{
	static char buf[512];

	renc_shape_describe(shape, buf, sizeof(buf));
	return buf;
}
