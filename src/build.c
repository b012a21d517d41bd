/*
 * build.c
 *		CREATE INDEX: one heap scan in block order, group after group.
 *
 * The keys of a group are collected, made distinct per range, and written as
 * a matrix when the group is full; only the last group, which will grow, is
 * written as slices.  When the keys of a group outgrow their share of
 * maintenance_work_mem, its configuration is chosen from the ranges seen so
 * far, and the filters are filled range by range from then on ("spilled"); a
 * slab is written when its last range is filled.
 *
 * Nobody else sees the pages, so nothing is logged until the end, where the
 * whole fork is (log_newpage_range).
 */
#include "rencoder.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "nodes/execnodes.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "horizon.h"
#include "plan.h"
#include "sampling.h"
#include "space.h"
#include "train.h"

typedef struct RencoderBuild
{
	Relation	heap;
	Relation	index;
	IndexInfo  *indexInfo;
	RencoderMeta meta;
	BlockNumber nblocks;		/* of the heap before the scan */
	uint64		nranges;		/* that will be summarized */
	uint64		oldest_before;	/* transaction in use before the scan */
	double		ntuples;
	RencoderColumnCoders coders;	/* trained before the scan */

	uint32		group;			/* under construction */
	RencoderCollector *collector;
	MemoryContext group_context;	/* reset after each group */
	bool		spilled;
	RencoderPlanner *planner;
	RencoderConfig *config;		/* of the columns of this group */
	RencoderPrediction prediction[INDEX_MAX_KEYS];	/* what is expected of them */
	double	   *capacity;		/* of the columns of the previous group */
	RencoderHeader *header;		/* of the columns of this group */
	char	  **image;			/* spilled: of the slabs being filled */
	int			nfilled;		/* spilled: slots filled in */
} RencoderBuild;

/* Largest power of two that leaves 128 ranges, at most 32; 32 if empty. */
static uint32
choose_pages_per_range(BlockNumber nblocks)
{
	uint32		pages = RENCODER_AUTO_MAX_PAGES_PER_RANGE;

	if (nblocks == 0)
		return pages;
	while (pages > 1 && nblocks / pages < RENC_GROUP_RANGES)
		pages /= 2;
	return pages;
}

/* Ranges of the group that exist in the table. */
static int
group_slots(const RencoderBuild *b)
{
	uint64		first = (uint64) b->group * RENC_GROUP_RANGES;

	return (int) Min(b->nranges - first, RENC_GROUP_RANGES);
}

/*
 * Distinct keys that filters of the group should be made for at least.  Where
 * the group has few ranges, or none but a partial one, later ranges will hold
 * what earlier ones do.
 */
static double
min_capacity(const RencoderBuild *b, int col)
{
	BlockNumber pages;

	if (group_slots(b) >= RENC_SLICE_RANGES)
		return 0;
	if (b->group > 0)
		return b->capacity[col];
	pages = Min(b->nblocks, b->meta.pages_per_range);
	return b->collector->column[col].range[0].distinct *
		((double) b->meta.pages_per_range / pages);
}

static int
slab_width(const RencoderBuild *b)
{
	return group_slots(b) == RENC_GROUP_RANGES ? RENC_MATRIX_WIDTH : RENC_SLICE_WIDTH;
}

/* The header pages to be, without ranges and storage. */
static void
begin_headers(RencoderBuild *b)
{
	for (int col = 0; col < b->meta.natts; col++)
	{
		b->header[col] = palloc0(RENCODER_PAYLOAD_SIZE);
		rencoder_header_init(b->header[col], b->group, col);
	}
}

/* The keys of a range, if it fits; none, with the range marked, if not. */
static renc_keys
keys_that_fit(const RencoderBuild *b, int col, int slot)
{
	const RencoderRangeSummary *range = &b->collector->column[col].range[slot];
	renc_keys	none = {NULL, 0};

	if (!range->keyless && rencoder_format_fits(&b->config[col], range->distinct))
		return rencoder_collect_keys(b->collector, col, slot);
	rencoder_set_add(b->header[col]->always, slot);
	return none;
}

