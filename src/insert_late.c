/*
 * insert_late.c
 *		Keys of rows that come to ranges whose keys are in storage, or are being read for it.
 *
 * Storage never changes, so they go to the pending list, from which maintenance makes deltas
 * (maintain/delta_merge.c).  One entry stands for the row in all columns.  It is appended as the
 * last thing that is done for the row, under the header's share lock: as long as that is held
 * the state of the range stays.  Who changes it holds the header exclusively, and after that either
 * finds the entry on the list, or the inserter finds another state (INV-11).
 *
 * Rows that need no entry: those of which flags say all, and those whose keys and nulls
 * stand in the base run with their place already.  The latter is looked up only where it is likely:
 * after an update that changed no column of the index.  It is so if the new version is on the same
 * page, in the same part of it.
 *
 * Why nothing is lost by leaving such a row out (INV-14): in each column with a key k, which is
 * between the least and the greatest key of the run, an entry of the run has the row's page and a
 * cell that k is in.  A query that asks for k asks for that cell, so it finds the page in the run,
 * in each of these columns, as it would by the entry; and the run is asked as long as the header
 * names it and the range is covered.  Both are looked at under the header's share lock after the
 * search.  A range that is not covered any more is unsummarized first, and whoever makes it
 * anything else reads the table, where the row has been since before we looked (INV-3).  So does
 * whoever makes the header name another run: he sets "flushing" before he reads the table, and rows
 * are not left out from then on.
 */
#include "insert_late.h"

#include "store/hint_pages.h"

void
rencoder_late_row_begin(RencoderLateRow *row, BlockNumber page, OffsetNumber offset, int natts)
{
	if (row->entry == NULL)
		row->entry = palloc(rencoder_pending_entry_size(natts));
	memset(row->entry, 0, rencoder_pending_entry_size(natts));
	row->entry->page = page;
	*rencoder_pending_line_pointer(row->entry, natts) = offset;
	row->entry->nulls = PG_UINT32_MAX >> (32 - natts);
	row->nkeys = 0;
	row->nulls = 0;
}

void
rencoder_late_add(RencoderLateRow *row, int natts, int col, uint64 key, uint32 coder)
{
	row->entry->key[col] = key;
	row->entry->nulls &= ~((uint32) 1 << col);
	rencoder_pending_coders(row->entry, natts)[col] = coder;
	row->nkeys++;
}

RencoderLateStep
rencoder_late_put(Relation index, RencoderLateRow *row, uint32 run, const RencoderLateCache *cache)
{
	if (row->nkeys == 0 && row->nulls == 0)
		return RENCODER_LATE_DONE;
	if (row->may_be_indexed && row->searched != run)
		return RENCODER_LATE_SEARCH;
	if (row->may_be_indexed && row->indexed)
		return RENCODER_LATE_DONE;
	if (cache->tail == RENCODER_NO_BLOCK || !rencoder_pending_append(index, row->entry, cache->tail))
		return RENCODER_LATE_TAIL;
	return RENCODER_LATE_DONE;
}

/* Remembers what the info page of the run says. */
static void
look_up_run(Relation index, uint32 run, RencoderLateCache *cache, MemoryContext statement)
{
	MemoryContext old = MemoryContextSwitchTo(statement);
	RencoderRuns *runs = palloc(sizeof(RencoderRuns));
	const RencoderRunEntry *entry;
	const char *fault;

	if (cache->info != NULL)
		pfree(cache->info);
	cache->info = NULL;
	cache->run = run;
	rencoder_runs_copy(index, runs, NULL);
	entry = rencoder_runs_find(runs, run);
	if (entry != NULL)
		cache->info = rencoder_run_info(index, entry, &fault);
	pfree(runs);
	MemoryContextSwitchTo(old);
}

/* Has a part of a page the row, 0 being an unknown one? */
static bool
has_row(const renc_places *places, uint32 part, uint32 row)
{
	return row > 0 && row <= places->most &&
		(part == RENC_WHOLE_PAGE || part == renc_part_of(places, row));
}

/* A column has more nulls than are looked at for a row, if they fill more leaves. */
#define FEW_LEAVES	2

/*
 * Does a tree of the run have the key, with the row's place?  (An update that is not HOT nearly
 * always gets another line pointer, in another part of its page.)  Cells reach farther than the
 * keys of the run, and a scan that asks for nothing between these does not look at cells.
 */
static bool
has_pair(Relation index, const RencoderRunInfoData *info, int tree, uint64 key, BlockNumber page,
		 uint32 row)
{
	renc_places places = rencoder_run_places(&info->column[tree]);
	renc_interval point = {key, key};
	renc_interval_set set = {&point, 1};
	RencoderRunReader reader;
	renc_run_search search;
	bool		found = false;

	if (key < info->column[tree].least || key > info->column[tree].greatest ||
		!rencoder_run_reader_begin(&reader, index, info, tree))
		return false;
	renc_run_search_begin(&search, &reader.run, rencoder_run_read, &reader, &set);
	while (!found && renc_run_search_next(&search))
	{
		for (uint32 i = 0; i < search.n && !found; i++)
			found = search.page[i] == page &&
				(places.parts == 1 || has_row(&places, search.part[i], row));
	}
	rencoder_run_reader_end(&reader);
	return found;
}

/*
 * A run that cannot be read does not fail the row, which gets its entry then; scans report the
 * damage.  So does a row of an index that has facts, which may know better than the run (INV-16).
 */
void
rencoder_late_search(Relation index, RencoderLateRow *row, int natts, uint32 run,
					 RencoderLateCache *cache, MemoryContext statement)
{
	const RencoderPendingEntry *entry = row->entry;
	const uint32 *coder = rencoder_pending_coders(entry, natts);

	if (cache->run != run)
		look_up_run(index, run, cache, statement);
	row->searched = run;
	row->indexed = cache->info != NULL &&
		rencoder_space_root(index, RENCODER_PAGE_FACTS) == RENCODER_NO_BLOCK;
	for (int col = 0; col < natts && row->indexed; col++)
	{
		int			nulls = rencoder_run_null_tree(natts, col);

		if ((row->nulls >> col) & 1)
			row->indexed = cache->info->column[nulls].nleaves <= FEW_LEAVES &&
				has_pair(index, cache->info, nulls, 0, entry->page,
						 *rencoder_pending_line_pointer(entry, natts));
		if (!rencoder_pending_has_key(entry, col))
			continue;
		row->indexed = cache->info->column[col].coder == coder[col] &&
			has_pair(index, cache->info, col, entry->key[col], entry->page,
					 *rencoder_pending_line_pointer(entry, natts));
	}
}

void
rencoder_late_find_tail(Relation index, RencoderLateRow *row, RencoderLateCache *cache)
{
	RencoderPath path = rencoder_meta_path(index);
	bool		closed;
	uint64		npages;

	/* Maybe what the session inserted into last, or another statement of it. */
	if (path.tail != RENCODER_NO_BLOCK && path.tail != cache->tail)
		cache->tail = path.tail;
	else
	{
		cache->tail = path.tail = rencoder_pending_find_tail(index, &closed, &npages);
		rencoder_meta_keep_path(index, &path);
		if (closed)
			row->npages = npages;
	}
}
