/*
 * key.c
 *		Values to keys: opclass support functions, scan keys to queries.
 *
 * All scan keys of a column are ANDed, so a column's query is one interval:
 * the greatest lower and the least upper bound.
 */
#include "key.h"

#include "access/stratnum.h"
#include "utils/lsyscache.h"

/* The closed interval that the bounds on a column leave. */
typedef struct KeyBounds
{
	bool		bounded;
	uint64		lo;
	uint64		hi;
} KeyBounds;

uint64
rencoder_key_encode(Relation index, int col, Datum value)
{
	FmgrInfo   *proc = index_getprocinfo(index, col + 1, RENCODER_PROC_KEY);

	return (uint64) DatumGetInt64(FunctionCall1Coll(proc, index->rd_indcollation[col],
													value));
}

/*
 * The key of a bound of another type of the operator family, and how far
 * (in keys) it may lie from where it compares.  False if the family has no
 * function for the type.
 */
static bool
encode_foreign(Relation index, int col, Oid type, Datum value,
			   uint64 *key, uint64 *slack)
{
	Oid			family = index->rd_opfamily[col];
	Oid			collation = index->rd_indcollation[col];
	Oid			key_proc = get_opfamily_proc(family, type, type, RENCODER_PROC_KEY);
	Oid			slack_proc = get_opfamily_proc(family, index->rd_opcintype[col], type,
											   RENCODER_PROC_SLACK);

	if (!OidIsValid(key_proc))
		return false;
	*key = (uint64) DatumGetInt64(OidFunctionCall1Coll(key_proc, collation, value));
	*slack = OidIsValid(slack_proc) ?
		(uint64) DatumGetInt64(OidFunctionCall0Coll(slack_proc, collation)) : 0;
	return true;
}

/* Narrows the bounds of a column by one operator; false: cannot be used. */
static bool
apply_operator(Relation index, const ScanKeyData *skey, KeyBounds *bounds)
{
	int			col = skey->sk_attno - 1;
	Oid			type = skey->sk_subtype;
	uint64		key;
	uint64		slack = 0;
	uint64		lo;
	uint64		hi;

	if (!OidIsValid(type) || type == index->rd_opcintype[col])
		key = rencoder_key_encode(index, col, skey->sk_argument);
	else if (!encode_foreign(index, col, type, skey->sk_argument, &key, &slack))
		return false;

	/* Saturating, so that infinities stay the ends of the key space. */
	lo = key < slack ? 0 : key - slack;
	hi = key > PG_UINT64_MAX - slack ? PG_UINT64_MAX : key + slack;
	switch (skey->sk_strategy)
	{
		case BTLessStrategyNumber:
		case BTLessEqualStrategyNumber:
			bounds->hi = Min(bounds->hi, hi);
			break;
		case BTEqualStrategyNumber:
			bounds->lo = Max(bounds->lo, lo);
			bounds->hi = Min(bounds->hi, hi);
			break;
		case BTGreaterEqualStrategyNumber:
		case BTGreaterStrategyNumber:
			bounds->lo = Max(bounds->lo, lo);
			break;
		default:
			return false;
	}
	bounds->bounded = true;
	return true;
}

/* Gives a column's query the interval. */
static void
set_interval(RencoderColumnQuery *q, uint64 lo, uint64 hi)
{
	renc_interval *interval = palloc(sizeof(renc_interval));

	interval->lo = lo;
	interval->hi = hi;
	q->has_keys = true;
	q->set.interval = interval;
	q->set.n = 1;
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
	KeyBounds	bounds[INDEX_MAX_KEYS];

	for (int col = 0; col < query->natts; col++)
	{
		bounds[col].bounded = false;
		bounds[col].lo = 0;
		bounds[col].hi = PG_UINT64_MAX;
	}
	for (int i = 0; i < nkeys; i++)
	{
		RencoderColumnQuery *q = &query->column[keys[i].sk_attno - 1];

		if (keys[i].sk_flags & SK_SEARCHNULL)
			q->is_null = true;
		else if (keys[i].sk_flags & SK_SEARCHNOTNULL)
			q->not_null = true;
		else if (!keys[i].sk_func.fn_strict)
			continue;			/* what it makes of NULL is not known */
		else if (keys[i].sk_flags & SK_ISNULL)
			query->empty = true;
		else if (!apply_operator(index, &keys[i], &bounds[keys[i].sk_attno - 1]))
			continue;			/* the recheck will do */
		query->restricted = true;
	}
	for (int col = 0; col < query->natts; col++)
	{
		RencoderColumnQuery *q = &query->column[col];

		if (!bounds[col].bounded)
			;
		else if (bounds[col].lo > bounds[col].hi)
			query->empty = true;
		else
			set_interval(q, bounds[col].lo, bounds[col].hi);
		if (q->is_null && (q->not_null || q->has_keys))
			query->empty = true;
	}
	return query;
}

RencoderQuery *
rencoder_key_between(Relation index, int col, Datum lo, Datum hi)
{
	RencoderQuery *query = make_query(index);
	uint64		lo_key = rencoder_key_encode(index, col, lo);
	uint64		hi_key = rencoder_key_encode(index, col, hi);

	query->restricted = true;
	if (lo_key > hi_key)
		query->empty = true;
	else
		set_interval(&query->column[col], lo_key, hi_key);
	return query;
}
