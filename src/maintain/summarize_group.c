/*
 * summarize_group.c
 *		The steps of summarizing that slices and whole groups share.
 */
#include "maintain/summarize_group.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "utils/memutils.h"

#include "maintain/rebuild.h"
#include "store/group_edit.h"

/*
 * A slice that is the first after a checkpoint logs every page of a matrix that
 * grows, as far as it is in use: half of it on average.  Slices that are
 * interleaved at last are logged twice, whatever comes in between.  So two
 * checkpoints are not too many; the count begins with the one before the group.
 */
#define MAX_CHECKPOINTS		3

/* The coders of new groups are looked at again when the table has grown by this factor. */
#define GROWTH				2

bool
rencoder_summarize_group_slab(const RencoderSummarizing *s, RencoderHeader header,
							  RencoderSlab *slab)
{
	if (header->matrix.start != RENCODER_NO_BLOCK || s->whole)
		*slab = rencoder_slab_whole(s->scan.index, &header->config, header->matrix);
	else
		*slab = rencoder_slab_of_slice(s->scan.index, header, s->slice);
	return slab->extent.start != RENCODER_NO_BLOCK;
}

renc_mask
rencoder_summarize_group_slots(const RencoderSummarizing *s, int width, renc_mask mask)
{
	return width == RENC_MATRIX_WIDTH ? mask : renc_mask_to_slice(mask, s->slice);
}

/*
 * Forgets what a former summary of "fresh" ranges left.  They are
 * unsummarized, so that nobody writes there; scans that started before they
 * became so will see another epoch (INV-7).
 */
static void
forget_ranges(const RencoderSummarizing *s, int col, renc_mask fresh)
{
	RencoderHeaderData copy;
	RencoderSlab slab;
	RencoderGroupEdit edit;
	RencoderHeader header;

	rencoder_group_copy_header(&s->group, col, &copy);
	if (rencoder_summarize_group_slab(s, &copy, &slab))
	{
		renc_mask	slots = rencoder_summarize_group_slots(s, slab.width, fresh);

		rencoder_filter_clear(&slab, slots);
	}

	rencoder_group_edit_begin(&edit, &s->group, col, RENCODER_EDIT_HEADERS, 0);
	header = rencoder_group_edit_header(&edit);
	rencoder_set_put(header->always, renc_mask_andnot(rencoder_set_get(header->always), fresh));
	rencoder_set_put(header->has_null, renc_mask_andnot(rencoder_set_get(header->has_null), fresh));
	rencoder_set_put(header->has_value,
					 renc_mask_andnot(rencoder_set_get(header->has_value), fresh));
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (!renc_mask_test(fresh, slot))
			continue;
		header->min[slot] = PG_UINT64_MAX;
		header->max[slot] = 0;
		header->distinct[slot] = 0;
		header->nset[slot] = 0;
	}
	rencoder_group_edit_finish(&edit);
}

void
rencoder_summarize_group_begin(const RencoderSummarizing *s)
{
	RencoderHeaderData copy;
	RencoderGroupEdit edit;
	RencoderHeader first;
	renc_mask	fresh;

	/* What is "summarizing" was left so by a crash and has writers. */
	rencoder_group_copy_header(&s->group, 0, &copy);
	fresh = renc_mask_andnot(s->todo, rencoder_set_get(copy.summarizing));
	if (!renc_mask_empty(fresh))
	{
		for (int col = 0; col < s->scan.meta.natts; col++)
			forget_ranges(s, col, fresh);
	}

	rencoder_group_edit_begin(&edit, &s->group, 0, RENCODER_EDIT_HEADERS, 0);
	first = rencoder_group_edit_first(&edit);
	rencoder_set_put(first->summarizing,
					 renc_mask_or(rencoder_set_get(first->summarizing), s->todo));
	rencoder_group_edit_finish(&edit);
}

/*
 * Is it settled which coder makes the keys of a column of the group?  A run that the group names
 * has settled it, whatever storage the ranges have that it does not cover.
 */
static bool
is_configured(const RencoderSummarizing *s, const RencoderHeaderData *header)
{
	return s->names_run || rencoder_is_configured(&header->config);
}

