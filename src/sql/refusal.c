/*
 * refusal.c
 *		Why an index cannot answer a condition.
 *
 * The planner does not tell.  So this looks at the condition as the planner does: constants
 * folded, for what compares a column of the index, and what is wrong with that.
 */
#include "sql/refusal.h"

#include "access/genam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/ruleutils.h"

/* The columns of the index as expressions of its table, an element for each. */
typedef struct IndexColumns
{
	Relation	index;
	List	   *expressions;	/* of those columns that are expressions */
} IndexColumns;

/* Which column of the index is it (0-based)?  -1: none. */
static int
find_column(const IndexColumns *columns, const Node *node)
{
	int			nexpressions = 0;

	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(columns->index); col++)
	{
		AttrNumber	attnum = columns->index->rd_index->indkey.values[col];

		if (attnum == 0 && equal(node, list_nth(columns->expressions, nexpressions++)))
			return col;
		if (attnum != 0 && IsA(node, Var) && ((const Var *) node)->varattno == attnum)
			return col;
	}
	return -1;
}

/* What a cast is made of; NULL if it is no cast. */
static Node *
inside_cast(Node *node)
{
	if (IsA(node, RelabelType))
		return (Node *) ((RelabelType *) node)->arg;
	if (IsA(node, CoerceViaIO))
		return (Node *) ((CoerceViaIO *) node)->arg;
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcformat != COERCE_EXPLICIT_CALL &&
		((FuncExpr *) node)->args != NIL)
		return linitial(((FuncExpr *) node)->args);
	return NULL;
}

static const char *
column_name(const IndexColumns *columns, int col)
{
	return NameStr(TupleDescAttr(RelationGetDescr(columns->index), col)->attname);
}

/* Error if this side of a comparison is a column that is cast to another type. */
static void
refuse_cast(const IndexColumns *columns, Node *side)
{
	Oid			type = exprType(side);
	Node	   *inside = inside_cast(side);
	int			col = inside == NULL ? -1 : find_column(columns, inside);

	if (col < 0 || IsBinaryCoercible(exprType(inside), type))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("index \"%s\" cannot answer the condition",
					RelationGetRelationName(columns->index)),
			 errdetail("The condition compares column \"%s\", which is of type %s, as type %s.",
					   column_name(columns, col), format_type_be(exprType(inside)),
					   format_type_be(type)),
			 errhint("Cast the values to %s.", format_type_be(exprType(inside)))));
}

/* Error if this side is a column whose index does not have the operator, or the collation. */
static void
refuse_operator(const IndexColumns *columns, Node *side, Oid operator, Oid collation)
{
	int			col;
	Oid			own;

	while (IsA(side, RelabelType))
		side = (Node *) ((RelabelType *) side)->arg;
	col = find_column(columns, side);
	if (col < 0 || get_op_rettype(operator) != BOOLOID)
		return;
	if (!op_in_opfamily(operator, columns->index->rd_opfamily[col]))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("index \"%s\" cannot answer the condition",
						RelationGetRelationName(columns->index)),
				 errdetail("Operator %s is not in the operator family of column \"%s\".",
						   format_operator(operator), column_name(columns, col)),
				 errhint("See the operators of the index's operator classes.")));
	own = columns->index->rd_indcollation[col];
	if (OidIsValid(own) && OidIsValid(collation) && own != collation)
		ereport(ERROR,
				(errcode(ERRCODE_COLLATION_MISMATCH),
				 errmsg("index \"%s\" cannot answer the condition",
						RelationGetRelationName(columns->index)),
				 errdetail("The condition compares column \"%s\" under collation \"%s\", the index has collation \"%s\".",
						   column_name(columns, col), get_collation_name(collation),
						   get_collation_name(own))));
}

/* Error at the first comparison of a column that the index cannot answer. */
static bool
refuse_comparison(Node *node, void *context)
{
	List	   *sides = NIL;
	ListCell   *lc;
	Oid			operator = InvalidOid;
	Oid			collation = InvalidOid;

	if (node == NULL)
		return false;
	if (IsA(node, OpExpr))
	{
		sides = ((OpExpr *) node)->args;
		operator = ((OpExpr *) node)->opno;
		collation = ((OpExpr *) node)->inputcollid;
	}
	else if (IsA(node, ScalarArrayOpExpr))
	{
		sides = list_make1(linitial(((ScalarArrayOpExpr *) node)->args));
		operator = ((ScalarArrayOpExpr *) node)->opno;
		collation = ((ScalarArrayOpExpr *) node)->inputcollid;
	}
	foreach(lc, sides)
	{
		refuse_cast(context, lfirst(lc));
		refuse_operator(context, lfirst(lc), operator, collation);
	}
	return expression_tree_walker(node, refuse_comparison, context);
}

/* Error if the condition leaves out the predicate of a partial index. */
static void
refuse_without_predicate(Relation index, Node *quals)
{
	List	   *predicate = RelationGetIndexPredicate(index);
	List	   *clauses = make_ands_implicit(canonicalize_qual((Expr *) quals, false));
	char	   *heap = get_rel_name(index->rd_index->indrelid);
	char	   *text;

	if (predicate == NIL || predicate_implied_by(predicate, clauses, false))
		return;
	text = deparse_expression((Node *) make_ands_explicit(predicate),
							  deparse_context_for(heap, index->rd_index->indrelid), false, false);

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("partial index \"%s\" cannot answer the condition",
					RelationGetRelationName(index)),
			 errdetail("The index has only the rows with %s, which the condition does not imply.",
					   text),
			 errhint("Add to the condition: AND %s", text)));
}

void
rencoder_refusal_report(Oid indexoid, const Query *query)
{
	IndexColumns columns;
	Node	   *quals = eval_const_expressions(NULL, copyObject(query->jointree->quals));

	columns.index = index_open(indexoid, AccessShareLock);
	columns.expressions = RelationGetIndexExpressions(columns.index);
	refuse_without_predicate(columns.index, quals);
	(void) refuse_comparison(quals, &columns);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("index \"%s\" cannot answer the condition",
					RelationGetRelationName(columns.index)),
			 errdetail("No part of it compares a column of the index by an operator of its operator class with a value."),
			 errhint("See the operators of the index's operator classes, and collations.")));
}
