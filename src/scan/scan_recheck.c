/*
 * scan_recheck.c
 *		What a scan is told when the executor begins, and how rows are compared with lists of values.
 *
 * All rows of a visited page are rechecked.  Of "x = ANY (list)" the planner has a hash table made
 * if the list is a constant.  A list that is a parameter of a generic plan, or made by a subquery,
 * would be compared element by element: rows times elements, which of long lists takes hundreds of
 * times as long as all else.
 *
 * Once the executor has begun, a parameter's value is known, and stays until it ends: it is put
 * into a copy of the conditions as the constant that a custom plan would have.  What
 * ARRAY (SELECT ...) makes is not known yet, but is made once, and is never NULL, if it depends on
 * nothing from outside.  The hash table is made of it when the first row is checked, and for good:
 * so whatever could change, such as a value of an outer row, is left as it is.
 */
#include "scan/scan.h"

#include "access/amapi.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "base/options.h"
#include "scan/ordered_scan.h"

static ExecutorStart_hook_type next_executor_start = NULL;

typedef struct HashLists
{
	EState	   *estate;
	bool		any;			/* was there a list that is hashed now? */
} HashLists;

/*
 * The value of a parameter, as the planner asks for it: without an error if there is none.
 * NULL if it is not known, or is NULL.
 */
static Const *
recheck_parameter_value(const Param *param, Node *expr, ParamListInfo params)
{
	ParamExternData data;
	ParamExternData *value;

	if (params == NULL || param->paramid <= 0 || param->paramid > params->numParams)
		return NULL;
	value = params->paramFetch != NULL ?
		params->paramFetch(params, param->paramid, true, &data) :
		&params->params[param->paramid - 1];
	if (value->ptype != param->paramtype || value->isnull)
		return NULL;
	return makeConst(exprType(expr), exprTypmod(expr), exprCollation(expr), -1,
					 PointerGetDatum(PG_DETOAST_DATUM_COPY(value->value)), false, false);
}

/*
 * Is it an array that a subquery makes at most once?  A subquery is run again only if one of the
 * parameters changes that it gets from outside.
 */
static bool
is_made_once(const Param *param, const EState *estate)
{
	const SubPlanState *subquery = estate->es_param_exec_vals[param->paramid].execPlan;

	return subquery != NULL && subquery->subplan->subLinkType == ARRAY_SUBLINK &&
		subquery->subplan->parParam == NIL && bms_is_empty(subquery->planstate->plan->extParam);
}

static void
hash_recheck_list(ScalarArrayOpExpr *op, HashLists *lists)
{
	Node	   *list = lsecond(op->args);
	const Param *param;
	Node	   *inner = list;
	Oid			left;
	Oid			right;

	while (IsA(inner, RelabelType))
		inner = (Node *) ((RelabelType *) inner)->arg;
	if (!IsA(inner, Param) || OidIsValid(op->hashfuncid))
		return;
	param = (const Param *) inner;
	if (param->paramkind == PARAM_EXTERN)
	{
		Const	   *value = recheck_parameter_value(param, list, lists->estate->es_param_list_info);

		if (value == NULL)
			return;
		lsecond(op->args) = value;
		convert_saop_to_hashed_saop((Node *) op);
	}
	else if (param->paramkind == PARAM_EXEC && op->useOr &&
			 is_made_once(param, lists->estate) &&
			 get_op_hash_functions(op->opno, &left, &right) && left == right)
		op->hashfuncid = left;
	lists->any |= OidIsValid(op->hashfuncid);
}

/* True if there is a subquery, which must not be made a second time. */
static bool
hash_recheck_lists(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
		return true;
	if (IsA(node, ScalarArrayOpExpr))
		hash_recheck_list((ScalarArrayOpExpr *) node, (HashLists *) context);
	return expression_tree_walker(node, hash_recheck_lists, context);
}

static bool
has_recheck_list(Node *node, void *context)
{
	return node != NULL &&
		(IsA(node, ScalarArrayOpExpr) || expression_tree_walker(node, has_recheck_list, context));
}

