/*
 * run_scan.c
 *		What runs and pending list say of a query: rows of heap pages.
 */
#include "scan/run_scan.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "store/run_pages.h"

RencoderRunScan *
rencoder_run_scan_begin(Relation index, RencoderQuery *query, Snapshot snapshot,
						RencoderCopies *copies)
{
	RencoderRunScan *scan;
	Size		limit;
	int			nasked = 0;

	for (int col = 0; col < query->natts; col++)
		nasked += rencoder_column_is_asked(&query->column[col]);
	limit = Min(work_mem * (Size) 1024 / (2 * nasked + 2), MaxAllocSize / 2);
	scan = palloc0(offsetof(RencoderRunScan, asked) + nasked * sizeof(RencoderAskedColumn));
	scan->index = index;
	scan->query = query;
	scan->snapshot = snapshot;
	scan->copies = copies;
	rencoder_kept_prefetch_begin(&scan->prefetch, index, &copies->pages);
	for (int col = 0; col < query->natts; col++)
	{
		RencoderAskedColumn *asked = &scan->asked[scan->nasked];

		if (!rencoder_column_is_asked(&query->column[col]))
			continue;
		scan->nasked++;
		asked->col = col;
		renc_stretches_begin(&asked->base, limit, palloc, pfree);
		renc_stretches_begin(&asked->late, limit, palloc, pfree);
	}
	renc_stretches_begin(&scan->pending, limit, palloc, pfree);
	return scan;
}

bool
rencoder_run_scan_note_fault(RencoderRunScan *scan, BlockNumber blkno, const char *fault)
{
	scan->fault = fault;
	scan->fault_blkno = blkno;
	return false;
}

const RencoderKeySet *
rencoder_run_scan_keys(RencoderRunScan *scan, RencoderAskedColumn *asked, uint32 generation,
					   BlockNumber named_by)
{
	if (asked->keys == NULL || asked->keys->generation != generation)
		asked->keys = rencoder_key_get_set(scan->query, asked->col, generation);
	if (asked->keys == NULL)
		(void) rencoder_run_scan_note_fault(scan, named_by, "The coder of its keys is missing.");
	return asked->keys;
}

void
rencoder_run_scan_add_rows(renc_stretches *list, BlockNumber page, uint32 first, uint32 last)
{
	const uint32 most = Min(MaxHeapTuplesPerPage, RENC_MAX_PAGE_ROWS);

	if (first == 0 || first > most)
		renc_stretches_add_pages(list, page, 1);
	else
		renc_stretches_add_rows(list, page, first, Min(last, most));
}

/* Does a page count that a run names? */
static inline bool
run_page_counts(const RencoderRunScan *scan, const RencoderSearchedRun *run, BlockNumber page)
{
	return page >= run->from && page < run->to &&
		(run->whole || rencoder_copies_covers(scan->copies, run->entry, page));
}

/* Where rows of a run are added to. */
typedef struct FoundTarget
{
	renc_stretches *list;
	const renc_stretches *among;	/* only those that this one has, too;
									 * NULL: all */
} FoundTarget;

/* Adds the rows of the entries found, in a run with "places"; "keys": NULL if all are asked for. */
static void
add_found(RencoderRunScan *scan, RencoderSearchedRun *run, const renc_run_search *search,
		  const RencoderKeySet *keys, const renc_places *places, const FoundTarget *target)
{
	const renc_query *query = keys == NULL ? NULL : &keys->query;
	bool		boxes = keys != NULL && keys->boxes.n > 0;
	uint32		n = rencoder_run_scan_take(scan, search->n);

	run->found |= n > 0;
	for (uint32 i = 0; i < n; i++)
	{
		uint32		first = 0;
		uint32		last = 0;

		/* The intervals hold keys that are in no box. */
		if (!run_page_counts(scan, run, search->page[i]) ||
			(boxes && query->overlap(query->arg, renc_run_entry_lo(search, i),
									 renc_run_entry_hi(search, i)) == RENC_DISJOINT))
			continue;
		if (search->part[i] != RENC_WHOLE_PAGE)
			renc_part_rows(places, search->part[i], search->leaf.grain, &first, &last);
		if (first <= last && (target->among == NULL ||
							  renc_stretches_meet(target->among, search->page[i], first, last)))
			rencoder_run_scan_add_rows(target->list, search->page[i], first, last);
	}
}

