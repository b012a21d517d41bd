/*
 * hint_pages.c
 *		Pages of hints: query samples, counts of scans, facts.
 */
#include "store/hint_pages.h"

static BlockNumber *
root_in(RencoderMetaPageData *metadata, uint16 page_id)
{
	if (page_id == RENCODER_PAGE_SAMPLES)
		return &metadata->sample_root;
	return page_id == RENCODER_PAGE_STATS ? &metadata->stats_page : &metadata->fact_root;
}

BlockNumber
rencoder_hints_root(Relation index, uint16 page_id)
{
	Buffer		buf = rencoder_meta_lock(index, BUFFER_LOCK_SHARE);
	BlockNumber root = *root_in(RencoderPageGetMeta(BufferGetPage(buf)), page_id);

	UnlockReleaseBuffer(buf);
	return root;
}

void
rencoder_hints_make(Relation index, uint16 page_id, uint32 npages, bool log)
{
	BlockNumber root;
	RencoderWal *wal;
	Buffer		buf;

	if (rencoder_hints_root(index, page_id) != RENCODER_NO_BLOCK)
		return;
	root = log ? rencoder_space_alloc(index, npages).start : rencoder_space_extend(index, npages);
	for (uint32 i = 0; i < npages; i++)
		rencoder_wal_write_fresh(index, root + i, page_id, NULL, log);
	buf = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(index, log);
	*root_in(RencoderPageGetMeta(rencoder_wal_register(wal, buf)), page_id) = root;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}

Buffer
rencoder_hints_pin(Relation index, BlockNumber blkno)
{
	if (blkno == RENCODER_NO_BLOCK || !rencoder_meta_has_block(index, blkno))
		return InvalidBuffer;
	return ReadBufferExtended(index, MAIN_FORKNUM, blkno, RBM_ZERO_ON_ERROR, NULL);
}

bool
rencoder_hints_valid(Buffer buf, uint16 page_id)
{
	return rencoder_page_fault(BufferGetPage(buf), BufferGetBlockNumber(buf), page_id) == NULL;
}

Buffer
rencoder_hints_lock(Relation index, BlockNumber blkno, uint16 page_id, int lockmode, bool *busy)
{
	Buffer		buf = rencoder_hints_pin(index, blkno);

	if (!BufferIsValid(buf))
		return InvalidBuffer;
	if (busy == NULL)
		LockBuffer(buf, lockmode);
	else if (!ConditionalLockBuffer(buf))
	{
		*busy = true;
		ReleaseBuffer(buf);
		return InvalidBuffer;
	}
	if (rencoder_hints_valid(buf, page_id))
		return buf;
	UnlockReleaseBuffer(buf);
	return InvalidBuffer;
}
