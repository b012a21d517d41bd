/*
 * ordered_scan.c
 *		Handing out rows in the order of the index's column.
 */
#include "scan/ordered_scan.h"

#include "access/relscan.h"
#include "access/stratnum.h"
#include "catalog/index.h"
#include "utils/snapmgr.h"

#include "scan/plain_scan.h"
#include "scan/row_fetch.h"
#include "scan/row_sort.h"
#include "scan/slice_edge.h"
#include "scan/uncovered.h"

/*
 * Entries of the second slice, which with the first has a page of a list; where the first was to have all
 * that are wanted, a part of it, of which few are missing; of the next ones, in times of the one before.
 */
#define SECOND_ENTRIES	19
#define MISSING_PART	4
#define MORE_ENTRIES	4

/* Entries of the largest slices. */
#define MOST_ENTRIES	100000

/* Where the scan is, in the order wanted. */
typedef enum OrderPhase
{
	PHASE_BEGIN,				/* nothing was searched */
	PHASE_KEYS,
	PHASE_NULLS,
	PHASE_END
} OrderPhase;

struct RencoderOrderedScan
{
	MemoryContext context;
	bool		backward;
	OrderPhase	phase;
	bool		nulls;			/* are they to come yet? */
	bool		keys;
	bool		all;			/* all that remains is one slice: it has what
								 * is not covered, */
	bool		anything;		/* and is all of the scan, whatever keys it
								 * has */
	uint32		entries;		/* that the next slice is to have */
	uint64		lo;				/* keys of the slice, */
	uint64		hi;
	uint64		rest_lo;		/* and of what comes behind it */
	uint64		rest_hi;
	bool		first;			/* has no slice of keys ended yet? */
	bool		nulls_done;		/* were nulls handed out? */
	bool		crowded;		/* are the slice's rows many, with one key? */
	bool		unsorted;		/* they have one value, it is known */
	bool		again;			/* the slice is to be searched again */
	bool		has_row;		/* is there one to be handed out first? */
	ItemPointerData row_tid;

	bool		single[INDEX_MAX_KEYS]; /* rencoder_key_find_single() */

	/* How keys are made of rows. */
	RencoderCoders *coders;
	uint32		generation;
	const RencoderCoder *coder;
	RencoderRowFunctions functions;

	RencoderUncovered uncovered;

	/* Rows of the slice: as they were found, then in order. */
	RencoderPlainScan found;
	RencoderRowSort sort;

	RencoderRowFetch *fetch;
};

/*
 * Do rows of this scan have to come in order?  Those that pass comparisons with = have one value, and
 * nobody believes in an order where the planner was not offered one, or takes rows in any, nor with a
 * snapshot that is not MVCC, which may see several versions of a row.
 */
static bool
is_wanted(IndexScanDesc scan, Oid *family)
{
	Relation	index = scan->indexRelation;
	bool		single[INDEX_MAX_KEYS];

	if (scan->xs_want_itup || scan->xs_snapshot == NULL || !IsMVCCSnapshot(scan->xs_snapshot))
		return false;
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		if (scan->keyData[i].sk_flags & RENCODER_SK_ANY_ORDER)
			return false;
	}
	rencoder_key_find_single(scan->keyData, scan->numberOfKeys, single);
	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(index); col++)
	{
		if (!single[col])
			return rencoder_key_has_order(index, family);
	}
	return false;
}

RencoderOrderedScan *
rencoder_ordered_scan_begin(IndexScanDesc scan)
{
	RencoderOrderedScan *order;
	Relation	index = scan->indexRelation;
	Oid			family[INDEX_MAX_KEYS];

	if (!is_wanted(scan, family))
		return NULL;
	order = palloc0(sizeof(RencoderOrderedScan));
	order->context = CurrentMemoryContext;
	order->functions = rencoder_key_row_functions(index, 0);
	rencoder_uncovered_init(&order->uncovered);
	rencoder_plain_scan_init(&order->found);
	rencoder_row_sort_init(&order->sort, index, family);
	order->fetch = rencoder_row_fetch_begin(scan->heapRelation, index);
	order->coders = rencoder_coders_create(false);
	rencoder_ordered_scan_rewind(order);
	return order;
}

