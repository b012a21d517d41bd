/*
 * run_scan_pending.c
 *		What the pending list says of a query: late places.
 */
#include "scan/run_scan.h"

#include "store/pending.h"

/* Columns that are searched. */
static int
searched_columns(const RencoderRunScan *scan)
{
	int			n = scan->nasked;

	for (int i = 0; i < scan->nasked; i++)
		n -= scan->choice[i].left_out;
	return n;
}

/*
 * Does a pending entry match what is asked of a column?  A value without a key may.
 * *k: what was asked for of the entry before, or NULL.
 */
static bool
pending_matches_column(RencoderRunScan *scan, const RencoderPendingEntry *entry, int col,
					   BlockNumber blkno, const RencoderKeySet **k)
{
	const RencoderColumnQuery *q = &scan->query->column[col];
	uint32		coder;

	if (!rencoder_pending_has_key(entry, col))
		return rencoder_pending_is_null(entry, col) ? q->wants_null : q->has_keys || q->wants_values;
	if (!q->has_keys)
		return q->wants_values;
	coder = rencoder_pending_coders(entry, scan->query->natts)[col];
	if (*k == NULL || (*k)->generation != coder)
		*k = rencoder_run_scan_keys(scan, col, coder, blkno);
	return *k == NULL || rencoder_key_set_meets_bounds(*k, entry->key[col], entry->key[col]);
}

/* Which entries miss what is asked of a column by "k"; false: there is nothing to go by. */
static bool
find_pending_misses(const RencoderRunScan *scan, int col, const RencoderKeySet *k,
					RencoderPendingMisses *misses)
{
	if (k == NULL || scan->query->column[col].wants_null)
		return false;
	*misses = (RencoderPendingMisses)
	{
		scan->query->natts, col, rencoder_key_is_coded(scan->index, col), k->generation,
			k->query.hull_lo, k->query.hull_hi
	};
	return true;
}

/* Adds the rows of the entries that match to the late places of a column. */
static void
add_pending(RencoderRunScan *scan, const RencoderPendingWalk *walk, int col)
{
	const RencoderKeySet *k = scan->keys[col];
	RencoderPendingMisses misses;

	for (int i = 0; i < walk->copy.nentries; i++)
	{
		const RencoderPendingEntry *entry;
		uint32		row;

		/* Nearly all keys are beside what is asked for. */
		if (find_pending_misses(scan, col, k, &misses))
			i = rencoder_pending_skip_misses(&walk->copy, i, &misses);
		if (i == walk->copy.nentries)
			break;
		entry = rencoder_pending_entry(&walk->copy, i);
		if (!pending_matches_column(scan, entry, col, walk->blkno, &k))
			continue;
		row = *rencoder_pending_line_pointer(entry, scan->query->natts);
		rencoder_run_scan_add_rows(scan, &scan->late[col].list, entry->page, row, row);
	}
}

/*
 * Reads the pending list as far as it went when it was looked at.  False: a page was not
 * what it should be.
 */
bool
rencoder_run_scan_read_pending(RencoderRunScan *scan)
{
	RencoderPendingWalk walk;
	RencoderPendingMisses misses;
	int			first = scan->choice[0].col;

	rencoder_pending_walk_begin(&walk, scan->index, &scan->runs->pending, scan->runs->pending.last_number);
	walk.kept = &scan->copies->pages;
	if (searched_columns(scan) == 1 &&
		find_pending_misses(scan, first, scan->keys[first], &misses))
		walk.misses = &misses;
	while (rencoder_pending_walk_next(&walk))
	{
		if (walk.number < walk.last_number)
			rencoder_kept_prefetch_page(scan->prefetch, walk.copy.page->next);
		for (int i = 0; i < scan->nasked; i++)
		{
			if (!scan->choice[i].left_out)
				add_pending(scan, &walk, scan->choice[i].col);
		}
	}
	scan->npages += walk.npages;
	rencoder_pending_walk_end(&walk);
	if (walk.fault != NULL)
		rencoder_run_scan_note_fault(scan, walk.blkno, walk.fault);
	return walk.fault == NULL;
}
