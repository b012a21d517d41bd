/*
 * scan.c
 *		amgetbitmap: candidates to a bitmap; amgettuple: row by row.
 */
#include "scan/scan.h"

#include "access/itup.h"
#include "access/relscan.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "base/subtransaction.h"
#include "base/workspace.h"
#include "scan/ordered_scan.h"
#include "scan/plain_scan.h"
#include "scan/row_fetch.h"
#include "scan/scan_stats.h"
#include "store/sample_pages.h"
#include "worker/growth.h"

typedef struct OwnScan
{
	RencoderWorkspace *workspace;	/* lent while it searches */
	RencoderCopies *copies;		/* of all rescans, or NULL: there was none */
	RencoderCoders *coders;		/* likewise */
	SnapshotData snapshot;		/* that of the last scan; snapshot_type, xmin,
								 * xmax, xcnt, curcid count */
	bool		scanned;
	RencoderStats stats;		/* of all rescans */
	int64		tail;			/* pages read behind the frontier, likewise */
	RencoderCandidates found;	/* by the last search, but for the rows */
	int64		index_pages;	/* read since the scan began, in all searches */
	RencoderOrderedScan *order; /* NULL: rows may come in any order */
	RencoderPlainScan *plain;	/* NULL: no row was asked for */
	bool		begun;			/* was a row asked for since the last rescan? */
	bool		counted;		/* is the plain scan, since it began? */
	RencoderRowFetch *check;	/* of its rows, or NULL */
} OwnScan;

IndexScanDesc
rencoderbeginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);

	scan->opaque = palloc0(sizeof(OwnScan));
	return scan;
}

/* Adds a page to a bitmap: rows, which are returned, or all of it.  All are rechecked. */
static int
add_page_to_bitmap(TIDBitmap *tbm, BlockNumber block, const uint64 *row)
{
	ItemPointerData tids[RENC_MAX_PAGE_ROWS];
	int			n = 0;

	if (renc_page_rows_are_all(row))
	{
		tbm_add_page(tbm, block);
		return 0;
	}
	for (int word = 0; word < RENC_ROW_WORDS; word++)
	{
		for (uint64 bits = row[word]; bits != 0; bits &= bits - 1)
		{
			OffsetNumber offset = (OffsetNumber) (word * 64 + pg_rightmost_one_pos64(bits) + 1);

			ItemPointerSet(&tids[n], block, offset);
			n++;
		}
	}
	tbm_add_tuples(tbm, tids, n, true);
	return n;
}

/* Counts a scan that has visited so many pages of the table. */
static void
count_scan(OwnScan *state, int64 pages)
{
	int64		nblocks = state->found.nblocks;

	state->stats.count[RENCODER_STATS_SCANS]++;
	state->stats.count[RENCODER_STATS_TABLE_PAGES] += nblocks;
	state->stats.count[RENCODER_STATS_PAGES] += pages;
	state->stats.count[RENCODER_STATS_INDEX_PAGES] += state->index_pages;
	state->stats.count[RENCODER_STATS_WHOLE_PAGES] += state->found.whole;
	state->tail += state->found.tail;
	state->index_pages = 0;
}

static uint64
draw_one_of(uint64 n)
{
	return pg_prng_uint64_range(&pg_global_prng_state, 0, n - 1);
}

/* Records what a query asks for: of each column one of the intervals, or of those that cover the boxes. */
static void
record_samples(void *arg)
{
	RencoderQuery *query = (RencoderQuery *) arg;

	for (int col = 0; col < query->natts; col++)
	{
		const RencoderKeySet *keys = query->column[col].has_keys ? rencoder_key_newest_set(query, col) : NULL;
		const renc_interval *interval;
		RencoderSample sample;

		if (keys == NULL || keys->none)
			continue;
		interval = &keys->cover.interval[draw_one_of(keys->cover.n)];

		/*
		 * "<" and ">" are what min and max are for; points with a NaN are no
		 * place.
		 */
		if (interval->lo == 0 || interval->hi == PG_UINT64_MAX)
			continue;
		sample = rencoder_sample_interval(interval->lo, interval->hi, keys->generation, RENCODER_SAMPLE_SCAN);
		rencoder_samples_store_as_hint(query->index, col, &sample);
	}
}