/* The slice is over. */
static void
end_slice(RencoderOrderedScan *order)
{
	rencoder_row_sort_end(&order->sort);
	order->unsorted = order->crowded = order->again = order->has_row = false;
	rencoder_plain_scan_rewind(&order->found);
}

void
rencoder_ordered_scan_rewind(RencoderOrderedScan *order)
{
	end_slice(order);
	order->phase = PHASE_BEGIN;
	order->first = true;
	order->all = order->anything = order->nulls_done = false;
	order->entries = 0;
}

int64
rencoder_ordered_scan_pages(const RencoderOrderedScan *order)
{
	return order->uncovered.pages + order->found.pages;
}

/*
 * Fetches the row that the snapshot sees, if it satisfies the index's predicate: what it has in the
 * index's columns is in order->sort.values, valid until the next one is fetched.  False: there is none.
 */
static bool
fetch_row(void *arg, IndexScanDesc scan, RencoderRowKind *kind, uint64 *key)
{
	RencoderOrderedScan *order = (RencoderOrderedScan *) arg;
	TupleTableSlot *slot = order->sort.values;
	MemoryContext old;

	*key = 0;
	if (!rencoder_row_fetch(order->fetch, scan->xs_snapshot, &scan->xs_heaptid))
		return false;
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(order->fetch->estate));
	ExecClearTuple(slot);
	FormIndexDatum(order->fetch->info, order->fetch->slot, order->fetch->estate, slot->tts_values,
				   slot->tts_isnull);
	*kind = rencoder_key_of_row(&order->functions, slot->tts_values, slot->tts_isnull, order->coder, NULL,
								NULL, key);
	MemoryContextSwitchTo(old);
	return true;
}

/* ---- Slices ---- */

/* By which coder slices are cut: that of most entries of runs. */
static void
choose_generation(RencoderOrderedScan *order, Relation index, const RencoderCatalog *catalog)
{
	const RencoderRunEntry *largest = NULL;

	order->generation = 0;
	order->coder = NULL;
	if (!rencoder_key_is_coded(index, 0))
		return;
	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *entry = &catalog->entry[i];

		if (entry->state == RENCODER_RUN_LIVE && entry->first.entries > 0 &&
			(largest == NULL || largest->first.entries < entry->first.entries))
			largest = entry;
	}
	if (largest != NULL)
		order->generation = largest->first.coder;
	order->coder = rencoder_coder_require(order->coders, index, 0, order->generation);
}

void
rencoder_ordered_scan_prepare(RencoderOrderedScan *order, IndexScanDesc scan, RencoderCopies *copies,
							  int64 *index_pages)
{
	MemoryContext caller = MemoryContextSwitchTo(order->context);

	if (!copies->valid)
	{
		rencoder_uncovered_forget(&order->uncovered);
		rencoder_copies_begin(copies, scan->indexRelation, scan->xs_snapshot, index_pages);
		choose_generation(order, scan->indexRelation, &copies->catalog);
	}
	if (!rencoder_uncovered_read(&order->uncovered, scan, copies, fetch_row, order))
		order->all = true;
	rencoder_row_fetch_release(order->fetch);
	for (uint32 i = 0; i < copies->catalog.n; i++)
		order->all |= copies->catalog.entry[i].keyless != 0;
	MemoryContextSwitchTo(caller);
}

/* How many entries the first slice is to have. */
static uint32
first_entries(IndexScanDesc scan)
{
	int			wanted = scan->numberOfKeys == 0 ? 0 :
		(scan->keyData[0].sk_flags >> RENCODER_SK_WANTED_SHIFT) & RENCODER_SK_MOST_WANTED;
	bool		more = false;

	/* Of many some are not visible; the first one may lie beside a bound. */
	for (int i = 0; i < scan->numberOfKeys && !more; i++)
		more = scan->keyData[i].sk_strategy != BTEqualStrategyNumber;
	return wanted == 0 ? RENCODER_ORDERED_FIRST_ENTRIES : (uint32) (wanted + wanted / 32 + more);
}

