/*
 * scan_keys.c
 *		Scan keys to queries: the intervals or boxes of keys that they ask for.
 *
 * A scan key asks for one interval of keys, or several: of an array, as IN (..) makes one, one for
 * each element.  All scan keys of a column are ANDed, so a column's query is their intersection.
 * The same goes for boxes over points.
 */
#include "key/key.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* COLLPROVIDER_BUILTIN of 17 and later. */
#define BUILTIN_PROVIDER	'b'

/* How to turn the right-hand side of a scan key into keys. */
typedef struct KeyOperator
{
	StrategyNumber strategy;
	Oid			collation;
	int			procnum;		/* which support function "proc" is */
	FmgrInfo   *proc;
	FmgrInfo   *bound;			/* support function 2, or NULL */
	FmgrInfo	room[2];		/* for these, where the index has none at hand */
} KeyOperator;

/* Whose support functions are asked for. */
typedef struct KeyFamily
{
	Oid			family;
	Oid			left;			/* type of the column */
	Relation	index;			/* that has those of the type itself at hand,
								 * or NULL */
	int			col;			/* of it */
} KeyFamily;

static KeyFamily
scan_key_column_family(Relation index, int col)
{
	KeyFamily	f = {index->rd_opfamily[col], index->rd_opcintype[col], index, col};

	return f;
}

static Oid
find_scan_key_proc(const KeyFamily *f, Oid left, Oid right, int procnum)
{
	if (f->index != NULL && left == f->left && right == f->left)
		return index_getprocid(f->index, f->col + 1, procnum);
	return get_opfamily_proc(f->family, left, right, procnum);
}

/* The support function for a right-hand side, or InvalidOid. */
static Oid
find_scan_key_function(const KeyFamily *f, Oid right, int strategy, int *procnum)
{
	Oid			proc;

	if (strategy != BTEqualStrategyNumber)
	{
		*procnum = strategy > RENCODER_NORDER_STRATEGIES ? RENCODER_PROC_INTERVALS :
			RENCODER_PROC_ORDER;
		proc = find_scan_key_proc(f, f->left, right, *procnum);
		if (OidIsValid(proc) || *procnum == RENCODER_PROC_INTERVALS)
			return proc;
	}
	*procnum = RENCODER_PROC_CODED_KEY;
	proc = find_scan_key_proc(f, right, right, RENCODER_PROC_CODED_KEY);
	if (OidIsValid(proc))
		return proc;
	*procnum = RENCODER_PROC_KEY;
	return find_scan_key_proc(f, right, right, RENCODER_PROC_KEY);
}

/* Is this the name of the C locale? */
static bool
names_c_locale(HeapTuple tuple, int cache, AttrNumber attno)
{
	bool		isnull;
	Datum		name = SysCacheGetAttr(cache, tuple, attno, &isnull);
	char	   *locale = isnull ? "" : TextDatumGetCString(name);

	return strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0;
}

/*
 * Does a collation order strings as memcmp() does?  As lc_collate_is_c() of
 * PostgreSQL 15 to 17; looked up here, since the header that tells it wants ICU's,
 * which need not be installed, and 18 has it no longer.  The builtin provider
 * (17) has no other order.
 */
static bool
collation_orders_bytes(Oid collation)
{
	bool		is_default = collation == DEFAULT_COLLATION_OID;
	int			cache = is_default ? DATABASEOID : COLLOID;
	HeapTuple	tuple;
	char		provider;
	bool		result;

	if (collation == C_COLLATION_OID)
		return true;
	tuple = SearchSysCache1(cache, ObjectIdGetDatum(is_default ? MyDatabaseId : collation));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	provider = is_default ? ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider :
		((Form_pg_collation) GETSTRUCT(tuple))->collprovider;
	result = provider == BUILTIN_PROVIDER ||
		(provider == COLLPROVIDER_LIBC &&
		 names_c_locale(tuple, cache, is_default ? Anum_pg_database_datcollate :
						Anum_pg_collation_collcollate));
	ReleaseSysCache(tuple);
	return result;
}

