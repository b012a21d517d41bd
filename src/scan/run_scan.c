/*
 * run_scan.c
 *		What the runs and the pending list of an index say of a query: heap pages, or parts of them.
 */
#include "scan/run_scan.h"

#include "access/htup_details.h"
#include "miscadmin.h"

#include "utils/memutils.h"

#include "store/pending.h"
#include "store/run_pages.h"

RencoderRunScan *
rencoder_run_scan_begin(Relation index, BlockNumber nblocks, RencoderQuery *query,
						RencoderCopies *copies, const RencoderPrefetch *prefetch)
{
	RencoderRunScan *scan = palloc(sizeof(RencoderRunScan));

	memset(scan, 0, offsetof(RencoderRunScan, choice) + query->natts * sizeof(RencoderRunChoice));
	scan->index = index;
	scan->nblocks = nblocks;
	scan->prefetch = prefetch;
	scan->copies = copies;
	scan->runs = &copies->runs;
	scan->query = query;
	scan->stored = palloc0(2 * query->natts * sizeof(RencoderFoundRows));
	scan->late = scan->stored + query->natts;
	for (int col = 0; col < query->natts; col++)
	{
		const RencoderColumnQuery *q = &query->column[col];

		if (!rencoder_column_is_asked(q))
			continue;
		scan->nasked++;
		if (q->has_keys)
			scan->ntrees = Max(scan->ntrees, col + 1);
		else
			scan->ntrees = rencoder_run_null_tree(query->natts, col) + 1;
	}
	if (scan->nasked > 1)
		scan->ntrees = rencoder_run_ntrees(query->natts);
	for (int i = 0; i < 2 * query->natts; i++)
		renc_stretches_begin(&scan->stored[i].list, Min(work_mem * (Size) 1024 / (2 * scan->nasked + 1),
														MaxAllocSize / 2), palloc, pfree);
	return scan;
}

/* Notes what is wrong, if it is the first. */
void
rencoder_run_scan_note_fault(RencoderRunScan *scan, BlockNumber blkno, const char *fault)
{
	if (scan->fault != NULL)
		return;
	scan->fault = fault;
	scan->fault_blkno = blkno;
	scan->fault_changes = scan->runs->changes;
}

/* Looks at the lists again: what is kept has aged. */
static void
look_at_run_lists(RencoderRunScan *scan)
{
	rencoder_copies_drop(scan->copies);
	rencoder_runs_copy(scan->index, &scan->copies->runs, &scan->npages);
}

/* What is asked of a column; its coder is named by block "named_by".  NULL if that is missing. */
const RencoderKeySet *
rencoder_run_scan_keys(RencoderRunScan *scan, int col, uint32 generation, BlockNumber named_by)
{
	scan->keys[col] = rencoder_key_get_set(scan->query, col, generation);
	if (scan->keys[col] == NULL)
		rencoder_run_scan_note_fault(scan, named_by, "The coder of its keys is missing.");
	return scan->keys[col];
}

/*
 * Adds rows first .. last of a page, or all of it if "first" is 0.  What came since the table's
 * size was read, no snapshot sees here.
 */
