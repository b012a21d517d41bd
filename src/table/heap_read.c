/*
 * heap_read.c
 *		Reading the rows of a table's blocks for an index.
 *
 * heapam_index_build_range_scan() locks the page twice for each row, because
 * its tuples stay where they are, and evaluates the index's columns through an
 * executor slot: two thirds of the time that a build takes.  Here a page is locked
 * once, to look at its tuples' visibility and the roots of its HOT chains, and to copy it.
 */
#include "table/heap_read.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "executor/tuptable.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"

#include "base/options.h"
#include "store/horizon.h"

/* Blocks whose line pointers are counted, and the part of them that has no more than is said. */
#define COUNTED_BLOCKS	64
#define COUNTED_PART	0.9

/* A page's tuples that may be visible to anyone, and the page as it was then. */
typedef struct PageTuples
{
	PGAlignedBlock page;
	int			ntuples;
	OffsetNumber offset[MaxHeapTuplesPerPage];
	bool		heap_only;		/* is one of them? */
	OffsetNumber root[MaxHeapTuplesPerPage];	/* if so: of the chain that
												 * each offset - 1 is in */
	bool		alive[MaxHeapTuplesPerPage];	/* as in IndexBuildCallback */
	TransactionId deleter[MaxHeapTuplesPerPage];	/* that has committed; or
													 * invalid */
	double		live;			/* counted as ANALYZE does */
	TransactionId inserting;	/* was in progress when a tuple was looked at */
	TransactionId dead_until;	/* the last deleter of the dead ones left out */
	TransactionId left_out_until;	/* and of others, in all pages so far */
} PageTuples;

/*
 * How a tuple's columns are found.  Of several, each has all columns before it to go through, if one of
 * these has no fixed place: a slot does that once for all (a quarter of the time of reading for 20 columns
 * behind 60 of text).  Of one column, a slot would note the places of all the others for nothing.
 */
typedef struct Columns
{
	TupleDesc	desc;
	int			n;
	const AttrNumber *number;
	AttrNumber	last;			/* the greatest of them */
	TupleTableSlot *slot;		/* or NULL */
} Columns;

typedef struct BlockSource
{
	Relation	heap;
	BufferAccessStrategy strategy;
	BlockNumber next;
	BlockNumber end;
#ifdef RENCODER_HAVE_READ_STREAM
	ReadStream *stream;
#endif
} BlockSource;

/* Are all that the index has of a row plain columns of a heap table? */
static bool
heap_is_plain(Relation heap, const IndexInfo *indexInfo)
{
	if (!rencoder_is_heap(heap) || indexInfo->ii_Concurrent ||
		indexInfo->ii_Predicate != NIL)
		return false;
	for (int i = 0; i < indexInfo->ii_NumIndexAttrs; i++)
	{
		if (indexInfo->ii_IndexAttrNumbers[i] <= 0)
			return false;
	}
	return true;
}

#ifdef RENCODER_HAVE_READ_STREAM
static BlockNumber
next_heap_stream_block(ReadStream *stream, void *state, void *per_buffer_data)
{
	BlockSource *source = (BlockSource *) state;

	return source->next < source->end ? source->next++ : InvalidBlockNumber;
}
#endif

static void
heap_source_open(BlockSource *source, Relation heap, BlockNumber first, BlockNumber nblocks)
{
	source->heap = heap;
	source->next = first;
	source->end = first + nblocks;

	/* The rule of heap_beginscan() for when a scan shall not empty the cache. */
	source->strategy = NULL;
	if (!RelationUsesLocalBuffers(heap) &&
		RelationGetNumberOfBlocks(heap) > (BlockNumber) NBuffers / 4)
		source->strategy = GetAccessStrategy(BAS_BULKREAD);
#ifdef RENCODER_HAVE_READ_STREAM
	source->stream = read_stream_begin_relation(READ_STREAM_SEQUENTIAL, source->strategy,
												heap, MAIN_FORKNUM, next_heap_stream_block, source,
												0);
#endif
}