/*
 * Searches a tree of a run for what is in a set; "keys" as of add_found().  False: it was
 * broken off, or a page was not what it should be.
 */
static bool
search_tree(RencoderRunScan *scan, RencoderSearchedRun *run, int tree, renc_interval_set set,
			const RencoderKeySet *keys, const FoundTarget *target)
{
	renc_places places = rencoder_run_places(&run->info->column[tree]);
	RencoderRunReader reader;
	renc_run_search search;

	if (!rencoder_run_reader_begin(&reader, scan->index, run->info, tree))
		return true;
	renc_run_search_begin(&search, &reader.run, rencoder_run_reader_read, &reader, &set);
	rencoder_run_reader_prefetch(&reader, &search, &scan->prefetch);
	reader.in_place = reader.roots = true;
	while (renc_run_search_next(&search))
	{
		CHECK_FOR_INTERRUPTS();
		add_found(scan, run, &search, keys, &places, target);
		if (rencoder_run_scan_is_broken_off(scan))
			break;
	}
	if (search.failure != NULL)
	{
		const char *fault = rencoder_run_reader_fault(&reader, search.failure, &search.failed_page);

		(void) rencoder_run_scan_note_fault(scan, search.failed_page, fault);
	}
	scan->npages += reader.npages;
	rencoder_run_reader_end(&reader);
	return search.failure == NULL && !rencoder_run_scan_is_broken_off(scan);
}

/* Searches the keys of a column for those that are compared with. */
static bool
search_keys(RencoderRunScan *scan, RencoderAskedColumn *asked, RencoderSearchedRun *run,
			const FoundTarget *target)
{
	const RencoderColumnQuery *q = &scan->query->column[asked->col];
	const RencoderRunColumn *column = &run->info->column[asked->col];
	const RencoderKeySet *keys;

	if (column->root == RENCODER_NO_BLOCK)
		return column->entries == 0;	/* or it is damaged, which who reads
										 * it says */
	keys = rencoder_run_scan_keys(scan, asked, column->coder, run->entry->info);
	if (keys == NULL)
		return false;
	run->keys = q->wants_values || q->wants_null ? NULL : keys;
	return !rencoder_key_set_meets_bounds(keys, column->least, column->greatest) ||
		search_tree(scan, run, asked->col, keys->cover, keys, target);
}

/* Has a column of a run so many values that each page that it covers may have one? */
static bool
has_many_values(const RencoderRunScan *scan, const RencoderSearchedRun *run, int col)
{
	const RencoderRunColumn *column = run->info->column;

	return run->entry->kind == RENCODER_RUN_BASE &&
		rencoder_run_scan_many_values((double) column[col].entries,
									  (double) column[rencoder_run_null_tree(scan->query->natts, col)].rows,
									  scan->copies->nblocks);
}

/* All values of a column that have keys. */
static bool
search_values(RencoderRunScan *scan, int col, RencoderSearchedRun *run, const FoundTarget *target)
{
	static const renc_interval everything = {0, PG_UINT64_MAX};
	renc_interval_set set = {&everything, 1};

	if (!has_many_values(scan, run, col))
		return search_tree(scan, run, col, set, NULL, target);
	for (int i = 0; i < scan->copies->nsegments; i++)
	{
		const RencoderSegment *segment = &scan->copies->segment[i];

		if (segment->run == run->entry)
			renc_stretches_add_pages(target->list, segment->from, segment->to - segment->from);
	}
	run->found = true;
	return true;
}

/* Rows that have no key: nulls, or values that match whatever else is asked. */
static bool
search_without_key(RencoderRunScan *scan, int col, RencoderSearchedRun *run,
				   const FoundTarget *target)
{
	const RencoderColumnQuery *q = &scan->query->column[col];
	bool		keyless = run->entry->keyless && (q->has_keys || q->wants_values);
	renc_interval interval = {q->wants_null ? RENCODER_RUN_NULL : RENCODER_RUN_KEYLESS,
	keyless ? RENCODER_RUN_KEYLESS : RENCODER_RUN_NULL};
	renc_interval_set set = {&interval, 1};

	return (!q->wants_null && !keyless) ||
		search_tree(scan, run, rencoder_run_null_tree(scan->query->natts, col), set, NULL, target);
}

