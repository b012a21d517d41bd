/*
 * build_group.c
 *		Building groups of a new index: what each process of a build does.
 *
 * The keys of a group are collected, made distinct per range, and written as
 * matrices when the group is full.  When the keys of a group outgrow the
 * memory that the process may use, its configuration is chosen from the ranges seen so far, and
 * the matrices are filled range by range from then on ("spilled").
 *
 * If the build makes a run, keys go to sorters at once, and groups have no storage.
 */
#include "make/build_group.h"

#include "access/xact.h"
#include "commands/progress.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"

#include "design/filter_design.h"
#include "store/run_format.h"
#include "store/space.h"
#include "table/coder_columns.h"
#include "table/heap_read.h"

/*
 * From this group on, an incomplete last group has room for all ranges at once, which are an eighth
 * of the index at most.
 */
#define ROOM_FROM	8

struct RencoderBuildGroup
{
	Relation	heap;
	Relation	index;
	IndexInfo  *indexInfo;
	const RencoderBuildPlan *plan;
	RencoderBuildProgress *progress;
	bool		reports;
	RencoderBuildTotals totals;
	RencoderMeta meta;
	RencoderColumnCoders coders;

	uint32		group;			/* under construction */
	bool		written_to;		/* the table, maybe, by functions, while it
								 * was read */
	BlockNumber counted;		/* blocks before this one are in *progress */
	BlockNumber block;			/* of the row seen last; its slot is open */
	RencoderRunSorter *const *sorter;	/* of the trees, if there is a run */
	RencoderCollector *collector;
	MemoryContext group_context;	/* reset after each group */
	bool		spilled;
	RencoderDesigner *designer;
	RencoderConfig *config;		/* of the columns of this group */
	double		fpr[INDEX_MAX_KEYS];	/* what is expected of them */
	RencoderHeader *header;		/* of the columns of this group */
	RencoderFilling **filling;	/* spilled: the slabs being filled */
	int			nfilled;		/* spilled: slots filled in */

	uint32		ngroups;		/* built so far, and the time for them */
	instr_time	total;
	instr_time	choosing;		/* shapes */
	instr_time	writing;		/* including choosing */
};

static void
add_group_build_time(instr_time *sum, instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_ACCUM_DIFF(*sum, now, start);
}

/* Ranges of the group that exist in the table. */
static int
slots_of_built_group(const RencoderBuildGroup *b)
{
	uint64		first = (uint64) b->group * RENC_GROUP_RANGES;

	return (int) Min(b->plan->nranges - first, RENC_GROUP_RANGES);
}

/*
 * The command that functions run by this process would write in now.  Some leave
 * their last command open (those in SQL), hence the increment, which does nothing
 * if there was no writing.  In a parallel operation there can be none.
 */
static CommandId
command_during_build(void)
{
	if (!IsInParallelMode())
		CommandCounterIncrement();
	return GetCurrentCommandId(false);
}

/*
 * May a range lack rows that came while the build was at work?  A function of the
 * index, or of its operator class, has added them: those that came while the group
 * was read found no group, and may be on pages that had been read; those that came
 * before may be behind the last page that was read, in its range.  Groups that were
 * there got them by inserters.
 */
static bool
built_group_may_lack_rows(const RencoderBuildGroup *b, int slot)
{
	uint64		range = (uint64) b->group * RENC_GROUP_RANGES + slot;

	return b->written_to ||
		(range == b->plan->nranges - 1 &&
		 b->plan->nblocks % b->meta.pages_per_range != 0 &&
		 RelationGetNumberOfBlocks(b->heap) > b->plan->nblocks);
}

/* Distinct keys a range that the group before had its filters made for. */
static double
capacity_of_group_before(const RencoderBuildGroup *b, int col)
{
	BlockNumber blkno = rencoder_directory_find(b->index, &b->meta, NULL, b->group - 1, NULL);
	Buffer		buf = rencoder_page_read(b->index, blkno, BUFFER_LOCK_SHARE,
										 RENCODER_PAGE_DIRECTORY);
	char	   *payload = RencoderPageGetPayload(BufferGetPage(buf));
	double		capacity;

	capacity = rencoder_directory_entry(payload, &b->meta, b->group - 1)->column[col].config.capacity;
	UnlockReleaseBuffer(buf);
	return capacity;
}

/*
 * Distinct keys a range that filters of a rest should be made for at least: what
 * those of the group before are, or in the first group what its first range would
 * hold if it were full; of a column without any key, as many as rows.
 */
