/*
 * renc_group_candidates.c
 *		What of a group may hold rows of a query: block ranges, single heap pages, or rows.
 */
#include "renc_group_candidates.h"

#include <string.h>

/* The words of page[] that have pages of a range. */
#define FOR_WORDS(word, c, slot) \
	for (size_t word = (size_t) (slot) * (c)->pages_per_range / 64; \
		 word * 64 < ((size_t) (slot) + 1) * (c)->pages_per_range; word++)

/* The bits of such a word that are of the range. */
static inline uint64_t
candidate_range_bits(const renc_candidates *c, unsigned int slot, size_t word)
{
	size_t		first = (size_t) slot * c->pages_per_range;
	size_t		end = first + c->pages_per_range;

	return (first > word * 64 ? UINT64_MAX << first % 64 : UINT64_MAX) &
		(end < word * 64 + 64 ? ~(UINT64_MAX << end % 64) : UINT64_MAX);
}

/* A word of the pages that may match, as far as they are of the range. */
static inline uint64_t
matching_candidate_word(const renc_candidates *c, unsigned int slot, size_t word)
{
	if (renc_mask_test(c->refined, slot))
		return c->page[word];
	return renc_mask_test(c->ranges, slot) ? UINT64_MAX : 0;
}

/* Of which rows something is said, or NULL. */
static renc_page_rows *
find_candidate_rows(renc_candidates *c, uint32_t page)
{
	uint32_t	lo = 0;
	uint32_t	hi = c->nrows;

	while (lo < hi)
	{
		uint32_t	middle = lo + (hi - lo) / 2;

		if (c->rows[middle].page < page)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < c->nrows && c->rows[lo].page == page ? &c->rows[lo] : NULL;
}

/* Marks a page as one that may match, its range as refined if it is new. */
static inline void
mark_candidate_page(renc_candidates *c, unsigned int slot, uint32_t page)
{
	size_t		bit = (size_t) slot * c->pages_per_range + page;

	if (!renc_mask_test(c->ranges, slot))
	{
		renc_mask_set(&c->ranges, slot);
		renc_mask_set(&c->refined, slot);
		FOR_WORDS(word, c, slot)
			c->page[word] &= ~candidate_range_bits(c, slot, word);
	}
	c->page[bit / 64] |= UINT64_C(1) << bit % 64;
}

void
renc_candidates_add_page(renc_candidates *c, unsigned int slot, uint32_t page)
{
	renc_page_rows *rows;

	if (renc_mask_test(c->ranges, slot) && !renc_mask_test(c->refined, slot))
		return;
	mark_candidate_page(c, slot, page);
	rows = find_candidate_rows(c, slot * c->pages_per_range + page);
	if (rows != NULL)
		memset(rows->row, 0xFF, sizeof(rows->row));
}

uint32_t
renc_candidates_next_page(const renc_candidates *c, unsigned int slot, uint32_t page)
{
	size_t		first = (size_t) slot * c->pages_per_range;

	for (size_t bit = first + page; bit < first + c->pages_per_range; bit = (bit / 64 + 1) * 64)
	{
		uint64_t	found = matching_candidate_word(c, slot, bit / 64) &
			candidate_range_bits(c, slot, bit / 64) & UINT64_MAX << bit % 64;

		if (found != 0)
			return (uint32_t) (bit / 64 * 64 + (size_t) __builtin_ctzll(found) - first);
	}
	return c->pages_per_range;
}

void
renc_candidates_add_rows(renc_candidates *c, unsigned int slot, uint32_t page, const uint64_t *row)
{
	/* Of a page that is there already, all rows are. */
	if (renc_candidates_has(c, slot, page))
		return;
	mark_candidate_page(c, slot, page);
	if (c->nrows < c->max_rows)
	{
		c->rows[c->nrows].page = slot * c->pages_per_range + page;
		memcpy(c->rows[c->nrows++].row, row, sizeof(c->rows->row));
	}
}

/* Leaves the pages of a range that both have. */
static void
refine_candidate_range(renc_candidates *c, const renc_candidates *other, unsigned int slot)
{
	FOR_WORDS(word, c, slot)
	{
		uint64_t	both = matching_candidate_word(c, slot, word) &
			matching_candidate_word(other, slot, word);
		uint64_t	bits = candidate_range_bits(c, slot, word);

		c->page[word] = (c->page[word] & ~bits) | (both & bits);
	}
}

/* ANDs rows of the same page; false if none is left. */
static bool
and_candidate_row_words(uint64_t *row, const uint64_t *other)
{
	uint64_t	any = 0;

	for (int i = 0; i < RENC_ROW_WORDS; i++)
		any |= row[i] &= other[i];
	return any != 0;
}

/* The rows of the refined ranges that both leave; pages without any are none any more. */
static void
and_rows(renc_candidates *c, const renc_candidates *other, renc_mask refined)
{
	renc_page_rows *made = c->spare;
	uint32_t	n = 0;
	uint32_t	j = 0;

	for (uint32_t i = 0; (i < c->nrows || j < other->nrows) && n < c->max_rows;)
	{
		bool		left = j == other->nrows || (i < c->nrows && c->rows[i].page <= other->rows[j].page);
		bool		right = i == c->nrows || (j < other->nrows && other->rows[j].page <= c->rows[i].page);
		uint32_t	page = left ? c->rows[i].page : other->rows[j].page;
		unsigned int slot = page / c->pages_per_range;
		bool		some = true;

		memset(made[n].row, 0xFF, sizeof(made[n].row));
		made[n].page = page;
		if (left && renc_mask_test(c->refined, slot))
			some = and_candidate_row_words(made[n].row, c->rows[i].row);
		if (right && renc_mask_test(other->refined, slot))
			some = and_candidate_row_words(made[n].row, other->rows[j].row);
		i += left;
		j += right;
		if (!renc_mask_test(refined, slot) || !(c->page[page / 64] >> page % 64 & 1))
			continue;
		if (some)
			n++;
		else
			c->page[page / 64] &= ~(UINT64_C(1) << page % 64);
	}
	c->spare = c->rows;
	c->rows = made;
	c->nrows = n;
}

/* Has a refined range a page? */
static bool
candidate_has_page(const renc_candidates *c, unsigned int slot)
{
	FOR_WORDS(word, c, slot)
		if (c->page[word] & candidate_range_bits(c, slot, word))
		return true;
	return false;
}

void
renc_candidates_and(renc_candidates *c, const renc_candidates *other)
{
	renc_mask	both = renc_mask_and(c->ranges, other->ranges);
	renc_mask	refined = renc_mask_and(both, renc_mask_or(c->refined, other->refined));

	renc_mask_each(slot, refined)
		refine_candidate_range(c, other, slot);
	if (renc_mask_empty(c->refined) && other->nrows <= c->max_rows)
	{
		/* The first answer that knows rows: all of them are left. */
		if (other->nrows > 0)
			memcpy(c->rows, other->rows, other->nrows * sizeof(renc_page_rows));
		c->nrows = other->nrows;
	}
	else if (c->nrows > 0 || other->nrows > 0)
		and_rows(c, other, refined);
	c->refined = refined;
	renc_mask_each(slot, refined)
	{
		if (!candidate_has_page(c, slot))
		{
			renc_mask_clear(&both, slot);
			renc_mask_clear(&c->refined, slot);
		}
	}
	c->ranges = both;
}