/* Searches what a run has of column i.  False: it was broken off, or as search_tree(). */
static bool
search_column(RencoderRunScan *scan, int i, RencoderSearchedRun *run)
{
	RencoderAskedColumn *asked = &scan->asked[i];
	const RencoderColumnQuery *q = &scan->query->column[asked->col];
	bool		base = run->entry->kind == RENCODER_RUN_BASE;
	FoundTarget target = {base ? &asked->base : &asked->late, NULL};

	if (run->entry->kind == RENCODER_RUN_MATRIX)
		return rencoder_run_scan_search_matrices(scan, i, run);
	if (base && rencoder_run_scan_relies(scan, i))
		target.among = &scan->asked[0].base;
	if (q->has_keys && !search_keys(scan, asked, run, &target))
		return false;
	if (q->wants_values && !search_values(scan, asked->col, run, &target))
		return false;
	return search_without_key(scan, asked->col, run, &target);
}

/*
 * Can no row of a run satisfy what is asked of a column?  Of one with this tree of keys, that may
 * have values without a key.
 */
static bool
column_excludes_run(RencoderRunScan *scan, RencoderAskedColumn *asked,
					const RencoderRunColumn *column, bool keyless, BlockNumber named_by)
{
	const RencoderColumnQuery *q = &scan->query->column[asked->col];
	const RencoderKeySet *keys;

	if (!q->has_keys || q->wants_null || keyless)
		return false;
	if (column->root == RENCODER_NO_BLOCK)
		return column->entries == 0;	/* or it is damaged, which who reads
										 * it says */
	keys = rencoder_run_scan_keys(scan, asked, column->coder, named_by);
	return keys != NULL && !rencoder_key_set_meets_bounds(keys, column->least, column->greatest);
}

/*
 * The same of all that is asked, of the runs whose entry tells, without a look at the run.  (An
 * entry of the pending list may have its columns in several deltas.)
 */
static bool
entry_excludes_run(RencoderRunScan *scan, const RencoderRunEntry *entry)
{
	for (int i = 0; i < scan->nasked; i++)
	{
		if (scan->asked[i].col == 0)
			return (scan->nasked == 1 || rencoder_run_covers(entry)) &&
				column_excludes_run(scan, &scan->asked[i], &entry->first, entry->keyless != 0,
									entry->info);
	}
	return false;
}

/* And by what its info page says of all columns. */
static bool
info_excludes_run(RencoderRunScan *scan, const RencoderSearchedRun *run)
{
	for (int i = 0; i < scan->nasked && scan->nasked > 1 && run->entry->kind == RENCODER_RUN_BASE; i++)
	{
		int			col = scan->asked[i].col;
		const RencoderRunColumn *column = run->info->column;
		const RencoderRunColumn *nulls = &column[rencoder_run_null_tree(scan->query->natts, col)];

		if (column_excludes_run(scan, &scan->asked[i], &column[col],
								nulls->entries > 0 && nulls->greatest >= RENCODER_RUN_KEYLESS,
								run->entry->info))
			return true;
	}
	return false;
}

/*
 * On PostgreSQL 15 and 16 rows may have been removed under a snapshot before the run was made,
 * whose info page is written last: then the snapshot is too old.
 */
static void
test_run_for_old_snapshot(RencoderRunScan *scan, const RencoderRunEntry *entry)
{
	Buffer		buf;
	const char *fault;

	if (!rencoder_removes_early() || scan->snapshot == NULL || !rencoder_run_covers(entry))
		return;
	buf = rencoder_page_try_read(scan->index, entry->info, RENCODER_PAGE_RUN_INFO, &fault);
	if (!BufferIsValid(buf))
		return;
	if (RencoderPageGetRunInfo(BufferGetPage(buf))->number == entry->number)
		rencoder_test_old_snapshot(scan->snapshot, scan->index, BufferGetPage(buf));
	UnlockReleaseBuffer(buf);
}

bool
rencoder_run_scan_look(RencoderRunScan *scan, RencoderSearchedRun *run, bool first_only)
{
	const char *fault;

	if (run->info != NULL && (first_only || !run->first_only))
		return true;
	run->info = rencoder_run_read_trees(scan->index, run->entry, first_only ? 1 : 2,
										&scan->copies->pages, &scan->npages, &fault);
	if (run->info == NULL)
		return rencoder_run_scan_note_fault(scan, run->entry->info, fault);
	run->first_only = first_only;
	if (!first_only && info_excludes_run(scan, run))
	{
		run->wanted = false;
		run->complete = true;
	}
	return scan->fault == NULL;
}

