/*
 * stats_page.c
 *		Counts of scans, kept in the index.
 */
#include "store/stats_page.h"

#include "access/xlog.h"
#include "utils/timestamp.h"

/* What a page says; zeros if that is not valid. */
static RencoderStats
stats_of_page(Page page)
{
	const RencoderStatsPageData *data = RencoderPageGetStats(page);
	RencoderStats none = {0};

	return data->check == rencoder_checksum(&data->stats, sizeof(data->stats)) ? data->stats : none;
}

static void
put_stats(Page page, const RencoderStats *stats)
{
	RencoderStatsPageData *data = RencoderPageGetStats(page);

	data->stats = *stats;
	data->check = rencoder_checksum(stats, sizeof(*stats));
}

bool
rencoder_stats_read(Relation index, RencoderStats *stats)
{
	Buffer		buf = rencoder_hints_lock(index, rencoder_space_find_root(index, RENCODER_PAGE_STATS),
										  RENCODER_PAGE_STATS, BUFFER_LOCK_SHARE, NULL);

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
		rencoder_hints_lock(index, blkno, RENCODER_PAGE_STATS, BUFFER_LOCK_EXCLUSIVE,
							wait ? NULL : &busy);
	RencoderStats sum;

	if (!BufferIsValid(buf))
		return !busy;
	sum = stats_of_page(BufferGetPage(buf));
	if (sum.since == 0)
		sum.since = GetCurrentTimestamp();
	for (int i = 0; i < RENCODER_STATS_COUNTS; i++)
		sum.count[i] += stats->count[i];
	put_stats(BufferGetPage(buf), &sum);
	rencoder_hints_changed(index, buf);
	return true;
}

void
rencoder_stats_reset(Relation index)
{
	Buffer		buf = rencoder_hints_pin(index, rencoder_space_find_root(index, RENCODER_PAGE_STATS));
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
