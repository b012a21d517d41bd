/*
 * insert.c
 *		aminsert: keeping the summary of a range true to its new tuple.
 *
 * The heap tuple is in place before we are called, and the range's state is
 * read here under the header's content lock, in every call that cannot rely on
 * an earlier one (INV-3; see state_is_known()).  So:
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
 *	- covered: there is no storage.  Bounds and flags are kept as above; the key goes to
 *	  the pending list, last (insert_late.c, INV-11).
 *	- flushing: its keys are being read for another run.  Bits are set if it is not
 *	  covered, and the key goes to the pending list (INV-13).
 */
#include "insert_late.h"

#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"

#include "format/format_filter.h"
#include "key/key.h"
#include "store/group_edit.h"
#include "worker/autosummarize.h"

/* What a statement remembers between its calls. */
typedef struct InsertCache
{
	RencoderProgress progress;
	XLogRecPtr	looked_at;		/* see state_is_known() */
	uint64		looked_range;
	BlockNumber looked_block;	/* of this range; the last one that had a row */
	MemoryContext statement;	/* it lives there, and what it refers to */
	MemoryContext context;		/* reset after each tuple; NULL until needed */
	RencoderCoders *coders;
	RencoderLateCache late;
} InsertCache;

typedef enum InsertStep
{
	INSERT_DONE,
	INSERT_ENCODE,				/* a key is needed, by another coder than
								 * before */
	INSERT_CANCEL,				/* the range must go back to unsummarized */
	INSERT_WIDEN,				/* bounds or flags of a column must widen */
	INSERT_SEARCH,				/* the run may have the keys already */
	INSERT_TAIL					/* the pending list has another tail */
} InsertStep;

/*
 * Where keys of a column go: into its present storage, and into the matrix under construction, if
 * there is one.
 */
#define MAX_STORAGES	2

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
	RencoderGroup group;
	unsigned int slot;
	BlockNumber page;			/* of the table */
	const Datum *values;
	const bool *isnull;

	/* By different coders, while the group is rebuilt with another one. */
	InsertKey	keys[INDEX_MAX_KEYS][MAX_STORAGES];

	int			col;			/* that the next step is about */
	uint32		wanted;			/* INSERT_ENCODE: generation of its coder */
	uint64		missing_at;		/* metapage epoch when it was missing */
	bool		covered;		/* the range has no storage */
	bool		flushing;
	RencoderLateRow late;		/* if it is covered or flushing */
	uint32		run;			/* INSERT_SEARCH: to be searched */
} Insertion;

/* The key of a column by a generation of its coder; NULL: not made yet. */
static const InsertKey *
find_key(const Insertion *ins, int col, uint32 generation)
{
	for (int i = 0; i < MAX_STORAGES; i++)
	{
		if (ins->keys[col][i].made && ins->keys[col][i].generation == generation)
			return &ins->keys[col][i];
	}
	return NULL;
}

/* A storage of the range in a column, and what its header says of the range's keys there. */
typedef struct InsertStorage
{
	RencoderSlab slab;
	unsigned int slot;			/* of the slab */
	uint64	   *min;
	uint64	   *max;
	uint8	   *always;
	const InsertKey *key;		/* NULL: not made yet */
} InsertStorage;

/*
 * The storages of the range in a column, in the order in which bits are set: those in the matrix
 * under construction come last (INV-7).  Returns how many.
 */
static int
find_storages(const Insertion *ins, int col, RencoderHeader header, InsertStorage *storage)
{
	bool		rebuilt = rencoder_is_rebuilt(header);
	InsertStorage *present = &storage[0];
	InsertStorage *next = &storage[1];
	int			n = header->next.start == RENCODER_NO_BLOCK ? 1 : 2;

	memset(present, 0, sizeof(*present));
	(void) rencoder_slab_of(ins->group.index, header, ins->slot, &present->slab, &present->slot);
	present->min = header->min;
	present->max = header->max;
	present->always = header->always;

	*next = *present;
	next->slab = rencoder_slab_whole(ins->group.index,
									 rebuilt ? &header->next_config : &header->config, header->next);
	next->slab.unfinished = !rebuilt;
	next->slot = ins->slot;
	if (rebuilt)
	{
		next->min = header->next_min;
		next->max = header->next_max;
		next->always = header->next_always;
	}

	for (int i = 0; i < n; i++)
		storage[i].key = find_key(ins, col, storage[i].slab.config->coder);
	return n;
}

