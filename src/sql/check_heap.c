/*
 * check_heap.c
 *		rencoder_index_check(heapallindexed): does the index find the keys of all rows?
 *
 * Of every row that a snapshot sees the index must have the key, null or mark of a value without key
 * of each column, where INV-11 says.  A row that another transaction is deleting is among them: the
 * snapshot sees it.  One that this transaction has deleted comes back if that is rolled back, maybe
 * to a savepoint.  So what the table was before this transaction is looked at, too.
 *
 * Rows are collected for 128 heap pages at a time, or less where another run begins to cover the
 * table.  What a page's rows have must be in the run that covers the page, with the part that has the
 * root of the row's HOT chain, or in a delta or the pending list; unless the page lies behind
 * the frontier, or the snapshot does not trust the run (INV-9).  Each run is searched once for all keys
 * of the pages.  Deltas and the list are only asked for keys that are not there.  Nulls, and values
 * without a key, are keys of trees of their own.
 *
 * Nothing is locked out meanwhile.  A row that the snapshot sees was inserted, and its insertion
 * into the index complete, before the snapshot was taken.  Whatever was in a run or the
 * pending list then is in one of them later; a run or a pending page goes only in a record that
 * raises the catalog's version (INV-7).  So what is missing is looked
 * for again if that has risen.  Keys are made by the coders of the run that covers the pages when
 * they are collected; what has keys by another coder cannot be compared, and is left out.
 */
#include "sql/sql_check.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "store/horizon.h"
#include "store/pending.h"
#include "table/coder_columns.h"

/* Heap pages that are held against the index together. */
#define WINDOW_PAGES	128

/* Keys that there is room for at first. */
#define FIRST_KEYS		1024

/* The key of a column of a row, or what takes its place (run_format.h). */
typedef struct WantedKey
{
	uint64		key;
	uint16		page;			/* of the window */
	OffsetNumber row;			/* the root's */
	bool		found;
	bool		asked;			/* is it looked for at present? */
} WantedKey;

/* Those of a tree in the window. */
typedef struct CollectedKeys
{
	size_t		n;
	size_t		allocated;
	WantedKey  *key;
} CollectedKeys;

typedef struct HeapCheck
{
	Relation	index;
	RencoderMeta meta;
	uint64		xmin;			/* of the snapshot, which trusts horizons up
								 * to it */
	RencoderColumnCoders coders;	/* by which keys are made */
	uint32		coders_of;		/* the run that they were taken from */
	MemoryContext coder_context;
	BlockNumber first_page;		/* of the window, or InvalidBlockNumber */
	BlockNumber end;			/* the page behind it */
	WantedKey	row;			/* that is collected */
	RencoderCollector *collector;	/* gives its keys */
	CollectedKeys *tree;		/* as in a run (run_format.h) */
	RencoderCatalog catalog;	/* as it is looked at */
	MemoryContext context;		/* reset after each look */
} HeapCheck;

/* What of a tree's keys is yet to be found. */
typedef struct WantedKeys
{
	const HeapCheck *check;
	int			tree;
	int			col;			/* that it is of */
	bool		nulls;			/* of it, or values without a key */
	size_t		n;
	WantedKey  *key;			/* in order of key, page, row */
	size_t		left;			/* that are not found */
	bool		unknown;		/* there are keys by another coder, which
								 * cannot be compared */
	BlockNumber blkno;			/* a fault, if "detail" is not NULL */
	const char *detail;
} WantedKeys;

static inline int
compare_heap_keys(const WantedKey *a, const WantedKey *b)
{
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->page != b->page)
		return a->page < b->page ? -1 : 1;
	return (int) a->row - (int) b->row;
}

/* sort_wanted: PostgreSQL's own sort, specialized. */
#define ST_SORT sort_wanted
#define ST_ELEMENT_TYPE WantedKey
#define ST_COMPARE(a, b) compare_heap_keys(a, b)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* What the row that is collected has for a tree. */
static void
collect_heap_key(void *arg, int tree, uint64 key)
{
	HeapCheck  *check = (HeapCheck *) arg;
	CollectedKeys *keys = &check->tree[tree];

	keys->key = rencoder_list_with_room(keys->key, keys->n, &keys->allocated, sizeof(WantedKey));
	keys->key[keys->n] = check->row;
	keys->key[keys->n++].key = key;
}

