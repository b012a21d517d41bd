/*
 * flush.c
 *		Making a base run of groups of an index in use.
 *
 * Groups that are sealed, and groups that name a run already, go the same way: the table is
 * read, as for summarizing.
 *
 *	1. The run is put into the list, BUILDING.  The header of each group notes it, and that the
 *	   summarized ranges are "flushing".  From here on inserters put the keys of such a range
 *	   on the pending list, besides what they do anyhow, and leave none out because the present
 *	   run has it.
 *	2. The table is read, any version visible, group by group, each with a trust horizon of its
 *	   own.  A row came before "flushing" was set, and is found, or after, and its inserter sees
 *	   "flushing": the same race, and the same reason why nothing is lost, as between insert and
 *	   summarize (INV-3, INV-13).
 *	3. The run is written and becomes LIVE.  Scans search it from now on, but nobody names it.
 *	4. Group by group: ranges with values without a key become "always"; then one record makes
 *	   the group name the run, its ranges covered, frees the first column's storage and starts
 *	   a new epoch (INV-7); then the storage of further columns is freed.  Ranges that were
 *	   "always" are so no more where a key of each value was read, if no value without a key came
 *	   meanwhile: a filter had no room for their keys.
 *
 * The cut comes before all of this.  An entry of a pending page up to the cut was put there
 * before that page was closed, so its row was in the table before that was read, and the run has
 * its keys (INV-13).  All others stay on the list, or in deltas, until the group has got a later
 * cut.
 *
 * The maintainer lock is held all the time, so nobody else can make a delta, and the pending list
 * would get longer and longer while rows come.  So deltas are made between two groups.
 *
 * Bounds and flags stay as they are: inserters keep them (INV-2).
 *
 * A crash or an error leaves ranges "flushing", which costs inserters an entry for each row, and a
 * run that no group names, or not all.  The next maintenance tidies up (run_groups.c).
 */
#include "maintain/flush.h"

#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "build/build_run.h"
#include "maintain/delta.h"
#include "maintain/run_groups.h"
#include "store/group_edit.h"
#include "store/run_pages.h"
#include "table/range_scan.h"

/* What is to be known of a group until it names the run. */
typedef struct FlushedGroup
{
	RencoderGroup group;
	renc_mask	flushing;
	uint64		horizon;
	renc_mask  *keyless;		/* of each column: ranges with a value whose
								 * key was not read */
} FlushedGroup;

typedef struct Flush
{
	RencoderRangeScan scan;
	uint32		first;
	uint32		ngroups;
	uint64		cut;
	bool		gives_way;
	RencoderRunWriter *writer;
	uint32		number;			/* of the run */
	RencoderRunSorter *sorter[INDEX_MAX_KEYS];
	FlushedGroup *groups;
} Flush;

/* Sets "flushing" in a group. */
static void
begin_flushing(Flush *f, FlushedGroup *g, uint32 number)
{
	RencoderGroupEdit edit;
	RencoderHeader first;

	if (!rencoder_group_locate(&g->group, f->scan.index, &f->scan.meta, number))
		elog(ERROR, "group %u of index \"%s\" has no header",
			 number, RelationGetRelationName(f->scan.index));
	g->keyless = palloc0(f->scan.meta.natts * sizeof(renc_mask));
	rencoder_group_edit_begin(&edit, &g->group, 0, RENCODER_EDIT_HEADERS, 0);
	first = rencoder_group_edit_first(&edit);
	g->flushing = rencoder_set_get(first->summarized);
	rencoder_set_put(first->flushing, g->flushing);
	first->flushing_run = f->number;
	rencoder_group_edit_finish(&edit);
}

/* The coders of the groups, which are those of the first. */
static void
load_group_coders(Flush *f)
{
	RencoderHeaderData copy;

	for (int col = 0; col < f->scan.meta.natts; col++)
	{
		rencoder_group_copy_header(&f->groups[0].group, col, &copy);
		rencoder_columns_load_coders(f->scan.index, col, copy.config.coder, &f->scan.coders);
	}
}

/* A key of the row that is read. */
static void
take_key(void *arg, int col, uint64 key)
{
	Flush	   *f = (Flush *) arg;

	rencoder_run_sorter_add(f->sorter[col], key, f->scan.last_block, 1);
}

static void
read_flushed_group(Flush *f, FlushedGroup *g)
{
	(void) rencoder_range_scan(&f->scan, (uint64) g->group.number * RENC_GROUP_RANGES,
							   RENC_GROUP_RANGES, g->flushing, 0, &g->horizon);
	for (int col = 0; col < f->scan.meta.natts; col++)
	{
		for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
		{
			if (f->scan.collector->column[col].range[slot].keyless)
				renc_mask_set(&g->keyless[col], slot);
		}
	}
}

