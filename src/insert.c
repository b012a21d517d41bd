/*
 * insert.c
 *		aminsert: keeping the summary of a range true to its new tuple.
 *
 * The heap tuple is in place before we are called, and the range's state is
 * read here under the header's content lock, every time (INV-3).  So:
 *
 *	- unsummarized: nothing to do; this has cost the reading of one page.
 *	  Whoever summarizes the range later sets "summarizing" first and scans the
 *	  heap after, and finds our tuple.
 *	- summarizing or summarized: the summary must cover the key before we
 *	  return.  If bounds or flags must widen, directory page and header are
 *	  taken exclusively and everything is looked at anew (INV-6); the bits
 *	  themselves are set under the header's share lock, which keeps the
 *	  extents in place.
 *	  Keys that want a coder are made by the one that the group's header names,
 *	  without any lock, and the header is looked at anew.
 *	- summarizing, but some column has no storage for it yet: the range goes back
 *	  to unsummarized.  The summarizer notices when it publishes its work, and
 *	  tries again, this time with the storage in place.
 */
#include "rencoder.h"

#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"

#include "format/format.h"
#include "key/key.h"
#include "worker/autosummarize.h"

/* What a statement remembers between its calls. */
typedef struct InsertCache
{
	RencoderProgress progress;
	XLogRecPtr	looked_at;		/* see state_is_known() */
	uint64		looked_range;
	BlockNumber looked_block;	/* of this range; the last one that had a row */
	MemoryContext context;		/* reset after each tuple; NULL until needed */
	RencoderCoders *coders;
} InsertCache;

typedef enum InsertStep
{
	INSERT_DONE,
	INSERT_ENCODE,				/* a key is needed, by another coder than
								 * before */
	INSERT_CANCEL,				/* the range must go back to unsummarized */
	INSERT_WIDEN				/* bounds or flags of a column must widen */
} InsertStep;

/* The key of a column by one generation of its coder. */
typedef struct InsertKey
{
	bool		made;
	uint32		generation;
	uint64		key;
	bool		keyless;		/* no single key stands for the value */
} InsertKey;

/* A tuple on its way into the index. */
typedef struct Insertion
{
	Relation	index;
	const RencoderMeta *meta;
	uint32		group;
	unsigned int slot;
	BlockNumber header;			/* first header page of the group */
	const Datum *values;
	const bool *isnull;

	/* A column needs two while its group is rebuilt with another coder. */
	InsertKey	keys[INDEX_MAX_KEYS][2];

	int			col;			/* that the next step is about */
	uint32		wanted;			/* INSERT_ENCODE: generation of its coder */
	uint64		missing_at;		/* metapage epoch when it was missing */
	bool		refused;		/* INSERT_WIDEN: its format refused the key, */
	bool		next_refused;	/* or that of the matrix under construction */
} Insertion;

/* The key of a column by a generation of its coder; NULL: not made yet. */
static const InsertKey *
find_key(const Insertion *ins, int col, uint32 generation)
{
	for (int i = 0; i < 2; i++)
	{
		if (ins->keys[col][i].made && ins->keys[col][i].generation == generation)
			return &ins->keys[col][i];
	}
	return NULL;
}

/* Do the bounds and the flag of a range cover a key? */
static bool
covers(const uint64 *min, const uint64 *max, const uint8 *always, unsigned int slot,
	   const InsertKey *key)
{
	if (key->keyless)
		return rencoder_set_test(always, slot) && min[slot] == 0 && max[slot] == PG_UINT64_MAX;
	return key->key >= min[slot] && key->key <= max[slot];
}

/* Widens them. */
static void
cover(uint64 *min, uint64 *max, uint8 *always, unsigned int slot, const InsertKey *key,
	  bool refused)
{
	min[slot] = Min(min[slot], key->keyless ? 0 : key->key);
	max[slot] = Max(max[slot], key->keyless ? PG_UINT64_MAX : key->key);
	if (refused || key->keyless)
		rencoder_set_add(always, slot);
}

/*
 * Sets the bits of a key in the present storage; false if it was refused.
 */
