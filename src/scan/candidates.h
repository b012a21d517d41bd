/*
 * candidates.h
 *		Finding the heap pages that may hold rows of a query.
 */
#ifndef RENCODER_CANDIDATES_H
#define RENCODER_CANDIDATES_H

#include "filter/renc_group_candidates.h"
#include "key/key.h"
#include "scan/run_scan.h"
#include "scan/scan_copies.h"
#include "scan/scan_stats.h"

#include "utils/snapshot.h"

typedef struct RencoderCandidateCounts
{
	int64		ranges;			/* block ranges of the table */
	int64		skipped;		/* need not be visited */
	int64		candidates;		/* must be visited */
	int64		unsummarized;	/* candidates for want of a trusted summary */
	int64		index_pages;	/* pages of the index read, repeats counted */
} RencoderCandidateCounts;

/* Who takes the heap pages of candidates.  Some come again if the index changes meanwhile. */
typedef struct RencoderEmit
{
	/* "row": its rows (renc_candidates_rows()), or NULL: all may match. */
	void		(*page) (void *arg, BlockNumber page, const uint64 *row);
	void	   *arg;

	/* Zero, and counted by then: block ranges, and pages of whole ones. */
	int64		nranges;
	RencoderWholePages whole;
} RencoderEmit;

/*
 * Runs a query over all groups of a table of "heap_nblocks" pages.  A range
 * whose trust horizon "snapshot" precedes is a candidate (INV-9); a NULL
 * snapshot trusts all summaries (for inspection).  "copies": of earlier
 * scans in this snapshot, and for later ones.  "early" breaks the search off before any candidate
 * is emitted: its take() is told of some that there are.  "copies", "emit", "early" and "counts" may
 * be NULL.  Returns the index pages read.
 *
 * Locks: shared content locks, one page or (header, windows) at a time; none
 * on exit.  Errors: ERRCODE_INDEX_CORRUPTED.
 */
extern int64 rencoder_candidates_find(Relation index, BlockNumber heap_nblocks,
									  RencoderQuery *query, Snapshot snapshot, RencoderCopies *copies,
									  RencoderEmit *emit, RencoderEarlyEnd *early,
									  RencoderCandidateCounts *counts);

/*
 * Counts what the query would find in up to "max_groups" groups, evenly
 * chosen: for the planner, to which the statistics of the table cannot tell
 * how the rows of a rare value lie.  All summaries are trusted, groups that
 * changed meanwhile are not repeated, damaged groups and those that name a run are
 * left out.
 */
extern void rencoder_candidates_count_sampled(Relation index, BlockNumber heap_nblocks,
											  RencoderQuery *query, uint32 max_groups,
											  RencoderCandidateCounts *counts);

#endif							/* RENCODER_CANDIDATES_H */
