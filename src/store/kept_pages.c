/*
 * kept_pages.c
 *		Pages that a scan keeps for its rescans, and those that it has fetched ahead.
 */
#include "store/kept_pages.h"

#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "utils/spccache.h"

/* After so many pages that were in shared buffers, none is fetched until a page is read that is not. */
#define MOST_IN_VAIN	64

static int	in_vain;
static int64 reads;				/* of the session, when it was looked last */

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
	if (kept != NULL && kept->keeps && kept->n < RENCODER_KEPT_PAGES)
	{
		if (kept->n == kept->nrooms)
			kept->page[kept->nrooms++] = MemoryContextAlloc(kept->context, BLCKSZ);
		kept->blkno[kept->n] = blkno;
		copy = kept->page[kept->n++];
	}
	memcpy(copy, BufferGetPage(buf), BLCKSZ);
	UnlockReleaseBuffer(buf);
	return copy;
}

void
rencoder_kept_prefetch_begin(RencoderPrefetch *prefetch, Relation index, RencoderKept *kept)
{
	prefetch->kept = kept;
	prefetch->index = index;
	prefetch->distance = (uint32) get_tablespace_io_concurrency(index->rd_rel->reltablespace);
}

bool
rencoder_kept_prefetch_is_vain(void)
{
	if (reads != pgBufferUsage.shared_blks_read)
		in_vain = 0;
	reads = pgBufferUsage.shared_blks_read;
	return in_vain >= MOST_IN_VAIN;
}

void
rencoder_kept_prefetch_page(const RencoderPrefetch *prefetch, BlockNumber blkno)
{
	if (rencoder_kept_prefetch_is_vain() || prefetch->distance == 0 || blkno == RENCODER_NO_BLOCK ||
		rencoder_kept_find(prefetch->kept, blkno) != NULL ||
		!rencoder_meta_has_block(prefetch->index, blkno))
		return;
	in_vain = PrefetchBuffer(prefetch->index, MAIN_FORKNUM, blkno).initiated_io ? 0 : in_vain + 1;
}