/* Notes what is wrong with a page of the index; false. */
static bool
note_heap_fault(WantedKeys *wanted, BlockNumber blkno, const char *detail)
{
	if (wanted->detail == NULL)
	{
		wanted->blkno = blkno;
		wanted->detail = detail;
	}
	return false;
}

/* The first key that is not less than this one. */
static size_t
find_checked_heap_key(const WantedKeys *wanted, uint64 key, uint32 page, uint32 row)
{
	WantedKey	least = {key, (uint16) page, (OffsetNumber) row, false, false};
	size_t		left = 0;
	size_t		right = wanted->n;

	while (left < right)
	{
		size_t		middle = left + (right - left) / 2;

		if (compare_heap_keys(&wanted->key[middle], &least) < 0)
			left = middle + 1;
		else
			right = middle;
	}
	return left;
}

static inline bool
is_heap_key_missing(const WantedKey *key)
{
	return key->asked && !key->found;
}

static inline void
note_heap_key_found(WantedKeys *wanted, WantedKey *key)
{
	wanted->left -= !key->found;
	key->found = true;
}

/* Of rows first .. last of a heap page one has a key from lo to hi, as far as can be known. */
static void
found(WantedKeys *wanted, BlockNumber page, uint32 first, uint32 last, uint64 lo, uint64 hi)
{
	uint32		number = page - wanted->check->first_page;

	if (page < wanted->check->first_page || number >= WINDOW_PAGES)
		return;
	for (size_t i = find_checked_heap_key(wanted, lo, 0, 0); i < wanted->n &&
		 wanted->key[i].key <= hi;)
	{
		uint64		key = wanted->key[i].key;

		for (i = find_checked_heap_key(wanted, key, number, first); i < wanted->n; i++)
		{
			WantedKey  *k = &wanted->key[i];

			if (k->key != key || k->page != number || k->row > last)
				break;
			if (is_heap_key_missing(k))
				note_heap_key_found(wanted, k);
		}
		if (key == PG_UINT64_MAX)
			break;
		i = find_checked_heap_key(wanted, key + 1, 0, 0);
	}
}

/*
 * Searches a tree of a run.  Of a cell that reaches farther than the keys of the run a scan finds no
 * more than these.  A value without a key may be any.
 */
static bool
check_heap_keys_in_tree(WantedKeys *wanted, const RencoderRunInfoData *info, int tree,
						renc_interval_set set)
{
	renc_places places = rencoder_run_places(&info->column[tree]);
	renc_run_search *search = palloc(sizeof(renc_run_search));
	RencoderRunReader reader;

	if (!rencoder_run_reader_begin(&reader, wanted->check->index, info, tree))
		return true;
	renc_run_search_begin(search, &reader.run, rencoder_run_reader_read, &reader, &set);
	while (renc_run_search_next(search))
	{
		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; i < search->n; i++)
		{
			uint32		first;
			uint32		last;

			renc_part_rows(&places, search->part[i], search->leaf.grain, &first, &last);
			if (tree == wanted->tree)
				found(wanted, search->page[i], first, last,
					  Max(renc_run_entry_lo(search, i), reader.run.least),
					  Min(renc_run_entry_hi(search, i), reader.run.greatest));
			else
				found(wanted, search->page[i], first, last, 0, PG_UINT64_MAX);
		}
	}
	if (search->failure != NULL)
	{
		const char *fault = rencoder_run_reader_fault(&reader, search->failure, &search->failed_page);

		note_heap_fault(wanted, search->failed_page, fault);
	}
	rencoder_run_reader_end(&reader);
	return wanted->detail == NULL;
}

/* Searches a run for all keys that are looked for. */
static bool
check_heap_keys_in_run(WantedKeys *wanted, const RencoderRunEntry *entry, uint32 coder)
{
	const char *fault = NULL;
	RencoderRunInfo info = rencoder_run_read_info(wanted->check->index, entry, &fault);
	renc_interval *interval = palloc_extended(wanted->n * sizeof(renc_interval), MCXT_ALLOC_HUGE);
	renc_interval keyless = {RENCODER_RUN_KEYLESS, RENCODER_RUN_KEYLESS};
	renc_interval_set set = {interval, 0};

	if (info == NULL)
		return note_heap_fault(wanted, entry->info, fault);
	for (size_t i = 0; i < wanted->n; i++)
	{
		renc_interval point = {wanted->key[i].key, wanted->key[i].key};

		if (is_heap_key_missing(&wanted->key[i]) && (set.n == 0 || interval[set.n - 1].lo != point.lo))
			interval[set.n++] = point;
	}
	if (info->column[wanted->tree].entries > 0 && info->column[wanted->tree].coder != coder)
		wanted->unknown = true;
	else if (!check_heap_keys_in_tree(wanted, info, wanted->tree, set))
		return false;
	set.interval = &keyless;
	set.n = 1;
	return wanted->nulls || wanted->left == 0 ||
		check_heap_keys_in_tree(wanted, info, rencoder_run_null_tree(info->natts, wanted->col), set);
}

