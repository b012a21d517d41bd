/*
 * cost.c
 *		amcostestimate: what a scan of the index, and of the heap after it, costs.
 *
 * The heap is visited in whole block ranges:
 *
 *		ranges hit = unsummarized + those that hold a row + false positives
 *
 * The planner has no word for that.  cost_bitmap_heap_scan() takes
 * indexSelectivity for rows scattered over the table, and computes pages from
 * them by the formula of Mackert and Lohman.  So indexSelectivity is chosen
 * such that this comes out at the pages visited, and what it then leaves out
 * is part of indexTotalCost (see heap_cost()).
 */
#include "costindex.h"
#include "rencoder.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_statistic.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"
#include "utils/syscache.h"

/*
 * With rencoder.enable_scan = off: more than any number of disabled nodes,
 * and still finite, because infinities may turn into NaN.
 */
#define COST_NEVER		1.0e30

/* Work per group and query, in operators: some rows of some windows. */
#define OPERATORS_PER_GROUP		10

/* What the index clauses ask of a column. */
typedef struct ColumnClauses
{
	List	   *quals;
	bool		keys;			/* some comparison */
	bool		nulls;			/* IS NULL or IS NOT NULL */
	bool		range;			/* comparisons other than with = */
	bool		unknown;		/* some bound is not known when planning */
} ColumnClauses;

typedef struct CostInput
{
	PlannerInfo *root;
	IndexPath  *path;
	IndexOptInfo *index;
	double		loop_count;
	List	   *quals;
	double		nscans;			/* scans for ScalarArrayOpExprs */
	ColumnClauses column[INDEX_MAX_KEYS];
	ScanKeyData *keys;			/* clauses with known bounds */
	int			nkeys;
	const RencoderQuery *query; /* made from them; NULL if hypothetical */
	RencoderCostIndex info;
} CostInput;

typedef struct CostResult
{
	double		correlation;	/* of the best ordered column asked for */
	double		heap_pages;		/* to be visited */
	double		groups;			/* to be probed */
	double		index_pages;	/* to be read, directory included */
} CostResult;

/* Adds "indexcol op value" to the scan keys if the value is known by now. */
static void
add_operator(CostInput *in, int col, Oid opno, Oid collation, Node *value)
{
	int			strategy;
	Oid			lefttype;
	Oid			righttype;

	get_op_opfamily_properties(opno, in->index->opfamily[col], false,
							   &strategy, &lefttype, &righttype);
	in->column[col].keys = true;
	if (strategy != BTEqualStrategyNumber)
		in->column[col].range = true;

	value = estimate_expression_value(in->root, value);
	if (!IsA(value, Const))
	{
		in->column[col].unknown = true;
		return;
	}
	ScanKeyEntryInitialize(&in->keys[in->nkeys++],
						   ((Const *) value)->constisnull ? SK_ISNULL : 0,
						   col + 1, strategy, righttype, collation,
						   get_opcode(opno), ((Const *) value)->constvalue);
}

/* Looks at a clause on column "col"; the column is on its left. */
static void
add_clause(CostInput *in, int col, Node *clause)
{
	if (IsA(clause, OpExpr))
	{
		OpExpr	   *op = (OpExpr *) clause;

		add_operator(in, col, op->opno, op->inputcollid, lsecond(op->args));
	}
	else if (IsA(clause, ScalarArrayOpExpr))
	{
		ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) clause;
		double		length = rencoder_estimate_array_length(in->root, lsecond(op->args));

		in->column[col].keys = in->column[col].unknown = true;
		in->nscans *= Max(length, 1);
	}
	else if (IsA(clause, NullTest))
	{
		bool		is_null = ((NullTest *) clause)->nulltesttype == IS_NULL;

		in->column[col].nulls = true;
		ScanKeyEntryInitialize(&in->keys[in->nkeys++],
							   SK_ISNULL | (is_null ? SK_SEARCHNULL : SK_SEARCHNOTNULL),
							   col + 1, InvalidStrategy, InvalidOid, InvalidOid,
							   InvalidOid, (Datum) 0);
	}
	else
		in->column[col].keys = in->column[col].unknown = true;
}

static void
analyze_clauses(CostInput *in)
{
	ListCell   *lc;

	in->quals = get_quals_from_indexclauses(in->path->indexclauses);
	in->nscans = 1;
	in->keys = palloc(Max(list_length(in->quals), 1) * sizeof(ScanKeyData));
	foreach(lc, in->path->indexclauses)
	{
		IndexClause *iclause = lfirst_node(IndexClause, lc);
		ColumnClauses *column = &in->column[iclause->indexcol];
		ListCell   *lc2;

		column->quals = list_concat(column->quals, iclause->indexquals);
		foreach(lc2, iclause->indexquals)
			add_clause(in, iclause->indexcol,
					   (Node *) lfirst_node(RestrictInfo, lc2)->clause);
	}
}

