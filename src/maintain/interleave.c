/*
 * interleave.c
 *		Turning the 16 slices of a full group into one matrix.
 *
 * For columns that did not grow in place (summarize.c).  A copy without heap
 * access: band by band what the slices have (INV-7).  The matrix' extent is
 * noted as "next" in the header, so that inserters set bits in the slices and
 * then in the matrix; its pages are written one by one, each under its lock
 * while the slices are read; then one record switches the header and the
 * directory to the matrix, bumps the epoch and frees the slices.  Scans
 * that are still looking at the slices find another epoch at their end.
 */
#include "maintain/interleave.h"

#include "format/format_filter.h"
#include "store/group_edit.h"
#include "store/space.h"

/* Notes the matrix under construction in the column's header. */
static void
set_next(const RencoderGroup *group, int col, RencoderExtent extent)
{
	RencoderGroupEdit edit;

	rencoder_group_edit_begin(&edit, group, col, RENCODER_EDIT_HEADERS, 0);
	rencoder_group_edit_header(&edit)->next = extent;
	rencoder_group_edit_finish(&edit);
}

/*
 * Turns a column over to its matrix and frees the slices.  One record: metapage, directory
 * page, header, free list.
 */
static void
switch_to_matrix(const RencoderGroup *group, int col)
{
	RencoderGroupEdit edit;
	RencoderEntry entry;
	RencoderHeader header;

	rencoder_group_edit_begin(&edit, group, col, RENCODER_EDIT_EPOCH, RENC_GROUP_SLICES);
	entry = rencoder_group_edit_entry(&edit);
	header = rencoder_group_edit_header(&edit);
	for (int s = 0; s < RENC_GROUP_SLICES; s++)
		rencoder_group_edit_release(&edit, &header->slice[s]);
	header->matrix = entry->column[col].matrix = header->next;
	header->next.start = RENCODER_NO_BLOCK;
	header->next.npages = 0;
	rencoder_group_edit_new_epoch(&edit);
	rencoder_group_seal(entry, group->meta, edit.first);
	rencoder_group_edit_finish(&edit);
}

static void
interleave_column(const RencoderGroup *group, int col, const RencoderHeaderData *copy)
{
	RencoderSlab matrix = rencoder_slab_whole(group->index, &copy->config, copy->next);

	/* A crash may have left one behind; its pages are as good as any. */
	if (matrix.extent.start == RENCODER_NO_BLOCK)
	{
		matrix.extent = rencoder_space_alloc(group->index,
											 rencoder_filter_npages(&copy->config,
																	RENC_MATRIX_WIDTH));
		rencoder_space_secure(group->index, matrix.extent);
		set_next(group, col, matrix.extent);
	}
	for (uint32 page = 0; page < matrix.extent.npages; page++)
	{
		rencoder_vacuum_delay_point();
		rencoder_filter_seal_page(&matrix, copy->slice, page);
	}
	switch_to_matrix(group, col);
}

/*
 * Is the group full, and is the column still in slices?  A group that names a run keeps its
 * slices: a scan that finds a seal or a matrix would not ask for the run (INV-11).
 */
static bool
is_ready(const RencoderHeaderData *first, const RencoderHeaderData *column)
{
	if (first->run != 0 || column->matrix.start != RENCODER_NO_BLOCK ||
		!renc_mask_empty(renc_mask_andnot(renc_mask_all(),
										  rencoder_set_get(first->summarized))))
		return false;
	for (int s = 0; s < RENC_GROUP_SLICES; s++)
	{
		if (column->slice[s].start == RENCODER_NO_BLOCK)
			return false;
	}
	return true;
}

bool
rencoder_interleave(Relation index, uint32 number)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	RencoderGroup group;
	RencoderHeaderData first;
	RencoderHeaderData copy;
	bool		done = false;

	if (!rencoder_group_locate(&group, index, &meta, number))
		return false;
	rencoder_group_copy_header(&group, 0, &first);
	for (int col = meta.natts - 1; col >= 0; col--)
	{
		rencoder_group_copy_header(&group, col, &copy);
		if (!is_ready(&first, &copy))
			continue;
		interleave_column(&group, col, &copy);
		done = true;
	}
	return done;
}
