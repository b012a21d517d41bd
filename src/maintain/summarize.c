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
 *	   that nobody refers to yet.  In groups behind the first, a column
 *	   has its matrix from its first slice on, and each further slice
 *	   is merged into that, unless the group before met too many checkpoints
 *	   (grows_in_place()).  All others get a slab for each slice, which
 *	   interleave.c turns into a matrix when the group is full.
 *	5. Publish: one record per column links the slab and widens the bounds; the
 *	   last one sets "summarized" for the ranges that are still "summarizing"
 *	   (INV-4: it follows the records of all bits it vouches for).
 *
 * Ranges of a group that names a run, whose other ranges are covered by it, get slices: with the
 * coder that the group has, and never a matrix.
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
static void
make_header(RencoderGroup *group)
{
	char	   *payload = palloc0(RENCODER_PAYLOAD_SIZE);
	RencoderExtent extent = rencoder_space_alloc(group->index, group->meta->natts);
	RencoderEntry entry = palloc0(group->meta->entry_size);

	for (int col = 0; col < group->meta->natts; col++)
	{
		rencoder_group_init_header((RencoderHeader) payload, group->number, col);
		rencoder_wal_write_fresh(group->index, extent.start + col, RENCODER_PAGE_HEADER,
								 payload, true);
	}
	pfree(payload);

	entry->header = extent.start;
	entry->nranges = RENC_GROUP_RANGES;
	for (int col = 0; col < group->meta->natts; col++)
		entry->column[col].min = PG_UINT64_MAX;
	rencoder_directory_put(group->index, group->meta, group->number, entry, true);
	pfree(entry);
	group->header = extent.start;
}

/*
 * Is a new column's storage to be a matrix that grows, slice by slice, and so is
 * logged once?  The table's first group does without: a small table should not
 * pay for 128 ranges.  Where there are slices there will be more, and where the group takes long checkpoints make it dear.  In a group
 * that names a run most ranges want no storage.
 */
static bool
grows_in_place(const RencoderSummarizing *s, const RencoderHeaderData *copy)
{
	if (s->group.number == 0 || s->names_run || !rencoder_summarize_group_is_fast(s))
		return false;
	for (int slice = 0; slice < RENC_GROUP_SLICES; slice++)
	{
		if (copy->slice[slice].start != RENCODER_NO_BLOCK)
			return false;
	}
	return true;
}

/* The keys of the slice's ranges; returns those that do not fit, as ranges of the group. */
static renc_mask
keys_of_slice(const RencoderSummarizing *s, int col, const RencoderConfig *config,
			  renc_keys *ranges)
{
	renc_mask	always = rencoder_filter_keys(config, s->scan.collector, col,
											  renc_mask_all(), ranges);

	return renc_mask_from_slice(always, s->slice);
}

/* Publishes the slice's ranges, whose keys are in the slab. */
static renc_mask
publish_slice(RencoderSummarizing *s, int col, RencoderHeader copy, const RencoderSlab *slab,
			  renc_mask always)
{
	memset(copy->nset, 0, sizeof(copy->nset));
	if (rencoder_slab_is_whole(slab))
		rencoder_filter_count(slab, renc_mask_of_band(s->slice), copy->nset);
	else
		rencoder_filter_count(slab, renc_mask_of_band(0), copy->nset + s->slice * RENC_SLICE_RANGES);
	return rencoder_summarize_group_publish(s, col, copy, always);
}

/* Merges the keys of the slice's ranges into the column's storage, and publishes them. */
static renc_mask
merge_column(RencoderSummarizing *s, int col, RencoderHeader copy, const RencoderSlab *slab)
{
	int			first = rencoder_slab_is_whole(slab) ? s->slice * RENC_SLICE_RANGES : 0;
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	renc_mask	always = keys_of_slice(s, col, &copy->config, ranges + first);

	rencoder_filter_merge(slab, ranges);
	return publish_slice(s, col, copy, slab, always);
}

/*
 * Makes storage for the keys of the slice's ranges, notes it in "copy", and publishes both.
 * From its allocation until it is linked nothing may be cancelled: its pages would be lost.
 */
static renc_mask
make_column(RencoderSummarizing *s, int col, RencoderHeader copy)
{
	bool		grows = grows_in_place(s, copy);
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	renc_mask	always = keys_of_slice(s, col, &copy->config, ranges);
	renc_mask	done;
	uint32		npages = rencoder_filter_npages(&copy->config,
												grows ? RENC_MATRIX_WIDTH : RENC_SLICE_WIDTH);
	RencoderSlab slab;
	char	   *image;

	if (grows)
	{
		image = rencoder_filter_grow_image(&copy->config, ranges);
		copy->matrix = rencoder_space_alloc(s->scan.index, npages);
		slab = rencoder_slab_whole(s->scan.index, &copy->config, copy->matrix);
	}
	else
	{
		image = rencoder_filter_build(&copy->config, RENC_SLICE_WIDTH, ranges);
		copy->slice[s->slice] = rencoder_space_alloc(s->scan.index, npages);
		slab = rencoder_slab_of_slice(s->scan.index, copy, s->slice);
	}
	HOLD_INTERRUPTS();
	if (grows)
		rencoder_filter_grow_start(&slab, s->slice, image);
	else
		rencoder_filter_write(&slab, image, true);
	done = publish_slice(s, col, copy, &slab, always);
	RESUME_INTERRUPTS();
	pfree(image);
	return done;
}