static void
analyze_index(CostInput *in)
{
	double		heap_pages = in->index->rel->pages;

	if (in->index->hypothetical)
		rencoder_cost_index_invent(heap_pages, in->index->nkeycolumns, &in->info);
	else
	{
		/* The planner has locked it. */
		Relation	index = index_open(in->index->indexoid, NoLock);

		in->query = rencoder_key_query(index, in->keys, in->nkeys);
		rencoder_cost_index_read(index, heap_pages, in->query, &in->info);
		index_close(index, NoLock);
	}
}

/* The intervals that are asked of a column, or NULL if they are not known. */
static const renc_interval_set *
known_intervals(const CostInput *in, int col)
{
	static const renc_interval point = {0, 0};
	static const renc_interval_set one_key = {&point, 1};

	if (in->query != NULL && in->query->column[col].has_keys && !in->column[col].unknown)
		return &in->query->column[col].set;

	/* All single keys are alike; short intervals are not much different. */
	return in->column[col].range ? NULL : &one_key;
}

/* pg_statistic's correlation of an index column with the heap's order. */
static double
column_correlation(PlannerInfo *root, IndexOptInfo *index, int col)
{
	RangeTblEntry *rte = planner_rt_fetch(index->rel->relid, root);
	bool		plain = index->indexkeys[col] != 0;
	Oid			relid = plain ? rte->relid : index->indexoid;
	AttrNumber	attno = plain ? index->indexkeys[col] : col + 1;
	VariableStatData vardata = {0};
	AttStatsSlot slot;
	double		correlation = 0;
	bool		hooked;

	hooked = plain ?
		get_relation_stats_hook && get_relation_stats_hook(root, rte, attno, &vardata) :
		get_index_stats_hook && get_index_stats_hook(root, relid, attno, &vardata);
	if (!hooked)
	{
		vardata.statsTuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid),
											 Int16GetDatum(attno), BoolGetDatum(false));
		vardata.freefunc = ReleaseSysCache;
	}
	if (HeapTupleIsValid(vardata.statsTuple) &&
		get_attstatsslot(&slot, vardata.statsTuple, STATISTIC_KIND_CORRELATION,
						 InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers > 0)
			correlation = slot.numbers[0];
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(vardata);
	return correlation;
}

/* Between "scattered" and "together", as cost_index() does. */
static double
interpolate(double scattered, double together, double correlation)
{
	return scattered + correlation * correlation * (Min(together, scattered) - scattered);
}

/* The rows that satisfy these clauses and are in the index. */
static double
matching_rows(const CostInput *in, List *quals)
{
	RelOptInfo *rel = in->index->rel;
	Selectivity selectivity;

	quals = add_predicate_to_index_quals(in->index, quals);
	selectivity = clauselist_selectivity(in->root, quals, rel->relid, JOIN_INNER, NULL);
	return clamp_row_est(selectivity * rel->tuples);
}

/*
 * The share of the reachable ranges that a column lets pass: those that hold
 * a row that satisfies its clauses, and false positives.
 */
static double
column_pass_rate(const CostInput *in, int col, double reachable, CostResult *out)
{
	double		rows = matching_rows(in, in->column[col].quals);
	double		together = ceil(rows / Max(in->index->rel->tuples, 1) * in->info.ranges);
	double		correlation = column_correlation(in->root, in->index, col);
	double		hit;
	double		fpr = 0;		/* null flags are exact */

	hit = interpolate(reachable * (1 - exp(-rows / reachable)), together, correlation);
	out->groups = Min(out->groups,
					  interpolate(ceil(reachable / RENC_GROUP_RANGES),
								  ceil(together / RENC_GROUP_RANGES), correlation));
	if (in->column[col].keys)
	{
		fpr = rencoder_cost_fpr(&in->info.config[col], in->info.bits_per_key,
								known_intervals(in, col));
		fpr = 1 - pow(1 - fpr, in->nscans);
		fpr *= Min(1, out->groups * RENC_GROUP_RANGES / reachable);
	}
	out->correlation = Max(out->correlation, fabs(correlation));
	return hit / reachable + fpr * (1 - hit / reachable);
}

/* Sets correlation, heap_pages and groups. */
static void
estimate_ranges(const CostInput *in, CostResult *out)
{
	const RencoderCostIndex *info = &in->info;
	double		table_pages = in->index->rel->pages;
	double		reachable = (info->ranges - info->unsummarized) * info->meeting;
	double		hit = reachable;

	if (in->query != NULL && in->query->empty)
		return;
	out->groups = ceil(reachable / RENC_GROUP_RANGES);
	if (in->quals == NIL)
	{
		/* A partial index used for its predicate alone: nothing is skipped. */
		out->heap_pages = table_pages;
		return;
	}
	for (int col = 0; col < in->index->nkeycolumns && reachable > 0; col++)
	{
		if (in->column[col].quals != NIL)
			hit *= column_pass_rate(in, col, reachable, out);
	}
	if (reachable > 0)
		hit = Max(hit, 1);		/* as other index types expect a row at least */
	out->heap_pages = Min((hit + info->unsummarized) * info->pages_per_range,
						  table_pages);
}

