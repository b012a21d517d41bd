/*
 * hypothetical_index.c
 *		An index on a column that nobody has created: enough of one to make keys.
 */
#include "key/hypothetical_index.h"

#include "access/amapi.h"
#include "commands/defrem.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "key/key.h"

/* What is to be indexed: a column of the table, or an expression. */
typedef struct HypotheticalColumn
{
	const char *name;
	Oid			type;
	int32		typmod;
	Oid			collation;
} HypotheticalColumn;

/* Names, counts and types: the catalog rows that the index would have. */
static void
hypothetical_catalog(Relation index, Relation heap, const HypotheticalColumn *column)
{
	char	   *name = makeObjectName(RelationGetRelationName(heap), column->name, "idx");

	index->rd_rel = palloc0(sizeof(FormData_pg_class));
	namestrcpy(&index->rd_rel->relname, name);
	index->rd_rel->relkind = RELKIND_INDEX;
	index->rd_rel->relnatts = 1;
	index->rd_rel->relpersistence = heap->rd_rel->relpersistence;
	index->rd_index = palloc0(sizeof(FormData_pg_index));
	index->rd_index->indrelid = RelationGetRelid(heap);
	index->rd_index->indnatts = 1;
	index->rd_index->indnkeyatts = 1;
	index->rd_att = CreateTemplateTupleDesc(1);
	TupleDescInitEntry(index->rd_att, 1, column->name, column->type, column->typmod, 0);
	rencoder_finish_tupdesc(index->rd_att);
}

static Relation
make_hypothetical(Relation heap, const HypotheticalColumn *column, Oid am, Oid opclass)
{
	Relation	index = palloc0(sizeof(RelationData));

	hypothetical_catalog(index, heap, column);
	index->rd_indexcxt = CurrentMemoryContext;
	index->rd_indam = GetIndexAmRoutineByAmId(am, false);
	index->rd_opfamily = palloc(sizeof(Oid));
	index->rd_opcintype = palloc(sizeof(Oid));
	index->rd_indcollation = palloc(sizeof(Oid));
	index->rd_opfamily[0] = get_opclass_family(opclass);
	index->rd_opcintype[0] = get_opclass_input_type(opclass);
	index->rd_indcollation[0] = column->collation;
	index->rd_opcoptions = palloc0(sizeof(bytea *));
	index->rd_support = palloc0(RENCODER_NPROCS * sizeof(RegProcedure));
	index->rd_supportinfo = palloc0(RENCODER_NPROCS * sizeof(FmgrInfo));
	for (int proc = 1; proc <= RENCODER_NPROCS; proc++)
		index->rd_support[proc - 1] = get_opfamily_proc(index->rd_opfamily[0],
														index->rd_opcintype[0],
														index->rd_opcintype[0], proc);
	return index;
}

/*
 * The column of the table, or of the model, if there is one.  Its type is that of the table, as some
 * operator classes store another one.
 */
static HypotheticalColumn
hypothetical_column(Relation heap, Relation model, int col)
{
	AttrNumber	attnum = model == NULL ? col + 1 : model->rd_index->indkey.values[col];
	TupleDesc	names = RelationGetDescr(model == NULL ? heap : model);
	HypotheticalColumn column = {.name = NameStr(TupleDescAttr(names, col)->attname)};
	Node	   *expression;
	int			before = 0;

	if (attnum != 0)
	{
		Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(heap), attnum - 1);

		column.type = attribute->atttypid;
		column.typmod = attribute->atttypmod;
		column.collation = attribute->attcollation;
		return column;
	}
	for (int i = 0; i < col; i++)
		before += model->rd_index->indkey.values[i] == 0;
	expression = (Node *) list_nth(RelationGetIndexExpressions(model), before);
	column.type = exprType(expression);
	column.typmod = exprTypmod(expression);
	column.collation = exprCollation(expression);
	return column;
}

Relation
rencoder_hypothetical_index(Relation heap, Relation model, int col, const char **problem)
{
	HypotheticalColumn column = hypothetical_column(heap, model, col);
	Oid			am = get_index_am_oid("rencoder", false);
	Oid			opclass = GetDefaultOpClass(getBaseType(column.type), am);

	if (!OidIsValid(opclass))
		*problem = psprintf("rencoder has no operator class for type %s", format_type_be(column.type));
	/* As refuse_collations_of_build() of build.c. */
	else if (OidIsValid(column.collation) && !get_collation_isdeterministic(column.collation))
		*problem = "rencoder has no nondeterministic collations";
	else
		return make_hypothetical(heap, &column, am, opclass);
	return NULL;
}
