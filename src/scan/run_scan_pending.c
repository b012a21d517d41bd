/*
 * run_scan_pending.c
 *		What the pending list says of a query: an entry has all columns of its row.
 */
#include "scan/run_scan.h"

#include "store/pending.h"

/*
 * Does a pending entry match what is asked of a column?  A value without a key may.  *fault is set
 * if that cannot be told.
 */
static bool
pending_matches_column(RencoderRunScan *scan, const RencoderPendingEntry *entry,
					   RencoderAskedColumn *asked, BlockNumber blkno)
{
	const RencoderColumnQuery *q = &scan->query->column[asked->col];
	const RencoderKeySet *keys;
	int			col = asked->col;

	if (!rencoder_pending_has_key(entry, col))
		return rencoder_pending_is_null(entry, col) ? q->wants_null : q->has_keys || q->wants_values;
	if (!q->has_keys)
		return q->wants_values;
	keys = rencoder_run_scan_keys(scan, asked, rencoder_pending_coders(entry, scan->query->natts)[col],
								  blkno);
	return keys != NULL && rencoder_key_set_meets_bounds(keys, entry->key[col], entry->key[col]);
}

static bool
pending_matches(RencoderRunScan *scan, const RencoderPendingEntry *entry, BlockNumber blkno)
{
	for (int i = 0; i < scan->nasked; i++)
	{
		if (!pending_matches_column(scan, entry, &scan->asked[i], blkno))
			return false;
	}
	return true;
}

/* Which entries miss what is asked of a column; false: of none that is known yet. */
static bool
find_pending_misses(const RencoderRunScan *scan, RencoderPendingMisses *misses)
{
	for (int i = 0; i < scan->nasked; i++)
	{
		const RencoderAskedColumn *asked = &scan->asked[i];
		const RencoderKeySet *k = asked->keys;

		if (k == NULL || scan->query->column[asked->col].wants_null)
			continue;
		*misses = (RencoderPendingMisses)
		{
			scan->query->natts, asked->col, rencoder_key_is_coded(scan->index, asked->col), k->generation,
				k->query.hull_lo, k->query.hull_hi
		};
		return true;
	}
	return false;
}

/* Adds the rows of the entries that match.  Behind the table's end no snapshot sees a row here. */
static bool
add_pending(RencoderRunScan *scan, const RencoderPendingWalk *walk)
{
	for (int i = 0; i < walk->copy.nentries; i++)
	{
		const RencoderPendingEntry *entry;
		RencoderPendingMisses misses;
		uint32		row;

		/* Nearly all keys are beside what is asked for. */
		if (find_pending_misses(scan, &misses))
			i = rencoder_pending_skip_misses(&walk->copy, i, &misses);
		if (i == walk->copy.nentries)
			break;
		entry = rencoder_pending_entry(&walk->copy, i);
		if (entry->page >= scan->copies->nblocks || !pending_matches(scan, entry, walk->blkno))
		{
			if (scan->fault != NULL)
				return false;
			continue;
		}
		if (rencoder_run_scan_take(scan, 1) == 0)
			return false;
		row = *rencoder_pending_line_pointer(entry, scan->query->natts);
		rencoder_run_scan_add_rows(&scan->pending, entry->page, row, row);
	}
	return true;
}

bool
rencoder_run_scan_read_pending(RencoderRunScan *scan)
{
	const RencoderPendingList *list = &scan->copies->catalog.pending;
	RencoderPendingWalk walk;
	RencoderPendingMisses misses;
	bool		good = true;

	if (list->first == RENCODER_NO_BLOCK)
		return true;
	rencoder_kept_prefetch_page(&scan->prefetch, list->first);
	if (list->last != list->first)
		rencoder_kept_prefetch_page(&scan->prefetch, list->last);
	rencoder_pending_walk_begin(&walk, scan->index, list, list->last_number);
	walk.kept = &scan->copies->pages;
	while (good)
	{
		/* Known from the first page on that has an entry. */
		if (walk.misses == NULL && find_pending_misses(scan, &misses))
			walk.misses = &misses;
		if (!rencoder_pending_walk_next(&walk))
			break;
		if (walk.number < walk.last_number)
			rencoder_kept_prefetch_page(&scan->prefetch, walk.copy.page->next);
		good = add_pending(scan, &walk);
	}
	scan->npages += walk.npages;
	if (walk.fault != NULL)
		good = rencoder_run_scan_note_fault(scan, walk.blkno, walk.fault);
	rencoder_pending_walk_end(&walk);
	return good;
}
