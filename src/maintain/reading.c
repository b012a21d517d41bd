/*
 * reading.c
 *		Reading the table for new storage of ranges: those that have none, or whose present one is
 *		in use.
 */
#include "maintain/reading.h"

#include "base/options.h"
#include "format/format_filter.h"
#include "make/build_run.h"
#include "store/space.h"

/* Makes and links the headers of a group. */
static void
make_header(RencoderGroup *group)
{
	RencoderEntry entry = palloc0(group->meta->entry_size);

	entry->header = rencoder_group_make_headers(group->index, group->meta, group->number, true);
	for (int col = 0; col < group->meta->natts; col++)
		entry->column[col].min = PG_UINT64_MAX;
	rencoder_directory_put(group->index, group->meta, group->number, entry, true);
	group->header = entry->header;
	pfree(entry);
}

void
rencoder_reading_group(RencoderGroup *group, Relation index, const RencoderMeta *meta, uint32 number)
{
	(void) rencoder_directory_make(index, meta, number, true);
	if (!rencoder_group_locate(group, index, meta, number))
		make_header(group);
}

static void
remove_all(uint8 *set, renc_mask ranges)
{
	rencoder_set_put(set, renc_mask_andnot(rencoder_set_get(set), ranges));
}

/*
 * Forgets what a former summary of "unread" ranges left, or a reading that was given up.  They are not
 * summarized, so that nobody asks for them; scans that started before they became so will see another
 * epoch (INV-7).
 */
static void
prepare_column_to_read(const RencoderGroup *group, int col, renc_mask unread)
{
	RencoderGroupEdit edit;
	RencoderHeader header;

	rencoder_group_edit_begin(&edit, group, col, RENCODER_EDIT_HEADERS, 0);
	header = rencoder_group_edit_header(&edit);
	remove_all(header->always, unread);
	remove_all(header->keyless, unread);
	remove_all(header->has_null, unread);
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (!renc_mask_test(unread, slot))
			continue;
		header->min[slot] = PG_UINT64_MAX;
		header->max[slot] = 0;
		header->distinct[slot] = 0;
	}
	rencoder_group_edit_finish(&edit);
}

void
rencoder_reading_clear_filters(const RencoderGroup *group, renc_mask ranges)
{
	RencoderHeaderData copy;

	for (int col = 0; col < group->meta->natts; col++)
	{
		rencoder_group_copy_header(group, col, &copy);
		if (copy.matrix.start != RENCODER_NO_BLOCK)
		{
			RencoderSlab slab = rencoder_slab_of(group->index, &copy);

			rencoder_filter_clear(&slab, ranges);
		}
	}
}

static void
prepare_columns_to_read(const RencoderGroup *group, renc_mask todo)
{
	RencoderHeaderData first;
	renc_mask	unread;

	rencoder_group_copy_header(group, 0, &first);
	unread = renc_mask_andnot(todo, rencoder_set_get(first.summarized));
	for (int col = 0; col < group->meta->natts && !renc_mask_empty(unread); col++)
		prepare_column_to_read(group, col, unread);
}

/* The entry's cut, for slices that are summarized or flushing. */
static void
note_least_cut(RencoderEntry entry, const RencoderHeaderData *first)
{
	uint64		cut = rencoder_group_least_cut(first);

	if (cut != PG_UINT64_MAX)
		entry->cut = cut;
}

/*
 * Of a slice that has no storage yet, entries behind the cut are needed as soon as it is flushing:
 * whoever makes a delta meanwhile keeps them.
 */
renc_mask
rencoder_reading_begin(const RencoderGroup *group, renc_mask todo, bool flushing, uint32 run,
					   uint64 cut)
{
	RencoderGroupEdit edit;
	RencoderHeader first;
	renc_mask	summarized;
	renc_mask	ranges;

	prepare_columns_to_read(group, todo);
	rencoder_group_edit_begin(&edit, group, 0, RENCODER_EDIT_ENTRY, 0);
	first = rencoder_group_edit_first(&edit);
	summarized = rencoder_set_get(first->summarized);
	ranges = renc_mask_or(summarized, todo);
	rencoder_set_put(first->summarizing, renc_mask_or(rencoder_set_get(first->summarizing),
													  renc_mask_andnot(todo, summarized)));
	if (flushing)
	{
		rencoder_set_put(first->flushing, ranges);
		first->flushing_run = run;
		for (int slice = 0; slice < RENC_GROUP_SLICES; slice++)
		{
			if (first->summarized[slice] == 0 && first->flushing[slice] != 0)
				first->cut[slice] = cut;
		}
		note_least_cut(rencoder_group_edit_entry(&edit), first);
	}
	rencoder_group_edit_finish(&edit);
	return ranges;
}

