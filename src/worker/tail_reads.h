/*
 * tail_reads.h
 *		Do queries read so much of a table's tail, or of ranges that only filters name, that
 *		something is to be done while the table grows?
 */
#ifndef RENCODER_TAIL_READS_H
#define RENCODER_TAIL_READS_H

#include "store/group.h"

/* So often the worker looks around, at least; and so often at one index, at most. */
#define RENCODER_LOOK_MS		100
#define RENCODER_LEAST_LOOK_MS	5

/* How fast a table grows, in pages in RENCODER_LOOK_MS. */
typedef struct RencoderGrowth
{
	TimestampTz since;			/* when "nblocks" were seen; 0: not yet */
	BlockNumber nblocks;
	double		now;
	double		lately;			/* at most, what is past counting less and
								 * less */
} RencoderGrowth;

/* Measures it, if the last time is not too near.  "nblocks": pages of the table. */
extern void rencoder_tail_growth_measure(RencoderGrowth *growth, BlockNumber nblocks);

/*
 * Ranges that count as complete when a table's rows have come to "range".  Pages near its end are
 * still being filled, by several sessions each its own, and entries cost more than bits in bulk.  So
 * a range or two behind the last row do not.
 */
extern uint64 rencoder_tail_complete_ranges(const RencoderMeta *meta, uint64 range);

/* What the worker keeps of an index between two looks. */
typedef struct RencoderTailReads
{
	bool		known;			/* were counts found before? */
	bool		busy;			/* do scans come? */
	int64		scans;			/* that were counted at the last look */
	int64		whole;			/* pages of whole ranges, likewise */
	double		pages;			/* that scans have read of the tail, or would
								 * have, and that nothing was done for */
	double		credit;			/* scans that have not paid for a range that
								 * is not full */
	double		filtered;		/* pages of whole ranges that scans have read
								 * since filters were last taken away */
} RencoderTailReads;

/* What is to be done now. */
typedef struct RencoderTailWork
{
	uint64		first;			/* ranges to be summarized, with runs noted, */
	uint64		end;			/* up to before this one */
	bool		flush;			/* groups with filters are to be flushed */
	bool		soon;			/* a load goes on, and its ranges are paid for */
} RencoderTailWork;

/*
 * Looks at the counts of scans and at the tail of a table of "nblocks" pages, which grows so fast.
 * "notes": ranges may be noted, of which one may lie ahead of the end of the table; else they get
 * filters.  What is to be done now is paid for by then.  An index whose scans are not counted yet
 * is given a page for that.  Locks: metapage, page of counts, headers share, one after the other;
 * the maintainer lock, to make that page.
 */
extern RencoderTailWork rencoder_tail_reads_look(RencoderTailReads *reads, Relation index,
												 const RencoderMeta *meta, BlockNumber nblocks,
												 const RencoderGrowth *growth, bool notes);

#endif							/* RENCODER_TAIL_READS_H */
