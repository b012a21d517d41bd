/*
 * key.h
 *		Values to keys by support functions of operator classes (key.c), scan keys to queries
 *		(scan_keys.c).
 */
#ifndef RENCODER_KEY_H
#define RENCODER_KEY_H

#include "key/boxes.h"
#include "key/coder.h"
#include "key/composite.h"
#include "key/intervals.h"

#include "access/genam.h"
#include "access/skey.h"
#include "nodes/pg_list.h"

/*
 * Support functions of an operator class.
 *
 * 1 (this or 4): value -> key, as int8 holding the bits of a uint64.  Monotone
 *	 in the type's order: x < y implies key(x) <= key(y).  For another right-hand
 *	 type of the operator family, (type, type) of that type.
 * 2 (optional): which keys the values on either side of a bound may have, see
 *	 RencoderBound; (type, internal) -> void.  Without it, a strict bound is searched like a
 *	 closed one.  Registered for (left, right) it says all of these bounds, and all operators
 *	 ask it.  Registered for (right, right) it also serves each type on the left that has none
 *	 of its own with that right-hand type; only < and > ask it, and it must leave "le" and "ge"
 *	 as they are.
 * 3 (required for operators beyond btree's, for their operands' types): which
 *	 keys may satisfy "x operator value"; (type, int2 strategy, internal) ->
 *	 void, adds to the RencoderOperand that the last argument points to.
 * 4 (instead of 1): the same for types that want a coder; (type, internal) ->
 *	 int8, the last argument points to a RencoderEncoding.
 * 5 (with 4): adds a value to the sample that coders are trained on; (type,
 *	 internal) -> void, the last argument points to a RencoderTrainer.
 * 6 (optional): as 3, for btree's operators other than =.  Keys need not be in the
 *	 order of a type with it; equal values must have equal keys all the same.
 */
#define RENCODER_PROC_KEY		1
#define RENCODER_PROC_BOUND		2
#define RENCODER_PROC_INTERVALS	3
#define RENCODER_PROC_CODED_KEY	4
#define RENCODER_PROC_SAMPLE	5
#define RENCODER_PROC_ORDER		6
#define RENCODER_NPROCS			6

/* Strategies: btree's numbers first. */
#define RENCODER_NORDER_STRATEGIES		5
#define RENCODER_STRATEGY_SUB			6	/* inet << inet */
#define RENCODER_STRATEGY_SUB_EQUAL		7	/* inet <<= inet */
#define RENCODER_STRATEGY_SUPER			8	/* inet >> inet */
#define RENCODER_STRATEGY_SUPER_EQUAL	9	/* inet >>= inet */
#define RENCODER_STRATEGY_OVERLAP		10	/* inet && inet, geometry &&
											 * geometry */
#define RENCODER_STRATEGY_LIKE			11	/* text ~~ text */
#define RENCODER_STRATEGY_PREFIX		12	/* text ^@ text */
#define RENCODER_STRATEGY_PATTERN_LT	13	/* text ~<~ text */
#define RENCODER_STRATEGY_PATTERN_LE	14	/* text ~<=~ text */
#define RENCODER_STRATEGY_PATTERN_GE	15	/* text ~>=~ text */
#define RENCODER_STRATEGY_PATTERN_GT	16	/* text ~>~ text */
#define RENCODER_STRATEGY_CONTAINED		17	/* point <@ box, polygon, circle */
#define RENCODER_STRATEGY_SAME			18	/* point ~= point */
#define RENCODER_STRATEGY_REGEX			19	/* text ~ text */
#define RENCODER_NSTRATEGIES			19

/* Input and output of support function 4. */
typedef struct RencoderEncoding
{
	const RencoderCoder *coder; /* NULL: none */
	bool		keyless;		/* out: no single key stands for the value */
} RencoderEncoding;

/*
 * Input and output of support function 2: where the column's values x lie about a bound.  All
 * four come as the key of the bound by function 1 or 4, which is right where keys are monotone.
 * "nothing" is for an end of the key space: no x is there.
 */
typedef struct RencoderBound
{
	const RencoderCoder *coder; /* NULL: none */
	uint64		lt;				/* x < bound: key(x) <= lt, */
	uint64		le;				/* x <= bound: key(x) <= le, */
	uint64		ge;				/* x >= bound: key(x) >= ge, */
	uint64		gt;				/* x > bound: key(x) >= gt */
	bool		nothing_lt;
	bool		nothing_gt;
} RencoderBound;

/* Every x < bound has a key < key. */
static inline void
rencoder_bound_exclude_below(RencoderBound *bound, uint64 key)
{
	bound->nothing_lt = key == 0;
	bound->lt = key == 0 ? 0 : key - 1;
}

