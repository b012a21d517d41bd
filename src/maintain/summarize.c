/*
 * summarize.c
 *		Summarizing block ranges of an index in use.
 *
 * A slice of 8 ranges at a time, or a whole group (summarize_whole.c), by one
 * maintainer per index (INV-6):
 *
 *	1. Make the group's header, if it is the group's first range.  Take away
 *	   what a former life of the ranges left in the storage, while they are
 *	   still unsummarized and nobody writes there.
 *	2. Set "summarizing" (one record).  From here on inserters keep the
 *	   ranges' bits and bounds up to date, or, where there is no storage yet,
 *	   cancel.
 *	3. Scan the heap, any version visible, and collect the keys (INV-3).
 *	4. Write the bits: merge them into existing storage, or write a new slab
 *	   that nobody refers to yet.  In groups behind the first, a column of
 *	   filters has its matrix from its first slice on, and each further slice
 *	   is merged into that; other columns, and the first group, get a slab for
 *	   each slice, which interleave.c turns into a matrix when the group is full.
 *	5. Publish: one record per column links the slab and widens the bounds; the
 *	   last one sets "summarized" for the ranges that are still "summarizing"
 *	   (INV-4: it follows the records of all bits it vouches for).
 *
 * Ranges that were cancelled meanwhile are done again; now the storage is
 * there, so they cannot be cancelled twice.
 *
 * The steps are in summarize_group.c.
 */
#include "maintain/summarize.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "maintain/interleave.h"
#include "maintain/summarize_group.h"
#include "store/space.h"

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
		rencoder_group_init_header((RencoderHeader) payload, group, col);
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

/*
 * Is a new column's storage to be a matrix that grows, slice by slice, and so is
 * logged once?  The table's first group does without: a small table should not
 * pay for 128 ranges.  A dictionary cannot grow so, where there are slices there
 * will be more, and where the group takes long checkpoints make it dear.
 */
static bool
grows_in_place(const RencoderSummarizing *s, const RencoderHeaderData *copy)
{
	if (s->group == 0 || copy->config.format != RENCODER_FORMAT_FILTER ||
		!rencoder_summarize_group_is_fast(s))
		return false;
	for (int slice = 0; slice < RENC_GROUP_SLICES; slice++)
	{
		if (copy->slice[slice].start != RENCODER_NO_BLOCK)
			return false;
	}
	return true;
}

/*
 * Makes storage for the keys of the slice's ranges, noted in "copy" and *slab.
 * Interrupts are held from then on: until it is linked, its pages would be lost.
 */
static void
make_storage(RencoderSummarizing *s, RencoderHeader copy, const renc_keys *ranges,
			 RencoderSlab *slab)
{
	const RencoderFormat *format = rencoder_format_of(&copy->config);
	uint32		npages;
	char	   *image;

	if (grows_in_place(s, copy))
	{
		image = rencoder_filter_band_image(&copy->config, ranges);
		npages = rencoder_filter_npages(&copy->config, RENC_MATRIX_WIDTH);
		slab->width = RENC_MATRIX_WIDTH;
		slab->extent = copy->matrix = rencoder_space_alloc(s->index, npages);
		HOLD_INTERRUPTS();
		rencoder_filter_start_matrix(slab, s->slice, image);
	}
	else
	{
		image = format->build(&copy->config, RENC_SLICE_WIDTH, ranges, &npages);
		slab->width = RENC_SLICE_WIDTH;
		slab->extent = copy->slice[s->slice] = rencoder_space_alloc(s->index, npages);
		HOLD_INTERRUPTS();
		for (uint32 i = 0; i < npages; i++)
			rencoder_wal_write_fresh(s->index, slab->extent.start + i, format->page_id,
									 image + (Size) i * RENCODER_PAYLOAD_SIZE, true);
	}
	pfree(image);
}

/*
 * Writes the keys of a column: into the storage that is there (copy->config
 * and extents), or into new storage, noted in "copy"; returns whether it made
 * some, with interrupts held.
 */
static bool
write_column(RencoderSummarizing *s, int col, RencoderHeader copy, renc_mask *always)
{
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	renc_mask	refused;
	const RencoderFormat *format;
	RencoderSlab slab;
	bool		exists = rencoder_summarize_group_slab(s, copy, &slab);
	int			shift = slab.width == RENC_MATRIX_WIDTH ? s->slice * RENC_SLICE_RANGES : 0;

	*always = renc_mask_none();
	if (copy->config.format == RENCODER_FORMAT_NONE)
	{
		copy->config.coder = s->scan.coders.generation[col];
		rencoder_summarize_group_plan(s, col, RENC_SLICE_WIDTH, copy);
	}
	format = rencoder_format_require(s->index, &copy->config);
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
		make_storage(s, copy, ranges, &slab);
	memset(copy->nset, 0, sizeof(copy->nset));
	if (slab.width == RENC_MATRIX_WIDTH)
		format->count(&slab, renc_mask_of_band(s->slice), copy->nset);
	else
		format->count(&slab, renc_mask_of_band(0), copy->nset + s->slice * RENC_SLICE_RANGES);
	return !exists;
}

