/*
 * cost_path.h
 *		A path that is being costed, and the steps of doing so.
 */
#ifndef RENCODER_COST_PATH_H
#define RENCODER_COST_PATH_H

#include "cost/cost_runs.h"

#include "nodes/pathnodes.h"

/* What the index clauses ask of a column. */
typedef struct RencoderCostColumn
{
	List	   *quals;			/* RestrictInfos that restrict its keys or
								 * nulls */
	Oid			operator;		/* of one of the comparisons, or InvalidOid */
	bool		keys;			/* some comparison */
	bool		all_keys;		/* that say no more than IS NOT NULL */
	bool		nulls;			/* IS NULL or IS NOT NULL */
	bool		pattern;		/* more keys are searched than satisfy it */
	bool		range;			/* comparisons other than with = */
	bool		lower;			/* bounded below, above, by other than = */
	bool		upper;
	bool		unknown;		/* some value is not known when planning */
	bool		unknown_range;	/* it is of a comparison other than with = */
	Expr	   *indexed;		/* what values are compared with */
	double		elements;		/* of the array compared with, or 1 */
	int			sampled;		/* of them, in the scan keys; 0: none */
	double		rows;			/* that satisfy the clauses on it; 0: not
								 * asked for yet */
	double		correlation;	/* of its values with the table's order, if
								 * keys */
} RencoderCostColumn;

/* Another index of the table that could answer the clauses. */
typedef enum RencoderRivalKind
{
	RENCODER_RIVAL_NONE,
	RENCODER_RIVAL_BRIN,
	RENCODER_RIVAL_EXACT		/* any but BRIN */
} RencoderRivalKind;

typedef struct RencoderRival
{
	RencoderRivalKind kind;
	Cost		index;			/* that it reports for itself, about: of the
								 * smallest BRIN index, not more */
	Cost		startup;		/* of an exact index: before the first row */
	double		correlation;	/* and what it makes of that of the column */
	double		range_pages;	/* of the heap, that the BRIN index takes as
								 * one */
} RencoderRival;

/* A path to be costed. */
typedef struct RencoderCostPath
{
	PlannerInfo *root;
	IndexPath  *path;
	IndexOptInfo *index;
	double		loop_count;
	List	   *quals;			/* of all columns */
	bool		may_look;		/* may constants be compared with keys of
								 * rows? */
	bool		composite;		/* all columns make one key */
	RencoderCostColumn *part;	/* the index's columns, */
	int			ncolumns;		/* and those of keys, */
	RencoderCostColumn *column; /* one if they are composite */
	double		searches;		/* for values of lists, of all columns */
	ScanKeyData *keys;			/* clauses with known bounds; some elements of
								 * arrays */
	int			nkeys;
	RencoderQuery *query;		/* made from them */
	RencoderCostRuns runs;

	double		rows;			/* that satisfy the clauses, as the statistics
								 * have it */
	double		correlation;	/* of the best ordered column asked for */
	RencoderRival rival;

	/* Results. */
	double		heap_pages;		/* to be visited */
	double		heap_rows;		/* to be checked there */
	double		heap_places;	/* that they are in, one after the other in
								 * each */
	int			searched;		/* columns that runs are searched for; 0:
								 * there are none */
	double		run_pages;		/* of runs, to be read by one scan */
	double		run_entries;	/* of runs to be looked at, by one scan */
	double		index_pages;	/* to be read, by one scan */
	double		cached_pages;	/* of them, that every scan reads before all
								 * others */
	double		descents;		/* to leaves of runs, by one scan */
	double		listed_pages;	/* and that every scan reads one after the
								 * other */
} RencoderCostPath;

/* Of the table, on average. */
static inline double
rencoder_cost_rows_per_page(const RencoderCostPath *p)
{
	return p->index->rel->tuples / Max(p->index->rel->pages, 1);
}

/* ---- What the clauses ask of each column (cost_clauses.c) ---- */

/* Fills in what the columns are asked for, and the scan keys of what is known by now. */
extern void rencoder_cost_clauses(RencoderCostPath *p);

/*
 * Rows that satisfy the clauses of some columns and are in the index: as the statistics
 * have it.
 */
