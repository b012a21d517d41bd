/*
 * test_stretches.c
 *		Lists of rows within bounds of memory, against plain bitmaps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testlib.h"

#include "renc_stretches.h"

#define MAX_PAGES	4096

/* What was added: of each page its rows. */
static uint64_t added[MAX_PAGES][RENC_ROW_WORDS];
static uint32_t npages;
static uint32_t origin;			/* the first page is this one of the table */

static void
set_added(uint32_t page, uint32_t first, uint32_t last)
{
	for (uint32_t i = first - 1; i < last; i++)
		added[page][i / 64] |= UINT64_C(1) << i % 64;
}

static void
add_something(renc_stretches *list, uint32_t page)
{
	if (rnd_below(4) > 0)
	{
		uint32_t	first = 1 + (uint32_t) rnd_below(RENC_MAX_PAGE_ROWS);
		uint32_t	last = first + (uint32_t) rnd_below(8);

		if (last > RENC_MAX_PAGE_ROWS)
			last = RENC_MAX_PAGE_ROWS;
		renc_stretches_add_rows(list, origin + page, first, last);
		set_added(page, first, last);
	}
	else
	{
		uint32_t	n = 1 + (uint32_t) rnd_below(rnd_below(3) ? 3 : 40);

		if (n > npages - page)
			n = npages - page;
		renc_stretches_add_pages(list, origin + page, n);
		for (uint32_t i = 0; i < n; i++)
			memset(added[page + i], 0xFF, sizeof(added[0]));
	}
}

/* Each page comes once, in order, with the rows that were added, or if "more", more. */
static bool
is_right(const renc_stretches *list, bool more)
{
	renc_stretches_cursor cursor = {0, 0};
	renc_stretches_cursor asked = {0, 0};
	uint64_t	row[RENC_ROW_WORDS];
	uint32_t	page;
	uint32_t	next = 0;

	while (renc_stretches_next(list, &cursor, &page, row))
	{
		page -= origin;
		if (page < next || page >= npages)
			return false;
		for (; next <= page; next++)
		{
			uint64_t	again[RENC_ROW_WORDS];

			renc_stretches_rows(list, &asked, origin + next, again);
			for (int i = 0; i < RENC_ROW_WORDS; i++)
			{
				uint64_t	found = next < page ? 0 : row[i];

				if (again[i] != found || (added[next][i] & ~found) != 0 ||
					(!more && found != added[next][i]))
					return false;
			}
		}
	}
	for (; next < npages; next++)
	{
		renc_stretches_rows(list, &asked, origin + next, row);
		for (int i = 0; i < RENC_ROW_WORDS; i++)
		{
			if (added[next][i] != 0 || row[i] != 0)
				return false;
		}
	}
	return true;
}

/* The first page from one on is that which comes next, with its rows, as often as it is sought. */
static bool
is_found(const renc_stretches *list)
{
	renc_stretches_cursor sought = {0, 0};
	renc_stretches_cursor walked = {0, 0};
	uint32_t	page = 0;

	for (uint32_t from = 0; from <= npages; from += (uint32_t) rnd_below(1 + npages / 8))
	{
		uint64_t	row[RENC_ROW_WORDS];
		uint64_t	same[RENC_ROW_WORDS];
		uint32_t	found = renc_stretches_seek(list, &sought, origin + from);
		uint32_t	again = renc_stretches_seek(list, &sought, origin + from);
		bool		any = true;

		while (any && (walked.at + walked.pages == 0 || page < origin + from))
			any = renc_stretches_next(list, &walked, &page, row);
		if (found != again || found != (any ? page : RENC_NO_PAGE))
			return false;
		if (!any)
			return !renc_stretches_next(list, &sought, &page, row);
		if (rnd_below(2) == 0)
			continue;
		if (!renc_stretches_next(list, &sought, &again, same) || again != page ||
			memcmp(row, same, sizeof(row)) != 0)
			return false;
		from = page - origin + 1;
	}
	return true;
}