void
rencoder_run_scan_add_rows(RencoderRunScan *scan, renc_stretches *list, BlockNumber page, uint32 first,
						   uint32 last)
{
	const uint32 most = Min(MaxHeapTuplesPerPage, RENC_MAX_PAGE_ROWS);

	if (page >= scan->nblocks)
		return;
	scan->nadded++;
	if (first == 0 || first > most)
		renc_stretches_add_pages(list, page, 1);
	else
		renc_stretches_add_rows(list, page, first, Min(last, most));
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
add_found(RencoderRunScan *scan, const renc_run_search *search, const RencoderKeySet *keys,
		  const renc_places *places, const FoundTarget *target)
{
	const renc_query *query = keys == NULL ? NULL : &keys->query;
	bool		boxes = keys != NULL && keys->boxes.n > 0;

	for (uint32 i = 0; i < search->n; i++)
	{
		uint32		first = 0;
		uint32		last = 0;

		/* The intervals hold keys that are in no box. */
		if (boxes && query->overlap(query->arg, renc_run_entry_lo(search, i),
									renc_run_entry_hi(search, i)) == RENC_DISJOINT)
			continue;
		if (search->part[i] != RENC_WHOLE_PAGE)
			renc_part_rows(places, search->part[i], search->leaf.grain, &first, &last);
		if (first <= last && (target->among == NULL ||
							  renc_stretches_meet(target->among, search->page[i], first, last)))
			rencoder_run_scan_add_rows(scan, target->list, search->page[i], first, last);
	}
}

static inline bool
run_scan_is_broken_off(const RencoderRunScan *scan)
{
	return scan->early != NULL && scan->early->broken_off;
}

/* More entries were found: too many, so that some are left for another time? */
static inline void
break_off_behind_limit(RencoderRunScan *scan, renc_run_search *search)
{
	if (scan->early == NULL)
		return;
	if (search->n > scan->early->limit - scan->nfound)
	{
		search->n = scan->early->limit - scan->nfound;
		scan->early->broken_off = true;
	}
	scan->nfound += search->n;
}

/*
 * Searches a tree of a run for what is in a set; "keys" as of add_found().  False: it was
 * broken off, or a page was not what it should be.
 */
static bool
search_tree(RencoderRunScan *scan, const RencoderRunInfoData *info, int tree, renc_interval_set set,
			const RencoderKeySet *keys, const FoundTarget *target)
{
	renc_places places = rencoder_run_places(&info->column[tree]);
	RencoderRunReader reader;
	renc_run_search search;

	if (!rencoder_run_reader_begin(&reader, scan->index, info, tree))
		return true;
	renc_run_search_begin(&search, &reader.run, rencoder_run_reader_read, &reader, &set);
	rencoder_run_reader_prefetch(&reader, &search, scan->prefetch);
	reader.in_place = true;
	while (renc_run_search_next(&search))
	{
		CHECK_FOR_INTERRUPTS();
		break_off_behind_limit(scan, &search);
		add_found(scan, &search, keys, &places, target);
		if (run_scan_is_broken_off(scan))
			break;
	}
	if (search.failure != NULL)
	{
		const char *fault = rencoder_run_reader_fault(&reader, search.failure, &search.failed_page);

		rencoder_run_scan_note_fault(scan, search.failed_page, fault);
	}
	scan->npages += reader.npages;
	rencoder_run_reader_end(&reader);
	return search.failure == NULL && !run_scan_is_broken_off(scan);
}

/* Searches the keys of a column for those that are compared with. */
static bool
search_keys(RencoderRunScan *scan, const RencoderRunEntry *entry, const RencoderRunInfoData *info,
			int col, RencoderRunAnswer *answer, const FoundTarget *target)
{
	const RencoderRunColumn *column = &info->column[col];
	const RencoderKeySet *k;

	if (column->root == RENCODER_NO_BLOCK)
		return true;
	k = rencoder_run_scan_keys(scan, col, column->coder, entry->info);
	if (k == NULL)
	{
		answer->all = true;
		return true;
	}
	if (entry->kind == RENCODER_RUN_BASE && !scan->query->column[col].wants_values &&
		!scan->query->column[col].wants_null)
		answer->keys = k;
	return !rencoder_key_set_meets_bounds(k, column->least, column->greatest) ||
		search_tree(scan, info, col, k->cover, k, target);
}

/* Has a column of a run so many values that each page may have one? */
static bool
has_many_values(const RencoderRunScan *scan, const RencoderRunInfoData *info, int col)
{
	return rencoder_run_scan_many_values((double) info->column[col].entries,
										 (double) info->column[rencoder_run_null_tree(scan->query->natts, col)].rows,
										 scan->nblocks);
}

/* All values of a column that have keys. */
static bool
search_values(RencoderRunScan *scan, const RencoderRunInfoData *info, int col,
			  RencoderRunAnswer *answer, const FoundTarget *target)
{
	static const renc_interval everything = {0, PG_UINT64_MAX};
	renc_interval_set set = {&everything, 1};

	answer->all = has_many_values(scan, info, col);
	return answer->all || search_tree(scan, info, col, set, NULL, target);
}

/* Rows that have no key: nulls, or values that match whatever else is asked. */
static bool
search_without_key(RencoderRunScan *scan, const RencoderRunEntry *entry,
				   const RencoderRunInfoData *info, int col, const FoundTarget *target)
{
	const RencoderColumnQuery *q = &scan->query->column[col];
	bool		keyless = entry->keyless && (q->has_keys || q->wants_values);
	renc_interval interval = {q->wants_null ? RENCODER_RUN_NULL : RENCODER_RUN_KEYLESS,
	keyless ? RENCODER_RUN_KEYLESS : RENCODER_RUN_NULL};
	renc_interval_set set = {&interval, 1};

	return (!q->wants_null && !keyless) ||
		search_tree(scan, info, rencoder_run_null_tree(scan->query->natts, col), set, NULL, target);
}

/* Searches what a run has of a column that is asked.  False: a page was not what it should be. */
static bool
search_column(RencoderRunScan *scan, const RencoderRunEntry *entry, RencoderSearchedRun *run, int col)
{
	const RencoderColumnQuery *q = &scan->query->column[col];
	const RencoderRunInfoData *info = run->info;
	RencoderRunAnswer *answer = &run->column[col];
	FoundTarget target = {&scan->late[col].list, NULL};

	if (entry->kind == RENCODER_RUN_BASE)
	{
		const RencoderRunAnswer *first = &run->column[scan->choice[0].col];

		target.list = &scan->stored[col].list;
		if (rencoder_run_scan_relies(scan, col) && !first->all)
			target.among = &scan->stored[scan->choice[0].col].list;
	}
	if (q->has_keys && !search_keys(scan, entry, info, col, answer, &target))
		return false;
	if (q->wants_values && !search_values(scan, info, col, answer, &target))
		return false;
	if (!answer->all && !search_without_key(scan, entry, info, col, &target))
		return false;
	if (entry->kind == RENCODER_RUN_DELTA && answer->all)
		renc_stretches_add_pages(target.list, 0, scan->nblocks);
	return true;
}

/* The run as far as it was searched, which may be not at all. */
static RencoderSearchedRun *
searched_run(RencoderRunScan *scan, const RencoderRunEntry *entry)
{
	RencoderSearchedRun *run = scan->searched;

	while (run != NULL && run->number != entry->number)
		run = run->next;
	if (run == NULL)
	{
		run = palloc0(offsetof(RencoderSearchedRun, column) +
					  scan->query->natts * sizeof(RencoderRunAnswer));
		run->number = entry->number;
		run->kind = entry->kind;
		run->next = scan->searched;
		scan->searched = run;
	}
	return run;
}

/*
 * Learns what the trees of a run are, unless that was done.  False: a page was not what it should
 * be.
 */
static bool
look_at_run(RencoderRunScan *scan, const RencoderRunEntry *entry, RencoderSearchedRun *run)
{
	const char *fault;

	if (run->info != NULL)
		return true;
	run->info = rencoder_run_read_trees(scan->index, entry, scan->ntrees, &scan->copies->pages,
										&scan->npages, &fault);
	if (run->info == NULL)
		rencoder_run_scan_note_fault(scan, entry->info, fault);
	return run->info != NULL;
}

/* The LIVE runs of the list that are not searched yet, or only the base runs of them. */
static int
wanted_runs(RencoderRunScan *scan, bool base_only, RencoderWantedRun *wanted)
{
	int			n = 0;

	for (uint32 i = 0; i < scan->runs->list.n; i++)
	{
		const RencoderRunEntry *entry = &scan->runs->list.entry[i];
		RencoderSearchedRun *run;

		if (entry->state != RENCODER_RUN_LIVE || (base_only && entry->kind != RENCODER_RUN_BASE))
			continue;
		run = searched_run(scan, entry);
		if (run->complete)
			continue;
		wanted[n].entry = entry;
		wanted[n++].run = run;
	}
	return n;
}

/* Has the roots fetched that a search of a run will read. */
static void
expect_roots(RencoderRunScan *scan, const RencoderWantedRun *wanted)
{
	const RencoderRunInfoData *info = wanted->run->info;

	for (int tree = 0; tree < scan->ntrees; tree++)
	{
		const RencoderRunColumn *column = &info->column[tree];
		int			col = tree % scan->query->natts;
		const RencoderColumnQuery *q = &scan->query->column[col];
		const RencoderKeySet *k = tree >= scan->query->natts || !q->has_keys ? NULL :
			rencoder_run_scan_keys(scan, col, column->coder, wanted->entry->info);

		if ((tree >= scan->query->natts ? q->wants_null :
			 q->wants_values && !has_many_values(scan, info, col)) ||
			(k != NULL && rencoder_key_set_meets_bounds(k, column->least, column->greatest)))
			rencoder_kept_prefetch_page(scan->prefetch, column->root);
	}
}

/*
 * Where there are several runs, reads what they are and has their roots fetched.  False: a page
 * was not what it should be.
 */
static bool
prepare_runs(RencoderRunScan *scan, const RencoderWantedRun *wanted, int n)
{
	int			distance = (int) Min(scan->prefetch->distance, RENCODER_MAX_RUNS);

	if (distance == 0 || n < 2 || rencoder_kept_prefetch_is_vain())
		return true;
	for (int i = 1; i < Min(n, distance) && scan->ntrees > 1; i++)
		rencoder_kept_prefetch_page(scan->prefetch, wanted[i].entry->info);
	for (int i = 0; i < n; i++)
	{
		if (i + distance < n && scan->ntrees > 1)
			rencoder_kept_prefetch_page(scan->prefetch, wanted[i + distance].entry->info);
		if (!look_at_run(scan, wanted[i].entry, wanted[i].run))
			return false;
		expect_roots(scan, &wanted[i]);
	}
	return true;
}

/* Searches runs for column i of scan->choice, or leaves it out.  False: as search_column(). */
static bool
search_runs_for_column(RencoderRunScan *scan, const RencoderWantedRun *wanted, int n, int i)
{
	RencoderRunChoice *choice = &scan->choice[i];

	if (rencoder_run_scan_relies(scan, choice->col))
	{
		renc_stretches *first = &scan->stored[scan->choice[0].col].list;
		renc_stretches *late = &scan->late[scan->choice[0].col].list;

		renc_stretches_finish(first);
		renc_stretches_finish(late);
		if (!choice->decided)
			rencoder_run_choice_decide(scan, wanted, n, i, (double) (renc_stretches_count_pages(first) +
																	 renc_stretches_count_pages(late)));
	}
	for (int j = 0; j < n; j++)
	{
		RencoderRunAnswer *answer = &wanted[j].run->column[choice->col];

		if (answer->done)
			continue;
		if (choice->left_out)
			answer->all = true;
		else if (!look_at_run(scan, wanted[j].entry, wanted[j].run) ||
				 !search_column(scan, wanted[j].entry, wanted[j].run, choice->col))
			return false;
		answer->done = true;
	}
	return true;
}

/* Searches the LIVE runs of the list, or only the base runs of them. */
static bool
search_list(RencoderRunScan *scan, bool base_only)
{
	RencoderWantedRun wanted[RENCODER_MAX_RUNS];
	int			n;
	bool		good;

	/* Compilers do not see that none is looked at if there are none. */
	wanted[0].entry = NULL;
	wanted[0].run = NULL;
	n = wanted_runs(scan, base_only, wanted);
	good = prepare_runs(scan, wanted, n);

	for (int i = 0; i < n && good && scan->nasked > 1; i++)
		good = look_at_run(scan, wanted[i].entry, wanted[i].run);
	if (good && !scan->chosen)
		rencoder_run_choose(scan, wanted, n);
	for (int i = 0; i < scan->nasked && good; i++)
		good = search_runs_for_column(scan, wanted, n, i);
	for (int i = 0; i < n && good; i++)
	{
		RencoderSearchedRun *run = wanted[i].run;

		run->complete = true;
		if (run->info != NULL)
			pfree(run->info);
		run->info = NULL;
	}
	return good;
}

/* A fault that the list as it is now explains is forgotten; else it is an error. */
static void
look_again_at_runs(RencoderRunScan *scan)
{
	BlockNumber blkno;
	const char *fault = rencoder_run_scan_fault(scan, &blkno);

	if (fault != NULL)
		rencoder_page_corrupted(scan->index, blkno, fault);
}

/*
 * Puts what was found in order, to be taken from the beginning.  A column that was left out shares
 * the late places of the first.
 */
static void
finish_found(RencoderRunScan *scan)
{
	for (int i = 0; i < 2 * scan->query->natts; i++)
		renc_stretches_finish(&scan->stored[i].list);
	for (int i = 1; i < scan->nasked; i++)
	{
		if (scan->choice[i].left_out)
			scan->late[scan->choice[i].col].list = scan->late[scan->choice[0].col].list;
	}
	rencoder_run_scan_rewind(scan);
}

void
rencoder_run_scan_search(RencoderRunScan *scan, RencoderEarlyEnd *early)
{
	scan->early = early;
	rencoder_kept_prefetch_page(scan->prefetch, scan->runs->pending.first);
	if (scan->runs->pending.last != scan->runs->pending.first)
		rencoder_kept_prefetch_page(scan->prefetch, scan->runs->pending.last);
	while (!search_list(scan, false) || !rencoder_run_scan_read_pending(scan))
	{
		if (run_scan_is_broken_off(scan))
		{
			scan->early->take(scan->early->arg, scan);
			return;
		}
		look_again_at_runs(scan);
	}
	scan->early = NULL;
	finish_found(scan);
}

RencoderSearchedRun *
rencoder_run_scan_find_base(const RencoderRunScan *scan, uint32 number)
{
	for (RencoderSearchedRun *run = scan->searched; run != NULL; run = run->next)
	{
		if (run->number == number)
			return run->complete && run->kind == RENCODER_RUN_BASE ? run : NULL;
	}
	return NULL;
}

RencoderSearchedRun *
rencoder_run_scan_search_base(RencoderRunScan *scan, uint32 number, BlockNumber named_by)
{
	RencoderSearchedRun *run = rencoder_run_scan_find_base(scan, number);

	if (run != NULL || number == scan->unknown)
		return run;

	/*
	 * Late places are complete: what came since belongs to rows that nobody
	 * sees here, or to ranges noted since, of which the epoch tells (INV-7).
	 */
	look_at_run_lists(scan);
	while (!search_list(scan, true))
		look_again_at_runs(scan);
	finish_found(scan);
	run = rencoder_run_scan_find_base(scan, number);
	if (run == NULL)
	{
		scan->unknown = number;
		rencoder_run_scan_note_fault(scan, named_by, "It names a run that is not in the list of runs.");
	}
	return run;
}

void
rencoder_run_scan_rewind(RencoderRunScan *scan)
{
	for (int i = 0; i < 2 * scan->query->natts; i++)
		memset(&scan->stored[i].next, 0, sizeof(scan->stored[i].next));
}

const char *
rencoder_run_scan_fault(RencoderRunScan *scan, BlockNumber *blkno)
{
	const char *fault = scan->fault;

	if (fault == NULL)
		return NULL;
	*blkno = scan->fault_blkno;
	scan->fault = NULL;
	look_at_run_lists(scan);
	return scan->runs->changes == scan->fault_changes ? fault : NULL;
}

void
rencoder_run_scan_end(RencoderRunScan *scan)
{
	for (int i = 1; i < scan->nasked; i++)
	{
		if (scan->choice[i].left_out)	/* it is another one's */
			scan->late[scan->choice[i].col].list.stretch = NULL;
	}
	for (int i = 0; i < 2 * scan->query->natts; i++)
		renc_stretches_end(&scan->stored[i].list);
	pfree(scan->stored);
	pfree(scan);
}
