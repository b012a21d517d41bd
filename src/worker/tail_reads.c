/*
 * tail_reads.c
 *		Do queries read so much of a table's tail, or of ranges that only filters name, that
 *		something is to be done while the table grows?
 *
 * What is done costs those who put rows into the table, or the worker.  So it is done when scans
 * have read as much as that would cost at most: whatever comes then, both together are about
 * twice the lesser of the two (the rule of those who rent skis until they have paid the price of a
 * pair).  Prices are in pages whose rows are checked.
 *
 *	- Ranges of the tail that are complete are noted for little more than reading them once.
 *	- Each row that comes to a noted range is an entry of the pending list.  So the range that the
 *	  table ends in, and one ahead of it, are noted only if scans come while a range is filled;
 *	  and not if the table has grown by more than a range since the last look: then it is loaded.
 *	- To give a range of the tail filters, where an index has no runs, costs entries, too.
 *	- Filters name ranges, a run names rows.  Groups with filters are flushed when scans have read
 *	  many pages of ranges whole.
 */
#include "worker/tail_reads.h"

#include "maintain/note.h"
#include "store/sample_pages.h"
#include "store/stats_page.h"

/* To append entries for a page's rows takes as long as to check the rows of so many. */
#define PAGES_FOR_ENTRIES	30

/* To note a page that is full takes as long as to check the rows of so many. */
#define PAGES_FOR_NOTING	2

/*
 * So many scans pay for a range that is noted before it is full: each of them would read half of it,
 * and what is noted is found at once.  They pay for no more than some ranges ahead of time.
 */
#define SCANS_FOR_RANGE		8
#define MAX_RANGES_PAID		8

/* Whole ranges that scans read, in ranges, before groups of filters are flushed. */
#define RANGES_FOR_FLUSH	64

/* The counts of scans; false if there are none yet. */
static bool
read_counts(Relation index, BlockNumber nblocks, RencoderStats *stats)
{
	if (rencoder_stats_read(index, stats))
		return true;
	if (nblocks >= RENCODER_SAMPLE_MIN_HEAP)
		rencoder_space_need_root(index, RENCODER_PAGE_STATS, 1);
	return false;
}

/* Of an index without runs: all of the tail, or nothing. */
static void
look_at_filtered_tail(RencoderTailReads *reads, const RencoderMeta *meta, BlockNumber nblocks,
					  RencoderTailWork *work)
{
	if (reads->pages < (double) PAGES_FOR_ENTRIES * meta->pages_per_range)
		return;
	reads->pages = 0;
	work->end = rencoder_range_count(meta, nblocks);
}

static bool
pay_for_range(RencoderTailReads *reads)
{
	if (reads->credit < SCANS_FOR_RANGE)
		return false;
	reads->credit -= SCANS_FOR_RANGE;
	return true;
}

/* The complete ranges of the tail, or all, or one more. */
static void
look_at_noted_tail(RencoderTailReads *reads, Relation index, const RencoderMeta *meta,
				   BlockNumber nblocks, BlockNumber before, RencoderTailWork *work)
{
	uint32		ppr = meta->pages_per_range;
	uint64		last = nblocks / ppr;	/* range that the next row may come to */
	uint64		pages = work->first < last ? (last - work->first) * ppr : 0;

	work->end = work->first;
	if (pages > 0 && reads->pages >= (double) PAGES_FOR_NOTING * pages)
	{
		reads->pages = 0;
		work->end = last;
	}
	if (nblocks > before + ppr || (pages > 0 && work->end != last))
		return;
	for (uint64 range = Max(last, work->first); range <= last + 1; range++)
	{
		if (rencoder_group_header_if_taking_entries(index, meta, range) != RENCODER_NO_BLOCK)
			continue;
		if (!pay_for_range(reads))
			return;
		work->end = range + 1;
	}
}

RencoderTailWork
rencoder_tail_reads_look(RencoderTailReads *reads, Relation index, const RencoderMeta *meta,
						 BlockNumber nblocks, bool notes)
{
	RencoderTailWork work = {0};
	BlockNumber before = reads->nblocks;
	bool		known = reads->known;
	RencoderStats stats;
	int64		scans;

	reads->looks = Min(reads->looks + 1, RENCODER_FIRST_LOOKS);
	if (!read_counts(index, nblocks, &stats))
		return work;
	scans = known ? Max(stats.count[RENCODER_STATS_SCANS] - reads->scans, 0) : 0;
	if (known)
		reads->filtered += Max(stats.count[RENCODER_STATS_WHOLE_PAGES] - reads->whole, 0);
	reads->credit = Min(reads->credit + scans, MAX_RANGES_PAID * SCANS_FOR_RANGE);
	reads->known = true;
	reads->scans = stats.count[RENCODER_STATS_SCANS];
	reads->whole = stats.count[RENCODER_STATS_WHOLE_PAGES];
	reads->nblocks = nblocks;
	reads->busy = scans > 0 || (notes && reads->credit >= SCANS_FOR_RANGE);
	if (!reads->busy)
		return work;
	work.first = work.end = rencoder_note_tail(index, meta, nblocks);
	if (work.first * meta->pages_per_range < nblocks)
		reads->pages += scans * (double) (nblocks - work.first * meta->pages_per_range);
	if (notes)
		look_at_noted_tail(reads, index, meta, nblocks, before, &work);
	else
		look_at_filtered_tail(reads, meta, nblocks, &work);
	if (notes && reads->filtered >= (double) RANGES_FOR_FLUSH * meta->pages_per_range)
	{
		reads->filtered = 0;
		work.flush = true;
	}
	return work;
}
