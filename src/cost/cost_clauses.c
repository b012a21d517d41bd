/*
 * cost_clauses.c
 *		What the index clauses of a path ask of each column.
 *
 * Constants become scan keys, so that the index can be asked what it has for them.  Of long
 * lists of values a sample does: what it finds stands for the rest.
 */
#include "cost/cost_path.h"

#include "access/stratnum.h"
#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "base/compat.h"

/* Elements of a list that are looked for when planning: these, and one in eight, up to a limit. */
#define LIST_SAMPLE			4
#define LIST_SAMPLE_PART	8
#define LIST_SAMPLE_MAX		32

/* Values in an interval that is not known. */
#define TYPICAL_VALUES		10

/*
 * Notes a comparison with a column.  False if it does not restrict the keys:
 * such a clause is only rechecked.
 */
static bool
add_comparison_clause(RencoderCostPath *p, int col, Node *indexed, Oid opno, int *strategy,
					  Oid *righttype)
{
	Oid			lefttype;

	get_op_opfamily_properties(opno, p->index->opfamily[col], false,
							   strategy, &lefttype, righttype);
	if (!rencoder_key_can_use_operator(p->index->opfamily[col], p->index->opcintype[col],
									   *strategy, *righttype, p->index->indexcollations[col]))
		return false;
	p->column[col].keys = true;
	p->column[col].pattern |=
		*strategy == RENCODER_STRATEGY_LIKE || *strategy == RENCODER_STRATEGY_REGEX;
	p->column[col].operator = opno;
	p->column[col].indexed = (Expr *) indexed;
	return true;
}

/* Does a comparison bound the keys from below only, or from above only? */
static bool
clause_is_lower_bound(int strategy)
{
	return strategy == BTGreaterEqualStrategyNumber || strategy == BTGreaterStrategyNumber ||
		strategy == RENCODER_STRATEGY_PATTERN_GE || strategy == RENCODER_STRATEGY_PATTERN_GT;
}

static bool
clause_is_upper_bound(int strategy)
{
	return strategy < BTEqualStrategyNumber || strategy == RENCODER_STRATEGY_PATTERN_LT ||
		strategy == RENCODER_STRATEGY_PATTERN_LE;
}

/* Adds "indexcol op value" to the scan keys if the value is known by now. */
static bool
add_operator_clause(RencoderCostPath *p, int col, const OpExpr *op)
{
	RencoderCostColumn *column = &p->column[col];
	int			strategy;
	Oid			righttype;
	Node	   *value;

	if (!add_comparison_clause(p, col, linitial(op->args), op->opno, &strategy, &righttype))
		return false;
	if (strategy != BTEqualStrategyNumber)
		column->range = true;
	column->lower |= !clause_is_upper_bound(strategy);
	column->upper |= !clause_is_lower_bound(strategy);

	value = estimate_expression_value(p->root, lsecond(op->args));
	if (!IsA(value, Const))
	{
		column->unknown = true;
		column->unknown_range |= strategy != BTEqualStrategyNumber;
		return true;
	}
	ScanKeyEntryInitialize(&p->keys[p->nkeys++],
						   ((Const *) value)->constisnull ? SK_ISNULL : 0,
						   col + 1, strategy, righttype, op->inputcollid,
						   get_opcode(op->opno), ((Const *) value)->constvalue);
	return true;
}

/* So many values of a list, evenly chosen; sets *elements to how many there are, less nulls. */
static ArrayType *
sample_clause_list(ArrayType *list, int *sampled, double *elements)
{
	Oid			type = ARR_ELEMTYPE(list);
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *value;
	bool	   *isnull;
	int			nvalues;
	int			n = 0;

	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(list, type, typlen, typbyval, typalign, &value, &isnull, &nvalues);
	for (int i = 0; i < nvalues; i++)
	{
		if (!isnull[i])
			value[n++] = value[i];
	}
	*elements = n;
	*sampled = Min(Min(n, LIST_SAMPLE + n / LIST_SAMPLE_PART), LIST_SAMPLE_MAX);
	for (int i = 0; i < *sampled; i++)
		value[i] = value[(int64) i * n / *sampled];
	return construct_array(value, *sampled, type, typlen, typbyval, typalign);
}

