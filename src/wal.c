/*
 * wal.c
 *		Logging of page changes.
 */
#include "wal.h"

#include "access/xloginsert.h"

RencoderWal *
rencoder_wal_begin(Relation index)
{
	return GenericXLogStart(index);
}

Page
rencoder_wal_register(RencoderWal *wal, Buffer buffer)
{
	return GenericXLogRegisterBuffer(wal, buffer, 0);
}

Page
rencoder_wal_register_new(RencoderWal *wal, Buffer buffer)
{
	return GenericXLogRegisterBuffer(wal, buffer, GENERIC_XLOG_FULL_IMAGE);
}

void
rencoder_wal_finish(RencoderWal *wal)
{
	(void) GenericXLogFinish(wal);
}

void
rencoder_wal_abort(RencoderWal *wal)
{
	GenericXLogAbort(wal);
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