/* The next block, pinned, or InvalidBuffer. */
static Buffer
heap_source_next(BlockSource *source)
{
#ifdef RENCODER_HAVE_READ_STREAM
	return read_stream_next_buffer(source->stream, NULL);
#else
	if (source->next >= source->end)
		return InvalidBuffer;
	return ReadBufferExtended(source->heap, MAIN_FORKNUM, source->next++, RBM_NORMAL,
							  source->strategy);
#endif
}

static void
heap_source_close(BlockSource *source)
{
#ifdef RENCODER_HAVE_READ_STREAM
	read_stream_end(source->stream);
#endif
	if (source->strategy != NULL)
		FreeAccessStrategy(source->strategy);
}

/* Warns as heapam_index_build_range_scan() does: somebody has no lock. */
static void
warn_of_heap_writer(Relation heap, TransactionId xid, bool anyvisible)
{
	if (!anyvisible && !IsSystemRelation(heap) && !TransactionIdIsCurrentTransactionId(xid))
		elog(WARNING, "concurrent change in progress within table \"%s\"",
			 RelationGetRelationName(heap));
}

/* Is it known without looking at any transaction? */
static inline bool
heap_tuple_is_live(HeapTupleHeader header)
{
	return HeapTupleHeaderXminCommitted(header) && (header->t_infomask & HEAP_XMAX_INVALID) != 0;
}

/* Rises to "xid", if that is one. */
static void
rise_to_xid(TransactionId *last, TransactionId xid)
{
	if (TransactionIdIsNormal(xid) &&
		(!TransactionIdIsValid(*last) || TransactionIdFollows(xid, *last)))
		*last = xid;
}

/* By this transaction, and not deleted? */
static inline bool
heap_is_inserted_by(HeapTupleHeader header, TransactionId xid)
{
	return TransactionIdIsValid(xid) && HeapTupleHeaderGetRawXmin(header) == xid &&
		(header->t_infomask & (HEAP_XMAX_INVALID | HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID)) ==
		HEAP_XMAX_INVALID;
}

/*
 * Takes the tuple into account, unless it is dead to all.  The page is locked.
 */
static void
look_at_heap_tuple(Relation heap, Buffer buffer, HeapTuple tuple, TransactionId oldest_xmin,
				   bool anyvisible, PageTuples *tuples)
{
	HeapTupleHeader header = tuple->t_data;
	TransactionId deleter = InvalidTransactionId;
	bool		alive = true;
	bool		counts = true;

	/*
	 * Most tuples, without a call: of a loaded table; and of one that is
	 * being loaded, where asking whether the transaction is in progress locks
	 * the list of all transactions.  What was true of the page's first such
	 * tuple is taken as true of the others.
	 */
	if (heap_tuple_is_live(header))
		;
	else if (heap_is_inserted_by(header, tuples->inserting))
		counts = TransactionIdIsCurrentTransactionId(tuples->inserting);
	else
	{
		switch (HeapTupleSatisfiesVacuum(tuple, oldest_xmin, buffer))
		{
			case HEAPTUPLE_DEAD:
				/* What was rolled back may be of a column that never was. */
				if (!HeapTupleHeaderXminInvalid(header))
					rise_to_xid(&tuples->dead_until, HeapTupleHeaderGetUpdateXid(header));
				return;
			case HEAPTUPLE_LIVE:
				break;
			case HEAPTUPLE_RECENTLY_DEAD:
				alive = counts = false;
				deleter = HeapTupleHeaderGetUpdateXid(header);
				break;
			case HEAPTUPLE_INSERT_IN_PROGRESS:
				tuples->inserting = HeapTupleHeaderGetXmin(header);
				counts = TransactionIdIsCurrentTransactionId(tuples->inserting);
				warn_of_heap_writer(heap, tuples->inserting, anyvisible);
				break;
			case HEAPTUPLE_DELETE_IN_PROGRESS:
				alive = false;
				counts = !TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header));
				warn_of_heap_writer(heap, HeapTupleHeaderGetUpdateXid(header), anyvisible);
				break;
		}
	}
	if (tuples->ntuples == MaxHeapTuplesPerPage)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("block %u of table \"%s\" has more tuples than fit on a page",
						ItemPointerGetBlockNumber(&tuple->t_self), RelationGetRelationName(heap))));
	tuples->offset[tuples->ntuples] = ItemPointerGetOffsetNumber(&tuple->t_self);
	tuples->alive[tuples->ntuples] = alive;
	tuples->deleter[tuples->ntuples] = deleter;
	tuples->heap_only |= HeapTupleHeaderIsHeapOnly(header);
	tuples->ntuples++;
	tuples->live += counts ? 1 : 0;
}

