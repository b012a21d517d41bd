/*
 * cost_runs.h
 *		What the planner learns from the runs of an index.
 */
#ifndef RENCODER_COST_RUNS_H
#define RENCODER_COST_RUNS_H

#include "key/key.h"
#include "store/run_list.h"

/* The trees of a column, of all base runs together. */
typedef struct RencoderCostRunColumn
{
	double		entries;
	double		rows;
	double		leaves;
	double		descent;		/* pages from the roots to a leaf of each */
	double		false_pages;	/* heap pages that a query finds by accident */
	double		between;		/* entries whose keys are asked for; < 0:
								 * unknown */
	bool		at_most;		/* so many at most: they lie between the outer
								 * bounds */
} RencoderCostRunColumn;

typedef struct RencoderCostRuns
{
	bool		any;			/* is there a base run? */
	double		fixed_pages;	/* read by every scan: list, pages that
								 * describe runs, pending list */
	double		delta_descent;	/* pages of all delta runs that one search
								 * reads */
	RencoderCostRunColumn column[INDEX_MAX_KEYS];
} RencoderCostRuns;

/*
 * Reads what the base runs of a list say of themselves.  If "may_rank", base runs are
 * also asked how many entries lie between the bounds of the query, which all must be
 * known; where that takes more than a few pages, it stays unknown.  Locks: pages of
 * runs share, one at a time, released.  No error if a page is damaged.
 */
extern void rencoder_cost_runs_read(Relation index, const RencoderRuns *list, RencoderQuery *query,
									bool may_rank, RencoderCostRuns *runs);

/*
 * Pages of a column's trees that a search reads which finds "entries" of them, in
 * "elements" places.
 */
extern double rencoder_cost_runs_search(const RencoderCostRuns *runs, int col,
										double entries, double elements);

#endif							/* RENCODER_COST_RUNS_H */