/* Writes the pages of a slab; returns its extent. */
static RencoderExtent
write_slab(RencoderBuild *b, int col, const char *image, uint32 npages)
{
	RencoderExtent extent;

	extent.npages = npages;
	extent.start = rencoder_space_extend(b->index, npages);
	for (uint32 i = 0; i < npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		rencoder_wal_write_fresh(b->index, extent.start + i,
								 rencoder_format_of(&b->config[col])->page_id,
								 image + (Size) i * RENCODER_PAYLOAD_SIZE, false);
	}
	return extent;
}

/* Writes the slab of the slots from "first" on and notes it in the header. */
static void
finish_slab(RencoderBuild *b, int col, int first, const char *image, uint32 npages)
{
	RencoderHeader header = b->header[col];
	RencoderSlab slab = {b->index, &b->config[col], {0, 0}, slab_width(b), false};

	slab.extent = write_slab(b, col, image, npages);
	if (slab.width == RENC_MATRIX_WIDTH)
		header->matrix = slab.extent;
	else
		header->slice[first / RENC_SLICE_RANGES] = slab.extent;
	rencoder_format_of(&b->config[col])->count(&slab, header->nset + first);
}

/* Chooses the format of a column and builds its slabs. */
static void
build_column(RencoderBuild *b, int col)
{
	const RencoderFormat *format;
	int			nslots = group_slots(b);
	int			width = slab_width(b);
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	char	   *image;
	uint32		npages;

	b->config[col].coder = b->coders.generation[col];
	rencoder_plan_column(b->planner, b->collector, col, width, min_capacity(b, col), true,
						 &b->config[col], &b->prediction[col]);
	format = rencoder_format_of(&b->config[col]);
	for (int slot = 0; slot < nslots; slot++)
		ranges[slot] = keys_that_fit(b, col, slot);
	for (int first = 0; first < nslots; first += width * 8)
	{
		image = format->build(&b->config[col], width, ranges + first, &npages);
		finish_slab(b, col, first, image, npages);
		pfree(image);
	}
}

/* The header page of a column, and its part of the directory entry. */
static void
finish_column(RencoderBuild *b, int col, uint64 horizon, RencoderEntry entry)
{
	RencoderHeader header = b->header[col];
	RencoderEntryColumn *bounds = &entry->column[col];
	int			nslots = group_slots(b);

	header->config = b->config[col];
	header->predicted_fpr = header->best_fpr = b->prediction[col].fpr;
	header->sample_stamp = rencoder_planner_stamp(b->planner, col, header->config.coder);
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
		if (r->has_value)
			rencoder_set_add(header->has_value, slot);
		bounds->min = Min(bounds->min, r->min);
		bounds->max = Max(bounds->max, r->max);
		if (col == 0)
		{
			header->horizon[slot] = horizon;
			rencoder_set_add(header->summarized, slot);
		}
	}
	bounds->config = header->config;
	bounds->matrix = header->matrix;
	if (!renc_mask_empty(rencoder_set_get(header->always)))
		entry->flags |= RENCODER_ENTRY_ALWAYS;
	b->capacity[col] = b->config[col].capacity;
}

static void
write_entry(RencoderBuild *b, RencoderEntry entry)
{
	BlockNumber blkno = rencoder_directory_make(b->index, &b->meta, b->group, false);
	Buffer		buf = rencoder_page_read(b->index, blkno, BUFFER_LOCK_EXCLUSIVE,
										 RENCODER_PAGE_DIRECTORY);
	RencoderWal *wal = rencoder_wal_begin(b->index, false);
	char	   *payload = RencoderPageGetPayload(rencoder_wal_register(wal, buf));

	memcpy(rencoder_directory_entry(payload, &b->meta, b->group), entry,
		   b->meta.entry_size);
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}

