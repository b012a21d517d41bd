/*
 * desummarize.c
 *		Taking the summary of a range away.
 */
#include "maintain/desummarize.h"

#include "store/group_edit.h"

/* Takes it back to unsummarized, and from covered (INV-11); false if it is so already. */
static bool
desummarize_slot(const RencoderGroup *group, unsigned int slot)
{
	RencoderGroupEdit edit;
	bool		had_summary;

	rencoder_group_edit_begin(&edit, group, 0, RENCODER_EDIT_EPOCH, 0);
	had_summary = rencoder_header_takes_entries(edit.first, slot);
	if (had_summary)
	{
		RencoderHeader first = rencoder_group_edit_first(&edit);
		uint64		cut;

		rencoder_set_remove(first->summarized, slot);
		rencoder_set_remove(first->summarizing, slot);
		rencoder_set_remove(first->covered, slot);
		rencoder_set_remove(first->flushing, slot);
		rencoder_set_remove(first->noted, slot);
		cut = rencoder_group_least_cut(first);
		if (cut != PG_UINT64_MAX)
			rencoder_group_edit_entry(&edit)->cut = cut;
		rencoder_group_seal(rencoder_group_edit_entry(&edit), group->meta, first);
		rencoder_group_edit_new_epoch(&edit);
	}
	rencoder_group_edit_finish(&edit);
	return had_summary;
}

bool
rencoder_desummarize(Relation index, uint64 range)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	RencoderGroup group;
	bool		had_summary;

	rencoder_meta_lock_maintainer(index);
	had_summary = rencoder_group_locate(&group, index, &meta, rencoder_group_of_range(range)) &&
		desummarize_slot(&group, rencoder_slot_of_range(range));
	rencoder_meta_unlock_maintainer(index);
	return had_summary;
}
