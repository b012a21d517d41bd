/*
 * rebuild.c
 *		Rebuilding a group of an index in use with another configuration.
 *
 * The present storage serves scans until the last moment (INV-7):
 *
 *	1. The new matrix is made of the keys that were collected, on pages that
 *	   nobody refers to.
 *	2. It is noted as "next" in the header, with its configuration and bounds.
 *	   From here on inserters keep both up to date.
 *	3. The table is scanned again.  A row came before "next" was set, and is
 *	   found, or after, and its inserter sees "next": the same race, and the
 *	   same reason why nothing is lost, as between insert and summarize
 *	   (INV-3).  What the matrix lacks is merged into it.
 *	4. One record switches to it, bumps the epoch and frees the old
 *	   pages.  Scans that were looking at these find another epoch.
 *
 * The new bounds are those of the keys that are there now, which may be made
 * by another coder.  The trust horizon only rises.
 *
 * A crash leaves "next" behind: complete, up to date as long as ranges stay
 * summarized, but never used.  The next maintainer takes it away.
 */
#include "maintain/rebuild.h"

#include "store/horizon.h"
#include "store/space.h"
#include "table/heap_read.h"

static void
collect_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull,
				 bool tupleIsAlive, void *state)
{
	RencoderRebuild *r = (RencoderRebuild *) state;
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	uint64		range = rencoder_range_of_block(&r->meta, block);

	/* The block is pinned here at most, not locked. */
	if (block != r->last_block)
		rencoder_vacuum_delay_point();
	r->last_block = block;

	rencoder_collect_open(r->collector, (int) rencoder_slot_of_range(range));
	rencoder_columns_collect_row(index, r->collector, &r->coders, values, isnull, tupleIsAlive);
}

uint64
rencoder_rebuild_collect(RencoderRebuild *r)
{
	uint64		oldest = rencoder_horizon_before(r->heap);
	uint64		start = (uint64) r->group * RENC_GROUP_RANGES * r->meta.pages_per_range;
	uint64		end = start + (uint64) RENC_GROUP_RANGES * r->meta.pages_per_range;

	end = Min(end, RelationGetNumberOfBlocks(r->heap));
	r->indexInfo->ii_BrokenHotChain = false;
	r->last_block = InvalidBlockNumber;
	rencoder_collect_reset(r->collector);
	if (start < end)
		rencoder_heap_read(r->heap, r->index, r->indexInfo, true, (BlockNumber) start,
						   (BlockNumber) (end - start), collect_callback, r);
	rencoder_collect_close(r->collector, RENC_GROUP_RANGES);
	return rencoder_horizon(r->heap, oldest, r->indexInfo->ii_BrokenHotChain);
}

/*
 * The keys of the ranges that fit the new configuration; the others go to
 * "always".
 */
static void
keys_that_fit(const RencoderRebuild *r, int col, renc_keys *ranges, renc_mask *always)
{
	*always = renc_mask_none();
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		const RencoderRangeSummary *range = &r->collector->column[col].range[slot];

		ranges[slot].key = NULL;
		ranges[slot].n = 0;
		if (!range->keyless && rencoder_format_fits(&r->config[col], range->distinct))
			ranges[slot] = rencoder_collect_keys(r->collector, col, slot);
		else
			renc_mask_set(always, slot);
	}
}

/*
 * Makes the matrix of a column, to which nothing refers yet.  The caller
 * publishes it without a chance to be cancelled in between: its pages would be
 * lost until REINDEX.
 */
static RencoderExtent
make_matrix(RencoderRebuild *r, int col)
{
	const RencoderFormat *format = rencoder_format_of(&r->config[col]);
	renc_keys	ranges[RENC_GROUP_RANGES];
	renc_mask	always;
	RencoderExtent extent;
	uint32		npages;
	char	   *image;

	keys_that_fit(r, col, ranges, &always);
	image = format->build(&r->config[col], RENC_MATRIX_WIDTH, ranges, &npages);
	extent = rencoder_space_alloc(r->index, npages);
	for (uint32 i = 0; i < npages; i++)
		rencoder_wal_write_fresh(r->index, extent.start + i, format->page_id,
								 image + (Size) i * RENCODER_PAYLOAD_SIZE, true);
	pfree(image);
	return extent;
}

