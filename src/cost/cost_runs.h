/*
 * cost_runs.h
 *		What the planner learns from the catalog and the runs of an index.
 */
#ifndef RENCODER_COST_RUNS_H
#define RENCODER_COST_RUNS_H

#include "key/key.h"
#include "scan/scan_copies.h"

/*
 * The trees of a column, of all base runs together, as far as pages are covered by them: what is
 * made out of date by newer runs does not count.
 */
typedef struct RencoderCostRunColumn
{
	uint32		coder;			/* of the largest run */
	double		entries;
	double		rows;
	double		places;			/* of the table, that entries name */
	double		checked;		/* rows of the parts of pages that the entries
								 * name, added up */
	double		leaves;
	double		trees;			/* that have any */
	double		inner_pages;	/* from the roots to the leaves, without these */
	double		false_pages;	/* heap pages that a query finds by accident */
	double		between;		/* entries whose keys are asked for; < 0:
								 * unknown */
	bool		bounds_only;	/* it is so many at most */
	double		in_leaves;		/* and about these at least: of leaves that
								 * have no others, or counted */
	double		near;			/* of entries that are asked for, so many lie
								 * in about */
	double		near_pages;		/* so many heap pages, */
	double		near_places;	/* one after the other in each of so many
								 * places; near 0: not looked at */
	double		found;			/* entries that a sample of a list meets, by
								 * accident or not; < 0: unknown */

	/* The trees of rows without a key, nearly all of them nulls. */
	double		null_entries;
	double		null_rows;
	double		null_leaves;
	double		null_part;		/* rows of a part of a page that an entry
								 * names */
} RencoderCostRunColumn;

struct RencoderCostBase;

typedef struct RencoderCostRuns
{
	double		covered;		/* pages of the table that base runs cover */
	double		matrix_pages;	/* that matrices cover */
	double		pages_per_range;	/* of these */
	double		uncovered;		/* and others: every scan reads them */
	double		info_pages;		/* the list, and pages that describe runs */
	double		pending_pages;
	double		delta_descent;	/* pages of all delta runs that one search
								 * reads */
	double		delta_pages;	/* all that there are */
	RencoderCostRunColumn *column;

	/* Private. */
	int			pages_left;		/* to be read, at most */
	int			ntrees;			/* of a run, up to the last that is asked */
	int			nbase;
	struct RencoderCostBase *base;
} RencoderCostRuns;

/* What a column is asked for. */
typedef struct RencoderCostAsked
{
	int			sampled;		/* elements of a list that are looked for; 0:
								 * no list */
	double		rows;			/* that the statistics expect */
	bool		is_wide;		/* many times those of another column: about
								 * how many is enough */
} RencoderCostAsked;

/*
 * Reads what the catalog, which is copied unless it has been, and the base runs say of themselves;
 * *runs is zero.  In the current memory context, as long as all that follows.  Keys are compared
 * with constants if "may_look".  Locks:
 * catalog, then pages of runs share, one at a time, released.  No error if a page of a run is
 * damaged.
 */
extern void rencoder_cost_runs_read(Relation index, Snapshot snapshot, RencoderCopies *copies,
									RencoderQuery *query, bool may_look, RencoderCostRuns *runs);

/*
 * Asks base runs how many entries lie between the bounds of the query, which all must be known;
 * where that takes more than a few pages, it stays unknown.  asked[] is of the columns.
 */
extern void rencoder_cost_runs_rank(Relation index, RencoderQuery *query,
									const RencoderCostAsked *asked, RencoderCostRuns *runs);

/* Rows that a scan checks for so many entries, of pages with "rows_per_page" of them. */
extern double rencoder_cost_runs_checked_rows(const RencoderCostRunColumn *column, double entries,
											  double rows_per_page);

/*
 * Leaves of a column's trees, and pages of deltas, that a search reads which finds "entries"
 * of them, in "elements" places.
 */
extern double rencoder_cost_runs_leaves(const RencoderCostRuns *runs, int col,
										double entries, double elements);

/* The same of one that finds all of a tree with so many leaves: nulls, or values. */
extern double rencoder_cost_runs_leaves_of_all(const RencoderCostRuns *runs, double leaves);

/* Pages that it reads on its way to the leaves. */
extern double rencoder_cost_runs_inner_pages(const RencoderCostRuns *runs, int col, double elements);

#endif							/* RENCODER_COST_RUNS_H */
