/*
 * sql_condition.c
 *		What a scan for a condition would visit, the condition given as text.
 *
 * PostgreSQL itself turns the condition into scan keys: "SELECT FROM ONLY table WHERE condition" is
 * planned with no other index in sight, and begun, but not run, as a query of the caller's would
 * be: with his search path, his privileges, and the policies that apply to him.  The condition is
 * parsed as an expression, so it cannot be more than one.
 */
#include "query/candidates.h"

#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/table.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/plancat.h"
#include "parser/parser.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "sql/refusal.h"
#include "store/meta.h"
#include "store/group.h"
#include "store/open_index.h"

PG_FUNCTION_INFO_V1(rencoder_candidates_condition);

/* Heap pages, a bit each, and what it took to find them. */
typedef struct FoundPages
{
	uint8	   *bits;
	uint64		nblocks;
	uint32		pages_per_range;
	Oid			indexoid;
	RencoderCandidateCounts counts;
} FoundPages;

/* ---- The plan ---- */

/*
 * Of this table the planner is to see this index only, while a condition is planned.  That may
 * happen within itself, by a function that the planner evaluates.
 */
typedef struct PlannedIndex
{
	Oid			heapoid;
	Oid			indexoid;
} PlannedIndex;

static PlannedIndex planned =
{
	InvalidOid, InvalidOid
};
static get_relation_info_hook_type next_relation_info = NULL;

static void
hide_other_indexes(PlannerInfo *root, Oid relationOid, bool inhparent, RelOptInfo *rel)
{
	ListCell   *lc;

	if (next_relation_info != NULL)
		next_relation_info(root, relationOid, inhparent, rel);
	if (relationOid != planned.heapoid)
		return;
	foreach(lc, rel->indexlist)
	{
		if (((IndexOptInfo *) lfirst(lc))->indexoid != planned.indexoid)
			rel->indexlist = foreach_delete_current(rel->indexlist, lc);
	}
}

/* For the life of the session: another library may have put its hook before ours since. */
static void
hook_planner(void)
{
	static bool hooked = false;

	if (hooked)
		return;
	next_relation_info = get_relation_info_hook;
	get_relation_info_hook = hide_other_indexes;
	hooked = true;
}

/* Plans so that a bitmap scan of the index is made if one can be. */
static PlannedStmt *
plan_query(Query *query, Oid heapoid, Oid indexoid, const char *text)
{
	static const char *const settings[][2] = {
		{"enable_seqscan", "off"}, {"enable_tidscan", "off"}, {"enable_bitmapscan", "on"},
		{"rencoder.enable_scan", "on"}, {"constraint_exclusion", "off"}, {"jit", "off"}
	};
	int			nestlevel = NewGUCNestLevel();
	PlannedStmt *plan = NULL;
	PlannedIndex outer = planned;

	hook_planner();
	for (size_t i = 0; i < lengthof(settings); i++)
		(void) set_config_option(settings[i][0], settings[i][1], PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	planned.heapoid = heapoid;
	planned.indexoid = indexoid;
	PG_TRY();
	{
		plan = pg_plan_query(query, text, 0, NULL);
	}
	PG_FINALLY();
	{
		planned = outer;
	}
	PG_END_TRY();
	AtEOXact_GUC(true, nestlevel);
	return plan;
}

/* A condition while it is read, for errors. */
typedef struct ConditionText
{
	const char *text;
	bool		is_value;		/* it may be a bound, whose fellow is missing */
} ConditionText;

/*
 * The condition as a node that is not analyzed yet.  What the grammar allows beyond an expression
 * of WHERE is refused here, as the analysis of WHERE is not made for it: all clauses of a query,
 * a name of the result, and "*".
 */
static Node *
parse_condition(ConditionText *condition)
{
	List	   *list = raw_parser(condition->text, RAW_PARSE_PLPGSQL_EXPR);
	SelectStmt *select = (SelectStmt *) linitial_node(RawStmt, list)->stmt;
	ResTarget  *target = list_length(select->targetList) == 1 ? linitial(select->targetList) : NULL;
	Node	   *node = target == NULL ? NULL : target->val;

	if (node == NULL || target->name != NULL || select->distinctClause != NIL ||
		select->fromClause != NIL || select->whereClause != NULL || select->groupClause != NIL ||
		select->havingClause != NULL || select->windowClause != NIL || select->sortClause != NIL ||
		select->limitOffset != NULL || select->limitCount != NULL ||
		select->lockingClause != NIL ||
		(IsA(node, ColumnRef) && IsA(llast(((ColumnRef *) node)->fields), A_Star)))
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("condition must be one expression, as after WHERE")));
	condition->is_value = IsA(node, A_Const) || IsA(node, TypeCast) || IsA(node, ColumnRef);
	return node;
}

