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
register_buffer(RencoderWal *wal, Buffer buffer, int flags)
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
	return register_buffer(wal, buffer, 0);
}

Page
rencoder_wal_register_new(RencoderWal *wal, Buffer buffer)
{
	return register_buffer(wal, buffer, GENERIC_XLOG_FULL_IMAGE);
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
 * The records of bits.
 *
 * GenericXLogRegisterBuffer() copies a page and GenericXLogFinish() compares it
 * with the copy byte by byte: for the dozen bytes that an insert changes on four
 * pages, this is most of what the insert costs.  We know these bytes, so we write
 * the delta ourselves.  The record is the same to the byte, with the same
 * resource manager and the same redo function:
 *
 *		for each block:  | offset | length | data .. | offset | length | ..
 *						 (OffsetNumbers, unaligned; from the start of the page)
 *
 * as in generic_xlog.c, which has been alike from 9.6 to 18.  A server that would
 * read something else there is noticed by test/t/003_wal_consistency.pl.
 * Fragments that have no more than a fragment's header between them are written as
 * one.
 *
 * generic_redo() zeroes what lies between pd_lower and pd_upper, and so would
 * GenericXLogFinish() of a later record.  A bit in a band of a window page that
 * was not in use yet raises pd_lower first (INV-5), on the page, so that an
 * image of it has the bit, and in the delta.
 */
#define FRAGMENT_HEADER_SIZE	(2 * sizeof(OffsetNumber))

/*
 * Bytes of a delta: each fragment but the first saves at least its own size; and
 * for each page pd_lower.
 */
#define MAX_DELTA_SIZE \
	(RENC_MAX_POSITIONS * (FRAGMENT_HEADER_SIZE + 1) + \
	 RENCODER_WAL_MAX_PAGES * (FRAGMENT_HEADER_SIZE + sizeof(LocationIndex)))

StaticAssertDecl(sizeof(OffsetNumber) == 2 && BLCKSZ <= PG_UINT16_MAX,
				 "fragments of generic WAL have two-byte offsets");
StaticAssertDecl(RENCODER_WAL_MAX_PAGES <= XLR_NORMAL_MAX_BLOCK_ID + 1,
				 "a record of bits must fit without XLogEnsureRecordSpace()");

static char *
write_fragment(char *delta, Page page, OffsetNumber start, OffsetNumber end)
{
	OffsetNumber length = end - start;

	memcpy(delta, &start, sizeof(start));
	memcpy(delta + sizeof(start), &length, sizeof(length));
	memcpy(delta + FRAGMENT_HEADER_SIZE, (char *) page + start, length);
	return delta + FRAGMENT_HEADER_SIZE + length;
}

/* Writes the delta of a page whose bits are set; returns its end. */
static char *
write_delta(char *delta, Page page, const RencoderBits *bits, int n)
{
	OffsetNumber start = bits[0].offset;
	OffsetNumber end = start + 1;

	for (int i = 1; i < n; i++)
	{
		if (bits[i].offset > end + FRAGMENT_HEADER_SIZE)
		{
			delta = write_fragment(delta, page, start, end);
			start = bits[i].offset;
		}
		end = bits[i].offset + 1;
	}
	return write_fragment(delta, page, start, end);
}

void
rencoder_wal_set_bits(Relation index, const RencoderBitRecord *record)
{
	char		delta[MAX_DELTA_SIZE];
	char	   *ptr = delta;
	bool		log = RelationNeedsWAL(index);
	int			first = 0;

	if (log)
		XLogBeginInsert();
	START_CRIT_SECTION();
	for (int i = 0; i < record->nbuffers; i++)
	{
		Buffer		buf = record->buffer[i];
		Page		page = BufferGetPage(buf);
		const RencoderBits *bits = &record->bits[first];
		int			n = record->end[i] - first;
		char	   *start = ptr;
		bool		raised = rencoder_page_cover(page, bits[n - 1].offset);

		for (int b = 0; b < n; b++)
			((uint8 *) page)[bits[b].offset] |= bits[b].bits;
		MarkBufferDirty(buf);
		first = record->end[i];
		if (!log)
			continue;
		if (raised)
			ptr = write_fragment(ptr, page, offsetof(PageHeaderData, pd_lower),
								 offsetof(PageHeaderData, pd_lower) + sizeof(LocationIndex));
		ptr = write_delta(ptr, page, bits, n);
		XLogRegisterBuffer(i, buf, REGBUF_STANDARD);
		XLogRegisterBufData(i, start, ptr - start);
	}
	Assert(ptr <= delta + sizeof(delta));
	if (log)
	{
		XLogRecPtr	lsn = XLogInsert(RM_GENERIC_ID, 0);

		for (int i = 0; i < record->nbuffers; i++)
			PageSetLSN(BufferGetPage(record->buffer[i]), lsn);
	}
	END_CRIT_SECTION();
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

		end = write_fragment(delta, page, offsetof(PageHeaderData, pd_lower),
							 offsetof(PageHeaderData, pd_lower) + sizeof(LocationIndex));
		end = write_fragment(end, page, start, start + size);
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