/* An entry of the pending list; a value without a key may be any. */
static void
check_heap_keys_in_entry(WantedKeys *wanted, const RencoderPendingEntry *entry, uint32 coder)
{
	int			natts = wanted->check->meta.natts;
	bool		any = !wanted->nulls && !rencoder_pending_has_key(entry, wanted->col);
	uint64		key = entry->key[wanted->col];
	uint32		row = *rencoder_pending_line_pointer(entry, natts);

	if (wanted->nulls ? rencoder_pending_has_key(entry, wanted->col) :
		rencoder_pending_is_null(entry, wanted->col))
		return;
	if (any || rencoder_pending_coders(entry, natts)[wanted->col] == coder)
		found(wanted, entry->page, row, row > 0 ? row : MaxHeapTuplesPerPage, any ? 0 : key,
			  any ? PG_UINT64_MAX : key);
	else
		wanted->unknown = true;
}

/* Deltas and pending entries. */
static bool
check_late_heap_keys(WantedKeys *wanted, uint32 coder)
{
	const RencoderCatalog *catalog = &wanted->check->catalog;
	RencoderPendingWalk walk;

	for (size_t i = 0; i < wanted->n; i++)
		wanted->key[i].asked = true;
	for (uint32 i = 0; i < catalog->n && wanted->left > 0; i++)
	{
		const RencoderRunEntry *entry = &catalog->entry[i];

		if (entry->kind == RENCODER_RUN_DELTA && entry->state == RENCODER_RUN_LIVE &&
			!check_heap_keys_in_run(wanted, entry, coder))
			return false;
	}
	rencoder_pending_walk_begin(&walk, wanted->check->index, &catalog->pending,
								catalog->pending.last_number);
	while (wanted->left > 0 && rencoder_pending_walk_next(&walk))
	{
		for (int i = 0; i < walk.copy.nentries; i++)
			check_heap_keys_in_entry(wanted, rencoder_pending_entry(&walk.copy, i), coder);
	}
	rencoder_pending_walk_end(&walk);
	return walk.fault == NULL || note_heap_fault(wanted, walk.blkno, walk.fault);
}

/* The page of a wanted key. */
static inline BlockNumber
page_of_heap_key(const WantedKeys *wanted, const WantedKey *k)
{
	return wanted->check->first_page + k->page;
}

/* The run that covers the page of a wanted key, or NULL. */
static const RencoderRunEntry *
run_of_heap_key(const WantedKeys *wanted, const WantedKey *k)
{
	return rencoder_catalog_covering(&wanted->check->catalog, page_of_heap_key(wanted, k));
}

/* Does a scan read the page of a key, whatever is asked? */
static bool
is_heap_page_read(const WantedKeys *wanted, const WantedKey *k)
{
	const RencoderRunEntry *run = run_of_heap_key(wanted, k);

	return page_of_heap_key(wanted, k) >= wanted->check->catalog.frontier ||
		(run != NULL && run->horizon > wanted->check->xmin);
}

/* The first key that was not found; there is one. */
static void
note_heap_key_not_found(WantedKeys *wanted)
{
	const WantedKey *k = wanted->key;
	const RencoderRunEntry *run;

	while (k->found)
		k++;
	run = run_of_heap_key(wanted, k);
	note_heap_fault(wanted,
					run != NULL ? run->info : RENCODER_META_BLKNO,
					psprintf("Row (%u,%u) has %s of column %d, which a query does not find.",
							 page_of_heap_key(wanted, k), k->row,
							 wanted->nulls ? k->key == RENCODER_RUN_NULL ? "a null" : "a value without key" :
							 psprintf("key 0x%016llx", (unsigned long long) k->key), wanted->col + 1));
}

