/*
 * wal.c
 *		Logging of page changes.
 */
#include "wal.h"

#include "access/xloginsert.h"

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

void
rencoder_wal_abort(RencoderWal *wal)
{
	Assert(wal->generic != NULL);
	GenericXLogAbort(wal->generic);
	pfree(wal);
}

void
rencoder_wal_write_fresh(Relation index, BlockNumber blkno, uint16 page_id,
						 const char *payload, bool log)
{
	Buffer		buf = ReadBufferExtended(index, MAIN_FORKNUM, blkno,
										 RBM_ZERO_AND_LOCK, NULL);
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
