/*
 * delta.c
 *		Deltas: runs of the keys that came to covered ranges after their base run.
 *
 * Each scan reads the pending list from one end to the other.  So its entries are sorted
 * and written as a run, of whole keys, which takes their place in one record.  Each scan
 * also searches each delta; so a new one takes in those that are not much larger than itself.
 * How many there are, and how often an entry is written, grows with the logarithm of their size
 * (choose_deltas()).
 *
 * One run is made each time, of both: the pages that are closed and the deltas to be
 * merged.  All that it is made of is read as often as the index has columns, and sorted
 * column by column.  Closed pages and LIVE runs do not change, and go only by the hand of
 * the maintainer, whom the caller is (INV-12).
 *
 * Entries of ranges that are no longer covered are kept: no scan asks for them there.  They
 * go when all base runs have a later cut (run_groups.c).
 *
 * A run has one coder for each column, but groups under different base runs may have
 * different ones.  So there are as many deltas as a column has generations of keys: the first
 * has the first generation of each column, and so on.  Columns are searched each by itself.
 */
#include "maintain/delta.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "build/run_sorter.h"
#include "maintain/run_groups.h"
#include "store/pending.h"
#include "store/run_pages.h"

/* Pages of a delta that a page of the pending list makes. */
#define PENDING_PART	0.5

/* With more runs than this in the list, all deltas become one. */
#define CROWDED			48

/* What a delta is made of. */
typedef struct Merge
{
	Relation	index;
	int			natts;
	RencoderRuns runs;			/* as they are before */
	uint64		since;			/* deltas up to this pending page stay */
	uint64		upto;			/* the last pending page to take, 0: none */
	int			nmerged;
	uint32		merged[RENCODER_MAX_RUNS];	/* numbers of deltas to merge */
	RencoderRunInfo info[RENCODER_MAX_RUNS];

	/* What was found there. */
	List	   *coders[INDEX_MAX_KEYS]; /* of each column: its generations */
	int			ngenerations;	/* of the column that has the most */
	uint64		npages;			/* of the heap: number of the last + 1 */
} Merge;

/* ---- The pending list ---- */

typedef void (*EntryVisitor) (Merge *m, const RencoderPendingEntry *entry, void *arg);

/* Visits the entries of the pages to take, from the oldest on. */
static void
visit_pending(Merge *m, EntryVisitor visit, void *arg)
{
	RencoderPendingWalk walk;

	if (m->upto == 0)
		return;
	rencoder_pending_walk_begin(&walk, m->index, m->runs.pending_first,
								m->runs.pending_first_number, m->upto);
	while (rencoder_pending_walk_next(&walk))
	{
		rencoder_vacuum_delay_point();
		for (int i = 0; i < walk.copy.nentries; i++)
			visit(m, rencoder_pending_entry(&walk.copy, i), arg);
	}
	if (walk.fault != NULL)
		rencoder_page_corrupted(m->index, walk.blkno, walk.fault);
	rencoder_pending_walk_end(&walk);
}

/* Notes that a column has entries of that generation, on heap pages before "npages". */
static void
note_entries(Merge *m, int col, uint32 coder, uint64 npages)
{
	m->coders[col] = list_append_unique_oid(m->coders[col], coder);
	m->ngenerations = Max(m->ngenerations, list_length(m->coders[col]));
	m->npages = Max(m->npages, npages);
}

static void
note_entry(Merge *m, const RencoderPendingEntry *entry, void *arg)
{
	const uint32 *coder = rencoder_pending_coders(entry, m->natts);

	for (int col = 0; col < m->natts; col++)
	{
		if (!((entry->nulls >> col) & 1))
			note_entries(m, col, coder[col], (uint64) entry->page + 1);
	}
}

/* What add_entry() adds to. */
typedef struct Target
{
	RencoderRunSorter *sorter;
	int			col;
	uint32		coder;			/* keys of this generation */
} Target;

static void
add_entry(Merge *m, const RencoderPendingEntry *entry, void *arg)
{
	const Target *target = (const Target *) arg;

	if (!((entry->nulls >> target->col) & 1) &&
		rencoder_pending_coders(entry, m->natts)[target->col] == target->coder)
		rencoder_run_sorter_add(target->sorter, entry->key[target->col], entry->page, 1);
}

/* ---- Deltas that are merged ---- */

static void
read_info(Merge *m, int i)
{
	const char *fault;
	const RencoderRunEntry *entry = rencoder_runs_find(&m->runs, m->merged[i]);

	m->info[i] = rencoder_run_info(m->index, entry, &fault);
	if (m->info[i] == NULL)
		rencoder_page_corrupted(m->index, entry->info, fault);
	for (int col = 0; col < m->natts; col++)
	{
		const RencoderRunColumn *column = &m->info[i]->column[col];

		if (column->entries > 0)
			note_entries(m, col, column->coder,
						 (uint64) column->first_page + column->npages);
	}
}

/*
 * Adds the entries of a batch.  How many rows each of them stands for is known of its leaf, of which
 * "leaf" was said.
 */
