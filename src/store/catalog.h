/*
 * catalog.h
 *		The catalog: which runs there are, and which heap pages each of them has read.
 *
 *		A run names an interval of heap pages.  Over a page the newest reading wins.  Pages
 *		behind the frontier are read by every scan.
 *
 *		table  |<------------ run 7 ------------>|<- 9 ->|<11>|<12>|  behind the frontier
 *		            |<-- run 13: read later -->|
 *
 * Base runs and matrices cover the pages [from, to) that they have read: a page is covered by the
 * one of the greatest rank that has it in its interval.  "number" is the identity of a run's pages and
 * is never given twice; "rank" is the number of the reading (INV-18).  [from, to) may go beyond the
 * table's end: these pages are covered, empty.  A run without trees, whose pages have no rows, is legal.
 *
 * A delta has whole keys of entries of the pending list, of rows on the pages [from, to); it covers
 * nothing.
 *
 * An inserter looks at entries_to after its row is in place: a row on a page below it becomes an entry
 * (INV-3).  entries_to is at least the frontier.  All of this stands in the metapage, so that one copy
 * of it is a state of the index.
 *
 *                 pages written,                   no page is left that it covers, or newer
 *                 each extent noted first          runs have its entries: version rises
 *      BUILDING ----------------------> LIVE ----------------------------> FREEING ---> gone
 *         +---------- given up, or left by a crash: freed like FREEING --------^
 */
#ifndef RENCODER_CATALOG_H
#define RENCODER_CATALOG_H

#include "store/space.h"

/*
 * The frontier of an index that enforces a constraint: no page is behind it, every row is an entry, and
 * the last run covers whatever pages the table will have.  So nobody who looks for a conflict reads a tail.
 */
#define RENCODER_NO_FRONTIER	MaxBlockNumber

/* A copy of the catalog, and of the ends of the pending list, of one moment. */
typedef struct RencoderCatalog
{
	uint64		version;		/* rises in each record that takes something
								 * away: runs, pending pages, or when frontier
								 * and entries_to fall */
	BlockNumber frontier;
	BlockNumber entries_to;
	RencoderPendingList pending;
	uint32		n;
	RencoderRunEntry entry[RENCODER_MAX_RUNS];
} RencoderCatalog;

/*
 * Copies it.  Locks: metapage share, released.  *npages, if
 * not NULL, is increased by the pages read.  *metadata, if not NULL, is a copy of the metapage's data of
 * the same moment.  *pinned, if "pinned" is not NULL, is the metapage's buffer, or becomes it: the pin is
 * left to the caller.  Error if the catalog is damaged.
 */
extern void rencoder_catalog_copy(Relation index, RencoderCatalog *catalog, RencoderMetaPageData *metadata,
								  Buffer *pinned, int64 *npages);

/* The entry of a run, or NULL. */
extern const RencoderRunEntry *rencoder_catalog_find(const RencoderCatalog *catalog, uint32 number);

/* The LIVE base run or matrix that covers a page, or NULL. */
extern const RencoderRunEntry *rencoder_catalog_covering(const RencoderCatalog *catalog, BlockNumber page);

/* Neighbouring pages that one run covers. */
typedef struct RencoderSegment
{
	BlockNumber from;
	BlockNumber to;				/* the page behind the last one */
	const RencoderRunEntry *run;	/* of the copy; NULL: no run covers them,
									 * each may match */
} RencoderSegment;

/* As many are there at most: each run begins and ends once. */
#define RENCODER_MAX_SEGMENTS	(2 * RENCODER_MAX_RUNS + 2)

/*
 * The segments of a table of so many pages, without gaps, in the order of the table; returns how many.
 * What lies behind the frontier is the last one, without a run.
 */
extern int	rencoder_catalog_segments(const RencoderCatalog *catalog, BlockNumber nblocks,
									  RencoderSegment *segment);

/*
 * Is an entry of the page needed, that is on a pending page of this number, or in a delta with this
 * "upto" (INV-13)?  It is not if the page is behind the frontier and no run is BUILDING there, or if the
 * cut of the run that covers the page is not below the number.
 */
extern bool rencoder_catalog_needs(const RencoderCatalog *catalog, BlockNumber page, uint64 number);

/*
 * Puts a run into the catalog, BUILDING, its info page made and empty, and returns its number; *info is
 * that page.  0: the catalog is full.  A run that covers pages gets the next rank, and raises entries_to
 * to "to": only after that may its maker take the table's size and read it.  Deltas have rank 0.  The caller is
 * a maintainer or a build ("log" false).  WAL: info page whole; metapage.
 */
extern uint32 rencoder_catalog_begin(Relation index, uint8 kind, BlockNumber from, BlockNumber to,
									 uint64 cut, bool log, BlockNumber *info);

/* A run that is complete (rencoder_run_writer_finish), or empty. */
typedef struct RencoderNewRun
{
	uint32		number;
	uint32		npages;
	BlockNumber from;			/* deltas: the pages of their entries */
	BlockNumber to;
	uint64		cut;			/* of a delta, its upto */
	uint64		horizon;		/* snapshots with an older xmin do not trust
								 * it */
	uint32		outside;		/* rows beside what its coder was trained on */
	RencoderRunColumn first;
	bool		keyless;
} RencoderNewRun;

/*
 * Makes runs LIVE, in one record: metapage, and the last of the pending pages that go.  The frontier
 * becomes the greatest "to" of covering runs made, if that is greater, so no hole may lie between the old one
 * and their "from".  Of what was there before goes in the same record, and version rises:
 *
 *	- covering runs of which no page is covered any more, and deltas of which no entry is needed, FREEING;
 *	- "replaced": deltas whose entries the new deltas have, FREEING;
 *	- pending pages of which no entry is needed, and those up to number "upto" (0: none): the new runs
 *	  have all their entries that are.  All of them are closed; they become spare.
 *
 * The caller is a maintainer or a build ("log" false).  With nothing made, it takes away only.
 */
extern void rencoder_catalog_publish(Relation index, const RencoderNewRun *made, int nmade, uint64 upto,
									 const uint32 *replaced, int nreplaced, bool log);

/*
 * Gives up the runs that are BUILDING, which become FREEING, and lowers the frontier to this page, if it is
 * greater, and entries_to to the frontier: runs that lie behind it as a whole become FREEING, others end
 * there.  An inserter who has looked before has an entry too many; one who looks later has a row that only
 * later snapshots see, whose scans copy the catalog later.  Needs no space, so that it is possible where the
 * want of it was why a run is given up.  One record: metapage, version + 1.  Maintainer.
 */
extern void rencoder_catalog_lower(Relation index, BlockNumber nblocks);

/*
 * Frees the pages of all runs that are FREEING, and of those BUILDING that are not "keep" (0: none is to be
 * kept), and takes them off the catalog.  Maintainer.  WAL: for each extent a record of info page and
 * free list; at last metapage and free list.
 */
extern void rencoder_catalog_free(Relation index, uint32 keep);

#endif							/* RENCODER_CATALOG_H */
