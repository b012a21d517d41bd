/*
 * test_page_set.c
 *		Sets of pages within bounds of memory, against plain bitmaps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testlib.h"

#include "renc_group_candidates.h"
#include "renc_page_set.h"

#define MAX_SETS	20
#define MAX_PAGES	(1 << 15)

/* ---- Sets, and what was added to them ---- */

static renc_page_sets sets;
static renc_page_set set[MAX_SETS];
static bool added[MAX_SETS][MAX_PAGES];
static uint32_t npages;			/* of the table */
static int	nsets;

static size_t
begin(void)
{
	/* From the least bound to one that holds all. */
	size_t		limit = RENC_PAGE_SETS_MIN + (size_t) rnd_below(UINT64_C(1) << rnd_below(19));

	renc_page_sets_begin(&sets, limit, count_alloc, count_release);
	memset(set, 0, sizeof(set));
	memset(added, 0, sizeof(added));
	npages = (uint32_t) (1 + rnd_below(UINT64_C(1) << (6 + rnd_below(10))));
	nsets = (int) (1 + rnd_below(MAX_SETS));
	most_counted = 0;
	return limit;
}

static void
add(int i, uint32_t page)
{
	renc_page_set_add(&sets, &set[i], page);
	added[i][page] = true;
}

static void
add_span(int i, uint32_t first, uint32_t n)
{
	renc_page_set_add_span(&sets, &set[i], first, n);
	memset(&added[i][first], true, n);
}

/* Adds to the sets first .. end - 1: single pages, pages again, stretches and spans. */
static void
add_some(int first, int end)
{
	for (int n = (int) rnd_below(300); n > 0; n--)
	{
		int			i = first + (int) rnd_below((uint64_t) (end - first));
		uint32_t	page = (uint32_t) rnd_below(npages);
		uint32_t	length = rnd_below(4) > 0 ? 1 : (uint32_t) rnd_below(500);
		uint32_t	step = 1 + (uint32_t) rnd_below(3);

		if (rnd_below(3) == 0)
			add_span(i, page, length < npages - page ? length : npages - page);
		for (; length > 0 && page < npages; length--, page += step)
			add(i, page);
	}
}

/* What a set must have, its units being as large as they are. */
static const bool *
expected(int i)
{
	static bool result[MAX_SETS][MAX_PAGES];
	static bool unit[MAX_PAGES];

	memset(unit, 0, sizeof(unit));
	for (uint32_t page = 0; page < npages; page++)
		unit[page >> sets.shift] |= added[i][page];
	for (uint32_t page = 0; page < npages; page++)
		result[i][page] = unit[page >> sets.shift];
	return result[i];
}

/* Pages of a set that are wrong, taken one by one or with gaps. */
static int
count_wrong(int i)
{
	uint32_t	page = rnd_below(2) ? 0 : (uint32_t) rnd_below(npages);
	uint64_t	gap = rnd_below(2) ? 1 : 1 + rnd_below(npages);
	const bool *has = expected(i);
	int			wrong = 0;

	renc_page_set_rewind(&set[i]);
	while (page < npages)
	{
		uint32_t	next = renc_page_set_seek(&sets, &set[i], page);

		for (; page < next && page < npages; page++)
			wrong += has[page];
		if (page == npages)
			break;
		wrong += page != next || !has[page];
		page += (uint32_t) (1 + rnd_below(gap));
	}
	return wrong;
}

/* ---- Tests ---- */

static void
test_add_and_take(void)
{
	int			wrong = 0;
	int			over = 0;
	int			coarse = 0;
	int			all = 0;

	for (int round = 0; round < 500; round++)
	{
		size_t		limit = begin();

		for (int times = 1 + (int) rnd_below(3); times > 0; times--)
		{
			for (int i = 0; i < nsets; i++)
				renc_page_set_rewind(&set[i]);
			add_some(0, nsets);
			for (int i = 0; i < nsets; i++)
			{
				wrong += count_wrong(i);
				all += set[i].all;
			}
		}
		coarse += sets.shift > 0;
		over += most_counted > limit;
		renc_page_sets_end(&sets);
	}
	tap_ok(wrong == 0, "500 times pages added and taken, %d wrong", wrong);
	tap_ok(coarse > 100 && coarse < 400, "units of several pages %d times", coarse);
	tap_ok(all == 0, "%d sets are \"all\"", all);
	tap_ok(over == 0 && counted == 0, "more memory than the bound %d times, %zu bytes left", over,
		   counted);
}

/* What order pages come in, and how often, decides nothing. */
static void
test_order(void)
{
	int			differ = 0;

	for (int round = 0; round < 200; round++)
	{
		size_t		limit = begin();
		int			shift;

		add_some(0, nsets);
		shift = sets.shift;
		renc_page_sets_end(&sets);
		renc_page_sets_begin(&sets, limit, count_alloc, count_release);
		memset(set, 0, sizeof(set));
		for (int times = 0; times < 2; times++)
		{
			for (uint32_t page = npages; page > 0; page--)
			{
				for (int i = 0; i < nsets; i++)
				{
					if (added[i][page - 1])
						add(i, page - 1);
				}
			}
		}
		differ += shift != sets.shift;
		for (int i = 0; i < nsets; i++)
			differ += count_wrong(i) > 0;
		renc_page_sets_end(&sets);
	}
	tap_ok(differ == 0, "200 times added in descending order, twice: %d differ", differ);
}

