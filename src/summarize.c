/*
 * summarize.c
 *		Summarizing block ranges of an index in use.
 *
 * A slice of 8 ranges at a time, by one maintainer per index (INV-6):
 *
 *	1. Make the group's header, if it is the group's first range.  Take away
 *	   what a former life of the ranges left in the storage, while they are
 *	   still unsummarized and nobody writes there.
 *	2. Set "summarizing" (one record).  From here on inserters keep the
 *	   ranges' bits and bounds up to date, or, where there is no storage yet,
 *	   cancel.
 *	3. Scan the heap, any version visible, and collect the keys (INV-3).
 *	4. Write the bits: merge them into existing storage, or write a new slab
 *	   that nobody refers to yet.
 *	5. Publish: one record per column links the slab and widens the bounds; the
 *	   last one sets "summarized" for the ranges that are still "summarizing"
 *	   (INV-4: it follows the records of all bits it vouches for).
 *
 * Ranges that were cancelled meanwhile are done again; now the storage is
 * there, so they cannot be cancelled twice.
 */
#include "summarize.h"

#include "utils/memutils.h"

#include "plan.h"
#include "rangescan.h"
#include "space.h"

/* A slice being summarized. */
typedef struct Slice
{
	Relation	index;
	RencoderMeta meta;
	RencoderRangeScan scan;
	uint32		group;
	int			slice;			/* of the group */
	BlockNumber header;			/* first header page of the group */
	BlockNumber directory;		/* directory page of the group */
	renc_mask	todo;			/* ranges of the group to summarize */
	bool		no_dead_toast;	/* see RencoderCollector */
	uint64		horizon;
} Slice;

/* Makes and links the header pages of a group. */
static BlockNumber
make_header(Relation index, const RencoderMeta *meta, uint32 group,
			BlockNumber directory)
{
	char	   *payload = palloc0(RENCODER_PAYLOAD_SIZE);
	RencoderExtent extent = rencoder_space_alloc(index, meta->natts);
	RencoderEntry entry;
	RencoderWal *wal;
	Buffer		buf;

	for (int col = 0; col < meta->natts; col++)
	{
		rencoder_header_init((RencoderHeader) payload, group, col);
		rencoder_wal_write_fresh(index, extent.start + col, RENCODER_PAGE_HEADER,
								 payload, true);
	}
	pfree(payload);

	buf = rencoder_page_read(index, directory, BUFFER_LOCK_EXCLUSIVE,
							 RENCODER_PAGE_DIRECTORY);
	wal = rencoder_wal_begin(index, true);
	entry = rencoder_directory_entry(RencoderPageGetPayload(rencoder_wal_register(wal, buf)),
									 meta, group);
	memset(entry, 0, meta->entry_size);
	entry->header = extent.start;
	entry->width = RENC_GROUP_RANGES;
	for (int col = 0; col < meta->natts; col++)
		entry->column[col].min = PG_UINT64_MAX;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
	return extent.start;
}

/* The storage of the slice's ranges in a column; false if there is none. */
static bool
find_slab(const Slice *s, RencoderHeader header, RencoderSlab *slab)
{
	slab->index = s->index;
	slab->config = &header->config;
	slab->unfinished = false;
	slab->width = RENC_MATRIX_WIDTH;
	slab->extent = header->matrix;
	if (slab->extent.start == RENCODER_NO_BLOCK)
	{
		slab->width = RENC_SLICE_WIDTH;
		slab->extent = header->slice[s->slice];
	}
	return slab->extent.start != RENCODER_NO_BLOCK;
}

/* A mask of the group's ranges as slots of a slab of the given width. */
static renc_mask
slab_mask(const Slice *s, int width, renc_mask mask)
{
	renc_mask	narrow = renc_mask_none();

	if (width == RENC_MATRIX_WIDTH)
		return mask;
	narrow.w[0] = (mask.w[s->slice / 8] >> (s->slice % 8 * RENC_SLICE_RANGES)) & 0xFF;
	return narrow;
}

static void
copy_header(const Slice *s, int col, RencoderHeader copy)
{
	Buffer		buf = rencoder_header_read(s->index, s->header, s->group, col,
										   BUFFER_LOCK_SHARE);

	memcpy(copy, RencoderPageGetHeader(BufferGetPage(buf)), sizeof(*copy));
	UnlockReleaseBuffer(buf);
}