/* Loads the coders of the group's keys: its own if it has any, also in a run; else the newest. */
static void
load_coders(RencoderSummarizing *s)
{
	RencoderHeaderData copy;

	for (int col = 0; col < s->scan.meta.natts; col++)
	{
		uint32		generation;

		if (!rencoder_key_is_coded(s->scan.index, col))
			continue;
		rencoder_group_copy_header(&s->group, col, &copy);
		generation = is_configured(s, &copy) ? copy.config.coder :
			rencoder_coder_newest(s->scan.index, col);
		rencoder_columns_load_coders(s->scan.index, col, generation, &s->scan.coders);
	}
}

/* Has the column of the group no configuration yet, which would name a coder? */
static bool
is_unconfigured(const RencoderSummarizing *s, int col)
{
	RencoderHeaderData copy;

	rencoder_group_copy_header(&s->group, col, &copy);
	return !is_configured(s, &copy);
}

static bool
training_is_due(const RencoderSummarizing *s)
{
	return rencoder_columns_train_is_due(s->scan.heap, s->scan.index, GROWTH);
}

static void
train_coders(RencoderSummarizing *s)
{
	RencoderColumnCoders trained;

	rencoder_columns_train(s->scan.heap, s->scan.index, s->scan.indexInfo, true,
						   training_is_due(s), &trained);
}

void
rencoder_summarize_group_renew_coders(RencoderSummarizing *s)
{
	bool		unconfigured = false;

	for (int col = 0; col < s->scan.meta.natts && !unconfigured; col++)
		unconfigured = rencoder_key_is_coded(s->scan.index, col) && is_unconfigured(s, col);
	if (unconfigured && training_is_due(s))
		train_coders(s);
}

/*
 * Did the scan find values of a column that should have a coder?  Where more than a slice
 * of the group has keys without one, starting over is left to VACUUM.  A session that
 * inserts leaves it to others at all: so it trains for a group without keys only.  A
 * group that names a run cannot start over.
 */
static bool
lacks_coder(const RencoderSummarizing *s, int col, int nslots)
{
	RencoderHeaderData copy;

	if (!rencoder_key_is_coded(s->scan.index, col) || s->scan.coders.generation[col] != 0 ||
		s->names_run)
		return false;
	rencoder_group_copy_header(&s->group, col, &copy);
	if (rencoder_is_configured(&copy.config) &&
		(s->no_dead_toast ||
		 renc_mask_count(rencoder_set_get(copy.has_value)) > RENC_SLICE_RANGES))
		return false;
	for (int slot = 0; slot < nslots; slot++)
	{
		if (s->scan.collector->column[col].range[slot].has_value)
			return true;
	}
	return false;
}

static bool
any_lacks_coder(const RencoderSummarizing *s, int nslots)
{
	for (int col = 0; col < s->scan.meta.natts; col++)
	{
		if (lacks_coder(s, col, nslots))
			return true;
	}
	return false;
}

/* Could the column have a coder, but for the configuration of the group? */
static bool
could_have_coder(const RencoderSummarizing *s, int col)
{
	return rencoder_key_is_coded(s->scan.index, col) && s->scan.coders.generation[col] == 0 &&
		!is_unconfigured(s, col) && rencoder_coder_newest(s->scan.index, col) != 0;
}

/*
 * Without a value there is nothing to train on, so the first look is without a coder.
 * The sample is of all the table, as it is by now.
 */
bool
rencoder_summarize_group_scan(RencoderSummarizing *s, uint64 first, int nslots,
							  renc_mask todo, Size max_size)
{
	load_coders(s);
	if (!rencoder_range_scan(&s->scan, first, nslots, todo, max_size, &s->horizon))
		return false;
	if (s->trained || !any_lacks_coder(s, nslots))
		return true;
	s->trained = true;
	train_coders(s);
	load_coders(s);
	for (int col = 0; col < s->scan.meta.natts && !s->no_dead_toast; col++)
		s->start_over |= could_have_coder(s, col);
	if (s->start_over)
		return true;
	return rencoder_range_scan(&s->scan, first, nslots, todo, max_size, &s->horizon);
}

/*
 * Such a group is one whose first ranges have no values; it is not full yet.
 */
void
rencoder_summarize_group_start_over(RencoderSummarizing *s)
{
	RencoderRebuild rebuild = {0};

	rebuild.group = s->group;
	for (int col = 0; col < s->scan.meta.natts; col++)
	{
		rebuild.wanted[col] = could_have_coder(s, col);
		rebuild.predicted_fpr[col] = -1;
	}
	rencoder_rebuild_reset(&rebuild);
	s->start_over = false;
}

