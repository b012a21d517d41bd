/*
 * run_scan.h
 *		What the runs and the pending list of an index say of a query: heap pages, or parts of them.
 *
 * A page of a covered range may hold a row of the query only if, in each column that is
 * searched, the base run that the range's group names found it, or it is among the late
 * pages: those found by deltas and the pending list.  Late pages count for all summarized ranges.
 *
 * A column may be left out of the search (run_scan_choice.c).  Then each page that a base run covers may
 * match it, and the late places of the first column are its late places, too: a row that came late has
 * all its columns in one entry.  Of a column that is searched later, base runs add those places only
 * that the first has found there.  Both rely on the first column.
 *
 * IS NULL asks the tree of rows without a key for nulls, IS NOT NULL that of the keys for all of them.
 * Where these are many more than the table has pages, and hardly any are null, they are not looked at
 * one by one: they are on nearly all pages.  A value without a key matches whatever is asked, but for
 * IS NULL.
 *
 * Nothing is locked from page to page, and pages of runs and of the pending list are used
 * again.  They bear numbers, so a scan that meets another page than it expected notices.
 * It looks at the list again, searches the runs that are new, and reads the pending list
 * anew.  Why that finds all (INV-12): nothing is taken away but in a record that raises run_changes
 * and leaves the same keys in a newer run.  So what was on a pending page or in a run when
 * the search began is there, or in a newer run, when it is looked for.  What comes later
 * belongs to rows that no snapshot of the scan sees, or to ranges that are noted meanwhile: then the
 * scan meets another epoch, and searches what is new (INV-7).
 */
#ifndef RENCODER_RUN_SCAN_H
#define RENCODER_RUN_SCAN_H

#include <math.h>

#include "filter/renc_group_candidates.h"
#include "key/key.h"
#include "run/renc_stretches.h"
#include "scan/scan_copies.h"
#include "scan/scan_facts.h"
#include "store/kept_pages.h"
#include "store/run_format.h"

/*
 * More values than this for each page of the table are on nearly all pages, unless there are nulls,
 * one for so many values, that may fill some.
 */
#define RENCODER_MANY_VALUES	4
#define RENCODER_FEW_NULLS		16

/* The rows of a column that were found: places of base runs, or late places. */
typedef struct RencoderFoundRows
{
	renc_stretches list;
	renc_stretches_cursor next; /* what groups have not taken */
} RencoderFoundRows;

/* What a run said of a column beside rows. */
typedef struct RencoderRunAnswer
{
	bool		done;			/* the column was searched, or left out */
	bool		all;			/* each page may match */
	const RencoderKeySet *keys; /* that it was asked for, no nulls or values
								 * beside; or NULL */
} RencoderRunAnswer;

struct RencoderRunScan;

/*
 * A search that is broken off when runs have found so many entries and there are more: for who wants
 * some rows soon, and may come again for all.  It is of one column alone; of several that are asked,
 * if the others would cost more to search than so many pages of the table.
 */
typedef struct RencoderEarlyEnd
{
	uint32		limit;			/* of entries */
	void		(*take) (void *arg, struct RencoderRunScan *scan);	/* what was found, if it
																	 * is broken off */
	void	   *arg;
	bool		broken_off;		/* is it? */
} RencoderEarlyEnd;

/* A run that was searched. */
typedef struct RencoderSearchedRun
{
	uint32		number;
	uint8		kind;			/* RENCODER_RUN_BASE or _DELTA */
	bool		complete;		/* is the search? */
	RencoderRunInfo info;		/* NULL: not needed, or not looked at yet */
	struct RencoderSearchedRun *next;
	RencoderRunAnswer column[FLEXIBLE_ARRAY_MEMBER];
} RencoderSearchedRun;

/* A column that is asked, and what is known of its search: run_scan_choice.c. */
typedef struct RencoderRunChoice
{
	int			col;
	bool		decides;		/* what it does not find is not there */
	bool		decided;		/* is it to be searched, or left out? */
	bool		left_out;
	int			depth;			/* that was looked at */
	int			level;			/* of the highest root */
	double		least;			/* entries that a search reads */
	double		most;
	double		entries;		/* of the trees that it reads, */
	double		trees;			/* these, */
	double		leaves;			/* and their leaves */
	double		all;			/* entries, nulls included */
	double		places;			/* of the table, that entries name */
} RencoderRunChoice;

typedef struct RencoderRunScan
{
	Relation	index;
	BlockNumber nblocks;		/* of the table */
	RencoderQuery *query;
	int64		npages;			/* index pages read */
	uint64		nadded;			/* times that rows of one page were added */
	RencoderFoundRows *stored;	/* by column: in base runs, */
	RencoderFoundRows *late;	/* in deltas and the pending list; all of them
								 * within work_mem */

	/* Private. */
	RencoderEarlyEnd *early;	/* NULL: it goes on to the end */
	uint32		nfound;			/* entries, no more than its limit */
	const RencoderPrefetch *prefetch;
	RencoderCopies *copies;
	const RencoderRuns *runs;	/* of it */
	int			ntrees;			/* of a run, up to the last that is asked */
	int			nasked;			/* columns that are asked */
	bool		chosen;			/* is their order? */
	RencoderSearchedRun *searched;
	const RencoderKeySet *keys[INDEX_MAX_KEYS]; /* by the coder met last */
	uint32		unknown;		/* a run that is not in the list, 0: none */

	/*
	 * What is wrong with a page; corruption only if nothing was taken away
	 * since "fault_changes".
	 */
	const char *fault;
	BlockNumber fault_blkno;
	uint64		fault_changes;
	RencoderRunChoice choice[INDEX_MAX_KEYS];	/* zeroed as far as the index
												 * has columns */
} RencoderRunScan;