/* Locks the first header page of the group and that of a column. */
static Buffer
lock_headers(const RencoderRebuild *r, int col, Buffer *first)
{
	*first = rencoder_group_read_header(r->index, r->header, r->group, 0, BUFFER_LOCK_EXCLUSIVE);
	return col == 0 ? *first :
		rencoder_group_read_header(r->index, r->header, r->group, col, BUFFER_LOCK_EXCLUSIVE);
}

static void
unlock_headers(Buffer first, Buffer column)
{
	if (column != first)
		UnlockReleaseBuffer(column);
	UnlockReleaseBuffer(first);
}

/* Notes the matrix under construction: inserters use it from now on. */
static void
publish_next(RencoderRebuild *r, int col, RencoderExtent extent)
{
	Buffer		first;
	Buffer		buf = lock_headers(r, col, &first);
	RencoderWal *wal = rencoder_wal_begin(r->index, true);
	RencoderHeader header = RencoderPageGetHeader(rencoder_wal_register(wal, buf));
	renc_keys	ranges[RENC_GROUP_RANGES];
	renc_mask	always;

	keys_that_fit(r, col, ranges, &always);
	header->next = extent;
	header->next_config = r->config[col];
	rencoder_set_put(header->next_always, always);
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		header->next_min[slot] = r->collector->column[col].range[slot].min;
		header->next_max[slot] = r->collector->column[col].range[slot].max;
	}
	rencoder_wal_finish(wal);
	unlock_headers(first, buf);
}

static void
clear_next(RencoderHeader header)
{
	header->next.start = RENCODER_NO_BLOCK;
	header->next.npages = 0;
	memset(&header->next_config, 0, sizeof(header->next_config));
	memset(header->next_always, 0, sizeof(header->next_always));
	memset(header->next_min, 0, sizeof(header->next_min));
	memset(header->next_max, 0, sizeof(header->next_max));
}

/*
 * No scan reads "next", and inserters do so under the header's lock: the
 * epoch stays.
 */
static void
forget_column(RencoderRebuild *r, int col)
{
	Buffer		freebuf = rencoder_space_prepare_release(r->index, 1);
	Buffer		first;
	Buffer		buf = lock_headers(r, col, &first);
	RencoderWal *wal = rencoder_wal_begin(r->index, true);
	RencoderHeader header = RencoderPageGetHeader(rencoder_wal_register(wal, buf));

	LockBuffer(freebuf, BUFFER_LOCK_EXCLUSIVE);
	rencoder_space_release(rencoder_wal_register(wal, freebuf), header->next);
	clear_next(header);
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(freebuf);
	unlock_headers(first, buf);
}

void
rencoder_rebuild_forget(RencoderRebuild *r)
{
	for (int col = 0; col < r->meta.natts; col++)
	{
		Buffer		buf = rencoder_group_read_header(r->index, r->header, r->group, col,
													 BUFFER_LOCK_SHARE);
		bool		rebuilt = rencoder_is_rebuilt(RencoderPageGetHeader(BufferGetPage(buf)));

		UnlockReleaseBuffer(buf);
		if (rebuilt)
			forget_column(r, col);
	}
}