/*
 * Records one of rencoder.sample_rate scans, if the index is to have filters; of many rescans it looks at
 * few.  What goes wrong is not the scan's: no error but cancellation.  Nothing in parallel mode before
 * PostgreSQL 17.
 */
static void
record_scan(const OwnScan *state, RencoderQuery *query)
{
	int64		scans = state->stats.count[RENCODER_STATS_SCANS];

	if ((scans & (scans - 1)) == 0 && !rencoder_options_use_runs(query->index) && rencoder_sample_rate > 0 &&
		draw_one_of(rencoder_sample_rate) == 0 && rencoder_may_begin_subtransaction())
		(void) rencoder_best_effort(record_samples, query, query->index, "record a query sample");
}

/*
 * What a rescan may use again; NULL for the first scan, however often it searches.  PostgreSQL's
 * executor leaves a scan its snapshot; in a newer one there may be rows that came after the pages
 * were copied.
 */
static RencoderCopies *
usable_copies(IndexScanDesc scan)
{
	OwnScan    *state = (OwnScan *) scan->opaque;
	const SnapshotData *last = &state->snapshot;
	const SnapshotData *now = scan->xs_snapshot;

	if (now == NULL)
		return NULL;
	if (state->copies == NULL &&
		(state->order != NULL || (state->scanned && (state->plain == NULL || !state->plain->begun))))
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(state));

		state->copies = rencoder_copies_create(CurrentMemoryContext);
		state->coders = rencoder_coders_create(false);
		MemoryContextSwitchTo(old);
	}
	if (state->copies != NULL &&
		(!IsMVCCSnapshot(now) || now->snapshot_type != last->snapshot_type ||
		 now->xmin != last->xmin || now->xmax != last->xmax || now->xcnt != last->xcnt ||
		 now->curcid != last->curcid))
		rencoder_copies_drop(state->copies);
	state->scanned = true;
	state->snapshot = *now;
	return state->copies;
}

/*
 * Makes a query of the scan keys, in the memory of the workspace, which is lent until
 * end_scan_search().
 */
static RencoderQuery *
begin_scan_search(IndexScanDesc scan, const RencoderCopies *copies)
{
	OwnScan    *state = (OwnScan *) scan->opaque;
	RencoderQuery *query;

	/* The executor keeps one context for all rescans of a join. */
	MemoryContextSwitchTo(GetMemoryChunkContext(state));
	if (state->workspace == NULL)
		state->workspace = rencoder_workspace_borrow();
	else
		rencoder_workspace_borrow_again(state->workspace);
	MemoryContextSwitchTo(state->workspace->context);
	query = rencoder_key_make_query(scan->indexRelation, scan->keyData, scan->numberOfKeys);
	if (copies != NULL)
		query->coders = state->coders;
	return query;
}

/*
 * Begins a search and does it. "plain" wants rows one by one, or is NULL.  NULL: no row can satisfy
 * the keys.
 */
static RencoderQuery *
search_scan(IndexScanDesc scan, RencoderPlainScan *plain)
{
	OwnScan    *state = (OwnScan *) scan->opaque;
	RencoderCopies *copies = usable_copies(scan);
	RencoderEarlyEnd *early = plain == NULL ? NULL : rencoder_plain_scan_begin_search(plain);
	RencoderQuery *query = begin_scan_search(scan, copies);

	if (query->empty)
		return NULL;

	/* One search, for all elements of all arrays. */
	rencoder_count_search(scan);
	rencoder_candidates_find(scan->indexRelation, query, scan->xs_snapshot, copies, early, false,
							 &state->found);
	state->index_pages += state->found.index_pages;
	return query;
}

