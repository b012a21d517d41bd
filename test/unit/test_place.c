/*
 * test_place.c
 *		Places and the line pointers of parts: all divisions of a page, line pointer by line pointer.
 */
#include "testlib.h"

#include "renc_place.h"

#define MOST		291			/* line pointers of a page of 8192 bytes */
#define MAX_PARTS	291

/* The line pointers of a part, if none that an entry has is greater than "most". */
static void
part_rows(const renc_places *places, uint32_t part, uint32_t most, uint32_t *first, uint32_t *last)
{
	renc_places bounded = *places;

	bounded.most = (uint16_t) most;
	renc_part_rows(&bounded, part, 1, first, last);
}

/* The part of each line pointer, by counting. */
static uint32_t part_of[MOST + 1];

static void
count_parts(const renc_places *places)
{
	uint32_t	part = 0;
	uint32_t	n = 0;

	for (uint32_t offset = 1; offset <= MOST; offset++, n++)
	{
		if (n == places->part_rows && part + 1 < places->parts)
		{
			part++;
			n = 0;
		}
		part_of[offset] = part;
	}
}

/* The parts are stretches of line pointers, one after the other, up to "most". */
static bool
parts_are_stretches(const renc_places *places, uint32_t most)
{
	uint32_t	next = 1;
	uint32_t	first;
	uint32_t	last;

	for (uint32_t part = 0; part < places->parts; part++)
	{
		part_rows(places, part, most, &first, &last);
		if (first > last)
		{
			/* Only what lies behind all of them is empty. */
			if (next <= most)
				return false;
			continue;
		}
		if (first != next || last > most)
			return false;
		for (; next <= last; next++)
			if (part_of[next] != part)
				return false;
	}
	part_rows(places, RENC_WHOLE_PAGE, most, &first, &last);
	return next == most + 1 && first == 1 && last == most;
}

/* Parts that are named together have the rows of each. */
static bool
coarse_parts_are_stretches(const renc_places *places, uint32_t most)
{
	renc_places bounded = *places;

	bounded.most = (uint16_t) most;
	for (uint32_t part = 0; part < places->parts; part += RENC_COARSE)
	{
		uint32_t	first;
		uint32_t	last;

		renc_part_rows(&bounded, part, RENC_COARSE, &first, &last);
		for (uint32_t offset = 1; offset <= most; offset++)
			if ((part_of[offset] / RENC_COARSE * RENC_COARSE == part) != (offset >= first && offset <= last))
				return places->parts == 1;
	}
	return true;
}

/* Each line pointer is of the part that counting says; those behind are of the last. */
static bool
offsets_have_parts(const renc_places *places)
{
	static const uint32_t far[] = {1000, 2047, 32767, 65535};

	for (uint32_t offset = 1; offset <= MOST; offset++)
		if (renc_part_of(places, offset) != part_of[offset])
			return false;
	for (int i = 0; i < 4; i++)
	{
		uint32_t	part = renc_part_of(places, far[i]);
		uint32_t	first;
		uint32_t	last;

		part_rows(places, part, far[i], &first, &last);
		if (part >= places->parts || far[i] < first || far[i] > last)
			return false;
		if (far[i] > (uint32_t) places->parts * places->part_rows && part != places->parts - 1U)
			return false;
	}
	return true;
}

/* Places of the first and the last pages that a run of such parts may have, and back. */
static bool
places_are_found(const renc_places *places)
{
	uint32_t	pages = UINT32_MAX / places->parts;
	const uint32_t page[] = {0, 1, pages / 2, pages - 2, pages - 1};
	uint32_t	last = 0;

	for (int i = 0; i < 5; i++)
	{
		for (uint32_t offset = 1; offset <= MOST; offset += offset < 9 || offset > MOST - 9 ? 1 : 7)
		{
			uint32_t	place = renc_place_of(places, page[i], offset);

			if (place / places->parts != page[i] || place % places->parts != part_of[offset] ||
				renc_place_page(place, places->parts) != page[i] ||
				renc_place_part(place, places->parts) != part_of[offset] ||
				place < last || place == UINT32_MAX)
				return false;
			last = place;
		}
	}
	return true;
}

static void
test_all(void)
{
	long		wrong[3] = {0, 0, 0};
	long		divisions = 0;

	for (uint32_t parts = 1; parts <= MAX_PARTS; parts++)
	{
		for (uint32_t rows = 1; rows <= UINT8_MAX; rows++)
		{
			renc_places places = {(uint16_t) parts, (uint16_t) rows, MOST};
			const uint32_t most[] = {1, rows, rows + 1, (parts - 1) * rows, parts * rows, MOST};

			divisions++;
			count_parts(&places);
			for (int i = 0; i < 6; i++)
				if (most[i] > 0 && most[i] <= MOST)
					wrong[0] += !parts_are_stretches(&places, most[i]) ||
						!coarse_parts_are_stretches(&places, most[i]);
			wrong[1] += !offsets_have_parts(&places);
			wrong[2] += !places_are_found(&places);
		}
	}
	tap_ok(wrong[0] == 0, "%ld divisions: parts are stretches, wrong %ld times", divisions,
		   wrong[0]);
	tap_ok(wrong[1] == 0, "the part of a line pointer, wrong %ld times", wrong[1]);
	tap_ok(wrong[2] == 0, "places up to the last of 32 bits, wrong %ld times", wrong[2]);
}

/* What one may have at all of a page: clipped anywhere. */
static void
test_clipped(void)
{
	long		wrong = 0;

	for (int i = 0; i < 200; i++)
	{
		renc_places places;

		places.parts = (uint16_t) (1 + rnd_below(MAX_PARTS));
		places.part_rows = (uint16_t) (1 + rnd_below(UINT8_MAX));
		count_parts(&places);
		for (uint32_t most = 1; most <= MOST; most++)
			wrong += !parts_are_stretches(&places, most);
	}
	tap_ok(wrong == 0, "200 divisions of 1 to %d line pointers, wrong %ld times", MOST, wrong);
}

static void
test_whole_pages(void)
{
	renc_places whole = renc_whole_pages();
	static const uint32_t page[] = {0, 1, 77, UINT32_MAX / 2, UINT32_MAX - 1};
	bool		good = whole.parts == 1;

	for (int i = 0; i < 5; i++)
		for (uint32_t offset = 1; offset <= MOST; offset++)
			good &= renc_place_of(&whole, page[i], offset) == page[i];
	for (uint32_t most = 1; most <= MOST; most++)
	{
		uint32_t	first;
		uint32_t	last;

		part_rows(&whole, 0, most, &first, &last);
		good &= first == 1 && last == most;
	}
	tap_ok(good, "whole pages are their places, with all line pointers");
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_place");
	test_all();
	test_clipped();
	test_whole_pages();
	return tap_finish();
}
