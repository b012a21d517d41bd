/*
 * hint_pages.c
 *		Pages of hints: query samples, counts of scans.
 */
#include "store/hint_pages.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"

#include "base/options.h"

void
rencoder_hints_ensure_pages(Relation index, RencoderRoot which, bool log)
{
	if (rencoder_space_find_root(index, which) != RENCODER_NO_BLOCK)
		return;
	if (log)
		rencoder_meta_lock_maintainer(index);
	(void) rencoder_space_make_root(index, which, RENCODER_PAGE_HINTS, rencoder_hints_npages(index, which), log);
	if (log)
		(void) rencoder_meta_unlock_maintainer(index);
}

void
rencoder_hints_make_pages(Relation index, BlockNumber heap_nblocks, bool log)
{
	if (heap_nblocks < RENCODER_HINT_MIN_HEAP)
		return;
	rencoder_hints_ensure_pages(index, RENCODER_ROOT_STATS, log);
	if (!rencoder_options_use_runs(index))
		rencoder_hints_ensure_pages(index, RENCODER_ROOT_SAMPLES, log);
}

Buffer
rencoder_hints_pin(Relation index, BlockNumber blkno)
{
	if (blkno == RENCODER_NO_BLOCK || !rencoder_meta_has_block(index, blkno))
		return InvalidBuffer;
	return ReadBufferExtended(index, MAIN_FORKNUM, blkno, RBM_ZERO_ON_ERROR, NULL);
}

bool
rencoder_hints_valid(Buffer buf)
{
	return rencoder_page_fault(BufferGetPage(buf), BufferGetBlockNumber(buf), RENCODER_PAGE_HINTS) == NULL;
}

Buffer
rencoder_hints_lock(Relation index, BlockNumber blkno, int lockmode, bool *busy)
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
	if (rencoder_hints_valid(buf))
		return buf;
	UnlockReleaseBuffer(buf);
	return InvalidBuffer;
}

/*
 * The end of all WAL that there is.  If that is where a page of it begins, PostgreSQL tells the place
 * behind a page header that is not there yet, up to which nobody can flush.
 */
static XLogRecPtr
end_of_hint_wal(void)
{
	XLogRecPtr	lsn = GetXLogInsertRecPtr();
	uint32		header = XLogSegmentOffset(lsn, wal_segment_size) < XLOG_BLCKSZ ?
		SizeOfXLogLongPHD : SizeOfXLogShortPHD;

	return lsn % XLOG_BLCKSZ == header ? lsn - header : lsn;
}

/*
 * The LSN is that of before MarkBufferDirtyHint(), which goes by the page's present one and the last
 * checkpoint to log the page or not: so it is set last, and a checkpoint that begins in between has
 * a later one.
 */
void
rencoder_hints_changed(Relation index, Buffer buf)
{
	Page		page = BufferGetPage(buf);
	XLogRecPtr	lsn = RelationNeedsWAL(index) ? end_of_hint_wal() : InvalidXLogRecPtr;

	MarkBufferDirtyHint(buf, true);
	if (PageGetLSN(page) < lsn)
		PageSetLSN(page, lsn);
	UnlockReleaseBuffer(buf);
}