/* Is the set what it has become with pages added one by one, units as large included? */
static bool
same_as_single(size_t limit, int i)
{
	renc_page_sets single;
	renc_page_set one;
	uint32_t	page = 0;
	bool		same;

	memset(&one, 0, sizeof(one));
	renc_page_sets_begin(&single, limit, count_alloc, count_release);
	for (uint32_t p = 0; p < npages; p++)
		if (added[i][p])
			renc_page_set_add(&single, &one, p);
	same = single.shift == sets.shift;
	renc_page_set_rewind(&set[i]);
	while (same && page < RENC_NO_PAGE)
	{
		uint32_t	next = renc_page_set_seek(&single, &one, page);

		same = renc_page_set_seek(&sets, &set[i], page) == next;
		page = next == RENC_NO_PAGE ? next : next + 1;
	}
	renc_page_sets_end(&single);
	return same;
}

/*
 * Spans of any length from anywhere on, and single pages beside them: before and behind, first or
 * last, page 0 and the page added last among them.
 */
static void
test_spans(void)
{
	int			wrong = 0;
	int			differ = 0;
	int			coarse = 0;

	for (int round = 0; round < 400; round++)
	{
		size_t		limit = begin();

		nsets = 1;
		if (rnd_below(3) == 0)
		{
			npages = MAX_PAGES;
			limit = RENC_PAGE_SETS_MIN;
			renc_page_sets_begin(&sets, limit, count_alloc, count_release);
		}
		for (uint64_t n = 1 + rnd_below(round % 2 ? 3 : 100); n > 0; n--)
		{
			uint32_t	first = rnd_below(4) ? (uint32_t) rnd_below(npages) : 0;
			uint32_t	length = (uint32_t) rnd_below(rnd_below(2) ? 4 : 300);
			uint32_t	beside[] = {0, first, first + length, first > 0 ? first - 1 : 0, set[0].last};

			length = length < npages - first ? length : npages - first;
			if (rnd_below(4))
				add_span(0, first, length);
			for (int times = (int) rnd_below(3); times > 0; times--)
			{
				uint32_t	page = beside[rnd_below(5)];

				if (page < npages)
					add(0, page);
			}
		}
		wrong += count_wrong(0) > 0;
		differ += !same_as_single(limit, 0);
		coarse += sets.shift > 0;
		renc_page_sets_end(&sets);
	}
	tap_ok(wrong == 0 && coarse > 20, "400 times spans, %d with units of several pages, %d wrong", coarse,
		   wrong);
	tap_ok(differ == 0, "single pages come to the same, %d differ", differ);
}

/* The pages next to what was added. */
static void
test_span_first(void)
{
	static const uint32_t first[] = {0, 1, 5, 63, 64, 100};
	static const uint32_t length[] = {0, 1, 2, 63, 64, 65, 128, 200};
	int			wrong = 0;

	npages = MAX_PAGES;
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 8; j++)
			for (uint32_t page = 0; page < 320; page++)
			{
				renc_page_sets_begin(&sets, 1 << 16, count_alloc, count_release);
				memset(set, 0, sizeof(set));
				memset(added[0], 0, 400);
				add_span(0, first[i], length[j]);
				add(0, page);
				for (uint32_t p = 0, next; p < 400; p++)
				{
					next = renc_page_set_seek(&sets, &set[0], p);
					wrong += (next == p) != added[0][p];
				}
				renc_page_sets_end(&sets);
			}
	tap_ok(wrong == 0, "a page after the first span, %d wrong", wrong);
}

/* Pages that are added to other sets while one is taken, which may make units larger. */
static void
test_add_meanwhile(void)
{
	int			lost = 0;
	int			wrong = 0;

	for (int round = 0; round < 200; round++)
	{
		uint32_t	page = 0;
		uint32_t	next;

		begin();
		add_some(0, 1);
		for (; page < npages; page = next + 1)
		{
			next = renc_page_set_seek(&sets, &set[0], page);
			for (; page < next && page < npages; page++)
				lost += added[0][page];
			if (page == npages)
				break;
			wrong += next != page;
			if (nsets > 1 && rnd_below(20) == 0)
				add_some(1, nsets);
			for (int i = 1; i < nsets && rnd_below(20) == 0; i++)
			{
				wrong += count_wrong(i);
				renc_page_set_rewind(&set[i]);
			}
		}
		for (int i = 0; i < nsets; i++)
			wrong += count_wrong(i);
		renc_page_sets_end(&sets);
	}
	tap_ok(lost == 0 && wrong == 0, "200 times added meanwhile, %d lost, %d wrong", lost, wrong);
}