/* The changes of the switch on the images of header and directory entry. */
static void
apply_switch(const RencoderRebuild *r, int col, RencoderHeader header,
			 RencoderEntry entry, const renc_mask always, const uint32 *nset)
{
	RencoderEntryColumn *bounds = &entry->column[col];

	bounds->min = PG_UINT64_MAX;
	bounds->max = 0;
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		const RencoderRangeSummary *range = &r->collector->column[col].range[slot];

		/* Inserters have widened them, the second scan may know more. */
		header->min[slot] = Min(header->next_min[slot], range->min);
		header->max[slot] = Max(header->next_max[slot], range->max);
		bounds->min = Min(bounds->min, header->min[slot]);
		bounds->max = Max(bounds->max, header->max[slot]);
		header->distinct[slot] = range->distinct;
		header->nset[slot] = nset[slot];

		/*
		 * The values may all be gone; or there is one now, of a row whose
		 * inserter did not get here yet.  Of nulls that come only the present
		 * flag tells, so that stays.
		 */
		if (header->min[slot] <= header->max[slot])
			rencoder_set_add(header->has_value, slot);
		else
			rencoder_set_remove(header->has_value, slot);
		if (range->has_null)
			rencoder_set_add(header->has_null, slot);
	}
	rencoder_set_put(header->always,
					 renc_mask_or(rencoder_set_get(header->next_always), always));
	header->config = header->next_config;
	header->matrix = header->next;
	header->predicted_fpr = header->best_fpr = r->predicted_fpr[col];
	header->sample_stamp = r->stamp[col];
	bounds->config = header->config;
	bounds->matrix = header->matrix;
	clear_next(header);

	/* Other columns may have some, too; the flag only says: look. */
	if (!renc_mask_empty(rencoder_set_get(header->always)))
		entry->flags |= RENCODER_ENTRY_ALWAYS;
	else if (r->meta.natts == 1)
		entry->flags &= ~RENCODER_ENTRY_ALWAYS;
}

