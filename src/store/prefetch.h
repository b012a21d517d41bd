/*
 * prefetch.h
 *		Pages of an index that a scan will read: what the kernel fetches meanwhile, and what is kept.
 *
 * How many pages ahead is what effective_io_concurrency says, the server's or the
 * tablespace's; 0: none.
 */
#ifndef RENCODER_PREFETCH_H
#define RENCODER_PREFETCH_H

#include "store/kept_pages.h"
#include "store/meta.h"

typedef struct RencoderPrefetch
{
	Relation	index;
	uint32		distance;		/* pages ahead */
	RencoderKept *kept;
} RencoderPrefetch;

extern void rencoder_prefetch_begin(RencoderPrefetch *prefetch, Relation index, RencoderKept *kept);

/*
 * Has a page fetched, unless it is at hand or kept, or "blkno" is RENCODER_NO_BLOCK or behind the
 * end of the index, which a damaged page may say.  True if that was begun.
 */
extern bool rencoder_prefetch_page(const RencoderPrefetch *prefetch, BlockNumber blkno);

#endif							/* RENCODER_PREFETCH_H */