static void
add_batch(const renc_run_search *search, const renc_run_share *leaf, const Target *target)
{
	double		fresh = renc_run_share_fresh(search->page, search->n);
	double		due = 0;

	for (uint32 i = 0, end; i < search->n; i = end)
	{
		renc_run_share list = {0, 0, 0};
		double		rows;

		for (end = i + 1; end < search->n && search->cell[end] == search->cell[i];)
			end++;
		renc_run_share_add(&list, search->page + i, end - i, fresh);
		rows = renc_run_share_rows(&list, leaf, search->leaf.rows) / (end - i);
		for (uint32 j = i; j < end; j++)
		{
			uint32		whole;

			due += rows;
			whole = (uint32) Min(Max(rint(due), 1), PG_INT32_MAX);
			due -= whole;
			rencoder_run_sorter_add(target->sorter, search->cell[j], search->page[j], whole);
		}
	}
}

/* Adds the entries of a delta. */
static void
add_delta(Merge *m, const RencoderRunInfoData *info, const Target *target)
{
	static const renc_interval everything = {0, PG_UINT64_MAX};
	renc_interval_set set = {&everything, 1};
	RencoderRunReader reader;
	renc_run_search search;
	renc_run_share leaf = {0, 0, 0};
	uint32		leaves = 0;

	if (info->column[target->col].coder != target->coder ||
		!rencoder_run_reader_begin(&reader, m->index, info, target->col))
		return;
	renc_run_search_begin(&search, &reader.run, rencoder_run_read, &reader, &set);
	while (renc_run_search_next(&search))
	{
		CHECK_FOR_INTERRUPTS();
		if (search.width != 0)
			rencoder_page_corrupted(m->index, reader.run.root, "A delta has cells of several keys.");
		if (leaves != search.leaves)
		{
			memset(&leaf, 0, sizeof(leaf));
			search.failure = renc_run_share_leaf(&leaf, &search.leaf, 0, search.leaf.nblocks);
			search.failed_page = reader.run.root;
			leaves = search.leaves;
		}
		if (search.failure == NULL)
			add_batch(&search, &leaf, target);
	}
	if (search.failure != NULL)
	{
		const char *fault = rencoder_run_reader_fault(&reader, search.failure, &search.failed_page);

		rencoder_page_corrupted(m->index, search.failed_page, fault);
	}
	rencoder_run_reader_end(&reader);
}

static bool
is_delta(const RencoderRunEntry *entry)
{
	return entry->kind == RENCODER_RUN_DELTA && entry->state == RENCODER_RUN_LIVE;
}

static int
compare_pages(const void *a, const void *b)
{
	uint32		x = ((const RencoderRunEntry *) a)->npages;
	uint32		y = ((const RencoderRunEntry *) b)->npages;

	return x < y ? -1 : x > y;
}

/*
 * Chooses the deltas to merge, of "most" pages in all unless the list is crowded: the largest that
 * has not more than "factor" times the pages of the new entries and of all smaller deltas, and
 * these.
 *
 * So of the deltas that are there then, each is more than "factor" times as large as all smaller
 * ones together, and whenever an entry is written again, it is in a delta 1 + 1 / factor times as
 * large as before, or more.
 */
static void
choose_deltas(Merge *m, double most, double factor)
{
	const RencoderRunListData *list = &m->runs.list;
	RencoderRunEntry delta[RENCODER_MAX_RUNS];
	int			n = 0;
	double		sum = m->upto == 0 ? 0 :
		PENDING_PART * (m->upto - m->runs.pending_first_number + 1);

	for (uint32 i = 0; i < list->n; i++)
	{
		if (is_delta(&list->entry[i]) && list->entry[i].upto > m->since)
			delta[n++] = list->entry[i];
	}
	qsort(delta, n, sizeof(RencoderRunEntry), compare_pages);
	for (int i = 0; i < n; i++)
	{
		bool		fits = delta[i].npages <= factor * sum;

		sum += delta[i].npages;
		if ((fits && sum <= most) || list->n > CROWDED)
			m->nmerged = i + 1;
	}
	for (int i = 0; i < m->nmerged; i++)
		m->merged[i] = delta[i].number;

	/* One alone is as it was. */
	if (m->upto == 0 && m->nmerged < 2)
		m->nmerged = 0;
}

/* ---- Making one ---- */

/* Writes the tree of a column, with its keys of one generation. */
static void
write_merged_column(Merge *m, RencoderRunWriter *writer, int col, uint32 coder)
{
	Target		target;
	RencoderRunPair pair;

	target.sorter = rencoder_run_sorter_begin(rencoder_options_key_memory(),
											  (BlockNumber) Min(m->npages, InvalidBlockNumber));
	target.col = col;
	target.coder = coder;
	visit_pending(m, add_entry, &target);
	for (int i = 0; i < m->nmerged; i++)
		add_delta(m, m->info[i], &target);
	rencoder_run_sorter_sort(target.sorter);

	rencoder_run_writer_begin_column(writer, col, coder, 0, 0, (uint32) m->npages,
									 RENC_RUN_EXACT, 0, NULL);
	while (rencoder_run_sorter_next(target.sorter, &pair))
	{
		CHECK_FOR_INTERRUPTS();
		rencoder_run_writer_push(writer, pair.key, pair.page, pair.rows);
	}
	rencoder_run_writer_end_column(writer);
	rencoder_run_sorter_end(target.sorter);
}

