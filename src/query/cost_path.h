/*
 * cost_path.h
 *		A path that is being costed.
 */
#ifndef RENCODER_COST_PATH_H
#define RENCODER_COST_PATH_H

#include "query/cost_learn_index.h"
#include "query/cost_runs.h"

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
								 * keys.  Nulls may be anywhere, but null
								 * flags are exact. */
	const RencoderKeySet *known;	/* keys asked for, if they are known */
	RencoderCostNulls found_nulls;	/* if it is asked for nulls; ranges 0:
									 * unknown */
} RencoderCostColumn;

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
	bool		exact_hidden;	/* no exact index is going to be taken */
	bool		competed;		/* by one, which is costed by the statistics */
	RencoderCostColumn column[INDEX_MAX_KEYS];
	ScanKeyData *keys;			/* clauses with known bounds; some elements of
								 * arrays */
	int			nkeys;
	RencoderQuery *query;		/* made from them; NULL if hypothetical */
	RencoderCostIndex info;
	RencoderCostRuns runs;

	double		rows;			/* that satisfy the clauses, as the statistics
								 * have it */
	double		correlation;	/* of the best ordered column asked for */

	/* Results. */
	double		heap_pages;		/* to be visited */
	double		heap_rows;		/* to be checked there */
	double		heap_places;	/* that they are in, one after the other in
								 * each */
	double		groups;			/* to be probed, by one scan */
	double		probes;			/* of a column and group by an array's element */
	double		run_pages;		/* of runs, to be read by one scan */
	double		run_entries;	/* of runs to be looked at, by one scan */
	double		index_pages;	/* to be read, by one scan */
	double		cached_pages;	/* of them, that every scan reads before all
								 * others */
	double		listed_pages;	/* and that every scan reads one after the
								 * other */
	double		group_pages;	/* and of the storage of groups */
	double		group_share;	/* that they are of all pages of these groups */
} RencoderCostPath;

/* Of the table, on average. */
static inline double
rencoder_cost_rows_per_page(const RencoderCostPath *p)
{
	return p->index->rel->tuples / Max(p->index->rel->pages, 1);
}

#endif							/* RENCODER_COST_PATH_H */
