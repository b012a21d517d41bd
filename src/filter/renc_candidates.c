/*
 * renc_candidates.c
 *		What of a group may hold rows of a query: block ranges, or single heap pages.
 */
#include "renc_candidates.h"

/* Sets or clears a page, whatever c->refined says. */
static inline void
put_page(renc_candidates *c, unsigned int slot, uint32_t page, bool value)
{
	size_t		bit = (size_t) slot * c->pages_per_range + page;
	uint64_t	mask = UINT64_C(1) << (bit % 64);

	if (value)
		c->page[bit / 64] |= mask;
	else
		c->page[bit / 64] &= ~mask;
}

void
renc_candidates_add_page(renc_candidates *c, unsigned int slot, uint32_t page)
{
	if (!renc_mask_test(c->ranges, slot))
	{
		renc_mask_set(&c->ranges, slot);
		renc_mask_set(&c->refined, slot);
		for (uint32_t i = 0; i < c->pages_per_range; i++)
			put_page(c, slot, i, false);
	}
	if (renc_mask_test(c->refined, slot))
		put_page(c, slot, page, true);
}

/* Leaves the pages of a range that both have; false if there is none. */
static bool
refine_range(renc_candidates *c, const renc_candidates *other, unsigned int slot)
{
	bool		any = false;

	for (uint32_t page = 0; page < c->pages_per_range; page++)
	{
		bool		both = renc_candidates_has(c, slot, page) &&
			renc_candidates_has(other, slot, page);

		put_page(c, slot, page, both);
		any |= both;
	}
	return any;
}

void
renc_candidates_and(renc_candidates *c, const renc_candidates *other)
{
	renc_mask	both = renc_mask_and(c->ranges, other->ranges);
	renc_mask	refined = renc_mask_and(both, renc_mask_or(c->refined, other->refined));

	for (unsigned int slot = 0; slot < RENC_GROUP_RANGES && !renc_mask_empty(refined); slot++)
	{
		if (renc_mask_test(refined, slot) && !refine_range(c, other, slot))
		{
			renc_mask_clear(&both, slot);
			renc_mask_clear(&refined, slot);
		}
	}
	c->ranges = both;
	c->refined = refined;
}