static void
hash_lists_of_node(PlanState *node)
{
	bool		plain = IsA(node, IndexScanState);
	HashLists	lists = {.estate = node->state};
	List	   *quals = plain ? ((IndexScan *) node->plan)->indexqualorig :
		((BitmapHeapScan *) node->plan)->bitmapqualorig;
	MemoryContext caller;

	if (!has_recheck_list((Node *) quals, NULL))
		return;
	caller = MemoryContextSwitchTo(lists.estate->es_query_cxt);
	quals = copyObject(quals);
	if (!hash_recheck_lists((Node *) quals, &lists) && lists.any)
	{
		if (plain)
			((IndexScanState *) node)->indexqualorig = ExecInitQual(quals, node);
		else
			((BitmapHeapScanState *) node)->bitmapqualorig = ExecInitQual(quals, node);
	}
	MemoryContextSwitchTo(caller);
}

/* Does the node, or one below it, scan an index of ours? */
static bool
scans_our_index(PlanState *node, void *context)
{
	Relation	index = NULL;

	if (node == NULL)
		return false;
	if (IsA(node, BitmapIndexScanState))
		index = ((BitmapIndexScanState *) node)->biss_RelationDesc;
	else if (IsA(node, IndexScanState))
		index = ((IndexScanState *) node)->iss_RelationDesc;
	return (index != NULL && index->rd_indam->amoptions == rencoderoptions) ||
		planstate_tree_walker(node, scans_our_index, context);
}

/*
 * A path of ours whose order nobody wants has no direction (cost/cost_order.c).  The scan is told so by
 * its keys, and EXPLAIN by a copy of the plan, which may be kept, that it goes forward.
 */
static void
pass_on_any_order(IndexScanState *node)
{
	IndexScan  *plan = MemoryContextAlloc(node->ss.ps.state->es_query_cxt, sizeof(IndexScan));

	*plan = *(IndexScan *) node->ss.ps.plan;
	plan->indexorderdir = ForwardScanDirection;
	node->ss.ps.plan = &plan->scan.plan;
	for (int i = 0; i < node->iss_NumScanKeys; i++)
		node->iss_ScanKeys[i].sk_flags |= RENCODER_SK_ANY_ORDER;
}

/* Tells a scan how many rows are wanted of it, if that is known. */
static void
pass_on_limit(const LimitState *node)
{
	PlanState  *below = outerPlanState(node);
	double		rows = node->ps.plan->plan_rows;
	IndexScanState *scan;

	if (IsA(below, LockRowsState))
		below = outerPlanState(below);
	if (!IsA(below, IndexScanState) || !scans_our_index(below, NULL))
		return;
	scan = (IndexScanState *) below;
	if (scan->iss_NumScanKeys > 0)
		scan->iss_ScanKeys[0].sk_flags |=
			(int) Min(Max(rows, 1), RENCODER_SK_MOST_WANTED) << RENCODER_SK_WANTED_SHIFT;
}

static bool
look_at_plan(PlanState *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, IndexScanState) &&
		((IndexScan *) node->plan)->indexorderdir == NoMovementScanDirection)
		pass_on_any_order((IndexScanState *) node);
	if (IsA(node, LimitState))
		pass_on_limit((LimitState *) node);
	if ((IsA(node, BitmapHeapScanState) && scans_our_index(outerPlanState(node), NULL)) ||
		(IsA(node, IndexScanState) && scans_our_index(node, NULL)))
		hash_lists_of_node(node);
	return planstate_tree_walker(node, look_at_plan, context);
}

static void
look_at_plan_at_start(QueryDesc *desc, int eflags)
{
	if (next_executor_start)
		next_executor_start(desc, eflags);
	else
		standard_ExecutorStart(desc, eflags);
	(void) look_at_plan(desc->planstate, NULL);
}

void
rencoder_scan_recheck_init(void)
{
	next_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = look_at_plan_at_start;
}
