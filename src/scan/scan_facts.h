/*
 * scan_facts.h
 *		Facts: that a run names a heap page in vain for an interval of keys.
 *
 * A scan is remembered by its session if one column is asked for one interval of keys, or one box,
 * and runs name pages.  When it comes again these are read at its end, and facts are made of
 * those without a row (INV-16), which keep them out of later scans of all sessions.  Facts exclude
 * only what the run that covers a page names, not what deltas and the pending list do.
 */
#ifndef RENCODER_SCAN_FACTS_H
#define RENCODER_SCAN_FACTS_H

#include "scan/run_scan.h"
#include "store/fact_pages.h"

typedef struct RencoderScanFacts RencoderScanFacts;

/*
 * Leaves in "rows", which a search that is complete has found in base runs, what is not known to be
 * in vain, and notes what is.  NULL if there are no facts and none can be made.  Locks: none on
 * entry; a page of facts share, released.
 */
extern RencoderScanFacts *rencoder_scan_facts_apply(const RencoderRunScan *scan, renc_stretches *rows);

/*
 * Makes facts, if the query was asked before, and counts what was saved.  "facts" may be NULL.
 * Locks: none on entry.  Best effort.
 */
extern void rencoder_scan_facts_end(RencoderScanFacts *facts);

#endif							/* RENCODER_SCAN_FACTS_H */
