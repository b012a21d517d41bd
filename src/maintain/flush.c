/*
 * flush.c
 *		Making a base run of groups of an index in use.
 *
 * src/README.md (section 7, Flush) has the steps, INV-13 why no row is lost.  Groups without
 * storage, noted ones among them, groups that are sealed, and groups that name a run already, go
 * the same way.
 */
#include "maintain/flush.h"

#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "design/run_samples.h"
#include "maintain/delta_merge.h"
#include "maintain/reading.h"
#include "maintain/run_groups.h"
#include "make/build_run.h"
#include "store/run_pages.h"
#include "table/heap_read.h"
#include "table/range_scan.h"

/* What is to be known of a group until it names the run. */
typedef struct FlushedGroup
{
	RencoderGroup group;
	renc_mask	flushing;
	bool		is_new;			/* no range had storage before */
	uint64		horizon;
} FlushedGroup;

typedef struct Flush
{
	RencoderRangeScan scan;
	uint32		first;
	uint32		ngroups;
	uint64		nranges;		/* of the table: these are all read */
	uint64		nsummarized;	/* ranges that were not before */
	uint64		cut;
	bool		gives_way;
	RencoderRunWriter *writer;
	uint32		number;			/* of the run */
	RencoderReadTrees trees;
	FlushedGroup *groups;
} Flush;

/* The ranges of a group that are to be read, whatever they have. */
static renc_mask
flushed_ranges_of_table(const Flush *f, uint32 number)
{
	uint64		first = (uint64) number * RENC_GROUP_RANGES;
	renc_mask	ranges = renc_mask_none();

	for (int slot = 0; slot < RENC_GROUP_RANGES && first + slot < f->nranges; slot++)
		renc_mask_set(&ranges, slot);
	return ranges;
}

static void
begin_flushing(Flush *f, FlushedGroup *g, uint32 number)
{
	RencoderHeaderData first;
	int			before;

	rencoder_reading_group(&g->group, f->scan.index, &f->scan.meta, number);
	rencoder_group_copy_header(&g->group, 0, &first);
	before = renc_mask_count(rencoder_set_get(first.summarized));
	g->is_new = renc_mask_within(rencoder_set_get(first.summarized), rencoder_set_get(first.noted));
	g->flushing = rencoder_reading_begin(&g->group, flushed_ranges_of_table(f, number), true,
										 f->number, f->cut);
	f->nsummarized += renc_mask_count(g->flushing) - before;
}

static void
load_coders(Flush *f)
{
	for (int col = 0; col < f->scan.meta.natts; col++)
		rencoder_columns_load_coders(f->scan.index, col, rencoder_coder_newest_generation(f->scan.index, col),
									 &f->scan.coders);
}

/*
 * Adds what was read of a column to what is known of it: the first column's switch makes ranges
 * covered in all columns.  That holds for the present storage, too.  If the new keys are by another
 * coder, bounds say nothing of them, and must exclude none.  Of the storage of a new group nobody
 * asks: it has that coder from now on.
 */
static void
widen_flushed_column(const Flush *f, const FlushedGroup *g, int col)
{
	uint32		coder = f->scan.coders.generation[col];
	RencoderGroupEdit edit;
	RencoderHeader header;
	RencoderEntry entry;

	rencoder_group_edit_begin(&edit, &g->group, col, RENCODER_EDIT_ENTRY, 0);
	header = rencoder_group_edit_header(&edit);
	entry = rencoder_group_edit_entry(&edit);
	if (g->is_new)
		header->config.coder = entry->column[col].config.coder = coder;
	renc_mask_each(slot, g->flushing)
	{
		RencoderRangeSummary r = f->scan.collector->column[col].range[slot];

		if (header->config.coder != coder && r.min <= r.max)
		{
			r.min = 0;
			r.max = PG_UINT64_MAX;
		}
		rencoder_reading_add_range(header, entry, slot, &r);
	}
	rencoder_group_edit_finish(&edit);
}

static void
read_flushed_group(Flush *f, FlushedGroup *g)
{
	(void) rencoder_range_scan(&f->scan, (uint64) g->group.number * RENC_GROUP_RANGES,
							   RENC_GROUP_RANGES, g->flushing, 0, &g->horizon);
	for (int col = 0; col < f->scan.meta.natts; col++)
		widen_flushed_column(f, g, col);
}

/*
 * How many locks on the table were asked for, granted or not, that are in the lock table: those of
 * readers and writers are not, until somebody wants one that conflicts with theirs.
 */
static int
count_lock_requests_at_flush(Relation heap)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, heap->rd_lockInfo.lockRelId.dbId, heap->rd_lockInfo.lockRelId.relId);
	return LockWaiterCount(&tag);
}

