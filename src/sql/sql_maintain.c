/*
 * sql_maintain.c
 *		SQL functions that maintain an index.
 */
#include "make/choose.h"

#include "catalog/index.h"
#include "fmgr.h"

#include "base/options.h"
#include "make/shrink.h"
#include "store/hint_pages.h"
#include "store/open_index.h"
#include "table/coder_columns.h"
#include "worker/worker_queue.h"

PG_FUNCTION_INFO_V1(rencoder_maintain_index);
PG_FUNCTION_INFO_V1(rencoder_sql_compact);

/*
 * Opens the index that a function was called for, and its table, for a maintainer of the owner's.
 * An index that CREATE INDEX CONCURRENTLY has not finished, or
 * failed to, is left alone, silently as by VACUUM, as nothing relies on it: false then.  The
 * caller closes the target in any case.
 */
static bool
open_index_to_maintain(FunctionCallInfo fcinfo, RencoderOpenIndex *target)
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
	(void) rencoder_columns_check_coders(target->index, ERROR);
	return true;
}

static BlockNumber
get_frontier(Relation index)
{
	RencoderMetaPageData *metadata = rencoder_meta_copy(index);
	BlockNumber frontier = metadata->frontier;

	pfree(metadata);
	return frontier;
}

/*
 * Asks the worker to cut off the end of the file, as VACUUM does.  The caller's transaction may have cursors of the
 * index, and on a standby it would have the lock until it ends.
 */
static void
ask_to_shrink(Relation index)
{
	if (rencoder_options(index)->autosummarize && !RelationUsesLocalBuffers(index) &&
		rencoder_shrink_is_due(index))
		(void) rencoder_worker_queue_put(RelationGetRelid(index), false);
}

/*
 * rencoder_maintain_index(index regclass) returns bigint
 *
 * What VACUUM does for the index: makes a run of the pages behind the frontier, the partial last one
 * included, deltas, merges.  Returns how many pages were behind the frontier.
 * ShareUpdateExclusiveLock on table and index: reads and writes go on.
 */
Datum
rencoder_maintain_index(PG_FUNCTION_ARGS)
{
	RencoderOpenIndex target;
	BlockNumber before = 0;
	BlockNumber after = 0;

	if (open_index_to_maintain(fcinfo, &target))
	{
		before = Min(get_frontier(target.index), RelationGetNumberOfBlocks(target.heap));
		rencoder_choose_in_vacuum(target.index, target.heap, false);
		rencoder_hints_make_pages(target.index, RelationGetNumberOfBlocks(target.heap), true);
		after = get_frontier(target.index);
		ask_to_shrink(target.index);
	}
	rencoder_open_index_close(&target);
	PG_RETURN_INT64(after > before ? after - before : 0);
}

/*
 * rencoder_compact(index regclass, from_page bigint, to_page bigint) returns bigint
 *
 * Makes one run of all of the table, unless there would be no gain, or of the pages [from_page, to_page),
 * with those between the frontier and them, by the newest coders; returns the number of pages that were
 * read.  ShareUpdateExclusiveLock on table and index: reads and writes go on.
 */
Datum
rencoder_sql_compact(PG_FUNCTION_ARGS)
{
	int64		from = PG_GETARG_INT64(1);
	int64		to = PG_GETARG_INT64(2);
	RencoderOpenIndex target;
	int64		n = 0;

	if (from < 0 || to < from)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("pages %lld to %lld are no part of a table", (long long) from, (long long) to),
				 errhint("Pages are counted from 0 on, and the second number is that of the page behind the last one.")));
	if (open_index_to_maintain(fcinfo, &target))
	{
		BlockNumber nblocks = RelationGetNumberOfBlocks(target.heap);

		/* Pages that somebody names are read in any case. */
		if (from == 0 && to > nblocks)
			n = rencoder_choose_all(target.index, target.heap);
		else if (from < (to = Min(to, nblocks)))
		{
			from = Min(from, get_frontier(target.index));
			if (rencoder_choose_pages(target.index, target.heap, (BlockNumber) from, (BlockNumber) to))
				n = to - from;
		}
		ask_to_shrink(target.index);
	}
	rencoder_open_index_close(&target);
	PG_RETURN_INT64(n);
}