static bool
can_use_scan_key_operator(const KeyFamily *f, int strategy, Oid righttype, Oid collation)
{
	int			procnum;

	if (strategy < 1 || strategy > RENCODER_NSTRATEGIES)
		return false;
	if (strategy <= RENCODER_NORDER_STRATEGIES && strategy != BTEqualStrategyNumber &&
		OidIsValid(collation) && !collation_orders_bytes(collation))
		return false;
	return OidIsValid(find_scan_key_function(f, righttype, strategy, &procnum));
}

bool
rencoder_key_can_use_operator(Oid opfamily, Oid opcintype, int strategy, Oid righttype,
							  Oid collation)
{
	KeyFamily	f = {opfamily, opcintype, NULL, 0};

	return can_use_scan_key_operator(&f, strategy, righttype, collation);
}

/* Looks a support function up, unless the index has it at hand. */
static FmgrInfo *
look_up_scan_key_function(const KeyFamily *f, Oid right, int procnum, Oid proc, FmgrInfo *room)
{
	if (right == f->left && index_getprocid(f->index, f->col + 1, procnum) == proc)
		return index_getprocinfo(f->index, f->col + 1, procnum);
	fmgr_info(proc, room);
	return room;
}

/* The operator of a scan key, which is usable. */
static void
find_scan_key_operator(Relation index, const ScanKeyData *skey, KeyOperator *op)
{
	int			col = skey->sk_attno - 1;
	KeyFamily	f = scan_key_column_family(index, col);
	Oid			right = OidIsValid(skey->sk_subtype) ? skey->sk_subtype : f.left;
	Oid			bound = InvalidOid;
	Oid			proc;

	op->strategy = skey->sk_strategy;
	op->collation = index->rd_indcollation[col];
	proc = find_scan_key_function(&f, right, op->strategy, &op->procnum);
	op->proc = look_up_scan_key_function(&f, right, op->procnum, proc, &op->room[0]);
	op->bound = NULL;
	if (op->procnum == RENCODER_PROC_INTERVALS)
		return;
	if (f.left != right)
		bound = find_scan_key_proc(&f, f.left, right, RENCODER_PROC_BOUND);
	if (!OidIsValid(bound) &&
		(op->strategy == BTLessStrategyNumber || op->strategy == BTGreaterStrategyNumber))
		bound = find_scan_key_proc(&f, right, right, RENCODER_PROC_BOUND);
	if (OidIsValid(bound))
		op->bound = look_up_scan_key_function(&f, right, RENCODER_PROC_BOUND, bound, &op->room[1]);
}

/* Adds the keys of the column's values for which "x operator bound" may hold. */
static void
add_scan_key_bound(RencoderIntervals *list, int strategy, const RencoderBound *bound)
{
	switch (strategy)
	{
		case BTLessStrategyNumber:
			if (!bound->nothing_lt)
				rencoder_intervals_add(list, 0, bound->lt);
			break;
		case BTLessEqualStrategyNumber:
			rencoder_intervals_add(list, 0, bound->le);
			break;
		case BTEqualStrategyNumber:
			rencoder_intervals_add(list, bound->ge, bound->le);
			break;
		case BTGreaterEqualStrategyNumber:
			rencoder_intervals_add(list, bound->ge, PG_UINT64_MAX);
			break;
		case BTGreaterStrategyNumber:
			if (!bound->nothing_gt)
				rencoder_intervals_add(list, bound->gt, PG_UINT64_MAX);
			break;
		default:
			elog(ERROR, "unrecognized strategy number: %d", strategy);
	}
}