static void spill(RencoderBuild *b);

/* Writes the group under construction; the next one begins. */
static void
flush_group(RencoderBuild *b)
{
	MemoryContext old = MemoryContextSwitchTo(b->group_context);
	RencoderEntry entry = palloc0(b->meta.entry_size);
	uint64		horizon;

	rencoder_collect_close(b->collector, group_slots(b));
	if (b->spilled)
		spill(b);
	else
		begin_headers(b);
	horizon = rencoder_horizon(b->heap, b->oldest_before,
							   b->indexInfo->ii_BrokenHotChain ||
							   b->indexInfo->ii_Concurrent);
	entry->header = rencoder_space_extend(b->index, b->meta.natts);
	entry->width = RENC_GROUP_RANGES;
	entry->generation = 1;
	entry->horizon = horizon;
	for (int col = 0; col < b->meta.natts; col++)
	{
		if (!b->spilled)
			build_column(b, col);
		finish_column(b, col, horizon, entry);
		rencoder_wal_write_fresh(b->index, entry->header + col,
								 RENCODER_PAGE_HEADER, (char *) b->header[col], false);
	}
	if (slab_width(b) == RENC_MATRIX_WIDTH)
		entry->flags |= RENCODER_ENTRY_SEALED;
	write_entry(b, entry);

	b->group++;
	b->spilled = false;
	rencoder_collect_reset(b->collector);
	MemoryContextSwitchTo(old);
	MemoryContextReset(b->group_context);
}

/* Fills the keys of a range into its slab, which is written when it is full. */
static void
fill_slot(RencoderBuild *b, int col, int slot)
{
	const RencoderConfig *config = &b->config[col];
	int			width = slab_width(b);
	int			first = slot - slot % (width * 8);
	bool		last = slot - first == width * 8 - 1 || slot == group_slots(b) - 1;
	renc_keys	keys = keys_that_fit(b, col, slot);
	uint32		npages = rencoder_filter_npages(config, width);

	if (slot == first)
		b->image[col] = rencoder_filter_image(config, width, &npages);
	if (keys.n > 0)
		rencoder_filter_fill(b->image[col], config, width, slot - first, &keys);
	if (last)
	{
		finish_slab(b, col, first, b->image[col], npages);
		pfree(b->image[col]);
	}
}

/*
 * The keys collected are too many to be kept: choose the configuration from
 * them, fill them in and drop them.
 */
static void
spill(RencoderBuild *b)
{
	MemoryContext old = MemoryContextSwitchTo(b->group_context);
	int			nslots = b->collector->nslots;

	rencoder_collect_close(b->collector, nslots);
	if (!b->spilled)
	{
		begin_headers(b);
		b->image = palloc0(b->meta.natts * sizeof(char *));
		for (int col = 0; col < b->meta.natts; col++)
		{
			b->config[col].coder = b->coders.generation[col];
			rencoder_plan_column(b->planner, b->collector, col, slab_width(b),
								 min_capacity(b, col), false, &b->config[col],
								 &b->prediction[col]);
		}
		b->spilled = true;
		b->nfilled = 0;
	}
	for (; b->nfilled < nslots; b->nfilled++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int col = 0; col < b->meta.natts; col++)
			fill_slot(b, col, b->nfilled);
	}
	rencoder_collect_drop_keys(b->collector);
	MemoryContextSwitchTo(old);
}

