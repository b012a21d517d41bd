/*
 * group_copy.c
 *		Reading all that is known of a group at one moment.
 */
#include "store/group_copy.h"

RencoderGroupCopy *
rencoder_group_copy_create(const RencoderMeta *meta)
{
	RencoderGroupCopy *copy = palloc(sizeof(RencoderGroupCopy));

	copy->entry = palloc(meta->entry_size);
	copy->header = palloc(meta->natts * sizeof(RencoderHeader));
	for (int col = 0; col < meta->natts; col++)
		copy->header[col] = palloc(sizeof(RencoderHeaderData));
	return copy;
}

Buffer
rencoder_group_copy_headers(Relation index, const RencoderMeta *meta, RencoderGroupCopy *copy)
{
	Buffer		first = InvalidBuffer;

	for (int col = 0; col < meta->natts; col++)
	{
		Buffer		buf = rencoder_group_read_header(index, copy->entry->header,
													 copy->group, col, BUFFER_LOCK_SHARE);

		rencoder_header_copy(copy->header[col], buf, copy->group);
		if (col == 0)
			first = buf;
		else
			UnlockReleaseBuffer(buf);
	}
	return first;
}

bool
rencoder_group_copy_read(Relation index, const RencoderMeta *meta, uint32 group,
						 RencoderGroupCopy *copy)
{
	Buffer		buf;
	bool		exists;

	copy->group = group;
	copy->directory = rencoder_directory_find(index, meta, NULL, group, NULL);
	if (copy->directory == RENCODER_NO_BLOCK)
		return false;
	buf = rencoder_page_read(index, copy->directory, BUFFER_LOCK_SHARE,
							 RENCODER_PAGE_DIRECTORY);
	memcpy(copy->entry, rencoder_directory_entry(RencoderPageGetPayload(BufferGetPage(buf)), meta, group),
		   meta->entry_size);
	exists = copy->entry->header != RENCODER_NO_BLOCK;
	if (exists)
		UnlockReleaseBuffer(rencoder_group_copy_headers(index, meta, copy));
	UnlockReleaseBuffer(buf);
	return exists;
}

uint32
rencoder_group_copy_count_groups(Relation index, const RencoderMeta *meta,
								 const RencoderMetaPageData *metadata,
								 uint64 table_ranges)
{
	uint64		most = rencoder_range_count(meta, MaxBlockNumber) / RENC_GROUP_RANGES + 1;
	uint64		n = rencoder_directory_count_pages(index, metadata) * meta->entries_per_page;

	return (uint32) Min(Max(n, rencoder_group_count(table_ranges)), most);
}