/* Adds the keys that one value on the right-hand side asks for. */
static void
add_scan_key_value(KeyOperator *op, Datum value, RencoderOperand *operand)
{
	RencoderEncoding encoding = {operand->coder, false};
	RencoderBound bound = {0};
	uint64		key;

	switch (op->procnum)
	{
		case RENCODER_PROC_INTERVALS:
		case RENCODER_PROC_ORDER:
			FunctionCall3Coll(op->proc, op->collation, value,
							  Int16GetDatum(op->strategy), PointerGetDatum(operand));
			return;
		case RENCODER_PROC_CODED_KEY:
			key = (uint64) DatumGetInt64(FunctionCall2Coll(op->proc, op->collation, value,
														   PointerGetDatum(&encoding)));
			break;
		default:
			key = (uint64) DatumGetInt64(FunctionCall1Coll(op->proc, op->collation, value));
			break;
	}
	if (encoding.keyless)
	{
		rencoder_intervals_add(operand->intervals, 0, PG_UINT64_MAX);
		return;
	}
	bound.coder = operand->coder;
	bound.lt = bound.le = bound.ge = bound.gt = key;
	if (op->bound != NULL)
		FunctionCall2Coll(op->bound, op->collation, value, PointerGetDatum(&bound));
	add_scan_key_bound(operand->intervals, op->strategy, &bound);
}

/* The same for every element of an array that is not null. */
static void
add_scan_key_array(KeyOperator *op, Datum value, RencoderOperand *operand)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	int16		elmlen;
	bool		elmbyval;
	char		elmalign;
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	/* The element type is the operator's or binary-coercible to it. */
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &elmlen, &elmbyval, &elmalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), elmlen, elmbyval, elmalign,
					  &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!nulls[i])
			add_scan_key_value(op, elements[i], operand);
	}
	pfree(elements);
	pfree(nulls);
}

/* What the scan keys of a column leave of its keys so far. */
typedef struct KeyLists
{
	RencoderIntervals intervals;
	RencoderBoxes boxes;
	bool		by_intervals;	/* is it the intervals that restrict them, */
	bool		by_boxes;		/* or the boxes? */
	bool		not_keyless;	/* values without a key cannot satisfy all */
} KeyLists;

/*
 * Restricts the keys of a column by one scan key.  Where some scan keys ask
 * for boxes and others for intervals, the boxes alone must do.
 */
static void
apply_scan_key(Relation index, const ScanKeyData *skey, const RencoderCoder *coder,
			   KeyLists *keys)
{
	RencoderIntervals intervals = {0};
	RencoderBoxes boxes = {0};
	RencoderOperand operand = {coder, &intervals, &boxes, false};
	KeyOperator op;

	find_scan_key_operator(index, skey, &op);
	if (skey->sk_flags & SK_SEARCHARRAY)
		add_scan_key_array(&op, skey->sk_argument, &operand);
	else
		add_scan_key_value(&op, skey->sk_argument, &operand);
	if (boxes.n > 0 && intervals.n > 0)
		elog(ERROR, "support function %d of index \"%s\" added both intervals and boxes",
			 RENCODER_PROC_INTERVALS, RelationGetRelationName(index));

	keys->not_keyless |= !operand.keyless;
	if (boxes.n > 0)
	{
		if (keys->by_boxes)
			rencoder_boxes_intersect(&keys->boxes, &boxes);
		else
			keys->boxes = boxes;
		keys->by_boxes = true;
		return;
	}
	rencoder_intervals_normalize(&intervals);
	if (keys->by_intervals)
		rencoder_intervals_intersect(&keys->intervals, &intervals);
	else
		keys->intervals = intervals;
	keys->by_intervals = true;
}

/* Is this a comparison with something, by an operator we know how to use? */
static bool
is_scan_key_comparison(Relation index, const ScanKeyData *skey)
{
	KeyFamily	f = scan_key_column_family(index, skey->sk_attno - 1);

	/* What a function that is not strict makes of NULL is not known. */
	return !(skey->sk_flags & (SK_SEARCHNULL | SK_SEARCHNOTNULL | SK_ISNULL)) &&
		skey->sk_func.fn_strict &&
		can_use_scan_key_operator(&f, skey->sk_strategy,
								  OidIsValid(skey->sk_subtype) ? skey->sk_subtype : f.left,
								  index->rd_indcollation[f.col]);
}