/* "SELECT FROM ONLY table WHERE condition" */
static Query *
analyze_condition(Oid heapoid, ConditionText *condition)
{
	SelectStmt *select = makeNode(SelectStmt);
	RawStmt    *raw = makeNode(RawStmt);
	char	   *schema = get_namespace_name(get_rel_namespace(heapoid));
	char	   *name = get_rel_name(heapoid);
	RangeVar   *table;
	List	   *queries;
	Query	   *query;

	if (schema == NULL || name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table with OID %u was dropped meanwhile", heapoid)));
	table = makeRangeVar(schema, name, -1);
	table->inh = false;
	select->fromClause = list_make1(table);
	select->whereClause = parse_condition(condition);
	raw->stmt = (Node *) select;
	queries = pg_analyze_and_rewrite_fixedparams(raw, condition->text, NULL, 0, NULL);
	query = linitial_node(Query, queries);
	if (list_length(queries) != 1 ||
		linitial_node(RangeTblEntry, query->rtable)->relid != heapoid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("table \"%s\" was renamed or dropped meanwhile", table->relname)));
	if (query->hasSubLinks)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("condition must not have a subquery"),
				 errhint("Give the values that the subquery returns.")));
	return query;
}

/* Positions of errors are within the condition, not within the caller's query. */
static void
move_error_position(void *arg)
{
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(((ConditionText *) arg)->text);
	}
	errcontext("condition of rencoder_candidates");
}

/* While it is parsed and analyzed: who has forgotten the second bound is told so. */
static void
hint_at_bounds(void *arg)
{
	int			code = geterrcode();

	if (code == ERRCODE_SYNTAX_ERROR || code == ERRCODE_DATATYPE_MISMATCH ||
		((ConditionText *) arg)->is_value)
		errhint("For bounds give two values: rencoder_candidates(index, lo, hi).");
}

/* The condition, parsed and analyzed. */
static Query *
read_condition(Oid heapoid, ConditionText *condition)
{
	ErrorContextCallback callback = {.callback = hint_at_bounds,.arg = condition};
	Query	   *query;

	callback.previous = error_context_stack;
	error_context_stack = &callback;
	query = analyze_condition(heapoid, condition);
	error_context_stack = callback.previous;
	return query;
}

/* ---- Its pages ---- */

static void
collect_pages(void *arg, uint64 first_range, const renc_candidates *candidates)
{
	FoundPages *found = (FoundPages *) arg;

	for (unsigned int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		uint64		first = (first_range + slot) * found->pages_per_range;

		for (uint32 page = 0; page < found->pages_per_range && first + page < found->nblocks; page++)
		{
			if (renc_candidates_has(candidates, slot, page))
				found->bits[(first + page) / 8] |= (uint8) (1 << (first + page) % 8);
		}
	}
}

static void
scan_index(BitmapIndexScanState *state, Snapshot snapshot, FoundPages *found)
{
	Relation	index = state->biss_RelationDesc;
	IndexScanDesc scan;
	RencoderQuery *query;

	if (RelationGetRelid(index) != found->indexoid)
		elog(ERROR, "condition was planned with another index than \"%s\"",
			 get_rel_name(found->indexoid));

	/* Keys that are no constants, such as now(), get their values here. */
	ExecReScan(&state->ss.ps);
	scan = state->biss_ScanDesc;
	query = rencoder_key_query(index, scan->keyData, scan->numberOfKeys);
	(void) rencoder_candidates_find(index, (BlockNumber) found->nblocks, query, snapshot,
									collect_pages, found, &found->counts);
}