/* What the query asks for. */
static void
begin_phases(RencoderOrderedScan *order, RencoderQuery *query)
{
	const RencoderColumnQuery *q = &query->column[0];
	const RencoderKeySet *keys = NULL;

	if (q->has_keys)
		keys = rencoder_key_get_set(query, 0, order->generation);
	order->keys = keys == NULL || !keys->none;
	order->nulls = q->wants_null && !query->composite;
	order->rest_lo = keys == NULL || keys->none ? 0 : keys->query.hull_lo;
	order->rest_hi = keys == NULL || keys->none ? PG_UINT64_MAX : keys->query.hull_hi;
	order->anything = order->all;
}

/* Goes on to what comes next; false: nothing. */
static bool
next_phase(RencoderOrderedScan *order, RencoderQuery *query)
{
	if (order->phase == PHASE_BEGIN)
		begin_phases(order, query);
	else if (order->anything)
		order->keys = order->nulls = false;
	if (order->anything && order->phase == PHASE_BEGIN)
		order->phase = PHASE_KEYS;
	else if (order->nulls && (order->backward || !order->keys))
	{
		order->phase = PHASE_NULLS;
		order->nulls = false;
	}
	else
		order->phase = order->keys ? PHASE_KEYS : PHASE_END;
	return order->phase != PHASE_END;
}

/* The slice has the rest up to the edge. */
static void
cut_slice(RencoderOrderedScan *order, uint64 edge)
{
	order->lo = order->rest_lo;
	order->hi = order->rest_hi;
	if (order->backward)
		order->lo = Max(edge, order->lo);
	else
		order->hi = Min(edge, order->hi);
	order->keys = order->backward ? order->lo > order->rest_lo : order->hi < order->rest_hi;
	if (order->backward)
		order->rest_hi = order->lo - 1;
	else
		order->rest_lo = order->hi + 1;
}

/* Restricts a query, which asked for "asked" of the column, to keys of an interval; false: it has none. */
static bool
clip_query(const RencoderOrderedScan *order, RencoderQuery *query, const RencoderColumnQuery *asked,
		   uint64 lo, uint64 hi)
{
	query->column[0] = *asked;
	return rencoder_key_clip(query, 0, order->generation, lo, hi);
}

/* The last key in the scan's direction, up to which nothing tells rows of a key apart in order. */
static uint64
ordered_key(const RencoderOrderedScan *order, uint64 key)
{
	int			n = order->functions.n;

	return n == 1 ? key :
		rencoder_composite_order_edge(rencoder_composite_codes(order->coder, n), key, order->backward, order->single);
}

/* Cuts the next slice off the keys that are left, and restricts the query to it; false: it has none. */
static bool
choose_slice(RencoderOrderedScan *order, Relation index, RencoderQuery *query,
			 const RencoderColumnQuery *asked, RencoderCopies *copies, int64 *index_pages)
{
	RencoderSliceEdge edge = {order->backward, 0, false};
	const RencoderKeySet *keys;

	if (order->anything)
	{
		cut_slice(order, order->backward ? order->rest_lo : order->rest_hi);
		return true;
	}

	/* At first the rest is all that is asked for. */
	if ((!order->first || !asked->has_keys) &&
		!clip_query(order, query, asked, order->rest_lo, order->rest_hi))
		return order->keys = false;
	keys = rencoder_key_get_set(query, 0, order->generation);
	order->rest_lo = keys->query.hull_lo;
	order->rest_hi = keys->query.hull_hi;
	edge.key = order->backward ? order->rest_lo : order->rest_hi;
	if (!order->all)
	{
		rencoder_uncovered_move_edge(&order->uncovered, order->rest_lo, order->rest_hi, order->entries,
									 &edge);
		rencoder_slice_edge_find(index, copies, order->generation, &keys->set, order->entries, &edge,
								 index_pages);
		if (!order->first)
			order->entries = Min(order->entries * MORE_ENTRIES, MOST_ENTRIES);
		else if (order->entries <= RENCODER_ORDERED_FIRST_ENTRIES)
			order->entries = SECOND_ENTRIES;
		else
			order->entries = order->entries / MISSING_PART + RENCODER_ORDERED_FIRST_ENTRIES;
		edge.key = ordered_key(order, edge.key);
	}
	cut_slice(order, edge.key);
	order->crowded = edge.crowded && order->lo == order->hi;
	return !order->keys || clip_query(order, query, asked, order->lo, order->hi);
}

