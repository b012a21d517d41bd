/*
 * renc_candidates.h
 *		What of a group may hold rows of a query: block ranges, or single heap pages.
 *
 * Storage that knows no more than ranges says which ranges.  Storage that knows pages
 * says, for a range, which of its pages.  The answers of several columns are ANDed; a
 * range of which one column says pages and another no more is left with these pages.
 */
#ifndef RENC_CANDIDATES_H
#define RENC_CANDIDATES_H

#include "renc_config.h"

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
	renc_candidates c = {ranges, {{0, 0}}, pages_per_range, NULL};

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

/*
 * Leaves what both say.  A range without a page left is no candidate any more.  Both
 * are of groups with as many pages a range; if "other" has refined ranges, c->page must
 * have room for pages.
 */
extern void renc_candidates_and(renc_candidates *c, const renc_candidates *other);

#endif							/* RENC_CANDIDATES_H */