static bool
set_bits(const Insertion *ins, RencoderHeader header, uint64 key)
{
	const RencoderFormat *format = rencoder_format_require(ins->index, &header->config);
	RencoderSlab slab = {ins->index, &header->config, header->matrix,
	RENC_MATRIX_WIDTH, false};
	unsigned int slot = ins->slot;

	if (header->matrix.start == RENCODER_NO_BLOCK)
	{
		slab.extent = header->slice[slot / RENC_SLICE_RANGES];
		slab.width = RENC_SLICE_WIDTH;
		slot %= RENC_SLICE_RANGES;
	}
	return format->insert(&slab, slot, key) != RENCODER_INSERT_REFUSED;
}

/*
 * The same in the matrix under construction.  That comes after the present
 * storage (INV-7).
 */
static bool
set_next_bits(const Insertion *ins, RencoderHeader header, uint64 key)
{
	bool		rebuilt = rencoder_is_rebuilt(header);
	const RencoderConfig *config = rebuilt ? &header->next_config : &header->config;
	RencoderSlab slab = {ins->index, config, header->next, RENC_MATRIX_WIDTH, !rebuilt};

	return rencoder_format_require(ins->index, config)->insert(&slab, ins->slot, key) !=
		RENCODER_INSERT_REFUSED;
}

/* What is to be done about a value in a column whose keys are there. */
static InsertStep
insert_key(Insertion *ins, RencoderHeader header, const InsertKey *key,
		   const InsertKey *next_key)
{
	unsigned int slot = ins->slot;

	if (!rencoder_set_test(header->has_value, slot) ||
		!covers(header->min, header->max, header->always, slot, key) ||
		(next_key && !covers(header->next_min, header->next_max, header->next_always,
							 slot, next_key)))
		return INSERT_WIDEN;
	if (!rencoder_set_test(header->always, slot) && !set_bits(ins, header, key->key))
		ins->refused = true;
	if (next_key != NULL)
		ins->next_refused = !rencoder_set_test(header->next_always, slot) &&
			!set_next_bits(ins, header, next_key->key);
	else if (header->next.start != RENCODER_NO_BLOCK && !rencoder_set_test(header->always, slot))
		(void) set_next_bits(ins, header, key->key);
	return ins->refused || ins->next_refused ? INSERT_WIDEN : INSERT_DONE;
}

static InsertStep
insert_column(Insertion *ins, RencoderHeader header, int col)
{
	bool		rebuilt = rencoder_is_rebuilt(header);
	const InsertKey *key;
	const InsertKey *next_key = NULL;

	ins->col = col;
	ins->refused = ins->next_refused = false;
	if (!rencoder_has_storage(header, ins->slot))
		return INSERT_CANCEL;
	if (ins->isnull[col])
		return rencoder_set_test(header->has_null, ins->slot) ? INSERT_DONE : INSERT_WIDEN;
	ins->wanted = header->config.coder;
	key = find_key(ins, col, ins->wanted);
	if (key != NULL && rebuilt)
	{
		ins->wanted = header->next_config.coder;
		next_key = find_key(ins, col, ins->wanted);
	}
	if (key == NULL || (rebuilt && next_key == NULL))
		return INSERT_ENCODE;
	return insert_key(ins, header, key, next_key);
}

/*
 * One attempt under the header's share lock.  Locks: none on entry and exit.
 */
static InsertStep
try_insert(Insertion *ins)
{
	Buffer		buf = rencoder_group_read_header(ins->index, ins->header, ins->group, 0,
												 BUFFER_LOCK_SHARE);
	RencoderHeader header = RencoderPageGetHeader(BufferGetPage(buf));
	InsertStep	step = INSERT_DONE;
	bool		summarizing = rencoder_set_test(header->summarizing, ins->slot);
	bool		summarized = rencoder_set_test(header->summarized, ins->slot);

	if (!summarizing && !summarized)
	{
		UnlockReleaseBuffer(buf);
		return INSERT_DONE;
	}

	step = insert_column(ins, header, 0);
	for (int col = 1; col < ins->meta->natts && step == INSERT_DONE; col++)
	{
		Buffer		colbuf = rencoder_group_read_header(ins->index, ins->header, ins->group,
														col, BUFFER_LOCK_SHARE);

		step = insert_column(ins, RencoderPageGetHeader(BufferGetPage(colbuf)), col);
		UnlockReleaseBuffer(colbuf);
	}
	UnlockReleaseBuffer(buf);
	if (step == INSERT_CANCEL && summarized)
		rencoder_page_corrupted(ins->index, ins->header + ins->col,
								"A summarized range has no storage.");
	return step;
}

