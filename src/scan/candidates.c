/*
 * candidates.c
 *		Finding the rows, and the heap pages, that may satisfy a query.
 *
 *		each segment of the table	its covering run's places, column by column
 *		all of it					places of deltas, column by column; rows of the pending list
 *		without a run				all rows: behind the frontier, or not to be trusted by the snapshot
 */
#include "scan/candidates.h"


/*
 * What all columns that were searched have in common: left in the list of the first, which is
 * searched in any case.
 */
static renc_stretches *
common_rows(RencoderRunScan *scan, bool base)
{
	renc_stretches *rows = base ? &scan->asked[0].base : &scan->asked[0].late;

	renc_stretches_finish(rows);
	for (int i = 1; i < scan->nasked; i++)
	{
		renc_stretches *other = base ? &scan->asked[i].base : &scan->asked[i].late;

		if (scan->asked[i].left_out)
			continue;
		renc_stretches_finish(other);
		renc_stretches_keep(rows, other);
	}
	return rows;
}

/* Adds the segments that are read whatever is asked. */
static void
add_uncovered_pages(const RencoderCopies *copies, RencoderCandidates *candidates)
{
	for (int i = 0; i < copies->nsegments; i++)
	{
		const RencoderSegment *segment = &copies->segment[i];

		if (segment->run != NULL)
			continue;			/* its places were searched */
		renc_stretches_add_pages(&candidates->rows, segment->from, segment->to - segment->from);
		candidates->whole += segment->to - segment->from;
	}
}

/* What was found so far by a search that is broken off: each row is rechecked. */
static void
take_rows_found(const RencoderRunScan *scan, renc_stretches *rows)
{
	for (int i = 0; i < scan->nasked; i++)
	{
		renc_stretches_add_all(rows, &scan->asked[i].base);
		renc_stretches_add_all(rows, &scan->asked[i].late);
	}
}

/* A list with its memory, of which the other one has none by then. */
static renc_stretches
take_list(renc_stretches *list)
{
	renc_stretches taken = *list;

	list->stretch = NULL;
	list->room = 0;
	renc_stretches_clear(list);
	return taken;
}

void
rencoder_candidates_find(Relation index, RencoderQuery *query, Snapshot snapshot,
						 RencoderCopies *copies, RencoderEarlyEnd *early, bool covered,
						 RencoderCandidates *candidates)
{
	RencoderCopies own;
	RencoderRunScan *scan;

	memset(candidates, 0, sizeof(*candidates));
	renc_stretches_begin(&candidates->rows, 0, palloc, pfree);
	if (query->empty)
		return;
	if (copies == NULL)
	{
		rencoder_copies_init(&own);
		copies = &own;
	}
	rencoder_copies_begin(copies, index, snapshot, &candidates->index_pages);
	candidates->nblocks = copies->nblocks;
	scan = rencoder_run_scan_begin(index, query, snapshot, copies);
	rencoder_run_scan_search(scan, early);
	candidates->index_pages += scan->npages;
	if (early != NULL && early->broken_off)
	{
		candidates->rows = take_list(&scan->pending);
		take_rows_found(scan, &candidates->rows);
	}
	else
	{
		candidates->rows = take_list(common_rows(scan, true));
		renc_stretches_add_all(&candidates->rows, common_rows(scan, false));
		renc_stretches_add_all(&candidates->rows, &scan->pending);
		if (!covered)
			add_uncovered_pages(copies, candidates);
		if (copies->nblocks > copies->catalog.frontier)
			candidates->tail = copies->nblocks - copies->catalog.frontier;
	}
	candidates->pending = (int64) rencoder_pending_pages(&copies->catalog.pending);
	renc_stretches_finish(&candidates->rows);
	rencoder_run_scan_end(scan);
}
