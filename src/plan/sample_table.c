/*
 * sample_table.c
 *		Query samples from a table of intervals.
 */
#include "plan/sample_table.h"

#include "catalog/namespace.h"
#include "common/pg_prng.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/subtransaction.h"
#include "key/key.h"

/* What a failure to read them means. */
#define KEPT_DETAIL		"The index is built with the query samples that it has."

/* Rows fetched at a time. */
#define BATCH_ROWS		1000

/* A fixed one: the same table makes the same index. */
#define CHOICE_SEED		20220612

typedef struct SampleTable
{
	Relation	index;
	const char *schema;
	const char *table;
	bool		rebuild;		/* of an index that is there */
	int			elevel;			/* of what is wrong with the table's form */
	bool		sound;			/* was it read? */
	bool		boxes;			/* not intervals */
	uint32		generation;		/* of the column's coder */
	const RencoderCoder *coder;
	Oid			type[2];		/* lo and hi are encoded as */
	RencoderSample *samples;
	uint64		nrows;			/* that could be samples */
	uint64		nbad;			/* with lo > hi */
	pg_prng_state prng;
} SampleTable;

static char *
table_name(const SampleTable *t)
{
	return quote_qualified_identifier(t->schema, t->table);
}

/*
 * Looks for a column and whether it can be compared with the index'.  If not,
 * reports it; false if that was no error.
 */
static bool
check_bound_column(SampleTable *t, Oid relid, int which)
{
	const char *column = which == 0 ? "lo" : "hi";
	AttrNumber	attnum = get_attnum(relid, column);
	Oid			type;

	if (attnum == InvalidAttrNumber)
	{
		ereport(t->elevel,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("query sample table %s has no column \"%s\"", table_name(t), column),
				 errhint("The table must have columns \"lo\" and \"hi\", the bounds of intervals.")));
		return false;
	}
	type = get_atttype(relid, attnum);
	t->type[which] = rencoder_key_type(t->index, 0, type);
	if (!OidIsValid(t->type[which]))
	{
		ereport(t->elevel,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of query sample table %s has type %s, which index \"%s\" cannot compare",
						column, table_name(t), format_type_be(type),
						RelationGetRelationName(t->index)),
				 errhint("Give the column the type %s.",
						 format_type_be(rencoder_key_value_type(t->index, 0)))));
		return false;
	}
	if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck(relid, attnum, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
	{
		ereport(t->elevel,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for query sample table %s", table_name(t)),
				 errhint("Grant SELECT on the table to \"%s\", the owner of index \"%s\".",
						 GetUserNameFromId(GetUserId(), false),
						 RelationGetRelationName(t->index))));
		return false;
	}
	return true;
}

static bool
check_table(SampleTable *t)
{
	Oid			namespace = get_namespace_oid(t->schema, true);
	Oid			relid = OidIsValid(namespace) ? get_relname_relid(t->table, namespace) : InvalidOid;

	if (!OidIsValid(relid))
	{
		ereport(t->elevel,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("query sample table %s does not exist", table_name(t)),
				 errhint("Create it, or change the parameter \"query_sample\" of index \"%s\".",
						 RelationGetRelationName(t->index))));
		return false;
	}
	if (t->rebuild && !ConditionalLockRelationOid(relid, AccessShareLock))
	{
		ereport(WARNING,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not obtain lock on query sample table %s", table_name(t)),
				 errdetail(KEPT_DETAIL)));
		return false;
	}
	return check_bound_column(t, relid, 0) && check_bound_column(t, relid, 1);
}

/* Takes a row, or not: each of those seen is kept with the same probability. */
static void
add_row(SampleTable *t, uint64 lo, uint64 hi)
{
	uint64		place = t->nrows++;

	if (place >= RENCODER_SAMPLES_MAX)
		place = pg_prng_uint64_range(&t->prng, 0, place);
	if (place >= RENCODER_SAMPLES_MAX)
		return;
	t->samples[place] = rencoder_sample_interval(lo, hi, t->generation, RENCODER_SAMPLE_TABLE);
	if (t->boxes)
		t->samples[place].kind = RENCODER_SAMPLE_BOX;
}

static void
read_row(SampleTable *t, HeapTuple tuple, TupleDesc desc)
{
	uint64		key[2];

	for (int i = 0; i < 2; i++)
	{
		bool		isnull;
		Datum		value = SPI_getbinval(tuple, desc, i + 1, &isnull);

		if (isnull || !rencoder_key_encode_as(t->index, 0, t->type[i], value, t->coder, &key[i]))
			return;
	}
	if (key[0] <= key[1])
		add_row(t, key[0], key[1]);
	else
		t->nbad++;
}

