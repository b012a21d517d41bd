/*
 * group_scan.h
 *		What a query leaves of one group: block ranges, single heap pages, or rows.
 *
 * Three ways through a group:
 *
 *	- sealed (all 128 ranges summarized, stored as a matrix), trusted by the
 *	  snapshot, no range "always" or "keyless", no late place, and neither nulls nor all values are
 *	  asked for: directory entry, then windows; the header is read only if some range is
 *	  left, to compare it with the range's min and max;
 *	- covered (all 128 ranges, by a run), and trusted: directory entry and the pages that were found in
 *	  runs and in the pending list (run_scan.h);
 *	- otherwise: header first, for the states of the ranges; then the pages found, and
 *	  the matrix.
 */
#ifndef RENCODER_GROUP_SCAN_H
#define RENCODER_GROUP_SCAN_H

#include "filter/renc_group_candidates.h"
#include "format/format_filter.h"
#include "scan/run_scan.h"

#include "utils/snapshot.h"

/* What is asked of a column in groups of one generation of its coder (private). */
typedef struct RencoderColumnProbe
{
	const RencoderKeySet *keys;
	RencoderProbe *probe;		/* NULL: not needed so far */
	struct RencoderColumnProbe *next;
} RencoderColumnProbe;

typedef struct RencoderGroupScan
{
	Relation	index;
	RencoderMeta meta;			/* a copy: an invalidation may free rd_amcache */
	RencoderCopies *copies;
	RencoderQuery *query;
	BlockNumber nblocks;		/* of the table */
	uint64		nranges;		/* likewise */
	Snapshot	snapshot;		/* or NULL */
	uint64		xmin;			/* of the snapshot; horizons above are not
								 * trusted */
	bool		asks_nulls;		/* or all values, of some column */
	RencoderScanFacts *facts;	/* the caller's to set; NULL: none */
	int64		npages;			/* index pages read other than by probes and
								 * runs */

	/* Private. */
	RencoderColumnProbe *probes[INDEX_MAX_KEYS];	/* one for each generation
													 * of coder met */
	RencoderRunScan *runs;		/* NULL: not needed so far */
	uint32		skipped_run;	/* a run that has no page of the query ... */
	uint32		skipped_before; /* ... in groups from that last looked at up
								 * to here */
	RencoderPrefetch prefetch;
	uint64	   *page[2];		/* room for pages of candidates: of the
								 * result, of a column */
	renc_page_rows *rows[3];	/* the same for rows, and a spare one */
	uint32		max_rows;
	PGAlignedBlock header;		/* room for a copy; the last field, and not
								 * zeroed */
} RencoderGroupScan;

/* What is left of a group. */
typedef struct RencoderGroupCandidates
{
	renc_mask	untrusted;		/* ranges, whatever the columns' storage says */
	renc_candidates left;		/* of all ranges, until the next group is
								 * scanned */
} RencoderGroupCandidates;

/*
 * Begins a scan of a table of "nblocks" pages.  A range whose trust horizon
 * "snapshot" precedes is a candidate (INV-9); NULL trusts all.  "copies" must outlive the scan.
 */
extern void rencoder_group_scan_begin(RencoderGroupScan *scan, Relation index, BlockNumber nblocks,
									  RencoderQuery *query, Snapshot snapshot, RencoderCopies *copies);

/*
 * Searches the runs that have not been searched, and the pending list, if there are any, as "copies"
 * says.  To be done before the first group of each round, so that what groups say is no older.
 * "early", which may be NULL, may break it off: then only rencoder_group_scan_finish()
 * may follow.
 */
extern void rencoder_group_scan_search_runs(RencoderGroupScan *scan, RencoderEarlyEnd *early);

/* Begins a round over groups, which are scanned in ascending order. */
extern void rencoder_group_scan_rewind(RencoderGroupScan *scan);

/* Ranges of the group that exist in the table. */
extern renc_mask rencoder_group_scan_existing(const RencoderGroupScan *scan, uint32 group);

/* Finds out for rencoder_group_scan_can_skip(). */
extern bool rencoder_group_scan_can_skip_slow(RencoderGroupScan *scan, RencoderEntry entry,
											  uint32 group);

/*
 * Is nothing left of a group with this entry, as is plain from the entry and from the pages
 * that were found?  Of a large table that is so of nearly all groups.  To be asked in ascending
 * order.  Reads no page.
 */
static inline bool
rencoder_group_scan_can_skip(RencoderGroupScan *scan, RencoderEntry entry, uint32 group)
{
	/* Most are like the one before. */
	if (group < scan->skipped_before && entry->run == scan->skipped_run &&
		(entry->flags & RENCODER_ENTRY_COVERED) && entry->horizon <= scan->xmin)
		return true;
	return rencoder_group_scan_can_skip_slow(scan, entry, group);
}

/* For rencoder_group_scan_prefetch(). */
extern void rencoder_group_scan_prefetch_headers(const RencoderGroupScan *scan, RencoderEntry entry);

/* Has the header pages fetched that asking a group with this entry begins with, if it does. */
static inline void
rencoder_group_scan_prefetch(const RencoderGroupScan *scan, RencoderEntry entry)
{
	/* Of most groups no header is read. */
	if (!(entry->flags & RENCODER_ENTRY_COVERED) || entry->horizon > scan->xmin)
		rencoder_group_scan_prefetch_headers(scan, entry);
}

/*
 * What is left of a group with this entry, a copy, or NULL.  Locks: shared content locks,
 * one page or (header, windows) at a time, released.
 */
extern void rencoder_group_scan_ask(RencoderGroupScan *scan, RencoderEntry entry, uint32 group,
									RencoderGroupCandidates *result);

/*
 * Text and block of the first page that was found damaged, which made ranges
 * candidates, or NULL; forgets all.  An error if the epoch did not change (INV-7).
 */
extern const char *rencoder_group_scan_fault(RencoderGroupScan *scan, BlockNumber *blkno);

/* Returns the index pages read. */
extern int64 rencoder_group_scan_finish(RencoderGroupScan *scan);

#endif							/* RENCODER_GROUP_SCAN_H */
