/*
 * scan.c
 *		amgetbitmap: candidates to a bitmap; amgettuple: row by row.
 */
#include "scan/scan.h"

#include "access/itup.h"
#include "access/relscan.h"
#include "access/table.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "base/workspace.h"
#include "design/sample_record.h"
#include "scan/candidates.h"
#include "scan/plain_scan.h"
#include "scan/scan_stats.h"

typedef struct OwnScan
{
	RencoderWorkspace *workspace;	/* lent while it searches */
	RencoderCopies *copies;		/* of all rescans, or NULL: there was none */
	RencoderCoders *coders;		/* likewise */
	SnapshotData snapshot;		/* that of the last scan; snapshot_type, xmin,
								 * xmax, xcnt, curcid count */
	bool		scanned;
	BlockNumber nblocks;		/* of the table, when it was searched last */
	uint32		pages_per_range;
	int64		index_pages;	/* read, and not counted yet */
	RencoderPlainScan *plain;	/* NULL: no row was asked for */
	bool		counted;		/* is the plain scan, since it began? */
	RencoderPlainCheck *check;	/* of its rows, or NULL */
} OwnScan;

IndexScanDesc
rencoderbeginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);

	scan->opaque = palloc0(sizeof(OwnScan));
	return scan;
}

typedef struct BitmapTarget
{
	TIDBitmap  *tbm;
	int64		npages;			/* of which rows are not told */
	int64		exact_pages;	/* of which they are */
	int64		nrows;			/* these */
} BitmapTarget;

/* Adds rows of a page. */
static void
add_exact_page_to_bitmap(BitmapTarget *target, BlockNumber block, const uint64 *row)
{
	ItemPointerData tids[RENC_MAX_PAGE_ROWS];
	int			n = 0;

	for (int word = 0; word < RENC_ROW_WORDS; word++)
	{
		for (uint64 bits = row[word]; bits != 0; bits &= bits - 1)
		{
			OffsetNumber offset = (OffsetNumber) (word * 64 + pg_rightmost_one_pos64(bits) + 1);

			ItemPointerSet(&tids[n], block, offset);
			n++;
		}
	}
	tbm_add_tuples(target->tbm, tids, n, true);
	target->exact_pages++;
	target->nrows += n;
}

/* Adds a candidate: rows, or lossily a page.  All its rows are rechecked. */
static void
add_page(void *arg, BlockNumber page, const uint64 *row)
{
	BitmapTarget *target = (BitmapTarget *) arg;

	if (row != NULL)
	{
		add_exact_page_to_bitmap(target, page, row);
		return;
	}
	tbm_add_page(target->tbm, page);
	target->npages++;
}

/*
 * Counts a scan that has visited so many pages of the table, in so many block ranges, some of them
 * of whole ranges.
 */
static void
count_scan(IndexScanDesc scan, int64 pages, int64 nranges, const RencoderWholePages *whole)
{
	OwnScan    *state = (OwnScan *) scan->opaque;
	RencoderStats stats = {0};
	int64		ranges = ((int64) state->nblocks + state->pages_per_range - 1) / state->pages_per_range;

	stats.count[RENCODER_STATS_SCANS] = 1;
	stats.count[RENCODER_STATS_TABLE_PAGES] = state->nblocks;
	stats.count[RENCODER_STATS_PAGES] = pages;
	stats.count[RENCODER_STATS_RANGES] = ranges;
	stats.count[RENCODER_STATS_SKIPPED] = Max(ranges - nranges, 0);
	stats.count[RENCODER_STATS_INDEX_PAGES] = state->index_pages;
	stats.count[RENCODER_STATS_WHOLE_PAGES] = whole->all;
	state->index_pages = 0;
	rencoder_scan_stats_add(RelationGetRelid(scan->indexRelation), &stats,
							rencoder_whole_pages_at_end(whole, state->nblocks));
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
	if (state->scanned && state->copies == NULL && (state->plain == NULL || !state->plain->begun))
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(state));

		state->copies = rencoder_copies_create();
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

/* What a search begins with. */
typedef struct Search
{
	RencoderQuery *query;
	RencoderCopies *copies;
	MemoryContext caller;
} Search;