static void
read_rows(SampleTable *t)
{
	char	   *query = psprintf("SELECT lo, hi FROM %s", table_name(t));
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext, "rencoder sample row",
													  ALLOCSET_SMALL_SIZES);
	SPIPlanPtr	plan;
	Portal		portal;

	SPI_connect();
	plan = SPI_prepare(query, 0, NULL);

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	portal = SPI_cursor_open(NULL, plan, NULL, NULL, true);
	for (;;)
	{
		MemoryContext old;

		SPI_cursor_fetch(portal, true, BATCH_ROWS);
		if (SPI_processed == 0)
			break;
		old = MemoryContextSwitchTo(row_context);
		for (uint64 i = 0; i < SPI_processed; i++)
			read_row(t, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row_context);
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_cursor_close(portal);
	SPI_finish();
	MemoryContextDelete(row_context);
}

static void
report_context(void *arg)
{
	const SampleTable *t = (const SampleTable *) arg;

	errcontext("reading the query samples of index \"%s\" from table %s",
			   RelationGetRelationName(t->index), table_name(t));
}

/* Looks at the table and reads it, with a safe search path. */
static bool
read_table(SampleTable *t)
{
	ErrorContextCallback context = {error_context_stack, report_context, t};
	bool		snapshot = !ActiveSnapshotSet();
	bool		sound;

	rencoder_restrict_search_path();
	if (snapshot)
		PushActiveSnapshot(GetTransactionSnapshot());
	sound = check_table(t);
	if (sound)
	{
		error_context_stack = &context;
		read_rows(t);
		error_context_stack = context.previous;
	}
	if (snapshot)
		PopActiveSnapshot();
	return sound;
}

static void
read_without_waiting(void *arg)
{
	SampleTable *t = (SampleTable *) arg;

	(void) set_config_option("lock_timeout", "1ms", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	t->sound = read_table(t);
}

/*
 * The same where the index is rebuilt: in a subtransaction, so that an error, but
 * for cancellation, is a warning.  The server reads no table while one of its
 * indexes is rebuilt, so a view of the indexed table itself ends here, too.
 *
 * TRUNCATE and others have AccessExclusiveLock on the indexed table.  Who waited with
 * that for another table might wait for somebody who waits for it; so no lock is
 * waited for: check_table() asks for the table's or view's own, and what that refers
 * to is given a moment.
 */
static bool
try_read_table(SampleTable *t)
{
	ErrorData  *error;

	error = rencoder_subtransaction(read_without_waiting, t);
	if (error == NULL)
		return t->sound;

	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		ReThrowError(error);
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("could not read the query samples of index \"%s\" from table %s: %s",
					RelationGetRelationName(t->index), table_name(t), error->message),
			 errdetail(KEPT_DETAIL)));
	FreeErrorData(error);
	return false;
}

RencoderSample *
rencoder_sample_table_read(Relation index, const char *schema, const char *table,
						   bool rebuild, int *n)
{
	SampleTable t = {0};
	int			nestlevel = NewGUCNestLevel();
	bool		sound;

	t.index = index;
	t.schema = schema;
	t.table = table;
	t.rebuild = rebuild;
	t.elevel = rebuild ? WARNING : ERROR;
	t.boxes = rencoder_key_is_boxed(index, 0);
	t.generation = rencoder_coder_newest(index, 0);
	t.samples = palloc(RENCODER_SAMPLES_MAX * sizeof(RencoderSample));
	pg_prng_seed(&t.prng, CHOICE_SEED);
	(void) rencoder_coder_find(rencoder_coders_create(), index, 0, t.generation, &t.coder);

	sound = rebuild ? try_read_table(&t) : read_table(&t);
	AtEOXact_GUC(false, nestlevel);

	if (sound && t.nbad > 0)
		ereport(WARNING,
				(errmsg_plural("%llu row of query sample table %s was left out",
							   "%llu rows of query sample table %s were left out",
							   (unsigned long) t.nbad, (unsigned long long) t.nbad,
							   table_name(&t)),
				 errdetail("\"lo\" must not be greater than \"hi\".")));
	*n = (int) Min(t.nrows, RENCODER_SAMPLES_MAX);
	return sound ? t.samples : NULL;
}
