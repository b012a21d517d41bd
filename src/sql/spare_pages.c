/*
 * spare_pages.c
 *		The pages that were in the pending list and wait to be used again.
 */
#include "sql/spare_pages.h"

#include "miscadmin.h"

BlockNumber
rencoder_spare_next(Relation index, BlockNumber blkno, const char **fault)
{
	BlockNumber next;
	Buffer		buf;

	*fault = NULL;
	if (blkno >= RelationGetNumberOfBlocks(index))
	{
		*fault = "The list of spare pages goes on behind the end of the index.";
		return RENCODER_NO_BLOCK;
	}
	buf = rencoder_page_try_read(index, blkno, RENCODER_PAGE_PENDING, fault);
	if (!BufferIsValid(buf))
		return RENCODER_NO_BLOCK;
	next = RencoderPageGetPending(BufferGetPage(buf))->next;
	UnlockReleaseBuffer(buf);
	return next;
}

uint64
rencoder_spare_count(Relation index)
{
	for (;;)
	{
		RencoderMetaPageData *metadata = rencoder_meta_copy(index);
		BlockNumber most = RelationGetNumberOfBlocks(index);
		BlockNumber blkno = metadata->pending_spare;
		BlockNumber last = RENCODER_META_BLKNO;
		const char *fault = NULL;
		uint64		n = 0;

		for (; blkno != RENCODER_NO_BLOCK && fault == NULL; n++)
		{
			CHECK_FOR_INTERRUPTS();
			last = blkno;
			if (n > most)
				fault = "The list of spare pages is circular.";
			else
				blkno = rencoder_spare_next(index, blkno, &fault);
		}
		if (fault == NULL)
			return n;
		if (!rencoder_pending_moved(index, metadata))
			rencoder_page_corrupted(index, last, fault);
		pfree(metadata);
	}
}