static void
build_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			   bool tupleIsAlive, void *state)
{
	RencoderBuild *b = (RencoderBuild *) state;
	uint64		range = rencoder_range_of_block(&b->meta, ItemPointerGetBlockNumber(tid));
	int			slot = rencoder_slot_of_range(range);

	/* Concurrent builds: the table has grown; those ranges are not ours. */
	if (range >= b->nranges)
		return;
	while (b->group < rencoder_group_of_range(range))
	{
		CHECK_FOR_INTERRUPTS();
		flush_group(b);
	}

	/* Between two ranges is the moment to look at the memory. */
	if (b->collector->open && slot != b->collector->nslots - 1 &&
		(b->spilled ||
		 rencoder_collect_size(b->collector) > (Size) maintenance_work_mem * 1024 / 2))
		spill(b);

	rencoder_collect_open(b->collector, slot);
	rencoder_collect_row(index, b->collector, &b->coders, values, isnull, tupleIsAlive);
	b->ntuples++;
}

/*
 * Under a nondeterministic collation strings may be equal that are not the
 * same bytes: no key could stand for them.
 */
static void
refuse_collations(Relation index)
{
	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(index); col++)
	{
		Oid			collation = index->rd_indcollation[col];

		if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("access method \"rencoder\" does not support nondeterministic collations"),
					 errdetail("Column %d of index \"%s\" has collation \"%s\".",
							   col + 1, RelationGetRelationName(index),
							   get_collation_name(collation)),
					 errhint("Add COLLATE with a deterministic collation, such as \"C\", to the column in CREATE INDEX, and to the clauses that are to use it.")));
	}
}

IndexBuildResult *
rencoderbuild(Relation heap, Relation index, IndexInfo *indexInfo)
{
	RencoderBuild b;
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	uint32		pages_per_range = rencoder_options_pages_per_range(index);

	refuse_collations(index);
	memset(&b, 0, sizeof(b));
	b.heap = heap;
	b.index = index;
	b.indexInfo = indexInfo;
	b.nblocks = RelationGetNumberOfBlocks(heap);
	if (pages_per_range == 0)
		pages_per_range = choose_pages_per_range(b.nblocks);

	/* TRUNCATE in the table's own transaction leaves the old cache here. */
	if (index->rd_amcache != NULL)
		pfree(index->rd_amcache);
	index->rd_amcache = NULL;
	rencoder_meta_create(index, MAIN_FORKNUM, pages_per_range,
						 rencoder_options_bits_per_key(index));
	b.meta = *rencoder_meta_get(index);
	b.nranges = rencoder_range_count(&b.meta, b.nblocks);

	/* Scanning less than a batch of pages costs less than an index would. */
	if (rencoder_options_pages_per_range(index) == 0 && b.nranges < RENC_SLICE_RANGES)
		b.nranges = 0;

	b.collector = rencoder_collect_create(b.meta.natts);
	b.planner = rencoder_planner_create(index, &b.meta, (double) b.nranges);
	b.config = palloc0(b.meta.natts * sizeof(RencoderConfig));
	b.capacity = palloc0(b.meta.natts * sizeof(double));
	b.header = palloc0(b.meta.natts * sizeof(RencoderHeader));
	b.group_context = AllocSetContextCreate(CurrentMemoryContext, "rencoder group",
											ALLOCSET_DEFAULT_SIZES);
	rencoder_train(heap, index, indexInfo, false, &b.coders);
	rencoder_sampling_build(heap, index);
	b.oldest_before = rencoder_horizon_before(heap);

	/* In block order: no synchronized scan. */
	result->heap_tuples = table_index_build_scan(heap, index, indexInfo, false, true,
												 build_callback, &b, NULL);
	result->index_tuples = b.ntuples;
	while ((uint64) b.group * RENC_GROUP_RANGES < b.nranges)
		flush_group(&b);

	rencoder_wal_log_fork(index, MAIN_FORKNUM);
	return result;
}

void
rencoderbuildempty(Relation index)
{
	uint32		pages_per_range = rencoder_options_pages_per_range(index);

	refuse_collations(index);
	if (pages_per_range == 0)
		pages_per_range = choose_pages_per_range(0);
	rencoder_meta_create(index, INIT_FORKNUM, pages_per_range,
						 rencoder_options_bits_per_key(index));
	rencoder_wal_log_fork(index, INIT_FORKNUM);
}