/* One attempt at the ranges to do; returns those that were published. */
static renc_mask
try_slice(RencoderSummarizing *s)
{
	uint64		first = (uint64) s->group * RENC_GROUP_RANGES + rencoder_summarize_group_first(s);
	RencoderHeaderData copy;
	renc_mask	done = renc_mask_none();
	renc_mask	todo = rencoder_summarize_group_slots(s, RENC_SLICE_WIDTH, s->todo);
	renc_mask	always;

	rencoder_summarize_group_begin(s);
	(void) rencoder_summarize_group_scan(s, first, RENC_SLICE_RANGES, todo, 0);
	if (s->start_over)
		return done;

	/*
	 * The first column's storage is linked last: its absence is what tells
	 * inserters that there is none.
	 */
	for (int col = s->meta.natts - 1; col >= 0; col--)
	{
		bool		made;

		rencoder_summarize_group_header(s, col, &copy);
		made = write_column(s, col, &copy, &always);
		done = rencoder_summarize_group_publish(s, col, &copy, always);
		if (made)
			RESUME_INTERRUPTS();
	}
	return done;
}

/* Unsummarized ranges of the slice among "wanted". */
static renc_mask
unsummarized(const RencoderSummarizing *s, renc_mask wanted)
{
	RencoderHeaderData copy;

	rencoder_summarize_group_header(s, 0, &copy);
	return renc_mask_andnot(wanted, rencoder_set_get(copy.summarized));
}

static int
summarize_slice(RencoderSummarizing *s, renc_mask wanted)
{
	int			count = 0;

	s->todo = unsummarized(s, wanted);
	while (!renc_mask_empty(s->todo) && !s->start_over)
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
is_sealed(const RencoderSummarizing *s)
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

/* Makes sure that the group has a header. */
static void
prepare_group(RencoderSummarizing *s)
{
	s->directory = rencoder_directory_make(s->index, &s->meta, s->group, true);
	s->header = rencoder_group_find(s->index, &s->meta, s->group);
	if (s->header == RENCODER_NO_BLOCK)
		s->header = make_header(s->index, &s->meta, s->group, s->directory);
}

/* Slice by slice. */
static int
summarize_slices(RencoderSummarizing *s, uint64 first, uint64 last)
{
	int			count = 0;

	for (uint64 r = first; r <= last && !s->start_over;)
	{
		uint64		end = Min(last + 1, (r / RENC_SLICE_RANGES + 1) * RENC_SLICE_RANGES);
		renc_mask	wanted = renc_mask_none();

		rencoder_vacuum_delay_point();
		s->slice = rencoder_slot_of_range(r) / RENC_SLICE_RANGES;
		for (; r < end; r++)
			renc_mask_set(&wanted, rencoder_slot_of_range(r));
		count += summarize_slice(s, wanted);
	}
	return count;
}

/* Summarizes the ranges [first, last] of s->group; context is the caller's. */
static int
summarize_group(RencoderSummarizing *s, uint64 first, uint64 last)
{
	int			count = 0;

	if (is_sealed(s))
		return 0;
	prepare_group(s);
	rencoder_summarize_group_renew_coders(s);
	if (last - first + 1 == RENC_GROUP_RANGES && !s->too_large)
		count += rencoder_summarize_whole(s);
	count += summarize_slices(s, first, last);
	if (s->start_over)
	{
		rencoder_summarize_group_start_over(s);
		count = summarize_slices(s, (uint64) s->group * RENC_GROUP_RANGES, last);
	}
	(void) rencoder_interleave(s->index, s->group);
	return count;
}

static void
init_summarizing(RencoderSummarizing *s, Relation index, Relation heap)
{
	memset(s, 0, sizeof(*s));
	rencoder_range_scan_init(&s->scan, index, heap);
	s->index = index;
	s->meta = s->scan.meta;
	s->context = CurrentMemoryContext;
}

/* Ranges [first, last] of one group; forgets its memory. */
static int
summarize_in_group(RencoderSummarizing *s, uint64 first, uint64 last)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "rencoder summarize",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int			count;

	s->group = rencoder_group_of_range(first);
	s->scan.collector = rencoder_collect_create(s->meta.natts);
	s->scan.collector->in_use = true;
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
	RencoderSummarizing s;
	uint64		nranges;
	double		count = 0;

	init_summarizing(&s, index, heap);
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
rencoder_summarize_slices(Relation index, Relation heap, uint64 first, uint64 end,
						  bool no_dead_toast)
{
	RencoderSummarizing s;

	Assert(first / RENC_GROUP_SLICES == (end - 1) / RENC_GROUP_SLICES);
	init_summarizing(&s, index, heap);
	s.no_dead_toast = no_dead_toast;
	(void) summarize_in_group(&s, first * RENC_SLICE_RANGES, end * RENC_SLICE_RANGES - 1);
}