/* The header of a column of the group before; false if there is none. */
static bool
read_previous(const RencoderSummarizing *s, int col, RencoderHeader header)
{
	RencoderGroup previous;

	if (s->group.number == 0 ||
		!rencoder_group_locate(&previous, s->scan.index, &s->scan.meta, s->group.number - 1))
		return false;
	rencoder_group_copy_header(&previous, col, header);
	return true;
}

bool
rencoder_summarize_group_is_fast(const RencoderSummarizing *s)
{
	RencoderHeaderData previous;

	return !read_previous(s, 0, &previous) || previous.checkpoints <= MAX_CHECKPOINTS;
}

/* Pages of a slot of the slice that were read, up to the last one with rows. */
static BlockNumber
pages_with_rows(const RencoderSummarizing *s, int slot)
{
	BlockNumber pages_per_range = s->scan.meta.pages_per_range;
	BlockNumber first = (BlockNumber) (s->scan.first + slot) * pages_per_range;

	if (s->scan.rows[slot] == 0)
		return 0;
	return Min(s->scan.last_block - first + 1, pages_per_range);
}

/*
 * Rows of a range that is full, by the statistics of table and index; 0: they tell nothing.  These
 * may be of different times, or anything that somebody has set.
 */
static double
rows_of_full_range(const RencoderSummarizing *s)
{
	double		pages = s->scan.heap->rd_rel->relpages;
	double		rows = s->scan.index->rd_rel->reltuples;

	if (!(pages > 0 && rows > 0))
		return 0;
	return Min(rows / pages, MaxHeapTuplesPerPage) * s->scan.meta.pages_per_range;
}

/*
 * Distinct keys that a range will hold when it is full, as that slot of the slice tells which has
 * the most rows: as many more as pages will come, or rows.  Pages tell too few where sessions
 * are still filling them, each its own; rows, where they were fewer to a page before.  Filters
 * that are too large cost some pages as long as the group grows.  Such that are too small pass
 * nearly every query in all of its ranges.  Of a column without any key, each row to come may
 * have one.
 */
static double
keys_of_full_range(const RencoderSummarizing *s, int col)
{
	double		full = rows_of_full_range(s);
	int			most = 0;
	uint32		distinct;

	for (int slot = 1; slot < RENC_SLICE_RANGES; slot++)
	{
		if (s->scan.rows[slot] > s->scan.rows[most])
			most = slot;
	}
	if (s->scan.rows[most] == 0)
		return 0;
	distinct = s->scan.collector->column[col].range[most].distinct;
	if (s->scan.collector->column[col].nkeys == 0)
		distinct = (uint32) s->scan.rows[most];
	return Max(rencoder_design_full_range(&s->scan.meta, distinct, pages_with_rows(s, most)),
			   distinct * full / s->scan.rows[most]);
}

/*
 * Distinct keys a range that filters of a new group should be made for at least.  A slice of full
 * ranges tells by itself.  Else it is what those of the group before are made for, if none of
 * its ranges is full, or has a key.
 */
static double
min_capacity_of_new(const RencoderSummarizing *s, int col)
{
	int			nfull = 0;
	bool		empty = s->scan.collector->column[col].nkeys == 0;
	RencoderHeaderData previous;

	if (s->whole)
		return 0;
	for (int slot = 0; slot < RENC_SLICE_RANGES; slot++)
		nfull += pages_with_rows(s, slot) == s->scan.meta.pages_per_range;
	if (nfull == RENC_SLICE_RANGES && !empty)
		return 0;
	if ((nfull == 0 || empty) && read_previous(s, col, &previous) &&
		rencoder_is_configured(&previous.config))
		return previous.config.capacity;
	return keys_of_full_range(s, col);
}

/*
 * A designer whose search goes on from where it ended for the group before.  That
 * group's rate says something only if the same queries were known.
 */
static RencoderDesigner *
begin_design(const RencoderSummarizing *s, double table_ranges)
{
	RencoderDesigner *designer = rencoder_designer_create(s->scan.index, &s->scan.meta, table_ranges);
	RencoderHeaderData previous;

	for (int col = 0; col < s->scan.meta.natts; col++)
	{
		if (read_previous(s, col, &previous) &&
			previous.config.coder == s->scan.coders.generation[col])
			rencoder_designer_resume(designer, col, &previous.config,
									 previous.sample_stamp, previous.best_fpr);
	}
	return designer;
}

