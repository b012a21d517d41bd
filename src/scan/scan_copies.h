/*
 * scan_copies.h
 *		What a scan has copied of its index, and may use again in its rescans.
 *
 * The inner side of a nested loop is scanned once for each outer row, in one snapshot.  All these
 * scans are one long scan, which goes on with the metapage, the lists and the pages that it has
 * copied, until something is taken away (INV-7).
 */
#ifndef RENCODER_SCAN_COPIES_H
#define RENCODER_SCAN_COPIES_H

#include "store/kept_pages.h"
#include "store/run_list.h"

typedef struct RencoderCopies
{
	RencoderMetaPageData metadata;	/* when it was looked at last */
	RencoderRuns runs;			/* likewise */
	RencoderKept pages;			/* directory, headers, inner pages of runs and
								 * what describes them, pending pages */

	Buffer		metapage;		/* pinned while a scan goes on, or
								 * InvalidBuffer */
	bool		rescans;		/* of these; else of a single scan, which
								 * keeps no page */
} RencoderCopies;

/* Of a single scan. */
extern void rencoder_copies_init(RencoderCopies *copies);

/* Of rescans, palloc'd. */
extern RencoderCopies *rencoder_copies_create(void);

/* They have aged: those that are in use stay as they are until the next scan begins. */
extern void rencoder_copies_drop(RencoderCopies *copies);

/* A scan begins: copies metapage and lists, unless the copies there are may be used. */
extern void rencoder_copies_begin(RencoderCopies *copies, Relation index, int64 *npages);

/*
 * A scan ends, or another round begins: returns the epoch.  Drops the copies if that or run_changes
 * has risen.
 */
extern uint64 rencoder_copies_check_epoch(RencoderCopies *copies, Relation index, int64 *npages);

/* Lets go of the metapage, which the calls above keep pinned. */
extern void rencoder_copies_unpin(RencoderCopies *copies);

#endif							/* RENCODER_SCAN_COPIES_H */
