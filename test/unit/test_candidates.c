/*
 * test_candidates.c
 *		Candidates of a group, ranges, pages and rows, against a list of pages or of rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testlib.h"

#include "renc_group_candidates.h"

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
		uint32_t	next = renc_candidates_next_page(c, slot, 0);

		for (uint32_t page = 0; page < c->pages_per_range; page++)
		{
			wrong += renc_candidates_has(c, slot, page) != n->page[slot][page];
			wrong += (next == page) != n->page[slot][page];
			next = next == page ? renc_candidates_next_page(c, slot, page + 1) : next;
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

/* ---- Rows ---- */

#define MAX_GROUP_PAGES	(RENC_GROUP_RANGES * MAX_PAGES_PER_RANGE)

/* The rows of each page by itself; all bits: the whole page. */
typedef struct naive_rows
{
	uint64_t	row[MAX_GROUP_PAGES][RENC_ROW_WORDS];
} naive_rows;

/* A column's answer, or the result. */
typedef struct answer
{
	renc_candidates c;
	naive_rows	truth;
	naive_rows	most;			/* whole pages where one has any rows */
	uint32_t	cursor;			/* rows are added from this page on */
} answer;

/* As many rows as one wants, or so few that pages become whole. */
static void
begin_answer(answer *a, uint32_t pages_per_range, uint32_t max_rows)
{
	memset(a, 0, sizeof(*a));
	a->c = renc_candidates_of_ranges(renc_mask_none(), pages_per_range);
	a->c.page = (uint64_t *) test_alloc(renc_candidates_words(pages_per_range) * sizeof(uint64_t));
	for (size_t i = 0; i < renc_candidates_words(pages_per_range); i++)
		a->c.page[i] = rnd();
	a->c.max_rows = max_rows;
	if (max_rows == 0)
		return;
	a->c.rows = (renc_page_rows *) malloc(max_rows * sizeof(renc_page_rows));
	a->c.spare = (renc_page_rows *) malloc(max_rows * sizeof(renc_page_rows));
}

static void
end_answer(answer *a)
{
	free(a->c.page);
	free(a->c.rows);
	free(a->c.spare);
}

static bool
any_row(const uint64_t *row)
{
	for (int i = 0; i < RENC_ROW_WORDS; i++)
		if (row[i] != 0)
			return true;
	return false;
}

/* Few rows of a page, many, one, or none. */
static void
draw_rows(uint64_t *row)
{
	int			kind = (int) rnd_below(8);

	for (int i = 0; i < RENC_ROW_WORDS; i++)
		row[i] = kind == 0 ? rnd() : kind < 4 ? rnd() & rnd() & rnd() & rnd() & rnd() : 0;
	if (kind == 1)
		row[0] = UINT64_MAX;
	if (kind == 2)
		row[0] = row[1] = UINT64_MAX;
	if (kind >= 4 && kind < 7)
		row[rnd_below(RENC_ROW_WORDS)] |= UINT64_C(1) << rnd_below(64);
}

static void
set_range(answer *a, unsigned int slot, int byte)
{
	size_t		first = slot * a->c.pages_per_range;

	memset(a->truth.row[first], byte, a->c.pages_per_range * sizeof(a->truth.row[0]));
	memset(a->most.row[first], byte, a->c.pages_per_range * sizeof(a->most.row[0]));
}

static void
add_some_rows(answer *a)
{
	uint32_t	page = a->cursor + (uint32_t) rnd_below(rnd_below(20) ? 3 : 2 * a->c.pages_per_range);
	uint64_t	row[RENC_ROW_WORDS];

	if (page >= RENC_GROUP_RANGES * a->c.pages_per_range)
		return;
	a->cursor = page + 1;
	draw_rows(row);
	renc_candidates_add_rows(&a->c, page / a->c.pages_per_range, page % a->c.pages_per_range, row);
	for (int i = 0; i < RENC_ROW_WORDS; i++)
		a->truth.row[page][i] |= row[i];
	memset(a->most.row[page], 0xFF, sizeof(row));
}

