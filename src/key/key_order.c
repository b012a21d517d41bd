/*
 * key_order.c
 *		Which columns have keys in the order of their type, and which keys are exact.
 */
#include "key/key.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"

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

static bool
is_users(Oid object, void *arg)
{
	return object >= FirstNormalObjectId;
}

/*
 * Is this more than functions and types that every server has?  A domain's checks, for one, are the users', and only
 * nodes of these kinds show all that they run.
 */
static bool
runs_users(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
			break;
		case T_Var:
		case T_Const:
		case T_FuncExpr:
		case T_OpExpr:
		case T_ScalarArrayOpExpr:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_CoalesceExpr:
		case T_CaseExpr:
		case T_CaseTestExpr:
		case T_NullIfExpr:
		case T_DistinctExpr:
		case T_MinMaxExpr:
		case T_SubscriptingRef:
			if (is_users(exprType(node), NULL) || check_functions_in_node(node, is_users, NULL))
				return true;
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, runs_users, arg);
}

bool
rencoder_key_runs_users(List *expressions)
{
	return runs_users((Node *) expressions, NULL);
}

/*
 * Would rows be put in order by functions of users that a query need not name, and its user need not have the
 * right to call?  A column that is asked for, by itself, or sorted by, the query names; other columns, and that
 * of an index taken for its predicate alone, it does not.
 */
static bool
order_runs_users(Relation index)
{
	return (IndexRelationGetNumberOfKeyAttributes(index) > 1 || RelationGetIndexPredicate(index) != NIL) &&
		rencoder_key_runs_users(RelationGetIndexExpressions(index));
}

/* The families of all columns; false if one has none. */
static bool
find_order_families(Relation index, Oid *family)
{
	if (rencoder_key_columns(index) > 1 || order_runs_users(index))
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