/* Takes a range back to unsummarized, if the column is still without storage. */
static void
cancel_summarizing(const Insertion *ins)
{
	Buffer		buf = rencoder_group_read_header(ins->index, ins->header, ins->group, 0,
												 BUFFER_LOCK_EXCLUSIVE);
	Buffer		colbuf = ins->col == 0 ? buf :
		rencoder_group_read_header(ins->index, ins->header, ins->group, ins->col,
								   BUFFER_LOCK_SHARE);
	RencoderHeader header = RencoderPageGetHeader(BufferGetPage(buf));

	if (rencoder_set_test(header->summarizing, ins->slot) &&
		!rencoder_has_storage(RencoderPageGetHeader(BufferGetPage(colbuf)), ins->slot))
	{
		RencoderWal *wal = rencoder_wal_begin(ins->index, true);

		header = RencoderPageGetHeader(rencoder_wal_register(wal, buf));
		rencoder_set_remove(header->summarizing, ins->slot);
		rencoder_wal_finish(wal);
	}
	if (colbuf != buf)
		UnlockReleaseBuffer(colbuf);
	UnlockReleaseBuffer(buf);
}

/* Widens bounds and flags on the images of the pages. */
static void
apply_widening(const Insertion *ins, RencoderHeader header, RencoderEntry entry)
{
	int			col = ins->col;
	const InsertKey *key;
	const InsertKey *next_key;

	if (ins->isnull[col])
	{
		rencoder_set_add(header->has_null, ins->slot);
		return;
	}

	/*
	 * If one is missing, the group has got another coder meanwhile, and the
	 * next round makes it.  The formats that refused may be others by now,
	 * too; then "always" is set without need.
	 */
	rencoder_set_add(header->has_value, ins->slot);
	key = find_key(ins, col, header->config.coder);
	next_key = rencoder_is_rebuilt(header) ?
		find_key(ins, col, header->next_config.coder) : NULL;
	if (key != NULL)
	{
		cover(header->min, header->max, header->always, ins->slot, key, ins->refused);
		entry->column[col].min = Min(entry->column[col].min, header->min[ins->slot]);
		entry->column[col].max = Max(entry->column[col].max, header->max[ins->slot]);
		if (rencoder_set_test(header->always, ins->slot))
			entry->flags |= RENCODER_ENTRY_ALWAYS;
	}
	if (next_key != NULL)
		cover(header->next_min, header->next_max, header->next_always, ins->slot,
			  next_key, ins->next_refused);
}

/*
 * Widens bounds and flags of a column in directory and header, in one record.
 * Locks: directory page, first header page and the column's, exclusive; none
 * on entry and exit.
 */
static void
widen(const Insertion *ins)
{
	int			col = ins->col;
	BlockNumber dir_blkno = rencoder_directory_find(ins->index, ins->meta, NULL,
													ins->group, NULL);
	Buffer		dirbuf = rencoder_page_read(ins->index, dir_blkno,
											BUFFER_LOCK_EXCLUSIVE,
											RENCODER_PAGE_DIRECTORY);
	Buffer		firstbuf = rencoder_group_read_header(ins->index, ins->header, ins->group, 0,
													  BUFFER_LOCK_EXCLUSIVE);
	Buffer		colbuf = col == 0 ? firstbuf :
		rencoder_group_read_header(ins->index, ins->header, ins->group, col,
								   BUFFER_LOCK_EXCLUSIVE);
	RencoderHeader first = RencoderPageGetHeader(BufferGetPage(firstbuf));

	if (rencoder_set_test(first->summarizing, ins->slot) ||
		rencoder_set_test(first->summarized, ins->slot))
	{
		RencoderWal *wal = rencoder_wal_begin(ins->index, true);
		Page		dirpage = rencoder_wal_register(wal, dirbuf);
		Page		colpage = rencoder_wal_register(wal, colbuf);

		apply_widening(ins, RencoderPageGetHeader(colpage),
					   rencoder_directory_entry(RencoderPageGetPayload(dirpage),
												ins->meta, ins->group));
		rencoder_wal_finish(wal);
	}
	if (colbuf != firstbuf)
		UnlockReleaseBuffer(colbuf);
	UnlockReleaseBuffer(firstbuf);
	UnlockReleaseBuffer(dirbuf);
}

