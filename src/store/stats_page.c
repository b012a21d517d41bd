/*
 * stats_page.c
 *		Counts of scans, kept in the index.
 */
#include "store/stats_page.h"

#include "access/xlog.h"
#include "port/pg_crc32c.h"
#include "utils/timestamp.h"

BlockNumber
rencoder_stats_page(Relation index)
{
	Buffer		buf = rencoder_meta_lock(index, BUFFER_LOCK_SHARE);
	BlockNumber blkno = RencoderPageGetMeta(BufferGetPage(buf))->stats_page;

	UnlockReleaseBuffer(buf);
	return blkno;
}

static uint32
stats_check(const RencoderStats *stats)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, stats, sizeof(*stats));
	FIN_CRC32C(crc);
	return crc;
}

/* The page, pinned; a damaged one is zeroed, with a warning.  The metapage may be damaged, too. */
static Buffer
read_stats_page(Relation index, BlockNumber blkno)
{
	if (blkno == RENCODER_NO_BLOCK || blkno >= RelationGetNumberOfBlocks(index))
		return InvalidBuffer;
	return ReadBufferExtended(index, MAIN_FORKNUM, blkno, RBM_ZERO_ON_ERROR, NULL);
}

static bool
is_stats_page(Buffer buf)
{
	return rencoder_page_fault(BufferGetPage(buf), BufferGetBlockNumber(buf),
							   RENCODER_PAGE_STATS) == NULL;
}

/* What a page says; zeros if that is not valid. */
static RencoderStats
stats_of_page(Page page)
{
	const RencoderStatsPageData *data = RencoderPageGetStats(page);
	RencoderStats none = {0};

	return data->check == stats_check(&data->stats) ? data->stats : none;
}

static void
put_stats(Page page, const RencoderStats *stats)
{
	RencoderStatsPageData *data = RencoderPageGetStats(page);

	data->stats = *stats;
	data->check = stats_check(stats);
}

void
rencoder_stats_make(Relation index, bool log)
{
	BlockNumber blkno;
	RencoderWal *wal;
	Buffer		buf;

	if (rencoder_stats_page(index) != RENCODER_NO_BLOCK)
		return;
	blkno = log ? rencoder_space_alloc(index, 1).start : rencoder_space_extend(index, 1);
	rencoder_wal_write_fresh(index, blkno, RENCODER_PAGE_STATS, NULL, log);
	buf = rencoder_meta_lock(index, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(index, log);
	RencoderPageGetMeta(rencoder_wal_register(wal, buf))->stats_page = blkno;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}

bool
rencoder_stats_read(Relation index, RencoderStats *stats)
{
	Buffer		buf = read_stats_page(index, rencoder_stats_page(index));
	bool		found;

	if (!BufferIsValid(buf))
		return false;
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	found = is_stats_page(buf);
	if (found)
		*stats = stats_of_page(BufferGetPage(buf));
	UnlockReleaseBuffer(buf);
	return found;
}

bool
rencoder_stats_add(Relation index, BlockNumber blkno, const RencoderStats *stats, bool wait)
{
	Buffer		buf = RecoveryInProgress() ? InvalidBuffer : read_stats_page(index, blkno);

	if (!BufferIsValid(buf))
		return true;
	if (wait)
		LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	else if (!ConditionalLockBuffer(buf))
	{
		ReleaseBuffer(buf);
		return false;
	}
	if (is_stats_page(buf))
	{
		RencoderStats sum = stats_of_page(BufferGetPage(buf));

		if (sum.since == 0)
			sum.since = GetCurrentTimestamp();
		for (int i = 0; i < RENCODER_STATS_COUNTS; i++)
			sum.count[i] += stats->count[i];
		put_stats(BufferGetPage(buf), &sum);
		MarkBufferDirtyHint(buf, true);
	}
	UnlockReleaseBuffer(buf);
	return true;
}

void
rencoder_stats_reset(Relation index)
{
	Buffer		buf = read_stats_page(index, rencoder_stats_page(index));
	RencoderStats none = {.since = GetCurrentTimestamp()};
	RencoderWal *wal;
	Page		image;

	if (!BufferIsValid(buf))
		return;
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(index, true);
	image = rencoder_wal_register_new(wal, buf);
	rencoder_page_init(image, BufferGetBlockNumber(buf), RENCODER_PAGE_STATS);
	put_stats(image, &none);
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}