/*
 * How many locks on the table were asked for, granted or not, that are in the lock table: those of
 * readers and writers are not, until somebody wants one that conflicts with theirs.
 */
static int
count_lock_requests(Relation heap)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, heap->rd_lockInfo.lockRelId.dbId, heap->rd_lockInfo.lockRelId.relId);
	return LockWaiterCount(&tag);
}

/* Reads all groups; false if it is to give way: then there are no sorters. */
static bool
read_flushed_groups(Flush *f)
{
	int			requests = count_lock_requests(f->scan.heap);
	uint64		end = (f->first + (uint64) f->ngroups) * RENC_GROUP_RANGES * f->scan.meta.pages_per_range;
	bool		waited_for = false;

	rencoder_build_run_sorters(f->sorter, f->scan.meta.natts, rencoder_options_sort_memory(),
							   (BlockNumber) Min(end, InvalidBlockNumber), NULL, 0);
	f->scan.collector = rencoder_collect_create(f->scan.meta.natts);
	f->scan.collector->in_use = true;
	f->scan.collector->sink = take_key;
	f->scan.collector->sink_arg = f;
	for (uint32 i = 0; i < f->ngroups && !waited_for; i++)
	{
		CHECK_FOR_INTERRUPTS();
		read_flushed_group(f, &f->groups[i]);
		rencoder_delta_make_meanwhile(f->scan.index, f->cut, f->number);
		waited_for = f->gives_way && i + 1 < f->ngroups &&
			count_lock_requests(f->scan.heap) > requests;
	}
	for (int col = 0; waited_for && col < f->scan.meta.natts; col++)
		rencoder_run_sorter_end(f->sorter[col]);
	return !waited_for;
}

/* Writes the run and makes it LIVE. */
static void
write_base_run(Flush *f)
{
	uint64		group_pages = (uint64) RENC_GROUP_RANGES * f->scan.meta.pages_per_range;
	uint64		first_page = f->first * group_pages;
	BlockNumber nblocks = RelationGetNumberOfBlocks(f->scan.heap);
	uint64		end = Min(nblocks, first_page + f->ngroups * group_pages);
	uint32		npages = end > first_page ? (uint32) (end - first_page) : 1;
	RencoderNewRun made = {.number = f->number,.rows = (float) f->scan.live_rows,
	.table_rows = f->scan.heap->rd_rel->reltuples};

	for (int col = 0; col < f->scan.meta.natts; col++)
	{
		rencoder_build_run_column(f->writer, f->scan.index, f->sorter[col], col,
								  f->scan.coders.generation[col], (BlockNumber) first_page, npages,
								  (double) npages / Max(nblocks, npages), -1);
		rencoder_run_sorter_end(f->sorter[col]);
	}
	made.npages = rencoder_run_writer_finish(f->writer);
	rencoder_run_list_publish(f->scan.index, &made, 1, 0, NULL, 0, true);
}

/* Ranges of a column become "always". */
static void
note_keyless(const FlushedGroup *g, int col)
{
	RencoderGroupEdit edit;
	RencoderHeader header;

	if (renc_mask_empty(g->keyless[col]))
		return;
	rencoder_group_edit_begin(&edit, &g->group, col, RENCODER_EDIT_ENTRY, 0);
	rencoder_group_edit_entry(&edit)->flags |= RENCODER_ENTRY_ALWAYS;
	header = rencoder_group_edit_header(&edit);
	rencoder_set_put(header->always,
					 renc_mask_or(rencoder_set_get(header->always), g->keyless[col]));
	rencoder_group_edit_finish(&edit);
}

/* The record by which a group names the run. */
static bool
name_run(const Flush *f, const FlushedGroup *g)
{
	RencoderGroupEdit edit;
	RencoderEntry entry;
	RencoderHeader first;
	bool		always;

	rencoder_group_edit_begin(&edit, &g->group, 0, RENCODER_EDIT_EPOCH, RENCODER_EDIT_STORAGE);
	entry = rencoder_group_edit_entry(&edit);
	first = rencoder_group_edit_first(&edit);
	Assert(first->flushing_run == f->number);
	first->run = entry->run = f->number;
	first->cut = entry->cut = f->cut;
	memcpy(first->covered, first->flushing, sizeof(first->covered));
	rencoder_set_put(first->flushing, renc_mask_none());
	first->flushing_run = 0;
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (rencoder_set_test(first->covered, slot))
			first->horizon[slot] = Max(first->horizon[slot], g->horizon);
	}
	rencoder_group_edit_release_storage(&edit);
	rencoder_run_groups_config(first, &entry->column[0]);
	entry->flags &= ~(RENCODER_ENTRY_SEALED | RENCODER_ENTRY_COVERED);
	rencoder_group_seal(entry, &f->scan.meta, first);
	rencoder_group_edit_new_epoch(&edit);
	always = (entry->flags & RENCODER_ENTRY_ALWAYS) != 0;
	rencoder_group_edit_finish(&edit);
	return always;
}

