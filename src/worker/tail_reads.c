/*
 * tail_reads.c
 *		Do queries read so much of a table's tail that it is to be summarized while the table
 *		grows?
 *
 * Each scan reads all of the tail.  To summarize the range that the table ends in costs those
 * who fill it, as each row is an entry of the pending list then.  So the tail is summarized when
 * scans have read as much of it as that would cost at most: whatever comes then, both together are
 * about twice the lesser of the two (the rule of those who rent skis until they have paid the price
 * of a pair).
 *
 * The price is in pages.  To check the rows of a page takes as long as to append entries for a part
 * of them, whatever their size is, so a range costs as many times its pages.
 */
#include "worker/tail_reads.h"

#include "store/sample_pages.h"
#include "store/stats_page.h"

/* To append entries for a page's rows takes as long as to check the rows of so many. */
#define PAGES_FOR_ENTRIES	30

/* No tail is longer, while the worker does its work. */
#define TAIL_RANGES			(2 * RENC_SLICE_RANGES)

/* The counts of scans; false if there are none yet. */
static bool
read_counts(Relation index, BlockNumber nblocks, RencoderStats *stats)
{
	if (rencoder_stats_read(index, stats))
		return true;
	if (nblocks >= RENCODER_SAMPLE_MIN_HEAP && rencoder_stats_page(index) == RENCODER_NO_BLOCK)
	{
		rencoder_meta_lock_maintainer(index);
		rencoder_stats_make(index, true);
		rencoder_meta_unlock_maintainer(index);
	}
	return false;
}

/* The range that the tail begins with; that behind the last one, if there is no tail. */
static uint64
tail_first(Relation index, const RencoderMeta *meta, BlockNumber nblocks)
{
	uint64		nranges = rencoder_range_count(meta, nblocks);
	uint64		first = nranges;

	while (first > 0 && nranges - first < TAIL_RANGES &&
		   rencoder_group_header_if_summarized(index, meta, first - 1) == RENCODER_NO_BLOCK)
		first--;
	return first;
}

bool
rencoder_tail_reads_look(RencoderTailReads *reads, Relation index, const RencoderMeta *meta,
						 BlockNumber nblocks, uint64 *first)
{
	RencoderStats stats;
	uint64		blocks_before;
	int64		scans;

	if (!read_counts(index, nblocks, &stats))
		return false;
	scans = stats.count[RENCODER_STATS_SCANS];
	reads->busy = reads->known && scans > reads->scans;
	if (reads->busy)
	{
		*first = tail_first(index, meta, nblocks);
		blocks_before = *first * meta->pages_per_range;
		if (blocks_before < nblocks)
			reads->pages += (double) (scans - reads->scans) * (double) (nblocks - blocks_before);
	}
	reads->known = true;
	reads->scans = scans;
	if (!reads->busy || reads->pages < (double) PAGES_FOR_ENTRIES * meta->pages_per_range)
		return false;
	reads->pages = 0;
	return true;
}