/* Merges what the second scan found, and switches. */
static void
switch_column(RencoderRebuild *r, int col, RencoderExtent extent)
{
	const RencoderFormat *format = rencoder_format_of(&r->config[col]);
	RencoderSlab slab = {r->index, &r->config[col], extent, RENC_MATRIX_WIDTH, false};
	uint32		nset[RENC_GROUP_RANGES] = {0};
	renc_keys	ranges[RENC_GROUP_RANGES];
	renc_mask	always;
	Buffer		metabuf;
	Buffer		dirbuf;
	Buffer		first;
	Buffer		buf;
	Buffer		freebuf;
	RencoderWal *wal;
	RencoderMetaPageData *metadata;
	RencoderEntry entry;
	RencoderHeader header;

	keys_that_fit(r, col, ranges, &always);
	always = renc_mask_or(always, format->merge(&slab, ranges));
	format->count(&slab, renc_mask_all(), nset);

	freebuf = rencoder_space_prepare_release(r->index, 1);
	metabuf = rencoder_meta_lock(r->index, BUFFER_LOCK_EXCLUSIVE);
	dirbuf = rencoder_page_read(r->index, r->directory, BUFFER_LOCK_EXCLUSIVE,
								RENCODER_PAGE_DIRECTORY);
	buf = lock_headers(r, col, &first);
	LockBuffer(freebuf, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(r->index, true);
	metadata = RencoderPageGetMeta(rencoder_wal_register(wal, metabuf));
	entry = rencoder_directory_entry(RencoderPageGetPayload(rencoder_wal_register(wal, dirbuf)),
									 &r->meta, r->group);
	header = RencoderPageGetHeader(rencoder_wal_register(wal, buf));
	rencoder_space_release(rencoder_wal_register(wal, freebuf), header->matrix);
	apply_switch(r, col, header, entry, always, nset);
	entry->epoch = ++metadata->epoch;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(freebuf);
	unlock_headers(first, buf);
	UnlockReleaseBuffer(dirbuf);
	UnlockReleaseBuffer(metabuf);
}

void
rencoder_rebuild_group(RencoderRebuild *r)
{
	RencoderExtent extent[INDEX_MAX_KEYS];
	uint64		horizon;

	for (int col = 0; col < r->meta.natts; col++)
	{
		if (!r->wanted[col])
			continue;
		rencoder_vacuum_delay_point();
		extent[col] = make_matrix(r, col);
		publish_next(r, col, extent[col]);
	}
	horizon = rencoder_rebuild_collect(r);

	/*
	 * Before anything is switched: the summaries to come know of no more than
	 * that.
	 */
	rencoder_group_raise_horizon(r->index, &r->meta, r->group, horizon);
	for (int col = r->meta.natts - 1; col >= 0; col--)
	{
		CHECK_FOR_INTERRUPTS();
		if (r->wanted[col])
			switch_column(r, col, extent[col]);
	}
}

/* All ranges become unsummarized: from here on nobody writes to the storage. */
static void
unsummarize_group(RencoderRebuild *r)
{
	Buffer		metabuf = rencoder_meta_lock(r->index, BUFFER_LOCK_EXCLUSIVE);
	Buffer		dirbuf = rencoder_page_read(r->index, r->directory, BUFFER_LOCK_EXCLUSIVE,
											RENCODER_PAGE_DIRECTORY);
	Buffer		buf = rencoder_group_read_header(r->index, r->header, r->group, 0,
												 BUFFER_LOCK_EXCLUSIVE);
	RencoderWal *wal = rencoder_wal_begin(r->index, true);
	RencoderMetaPageData *metadata = RencoderPageGetMeta(rencoder_wal_register(wal, metabuf));
	RencoderEntry entry = rencoder_directory_entry(RencoderPageGetPayload(rencoder_wal_register(wal, dirbuf)),
												   &r->meta, r->group);
	RencoderHeader header = RencoderPageGetHeader(rencoder_wal_register(wal, buf));

	rencoder_set_put(header->summarizing, renc_mask_none());
	rencoder_set_put(header->summarized, renc_mask_none());
	entry->flags = 0;
	entry->epoch = ++metadata->epoch;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
	UnlockReleaseBuffer(dirbuf);
	UnlockReleaseBuffer(metabuf);
}

/*
 * Frees the storage of a column and notes the configuration that the column is
 * to be summarized with, if it is wanted: slices, or a matrix that grows.  A
 * crash may have left the column a "next", too.
 */
static void
free_storage(RencoderRebuild *r, int col)
{
	Buffer		freebuf = rencoder_space_prepare_release(r->index, RENC_GROUP_SLICES + 2);
	Buffer		dirbuf = rencoder_page_read(r->index, r->directory, BUFFER_LOCK_EXCLUSIVE,
											RENCODER_PAGE_DIRECTORY);
	Buffer		first;
	Buffer		buf = lock_headers(r, col, &first);
	RencoderWal *wal = rencoder_wal_begin(r->index, true);
	RencoderEntry entry = rencoder_directory_entry(RencoderPageGetPayload(rencoder_wal_register(wal, dirbuf)),
												   &r->meta, r->group);
	RencoderHeader header = RencoderPageGetHeader(rencoder_wal_register(wal, buf));
	Page		freepage;

	LockBuffer(freebuf, BUFFER_LOCK_EXCLUSIVE);
	freepage = rencoder_wal_register(wal, freebuf);
	for (int s = 0; s < RENC_GROUP_SLICES; s++)
	{
		if (header->slice[s].start != RENCODER_NO_BLOCK)
			rencoder_space_release(freepage, header->slice[s]);
		header->slice[s].start = RENCODER_NO_BLOCK;
		header->slice[s].npages = 0;
	}
	if (header->next.start != RENCODER_NO_BLOCK)
		rencoder_space_release(freepage, header->next);
	clear_next(header);
	if (header->matrix.start != RENCODER_NO_BLOCK)
		rencoder_space_release(freepage, header->matrix);
	header->matrix.start = RENCODER_NO_BLOCK;
	header->matrix.npages = 0;
	if (r->wanted[col])
	{
		header->config = r->config[col];
		header->predicted_fpr = header->best_fpr = r->predicted_fpr[col];
		header->sample_stamp = r->stamp[col];
	}
	entry->column[col].config = header->config;
	entry->column[col].matrix = header->matrix;
	entry->column[col].min = PG_UINT64_MAX;
	entry->column[col].max = 0;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(freebuf);
	unlock_headers(first, buf);
	UnlockReleaseBuffer(dirbuf);
}

void
rencoder_rebuild_reset(RencoderRebuild *r)
{
	unsummarize_group(r);

	/*
	 * The first column comes first: that it has no storage tells inserters
	 * that there is none, should a crash leave the others theirs.
	 */
	for (int col = 0; col < r->meta.natts; col++)
		free_storage(r, col);
}
