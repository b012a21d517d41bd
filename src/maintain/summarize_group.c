/*
 * summarize_group.c
 *		The steps of summarizing that slices and whole groups share.
 */
#include "maintain/summarize_group.h"

#include "access/htup_details.h"
#include "utils/memutils.h"

#include "store/group_edit.h"
#include "store/pending.h"

/* The coders of new groups are looked at again when the table has grown by this factor. */
#define GROWTH				2

/*
 * Forgets what a former summary of "fresh" ranges left.  They are
 * unsummarized, so that nobody asks for them; scans that started before they
 * became so will see another epoch (INV-7).
 */
static void
forget_ranges(const RencoderSummarizing *s, int col, renc_mask fresh)
{
	RencoderHeaderData copy;
	RencoderGroupEdit edit;
	RencoderHeader header;

	rencoder_group_copy_header(&s->group, col, &copy);
	if (copy.matrix.start != RENCODER_NO_BLOCK)
	{
		RencoderSlab slab = rencoder_slab_of(s->scan.index, &copy);

		rencoder_filter_clear(&slab, fresh);
	}

	rencoder_group_edit_begin(&edit, &s->group, col, RENCODER_EDIT_HEADERS, 0);
	header = rencoder_group_edit_header(&edit);
	rencoder_set_put(header->always, renc_mask_andnot(rencoder_set_get(header->always), fresh));
	rencoder_set_put(header->keyless, renc_mask_andnot(rencoder_set_get(header->keyless), fresh));
	rencoder_set_put(header->keyless_since,
					 renc_mask_andnot(rencoder_set_get(header->keyless_since), fresh));
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
rencoder_summarize_group_begin(RencoderSummarizing *s)
{
	RencoderHeaderData copy;
	RencoderGroupEdit edit;
	RencoderHeader first;
	renc_mask	fresh;

	/*
	 * Of what is "summarizing", which a crash left so, inserters set flags.
	 * Its bits may stay: they are of rows that were there.
	 */
	rencoder_group_copy_header(&s->group, 0, &copy);
	fresh = renc_mask_andnot(s->todo, rencoder_set_get(copy.summarizing));
	s->cut = rencoder_pending_closed(s->scan.index);
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
 * has settled it.
 */
static bool
has_coder(const RencoderSummarizing *s, const RencoderHeaderData *header)
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
		generation = has_coder(s, &copy) ? copy.config.coder :
			rencoder_coder_newest(s->scan.index, col);
		rencoder_columns_load_coders(s->scan.index, col, generation, &s->scan.coders);
	}
}

/* May the column of the group get another coder than it has? */
static bool
may_get_coder(const RencoderSummarizing *s, int col)
{
	RencoderHeaderData copy;

	rencoder_group_copy_header(&s->group, col, &copy);
	return rencoder_key_is_coded(s->scan.index, col) && !has_coder(s, &copy);
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
	bool		any = false;

	for (int col = 0; col < s->scan.meta.natts && !any; col++)
		any = may_get_coder(s, col);
	if (any && training_is_due(s))
		train_coders(s);
}

