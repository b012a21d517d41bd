/*
 * candidates.h
 *		Finding the rows, and the heap pages, that may satisfy a query.
 */
#ifndef RENCODER_CANDIDATES_H
#define RENCODER_CANDIDATES_H

#include "scan/run_scan.h"

typedef struct RencoderCandidates
{
	/*
	 * In order; of some pages, all rows may.  Of a search that was broken
	 * off, rows that may or may not, and not all that do.
	 */
	renc_stretches rows;
	BlockNumber nblocks;		/* of the table */
	int64		whole;			/* pages that no run covers, or none that the
								 * snapshot trusts */
	int64		tail;			/* behind the frontier */
	int64		pending;		/* pages of the pending list */
	int64		index_pages;	/* read, repeats counted */
} RencoderCandidates;

/*
 * Runs a query, which finds nothing if it is empty.  A run whose trust horizon "snapshot" precedes
 * is not asked (INV-9); NULL trusts all.  "copies": of earlier scans in this snapshot, and for
 * later ones.  "copies" and "early" may be NULL.  "covered": pages that no run covers are left out.  The list is palloc'd in the current context.
 *
 * Locks: shared content locks, one page at a time (metapage and list, two); none on exit.  The
 * table is locked.  Errors: ERRCODE_INDEX_CORRUPTED.
 */
extern void rencoder_candidates_find(Relation index, RencoderQuery *query, Snapshot snapshot,
									 RencoderCopies *copies, RencoderEarlyEnd *early, bool covered,
									 RencoderCandidates *candidates);

#endif							/* RENCODER_CANDIDATES_H */