/* Goes on to the next slice; false: there is none. */
static bool
next_slice(RencoderOrderedScan *order, Relation index, RencoderQuery *query,
		   const RencoderColumnQuery *asked, RencoderCopies *copies, int64 *index_pages)
{
	end_slice(order);
	order->first &= order->phase != PHASE_KEYS;
	while (next_phase(order, query))
	{
		if (order->phase == PHASE_NULLS ||
			choose_slice(order, index, query, asked, copies, index_pages))
			return true;
	}
	return false;
}

RencoderSliceFound
rencoder_ordered_scan_search(RencoderOrderedScan *order, IndexScanDesc scan, ScanDirection direction,
							 RencoderQuery *query, RencoderCopies *copies, RencoderCandidates *found)
{
	const RencoderColumnQuery asked = query->column[0];
	RencoderEarlyEnd *early;
	int64		index_pages = 0;

	rencoder_key_find_single(scan->keyData, scan->numberOfKeys, order->single);
	if (order->entries == 0)
		order->entries = first_entries(scan);
	if (order->phase == PHASE_BEGIN)
		order->backward = ScanDirectionIsBackward(direction);
	else if (order->backward != ScanDirectionIsBackward(direction))
		elog(ERROR, "rencoder indexes do not change the direction of a scan");
	memset(found, 0, sizeof(*found));
	if (!order->again && (!order->found.begun || order->found.complete))
	{
		if (!next_slice(order, scan->indexRelation, query, &asked, copies, &index_pages))
			return RENCODER_SLICE_NONE;
	}
	else if (order->phase == PHASE_KEYS && !order->anything)
		(void) clip_query(order, query, &asked, order->lo, order->hi);
	if (order->phase == PHASE_NULLS)
	{
		query->column[0].has_keys = query->column[0].wants_values = false;
		query->column[0].wants_null = true;
	}
	early = rencoder_plain_scan_begin_search(&order->found);
	if (order->phase == PHASE_KEYS && !order->crowded)
		early = NULL;
	rencoder_candidates_find(scan->indexRelation, query, scan->xs_snapshot, copies, early,
							 !order->all, found);
	found->index_pages += index_pages;
	order->again = order->uncovered.version != copies->catalog.version;
	if (order->again)
		return RENCODER_SLICE_AGAIN;
	if (!order->all)
		rencoder_uncovered_add(&order->uncovered, order->phase == PHASE_NULLS, order->lo, order->hi,
							   &found->rows);
	order->found.early.broken_off &= early != NULL;
	rencoder_plain_scan_end_search(&order->found, &found->rows);
	return RENCODER_SLICE_FOUND;
}

/* Is a row of the slice? */
static bool
is_in_slice(const RencoderOrderedScan *order, RencoderRowKind kind, uint64 key)
{
	if (kind == RENCODER_ROW_KEY)
		return order->phase == PHASE_KEYS && key >= order->lo && key <= order->hi;
	if (order->anything)
		return kind == RENCODER_ROW_KEYLESS || !order->nulls_done;
	return kind == RENCODER_ROW_NULL && order->phase == PHASE_NULLS;
}

/*
 * Puts the row that was fetched last.  Not all of "anything" have a key, and a composite one tells the
 * order as far as its codes stand for one value each (INV-19).
 */
static void
put_sorted(RencoderOrderedScan *order, uint64 key, ItemPointer tid)
{
	MemoryContext caller = MemoryContextSwitchTo(GetPerTupleMemoryContext(order->fetch->estate));

	rencoder_row_sort_put(&order->sort, order->anything ? 0 : ordered_key(order, key), tid);
	MemoryContextSwitchTo(caller);
}

