/*
 * sql_advise.c
 *		rencoder_estimate_index(): what a rencoder index would be in the place of another one.
 *
 * rencoder_advise() asks it for each index of a database.  So it waits for no lock, gives its own
 * back at once, and says now and then how far it is.
 */
#include "query/estimate_table.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "key/hypothetical_index.h"
#include "store/open_index.h"

PG_FUNCTION_INFO_V1(rencoder_estimate_index);

/* Columns of a row: present_size, size, share, brin_serves, problem. */
#define ADVISE_COLUMNS	5

/* A message about progress each so many milliseconds. */
#define PROGRESS_INTERVAL	5000

/* What is known of the index that would be. */
typedef struct IndexEstimate
{
	BlockNumber present_pages;	/* of the index that is; InvalidBlockNumber:
								 * not known */
	double		size_pages;		/* 0: not sampled, as it is small */
	double		share;			/* of the pages, that a query for one value
								 * reads: of the column where it is least */
	bool		brin_serves;	/* would BRIN on the first column do? */
	const char *problem;		/* NULL: none */
} IndexEstimate;

/* "index 3 of 40", at DEBUG1, or, if that takes long, for everybody to see. */
static void
report_advise_progress(const char *name, int64 number, int64 total)
{
	static TimestampTz reported = 0;
	TimestampTz now = GetCurrentTimestamp();
	bool		due;

	reported = Max(reported, GetCurrentStatementStartTimestamp());
	due = TimestampDifferenceExceeds(reported, now, PROGRESS_INTERVAL);
	if (due)
		reported = now;
	ereport(due ? NOTICE : DEBUG1,
			(errmsg("sampling the table of index \"%s\", " INT64_FORMAT " of " INT64_FORMAT,
					name, number, total)));
}

static void
refuse_advise_estimate(Oid indexoid, Oid heapoid, Oid userid)
{
	const char *name = get_rel_name(indexoid);

	if (name == NULL || !OidIsValid(heapoid))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation with OID %u is not an index", indexoid)));
	if (get_rel_relkind(indexoid) != RELKIND_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a partitioned index", name),
				 errhint("Call the function for the index of a partition.")));
	if (!rencoder_open_index_may_read(heapoid, userid))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for index %s", name),
				 errhint("Only roles that may read the whole table may call this function.")));
}

/* Why rows cannot be sampled; NULL if they can.  Both are open. */
static const char *
find_problem_to_advise(Relation heap, Relation index)
{
	if (!index->rd_index->indisvalid)
		return "the index is not valid";
	return rencoder_table_sample_problem(heap);
}

static bool
is_new_key_to_advise(const RencoderTableSample *sample, size_t i)
{
	return i == 0 || sample->key[i].key != sample->key[i - 1].key;
}

/*
 * A query for one value that the table has: the one in the middle of the distinct values, as most
 * rows may have a single value that nobody asks for.
 */
static const RencoderKeySet *
make_needle_to_advise(const RencoderTableSample *sample)
{
	RencoderKeySet *keys = palloc0(sizeof(RencoderKeySet));
	renc_interval *interval = palloc(sizeof(renc_interval));
	size_t		distinct = 0;
	size_t		seen = 0;
	size_t		i;

	keys->none = sample->nkeys == 0;
	if (keys->none)
		return keys;
	for (i = 0; i < sample->nkeys; i++)
		distinct += is_new_key_to_advise(sample, i);
	for (i = 0; seen <= distinct / 2 && i < sample->nkeys; i++)
		seen += is_new_key_to_advise(sample, i);
	interval->lo = interval->hi = sample->key[i - 1].key;
	keys->set.interval = interval;
	keys->set.n = 1;
	keys->query = renc_query_intervals(&keys->set);
	return keys;
}