/* Writes the i-th run; false if the list is full. */
static bool
write_delta_run(Merge *m, int i, RencoderNewRun *made)
{
	RencoderRunWriter *writer = rencoder_run_writer_begin(m->index, RENCODER_RUN_DELTA, 0, 0, true);

	if (writer == NULL)
		return false;
	made->number = rencoder_run_writer_number(writer);
	for (int col = 0; col < m->natts; col++)
	{
		if (i < list_length(m->coders[col]))
			write_merged_column(m, writer, col, list_nth_oid(m->coders[col], i));
	}
	made->npages = rencoder_run_writer_finish(writer);
	return true;
}

/* Writes the runs and puts them in the place of what they are made of; false if the list is full. */
static bool
write_merged(Merge *m)
{
	RencoderNewRun *made = palloc0(m->ngenerations * sizeof(RencoderNewRun));

	for (int i = 0; i < m->ngenerations; i++)
	{
		if (!write_delta_run(m, i, &made[i]))
			return false;
	}
	rencoder_run_list_publish(m->index, made, m->ngenerations, m->upto, m->merged, m->nmerged, true);
	return true;
}

/* Pages of the pending list that are not the tail. */
static uint64
closed_pages(const RencoderRuns *runs)
{
	return runs->pending_first == RENCODER_NO_BLOCK ? 0 :
		runs->pending_last_number - runs->pending_first_number;
}

bool
rencoder_delta_is_due(Relation index, uint64 least)
{
	RencoderRuns runs;

	rencoder_runs_look(index, &runs, NULL);
	return closed_pages(&runs) >= least;
}

/* Looks what there is, and decides what is to be made of it; false: nothing. */
static bool
prepare_merge(Merge *m, uint64 least, double most, double factor)
{
	rencoder_runs_look(m->index, &m->runs, NULL);
	if (closed_pages(&m->runs) >= least)
		m->upto = m->runs.pending_last_number - 1;
	choose_deltas(m, most, factor);
	if (m->upto == 0 && m->nmerged == 0)
		return false;

	visit_pending(m, note_entry, NULL);
	for (int i = 0; i < m->nmerged; i++)
		read_info(m, i);

	/* Not to be found out when some are written. */
	if (m->runs.list.n + (uint32) m->ngenerations > RENCODER_MAX_RUNS)
		return false;

	/* Deltas of different generations do not become fewer. */
	return m->upto > 0 || m->ngenerations < m->nmerged;
}

/* Are there runs that nobody makes or reads any more? */
static bool
has_leftovers(const RencoderRuns *runs)
{
	for (uint32 i = 0; i < runs->list.n; i++)
	{
		if (runs->list.entry[i].state != RENCODER_RUN_LIVE)
			return true;
	}
	return false;
}

/*
 * Makes a delta; deltas up to pending page "since" stay.  A run that the caller is making does, too;
 * 0: whatever is not LIVE is left over.
 */
static bool
make_delta_since(Relation index, uint64 least, uint32 most, double factor, uint64 since, uint32 making)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "rencoder delta",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Merge	   *m = palloc0(sizeof(Merge));
	bool		done = false;

	m->index = index;
	m->natts = rencoder_meta_get(index)->natts;
	m->since = since;
	rencoder_runs_look(index, &m->runs, NULL);
	if (making == 0 && has_leftovers(&m->runs))
		rencoder_run_groups_tidy(index);
	if (prepare_merge(m, least, most, factor))
		done = write_merged(m);
	if (done && m->nmerged > 0)
		rencoder_run_list_free(index, making);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return done;
}

bool
rencoder_delta_make(Relation index, uint64 least, uint32 most, double factor)
{
	return make_delta_since(index, least, most, factor, 0, 0);
}

void
rencoder_delta_make_meanwhile(Relation index, uint64 cut, uint32 making)
{
	if (rencoder_delta_is_due(index, RENCODER_DELTA_PAGES))
		(void) make_delta_since(index, RENCODER_DELTA_PAGES, PG_UINT32_MAX, RENCODER_DELTA_BUSY, cut, making);
}

bool
rencoder_delta_make_of_all(Relation index)
{
	bool		done;

	(void) rencoder_pending_close(index);
	rencoder_meta_lock_maintainer(index);
	done = rencoder_delta_make(index, 1, PG_UINT32_MAX, RENCODER_DELTA_AT_REST);
	rencoder_meta_unlock_maintainer(index);
	return done;
}

void
rencoder_delta_settle(Relation index)
{
	if (rencoder_delta_is_due(index, 1))
	{
		(void) rencoder_delta_make_of_all(index);
		return;
	}
	rencoder_meta_lock_maintainer(index);
	(void) rencoder_delta_make(index, 1, PG_UINT32_MAX, RENCODER_DELTA_AT_REST);
	rencoder_meta_unlock_maintainer(index);
}