static void
end_scan_search(IndexScanDesc scan, MemoryContext caller)
{
	MemoryContextSwitchTo(caller);
	rencoder_workspace_give_back(((OwnScan *) scan->opaque)->workspace);
}

int64
rencodergetbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	MemoryContext caller = CurrentMemoryContext;
	OwnScan    *state = (OwnScan *) scan->opaque;
	RencoderQuery *query;
	int64		npages = 0;
	int64		nexact = 0;
	int64		nrows = 0;

	pgstat_count_index_scan(scan->indexRelation);
	query = search_scan(scan, NULL);
	if (query != NULL)
	{
		renc_stretches_cursor cursor = {0};
		uint64		row[RENC_ROW_WORDS];
		uint32		page;

		while (renc_stretches_next(&state->found.rows, &cursor, &page, row))
		{
			int			n = add_page_to_bitmap(tbm, page, row);

			CHECK_FOR_INTERRUPTS();
			npages++;
			nexact += n > 0;
			nrows += n;
		}
		count_scan(state, npages);
		record_scan(state, query);
	}
	end_scan_search(scan, caller);

	/* As BRIN: the rows of a lossy page are not known; ten is a guess. */
	return (npages - nexact) * 10 + nrows;
}

/* Searches for rows to be handed out. */
static void
search_scan_rows(IndexScanDesc scan)
{
	MemoryContext caller = CurrentMemoryContext;
	OwnScan    *state = (OwnScan *) scan->opaque;
	RencoderPlainScan *plain = state->plain;
	RencoderQuery *query;

	if (!plain->begun)
		pgstat_count_index_scan(scan->indexRelation);
	query = search_scan(scan, plain);
	if (query == NULL)
		plain->complete = true;
	else
	{
		rencoder_plain_scan_end_search(plain, &state->found.rows);
		if (plain->complete)
			record_scan(state, query);
	}
	end_scan_search(scan, caller);
}

/* Searches the next slice of rows that are to be in order; false: there is none. */
static bool
search_ordered_rows(IndexScanDesc scan, ScanDirection direction)
{
	MemoryContext caller = CurrentMemoryContext;
	OwnScan    *state = (OwnScan *) scan->opaque;
	RencoderSliceFound result;

	do
	{
		RencoderCopies *copies = usable_copies(scan);
		RencoderQuery *query;

		rencoder_ordered_scan_prepare(state->order, scan, copies, &state->index_pages);
		query = begin_scan_search(scan, copies);
		rencoder_count_search(scan);
		result = query->empty ? RENCODER_SLICE_NONE :
			rencoder_ordered_scan_search(state->order, scan, direction, query, copies, &state->found);
		state->index_pages += query->empty ? 0 : state->found.index_pages;
		end_scan_search(scan, caller);
	} while (result == RENCODER_SLICE_AGAIN ||
			 (result == RENCODER_SLICE_FOUND && !rencoder_ordered_scan_sort(state->order, scan)));
	return result == RENCODER_SLICE_FOUND;
}

/* Counts what a plain scan has visited so far: it is over, whether it came to its end or not. */
static void
count_plain_scan(IndexScanDesc scan)
{
	OwnScan    *state = (OwnScan *) scan->opaque;

	if (state->order != NULL && state->begun && !state->counted)
		count_scan(state, rencoder_ordered_scan_pages(state->order));
	else if (state->plain != NULL && state->plain->begun && !state->counted)
		count_scan(state, state->plain->pages);
	state->counted = true;
}

