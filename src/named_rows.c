/*
 * named_rows.c
 *		CREATE INDEX CONCURRENTLY: which rows its second phase need not insert.
 *
 * That phase asks the index for the places of all its rows (ambulkdelete), and inserts what it
 * finds in the table besides.  Nearly all of that is in the run of the first phase.  To find
 * it there row by row, as an insert does (insert_late.c), takes a descent for each.  So the pairs
 * of key and page are sorted here once more and go along the run, which is read once.
 *
 * Places of rows are not known in a run, but pages are.  A page is reported, with all places that
 * there are in it, if each of its row versions is named already (INV-14): bounds and flags of the
 * range have it, and in each column where it has a key the run has that, with the page.  Rows that
 * come to the page later are inserted by those who put them there.
 *
 * On any doubt a page is not reported.  Then its rows are inserted one by one.
 */
#include "named_rows.h"

#include "catalog/index.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"

#include "base/subtransaction.h"
#include "build/run_sorter.h"
#include "key/coder.h"
#include "key/key.h"
#include "run/renc_page_set.h"
#include "store/group.h"
#include "store/run_pages.h"
#include "table/heap_read.h"

typedef struct NamedRows
{
	Relation	index;
	Relation	heap;
	BlockNumber nblocks;		/* of the table */
	RencoderMeta meta;
	IndexInfo  *indexInfo;
	MemoryContext row_context;
	ResourceOwner owner;		/* of the sorters' files */

	/* Of the run. */
	RencoderRunEntry run;
	RencoderRunInfo info;
	const RencoderCoder *coder[INDEX_MAX_KEYS];
	RencoderRunSorter *sorter[INDEX_MAX_KEYS];
	renc_page_sets sets;
	renc_page_set doubtful;		/* pages */
	renc_mask  *looked_at;		/* ranges of its groups */

	/* Of the group that is read. */
	RencoderHeaderData *header; /* of each column */
	uint64		first_range;
} NamedRows;

/* Entries of a block of the run. */
typedef struct BlockEntries
{
	uint32		n;
	int			width;
	bool		last;			/* of the run? */
	uint64		next;			/* else: no key behind them is below */
	uint32		page[RENC_RUN_MAX_BLOCK];
	uint64		cell[RENC_RUN_MAX_BLOCK];
} BlockEntries;

/* Sorted pairs of the table, one at a time. */
typedef struct Pairs
{
	RencoderRunSorter *sorter;
	RencoderRunPair pair;
	bool		more;			/* is there one? */
} Pairs;

/* ---- Reading the table ---- */

/* A value with a key that the run may have; what is in TOAST may be gone. */
static bool
key_of_value(NamedRows *named, int col, Datum value, uint64 *key)
{
	const RencoderRunColumn *column = &named->info->column[col];
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(named->index), col);

	if (att->attlen == -1 && VARATT_IS_EXTERNAL(DatumGetPointer(value)))
		return false;
	return rencoder_key_encode(named->index, col, value, named->coder[col], key) &&
		column->entries > 0 && *key >= column->least && *key <= column->greatest;
}

/* Puts a pair into the sorter, whose file must not end with a subtransaction. */
static void
sort_pair(NamedRows *named, int col, uint64 key, BlockNumber page)
{
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = named->owner;
	rencoder_run_sorter_add(named->sorter[col], key, page, 1);
	CurrentResourceOwner = owner;
}

/* Puts the pair of a column into its sorter; false if the row is not named. */
static bool
take_value(NamedRows *named, int col, unsigned int slot, BlockNumber page, Datum value, bool isnull)
{
	const RencoderHeaderData *header = &named->header[col];
	uint64		key;

	if (isnull)
		return rencoder_set_test(header->has_null, slot);
	if (!rencoder_set_test(header->has_value, slot) || !key_of_value(named, col, value, &key) ||
		key < header->min[slot] || key > header->max[slot])
		return false;
	sort_pair(named, col, key, page);
	return true;
}

