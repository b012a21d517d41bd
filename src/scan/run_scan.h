/*
 * run_scan.h
 *		What runs and pending list say of a query: rows of heap pages.
 *
 * The rows of a page are in the run that covers it; those that came later are entries, of deltas or
 * of the pending list.  So a row of the query is found if, in each column that is searched, the
 * covering run names its place, or deltas do ("late" places); a pending entry has all columns, and
 * is compared by itself.  Base and late places are never mixed: each row that came late has all its
 * columns there.
 *
 * A column may be left out of the search (run_scan_choice.c). What base runs find of a column that
 * is searched later counts only where the first has found something.
 *
 * IS NULL asks the tree of rows without a key for nulls, IS NOT NULL that of the keys for all of
 * them.  Where these are many more than the table has pages, and hardly any are null, they are not
 * looked at one by one: they are on nearly all pages.  A value without a key matches whatever is
 * asked, but for IS NULL.
 *
 * Nothing is locked from page to page, and pages of runs and of the pending list are used again.
 * They bear numbers, so a scan that meets another page than it expected notices.  It copies the
 * catalog again and searches what is new; what was found stays.  Why that finds all, for a row that
 * the snapshot sees (INV-7): take the copies by which the pending list, then all deltas, then all
 * covering runs were searched to their end, in this order, none older than the one before.  The row
 * was in place before the first.  By the first it is an entry of the pending list, and found; or of
 * a delta; or it needs no entry, as its page is behind the frontier or its covering run has it.  An
 * entry of a delta is in one, at the second copy, and found, or is needless by then.  What needs no
 * entry at one copy needs none at a later one: a page gets another covering run only by a reading,
 * which finds the row in its place.  So at the third copy the row is on a page behind the frontier,
 * or in the run that covers its page.
 */
#ifndef RENCODER_RUN_SCAN_H
#define RENCODER_RUN_SCAN_H

#include <math.h>

#include "key/key.h"
#include "run/renc_stretches.h"
#include "scan/scan_copies.h"
#include "store/run_format.h"

/*
 * More values than this for each page of the table are on nearly all pages, unless there are nulls,
 * one for so many values, that may fill some.
 */
#define RENCODER_MANY_VALUES	4
#define RENCODER_FEW_NULLS		16

/*
 * A search that is broken off when so many entries were found and there are more: for who wants
 * some rows soon, and may come again for all.  It is of one column alone; of several that are
 * asked, if the others would cost more to search than so many pages of the table.
 */
typedef struct RencoderEarlyEnd
{
	uint32		limit;			/* of entries */
	bool		broken_off;		/* is it? */
} RencoderEarlyEnd;

/* A run of the catalog's copy. */
typedef struct RencoderSearchedRun
{
	uint32		number;
	uint32		searched;		/* bit c: for column c, or it was left out */
	bool		wanted;			/* it is LIVE, and a delta or covers pages */
	bool		complete;		/* is the search? */
	bool		found;			/* has the first column found anything? */
	bool		first_only;		/* "info" has nothing but the keys of the
								 * first column of the index */
	bool		whole;			/* it covers all of from .. to - 1 */
	BlockNumber from;			/* places elsewhere do not count */
	BlockNumber to;
	const RencoderRunEntry *entry;
	RencoderRunInfo info;		/* NULL: not needed, or not looked at yet */
	const RencoderKeySet *keys; /* that it was asked for, no nulls or values
								 * beside; or NULL */
} RencoderSearchedRun;

/* What is known of the search of a column: run_scan_choice.c. */
typedef struct RencoderColumnGuess
{
	bool		decides;		/* what it does not find is not there */
	int			depth;			/* that was looked at */
	int			level;			/* of the root */
	double		least;			/* entries that a search reads */
	double		most;
	double		entries;		/* of the trees that it reads, */
	double		trees;			/* these, */
	double		leaves;			/* and their leaves */
	double		all;			/* entries, nulls included */
	double		places;			/* of the table, that entries name */
} RencoderColumnGuess;

/* A column that is asked. */
typedef struct RencoderAskedColumn
{
	int			col;
	bool		decided;		/* is it to be searched, or left out? */
	bool		left_out;
	RencoderColumnGuess guess;
	const RencoderKeySet *keys; /* by the coder met last */
	renc_stretches base;		/* rows that covering runs have found, */
	renc_stretches late;		/* and deltas */
} RencoderAskedColumn;

typedef struct RencoderRunScan
{
	Relation	index;
	RencoderQuery *query;
	Snapshot	snapshot;		/* or NULL */
	RencoderCopies *copies;
	int64		npages;			/* index pages read */

	/* Private. */
	RencoderEarlyEnd *early;	/* NULL: it goes on to the end */
	uint32		nfound;			/* entries, no more than its limit */
	RencoderPrefetch prefetch;
	bool		chosen;			/* is the order of columns? */
	bool		pending_done;	/* was the pending list read? */
	bool		deltas_done;	/* and all deltas of a later copy? */
	int			nruns;
	RencoderSearchedRun *run;	/* of the catalog's copy, in its order */

	/* Of the choice of columns. */
	RencoderSearchedRun *largest;	/* of the runs that are wanted; NULL:
									 * there are none */
	int			nsearched;		/* these */
	double		scale;			/* and how many times as many rows they have */
	renc_stretches pending;		/* rows of the pending list */

	/*
	 * What is wrong with a page; corruption only if nothing was taken away
	 * since the catalog was copied.
	 */
	const char *fault;
	BlockNumber fault_blkno;
	int			nasked;
	RencoderAskedColumn asked[FLEXIBLE_ARRAY_MEMBER];	/* in the order of
														 * search */
} RencoderRunScan;