/* Reads all groups; false if it is to give way: then there are no sorters. */
static bool
read_flushed_groups(Flush *f)
{
	int			requests = count_lock_requests_at_flush(f->scan.heap);
	uint64		group_pages = (uint64) RENC_GROUP_RANGES * f->scan.meta.pages_per_range;
	BlockNumber first = (BlockNumber) (f->first * group_pages);
	uint64		end = first + f->ngroups * group_pages;
	bool		waited_for = false;

	f->scan.places = rencoder_heap_choose_places(f->scan.heap, f->scan.index, first, end);
	f->scan.places.most = 0;
	rencoder_reading_into_trees(&f->trees, &f->scan, end);
	for (uint32 i = 0; i < f->ngroups && !waited_for; i++)
	{
		CHECK_FOR_INTERRUPTS();
		read_flushed_group(f, &f->groups[i]);
		rencoder_delta_make_meanwhile(f->scan.index, f->cut, f->number);
		waited_for = f->gives_way && i + 1 < f->ngroups &&
			count_lock_requests_at_flush(f->scan.heap) > requests;
	}
	if (waited_for)
		rencoder_build_run_end_sorters(f->trees.sorter, f->scan.meta.natts);
	return !waited_for;
}

/* Writes the run and makes it LIVE. */
static void
write_flushed_run(Flush *f)
{
	uint64		group_pages = (uint64) RENC_GROUP_RANGES * f->scan.meta.pages_per_range;
	uint64		first_page = f->first * group_pages;
	BlockNumber nblocks = RelationGetNumberOfBlocks(f->scan.heap);
	uint64		end = Min(nblocks, first_page + f->ngroups * group_pages);
	RencoderBuildTrees trees = {.coder = f->scan.coders.generation,
		.first_page = (BlockNumber) first_page,
		.npages = end > first_page ? (uint32) (end - first_page) : 1,.places = f->scan.places,
	.heap_pages = nblocks};
	RencoderNewRun made = {0};

	rencoder_build_run_write_trees(f->writer, f->scan.index, f->trees.sorter, &trees);
	rencoder_run_writer_finish(f->writer, &made);
	made.upto = rencoder_run_samples_stamp(f->scan.index);
	rencoder_run_list_publish(f->scan.index, &made, 1, 0, NULL, 0, true);
}

/* What the header of a column says when its keys are in the run. */
static void
leave_to_flushed_run(const Flush *f, const FlushedGroup *g, RencoderGroupEdit *edit)
{
	int			col = edit->col;
	RencoderHeader header = rencoder_group_edit_header(edit);
	RencoderEntry entry = rencoder_group_edit_entry(edit);

	rencoder_group_edit_release_storage(edit);
	memset(&header->config, 0, sizeof(header->config));
	header->config.coder = f->scan.coders.generation[col];
	header->predicted_fpr = header->best_fpr = -1;
	entry->column[col].config = header->config;
	rencoder_set_put(header->always, renc_mask_none());
	rencoder_set_put(header->keyless, renc_mask_none());
	rencoder_set_put(header->has_null, renc_mask_none());
	rencoder_group_edit_new_epoch(edit);
}

/* The record by which a group names the run. */
static void
name_flushed_run(const Flush *f, const FlushedGroup *g)
{
	RencoderGroupEdit edit;
	RencoderEntry entry;
	RencoderHeader first;

	rencoder_group_edit_begin(&edit, &g->group, 0, RENCODER_EDIT_EPOCH, 1);
	entry = rencoder_group_edit_entry(&edit);
	first = rencoder_group_edit_first(&edit);
	Assert(first->flushing_run == f->number);
	first->run = entry->run = f->number;
	rencoder_set_put(first->covered, g->flushing);
	rencoder_set_put(first->noted, renc_mask_none());
	rencoder_set_put(first->summarizing,
					 renc_mask_andnot(rencoder_set_get(first->summarizing), g->flushing));
	rencoder_set_put(first->summarized,
					 renc_mask_or(rencoder_set_get(first->summarized), g->flushing));
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (renc_mask_test(g->flushing, slot))
			first->horizon[slot] = Max(first->horizon[slot], g->horizon);
	}
	leave_to_flushed_run(f, g, &edit);
	rencoder_reading_set_cut(first, entry, f->cut);
	rencoder_group_update_entry(entry, &f->scan.meta, first);
	rencoder_group_edit_finish(&edit);
}

/* Switches a group to the run. */
static void
switch_flushed_group(const Flush *f, const FlushedGroup *g)
{
	CHECK_FOR_INTERRUPTS();
	name_flushed_run(f, g);
	for (int col = 1; col < f->scan.meta.natts; col++)
	{
		RencoderGroupEdit edit;

		rencoder_group_edit_begin(&edit, &g->group, col, RENCODER_EDIT_EPOCH, 1);
		leave_to_flushed_run(f, g, &edit);
		rencoder_group_edit_finish(&edit);
	}
	rencoder_reading_end_flushing(&g->group);
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
	load_coders(f);
	if (!read_flushed_groups(f))
		return false;
	write_flushed_run(f);
	for (uint32 i = 0; i < f->ngroups; i++)
		switch_flushed_group(f, &f->groups[i]);
	return true;
}

bool
rencoder_flush(Relation index, Relation heap, uint32 first, uint32 ngroups, uint64 nranges,
			   uint64 cut, bool gives_way, uint64 *nsummarized)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "rencoder flush",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Flush	   *f = palloc0(sizeof(Flush));
	bool		done;

	rencoder_range_scan_init(&f->scan, index, heap);
	f->first = first;
	f->ngroups = ngroups;
	f->nranges = nranges;
	f->cut = cut;
	f->gives_way = gives_way;
	done = flush_groups(f);
	if (done)
		*nsummarized += f->nsummarized;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return done;
}
