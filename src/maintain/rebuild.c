/*
 * rebuild.c
 *		Making the filters of a group of an index in use anew.
 *
 * As a flush (flush.c), but the new storage is a matrix for each column: the table is read, the
 * matrix is made of the keys on pages that nobody refers to, and one record switches to it, starts
 * a new epoch and frees the old pages (INV-7).  Rows that came meanwhile have entries behind the
 * cut, as always.
 */
#include "maintain/rebuild.h"

#include "miscadmin.h"

#include "format/format_filter.h"
#include "maintain/reading.h"
#include "store/pending.h"
#include "store/space.h"

void
rencoder_rebuild_collect(RencoderRebuild *r)
{
	r->ranges = rencoder_reading_begin(&r->group, renc_mask_none(), true, 0, 0);
	r->cut = rencoder_pending_closed(r->scan.index);
	(void) rencoder_range_scan(&r->scan, (uint64) r->group.number * RENC_GROUP_RANGES,
							   RENC_GROUP_RANGES, r->ranges, 0, &r->horizon);
}

void
rencoder_rebuild_give_up(const RencoderRebuild *r)
{
	rencoder_reading_give_up(&r->group, 0);
}

/* What was read of the ranges takes the place of what was known of them. */
static void
apply_ranges(const RencoderRebuild *r, int col, RencoderHeader header, RencoderEntry entry)
{
	RencoderEntryColumn *bounds = &entry->column[col];

	bounds->min = PG_UINT64_MAX;
	bounds->max = 0;
	renc_mask_each(slot, r->ranges)
	{
		const RencoderRangeSummary *range = &r->scan.collector->column[col].range[slot];

		header->min[slot] = PG_UINT64_MAX;
		header->max[slot] = 0;
		rencoder_reading_note_range(header, entry, slot, range);
		header->distinct[slot] = range->distinct;
	}
}

/* Makes the matrix of a column, and switches to it; the first column comes last. */
static void
rebuild_column(RencoderRebuild *r, int col)
{
	renc_keys	ranges[RENC_GROUP_RANGES];
	renc_mask	always = rencoder_filter_keys(&r->config[col], r->scan.collector, col, r->ranges, ranges);
	char	   *image = rencoder_filter_build(&r->config[col], ranges);
	RencoderReadFlags flags;
	RencoderGroupEdit edit;
	RencoderEntry entry;
	RencoderHeader header;
	RencoderExtent extent;
	RencoderSlab slab;

	HOLD_INTERRUPTS();
	extent = rencoder_space_alloc(r->scan.index, rencoder_filter_npages(&r->config[col]));
	slab = rencoder_slab(r->scan.index, &r->config[col], extent);
	rencoder_filter_write(&slab, image, true);

	rencoder_group_edit_begin(&edit, &r->group, col, RENCODER_EDIT_EPOCH, 1);
	entry = rencoder_group_edit_entry(&edit);
	rencoder_group_edit_release_storage(&edit);
	header = rencoder_group_edit_header(&edit);
	header->config = entry->column[col].config = r->config[col];
	header->matrix = entry->column[col].matrix = extent;
	header->predicted_fpr = header->best_fpr = r->predicted_fpr[col];
	header->sample_stamp = r->stamp[col];
	apply_ranges(r, col, header, entry);
	rencoder_set_put(header->always, always);
	flags = rencoder_reading_flags(r->scan.collector, col);
	rencoder_reading_note_flags(header, entry, r->ranges, &flags);
	if (col == 0)
	{
		rencoder_set_put(header->noted, renc_mask_none());
		rencoder_reading_set_cut(header, entry, r->cut);
		rencoder_group_seal(entry, r->group.meta, header);
	}
	rencoder_group_edit_new_epoch(&edit);
	rencoder_group_edit_finish(&edit);
	RESUME_INTERRUPTS();
	pfree(image);
}

void
rencoder_rebuild(RencoderRebuild *r)
{
	/*
	 * Before anything is switched: the summaries to come know of no more than
	 * that.
	 */
	rencoder_group_edit_raise_horizon(&r->group, r->horizon);
	for (int col = r->group.meta->natts - 1; col >= 0; col--)
	{
		rencoder_vacuum_delay_point();
		rebuild_column(r, col);
	}
	rencoder_reading_finish(&r->group);
}