static void
begin_plain_scan(IndexScanDesc scan)
{
	OwnScan    *state = (OwnScan *) scan->opaque;
	Relation	index = scan->indexRelation;
	MemoryContext caller = MemoryContextSwitchTo(GetMemoryChunkContext(state));

	state->plain = palloc(sizeof(RencoderPlainScan));
	rencoder_plain_scan_init(state->plain);
	if (scan->xs_want_itup || RelationGetIndexPredicate(index) != NIL)
		state->check = rencoder_row_fetch_begin(scan->heapRelation, index);
	if (scan->xs_want_itup)
	{
		Datum		values[INDEX_MAX_KEYS] = {0};
		bool		nulls[INDEX_MAX_KEYS];

		/*
		 * The planner knows that no value is returned.  It may still want to
		 * count the rows.
		 */
		memset(nulls, true, sizeof(nulls));
		scan->xs_itupdesc = RelationGetDescr(index);
		scan->xs_itup = index_form_tuple(scan->xs_itupdesc, values, nulls);
	}
	MemoryContextSwitchTo(caller);
}

/* The next row in order. */
static bool
get_ordered_tuple(IndexScanDesc scan, ScanDirection direction)
{
	OwnScan    *state = (OwnScan *) scan->opaque;

	if (!state->begun)
		pgstat_count_index_scan(scan->indexRelation);
	state->begun = true;
	while (!rencoder_ordered_scan_next(state->order, scan))
	{
		if (!search_ordered_rows(scan, direction))
			return false;
	}
	return true;
}

/* Is the order of rows that this scan wants to be that of the index? */
static void
begin_tuples(IndexScanDesc scan)
{
	OwnScan    *state = (OwnScan *) scan->opaque;
	MemoryContext caller;

	if (state->order != NULL || state->plain != NULL)
		return;
	caller = MemoryContextSwitchTo(GetMemoryChunkContext(state));
	state->order = rencoder_ordered_scan_begin(scan);
	if (state->order == NULL)
		begin_plain_scan(scan);
	MemoryContextSwitchTo(caller);
}

/* Rows come in order if the planner may think so, else forward only. */
bool
rencodergettuple(IndexScanDesc scan, ScanDirection direction)
{
	OwnScan    *state = (OwnScan *) scan->opaque;

	begin_tuples(scan);
	scan->xs_recheck = true;
	if (state->order != NULL)
		return get_ordered_tuple(scan, direction);
	for (;;)
	{
		if (rencoder_plain_scan_next(state->plain, scan))
		{
			bool		passes = state->check == NULL ||
				rencoder_row_fetch(state->check, scan->xs_snapshot, &scan->xs_heaptid);

			if (state->check != NULL)
				rencoder_row_fetch_release(state->check);
			if (passes)
				return true;
		}
		else if (!state->plain->complete)
			search_scan_rows(scan);
		else
			break;
	}
	count_plain_scan(scan);
	return false;
}

void
rencoderrescan(IndexScanDesc scan, ScanKey keys, int nkeys,
			   ScanKey orderbys, int norderbys)
{
	OwnScan    *state = (OwnScan *) scan->opaque;

	count_plain_scan(scan);
	state->begun = state->counted = false;
	if (state->plain != NULL)
		rencoder_plain_scan_rewind(state->plain);
	if (state->order != NULL)
		rencoder_ordered_scan_rewind(state->order);
	if (keys && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
}

void
rencoderendscan(IndexScanDesc scan)
{
	OwnScan    *state = (OwnScan *) scan->opaque;
	int64		tail = state->found.tail;
	int64		pending = state->found.pending;

	count_plain_scan(scan);
	if (state->check != NULL)
		rencoder_row_fetch_end(state->check);
	if (state->order != NULL)
		rencoder_ordered_scan_end(state->order);
	if (state->plain != NULL)
	{
		rencoder_plain_scan_end(state->plain);
		pfree(state->plain);
	}
	if (state->copies != NULL)
		pfree(state->copies);
	if (state->stats.count[RENCODER_STATS_SCANS] > 0)
		rencoder_scan_stats_add(RelationGetRelid(scan->indexRelation), &state->stats, state->tail);
	pfree(state);
	scan->opaque = NULL;
	rencoder_scan_stats_write_if_due(scan->indexRelation);
	if (rencoder_growth_due_by_scan(tail, pending))
		rencoder_growth_note_scan(scan->indexRelation, tail, pending);
}
