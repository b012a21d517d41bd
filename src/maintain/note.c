/*
 * note.c
 *		Noting block ranges: the tail of a table that is read while it grows.
 *
 * A noted range is summarized, but has no storage: deltas and the pending list have all of its
 * keys, also those of the rows that were there before.
 *
 *	1. The ranges are made summarizing, as for a matrix: rows that come from here on are entries.
 *	2. The table is read, any version visible, and its keys are written as a delta, which becomes
 *	   LIVE.
 *	3. One record makes the ranges summarized and noted, and starts a new epoch.  A scan that has
 *	   searched the runs before the delta was LIVE, and meets noted ranges, meets another epoch at its
 *	   end: it looks at the list again, and repeats the group (INV-7).
 *
 * The delta counts as made of pending pages up to the last that is closed, and the cut of the
 * ranges' slices lies before that page.  So it stays as long as a slice of its group has a cut that
 * early (INV-13): until the ranges get storage, which is read later, and has a later cut.
 *
 * A range in which no row was found needs no delta, nor an epoch: all rows that come are entries.
 * Whether noting is worth its price: worker/tail_reads.c.
 */
#include "maintain/note.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "maintain/compact.h"
#include "maintain/delta_merge.h"
#include "maintain/reading.h"
#include "store/pending.h"
#include "store/run_pages.h"
#include "table/heap_read.h"
#include "table/range_scan.h"

/* Other runs want room in the list, too. */
#define MOST_RUNS		(RENCODER_MAX_RUNS - 8)

/* Ranges of one group that are being noted. */
typedef struct Noting
{
	RencoderRangeScan scan;
	RencoderGroup group;
	renc_mask	todo;
	bool		is_new;			/* the group has no coders to go by */
	uint64		closed;			/* last pending page that is, when it begins */
	uint64		horizon;
	BlockNumber nblocks;		/* of the table, after it was read */
	RencoderReadTrees trees;
} Noting;

uint64
rencoder_note_find_tail(Relation index, const RencoderMeta *meta, BlockNumber nblocks)
{
	uint64		nranges = rencoder_range_count(meta, nblocks);
	uint64		first = nranges;
	uint64		copied = PG_UINT64_MAX; /* group of the copy */
	RencoderHeaderData copy;
	RencoderGroup group;

	/* What a crash has left summarizing is not. */
	while (first > 0 && nranges - first < RENC_GROUP_RANGES)
	{
		uint32		number = rencoder_group_of_range(first - 1);

		if (number != copied)
		{
			memset(copy.summarized, 0, sizeof(copy.summarized));
			if (rencoder_group_locate(&group, index, meta, number))
				rencoder_group_copy_header(&group, 0, &copy);
			copied = number;
		}
		if (rencoder_set_test(copy.summarized, rencoder_slot_of_range(first - 1)))
			break;
		first--;
	}
	return first;
}

/* Keys are made as those of the group's entries are, or, if it has none yet, by the newest coders. */
static void
load_note_coders(Noting *n)
{
	RencoderHeaderData copy;

	for (int col = 0; col < n->scan.meta.natts; col++)
	{
		rencoder_group_copy_header(&n->group, col, &copy);
		if (col == 0)
			n->is_new = copy.run == 0 && renc_mask_empty(rencoder_set_get(copy.summarized));
		if (rencoder_key_is_coded(n->scan.index, col))
			rencoder_columns_load_coders(n->scan.index, col,
										 n->is_new && !rencoder_is_configured(&copy.config) ?
										 rencoder_coder_newest_generation(n->scan.index, col) : copy.config.coder,
										 &n->scan.coders);
	}
}

static void
read_noted(Noting *n)
{
	uint64		end = ((uint64) n->group.number + 1) * RENC_GROUP_RANGES * n->scan.meta.pages_per_range;

	/*
	 * As of entries: whole pages, where it is not known what a line pointer
	 * is.
	 */
	n->scan.places = rencoder_is_heap(n->scan.heap) ?
		rencoder_pending_places(n->scan.index, end) : renc_whole_pages();
	rencoder_reading_into_trees(&n->trees, &n->scan, end);
	(void) rencoder_range_scan(&n->scan, (uint64) n->group.number * RENC_GROUP_RANGES,
							   RENC_GROUP_RANGES, n->todo, 0, &n->horizon);
	n->nblocks = RelationGetNumberOfBlocks(n->scan.heap);
}

/* Writes the delta and makes it LIVE. */
static void
write_noted_delta(Noting *n)
{
	uint64		group_pages = (uint64) RENC_GROUP_RANGES * n->scan.meta.pages_per_range;
	uint64		first = n->group.number * group_pages;
	RencoderNewRun made = {.upto = n->closed};
	RencoderRunWriter *writer = rencoder_run_writer_begin(n->scan.index, RENCODER_RUN_DELTA,
														  n->group.number, 1, true);

	if (writer == NULL)
		elog(ERROR, "list of runs of index \"%s\" has got full", RelationGetRelationName(n->scan.index));
	for (int tree = 0; tree < rencoder_run_ntrees(n->scan.meta.natts); tree++)
		rencoder_delta_write_tree(writer, tree,
								  tree < n->scan.meta.natts ? n->scan.coders.generation[tree] : 0,
								  n->trees.sorter[tree], (BlockNumber) first,
								  (uint32) Min(Max(n->nblocks, first + 1) - first, group_pages),
								  n->scan.places);
	rencoder_run_writer_finish(writer, &made);
	rencoder_run_list_publish(n->scan.index, &made, 1, 0, NULL, 0, true);
}