/* Every x > bound has a key > key. */
static inline void
rencoder_bound_exclude_above(RencoderBound *bound, uint64 key)
{
	bound->nothing_gt = key == PG_UINT64_MAX;
	bound->gt = key == PG_UINT64_MAX ? key : key + 1;
}

/* No other value has the bound's key. */
static inline void
rencoder_bound_exclude_others(RencoderBound *bound)
{
	rencoder_bound_exclude_below(bound, bound->le);
	rencoder_bound_exclude_above(bound, bound->ge);
}

/*
 * The values of the bound's key differ in what it leaves out, which is a number up to "last": of the
 * bound it is "rest".
 */
static inline void
rencoder_bound_exclude_by_rest(RencoderBound *bound, uint64 rest, uint64 last)
{
	if (rest == 0)
		rencoder_bound_exclude_below(bound, bound->lt);
	if (rest == last)
		rencoder_bound_exclude_above(bound, bound->gt);
}

/* Input and output of support functions 3 and 6. */
typedef struct RencoderOperand
{
	const RencoderCoder *coder; /* NULL: none */

	/*
	 * Out: keys are added, to one of the two.  Boxes are for keys in Z-order
	 * (renc_zorder.h).
	 */
	RencoderIntervals *intervals;
	RencoderBoxes *boxes;

	/*
	 * Out: values without a key may satisfy it.  They may satisfy several
	 * scan keys that have no key in common.
	 */
	bool		keyless;
} RencoderOperand;

/* The keys that a query asks of a column, coded by one generation of coder. */
typedef struct RencoderKeySet
{
	bool		none;			/* no key can satisfy it */
	uint32		generation;		/* of the coder that made the keys */

	/* Else at least one interval or at least one box. */
	renc_interval_set set;
	renc_box_set boxes;
	renc_interval_set cover;	/* intervals that hold all of them, and, of
								 * boxes, other keys */
	renc_query	query;
} RencoderKeySet;

/* May a key from min to max satisfy it?  There is none if min > max. */
static inline bool
rencoder_key_set_meets_bounds(const RencoderKeySet *keys, uint64 min, uint64 max)
{
	const renc_query *query = &keys->query;

	return !keys->none && min <= max && query->hull_lo <= max && query->hull_hi >= min &&
		query->overlap(query->arg, min, max) != RENC_DISJOINT;
}

/* What a query asks of one column. */
typedef struct RencoderColumnQuery
{
	bool		is_null;		/* IS NULL */
	bool		not_null;		/* IS NOT NULL */
	bool		has_keys;		/* some comparison restricts the keys */

	/* What that means for a scan, if the query is not empty. */
	bool		wants_null;		/* rows with a null satisfy it */
	bool		wants_values;	/* rows with any value do, and no comparison
								 * says more */
	List	   *keysets;		/* of those made so far (private) */
} RencoderColumnQuery;

/* Is there anything to be asked of the column? */
static inline bool
rencoder_column_is_asked(const RencoderColumnQuery *q)
{
	return q->has_keys || q->wants_null || q->wants_values;
}

typedef struct RencoderQuery
{
	bool		empty;			/* contradictory: no row can match */
	bool		restricted;		/* any column asked for anything */
	int			natts;
	Relation	index;
	const ScanKeyData *keys;	/* as given */
	int			nkeys;
	bool	   *compares;		/* which of them restrict keys (private) */
	RencoderCoders *coders;
	MemoryContext context;
	RencoderColumnQuery column[INDEX_MAX_KEYS];

	/*
	 * Of an index with composite keys: what is asked of its columns, of which
	 * column[0] is made (private).
	 */
	bool		composite;
	RencoderColumnQuery part[RENC_COMPOSITE_MAX];
} RencoderQuery;

/*
 * Columns of an index are numbered from 0.  Those with composite keys have one column of keys
 * (rencoder_key_columns()): its number is 0, too.
 */

/* Do keys of a column want a coder: as its operator class says, or since they are composite? */
extern bool rencoder_key_is_coded(Relation index, int col);

/*
 * Do queries ask the column for boxes, not for intervals?  They do, and its keys
 * are in Z-order, if the operator class wants a coder and its type has no order.
 */
extern bool rencoder_key_is_boxed(Relation index, int col);

/*
 * Can a scan key with this operator restrict the keys of a column of this
 * operator family?  Not where the order of a collation is not that of bytes,
 * nor if there is no support function.
 */
extern bool rencoder_key_can_use_operator(Oid opfamily, Oid opcintype, int strategy,
										  Oid righttype, Oid collation);

