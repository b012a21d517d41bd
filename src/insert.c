/*
 * insert.c
 *		aminsert: what becomes of a new row.
 *
 * Storage never changes.  A row that comes to a range whose keys are in storage, or are being read
 * for it, gets an entry on the pending list, whatever the storage is (INV-2).  Maintenance makes
 * deltas of the list (maintain/delta_merge.c).
 *
 * The heap tuple is in place before we are called, and the range's state is
 * read here under the header's content lock, in every call that cannot rely on
 * an earlier one (INV-3; see insert_state_is_known()).  So:
 *
 *	- unsummarized: nothing to do; this has cost the reading of one page.
 *	  Whoever summarizes the range later sets "summarizing" first and scans the
 *	  heap after, and finds our tuple.
 *	- summarizing or summarized: the row goes to the pending list, in one entry for all columns, which
 *	  says of each its key, or that it is null, or that its value has no key.  It is appended as the
 *	  last thing that is done for the row, under the header's share lock: as long as that is held the
 *	  state of the range stays.  Who changes it holds the header exclusively, and after that either
 *	  finds the entry on the list, or the inserter finds another state (INV-11).
 *
 * Keys that want a coder are made by the one that the group's header names, without any lock, and
 * the header is looked at anew.
 */
#include "rencoder.h"

#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"

#include "key/key.h"
#include "store/group.h"
#include "store/pending.h"
#include "table/heap_read.h"
#include "worker/autosummarize.h"

/* What a statement remembers between its calls. */
typedef struct InsertCache
{
	RencoderProgress progress;
	XLogRecPtr	looked_at;		/* see insert_state_is_known() */
	uint64		looked_range;
	BlockNumber looked_block;	/* of this range; the last one that had a row */
	MemoryContext context;		/* reset after each tuple; NULL until needed */
	RencoderCoders *coders;
	BlockNumber tail;			/* of the pending list: a guess, or
								 * RENCODER_NO_BLOCK */
} InsertCache;

typedef enum InsertStep
{
	INSERT_DONE,
	INSERT_ENCODE,				/* a key is needed, by another coder than
								 * before */
	INSERT_TAIL					/* the pending list has another tail */
} InsertStep;

/* The key of a column. */
typedef struct InsertKey
{
	bool		made;
	uint32		generation;		/* of the coder that it was made by */
	uint64		key;
	bool		keyless;		/* no single key stands for the value */
} InsertKey;

/* A tuple on its way into the index. */
typedef struct Insertion
{
	RencoderGroup group;
	unsigned int slot;
	BlockNumber page;			/* of the table */
	OffsetNumber offset;		/* of the root of its HOT chain, or
								 * InvalidOffsetNumber */
	const Datum *values;
	const bool *isnull;
	InsertKey	keys[INDEX_MAX_KEYS];

	int			col;			/* that the next step is about */
	uint32		wanted;			/* INSERT_ENCODE: generation of its coder */
	RencoderPendingEntry *entry;

	/* Of a page that had to be linked; 0 if none was. */
	uint64		npages;			/* of the list since */
} Insertion;

/* Begins the row's entry, or begins it anew: all columns are null. */
static void
begin_inserted_entry(Insertion *ins)
{
	int			natts = ins->group.meta->natts;

	if (ins->entry == NULL)
		ins->entry = palloc(rencoder_pending_entry_size(natts));
	memset(ins->entry, 0, rencoder_pending_entry_size(natts));
	ins->entry->page = ins->page;
	*rencoder_pending_line_pointer(ins->entry, natts) = ins->offset;
	ins->entry->nulls = PG_UINT32_MAX >> (32 - natts);
}

/* What is to be done about a column; its key, or null, is in the row's entry. */
static InsertStep
insert_column(Insertion *ins, const RencoderHeaderData *header, int col)
{
	const InsertKey *key = &ins->keys[col];

	ins->col = col;
	ins->wanted = header->config.coder;

	if (ins->isnull[col])
		return INSERT_DONE;
	if (!key->made || key->generation != ins->wanted)
		return INSERT_ENCODE;
	if (key->keyless)
	{
		ins->entry->key[col] = RENCODER_RUN_KEYLESS;
		return INSERT_DONE;
	}
	ins->entry->key[col] = key->key;
	ins->entry->nulls &= ~((uint32) 1 << col);
	rencoder_pending_coders(ins->entry, ins->group.meta->natts)[col] = key->generation;
	return INSERT_DONE;
}