/*
 * Forgets what a former summary of "fresh" ranges left.  They are
 * unsummarized, so that nobody writes there; scans that started before they
 * became so will see another generation (INV-7).
 */
static void
forget_ranges(const Slice *s, int col, renc_mask fresh)
{
	RencoderHeaderData copy;
	RencoderSlab slab;
	RencoderHeader header;
	RencoderWal *wal;
	Buffer		buf;

	copy_header(s, col, &copy);
	if (find_slab(s, &copy, &slab))
		rencoder_format_of(&copy.config)->clear(&slab, slab_mask(s, slab.width, fresh));

	buf = rencoder_header_read(s->index, s->header, s->group, col, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(s->index, true);
	header = RencoderPageGetHeader(rencoder_wal_register(wal, buf));
	rencoder_set_put(header->always, renc_mask_andnot(rencoder_set_get(header->always), fresh));
	rencoder_set_put(header->has_null, renc_mask_andnot(rencoder_set_get(header->has_null), fresh));
	rencoder_set_put(header->has_value, renc_mask_andnot(rencoder_set_get(header->has_value), fresh));
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (!renc_mask_test(fresh, slot))
			continue;
		header->min[slot] = PG_UINT64_MAX;
		header->max[slot] = 0;
		header->distinct[slot] = 0;
		header->nset[slot] = 0;
	}
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}

/* Sets "summarizing" for the ranges to do. */
static void
begin_summarizing(const Slice *s)
{
	Buffer		buf = rencoder_header_read(s->index, s->header, s->group, 0,
										   BUFFER_LOCK_EXCLUSIVE);
	RencoderWal *wal = rencoder_wal_begin(s->index, true);
	RencoderHeader header = RencoderPageGetHeader(rencoder_wal_register(wal, buf));

	rencoder_set_put(header->summarizing,
					 renc_mask_or(rencoder_set_get(header->summarizing), s->todo));
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}

/* The coders of the group's keys: its own if it has keys, else the newest. */
static void
find_coders(Slice *s)
{
	RencoderHeaderData copy;

	for (int col = 0; col < s->meta.natts; col++)
	{
		uint32		generation;

		if (!rencoder_key_is_coded(s->index, col))
			continue;
		copy_header(s, col, &copy);
		generation = copy.config.format != RENCODER_FORMAT_NONE ? copy.config.coder :
			rencoder_coder_newest(s->index, col);
		rencoder_coders_load(s->index, col, generation, &s->scan.coders);
	}
}

/* The header of a column of the group before; false if there is none. */
static bool
read_previous(const Slice *s, int col, RencoderHeader header)
{
	BlockNumber block;
	Buffer		buf;

	if (s->group == 0)
		return false;
	block = rencoder_group_find(s->index, &s->meta, s->group - 1);
	if (block == RENCODER_NO_BLOCK)
		return false;
	buf = rencoder_header_read(s->index, block, s->group - 1, col, BUFFER_LOCK_SHARE);
	memcpy(header, RencoderPageGetHeader(BufferGetPage(buf)), sizeof(*header));
	UnlockReleaseBuffer(buf);
	return true;
}

/*
 * Distinct keys a range that a new group's filters should be made for at
 * least: what the previous group's are, or what a partial range would hold if
 * it were full.
 */
static double
min_capacity(const Slice *s, int col)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(s->scan.heap);
	RencoderHeaderData previous;
	uint64		first = (uint64) s->group * RENC_GROUP_RANGES;
	BlockNumber block;

	if (nblocks >= (first + RENC_SLICE_RANGES) * s->meta.pages_per_range)
		return 0;
	if (read_previous(s, col, &previous) && previous.config.capacity > 0)
		return previous.config.capacity;
	block = nblocks - (BlockNumber) (first * s->meta.pages_per_range);
	return s->scan.collector->column[col].range[0].distinct *
		Max(1.0, (double) s->meta.pages_per_range / block);
}

/*
 * Chooses the configuration of a new group from its first slice; the search
 * goes on from where it ended for the group before.
 */