/* Finds the keys that are asked for in a run of matrices. */
static bool
check_heap_keys_in_matrices(WantedKeys *wanted, const RencoderRunEntry *entry, uint32 coder)
{
	const char *fault = NULL;
	RencoderRunInfo info = rencoder_run_read_info(wanted->check->index, entry, &fault);
	BlockNumber blkno = entry->info;

	wanted->unknown |= info != NULL && info->column[wanted->tree].entries > 0 &&
		info->column[wanted->tree].coder != coder;
	for (size_t i = 0; i < wanted->n && fault == NULL && !wanted->unknown; i++)
	{
		WantedKey  *k = &wanted->key[i];

		if (is_heap_key_missing(k) &&
			rencoder_check_matrix_has(wanted->check->index, entry, info, page_of_heap_key(wanted, k),
									  wanted->tree, k->key, &blkno, &fault))
			note_heap_key_found(wanted, k);
	}
	return fault == NULL || note_heap_fault(wanted, blkno, fault);
}

/* Finds what a run has of the pages that it covers. */
static bool
check_heap_keys_in_base_run(WantedKeys *wanted, const RencoderRunEntry *entry, uint32 coder)
{
	size_t		nasked = 0;

	for (size_t i = 0; i < wanted->n; i++)
	{
		WantedKey  *k = &wanted->key[i];

		k->asked = !k->found && run_of_heap_key(wanted, k) == entry;
		nasked += k->asked;
	}
	if (nasked > 0 && entry->kind == RENCODER_RUN_MATRIX)
		return check_heap_keys_in_matrices(wanted, entry, coder);
	return nasked == 0 || check_heap_keys_in_run(wanted, entry, coder);
}

/* One tree of the window; "wanted" gets a fault, if any. */
static void
check_heap_keys_of_tree(HeapCheck *check, int tree, WantedKeys *wanted)
{
	const RencoderCatalog *catalog = &check->catalog;
	CollectedKeys *keys = &check->tree[tree];
	uint32		coder;

	memset(wanted, 0, sizeof(*wanted));
	wanted->check = check;
	wanted->tree = tree;
	wanted->col = tree % check->meta.natts;
	wanted->nulls = tree >= check->meta.natts;
	coder = wanted->nulls ? 0 : check->coders.generation[wanted->col];
	wanted->n = wanted->left = keys->n;
	wanted->key = keys->key;
	for (size_t i = 0; i < wanted->n; i++)
	{
		wanted->key[i].found = false;
		if (is_heap_page_read(wanted, &wanted->key[i]))
			note_heap_key_found(wanted, &wanted->key[i]);
	}
	for (uint32 i = 0; i < catalog->n && wanted->left > 0; i++)
	{
		const RencoderRunEntry *entry = &catalog->entry[i];

		if (rencoder_run_covers(entry) && entry->state == RENCODER_RUN_LIVE &&
			entry->from < check->end && entry->to > check->first_page &&
			!check_heap_keys_in_base_run(wanted, entry, coder))
			return;
	}
	if (wanted->left > 0 && check_late_heap_keys(wanted, coder) && wanted->left > 0 &&
		!wanted->unknown)
		note_heap_key_not_found(wanted);
}

/* Holds what was collected in the window against the index. */
static void
compare_heap_window(HeapCheck *check)
{
	MemoryContext old = MemoryContextSwitchTo(check->context);
	int			ntrees = rencoder_run_ntrees(check->meta.natts);
	WantedKeys	wanted;
	RencoderMetaPageData *metadata;

	for (int tree = 0; tree < ntrees; tree++)
		sort_wanted(check->tree[tree].key, check->tree[tree].n);
	do
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(check->context);
		metadata = palloc(sizeof(RencoderMetaPageData));
		wanted.detail = NULL;
		rencoder_catalog_copy(check->index, &check->catalog, metadata, NULL, NULL);
		for (int tree = 0; tree < ntrees && wanted.detail == NULL; tree++)
			check_heap_keys_of_tree(check, tree, &wanted);
	} while (wanted.detail != NULL && rencoder_pending_has_moved(check->index, metadata));
	if (wanted.detail != NULL)
		rencoder_page_corrupted(check->index, wanted.blkno, wanted.detail);
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->context);
	for (int tree = 0; tree < ntrees; tree++)
		check->tree[tree].n = 0;
}

