/*
 * check_keys.c
 *		rencoder_index_check(heapallindexed): does the index find the keys of all rows?
 *
 * Rows are collected for 128 heap pages at a time, of one group.  Each distinct key of a
 * page must be in storage, within the bounds of its range, or in a delta or the pending list with the
 * page (INV-11; flags are checked in check_heap.c).  Of a covered range, storage is the base run
 * that the group names, which is searched once for all keys of the pages; of another one it is the
 * matrix, or the range is "always".  Deltas and the list are only asked for keys that are not there.
 *
 * Whatever was in one of these when the snapshot was taken is in one of them later; a run
 * or a pending page goes only in a record that raises run_changes (INV-12), storage in one that
 * raises the epoch.  So what is missing is looked for again if that has risen.
 */
#include "sql/check_keys.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "format/format_filter.h"
#include "store/pending.h"
#include "store/run_pages.h"

/* Heap pages that are held against the index together. */
#define WINDOW_PAGES	RENC_GROUP_RANGES

struct RencoderKeyCheck
{
	Relation	index;
	RencoderMeta meta;
	uint64		xmin;
	bool		begun;
	BlockNumber first_page;		/* of the window */
	RencoderCollector *collector;	/* a slot for each page */
	RencoderGroupCopy *copy;
	MemoryContext context;		/* reset after each look */
};

/* The distinct keys of a column in the window, and the pages that are yet to be found. */
typedef struct WantedKeys
{
	const RencoderKeyCheck *check;
	int			col;
	size_t		n;
	uint64	   *key;
	renc_mask  *pages;
	size_t		left;			/* keys with pages to be found */
	bool		unknown;		/* there are keys by another coder, which
								 * cannot be compared */
	BlockNumber blkno;			/* a fault, if "detail" is not NULL */
	const char *detail;
} WantedKeys;

RencoderKeyCheck *
rencoder_check_keys_begin(Relation index, const RencoderMeta *meta, uint64 xmin)
{
	RencoderKeyCheck *check = palloc0(sizeof(RencoderKeyCheck));

	check->index = index;
	check->meta = *meta;
	check->xmin = xmin;
	check->collector = rencoder_collect_create(meta->natts);
	check->copy = rencoder_group_copy_create(meta);
	check->context = AllocSetContextCreate(CurrentMemoryContext, "rencoder rows' keys",
										   ALLOCSET_DEFAULT_SIZES);
	return check;
}

/* Notes what is wrong with a page of the index; false. */
static bool
note_wanted_fault(WantedKeys *wanted, BlockNumber blkno, const char *detail)
{
	if (wanted->detail == NULL)
	{
		wanted->blkno = blkno;
		wanted->detail = detail;
	}
	return false;
}

/* The heap page has a key from lo to hi, as far as can be known. */
static void
found(WantedKeys *wanted, BlockNumber page, uint64 lo, uint64 hi)
{
	size_t		left = 0;
	size_t		right = wanted->n;

	if (page < wanted->check->first_page || page - wanted->check->first_page >= WINDOW_PAGES)
		return;
	while (left < right)
	{
		size_t		middle = left + (right - left) / 2;

		if (wanted->key[middle] < lo)
			left = middle + 1;
		else
			right = middle;
	}
	for (; left < wanted->n && wanted->key[left] <= hi; left++)
	{
		if (renc_mask_empty(wanted->pages[left]))
			continue;
		renc_mask_clear(&wanted->pages[left], page - wanted->check->first_page);
		wanted->left -= renc_mask_empty(wanted->pages[left]);
	}
}

/*
 * Searches a run for all keys that are wanted.  Of a cell
 * that reaches farther than the keys of the run a scan finds no more than these.
 */
static bool
look_in_run(WantedKeys *wanted, const RencoderRunEntry *entry, uint32 coder)
{
	const char *fault = NULL;
	RencoderRunInfo info = rencoder_run_info(wanted->check->index, entry, &fault);
	renc_interval *interval = palloc_extended(wanted->n * sizeof(renc_interval), MCXT_ALLOC_HUGE);
	renc_interval_set set = {interval, 0};
	renc_run_search *search = palloc(sizeof(renc_run_search));
	RencoderRunReader reader;

	if (info == NULL)
		return note_wanted_fault(wanted, entry->info, fault);
	for (size_t i = 0; i < wanted->n; i++)
	{
		if (!renc_mask_empty(wanted->pages[i]))
			interval[set.n++] = (renc_interval)
		{
			wanted->key[i], wanted->key[i]
		};
	}
	if (!rencoder_run_reader_begin(&reader, wanted->check->index, info, wanted->col))
		return true;
	if (info->column[wanted->col].coder != coder)
	{
		rencoder_run_reader_end(&reader);
		wanted->unknown = true;
		return true;
	}
	renc_run_search_begin(search, &reader.run, rencoder_run_read, &reader, &set);
	while (renc_run_search_next(search))
	{
		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; i < search->n; i++)
			found(wanted, search->page[i], Max(renc_run_entry_lo(search, i), reader.run.least),
				  Min(renc_run_entry_hi(search, i), reader.run.greatest));
	}
	if (search->failure != NULL)
	{
		fault = rencoder_run_reader_fault(&reader, search->failure, &search->failed_page);
		note_wanted_fault(wanted, search->failed_page, fault);
	}
	rencoder_run_reader_end(&reader);
	return wanted->detail == NULL;
}

