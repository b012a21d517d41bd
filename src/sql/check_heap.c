/*
 * check_heap.c
 *		rencoder_index_check(heapallindexed): does the index cover every row?
 *
 * Every row that a snapshot sees must be covered by the summary of its block
 * range, if the snapshot trusts it (INV-1, INV-2, INV-9): a null by has_null;
 * a value by has_value, min and max, and the storage.  The rows' keys are
 * collected group by group and held against the index:
 *
 *	- what they set in storage must be there, if the format can tell;
 *	- of the distinct keys up to PROBES_PER_SLAB, or all where it cannot, are
 *	  asked for as a query would;
 *	- those of covered ranges are looked for in runs (check_covered.c).
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
#include "sql/check_heap.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/options.h"
#include "format/format_filter.h"
#include "sql/check_covered.h"
#include "store/group_copy.h"
#include "store/horizon.h"
#include "store/run_list.h"
#include "table/coder_columns.h"

/* Keys of a slab that are asked for one by one, where that is only one of two tests. */
#define PROBES_PER_SLAB		1000

typedef struct HeapCheck
{
	Relation	index;
	RencoderMeta meta;
	uint64		xmin;			/* of the snapshot */
	uint32		group;			/* whose keys are being collected */
	RencoderCollector *collector;
	RencoderColumnCoders coders;	/* by which its keys are made */
	RencoderGroupCopy *copy;
	RencoderCoveredCheck *covered;	/* NULL: there are no runs */
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

/* Flags and bounds of a range; true if its keys are to be found in storage. */
static bool
check_bounds(HeapCheck *hc, int col, unsigned int slot, Violation *v)
{
	const RencoderHeaderData *header = hc->copy->header[col];
	const RencoderRangeSummary *seen = &hc->collector->column[col].range[slot];

	if (seen->has_null && !rencoder_set_test(header->has_null, slot))
		note_violation(hc, v, col, slot, "a null that its summary does not know");
	if (!seen->has_value)
		return false;
	if (!rencoder_set_test(header->has_value, slot))
		note_violation(hc, v, col, slot, "a value where its summary knows none");
	if (seen->keyless && (!rencoder_set_test(header->always, slot) ||
						  header->min[slot] > 0 || header->max[slot] < PG_UINT64_MAX))
		note_violation(hc, v, col, slot, "a value without key, and does not always match");
	if (rencoder_set_test(header->always, slot))
		return false;
	if (seen->min < header->min[slot] || seen->max > header->max[slot])
		note_violation(hc, v, col, slot,
					   psprintf("keys from 0x%016llx to 0x%016llx, which its bounds do not cover",
								(unsigned long long) seen->min,
								(unsigned long long) seen->max));
	return true;
}

/* A page of the index that is not what it should be. */
static void
note_fault(Violation *v, BlockNumber blkno, const char *fault)
{
	if (v->detail)
		return;
	v->blkno = blkno;
	v->detail = fault;
}

/* What the keys of these ranges set in the slab must be there. */
static void
check_entries(HeapCheck *hc, int col, const RencoderSlab *slab, int first_slot,
			  const renc_keys *ranges, Violation *v)
{
	RencoderMissing missing;

	if (!rencoder_filter_missing(slab, ranges, &missing))
		return;
	if (missing.fault)
		note_fault(v, missing.blkno, missing.fault);
	else
		note_violation(hc, v, col, first_slot + missing.slot,
					   psprintf("a value of which block %u lacks a bit", missing.blkno));
}

/* Asks the slab for one key, which the ranges in "expected" hold. */
static void
probe_key(HeapCheck *hc, int col, const RencoderSlab *slab, int first_slot,
		  uint64 key, renc_mask expected, Violation *v)
{
	renc_interval interval = {key, key};
	renc_interval_set set = {&interval, 1};
	RencoderProbe *probe = rencoder_probe_begin(hc->index, &set, NULL);
	renc_mask	found = rencoder_filter_probe(probe, slab, expected);
	renc_mask	missing = renc_mask_andnot(expected, found);

	if (probe->fault)
		note_fault(v, probe->fault_blkno, probe->fault);
	else if (!renc_mask_empty(missing))
	{
		int			slot = missing.w[0] != 0 ? __builtin_ctzll(missing.w[0]) :
			64 + __builtin_ctzll(missing.w[1]);

		note_violation(hc, v, col, first_slot + slot,
					   psprintf("key 0x%016llx, which a query does not find",
								(unsigned long long) key));
	}
	rencoder_probe_end(probe);
}

static void
check_slab(HeapCheck *hc, int col, const RencoderSlab *slab, int first_slot,
		   const renc_keys *ranges, Violation *v)
{
	uint64	   *keys;
	renc_mask  *masks;
	size_t		n = rencoder_collect_distinct(ranges, rencoder_slab_ranges(slab), &keys, &masks);
	size_t		step = Max(n / PROBES_PER_SLAB, 1);

	check_entries(hc, col, slab, first_slot, ranges, v);
	for (size_t i = 0; i < n && v->detail == NULL; i += step)
	{
		CHECK_FOR_INTERRUPTS();
		probe_key(hc, col, slab, first_slot, keys[i], masks[i], v);
	}
	pfree(keys);
	pfree(masks);
}

static void
check_column(HeapCheck *hc, int col, renc_mask trusted, Violation *v)
{
	const RencoderHeaderData *header = hc->copy->header[col];
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	RencoderSlab slab;
	bool		any[RENC_GROUP_SLICES] = {false};

	if (header->config.coder != hc->coders.generation[col])
		return;
	for (int slot = 0; slot < hc->collector->nslots; slot++)
	{
		if (!renc_mask_test(trusted, slot) || !check_bounds(hc, col, slot, v))
			continue;
		if (rencoder_set_test(hc->copy->header[0]->covered, slot))
			continue;
		ranges[slot] = rencoder_collect_keys(hc->collector, col, slot);
		any[slot / RENC_SLICE_RANGES] = true;
	}
	if (header->matrix.start != RENCODER_NO_BLOCK)
	{
		slab = rencoder_slab_whole(hc->index, &header->config, header->matrix);
		check_slab(hc, col, &slab, 0, ranges, v);
		return;
	}
	for (int s = 0; s < RENC_GROUP_SLICES; s++)
	{
		if (!any[s])
			continue;
		slab = rencoder_slab_of_slice(hc->index, header, s);
		if (slab.extent.start == RENCODER_NO_BLOCK)
			note_violation(hc, v, col, s * RENC_SLICE_RANGES,
						   "values, but its slice has no storage");
		else
			check_slab(hc, col, &slab, s * RENC_SLICE_RANGES,
					   ranges + s * RENC_SLICE_RANGES, v);
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

	if (rencoder_group_of_range(range) != hc->group ||
		rencoder_collect_size(hc->collector) > rencoder_options_key_memory())
	{
		check_collected(hc);
		if (hc->group != rencoder_group_of_range(range))
		{
			if (hc->covered != NULL)
				rencoder_check_covered_flush(hc->covered, &hc->coders);
			begin_group(hc, rencoder_group_of_range(range));
		}
	}
	rencoder_collect_open(hc->collector, rencoder_slot_of_range(range));
	rencoder_columns_collect_row(index, hc->collector, &hc->coders, values, isnull, true);
	if (hc->covered != NULL)
		rencoder_check_covered_row(hc->covered, ItemPointerGetBlockNumber(tid), &hc->coders,
								   values, isnull);
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
	if (hc->covered != NULL)
		rencoder_check_covered_flush(hc->covered, &hc->coders);
}

void
rencoder_check_heap(Relation heap, Relation index)
{
	IndexInfo  *indexInfo = BuildIndexInfo(index);
	Snapshot	snapshot = RegisterSnapshot(GetTransactionSnapshot());
	HeapCheck	hc;
	RencoderRuns runs;

	memset(&hc, 0, sizeof(hc));
	hc.index = index;
	hc.meta = *rencoder_meta_get(index);
	hc.xmin = rencoder_horizon_of_snapshot(snapshot);
	hc.collector = rencoder_collect_create(hc.meta.natts);
	hc.copy = rencoder_group_copy_create(&hc.meta);
	hc.coder_context = AllocSetContextCreate(CurrentMemoryContext, "rencoder coders",
											 ALLOCSET_DEFAULT_SIZES);
	hc.context = AllocSetContextCreate(CurrentMemoryContext, "rencoder index check",
									   ALLOCSET_DEFAULT_SIZES);
	rencoder_runs_look(index, &runs, NULL);
	if (runs.list.n > 0)
		hc.covered = rencoder_check_covered_begin(index, &hc.meta, hc.xmin);

	check_rows(&hc, heap, indexInfo, snapshot);
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
	{
		SnapshotData before = *snapshot;

		before.curcid = FirstCommandId;
		check_rows(&hc, heap, indexInfo, &before);
	}
	UnregisterSnapshot(snapshot);
}
