/*
 * group.c
 *		Group header pages.
 */
#include "store/group.h"

#include "store/space.h"

void
rencoder_group_init_header(RencoderHeader header, uint32 group, int attno)
{
	memset(header, 0, sizeof(*header));
	header->group = group;
	header->attno = (uint32) attno;
	header->predicted_fpr = header->best_fpr = -1;
	for (int i = 0; i < RENC_GROUP_RANGES; i++)
		header->min[i] = PG_UINT64_MAX;
}

RencoderHeader
rencoder_group_verify_header(Relation index, Page page, BlockNumber first, uint32 group, int attno)
{
	RencoderHeader header = rencoder_page_header(page, group);

	if (header->group != group || header->attno != (uint32) attno)
		rencoder_page_corrupted(index, first + attno,
								psprintf("The header is that of group %u, column %u; expected group %u, column %d.",
										 header->group, header->attno + 1, group, attno + 1));
	return header;
}

Buffer
rencoder_group_read_header(Relation index, BlockNumber first, uint32 group,
						   int attno, int lockmode)
{
	Buffer		buf = rencoder_page_read(index, first + attno, lockmode,
										 RENCODER_PAGE_HEADER);

	(void) rencoder_group_verify_header(index, BufferGetPage(buf), first, group, attno);
	return buf;
}

void
rencoder_group_copy_header(const RencoderGroup *group, int attno, RencoderHeader copy)
{
	Buffer		buf = rencoder_group_read_header(group->index, group->header, group->number, attno,
												 BUFFER_LOCK_SHARE);

	rencoder_header_copy(copy, buf, group->number);
	UnlockReleaseBuffer(buf);
}

bool
rencoder_group_locate(RencoderGroup *group, Relation index, const RencoderMeta *meta, uint32 number)
{
	Buffer		buf;

	group->index = index;
	group->meta = meta;
	group->number = number;
	group->header = RENCODER_NO_BLOCK;
	group->directory = rencoder_directory_find(index, meta, NULL, number, NULL);
	if (group->directory == RENCODER_NO_BLOCK)
		return false;
	buf = rencoder_page_read(index, group->directory, BUFFER_LOCK_SHARE,
							 RENCODER_PAGE_DIRECTORY);
	group->header = rencoder_directory_entry(RencoderPageGetPayload(BufferGetPage(buf)),
											 meta, number)->header;
	UnlockReleaseBuffer(buf);
	return group->header != RENCODER_NO_BLOCK;
}

BlockNumber
rencoder_group_find_header(Relation index, const RencoderMeta *meta, uint32 group)
{
	RencoderGroup found;

	(void) rencoder_group_locate(&found, index, meta, group);
	return found.header;
}

BlockNumber
rencoder_group_make_headers(Relation index, const RencoderMeta *meta, uint32 group, bool log)
{
	uint32		even = group - group % RENCODER_PAGE_GROUPS;
	BlockNumber first;
	char	   *payload;

	for (uint32 i = 0; i < RENCODER_PAGE_GROUPS; i++)
	{
		first = rencoder_group_find_header(index, meta, even + i);
		if (first != RENCODER_NO_BLOCK)
			return first;
	}
	first = rencoder_space_take(index, meta->natts, log).start;
	payload = palloc0(RENCODER_PAYLOAD_SIZE);
	for (int col = 0; col < meta->natts; col++)
	{
		for (uint32 i = 0; i < RENCODER_PAGE_GROUPS; i++)
			rencoder_group_init_header((RencoderHeader) payload + i, even + i, col);
		rencoder_wal_write_fresh(index, first + col, RENCODER_PAGE_HEADER, payload, log);
	}
	pfree(payload);
	return first;
}

void
rencoder_group_put_header(Relation index, BlockNumber first, const RencoderHeaderData *header)
{
	Buffer		buf = rencoder_group_read_header(index, first, header->group, header->attno,
												 BUFFER_LOCK_EXCLUSIVE);
	RencoderWal *wal = rencoder_wal_begin(index, false);

	*rencoder_page_header(rencoder_wal_register(wal, buf), header->group) = *header;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}

/* The directory page of a group, by way of what the session remembers. */
static BlockNumber
find_directory_of_group(Relation index, const RencoderMeta *meta, uint32 group, RencoderPath *path)
{
	uint32		dirpage = group / meta->entries_per_page;

	if (path->directory == RENCODER_NO_BLOCK || path->dirpage != dirpage)
	{
		path->dirpage = dirpage;
		path->directory = rencoder_directory_find(index, meta, NULL, group, NULL);
	}
	return path->directory;
}