static double
min_capacity_of_built_rest(const RencoderBuildGroup *b, int col)
{
	if (b->group == 0 && slots_of_built_group(b) < RENC_GROUP_RANGES &&
		b->collector->column[col].nkeys == 0)
		return b->totals.index_tuples * b->meta.pages_per_range / b->plan->nblocks;
	if (!rencoder_build_group_is_rest(b->plan, b->group))
		return 0;
	if (b->group > 0)
		return capacity_of_group_before(b, col);
	return b->collector->column[col].range[0].distinct *
		Max(1.0, (double) b->meta.pages_per_range / b->plan->nblocks);
}

/* The width of the group's matrices: for its slices, or for all that are to come. */
static int
width_of_built_matrix(const RencoderBuildGroup *b)
{
	return b->group >= ROOM_FROM ? RENC_MATRIX_WIDTH :
		rencoder_filter_width((slots_of_built_group(b) - 1) / RENC_SLICE_RANGES);
}

/* The headers to be, without ranges and storage. */
static void
begin_built_headers(RencoderBuildGroup *b)
{
	for (int col = 0; col < b->meta.natts; col++)
	{
		b->header[col] = palloc(sizeof(RencoderHeaderData));
		rencoder_group_init_header(b->header[col], b->group, col);
	}
}

/* Writes the matrix of a column and notes it in the header. */
static void
finish_built_matrix(RencoderBuildGroup *b, int col, char *image)
{
	RencoderHeader header = b->header[col];
	uint32		npages = rencoder_filter_npages(&b->config[col]);
	RencoderSlab slab;

	CHECK_FOR_INTERRUPTS();
	header->matrix = (RencoderExtent)
	{
		rencoder_space_extend(b->index, npages), npages
	};
	slab = rencoder_slab(b->index, &b->config[col], header->matrix);
	rencoder_filter_write(&slab, image, false);
	pfree(image);
}

static void
choose_build_config(RencoderBuildGroup *b, int col)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	b->config[col].coder = b->plan->coder[col];
	b->fpr[col] = rencoder_design_column(b->designer, b->collector, col,
										 min_capacity_of_built_rest(b, col), &b->config[col]);
	b->config[col].width = width_of_built_matrix(b);
	add_group_build_time(&b->choosing, start);
}

/* Chooses the filters of a column and builds its matrix. */
static void
build_group_column(RencoderBuildGroup *b, int col)
{
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	renc_mask	always;

	choose_build_config(b, col);
	always = rencoder_filter_keys(&b->config[col], b->collector, col, renc_mask_all(), ranges);
	rencoder_set_put(b->header[col]->always, always);
	finish_built_matrix(b, col, rencoder_filter_make_image(&b->config[col], ranges));
}

/* Notes what was chosen for a column that has storage. */
static void
note_choice(RencoderBuildGroup *b, int col)
{
	RencoderHeader header = b->header[col];

	header->config = b->config[col];
	header->predicted_fpr = header->best_fpr = b->fpr[col];
	header->sample_stamp = rencoder_designer_stamp(b->designer, col, header->config.coder);
}

/* What is known of a column's ranges, and its part of the directory entry. */
static void
finish_built_column(RencoderBuildGroup *b, int col, uint64 horizon, RencoderEntry entry)
{
	RencoderHeader header = b->header[col];
	RencoderEntryColumn *bounds = &entry->column[col];
	int			nslots = slots_of_built_group(b);

	bounds->min = PG_UINT64_MAX;
	bounds->max = 0;
	for (int slot = 0; slot < nslots; slot++)
	{
		const RencoderRangeSummary *r = &b->collector->column[col].range[slot];

		header->min[slot] = r->min;
		header->max[slot] = r->max;
		header->distinct[slot] = r->distinct;
		if (r->has_null)
			rencoder_set_add(header->has_null, slot);
		if (r->keyless)
			rencoder_set_add(header->keyless, slot);
		bounds->min = Min(bounds->min, r->min);
		bounds->max = Max(bounds->max, r->max);
		if (col == 0 && !built_group_may_lack_rows(b, slot))
		{
			header->horizon[slot] = horizon;
			rencoder_set_add(header->summarized, slot);
		}
	}
	bounds->config = header->config;
	bounds->matrix = header->matrix;
	rencoder_group_mark(entry, header);
}

/* All ranges that are summarized are covered by the run of the build. */
static void
cover_built_ranges(RencoderBuildGroup *b, RencoderEntry entry)
{
	RencoderHeader first = b->header[0];

	if (renc_mask_empty(rencoder_set_get(first->summarized)))
		return;
	memcpy(first->covered, first->summarized, sizeof(first->covered));
	first->run = entry->run = b->plan->run;
}