/* Writes the keys of a column and publishes them; returns the ranges published. */
static renc_mask
summarize_column(RencoderSummarizing *s, int col)
{
	RencoderHeaderData copy;
	RencoderSlab slab;
	const char *fault;

	rencoder_group_copy_header(&s->group, col, &copy);
	if (!rencoder_is_configured(&copy.config))
	{
		copy.config.coder = s->scan.coders.generation[col];
		rencoder_summarize_group_plan(s, col, &copy);
	}
	fault = rencoder_filter_fault(&copy.config);
	if (fault != NULL)
		rencoder_page_corrupted(s->scan.index, s->group.header + col, fault);
	if (rencoder_summarize_group_slab(s, &copy, &slab))
		return merge_column(s, col, &copy, &slab);
	return make_column(s, col, &copy);
}

/* One attempt at the ranges to do; returns those that were published. */
static renc_mask
try_slice(RencoderSummarizing *s)
{
	uint64		first = (uint64) s->group.number * RENC_GROUP_RANGES + rencoder_summarize_group_first(s);
	renc_mask	done = renc_mask_none();
	renc_mask	todo = rencoder_summarize_group_slots(s, RENC_SLICE_WIDTH, s->todo);

	rencoder_summarize_group_begin(s);
	(void) rencoder_summarize_group_scan(s, first, RENC_SLICE_RANGES, todo, 0);
	if (s->start_over)
		return done;

	/*
	 * The first column's storage is linked last: its absence is what tells
	 * inserters that there is none.
	 */
	for (int col = s->scan.meta.natts - 1; col >= 0; col--)
		done = summarize_column(s, col);
	return done;
}

/* Unsummarized ranges of the slice among "wanted". */
static renc_mask
unsummarized(const RencoderSummarizing *s, renc_mask wanted)
{
	RencoderHeaderData copy;

	rencoder_group_copy_header(&s->group, 0, &copy);
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

/* Is the group all done: every range summarized, and a matrix, or covered? */
static bool
is_complete(const RencoderSummarizing *s)
{
	BlockNumber blkno = rencoder_directory_find(s->scan.index, &s->scan.meta, NULL, s->group.number, NULL);
	RencoderEntry entry;
	Buffer		buf;
	bool		complete;

	if (blkno == RENCODER_NO_BLOCK)
		return false;
	buf = rencoder_page_read(s->scan.index, blkno, BUFFER_LOCK_SHARE, RENCODER_PAGE_DIRECTORY);
	entry = rencoder_directory_entry(RencoderPageGetPayload(BufferGetPage(buf)),
									 &s->scan.meta, s->group.number);
	complete = (entry->flags & (RENCODER_ENTRY_SEALED | RENCODER_ENTRY_COVERED)) != 0;
	UnlockReleaseBuffer(buf);
	return complete;
}

/* Makes sure that the group has a header, and looks whether it names a run. */
static void
prepare_group(RencoderSummarizing *s)
{
	RencoderHeaderData first;

	(void) rencoder_directory_make(s->scan.index, &s->scan.meta, s->group.number, true);
	if (!rencoder_group_locate(&s->group, s->scan.index, &s->scan.meta, s->group.number))
		make_header(&s->group);
	rencoder_group_copy_header(&s->group, 0, &first);
	s->names_run = first.run != 0;
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

	if (is_complete(s))
		return 0;
	prepare_group(s);
	rencoder_summarize_group_renew_coders(s);
	if (last - first + 1 == RENC_GROUP_RANGES && !s->too_large)
		count += rencoder_summarize_whole(s);
	count += summarize_slices(s, first, last);
	if (s->start_over)
	{
		rencoder_summarize_group_start_over(s);
		count = summarize_slices(s, (uint64) s->group.number * RENC_GROUP_RANGES, last);
	}
	(void) rencoder_interleave(s->scan.index, s->group.number);
	return count;
}

static void
init_summarizing(RencoderSummarizing *s, Relation index, Relation heap)
{
	memset(s, 0, sizeof(*s));
	rencoder_range_scan_init(&s->scan, index, heap);
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

	s->group.number = rencoder_group_of_range(first);
	s->scan.collector = rencoder_collect_create(s->scan.meta.natts);
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
	nranges = partial ? rencoder_range_count(&s.scan.meta, nblocks) :
		nblocks / s.scan.meta.pages_per_range;
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
