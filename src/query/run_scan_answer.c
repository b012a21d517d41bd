/*
 * run_scan_answer.c
 *		The places that runs and the pending list have found, as pages and rows of a group.
 */
#include "query/run_scan.h"

/* Sets the bits of the rows of a part. */
static void
add_part(uint64 *row, const renc_places *places, uint32 part)
{
	uint32		first;
	uint32		last;

	renc_part_rows(places, part, &first, &last);
	for (uint32 i = first - 1; i < Min(last, RENC_MAX_PAGE_ROWS); i++)
		row[i / 64] |= UINT64CONST(1) << i % 64;
}

/*
 * Takes what was found of the page that has "place": sets the bits of its rows, or *whole.  Returns
 * the next place.
 */
static uint32
take_places(RencoderRunScan *scan, RencoderFoundPlaces *found, uint32 place, uint64 *row, bool *whole)
{
	uint32		parts = found->places.parts;
	uint32		page = renc_place_page(place, parts);
	uint32		n = 0;

	do
	{
		if (parts > 1)
			add_part(row, &found->places, renc_place_part(place, parts));
		n++;
		place = renc_page_set_seek(&scan->sets, &found->set, place + 1);
	} while (place != RENC_NO_PAGE && renc_place_page(place, parts) == page);
	*whole |= n == parts;
	return place;
}

/* The first place found in the pages from "first" on. */
static uint32
first_place(RencoderRunScan *scan, RencoderFoundPlaces *found, uint64 first)
{
	return renc_page_set_seek(&scan->sets, &found->set,
							  (uint32) Min(first * found->places.parts, RENC_NO_PAGE));
}

static inline uint64
page_of_place(const RencoderFoundPlaces *found, uint32 place)
{
	return place == RENC_NO_PAGE ? PG_UINT64_MAX :
		renc_place_page(place, found->places.parts);
}

void
rencoder_run_scan_answer(RencoderRunScan *scan, uint32 group, int col, RencoderSearchedRun *run,
						 renc_mask covered, RencoderScanFacts *facts, renc_candidates *answer)
{
	RencoderFoundPlaces *stored = run == NULL ? NULL : &run->column[col];
	RencoderFoundPlaces *late = &scan->late[col];
	uint32		pages_per_range = answer->pages_per_range;
	uint64		first = (uint64) group * RENC_GROUP_RANGES * pages_per_range;
	uint64		end = first + (uint64) RENC_GROUP_RANGES * pages_per_range;
	uint32		next_stored = stored == NULL ? RENC_NO_PAGE : first_place(scan, stored, first);
	uint32		next_late = first_place(scan, late, first);

	for (;;)
	{
		uint64		stored_page = page_of_place(stored, next_stored);
		uint64		late_page = page_of_place(late, next_late);
		uint64		page = Min(stored_page, late_page);
		uint32		slot = (uint32) ((page - first) / pages_per_range);
		uint64		row[RENC_ROW_WORDS] = {0};
		bool		whole = false;
		bool		is_stored;

		if (page >= end)
			break;
		is_stored = stored_page == page && renc_mask_test(covered, slot) &&
			!rencoder_scan_facts_exclude(facts, stored->keys, col, (BlockNumber) page, 1, true);
		if (stored_page == page)
			next_stored = take_places(scan, stored, next_stored, row, &whole);
		if (!is_stored)
		{
			memset(row, 0, sizeof(row));
			whole = false;
		}
		if (late_page == page)
			next_late = take_places(scan, late, next_late, row, &whole);
		else if (!is_stored)
			continue;
		if (whole)
			renc_candidates_add_page(answer, slot, (uint32) ((page - first) % pages_per_range));
		else
			renc_candidates_add_rows(answer, slot, (uint32) ((page - first) % pages_per_range), row);
	}
	if (stored != NULL && stored->set.all)
		renc_candidates_add(answer, covered);
	if (late->set.all)
		renc_candidates_add(answer, renc_mask_all());
}