static void spill_built_keys(RencoderBuildGroup *b);

/* Writes the group under construction, whose rows have this trust horizon. */
static void
write_built_group(RencoderBuildGroup *b, uint64 horizon)
{
	MemoryContext old = MemoryContextSwitchTo(b->group_context);
	RencoderEntry entry = palloc0(b->meta.entry_size);

	rencoder_collect_close(b->collector, slots_of_built_group(b));
	if (b->spilled)
		spill_built_keys(b);
	else
		begin_built_headers(b);
	entry->header = rencoder_group_make_headers(b->index, &b->meta, b->group, false);
	entry->epoch = 1;
	entry->horizon = horizon;
	for (int col = 0; col < b->meta.natts; col++)
	{
		if (b->plan->run != 0)
			b->header[col]->config.coder = b->plan->coder[col];
		else
		{
			if (!b->spilled)
				build_group_column(b, col);
			note_choice(b, col);
		}
		finish_built_column(b, col, horizon, entry);
		if (col == 0 && b->plan->run != 0)
			cover_built_ranges(b, entry);
		rencoder_group_put_header(b->index, entry->header, b->header[col]);
	}
	rencoder_group_update_entry(entry, &b->meta, b->header[0]);
	rencoder_directory_put(b->index, &b->meta, b->group, entry, false);

	b->ngroups++;
	b->spilled = false;
	rencoder_collect_reset(b->collector);
	MemoryContextSwitchTo(old);
	MemoryContextReset(b->group_context);
}

/* Fills the keys of a range into the matrix, which is written when it has all of the group's. */
static void
fill_built_slot(RencoderBuildGroup *b, int col, int slot)
{
	renc_keys	ranges[RENC_GROUP_RANGES];
	renc_mask	mask = renc_mask_none();

	renc_mask_set(&mask, slot);
	mask = rencoder_filter_keys(&b->config[col], b->collector, col, mask, ranges);
	if (renc_mask_test(mask, slot))
		rencoder_set_add(b->header[col]->always, slot);
	if (slot == 0)
		b->filling[col] = rencoder_filling_begin(&b->config[col]);
	if (ranges[slot].n > 0)
		rencoder_filling_add(b->filling[col], slot, &ranges[slot]);
	if (slot == slots_of_built_group(b) - 1)
		finish_built_matrix(b, col, rencoder_filling_finish(b->filling[col]));
}

/*
 * The keys collected are too many to be kept: choose the configuration from
 * them, fill them in and drop them.
 */
static void
spill_built_keys(RencoderBuildGroup *b)
{
	MemoryContext old = MemoryContextSwitchTo(b->group_context);
	int			nslots = b->collector->nslots;

	rencoder_collect_close(b->collector, nslots);
	if (!b->spilled)
	{
		begin_built_headers(b);
		b->filling = palloc0(b->meta.natts * sizeof(RencoderFilling *));
		b->spilled = true;
		b->nfilled = 0;
		for (int col = 0; col < b->meta.natts; col++)
			choose_build_config(b, col);
	}
	for (; b->nfilled < nslots; b->nfilled++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int col = 0; col < b->meta.natts; col++)
			fill_built_slot(b, col, b->nfilled);
	}
	rencoder_collect_drop_keys(b->collector);
	MemoryContextSwitchTo(old);
}

/* Blocks up to "end", exclusive, have been read. */
static void
count_built_blocks(RencoderBuildGroup *b, BlockNumber end)
{
	pg_atomic_fetch_add_u64(&b->progress->blocks, end - b->counted);
	b->counted = end;
	if (b->reports)
		rencoder_build_group_report_progress(b->progress);
}

/* The first row of a block: what need not be done for each row. */
static pg_noinline void
begin_block(RencoderBuildGroup *b, BlockNumber block)
{
	int			slot = rencoder_slot_of_range(rencoder_range_of_block(&b->meta, block));

	if (block > b->counted)
		count_built_blocks(b, block);

	/* Between two ranges is the moment to look at the memory. */
	if (b->collector->open && slot != b->collector->nslots - 1 &&
		(b->spilled || rencoder_collect_size(b->collector) > b->plan->memory))
	{
		instr_time	start;

		INSTR_TIME_SET_CURRENT(start);
		spill_built_keys(b);
		add_group_build_time(&b->writing, start);
	}

	rencoder_collect_open(b->collector, slot);
	b->block = block;
}