/* Deltas and pending entries. */
static bool
search_late(WantedKeys *wanted, const RencoderRuns *runs, uint32 coder)
{
	int			natts = wanted->check->meta.natts;
	RencoderPendingWalk walk;

	for (uint32 i = 0; i < runs->list.n && wanted->left > 0; i++)
	{
		const RencoderRunEntry *entry = &runs->list.entry[i];

		if (entry->kind == RENCODER_RUN_DELTA && entry->state == RENCODER_RUN_LIVE &&
			!look_in_run(wanted, entry, coder))
			return false;
	}
	rencoder_pending_walk_begin(&walk, wanted->check->index, runs->pending_first,
								runs->pending_first_number, runs->pending_last_number);
	while (wanted->left > 0 && rencoder_pending_walk_next(&walk))
	{
		for (int i = 0; i < walk.copy.nentries; i++)
		{
			const RencoderPendingEntry *entry = rencoder_pending_entry(&walk.copy, i);

			if ((entry->nulls >> wanted->col) & 1)
				continue;
			if (rencoder_pending_coders(entry, natts)[wanted->col] == coder)
				found(wanted, entry->page, entry->key[wanted->col], entry->key[wanted->col]);
			else
				wanted->unknown = true;
		}
	}
	rencoder_pending_walk_end(&walk);
	if (walk.fault != NULL)
		return note_wanted_fault(wanted, walk.blkno, walk.fault);
	return true;
}

/* A key that was not found. */
static void
note_not_found(WantedKeys *wanted)
{
	for (size_t i = 0; i < wanted->n; i++)
	{
		renc_mask	pages = wanted->pages[i];
		int			slot = pages.w[0] != 0 ? __builtin_ctzll(pages.w[0]) :
			64 + (pages.w[1] != 0 ? __builtin_ctzll(pages.w[1]) : 0);

		if (renc_mask_empty(pages))
			continue;
		note_wanted_fault(wanted, wanted->check->copy->entry->header + wanted->col,
						  psprintf("Page %u of the table holds key 0x%016llx of column %d, which a "
								   "query does not find.", wanted->check->first_page + slot,
								   (unsigned long long) wanted->key[i], wanted->col + 1));
		return;
	}
}

/* The range of the group that a page of the window is in. */
static unsigned int
slot_of(const RencoderKeyCheck *check, size_t page)
{
	return rencoder_slot_of_range(rencoder_range_of_block(&check->meta, check->first_page + (BlockNumber) page));
}

/* Does the snapshot trust the range, and are keys of the column asked for there? */
static bool
is_asked(const RencoderKeyCheck *check, int col, unsigned int slot)
{
	const RencoderHeaderData *first = check->copy->header[0];

	return rencoder_set_test(first->summarized, slot) && first->horizon[slot] <= check->xmin &&
		!rencoder_set_test(check->copy->header[col]->keyless, slot);
}

/* Takes what the matrix has, or "always" says, off the pages that are yet to be found. */
static bool
look_in_matrix(WantedKeys *wanted)
{
	const RencoderKeyCheck *check = wanted->check;
	const RencoderHeaderData *first = check->copy->header[0];
	const RencoderHeaderData *header = check->copy->header[wanted->col];
	RencoderSlab slab = rencoder_slab_of(check->index, header);

	for (size_t i = 0; i < wanted->n; i++)
	{
		uint64		key = wanted->key[i];

		CHECK_FOR_INTERRUPTS();
		for (unsigned int page = renc_mask_next(wanted->pages[i], 0); page < WINDOW_PAGES;
			 page = renc_mask_next(wanted->pages[i], page + 1))
		{
			unsigned int slot = slot_of(check, page);
			const char *fault = NULL;
			BlockNumber blkno;

			if (rencoder_set_test(first->covered, slot) || key < header->min[slot] ||
				key > header->max[slot])
				continue;
			if (rencoder_set_test(header->always, slot) ||
				rencoder_filter_has(&slab, slot, key, &blkno, &fault))
				renc_mask_clear(&wanted->pages[i], page);
			else if (fault != NULL)
				return note_wanted_fault(wanted, blkno, fault);
		}
		wanted->left -= renc_mask_empty(wanted->pages[i]);
	}
	return true;
}