static void
plan_group(Slice *s, int col, RencoderHeader copy)
{
	RencoderPlanner *planner =
		rencoder_planner_create(s->index, &s->meta, (s->group + 1.0) * RENC_GROUP_RANGES);
	RencoderHeaderData previous;
	RencoderPrediction prediction;
	renc_shape	shape;

	if (read_previous(s, col, &previous) &&
		previous.config.format == RENCODER_FORMAT_FILTER &&
		previous.config.coder == copy->config.coder &&
		renc_shape_unpack(previous.config.shape, &shape, NULL))
		renc_search_resume(&planner->search[col], s->meta.bits_per_key, &shape, 0);
	rencoder_plan_column(planner, s->scan.collector, col, RENC_SLICE_WIDTH,
						 min_capacity(s, col), true, &copy->config, &prediction);
	copy->predicted_fpr = copy->best_fpr = prediction.fpr;
	copy->sample_stamp = rencoder_planner_stamp(planner, col, copy->config.coder);
}

/*
 * Writes the keys of a column: into the storage that is there (copy->config
 * and extents), or into a new slice, noted in "copy".
 */
static void
write_column(Slice *s, int col, RencoderHeader copy, renc_mask *always)
{
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	renc_mask	refused;
	const RencoderFormat *format;
	RencoderSlab slab;
	bool		exists = find_slab(s, copy, &slab);
	int			shift = slab.width == RENC_MATRIX_WIDTH ? s->slice * RENC_SLICE_RANGES : 0;

	*always = renc_mask_none();
	if (copy->config.format == RENCODER_FORMAT_NONE)
	{
		copy->config.coder = s->scan.coders.generation[col];
		plan_group(s, col, copy);
	}
	format = rencoder_format_of(&copy->config);
	if (format == NULL)
		elog(ERROR, "unknown format %d of group %u", copy->config.format, s->group);
	for (int slot = 0; slot < RENC_SLICE_RANGES; slot++)
	{
		const RencoderRangeSummary *range = &s->scan.collector->column[col].range[slot];

		if (!range->keyless && rencoder_format_fits(&copy->config, range->distinct))
			ranges[shift + slot] = rencoder_collect_keys(s->scan.collector, col, slot);
		else
			renc_mask_set(always, s->slice * RENC_SLICE_RANGES + slot);
	}

	if (exists)
	{
		refused = format->merge(&slab, ranges);
		for (int slot = 0; slot < RENC_SLICE_RANGES; slot++)
		{
			if (renc_mask_test(refused, shift + slot))
				renc_mask_set(always, s->slice * RENC_SLICE_RANGES + slot);
		}
	}
	else
	{
		uint32		npages;
		char	   *image = format->build(&copy->config, RENC_SLICE_WIDTH, ranges, &npages);
		RencoderExtent extent = rencoder_space_alloc(s->index, npages);

		for (uint32 i = 0; i < npages; i++)
			rencoder_wal_write_fresh(s->index, extent.start + i, format->page_id,
									 image + (Size) i * RENCODER_PAYLOAD_SIZE, true);
		pfree(image);
		copy->slice[s->slice] = extent;
		slab.extent = extent;
	}
	memset(copy->nset, 0, sizeof(copy->nset));
	format->count(&slab, copy->nset + (slab.width == RENC_MATRIX_WIDTH ? 0 :
									   s->slice * RENC_SLICE_RANGES));
}

/* Seals the entry if the group's header says that it can be. */
static void
seal_if_complete(RencoderEntry entry, RencoderHeader header)
{
	renc_mask	missing = renc_mask_andnot(renc_mask_all(),
										   rencoder_set_get(header->summarized));

	if (!renc_mask_empty(missing) || header->matrix.start == RENCODER_NO_BLOCK)
		return;
	entry->flags |= RENCODER_ENTRY_SEALED;
	entry->horizon = 0;
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
		entry->horizon = Max(entry->horizon, header->horizon[slot]);
}

/* Puts what was learnt of a range into the header and the entry's bounds. */
static void
publish_range(const Slice *s, int col, RencoderHeader header, RencoderEntry entry,
			  const RencoderHeaderData *copy, renc_mask always, int slot)
{
	const RencoderRangeSummary *r =
		&s->scan.collector->column[col].range[slot % RENC_SLICE_RANGES];
	RencoderEntryColumn *bounds = &entry->column[col];

	/* Inserters may have widened meanwhile: unite (INV-2). */
	header->min[slot] = Min(header->min[slot], r->min);
	header->max[slot] = Max(header->max[slot], r->max);
	bounds->min = Min(bounds->min, r->min);
	bounds->max = Max(bounds->max, r->max);
	header->distinct[slot] = r->distinct;
	header->nset[slot] = copy->nset[slot];
	if (r->has_null)
		rencoder_set_add(header->has_null, slot);
	if (r->has_value)
		rencoder_set_add(header->has_value, slot);
	if (renc_mask_test(always, slot))
	{
		rencoder_set_add(header->always, slot);
		entry->flags |= RENCODER_ENTRY_ALWAYS;
	}
}

