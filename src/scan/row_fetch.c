/*
 * row_fetch.c
 *		Rows that must be looked at before they are handed out.
 */
#include "scan/row_fetch.h"

#include "catalog/index.h"
#include "miscadmin.h"

RencoderRowFetch *
rencoder_row_fetch_begin(Relation heap, Relation index)
{
	RencoderRowFetch *fetch = palloc(sizeof(RencoderRowFetch));

	fetch->info = BuildIndexInfo(index);
	fetch->estate = CreateExecutorState();
	fetch->slot = table_slot_create(heap, NULL);
	fetch->predicate = ExecPrepareQual(fetch->info->ii_Predicate, fetch->estate);
	fetch->fetch = rencoder_index_fetch_begin(heap);
	return fetch;
}

bool
rencoder_row_fetch(RencoderRowFetch *fetch, Snapshot snapshot, const ItemPointerData *tid)
{
	ExprContext *context = GetPerTupleExprContext(fetch->estate);
	ItemPointerData row = *tid;
	bool		again = false;
	bool		passes = false;

	CHECK_FOR_INTERRUPTS();
	ResetExprContext(context);

	/* Of several versions, as other than MVCC snapshots see, one is enough. */
	do
	{
		ItemPointerData version = row;
		bool		all_dead = false;

		if (!table_index_fetch_tuple(fetch->fetch, &version, snapshot, fetch->slot, &again, &all_dead))
			break;
		context->ecxt_scantuple = fetch->slot;
		passes = ExecQual(fetch->predicate, context);
		row = version;
	} while (!passes && again);
	return passes;
}

void
rencoder_row_fetch_release(RencoderRowFetch *fetch)
{
	ExecClearTuple(fetch->slot);
	table_index_fetch_reset(fetch->fetch);
}

void
rencoder_row_fetch_end(RencoderRowFetch *fetch)
{
	table_index_fetch_end(fetch->fetch);
	ExecDropSingleTupleTableSlot(fetch->slot);
	FreeExecutorState(fetch->estate);
	pfree(fetch);
}