/* What the row that is read has for a tree. */
static void
take_key(void *arg, int tree, uint64 key)
{
	RencoderReadTrees *trees = (RencoderReadTrees *) arg;

	trees->npairs++;
	rencoder_run_sorter_add(trees->sorter[tree], key, trees->scan->collector->place, 1);
}

void
rencoder_reading_into_trees(RencoderReadTrees *trees, RencoderRangeScan *scan, uint64 end)
{
	RencoderCollector *collector = rencoder_collect_create(scan->meta.natts);

	trees->scan = scan;
	rencoder_build_run_begin_sorters(trees->sorter, scan->meta.natts, rencoder_options_sort_memory(),
									 (uint32) Min(end * scan->places.parts, PG_UINT32_MAX), NULL, 0);
	collector->in_use = true;
	collector->sink = take_key;
	collector->sink_arg = trees;
	scan->collector = collector;
}

void
rencoder_reading_set_summarized(RencoderHeader first, RencoderEntry entry, renc_mask done, uint64 horizon,
								uint64 cut)
{
	renc_mask	summarized = rencoder_set_get(first->summarized);

	renc_mask_each(slot, done)
	{
		uint64	   *of_slice = &first->cut[slot / RENC_SLICE_RANGES];

		first->horizon[slot] = horizon;
		if (renc_mask_band(summarized, slot / RENC_SLICE_RANGES) == 0)
			*of_slice = cut;
		else
			*of_slice = Min(*of_slice, cut);
	}
	remove_all(first->summarizing, done);
	rencoder_set_put(first->summarized, renc_mask_or(summarized, done));
	entry->cut = rencoder_group_least_cut(first);
}

void
rencoder_reading_give_up(const RencoderGroup *group, uint32 run)
{
	RencoderGroupEdit edit;

	rencoder_group_edit_begin(&edit, group, 0, RENCODER_EDIT_ENTRY, 0);
	if (edit.first->flushing_run == run &&
		!renc_mask_empty(rencoder_set_get(edit.first->flushing)))
	{
		RencoderHeader first = rencoder_group_edit_first(&edit);

		remove_all(first->summarizing, rencoder_set_get(first->flushing));
		rencoder_set_put(first->flushing, renc_mask_none());
		first->flushing_run = 0;
		note_least_cut(rencoder_group_edit_entry(&edit), first);
	}
	rencoder_group_edit_finish(&edit);
}

void
rencoder_reading_set_cut(RencoderHeader first, RencoderEntry entry, uint64 cut)
{
	for (int slice = 0; slice < RENC_GROUP_SLICES; slice++)
		first->cut[slice] = cut;
	entry->cut = cut;
}

void
rencoder_reading_end_flushing(const RencoderGroup *group)
{
	RencoderGroupEdit edit;
	RencoderHeaderData copy;
	RencoderHeader first;
	RencoderEntry entry;

	rencoder_group_edit_begin(&edit, group, 0, RENCODER_EDIT_ENTRY, 0);
	entry = rencoder_group_edit_entry(&edit);
	entry->flags &= ~RENCODER_ENTRY_ALWAYS;
	rencoder_group_mark(entry, edit.first);
	for (int col = 1; col < group->meta->natts; col++)
	{
		rencoder_group_copy_header(group, col, &copy);
		rencoder_group_mark(entry, &copy);
	}
	first = rencoder_group_edit_first(&edit);
	rencoder_set_put(first->flushing, renc_mask_none());
	first->flushing_run = 0;
	rencoder_group_edit_finish(&edit);
}

void
rencoder_reading_add_range(RencoderHeader header, RencoderEntry entry, int slot,
						   const RencoderRangeSummary *r)
{
	RencoderEntryColumn *bounds = &entry->column[header->attno];

	header->min[slot] = Min(header->min[slot], r->min);
	header->max[slot] = Max(header->max[slot], r->max);
	bounds->min = Min(bounds->min, r->min);
	bounds->max = Max(bounds->max, r->max);
	if (r->has_null)
		rencoder_set_add(header->has_null, slot);
	if (r->keyless)
		rencoder_set_add(header->keyless, slot);
}
