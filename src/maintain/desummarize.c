/*
 * desummarize.c
 *		Taking the summary of a range away.
 */
#include "maintain/desummarize.h"

#include "store/group.h"

bool
rencoder_desummarize(Relation index, uint64 range)
{
	RencoderMeta meta_copy = *rencoder_meta_get(index);
	const RencoderMeta *meta = &meta_copy;
	uint32		group = rencoder_group_of_range(range);
	unsigned int slot = rencoder_slot_of_range(range);
	BlockNumber header_blkno;
	BlockNumber dir_blkno;
	Buffer		metabuf;
	Buffer		dirbuf;
	Buffer		buf;
	RencoderHeader header;
	renc_mask	known;
	bool		had_summary;

	rencoder_meta_lock_maintainer(index);
	dir_blkno = rencoder_directory_find(index, meta, NULL, group, NULL);
	header_blkno = rencoder_group_find(index, meta, group);
	if (header_blkno == RENCODER_NO_BLOCK)
	{
		rencoder_meta_unlock_maintainer(index);
		return false;
	}

	metabuf = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	dirbuf = rencoder_page_read(index, dir_blkno, BUFFER_LOCK_EXCLUSIVE,
								RENCODER_PAGE_DIRECTORY);
	buf = rencoder_group_read_header(index, header_blkno, group, 0, BUFFER_LOCK_EXCLUSIVE);
	header = RencoderPageGetHeader(BufferGetPage(buf));
	known = renc_mask_or(rencoder_set_get(header->summarized),
						 rencoder_set_get(header->summarizing));
	had_summary = renc_mask_test(known, slot);
	if (had_summary)
	{
		RencoderWal *wal = rencoder_wal_begin(index, true);
		RencoderMetaPageData *metadata = RencoderPageGetMeta(rencoder_wal_register(wal, metabuf));
		RencoderEntry entry = rencoder_directory_entry(RencoderPageGetPayload(rencoder_wal_register(wal, dirbuf)),
													   meta, group);

		header = RencoderPageGetHeader(rencoder_wal_register(wal, buf));
		rencoder_set_remove(header->summarized, slot);
		rencoder_set_remove(header->summarizing, slot);
		entry->flags &= ~RENCODER_ENTRY_SEALED;
		entry->epoch = ++metadata->epoch;
		rencoder_wal_finish(wal);
	}
	UnlockReleaseBuffer(buf);
	UnlockReleaseBuffer(dirbuf);
	UnlockReleaseBuffer(metabuf);
	rencoder_meta_unlock_maintainer(index);
	return had_summary;
}