/* Keys are made by the coders of the run, or the newest ones if it is NULL, or has none. */
static void
load_heap_coders(HeapCheck *check, const RencoderRunEntry *run)
{
	uint32		number = run == NULL ? 0 : run->number;
	RencoderRunInfo info = NULL;
	const char *fault = NULL;
	MemoryContext old;

	if (check->coders_of == number)
		return;
	check->coders_of = number;
	MemoryContextReset(check->coder_context);
	memset(&check->coders, 0, sizeof(check->coders));
	old = MemoryContextSwitchTo(check->coder_context);
	if (run != NULL)
		info = rencoder_run_read_info(check->index, run, &fault);
	for (int col = 0; col < check->meta.natts; col++)
	{
		uint32		generation = info == NULL ? 0 : info->column[col].coder;

		if (generation == 0)
			generation = rencoder_coder_newest_generation(check->index, col);
		if (generation != 0)
			rencoder_columns_load_coders(check->index, col, generation, &check->coders);
	}
	MemoryContextSwitchTo(old);
}

/* Begins a window, which ends where another run covers the table. */
static void
begin_heap_window(HeapCheck *check, BlockNumber page)
{
	const RencoderRunEntry *run;

	rencoder_catalog_copy(check->index, &check->catalog, NULL, NULL, NULL);
	run = rencoder_catalog_covering(&check->catalog, page);
	check->first_page = page;
	check->end = page + 1;
	while (check->end - page < WINDOW_PAGES && check->end < MaxBlockNumber &&
		   rencoder_catalog_covering(&check->catalog, check->end) == run)
		check->end++;
	load_heap_coders(check, run);
}

/* Collects a row, with the root of its HOT chain; pages come in order. */
static void
collect_heap_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool tupleIsAlive,
				 void *state)
{
	HeapCheck  *check = (HeapCheck *) state;
	BlockNumber page = ItemPointerGetBlockNumber(tid);

	if (check->first_page == InvalidBlockNumber || page >= check->end)
	{
		if (check->first_page != InvalidBlockNumber)
			compare_heap_window(check);
		begin_heap_window(check, page);
	}
	check->row.page = (uint16) (page - check->first_page);
	check->row.row = ItemPointerGetOffsetNumber(tid);
	rencoder_columns_collect_row(check->index, check->collector, &check->coders, values, isnull, true);
}

/* All rows that a snapshot sees. */
static void
check_heap_rows(HeapCheck *check, Relation heap, IndexInfo *indexInfo, Snapshot snapshot)
{
	check->first_page = InvalidBlockNumber;

	/* As the first scan of CREATE INDEX CONCURRENTLY: what the snapshot sees. */
	indexInfo->ii_Concurrent = true;
	(void) table_index_build_scan(heap, check->index, indexInfo, true, false, collect_heap_row,
								  check,
								  table_beginscan_strat(heap, snapshot, 0, NULL, true, false));
	if (check->first_page != InvalidBlockNumber)
		compare_heap_window(check);
}

void
rencoder_check_heap(Relation heap, Relation index)
{
	Snapshot	snapshot = RegisterSnapshot(GetTransactionSnapshot());
	HeapCheck  *check = palloc0(sizeof(HeapCheck));
	int			ntrees;

	check->index = index;
	check->meta = *rencoder_meta_get(index);
	check->xmin = rencoder_horizon_of_snapshot(snapshot);
	check->coders_of = PG_UINT32_MAX;
	check->collector = rencoder_collect_create(check->meta.natts);
	check->collector->sink = collect_heap_key;
	check->collector->sink_arg = check;
	ntrees = rencoder_run_ntrees(check->meta.natts);
	check->tree = palloc0(ntrees * sizeof(CollectedKeys));
	for (int tree = 0; tree < ntrees; tree++)
	{
		check->tree[tree].allocated = FIRST_KEYS;
		check->tree[tree].key = palloc(FIRST_KEYS * sizeof(WantedKey));
	}
	check->context = AllocSetContextCreate(CurrentMemoryContext, "rencoder rows' keys",
										   ALLOCSET_DEFAULT_SIZES);
	check->coder_context = AllocSetContextCreate(CurrentMemoryContext, "rencoder coders",
												 ALLOCSET_DEFAULT_SIZES);
	check_heap_rows(check, heap, BuildIndexInfo(index), snapshot);
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
	{
		SnapshotData before = *snapshot;

		before.curcid = FirstCommandId;
		check_heap_rows(check, heap, BuildIndexInfo(index), &before);
	}
	UnregisterSnapshot(snapshot);
}
