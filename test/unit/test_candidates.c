/*
 * test_candidates.c
 *		Candidates of a group, ranges and pages, against a list of pages.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "renc_candidates.h"

#define MAX_PAGES_PER_RANGE	70

/* The same in a naive form: each page by itself. */
typedef struct naive
{
	bool		page[RENC_GROUP_RANGES][MAX_PAGES_PER_RANGE];
} naive;

/* Random candidates: ranges that are out, whole, of some pages or of a single one. */
static void
draw(renc_candidates *c, uint64_t *room, uint32_t pages_per_range, bool pages, naive *n)
{
	*c = renc_candidates_of_ranges(renc_mask_none(), pages_per_range);
	c->page = room;

	/* What is not of a refined range may be anything. */
	for (size_t i = 0; i < renc_candidates_words(pages_per_range); i++)
		room[i] = rnd();
	for (unsigned int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		int			kind = (int) rnd_below(pages ? 4 : 2);
		uint32_t	only = (uint32_t) rnd_below(pages_per_range);

		if (kind > 0)
			renc_mask_set(&c->ranges, slot);
		if (kind > 1)
			renc_mask_set(&c->refined, slot);
		for (uint32_t page = 0; page < pages_per_range; page++)
		{
			size_t		bit = (size_t) slot * pages_per_range + page;
			bool		has = kind == 1 || (kind == 2 && (rnd_below(2) || page == only)) ||
				(kind == 3 && page == only);

			n->page[slot][page] = has;
			if (kind < 2)
				continue;
			if (has)
				room[bit / 64] |= UINT64_C(1) << (bit % 64);
			else
				room[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
		}
	}
}

/* Pages on which the two differ, and ranges that are candidates without a page. */
static int
count_wrong(const renc_candidates *c, const naive *n)
{
	int			wrong = 0;

	for (unsigned int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		bool		any = false;

		for (uint32_t page = 0; page < c->pages_per_range; page++)
		{
			wrong += renc_candidates_has(c, slot, page) != n->page[slot][page];
			any |= n->page[slot][page];
		}
		wrong += renc_mask_test(c->ranges, slot) != any;
	}
	return wrong;
}

/* Several columns, one after the other, as a scan combines them. */
static int
and_columns(uint32_t pages_per_range, int columns, bool pages)
{
	static uint64_t room[2][RENC_GROUP_RANGES * MAX_PAGES_PER_RANGE / 64];
	static naive all;
	static naive one;
	renc_candidates c;
	renc_candidates other;
	int			wrong;

	draw(&c, room[0], pages_per_range, pages && rnd_below(2), &all);
	wrong = count_wrong(&c, &all);
	for (int i = 1; i < columns; i++)
	{
		draw(&other, room[1], pages_per_range, pages, &one);
		renc_candidates_and(&c, &other);
		for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
			for (uint32_t page = 0; page < pages_per_range; page++)
				all.page[slot][page] &= one.page[slot][page];
		wrong += count_wrong(&c, &all);
	}
	return wrong;
}

static void
test_and(void)
{
	int			wrong = 0;

	for (int i = 0; i < 500; i++)
		wrong += and_columns((uint32_t) (1 + rnd_below(MAX_PAGES_PER_RANGE)),
							 (int) (2 + rnd_below(3)), true);
	tap_ok(wrong == 0, "500 ANDs of ranges and pages, %d pages wrong", wrong);
	wrong = 0;
	for (int i = 0; i < 500; i++)
		wrong += and_columns((uint32_t) (1 + rnd_below(MAX_PAGES_PER_RANGE)), 2, false);
	tap_ok(wrong == 0, "500 ANDs of ranges only, %d pages wrong", wrong);
}

/* Ranges taken away and added: both beside pages. */
static void
test_ranges(void)
{
	static uint64_t room[RENC_GROUP_RANGES * MAX_PAGES_PER_RANGE / 64];
	static naive all;
	int			wrong = 0;

	for (int i = 0; i < 500; i++)
	{
		renc_mask	keep = {{rnd(), rnd()}};
		renc_mask	add = {{rnd() & rnd(), rnd() & rnd()}};
		renc_candidates c;

		draw(&c, room, (uint32_t) (1 + rnd_below(MAX_PAGES_PER_RANGE)), true, &all);
		renc_candidates_keep(&c, keep);
		renc_candidates_add(&c, add);
		for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
			for (uint32_t page = 0; page < c.pages_per_range; page++)
				all.page[slot][page] = (all.page[slot][page] && renc_mask_test(keep, slot)) ||
					renc_mask_test(add, slot);
		wrong += count_wrong(&c, &all);
	}
	tap_ok(wrong == 0, "500 times ranges taken away and added, %d pages wrong", wrong);
}

/* Pages added one by one, beside pages and whole ranges, and to ranges taken away. */
static void
test_add_page(void)
{
	static uint64_t room[RENC_GROUP_RANGES * MAX_PAGES_PER_RANGE / 64];
	static naive all;
	int			wrong = 0;

	for (int i = 0; i < 500; i++)
	{
		renc_mask	keep = {{rnd(), rnd()}};
		renc_candidates c;

		draw(&c, room, (uint32_t) (1 + rnd_below(MAX_PAGES_PER_RANGE)), true, &all);
		renc_candidates_keep(&c, keep);
		for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
			for (uint32_t page = 0; page < c.pages_per_range; page++)
				all.page[slot][page] &= renc_mask_test(keep, slot);
		for (uint64_t n = rnd_below(200); n > 0; n--)
		{
			unsigned int slot = (unsigned int) rnd_below(RENC_GROUP_RANGES);
			uint32_t	page = (uint32_t) rnd_below(c.pages_per_range);

			renc_candidates_add_page(&c, slot, page);
			all.page[slot][page] = true;
		}
		wrong += count_wrong(&c, &all);
	}
	tap_ok(wrong == 0, "500 times pages added, %d pages wrong", wrong);
}

/* Without room for pages, as formats that know ranges only leave it. */
static void
test_no_room(void)
{
	renc_mask	even = {{UINT64_C(0x5555555555555555), UINT64_C(0x5555555555555555)}};
	renc_candidates c = renc_candidates_of_ranges(renc_mask_all(), 32);
	renc_candidates other = renc_candidates_of_ranges(even, 32);

	renc_candidates_and(&c, &other);
	tap_ok(renc_mask_count(c.ranges) == 64 && renc_mask_empty(c.refined) &&
		   renc_candidates_has(&c, 2, 31) && !renc_candidates_has(&c, 3, 0),
		   "ranges alone need no room for pages");
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_candidates");
	test_and();
	test_ranges();
	test_add_page();
	test_no_room();
	return tap_finish();
}