/* The states of the ranges that are done. */
static void
publish_noted(const Noting *n, RencoderHeader first, RencoderEntry entry)
{
	rencoder_reading_set_summarized(first, entry, n->todo, n->horizon, n->closed - 1);

	/* Behind the end of the table nothing was left out. */
	renc_mask_each(slot, n->todo)
	{
		uint64		range = (uint64) n->group.number * RENC_GROUP_RANGES + slot;

		if (range * n->scan.meta.pages_per_range >= n->nblocks)
			first->horizon[slot] = 0;
	}
	rencoder_set_put(first->noted, renc_mask_or(rencoder_set_get(first->noted), n->todo));
}

/* The coder of a column; of the first also the states. */
static void
publish_noted_column(const Noting *n, int col)
{
	bool		has_delta = n->trees.npairs > 0;
	RencoderGroupEdit edit;
	RencoderEntry entry;
	RencoderHeader header;

	rencoder_group_edit_begin(&edit, &n->group, col,
							  col == 0 && has_delta ? RENCODER_EDIT_EPOCH : RENCODER_EDIT_ENTRY, 0);
	entry = rencoder_group_edit_entry(&edit);
	header = rencoder_group_edit_header(&edit);
	if (n->is_new && !rencoder_is_configured(&header->config))
		header->config.coder = entry->column[col].config.coder = n->scan.coders.generation[col];
	if (col == 0)
	{
		publish_noted(n, header, entry);
		rencoder_group_update_entry(entry, &n->scan.meta, header);
	}
	if (col == 0 && has_delta)
		rencoder_group_edit_new_epoch(&edit);
	rencoder_group_edit_finish(&edit);
}

/* The ranges [first, end) of a group.  Maintainer. */
static int
note_in_group(Noting *n, uint64 first, uint64 end)
{
	RencoderHeaderData copy;

	rencoder_reading_group(&n->group, n->scan.index, &n->scan.meta, rencoder_group_of_range(first));
	rencoder_group_copy_header(&n->group, 0, &copy);
	n->todo = renc_mask_none();
	for (uint64 range = first; range < end; range++)
	{
		if (!rencoder_set_test(copy.summarized, rencoder_slot_of_range(range)))
			renc_mask_set(&n->todo, rencoder_slot_of_range(range));
	}
	if (renc_mask_empty(n->todo))
		return 0;
	load_note_coders(n);
	n->closed = rencoder_pending_last_closed(n->scan.index);
	Assert(n->closed > 0);
	(void) rencoder_reading_begin(&n->group, n->todo, false, 0, 0);
	read_noted(n);
	if (n->trees.npairs > 0)
		write_noted_delta(n);

	/* The first column comes last: its record sets the states. */
	for (int col = n->scan.meta.natts - 1; col >= 0; col--)
		publish_noted_column(n, col);

	/* Several such are as many descents of each scan.  It also cleans up. */
	if (n->trees.npairs > 0)
		rencoder_delta_make(n->scan.index, RENCODER_DELTA_READ_PAGES, PG_UINT32_MAX,
							RENCODER_DELTA_READ);
	return renc_mask_count(n->todo);
}

int
rencoder_note(Relation index, Relation heap, uint64 first, uint64 end)
{
	int			count = 0;
	RencoderMeta meta = *rencoder_meta_get(index);

	if (!rencoder_options_use_runs(index))
		return 0;
	while (first < end)
	{
		uint32		group = rencoder_group_of_range(first);
		uint64		group_end = Min(end, ((uint64) group + 1) * RENC_GROUP_RANGES);
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "rencoder note",
													  ALLOCSET_DEFAULT_SIZES);
		MemoryContext old = MemoryContextSwitchTo(context);
		Noting	   *n = palloc0(sizeof(Noting));
		RencoderRuns runs;

		CHECK_FOR_INTERRUPTS();
		if (rencoder_group_find_header(index, &meta, group) == RENCODER_NO_BLOCK)
			rencoder_compact_train_coders(index, heap, RENCODER_GROWTH_OF_NEW);
		rencoder_pending_ensure_closed(index);
		rencoder_range_scan_init(&n->scan, index, heap);
		rencoder_meta_lock_maintainer(index);
		rencoder_runs_copy(index, &runs, NULL);
		if (runs.list.n < MOST_RUNS)
			count += note_in_group(n, first, group_end);
		rencoder_meta_unlock_maintainer(index);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		first = group_end;
	}
	return count;
}
