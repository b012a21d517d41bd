/*
 * scan.c
 *		amgetbitmap: candidate ranges to a bitmap of heap pages.
 */
#include "query/scan.h"

#include "access/relscan.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "base/workspace.h"
#include "plan/sample_record.h"
#include "query/candidates.h"
#include "query/scan_instrument.h"
#include "query/scan_stats.h"
#include "store/open_index.h"

typedef struct OwnScan
{
	RencoderWorkspace *workspace;	/* of a rescan */
	RencoderCopies *copies;		/* of all rescans, or NULL: there was none */
	RencoderCoders *coders;		/* likewise */
	SnapshotData snapshot;		/* that of the last scan; snapshot_type, xmin,
								 * xmax, xcnt, curcid count */
	bool		scanned;
	RencoderNodeCounts *instrument; /* of the node, or NULL */
	bool		reportable;		/* may its user be told of it? */
} OwnScan;

uint64		rencoder_scans_begun = 0;

/* May the user read all rows of a table, or of one that it is a partition of? */
static bool
may_read_all(Oid heapoid, Oid userid)
{
	List	   *ancestors;
	ListCell   *lc;

	if (rencoder_open_index_may_read(heapoid, userid))
		return true;
	ancestors = get_rel_relispartition(heapoid) ? get_partition_ancestors(heapoid) : NIL;
	foreach(lc, ancestors)
	{
		if (rencoder_open_index_may_read(lfirst_oid(lc), userid))
			return true;
	}
	return false;
}

/*
 * Who may call a function that runs with rights of another user must not learn what that finds,
 * nor, by a view or behind policies, of rows that he may not read.  Only what he does himself, on
 * a table all of whose rows he may read, is reported.
 */
static bool
may_report(Relation index)
{
	Oid			userid;
	int			sec_context;

	if (!rencoder_report_scans)
		return false;
	GetUserIdAndSecContext(&userid, &sec_context);
	return sec_context == 0 && userid == GetOuterUserId() &&
		may_read_all(index->rd_index->indrelid, userid);
}

IndexScanDesc
rencoderbeginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);
	OwnScan    *state = palloc0(sizeof(OwnScan));

	/* The executor keeps one context for all rescans of a join. */
	state->workspace = rencoder_workspace_borrow();
	state->reportable = may_report(index);
	scan->opaque = state;
	rencoder_scans_begun++;
	return scan;
}

void
rencoder_scan_instrument(IndexScanDesc scan, RencoderNodeCounts *instrument)
{
	((OwnScan *) scan->opaque)->instrument = instrument;
}

bool
rencoder_scan_is_reportable(IndexScanDesc scan)
{
	return scan != NULL && ((OwnScan *) scan->opaque)->reportable;
}

