/*
 * run_scan.c
 *		What the runs and the pending list of an index say of a query: heap pages.
 */
#include "query/run_scan.h"

#include "store/pending.h"
#include "store/run_pages.h"

RencoderRunScan *
rencoder_run_scan_begin(Relation index, RencoderQuery *query)
{
	RencoderRunScan *scan = palloc0(sizeof(RencoderRunScan));

	scan->index = index;
	scan->query = query;
	return scan;
}

/* Notes what is wrong, if it is the first. */
static void
note_scan_fault(RencoderRunScan *scan, BlockNumber blkno, const char *fault)
{
	if (scan->fault != NULL)
		return;
	scan->fault = fault;
	scan->fault_blkno = blkno;
	scan->fault_changes = scan->runs.changes;
}

/* What is asked of a column; its coder is named by block "named_by". */
static const RencoderRunKeys *
column_keys(RencoderRunScan *scan, int col, uint32 generation, BlockNumber named_by)
{
	RencoderRunKeys *k;
	RencoderIntervals intervals = {0};

	for (k = scan->keys[col]; k != NULL; k = k->next)
	{
		if (k->generation == generation)
			return k;
	}
	k = palloc0(sizeof(RencoderRunKeys));
	k->generation = generation;
	k->keys = rencoder_key_set(scan->query, col, generation);
	if (k->keys == NULL)
		note_scan_fault(scan, named_by, "The coder of its keys is missing.");
	else if (k->keys->boxes.n > 0)
	{
		rencoder_boxes_cover(&k->keys->boxes, &intervals);
		k->set.interval = intervals.interval;
		k->set.n = intervals.n;
	}
	else
		k->set = k->keys->set;
	k->next = scan->keys[col];
	scan->keys[col] = k;
	return k;
}

/* Adds the pages of the entries found. */
static void
add_found(const renc_run_search *search, const RencoderKeySet *keys, RencoderPageSet *pages)
{
	const renc_query *query = &keys->query;
	bool		boxes = keys->boxes.n > 0;

	for (uint32 i = 0; i < search->n; i++)
	{
		/* The intervals hold keys that are in no box. */
		if (!boxes || query->overlap(query->arg, renc_run_entry_lo(search, i),
									 renc_run_entry_hi(search, i)) != RENC_DISJOINT)
			rencoder_page_set_add(pages, search->page[i]);
	}
}

/* Searches a column of a run.  False: a page was not what it should be. */
static bool
search_column(RencoderRunScan *scan, const RencoderRunEntry *entry, const RencoderRunInfoData *info,
			  int col, RencoderPageSet *pages)
{
	const RencoderRunColumn *column = &info->column[col];
	const RencoderRunKeys *k;
	RencoderRunReader reader;
	renc_run_search search;

	if (column->root == RENCODER_NO_BLOCK)
		return true;
	k = column_keys(scan, col, column->coder, entry->info);
	if (k->keys == NULL)
	{
		pages->all = true;
		return true;
	}
	if (!rencoder_keys_meet(k->keys, column->least, column->greatest) ||
		!rencoder_run_reader_begin(&reader, scan->index, info, col))
		return true;
	renc_run_search_begin(&search, &reader.run, rencoder_run_read, &reader, &k->set);
	while (renc_run_search_next(&search))
	{
		CHECK_FOR_INTERRUPTS();
		add_found(&search, k->keys, pages);
	}
	if (search.failure != NULL)
	{
		const char *fault = rencoder_run_reader_fault(&reader, search.failure, &search.failed_page);

		note_scan_fault(scan, search.failed_page, fault);
	}
	scan->npages += reader.npages;
	rencoder_run_reader_end(&reader);
	return search.failure == NULL;
}

/* Searches a run, unless that was done.  False: a page was not what it should be. */
static bool
search_trees(RencoderRunScan *scan, const RencoderRunEntry *entry)
{
	int			natts = scan->query->natts;
	RencoderSearchedRun *run = scan->searched;
	RencoderRunInfo info;
	const char *fault;
	bool		complete = true;

	while (run != NULL && run->number != entry->number)
		run = run->next;
	if (run == NULL)
	{
		run = palloc0(offsetof(RencoderSearchedRun, column) + natts * sizeof(RencoderPageSet));
		run->number = entry->number;
		run->kind = entry->kind;
		run->next = scan->searched;
		scan->searched = run;
	}
	if (run->complete)
		return true;
	info = rencoder_run_info(scan->index, entry, &fault);
	scan->npages++;
	if (info == NULL)
	{
		note_scan_fault(scan, entry->info, fault);
		return false;
	}
	for (int col = 0; col < natts && complete; col++)
	{
		if (scan->query->column[col].has_keys)
			complete = search_column(scan, entry, info, col, entry->kind == RENCODER_RUN_BASE ?
									 &run->column[col] : &scan->late[col]);
	}
	run->complete = complete;
	pfree(info);
	return complete;
}