/* Adds in the order of pages, or in any; sometimes the list is finished in between. */
static bool
try_list(size_t limit, bool in_order, bool *coarse)
{
	renc_stretches list;
	renc_stretches other;
	uint32_t	n = (uint32_t) rnd_below(600);
	bool		right;

	npages = 1 + (uint32_t) rnd_below(UINT64_C(1) << rnd_below(13));
	origin = rnd_below(2) ? 0 : UINT32_MAX - MAX_PAGES;
	memset(added, 0, sizeof(added));
	counted = most_counted = 0;
	renc_stretches_begin(&list, limit, count_alloc, count_release);
	for (uint32_t i = 0; i < n; i++)
	{
		add_something(&list, in_order ? (uint32_t) ((uint64_t) i * npages / n) :
					  (uint32_t) rnd_below(npages));
		if (rnd_below(100) == 0)
			renc_stretches_finish(&list);
	}

	/* Half of them by way of another list. */
	renc_stretches_begin(&other, SIZE_MAX, count_alloc, count_release);
	for (uint32_t i = 0; i < n && rnd_below(2); i++)
		add_something(&other, (uint32_t) rnd_below(npages));
	renc_stretches_add_all(&list, &other);
	renc_stretches_end(&other);
	renc_stretches_finish(&list);
	*coarse = limit < 600 * 2 * sizeof(uint64_t);
	right = is_right(&list, *coarse) && is_found(&list);
	renc_stretches_end(&list);
	return right && counted == 0;
}

static void
test_random(void)
{
	bool		right = true;
	int			ncoarse = 0;

	for (int i = 0; i < 4000 && right; i++)
	{
		bool		coarse;

		right = try_list(rnd_below(2) ? SIZE_MAX : (size_t) rnd_below(8192), rnd_below(2), &coarse);
		ncoarse += coarse;
	}
	tap_ok(right, "each row that was added comes once, in order; of %d lists maybe more", ncoarse);
}

/* What two lists have in common. */
static void
test_keep(void)
{
	static uint64_t first[MAX_PAGES][RENC_ROW_WORDS];
	bool		right = true;

	for (int i = 0; i < 1000 && right; i++)
	{
		renc_stretches list[2];

		npages = 1 + (uint32_t) rnd_below(UINT64_C(1) << rnd_below(10));
		origin = rnd_below(2) ? 0 : UINT32_MAX - MAX_PAGES;
		counted = most_counted = 0;
		for (int l = 0; l < 2; l++)
		{
			memcpy(first, added, sizeof(added));
			memset(added, 0, sizeof(added));
			renc_stretches_begin(&list[l], SIZE_MAX, count_alloc, count_release);
			for (uint32_t n = (uint32_t) rnd_below(400); n > 0; n--)
				add_something(&list[l], (uint32_t) rnd_below(npages));
			renc_stretches_finish(&list[l]);
		}
		for (uint32_t page = 0; page < npages; page++)
			for (int w = 0; w < RENC_ROW_WORDS; w++)
				added[page][w] &= first[page][w];
		renc_stretches_keep(&list[0], &list[1]);
		right = is_right(&list[0], false) && is_found(&list[0]);
		for (int l = 0; l < 2; l++)
			renc_stretches_end(&list[l]);
		right &= counted == 0;
	}
	tap_ok(right, "what two lists have in common is left of one");
}

/* What is left of a list at its bound is coarse, and still in order. */
static void
test_keep_at_bound(void)
{
	renc_stretches list;
	renc_stretches other;
	bool		right = true;

	npages = 1000;
	origin = 0;
	memset(added, 0, sizeof(added));
	counted = most_counted = 0;
	renc_stretches_begin(&list, 256, count_alloc, count_release);
	renc_stretches_begin(&other, SIZE_MAX, count_alloc, count_release);
	renc_stretches_add_pages(&list, 0, npages);
	for (uint32_t page = 0; page < npages; page++)
	{
		for (uint32_t i = 1; i < 100; i += 3)
		{
			renc_stretches_add_rows(&other, page, i, i);
			set_added(page, i, i);
		}
	}
	for (int i = 0; i < 2; i++)
	{
		renc_stretches_keep(&list, &other);
		right &= is_right(&list, true) && is_found(&list);
	}
	renc_stretches_end(&list);
	renc_stretches_end(&other);
	tap_ok(right && counted == 0, "of a list at its bound maybe more is left, in order");
}