void
rencoderrescan(IndexScanDesc scan, ScanKey keys, int nkeys,
			   ScanKey orderbys, int norderbys)
{
	if (keys && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
}

void
rencoderendscan(IndexScanDesc scan)
{
	OwnScan    *state = (OwnScan *) scan->opaque;

	rencoder_workspace_give_back(state->workspace);
	if (state->copies != NULL)
		pfree(state->copies);
	pfree(state);
	scan->opaque = NULL;
	rencoder_scan_stats_write(scan->indexRelation);
}

typedef struct BitmapTarget
{
	TIDBitmap  *tbm;
	uint32		pages_per_range;
	BlockNumber nblocks;
	int64		npages;			/* of which rows are not told */
	int64		exact_pages;	/* of which they are */
	int64		nrows;			/* these */
	int64		nranges;
} BitmapTarget;

/* Adds rows of a page. */
static void
add_exact_page(BitmapTarget *target, BlockNumber block, const uint64 *row)
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

/* Adds candidates: rows, or lossily pages.  All their rows are rechecked. */
static void
add_pages(void *arg, uint64 first_range, const renc_candidates *candidates)
{
	BitmapTarget *target = (BitmapTarget *) arg;
	uint32		next = 0;

	for (unsigned int slot = renc_mask_next(candidates->ranges, 0); slot < RENC_GROUP_RANGES;
		 slot = renc_mask_next(candidates->ranges, slot + 1))
	{
		uint64		start = (first_range + slot) * target->pages_per_range;
		uint64		end = Min(start + target->pages_per_range, target->nblocks);

		CHECK_FOR_INTERRUPTS();
		target->nranges++;
		for (uint64 blkno = start; blkno < end; blkno++)
		{
			const uint64 *row;

			if (!renc_candidates_has(candidates, slot, (uint32) (blkno - start)))
				continue;
			row = renc_candidates_rows(candidates, slot, (uint32) (blkno - start), &next);
			if (row != NULL)
			{
				add_exact_page(target, (BlockNumber) blkno, row);
				continue;
			}
			tbm_add_page(target->tbm, (BlockNumber) blkno);
			target->npages++;
		}
	}
}

static void
count_scan(IndexScanDesc scan, const BitmapTarget *target, int64 index_pages)
{
	RencoderNodeCounts *instrument = ((OwnScan *) scan->opaque)->instrument;
	RencoderStats stats = {0};
	int64		ranges = ((int64) target->nblocks + target->pages_per_range - 1) / target->pages_per_range;

	stats.count[RENCODER_STATS_SCANS] = 1;
	stats.count[RENCODER_STATS_TABLE_PAGES] = target->nblocks;
	stats.count[RENCODER_STATS_PAGES] = target->npages + target->exact_pages;
	stats.count[RENCODER_STATS_RANGES] = ranges;
	stats.count[RENCODER_STATS_SKIPPED] = Max(ranges - target->nranges, 0);
	stats.count[RENCODER_STATS_INDEX_PAGES] = index_pages;
	rencoder_scan_stats_add(RelationGetRelid(scan->indexRelation), &stats);
	if (instrument == NULL)
		return;
	RencoderScanPages(instrument) += target->npages + target->exact_pages;
	RencoderScanRanges(instrument) += ranges;
	RencoderScanSkipped(instrument) += stats.count[RENCODER_STATS_SKIPPED];
}

/*
 * What a rescan may use again, NULL for the first scan.  PostgreSQL's executor leaves a scan its
 * snapshot; in a newer one there may be rows that came after the pages were copied.
 */
static RencoderCopies *
usable_copies(IndexScanDesc scan)
{
	OwnScan    *state = (OwnScan *) scan->opaque;
	const SnapshotData *last = &state->snapshot;
	const SnapshotData *now = scan->xs_snapshot;

	if (now == NULL)
		return NULL;
	if (state->scanned && state->copies == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(state));

		state->copies = rencoder_copies_create();
		state->coders = rencoder_coders_create();
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

int64
rencodergetbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	Relation	index = scan->indexRelation;
	Relation	heap;
	RencoderQuery *query;
	int64		index_pages;
	BitmapTarget target = {.tbm = tbm};
	OwnScan    *state = (OwnScan *) scan->opaque;
	MemoryContext caller = MemoryContextSwitchTo(state->workspace->context);
	RencoderCopies *copies = usable_copies(scan);

	pgstat_count_index_scan(index);
	query = rencoder_key_query(index, scan->keyData, scan->numberOfKeys);
	if (copies != NULL)
		query->coders = state->coders;
	if (!query->empty)
	{
		/* The executor, who reads it next, has locked it. */
		heap = table_open(index->rd_index->indrelid, NoLock);
		target.pages_per_range = rencoder_meta_get(index)->pages_per_range;
		target.nblocks = RelationGetNumberOfBlocks(heap);
		table_close(heap, NoLock);

		/* One search: a pass over the groups, for all elements of all arrays. */
		rencoder_count_search(scan);
		index_pages = rencoder_candidates_find(index, target.nblocks, query, scan->xs_snapshot,
											   copies, add_pages, &target, NULL);
		count_scan(scan, &target, index_pages);
		rencoder_sample_record_scan(query, (double) (target.npages + target.exact_pages) /
									Max(target.nblocks, 1));
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(state->workspace->context);

	/* As BRIN: the rows of a lossy page are not known; ten is a guess. */
	return target.npages * 10 + target.nrows;
}