/* Searches the LIVE runs of the list, or only the base runs of them. */
static bool
search_list(RencoderRunScan *scan, bool base_only)
{
	for (uint32 i = 0; i < scan->runs.list.n; i++)
	{
		const RencoderRunEntry *entry = &scan->runs.list.entry[i];

		if (entry->state == RENCODER_RUN_LIVE &&
			(!base_only || entry->kind == RENCODER_RUN_BASE) && !search_trees(scan, entry))
			return false;
	}
	return true;
}

/* Adds the page of a pending entry to the late pages of the columns where it matches. */
static void
add_pending(RencoderRunScan *scan, const RencoderPendingEntry *entry, BlockNumber blkno)
{
	const uint32 *coder = rencoder_pending_coders(entry, scan->query->natts);

	if (entry->page == InvalidBlockNumber)
		return;
	for (int col = 0; col < scan->query->natts; col++)
	{
		const RencoderRunKeys *k;

		/* A null does not match; of a value without a key the header tells. */
		if (!scan->query->column[col].has_keys || (entry->nulls & (1U << col)))
			continue;
		k = column_keys(scan, col, coder[col], blkno);
		if (k->keys == NULL || rencoder_keys_meet(k->keys, entry->key[col], entry->key[col]))
			rencoder_page_set_add(&scan->late[col], entry->page);
	}
}

/*
 * Reads the pending list as far as it went when it was looked at.  False: a page was not
 * what it should be.
 */
static bool
read_pending(RencoderRunScan *scan)
{
	RencoderPendingWalk walk;

	rencoder_pending_walk_begin(&walk, scan->index, scan->runs.pending_first,
								scan->runs.pending_first_number, scan->runs.pending_last_number);
	while (rencoder_pending_walk_next(&walk))
	{
		for (int i = 0; i < walk.copy.nentries; i++)
			add_pending(scan, rencoder_pending_entry(&walk.copy, i), walk.blkno);
	}
	scan->npages += walk.npages;
	rencoder_pending_walk_end(&walk);
	if (walk.fault != NULL)
		note_scan_fault(scan, walk.blkno, walk.fault);
	return walk.fault == NULL;
}

/* A fault that the list as it is now explains is forgotten; else it is an error. */
static void
look_again(RencoderRunScan *scan)
{
	BlockNumber blkno;
	const char *fault = rencoder_run_scan_fault(scan, &blkno);

	if (fault != NULL)
		rencoder_page_corrupted(scan->index, blkno, fault);
}

void
rencoder_run_scan_search(RencoderRunScan *scan, const RencoderRuns *runs)
{
	memcpy(&scan->runs, runs, RencoderRunsSize(runs));
	while (!search_list(scan, false) || !read_pending(scan))
		look_again(scan);
}

RencoderSearchedRun *
rencoder_run_scan_searched(const RencoderRunScan *scan, uint32 number)
{
	for (RencoderSearchedRun *run = scan->searched; run != NULL; run = run->next)
	{
		if (run->number == number)
			return run->complete && run->kind == RENCODER_RUN_BASE ? run : NULL;
	}
	return NULL;
}

RencoderSearchedRun *
rencoder_run_scan_base(RencoderRunScan *scan, uint32 number, BlockNumber named_by)
{
	RencoderSearchedRun *run = rencoder_run_scan_searched(scan, number);

	if (run != NULL || number == scan->unknown)
		return run;

	/*
	 * Late pages are complete: what came since belongs to rows that nobody
	 * sees here.
	 */
	rencoder_runs_look(scan->index, &scan->runs, &scan->npages);
	while (!search_list(scan, true))
		look_again(scan);
	run = rencoder_run_scan_searched(scan, number);
	if (run == NULL)
	{
		scan->unknown = number;
		note_scan_fault(scan, named_by, "It names a run that is not in the list of runs.");
	}
	return run;
}

void
rencoder_run_scan_rewind(RencoderRunScan *scan)
{
	for (int col = 0; col < scan->query->natts; col++)
	{
		rencoder_page_set_rewind(&scan->late[col]);
		for (RencoderSearchedRun *run = scan->searched; run != NULL; run = run->next)
			rencoder_page_set_rewind(&run->column[col]);
	}
}

const char *
rencoder_run_scan_fault(RencoderRunScan *scan, BlockNumber *blkno)
{
	const char *fault = scan->fault;

	if (fault == NULL)
		return NULL;
	*blkno = scan->fault_blkno;
	scan->fault = NULL;
	rencoder_runs_look(scan->index, &scan->runs, &scan->npages);
	return scan->runs.changes == scan->fault_changes ? fault : NULL;
}

void
rencoder_run_scan_end(RencoderRunScan *scan)
{
	for (int col = 0; col < scan->query->natts; col++)
	{
		rencoder_page_set_free(&scan->late[col]);
		for (RencoderSearchedRun *run = scan->searched; run != NULL; run = run->next)
			rencoder_page_set_free(&run->column[col]);
	}
	pfree(scan);
}