/* All columns of a range that is summarizing or summarized, under the first header's lock. */
static InsertStep
insert_columns(Insertion *ins, const RencoderHeaderData *first, BlockNumber tail)
{
	const RencoderGroup *group = &ins->group;
	InsertStep	step;

	begin_inserted_entry(ins);
	step = insert_column(ins, first, 0);
	for (int col = 1; col < group->meta->natts && step == INSERT_DONE; col++)
	{
		Buffer		buf = rencoder_group_read_header(group->index, group->header, group->number, col,
													 BUFFER_LOCK_SHARE);

		step = insert_column(ins, rencoder_page_header(BufferGetPage(buf), group->number), col);
		UnlockReleaseBuffer(buf);
	}
	if (step == INSERT_DONE && (tail == RENCODER_NO_BLOCK ||
								!rencoder_pending_append(group->index, ins->entry, tail)))
		step = INSERT_TAIL;
	return step;
}

/*
 * One attempt under the header's share lock.  Locks: none on entry and exit.
 */
static InsertStep
try_insert(Insertion *ins, BlockNumber tail)
{
	const RencoderGroup *group = &ins->group;
	Buffer		buf = rencoder_group_read_header(group->index, group->header, group->number, 0,
												 BUFFER_LOCK_SHARE);
	const RencoderHeaderData *first = rencoder_page_header(BufferGetPage(buf), group->number);
	InsertStep	step = INSERT_DONE;

	if (rencoder_header_takes_entries(first, ins->slot))
		step = insert_columns(ins, first, tail);
	UnlockReleaseBuffer(buf);
	return step;
}

static void
make_inserted_key(Insertion *ins, int col, uint32 generation, const RencoderCoder *coder)
{
	InsertKey  *key = &ins->keys[col];

	key->keyless = !rencoder_key_encode(ins->group.index, col, ins->values[col], coder, &key->key);
	key->generation = generation;
	key->made = true;
}

/* Makes the key of a column by the coder that the group's header named. */
static void
encode_inserted_column(Insertion *ins, RencoderCoders *coders)
{
	int			col = ins->col;
	const RencoderCoder *coder;

	if (!rencoder_coder_find(coders, ins->group.index, col, ins->wanted, &coder))
		rencoder_page_corrupted(ins->group.index, ins->group.header,
								"The coder of a group's keys is missing.");
	make_inserted_key(ins, col, ins->wanted, coder);
}

/* Finds the tail of the pending list. */
static void
find_tail(Insertion *ins, InsertCache *cache)
{
	Relation	index = ins->group.index;
	RencoderPath path = rencoder_meta_path(index);
	bool		closed;
	uint64		npages;

	/* Maybe what the session inserted into last, or another statement of it. */
	if (path.tail != RENCODER_NO_BLOCK && path.tail != cache->tail)
	{
		cache->tail = path.tail;
		return;
	}
	cache->tail = path.tail = rencoder_pending_find_tail(index, &closed, &npages);
	rencoder_meta_keep_path(index, &path);
	if (closed)
		ins->npages = npages;
}

/*
 * Rounds end: a key that was made is there for as long as the group's coders are the same, and a
 * maintainer reads the table, or part of it, before they are others.  A tail that was found had room;
 * if it has none any more, others have put their entries there.
 */
static void
insert_tuple(Insertion *ins, InsertCache *cache)
{
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		switch (try_insert(ins, cache->tail))
		{
			case INSERT_DONE:
				return;
			case INSERT_ENCODE:
				encode_inserted_column(ins, cache->coders);
				break;
			case INSERT_TAIL:
				find_tail(ins, cache);
				break;
		}
	}
}