static void
take_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *state)
{
	NamedRows  *named = (NamedRows *) state;
	BlockNumber page = ItemPointerGetBlockNumber(tid);
	unsigned int slot = rencoder_slot_of_range(rencoder_range_of_block(&named->meta, page));
	MemoryContext old = MemoryContextSwitchTo(named->row_context);
	bool		may_be_named = true;

	for (int col = 0; col < named->meta.natts && may_be_named; col++)
		may_be_named = take_value(named, col, slot, page, values[col], isnull[col]);
	MemoryContextSwitchTo(old);
	MemoryContextReset(named->row_context);
	if (!may_be_named)
		renc_page_set_add(&named->sets, &named->doubtful, page);
}

/*
 * Reads the rows of neighbouring ranges.  If a recently dead version is left out, a snapshot may
 * need it nevertheless: the ranges are as if they had not been looked at.
 */
static void
read_ranges(NamedRows *named, int slot, int n, renc_mask *looked_at)
{
	uint64		first = (named->first_range + slot) * named->meta.pages_per_range;
	uint64		end = Min(first + (uint64) n * named->meta.pages_per_range, named->nblocks);

	named->indexInfo->ii_BrokenHotChain = false;
	if (first < end)
		(void) rencoder_heap_read(named->heap, named->index, named->indexInfo, true,
								  (BlockNumber) first, (BlockNumber) (end - first), take_row, named);
	for (int i = slot; i < slot + n && named->indexInfo->ii_BrokenHotChain; i++)
		renc_mask_clear(looked_at, i);
}

/* The ranges of a group that the run has the keys of, and nobody reads for another one. */
static renc_mask
ranges_of_run(const NamedRows *named, const RencoderGroup *group, RencoderHeader first)
{
	rencoder_group_copy_header(group, 0, first);
	if (first->run != named->run.number)
		return renc_mask_none();
	return renc_mask_andnot(rencoder_set_get(first->covered), rencoder_set_get(first->flushing));
}

/* A group whose rows are read. */
typedef struct GroupReading
{
	NamedRows  *named;
	renc_mask	covered;
	renc_mask  *looked_at;
}			GroupReading;

/* Reads its covered ranges. */
static void
read_covered_ranges(void *arg)
{
	GroupReading *reading = (GroupReading *) arg;

	for (int slot = 0; slot < RENC_GROUP_RANGES;)
	{
		int			end = slot;

		CHECK_FOR_INTERRUPTS();
		while (end < RENC_GROUP_RANGES && renc_mask_test(reading->covered, end))
			end++;
		if (end > slot)
			read_ranges(reading->named, slot, end - slot, reading->looked_at);
		slot = Max(end, slot + 1);
	}
}

/*
 * The same of an index with expressions or a predicate.  These may fail for rows that the second
 * phase does not see: such as are being inserted, or dead but to old snapshots.  CREATE INDEX
 * CONCURRENTLY would not fail without us, so the group is as if it had not been looked at.
 */
static void
try_to_read_covered_ranges(GroupReading * reading)
{
	IndexInfo  *indexInfo = reading->named->indexInfo;
	ErrorData  *error = rencoder_subtransaction(read_covered_ranges, reading);

	if (error == NULL)
		return;
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED ||
		ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_INSUFFICIENT_RESOURCES)
		ReThrowError(error);
	FreeErrorData(error);
	indexInfo->ii_ExpressionsState = NIL;
	indexInfo->ii_PredicateState = NULL;
	*reading->looked_at = renc_mask_none();
}

/* Reads the covered ranges of a group, which is the i-th of the run. */
static void
read_named_group(NamedRows *named, uint32 i)
{
	const IndexInfo *indexInfo = named->indexInfo;
	uint32		number = named->run.first_group + i;
	GroupReading reading = {named, renc_mask_none(), &named->looked_at[i]};
	RencoderGroup group;

	named->looked_at[i] = renc_mask_none();
	if (!rencoder_group_locate(&group, named->index, &named->meta, number))
		return;
	reading.covered = ranges_of_run(named, &group, &named->header[0]);
	for (int col = 1; col < named->meta.natts; col++)
		rencoder_group_copy_header(&group, col, &named->header[col]);
	named->first_range = (uint64) number * RENC_GROUP_RANGES;
	named->looked_at[i] = reading.covered;
	if (indexInfo->ii_Expressions == NIL && indexInfo->ii_Predicate == NIL)
		read_covered_ranges(&reading);
	else
		try_to_read_covered_ranges(&reading);
}