/* Takes what the base run has, within the bounds of its ranges, off the pages to be found. */
static bool
look_in_base_run(WantedKeys *wanted, const RencoderRuns *runs, uint32 coder)
{
	const RencoderKeyCheck *check = wanted->check;
	const RencoderHeaderData *first = check->copy->header[0];
	const RencoderHeaderData *header = check->copy->header[wanted->col];
	const RencoderRunEntry *base = rencoder_runs_find(runs, first->run);
	renc_mask  *others = palloc_extended(wanted->n * sizeof(renc_mask), MCXT_ALLOC_HUGE);
	bool		sound;

	if (base == NULL || base->state != RENCODER_RUN_LIVE)
		return note_wanted_fault(wanted, check->copy->entry->header,
								 "The group names a run that is not there.");
	for (size_t i = 0; i < wanted->n; i++)
	{
		others[i] = renc_mask_none();
		for (unsigned int page = renc_mask_next(wanted->pages[i], 0); page < WINDOW_PAGES;
			 page = renc_mask_next(wanted->pages[i], page + 1))
		{
			unsigned int slot = slot_of(check, page);

			if (!rencoder_set_test(first->covered, slot) || wanted->key[i] < header->min[slot] ||
				wanted->key[i] > header->max[slot])
				renc_mask_set(&others[i], page);
		}
	}
	sound = look_in_run(wanted, base, coder);
	wanted->left = 0;
	for (size_t i = 0; i < wanted->n; i++)
	{
		wanted->pages[i] = renc_mask_or(wanted->pages[i], others[i]);
		wanted->left += !renc_mask_empty(wanted->pages[i]);
	}
	pfree(others);
	return sound;
}

/* One column of the window; "wanted" gets a fault, if any. */
static void
check_column_keys(RencoderKeyCheck *check, int col, const RencoderRuns *runs,
				  const RencoderColumnCoders *coders, WantedKeys *wanted)
{
	renc_keys	pages[WINDOW_PAGES] = {{NULL, 0}};
	const RencoderHeaderData *header = check->copy->header[col];
	uint32		coder = coders->generation[col];

	memset(wanted, 0, sizeof(*wanted));
	wanted->check = check;
	wanted->col = col;
	if (header->config.coder != coder)
		return;
	for (int page = 0; page < check->collector->nslots; page++)
	{
		if (is_asked(check, col, slot_of(check, page)))
			pages[page] = rencoder_collect_keys(check->collector, col, page);
	}
	wanted->n = wanted->left = rencoder_collect_distinct(pages, check->collector->nslots,
														 &wanted->key, &wanted->pages);
	if (wanted->left > 0 && check->copy->header[0]->run != 0 &&
		!look_in_base_run(wanted, runs, coder))
		return;
	if (wanted->left > 0 && header->matrix.start != RENCODER_NO_BLOCK && !look_in_matrix(wanted))
		return;
	if (wanted->left > 0 && search_late(wanted, runs, coder) && wanted->left > 0 && !wanted->unknown)
		note_not_found(wanted);
}

void
rencoder_check_keys_flush(RencoderKeyCheck *check, const RencoderColumnCoders *coders)
{
	MemoryContext old;
	uint64		range = rencoder_range_of_block(&check->meta, check->first_page);
	WantedKeys	wanted;
	RencoderRuns runs;
	uint64		epoch;
	uint64		changes;

	if (!check->begun)
		return;
	old = MemoryContextSwitchTo(check->context);
	rencoder_collect_close(check->collector, check->collector->nslots);
	do
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(check->context);
		wanted.detail = NULL;
		epoch = rencoder_meta_epoch(check->index);
		rencoder_runs_look(check->index, &runs, NULL);
		changes = runs.changes;
		if (!rencoder_group_copy_read(check->index, &check->meta, rencoder_group_of_range(range),
									  check->copy))
			break;
		for (int col = 0; col < check->meta.natts && wanted.detail == NULL; col++)
			check_column_keys(check, col, &runs, coders, &wanted);
		rencoder_runs_look(check->index, &runs, NULL);
	} while (wanted.detail != NULL &&
			 (epoch != rencoder_meta_epoch(check->index) || changes != runs.changes));
	if (wanted.detail != NULL)
		rencoder_page_corrupted(check->index, wanted.blkno, wanted.detail);
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->context);
	rencoder_collect_reset(check->collector);
	check->begun = false;
}

void
rencoder_check_keys_row(RencoderKeyCheck *check, BlockNumber page,
						const RencoderColumnCoders *coders,
						const Datum *values, const bool *isnull)
{
	BlockNumber first_page = page - page % WINDOW_PAGES;

	if (check->begun && check->first_page != first_page)
		rencoder_check_keys_flush(check, coders);
	check->begun = true;
	check->first_page = first_page;
	rencoder_collect_open(check->collector, page % WINDOW_PAGES);
	rencoder_columns_collect_row(check->index, check->collector, coders, values, isnull, true);
}
