/*
 * reading.c
 *		Reading the table for new storage of ranges whose present one is in use.
 */
#include "maintain/reading.h"

/* Forgets the values without a key that came while an earlier reading went on. */
static void
clear_keyless_since(const RencoderGroup *group, int col)
{
	RencoderGroupEdit edit;

	rencoder_group_edit_begin(&edit, group, col, RENCODER_EDIT_HEADERS, 0);
	if (!renc_mask_empty(rencoder_set_get(edit.header->keyless_since)))
		rencoder_set_put(rencoder_group_edit_header(&edit)->keyless_since, renc_mask_none());
	rencoder_group_edit_finish(&edit);
}

renc_mask
rencoder_reading_begin(const RencoderGroup *group, uint32 run)
{
	RencoderGroupEdit edit;
	RencoderHeader first;
	renc_mask	ranges;

	/* Before inserters are told to note them. */
	for (int col = 0; col < group->meta->natts; col++)
		clear_keyless_since(group, col);
	rencoder_group_edit_begin(&edit, group, 0, RENCODER_EDIT_HEADERS, 0);
	first = rencoder_group_edit_first(&edit);
	ranges = rencoder_set_get(first->summarized);
	rencoder_set_put(first->flushing, ranges);
	first->flushing_run = run;
	rencoder_group_edit_finish(&edit);
	return ranges;
}

void
rencoder_reading_give_up(const RencoderGroup *group, uint32 run)
{
	RencoderGroupEdit edit;

	rencoder_group_edit_begin(&edit, group, 0, RENCODER_EDIT_HEADERS, 0);
	if (edit.first->flushing_run == run &&
		!renc_mask_empty(rencoder_set_get(edit.first->flushing)))
	{
		RencoderHeader first = rencoder_group_edit_first(&edit);

		rencoder_set_put(first->flushing, renc_mask_none());
		first->flushing_run = 0;
	}
	rencoder_group_edit_finish(&edit);
}

void
rencoder_reading_note_keyless(RencoderHeader header, RencoderEntry entry, renc_mask ranges,
							  renc_mask keyless)
{
	renc_mask	others = renc_mask_andnot(rencoder_set_get(header->keyless), ranges);
	renc_mask	since = renc_mask_and(rencoder_set_get(header->keyless_since), ranges);

	rencoder_set_put(header->keyless, renc_mask_or(others, renc_mask_or(keyless, since)));
	rencoder_set_put(header->keyless_since, renc_mask_none());
	if (rencoder_header_matches_all(header))
		entry->flags |= RENCODER_ENTRY_ALWAYS;
}

void
rencoder_reading_set_cut(RencoderHeader first, RencoderEntry entry, uint64 cut)
{
	for (int slice = 0; slice < RENC_GROUP_SLICES; slice++)
		first->cut[slice] = cut;
	entry->cut = cut;
}

/*
 * Inserters set the mark ALWAYS in entry and header, which they lock in this order, so that none does
 * while we look.
 */
void
rencoder_reading_finish(const RencoderGroup *group)
{
	RencoderGroupEdit edit;
	RencoderHeaderData copy;
	RencoderHeader first;
	bool		any;

	rencoder_group_edit_begin(&edit, group, 0, RENCODER_EDIT_ENTRY, 0);
	any = rencoder_header_matches_all(edit.first);
	for (int col = 1; col < group->meta->natts && !any; col++)
	{
		rencoder_group_copy_header(group, col, &copy);
		any = rencoder_header_matches_all(&copy);
	}
	if (!any)
		rencoder_group_edit_entry(&edit)->flags &= ~RENCODER_ENTRY_ALWAYS;
	first = rencoder_group_edit_first(&edit);
	rencoder_set_put(first->flushing, renc_mask_none());
	first->flushing_run = 0;
	rencoder_group_edit_finish(&edit);
}

renc_mask
rencoder_reading_keyless(const RencoderCollector *collector, int col)
{
	renc_mask	keyless = renc_mask_none();

	for (int slot = 0; slot < collector->nslots; slot++)
	{
		if (collector->column[col].range[slot].keyless)
			renc_mask_set(&keyless, slot);
	}
	return keyless;
}