static void
prepare_insert_cache(InsertCache *cache, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	cache->coders = rencoder_coders_create(false);
	cache->context = AllocSetContextCreate(context, "rencoder insert",
										   ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(old);
}

/*
 * Puts in a tuple of a range that has a summary, or is getting one.  Returns how long the pending
 * list has become by it, 0 if it has not.
 */
static uint64
insert_values(Relation index, const RencoderMeta *meta, BlockNumber header, BlockNumber page,
			  OffsetNumber offset, const Datum *values, const bool *isnull, InsertCache *cache)
{
	MemoryContext old = MemoryContextSwitchTo(cache->context);
	uint64		range = rencoder_range_of_block(meta, page);
	Insertion	ins;

	memset(&ins, 0, sizeof(ins));
	ins.group.index = index;
	ins.group.meta = meta;
	ins.group.number = rencoder_group_of_range(range);
	ins.group.header = header;
	ins.slot = rencoder_slot_of_range(range);
	ins.page = page;
	ins.offset = offset;
	ins.values = values;
	ins.isnull = isnull;

	/* Most keys want no coder: they are there before any lock is taken. */
	for (int col = 0; col < meta->natts; col++)
	{
		if (!isnull[col] && !rencoder_key_is_coded(index, col))
			make_inserted_key(&ins, col, 0, NULL);
	}
	insert_tuple(&ins, cache);
	MemoryContextSwitchTo(old);
	MemoryContextReset(cache->context);
	return ins.npages;
}

/*
 * COPY puts up to 1,000 rows into the table, and only then into its indexes.
 * Where all of these were in place when the range was found unsummarized, that
 * finding holds for all of them: the summarizer sets "summarizing" after it, and
 * scans the table after that (INV-3).
 *
 * How we know that a row was in place: the heap writes a row's WAL record, from
 * this process, after the row is on its page.  If this process has written no
 * record since before it read the state, it has not put a row since.
 */
static inline bool
insert_state_is_known(const InsertCache *cache, Relation heap, const IndexInfo *indexInfo,
					  uint64 range)
{
	return cache->looked_at == ProcLastRecPtr && cache->looked_range == range &&
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
	RencoderMeta meta_copy;
	const RencoderMeta *meta = &meta_copy;
	uint64		range;
	BlockNumber header;
	XLogRecPtr	record;

	/* Another row of a page of which all is known: most rows of a COPY. */
	if (cache != NULL && block == cache->looked_block &&
		ItemPointerGetOffsetNumber(heap_tid) != FirstOffsetNumber &&
		insert_state_is_known(cache, heap, indexInfo, cache->looked_range))
		return false;

	/*
	 * A copy: support functions may look at catalogs, and an invalidation
	 * that arrives then frees rd_amcache.
	 */
	meta_copy = *rencoder_meta_get(index);
	range = rencoder_range_of_block(meta, block);
	if (cache == NULL)
		cache = indexInfo->ii_AmCache = MemoryContextAllocZero(indexInfo->ii_Context,
															   sizeof(InsertCache));
	if (rencoder_autosummarize_due(&cache->progress, range, heap_tid))
		rencoder_autosummarize(index, heap, indexInfo, meta, &cache->progress);

	if (insert_state_is_known(cache, heap, indexInfo, range))
	{
		cache->looked_block = block;
		return false;
	}
	cache->looked_at = InvalidXLogRecPtr;
	record = ProcLastRecPtr;

	/*
	 * Most rows go where there is no summary yet, and are none of our
	 * business.
	 */
	header = rencoder_group_header_if_taking_entries(index, meta, range);
	if (header != RENCODER_NO_BLOCK)
	{
		uint64		npending;

		if (cache->context == NULL)
			prepare_insert_cache(cache, indexInfo->ii_Context);
		npending = insert_values(index, meta, header, block, rencoder_heap_find_root(heap, heap_tid),
								 values, isnull, cache);
		if (npending > 0)
			rencoder_autosummarize_pending(index, indexInfo, npending);
	}
	else
	{
		cache->looked_at = record;
		cache->looked_range = range;
		cache->looked_block = block;
	}
	return false;
}