/* What makes keys of the values of a column. */
typedef struct RencoderKeyFunction
{
	FmgrInfo   *proc;			/* of the index as long as it is open */
	Oid			collation;
	bool		coded;			/* asks a coder */
} RencoderKeyFunction;

/* Looks it up: once for all rows that are read. */
extern RencoderKeyFunction rencoder_key_function(Relation index, int col);

/*
 * The key of a value of the index column (0-based); value is not null.  False
 * if no single key stands for it: its range must always match.
 */
extern bool rencoder_key_call(const RencoderKeyFunction *function, Datum value,
							  const RencoderCoder *coder, uint64 *key);
extern bool rencoder_key_encode(Relation index, int col, Datum value,
								const RencoderCoder *coder, uint64 *key);

/*
 * What makes the keys of rows; and the key of a row in a column of keys, composite or not, by a coder, or
 * what takes its place: RENCODER_ROW_NULL, RENCODER_ROW_KEYLESS.
 */
typedef struct RencoderRowFunctions
{
	int			n;				/* columns that make the key, the first being */
	int			first;			/* this one */
	bool		composite;
	RencoderKeyFunction function[RENC_COMPOSITE_MAX];
} RencoderRowFunctions;

typedef enum RencoderRowKind
{
	RENCODER_ROW_KEY,
	RENCODER_ROW_NULL,
	RENCODER_ROW_KEYLESS
} RencoderRowKind;

extern RencoderRowFunctions rencoder_key_row_functions(Relation index, int col);

/* Makes the key of a value, of column "col": as rencoder_key_call(), or more careful. */
typedef bool (*RencoderValueKey) (void *arg, const RencoderKeyFunction *function, int col, Datum value,
								  const RencoderCoder *coder, uint64 *key);

/* "make": NULL for rencoder_key_call().  values[] and isnull[] are those of the whole row. */
extern RencoderRowKind rencoder_key_of_row(const RencoderRowFunctions *functions, const Datum *values,
										   const bool *isnull, const RencoderCoder *coder,
										   RencoderValueKey make, void *arg, uint64 *key);

/*
 * The type of a column's values: that of the operator class, or, if that is of any enum,
 * that of the column.
 */
extern Oid	rencoder_key_value_type(Relation index, int col);

/*
 * Turns scan keys, which must live on, into a query, palloc'd in the current
 * context.  Bounds that are compared by the session's time zone are turned into
 * keys here, or with the first key set of a column that has a coder.  Keys with
 * SK_SEARCHARRAY ask for the union over the array's elements.
 */
extern RencoderQuery *rencoder_key_make_query(Relation index, const ScanKeyData *keys,
											  int nkeys);

/*
 * What the query asks of a column's keys, if it has_keys, coded by a
 * generation of the column's coder; NULL if that cannot be found (see
 * rencoder_coder_find()).  Made once, then remembered.
 */
extern const RencoderKeySet *rencoder_key_get_set(RencoderQuery *query, int col,
												  uint32 generation);

/* That of the newest generation that the query was coded by so far; reads nothing.  NULL if by none. */
extern const RencoderKeySet *rencoder_key_newest_set(const RencoderQuery *query, int col);

/*
 * Leaves of what the query asks of a column only the keys lo .. hi by a generation of its coder, and
 * neither nulls nor, of other generations, anything less than before.  False: there are none, or the
 * coder is missing, which a scan says.
 */
extern bool rencoder_key_clip(RencoderQuery *query, int col, uint32 generation, uint64 lo, uint64 hi);

/* Does the operator class of any column want a coder? */
extern bool rencoder_key_any_coded(Relation index);

/* ---- Order (key_order.c) ---- */

/*
 * Do rows in the order of the index's only column of keys come in that of its columns, as families of
 * btree have it for their types?  Then family[] gets them.  Looked up once for an entry of relcache.
 * Not of an index that would call functions of users for it which the query need not name.
 */
extern bool rencoder_key_has_order(Relation index, Oid *family);

/* Are expressions more than functions and types that every server has? */
extern bool rencoder_key_runs_users(List *expressions);

/*
 * Sets single[INDEX_MAX_KEYS]: which columns have one value, or null, in all rows that satisfy n scan
 * keys.
 */
extern void rencoder_key_find_single(const ScanKeyData *key, int n, bool *single);

/*
 * No other value than this one has its key, which is by "coder": in a column of keys; in one of the
 * index, whose operator class says so.
 */
extern bool rencoder_key_is_exact(Relation index, int col, Datum value, const RencoderCoder *coder,
								  uint64 key);
extern bool rencoder_key_is_own(Relation index, int col, Datum value, const RencoderCoder *coder,
								uint64 key);

#endif							/* RENCODER_KEY_H */
