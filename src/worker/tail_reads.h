/*
 * tail_reads.h
 *		Do queries read so much of a table's tail that it is to be summarized while the table
 *		grows?
 */
#ifndef RENCODER_TAIL_READS_H
#define RENCODER_TAIL_READS_H

#include "store/group.h"

/* What the worker keeps of an index between two looks. */
typedef struct RencoderTailReads
{
	bool		known;			/* was it looked at before? */
	bool		busy;			/* have scans come between the last two looks? */
	int64		scans;			/* that were counted at the last look */
	double		pages;			/* that scans have read of the tail since it
								 * was summarized, or since the first look */
} RencoderTailReads;

/*
 * Looks at the counts of scans and at the tail of a table of "nblocks" pages.  True if the tail
 * should be summarized now, from range "first" on; then it counts from nothing again.  An index
 * whose scans are not counted yet is given a page for that.  Locks: metapage, page of counts,
 * headers share, one after the other; the maintainer lock, to make that page.
 */
extern bool rencoder_tail_reads_look(RencoderTailReads *reads, Relation index,
									 const RencoderMeta *meta, BlockNumber nblocks,
									 uint64 *first);

#endif							/* RENCODER_TAIL_READS_H */
