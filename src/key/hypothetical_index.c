/*
 * hypothetical_index.c
 *		An index on a column that nobody has created: enough of one to make keys.
 */
#include "key/hypothetical_index.h"

#include "access/amapi.h"
#include "catalog/pg_collation.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "key/key.h"

static void
refuse_type(Form_pg_attribute attribute)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("column \"%s\" of type %s has no default operator class for rencoder",
					NameStr(attribute->attname), format_type_be(attribute->atttypid))));
}

/* As refuse_collations() of build.c. */
static void
refuse_collation(Form_pg_attribute attribute)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("access method \"rencoder\" does not support nondeterministic collations"),
			 errdetail("Column \"%s\" has collation \"%s\".", NameStr(attribute->attname),
					   get_collation_name(attribute->attcollation))));
}

/* Names, counts and types: the catalog rows that the index would have. */
static void
imagine_catalog(Relation index, Relation heap, Form_pg_attribute attribute)
{
	char	   *name = makeObjectName(RelationGetRelationName(heap),
									  NameStr(attribute->attname), "idx");

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
	TupleDescInitEntry(index->rd_att, 1, NameStr(attribute->attname), attribute->atttypid,
					   attribute->atttypmod, 0);
}

Relation
rencoder_imagine_index(Relation heap, AttrNumber attnum)
{
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(heap), attnum - 1);
	Oid			am = get_index_am_oid("rencoder", false);
	Oid			opclass = GetDefaultOpClass(getBaseType(attribute->atttypid), am);
	Relation	index = palloc0(sizeof(RelationData));

	if (!OidIsValid(opclass))
		refuse_type(attribute);
	if (OidIsValid(attribute->attcollation) &&
		!get_collation_isdeterministic(attribute->attcollation))
		refuse_collation(attribute);
	imagine_catalog(index, heap, attribute);
	index->rd_indexcxt = CurrentMemoryContext;
	index->rd_indam = GetIndexAmRoutineByAmId(am, false);
	index->rd_opfamily = palloc(sizeof(Oid));
	index->rd_opcintype = palloc(sizeof(Oid));
	index->rd_indcollation = palloc(sizeof(Oid));
	index->rd_opfamily[0] = get_opclass_family(opclass);
	index->rd_opcintype[0] = get_opclass_input_type(opclass);
	index->rd_indcollation[0] = attribute->attcollation;
	index->rd_opcoptions = palloc0(sizeof(bytea *));
	index->rd_support = palloc0(RENCODER_NPROCS * sizeof(RegProcedure));
	index->rd_supportinfo = palloc0(RENCODER_NPROCS * sizeof(FmgrInfo));
	for (int proc = 1; proc <= RENCODER_NPROCS; proc++)
		index->rd_support[proc - 1] = get_opfamily_proc(index->rd_opfamily[0],
														index->rd_opcintype[0],
														index->rd_opcintype[0], proc);
	return index;
}