/* Locks and unlocks the buffer. */
static void
take_heap_page(Relation heap, Buffer buffer, TransactionId oldest_xmin, bool anyvisible,
			   PageTuples *tuples)
{
	BlockNumber block = BufferGetBlockNumber(buffer);
	HeapTupleData tuple;
	Page		page;
	OffsetNumber max;

	tuples->ntuples = 0;
	tuples->heap_only = false;

	/*
	 * Asked for each page anew: when the transaction has been rolled back,
	 * what its tuples have in TOAST may be gone.
	 */
	tuples->inserting = InvalidTransactionId;
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	max = PageGetMaxOffsetNumber(page);
	tuple.t_tableOid = RelationGetRelid(heap);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= max; offset++)
	{
		ItemId		item = PageGetItemId(page, offset);

		if (!ItemIdIsNormal(item))
			continue;
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, block, offset);
		look_at_heap_tuple(heap, buffer, &tuple, oldest_xmin, anyvisible, tuples);
	}

	/*
	 * Here, since a copied page may have a multixact whose members are gone
	 * by then.
	 */
	if (tuples->heap_only)
		heap_get_root_tuples(page, tuples->root);
	if (tuples->ntuples > 0)
		memcpy(tuples->page.data, page, BLCKSZ);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
}

static void
heap_columns_open(Columns *columns, Relation heap, const IndexInfo *indexInfo)
{
	columns->desc = RelationGetDescr(heap);
	columns->n = indexInfo->ii_NumIndexAttrs;
	columns->number = indexInfo->ii_IndexAttrNumbers;
	columns->last = 0;
	for (int col = 0; col < columns->n; col++)
		columns->last = Max(columns->last, columns->number[col]);
	columns->slot = columns->n == 1 ? NULL :
		MakeSingleTupleTableSlot(columns->desc, &TTSOpsHeapTuple);
}

/* The values of the index; they point into the tuple. */
static void
heap_columns_get(const Columns *columns, HeapTuple tuple, Datum *values, bool *isnull)
{
	TupleTableSlot *slot = columns->slot;

	if (slot == NULL)
	{
		values[0] = heap_getattr(tuple, columns->number[0], columns->desc, &isnull[0]);
		return;
	}
	ExecStoreHeapTuple(tuple, slot, false);
	slot_getsomeattrs(slot, columns->last);
	for (int col = 0; col < columns->n; col++)
	{
		values[col] = slot->tts_values[columns->number[col] - 1];
		isnull[col] = slot->tts_isnull[columns->number[col] - 1];
	}
}

static void
heap_columns_close(Columns *columns)
{
	if (columns->slot != NULL)
		ExecDropSingleTupleTableSlot(columns->slot);
}

/* Does a value of the index stand in the TOAST table? */
static bool
heap_has_toasted(const Columns *columns, const Datum *values, const bool *isnull)
{
	for (int col = 0; col < columns->n; col++)
	{
		if (!isnull[col] &&
			TupleDescAttr(columns->desc, columns->number[col] - 1)->attlen == -1 &&
			VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(values[col])))
			return true;
	}
	return false;
}

