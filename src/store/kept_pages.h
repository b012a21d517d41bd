/*
 * kept_pages.h
 *		Pages that a scan keeps for its rescans, and those that it has fetched ahead; roots of runs that a
 *		session keeps.
 */
#ifndef RENCODER_KEPT_PAGES_H
#define RENCODER_KEPT_PAGES_H

#include "store/meta.h"

/* As many are kept at most, half a megabyte. */
#define RENCODER_KEPT_PAGES	64

/* Copies. */
typedef struct RencoderKept
{
	bool		keeps;			/* else no page is kept */
	int			n;
	int			nrooms;			/* made so far, one for each page */
	MemoryContext context;		/* of these */
	BlockNumber blkno[RENCODER_KEPT_PAGES];
	char	   *page[RENCODER_KEPT_PAGES];
} RencoderKept;

/* The copy of a page, or NULL. */
static inline Page
rencoder_kept_find(const RencoderKept *kept, BlockNumber blkno)
{
	for (int i = 0; i < kept->n; i++)
	{
		if (kept->blkno[i] == blkno)
			return kept->page[i];
	}
	return NULL;
}

/*
 * A copy of a page of the type: the one that is kept, or a new one, which is kept, or else stands
 * in "room", BLCKSZ bytes.  If the block holds another page, NULL with *fault.  *npages is increased
 * if the page is read.  "kept" and "npages" may be NULL.  Locks: the page share, released.
 */
extern Page rencoder_kept_read(RencoderKept *kept, Relation index, BlockNumber blkno, uint16 page_id,
							   char *room, int64 *npages, const char **fault);

/*
 * Pages that will be read soon, and that the kernel fetches meanwhile.  How many pages ahead is
 * what effective_io_concurrency says, the server's or the tablespace's; 0: none.
 */
typedef struct RencoderPrefetch
{
	Relation	index;
	uint32		distance;		/* pages ahead */
	RencoderKept *kept;
} RencoderPrefetch;

extern void rencoder_kept_prefetch_begin(RencoderPrefetch *prefetch, Relation index, RencoderKept *kept);

/* Have all pages of late been at hand, so that none is fetched until one is read that is not? */
extern bool rencoder_kept_prefetch_is_vain(void);

/*
 * Has a page fetched, unless it is at hand or kept, or "blkno" is RENCODER_NO_BLOCK or behind the
 * end of the index, which a damaged page may say.
 */
extern void rencoder_kept_prefetch_page(const RencoderPrefetch *prefetch, BlockNumber blkno);

/* The same of any page that a table or an index has, without looking whether it is vain. */
extern void rencoder_kept_prefetch_block(Relation rel, BlockNumber blkno);

/* ---- Roots ---- */

/* The root of a tree of a run that the session keeps, until it keeps another one, or NULL. */
extern Page rencoder_kept_root_find(Relation index, uint32 run, int tree, BlockNumber blkno);

/* Keeps the first bytes of a root, which have been verified, perhaps instead of another one. */
extern void rencoder_kept_root_keep(Relation index, uint32 run, int tree, BlockNumber blkno,
									const char *page, Size size);

/* Forgets those of an index, which is built anew. */
extern void rencoder_run_roots_forget(Relation index);

#endif							/* RENCODER_KEPT_PAGES_H */
