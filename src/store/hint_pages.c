/*
 * hint_pages.c
 *		Pages of hints: query samples, counts of scans, facts.
 */
#include "store/hint_pages.h"

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
