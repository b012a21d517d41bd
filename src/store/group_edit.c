/*
 * group_edit.c
 *		Changing what is said of a group, in one record.
 *
 * The only place that locks several of these pages exclusively.  Besides, directory.c links pages
 * of the directory and puts the entries of new groups there, and space.c links new pages of the
 * free list, which nobody else knows yet.
 */
#include "store/group_edit.h"

#include "store/covered_spans.h"
#include "store/space.h"

/* Locks the metapage; with "spans" only if the group is in a span. */
static Buffer
lock_edited_meta(const RencoderGroup *group, bool spans)
{
	Buffer		buf = rencoder_meta_lock(group->index, BUFFER_LOCK_EXCLUSIVE);

	if (!spans ||
		rencoder_covered_spans_find(RencoderPageGetMeta(BufferGetPage(buf)), group->number) != NULL)
		return buf;
	UnlockReleaseBuffer(buf);
	return InvalidBuffer;
}

static Buffer
lock_edited_header(const RencoderGroup *group, int col)
{
	return rencoder_group_read_header(group->index, group->header, group->number, col,
									  BUFFER_LOCK_EXCLUSIVE);
}

void
rencoder_group_edit_begin(RencoderGroupEdit *edit, const RencoderGroup *group, int col,
						  RencoderEditScope scope, uint32 nextents)
{
	memset(edit, 0, sizeof(*edit));
	edit->group = group;
	edit->col = col;

	/*
	 * This may lock the metapage and make a page, so it comes before all
	 * locks.
	 */
	if (nextents > 0)
		edit->free_buffer = rencoder_space_prepare_release(group->index, nextents);

	if (scope >= RENCODER_EDIT_ENTRY)
		edit->meta_buffer = lock_edited_meta(group, scope == RENCODER_EDIT_ENTRY);
	if (scope >= RENCODER_EDIT_ENTRY)
		edit->directory_buffer = rencoder_page_read(group->index, group->directory,
													BUFFER_LOCK_EXCLUSIVE,
													RENCODER_PAGE_DIRECTORY);
	edit->first_buffer = lock_edited_header(group, 0);
	edit->column_buffer = col == 0 ? edit->first_buffer : lock_edited_header(group, col);
	edit->first = rencoder_page_header(BufferGetPage(edit->first_buffer), group->number);
	edit->header = rencoder_page_header(BufferGetPage(edit->column_buffer), group->number);
}

/*
 * The image of a page, the same each time.  Replay locks the pages of a record
 * in the order in which they were registered, and readers of a standby lock in
 * that of INV-8; so what comes first there is registered first.  All who begin
 * with the metapage or the directory page change it.
 */
static Page
edited_image(RencoderGroupEdit *edit, Buffer buf)
{
	Assert(BufferIsValid(buf));
	if (edit->wal == NULL)
	{
		edit->wal = rencoder_wal_begin(edit->group->index, true);
		if (BufferIsValid(edit->meta_buffer))
		{
			Page		page = rencoder_wal_register(edit->wal, edit->meta_buffer);

			rencoder_covered_spans_remove_group(RencoderPageGetMeta(page), edit->group->meta,
												edit->group->number);
		}
		if (BufferIsValid(edit->directory_buffer))
			(void) rencoder_wal_register(edit->wal, edit->directory_buffer);
	}
	return rencoder_wal_register(edit->wal, buf);
}

RencoderEntry
rencoder_group_edit_entry(RencoderGroupEdit *edit)
{
	return rencoder_directory_entry(RencoderPageGetPayload(edited_image(edit,
																		edit->directory_buffer)),
									edit->group->meta, edit->group->number);
}

RencoderHeader
rencoder_group_edit_first(RencoderGroupEdit *edit)
{
	return rencoder_page_header(edited_image(edit, edit->first_buffer), edit->group->number);
}

RencoderHeader
rencoder_group_edit_header(RencoderGroupEdit *edit)
{
	return rencoder_page_header(edited_image(edit, edit->column_buffer), edit->group->number);
}

void
rencoder_group_edit_release_storage(RencoderGroupEdit *edit)
{
	RencoderEntryColumn *column = &rencoder_group_edit_entry(edit)->column[edit->col];
	RencoderHeader header = rencoder_group_edit_header(edit);

	if (header->matrix.start != RENCODER_NO_BLOCK)
	{
		LockBuffer(edit->free_buffer, BUFFER_LOCK_EXCLUSIVE);
		edit->free_locked = true;
		rencoder_space_release(edited_image(edit, edit->free_buffer), header->matrix);
	}
	memset(&header->matrix, 0, sizeof(header->matrix));
	column->matrix = header->matrix;
}

void
rencoder_group_edit_new_epoch(RencoderGroupEdit *edit)
{
	RencoderMetaPageData *metadata = RencoderPageGetMeta(edited_image(edit, edit->meta_buffer));

	rencoder_group_edit_entry(edit)->epoch = ++metadata->epoch;
}

void
rencoder_group_edit_finish(RencoderGroupEdit *edit)
{
	if (edit->wal != NULL)
		rencoder_wal_finish(edit->wal);
	if (edit->free_locked)
		LockBuffer(edit->free_buffer, BUFFER_LOCK_UNLOCK);
	if (BufferIsValid(edit->free_buffer))
		ReleaseBuffer(edit->free_buffer);
	if (edit->column_buffer != edit->first_buffer)
		UnlockReleaseBuffer(edit->column_buffer);
	UnlockReleaseBuffer(edit->first_buffer);
	if (BufferIsValid(edit->directory_buffer))
		UnlockReleaseBuffer(edit->directory_buffer);
	if (BufferIsValid(edit->meta_buffer))
		UnlockReleaseBuffer(edit->meta_buffer);
}

void
rencoder_group_edit_raise_horizon(const RencoderGroup *group, uint64 horizon)
{
	RencoderGroupEdit edit;
	RencoderEntry entry;
	RencoderHeader first;

	rencoder_group_edit_begin(&edit, group, 0, RENCODER_EDIT_ENTRY, 0);
	entry = rencoder_group_edit_entry(&edit);
	first = rencoder_group_edit_first(&edit);
	entry->horizon = Max(entry->horizon, horizon);
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
		first->horizon[slot] = Max(first->horizon[slot], horizon);
	rencoder_group_edit_finish(&edit);
}
