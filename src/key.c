/*
 * key.c
 *		Values to keys: opclass support functions, scan keys to queries.
 *
 * A scan key asks for one interval of keys, or several: of an array, one for
 * each element.  All scan keys of a column are ANDed, so a column's query is
 * their intersection.
 */
#include "key.h"

#include "access/stratnum.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

/* How to turn the right-hand side of a scan key into intervals. */
typedef struct KeyOperator
{
	StrategyNumber strategy;
	Oid			collation;
	FmgrInfo	proc;			/* function 1, or 3 beyond btree's strategies */
	uint64		slack;			/* widens bounds of another type */
} KeyOperator;

uint64
rencoder_key_encode(Relation index, int col, Datum value)
{
	FmgrInfo   *proc = index_getprocinfo(index, col + 1, RENCODER_PROC_KEY);

	return (uint64) DatumGetInt64(FunctionCall1Coll(proc, index->rd_indcollation[col],
													value));
}

/*
 * The operator of a scan key.  False if the operator family lacks a support
 * function for it.
 */
static bool
find_operator(Relation index, const ScanKeyData *skey, KeyOperator *op)
{
	int			col = skey->sk_attno - 1;
	Oid			family = index->rd_opfamily[col];
	Oid			left = index->rd_opcintype[col];
	Oid			right = OidIsValid(skey->sk_subtype) ? skey->sk_subtype : left;
	Oid			proc;
	Oid			slack = InvalidOid;

	if (skey->sk_strategy < 1 || skey->sk_strategy > RENCODER_NSTRATEGIES)
		return false;
	if (skey->sk_strategy > RENCODER_NORDER_STRATEGIES)
		proc = get_opfamily_proc(family, left, right, RENCODER_PROC_INTERVALS);
	else
	{
		proc = get_opfamily_proc(family, right, right, RENCODER_PROC_KEY);
		if (left != right)
			slack = get_opfamily_proc(family, left, right, RENCODER_PROC_SLACK);
	}
	if (!OidIsValid(proc))
		return false;
	op->strategy = skey->sk_strategy;
	op->collation = index->rd_indcollation[col];
	fmgr_info(proc, &op->proc);
	op->slack = OidIsValid(slack) ?
		(uint64) DatumGetInt64(OidFunctionCall0Coll(slack, op->collation)) : 0;
	return true;
}

/* Adds the keys that one value on the right-hand side asks for. */
static void
add_value(KeyOperator *op, Datum value, RencoderIntervals *list)
{
	uint64		key;
	uint64		lo;
	uint64		hi;

	if (op->strategy > RENCODER_NORDER_STRATEGIES)
	{
		FunctionCall3Coll(&op->proc, op->collation, value,
						  Int16GetDatum(op->strategy), PointerGetDatum(list));
		return;
	}

	/* Saturating, so that infinities stay the ends of the key space. */
	key = (uint64) DatumGetInt64(FunctionCall1Coll(&op->proc, op->collation, value));
	lo = key < op->slack ? 0 : key - op->slack;
	hi = key > PG_UINT64_MAX - op->slack ? PG_UINT64_MAX : key + op->slack;
	switch (op->strategy)
	{
		case BTLessStrategyNumber:
		case BTLessEqualStrategyNumber:
			lo = 0;
			break;
		case BTGreaterEqualStrategyNumber:
		case BTGreaterStrategyNumber:
			hi = PG_UINT64_MAX;
			break;
	}
	rencoder_intervals_add(list, lo, hi);
}

/* The same for every element of an array that is not null. */
static void
add_array(KeyOperator *op, Datum value, RencoderIntervals *list)
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
			add_value(op, elements[i], list);
	}
	pfree(elements);
	pfree(nulls);
}

/*
 * Restricts the keys of a column by one scan key; false if that cannot be
 * used.
 */
static bool
apply_key(Relation index, const ScanKeyData *skey, RencoderColumnQuery *q,
		  RencoderIntervals *keys)
{
	RencoderIntervals list = {0};
	KeyOperator op;

	if (!find_operator(index, skey, &op))
		return false;
	if (skey->sk_flags & SK_SEARCHARRAY)
		add_array(&op, skey->sk_argument, &list);
	else
		add_value(&op, skey->sk_argument, &list);
	rencoder_intervals_normalize(&list);
	if (q->has_keys)
		rencoder_intervals_intersect(keys, &list);
	else
		*keys = list;
	q->has_keys = true;
	return true;
}

/* Gives a column's query its keys; at least one interval. */
static void
set_intervals(RencoderColumnQuery *q, const RencoderIntervals *keys)
{
	q->has_keys = true;
	q->set.interval = keys->interval;
	q->set.n = keys->n;
	q->query = renc_query_intervals(&q->set);
}

static RencoderQuery *
make_query(Relation index)
{
	RencoderQuery *query = palloc0(sizeof(RencoderQuery));

	query->natts = IndexRelationGetNumberOfKeyAttributes(index);
	return query;
}

RencoderQuery *
rencoder_key_query(Relation index, const ScanKeyData *keys, int nkeys)
{
	RencoderQuery *query = make_query(index);
	RencoderIntervals intervals[INDEX_MAX_KEYS] = {{0}};

	for (int i = 0; i < nkeys; i++)
	{
		int			col = keys[i].sk_attno - 1;
		RencoderColumnQuery *q = &query->column[col];

		if (keys[i].sk_flags & SK_SEARCHNULL)
			q->is_null = true;
		else if (keys[i].sk_flags & SK_SEARCHNOTNULL)
			q->not_null = true;
		else if (!keys[i].sk_func.fn_strict)
			continue;			/* what it makes of NULL is not known */
		else if (keys[i].sk_flags & SK_ISNULL)
			query->empty = true;
		else if (!apply_key(index, &keys[i], q, &intervals[col]))
			continue;			/* the recheck will do */
		query->restricted = true;
	}
	for (int col = 0; col < query->natts; col++)
	{
		RencoderColumnQuery *q = &query->column[col];

		if (q->is_null && (q->not_null || q->has_keys))
			query->empty = true;
		if (q->has_keys && intervals[col].n > 0)
			set_intervals(q, &intervals[col]);
		else if (q->has_keys)
		{
			query->empty = true;
			q->has_keys = false;	/* there is no set of none */
		}
	}
	return query;
}

RencoderQuery *
rencoder_key_between(Relation index, int col, Datum lo, Datum hi)
{
	RencoderQuery *query = make_query(index);
	RencoderIntervals keys = {0};

	rencoder_intervals_add(&keys, rencoder_key_encode(index, col, lo),
						   rencoder_key_encode(index, col, hi));
	query->restricted = true;
	if (keys.n == 0)
		query->empty = true;
	else
		set_intervals(&query->column[col], &keys);
	return query;
}