/* Do the bounds and the flag of a range cover the key? */
static bool
covers(const Insertion *ins, const InsertStorage *storage)
{
	uint64		min = storage->min[ins->slot];
	uint64		max = storage->max[ins->slot];

	if (storage->key->keyless)
		return rencoder_set_test(storage->always, ins->slot) && min == 0 && max == PG_UINT64_MAX;
	return storage->key->key >= min && storage->key->key <= max;
}

/* Widens them. */
static void
cover(const Insertion *ins, const InsertStorage *storage)
{
	const InsertKey *key = storage->key;
	uint64	   *min = &storage->min[ins->slot];
	uint64	   *max = &storage->max[ins->slot];

	*min = Min(*min, key->keyless ? 0 : key->key);
	*max = Max(*max, key->keyless ? PG_UINT64_MAX : key->key);
	if (key->keyless)
		rencoder_set_add(storage->always, ins->slot);
}

/* What is to be done about a value in a column; its bits are set, unless the range is covered. */
static InsertStep
insert_value(Insertion *ins, RencoderHeader header, int col)
{
	InsertStorage storage[MAX_STORAGES];
	int			n = find_storages(ins, col, header, storage);

	for (int i = 0; i < n; i++)
	{
		ins->wanted = storage[i].slab.config->coder;
		if (storage[i].key == NULL)
			return INSERT_ENCODE;
	}
	if (!rencoder_set_test(header->has_value, ins->slot))
		return INSERT_WIDEN;
	for (int i = 0; i < n; i++)
	{
		if (!covers(ins, &storage[i]))
			return INSERT_WIDEN;
	}
	if ((ins->covered || ins->flushing) && !storage[0].key->keyless)
		rencoder_late_add(&ins->late, ins->group.meta->natts, col, storage[0].key->key,
						  storage[0].key->generation);
	if (ins->covered)
		return INSERT_DONE;
	for (int i = 0; i < n; i++)
	{
		if (!rencoder_set_test(storage[i].always, ins->slot))
			rencoder_filter_insert(&storage[i].slab, storage[i].slot, storage[i].key->key);
	}
	return INSERT_DONE;
}

static InsertStep
insert_column(Insertion *ins, RencoderHeader header, int col)
{
	ins->col = col;
	if (!ins->covered && !rencoder_has_storage(header, ins->slot))
		return INSERT_CANCEL;
	if (!ins->isnull[col])
		return insert_value(ins, header, col);
	return rencoder_set_test(header->has_null, ins->slot) ? INSERT_DONE : INSERT_WIDEN;
}

/*
 * The pending entry of a row, whose columns are done.  While the range is flushing a run that has
 * the keys already does not help: the one that takes its place may have been made of the page
 * before the row came (INV-14).
 */
static InsertStep
put_late(Insertion *ins, const RencoderHeaderData *first, const RencoderLateCache *cache)
{
	ins->run = first->run;
	ins->late.may_be_named &= ins->covered && !ins->flushing;
	switch (rencoder_late_put(ins->group.index, &ins->late, first->run, cache))
	{
		case RENCODER_LATE_DONE:
			break;
		case RENCODER_LATE_SEARCH:
			return INSERT_SEARCH;
		case RENCODER_LATE_TAIL:
			return INSERT_TAIL;
	}
	return INSERT_DONE;
}

