/*
 * check_heap.c
 *		rencoder_index_check(heapallindexed): does the index cover every row?
 *
 * Every row that a snapshot sees must be covered by the summary of its block
 * range, if the snapshot trusts it (INV-1, INV-2, INV-9): check_keys.c collects the rows, and holds
 * them against the index.
 *
 * A row that another transaction is deleting is among them: the snapshot sees it.  One that
 * this transaction has deleted comes back if that is rolled back, maybe to a savepoint.  So what
 * the table was before this transaction is looked at, too.
 *
 * Nothing is locked out meanwhile.  A row that the snapshot sees was inserted,
 * and its insertion into the index complete, before the snapshot was taken,
 * so whatever summary of its range is there later must cover it.  A column of a group whose keys were
 * given another coder while its rows were collected is left out.
 */
#include "sql/sql_check.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "sql/check_keys.h"
#include "store/group_copy.h"
#include "store/horizon.h"
#include "table/coder_columns.h"

typedef struct HeapCheck
{
	Relation	index;
	RencoderMeta meta;
	uint32		group;			/* whose keys are being collected */
	RencoderColumnCoders coders;	/* by which its keys are made */
	RencoderGroupCopy *copy;
	RencoderKeyCheck *keys;
	MemoryContext coder_context;	/* reset with each group */
} HeapCheck;

/* Another group: its rows' keys are to be made as it says. */
static void
begin_group(HeapCheck *hc, uint32 group)
{
	MemoryContext old;

	hc->group = group;
	memset(&hc->coders, 0, sizeof(hc->coders));
	MemoryContextReset(hc->coder_context);
	if (!rencoder_group_copy_read(hc->index, &hc->meta, group, hc->copy))
		return;
	old = MemoryContextSwitchTo(hc->coder_context);
	for (int col = 0; col < hc->meta.natts; col++)
		rencoder_columns_load_coders(hc->index, col, hc->copy->header[col]->config.coder, &hc->coders);
	MemoryContextSwitchTo(old);
}

/* Rows come in block order. */
static void
heap_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			  bool tupleIsAlive, void *state)
{
	HeapCheck  *hc = (HeapCheck *) state;
	uint64		range = rencoder_range_of_block(&hc->meta, ItemPointerGetBlockNumber(tid));

	if (rencoder_group_of_range(range) != hc->group)
	{
		rencoder_check_keys_compare(hc->keys, &hc->coders);
		begin_group(hc, rencoder_group_of_range(range));
	}
	rencoder_check_keys_add_row(hc->keys, tid, &hc->coders, values, isnull);
}

/* All rows that a snapshot sees. */
static void
check_rows(HeapCheck *hc, Relation heap, IndexInfo *indexInfo, Snapshot snapshot)
{
	begin_group(hc, 0);

	/* As the first scan of CREATE INDEX CONCURRENTLY: what the snapshot sees. */
	indexInfo->ii_Concurrent = true;
	(void) table_index_build_scan(heap, hc->index, indexInfo, true, false, heap_callback,
								  hc,
								  table_beginscan_strat(heap, snapshot, 0, NULL,
														true, false));
	rencoder_check_keys_compare(hc->keys, &hc->coders);
}

void
rencoder_check_heap(Relation heap, Relation index)
{
	IndexInfo  *indexInfo = BuildIndexInfo(index);
	Snapshot	snapshot = RegisterSnapshot(GetTransactionSnapshot());
	HeapCheck	hc;

	memset(&hc, 0, sizeof(hc));
	hc.index = index;
	hc.meta = *rencoder_meta_get(index);
	hc.copy = rencoder_group_copy_create(&hc.meta);
	hc.coder_context = AllocSetContextCreate(CurrentMemoryContext, "rencoder coders",
											 ALLOCSET_DEFAULT_SIZES);
	hc.keys = rencoder_check_keys_begin(index, &hc.meta, rencoder_horizon_of_snapshot(snapshot));

	check_rows(&hc, heap, indexInfo, snapshot);
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
	{
		SnapshotData before = *snapshot;

		before.curcid = FirstCommandId;
		check_rows(&hc, heap, indexInfo, &before);
	}
	UnregisterSnapshot(snapshot);
}
