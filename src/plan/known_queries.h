/*
 * known_queries.h
 *		The query samples of a column, as trials of filters want them.
 */
#ifndef RENCODER_KNOWN_QUERIES_H
#define RENCODER_KNOWN_QUERIES_H

#include "base/compat.h"

#include "utils/rel.h"

#include "filter/renc_trial.h"

/* What is known of the queries of a column, in keys of one coder. */
typedef struct RencoderKnownQueries
{
	bool		loaded;
	uint32		generation;
	renc_sample *sample;		/* real ones first */
	int			n;
	int			nreal;			/* others were made of the table's own values */
	uint64		stamp;			/* of the real ones; 0: none */
} RencoderKnownQueries;

/*
 * Reads the query samples of a column (0-based) of the index that were made by this
 * generation of its coder, unless *q holds them already.  "boxed": those that are boxes,
 * else those that are intervals.  They live in "context".
 */
extern void rencoder_known_queries_load(RencoderKnownQueries *q, Relation index, int col,
										bool boxed, uint32 generation, MemoryContext context);

#endif							/* RENCODER_KNOWN_QUERIES_H */
