/*
 * cost.h
 *		The parts of the cost estimate.
 *
 *		cost.c			clauses -> ranges and index pages to be read
 *		costindex.c		what the planner learns from an index itself
 *		costlook.c		whether the planner may look at the keys of rows
 *		costheap.c		telling the planner about the heap pages
 */
#ifndef RENCODER_COST_H
#define RENCODER_COST_H

#include "directory.h"
#include "key.h"

#include "nodes/pathnodes.h"

typedef struct RencoderCostIndex
{
	uint32		pages_per_range;
	uint32		bits_per_key;
	double		ranges;			/* block ranges of the table */
	double		groups;			/* groups of these */
	double		directory_pages;	/* metapage included */
	double		unsummarized;	/* ranges without a summary */
	double		slices;			/* in groups that are not a matrix yet */
	double		meeting;		/* share of groups whose bounds meet the query */

	/* A group's configuration, the last found; format 0: unknown. */
	RencoderConfig config[INDEX_MAX_KEYS];

	/* What the query, if it is known, found in a sample of the groups. */
	double		sampled_ranges; /* summarized ones; 0 if there is no sample */
	double		sampled_hits;	/* of them, that may hold a row */
	bool		sampled_all;	/* the sample is the whole index */
} RencoderCostIndex;

/* What the index clauses ask of a column. */
typedef struct RencoderCostColumn
{
	List	   *quals;			/* RestrictInfos that restrict its keys or nulls */
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
	bool		may_look;		/* may constants be compared with keys of rows? */
	RencoderCostColumn column[INDEX_MAX_KEYS];
	ScanKeyData *keys;			/* clauses with known bounds */
	int			nkeys;
	RencoderQuery *query;		/* made from them; NULL if hypothetical */
	RencoderCostIndex info;

	/* Results. */
	double		rows;			/* that satisfy the clauses */
	double		correlation;	/* of the best ordered column asked for */
	double		heap_pages;		/* to be visited */
	double		groups;			/* to be probed, by one scan */
	double		probes;			/* of a column and group by an array's element */
	double		index_pages;	/* to be read, by one scan */
} RencoderCostPath;

/*
 * May the constants of the query be compared with keys of rows in the index?
 * Not if row security applies to the table, or the user that its privileges are
 * checked as may not read the columns, or a view that is a security barrier
 * stands before them.  No locks.
 */
extern bool rencoder_cost_may_look(PlannerInfo *root, const IndexOptInfo *index);

/*
 * Reads what there is to know, for a table of "heap_pages" pages.  "query"
 * has the constants of the clauses and is compared with the groups' bounds, if
 * "may_look".
 *
 * Reads the metapage, some directory pages and few headers.  Only a damaged
 * metapage is an error; of other damages the scan, if any, will complain.
 */
extern void rencoder_cost_index_read(Relation index, double heap_pages,
									 RencoderQuery *query, bool may_look,
									 RencoderCostIndex *info);

/* Fills in the sample.  "query" has all clauses.  Only if may_look. */
extern void rencoder_cost_index_sample(Relation index, double heap_pages,
									   RencoderQuery *query,
									   RencoderCostIndex *info);

/* The same for an index that does not exist, as CREATE INDEX would make it. */
extern void rencoder_cost_index_invent(double heap_pages, int natts,
									   RencoderCostIndex *info);

/*
 * False positive rate of a range's filter of this configuration for a query
 * that no key of the range satisfies.  "keys": what it asks for, or NULL if
 * that is not known.
 */
extern double rencoder_cost_fpr(const RencoderConfig *config, double bits_per_key,
								const RencoderKeySet *keys);

/* Pages of a matrix that a probe with the query reads. */
extern double rencoder_cost_probe_pages(const RencoderConfig *config,
										const RencoderKeySet *keys);

/*
 * Reports the costs of a path with its results, so that the planner arrives at
 * their sum, and rightly compares it with paths of other indexes on the way.
 */
extern void rencoder_cost_report(const RencoderCostPath *p, Cost *index_cost,
								 Selectivity *selectivity);

#endif							/* RENCODER_COST_H */