static void
build_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			   bool tupleIsAlive, void *state)
{
	RencoderBuildGroup *b = (RencoderBuildGroup *) state;
	BlockNumber block = ItemPointerGetBlockNumber(tid);

	if (block != b->block)
		begin_block(b, block);
	if (b->plan->run != 0)
	{
		b->collector->place = renc_place_of(&b->plan->places, block, ItemPointerGetOffsetNumber(tid));
		b->totals.most_rows = Max(b->totals.most_rows, ItemPointerGetOffsetNumber(tid));
	}
	rencoder_columns_collect_row(index, b->collector, &b->coders, values, isnull, tupleIsAlive);
	b->totals.index_tuples++;
}

/* What the row that is read has for a tree. */
static void
sort_key(void *arg, int tree, uint64 key)
{
	RencoderBuildGroup *b = (RencoderBuildGroup *) arg;

	rencoder_run_sorter_add(b->sorter[tree], key, b->collector->place, 1);
}

RencoderBuildGroup *
rencoder_build_group_create(Relation heap, Relation index, IndexInfo *indexInfo,
							const RencoderBuildPlan *plan, RencoderBuildProgress *progress,
							RencoderRunSorter *const *sorter, bool reports)
{
	RencoderBuildGroup *b = palloc0(sizeof(RencoderBuildGroup));

	b->heap = heap;
	b->index = index;
	b->indexInfo = indexInfo;
	b->plan = plan;

	b->progress = progress;
	b->reports = reports;
	b->meta = *rencoder_meta_get(index);
	for (int col = 0; col < b->meta.natts; col++)
		rencoder_columns_load_coders(index, col, plan->coder[col], &b->coders);
	b->collector = rencoder_collect_create(b->meta.natts);
	if (plan->run != 0)
	{
		b->sorter = sorter;
		b->collector->sink = sort_key;
		b->collector->sink_arg = b;
	}
	b->designer = rencoder_designer_create(index, &b->meta, (double) plan->nranges);
	b->config = palloc0(b->meta.natts * sizeof(RencoderConfig));
	b->header = palloc0(b->meta.natts * sizeof(RencoderHeader));
	b->group_context = AllocSetContextCreate(CurrentMemoryContext, "rencoder group",
											 ALLOCSET_DEFAULT_SIZES);
	return b;
}

void
rencoder_build_group_make(RencoderBuildGroup *b, uint32 group)
{
	uint64		first = (uint64) group * RENC_GROUP_RANGES * b->meta.pages_per_range;
	uint64		end = first + (uint64) RENC_GROUP_RANGES * b->meta.pages_per_range;
	instr_time	start;
	instr_time	start_writing;
	CommandId	command = command_during_build();
	uint64		horizon = 0;

	CHECK_FOR_INTERRUPTS();
	INSTR_TIME_SET_CURRENT(start);
	end = Min(end, b->plan->nblocks);
	b->group = group;
	b->counted = (BlockNumber) first;
	b->block = InvalidBlockNumber;

	b->totals.heap_tuples +=
		rencoder_heap_read(b->heap, b->index, b->indexInfo, false, (BlockNumber) first,
						   (BlockNumber) (end - first), build_callback, b, &horizon);
	b->totals.broken_hot_chain |= b->indexInfo->ii_BrokenHotChain;
	b->written_to = command_during_build() != command;
	count_built_blocks(b, (BlockNumber) end);

	INSTR_TIME_SET_CURRENT(start_writing);
	write_built_group(b, horizon);
	add_group_build_time(&b->writing, start_writing);
	add_group_build_time(&b->total, start);
}

RencoderBuildTotals
rencoder_build_group_finish(RencoderBuildGroup *b)
{
	double		total = INSTR_TIME_GET_MILLISEC(b->total);
	double		choosing = INSTR_TIME_GET_MILLISEC(b->choosing);
	double		writing = INSTR_TIME_GET_MILLISEC(b->writing);

	ereport(DEBUG1,
			(errmsg_internal("index \"%s\": built %u groups; %.0f ms reading, %.0f ms choosing, %.0f ms writing; %d searches",
							 RelationGetRelationName(b->index), b->ngroups, total - writing,
							 choosing, writing - choosing, b->designer->searches)));
	return b->totals;
}

void
rencoder_build_group_report_phase(RencoderBuildPhase phase)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, phase);
}

void
rencoder_build_group_report_progress(RencoderBuildProgress *progress)
{
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
								 (int64) pg_atomic_read_u64(&progress->blocks));
}
