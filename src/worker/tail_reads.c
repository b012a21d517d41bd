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
 *	- Ranges of the tail that are complete are noted for little more than reading them once.  Scans
 *	  that find nothing there to read pay for those that will come, up to a group, which is then
 *	  read for a run anyway: so where queries are asked, they need not wait for each load to be read
 *	  in vain.  For the same reason an index that was asked before pays for a group in advance, and
 *	  for the range that the table ends in, which is noted when the table is quiet anyway.
 *	- Each row that comes to a noted range is an entry of the pending list.  So the range that the
 *	  table ends in, and one ahead of it, are noted only if scans come while a range is filled;
 *	  and not if the table grows by more than a range between two looks: then it is loaded.
 *	- To give a range of the tail filters, where an index has no runs, costs entries, too.
 *	- Filters name ranges, a run names rows.  Groups with filters are flushed when scans have read
 *	  many pages of ranges whole.
 */
#include "worker/tail_reads.h"

#include "utils/timestamp.h"

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

/* What scans pay at most for ranges of the tail, which is a group at most, and those to come. */
#define PAID_FOR_GROUP(ppr)	((double) PAGES_FOR_NOTING * RENC_GROUP_RANGES * (ppr))

/* A measurement takes so long, at least: rows come by fits and starts. */
#define MEASURE_MS			20

/* What is left of a growth after each. */
#define FADING				0.8

/* Before the second one: as if the table were loaded. */
#define UNKNOWN_GROWTH		((double) MaxBlockNumber)

/* Whole ranges that scans read, in ranges, before groups of filters are flushed. */
#define RANGES_FOR_FLUSH	64

void
rencoder_tail_growth_measure(RencoderGrowth *growth, BlockNumber nblocks)
{
	TimestampTz now = GetCurrentTimestamp();
	long		ms = TimestampDifferenceMilliseconds(growth->since, now);

	if (growth->since != 0 && ms < MEASURE_MS)
		return;
	if (growth->since == 0)
		growth->now = UNKNOWN_GROWTH;
	else if (nblocks > growth->nblocks)
		growth->now = (nblocks - growth->nblocks) * (double) RENCODER_LOOK_MS / ms;
	else
		growth->now = 0;
	if (growth->since == 0 || growth->lately == UNKNOWN_GROWTH)
		growth->lately = growth->now;
	else
		growth->lately = Max(growth->now, growth->lately * FADING);
	growth->since = now;
	growth->nblocks = nblocks;
}

uint64
rencoder_tail_complete_ranges(const RencoderMeta *meta, uint64 range)
{
	uint64		slack = meta->pages_per_range >= 32 ? 1 : 2;

	return range < slack ? 0 : range - slack;
}

/* The counts of scans; false if there are none yet. */
static bool
read_counts_of_tail(Relation index, BlockNumber nblocks, RencoderStats *stats)
{
	if (rencoder_stats_read(index, stats))
		return true;
	if (nblocks >= RENCODER_SAMPLE_MIN_HEAP)
		rencoder_space_ensure_root(index, RENCODER_PAGE_STATS, 1);
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
pay_for_tail_range(RencoderTailReads *reads)
{
	if (reads->credit < SCANS_FOR_RANGE)
		return false;
	reads->credit -= SCANS_FOR_RANGE;
	return true;
}

/* The complete ranges of the tail as far as they are paid for, or all, or one more. */
static void
look_at_noted_tail(RencoderTailReads *reads, Relation index, const RencoderMeta *meta,
				   BlockNumber nblocks, bool loaded, RencoderTailWork *work)
{
	double		price = (double) PAGES_FOR_NOTING * meta->pages_per_range;
	uint64		last = nblocks / meta->pages_per_range; /* the next row may come
														 * there */
	uint64		complete = loaded ? rencoder_tail_complete_ranges(meta, last) : last;

	if (work->first < complete)
	{
		uint64		paid = (uint64) Min(reads->pages / price, (double) (complete - work->first));

		work->end = work->first + paid;
		reads->pages -= price * paid;
	}
	work->soon = loaded && reads->pages >= price;
	if (loaded || work->end < last)
		return;
	for (uint64 range = Max(last, work->first); range <= last + 1; range++)
	{
		if (rencoder_group_header_if_taking_entries(index, meta, range) != RENCODER_NO_BLOCK)
			continue;
		if (!pay_for_tail_range(reads))
			return;
		work->end = range + 1;
	}
}

RencoderTailWork
rencoder_tail_reads_look(RencoderTailReads *reads, Relation index, const RencoderMeta *meta,
						 BlockNumber nblocks, const RencoderGrowth *growth, bool notes)
{
	RencoderTailWork work = {0};
	uint32		ppr = meta->pages_per_range;
	bool		known = reads->known;
	RencoderStats stats;
	BlockNumber tail;
	int64		scans;

	if (!read_counts_of_tail(index, nblocks, &stats))
		return work;
	scans = known ? Max(stats.count[RENCODER_STATS_SCANS] - reads->scans, 0) : 0;
	if (!known && notes && stats.count[RENCODER_STATS_SCANS] >= SCANS_FOR_RANGE)
	{
		reads->pages = PAID_FOR_GROUP(ppr);
		reads->credit = SCANS_FOR_RANGE;
	}
	if (known)
		reads->filtered += Max(stats.count[RENCODER_STATS_WHOLE_PAGES] - reads->whole, 0);
	reads->credit = Min(reads->credit + scans, MAX_RANGES_PAID * SCANS_FOR_RANGE);
	reads->known = true;
	reads->scans = stats.count[RENCODER_STATS_SCANS];
	reads->whole = stats.count[RENCODER_STATS_WHOLE_PAGES];
	reads->busy = scans > 0 || (notes && (reads->credit >= SCANS_FOR_RANGE ||
										  reads->pages >= (double) PAGES_FOR_NOTING * ppr));
	if (!reads->busy)
		return work;
	work.first = work.end = rencoder_note_find_tail(index, meta, nblocks);
	tail = nblocks - (BlockNumber) Min(work.first * ppr, nblocks);
	if (notes)
	{
		reads->pages = Min(reads->pages + scans * (double) Max(tail, ppr), PAID_FOR_GROUP(ppr));
		look_at_noted_tail(reads, index, meta, nblocks, growth->now > ppr, &work);
	}
	else
	{
		reads->pages += scans * (double) tail;
		look_at_filtered_tail(reads, meta, nblocks, &work);
	}
	if (notes && reads->filtered >= (double) RANGES_FOR_FLUSH * ppr)
	{
		reads->filtered = 0;
		work.flush = true;
	}
	return work;
}