/* ---- Pairs against the run ---- */

static void
next_pair(Pairs *pairs)
{
	pairs->more = rencoder_run_sorter_next(pairs->sorter, &pairs->pair);
}

/* Is the page among the sorted ones from "from" to "to" - 1? */
static bool
has_page(const BlockEntries *block, uint32 from, uint32 to, BlockNumber page)
{
	while (from < to)
	{
		uint32		middle = from + (to - from) / 2;

		if (block->page[middle] == page)
			return true;
		if (block->page[middle] < page)
			from = middle + 1;
		else
			to = middle;
	}
	return false;
}

/*
 * Looks up pairs in a block until one comes that may be in the next.  A pair was put where its
 * key is at most the first one of the block behind.  If it is equal, the entries of the cell go
 * on there, with pages behind those that are here, unless other keys share the cell: then a pair
 * may be called doubtful though it is named.
 */
static void
match_block(NamedRows *named, const BlockEntries *block, Pairs *pairs)
{
	uint32		from = 0;		/* entries of a cell */
	uint32		to = 0;

	for (; pairs->more; next_pair(pairs))
	{
		uint64		key = pairs->pair.key;
		uint64		cell = key >> block->width;
		bool		may_go_on = !block->last && key >= block->next;

		while (to < block->n && (from == to || block->cell[from] < cell))
		{
			for (from = to; to < block->n && block->cell[to] == block->cell[from]; to++)
				;
		}
		if (from < to && block->cell[from] == cell)
		{
			if (has_page(block, from, to, pairs->pair.page))
				continue;
			may_go_on &= to == block->n && pairs->pair.page > block->page[to - 1];
		}
		else
			may_go_on &= to == block->n && (from == to || block->cell[from] < cell);
		if (may_go_on)
			return;
		renc_page_set_add(&named->sets, &named->doubtful, pairs->pair.page);
	}
}

/* Takes the next block from a search of all keys; false if there is none. */
static bool
take_block(renc_run_search *search, BlockEntries *block, bool *more)
{
	if (!*more)
		return false;
	block->n = search->n;
	block->width = search->width;
	memcpy(block->page, search->page, search->n * sizeof(search->page[0]));
	memcpy(block->cell, search->cell, search->n * sizeof(search->cell[0]));
	*more = renc_run_search_next(search);
	block->last = !*more;
	block->next = search->separator;
	return true;
}

/* Sorts the pairs of a column and looks them up; false if the run cannot be read. */
static bool
match_column(NamedRows *named, int col)
{
	renc_interval all = {0, PG_UINT64_MAX};
	renc_interval_set set = {&all, 1};
	renc_run_search *search = palloc(sizeof(renc_run_search));
	BlockEntries *block = palloc(sizeof(BlockEntries));
	Pairs		pairs = {.sorter = named->sorter[col]};
	RencoderRunReader reader;
	bool		more;

	rencoder_run_sorter_sort(pairs.sorter);
	next_pair(&pairs);
	if (!rencoder_run_reader_begin(&reader, named->index, named->info, col))
		return !pairs.more;
	renc_run_search_begin(search, &reader.run, rencoder_run_read, &reader, &set);
	more = renc_run_search_next(search);
	while (pairs.more && take_block(search, block, &more))
	{
		CHECK_FOR_INTERRUPTS();
		match_block(named, block, &pairs);
	}
	for (; pairs.more; next_pair(&pairs))
		renc_page_set_add(&named->sets, &named->doubtful, pairs.pair.page);
	rencoder_run_reader_end(&reader);
	more = search->failure == NULL;
	pfree(search);
	pfree(block);
	return more;
}

/* ---- Reporting ---- */

