/*
 * costindex.h
 *		What the planner learns from an index itself.
 */
#ifndef RENCODER_COSTINDEX_H
#define RENCODER_COSTINDEX_H

#include "directory.h"
#include "key.h"

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
} RencoderCostIndex;

/*
 * Reads what there is to know, for a table of "heap_pages" pages.  "query"
 * has the constants of the clauses and is compared with the groups' bounds.
 *
 * Reads the metapage, some directory pages and few headers.  Only a damaged
 * metapage is an error; of other damages the scan, if any, will complain.
 */
extern void rencoder_cost_index_read(Relation index, double heap_pages,
									 const RencoderQuery *query,
									 RencoderCostIndex *info);

/* The same for an index that does not exist, as CREATE INDEX would make it. */
extern void rencoder_cost_index_invent(double heap_pages, int natts,
									   RencoderCostIndex *info);

/*
 * False positive rate of a range's filter of this configuration for a query
 * that no key of the range satisfies.
 */
extern double rencoder_cost_fpr(const RencoderConfig *config, double bits_per_key,
								const renc_interval_set *set);

/* Pages of a matrix that a probe with the query reads. */
extern double rencoder_cost_probe_pages(const RencoderConfig *config,
										const renc_interval_set *set);

#endif							/* RENCODER_COSTINDEX_H */
