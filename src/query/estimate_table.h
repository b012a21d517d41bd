/*
 * estimate_table.h
 *		What a rencoder index on a column would take, told from a sample of the table.
 */
#ifndef RENCODER_ESTIMATE_TABLE_H
#define RENCODER_ESTIMATE_TABLE_H

#include "table/table_sample.h"

/* What a query would read by an index, and how large that is. */
typedef struct RencoderMethodEstimate
{
	bool		possible;		/* else nothing below is set */
	double		size_pages;
	double		index_pages;	/* read by the query */
	double		heap_pages;		/* likewise */
	double		false_pages;	/* of these: without a row of it */
} RencoderMethodEstimate;

/* What the sample says of the table, and of what the query asks for. */
typedef struct RencoderTableEstimate
{
	double		rows;			/* of the table, with a value */
	double		nulls;			/* rows without */
	double		distinct;		/* keys */
	double		found;			/* rows that the query finds */
	double		found_pages;	/* pages with such a row */
} RencoderTableEstimate;

/* "keys": of the query. */
extern void rencoder_estimate_rows(const RencoderTableSample *sample, const RencoderKeySet *keys,
								   RencoderTableEstimate *table);

/* Of an index with the default options, right after CREATE INDEX. */
extern void rencoder_estimate_own(const RencoderTableSample *sample,
								  const RencoderTableEstimate *table, const RencoderKeySet *keys,
								  RencoderMethodEstimate *estimate);

/* Pages that a further column adds to an index; "column" is what it would take by itself. */
extern double rencoder_estimate_further(const RencoderMethodEstimate *column);

/* What a column may be indexed with. */
typedef enum RencoderMethod
{
	RENCODER_METHOD_OWN,
	RENCODER_METHOD_BTREE,
	RENCODER_METHOD_BRIN,
	RENCODER_NMETHODS
} RencoderMethod;

/*
 * Sets *table, and what each method would take right after CREATE INDEX without options.  btree and
 * BRIN (minmax) are not possible if the type has no order.
 */
extern void rencoder_estimate_methods(const RencoderTableSample *sample, const RencoderKeySet *keys,
									  RencoderTableEstimate *table, RencoderMethodEstimate *method);

/* Pages of index and table. */
static inline double
rencoder_estimate_reads(const RencoderMethodEstimate *method)
{
	return method->index_pages + method->heap_pages;
}

/* A query that reads so much of the table needs no index. */
#define RENCODER_SCAN_PART	0.3

/*
 * Does BRIN do as well as an index of ours, which is larger?  It reads pages side by side: 256 more
 * cost no more than a larger index to maintain.
 */
extern bool rencoder_estimate_brin_serves(const RencoderTableSample *sample,
										  const RencoderMethodEstimate *method);

#endif							/* RENCODER_ESTIMATE_TABLE_H */