/* Did the scan find values of a column that should have a coder, and can get one? */
static bool
lacks_coder(const RencoderSummarizing *s, int col, int nslots)
{
	if (s->scan.coders.generation[col] != 0 || !may_get_coder(s, col))
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
	return rencoder_range_scan(&s->scan, first, nslots, todo, max_size, &s->horizon);
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
 * Distinct keys that a range will hold when it is full, as the fullest of the slice tells: as many
 * more as pages will come, or rows.  Of a column without a key yet, each row may get one.
 */
static double
keys_of_full_range(const RencoderSummarizing *s, int col)
{
	const RencoderCollectedColumn *column = &s->scan.collector->column[col];
	BlockNumber nblocks = RelationGetNumberOfBlocks(s->scan.heap);
	uint64		ppr = s->scan.meta.pages_per_range;
	double		pages;
	double		keys;
	int			most = 0;

	for (int slot = 1; slot < RENC_SLICE_RANGES; slot++)
	{
		if (s->scan.rows[slot] > s->scan.rows[most])
			most = slot;
	}
	if (s->scan.rows[most] == 0)
		return 0;
	pages = Max(Min(nblocks - (s->scan.first + most) * ppr, ppr), 1);
	keys = column->nkeys == 0 ? s->scan.rows[most] : column->range[most].distinct;
	return keys * Max(ppr / pages, rows_of_full_range(s) / s->scan.rows[most]);
}

/*
 * Distinct keys a range that filters of a new group should be made for at least.  A slice of full
 * ranges tells by itself, if they have keys.  Else it is what those of the group before are made for,
 * if it has any.
 */
static double
min_capacity_of_new(const RencoderSummarizing *s, int col)
{
	uint64		end = s->scan.first + RENC_SLICE_RANGES;
	bool		full = s->whole ||
		end * s->scan.meta.pages_per_range <= RelationGetNumberOfBlocks(s->scan.heap);
	RencoderHeaderData previous;

	if (full && s->scan.collector->column[col].nkeys > 0)
		return 0;
	if (read_previous(s, col, &previous) && rencoder_is_configured(&previous.config))
		return previous.config.capacity;
	return s->whole ? 0 : keys_of_full_range(s, col);
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

	header->min[slot] = r->min;
	header->max[slot] = r->max;
	bounds->min = Min(bounds->min, r->min);
	bounds->max = Max(bounds->max, r->max);
	header->distinct[slot] = r->distinct;
	header->nset[slot] = copy->nset[slot];
	if (renc_mask_test(always, slot))
		rencoder_set_add(header->always, slot);

	/* Inserters may have set these meanwhile. */
	if (r->has_null)
		rencoder_set_add(header->has_null, slot);
	if (r->has_value)
		rencoder_set_add(header->has_value, slot);
	if (r->keyless)
		rencoder_set_add(header->keyless, slot);
}

/* The states of the ranges that are done, in the group's first header. */
static void
publish_states(const RencoderSummarizing *s, RencoderHeader first, RencoderEntry entry)
{
	renc_mask	summarized = rencoder_set_get(first->summarized);

	for (int slot = renc_mask_next(s->todo, 0); slot < RENC_GROUP_RANGES;
		 slot = renc_mask_next(s->todo, slot + 1))
	{
		uint64	   *cut = &first->cut[slot / RENC_SLICE_RANGES];

		first->horizon[slot] = s->horizon;
		if (renc_mask_band(summarized, slot / RENC_SLICE_RANGES) == 0)
			*cut = s->cut;
		else
			*cut = Min(*cut, s->cut);
	}
	rencoder_set_put(first->summarizing,
					 renc_mask_andnot(rencoder_set_get(first->summarizing), s->todo));
	rencoder_set_put(first->summarized, renc_mask_or(summarized, s->todo));
	entry->cut = rencoder_group_least_cut(first);
}

void
rencoder_summarize_group_publish(RencoderSummarizing *s, int col, const RencoderHeaderData *copy,
								 renc_mask always)
{
	RencoderGroupEdit edit;
	RencoderEntry entry;
	RencoderHeader header;

	rencoder_group_edit_begin(&edit, &s->group, col, RENCODER_EDIT_ENTRY, 0);
	entry = rencoder_group_edit_entry(&edit);
	header = rencoder_group_edit_header(&edit);
	header->config = entry->column[col].config = copy->config;
	header->predicted_fpr = copy->predicted_fpr;
	header->best_fpr = copy->best_fpr;
	header->sample_stamp = copy->sample_stamp;
	header->matrix = entry->column[col].matrix = copy->matrix;
	for (int slot = renc_mask_next(s->todo, 0); slot < RENC_GROUP_RANGES;
		 slot = renc_mask_next(s->todo, slot + 1))
		publish_range(s, col, header, entry, copy, always, slot);
	if (rencoder_header_matches_all(header))
		entry->flags |= RENCODER_ENTRY_ALWAYS;
	if (col == 0)
	{
		publish_states(s, header, entry);
		rencoder_group_seal(entry, &s->scan.meta, header);
	}
	rencoder_group_edit_finish(&edit);
}
