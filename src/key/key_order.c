/*
 * key_order.c
 *		Which columns have keys in the order of their type, and which keys are exact.
 */
#include "key/key.h"

#include "access/stratnum.h"
#include "utils/lsyscache.h"

#include "store/meta.h"

/* The family of btree that has the order of a column's keys, or InvalidOid. */
static Oid
column_order_family(Relation index, int col)
{
	Oid			family = index->rd_opfamily[col];
	Oid			type = index->rd_opcintype[col];
	Oid			less = get_opfamily_member(family, type, type, BTLessStrategyNumber);
	Oid			btree;
	Oid			btree_type;
	RencoderComparison comparison;

	/* With support function 6 keys are in an order of their own. */
	if (!OidIsValid(less) || OidIsValid(get_opfamily_proc(family, type, type, RENCODER_PROC_ORDER)) ||
		!rencoder_key_can_use_operator(family, type, BTLessStrategyNumber, type,
									   index->rd_indcollation[col]) ||
		!get_ordering_op_properties(less, &btree, &btree_type, &comparison) ||
		btree_type != type || comparison != RENCODER_COMPARISON_LESS)
		return InvalidOid;
	return btree;
}

/* The families of all columns; false if one has none. */
static bool
find_order_families(Relation index, Oid *family)
{
	if (rencoder_key_columns(index) > 1)
		return false;
	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(index); col++)
	{
		family[col] = column_order_family(index, col);
		if (!OidIsValid(family[col]))
			return false;
	}
	return true;
}

/* What is looked up may free the cache. */
bool
rencoder_key_has_order(Relation index, Oid *family)
{
	RencoderOrder order = rencoder_meta_cache(index)->order;

	if (!order.known)
	{
		order.has = find_order_families(index, order.family);
		order.known = true;
		rencoder_meta_cache(index)->order = order;
	}
	if (order.has)
		memcpy(family, order.family, IndexRelationGetNumberOfKeyAttributes(index) * sizeof(Oid));
	return order.has;
}

bool
rencoder_key_is_exact(Relation index, int col, Datum value, const RencoderCoder *coder, uint64 key)
{
	int			n = IndexRelationGetNumberOfKeyAttributes(index);

	if (rencoder_is_composite(index))
		return rencoder_composite_is_alone(rencoder_composite_codes(coder, n), n, key);
	return rencoder_key_is_own(index, col, value, coder, key);
}

bool
rencoder_key_is_own(Relation index, int col, Datum value, const RencoderCoder *coder, uint64 key)
{
	RencoderBound bound = {.coder = coder,.lt = key,.le = key,.ge = key,.gt = key};

	if (!OidIsValid(index_getprocid(index, col + 1, RENCODER_PROC_BOUND)))
		return false;
	FunctionCall2Coll(index_getprocinfo(index, col + 1, RENCODER_PROC_BOUND),
					  index->rd_indcollation[col], value, PointerGetDatum(&bound));
	return (bound.nothing_lt || bound.lt < key) && (bound.nothing_gt || bound.gt > key);
}

void
rencoder_key_find_single(const ScanKeyData *key, int n, bool *single)
{
	memset(single, 0, INDEX_MAX_KEYS * sizeof(bool));
	for (; n > 0; n--, key++)
		single[key->sk_attno - 1] |= (key->sk_flags & SK_SEARCHNULL) ||
			(key->sk_strategy == BTEqualStrategyNumber &&
			 !(key->sk_flags & (SK_SEARCHARRAY | SK_SEARCHNOTNULL)));
}