/* Does column i of scan->asked rely on what the first one finds? */
static inline bool
rencoder_run_scan_relies(const RencoderRunScan *scan, int i)
{
	return i > 0 && scan->asked[0].guess.decides;
}

/* Are values so many, of a table of so many pages, that they are not looked at one by one? */
static inline bool
rencoder_run_scan_many_values(double values, double nulls, double nblocks)
{
	return values > RENCODER_MANY_VALUES * nblocks && RENCODER_FEW_NULLS * nulls < values;
}

/* In the current memory context.  Reads nothing yet.  "copies" have begun, and must outlive it. */
extern RencoderRunScan *rencoder_run_scan_begin(Relation index, RencoderQuery *query,
												Snapshot snapshot, RencoderCopies *copies);

/*
 * Reads the pending list and searches all runs.  Locks: those of reading a page, one at a time (of
 * the catalog, two), released.  Error: ERRCODE_INDEX_CORRUPTED.  "early" may be NULL.
 */
extern void rencoder_run_scan_search(RencoderRunScan *scan, RencoderEarlyEnd *early);

/* Frees memory. */
extern void rencoder_run_scan_end(RencoderRunScan *scan);

/* ---- Which columns are searched, and in which order (run_scan_choice.c) ---- */

/*
 * Rows are rechecked, so a column that is asked may be left out of the search.  The one that
 * promises the fewest entries, as inner pages of the runs tell, is searched first.  Another one is
 * searched if that costs less than the heap pages that it may save.  The planner decides likewise
 * (cost.c).
 */

/*
 * So many entries to look at (50 to 80 ns each) take about as long as to visit a page of the table
 * that is in memory, and to check some rows there (3.5 us).
 */
#define RENCODER_ENTRIES_PER_PAGE	48

/*
 * The share of the pages that a column leaves of which "entries" of "all" match, in so many places
 * of the table that entries name.
 */
static inline double
rencoder_run_choice_share(double entries, double all, double places)
{
	return 1 - pow(1 - Min(entries / Max(all, 1), 1), Max(all / Max(places, 1), 1));
}

/* What it costs to search so many leaves, in pages of the table. */
static inline double
rencoder_run_choice_cost(double leaves, double entries)
{
	return leaves + entries / RENCODER_ENTRIES_PER_PAGE;
}

/*
 * Puts the columns that are asked, two or more, in the order of search, none of them decided yet
 * but where scan->early stands, which is taken back if several are to be searched.  The largest of
 * the wanted runs is looked at, and stands for the others.  False: a page was not what it should
 * be.  Locks: those of reading a page, released.
 */
extern bool rencoder_run_choose(RencoderRunScan *scan);

/*
 * Decides whether column i of scan->asked is searched, where those before have found rows on
 * "found" pages.
 */
extern void rencoder_run_choice_decide(RencoderRunScan *scan, int i, double found);

/* ---- Steps of a search ---- */

/* Notes what is wrong; returns false. */
extern bool rencoder_run_scan_note_fault(RencoderRunScan *scan, BlockNumber blkno, const char *fault);

/* What is asked of a column; its coder is named by block "named_by".  NULL if that is missing. */
extern const RencoderKeySet *rencoder_run_scan_keys(RencoderRunScan *scan, RencoderAskedColumn *asked,
													uint32 generation, BlockNumber named_by);

/*
 * Learns what the trees of a run are, unless that was done, or only of the keys of the index's
 * first column.  False: a page was not what it should be.  The run may be wanted no longer.
 */
extern bool rencoder_run_scan_look(RencoderRunScan *scan, RencoderSearchedRun *run, bool first_only);

/* Adds rows first .. last of a page, or all of it if "first" is 0. */
extern void rencoder_run_scan_add_rows(renc_stretches *list, BlockNumber page, uint32 first, uint32 last);

/* Of so many entries found, those that count: the search is broken off where there are more. */
static inline uint32
rencoder_run_scan_take(RencoderRunScan *scan, uint32 n)
{
	if (scan->early == NULL)
		return n;
	if (n > scan->early->limit - scan->nfound)
	{
		n = scan->early->limit - scan->nfound;
		scan->early->broken_off = true;
	}
	scan->nfound += n;
	return n;
}

static inline bool
rencoder_run_scan_is_broken_off(const RencoderRunScan *scan)
{
	return scan->early != NULL && scan->early->broken_off;
}

/*
 * Searches what a run of matrices has of column i of scan->asked (matrix_scan.c).  False: it was broken off,
 * or a page was not what it should be.
 */
extern bool rencoder_run_scan_search_matrices(RencoderRunScan *scan, int i, RencoderSearchedRun *run);

/*
 * Are the runs of matrices that were searched LIVE yet?  If not, notes a fault, since windows may have been
 * other ones by then.  Locks: catalog share, released.
 */
extern bool rencoder_run_scan_matrices_are_live(RencoderRunScan *scan);

/*
 * Reads the pending list as far as it went when the catalog was copied.  False: it was broken off,
 * or a page was not what it should be (run_scan_pending.c).
 */
extern bool rencoder_run_scan_read_pending(RencoderRunScan *scan);

#endif							/* RENCODER_RUN_SCAN_H */
