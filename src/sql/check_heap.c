/*
 * check_heap.c
 *		rencoder_index_check(heapallindexed): does the index cover every row?
 *
 * Every row that a snapshot sees must be covered by the summary of its block
 * range, if the snapshot trusts it (INV-1, INV-2, INV-9): nulls and keys by storage or entries
 * (check_keys.c), a value that has no key by "keyless".  Rows are collected group by group and held
 * against the index.
 *
 * A row that another transaction is deleting is among them: the snapshot sees it.  One that
 * this transaction has deleted comes back if that is rolled back, maybe to a savepoint.  So what
 * the table was before this transaction is looked at, too.
 *
 * Nothing is locked out meanwhile.  A row that the snapshot sees was inserted,
 * and its insertion into the index complete, before the snapshot was taken,
 * so whatever summary of its range is there later must cover it; except that
 * storage may move while it is read, which changes the epoch (INV-7).
 * Then the group is looked at once more.  A column of a group whose keys were
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
	uint64		xmin;			/* of the snapshot */
	uint32		group;			/* whose keys are being collected */
	RencoderCollector *collector;	/* keeps no keys */
	RencoderColumnCoders coders;	/* by which its keys are made */
	RencoderGroupCopy *copy;
	RencoderKeyCheck *keys;
	MemoryContext coder_context;	/* reset with each group */
	MemoryContext context;		/* reset after each look at a group */
} HeapCheck;

/* What was found wrong, to be believed if the epoch is the same. */
typedef struct Violation
{
	BlockNumber blkno;
	const char *detail;			/* NULL: nothing */
} Violation;

static void
note_violation(HeapCheck *hc, Violation *v, int col, unsigned int slot,
			   const char *what)
{
	if (v->detail)
		return;
	v->blkno = hc->copy->entry->header + col;
	v->detail = psprintf("Range %llu of column %d holds %s.",
						 (unsigned long long) hc->group * RENC_GROUP_RANGES + slot,
						 col + 1, what);
}

/* Ranges whose summaries the snapshot trusts, as a scan decides it. */
static renc_mask
ranges_to_check(const HeapCheck *hc)
{
	const RencoderHeaderData *first = hc->copy->header[0];
	renc_mask	trusted = rencoder_set_get(first->summarized);

	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (first->horizon[slot] > hc->xmin)
			renc_mask_clear(&trusted, slot);
	}
	return trusted;
}

/* Flags of a range. */
static void
check_flags(HeapCheck *hc, int col, unsigned int slot, Violation *v)
{
	const RencoderHeaderData *header = hc->copy->header[col];
	const RencoderRangeSummary *seen = &hc->collector->column[col].range[slot];

	if (seen->keyless && !rencoder_set_test(header->keyless, slot))
		note_violation(hc, v, col, slot, "a value without key, and does not always match");
}

static void
check_column(HeapCheck *hc, int col, renc_mask trusted, Violation *v)
{
	if (hc->copy->header[col]->config.coder != hc->coders.generation[col])
		return;
	for (int slot = 0; slot < hc->collector->nslots; slot++)
	{
		if (renc_mask_test(trusted, slot))
			check_flags(hc, col, slot, v);
	}
}

/* Holds the rows collected against the index, and forgets them. */
static void
check_collected(HeapCheck *hc)
{
	MemoryContext old = MemoryContextSwitchTo(hc->context);
	Violation	v;
	uint64		epoch;

	rencoder_collect_close(hc->collector, hc->collector->nslots);
	do
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(hc->context);
		memset(&v, 0, sizeof(v));
		epoch = rencoder_meta_epoch(hc->index);
		if (!rencoder_group_copy_read(hc->index, &hc->meta, hc->group, hc->copy))
			break;
		for (int col = 0; col < hc->meta.natts && v.detail == NULL; col++)
			check_column(hc, col, ranges_to_check(hc), &v);
	} while (v.detail != NULL && epoch != rencoder_meta_epoch(hc->index));

	if (v.detail != NULL)
		rencoder_page_corrupted(hc->index, v.blkno, v.detail);
	MemoryContextSwitchTo(old);
	MemoryContextReset(hc->context);
	rencoder_collect_reset(hc->collector);
}

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
		check_collected(hc);
		rencoder_check_keys_flush(hc->keys, &hc->coders);
		begin_group(hc, rencoder_group_of_range(range));
	}
	rencoder_collect_open(hc->collector, rencoder_slot_of_range(range));
	rencoder_columns_collect_row(index, hc->collector, &hc->coders, values, isnull, true);
	rencoder_check_keys_row(hc->keys, tid, &hc->coders, values, isnull);
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
	check_collected(hc);
	rencoder_check_keys_flush(hc->keys, &hc->coders);
}

static void
drop_key(void *arg, int col, uint64 key)
{
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
	hc.xmin = rencoder_horizon_of_snapshot(snapshot);
	hc.collector = rencoder_collect_create(hc.meta.natts);
	hc.collector->sink = drop_key;
	hc.copy = rencoder_group_copy_create(&hc.meta);
	hc.coder_context = AllocSetContextCreate(CurrentMemoryContext, "rencoder coders",
											 ALLOCSET_DEFAULT_SIZES);
	hc.context = AllocSetContextCreate(CurrentMemoryContext, "rencoder index check",
									   ALLOCSET_DEFAULT_SIZES);
	hc.keys = rencoder_check_keys_begin(index, &hc.meta, hc.xmin);

	check_rows(&hc, heap, indexInfo, snapshot);
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
	{
		SnapshotData before = *snapshot;

		before.curcid = FirstCommandId;
		check_rows(&hc, heap, indexInfo, &before);
	}
	UnregisterSnapshot(snapshot);
}
