/*
 * sql_samples.c
 *		SQL functions that add query samples to an index, show them, and replay them.
 */
#include "key/key.h"
#include "store/sample_pages.h"

#include "catalog/index.h"
#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "scan/candidates.h"
#include "sql/sql_bounds.h"
#include "sql/sql_shown.h"
#include "store/open_index.h"
#include "table/heap_read.h"

PG_FUNCTION_INFO_V1(rencoder_add_query_sample);
PG_FUNCTION_INFO_V1(rencoder_query_samples);
PG_FUNCTION_INFO_V1(rencoder_replay_query_samples);

/* Of the pages that a sample asks for, so many are read. */
#define REPLAY_PAGES	128

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

/* What samples find that are replayed. */
typedef struct Replay
{
	Relation	index;
	Relation	heap;
	int			col;
	bool		is_plain;		/* can it be told what is on a page? */
	int			n;				/* samples */
	double		pages;			/* of the table that the index let pass, */
	double		index_pages;	/* those that it took, */
	double		false_pages;	/* and on which there was no row */
} Replay;

/* On how many of some pages, all over the list, is there no row?  They stand for the others. */
static double
count_false_pages(const Replay *replay, const RencoderCandidates *found, int64 npages,
				  const RencoderCoder *coder, const RencoderKeySet *keys)
{
	renc_stretches_cursor cursor = {0};
	uint64		row[RENC_ROW_WORDS];
	uint32		page;
	int64		nread = Min(npages, REPLAY_PAGES);
	int64		i = 0;
	int			nfalse = 0;

	for (int64 at = 0; i < nread && renc_stretches_next(&found->rows, &cursor, &page, row); at++)
	{
		if (at != i * npages / nread)
			continue;
		i++;
		nfalse += rencoder_heap_lacks(replay->heap, replay->index, replay->col, coder, page, keys);
	}
	return (double) nfalse * npages / Max(nread, 1);
}

static void
replay_sample(Replay *replay, const RencoderSample *sample)
{
	RencoderQuery *query = rencoder_key_make_query_of_keys(replay->index, replay->col, sample->coder,
														   sample->lo, sample->hi,
														   sample->kind == RENCODER_SAMPLE_BOX);
	RencoderCandidates found;
	const RencoderKeySet *keys = rencoder_key_newest_set(query, replay->col);
	const RencoderCoder *coder;
	int64		npages;

	if (!rencoder_coder_find(query->coders, replay->index, replay->col, sample->coder, &coder))
		return;
	rencoder_candidates_find(replay->index, query, GetActiveSnapshot(), NULL, NULL, false, &found);
	if (query->unknown)
		return;
	npages = (int64) renc_stretches_count_pages(&found.rows);
	replay->n++;
	replay->pages += npages;
	replay->index_pages += found.index_pages;
	if (replay->is_plain)
		replay->false_pages += count_false_pages(replay, &found, npages, coder, keys);
}

/* "most" samples, of all ages. */
static void
replay_samples(Replay *replay, int most)
{
	int			n;
	RencoderSample *samples = rencoder_samples_read(replay->index, replay->col, NULL, &n);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "rencoder replay",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	most = Min(most, n);
	for (int i = 0; i < most; i++)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(context);
		replay_sample(replay, &samples[(int64) i * n / most]);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/*
 * rencoder_replay_query_samples(index regclass, attnum integer, most integer) returns record
 *
 * Has the index search what up to "most" query samples of a column ask for, and looks on which of the
 * pages found there is no row version with such a key, whoever may see it.  Means of a sample; null
 * if there is none, and of false pages where keys are not those of plain columns.  A sample is not
 * asked if another coder than its own has made some keys.  AccessShareLock on table and index.
 */
Datum
rencoder_replay_query_samples(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	Replay		replay = {0};
	Datum		values[4];
	bool		nulls[4] = {false};

	rencoder_open_index(&target, PG_GETARG_OID(0), AccessShareLock, RENCODER_PRIVILEGE_READ);
	rencoder_open_index_require_valid(target.index);
	replay.index = target.index;
	replay.heap = target.heap;
	replay.col = sample_column_arg(target.index, PG_GETARG_INT32(1));
	replay.is_plain = rencoder_heap_is_plain(target.heap, BuildIndexInfo(target.index));
	replay_samples(&replay, PG_GETARG_INT32(2));
	rencoder_open_index_close(&target);
	values[0] = Int32GetDatum(replay.n);
	values[1] = rencoder_sql_shown(replay.pages / Max(replay.n, 1));
	values[2] = rencoder_sql_shown(replay.index_pages / Max(replay.n, 1));
	values[3] = rencoder_sql_shown(replay.false_pages / Max(replay.n, 1));
	nulls[1] = nulls[2] = replay.n == 0;
	nulls[3] = replay.n == 0 || !replay.is_plain;
	PG_RETURN_DATUM(rencoder_sql_row(fcinfo, values, nulls));
}