/* Memory is the workspace's from now on. */
static void
begin_scan_search(IndexScanDesc scan, Search *search)
{
	Relation	index = scan->indexRelation;
	OwnScan    *state = (OwnScan *) scan->opaque;
	Relation	heap;

	/* The executor keeps one context for all rescans of a join. */
	search->caller = MemoryContextSwitchTo(GetMemoryChunkContext(state));
	if (state->workspace == NULL)
		state->workspace = rencoder_workspace_borrow();
	else
		rencoder_workspace_borrow_again(state->workspace);
	MemoryContextSwitchTo(state->workspace->context);
	search->copies = usable_copies(scan);
	search->query = rencoder_key_make_query(index, scan->keyData, scan->numberOfKeys);
	if (search->copies != NULL)
		search->query->coders = state->coders;
	if (search->query->empty)
		return;

	/* The executor, who reads it next, has locked it. */
	heap = table_open(index->rd_index->indrelid, NoLock);
	state->pages_per_range = rencoder_meta_get(index)->pages_per_range;
	state->nblocks = RelationGetNumberOfBlocks(heap);
	table_close(heap, NoLock);

	/* One search: a pass over the groups, for all elements of all arrays. */
	rencoder_count_search(scan);
}

static void
end_scan_search(IndexScanDesc scan, const Search *search)
{
	MemoryContextSwitchTo(search->caller);
	rencoder_workspace_give_back(((OwnScan *) scan->opaque)->workspace);
}

int64
rencodergetbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	OwnScan    *state = (OwnScan *) scan->opaque;
	BitmapTarget target = {.tbm = tbm};
	RencoderEmit emit = {.page = add_page,.arg = &target};
	Search		search;

	pgstat_count_index_scan(scan->indexRelation);
	begin_scan_search(scan, &search);
	if (!search.query->empty)
	{
		int64		pages;

		state->index_pages += rencoder_candidates_find(scan->indexRelation, state->nblocks, search.query,
													   scan->xs_snapshot, search.copies, &emit, NULL,
													   NULL);
		pages = target.npages + target.exact_pages;
		count_scan(scan, pages, emit.nranges, &emit.whole);
		rencoder_sample_record_scan(search.query, (double) pages / Max(state->nblocks, 1));
	}
	end_scan_search(scan, &search);

	/* As BRIN: the rows of a lossy page are not known; ten is a guess. */
	return target.npages * 10 + target.nrows;
}

/* Searches for rows to be handed out. */
static void
search_scan_rows(IndexScanDesc scan)
{
	OwnScan    *state = (OwnScan *) scan->opaque;
	RencoderPlainScan *plain = state->plain;
	Search		search;

	if (!plain->begun)
		pgstat_count_index_scan(scan->indexRelation);
	begin_scan_search(scan, &search);
	if (search.query->empty)
		plain->complete = true;
	else
	{
		RencoderEmit emit = {.page = rencoder_plain_scan_emit,.arg = plain};
		RencoderEarlyEnd *early = rencoder_plain_scan_begin_search(plain, state->pages_per_range);

		state->index_pages += rencoder_candidates_find(scan->indexRelation, state->nblocks, search.query,
													   scan->xs_snapshot, search.copies, &emit, early,
													   NULL);
		plain->whole = emit.whole;
		rencoder_plain_scan_end_search(plain);
		if (plain->complete)
			rencoder_sample_record_scan(search.query,
										(double) plain->found_pages / Max(state->nblocks, 1));
	}
	end_scan_search(scan, &search);
}

/* Counts what a plain scan has visited so far: it is over, whether it came to its end or not. */
static void
count_plain_scan(IndexScanDesc scan)
{
	OwnScan    *state = (OwnScan *) scan->opaque;

	if (state->plain != NULL && state->plain->begun && !state->counted)
		count_scan(scan, state->plain->pages, state->plain->ranges, &state->plain->whole);
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
		state->check = rencoder_plain_check_begin(scan->heapRelation, index);
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

/* Rows come in no order, and forward only. */
bool
rencodergettuple(IndexScanDesc scan, ScanDirection direction)
{
	OwnScan    *state = (OwnScan *) scan->opaque;

	if (!ScanDirectionIsForward(direction))
		elog(ERROR, "rencoder indexes scan forward only");
	if (state->plain == NULL)
		begin_plain_scan(scan);
	scan->xs_recheck = true;
	for (;;)
	{
		if (rencoder_plain_scan_next(state->plain, scan))
		{
			if (state->check == NULL ||
				rencoder_plain_check_passes(state->check, scan->xs_snapshot, &scan->xs_heaptid))
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
	state->counted = false;
	if (state->plain != NULL)
		rencoder_plain_scan_rewind(state->plain);
	if (keys && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
}

void
rencoderendscan(IndexScanDesc scan)
{
	OwnScan    *state = (OwnScan *) scan->opaque;

	count_plain_scan(scan);
	if (state->check != NULL)
		rencoder_plain_check_end(state->check);
	if (state->plain != NULL)
	{
		rencoder_plain_scan_end(state->plain);
		pfree(state->plain);
	}
	if (state->copies != NULL)
		pfree(state->copies);
	pfree(state);
	scan->opaque = NULL;
	rencoder_scan_stats_write_if_due(scan->indexRelation);
}
