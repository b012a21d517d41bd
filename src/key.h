/*
 * key.h
 *		Values to keys: opclass support functions, scan keys to queries.
 */
#ifndef RENCODER_KEY_H
#define RENCODER_KEY_H

#include "intervals.h"
#include "meta.h"

#include "access/genam.h"
#include "access/skey.h"

/*
 * Support functions of an operator class.
 *
 * 1 (required): value -> key, as int8 holding the bits of a uint64.  Monotone
 *	 in the type's order: x < y implies key(x) <= key(y).  For another right-hand
 *	 type of the operator family, (type, type) of that type.
 * 2 (optional): for operators with another right-hand type, how far a bound of
 *	 that type must be widened, in key units; () -> int8.
 * 3 (required for operators beyond btree's, for their operands' types): which
 *	 keys may satisfy "x operator value"; (type, int2 strategy, internal) ->
 *	 void, adds intervals to the RencoderIntervals that the last argument
 *	 points to.
 */
#define RENCODER_PROC_KEY		1
#define RENCODER_PROC_SLACK		2
#define RENCODER_PROC_INTERVALS	3
#define RENCODER_NPROCS			3

/* Strategies: btree's numbers first. */
#define RENCODER_NORDER_STRATEGIES		5
#define RENCODER_STRATEGY_SUB			6	/* inet << inet */
#define RENCODER_STRATEGY_SUB_EQUAL		7	/* inet <<= inet */
#define RENCODER_STRATEGY_SUPER			8	/* inet >> inet */
#define RENCODER_STRATEGY_SUPER_EQUAL	9	/* inet >>= inet */
#define RENCODER_STRATEGY_OVERLAP		10	/* inet && inet */
#define RENCODER_NSTRATEGIES			10

/* What a query asks of one column. */
typedef struct RencoderColumnQuery
{
	bool		is_null;		/* IS NULL */
	bool		not_null;		/* IS NOT NULL */
	bool		has_keys;		/* intervals below restrict the keys */
	renc_interval_set set;
	renc_query	query;
} RencoderColumnQuery;

typedef struct RencoderQuery
{
	bool		empty;			/* contradictory: no row can match */
	bool		restricted;		/* any column asked for anything */
	int			natts;
	RencoderColumnQuery column[INDEX_MAX_KEYS];
} RencoderQuery;

/* The key of a value of the index column (0-based); value is not null. */
extern uint64 rencoder_key_encode(Relation index, int col, Datum value);

/*
 * Turns scan keys into a query, palloc'd in the current context.  Strict
 * bounds become closed ones, which is safe because keys are only monotone.
 * Keys with SK_SEARCHARRAY ask for the union over the array's elements.
 */
extern RencoderQuery *rencoder_key_query(Relation index, const ScanKeyData *keys,
										 int nkeys);

/* The query lo <= column <= hi for values of the column's type. */
extern RencoderQuery *rencoder_key_between(Relation index, int col,
										   Datum lo, Datum hi);

#endif							/* RENCODER_KEY_H */