/* All columns of a range that is summarizing or summarized, under the first header's lock. */
static InsertStep
insert_columns(Insertion *ins, RencoderHeader first, const RencoderLateCache *cache)
{
	const RencoderGroup *group = &ins->group;
	InsertStep	step;

	ins->covered = rencoder_set_test(first->covered, ins->slot);
	ins->flushing = rencoder_set_test(first->flushing, ins->slot);
	if (ins->covered || ins->flushing)
		rencoder_late_begin(&ins->late, ins->page, group->meta->natts);
	step = insert_column(ins, first, 0);
	for (int col = 1; col < group->meta->natts && step == INSERT_DONE; col++)
	{
		Buffer		buf = rencoder_group_read_header(group->index, group->header, group->number, col,
													 BUFFER_LOCK_SHARE);

		step = insert_column(ins, RencoderPageGetHeader(BufferGetPage(buf)), col);
		UnlockReleaseBuffer(buf);
	}
	if ((ins->covered || ins->flushing) && step == INSERT_DONE)
		step = put_late(ins, first, cache);
	return step;
}

/*
 * One attempt under the header's share lock.  Locks: none on entry and exit.
 */
static InsertStep
try_insert(Insertion *ins, const RencoderLateCache *cache)
{
	const RencoderGroup *group = &ins->group;
	Buffer		buf = rencoder_group_read_header(group->index, group->header, group->number, 0,
												 BUFFER_LOCK_SHARE);
	RencoderHeader first = RencoderPageGetHeader(BufferGetPage(buf));
	bool		summarizing = rencoder_set_test(first->summarizing, ins->slot);
	bool		summarized = rencoder_set_test(first->summarized, ins->slot);
	InsertStep	step = INSERT_DONE;

	if (summarizing || summarized)
		step = insert_columns(ins, first, cache);
	UnlockReleaseBuffer(buf);
	if (step == INSERT_CANCEL && summarized)
		rencoder_page_corrupted(group->index, group->header + ins->col,
								"A summarized range has no storage.");
	return step;
}

/* Takes a range back to unsummarized, if the column is still without storage. */
static void
cancel_summarizing(const Insertion *ins)
{
	RencoderGroupEdit edit;

	rencoder_group_edit_begin(&edit, &ins->group, ins->col, RENCODER_EDIT_HEADERS, 0);
	if (rencoder_set_test(edit.first->summarizing, ins->slot) &&
		!rencoder_has_storage(edit.header, ins->slot))
		rencoder_set_remove(rencoder_group_edit_first(&edit)->summarizing, ins->slot);
	rencoder_group_edit_finish(&edit);
}

/* Widens bounds and flags on the images of the pages. */
static void
apply_widening(const Insertion *ins, RencoderHeader header, RencoderEntry entry)
{
	RencoderEntryColumn *bounds = &entry->column[ins->col];
	InsertStorage storage[MAX_STORAGES];
	int			n;

	if (ins->isnull[ins->col])
	{
		rencoder_set_add(header->has_null, ins->slot);
		return;
	}

	/*
	 * If a key is missing, the group has got another coder meanwhile, and the
	 * next round makes it.
	 */
	rencoder_set_add(header->has_value, ins->slot);
	n = find_storages(ins, ins->col, header, storage);
	for (int i = 0; i < n; i++)
	{
		if (storage[i].key != NULL)
			cover(ins, &storage[i]);
	}
	bounds->min = Min(bounds->min, header->min[ins->slot]);
	bounds->max = Max(bounds->max, header->max[ins->slot]);
	if (rencoder_set_test(header->always, ins->slot))
		entry->flags |= RENCODER_ENTRY_ALWAYS;
}

/*
 * Widens bounds and flags of a column in directory and header, in one record.
 * Locks: directory page, first header page and the column's, exclusive; none
 * on entry and exit.
 */
static void
widen(Insertion *ins)
{
	RencoderGroupEdit edit;

	if (ins->group.directory == RENCODER_NO_BLOCK)
		ins->group.directory = rencoder_directory_find(ins->group.index, ins->group.meta, NULL,
													   ins->group.number, NULL);
	rencoder_group_edit_begin(&edit, &ins->group, ins->col, RENCODER_EDIT_ENTRY, 0);
	if (rencoder_set_test(edit.first->summarizing, ins->slot) ||
		rencoder_set_test(edit.first->summarized, ins->slot))
		apply_widening(ins, rencoder_group_edit_header(&edit), rencoder_group_edit_entry(&edit));
	rencoder_group_edit_finish(&edit);
}