/* What of the runs counts: base runs where they cover pages, deltas anywhere. */
static void
find_counted_pages(RencoderRunScan *scan)
{
	const RencoderCopies *copies = scan->copies;

	for (int i = 0; i < scan->nruns; i++)
	{
		RencoderSearchedRun *run = &scan->run[i];

		run->wanted = run->entry->state == RENCODER_RUN_LIVE &&
			run->entry->kind == RENCODER_RUN_DELTA && !scan->deltas_done;
		run->whole = true;
		run->from = 0;
		run->to = copies->nblocks;
	}
	for (int i = 0; i < copies->nsegments; i++)
	{
		const RencoderSegment *segment = &copies->segment[i];
		RencoderSearchedRun *run;

		if (segment->run == NULL)
			continue;
		run = &scan->run[segment->run - copies->catalog.entry];
		if (!run->wanted)
			run->from = segment->from;
		run->whole = !run->wanted;
		run->wanted = true;
		run->to = segment->to;
	}
}

/* The runs of the catalog's copy, with what was done of those of the copy before. */
static void
list_runs(RencoderRunScan *scan)
{
	const RencoderCatalog *catalog = &scan->copies->catalog;
	RencoderSearchedRun *before = scan->run;
	int			nbefore = scan->nruns;

	scan->nruns = (int) catalog->n;
	scan->run = palloc0(Max(scan->nruns, 1) * sizeof(RencoderSearchedRun));
	for (int i = 0; i < scan->nruns; i++)
	{
		for (int j = 0; j < nbefore; j++)
		{
			if (before[j].number == catalog->entry[i].number)
				scan->run[i] = before[j];
		}
		scan->run[i].number = catalog->entry[i].number;
		scan->run[i].entry = &catalog->entry[i];
	}
	scan->largest = NULL;
	find_counted_pages(scan);
	for (int i = 0; i < scan->nruns; i++)
	{
		RencoderSearchedRun *run = &scan->run[i];

		run->wanted &= !run->complete;
		if (run->wanted)
			test_run_for_old_snapshot(scan, run->entry);
		if (run->wanted && entry_excludes_run(scan, run->entry))
		{
			run->wanted = false;
			run->complete = true;
		}
	}
	if (before != NULL)
		pfree(before);
}

/* Is a run to be searched for column i of scan->asked? */
static bool
is_to_be_searched(const RencoderRunScan *scan, const RencoderSearchedRun *run, int i)
{
	return run->wanted && (run->searched & UINT32_C(1) << scan->asked[i].col) == 0 &&
		(run->found || run->entry->kind != RENCODER_RUN_BASE || !rencoder_run_scan_relies(scan, i));
}

/* Is of a run only the tree of the index's first column searched for column i? */
static bool
needs_first_tree_only(const RencoderRunScan *scan, const RencoderSearchedRun *run, int i)
{
	int			col = scan->asked[i].col;

	return col == 0 && scan->query->column[col].has_keys && !scan->query->column[col].wants_null &&
		!run->entry->keyless;
}

/* Has the roots fetched that a search of a run for a column will read. */
static void
expect_roots(RencoderRunScan *scan, const RencoderSearchedRun *run, RencoderAskedColumn *asked)
{
	const RencoderColumnQuery *q = &scan->query->column[asked->col];
	const RencoderRunColumn *column = &run->info->column[asked->col];

	if (q->wants_null)
		rencoder_kept_prefetch_page(&scan->prefetch,
									run->info->column[rencoder_run_null_tree(scan->query->natts, asked->col)].root);
	if ((q->wants_values && !has_many_values(scan, run, asked->col)) ||
		(q->has_keys && !column_excludes_run(scan, asked, column, false, run->entry->info)))
		rencoder_kept_prefetch_page(&scan->prefetch, column->root);
}

/*
 * Where several runs are to be searched for column i, has their pages that are read first fetched.
 * False: a page was not what it should be.
 */
