/*
 * wal.c
 *		Logging of page changes.
 */
#include "store/wal.h"

#include "access/xloginsert.h"
#include "miscadmin.h"

struct RencoderWal
{
	GenericXLogState *generic;	/* NULL: in place, not logged */
	int			nbuffers;
	Buffer		buffer[RENCODER_WAL_MAX_PAGES];
};

RencoderWal *
rencoder_wal_begin(Relation index, bool log)
{
	RencoderWal *wal = palloc0(sizeof(RencoderWal));

	if (log)
		wal->generic = GenericXLogStart(index);
	return wal;
}

static Page
register_wal_buffer(RencoderWal *wal, Buffer buffer, int flags)
{
	if (wal->generic)
		return GenericXLogRegisterBuffer(wal->generic, buffer, flags);

	if (wal->nbuffers == RENCODER_WAL_MAX_PAGES)
		elog(ERROR, "too many pages in one record");
	wal->buffer[wal->nbuffers++] = buffer;
	return BufferGetPage(buffer);
}

Page
rencoder_wal_register(RencoderWal *wal, Buffer buffer)
{
	return register_wal_buffer(wal, buffer, 0);
}

Page
rencoder_wal_register_new(RencoderWal *wal, Buffer buffer)
{
	return register_wal_buffer(wal, buffer, GENERIC_XLOG_FULL_IMAGE);
}

void
rencoder_wal_finish(RencoderWal *wal)
{
	if (wal->generic)
		(void) GenericXLogFinish(wal->generic);
	for (int i = 0; i < wal->nbuffers; i++)
		MarkBufferDirty(wal->buffer[i]);
	pfree(wal);
}

/*
 * The records of entries.
 *
 * GenericXLogRegisterBuffer() copies a page and GenericXLogFinish() compares it
 * with the copy byte by byte: for the few bytes that an insert appends,
 * this is most of what the insert costs.  We know these bytes, so we write
 * the delta ourselves.  The record is the same to the byte, with the same
 * resource manager and the same redo function:
 *
 *		for each block:  | offset | length | data .. | offset | length | ..
 *						 (OffsetNumbers, unaligned; from the start of the page)
 *
 * as in generic_xlog.c, which has been alike from 9.6 to 18.  A server that would
 * read something else there is noticed by test/t/003_wal_consistency.pl.
 */
#define FRAGMENT_HEADER_SIZE	(2 * sizeof(OffsetNumber))

StaticAssertDecl(sizeof(OffsetNumber) == 2 && BLCKSZ <= PG_UINT16_MAX,
				 "fragments of generic WAL have two-byte offsets");

static char *
write_wal_fragment(char *delta, Page page, OffsetNumber start, OffsetNumber end)
{
	OffsetNumber length = end - start;

	memcpy(delta, &start, sizeof(start));
	memcpy(delta + sizeof(start), &length, sizeof(length));
	memcpy(delta + FRAGMENT_HEADER_SIZE, (char *) page + start, length);
	return delta + FRAGMENT_HEADER_SIZE + length;
}

void
rencoder_wal_append(Relation index, Buffer buffer, const void *data, uint16 size)
{
	Page		page = BufferGetPage(buffer);
	PageHeader	phdr = (PageHeader) page;
	LocationIndex start = phdr->pd_lower;
	char	   *delta = palloc(2 * FRAGMENT_HEADER_SIZE + sizeof(LocationIndex) + size);
	char	   *end;
	bool		log = RelationNeedsWAL(index);

	Assert((uint32) start + size <= phdr->pd_upper);
	if (log)
		XLogBeginInsert();
	START_CRIT_SECTION();
	memcpy((char *) page + start, data, size);
	phdr->pd_lower = start + size;
	MarkBufferDirty(buffer);
	if (log)
	{
		XLogRecPtr	lsn;

		end = write_wal_fragment(delta, page, offsetof(PageHeaderData, pd_lower),
								 offsetof(PageHeaderData, pd_lower) + sizeof(LocationIndex));
		end = write_wal_fragment(end, page, start, start + size);
		XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
		XLogRegisterBufData(0, delta, end - delta);

		/* A macro, which looks at its argument twice. */
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		PageSetLSN(page, lsn);
	}
	END_CRIT_SECTION();
	pfree(delta);
}

void
rencoder_wal_write_fresh(Relation index, BlockNumber blkno, uint16 page_id,
						 const char *payload, bool log)
{
	Buffer		buf = rencoder_page_renew(index, blkno);
	Page		page = BufferGetPage(buf);

	START_CRIT_SECTION();
	rencoder_page_init(page, blkno, page_id);
	if (payload)
		memcpy(RencoderPageGetPayload(page), payload, RENCODER_PAYLOAD_SIZE);

	if (page_id == RENCODER_PAGE_RUN || page_id == RENCODER_PAGE_RUN_INFO)
		rencoder_page_trim_lower(page);
	MarkBufferDirty(buf);
	if (log && RelationNeedsWAL(index))
		log_newpage_buffer(buf, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buf);
}

void
rencoder_wal_log_fork(Relation index, ForkNumber fork)
{
	if (RelationNeedsWAL(index) || fork == INIT_FORKNUM)
		log_newpage_range(index, fork, 0,
						  RelationGetNumberOfBlocksInFork(index, fork), true);
}