static RencoderKeySet *
make_key_set(uint32 generation, const KeyLists *keys)
{
	RencoderKeySet *set = palloc0(sizeof(RencoderKeySet));
	RencoderIntervals cover = {0};

	set->generation = generation;
	set->none = (keys->by_intervals && keys->intervals.n == 0) ||
		(keys->by_boxes && keys->boxes.n == 0);
	if (set->none)
		return set;
	if (keys->by_boxes)
	{
		set->boxes.box = keys->boxes.box;
		set->boxes.n = renc_box_set_prepare(keys->boxes.box, keys->boxes.n);
		set->query = renc_query_boxes(&set->boxes);
		rencoder_boxes_to_intervals(&set->boxes, &cover);
		set->cover.interval = cover.interval;
		set->cover.n = cover.n;
	}
	else
	{
		set->set.interval = keys->intervals.interval;
		set->set.n = keys->intervals.n;
		set->query = renc_query_intervals(&set->set);
		set->cover = set->set;
	}
	return set;
}

/* What the scan keys of a column leave of its own keys. */
static KeyLists
apply_scan_keys(const RencoderQuery *query, int col, const RencoderCoder *coder)
{
	KeyLists	keys = {0};

	for (int i = 0; i < query->nkeys; i++)
	{
		if (query->keys[i].sk_attno - 1 == col && query->compares[i])
			apply_scan_key(query->index, &query->keys[i], coder, &keys);
	}
	return keys;
}

/* And of composite keys. */
static KeyLists
apply_all_scan_keys(const RencoderQuery *query, const RencoderCoder *coder)
{
	int			n = IndexRelationGetNumberOfKeyAttributes(query->index);
	RencoderCompositeAsked asked[RENC_COMPOSITE_MAX];
	KeyLists	part[RENC_COMPOSITE_MAX];
	KeyLists	keys = {.by_intervals = true};

	for (int col = 0; col < n; col++)
	{
		const RencoderColumnQuery *q = &query->part[col];

		part[col] = apply_scan_keys(query, col, rencoder_composite_column_coder(coder, col));
		asked[col] = (RencoderCompositeAsked)
		{
			!q->is_null && !q->not_null && !q->has_keys, q->is_null, q->not_null && !q->has_keys,
				&part[col].intervals
		};
	}
	rencoder_composite_intervals(rencoder_composite_codes(coder, n), asked, &keys.intervals);
	return keys;
}

static RencoderKeySet *
make_scan_key_set(RencoderQuery *query, int col, uint32 generation,
				  const RencoderCoder *coder)
{
	KeyLists	keys = query->composite && query->nkeys > 0 ? apply_all_scan_keys(query, coder) :
		apply_scan_keys(query, col, coder);

	/* No key is left, but a value without one may lie here and there: ask. */
	if (keys.by_boxes && keys.boxes.n == 0 && !keys.not_keyless)
		rencoder_boxes_add(&keys.boxes, RENC_AXIS_NAN, RENC_AXIS_NAN,
						   RENC_AXIS_NAN, RENC_AXIS_NAN);

	/* No comparison: it was clipped by another coder. */
	if (!keys.by_boxes && !keys.by_intervals)
	{
		keys.by_intervals = true;
		rencoder_intervals_add(&keys.intervals, 0, PG_UINT64_MAX);
	}
	return make_key_set(generation, &keys);
}

const RencoderKeySet *
rencoder_key_get_set(RencoderQuery *query, int col, uint32 generation)
{
	RencoderColumnQuery *q = &query->column[col];
	const RencoderCoder *coder;
	RencoderKeySet *keys;
	MemoryContext old;
	ListCell   *lc;

	Assert(q->has_keys);
	foreach(lc, q->keysets)
	{
		keys = (RencoderKeySet *) lfirst(lc);
		if (keys->generation == generation)
			return keys;
	}
	if (!rencoder_coder_find(query->coders, query->index, col, generation, &coder))
		return NULL;
	old = MemoryContextSwitchTo(query->context);
	keys = make_scan_key_set(query, col, generation, coder);
	q->keysets = lappend(q->keysets, keys);
	MemoryContextSwitchTo(old);
	return keys;
}