/* Makes a key; it replaces the older of two. */
static void
make_key(Insertion *ins, int col, uint32 generation, const RencoderCoder *coder)
{
	InsertKey  *key = &ins->keys[col][0];

	ins->keys[col][1] = *key;
	key->keyless = !rencoder_key_encode(ins->index, col, ins->values[col], coder, &key->key);
	key->generation = generation;
	key->made = true;
}

/* Makes the key of a column by the coder that the group's header named. */
static void
encode_column(Insertion *ins, RencoderCoders *coders)
{
	int			col = ins->col;
	const RencoderCoder *coder;

	if (!rencoder_coder_find(coders, ins->index, col, ins->wanted, &coder))
	{
		/* Removed since: then the group has another one by now. */
		uint64		epoch = rencoder_meta_epoch(ins->index);

		if (ins->missing_at == epoch)
			rencoder_page_corrupted(ins->index, ins->header,
									"The coder of a group's keys is missing.");
		ins->missing_at = epoch;
		return;
	}
	make_key(ins, col, ins->wanted, coder);
}

/* Each round sees more of the tuple covered, so the loop ends. */
static void
insert_tuple(Insertion *ins, RencoderCoders *coders)
{
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		switch (try_insert(ins))
		{
			case INSERT_DONE:
				return;
			case INSERT_ENCODE:
				encode_column(ins, coders);
				break;
			case INSERT_CANCEL:
				cancel_summarizing(ins);
				break;
			case INSERT_WIDEN:
				widen(ins);
				break;
		}
	}
}

static void
prepare_cache(InsertCache *cache, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	cache->coders = rencoder_coders_create();
	cache->context = AllocSetContextCreate(context, "rencoder insert",
										   ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(old);
}

/* Covers a tuple of a range that has a summary, or is getting one. */
static void
insert_values(Relation index, const RencoderMeta *meta, BlockNumber header, uint64 range,
			  const Datum *values, const bool *isnull, InsertCache *cache)
{
	MemoryContext old = MemoryContextSwitchTo(cache->context);
	Insertion	ins;

	memset(&ins, 0, sizeof(ins));
	ins.index = index;
	ins.meta = meta;
	ins.group = rencoder_group_of_range(range);
	ins.slot = rencoder_slot_of_range(range);
	ins.header = header;
	ins.values = values;
	ins.isnull = isnull;

	/* Most keys want no coder: they are there before any lock is taken. */
	for (int col = 0; col < meta->natts; col++)
	{
		if (!isnull[col] && !rencoder_key_is_coded(index, col))
			make_key(&ins, col, 0, NULL);
	}
	insert_tuple(&ins, cache->coders);
	MemoryContextSwitchTo(old);
	MemoryContextReset(cache->context);
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
state_is_known(const InsertCache *cache, Relation heap, const IndexInfo *indexInfo,
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
		state_is_known(cache, heap, indexInfo, cache->looked_range))
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

	if (state_is_known(cache, heap, indexInfo, range))
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
	header = rencoder_group_header_if_summarized(index, meta, range);
	if (header != RENCODER_NO_BLOCK)
	{
		if (cache->context == NULL)
			prepare_cache(cache, indexInfo->ii_Context);
		insert_values(index, meta, header, range, values, isnull, cache);
	}
	else
	{
		cache->looked_at = record;
		cache->looked_range = range;
		cache->looked_block = block;
	}
	return false;
}
