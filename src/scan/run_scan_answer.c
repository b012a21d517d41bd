/*
 * run_scan_answer.c
 *		The rows that runs and the pending list have found, as pages and rows of a group.
 */
#include "scan/run_scan.h"

/* Adds the rows of the page that the list comes to next. */
static void
take_rows_of_answer(RencoderFoundRows *found, uint64 *row)
{
	uint64		more[RENC_ROW_WORDS];
	uint32		page;

	(void) renc_stretches_next(&found->list, &found->next, &page, more);
	for (int i = 0; i < RENC_ROW_WORDS; i++)
		row[i] |= more[i];
}

void
rencoder_run_scan_answer(RencoderRunScan *scan, uint32 group, int col, RencoderSearchedRun *run,
						 renc_mask covered, RencoderScanFacts *facts, renc_candidates *answer)
{
	RencoderFoundRows *stored = &scan->stored[col];
	RencoderFoundRows *late = &scan->late[col];
	uint32		pages_per_range = answer->pages_per_range;
	uint64		first = (uint64) group * RENC_GROUP_RANGES * pages_per_range;
	uint64		end = first + (uint64) RENC_GROUP_RANGES * pages_per_range;

	for (uint64 from = first; from < Min(end, RENC_NO_PAGE);)
	{
		uint32		stored_page = renc_stretches_seek(&stored->list, &stored->next, (uint32) from);
		uint32		late_page = renc_stretches_seek(&late->list, &late->next, (uint32) from);
		uint32		page = Min(stored_page, late_page);
		uint32		slot = (uint32) ((page - first) / pages_per_range);
		uint32		in_range = (uint32) ((page - first) % pages_per_range);
		uint64		row[RENC_ROW_WORDS] = {0};
		bool		is_stored;

		if (page >= end || page == RENC_NO_PAGE)
			break;
		from = (uint64) page + 1;
		is_stored = stored_page == page && run != NULL && renc_mask_test(covered, slot) &&
			!rencoder_scan_facts_exclude(facts, run->column[col].keys, col, page, 1, true);
		if (is_stored)
			take_rows_of_answer(stored, row);
		if (late_page == page)
			take_rows_of_answer(late, row);
		else if (!is_stored)
			continue;
		if (renc_page_rows_are_all(row))
			renc_candidates_add_page(answer, slot, in_range);
		else
			renc_candidates_add_rows(answer, slot, in_range, row);
	}
	if (run != NULL && run->column[col].all)
		renc_candidates_add(answer, covered);
}
