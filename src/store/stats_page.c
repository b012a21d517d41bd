/*
 * stats_page.c
 *		Counts of scans and of WAL, kept in the index.
 */
#include "store/stats_page.h"

#include "access/xlog.h"
#include "utils/timestamp.h"

#include "base/subtransaction.h"

static uint32
check_of_stats(const RencoderStats *stats)
{
	return rencoder_checksum(stats, offsetof(RencoderStats, check));
}

/* What a page says; zeros if that is not valid. */
static RencoderStats
stats_of_page(Page page)
{
	const RencoderStats *stats = RencoderPageGetStats(page);
	RencoderStats none = {0};

	return stats->check == check_of_stats(stats) ? *stats : none;
}

static void
put_stats(Page page, const RencoderStats *stats)
{
	*RencoderPageGetStats(page) = *stats;
	RencoderPageGetStats(page)->check = check_of_stats(stats);
}

bool
rencoder_stats_read(Relation index, RencoderStats *stats)
{
	Buffer		buf = rencoder_hints_lock(index, rencoder_space_find_root(index, RENCODER_ROOT_STATS),
										  BUFFER_LOCK_SHARE, NULL);

	if (!BufferIsValid(buf))
		return false;
	*stats = stats_of_page(BufferGetPage(buf));
	UnlockReleaseBuffer(buf);
	return true;
}

bool
rencoder_stats_add(Relation index, BlockNumber blkno, const RencoderStats *stats, bool wait)
{
	bool		busy = false;
	Buffer		buf = RecoveryInProgress() ? InvalidBuffer :
		rencoder_hints_lock(index, blkno, BUFFER_LOCK_EXCLUSIVE, wait ? NULL : &busy);
	RencoderStats sum;

	if (!BufferIsValid(buf))
		return !busy;
	sum = stats_of_page(BufferGetPage(buf));
	if (sum.since == 0)
		sum.since = GetCurrentTimestamp();
	for (int i = 0; i < RENCODER_STATS_COUNTS; i++)
		sum.count[i] += stats->count[i];
	sum.wal += stats->wal;
	put_stats(BufferGetPage(buf), &sum);
	rencoder_hints_changed(index, buf);
	return true;
}

typedef struct WalWork
{
	Relation	index;
	int64		bytes;
} WalWork;

static void
add_wal_work(void *arg)
{
	const WalWork *work = (const WalWork *) arg;
	RencoderStats stats = {.wal = work->bytes};

	(void) rencoder_stats_add(work->index, rencoder_space_find_root(work->index, RENCODER_ROOT_STATS), &stats,
							  true);
}

void
rencoder_stats_unlock_maintainer(Relation index)
{
	WalWork		work = {index, (int64) rencoder_meta_unlock_maintainer(index)};

	if (work.bytes == 0)
		return;
	if (rencoder_may_begin_subtransaction())
		(void) rencoder_best_effort(add_wal_work, &work, index, "add the count of WAL");
	else
		add_wal_work(&work);
}

void
rencoder_stats_reset(Relation index)
{
	Buffer		buf = rencoder_hints_pin(index, rencoder_space_find_root(index, RENCODER_ROOT_STATS));
	RencoderStats none = {.since = GetCurrentTimestamp()};
	RencoderWal *wal;
	Page		image;

	if (!BufferIsValid(buf))
		return;
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(index, true);
	image = rencoder_wal_register_new(wal, buf);
	rencoder_page_init(image, BufferGetBlockNumber(buf), RENCODER_PAGE_HINTS);
	put_stats(image, &none);
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}