/* The first header block of a group, in the same way. */
static BlockNumber
find_group_header(Relation index, const RencoderMeta *meta, uint32 group, RencoderPath *path)
{
	BlockNumber directory;
	Buffer		buf;

	if (path->header != RENCODER_NO_BLOCK && path->group == group)
		return path->header;
	path->group = group;
	path->header = RENCODER_NO_BLOCK;
	directory = find_directory_of_group(index, meta, group, path);
	if (directory != RENCODER_NO_BLOCK)
	{
		buf = rencoder_page_read_recent(index, directory, RENCODER_PAGE_DIRECTORY,
										&path->directory_buffer);
		path->header = rencoder_directory_entry(RencoderPageGetPayload(BufferGetPage(buf)),
												meta, group)->header;
		UnlockReleaseBuffer(buf);
	}
	return path->header;
}

BlockNumber
rencoder_group_header_if_taking_entries(Relation index, const RencoderMeta *meta, uint64 range)
{
	RencoderPath path = rencoder_meta_path(index);
	uint32		group = rencoder_group_of_range(range);
	unsigned int slot = rencoder_slot_of_range(range);
	BlockNumber first = find_group_header(index, meta, group, &path);
	bool		summarizes = false;

	if (first != RENCODER_NO_BLOCK)
	{
		Buffer		buf = rencoder_page_read_recent(index, first, RENCODER_PAGE_HEADER,
													&path.header_buffer);
		RencoderHeader header = rencoder_group_verify_header(index, BufferGetPage(buf), first, group, 0);

		summarizes = rencoder_header_takes_entries(header, slot);
		UnlockReleaseBuffer(buf);
	}
	rencoder_meta_keep_path(index, &path);
	return summarizes ? first : RENCODER_NO_BLOCK;
}

bool
rencoder_group_slice_is_summarized(Relation index, const RencoderMeta *meta, uint64 slice)
{
	uint32		group = (uint32) (slice / RENC_GROUP_SLICES);
	BlockNumber header = rencoder_group_find_header(index, meta, group);
	uint8		summarized;
	Buffer		buf;

	if (header == RENCODER_NO_BLOCK)
		return false;
	buf = rencoder_group_read_header(index, header, group, 0, BUFFER_LOCK_SHARE);
	summarized = rencoder_page_header(BufferGetPage(buf), group)->summarized[slice % RENC_GROUP_SLICES];
	UnlockReleaseBuffer(buf);
	return summarized == 0xFF;
}

uint64
rencoder_group_least_cut(const RencoderHeaderData *first)
{
	uint64		least = PG_UINT64_MAX;

	for (int slice = 0; slice < RENC_GROUP_SLICES; slice++)
	{
		if ((first->summarized[slice] | first->flushing[slice]) != 0)
			least = Min(least, first->cut[slice]);
	}
	return least;
}

void
rencoder_group_update_entry(RencoderEntry entry, const RencoderMeta *meta,
							const RencoderHeaderData *first)
{
	renc_mask	summarized = rencoder_set_get(first->summarized);
	uint32		n = (uint32) renc_mask_count(summarized);
	bool		has_matrices = first->run == 0 && n == RENC_GROUP_RANGES;

	entry->flags &= ~(RENCODER_ENTRY_SEALED | RENCODER_ENTRY_COVERED);
	entry->placed = 0;
	for (int col = 0; col < meta->natts; col++)
		has_matrices &= entry->column[col].matrix.start != RENCODER_NO_BLOCK;
	if (renc_mask_empty(rencoder_header_filtered(first)) &&
		renc_mask_within(summarized, renc_mask_first(n)))
		entry->placed = n;
	if (n == RENC_GROUP_RANGES && renc_mask_empty(rencoder_set_get(first->noted)))
	{
		if (entry->placed == n)
			entry->flags |= RENCODER_ENTRY_COVERED;
		else if (has_matrices)
			entry->flags |= RENCODER_ENTRY_SEALED;
	}
	entry->horizon = 0;
	for (uint32 slot = 0; slot < n; slot++)
		entry->horizon = Max(entry->horizon, first->horizon[slot]);
}