/* Makes a key; it takes the place of the oldest. */
static void
make_key(Insertion *ins, int col, uint32 generation, const RencoderCoder *coder)
{
	InsertKey  *key = &ins->keys[col][0];

	memmove(key + 1, key, (MAX_STORAGES - 1) * sizeof(InsertKey));
	key->keyless = !rencoder_key_encode(ins->group.index, col, ins->values[col], coder, &key->key);
	key->generation = generation;
	key->made = true;
}

/* Makes the key of a column by the coder that the group's header named. */
static void
encode_column(Insertion *ins, RencoderCoders *coders)
{
	int			col = ins->col;
	const RencoderCoder *coder;

	if (!rencoder_coder_find(coders, ins->group.index, col, ins->wanted, &coder))
	{
		/* Removed since: then the group has another one by now. */
		uint64		epoch = rencoder_meta_epoch(ins->group.index);

		if (ins->missing_at == epoch)
			rencoder_page_corrupted(ins->group.index, ins->group.header,
									"The coder of a group's keys is missing.");
		ins->missing_at = epoch;
		return;
	}
	make_key(ins, col, ins->wanted, coder);
}

/*
 * Rounds end, because what one mends comes back only by the hand of a maintainer, who reads the
 * table, or part of it, in between:
 *
 *	- A key that was made is there for as long as the group's coders are the same.
 *	- A cancelled range is unsummarized, which is the end, until it is "summarizing" again.
 *	- Bounds and flags that were widened stay so until the range is summarized again, or the group
 *	  rebuilt (INV-2).
 *	- A run that was searched is the group's as long as nobody gives it another one.
 *
 * So while nobody maintains the group, a column takes MAX_STORAGES keys and a widening for its
 * bounds, and one cancellation ends it all.  A tail that was found had room; if
 * it has none any more, others have put their entries there.
 */
static void
insert_tuple(Insertion *ins, InsertCache *cache)
{
	Relation	index = ins->group.index;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		switch (try_insert(ins, &cache->late))
		{
			case INSERT_DONE:
				return;
			case INSERT_ENCODE:
				encode_column(ins, cache->coders);
				break;
			case INSERT_CANCEL:
				cancel_summarizing(ins);
				break;
			case INSERT_WIDEN:
				widen(ins);
				break;
			case INSERT_SEARCH:
				rencoder_late_search(index, &ins->late, ins->group.meta->natts, ins->run,
									 &cache->late, cache->statement);
				break;
			case INSERT_TAIL:
				rencoder_late_find_tail(index, &ins->late, &cache->late);
				break;
		}
	}
}

static void
prepare_cache(InsertCache *cache, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	cache->statement = context;
	cache->coders = rencoder_coders_create();
	cache->context = AllocSetContextCreate(context, "rencoder insert",
										   ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(old);
}

/*
 * Covers a tuple of a range that has a summary, or is getting one.  "may_be_named": see
 * insert_late.h.  Returns how long the pending list has become by it, 0 if it has not.
 */
static uint64
insert_values(Relation index, const RencoderMeta *meta, BlockNumber header, BlockNumber page,
			  const Datum *values, const bool *isnull, bool may_be_named, InsertCache *cache)
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
	ins.values = values;
	ins.isnull = isnull;
	ins.late.may_be_named = may_be_named;

	/* Most keys want no coder: they are there before any lock is taken. */
	for (int col = 0; col < meta->natts; col++)
	{
		if (!isnull[col] && !rencoder_key_is_coded(index, col))
			make_key(&ins, col, 0, NULL);
	}
	insert_tuple(&ins, cache);
	MemoryContextSwitchTo(old);
	MemoryContextReset(cache->context);
	return ins.late.npages;
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
		uint64		npending;

		if (cache->context == NULL)
			prepare_cache(cache, indexInfo->ii_Context);
		npending = insert_values(index, meta, header, block, values, isnull,
								 indexUnchanged || indexInfo->ii_Concurrent, cache);
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
