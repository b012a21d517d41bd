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

/*
 * The sample that a scan with these keys on a column would leave, coded by the
 * column's newest coder.
 */
static RencoderSample
sample_of_keys(Relation index, int col, const ScanKeyData *keys, int nkeys)
{
	uint32		generation = rencoder_coder_newest_generation(index, col);
	RencoderQuery *query = rencoder_key_make_query(index, keys, nkeys);
	const RencoderKeySet *set = rencoder_key_get_set(query, col, generation);
	RencoderSample sample;

	if (set == NULL)
		elog(ERROR, "coder %u of index \"%s\" is gone", generation,
			 RelationGetRelationName(index));
	if (set->none && rencoder_key_is_boxed(index, col))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the bounds of a query sample are not two corners of a box"),
				 errhint("Give bounds that values of the column could have.")));
	if (set->none)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lower bound of a query sample must not be greater than its upper bound"),
				 errhint("Exchange the bounds.")));
	if (set->boxes.n == 0)
		return rencoder_sample_interval(set->set.interval[0].lo, set->set.interval[0].hi,
										generation, RENCODER_SAMPLE_ADDED);
	sample = rencoder_sample_interval(renc_zorder(set->boxes.box[0].xlo, set->boxes.box[0].ylo),
									  renc_zorder(set->boxes.box[0].xhi, set->boxes.box[0].yhi),
									  generation, RENCODER_SAMPLE_ADDED);
	sample.kind = RENCODER_SAMPLE_BOX;
	return sample;
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
	ScanKeyData keys[RENCODER_BOUND_KEYS];
	int			nkeys;
	RencoderSample sample;
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
	rencoder_open_index_switch_to_caller(&target);
	nkeys = rencoder_bounds_scankeys(target.index, col, get_fn_expr_argtype(fcinfo->flinfo, 1),
									 &fcinfo->args[1], keys);
	rencoder_open_index_switch_to_owner(&target);
	sample = sample_of_keys(target.index, col, keys, nkeys);
	rencoder_hints_ensure_pages(target.index);
	rencoder_samples_store(target.index, col, &sample);
	rencoder_open_index_close(&target);
	PG_RETURN_VOID();
}

static const char *
sample_kind_name(const RencoderSample *sample)
{
	return sample->kind == RENCODER_SAMPLE_BOX ? "box" : "interval";
}

static const char *
sample_source_name(const RencoderSample *sample)
{
	switch (sample->source)
	{
		case RENCODER_SAMPLE_ADDED:
			return "added";
		case RENCODER_SAMPLE_SCAN:
			return "scan";
	}
	return "unknown";
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
			bool		nulls[6] = {false, hidden, hidden};
			Datum		values[6];

			values[0] = Int16GetDatum(col + 1);
			values[1] = CStringGetTextDatum(psprintf("0x%016llx", (unsigned long long) s->lo));
			values[2] = CStringGetTextDatum(psprintf("0x%016llx", (unsigned long long) s->hi));
			values[3] = CStringGetTextDatum(sample_kind_name(s));
			values[4] = CStringGetTextDatum(sample_source_name(s));
			values[5] = Int64GetDatum(s->coder);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
		pfree(samples);
	}
	rencoder_open_index_close(&target);
	return (Datum) 0;
}