/*
 * Links a column's storage and publishes its ranges; for the first column,
 * which comes last, also the states.  Returns the ranges published: those
 * that no inserter cancelled.  Locks: directory, first header, the column's.
 */
static renc_mask
publish_column(Slice *s, int col, const RencoderHeaderData *copy, renc_mask always)
{
	Buffer		dirbuf = rencoder_page_read(s->index, s->directory,
											BUFFER_LOCK_EXCLUSIVE,
											RENCODER_PAGE_DIRECTORY);
	Buffer		firstbuf = rencoder_header_read(s->index, s->header, s->group, 0,
												BUFFER_LOCK_EXCLUSIVE);
	Buffer		colbuf = col == 0 ? firstbuf :
		rencoder_header_read(s->index, s->header, s->group, col, BUFFER_LOCK_EXCLUSIVE);
	RencoderWal *wal = rencoder_wal_begin(s->index, true);
	RencoderEntry entry = rencoder_directory_entry(RencoderPageGetPayload(rencoder_wal_register(wal, dirbuf)),
												   &s->meta, s->group);
	RencoderHeader header = RencoderPageGetHeader(rencoder_wal_register(wal, colbuf));
	renc_mask	done = renc_mask_and(s->todo,
									 rencoder_set_get(RencoderPageGetHeader(BufferGetPage(firstbuf))->summarizing));

	header->config = copy->config;
	header->predicted_fpr = copy->predicted_fpr;
	header->best_fpr = copy->best_fpr;
	header->sample_stamp = copy->sample_stamp;
	header->slice[s->slice] = copy->slice[s->slice];
	entry->column[col].config = copy->config;
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (renc_mask_test(done, slot))
			publish_range(s, col, header, entry, copy, always, slot);
	}
	if (col == 0)
	{
		rencoder_set_put(header->summarizing,
						 renc_mask_andnot(rencoder_set_get(header->summarizing), done));
		rencoder_set_put(header->summarized,
						 renc_mask_or(rencoder_set_get(header->summarized), done));
		for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
		{
			if (renc_mask_test(done, slot))
				header->horizon[slot] = s->horizon;
		}
		seal_if_complete(entry, header);
	}
	rencoder_wal_finish(wal);
	if (colbuf != firstbuf)
		UnlockReleaseBuffer(colbuf);
	UnlockReleaseBuffer(firstbuf);
	UnlockReleaseBuffer(dirbuf);
	return done;
}

/* One attempt at the ranges to do; returns those that were published. */
static renc_mask
try_slice(Slice *s)
{
	RencoderHeaderData copy;
	renc_mask	fresh;
	renc_mask	done = renc_mask_none();
	renc_mask	always;

	/* What is "summarizing" was left so by a crash and has writers. */
	copy_header(s, 0, &copy);
	fresh = renc_mask_andnot(s->todo, rencoder_set_get(copy.summarizing));
	if (!renc_mask_empty(fresh))
	{
		for (int col = 0; col < s->meta.natts; col++)
			forget_ranges(s, col, fresh);
	}
	begin_summarizing(s);
	find_coders(s);
	s->horizon = rencoder_rangescan(&s->scan,
									((uint64) s->group * RENC_GROUP_RANGES) + s->slice * RENC_SLICE_RANGES,
									(uint8) slab_mask(s, RENC_SLICE_WIDTH, s->todo).w[0]);

	/*
	 * The first column's storage is linked last: its absence is what tells
	 * inserters that there is none.
	 */
	for (int col = s->meta.natts - 1; col >= 0; col--)
	{
		copy_header(s, col, &copy);
		write_column(s, col, &copy, &always);
		done = publish_column(s, col, &copy, always);
	}
	return done;
}

/* Unsummarized ranges of the slice among "wanted". */
static renc_mask
unsummarized(const Slice *s, renc_mask wanted)
{
	RencoderHeaderData copy;

	if (s->header == RENCODER_NO_BLOCK)
		return wanted;
	copy_header(s, 0, &copy);
	return renc_mask_andnot(wanted, rencoder_set_get(copy.summarized));
}

