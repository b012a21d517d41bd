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

#include "store/group_edit.h"
#include "store/space.h"

uint64
rencoder_rebuild_collect(RencoderRebuild *r)
{
	uint64		horizon;

	(void) rencoder_range_scan(&r->scan, (uint64) r->group.number * RENC_GROUP_RANGES,
							   RENC_GROUP_RANGES, renc_mask_all(), 0, &horizon);
	return horizon;
}

/*
 * Makes the matrix of a column, to which nothing refers yet.  The caller
 * publishes it without a chance to be cancelled in between: its pages would be
 * lost until REINDEX.
 */
static RencoderExtent
make_matrix(RencoderRebuild *r, int col)
{
	renc_keys	ranges[RENC_GROUP_RANGES];
	RencoderSlab slab;
	RencoderExtent extent;
	char	   *image;

	(void) rencoder_filter_keys(&r->config[col], r->scan.collector, col, renc_mask_all(), ranges);
	image = rencoder_filter_build(&r->config[col], RENC_MATRIX_WIDTH, ranges);
	extent = rencoder_space_alloc(r->group.index,
								  rencoder_filter_npages(&r->config[col], RENC_MATRIX_WIDTH));
	slab = rencoder_slab_whole(r->group.index, &r->config[col], extent);
	rencoder_filter_write(&slab, image, true);
	pfree(image);
	return extent;
}

/* Notes the matrix under construction: inserters use it from now on. */
static void
publish_next(const RencoderRebuild *r, int col, RencoderExtent extent)
{
	renc_keys	ranges[RENC_GROUP_RANGES];
	renc_mask	always;
	RencoderGroupEdit edit;
	RencoderHeader header;

	always = rencoder_filter_keys(&r->config[col], r->scan.collector, col, renc_mask_all(), ranges);
	rencoder_group_edit_begin(&edit, &r->group, col, RENCODER_EDIT_HEADERS, 0);
	header = rencoder_group_edit_header(&edit);
	header->next = extent;
	header->next_config = r->config[col];
	rencoder_set_put(header->next_always, always);
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		header->next_min[slot] = r->scan.collector->column[col].range[slot].min;
		header->next_max[slot] = r->scan.collector->column[col].range[slot].max;
	}
	rencoder_group_edit_finish(&edit);
}

/*
 * No scan reads "next", and inserters do so under the header's lock: the
 * epoch stays.
 */
void
rencoder_rebuild_forget(const RencoderGroup *group)
{
	for (int col = 0; col < group->meta->natts; col++)
	{
		RencoderHeaderData copy;
		RencoderGroupEdit edit;
		RencoderHeader header;

		rencoder_group_copy_header(group, col, &copy);
		if (!rencoder_is_rebuilt(&copy))
			continue;
		rencoder_group_edit_begin(&edit, group, col, RENCODER_EDIT_HEADERS, 1);
		header = rencoder_group_edit_header(&edit);
		rencoder_group_edit_release(&edit, &header->next);
		rencoder_group_clear_next(header);
		rencoder_group_edit_finish(&edit);
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
		const RencoderRangeSummary *range = &r->scan.collector->column[col].range[slot];

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
	rencoder_group_clear_next(header);

	/* Other columns may have some, too; the flag only says: look. */
	if (!renc_mask_empty(rencoder_set_get(header->always)))
		entry->flags |= RENCODER_ENTRY_ALWAYS;
	else if (r->group.meta->natts == 1)
		entry->flags &= ~RENCODER_ENTRY_ALWAYS;
}

/* Merges what the second scan found, and switches. */
static void
switch_column(RencoderRebuild *r, int col, RencoderExtent extent)
{
	RencoderSlab slab = rencoder_slab_whole(r->group.index, &r->config[col], extent);
	uint32		nset[RENC_GROUP_RANGES] = {0};
	renc_keys	ranges[RENC_GROUP_RANGES];
	renc_mask	always;
	RencoderGroupEdit edit;
	RencoderHeader header;

	always = rencoder_filter_keys(&r->config[col], r->scan.collector, col, renc_mask_all(), ranges);
	rencoder_filter_merge(&slab, ranges);
	rencoder_filter_count(&slab, renc_mask_all(), nset);

	rencoder_group_edit_begin(&edit, &r->group, col, RENCODER_EDIT_EPOCH, 1);
	header = rencoder_group_edit_header(&edit);
	rencoder_group_edit_release(&edit, &header->matrix);
	apply_switch(r, col, header, rencoder_group_edit_entry(&edit), always, nset);
	rencoder_group_edit_new_epoch(&edit);
	rencoder_group_edit_finish(&edit);
}

void
rencoder_rebuild_group(RencoderRebuild *r)
{
	RencoderExtent extent[INDEX_MAX_KEYS];
	uint64		horizon;

	for (int col = 0; col < r->group.meta->natts; col++)
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
	rencoder_group_edit_raise_horizon(&r->group, horizon);
	for (int col = r->group.meta->natts - 1; col >= 0; col--)
	{
		CHECK_FOR_INTERRUPTS();
		if (r->wanted[col])
			switch_column(r, col, extent[col]);
	}
}

/*
 * All ranges become unsummarized: from here on nobody writes to the storage, nobody asks for their
 * keys in runs and on the pending list (INV-11), and the group names no run.
 */
static void
unsummarize_group(const RencoderGroup *group)
{
	RencoderGroupEdit edit;
	RencoderEntry entry;
	RencoderHeader first;

	rencoder_group_edit_begin(&edit, group, 0, RENCODER_EDIT_EPOCH, 0);
	entry = rencoder_group_edit_entry(&edit);
	first = rencoder_group_edit_first(&edit);
	rencoder_set_put(first->summarizing, renc_mask_none());
	rencoder_set_put(first->summarized, renc_mask_none());
	rencoder_set_put(first->covered, renc_mask_none());
	rencoder_set_put(first->flushing, renc_mask_none());
	first->flushing_run = 0;
	first->run = entry->run = 0;
	first->cut = entry->cut = 0;
	entry->flags = 0;
	rencoder_group_edit_new_epoch(&edit);
	rencoder_group_edit_finish(&edit);
}

/*
 * Frees the storage of a column and notes the configuration that the column is
 * to be summarized with, if it is wanted: slices, or a matrix that grows.  A
 * crash may have left the column a "next", too.
 */
static void
free_storage(const RencoderRebuild *r, int col)
{
	RencoderGroupEdit edit;
	RencoderHeader header;
	RencoderEntry entry;

	rencoder_group_edit_begin(&edit, &r->group, col, RENCODER_EDIT_ENTRY, RENCODER_EDIT_STORAGE);
	entry = rencoder_group_edit_entry(&edit);
	header = rencoder_group_edit_header(&edit);
	rencoder_group_edit_release_storage(&edit);
	if (r->wanted[col])
	{
		header->config = r->config[col];
		header->predicted_fpr = header->best_fpr = r->predicted_fpr[col];
		header->sample_stamp = r->stamp[col];
	}
	entry->column[col].config = header->config;
	entry->column[col].min = PG_UINT64_MAX;
	entry->column[col].max = 0;
	rencoder_group_edit_finish(&edit);
}

void
rencoder_rebuild_reset(const RencoderRebuild *r)
{
	unsummarize_group(&r->group);

	/*
	 * The first column comes first: that it has no storage tells inserters
	 * that there is none, should a crash leave the others theirs.
	 */
	for (int col = 0; col < r->group.meta->natts; col++)
		free_storage(r, col);
}