/*
 * The block is not locked.
 *
 * A deleted tuple may be needed by a snapshot older than ours, which may end at
 * any time; then our own snapshot does not keep another VACUUM from removing what
 * the tuple has in TOAST.  So a value there cannot be fetched.  The tuple is left
 * out, and such snapshots, like those that need a version that
 * heapam_index_build_range_scan() leaves out, must do without the index.
 */
static void
give_heap_tuples(Relation heap, Relation index, const Columns *columns, BlockNumber block,
				 PageTuples *tuples, IndexBuildCallback callback, void *state)
{
	Page		page = (Page) tuples->page.data;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	HeapTupleData tuple;

	tuple.t_tableOid = RelationGetRelid(heap);
	for (int i = 0; i < tuples->ntuples; i++)
	{
		ItemId		item = PageGetItemId(page, tuples->offset[i]);

		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, block, tuples->offset[i]);
		heap_columns_get(columns, &tuple, values, isnull);
		if (TransactionIdIsValid(tuples->deleter[i]) && heap_has_toasted(columns, values, isnull))
		{
			rise_to_xid(&tuples->left_out_until, tuples->deleter[i]);
			continue;
		}
		if (tuples->heap_only)
		{
			ItemPointerSetOffsetNumber(&tuple.t_self, tuples->root[tuples->offset[i] - 1]);

			/* Nobody comes to a tuple whose update was rolled back. */
			if (!OffsetNumberIsValid(ItemPointerGetOffsetNumber(&tuple.t_self)))
				continue;
		}
		callback(index, &tuple.t_self, values, isnull, tuples->alive[i], state);
	}
	if (columns->slot != NULL)
		ExecClearTuple(columns->slot);
}

static void
raise_horizon(uint64 *horizon, uint64 to)
{
	if (horizon != NULL)
		*horizon = Max(*horizon, to);
}

/* Reads by PostgreSQL's own scan, which does not say what it leaves out. */
static double
read_by_build_scan(Relation heap, Relation index, IndexInfo *indexInfo, bool anyvisible,
				   BlockNumber first, BlockNumber nblocks, IndexBuildCallback callback,
				   void *state, uint64 *horizon)
{
	uint64		oldest = rencoder_horizon_before(heap);
	double		live;

	indexInfo->ii_BrokenHotChain = false;
	live = table_index_build_range_scan(heap, index, indexInfo, false, anyvisible, false,
										first, nblocks, callback, state, NULL);
	raise_horizon(horizon, rencoder_horizon(heap, oldest, indexInfo->ii_BrokenHotChain));
	return live;
}

bool
rencoder_heap_runs_functions(Relation index)
{
	return RelationGetIndexExpressions(index) != NIL || RelationGetIndexPredicate(index) != NIL;
}

double
rencoder_heap_read(Relation heap, Relation index, IndexInfo *indexInfo, bool anyvisible,
				   BlockNumber first, BlockNumber nblocks, IndexBuildCallback callback,
				   void *state, uint64 *horizon)
{
	uint64		oldest;
	TransactionId oldest_xmin;
	PageTuples *tuples;
	Columns		columns;
	BlockSource source;
	Buffer		buffer;
	double		live;

	if (!heap_is_plain(heap, indexInfo))
		return read_by_build_scan(heap, index, indexInfo, anyvisible, first, nblocks, callback,
								  state, horizon);

	oldest = rencoder_horizon_before(heap);
	oldest_xmin = GetOldestNonRemovableTransactionId(heap);
	tuples = palloc(sizeof(PageTuples));
	tuples->live = 0;
	tuples->dead_until = tuples->left_out_until = InvalidTransactionId;
	heap_columns_open(&columns, heap, indexInfo);
	heap_source_open(&source, heap, first, nblocks);
	while ((buffer = heap_source_next(&source)) != InvalidBuffer)
	{
		BlockNumber block = BufferGetBlockNumber(buffer);

		/*
		 * Sleeps, if at all, before the page is looked at: what is seen
		 * should be fresh.
		 */
		rencoder_vacuum_delay_point();
		take_heap_page(heap, buffer, oldest_xmin, anyvisible, tuples);
		ReleaseBuffer(buffer);
		give_heap_tuples(heap, index, &columns, block, tuples, callback, state);
	}
	heap_source_close(&source);
	heap_columns_close(&columns);
	live = tuples->live;

	/* Both are horizons of the dead; the lesser is trusted sooner (INV-9). */
	raise_horizon(horizon, Min(rencoder_horizon_behind(tuples->dead_until),
							   rencoder_horizon(heap, oldest, false)));
	raise_horizon(horizon, rencoder_horizon_behind(tuples->left_out_until));
	pfree(tuples);
	return live;
}

