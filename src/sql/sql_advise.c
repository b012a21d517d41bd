/*
 * sql_advise.c
 *		rencoder_look_at(): what the statistics of ANALYZE leave out of a table and an index.
 *
 * rencoder_advise() calls it for each index of a database.  So it waits for no lock, and gives its
 * own back at once.
 */
#include "store/open_index.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "sql/sql_shown.h"

PG_FUNCTION_INFO_V1(rencoder_look_at);

/* Columns of a row: size, repeats, falls, problem. */
#define LOOK_COLUMNS	4

/* Pages of the table that are read. */
#define LOOK_PAGES		64

/* Bytes of a value behind those that all begin with: keys hold no more.  What differs is as short. */
#define KEY_BYTES		16
#define LAST_BYTES		4

/* Columns of the table that are compared; number 0 stands for an expression, which is not. */
typedef struct LookColumns
{
	int			n;
	AttrNumber	number[INDEX_MAX_KEYS];
	double		pairs[INDEX_MAX_KEYS];	/* of rows beside each other with a
										 * value */
	double		equal[INDEX_MAX_KEYS];	/* of these, with the same one */
	double		less[INDEX_MAX_KEYS];	/* and with a less one */
	Size		common[INDEX_MAX_KEYS]; /* bytes that all begin with */
} LookColumns;

static void
get_look_columns(Oid heapoid, ArrayType *array, LookColumns *columns)
{
	const char *name = get_rel_name(heapoid);
	Datum	   *values;
	int			n;

	if (ARR_HASNULL(array))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("a column does not exist in table \"%s\"", name == NULL ? "?" : name)));
	deconstruct_array(array, INT2OID, sizeof(int16), true, TYPALIGN_SHORT, &values, NULL, &n);
	if (n > INDEX_MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("an index has at most %d columns", INDEX_MAX_KEYS)));
	memset(columns, 0, sizeof(*columns));
	columns->n = n;
	for (int i = 0; i < n; i++)
	{
		columns->number[i] = DatumGetInt16(values[i]);
		columns->common[i] = PG_INT16_MAX;
	}
}

/* Error unless the user may read all rows of the columns. */
static void
check_look(Oid heapoid, const LookColumns *columns)
{
	const char *name = get_rel_name(heapoid);
	bool		allowed = rencoder_open_index_may_read(heapoid, GetUserId());

	if (name == NULL || allowed)
		return;
	allowed = columns->n > 0 && check_enable_rls(heapoid, InvalidOid, true) != RLS_ENABLED;
	for (int i = 0; i < columns->n; i++)
	{
		if (columns->number[i] <= 0 || pg_attribute_aclcheck(heapoid, columns->number[i], GetUserId(),
															 ACL_SELECT) != ACLCHECK_OK)
			allowed = false;
	}
	if (!allowed)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, name);
}

/* Opens and locks a relation, or says in *problem why not. */
static Relation
open_to_look(Oid oid, const char **problem)
{
	Relation	relation;

	if (!ConditionalLockRelationOid(oid, AccessShareLock))
	{
		*problem = "another session has locked it";
		return NULL;
	}
	relation = try_relation_open(oid, NoLock);
	if (relation == NULL)
	{
		UnlockRelationOid(oid, AccessShareLock);
		*problem = "it has been dropped";
	}
	return relation;
}

/* Why a relation's pages cannot be read here; NULL if they can. */
static const char *
find_look_problem(Relation relation)
{
	if (!RELKIND_HAS_STORAGE(relation->rd_rel->relkind))
		return "it has no pages of its own";
	if (RELATION_IS_OTHER_TEMP(relation))
		return "it is a temporary one of another session";
	if (relation->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED && RecoveryInProgress())
		return "it is unlogged, and this is a standby";
	return NULL;
}

/* Values in TOAST count as different; those whose last bytes differ, which no key holds, as equal. */
static bool
look_is_equal(Form_pg_attribute attribute, Datum a, Datum b, Size *common)
{
	struct varlena *x = (struct varlena *) DatumGetPointer(a);
	struct varlena *y = (struct varlena *) DatumGetPointer(b);
	Size		n = 0;

	if (attribute->attlen != -1)
		return datum_image_eq(a, b, attribute->attbyval, attribute->attlen);
	if (VARATT_IS_EXTERNAL(x) || VARATT_IS_EXTERNAL(y))
		return false;
	while (n < Min(VARSIZE_ANY_EXHDR(x), VARSIZE_ANY_EXHDR(y)) && VARDATA_ANY(x)[n] == VARDATA_ANY(y)[n])
		n++;
	*common = Min(*common, n);
	return (n >= *common + KEY_BYTES && n + LAST_BYTES >= VARSIZE_ANY_EXHDR(x)) ||
		datum_image_eq(a, b, false, -1);
}

