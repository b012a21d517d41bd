/*
 * cost_path.h
 *		A path that is being costed.
 */
#ifndef RENCODER_COST_PATH_H
#define RENCODER_COST_PATH_H

#include "query/cost_index.h"
#include "query/cost_runs.h"

#include "nodes/pathnodes.h"

/* What the index clauses ask of a column. */
typedef struct RencoderCostColumn
{
	List	   *quals;			/* RestrictInfos that restrict its keys or
								 * nulls */
	Oid			operator;		/* of one of the comparisons, or InvalidOid */
	bool		keys;			/* some comparison */
	bool		nulls;			/* IS NULL or IS NOT NULL */
	bool		range;			/* comparisons other than with = */
	bool		unknown;		/* some bound is not known when planning */
	double		elements;		/* of the array compared with, or 1 */
	const RencoderKeySet *known;	/* keys asked for, if they are known */
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
	RencoderCostColumn column[INDEX_MAX_KEYS];
	ScanKeyData *keys;			/* clauses with known bounds */
	int			nkeys;
	RencoderQuery *query;		/* made from them; NULL if hypothetical */
	RencoderCostIndex info;
	RencoderCostRuns runs;

	/* Results. */
	double		rows;			/* that satisfy the clauses */
	double		correlation;	/* of the best ordered column asked for */
	double		heap_pages;		/* to be visited */
	double		groups;			/* to be probed, by one scan */
	double		probes;			/* of a column and group by an array's element */
	double		run_pages;		/* of them, of runs and the pending list */
	double		run_entries;	/* of runs to be looked at, by one scan */
	double		index_pages;	/* to be read, by one scan */
} RencoderCostPath;

#endif							/* RENCODER_COST_PATH_H */