/* Does a column rely on what the first one finds? */
static inline bool
rencoder_run_scan_relies(const RencoderRunScan *scan, int col)
{
	return scan->nasked > 1 && scan->chosen && scan->choice[0].decides && scan->choice[0].col != col;
}

/* Are values so many, of a table of so many pages, that they are not looked at one by one? */
static inline bool
rencoder_run_scan_many_values(double values, double nulls, double nblocks)
{
	return values > RENCODER_MANY_VALUES * nblocks && RENCODER_FEW_NULLS * nulls < values;
}

/*
 * Of a table of "nblocks" pages; in the current memory context.  Reads nothing yet.  "copies" have
 * the lists; they and "prefetch" must outlive it.
 */
extern RencoderRunScan *rencoder_run_scan_begin(Relation index, BlockNumber nblocks,
												RencoderQuery *query, RencoderCopies *copies,
												const RencoderPrefetch *prefetch);

/*
 * Searches all runs and reads the pending list.  Locks: those of reading a page, one at a time (of
 * the list, two), released.  Error: ERRCODE_INDEX_CORRUPTED.  "early" may be NULL; nothing but
 * rencoder_run_scan_end() may follow where the search was broken off.
 */
extern void rencoder_run_scan_search(RencoderRunScan *scan, RencoderEarlyEnd *early);

/* What was found in a base run that has been searched; NULL: it has not been. */
extern RencoderSearchedRun *rencoder_run_scan_find_base(const RencoderRunScan *scan, uint32 number);

/*
 * What was found in a base run, which is searched if it has not been; NULL if it is not in
 * the list: its ranges may match.  "named_by" is the block that names it.  Late places and those of
 * other runs are then taken from the beginning.
 */
extern RencoderSearchedRun *rencoder_run_scan_search_base(RencoderRunScan *scan, uint32 number,
														  BlockNumber named_by);

/*
 * Adds to the answer of a column, which is of a group, what was found there: by "run", a base run,
 * in "covered" ranges (NULL: by none), but for what "facts" exclude, and by deltas and the pending
 * list.  Groups come in ascending order.
 */
extern void rencoder_run_scan_answer(RencoderRunScan *scan, uint32 group, int col,
									 RencoderSearchedRun *run, renc_mask covered,
									 RencoderScanFacts *facts, renc_candidates *answer);

/* Goes back to the first page that was found, for another round over the groups. */
extern void rencoder_run_scan_rewind(RencoderRunScan *scan);

/*
 * Text and block of what is wrong, if something was met that made ranges candidates and no
 * change of runs explains it; else NULL.  Reads metapage and list if there was anything.
 */
extern const char *rencoder_run_scan_fault(RencoderRunScan *scan, BlockNumber *blkno);

extern void rencoder_run_scan_end(RencoderRunScan *scan);

/* ---- Which columns are searched, and in which order (run_scan_choice.c) ---- */

/*
 * Rows are rechecked, so a column that is asked may be left out of the search.  The one that promises
 * the fewest entries, as inner pages of the runs tell, is searched first.  Another one is searched if
 * that costs less than the heap pages that it may save.  The planner decides likewise (cost.c).
 */

/*
 * So many entries to look at (50 to 80 ns each) take about as long as to visit a page of the table that
 * is in memory, and to check some rows there (3.5 us).
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

/* A run that is to be searched. */
typedef struct RencoderWantedRun
{
	const RencoderRunEntry *entry;
	RencoderSearchedRun *run;
} RencoderWantedRun;

/*
 * Fills in scan->choice: all columns that are asked, in the order of search, none of them decided yet
 * but where scan->early stands, which is taken back if several are to be searched.  Of "n" runs, which
 * were looked at.  Locks: those of reading a page, released.
 */
extern void rencoder_run_choose(RencoderRunScan *scan, const RencoderWantedRun *wanted, int n);

/*
 * Decides whether column i of scan->choice is searched, where those before have found rows on "found"
 * pages.
 */
extern void rencoder_run_choice_decide(RencoderRunScan *scan, const RencoderWantedRun *wanted, int n,
									   int i, double found);

/* ---- Steps of a search ---- */

/* Notes what is wrong, if it is the first. */
extern void rencoder_run_scan_note_fault(RencoderRunScan *scan, BlockNumber blkno, const char *fault);

/* What is asked of a column; its coder is named by block "named_by".  NULL if that is missing. */
extern const RencoderKeySet *rencoder_run_scan_keys(RencoderRunScan *scan, int col, uint32 generation,
													BlockNumber named_by);

/* Adds rows first .. last of a page, or all of it if "first" is 0. */
extern void rencoder_run_scan_add_rows(RencoderRunScan *scan, renc_stretches *list, BlockNumber page,
									   uint32 first, uint32 last);

/*
 * Reads the pending list as far as it went when it was looked at.  False: a page was not what it
 * should be (run_scan_pending.c).
 */
extern bool rencoder_run_scan_read_pending(RencoderRunScan *scan);

#endif							/* RENCODER_RUN_SCAN_H */