static void
add_whole_page(answer *a)
{
	uint32_t	pages = RENC_GROUP_RANGES * a->c.pages_per_range;
	uint32_t	near = a->cursor + (uint32_t) rnd_below(5);
	uint32_t	page = (uint32_t) rnd_below(pages);

	if (rnd_below(2) && near > 2 && near - 3 < pages)
		page = near - 3;
	renc_candidates_add_page(&a->c, page / a->c.pages_per_range, page % a->c.pages_per_range);
	memset(a->truth.row[page], 0xFF, sizeof(a->truth.row[0]));
	memset(a->most.row[page], 0xFF, sizeof(a->truth.row[0]));
}

/* Rows, pages and ranges in any order, and ranges that are taken away. */
static void
fill_answer(answer *a)
{
	uint64_t	add = rnd_below(1000);
	uint64_t	keep = rnd_below(2) ? 0 : 2;

	for (uint64_t n = rnd_below(3000); n > 0; n--)
	{
		uint64_t	what = rnd_below(1000);
		renc_mask	mask = {{rnd() | rnd(), rnd() | rnd()}};

		if (what >= keep + 5)
		{
			if (what < 100 + add / 2)
				add_whole_page(a);
			else
				add_some_rows(a);
			continue;
		}
		if (what >= keep)
		{
			mask.w[0] = rnd() & rnd() & rnd() & rnd();
			mask.w[1] = rnd() & rnd() & rnd() & rnd();
			renc_candidates_add(&a->c, mask);
		}
		else
			renc_candidates_keep(&a->c, mask);
		for (unsigned int slot = 0; slot < RENC_GROUP_RANGES; slot++)
			if (renc_mask_test(mask, slot) == (what >= keep))
				set_range(a, slot, what >= keep ? 0xFF : 0);
	}
}

static void
and_answer(answer *a, const answer *other)
{
	renc_candidates_and(&a->c, &other->c);
	for (size_t page = 0; page < RENC_GROUP_RANGES * (size_t) a->c.pages_per_range; page++)
		for (int i = 0; i < RENC_ROW_WORDS; i++)
		{
			a->truth.row[page][i] &= other->truth.row[page][i];
			a->most.row[page][i] &= other->most.row[page][i];
		}
	a->cursor = MAX_GROUP_PAGES;
}

/* Pages on which the rows are wrong: some missing; too many, unless they may be; out of order. */
static int
count_wrong_rows(const answer *a, bool exact)
{
	uint32_t	pages = RENC_GROUP_RANGES * a->c.pages_per_range;
	uint32_t	next = 0;
	uint32_t	sparse = rnd_below(2) ? 1 : 1 + (uint32_t) rnd_below(20);
	int			wrong = a->c.nrows > a->c.max_rows;

	for (uint32_t i = 1; i < a->c.nrows; i++)
		wrong += a->c.rows[i].page <= a->c.rows[i - 1].page;
	for (uint32_t page = 0; page < pages; page += 1 + (uint32_t) rnd_below(sparse))
	{
		const uint64_t *truth = a->truth.row[page];
		const uint64_t *most = exact ? truth : a->most.row[page];
		unsigned int slot = page / a->c.pages_per_range;
		const uint64_t *row;
		bool		good = true;

		if (!renc_candidates_has(&a->c, slot, page % a->c.pages_per_range))
		{
			wrong += any_row(truth);
			continue;
		}
		row = renc_candidates_rows(&a->c, slot, page % a->c.pages_per_range, &next);
		for (int i = 0; i < RENC_ROW_WORDS; i++)
			good &= (truth[i] & ~(row != NULL ? row[i] : UINT64_MAX)) == 0;

		/* A page with all of the first rows may be whole. */
		if (row != NULL)
			for (int i = 0; i < RENC_ROW_WORDS; i++)
				good &= (row[i] & ~most[i]) == 0;
		else
			good &= (most[0] & most[1]) == UINT64_MAX;
		wrong += !good;
	}
	return wrong;
}

