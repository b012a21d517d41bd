/*
 * group.c
 *		Group header pages.
 */
#include "group.h"

void
rencoder_header_init(RencoderHeader header, uint32 group, int attno)
{
	memset(header, 0, sizeof(*header));
	header->group = group;
	header->attno = (uint16) attno;
	header->predicted_fpr = header->best_fpr = -1;
	for (int i = 0; i < RENC_GROUP_RANGES; i++)
		header->min[i] = PG_UINT64_MAX;
}

Buffer
rencoder_header_read(Relation index, BlockNumber first, uint32 group,
					 int attno, int lockmode)
{
	Buffer		buf = rencoder_page_read(index, first + attno, lockmode,
										 RENCODER_PAGE_HEADER);
	RencoderHeader header = RencoderPageGetHeader(BufferGetPage(buf));

	if (header->group != group || header->attno != attno)
	{
		char	   *detail = psprintf("The header is that of group %u, column %d; expected group %u, column %d.",
									  header->group, header->attno + 1,
									  group, attno + 1);

		UnlockReleaseBuffer(buf);
		rencoder_page_corrupted(index, first + attno, detail);
	}
	return buf;
}

BlockNumber
rencoder_group_find(Relation index, const RencoderMeta *meta, uint32 group)
{
	BlockNumber dir_blkno = rencoder_directory_find(index, meta, NULL, group, NULL);
	BlockNumber header;
	Buffer		buf;

	if (dir_blkno == RENCODER_NO_BLOCK)
		return RENCODER_NO_BLOCK;
	buf = rencoder_page_read(index, dir_blkno, BUFFER_LOCK_SHARE,
							 RENCODER_PAGE_DIRECTORY);
	header = rencoder_directory_entry(RencoderPageGetPayload(BufferGetPage(buf)),
									  meta, group)->header;
	UnlockReleaseBuffer(buf);
	return header;
}

bool
rencoder_slice_summarized(Relation index, const RencoderMeta *meta, uint64 slice)
{
	uint32		group = (uint32) (slice / RENC_GROUP_SLICES);
	BlockNumber header = rencoder_group_find(index, meta, group);
	uint8		summarized;
	Buffer		buf;

	if (header == RENCODER_NO_BLOCK)
		return false;
	buf = rencoder_header_read(index, header, group, 0, BUFFER_LOCK_SHARE);
	summarized = RencoderPageGetHeader(BufferGetPage(buf))->summarized[slice % RENC_GROUP_SLICES];
	UnlockReleaseBuffer(buf);
	return summarized == 0xFF;
}
