/*
 * interleave.c
 *		Turning the 16 slices of a full group into one matrix.
 *
 * For columns that did not grow in place (summarize.c).  A copy without heap
 * access: band by band what the slices have.  Filters (INV-7): the matrix' extent is
 * noted as "next" in the header, so that inserters set bits in the slices and
 * then in the matrix; its pages are written one by one, each under its lock
 * while the slices are read; then one record switches the header and the
 * directory to the matrix, bumps the epoch and frees the slices.  Scans
 * that are still looking at the slices find another epoch at their end.
 *
 * Dictionaries are rewritten, as a dictionary or as filters, whichever is
 * smaller for the whole group.  Until the switch nobody else knows of the
 * matrix, so inserters go on with the slices only; what they add meanwhile is
 * added to the matrix afterwards, page by page of the slices, a few rounds
 * without a lock and the last one under the locks of the switch.
 */
#include "maintain/interleave.h"

#include "miscadmin.h"

#include "base/options.h"
#include "plan/design.h"
#include "store/group_edit.h"
#include "store/space.h"

/* Rounds of catching up with inserters before they are locked out. */
#define CATCH_UP_ROUNDS	3

/* Notes the matrix under construction in the column's header. */
static void
set_next(const RencoderGroup *group, int col, RencoderExtent extent)
{
	RencoderGroupEdit edit;

	rencoder_group_edit_begin(&edit, group, col, RENCODER_EDIT_HEADERS, 0);
	rencoder_group_edit_header(&edit)->next = extent;
	rencoder_group_edit_finish(&edit);
}

/* What a column is to be after the switch. */
typedef struct NewStorage
{
	RencoderConfig config;
	RencoderExtent matrix;
	renc_mask	always;			/* ranges that do not fit the new format */
	bool		recounted;		/* nset is that of the new format */
	uint32		nset[RENC_GROUP_RANGES];
	double		predicted_fpr;
	uint64		sample_stamp;
} NewStorage;

/*
 * Turns a column over to its new storage and frees the slices.  One record: metapage, directory
 * page, header, free list.
 */
static void
switch_to_matrix(RencoderGroupEdit *edit, const NewStorage *new)
{
	RencoderEntry entry = rencoder_group_edit_entry(edit);
	RencoderHeader header = rencoder_group_edit_header(edit);

	for (int s = 0; s < RENC_GROUP_SLICES; s++)
		rencoder_group_edit_release(edit, &header->slice[s]);
	header->config = new->config;
	header->matrix = new->matrix;
	header->next.start = RENCODER_NO_BLOCK;
	header->next.npages = 0;
	if (new->recounted)
	{
		memcpy(header->nset, new->nset, sizeof(header->nset));
		header->predicted_fpr = header->best_fpr = new->predicted_fpr;
		header->sample_stamp = new->sample_stamp;
	}
	rencoder_set_put(header->always,
					 renc_mask_or(rencoder_set_get(header->always), new->always));
	if (!renc_mask_empty(new->always))
		entry->flags |= RENCODER_ENTRY_ALWAYS;
	entry->column[edit->col].config = new->config;
	entry->column[edit->col].matrix = new->matrix;
	rencoder_group_edit_new_epoch(edit);
	rencoder_group_seal(entry, edit->group->meta, edit->first);
}

static void
interleave_by_copy(const RencoderGroup *group, int col, const RencoderHeaderData *copy)
{
	RencoderSlab matrix = rencoder_slab_whole(group->index, &copy->config, copy->next);
	NewStorage	new;
	RencoderGroupEdit edit;

	/* A crash may have left one behind; its pages are as good as any. */
	if (matrix.extent.start == RENCODER_NO_BLOCK)
	{
		matrix.extent = rencoder_space_alloc(group->index,
											 rencoder_format_npages(&copy->config));
		rencoder_space_secure(group->index, matrix.extent);
		set_next(group, col, matrix.extent);
	}
	for (uint32 page = 0; page < matrix.extent.npages; page++)
	{
		rencoder_vacuum_delay_point();
		rencoder_format_of(&copy->config)->seal_page(&matrix, copy->slice, page);
	}

	memset(&new, 0, sizeof(new));
	new.config = copy->config;
	new.matrix = matrix.extent;
	rencoder_group_edit_begin(&edit, group, col, RENCODER_EDIT_EPOCH, RENC_GROUP_SLICES);
	switch_to_matrix(&edit, &new);
	rencoder_group_edit_finish(&edit);
}