/* Reports the pages of a group, if all is as it was when its rows were read (INV-14). */
static void
report_group(NamedRows *named, uint32 i, BufferAccessStrategy strategy,
			 IndexBulkDeleteCallback callback, void *callback_state)
{
	uint32		number = named->run.first_group + i;
	uint64		first = (uint64) number * RENC_GROUP_RANGES * named->meta.pages_per_range;
	renc_mask	still;
	RencoderGroup group;

	if (!rencoder_group_locate(&group, named->index, &named->meta, number))
		return;
	still = ranges_of_run(named, &group, &named->header[0]);
	for (uint64 block = first; block < named->nblocks; block++)
	{
		uint32		slot = (uint32) ((block - first) / named->meta.pages_per_range);
		OffsetNumber max;
		ItemPointerData tid;

		if (slot >= RENC_GROUP_RANGES)
			break;
		CHECK_FOR_INTERRUPTS();
		if (!renc_mask_test(named->looked_at[i], slot) || !renc_mask_test(still, slot) ||
			named->doubtful.all ||
			renc_page_set_seek(&named->sets, &named->doubtful, (BlockNumber) block) == (BlockNumber) block)
			continue;
		max = rencoder_heap_last_place(named->heap, (BlockNumber) block, strategy);
		for (OffsetNumber place = FirstOffsetNumber; place <= max; place++)
		{
			ItemPointerSet(&tid, (BlockNumber) block, place);
			(void) callback(&tid, callback_state);
		}
	}
}

/* Reads what is needed to make the run's keys; false if something is not there. */
static bool
open_run(NamedRows *named, const RencoderRunEntry *entry, RencoderCoders *coders)
{
	const char *fault;

	named->run = *entry;
	named->info = rencoder_run_info(named->index, entry, &fault);
	if (named->info == NULL)
		return false;
	for (int col = 0; col < named->meta.natts; col++)
	{
		if (!rencoder_coder_find(coders, named->index, col, named->info->column[col].coder,
								 &named->coder[col]))
			return false;
	}
	return true;
}

static void
report_run(NamedRows *named, IndexBulkDeleteCallback callback, void *callback_state)
{
	int			natts = named->meta.natts;
	uint32		ngroups = Min(named->run.ngroups,
							  rencoder_group_count(rencoder_range_count(&named->meta,
																		named->nblocks)));
	bool		sound = true;

	renc_page_sets_begin(&named->sets, Min(work_mem * (Size) 1024, MaxAllocSize), palloc, pfree);
	named->looked_at = MemoryContextAllocHuge(CurrentMemoryContext,
											  ngroups * sizeof(renc_mask));
	for (int col = 0; col < natts; col++)
		named->sorter[col] = rencoder_run_sorter_begin((Size) maintenance_work_mem * 1024 / natts,
													   named->nblocks);
	for (uint32 i = 0; i < ngroups; i++)
		read_named_group(named, i);
	for (int col = 0; col < natts; col++)
	{
		sound = sound && match_column(named, col);
		rencoder_run_sorter_end(named->sorter[col]);
	}
	if (sound)
	{
		BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);

		for (uint32 i = 0; i < ngroups; i++)
			report_group(named, i, strategy, callback, callback_state);
		FreeAccessStrategy(strategy);
	}
	renc_page_sets_end(&named->sets);
}

void
rencoder_named_rows_report(Relation index, Relation heap, IndexBulkDeleteCallback callback,
						   void *callback_state)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "rencoder named rows",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	RencoderRuns *runs = palloc(sizeof(RencoderRuns));
	NamedRows  *named = palloc0(sizeof(NamedRows));
	RencoderCoders *coders = rencoder_coders_create();

	named->index = index;
	named->heap = heap;
	named->nblocks = RelationGetNumberOfBlocks(heap);
	named->meta = *rencoder_meta_get(index);
	named->indexInfo = BuildIndexInfo(index);
	named->indexInfo->ii_Concurrent = false;	/* every version, not those of
												 * a snapshot */
	named->row_context = AllocSetContextCreate(context, "rencoder named rows, a row",
											   ALLOCSET_SMALL_SIZES);
	named->owner = CurrentResourceOwner;
	named->header = palloc(named->meta.natts * sizeof(RencoderHeaderData));
	rencoder_runs_look(index, runs, NULL);
	for (uint32 i = 0; i < runs->list.n; i++)
	{
		const RencoderRunEntry *entry = &runs->list.entry[i];

		if (entry->state == RENCODER_RUN_LIVE && entry->kind == RENCODER_RUN_BASE &&
			open_run(named, entry, coders))
			report_run(named, callback, callback_state);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
