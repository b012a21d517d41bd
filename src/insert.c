/*
 * insert.c
 *		aminsert: what becomes of a new row.
 *
 * The heap tuple is in place before we are called, and the catalog is looked at after that, in every call
 * that cannot rely on an earlier one (INV-3; see insert_state_is_known()):
 *
 *	- the row's page is behind those whose rows are entries: nothing to do.  Scans read it, until somebody
 *	  reads it for a run, who says so in the catalog first, and finds our tuple;
 *	- else the row goes to the pending list, in one entry for all columns, which says of each its key, or
 *	  that it is null, or that its value has no key.  It is appended whenever it suits: whoever has a run
 *	  with a later cut has closed that page before he looked at the table.
 */
#include "rencoder.h"

#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"

#include "key/key.h"
#include "store/pending.h"
#include "table/coder_columns.h"
#include "table/heap_read.h"
#include "worker/growth.h"

/* What a statement remembers between its calls. */
typedef struct InsertCache
{
	BlockNumber told;			/* see rencoder_growth_due() */
	XLogRecPtr	looked_at;		/* see insert_state_is_known() */
	BlockNumber behind;			/* pages from this one on had no entries then */
	MemoryContext context;		/* reset after each tuple; NULL until needed */
	RencoderColumnCoders coders;	/* the newest */
	RencoderPendingEntry *entry;	/* room for one */
} InsertCache;

static void
prepare_insert_cache(InsertCache *cache, Relation index, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	int			natts = rencoder_key_columns(index);

	for (int col = 0; col < natts; col++)
	{
		if (rencoder_key_is_coded(index, col))
			rencoder_columns_load_coders(index, col, rencoder_coder_newest_generation(index, col),
										 &cache->coders);
	}
	cache->entry = palloc(rencoder_pending_entry_size(natts));
	cache->context = AllocSetContextCreate(context, "rencoder insert", ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(old);
}

/* What the row's entry is to be; a key by an older coder than the newest serves as well. */
static void
make_entry(InsertCache *cache, Relation index, BlockNumber page, OffsetNumber offset,
		   const Datum *values, const bool *isnull)
{
	int			natts = rencoder_key_columns(index);
	RencoderPendingEntry *entry = cache->entry;

	memset(entry, 0, rencoder_pending_entry_size(natts));
	entry->page = page;
	*rencoder_pending_line_pointer(entry, natts) = offset;
	entry->nulls = PG_UINT32_MAX >> (32 - natts);
	for (int col = 0; col < natts; col++)
	{
		RencoderRowFunctions functions = rencoder_key_row_functions(index, col);
		RencoderRowKind kind = rencoder_key_of_row(&functions, values, isnull, cache->coders.coder[col],
												   NULL, NULL, &entry->key[col]);

		if (kind != RENCODER_ROW_KEY)
		{
			entry->key[col] = kind == RENCODER_ROW_NULL ? RENCODER_RUN_NULL : RENCODER_RUN_KEYLESS;
			continue;
		}
		entry->nulls &= ~((uint32) 1 << col);
		rencoder_pending_coders(entry, natts)[col] = cache->coders.generation[col];
	}
}

/*
 * Appends the entry; returns how long the pending list has become by it, 0 if it has not.  Rounds end: a
 * tail that was found had room; if it has none any more, others have put their entries there.
 */
static uint64
append_entry(Relation index, const RencoderPendingEntry *entry)
{
	BlockNumber tail = rencoder_meta_tail(index);
	uint64		linked = 0;

	while (tail == RENCODER_NO_BLOCK || !rencoder_pending_append(index, entry, tail))
	{
		bool		closed;
		uint64		npages;

		CHECK_FOR_INTERRUPTS();
		tail = rencoder_pending_find_tail(index, &closed, &npages);
		rencoder_meta_keep_tail(index, tail);
		if (closed)
			linked = npages;
	}
	return linked;
}

/*
 * COPY puts up to 1,000 rows into the table, and only then into its indexes.
 * Where all of these were in place when their pages were found to have no entries, that
 * finding holds for all of them: whoever reads the pages says that they have entries after it, and
 * scans the table after that (INV-3).
 *
 * How we know that a row was in place: the heap writes a row's WAL record, from
 * this process, after the row is on its page.  If this process has written no
 * record since before it looked, it has not put a row since.
 */
static inline bool
insert_state_is_known(const InsertCache *cache, Relation heap, const IndexInfo *indexInfo,
					  BlockNumber block)
{
	return cache->looked_at == ProcLastRecPtr && block >= cache->behind &&
		!XLogRecPtrIsInvalid(ProcLastRecPtr) && RelationNeedsWAL(heap) &&
		heap->rd_rel->relam == HEAP_TABLE_AM_OID && !indexInfo->ii_Concurrent;
}

bool
rencoderinsert(Relation index, Datum *values, bool *isnull,
			   ItemPointer heap_tid, Relation heap,
			   IndexUniqueCheck checkUnique, bool indexUnchanged,
			   IndexInfo *indexInfo)
{
	BlockNumber block = ItemPointerGetBlockNumber(heap_tid);
	InsertCache *cache = (InsertCache *) indexInfo->ii_AmCache;
	MemoryContext old;
	XLogRecPtr	record;
	uint64		npending;

	if (cache == NULL)
	{
		cache = indexInfo->ii_AmCache = MemoryContextAllocZero(indexInfo->ii_Context,
															   sizeof(InsertCache));
		cache->looked_at = InvalidXLogRecPtr;
	}
	if (rencoder_growth_due(&cache->told, heap_tid))
		rencoder_growth_note(index, heap, indexInfo, block);
	if (insert_state_is_known(cache, heap, indexInfo, block))
		return false;

	/* Most rows go behind all runs, and are none of our business. */
	record = ProcLastRecPtr;
	if (!rencoder_meta_takes_entries(index, block))
	{
		cache->looked_at = record;
		cache->behind = block;
		return false;
	}
	if (cache->context == NULL)
		prepare_insert_cache(cache, index, indexInfo->ii_Context);
	old = MemoryContextSwitchTo(cache->context);
	make_entry(cache, index, block, rencoder_heap_find_root(heap, heap_tid), values, isnull);
	npending = append_entry(index, cache->entry);
	MemoryContextSwitchTo(old);
	MemoryContextReset(cache->context);
	if (npending > 0)
		rencoder_growth_note_pending(index, indexInfo, npending);
	return false;
}
