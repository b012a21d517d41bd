/*
 * renc_composite.h
 *		One key of the keys of several columns, in their order.
 *
 *		63                                              0
 *		| code of column 1 | code of column 2 | .. last |
 *
 * A code is a function of its column's key: monotone, not strict.  The greatest code of a column is
 * that of NULL alone.  The keys that a coder was trained on lie from "lo" to "hi", and their codes
 * from "from" to "to":
 *
 *		the last column		in proportion; they have 7/8 of the codes, and what lies below and
 *							above, over the whole key space, a sixteenth each
 *		others				points, which are keys with a code of their own, and stretches between
 *							them, in proportion; below and above the distance from lo and hi, as a
 *							number of "mantissa" bits behind the first one, and an exponent
 *
 * So no key outgrows its code: far away codes are coarse, but more than one.
 */
#ifndef RENC_COMPOSITE_H
#define RENC_COMPOSITE_H

#include "renc_base.h"

#define RENC_COMPOSITE_MIN	2
#define RENC_COMPOSITE_MAX	4	/* columns */

/* Points of all columns together. */
#define RENC_COMPOSITE_POINTS	4096

/* What is stored (disk format), at the front of a coder's bytes. */
typedef struct renc_composite_column
{
	uint64_t	lo;				/* keys */
	uint64_t	hi;
	uint64_t	from;			/* codes */
	uint64_t	to;
	uint32_t	points;			/* where they are: keys, then codes; bytes */
	uint32_t	npoints;		/* 0: the last column */
	uint32_t	coder;			/* where the coder of its keys is */
	uint32_t	coder_size;		/* 0: it has none */
	uint16_t	coder_kind;
	uint8_t		bits;			/* of a code */
	uint8_t		mantissa;
	uint32_t	unused;			/* 0 */
} renc_composite_column;

typedef struct renc_composite
{
	uint32_t	n;				/* columns */
	uint32_t	size;			/* without their coders, a multiple of 8 */
	renc_composite_column column[RENC_COMPOSITE_MAX];
} renc_composite;

/* Bytes without the columns' coders, at most. */
#define RENC_COMPOSITE_MAX_SIZE \
	(sizeof(renc_composite) + RENC_COMPOSITE_POINTS * (sizeof(uint64_t) + sizeof(uint32_t)) + \
	 8 * RENC_COMPOSITE_MAX)

/* Are these bytes, which are aligned, such a coder?  Not looked at: the coders of the columns. */
extern bool renc_composite_valid(const void *data, size_t size);

/* The code of NULL: no other key of the column has it. */
static inline uint64_t
renc_composite_null(const renc_composite *c, int col)
{
	return (UINT64_C(1) << c->column[col].bits) - 1;
}

/* The code of a key. */
extern uint64_t renc_composite_code(const renc_composite *c, int col, uint64_t key);

/* Bits behind the code of a column in a composite key. */
extern int	renc_composite_shift(const renc_composite *c, int col);

/* A column's code in a composite key. */
extern uint64_t renc_composite_code_in(const renc_composite *c, int col, uint64_t composite);

/* Does a code of a column but the last stand for one value alone? */
extern bool renc_composite_is_alone(const renc_composite *c, int col, uint64_t code);

/* Is any column's key in a composite one beside those that the coder was trained on? */
extern bool renc_composite_is_outside(const renc_composite *c, uint64_t composite);

/* ---- Training (renc_composite_train.c) ---- */

/* A key of a sample. */
typedef struct renc_composite_value
{
	uint64_t	key;
	bool		exact;			/* no other value has it */
} renc_composite_value;

/* Those of a column, in order, nulls left out; there may be none. */
typedef struct renc_composite_sample
{
	const renc_composite_value *value;
	size_t		n;
} renc_composite_sample;

/*
 * Makes a coder of the keys of n columns; returns its size.  "data" has room for
 * RENC_COMPOSITE_MAX_SIZE bytes.  The columns' coders, if any, are the caller's to add behind it.
 */
extern size_t renc_composite_train(const renc_composite_sample *sample, int n, void *data);

/* The share of a column's sample that lies outside of what a coder was trained on. */
extern double renc_composite_share_outside(const renc_composite *c, int col,
										   const renc_composite_sample *sample);

/* The share of a column's sample that has the code of another one of its keys. */
extern double renc_composite_share_alike(const renc_composite *c, int col,
										 const renc_composite_sample *sample);

#endif							/* RENC_COMPOSITE_H */