/*
 * Sets index_pages: those of one scan.  The header of a group is read where
 * null flags are asked for or something was found.
 */
static void
estimate_index_pages(const CostInput *in, CostResult *out)
{
	double		per_group = 0;
	double		headers = Min(out->groups,
							  out->heap_pages / in->info.pages_per_range);
	double		pages;

	for (int col = 0; col < in->index->nkeycolumns; col++)
	{
		if (in->column[col].nulls)
			headers = out->groups;
		if (in->column[col].keys)
			per_group += rencoder_cost_probe_pages(&in->info.config[col],
												   known_intervals(in, col));
	}
	pages = (out->groups + in->info.slices) * per_group + headers;
	if (in->index->pages > 0)
		pages = Min(pages, in->index->pages);
	out->index_pages = in->info.directory_pages + pages;
}

/* Cost of the scans, the heap left aside. */
static Cost
index_cost(const CostInput *in, const CostResult *out)
{
	double		random_page_cost;
	double		pages = out->index_pages * in->nscans;
	Cost		cost;

	get_tablespace_page_costs(in->index->reltablespace, &random_page_cost, NULL);
	if (in->nscans * in->loop_count > 1)
		pages = index_pages_fetched(pages * in->loop_count, in->index->pages,
									in->index->pages, in->root) / in->loop_count;
	cost = pages * random_page_cost;

	cost += in->nscans * out->groups * OPERATORS_PER_GROUP * cpu_operator_cost;

	/* As BRIN, for the bitmap. */
	cost += 0.1 * cpu_operator_cost * out->heap_pages;
	return cost;
}

/*
 * Chooses indexSelectivity such that cost_bitmap_heap_scan() arrives at the
 * heap pages of "out", and returns the cost that this hides: of the rows on
 * these pages it thinks of fewer than there are, and all are rechecked.
 *
 * It computes pages = 2 T t / (2 T + t) for t rows in a table of T pages.
 */
static Cost
heap_cost(const CostInput *in, const CostResult *out, Selectivity *selectivity)
{
	RelOptInfo *rel = in->index->rel;
	double		table_pages = Max(rel->pages, 1);
	double		table_rows = Max(rel->tuples, 1);
	double		pages = Min(out->heap_pages, table_pages);
	double		rows = 2 * table_pages * pages / (2 * table_pages - pages);
	double		hidden_rows;
	double		hidden_pages = 0;
	double		seq_page_cost_here;
	QualCost	qual_cost = rel->baserestrictcost;

	if (rows > table_rows)
	{
		/* Less than two rows a page: the formula does not reach so far. */
		rows = table_rows;
		hidden_pages = pages - 2 * table_pages * rows / (2 * table_pages + rows);
	}
	*selectivity = rows / table_rows;
	CLAMP_PROBABILITY(*selectivity);

	if (in->path->path.param_info)
	{
		QualCost	join_cost;

		cost_qual_eval(&join_cost, in->path->path.param_info->ppi_clauses, in->root);
		qual_cost.per_tuple += join_cost.per_tuple;
	}
	hidden_rows = Max(0, pages / table_pages * table_rows - rows);
	get_tablespace_page_costs(rel->reltablespace, NULL, &seq_page_cost_here);
	return hidden_rows * (cpu_tuple_cost + qual_cost.per_tuple) +
		Max(0, hidden_pages) * seq_page_cost_here;
}

void
rencodercostestimate(PlannerInfo *root, IndexPath *path, double loop_count,
					 Cost *indexStartupCost, Cost *indexTotalCost,
					 Selectivity *indexSelectivity, double *indexCorrelation,
					 double *indexPages)
{
	CostInput	in = {0};
	CostResult	out = {0};

	in.root = root;
	in.path = path;
	in.index = path->indexinfo;
	in.loop_count = loop_count;
	analyze_clauses(&in);
	analyze_index(&in);

	estimate_ranges(&in, &out);
	estimate_index_pages(&in, &out);

	*indexStartupCost = index_other_operands_eval_cost(root, in.quals);
	*indexTotalCost = *indexStartupCost + index_cost(&in, &out) +
		heap_cost(&in, &out, indexSelectivity);
	if (!rencoder_enable_scan)
		*indexTotalCost += COST_NEVER;
	*indexCorrelation = out.correlation;
	*indexPages = out.index_pages;
}