static void
estimate_advised_index(Relation heap, Relation index, IndexEstimate *estimate)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "rencoder index estimate",
												  ALLOCSET_DEFAULT_SIZES);

	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(index); col++)
	{
		RencoderTableSample sample;
		RencoderTableEstimate table;
		RencoderMethodEstimate method[RENCODER_NMETHODS];
		const RencoderMethodEstimate *own = &method[RENCODER_METHOD_OWN];
		MemoryContext old = MemoryContextSwitchTo(context);
		Relation	hypothetical;

		hypothetical = rencoder_hypothetical_index(heap, index, col, &estimate->problem);
		if (hypothetical == NULL)
		{
			MemoryContextSwitchTo(old);
			estimate->problem = MemoryContextStrdup(old, estimate->problem);
			break;
		}
		rencoder_table_sample_read(heap, hypothetical, index, col + 1, &sample);
		rencoder_estimate_methods(&sample, make_needle_to_advise(&sample), &table, method);
		estimate->size_pages += col == 0 ? own->size_pages : rencoder_estimate_further(own);
		estimate->share = Min(estimate->share,
							  rencoder_estimate_reads(own) / Max(sample.nblocks, 1));
		if (col == 0)
			estimate->brin_serves = rencoder_estimate_brin_serves(&sample, method);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
}

/* As the table's owner, since expressions of the index are evaluated. */
static void
estimate_as_owner_to_advise(Relation heap, Relation index, int64 least_size,
							IndexEstimate *estimate)
{
	bool		is_brin = index->rd_rel->relam == BRIN_AM_OID;

	estimate->problem = find_problem_to_advise(heap, index);
	if (estimate->problem == NULL)
		estimate->present_pages = RelationGetNumberOfBlocks(index);

	/* A small BRIN index may stand for a large table. */
	if (estimate->problem == NULL &&
		(int64) RelationGetNumberOfBlocks(is_brin ? heap : index) * BLCKSZ >= least_size)
		estimate_advised_index(heap, index, estimate);
}

static Datum
make_advised_row(FunctionCallInfo fcinfo, const IndexEstimate *estimate)
{
	Datum		values[ADVISE_COLUMNS] = {0};
	bool		nulls[ADVISE_COLUMNS] = {0};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	nulls[0] = estimate->present_pages == InvalidBlockNumber;
	values[0] = Int64GetDatum((int64) estimate->present_pages * BLCKSZ);
	for (int i = 1; i < ADVISE_COLUMNS - 1; i++)
		nulls[i] = estimate->problem != NULL || estimate->size_pages == 0;
	values[1] = Int64GetDatum((int64) (estimate->size_pages * BLCKSZ));
	values[2] = Float8GetDatum(rint(estimate->share * 1000) / 1000);
	values[3] = BoolGetDatum(estimate->brin_serves);
	nulls[4] = estimate->problem == NULL;
	if (estimate->problem != NULL)
		values[4] = CStringGetTextDatum(estimate->problem);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/*
 * rencoder_estimate_index(index regclass, least_size bigint, number bigint, total bigint)
 *		returns record
 *
 * An index of any access method; if it is smaller than least_size, nothing but that is told.
 * Number and total are for messages about progress.  Holds
 * AccessShareLock on table and index while it samples; waits for none.  Null if the index
 * has been dropped.  Works on a standby.
 */
Datum
rencoder_estimate_index(PG_FUNCTION_ARGS)
{
	Oid			indexoid = PG_GETARG_OID(0);
	Oid			heapoid = IndexGetRelation(indexoid, true);
	IndexEstimate estimate = {.present_pages = InvalidBlockNumber,.share = 1};
	RencoderOpenIndex target;

	refuse_advise_estimate(indexoid, heapoid, GetUserId());
	switch (rencoder_open_index_try(&target, indexoid, AccessShareLock, true))
	{
		case RENCODER_TRY_GONE:
			estimate.problem = "the index has been dropped";
			break;
		case RENCODER_TRY_LOCKED:
			estimate.problem = "another session has locked it";
			break;
		case RENCODER_TRY_OPENED:
			refuse_advise_estimate(indexoid, heapoid, target.save_userid);
			report_advise_progress(RelationGetRelationName(target.index), PG_GETARG_INT64(2),
								   PG_GETARG_INT64(3));
			estimate_as_owner_to_advise(target.heap, target.index, PG_GETARG_INT64(1), &estimate);
			rencoder_open_index_close(&target);
			break;
	}
	return make_advised_row(fcinfo, &estimate);
}
