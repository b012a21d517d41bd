/*
 * test_run_rank.c
 *		How many rows have a key, or keys of an interval: what ranks say beside the truth.
 *
 *	test_run_rank [SEED]
 *
 * Values that 1 to 3,000 rows share, dense and sparse, scattered over the pages or together on
 * some, in pages or parts of them: each value and many intervals of them.  And values that few rows
 * have beside one that fills pages.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runlib.h"

#define ROWS		120000
#define PER_PAGE	60
#define PAGES		(ROWS / PER_PAGE)

/* What a false page or two may miss. */
#define FEW			3.0

/* Rows together have an entry for many, and how many each stands for is known of a leaf only. */
#define OFF_TOGETHER	PER_PAGE
#define OFF_OF_LEAF		1000

static test_run t;
static test_pair * pair;
static uint64_t *value;
static uint32_t parts = 1;

/* Rows from one value to another. */
static double
count_rows(uint64_t lo, uint64_t hi, double *met)
{
	renc_run_ranker ranker;
	renc_run_count below;
	renc_run_count upto;

	renc_run_ranker_init(&ranker, &t.run, test_run_read, &t, true);
	if (renc_run_rank(&ranker, lo, RENC_RUN_BELOW, &below) != NULL ||
		renc_run_rank(&ranker, hi, RENC_RUN_UPTO, &upto) != NULL)
		return -1;
	*met = upto.met - below.met;
	return upto.rows - below.rows;
}

static double
true_rows(size_t n, uint64_t lo, uint64_t hi)
{
	double		rows = 0;

	for (size_t i = find_pair(pair, n, lo); i < n && pair[i].key <= hi; i++)
		rows += pair[i].rows;
	return rows;
}

static bool
build(size_t n)
{
	renc_run_options options = {.payload = 8160,.npages = PAGES,.parts = parts,
		.target = RENC_RUN_FALSE_PAGES,.wanted = 1};

	return test_run_build(&t, &options, pair, n);
}

/* One in "share" rows has its value; sparse ones are anywhere. */
static void
test_shared(int share, bool sparse, bool together)
{
	int			nvalues = ROWS / share;
	double		off = 0;
	double		worst = 0;
	double		most = 0;
	int			far = 0;
	size_t		n;

	for (int i = 0; i < nvalues; i++)
		value[i] = sparse ? rnd() : (uint64_t) i;
	for (int i = 0; i < ROWS; i++)
	{
		pair[i].key = value[i % nvalues];
		pair[i].page = together ? (uint32_t) ((uint64_t) (i % nvalues * (uint64_t) share + i / nvalues) / PER_PAGE) :
			(uint32_t) rnd_below(PAGES);
		pair[i].page = pair[i].page * parts + (uint32_t) rnd_below(parts);
		pair[i].rows = 1;
	}
	n = sort_pairs(pair, ROWS);
	nvalues = (int) sort_keys(value, nvalues);
	if (!build(n))
	{
		tap_ok(false, "a run of values with %d rows is refused", share);
		return;
	}
	for (int i = 0; i < nvalues; i += 1 + nvalues / 2000)
	{
		double		met;
		double		rows = count_rows(value[i], value[i], &met);
		double		truth = true_rows(n, value[i], value[i]);

		off += fabs(rows - truth) / nvalues * (1 + nvalues / 2000);
		far += rows > 2 * truth + FEW || rows < truth / 2;
		worst = fmax(worst, fabs(rows - truth));
	}
	tap_ok((together || far * 50 <= nvalues / (1 + nvalues / 2000)) &&
		   off <= 2 + share * 0.1 + (together ? OFF_TOGETHER : 0),
		   "%d rows each, %s, %s, %u parts: a value is off by %.1f, at most by %.0f, "
		   "%d by twice and %.0f", share,
		   sparse ? "sparse" : "dense", together ? "together" : "scattered", parts, off, worst, far, FEW);
	for (int i = 0; i < 500; i++)
	{
		int			first = (int) rnd_below((uint64_t) nvalues);
		int			last = first + (int) rnd_below((uint64_t) (i % 2 ? nvalues - first : nvalues - first > 5 ? 5 : nvalues - first));
		double		met;
		double		truth = true_rows(n, value[first], value[last]);
		double		rows = count_rows(value[first], value[last], &met);

		most = fmax(most, fabs(rows - truth) - truth * 0.05);
	}
	tap_ok(most <= (together ? OFF_OF_LEAF : 100), "intervals are off by 5 %% and %.0f at most", most);
}

/* A value in all pages, 49 rows each, beside "few" others that have a row each, or some. */
static void
test_full_pages(int few, int share)
{
	size_t		n = 0;
	double		met;
	double		rows;
	double		zeros;

	for (uint32_t i = 0; i < PAGES; i++)
		for (uint32_t part = 0; part < parts; part++)
			pair[n++] = (test_pair)
		{
			0, i * parts + part, 49 / parts + (part < 49 % parts)
		};
	for (int i = 0; i < few * share; i++)
		pair[n++] = (test_pair)
	{
		1 + (uint64_t) (i / share) * 1000003,
			(uint32_t) rnd_below(PAGES * parts), 1
	};
	n = sort_pairs(pair, n);
	if (!build(n))
	{
		tap_ok(false, "a run of full pages is refused");
		return;
	}
	rows = count_rows(1, UINT64_MAX, &met);
	zeros = count_rows(0, 0, &met);
	tap_ok(fabs(rows - few * share) <= 100 && fabs(zeros - 49 * PAGES) <= 100,
		   "%.0f of %d rows beside %.0f of %d, %u parts", rows, few * share, zeros, 49 * PAGES, parts);
}

int
main(int argc, char **argv)
{
	static const int shares[] = {1, 3, 10, 30, 100, 300, 1000, 3000};

	tap_start(argc, argv, "test_run_rank");
	pair = (test_pair *) test_alloc(ROWS * sizeof(test_pair));
	value = (uint64_t *) test_alloc(ROWS * sizeof(uint64_t));
	for (int i = 0; i < 8; i++)
		for (int kind = 0; kind < 4; kind++)
			test_shared(shares[i], kind & 1, kind & 2);
	for (parts = 1; parts <= 20; parts += 19)
	{
		test_full_pages(300, 1);
		test_full_pages(30, 30);
		test_full_pages(1, 1000);
	}
	parts = 5;
	for (int i = 1; i < 8; i += 2)
		for (int kind = 0; kind < 4; kind++)
			test_shared(shares[i], kind & 1, kind & 2);
	test_run_free(&t);
	free(t.page);
	free(t.memory);
	free(pair);
	free(value);
	return tap_finish();
}
