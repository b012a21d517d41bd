/*
 * matrix_scan.c
 *		What matrices say of a query: ranges of heap pages that may have its keys.
 *
 * Windows bear no number, so pages that were read may have been others', if the run was taken away
 * meanwhile.  Whether it was is looked at when all have been read; then what was found is only too much,
 * and what has read its pages since is searched, too (run_scan.h).
 */
#include "scan/run_scan.h"

#include "format/format_filter.h"

/* A run whose matrices are asked for a column. */
typedef struct MatrixScan
{
	RencoderRunScan *scan;
	RencoderSearchedRun *run;
	RencoderAskedColumn *asked;
	uint32		pages_per_range;
	const RencoderRunColumn *column;	/* that says where entries are */
	const RencoderKeySet *keys; /* or NULL */
	RencoderProbe *probe;		/* NULL: not needed yet */
} MatrixScan;

/* The ranges of a block that may have what is asked for. */
static bool
ask_block(MatrixScan *m, const RencoderMatrixEntry *entry, renc_mask *found)
{
	const RencoderColumnQuery *q = &m->scan->query->column[m->asked->col];
	renc_mask	asked = renc_mask_load(entry->has_value);
	renc_mask	always = renc_mask_load(entry->always);

	*found = renc_mask_none();
	if (q->wants_null)
		*found = renc_mask_or(*found, renc_mask_load(entry->has_null));
	if (q->wants_values)
		*found = renc_mask_or(*found, asked);
	if (!q->has_keys)
		return true;
	*found = renc_mask_or(*found, renc_mask_load(entry->keyless));
	if (m->keys == NULL || m->keys->none || entry->matrix.start == RENCODER_NO_BLOCK ||
		!rencoder_key_set_meets_bounds(m->keys, entry->min, entry->max))
		return true;
	*found = renc_mask_or(*found, always);
	asked = renc_mask_andnot(asked, *found);
	if (renc_mask_empty(asked))
		return true;
	if (m->probe == NULL)
		m->probe = rencoder_filter_probe_begin(m->scan->index, &m->keys->cover);
	*found = renc_mask_or(*found, rencoder_filter_probe(m->probe, entry, asked));
	return m->probe->fault == NULL ||
		rencoder_run_scan_note_fault(m->scan, m->probe->fault_blkno, m->probe->fault);
}

/* Adds the pages of ranges of a block, which begins at "first", that lie in a segment. */
static void
add_ranges(MatrixScan *m, uint64 first, renc_mask found, const RencoderSegment *segment)
{
	renc_mask_each(slot, found)
	{
		uint64		from = Max(first + (uint64) slot * m->pages_per_range, segment->from);
		uint64		to = Min(first + (uint64) (slot + 1) * m->pages_per_range, segment->to);

		if (from < to && rencoder_run_scan_take(m->scan, 1) > 0)
			renc_stretches_add_pages(&m->asked->base, (uint32) from, (uint32) (to - from));
	}
}

/* Asks the blocks that have pages in a segment.  False: it was broken off, or a page is another one. */
static bool
search_segment(MatrixScan *m, const RencoderSegment *segment)
{
	RencoderRunScan *scan = m->scan;
	uint64		block_pages = rencoder_matrix_block_pages(m->pages_per_range);
	BlockNumber start = m->run->entry->from;

	for (uint32 block = (uint32) ((segment->from - start) / block_pages);
		 start + block * block_pages < segment->to; block++)
	{
		RencoderMatrixEntry entry;
		BlockNumber blkno;
		const char *fault;
		renc_mask	found;

		CHECK_FOR_INTERRUPTS();
		if (!rencoder_matrix_read_entry(scan->index, m->run->number, m->column, scan->query->natts, block,
										m->asked->col, &scan->copies->pages, &entry, &scan->npages,
										&blkno, &fault))
			return rencoder_run_scan_note_fault(scan, blkno, fault);
		if (!ask_block(m, &entry, &found))
			return false;
		add_ranges(m, start + block * block_pages, found, segment);
		if (rencoder_run_scan_is_broken_off(scan))
			return false;
	}
	return true;
}

bool
rencoder_run_scan_search_matrices(RencoderRunScan *scan, int i, RencoderSearchedRun *run)
{
	MatrixScan	m = {.scan = scan,.run = run,.asked = &scan->asked[i]};
	const RencoderColumnQuery *q = &scan->query->column[m.asked->col];
	const RencoderCopies *copies = scan->copies;
	bool		sound = true;

	m.pages_per_range = rencoder_meta_get(scan->index)->pages_per_range;
	m.column = &run->info->column[m.asked->col];
	if (m.column->root == RENCODER_NO_BLOCK && !run->first_only)
		m.column = &run->info->column[rencoder_run_null_tree(scan->query->natts, m.asked->col)];
	if (m.column->root == RENCODER_NO_BLOCK)
		return true;
	if (q->has_keys)
	{
		m.keys = rencoder_run_scan_keys(scan, m.asked, run->info->column[m.asked->col].coder,
										run->entry->info);
		if (m.keys == NULL)
			return false;
	}
	for (int s = 0; s < copies->nsegments && sound; s++)
	{
		if (copies->segment[s].run == run->entry)
			sound = search_segment(&m, &copies->segment[s]);
	}
	if (m.probe != NULL)
	{
		scan->npages += m.probe->npages;
		rencoder_filter_probe_end(m.probe);
	}
	return sound;
}

bool
rencoder_run_scan_matrices_are_live(RencoderRunScan *scan)
{
	RencoderCatalog *catalog = NULL;
	bool		live = true;

	for (int i = 0; i < scan->nruns && live; i++)
	{
		const RencoderRunEntry *now;
		RencoderSearchedRun *run = &scan->run[i];

		if (!run->wanted || run->entry->kind != RENCODER_RUN_MATRIX)
			continue;
		if (catalog == NULL)
		{
			catalog = palloc(sizeof(RencoderCatalog));
			rencoder_catalog_copy(scan->index, catalog, NULL, NULL, &scan->npages);
		}
		now = rencoder_catalog_find(catalog, run->number);
		live = now != NULL && now->state == RENCODER_RUN_LIVE;
		if (!live)
			(void) rencoder_run_scan_note_fault(scan, run->entry->info, "The run has been taken away.");
	}
	if (catalog != NULL)
		pfree(catalog);
	return live;
}
