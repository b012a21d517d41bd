/*
 * kept_pages.c
 *		Copies of pages that a scan keeps for its rescans.
 */
#include "store/kept_pages.h"

#include "storage/bufmgr.h"

Page
rencoder_kept_read(RencoderKept *kept, Relation index, BlockNumber blkno, uint16 page_id, char *room,
				   int64 *npages, const char **fault)
{
	Page		copy = kept == NULL ? NULL : rencoder_kept_find(kept, blkno);
	Buffer		buf;

	/* A damaged page may name one of another type. */
	if (copy != NULL && rencoder_page_fault(copy, blkno, page_id) == NULL)
		return copy;
	if (npages != NULL)
		(*npages)++;
	buf = fault != NULL ? rencoder_page_try_read(index, blkno, page_id, fault) :
		rencoder_page_read(index, blkno, BUFFER_LOCK_SHARE, page_id);
	if (!BufferIsValid(buf))
		return NULL;
	copy = room;
	if (kept != NULL && kept->page != NULL && kept->n < RENCODER_KEPT_PAGES)
	{
		kept->blkno[kept->n] = blkno;
		copy = kept->page[kept->n++].data;
	}
	memcpy(copy, BufferGetPage(buf), BLCKSZ);
	UnlockReleaseBuffer(buf);
	return copy;
}
