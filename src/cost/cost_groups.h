/*
 * cost_groups.h
 *		What the planner learns of the groups of an index: ranges without a summary, bounds,
 *		filters, nulls.  Runs: cost_runs.c.
 */
#ifndef RENCODER_COST_GROUPS_H
#define RENCODER_COST_GROUPS_H

#include "key/key.h"
#include "store/entry.h"
#include "store/run_list.h"

typedef struct RencoderCostGroups
{
	uint32		pages_per_range;
	uint32		bits_per_key;
	double		ranges;			/* block ranges of the table */
	double		groups;			/* groups of these */
	double		directory_pages;	/* that a scan reads, metapage included */
	double		unsummarized;	/* ranges without a summary */
	double		covered;		/* ranges whose keys are in runs */
	double		meeting;		/* share of groups whose bounds meet the query */
	bool		of_query;		/* does any of this depend on the query? */

	/* Ranges in filters that were looked at, and whose bounds meet it. */
	double		compared;
	double		compared_meeting[INDEX_MAX_KEYS];

	/* A group's configuration, the last found; format 0: unknown. */
	RencoderConfig config[INDEX_MAX_KEYS];

	/* What the query, if it is known, found in a sample of the groups. */
	double		sample_ranges;	/* summarized ones; 0 if there is no sample */
	double		sample_hits;	/* of them, that may hold a row */
	bool		sample_all;		/* the sample is the whole index */
} RencoderCostGroups;

/* Ranges in filters of a sample of groups, and those of them that have nulls, or values. */
typedef struct RencoderCostNulls
{
	double		ranges;
	double		hits;
	bool		all;			/* the sample is the whole index */
} RencoderCostNulls;

/*
 * Reads what there is to know, for a table of "heap_pages" pages.  "query"
 * has the constants of the clauses and is compared with the groups' bounds, if
 * "may_look".  *runs are the runs that there are.
 *
 * Reads the metapage, the list of runs, some directory pages and few headers.  Only damage of
 * the first two is an error; of other damages the scan, if any, will complain.
 */
extern void rencoder_cost_groups_read(Relation index, double heap_pages,
									  RencoderQuery *query, bool may_look,
									  RencoderCostGroups *info, RencoderRuns *runs);

/* Fills in the sample.  "query" has all clauses.  Only if may_look. */
extern void rencoder_cost_groups_read_sample(Relation index, double heap_pages,
											 RencoderQuery *query,
											 RencoderCostGroups *info);

/*
 * Fills in *nulls, which is zero, for a column that is asked for nulls, or for values.  Only
 * if may_look.  Reads the headers of four groups, at most.
 */
extern void rencoder_cost_groups_read_nulls(Relation index, const RencoderCostGroups *info, int col,
											bool is_null, RencoderCostNulls *nulls);

#endif							/* RENCODER_COST_GROUPS_H */
