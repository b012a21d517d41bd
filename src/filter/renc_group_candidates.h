/*
 * renc_group_candidates.h
 *		What of a group may hold rows of a query: block ranges, single heap pages, or rows.
 *
 * Storage that knows no more than ranges says which ranges.  Storage that knows pages
 * says, for a range, which of its pages, and maybe which rows of a page.  The answers of several
 * columns are ANDed; a range of which one column says pages and another no more is left with these
 * pages, and so it is with pages and rows.
 */
#ifndef RENC_GROUP_CANDIDATES_H
#define RENC_GROUP_CANDIDATES_H

#include "renc_mask.h"

/* Line pointers of a page that rows are told apart by. */
#define RENC_MAX_PAGE_ROWS	320
#define RENC_ROW_WORDS		(RENC_MAX_PAGE_ROWS / 64)

/* Rows of a page. */
typedef struct renc_page_rows
{
	uint32_t	page;			/* of the group */
	uint64_t	row[RENC_ROW_WORDS];	/* bit i: line pointer i + 1; all
										 * bits: the whole page */
} renc_page_rows;

/* Are all bits set? */
static inline bool
renc_page_rows_are_all(const uint64_t *row)
{
	uint64_t	all = row[0];

	for (int i = 1; i < RENC_ROW_WORDS; i++)
		all &= row[i];
	return all == UINT64_MAX;
}

typedef struct renc_candidates
{
	renc_mask	ranges;			/* that may match */
	renc_mask	refined;		/* those of them of which only some pages may */
	uint32_t	pages_per_range;

	/*
	 * Bit p: page p of the group.  Means something in refined ranges only;
	 * NULL if there is no room for pages.
	 */
	uint64_t   *page;

	/*
	 * Of some of these pages the rows that may match, in order of pages; of
	 * the others, all.  Two arrays with room for "max_rows" each.
	 */
	renc_page_rows *rows;
	renc_page_rows *spare;
	uint32_t	nrows;
	uint32_t	max_rows;
} renc_candidates;

/* Words of page[]. */
static inline size_t
renc_candidates_words(uint32_t pages_per_range)
{
	return ((size_t) RENC_GROUP_RANGES * pages_per_range + 63) / 64;
}

/* Whole ranges. */
static inline renc_candidates
renc_candidates_of_ranges(renc_mask ranges, uint32_t pages_per_range)
{
	renc_candidates c = {ranges, {{0, 0}}, pages_per_range, NULL, NULL, NULL, 0, 0};

	return c;
}

/* May page "page" of range "slot" match? */
static inline bool
renc_candidates_has(const renc_candidates *c, unsigned int slot, uint32_t page)
{
	size_t		bit = (size_t) slot * c->pages_per_range + page;

	if (!renc_mask_test(c->refined, slot))
		return renc_mask_test(c->ranges, slot);
	return (c->page[bit / 64] >> (bit % 64)) & 1;
}

/* The first page from "page" on of range "slot" that may match, or pages_per_range. */
extern uint32_t renc_candidates_next_page(const renc_candidates *c, unsigned int slot, uint32_t page);

/* Leaves these ranges only. */
static inline void
renc_candidates_keep(renc_candidates *c, renc_mask ranges)
{
	c->ranges = renc_mask_and(c->ranges, ranges);
	c->refined = renc_mask_and(c->refined, ranges);
}

/* Adds ranges as a whole. */
static inline void
renc_candidates_add(renc_candidates *c, renc_mask ranges)
{
	c->ranges = renc_mask_or(c->ranges, ranges);
	c->refined = renc_mask_andnot(c->refined, ranges);
}

/* Adds a page.  There must be room for pages. */
extern void renc_candidates_add_page(renc_candidates *c, unsigned int slot, uint32_t page);

/* Adds rows of a page that is behind all that rows were added of, or all if there is no room. */
extern void renc_candidates_add_rows(renc_candidates *c, unsigned int slot, uint32_t page,
									 const uint64_t *row);

/*
 * The rows of a page that renc_candidates_has(); NULL: all.  "next" is 0 for the first page that is
 * asked for, and changes; pages are asked for in ascending order.
 */
static inline const uint64_t *
renc_candidates_rows(const renc_candidates *c, unsigned int slot, uint32_t page, uint32_t *next)
{
	uint32_t	number = slot * c->pages_per_range + page;

	while (*next < c->nrows && c->rows[*next].page < number)
		(*next)++;
	if (*next == c->nrows || c->rows[*next].page != number || !renc_mask_test(c->refined, slot) ||
		(c->rows[*next].row[0] & c->rows[*next].row[1]) == UINT64_MAX)
		return NULL;
	return c->rows[*next].row;
}

/*
 * Leaves what both say.  A page without a row left and a range without a page left are no
 * candidates any more.  Both are of groups with as many pages a range; if "other" has refined
 * ranges, c->page must have room for pages.  Where "c" has no room for rows, whole pages are left.
 */
extern void renc_candidates_and(renc_candidates *c, const renc_candidates *other);

#endif							/* RENC_GROUP_CANDIDATES_H */
