/*
 * run_choice.h
 *		Which columns a scan searches the runs for, and in which order.
 *
 * Rows are rechecked, so a column that is asked may be left out of the search.  The one that promises
 * the fewest entries, as inner pages of the runs tell, is searched first.  Another one is searched if
 * that costs less than the heap pages that it may save.  The planner decides likewise (cost.c).
 */
#ifndef RENCODER_RUN_CHOICE_H
#define RENCODER_RUN_CHOICE_H

#include "query/run_scan.h"

#include <math.h>

/* So many entries to look at take as long as to visit a page of the table.  Measured. */
#define RENCODER_ENTRIES_PER_PAGE	32

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

#endif							/* RENCODER_RUN_CHOICE_H */