/* A list that is at its bound takes no more memory, but for the moment it is copied or sorted in. */
static void
test_bound(void)
{
	renc_stretches list;
	uint32_t	page;
	uint64_t	row[RENC_ROW_WORDS];
	renc_stretches_cursor cursor = {0, 0};
	uint32_t	n = 0;

	counted = most_counted = 0;
	renc_stretches_begin(&list, 8192, count_alloc, count_release);
	for (uint32_t i = 0; i < 1000000; i++)
		renc_stretches_add_rows(&list, i * 7, 1 + i % 200, 1 + i % 200);
	renc_stretches_finish(&list);
	while (renc_stretches_next(&list, &cursor, &page, row))
		n++;
	tap_ok(most_counted <= 8192 * 2, "a million rows within a bound: %zu bytes", most_counted);
	tap_ok(n >= 1000000 && n <= 7000000, "they stand on %u pages", n);
	renc_stretches_end(&list);
}

/*
 * A list that is full of the same stretches again and again gets room by that alone: the rows of a
 * page stay apart, and the page comes once.
 */
static void
test_again(void)
{
	renc_stretches list;
	bool		right;

	npages = 2;
	origin = 0;
	memset(added, 0, sizeof(added));
	counted = most_counted = 0;
	renc_stretches_begin(&list, 0, count_alloc, count_release);
	for (uint32_t i = 0; i < 1000; i++)
	{
		uint32_t	row = 1 + i % 3 * 10;

		renc_stretches_add_rows(&list, i % 2, row, row);
		set_added(i % 2, row, row);
	}
	renc_stretches_finish(&list);
	right = is_right(&list, false);
	tap_ok(right, "stretches that come again leave room");
	renc_stretches_end(&list);
}

static int	nallocs;

static void *
alloc_and_note(size_t size)
{
	nallocs++;
	return count_alloc(size);
}

/* Adds a row of each of "n" pages, which are too far apart for one stretch, again and again. */
static bool
try_far(uint32_t n, uint32_t rounds)
{
	const uint32_t distance = 40000;
	renc_stretches list;
	renc_stretches_cursor cursor = {0, 0};
	uint64_t	row[RENC_ROW_WORDS];
	uint32_t	page;
	uint32_t	found = 0;

	counted = most_counted = 0;
	nallocs = 0;
	renc_stretches_begin(&list, 256 * sizeof(uint64_t), alloc_and_note, count_release);
	for (uint32_t i = 0; i < n * rounds; i++)
		renc_stretches_add_rows(&list, (uint32_t) ((uint64_t) i * 7919 % n) * distance, 2, 3);
	renc_stretches_finish(&list);
	while (renc_stretches_next(&list, &cursor, &page, row) && page == found * distance && (row[0] & 6) == 6)
		found++;
	renc_stretches_end(&list);
	return found == n && counted == 0 && most_counted <= 8 * (n > 256 ? n : 256) * sizeof(uint64_t);
}

/*
 * Stretches that cannot be made fewer take more memory than the bound; and before they fill it, too,
 * or the list would be sorted for each few that come.
 */
static void
test_far(void)
{
	bool		right = true;

	for (uint32_t n = 100; n <= 1000 && right; n += 25)
		right = try_far(n, 3);
	tap_ok(right, "rows too far apart for the bound are all there");
	right = try_far(255, 400);
	tap_ok(right && nallocs < 1000, "102,000 rows on as many pages as the bound has room for: sorted %d times",
		   nallocs);
}

/* More pages than a stretch has room for, up to the last. */
static void
test_long(void)
{
	renc_stretches list;
	renc_stretches_cursor cursor = {0, 0};
	uint64_t	row[RENC_ROW_WORDS];
	uint32_t	page;
	uint32_t	n = 0;

	renc_stretches_begin(&list, SIZE_MAX, count_alloc, count_release);
	renc_stretches_add_pages(&list, UINT32_MAX - 200000, 200000);
	renc_stretches_add_pages(&list, UINT32_MAX - 150000, 100000);
	renc_stretches_add_rows(&list, UINT32_MAX - 3, 1, 2);
	renc_stretches_finish(&list);
	while (renc_stretches_next(&list, &cursor, &page, row) && page == UINT32_MAX - 200000 + n &&
		   row[0] == UINT64_MAX)
		n++;
	tap_ok(n == 200000, "long stretches of pages: %u", n);
	renc_stretches_end(&list);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_stretches");
	test_random();
	test_keep();
	test_keep_at_bound();
	test_bound();
	test_again();
	test_far();
	test_long();
	return tap_finish();
}