static FoundPages *
new_pages(const FoundPages *like)
{
	FoundPages *found = palloc(sizeof(FoundPages));

	*found = *like;
	found->bits = palloc_extended(like->nblocks / 8 + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return found;
}

static FoundPages *find_pages(PlanState *state, Snapshot snapshot, const FoundPages *like);

/* The pages that all of these, or any of these, find. */
static FoundPages *
combine_pages(PlanState **states, int n, bool all, Snapshot snapshot, const FoundPages *like)
{
	FoundPages *found = find_pages(states[0], snapshot, like);

	for (int i = 1; i < n; i++)
	{
		FoundPages *other = find_pages(states[i], snapshot, like);

		CHECK_FOR_INTERRUPTS();
		for (uint64 byte = 0; byte <= found->nblocks / 8; byte++)
			found->bits[byte] = all ? found->bits[byte] & other->bits[byte] :
				found->bits[byte] | other->bits[byte];
		found->counts.index_pages += other->counts.index_pages;
		pfree(other->bits);
		pfree(other);
	}
	return found;
}

static FoundPages *
find_pages(PlanState *state, Snapshot snapshot, const FoundPages *like)
{
	FoundPages *found;

	check_stack_depth();
	if (IsA(state, BitmapAndState))
	{
		BitmapAndState *both = (BitmapAndState *) state;

		return combine_pages(both->bitmapplans, both->nplans, true, snapshot, like);
	}
	if (IsA(state, BitmapOrState))
	{
		BitmapOrState *either = (BitmapOrState *) state;

		return combine_pages(either->bitmapplans, either->nplans, false, snapshot, like);
	}
	found = new_pages(like);
	scan_index(castNode(BitmapIndexScanState, state), snapshot, found);
	return found;
}

/* The counts of the pages found; those of ranges anew, since several scans may have found them. */
static RencoderCandidateCounts
count_found(const FoundPages *found)
{
	RencoderCandidateCounts counts = found->counts;
	uint64		last = PG_UINT64_MAX;

	counts.ranges = (int64) ((found->nblocks + found->pages_per_range - 1) / found->pages_per_range);
	counts.candidates = 0;
	counts.pages = 0;
	for (uint64 blkno = 0; blkno < found->nblocks; blkno++)
	{
		if (!(found->bits[blkno / 8] & (1 << blkno % 8)))
			continue;
		CHECK_FOR_INTERRUPTS();
		counts.pages++;
		counts.candidates += blkno / found->pages_per_range != last;
		last = blkno / found->pages_per_range;
	}
	counts.skipped = counts.ranges - counts.candidates;
	return counts;
}

/* Begins the plan and looks at what its scans of the index would visit. */
static RencoderCandidateCounts
count_candidates(PlannedStmt *plan, const char *text, Oid heapoid, Oid indexoid)
{
	Snapshot	snapshot = GetActiveSnapshot();
	QueryDesc  *desc = CreateQueryDesc(plan, text, snapshot, InvalidSnapshot, None_Receiver, NULL,
									   NULL, 0);
	FoundPages	like = {.indexoid = indexoid};
	RencoderCandidateCounts counts;
	PlanState  *top;
	Relation	heap;
	Relation	index;

	ExecutorStart(desc, EXEC_FLAG_SKIP_TRIGGERS);
	heap = table_open(heapoid, NoLock);
	index = index_open(indexoid, AccessShareLock);
	like.nblocks = RelationGetNumberOfBlocks(heap);
	like.pages_per_range = rencoder_meta_get(index)->pages_per_range;
	top = desc->planstate;
	if (IsA(top, ResultState))
		top = outerPlanState(top);
	counts = count_found(find_pages(outerPlanState(top), snapshot, &like));
	index_close(index, AccessShareLock);
	table_close(heap, NoLock);
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	return counts;
}

static void
require_index_scan(const PlannedStmt *plan, const Query *query, Oid indexoid)
{
	const Plan *top = plan->planTree;

	/*
	 * A Result may stand above, for conditions that hold of all rows or of
	 * none.
	 */
	if (IsA(top, Result) && outerPlan(top) != NULL)
		top = outerPlan(top);
	if (IsA(top, BitmapHeapScan))
		return;
	if (IsA(top, Result))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("condition is never true, whatever the rows of the table"),
				 errhint("A query with this condition reads nothing.")));
	rencoder_refusal_report(indexoid, query);
}

/*
 * rencoder_candidates(index regclass, condition text) returns record
 *
 * What a scan for the condition would visit, with the present snapshot.  AccessShareLock
 * on table and index, on the table until the end of the transaction.
 */
Datum
rencoder_candidates_condition(PG_FUNCTION_ARGS)
{
	Oid			indexoid = PG_GETARG_OID(0);
	ConditionText condition = {.text = text_to_cstring(PG_GETARG_TEXT_PP(1))};
	ErrorContextCallback callback = {.callback = move_error_position,.arg = &condition};
	RencoderOpenIndex target;
	RencoderCandidateCounts counts;
	Query	   *query;
	PlannedStmt *plan;
	TupleDesc	tupdesc;
	Oid			heapoid;
	Datum		values[6];
	bool		nulls[6] = {false};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	rencoder_open_index(&target, indexoid, AccessShareLock, RENCODER_PRIVILEGE_READ);
	rencoder_open_index_require_valid(&target);
	heapoid = RelationGetRelid(target.heap);
	rencoder_open_index_close(&target);

	callback.previous = error_context_stack;
	error_context_stack = &callback;
	query = read_condition(heapoid, &condition);

	/* The planner changes what it is given. */
	plan = plan_query(copyObject(query), heapoid, indexoid, condition.text);
	require_index_scan(plan, query, indexoid);
	counts = count_candidates(plan, condition.text, heapoid, indexoid);
	error_context_stack = callback.previous;

	values[0] = Int64GetDatum(counts.ranges);
	values[1] = Int64GetDatum(counts.skipped);
	values[2] = Int64GetDatum(counts.candidates);
	values[3] = Int64GetDatum(counts.unsummarized);
	values[4] = Int64GetDatum(counts.pages);
	values[5] = Int64GetDatum(counts.index_pages);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls)));
}
