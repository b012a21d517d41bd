/*
 * row_check.c
 *		Rows that a plain scan must look at itself, before it hands them out.
 */
#include "query/row_check.h"

#include "access/tableam.h"
#include "utils/rel.h"
#include "utils/relcache.h"

RencoderRowCheck *
rencoder_row_check_begin(Relation heap, Relation index)
{
	RencoderRowCheck *check = palloc(sizeof(RencoderRowCheck));

	check->estate = CreateExecutorState();
	check->slot = table_slot_create(heap, NULL);
	check->predicate = ExecPrepareQual(RelationGetIndexPredicate(index), check->estate);
	check->fetch = rencoder_index_fetch_begin(heap);
	return check;
}

bool
rencoder_row_check_passes(RencoderRowCheck *check, Snapshot snapshot, ItemPointer tid)
{
	ExprContext *context = GetPerTupleExprContext(check->estate);
	ItemPointerData row = *tid;
	bool		again = false;
	bool		passes = false;

	/* Of several versions, as other than MVCC snapshots see, one is enough. */
	do
	{
		ItemPointerData version = row;
		bool		all_dead = false;

		if (!table_index_fetch_tuple(check->fetch, &version, snapshot, check->slot, &again, &all_dead))
			break;
		context->ecxt_scantuple = check->slot;
		passes = ExecQual(check->predicate, context);
		ResetExprContext(context);
		ExecClearTuple(check->slot);
		row = version;
	} while (!passes && again);
	table_index_fetch_reset(check->fetch);
	return passes;
}

void
rencoder_row_check_end(RencoderRowCheck *check)
{
	table_index_fetch_end(check->fetch);
	ExecDropSingleTupleTableSlot(check->slot);
	FreeExecutorState(check->estate);
	pfree(check);
}
