/*
 * summarize_whole.c
 *		Summarizing all 128 ranges of a group at once.
 *
 * After a load without automatic summarization whole groups are waiting.  Their
 * matrices are made directly, as in a build: the filters are written and
 * logged once, not slice by slice, and the shape is chosen by the keys of all
 * ranges.
 */
#include "maintain/summarize_group.h"

#include "miscadmin.h"

#include "base/options.h"
#include "store/space.h"

/* Has the group neither a run, nor a matrix or a configuration in any column? */
static bool
is_untouched(const RencoderSummarizing *s)
{
	RencoderHeaderData copy;

	for (int col = 0; col < s->scan.meta.natts; col++)
	{
		rencoder_group_copy_header(&s->group, col, &copy);
		if (rencoder_is_configured(&copy.config) || copy.matrix.start != RENCODER_NO_BLOCK)
			return false;
	}
	return !s->names_run;
}

/*
 * Makes a column's matrix, writes and publishes it, without a chance to be cancelled in between: the
 * pages would be lost until REINDEX.
 */
static void
summarize_whole_column(RencoderSummarizing *s, int col)
{
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	RencoderHeaderData header;
	RencoderSlab slab;
	renc_mask	always;
	char	   *image;

	rencoder_group_copy_header(&s->group, col, &header);
	header.config.coder = s->scan.coders.generation[col];
	rencoder_summarize_group_plan(s, col, &header);
	header.config.width = RENC_MATRIX_WIDTH;
	always = rencoder_filter_keys(&header.config, s->scan.collector, col, renc_mask_all(), ranges);
	image = rencoder_filter_build(&header.config, ranges);

	HOLD_INTERRUPTS();
	header.matrix = rencoder_space_alloc(s->scan.index, rencoder_filter_npages(&header.config));
	slab = rencoder_slab_of(s->scan.index, &header);
	rencoder_filter_write(&slab, image, true);
	memset(header.nset, 0, sizeof(header.nset));
	rencoder_filter_count(&slab, renc_mask_all(), header.nset);
	rencoder_summarize_group_publish(s, col, &header, always);
	RESUME_INTERRUPTS();
	pfree(image);
}

int
rencoder_summarize_whole(RencoderSummarizing *s)
{
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

	/* The first column comes last: its record sets the states. */
	for (int col = s->scan.meta.natts - 1; col >= 0; col--)
		summarize_whole_column(s, col);
	s->whole = false;
	return RENC_GROUP_RANGES;
}
