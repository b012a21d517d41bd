/*
 * test_run_spread.c
 *		The heap pages of an interval, told from a few leaves, are about the true ones, however the
 *		keys lie in the table, and whether leaves name pages or parts of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "renc_run_spread.h"
#include "runlib.h"

#define PAGES		9000
#define PER_PAGE	30
#define ROWS		(PAGES * PER_PAGE)
#define STRETCHES	15
#define ROUNDS		20
#define WIDTH		(UINT64_C(1) << 40)

static test_run t;
static test_pair * pair;
static size_t npairs;
static uint32_t parts = 1;
static uint8_t *seen;
static renc_run_spread spread;

/* Which of so many is a number's, always the same. */
static uint64_t
draw_for(uint64_t number, uint64_t n)
{
	number = (number + 77) * UINT64_C(0x9e3779b97f4a7c15);
	number ^= number >> 29;
	return (number * UINT64_C(0xbf58476d1ce4e5b9) >> 33) % n;
}

/* stretch > 0: so many pages have one of the stretches. */
static void
make(const char *layout, uint32_t stretch)
{
	renc_run_options options = {.payload = 8160,.npages = PAGES,.parts = parts,
	.target = RENC_RUN_FALSE_PAGES,.wanted = 1};

	for (size_t i = 0; i < ROWS; i++)
	{
		uint32_t	page = (uint32_t) (i / PER_PAGE);

		pair[i].page = page * parts + (uint32_t) (i % PER_PAGE * parts / PER_PAGE);
		pair[i].rows = 1;
		if (stretch > 0)
			pair[i].key = draw_for(page / stretch, STRETCHES) * WIDTH + rnd_below(WIDTH);
		else if (layout[0] == 'd')	/* devices: 30 pages for all of the time */
			pair[i].key = (page % 30 + 1) * WIDTH + rnd_below(2 * WIDTH);
		else if (layout[0] == 'f')	/* frequent: 50 values */
			pair[i].key = rnd_below(50) * WIDTH;
		else if (layout[0] == 'o')	/* ordered */
			pair[i].key = i * WIDTH;
		else
			pair[i].key = rnd();
	}
	npairs = sort_pairs(pair, ROWS);
	tap_ok(test_run_build(&t, &options, pair, npairs), "%s is built", layout);
}

/* How many times more is one than the other?  One more page is met by a cell at an end. */
static double
times(double a, double b)
{
	return fmax(a / (b + 1), b / (a + 1));
}

/*
 * How far are pages off, of intervals of n rows, on average and at worst?  And how many times less
 * do they seem to cost at worst than they do, if each place costs as much as three pages?
 */
static double
ask(size_t n, double *worst, double *too_cheap)
{
	double		sum = 0;

	*worst = *too_cheap = 1;
	for (int round = 0; round < ROUNDS; round++)
	{
		size_t		first = rnd_below(npairs - n + 1);
		size_t		end = first + n;
		renc_interval interval = {pair[first].key, pair[end - 1].key};
		double		below,
					upto,
					pages,
					places;
		double		truth = 0;
		double		true_places = 0;

		/* All of a value are asked for. */
		while (first > 0 && pair[first - 1].key == interval.lo)
			first--;
		while (end < npairs && pair[end].key == interval.hi)
			end++;
		memset(seen, 0, PAGES);
		for (size_t i = first; i < end; i++)
			seen[pair[i].page / parts] = 1;
		for (size_t i = 0; i < PAGES; i++)
		{
			truth += seen[i];
			true_places += seen[i] && (i == 0 || !seen[i - 1]);
		}
		renc_run_rank(&t.run, test_run_read, &t, interval.lo, RENC_RUN_BELOW, &below);
		renc_run_rank(&t.run, test_run_read, &t, interval.hi, RENC_RUN_UPTO, &upto);
		renc_run_spread_look(&spread, &t.run, test_run_read, &t, interval);
		renc_run_spread_estimate(&spread, &t.run, upto - below, &pages, &places);
		sum += log(times(pages, truth));
		*worst = fmax(*worst, times(pages, truth));
		*too_cheap = fmax(*too_cheap, (truth + 3 * true_places) / (pages + 3 * places));
	}
	return exp(sum / ROUNDS);
}

static void
check(const char *layout, uint32_t stretch)
{
	static const size_t sizes[] = {30, 300, 3000, ROWS / 60, ROWS / 30, ROWS / 15, ROWS * 2 / 15,
	ROWS / 3};

	make(layout, stretch);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		double		worst;
		double		too_cheap;
		double		mean = ask(sizes[i], &worst, &too_cheap);

		tap_ok(mean < 1.6 && worst < 3 && too_cheap < 3,
			   "%s, %zu rows, %u parts: pages off %.2f times, at worst %.2f, %.2f times too cheap",
			   layout, sizes[i], parts, mean, worst, too_cheap);
	}
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_run_spread");
	pair = (test_pair *) test_alloc(ROWS * sizeof(test_pair));
	seen = (uint8_t *) test_alloc(PAGES);
	check("stretches of 1 page", 1);
	check("stretches of 6 pages", 6);
	check("stretches of 60 pages", 60);
	check("stretches of 600 pages", 600);
	check("devices", 0);
	check("ordered", 0);
	check("scattered", 0);
	parts = 5;
	check("stretches of 1 page", 1);
	check("stretches of 60 pages", 60);
	check("devices", 0);
	check("ordered", 0);
	check("scattered", 0);
	parts = 30;
	check("stretches of 6 pages", 6);
	check("scattered", 0);
	for (parts = 1; parts <= 30; parts += parts == 1 ? 4 : 25)
		check("frequent values", 0);
	test_run_free(&t);
	free(t.page);
	free(t.memory);
	free(pair);
	free(seen);
	return tap_finish();
}