/* The next row that was found and is of the slice.  A keyless one that must not be there is one, too. */
static bool
next_found(RencoderOrderedScan *order, IndexScanDesc scan, RencoderRowKind *kind, uint64 *key)
{
	while (rencoder_plain_scan_next(&order->found, scan))
	{
		if (fetch_row(order, scan, kind, key) &&
			(is_in_slice(order, *kind, *key) || (*kind == RENCODER_ROW_KEYLESS && order->first)))
			return true;
	}
	return false;
}

/*
 * Rows with keys of many values would be too many to be sorted before the first is handed out.  If the
 * key of a slice stands for one value they need not be.  While no row was seen, that is not known.  False:
 * they are to be sorted.
 */
static bool
look_at_crowd(RencoderOrderedScan *order, IndexScanDesc scan)
{
	RencoderRowKind kind;
	uint64		key;

	if (!next_found(order, scan, &kind, &key))
		return true;
	if (kind != RENCODER_ROW_KEY ||
		!rencoder_key_is_exact(scan->indexRelation, 0, order->sort.values->tts_values[0], order->coder, key))
		return false;
	order->unsorted = order->has_row = true;
	order->row_tid = scan->xs_heaptid;
	return true;
}

static bool
sort_slice(RencoderOrderedScan *order, IndexScanDesc scan)
{
	RencoderRowKind kind;
	uint64		key;

	rencoder_row_sort_begin(&order->sort, scan->indexRelation, order->backward);
	order->found.most_ahead = PG_UINT32_MAX / 2;	/* all will be wanted */
	while (next_found(order, scan, &kind, &key))
	{
		if (kind == RENCODER_ROW_KEYLESS && !order->anything)
			return false;
		put_sorted(order, key, &scan->xs_heaptid);
	}
	tuplesort_performsort(order->sort.sort);
	return true;
}

/* Searches the slice anew, or, if a row has no key, sorts all that there is. */
static void
begin_slice_again(RencoderOrderedScan *order, bool everything)
{
	end_slice(order);
	if (!everything)
	{
		order->again = true;
		return;
	}
	order->all = true;
	order->phase = PHASE_BEGIN;
}

bool
rencoder_ordered_scan_sort(RencoderOrderedScan *order, IndexScanDesc scan)
{
	MemoryContext caller = MemoryContextSwitchTo(order->context);
	bool		good = true;

	order->nulls_done |= order->phase == PHASE_NULLS;
	if (order->crowded && !order->unsorted)
	{
		good = look_at_crowd(order, scan);
		if (!good)
			begin_slice_again(order, false);
	}
	else if (order->phase == PHASE_KEYS && !order->unsorted)
	{
		good = sort_slice(order, scan);
		if (!good)
			begin_slice_again(order, true);
	}
	rencoder_row_fetch_release(order->fetch);
	MemoryContextSwitchTo(caller);
	return good;
}

/* Rows of one value, or nulls, as they were found. */
static bool
next_unsorted(RencoderOrderedScan *order, IndexScanDesc scan)
{
	RencoderRowKind kind;
	uint64		key;
	bool		found;

	if (order->has_row)
	{
		order->has_row = false;
		scan->xs_heaptid = order->row_tid;
		return true;
	}
	found = next_found(order, scan, &kind, &key);
	rencoder_row_fetch_release(order->fetch);
	if (found && !is_in_slice(order, kind, key))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("values of index \"%s\" that have no key cannot be ordered",
						RelationGetRelationName(scan->indexRelation)),
				 errhint("Set \"%s\" to off.", "rencoder.enable_ordered_scan")));
	return found;
}

bool
rencoder_ordered_scan_next(RencoderOrderedScan *order, IndexScanDesc scan)
{
	if (order->unsorted || order->phase == PHASE_NULLS)
		return next_unsorted(order, scan);
	return rencoder_row_sort_next(&order->sort, &scan->xs_heaptid);
}

void
rencoder_ordered_scan_end(RencoderOrderedScan *order)
{
	end_slice(order);
	rencoder_plain_scan_end(&order->found);
	rencoder_uncovered_end(&order->uncovered);
	rencoder_row_sort_free(&order->sort);
	rencoder_row_fetch_end(order->fetch);
	pfree(order);
}
