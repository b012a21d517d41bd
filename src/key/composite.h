/*
 * composite.h
 *		Composite keys: all columns of an index make one key (filter/renc_composite.h).
 *
 * To all that lies below, such an index has one column of keys (rencoder_key_columns()), whose coder
 * is of kind RENCODER_CODER_COMPOSITE, and has those of its columns in itself.  Without one, codes are
 * what a coder says that was trained on nothing.
 *
 * A null has a code, so such an index has no nulls; a row with a value without a key in any column is
 * keyless as a whole.
 */
#ifndef RENCODER_COMPOSITE_H
#define RENCODER_COMPOSITE_H

#include "filter/renc_composite.h"
#include "key/coder.h"
#include "key/intervals.h"

/* More intervals than this a product of lists is not to have: then later columns count less. */
#define RENCODER_COMPOSITE_INTERVALS	4096

/* The coder of a column's own keys; NULL: there is none. */
extern const RencoderCoder *rencoder_composite_column_coder(const RencoderCoder *coder, int col);

/* What makes composite keys of those of n columns. */
extern const renc_composite *rencoder_composite_codes(const RencoderCoder *coder, int n);

/* The composite key of a row with these keys and nulls. */
extern uint64 rencoder_composite_key(const renc_composite *codes, const uint64 *key,
									 const bool *isnull);

/*
 * Do the codes of the first n columns in a composite key stand for one value each?  Then rows whose
 * keys have them are equal in these columns.
 */
extern bool rencoder_composite_is_alone(const renc_composite *codes, int n, uint64 key);

/*
 * The last key, or the first one backward, that no order of values tells from a key: of values that
 * share the code of a column but the last, the codes behind it are in no order, unless only one of these
 * values is wanted of the column ("single").
 */
extern uint64 rencoder_composite_order_edge(const renc_composite *codes, uint64 key, bool backward,
											const bool *single);

/* What a query asks of a column. */
typedef struct RencoderCompositeAsked
{
	bool		any;			/* nothing */
	bool		is_null;		/* a null */
	bool		not_null;		/* any value; else keys: */
	const RencoderIntervals *keys;	/* normalized */
} RencoderCompositeAsked;

/*
 * Sets *intervals, which are normalized, to composite keys that hold all that is asked for, and no
 * others as far as there need not be too many.
 */
extern void rencoder_composite_intervals(const renc_composite *codes, const RencoderCompositeAsked *asked,
										 RencoderIntervals *intervals);

#endif							/* RENCODER_COMPOSITE_H */