static void
compare_look_rows(TupleTableSlot *row, TupleTableSlot *before, LookColumns *columns)
{
	for (int i = 0; i < columns->n; i++)
	{
		AttrNumber	number = columns->number[i];
		Form_pg_attribute attribute;
		bool		isnull[2];
		Datum		value[2];

		if (number <= 0 || number > row->tts_tupleDescriptor->natts)
			continue;
		attribute = TupleDescAttr(row->tts_tupleDescriptor, number - 1);
		if (attribute->attisdropped)
			continue;
		value[0] = slot_getattr(row, number, &isnull[0]);
		value[1] = slot_getattr(before, number, &isnull[1]);
		if (isnull[0] || isnull[1])
			continue;
		columns->pairs[i]++;
		if (look_is_equal(attribute, value[0], value[1], &columns->common[i]))
			columns->equal[i]++;
		else
			/* As a number, which most types that are passed by value are. */
			columns->less[i] += attribute->attbyval ? (int64) value[0] < (int64) value[1] : 0.5;
	}
}

/* Reads pages at even distances.  No function of a type or of an index is called. */
static void
look_at_rows(Relation heap, LookColumns *columns)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	TupleTableSlot *row = table_slot_create(heap, NULL);
	TupleTableSlot *before = table_slot_create(heap, NULL);

	for (uint64 i = 0; i < Min(LOOK_PAGES, nblocks); i++)
	{
		BlockNumber block = (BlockNumber) (i * nblocks / Min(LOOK_PAGES, nblocks));
		ItemPointerData first;
		ItemPointerData last;
		TableScanDesc scan;

		CHECK_FOR_INTERRUPTS();
		ItemPointerSet(&first, block, 1);
		ItemPointerSet(&last, block, PG_UINT16_MAX);
		ExecClearTuple(before);
		scan = rencoder_beginscan_tidrange(heap, GetActiveSnapshot(), &first, &last);
		while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, row))
		{
			if (!TTS_EMPTY(before))
				compare_look_rows(row, before, columns);
			ExecCopySlot(before, row);
		}
		table_endscan(scan);
	}
	ExecDropSingleTupleTableSlot(row);
	ExecDropSingleTupleTableSlot(before);
}

static Datum
make_look_row(FunctionCallInfo fcinfo, int64 size, const LookColumns *columns, const char *problem)
{
	Datum		values[LOOK_COLUMNS] = {0};
	bool		nulls[LOOK_COLUMNS] = {0};
	Datum		shares[2][INDEX_MAX_KEYS];

	/* Against the order that most rows are in. */
	for (int i = 0; i < columns->n; i++)
	{
		double		greater = columns->pairs[i] - columns->equal[i] - columns->less[i];

		shares[0][i] = Float8GetDatum(columns->equal[i] / Max(columns->pairs[i], 1));
		shares[1][i] = Float8GetDatum(Min(columns->less[i], greater) / Max(columns->pairs[i], 1));
	}
	nulls[0] = nulls[1] = nulls[2] = problem != NULL;
	values[0] = Int64GetDatum(size);
	for (int i = 0; i < 2; i++)
		values[i + 1] = PointerGetDatum(construct_array(shares[i], columns->n, FLOAT8OID, 8, FLOAT8PASSBYVAL, 'd'));
	nulls[3] = problem == NULL;
	if (problem != NULL)
		values[3] = CStringGetTextDatum(problem);
	return rencoder_sql_row(fcinfo, values, nulls);
}

/*
 * rencoder_look_at("table" regclass, index regclass, columns int2[]) returns record
 *
 * The bytes of the index, or, if that is 0, of the table; and for each column of the table which
 * shares of rows have the value of the row before on its page, and are out of order beside it, 0 for an
 * expression.  Holds AccessShareLock on both meanwhile; waits for none.  Works on a standby.
 */
Datum
rencoder_look_at(PG_FUNCTION_ARGS)
{
	Oid			heapoid = PG_GETARG_OID(0);
	Oid			indexoid = PG_GETARG_OID(1);
	const char *problem = NULL;
	Relation	heap;
	Relation	index = NULL;
	LookColumns columns;
	int64		size = 0;

	get_look_columns(heapoid, PG_GETARG_ARRAYTYPE_P(2), &columns);
	check_look(heapoid, &columns);
	heap = open_to_look(heapoid, &problem);
	if (heap != NULL)
	{
		/* Again under the lock: the OID may be another one's by then. */
		check_look(heapoid, &columns);
		if (OidIsValid(indexoid))
			index = open_to_look(indexoid, &problem);
		if (index != NULL && (index->rd_index == NULL || index->rd_index->indrelid != heapoid))
			problem = "it is not an index of the table";
		if (problem == NULL)
			problem = find_look_problem(index != NULL ? index : heap);
		if (problem == NULL)
		{
			size = (int64) RelationGetNumberOfBlocks(index != NULL ? index : heap) * BLCKSZ;
			if (heap->rd_tableam != NULL && heap->rd_tableam->scan_getnextslot_tidrange != NULL)
				look_at_rows(heap, &columns);
		}
		if (index != NULL)
			relation_close(index, AccessShareLock);
		relation_close(heap, AccessShareLock);
	}
	return make_look_row(fcinfo, size, &columns, problem);
}