/* The same for "indexcol op ANY (array)": some elements become a scan key, if they are known. */
static bool
add_array_clause(RencoderCostPath *p, int col, const ScalarArrayOpExpr *op)
{
	RencoderCostColumn *column = &p->column[col];
	bool		first = column->elements <= 1 && column->sampled == 0;
	double		length = rencoder_estimate_array_length(p->root, lsecond(op->args));
	int			strategy;
	Oid			righttype;
	Node	   *value;

	if (!add_comparison_clause(p, col, linitial(op->args), op->opno, &strategy, &righttype))
		return false;
	value = estimate_expression_value(p->root, lsecond(op->args));
	if (first && strategy == BTEqualStrategyNumber && IsA(value, Const) &&
		!((Const *) value)->constisnull)
	{
		ArrayType  *sample = sample_clause_list(DatumGetArrayTypeP(((Const *) value)->constvalue),
												&column->sampled, &length);

		ScanKeyEntryInitialize(&p->keys[p->nkeys++], SK_SEARCHARRAY, col + 1, strategy, righttype,
							   op->inputcollid, get_opcode(op->opno), PointerGetDatum(sample));
	}
	if (column->sampled == 0)
		column->unknown = true;
	column->elements = Max(column->elements, length);
	return true;
}

/*
 * Looks at a clause on column "col"; the column is on its left.  False if it
 * is only rechecked.
 */
static bool
add_clause(RencoderCostPath *p, int col, Node *clause)
{
	if (IsA(clause, OpExpr))
		return add_operator_clause(p, col, (OpExpr *) clause);
	if (IsA(clause, ScalarArrayOpExpr))
		return add_array_clause(p, col, (ScalarArrayOpExpr *) clause);
	if (IsA(clause, NullTest))
	{
		bool		is_null = ((NullTest *) clause)->nulltesttype == IS_NULL;

		p->column[col].nulls = true;
		ScanKeyEntryInitialize(&p->keys[p->nkeys++],
							   SK_ISNULL | (is_null ? SK_SEARCHNULL : SK_SEARCHNOTNULL),
							   col + 1, InvalidStrategy, InvalidOid, InvalidOid,
							   InvalidOid, (Datum) 0);
		return true;
	}
	p->column[col].keys = p->column[col].unknown = true;
	return true;
}

/*
 * What all columns of composite keys ask of these.  Columns up to the first one that is not asked for single
 * values bound the keys that are searched, others at most where these end.
 */
static void
join_columns(RencoderCostPath *p)
{
	RencoderCostColumn *all = palloc0(sizeof(RencoderCostColumn));
	bool		single = true;

	all->elements = 1;
	for (int col = 0; col < p->index->nkeycolumns; col++)
	{
		const RencoderCostColumn *part = &p->part[col];

		all->keys |= part->quals != NIL;
		all->pattern |= part->pattern;
		all->unknown |= part->unknown;
		if (OidIsValid(part->operator))
			all->operator = part->operator;
		if (single)
		{
			all->quals = list_concat_copy(all->quals, part->quals);
			all->range |= part->range;
			all->indexed = col == 0 ? part->indexed : part->range ? NULL : all->indexed;
			all->elements *= part->elements;
			if (part->sampled > 0)
				all->sampled = Max(all->sampled, 1) * part->sampled;
		}
		single &= part->keys && !part->range;
	}
	if (all->keys && all->quals == NIL)
	{
		all->quals = p->quals;
		all->rows = p->index->rel->tuples;
	}
	p->column = all;
	p->ncolumns = 1;
}

void
rencoder_cost_clauses(RencoderCostPath *p)
{
	ListCell   *lc;

	p->quals = get_quals_from_indexclauses(p->path->indexclauses);
	p->ncolumns = p->index->nkeycolumns;
	p->column = p->part = palloc0(p->ncolumns * sizeof(RencoderCostColumn));
	for (int col = 0; col < p->index->nkeycolumns; col++)
		p->column[col].elements = 1;
	p->keys = palloc(Max(list_length(p->quals), 1) * sizeof(ScanKeyData));
	foreach(lc, p->path->indexclauses)
	{
		IndexClause *iclause = lfirst_node(IndexClause, lc);
		RencoderCostColumn *column = &p->column[iclause->indexcol];
		ListCell   *lc2;

		foreach(lc2, iclause->indexquals)
		{
			RestrictInfo *qual = lfirst_node(RestrictInfo, lc2);

			if (add_clause(p, iclause->indexcol, (Node *) qual->clause))
				column->quals = lappend(column->quals, qual);
		}
	}
	if (p->composite)
		join_columns(p);
	p->searches = 1;
	for (int col = 0; col < p->ncolumns; col++)
		p->searches *= p->column[col].elements;
}