extern double rencoder_cost_rows(const RencoderCostPath *p, List *quals);

/* Those of a column alone, where the statistics know nothing, too. */
extern double rencoder_cost_column_rows(RencoderCostPath *p, int col);

/* And those where it is not null. */
extern double rencoder_cost_column_not_null(const RencoderCostPath *p, int col);

/*
 * Rows that clauses leave which are narrower, of other indexes of ours, all of the table or of one arm of
 * an OR with those of the path.  *alone: there are no others at all.
 */
extern double rencoder_cost_rows_beside(const RencoderCostPath *p, bool *alone);

/* ---- What is asked for nulls, or all values (cost_nulls.c) ---- */

/* What is left of the covered pages. */
typedef struct RencoderCostNullsRate
{
	double		pages;			/* that have such rows */
	double		places;			/* that they are in, one after the other in
								 * each */
	double		rows;			/* to be checked there */
} RencoderCostNullsRate;

/*
 * Of "pages" covered pages, for a column that is asked for nulls, or for values.  Adds to run_pages
 * and run_entries of the path.
 */
extern RencoderCostNullsRate rencoder_cost_nulls_column(RencoderCostPath *p, int col, double pages);

/* The same for all rows of a partial index. */
extern RencoderCostNullsRate rencoder_cost_nulls_all(RencoderCostPath *p, double pages);

/* ---- May the planner look at the keys of rows? (cost_privileges.c) ---- */

/*
 * May the constants of the query be compared with keys of rows in the index?
 * Not if row security applies to the table, or the user that its privileges are
 * checked as may not read the columns, or a view that is a security barrier
 * stands before them.  No locks.
 */
extern bool rencoder_cost_may_look(PlannerInfo *root, const IndexOptInfo *index);

/* ---- Telling the planner about the heap pages that a scan visits (cost_heap.c) ---- */

/*
 * Finds the rival of a path, whose rows and correlation are known.
 *
 * Of several indexes for the same clauses the planner keeps that of the least index cost, which is
 * BRIN's as soon as there are some rows.  Nothing is left of a btree then but a plain scan.  If that
 * is dearer than a sequential one, no exact index is taken, and BRIN is the rival.
 *
 * An exact index costs its scan by the statistics.  Knowing better than these would make us look
 * cheaper than an index that needs fewer pages.
 */
extern void rencoder_cost_find_rival(RencoderCostPath *p);

/* What the planner is told of a path: as amcostestimate. */
typedef struct RencoderCostReport
{
	Cost		startup;		/* without operands */
	Cost		total;			/* likewise */
	Selectivity selectivity;
	double		correlation;
} RencoderCostReport;

/*
 * Reports the costs of a path with its results, so that the planner arrives at
 * their sum, and rightly compares it with paths of other indexes on the way.
 */
extern RencoderCostReport rencoder_cost_report(const RencoderCostPath *p);

/*
 * May rows of the path have to come in order (cost_order.c)?  Not where comparisons with = leave one value
 * of each column.
 */
extern bool rencoder_cost_is_in_order(const RencoderCostPath *p);

/* Does the query want some rows only, in an order that the index has, whatever that of the path is? */
extern bool rencoder_cost_order_is_wanted(const RencoderCostPath *p);

/* Between "scattered" and "together", as cost_index() does. */
static inline double
rencoder_cost_interpolate(double scattered, double together, double correlation)
{
	return scattered + correlation * correlation * (Min(together, scattered) - scattered);
}

/* Is any column asked for something? */
static inline bool
rencoder_cost_asks_anything(const RencoderCostPath *p)
{
	for (int col = 0; col < p->ncolumns; col++)
	{
		if (p->column[col].quals != NIL)
			return true;
	}
	return false;
}

/*
 * Adds to heap_pages, heap_rows, heap_places, run_entries, run_pages and searched what is to be read
 * of pages that runs cover; the rest of the path is set.
 */
extern void rencoder_cost_covered(RencoderCostPath *p);

/* The same of pages that matrices cover. */
extern void rencoder_cost_matrices(RencoderCostPath *p);

#endif							/* RENCODER_COST_PATH_H */
