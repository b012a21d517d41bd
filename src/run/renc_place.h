/*
 * renc_place.h
 *		Places: parts of heap pages that the entries of a run name.
 *
 * A part is a stretch of line pointers: "part_rows" of them in each part but the last, which has all
 * that follow.  A place is page * parts + part, a number of 32 bits.  A run of one part names whole
 * pages, and its places are these.  No entry is of a line pointer greater than "most", which bounds
 * the last part, and pages.
 *
 * A leaf may name coarser: stretches of "grain" parts of a page, up to all of them.
 *
 * A row's line pointer is that of the root of its HOT chain, which never changes.
 */
#ifndef RENC_PLACE_H
#define RENC_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* How a run divides pages; both are 1 or more, and "parts" times the pages fits 32 bits. */
typedef struct renc_places
{
	uint16_t	parts;			/* of a page */
	uint16_t	part_rows;		/* line pointers of a part, at most UINT8_MAX;
								 * of no meaning where there is one */
	uint16_t	most;			/* the greatest line pointer that was seen */
} renc_places;

/* Line pointers of a page that rows are told apart by, a bit each: bit i is line pointer i + 1. */
#define RENC_MAX_PAGE_ROWS	320
#define RENC_ROW_WORDS		(RENC_MAX_PAGE_ROWS / 64)

/* Are all bits set, which stands for the whole page? */
static inline bool
renc_page_rows_are_all(const uint64_t *row)
{
	uint64_t	all = row[0];

	for (int i = 1; i < RENC_ROW_WORDS; i++)
		all &= row[i];
	return all == UINT64_MAX;
}

/* Parts that a leaf names together where keys lie together, but not in whole pages. */
#define RENC_COARSE			4

/* The part of all rows of a page. */
#define RENC_WHOLE_PAGE		UINT16_MAX

/* The names of a page, of so many parts each. */
static inline uint32_t
renc_place_names(uint32_t parts, uint32_t grain)
{
	return (parts + grain - 1) / grain;
}

/* Pages are not divided. */
static inline renc_places
renc_whole_pages(void)
{
	renc_places places = {1, UINT8_MAX, UINT16_MAX};

	return places;
}

/* The part that has a line pointer, which are numbered from 1 on. */
static inline uint32_t
renc_part_of(const renc_places *places, uint32_t offset)
{
	uint32_t	part = places->parts == 1 ? 0 : (offset - 1) / places->part_rows;

	return part < places->parts ? part : places->parts - 1U;
}

/* The place that has a line pointer of a page. */
static inline uint32_t
renc_place_of(const renc_places *places, uint32_t page, uint32_t offset)
{
	return page * places->parts + renc_part_of(places, offset);
}

/* The page of a place, of so many parts a page, and the part. */
static inline uint32_t
renc_place_page(uint32_t place, uint32_t parts)
{
	return parts == 1 ? place : place / parts;
}

static inline uint32_t
renc_place_part(uint32_t place, uint32_t parts)
{
	return place - renc_place_page(place, parts) * parts;
}

/*
 * The line pointers of so many parts from "part" on, or of RENC_WHOLE_PAGE: *first .. *last; none if
 * *first is greater.
 */
static inline void
renc_part_rows(const renc_places *places, uint32_t part, uint32_t grain, uint32_t *first,
			   uint32_t *last)
{
	uint32_t	rows = grain * places->part_rows;

	*first = 1;
	*last = places->most;
	if (places->parts == 1 || part == RENC_WHOLE_PAGE)
		return;
	*first = part * places->part_rows + 1;
	if (part + grain < places->parts && *first + rows - 1 < places->most)
		*last = *first + rows - 1;
}

/* The first of them. */
static inline uint32_t
renc_part_first(const renc_places *places, uint32_t part)
{
	uint32_t	first;
	uint32_t	last;

	renc_part_rows(places, part, 1, &first, &last);
	return first;
}

#endif							/* RENC_PLACE_H */