double
rencoder_cost_rows(const RencoderCostPath *p, List *quals)
{
	RelOptInfo *rel = p->index->rel;
	Selectivity selectivity;

	quals = add_predicate_to_index_quals(p->index, quals);
	selectivity = clauselist_selectivity(p->root, quals, rel->relid, JOIN_INNER, NULL);
	return clamp_row_est(selectivity * rel->tuples);
}

/* Rows of so many values, when nobody knows which. */
static double
rows_of_clause_values(const RencoderCostPath *p, Node *key, double values)
{
	RelOptInfo *rel = p->index->rel;
	VariableStatData vardata;
	double		distinct;
	bool		is_default;

	examine_variable(p->root, key, rel->relid, &vardata);
	distinct = get_variable_numdistinct(&vardata, &is_default);
	ReleaseVariableStats(vardata);
	if (is_default)
		distinct = rel->tuples;
	return clamp_row_est(values * rel->tuples / Max(distinct, 1));
}

/*
 * Of intervals whose bounds are not known (a generic plan's, or those of a join) the
 * statistics say that they hold a fixed share of all rows, however large the table is.
 * Rather than by that, they are taken to be short, like intervals that are worth an index.
 * If they are not, a bitmap scan takes two or three times as long as a sequential scan; if
 * they are, the latter takes hundreds of times as long.  Only of one bound that comes from a
 * join the share is right: all values come by.
 *
 * Not if an index competes that goes by the statistics.
 */
double
rencoder_cost_column_rows(RencoderCostPath *p, int col)
{
	RencoderCostColumn *column = &p->column[col];

	if (column->rows > 0)
		return column->rows;
	column->rows = rencoder_cost_rows(p, column->quals);
	if (column->unknown_range && p->rival.kind != RENCODER_RIVAL_EXACT &&
		(p->path->path.param_info == NULL || (column->lower && column->upper)))
		column->rows = Min(column->rows,
						   rows_of_clause_values(p, (Node *) column->indexed, TYPICAL_VALUES));
	return column->rows;
}

double
rencoder_cost_column_not_null(const RencoderCostPath *p, int col)
{
	NullTest   *test = makeNode(NullTest);

	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	test->arg = p->column[col].indexed;
	return rencoder_cost_rows(p, list_make1(test));
}

/* The clauses that those of the path stand beside: of an arm of an OR, or of the table. */
static List *
clauses_beside(const RencoderCostPath *p)
{
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, p->index->rel->baserestrictinfo)
	{
		BoolExpr   *either = (BoolExpr *) lfirst_node(RestrictInfo, lc)->orclause;

		foreach(lc2, either == NULL || p->quals == NIL ? NIL : either->args)
		{
			BoolExpr   *arm = lfirst(lc2);

			if (is_andclause(arm) && list_member_ptr(arm->args, linitial(p->quals)))
				return arm->args;
		}
	}
	return p->index->rel->baserestrictinfo;
}

double
rencoder_cost_rows_beside(const RencoderCostPath *p, bool *alone)
{
	const RelOptInfo *rel = p->index->rel;
	List	   *beside = clauses_beside(p);
	double		rows = rel->tuples;
	Bitmapset  *keys = NULL;	/* first columns of our other indexes */
	ListCell   *lc;

	*alone = list_length(beside) <= list_length(p->quals);
	foreach(lc, rel->indexlist)
	{
		const IndexOptInfo *other = lfirst_node(IndexOptInfo, lc);

		if (other->relam == p->index->relam && other->indexkeys[0] != p->index->indexkeys[0])
			keys = bms_add_member(keys, other->indexkeys[0] - FirstLowInvalidHeapAttributeNumber);
	}
	foreach(lc, beside)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);
		Bitmapset  *asked = NULL;

		pull_varattnos((Node *) clause->clause, rel->relid, &asked);
		if (clause->norm_selec >= 0 && clause->norm_selec * rel->tuples < p->rows &&
			bms_overlap(asked, keys))
			rows *= clause->norm_selec;
	}
	return rows;
}
