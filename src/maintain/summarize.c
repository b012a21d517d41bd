/*
 * summarize.c
 *		Summarizing block ranges of an index in use.
 *
 * A slice of 8 ranges at a time, or a whole group (summarize_whole.c), by one
 * maintainer per index (INV-6):
 *
 *	1. Make the group's header, if it is the group's first range.  Take away
 *	   what a former life of the ranges left in the matrix, while they are
 *	   still unsummarized and nobody asks for them.
 *	2. Set "summarizing" (one record).  From here on each row that comes to the ranges gets an entry
 *	   on the pending list.
 *	3. Scan the heap, any version visible, and collect the keys (INV-3).
 *	4. Write the bits: into the matrix of the column, in bytes of ranges that nobody asks for yet,
 *	   or into a new one that nobody refers to yet.
 *	5. Publish: one record per column links the matrix and notes what was read; the
 *	   last one sets "summarized" (INV-4: it follows the records of all bits it vouches for).
 *
 * A matrix has room for all 128 ranges of the group from its first slice on.  That of the
 * table's first group begins with as many slices as there are, and is copied to twice the width when
 * another one comes, so that a small table has a small index.
 *
 * The steps are in summarize_group.c.
 */
#include "maintain/summarize.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "maintain/summarize_group.h"
#include "store/group_edit.h"
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

/* The keys of the slice's ranges; returns those that do not fit, as ranges of the group. */
static renc_mask
keys_of_slice(const RencoderSummarizing *s, int col, const RencoderConfig *config,
			  renc_keys *ranges)
{
	renc_mask	always = rencoder_filter_keys(config, s->scan.collector, col, renc_mask_all(),
											  ranges + s->slice * RENC_SLICE_RANGES);

	return renc_mask_from_slice(always, s->slice);
}

/*
 * Writes the keys of a column's ranges, and publishes them.  From the allocation of a matrix until
 * it is linked nothing may be cancelled: its pages would be lost.
 */
static void
write_column(RencoderSummarizing *s, int col, RencoderHeader copy)
{
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	renc_mask	always = keys_of_slice(s, col, &copy->config, ranges);
	RencoderSlab slab;

	HOLD_INTERRUPTS();
	if (copy->matrix.start == RENCODER_NO_BLOCK)
	{
		copy->matrix = rencoder_space_alloc(s->scan.index, rencoder_filter_npages(&copy->config));
		slab = rencoder_slab_of(s->scan.index, copy);
		rencoder_filter_start(&slab, s->slice, ranges);
	}
	else
	{
		slab = rencoder_slab_of(s->scan.index, copy);
		rencoder_filter_check_extent(&slab);
		rencoder_filter_merge(&slab, ranges);
	}
	memset(copy->nset, 0, sizeof(copy->nset));
	rencoder_filter_count(&slab, renc_mask_of_band(s->slice), copy->nset);
	rencoder_summarize_group_publish(s, col, copy, always);
	RESUME_INTERRUPTS();
}

/* The width of a new matrix that the slice is to go into. */
static uint32
new_width(const RencoderSummarizing *s)
{
	return s->group.number > 0 ? RENC_MATRIX_WIDTH : rencoder_filter_width(s->slice);
}

/* Copies a column's matrix to one that has room for the slice, if it has none. */
static void
make_matrix_room(const RencoderSummarizing *s, int col)
{
	RencoderHeaderData copy;
	RencoderConfig config;
	RencoderGroupEdit edit;
	RencoderEntry entry;
	RencoderHeader header;
	RencoderExtent extent;
	RencoderSlab old;
	RencoderSlab new;

	rencoder_group_copy_header(&s->group, col, &copy);
	if (copy.matrix.start == RENCODER_NO_BLOCK || s->slice < (int) copy.config.width)
		return;
	config = copy.config;
	config.width = rencoder_filter_width(s->slice);
	HOLD_INTERRUPTS();
	extent = rencoder_space_alloc(s->scan.index, rencoder_filter_npages(&config));
	old = rencoder_slab_of(s->scan.index, &copy);
	new = rencoder_slab(s->scan.index, &config, extent);
	rencoder_filter_copy(&old, &new);
	rencoder_group_edit_begin(&edit, &s->group, col, RENCODER_EDIT_EPOCH, 1);
	entry = rencoder_group_edit_entry(&edit);
	rencoder_group_edit_release_storage(&edit);
	header = rencoder_group_edit_header(&edit);
	header->config = entry->column[col].config = config;
	header->matrix = entry->column[col].matrix = extent;
	rencoder_group_edit_new_epoch(&edit);
	rencoder_group_edit_finish(&edit);
	RESUME_INTERRUPTS();
}

/*
 * Does a column without storage need some?  If it has no keys yet, there is nothing to make filters
 * for, nor to learn a coder from.  A group that is full has storage, so that scans need not ask its
 * header.
 */
static bool
wants_storage(const RencoderSummarizing *s, int col)
{
	return s->completes || s->scan.collector->column[col].nkeys > 0;
}

/* Writes the keys of a column and publishes them. */
static void
summarize_column(RencoderSummarizing *s, int col)
{
	RencoderHeaderData copy;
	const char *fault;

	rencoder_group_copy_header(&s->group, col, &copy);
	if (!rencoder_is_configured(&copy.config) && !wants_storage(s, col))
	{
		rencoder_summarize_group_publish(s, col, &copy, renc_mask_none());
		return;
	}
	if (!rencoder_is_configured(&copy.config))
	{
		copy.config.coder = s->scan.coders.generation[col];
		rencoder_summarize_group_plan(s, col, &copy);
		copy.config.width = new_width(s);
	}
	fault = rencoder_filter_fault(&copy.config);
	if (fault != NULL)
		rencoder_page_corrupted(s->scan.index, s->group.header + col, fault);
	write_column(s, col, &copy);
}

/* Summarizes the unsummarized ranges of the slice among "wanted"; returns how many. */
static int
summarize_slice(RencoderSummarizing *s, renc_mask wanted)
{
	uint64		first = (uint64) s->group.number * RENC_GROUP_RANGES + rencoder_summarize_group_first(s);
	RencoderHeaderData copy;

	CHECK_FOR_INTERRUPTS();
	rencoder_group_copy_header(&s->group, 0, &copy);
	s->todo = renc_mask_andnot(wanted, rencoder_set_get(copy.summarized));
	if (renc_mask_empty(s->todo))
		return 0;
	s->completes = renc_mask_empty(renc_mask_andnot(renc_mask_all(),
													renc_mask_or(s->todo, rencoder_set_get(copy.summarized))));
	for (int col = 0; col < s->scan.meta.natts; col++)
		make_matrix_room(s, col);
	rencoder_summarize_group_begin(s);
	(void) rencoder_summarize_group_scan(s, first, RENC_SLICE_RANGES,
										 renc_mask_to_slice(s->todo, s->slice), 0);

	/* The first column comes last: its record sets the states. */
	for (int col = s->scan.meta.natts - 1; col >= 0; col--)
		summarize_column(s, col);
	return renc_mask_count(s->todo);
}

/* Is the group all done? */
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

	for (uint64 r = first; r <= last;)
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