static bool
prepare_runs(RencoderRunScan *scan, int i)
{
	int			distance = (int) scan->prefetch.distance;
	int			ahead = 0;
	int			nwanted = 0;

	for (int j = 0; j < scan->nruns; j++)
		nwanted += is_to_be_searched(scan, &scan->run[j], i);
	if (distance == 0 || nwanted < 2 || rencoder_kept_prefetch_is_vain())
		return true;
	for (int j = 0; j < scan->nruns; j++)
	{
		RencoderSearchedRun *run = &scan->run[j];

		for (; ahead < scan->nruns && ahead <= j + distance; ahead++)
		{
			if (ahead > j && is_to_be_searched(scan, &scan->run[ahead], i) &&
				!needs_first_tree_only(scan, &scan->run[ahead], i))
				rencoder_kept_prefetch_page(&scan->prefetch, scan->run[ahead].entry->info);
		}
		if (!is_to_be_searched(scan, run, i))
			continue;
		if (!rencoder_run_scan_look(scan, run, needs_first_tree_only(scan, run, i)))
			return false;
		if (run->wanted)
			expect_roots(scan, run, &scan->asked[i]);
	}
	return true;
}

/* Searches runs of a kind for column i of scan->asked.  False: as search_column(). */
static bool
search_kind(RencoderRunScan *scan, uint16 kind, int i)
{
	for (int j = 0; j < scan->nruns; j++)
	{
		RencoderSearchedRun *run = &scan->run[j];

		if (run->entry->kind != kind || !is_to_be_searched(scan, run, i))
			continue;
		if (!rencoder_run_scan_look(scan, run, needs_first_tree_only(scan, run, i)) ||
			(run->wanted && !search_column(scan, i, run)))
			return false;
		run->searched |= UINT32_C(1) << scan->asked[i].col;
	}
	return true;
}

/* Is column i of scan->asked to be left out?  Those before it have been searched. */
static void
decide_column(RencoderRunScan *scan, int i)
{
	RencoderAskedColumn *first = &scan->asked[0];

	if (!rencoder_run_scan_relies(scan, i))
		return;
	renc_stretches_finish(&first->base);
	renc_stretches_finish(&first->late);
	if (!scan->asked[i].decided)
		rencoder_run_choice_decide(scan, i, (double) (renc_stretches_count_pages(&first->base) +
													  renc_stretches_count_pages(&first->late)));
}

/* Searches what is not searched yet of the catalog's copy.  False: as search_column(). */
static bool
search_copy(RencoderRunScan *scan)
{
	if (!scan->pending_done && !rencoder_run_scan_read_pending(scan))
		return false;
	scan->pending_done = true;
	if (!scan->chosen && scan->nasked > 1 && !rencoder_run_choose(scan))
		return false;
	scan->chosen = true;
	for (int i = 0; i < scan->nasked; i++)
	{
		decide_column(scan, i);
		if (!scan->asked[i].left_out &&
			(!prepare_runs(scan, i) || !search_kind(scan, RENCODER_RUN_DELTA, i) ||
			 !search_kind(scan, RENCODER_RUN_BASE, i) || !search_kind(scan, RENCODER_RUN_MATRIX, i)))
			return false;
	}
	if (!rencoder_run_scan_matrices_are_live(scan))
		return false;
	for (int i = 0; i < scan->nruns; i++)
		scan->run[i].complete |= scan->run[i].wanted;
	scan->deltas_done = true;
	return true;
}

/* After a fault: one that the catalog as it is now does not explain is an error. */
static void
copy_catalog_again(RencoderRunScan *scan)
{
	uint64		version = scan->copies->catalog.version;

	rencoder_copies_renew(scan->copies, scan->index, scan->snapshot, &scan->npages);
	if (scan->copies->catalog.version == version)
		rencoder_page_corrupted(scan->index, scan->fault_blkno, scan->fault);
	scan->fault = NULL;
	list_runs(scan);
}

void
rencoder_run_scan_search(RencoderRunScan *scan, RencoderEarlyEnd *early)
{
	scan->early = early;
	list_runs(scan);
	while (!search_copy(scan) && !rencoder_run_scan_is_broken_off(scan))
		copy_catalog_again(scan);
}

void
rencoder_run_scan_end(RencoderRunScan *scan)
{
	for (int i = 0; i < scan->nasked; i++)
	{
		renc_stretches_end(&scan->asked[i].base);
		renc_stretches_end(&scan->asked[i].late);
	}
	renc_stretches_end(&scan->pending);
	for (int i = 0; i < scan->nruns; i++)
	{
		if (scan->run[i].info != NULL)
			pfree(scan->run[i].info);
	}
	pfree(scan->run);
	pfree(scan);
}