/* What two columns leave of a table, each with a base run and late pages, group by group. */
static void
test_and(void)
{
	static uint64_t room[2][RENC_GROUP_RANGES * 16 / 64];
	const bool *has[4];
	int			wrong = 0;
	int			lost = 0;

	for (int round = 0; round < 300; round++)
	{
		uint32_t	pages_per_range = 1 + (uint32_t) rnd_below(16);
		uint32_t	ngroup = RENC_GROUP_RANGES * pages_per_range;

		begin();
		add_some(0, 4);
		for (int i = 0; i < 4; i++)
			has[i] = expected(i);
		for (uint32_t first = 0; first < npages; first += ngroup)
		{
			renc_candidates c[2];

			for (int col = 0; col < 2; col++)
			{
				c[col] = renc_candidates_of_ranges(renc_mask_none(), pages_per_range);
				c[col].page = room[col];
				for (int i = 2 * col; i < 2 * col + 2; i++)
				{
					for (uint32_t page = renc_page_set_seek(&sets, &set[i], first);
						 page < first + ngroup;
						 page = renc_page_set_seek(&sets, &set[i], page + 1))
						renc_candidates_add_page(&c[col], (page - first) / pages_per_range,
												 (page - first) % pages_per_range);
				}
			}
			renc_candidates_and(&c[0], &c[1]);
			for (uint32_t page = first; page < first + ngroup && page < npages; page++)
			{
				bool		found = renc_candidates_has(&c[0], (page - first) / pages_per_range,
														(page - first) % pages_per_range);

				lost += !found && (added[0][page] || added[1][page]) &&
					(added[2][page] || added[3][page]);
				wrong += found != ((has[0][page] || has[1][page]) && (has[2][page] || has[3][page]));
			}
		}
		renc_page_sets_end(&sets);
	}
	tap_ok(lost == 0 && wrong == 0, "300 ANDs of two columns, %d pages lost, %d wrong", lost, wrong);
}

/* Pages of the largest table, far apart; and more sets than there is memory for. */
static void
test_ends(void)
{
	const uint32_t top = RENC_NO_PAGE - 1;
	static renc_page_set many[300];
	int			lost = 0;
	int			all = 0;

	memset(many, 0, sizeof(many));
	renc_page_sets_begin(&sets, RENC_PAGE_SETS_MIN, count_alloc, count_release);
	most_counted = 0;
	tap_ok(renc_page_set_seek(&sets, &many[0], 0) == RENC_NO_PAGE, "an empty set has no page");
	renc_page_set_add(&sets, &many[0], top);
	renc_page_set_add(&sets, &many[0], 0);
	tap_ok(renc_page_set_seek(&sets, &many[0], 0) == 0 &&
		   renc_page_set_seek(&sets, &many[0], 1) == top &&
		   renc_page_set_seek(&sets, &many[0], top) == top &&
		   renc_page_set_seek(&sets, &many[0], RENC_NO_PAGE) == RENC_NO_PAGE,
		   "the first page and the last that a table can have");
	renc_page_sets_end(&sets);
	renc_page_sets_begin(&sets, RENC_PAGE_SETS_MIN, count_alloc, count_release);
	memset(many, 0, sizeof(many));
	renc_page_set_add_span(&sets, &many[0], RENC_NO_PAGE, 0);
	tap_ok(many[0].number == 0 && renc_page_set_seek(&sets, &many[0], 0) == RENC_NO_PAGE,
		   "a span of no pages");
	renc_page_set_add_span(&sets, &many[0], top - 70, 71);
	renc_page_set_add(&sets, &many[0], 0);
	tap_ok(renc_page_set_seek(&sets, &many[0], 0) == 0 &&
		   renc_page_set_seek(&sets, &many[0], 1) == top - 70 &&
		   renc_page_set_seek(&sets, &many[0], top) == top &&
		   renc_page_set_seek(&sets, &many[0], RENC_NO_PAGE) == RENC_NO_PAGE,
		   "a span up to the last page, and the first page");
	for (int i = 1; i < 300; i++)
	{
		if (i % 2)
			renc_page_set_add_span(&sets, &many[i], (uint32_t) i * 10000000 - 40, 41);
		renc_page_set_add(&sets, &many[i], (uint32_t) i * 10000000);
		renc_page_set_add(&sets, &many[i], 7);
	}
	for (int i = 1; i < 300; i++)
	{
		all += many[i].all;
		lost += !many[i].all && (renc_page_set_seek(&sets, &many[i], 7) != 7 ||
								 renc_page_set_seek(&sets, &many[i], (uint32_t) i * 10000000) !=
								 (uint32_t) i * 10000000);
	}
	tap_ok(lost == 0 && all == 300 - 48 && most_counted <= RENC_PAGE_SETS_MIN,
		   "300 sets in 2 kB: %d are \"all\", %d lost, %zu bytes", all, lost, most_counted);
	renc_page_sets_end(&sets);
	tap_ok(counted == 0, "%zu bytes left", counted);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_page_set");
	test_add_and_take();
	test_order();
	test_spans();
	test_span_first();
	test_add_meanwhile();
	test_and();
	test_ends();
	return tap_finish();
}