/*
 * The matrix image of a column of which the keys can be read from its slices, in the
 * format that suits it best.
 */
static char *
read_slices(const RencoderGroup *group, int col, const RencoderHeaderData *copy,
			RencoderSealMarks **marks, NewStorage *new, uint32 *npages)
{
	RencoderCollector *c = rencoder_format_of(&copy->config)->seal_read(group->index, &copy->config,
																		copy->slice, marks);
	bool		spills = rencoder_collect_size(c) > rencoder_options_key_memory();
	renc_mask	already = rencoder_set_get(copy->always);
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	RencoderDesigner *designer;
	RencoderPrediction prediction;
	char	   *image;

	new->config.coder = copy->config.coder; /* the keys are the same */
	designer = rencoder_designer_create(group->index, group->meta,
										(group->number + 1.0) * RENC_GROUP_RANGES);
	designer->first_column = col;
	rencoder_design_column(designer, c, 0, RENC_MATRIX_WIDTH, 0, spills, &new->config, &prediction);
	new->predicted_fpr = prediction.fpr;
	new->sample_stamp = rencoder_designer_stamp(designer, 0, new->config.coder);
	new->always = rencoder_format_keys(&new->config, c, 0,
									   renc_mask_andnot(renc_mask_all(), already), ranges);
	new->always = renc_mask_or(new->always, already);
	image = rencoder_format_of(&new->config)->build(&new->config, RENC_MATRIX_WIDTH,
													ranges, npages);
	rencoder_collect_free(c);
	return image;
}

static void
interleave_anew(const RencoderGroup *group, int col, const RencoderHeaderData *copy)
{
	NewStorage	new;
	const RencoderFormat *slices = rencoder_format_of(&copy->config);
	RencoderSlab slab;
	RencoderSealMarks *marks;
	RencoderGroupEdit edit;
	uint32		npages;
	char	   *image;

	memset(&new, 0, sizeof(new));
	image = read_slices(group, col, copy, &marks, &new, &npages);
	rencoder_vacuum_delay_point();
	new.matrix = rencoder_space_alloc(group->index, npages);
	slab = rencoder_slab_whole(group->index, &new.config, new.matrix);

	/*
	 * Nobody refers to the new pages until the switch: if this was cancelled,
	 * they would be lost until REINDEX.  What took time is done; from here on
	 * pages are only copied.
	 */
	HOLD_INTERRUPTS();
	rencoder_format_write(&slab, image, true);
	pfree(image);
	rencoder_format_of(&new.config)->count(&slab, renc_mask_all(), new.nset);
	new.recounted = true;

	/* The more is done now, the less there is to do under the locks. */
	for (int round = 0; round < CATCH_UP_ROUNDS; round++)
	{
		if (slices->seal_catch_up(&copy->config, copy->slice, marks, &slab,
								  &new.always) == 0)
			break;
	}
	rencoder_group_edit_begin(&edit, group, col, RENCODER_EDIT_EPOCH, RENC_GROUP_SLICES);
	(void) slices->seal_catch_up(&copy->config, copy->slice, marks, &slab, &new.always);
	switch_to_matrix(&edit, &new);
	rencoder_group_edit_finish(&edit);
	RESUME_INTERRUPTS();
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
		if (rencoder_format_require(index, &copy.config)->seal_page != NULL)
			interleave_by_copy(&group, col, &copy);
		else
			interleave_anew(&group, col, &copy);
		done = true;
	}
	return done;
}
