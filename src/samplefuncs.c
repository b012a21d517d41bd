/*
 * samplefuncs.c
 *		SQL functions that add query samples to an index and show them.
 */
#include "key.h"
#include "samples.h"

#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "target.h"

PG_FUNCTION_INFO_V1(rencoder_add_query_sample);
PG_FUNCTION_INFO_V1(rencoder_query_samples);

static int
column_arg(Relation index, int32 attnum)
{
	int			natts = IndexRelationGetNumberOfKeyAttributes(index);

	if (attnum < 1 || attnum > natts)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("index \"%s\" has no column %d",
						RelationGetRelationName(index), attnum),
				 errhint("Columns of this index are numbered from 1 to %d.", natts)));
	return attnum - 1;
}

/* The key of a bound, by the column's newest coder. */
static uint64
bound_key(Relation index, int col, Oid argtype, Datum value, const RencoderCoder *coder)
{
	Oid			type = rencoder_key_type(index, col, argtype);
	uint64		key;

	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("index \"%s\" cannot compare its column %d with type %s",
						RelationGetRelationName(index), col + 1, format_type_be(argtype)),
				 errhint("Cast the bounds to %s.", format_type_be(index->rd_opcintype[col]))));
	if (!rencoder_key_encode_as(index, col, type, value, coder, &key))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a bound has no key in index \"%s\"", RelationGetRelationName(index)),
				 errhint("Give bounds that values of the column could have.")));
	return key;
}

static void
add_sample(Relation index, int col, Oid argtype, Datum lo, Datum hi)
{
	uint32		generation = rencoder_coder_newest(index, col);
	const RencoderCoder *coder;
	RencoderSample sample;
	uint64		lo_key;
	uint64		hi_key;

	if (!rencoder_coder_find(rencoder_coders_create(), index, col, generation, &coder))
		elog(ERROR, "coder %u of index \"%s\" is gone", generation,
			 RelationGetRelationName(index));
	lo_key = bound_key(index, col, argtype, lo, coder);
	hi_key = bound_key(index, col, argtype, hi, coder);
	if (lo_key > hi_key)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lower bound of a query sample must not be greater than its upper bound"),
				 errhint("Exchange the bounds.")));
	sample = rencoder_sample_interval(lo_key, hi_key, generation, RENCODER_SAMPLE_ADDED);
	if (rencoder_key_is_boxed(index, col))
		sample.kind = RENCODER_SAMPLE_BOX;

	if (rencoder_samples_root(index) == RENCODER_NO_BLOCK)
	{
		rencoder_meta_lock_maintainer(index);
		rencoder_samples_make(index, true);
		rencoder_meta_unlock_maintainer(index);
	}
	rencoder_samples_store(index, col, &sample, 1, true);
}

/*
 * rencoder_add_query_sample(index regclass, lo anyelement, hi anyelement,
 *		attnum integer) returns void
 *
 * Adds an interval that users ask for.  RowExclusiveLock on table and index.
 */
Datum
rencoder_add_query_sample(PG_FUNCTION_ARGS)
{
	Oid			argtype = get_fn_expr_argtype(fcinfo->flinfo, 1);
	RencoderTarget target;

	if (!OidIsValid(argtype))
		elog(ERROR, "could not determine the type of the bounds");
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("rencoder control functions cannot be executed during recovery.")));
	rencoder_target_open(&target, PG_GETARG_OID(0), RowExclusiveLock,
						 RENCODER_PRIVILEGE_OWNER);
	rencoder_target_require_valid(&target);
	add_sample(target.index, column_arg(target.index, PG_GETARG_INT32(3)), argtype,
			   PG_GETARG_DATUM(1), PG_GETARG_DATUM(2));
	rencoder_target_close(&target);
	PG_RETURN_VOID();
}

static const char *
kind_name(const RencoderSample *sample)
{
	return sample->kind == RENCODER_SAMPLE_BOX ? "box" : "interval";
}

static const char *
source_name(const RencoderSample *sample)
{
	switch (sample->source)
	{
		case RENCODER_SAMPLE_DEFAULT:
			return "default";
		case RENCODER_SAMPLE_TABLE:
			return "table";
		case RENCODER_SAMPLE_ADDED:
			return "added";
		case RENCODER_SAMPLE_SCAN:
			return "scan";
	}
	return "unknown";
}

/*
 * May the caller see the keys of a sample?  What others asked for is shown as
 * pg_stat_activity shows their queries; and a table of samples may be one that
 * only the index's owner may read.
 */
static bool
may_see_keys(const RencoderTarget *target, const RencoderSample *sample)
{
	Oid			caller = target->save_userid;

	if (!target->may_read)
		return false;
	return (sample->source != RENCODER_SAMPLE_SCAN && sample->source != RENCODER_SAMPLE_TABLE) ||
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
	RencoderTarget target;

	InitMaterializedSRF(fcinfo, 0);
	rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	rencoder_target_open(&target, PG_GETARG_OID(0), AccessShareLock,
						 RENCODER_PRIVILEGE_INSPECT);
	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(target.index); col++)
	{
		int			n;
		RencoderSample *samples = rencoder_samples_read_all(target.index, col, &n);

		for (int i = 0; i < n; i++)
		{
			const RencoderSample *s = &samples[i];
			bool		hidden = !may_see_keys(&target, s);
			bool		nulls[6] = {false, hidden, hidden};
			Datum		values[6];

			values[0] = Int16GetDatum(col + 1);
			values[1] = CStringGetTextDatum(psprintf("0x%016llx", (unsigned long long) s->lo));
			values[2] = CStringGetTextDatum(psprintf("0x%016llx", (unsigned long long) s->hi));
			values[3] = CStringGetTextDatum(kind_name(s));
			values[4] = CStringGetTextDatum(source_name(s));
			values[5] = Int64GetDatum(s->coder);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
		pfree(samples);
	}
	rencoder_target_close(&target);
	return (Datum) 0;
}
