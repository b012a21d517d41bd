/*
 * scan_facts.h
 *		What was read in vain is not read again.
 *
 * A scan is remembered by its session if one column is asked for one interval of keys and storage
 * names pages.  When it comes again these are read, and facts are made of those without a row
 * (INV-16), which keep them out of this scan and later ones, of all sessions.  Facts exclude only
 * what storage names: not what deltas or the pending list name, nor what is not trusted, or keyless.
 */
#ifndef RENCODER_SCAN_FACTS_H
#define RENCODER_SCAN_FACTS_H

#include "key/key.h"
#include "query/scan_copies.h"

#include "utils/snapshot.h"

typedef struct RencoderScanFacts
{
	uint64		epoch;			/* of the entry of the group that is scanned */

	/* Private. */
	RencoderQuery *query;
	const RencoderMetaPageData *metadata;
	BlockNumber root;			/* RENCODER_NO_BLOCK: there are no facts */
	bool		counts;
	bool		may_make;
	int			lookups;		/* left, of pages that runs name */
	int			reads;			/* left, of heap pages */
	uint16	   *seen;			/* slot of the query; NULL: not looked yet */
	uint16		tag;			/* what stands there of it */
	bool		again;			/* was it asked before? */
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
 * Is it known, or found out, that storage names "npages" pages from "first" on in vain, if a column
 * is asked for "keys"?  These and "facts" may be NULL.  "covered": is storage a run?  Locks: none on
 * entry; those of reading a page, or of a group's edit, released.
 */
extern bool rencoder_scan_facts_exclude(RencoderScanFacts *facts, const RencoderKeySet *keys, int col,
										BlockNumber first, uint32 npages, bool covered);

#endif							/* RENCODER_SCAN_FACTS_H */