/*
 * Columns with rows, one after the other.  A page without rows may be among those of a column, but
 * is none that two columns leave: so the first is one of them.
 */
static int
and_rows(uint32_t pages_per_range, int columns, bool exact)
{
	static answer all;
	static answer one;
	uint32_t	pages = RENC_GROUP_RANGES * pages_per_range;
	int			wrong = 0;

	begin_answer(&all, pages_per_range,
				 exact ? pages : (uint32_t) rnd_below(rnd_below(2) ? 200 : pages));
	fill_answer(&all);
	if (!exact)
		wrong += count_wrong_rows(&all, false);
	for (int i = 1; i < columns; i++)
	{
		begin_answer(&one, pages_per_range, exact || rnd_below(2) ? pages : (uint32_t) rnd_below(200));
		fill_answer(&one);
		and_answer(&all, &one);
		wrong += count_wrong_rows(&all, exact);
		if (rnd_below(4) == 0)
		{
			/* As late pages are. */
			for (int n = 0; n < 20; n++)
				add_whole_page(&all);
			wrong += count_wrong_rows(&all, exact);
		}
		end_answer(&one);
	}
	end_answer(&all);
	return wrong;
}

static void
test_rows(void)
{
	int			wrong[2] = {0, 0};

	for (int i = 0; i < 400; i++)
		wrong[i % 2] += and_rows((uint32_t) (1 + rnd_below(rnd_below(2) ? MAX_PAGES_PER_RANGE : 8)),
								 (int) (2 + rnd_below(3)), i % 2);
	tap_ok(wrong[1] == 0, "200 ANDs of ranges, pages and rows, %d pages wrong", wrong[1]);
	tap_ok(wrong[0] == 0, "200 without room for all rows, %d pages wrong", wrong[0]);
}

/* Each way in which a page can have been there before its rows are added, or after. */
static void
test_rows_of_page(void)
{
	static answer a;
	uint64_t	row[RENC_ROW_WORDS] = {6, 0, 0, 0, 1};
	uint32_t	next = 0;
	const uint64_t *found;

	begin_answer(&a, 10, 5);
	renc_candidates_add_rows(&a.c, 3, 2, row);
	found = renc_candidates_rows(&a.c, 3, 2, &next);
	tap_ok(renc_candidates_has(&a.c, 3, 2) && !renc_candidates_has(&a.c, 3, 3) && found != NULL &&
		   memcmp(found, row, sizeof(row)) == 0, "rows of a page");
	renc_candidates_add_page(&a.c, 3, 2);
	next = 0;
	tap_ok(renc_candidates_rows(&a.c, 3, 2, &next) == NULL, "a page after its rows is whole");
	renc_candidates_add_page(&a.c, 3, 4);
	renc_candidates_add_rows(&a.c, 3, 4, row);
	next = 0;
	tap_ok(renc_candidates_has(&a.c, 3, 4) && renc_candidates_rows(&a.c, 3, 4, &next) == NULL,
		   "a page before its rows, too");
	for (uint32_t page = 5; page < 10; page++)
		renc_candidates_add_rows(&a.c, 3, page, row);
	next = 0;
	tap_ok(renc_candidates_rows(&a.c, 3, 5, &next) != NULL &&
		   renc_candidates_rows(&a.c, 3, 8, &next) != NULL &&
		   renc_candidates_rows(&a.c, 3, 9, &next) == NULL && renc_candidates_has(&a.c, 3, 9),
		   "a page is whole if there is no room for its rows");
	end_answer(&a);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_candidates");
	test_and();
	test_ranges();
	test_add_page();
	test_no_room();
	test_rows();
	test_rows_of_page();
	return tap_finish();
}
