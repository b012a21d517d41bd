/*
 * scan_facts.h
 *		Facts: that storage names pages in vain for an interval of keys.
 *
 * A scan is remembered by its session if one column is asked for one interval of keys, or one box,
 * and storage names pages.  When it comes again these are read at its end, and facts are made of
 * those without a row (INV-16), which keep them out of later scans of all sessions.  Facts exclude
 * only what trusted storage names, not what deltas, the pending list or flags do.
 */
#ifndef RENCODER_SCAN_FACTS_H
#define RENCODER_SCAN_FACTS_H

#include "key/key.h"
#include "scan/scan_copies.h"
#include "store/fact_pages.h"

#include "utils/snapshot.h"

typedef struct RencoderScanFacts
{
	uint64		epoch;			/* of the entry of the group that is scanned */

	/* Private. */
	RencoderQuery *query;
	BlockNumber root;			/* RENCODER_NO_BLOCK: there are no facts */
	bool		counts;
	bool		remembers;
	bool		may_make;
	const RencoderKeySet *keys; /* that "known" is of; NULL: not looked yet */
	RencoderFact *known;
	int			nknown;
	int			nsaved;			/* pages */
	int			nmissing;
	struct MissingFact *missing;
} RencoderScanFacts;

/*
 * Of a scan of a table of "nblocks" pages.  NULL if there are no facts and none can be made.  Only
 * a scan that "counts", and is no rescan, makes any.
 */
extern RencoderScanFacts *rencoder_scan_facts_begin(RencoderQuery *query,
													const RencoderCopies *copies,
													BlockNumber nblocks, Snapshot snapshot,
													bool counts);

/*
 * Is it known that storage names "npages" pages from "first" on in vain, if a column is asked for
 * "keys"?  These and "facts" may be NULL.  "covered": is storage a run?  Locks: none on entry; a
 * page of facts share, released.
 */
extern bool rencoder_scan_facts_exclude(RencoderScanFacts *facts, const RencoderKeySet *keys, int col,
										BlockNumber first, uint32 npages, bool covered);

/*
 * When all groups are scanned: makes facts, if the query was asked before, and counts what was
 * saved.  "facts" may be NULL.  Locks: none on entry.  Best effort.
 */
extern void rencoder_scan_facts_end(RencoderScanFacts *facts);

#endif							/* RENCODER_SCAN_FACTS_H */
