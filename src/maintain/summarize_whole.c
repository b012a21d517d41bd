/*
 * summarize_whole.c
 *		Summarizing all 128 ranges of a group at once.
 *
 * After a load without automatic summarization whole groups are waiting.  Their
 * matrices are made directly, as in a build: the filters are written and
 * logged once, not in slices first, and the shape is chosen by the keys of all
 * ranges.
 *
 * The protocol is that of the first slice of a group (INV-3): there is no
 * storage until the first column's is linked, so inserters that meet
 * "summarizing" take their range back.  Those ranges are not published, and
 * are done again by slices, which now find the matrix to add to.  The group is
 * sealed by whoever publishes its last range.
 */
#include "maintain/summarize_group.h"

#include "base/options.h"
#include "store/space.h"

/* A column's matrix in memory, and its header to be. */
typedef struct NewColumn
{
	RencoderHeaderData header;
	char	   *image;
	renc_mask	always;			/* ranges that are left out */
} NewColumn;

/* Has the group neither a run, nor storage or a configuration in any column? */
static bool
is_untouched(const RencoderSummarizing *s)
{
	if (s->names_run)
		return false;
	for (int col = 0; col < s->scan.meta.natts; col++)
	{
		RencoderHeaderData copy;

		rencoder_group_copy_header(&s->group, col, &copy);
		if (rencoder_is_configured(&copy.config) ||
			copy.matrix.start != RENCODER_NO_BLOCK ||
			copy.next.start != RENCODER_NO_BLOCK)
			return false;
		for (int slice = 0; slice < RENC_GROUP_SLICES; slice++)
		{
			if (copy.slice[slice].start != RENCODER_NO_BLOCK)
				return false;
		}
	}
	return true;
}

/*
 * Chooses the configuration of a column and makes its matrix, without the ranges
 * in "cancelled": whoever does these again finds nothing to clear.
 */
static void
build_whole_column(RencoderSummarizing *s, int col, renc_mask cancelled, NewColumn *new)
{
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	RencoderConfig *config = &new->header.config;

	rencoder_group_copy_header(&s->group, col, &new->header);
	config->coder = s->scan.coders.generation[col];
	rencoder_summarize_group_plan(s, col, &new->header);
	new->always = rencoder_filter_keys(config, s->scan.collector, col,
									   renc_mask_andnot(renc_mask_all(), cancelled), ranges);
	new->image = rencoder_filter_build(config, RENC_MATRIX_WIDTH, ranges);
}

/*
 * Writes a column's matrix and publishes it, without a chance to be cancelled in
 * between: the pages would be lost until REINDEX.
 */
static renc_mask
publish_column(RencoderSummarizing *s, int col, NewColumn *new)
{
	RencoderConfig *config = &new->header.config;
	RencoderExtent extent = rencoder_space_alloc(s->scan.index,
												 rencoder_filter_npages(config, RENC_MATRIX_WIDTH));
	RencoderSlab slab = rencoder_slab_whole(s->scan.index, config, extent);
	renc_mask	done;

	HOLD_INTERRUPTS();
	rencoder_filter_write(&slab, new->image, true);
	new->header.matrix = extent;
	memset(new->header.nset, 0, sizeof(new->header.nset));
	rencoder_filter_count(&slab, renc_mask_all(), new->header.nset);
	done = rencoder_summarize_group_publish(s, col, &new->header, new->always);
	RESUME_INTERRUPTS();
	return done;
}

int
rencoder_summarize_whole(RencoderSummarizing *s)
{
	NewColumn  *columns;
	RencoderHeaderData first;
	renc_mask	done = renc_mask_none();
	renc_mask	cancelled;

	if (!is_untouched(s))
		return 0;
	s->whole = true;
	s->todo = renc_mask_all();
	rencoder_summarize_group_begin(s);
	if (!rencoder_summarize_group_scan(s, (uint64) s->group.number * RENC_GROUP_RANGES,
									   RENC_GROUP_RANGES, s->todo,
									   rencoder_options_key_memory()))
	{
		s->too_large = true;
		s->whole = false;
		return 0;
	}

	rencoder_group_copy_header(&s->group, 0, &first);
	cancelled = renc_mask_andnot(s->todo, rencoder_set_get(first.summarizing));
	columns = palloc(s->scan.meta.natts * sizeof(NewColumn));
	for (int col = 0; col < s->scan.meta.natts; col++)
		build_whole_column(s, col, cancelled, &columns[col]);

	/*
	 * The absence of the first column's storage tells inserters that there is
	 * none.
	 */
	for (int col = s->scan.meta.natts - 1; col >= 0; col--)
		done = publish_column(s, col, &columns[col]);
	s->whole = false;
	return renc_mask_count(done);
}