const RencoderKeySet *
rencoder_key_newest_set(const RencoderQuery *query, int col)
{
	const RencoderKeySet *newest = NULL;
	ListCell   *lc;

	foreach(lc, query->column[col].keysets)
	{
		const RencoderKeySet *keys = (const RencoderKeySet *) lfirst(lc);

		if (newest == NULL || keys->generation >= newest->generation)
			newest = keys;
	}
	return newest;
}

RencoderQuery *
rencoder_key_make_query(Relation index, const ScanKeyData *keys, int nkeys)
{
	RencoderQuery *query = palloc0(sizeof(RencoderQuery));

	query->natts = rencoder_key_columns(index);
	query->composite = rencoder_is_composite(index);
	query->index = index;
	query->keys = keys;
	query->nkeys = nkeys;
	query->compares = palloc0(Max(nkeys, 1) * sizeof(bool));
	query->context = CurrentMemoryContext;
	query->coders = rencoder_coders_create(false);
	for (int i = 0; i < nkeys; i++)
	{
		RencoderColumnQuery *q = &(query->composite ? query->part : query->column)[keys[i].sk_attno - 1];

		if (keys[i].sk_flags & SK_SEARCHNULL)
			q->is_null = true;
		else if (keys[i].sk_flags & SK_SEARCHNOTNULL)
			q->not_null = true;
		else if (keys[i].sk_func.fn_strict && (keys[i].sk_flags & SK_ISNULL))
			query->empty = true;
		else if (is_scan_key_comparison(index, &keys[i]))
			q->has_keys = query->compares[i] = true;
		else
			continue;			/* the recheck will do */
		query->restricted = true;
	}
	for (int col = 0; col < RENC_COMPOSITE_MAX; col++)
		query->empty |= query->part[col].is_null && (query->part[col].not_null || query->part[col].has_keys);
	query->column[0].has_keys |= query->composite && query->restricted;
	for (int col = 0; col < query->natts && !query->empty; col++)
	{
		RencoderColumnQuery *q = &query->column[col];

		if (q->is_null && (q->not_null || q->has_keys))
			query->empty = true;
		else if (q->has_keys && !rencoder_key_is_coded(index, col))
			query->empty = rencoder_key_get_set(query, col, 0)->none;
		q->wants_null = q->is_null;
		q->wants_values = q->not_null && !q->has_keys;
	}

	/*
	 * A partial index used for its predicate alone: every row of it has a
	 * value or a null in the first column.
	 */
	if (!query->restricted)
		query->column[0].wants_null = query->column[0].wants_values = true;
	return query;
}

bool
rencoder_key_clip(RencoderQuery *query, int col, uint32 generation, uint64 lo, uint64 hi)
{
	RencoderColumnQuery *q = &query->column[col];
	const RencoderKeySet *all = NULL;
	KeyLists	keys = {.by_intervals = true};
	MemoryContext old;

	if (q->has_keys)
	{
		all = rencoder_key_get_set(query, col, generation);
		if (all == NULL || all->none)
			return false;
	}
	old = MemoryContextSwitchTo(query->context);
	rencoder_intervals_add(&keys.intervals, lo, hi);
	if (all != NULL)
	{
		RencoderIntervals asked = {unconstify(renc_interval *, all->cover.interval), all->cover.n, all->cover.n};

		rencoder_intervals_intersect(&keys.intervals, &asked);
	}
	q->has_keys = true;
	q->wants_null = q->wants_values = false;
	q->keysets = list_make1(make_key_set(generation, &keys));
	MemoryContextSwitchTo(old);
	return keys.intervals.n > 0;
}