static int
summarize_slice(Slice *s, renc_mask wanted)
{
	int			count = 0;

	s->todo = unsummarized(s, wanted);
	if (renc_mask_empty(s->todo))
		return 0;
	s->directory = rencoder_directory_make(s->index, &s->meta, s->group, true);
	if (s->header == RENCODER_NO_BLOCK)
		s->header = make_header(s->index, &s->meta, s->group, s->directory);
	while (!renc_mask_empty(s->todo))
	{
		renc_mask	done;

		CHECK_FOR_INTERRUPTS();
		done = try_slice(s);
		count += renc_mask_count(done);
		s->todo = renc_mask_andnot(s->todo, done);
	}
	return count;
}

/* Is the group all done: every range summarized, and a matrix? */
static bool
is_sealed(const Slice *s)
{
	BlockNumber blkno = rencoder_directory_find(s->index, &s->meta, NULL, s->group, NULL);
	RencoderEntry entry;
	Buffer		buf;
	bool		sealed;

	if (blkno == RENCODER_NO_BLOCK)
		return false;
	buf = rencoder_page_read(s->index, blkno, BUFFER_LOCK_SHARE, RENCODER_PAGE_DIRECTORY);
	entry = rencoder_directory_entry(RencoderPageGetPayload(BufferGetPage(buf)),
									 &s->meta, s->group);
	sealed = (entry->flags & RENCODER_ENTRY_SEALED) != 0;
	UnlockReleaseBuffer(buf);
	return sealed;
}

/* Summarizes the ranges [first, last] of s->group; context is the caller's. */
static int
summarize_group(Slice *s, uint64 first, uint64 last)
{
	int			count = 0;

	if (is_sealed(s))
		return 0;
	for (uint64 r = first; r <= last;)
	{
		uint64		end = Min(last + 1, (r / RENC_SLICE_RANGES + 1) * RENC_SLICE_RANGES);
		renc_mask	wanted = renc_mask_none();

		rencoder_vacuum_delay_point();
		s->slice = rencoder_slot_of_range(r) / RENC_SLICE_RANGES;
		s->header = rencoder_group_find(s->index, &s->meta, s->group);
		for (; r < end; r++)
			renc_mask_set(&wanted, rencoder_slot_of_range(r));
		count += summarize_slice(s, wanted);
	}
	(void) rencoder_interleave(s->index, s->group);
	return count;
}

static void
init_slice(Slice *s, Relation index, Relation heap)
{
	memset(s, 0, sizeof(*s));
	rencoder_rangescan_init(&s->scan, index, heap);
	s->index = index;
	s->meta = s->scan.meta;
}

/* Ranges [first, last] of one group; forgets its memory. */
static int
summarize_in_group(Slice *s, uint64 first, uint64 last)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "rencoder summarize",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int			count;

	s->group = rencoder_group_of_range(first);
	s->scan.collector = rencoder_collect_create(s->meta.natts);
	s->scan.collector->no_dead_toast = s->no_dead_toast;
	memset(&s->scan.coders, 0, sizeof(s->scan.coders));
	count = summarize_group(s, first, last);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return count;
}

double
rencoder_summarize(Relation index, Relation heap, uint64 first, uint64 last,
				   bool partial)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	Slice		s;
	uint64		nranges;
	double		count = 0;

	init_slice(&s, index, heap);
	nranges = partial ? rencoder_range_count(&s.meta, nblocks) :
		nblocks / s.meta.pages_per_range;
	for (uint64 r = first; r <= last && r < nranges;)
	{
		uint64		end = Min(nranges, (r / RENC_GROUP_RANGES + 1) * RENC_GROUP_RANGES);

		if (last < end)
			end = last + 1;
		CHECK_FOR_INTERRUPTS();

		/* Between the groups others have their turn. */
		rencoder_meta_lock_maintainer(index);
		count += summarize_in_group(&s, r, end - 1);
		rencoder_meta_unlock_maintainer(index);
		r = end;
	}
	return count;
}

void
rencoder_summarize_slice(Relation index, Relation heap, uint64 slice,
						 bool no_dead_toast)
{
	Slice		s;

	init_slice(&s, index, heap);
	s.no_dead_toast = no_dead_toast;
	(void) summarize_in_group(&s, slice * RENC_SLICE_RANGES,
							  (slice + 1) * RENC_SLICE_RANGES - 1);
}
