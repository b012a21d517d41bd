/*
 * range_scan.c
 *		Reading the keys of block ranges of a table in use.
 */
#include "table/range_scan.h"

#include "access/htup_details.h"
#include "catalog/index.h"

#include "store/group.h"
#include "table/heap_read.h"

void
rencoder_range_scan_init(RencoderRangeScan *scan, Relation index, Relation heap)
{
	memset(scan, 0, sizeof(*scan));
	scan->index = index;
	scan->heap = heap;
	scan->meta = *rencoder_meta_get(index);
	scan->last_block = InvalidBlockNumber;
	scan->places = renc_whole_pages();
	scan->indexInfo = BuildIndexInfo(index);
	scan->indexInfo->ii_Concurrent = false; /* any version visible, not a
											 * snapshot */
}

static void
rangescan_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull,
				   bool tupleIsAlive, void *state)
{
	RencoderRangeScan *scan = (RencoderRangeScan *) state;
	RencoderCollector *collector = scan->collector;
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);
	int			slot = (int) (rencoder_range_of_block(&scan->meta, block) - scan->first);

	/* The block is pinned here at most, not locked. */
	if (block != scan->last_block)
		rencoder_vacuum_delay_point();
	scan->last_block = block;
	scan->rows[slot]++;

	collector->place = renc_place_of(&scan->places, block, offset);
	scan->places.most = Max(scan->places.most, offset);
	rencoder_collect_open(collector, slot);
	rencoder_columns_collect_row(index, collector, &scan->coders, values, isnull, tupleIsAlive);
}

bool
rencoder_range_scan(RencoderRangeScan *scan, uint64 first, int nslots, renc_mask todo,
					Size max_size, uint64 *horizon)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(scan->heap);

	scan->first = first;
	*horizon = 0;
	rencoder_collect_reset(scan->collector);
	memset(scan->rows, 0, sizeof(scan->rows));
	for (int slot = 0; slot < nslots;)
	{
		int			end = slot;
		uint64		start_block = (first + slot) * scan->meta.pages_per_range;
		uint64		end_block;

		/* One scan for ranges that are neighbours. */
		while (end < nslots && end - slot < RENC_SLICE_RANGES && renc_mask_test(todo, end))
			end++;
		end_block = Min((first + end) * scan->meta.pages_per_range, nblocks);
		if (end > slot && start_block < end_block)
			(void) rencoder_heap_read(scan->heap, scan->index, scan->indexInfo, true,
									  (BlockNumber) start_block,
									  (BlockNumber) (end_block - start_block),
									  rangescan_callback, scan, horizon);
		slot = Max(end, slot + 1);
		if (max_size > 0 && rencoder_collect_size(scan->collector) > max_size)
			return false;
	}
	rencoder_collect_close(scan->collector, nslots);
	return true;
}

/*
 * Rows of a range that is full, by the statistics of table and index; 0: they tell nothing.  These
 * may be of different times, or anything that somebody has set.
 */
static double
rows_of_full_range(const RencoderRangeScan *scan)
{
	double		pages = scan->heap->rd_rel->relpages;
	double		rows = scan->index->rd_rel->reltuples;

	if (!(pages > 0 && rows > 0))
		return 0;
	return Min(rows / pages, MaxHeapTuplesPerPage) * scan->meta.pages_per_range;
}

double
rencoder_range_scan_full_keys(const RencoderRangeScan *scan, int col)
{
	const RencoderCollectedColumn *column = &scan->collector->column[col];
	BlockNumber nblocks = RelationGetNumberOfBlocks(scan->heap);
	uint64		ppr = scan->meta.pages_per_range;
	double		pages;
	double		keys;
	int			most = 0;

	for (int slot = 1; slot < RENC_SLICE_RANGES; slot++)
	{
		if (scan->rows[slot] > scan->rows[most])
			most = slot;
	}
	if (scan->rows[most] == 0)
		return 0;
	pages = Max(Min(nblocks - (scan->first + most) * ppr, ppr), 1);
	keys = column->nkeys == 0 ? scan->rows[most] : column->range[most].distinct;
	return keys * Max(ppr / pages, rows_of_full_range(scan) / scan->rows[most]);
}
