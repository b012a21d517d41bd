/*
 * table_sample.h
 *		A sample of a table's pages: the keys of a column that stand on them.
 */
#ifndef RENCODER_TABLE_SAMPLE_H
#define RENCODER_TABLE_SAMPLE_H

#include "key/key.h"
#include "run/renc_place.h"

/* Rows of the sample that have the key on the page. */
typedef struct RencoderSampledKey
{
	uint64		key;
	uint32		page;			/* number in the sample */
	uint16		rows;
	uint16		part;			/* of the page, the first that has it */
	uint16		parts;			/* that have it */
} RencoderSampledKey;

/*
 * Pages are sampled in stretches of so many, of which the first is a multiple of it: what
 * the keys of neighbouring pages have to do with each other decides how a run keeps them.
 */
#define RENCODER_SAMPLE_STRETCH	16

/* A page of the sample. */
typedef struct RencoderSampledPage
{
	BlockNumber blkno;
	uint64		min;			/* keys; min > max: none */
	uint64		max;
} RencoderSampledPage;

typedef struct RencoderTableSample
{
	Relation	index;			/* hypothetical (hypothetical_index.h) */
	BlockNumber nblocks;		/* of the table */
	renc_places places;			/* parts of its pages that a run would name */
	RencoderCoder coder;		/* generation 0: none */

	uint32		npages;			/* sampled, ascending */
	RencoderSampledPage *page;
	double		rows;			/* seen on them */
	double		nulls;			/* of these */
	double		keyless;		/* of these, too: no single key stands for the
								 * value */
	double		bytes;			/* of their values, as an index tuple has them */

	size_t		nkeys;			/* ordered by (key, page), none twice */
	RencoderSampledKey *key;
} RencoderTableSample;

/* The part of the table that was looked at. */
static inline double
rencoder_table_sample_fraction(const RencoderTableSample *sample)
{
	return sample->nblocks == 0 ? 1 : (double) sample->npages / sample->nblocks;
}

/*
 * Reads random stretches of the table, chosen as ANALYZE chooses pages, all of a small one,
 * and makes keys of the column's values that the active snapshot sees, as the index would
 * whose coder were trained on them.  The same table gives the same sample.  In the
 * current memory context.
 *
 * The column is one of the table, or, unless "model" is NULL, of that index, of any access method: of
 * the rows that its predicate lets in, and with the values of its expression.  These are evaluated as
 * the present user, who must be the table's owner, restricted.
 *
 * The caller has AccessShareLock on table and model, and may read the column.
 */
extern void rencoder_table_sample_read(Relation heap, Relation index, Relation model, AttrNumber attnum,
									   RencoderTableSample *sample);

/* Why the rows of a table cannot be sampled: a clause.  NULL if they can. */
extern const char *rencoder_table_sample_problem(Relation heap);

#endif							/* RENCODER_TABLE_SAMPLE_H */