OffsetNumber
rencoder_heap_last_line_pointer(Relation heap, BlockNumber block, BufferAccessStrategy strategy)
{
	Buffer		buffer = ReadBufferExtended(heap, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	OffsetNumber last;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	last = PageGetMaxOffsetNumber(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	return last;
}

/*
 * Only where HOT updates may change columns of summarizing indexes these are told of heap-only
 * tuples.
 */
OffsetNumber
rencoder_heap_find_root(Relation heap, ItemPointer tid)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);
#ifdef RENCODER_HAVE_SUMMARIZING
	OffsetNumber root[MaxHeapTuplesPerPage];
	Buffer		buffer;
	Page		page;
	ItemId		item;
#endif

	if (!rencoder_is_heap(heap))
		return InvalidOffsetNumber;
#ifdef RENCODER_HAVE_SUMMARIZING
	buffer = ReadBuffer(heap, ItemPointerGetBlockNumber(tid));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	item = PageGetItemId(page, offset);

	/*
	 * CREATE INDEX CONCURRENTLY names the root itself, which may be
	 * redirected.
	 */
	if (ItemIdIsNormal(item) && HeapTupleHeaderIsHeapOnly((HeapTupleHeader) PageGetItem(page, item)))
	{
		heap_get_root_tuples(page, root);
		offset = root[offset - 1];
	}
	UnlockReleaseBuffer(buffer);
#endif
	return offset;
}

/* Line pointers that most of the blocks have, at most; the table may end before "first". */
static uint32
most_rows(Relation heap, BlockNumber first, uint64 end)
{
	uint32		blocks[MaxHeapTuplesPerPage + 1] = {0};
	uint64		last = Min(end, RelationGetNumberOfBlocks(heap));
	uint64		nblocks = last > first ? last - first : 0;
	uint32		n = (uint32) Min(nblocks, COUNTED_BLOCKS);
	uint32		seen = 0;
	uint32		rows = 0;

	for (uint32 i = 0; i < n; i++)
	{
		BlockNumber block = first + (BlockNumber) (i * nblocks / n);

		blocks[Min(rencoder_heap_last_line_pointer(heap, block, NULL), MaxHeapTuplesPerPage)]++;
	}
	for (; rows < MaxHeapTuplesPerPage; rows++)
	{
		seen += blocks[rows];
		if (seen >= COUNTED_PART * n)
			break;
	}
	return rows;
}

renc_places
rencoder_heap_choose_places(Relation heap, Relation index, BlockNumber first, uint64 end)
{
	renc_places places = renc_whole_pages();
	uint32		rows = rencoder_options_part_rows(index);
	uint32		all;

	if (rows == 0 || MaxHeapTuplesPerPage > RENC_MAX_PAGE_ROWS || !rencoder_is_heap(heap))
		return places;
	all = most_rows(heap, first, end);

	/* A place has 32 bits. */
	while (rows < all && (all + rows - 1) / rows * end > PG_UINT32_MAX)
		rows++;
	if (rows < all && rows < PG_UINT8_MAX)
	{
		places.parts = (uint16) ((all + rows - 1) / rows);
		places.part_rows = (uint16) rows;
	}
	return places;
}
