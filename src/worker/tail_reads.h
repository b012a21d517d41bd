/*
 * tail_reads.h
 *		Do queries read so much of a table's tail, or of ranges that only filters name, that
 *		something is to be done while the table grows?
 */
#ifndef RENCODER_TAIL_READS_H
#define RENCODER_TAIL_READS_H

#include "store/group.h"

/* What the worker keeps of an index between two looks. */
typedef struct RencoderTailReads
{
	int			looks;			/* how often it was looked at, as far as
								 * matters */
	bool		known;			/* were counts found before? */
	bool		busy;			/* do scans come? */
	int64		scans;			/* that were counted at the last look */
	int64		whole;			/* pages of whole ranges, likewise */
	BlockNumber nblocks;		/* of the table, likewise */
	double		pages;			/* that scans have read of the tail since it
								 * was summarized, or since the first look */
	double		credit;			/* scans that have not paid for a range yet */
	double		filtered;		/* pages of whole ranges that scans have read
								 * since filters were last taken away */
} RencoderTailReads;

/* So often it is looked at soon again, whether scans come or not: their counts may be late. */
#define RENCODER_FIRST_LOOKS	15

/* What is to be done now. */
typedef struct RencoderTailWork
{
	uint64		first;			/* ranges to be summarized ... */
	uint64		end;			/* ... up to before this one */
	bool		flush;			/* groups with filters are to be flushed */
} RencoderTailWork;

/*
 * Looks at the counts of scans and at the tail of a table of "nblocks" pages.  "notes": ranges may
 * be noted, of which one may lie ahead of the end of the table; else they get filters.  What is to be
 * done now is paid for; then it counts from nothing again.  An index whose scans are not counted yet
 * is given a page for that.  Locks: metapage, page of counts, headers share, one after the other;
 * the maintainer lock, to make that page.
 */
extern RencoderTailWork rencoder_tail_reads_look(RencoderTailReads *reads, Relation index,
												 const RencoderMeta *meta, BlockNumber nblocks,
												 bool notes);

#endif							/* RENCODER_TAIL_READS_H */
