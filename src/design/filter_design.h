/*
 * filter_design.h
 *		Choosing shape and size of the filters of a column of a block.
 *
 * The shape is the one with the least cost in trials with a sample of queries
 * (src/filter/renc_shape_search.h): those that the index was given or has recorded,
 * or else intervals between the column's own values.  Points without enough of
 * them have the rule's.
 */
#ifndef RENCODER_FILTER_DESIGN_H
#define RENCODER_FILTER_DESIGN_H

#include "format/format_filter.h"

#include "filter/renc_shape_search.h"

/* What is known of the queries of a column, in keys of one coder. */
typedef struct RencoderKnownQueries
{
	bool		loaded;
	uint32		generation;
	renc_sample *sample;
	int			n;
} RencoderKnownQueries;

/* What was found for a column, from group to group. */
typedef struct RencoderFound
{
	bool		known;			/* there is a shape to go on from */
	renc_shape	shape;
	renc_shape	rule;			/* the rule's for the group that it was tried
								 * on */
} RencoderFound;

/* State of designing group after group: each search begins where the last ended. */
typedef struct RencoderDesigner
{
	uint32		bits_per_key;
	uint32		pages_per_range;
	MemoryContext context;
	double		table_ranges;	/* block ranges of the table */
	Relation	index;
	bool		boxed[INDEX_MAX_KEYS];	/* by column of the index: keys in
										 * Z-order */
	RencoderKnownQueries queries[INDEX_MAX_KEYS];
	RencoderFound found[INDEX_MAX_KEYS];
	renc_trial *trial;			/* work space, NULL until needed */
	renc_sample *sample;		/* room for samples, NULL until needed */
} RencoderDesigner;

/*
 * Lives in the current memory context.  Reads the index's query samples when
 * they are needed first.
 */
extern RencoderDesigner *rencoder_designer_create(Relation index,
												  const RencoderMeta *meta,
												  double table_ranges);

/*
 * Chooses for a column from the collected keys of some of its ranges (all slots of the collector),
 * of which there is one at least.  config->coder says by which coder the keys are made, and is kept.
 */
extern void rencoder_design_column(RencoderDesigner *designer, const RencoderRangeKeys *c,
								   int col, RencoderConfig *config);

#endif							/* RENCODER_FILTER_DESIGN_H */