/*
 * Whole groups share a designer: what a search costs is in proportion to the
 * groups of a designer, as in a build.
 */
void
rencoder_summarize_group_plan(RencoderSummarizing *s, int col, RencoderHeader copy)
{
	RencoderDesigner *designer;
	RencoderPrediction prediction;

	if (!s->whole)
		designer = begin_design(s, (s->group.number + 1.0) * RENC_GROUP_RANGES);
	else
	{
		if (s->designer == NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(s->context);
			BlockNumber nblocks = RelationGetNumberOfBlocks(s->scan.heap);

			s->designer = begin_design(s, (double) rencoder_range_count(&s->scan.meta, nblocks));
			MemoryContextSwitchTo(old);
		}
		designer = s->designer;
	}
	rencoder_design_column(designer, s->scan.collector, col, min_capacity_of_new(s, col),
						   &copy->config, &prediction);
	copy->predicted_fpr = prediction.fpr;
	copy->best_fpr = prediction.best_fpr;
	copy->sample_stamp = rencoder_designer_stamp(designer, col, copy->config.coder);
}

/* Puts what was learnt of a range into the header and the entry's bounds. */
static void
publish_range(const RencoderSummarizing *s, int col, RencoderHeader header, RencoderEntry entry,
			  const RencoderHeaderData *copy, renc_mask always, int slot)
{
	const RencoderRangeSummary *r =
		&s->scan.collector->column[col].range[slot - rencoder_summarize_group_first(s)];
	RencoderEntryColumn *bounds = &entry->column[col];

	/* Inserters may have widened meanwhile: unite (INV-2). */
	header->min[slot] = Min(header->min[slot], r->min);
	header->max[slot] = Max(header->max[slot], r->max);
	bounds->min = Min(bounds->min, r->min);
	bounds->max = Max(bounds->max, r->max);
	header->distinct[slot] = r->distinct;
	header->nset[slot] = copy->nset[slot];
	if (r->has_null)
		rencoder_set_add(header->has_null, slot);
	if (r->has_value)
		rencoder_set_add(header->has_value, slot);
	if (renc_mask_test(always, slot))
	{
		rencoder_set_add(header->always, slot);
		entry->flags |= RENCODER_ENTRY_ALWAYS;
	}
}

/* The states of the ranges that are done, in the group's first header. */
static void
publish_states(const RencoderSummarizing *s, RencoderHeader first, renc_mask done)
{
	rencoder_set_put(first->summarizing,
					 renc_mask_andnot(rencoder_set_get(first->summarizing), done));
	rencoder_set_put(first->summarized,
					 renc_mask_or(rencoder_set_get(first->summarized), done));
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (renc_mask_test(done, slot))
			first->horizon[slot] = s->horizon;
	}
	if (first->redo != GetRedoRecPtr())
	{
		first->redo = GetRedoRecPtr();
		first->checkpoints++;
	}
}

renc_mask
rencoder_summarize_group_publish(RencoderSummarizing *s, int col, const RencoderHeaderData *copy,
								 renc_mask always)
{
	RencoderGroupEdit edit;
	RencoderEntry entry;
	RencoderHeader header;
	renc_mask	done;

	rencoder_group_edit_begin(&edit, &s->group, col, RENCODER_EDIT_ENTRY, 0);
	entry = rencoder_group_edit_entry(&edit);
	header = rencoder_group_edit_header(&edit);
	done = renc_mask_and(s->todo, rencoder_set_get(edit.first->summarizing));
	header->config = copy->config;
	header->predicted_fpr = copy->predicted_fpr;
	header->best_fpr = copy->best_fpr;
	header->sample_stamp = copy->sample_stamp;
	header->matrix = entry->column[col].matrix = copy->matrix;
	if (!s->whole)
		header->slice[s->slice] = copy->slice[s->slice];
	entry->column[col].config = copy->config;
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (renc_mask_test(done, slot))
			publish_range(s, col, header, entry, copy, always, slot);
	}
	if (col == 0)
	{
		publish_states(s, header, done);
		rencoder_group_seal(entry, &s->scan.meta, header);
	}
	rencoder_group_edit_finish(&edit);
	return done;
}
