/*
 * sql_estimate_table.c
 *		rencoder_estimate(): what an index would be like that does not exist yet.
 */
#include "query/estimate_table.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/tuplestore.h"

#include "key/hypothetical_index.h"
#include "sql/sql_bounds.h"

PG_FUNCTION_INFO_V1(rencoder_estimate);

/* Columns of a row: method, size, index_pages, heap_pages, false_pages, advice. */
#define ESTIMATE_COLUMNS	6

/*
 * A btree that reads less than a third, and not only the few pages less of a needle, or is not
 * even twice as large, is the better one.
 */
#define BTREE_READS		3
#define BTREE_PAGES		32
#define BTREE_SIZE		2

/* No index. */
#define METHOD_NONE		RENCODER_NMETHODS

static const char *const method_name[RENCODER_NMETHODS] = {"rencoder", "btree", "brin"};

/* Error unless it is a table whose pages can be read. */
static void
check_estimated_table(Relation heap)
{
	const char *name = RelationGetRelationName(heap);
	const char *problem;

	if (heap->rd_rel->relkind != RELKIND_RELATION && heap->rd_rel->relkind != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table or materialized view", name),
				 errdetail_relkind_not_supported(heap->rd_rel->relkind)));
	problem = rencoder_table_sample_problem(heap);
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot sample table \"%s\": %s", name, problem)));
}

/* The column; error unless the user may read all of it. */
static AttrNumber
check_estimated_column(Oid heapoid, const char *column)
{
	const char *name = get_rel_name(heapoid);
	AttrNumber	attnum = get_attnum(heapoid, column);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table with OID %u does not exist", heapoid)));
	if (attnum == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", column, name)));
	if (attnum < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index creation on system columns is not supported")));
	if (pg_class_aclcheck(heapoid, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck(heapoid, attnum, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, name);
	if (check_enable_rls(heapoid, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row security of table \"%s\" applies to you", name),
				 errhint("Only those who may read the whole column may call this function.")));
	return attnum;
}

/* What the query asks for, of keys as those of the sample. */
static const RencoderKeySet *
make_keys(const RencoderTableSample *sample, FunctionCallInfo fcinfo)
{
	ScanKey		keys = palloc(RENCODER_BOUND_KEYS * sizeof(ScanKeyData));
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 2);
	int			nkeys = rencoder_bounds_scankeys(sample->index, 0, type, &fcinfo->args[2], keys);
	RencoderQuery *query = rencoder_key_make_query(sample->index, keys, nkeys);

	if (sample->coder.generation != 0)
		(void) rencoder_coders_add(query->coders, 0, &sample->coder);
	return rencoder_key_get_set(query, 0, sample->coder.generation);
}

/* Which to take. */
static int
choose_estimated_method(const RencoderMethodEstimate *method, const RencoderTableSample *sample,
						const RencoderTableEstimate *table)
{
	const RencoderMethodEstimate *own = &method[RENCODER_METHOD_OWN];
	const RencoderMethodEstimate *btree = &method[RENCODER_METHOD_BTREE];
	double		reads = rencoder_estimate_reads(own);
	double		btree_reads = rencoder_estimate_reads(btree);

	if (own->size_pages <= 1 || table->found_pages > RENCODER_SCAN_PART * sample->nblocks)
		return METHOD_NONE;
	if (rencoder_estimate_brin_serves(sample, method))
		return RENCODER_METHOD_BRIN;
	if (btree->possible && ((btree_reads * BTREE_READS < reads && btree_reads + BTREE_PAGES <= reads) ||
							btree->size_pages < own->size_pages * BTREE_SIZE))
		return RENCODER_METHOD_BTREE;
	return RENCODER_METHOD_OWN;
}

/* A sentence for a method, if "chosen" is the one to take. */
static char *
advise_by_estimate(int i, int chosen, const RencoderMethodEstimate *method,
				   const RencoderTableSample *sample, const RencoderTableEstimate *table)
{
	const RencoderMethodEstimate *m = &method[i];
	static const char *const use[RENCODER_NMETHODS] = {"use rencoder", "use a btree", "use BRIN"};
	static const char *const plain[RENCODER_NMETHODS] = {"rencoder", "btree", "BRIN"};
	char	   *bits;

	if (!m->possible)
		return psprintf("%s: not for this type", plain[i]);
	if (chosen == METHOD_NONE && i == RENCODER_METHOD_OWN && m->size_pages <= 1)
		return pstrdup("use no index: the table is so small that a scan is as fast");
	if (chosen == METHOD_NONE && i == RENCODER_METHOD_OWN)
		return psprintf("use no index: the query finds rows on %.0f %% of the table's pages",
						100 * table->found_pages / sample->nblocks);
	bits = psprintf("%.*f", i == RENCODER_METHOD_BRIN ? 2 : 0,
					m->size_pages * BLCKSZ * 8 / Max(1, table->rows + table->nulls));
	return psprintf("%s: %s bits a row, reads %.0f pages", i == chosen ? use[i] : plain[i],
					bits, rencoder_estimate_reads(m));
}

static void
put_estimate_row(ReturnSetInfo *result, int i, const RencoderMethodEstimate *m, char *advice)
{
	Datum		values[ESTIMATE_COLUMNS] = {0};
	bool		nulls[ESTIMATE_COLUMNS] = {0};

	values[0] = CStringGetTextDatum(method_name[i]);
	values[1] = Int64GetDatum((int64) (m->size_pages * BLCKSZ));
	values[2] = Int64GetDatum((int64) rint(m->index_pages));
	values[3] = Int64GetDatum((int64) rint(m->heap_pages));
	values[4] = Float8GetDatum(rint(100 * m->false_pages) / 100);
	for (int col = 1; col <= 4; col++)
		nulls[col] = !m->possible;
	values[5] = CStringGetTextDatum(advice);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * rencoder_estimate("table" regclass, "column" name, lo anycompatible, hi anycompatible)
 *		returns setof record
 *
 * A row for rencoder, btree and BRIN each.  AccessShareLock on the table; reads
 * its pages only, so it works on a standby.
 */
Datum
rencoder_estimate(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index;
	AttrNumber	attnum;
	const char *problem;
	RencoderTableSample sample;
	RencoderTableEstimate table;
	RencoderMethodEstimate method[RENCODER_NMETHODS];
	const RencoderKeySet *keys;
	int			chosen;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;

	/* Looked at again under the lock: the OID may be another one's by then. */
	(void) check_estimated_column(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)));
	heap = relation_open(PG_GETARG_OID(0), AccessShareLock);
	check_estimated_table(heap);
	attnum = check_estimated_column(RelationGetRelid(heap), NameStr(*PG_GETARG_NAME(1)));
	index = rencoder_hypothetical_index(heap, NULL, attnum - 1, &problem);
	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot index column \"%s\": %s", NameStr(*PG_GETARG_NAME(1)), problem)));
	rencoder_table_sample_read(heap, index, NULL, attnum, &sample);
	keys = make_keys(&sample, fcinfo);
	rencoder_estimate_methods(&sample, keys, &table, method);
	chosen = choose_estimated_method(method, &sample, &table);
	for (int i = 0; i < RENCODER_NMETHODS; i++)
		put_estimate_row((ReturnSetInfo *) fcinfo->resultinfo, i, &method[i],
						 advise_by_estimate(i, chosen, method, &sample, &table));
	relation_close(heap, AccessShareLock);
	return (Datum) 0;
}
