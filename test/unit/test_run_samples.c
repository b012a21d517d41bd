/*
 * test_run_samples.c
 *		Runs whose cells known queries weigh: nothing is missed, what is predicted for the
 *		queries is what they meet, and long ones get wider cells, near misses narrower ones;
 *		also where pages have parts, which are then what is counted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runlib.h"

#define ROWS		60000
#define PER_PAGE	4
#define SAMPLES		500
#define LONG		500			/* rows */

static test_run t;
static test_pair * pair;
static size_t npairs;
static uint32_t parts;
static uint32_t *found;			/* the number of the query that found the
								 * place last */
static uint32_t *matched;
static uint32_t query;
static renc_interval sample[SAMPLES];

static void
make_pairs(bool crowded)
{
	for (size_t i = 0; i < ROWS; i++)
	{
		/* Crowds of 300 keys in 2^24 values. */
		pair[i].key = crowded ? (rnd_below(200) << 40) + (rnd() >> 40) : rnd();
		pair[i].page = (uint32_t) (i / PER_PAGE * parts + i % PER_PAGE * parts / PER_PAGE);
		pair[i].rows = 1;
	}
	npairs = sort_pairs(pair, ROWS);
}

/* Queries anywhere, of one value. */
static renc_interval
point(void)
{
	renc_interval q;

	q.lo = q.hi = rnd();
	return q;
}

/* Of some rows. */
static renc_interval
long_one(void)
{
	size_t		i = rnd_below(npairs - LONG);
	renc_interval q = {pair[i].key, pair[i + LONG].key};

	return q;
}

/* Of the value above a key. */
static renc_interval
near_miss(void)
{
	renc_interval q;

	do
		q.lo = q.hi = pair[rnd_below(npairs)].key + 1;
	while (q.lo == 0 || pair[find_pair(pair, npairs, q.lo) % npairs].key == q.lo);
	return q;
}

static void
draw(renc_interval (*make) (void))
{
	for (int i = 0; i < SAMPLES; i++)
		sample[i] = make();
}

/* False pages of a query, or -1: one is missing. */
static long
false_pages(const renc_interval *interval)
{
	static renc_run_search s;
	renc_interval_set set = {interval, 1};
	long		pages = 0;

	query++;
	renc_run_search_begin(&s, &t.run, test_run_read, &t, &set);
	while (renc_run_search_next(&s))
		for (uint32_t i = 0; i < s.n; i++)
		{
			uint32_t	place = s.page[i] * parts + (s.part[i] == RENC_WHOLE_PAGE ? 0 : s.part[i]);

			if ((s.part[i] == RENC_WHOLE_PAGE) != (parts == 1))
				return -1;
			pages += found[place] != query;
			found[place] = query;
		}
	for (size_t i = find_pair(pair, npairs, interval->lo); i < npairs && pair[i].key <= interval->hi; i++)
	{
		if (found[pair[i].page] != query)
			return -1;
		pages -= matched[pair[i].page] != query;
		matched[pair[i].page] = query;
	}
	return s.failure == NULL ? pages : -1;
}

/* Mean false pages of such queries, others than the samples; -1: a page is missing. */
static double
observe(renc_interval (*make) (void))
{
	double		sum = 0;

	for (int i = 0; i < 4 * SAMPLES; i++)
	{
		renc_interval one = make();
		long		pages = false_pages(&one);

		if (pages < 0)
			return -1;
		sum += (double) pages;
	}
	return sum / (4 * SAMPLES);
}

/* Builds by the rule, with the first n samples; returns the bits of the leaves for a row. */
static double
build(uint32_t n)
{
	static renc_run_edge edge[2 * SAMPLES];
	static renc_run_asked asked[SAMPLES];
	renc_run_options options = {.payload = 8160,.npages = ROWS / PER_PAGE,.parts = parts,
	.target = RENC_RUN_FALSE_PAGES,.wanted = 1};
	renc_run_samples samples;
	double		used = 0;
	double		sum = 0;
	uint32_t	page;
	bool		complete = true;

	renc_run_samples_init(&samples, sample, n, edge, asked);
	options.samples = n > 0 ? &samples : NULL;
	if (!test_run_build(&t, &options, pair, npairs) || renc_run_check(&t.run, false, test_run_read, &t, &page) != NULL)
		tap_ok(false, "a run with samples");
	for (uint32_t i = 0; i < t.n; i++)
		used += t.page[i][0] == 0 ? t.page[i][4] + 256 * t.page[i][5] : 0;
	for (uint32_t i = 0; i < n; i++)
	{
		long		pages = false_pages(&sample[i]);

		complete &= pages >= 0;
		sum += (double) pages;
	}
	if (n > 0)
		tap_ok(complete && samples.false_pages <= 1.1 * sum + 20 && samples.false_pages >= 0.9 * sum - 20,
			   "%u samples meet %.0f false pages, %.0f said", n, sum, samples.false_pages);
	return 8 * used / ROWS;
}

/* Nothing is missing, whatever is asked. */
static bool
is_complete(void)
{
	return observe(point) >= 0 && observe(long_one) >= 0 && observe(near_miss) >= 0;
}

static void
test_samples(void)
{
	double		plain;
	double		bits;
	double		wrong;

	tap_diag("%u parts", parts);
	make_pairs(false);
	plain = build(0);
	draw(point);
	bits = build(SAMPLES);
	tap_ok(bits > plain - 0.2 && bits < plain + 0.2 && is_complete(),
		   "points anywhere are what the rule is for: %.2f bits a row, %.2f without samples", bits, plain);
	draw(long_one);
	bits = build(SAMPLES);
	wrong = observe(long_one);
	tap_ok(bits < plain - 2 && wrong >= 0 && wrong < 12 && is_complete(),
		   "long queries: %.2f bits a row, %.2f false pages", bits, wrong);
	bits = build(4);
	tap_ok(bits > plain - 0.5, "few samples say little: %.2f bits a row", bits);
	wrong = observe(near_miss);
	draw(near_miss);
	bits = build(SAMPLES);
	tap_ok(bits > plain + 1 && bits < plain + 3 && observe(near_miss) < 0.8 * wrong && is_complete(),
		   "near misses: %.2f bits a row, %.2f false pages, %.2f before", bits, observe(near_miss), wrong);
	make_pairs(true);
	plain = build(0);
	wrong = observe(near_miss);
	draw(near_miss);
	bits = build(SAMPLES);
	tap_ok(bits < plain + 3 && observe(near_miss) <= wrong && is_complete(),
		   "near misses in crowds: %.2f bits a row, %.2f without samples; %.2f false pages, %.2f before",
		   bits, plain, observe(near_miss), wrong);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_run_samples");
	pair = (test_pair *) test_alloc(ROWS * sizeof(test_pair));
	found = (uint32_t *) test_alloc(ROWS * sizeof(uint32_t));
	matched = (uint32_t *) test_alloc(ROWS * sizeof(uint32_t));
	for (parts = 1; parts <= PER_PAGE; parts *= 2)
		test_samples();
	test_run_free(&t);
	free(t.page);
	free(t.memory);
	free(pair);
	free(found);
	free(matched);
	return tap_finish();
}
