/*
 * sql_maintain.c
 *		SQL functions that summarize, desummarize, retune and compact.
 *
 * Those that summarize have the names, arguments and results of BRIN's.
 */
#include "maintain/compact.h"
#include "maintain/note.h"
#include "maintain/retune.h"
#include "maintain/summarize.h"

#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "base/options.h"
#include "design/sample_record.h"
#include "store/group.h"
#include "store/open_index.h"
#include "table/coder_columns.h"

PG_FUNCTION_INFO_V1(rencoder_summarize_new_values);
PG_FUNCTION_INFO_V1(rencoder_summarize_range);
PG_FUNCTION_INFO_V1(rencoder_desummarize_range);
PG_FUNCTION_INFO_V1(rencoder_sql_note_tail);
PG_FUNCTION_INFO_V1(rencoder_sql_retune);
PG_FUNCTION_INFO_V1(rencoder_sql_compact);
PG_FUNCTION_INFO_V1(rencoder_maintainable);

static BlockNumber
maintain_heap_block_arg(int64 heap_blkno)
{
	if (heap_blkno < 0 || heap_blkno > MaxBlockNumber)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("block number out of range: %lld", (long long) heap_blkno),
				 errhint("Block numbers of a table go from 0 to %u.", MaxBlockNumber)));
	return (BlockNumber) heap_blkno;
}

/*
 * Opens the index that a function was called for, and its table, for a maintainer of the owner's, who
 * wants keys by sound coders, or not.  An index that CREATE INDEX CONCURRENTLY has not finished, or
 * failed to, is left alone, silently as by VACUUM, as nothing relies on its summaries: false then.  The
 * caller closes the target in any case.
 */
static bool
open_index_to_maintain(FunctionCallInfo fcinfo, bool makes_keys, RencoderOpenIndex *target)
{
	rencoder_open_index(target, PG_GETARG_OID(0), ShareUpdateExclusiveLock, RENCODER_PRIVILEGE_OWNER);
	if (!target->index->rd_index->indisvalid)
	{
		ereport(DEBUG1,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(target->index))));
		return false;
	}
	if (makes_keys)
		(void) rencoder_columns_check_coders(target->index, ERROR);
	return true;
}

/*
 * rencoder_summarize_new_values(index regclass) returns integer
 *
 * Summarizes every unsummarized block range, the partial last one included,
 * and returns their number.  ShareUpdateExclusiveLock on table and index.
 */
Datum
rencoder_summarize_new_values(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	double		n = 0;

	if (open_index_to_maintain(fcinfo, true, &target))
	{
		n = rencoder_summarize_all(target.index, target.heap);
		rencoder_sample_record_make_pages(target.index, RelationGetNumberOfBlocks(target.heap));
	}
	rencoder_open_index_close(&target);
	PG_RETURN_INT32((int32) n);
}

/*
 * rencoder_summarize_range(index regclass, heap_block bigint) returns integer
 *
 * Summarizes the block range of one table page if it is not; returns 1 if it
 * did.  ShareUpdateExclusiveLock on table and index.
 */
Datum
rencoder_summarize_range(PG_FUNCTION_ARGS)
{
	BlockNumber heap_blkno = maintain_heap_block_arg(PG_GETARG_INT64(1));
	RencoderOpenIndex target;
	double		n = 0;

	if (open_index_to_maintain(fcinfo, true, &target))
	{
		uint64		range = rencoder_range_of_block(rencoder_meta_get(target.index), heap_blkno);

		n = rencoder_summarize(target.index, target.heap, range, range);
	}
	rencoder_open_index_close(&target);
	PG_RETURN_INT32((int32) n);
}

/*
 * rencoder_note_tail(index regclass) returns integer
 *
 * Notes what is not summarized at the end of the table, and one empty range ahead; returns the number
 * of these ranges, 0 if the index has no runs.  ShareUpdateExclusiveLock on table and index.
 */
Datum
rencoder_sql_note_tail(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	int			n = 0;

	if (open_index_to_maintain(fcinfo, true, &target))
	{
		RencoderMeta meta = *rencoder_meta_get(target.index);
		BlockNumber nblocks = RelationGetNumberOfBlocks(target.heap);

		n = rencoder_note(target.index, target.heap,
						  rencoder_note_find_tail(target.index, &meta, nblocks),
						  rencoder_range_count(&meta, nblocks) + 1);
	}
	rencoder_open_index_close(&target);
	PG_RETURN_INT32(n);
}

/*
 * rencoder_desummarize_range(index regclass, heap_block bigint) returns void
 *
 * Takes away the summary of the block range of one table page, so that scans
 * visit it always.  ShareUpdateExclusiveLock on table and index.
 */
Datum
rencoder_desummarize_range(PG_FUNCTION_ARGS)
{
	BlockNumber heap_blkno = maintain_heap_block_arg(PG_GETARG_INT64(1));
	RencoderOpenIndex target;

	if (open_index_to_maintain(fcinfo, false, &target))
		rencoder_desummarize(target.index,
							 rencoder_range_of_block(rencoder_meta_get(target.index),
													 heap_blkno));
	rencoder_open_index_close(&target);
	PG_RETURN_VOID();
}

/*
 * rencoder_retune(index regclass) returns integer
 *
 * Rebuilds the groups that another configuration would serve better, and
 * returns their number.  ShareUpdateExclusiveLock on table and index: reads
 * and writes go on.
 */
Datum
rencoder_sql_retune(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	int64		n = 0;

	if (open_index_to_maintain(fcinfo, true, &target))
		n = rencoder_retune(target.index, target.heap);
	rencoder_open_index_close(&target);
	PG_RETURN_INT32((int32) n);
}

/*
 * rencoder_compact(index regclass) returns integer
 *
 * Makes one run of all of the table, with the newest coders, and returns the number of its groups.
 * ShareUpdateExclusiveLock on table and index: reads and writes go on.
 */
Datum
rencoder_sql_compact(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	uint32		n = 0;
	bool		valid = open_index_to_maintain(fcinfo, true, &target);

	if (!rencoder_options_use_runs(target.index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" does not keep its keys in runs",
						RelationGetRelationName(target.index)),
				 errhint("Set its storage parameter \"storage\" to \"run\".")));
	if (valid)
		n = rencoder_compact(target.index, target.heap);
	rencoder_open_index_close(&target);
	PG_RETURN_INT32((int32) n);
}

/*
 * rencoder_maintainable(relation regclass, is_index boolean) returns boolean
 *
 * Is it a table, or an index of the caller's, that rencoder_maintain() does not skip?  Warns as VACUUM
 * does if not, but for a relation that has been dropped.
 */
Datum
rencoder_maintainable(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *name = get_rel_name(relid);
	char		relkind = get_rel_relkind(relid);
	bool		is_index = relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX;

	if (name == NULL)
		PG_RETURN_BOOL(false);
	if (PG_GETARG_BOOL(1))
	{
		if (rencoder_class_ownercheck(relid, GetUserId()))
			PG_RETURN_BOOL(true);
		ereport(WARNING,
				(errmsg("skipping index \"%s\" --- only its owner can maintain it", name)));
		PG_RETURN_BOOL(false);
	}
	if (relkind == RELKIND_RELATION || relkind == RELKIND_PARTITIONED_TABLE ||
		relkind == RELKIND_MATVIEW)
		PG_RETURN_BOOL(true);
	ereport(WARNING,
			(errmsg("skipping \"%s\" --- it is not a table", name),
			 is_index ? errhint("Name the table of the index, \"%s\".",
								get_rel_name(IndexGetRelation(relid, false))) : 0));
	PG_RETURN_BOOL(false);
}
