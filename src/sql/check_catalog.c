/*
 * check_catalog.c
 *		rencoder_index_check: does the catalog say what can be true?
 *
 * The catalog is one state of the index, copied under one lock: nothing moves
 * while it is looked at, so whatever is wrong in it is wrong.  Whoever copies it sees to its size, and
 * that new rows of all pages below the frontier are entries (catalog.c).
 */
#include "sql/sql_check.h"

#include "miscadmin.h"

/* What an entry says by itself. */
static const char *
find_entry_fault(const CheckState *state, const RencoderRunEntry *entry)
{
	const RencoderCatalog *catalog = &state->catalog;

	if (entry->number == 0 || entry->number > state->metadata.last_run)
		return "has a number that was never given";
	if (entry->kind != RENCODER_RUN_BASE && entry->kind != RENCODER_RUN_DELTA &&
		entry->kind != RENCODER_RUN_MATRIX)
		return "is of a kind that is not known";
	if (entry->state != RENCODER_RUN_BUILDING && entry->state != RENCODER_RUN_LIVE &&
		entry->state != RENCODER_RUN_FREEING)
		return "is in a state that is not known";

	/* INV-18: who has read the table has a rank, who has not has none. */
	if (entry->kind == RENCODER_RUN_DELTA ? entry->rank != 0 :
		entry->rank == 0 || entry->rank > state->metadata.last_rank)
		return "has a rank that was never given";
	if (entry->from > entry->to)
		return "ends before it begins";

	/* INV-13: entries on pages up to the cut were there before the run. */
	if (entry->cut > catalog->pending.last_number)
		return "has the keys of pending pages to come";
	if (entry->kind == RENCODER_RUN_DELTA)
		return NULL;

	/* INV-3: rows that come meanwhile, and later, are entries. */
	if (entry->state == RENCODER_RUN_LIVE && entry->to > catalog->frontier)
		return "goes beyond the frontier";
	if (entry->state == RENCODER_RUN_BUILDING && entry->to > catalog->entries_to)
		return "reads pages of which new rows have no entries";
	return NULL;
}

/* Can both be in one catalog? */
static const char *
find_pair_fault(const RencoderRunEntry *a, const RencoderRunEntry *b)
{
	if (a->number == b->number)
		return "has the number of another one";
	if (a->state == RENCODER_RUN_LIVE && b->state == RENCODER_RUN_LIVE && a->rank != 0 &&
		a->rank == b->rank)
		return "has the rank of another one";
	return NULL;
}

void
rencoder_check_catalog(const CheckState *state)
{
	const RencoderCatalog *catalog = &state->catalog;
	RencoderSegment *segment = palloc(RENCODER_MAX_SEGMENTS * sizeof(RencoderSegment));
	int			n;

	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *entry = &catalog->entry[i];
		const char *fault = find_entry_fault(state, entry);

		for (uint32 j = 0; j < i && fault == NULL; j++)
			fault = find_pair_fault(entry, &catalog->entry[j]);
		if (fault != NULL)
			rencoder_page_corrupted(state->index, RENCODER_META_BLKNO,
									psprintf("Run %u of the catalog %s.", entry->number, fault));
	}

	/* INV-11: no page below the frontier is without a run. */
	n = rencoder_catalog_segments(catalog, catalog->frontier, segment);
	for (int i = 0; i < n; i++)
		rencoder_check_require(state, segment[i].run != NULL, RENCODER_META_BLKNO,
							   psprintf("No run covers the pages %u to %u, which lie below the frontier.",
										segment[i].from, segment[i].to - 1));
	pfree(segment);
}