/*
 * Covered ranges that are "always" in vain: the run has a key of each of their values that was read,
 * and bounds that are narrow say that no value without a key has come since (INV-11).  "keyless": a
 * key of theirs was not read, if only because the value was not there, or not to be looked for.
 */
static renc_mask
needless_always(const RencoderHeaderData *first, const RencoderHeaderData *header, renc_mask keyless)
{
	renc_mask	needless = renc_mask_andnot(renc_mask_and(rencoder_set_get(header->always),
														  rencoder_set_get(first->covered)),
											keyless);

	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (header->min[slot] > header->max[slot] ||
			(header->min[slot] == 0 && header->max[slot] == PG_UINT64_MAX))
			renc_mask_clear(&needless, slot);
	}
	return needless;
}

/* Takes "always" from such ranges of a column; true if none is left that is. */
static bool
forget_always(const FlushedGroup *g, int col)
{
	RencoderGroupEdit edit;
	renc_mask	always;
	renc_mask	needless;

	rencoder_group_edit_begin(&edit, &g->group, col, RENCODER_EDIT_EPOCH, 0);
	always = rencoder_set_get(edit.header->always);
	needless = needless_always(edit.first, edit.header, g->keyless[col]);
	if (!renc_mask_empty(needless))
	{
		rencoder_set_put(rencoder_group_edit_header(&edit)->always,
						 renc_mask_andnot(always, needless));
		rencoder_group_edit_new_epoch(&edit);
	}
	rencoder_group_edit_finish(&edit);
	return renc_mask_empty(renc_mask_andnot(always, needless));
}

/*
 * Has the entry say that no range is "always", if that is so of all columns.  Inserters set it in
 * entry and header, which they lock in this order, so that none does while we look.
 */
static void
forget_always_of_entry(const Flush *f, const FlushedGroup *g)
{
	const RencoderGroup *group = &g->group;
	RencoderGroupEdit edit;
	bool		none;

	rencoder_group_edit_begin(&edit, group, 0, RENCODER_EDIT_ENTRY, 0);
	none = renc_mask_empty(rencoder_set_get(edit.header->always));
	for (int col = 1; col < f->scan.meta.natts && none; col++)
	{
		Buffer		buf = rencoder_group_read_header(group->index, group->header, group->number, col,
													 BUFFER_LOCK_SHARE);

		none = renc_mask_empty(rencoder_set_get(RencoderPageGetHeader(BufferGetPage(buf))->always));
		UnlockReleaseBuffer(buf);
	}
	if (none)
		rencoder_group_edit_entry(&edit)->flags &= ~RENCODER_ENTRY_ALWAYS;
	rencoder_group_edit_finish(&edit);
}

/* Switches a group to the run. */
static void
switch_group(const Flush *f, const FlushedGroup *g)
{
	int			natts = f->scan.meta.natts;
	bool		none = true;
	bool		always;

	CHECK_FOR_INTERRUPTS();
	for (int col = 0; col < natts; col++)
		note_keyless(g, col);
	always = name_run(f, g);
	for (int col = 1; col < natts; col++)
		rencoder_run_groups_free_storage(&g->group, col);
	if (!always)
		return;
	for (int col = 0; col < natts; col++)
		none &= forget_always(g, col);
	if (none)
		forget_always_of_entry(f, g);
}

static bool
flush_groups(Flush *f)
{
	f->writer = rencoder_run_writer_begin(f->scan.index, RENCODER_RUN_BASE, f->first, f->ngroups, true);
	if (f->writer == NULL)
		return false;
	f->number = rencoder_run_writer_number(f->writer);
	f->groups = MemoryContextAllocHuge(CurrentMemoryContext, f->ngroups * sizeof(FlushedGroup));
	for (uint32 i = 0; i < f->ngroups; i++)
		begin_flushing(f, &f->groups[i], f->first + i);
	load_group_coders(f);
	if (!read_flushed_groups(f))
		return false;
	write_base_run(f);
	for (uint32 i = 0; i < f->ngroups; i++)
		switch_group(f, &f->groups[i]);
	return true;
}

bool
rencoder_flush(Relation index, Relation heap, uint32 first, uint32 ngroups, uint64 cut,
			   bool gives_way)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "rencoder flush",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Flush	   *f = palloc0(sizeof(Flush));
	bool		done;

	rencoder_range_scan_init(&f->scan, index, heap);
	f->first = first;
	f->ngroups = ngroups;
	f->cut = cut;
	f->gives_way = gives_way;
	done = flush_groups(f);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return done;
}
