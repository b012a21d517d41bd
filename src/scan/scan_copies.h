/*
 * scan_copies.h
 *		What a scan has copied of its index, and may use again in its rescans.
 *
 * A scan copies the catalog, then takes the size of the table: all that its snapshot sees was there
 * by then, on pages below that size, in the run that covers its page, or as an entry (INV-7). The
 * inner side of a nested loop is scanned once for each outer row, in one snapshot.  All these scans
 * are one long scan, which goes on with that copy, and with the pages that it has copied.
 */
#ifndef RENCODER_SCAN_COPIES_H
#define RENCODER_SCAN_COPIES_H

#include "store/catalog.h"
#include "store/kept_pages.h"

#include "utils/snapshot.h"

typedef struct RencoderCopies
{
	bool		valid;			/* is there a copy? */
	bool		rescans;		/* of these; else of a single scan, which
								 * keeps no page */
	BlockNumber nblocks;		/* of the table */
	int			nsegments;
	RencoderSegment segment[RENCODER_MAX_SEGMENTS]; /* of it; without a run
													 * also where the snapshot
													 * does not trust it */
	RencoderCatalog catalog;
	RencoderKept pages;			/* inner pages of runs and what describes
								 * them, pending pages */
} RencoderCopies;

/* Of a single scan. */
extern void rencoder_copies_init(RencoderCopies *copies);

/* Of rescans, in memory of the context. */
extern RencoderCopies *rencoder_copies_create(MemoryContext context);

/* They have aged: a scan that begins copies all anew. */
extern void rencoder_copies_drop(RencoderCopies *copies);

/*
 * A scan begins: copies the catalog and takes the table's size, unless that was done.  NULL as
 * snapshot trusts all runs.  *npages is increased by the pages read.  The table is locked.  Locks:
 * those of rencoder_catalog_copy(), released.
 */
extern void rencoder_copies_begin(RencoderCopies *copies, Relation index, Snapshot snapshot,
								  int64 *npages);

/*
 * A page was taken away: copies the catalog again.  The size of the table stays what it was: behind
 * it no row is seen.
 */
extern void rencoder_copies_renew(RencoderCopies *copies, Relation index, Snapshot snapshot,
								  int64 *npages);

/* How many pages of the table a run, which is of the copy, covers. */
extern double rencoder_copies_covered_pages(const RencoderCopies *copies, const RencoderRunEntry *run);

/* Does a run, which is of the copy, cover a page below nblocks? */
extern bool rencoder_copies_covers(const RencoderCopies *copies, const RencoderRunEntry *run,
								   BlockNumber page);

#endif							/* RENCODER_SCAN_COPIES_H */
