/*
 * sql_samples.c
 *		SQL functions that add query samples to an index, and show them.
 */
#include "key/key.h"
#include "store/sample_pages.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "sql/sql_bounds.h"
#include "store/open_index.h"

PG_FUNCTION_INFO_V1(rencoder_add_query_sample);
PG_FUNCTION_INFO_V1(rencoder_query_samples);

static int
sample_column_arg(Relation index, int32 attnum)
{
	int			natts = rencoder_key_columns(index);

	if (attnum < 1 || attnum > natts)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("index \"%s\" has no column %d",
						RelationGetRelationName(index), attnum),
				 errhint("Columns of this index are numbered from 1 to %d.", natts)));
	return attnum - 1;
}

/* Stores what a query asks of a column, coded by the column's newest coder. */
static void
store_samples_of_query(RencoderQuery *query, int col)
{
	Relation	index = query->index;
	uint32		generation = rencoder_coder_newest_generation(index, col);
	const RencoderKeySet *set = rencoder_key_get_set(query, col, generation);

	if (set == NULL)
		elog(ERROR, "coder %u of index \"%s\" is gone", generation,
			 RelationGetRelationName(index));
	if (set->none)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no value of the column lies between the bounds of a query sample"),
				 errhint("Exchange the bounds, or give bounds that values of the column could have.")));
	rencoder_hints_ensure_pages(index, RENCODER_ROOT_SAMPLES, true);
	for (size_t i = 0; i < set->cover.n; i++)
	{
		RencoderSample sample = rencoder_sample_interval(set->cover.interval[i].lo, set->cover.interval[i].hi,
														 generation, RENCODER_SAMPLE_ADDED);

		rencoder_samples_store(index, col, &sample);
	}
}

/*
 * rencoder_add_query_sample(index regclass, lo anycompatible, hi anycompatible,
 *		attnum integer) returns void
 *
 * Adds an interval that users ask for; sql_bounds.h says what they may be.
 * RowExclusiveLock on table and index.
 */
Datum
rencoder_add_query_sample(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	int			col;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("column number must not be null")));
	rencoder_open_index(&target, PG_GETARG_OID(0), RowExclusiveLock, RENCODER_PRIVILEGE_OWNER);
	rencoder_open_index_require_valid(target.index);
	col = sample_column_arg(target.index, PG_GETARG_INT32(3));
	store_samples_of_query(rencoder_bounds_query(fcinfo, &target, col), col);
	rencoder_open_index_close(&target);
	PG_RETURN_VOID();
}

/*
 * May the caller see the keys of a sample?  What others asked for is shown as
 * pg_stat_activity shows their queries.
 */
static bool
may_see_sample_keys(const RencoderOpenIndex *target, const RencoderSample *sample)
{
	Oid			caller = target->save_userid;

	if (!target->may_read)
		return false;
	return sample->source != RENCODER_SAMPLE_SCAN ||
		rencoder_class_ownercheck(RelationGetRelid(target->index), caller) ||
		has_privs_of_role(caller, ROLE_PG_READ_ALL_STATS);
}

/*
 * rencoder_query_samples(index regclass) returns setof record
 *
 * AccessShareLock on table and index.
 */
Datum
rencoder_query_samples(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo;
	RencoderOpenIndex target;

	InitMaterializedSRF(fcinfo, 0);
	rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock,
						RENCODER_PRIVILEGE_INSPECT);
	for (int col = 0; col < rencoder_key_columns(target.index); col++)
	{
		int			n;
		RencoderSample *samples = rencoder_samples_read(target.index, col, NULL, &n);

		for (int i = 0; i < n; i++)
		{
			const RencoderSample *s = &samples[i];
			bool		hidden = !may_see_sample_keys(&target, s);
			bool		nulls[5] = {false, hidden, hidden};
			Datum		values[5];

			values[0] = Int16GetDatum(col + 1);
			values[1] = CStringGetTextDatum(psprintf("0x%016llx", (unsigned long long) s->lo));
			values[2] = CStringGetTextDatum(psprintf("0x%016llx", (unsigned long long) s->hi));
			values[3] = CStringGetTextDatum(s->source == RENCODER_SAMPLE_SCAN ? "scan" : "added");
			values[4] = Int64GetDatum(s->coder);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
		pfree(samples);
	}
	rencoder_open_index_close(&target);
	return (Datum) 0;
}
