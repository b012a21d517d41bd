/*
 * summarize.c
 *		Summarizing block ranges of an index in use, and taking summaries away.
 *
 * A slice of 8 ranges at a time, or a whole group that has no storage, by one maintainer per index
 * (INV-6).  src/README.md (section 7, Summarize) has the steps.
 *
 * After a load without automatic summarization whole groups are waiting.  Where the index keeps its
 * keys in runs they are flushed (compact.c).  Else their matrices are made directly, as in a build:
 * the filters are written and logged once, not slice by slice, and the shape is chosen by the keys
 * of all ranges.
 */
#include "maintain/summarize.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "design/filter_design.h"
#include "maintain/compact.h"
#include "maintain/reading.h"
#include "store/pending.h"
#include "store/space.h"
#include "table/range_scan.h"

/* Ranges of one group that are being summarized: of one slice, or all at once. */
typedef struct RencoderSummarizing
{
	RencoderRangeScan scan;
	RencoderGroup group;
	bool		names_run;		/* the group: other ranges of it may be
								 * covered */
	bool		whole;			/* all at once, into a matrix */
	int			slice;			/* of the group, unless "whole" */
	renc_mask	todo;			/* ranges of the group to summarize */
	bool		completes;		/* with them the group is full */
	bool		no_dead_toast;	/* an inserting session is at work; see
								 * RencoderCollector */
	bool		too_large;		/* keys of a whole group are too many */
	bool		untouched;		/* neither a run nor a configuration has
								 * settled the coder of a column */
	bool		may_get_coder[INDEX_MAX_KEYS];	/* a column */
	bool		trained;		/* coders have been asked for, as far as there
								 * can be any */
	uint64		cut;			/* what was read has the keys of pending pages
								 * up to it */
	uint64		horizon;
	MemoryContext context;		/* of what outlives a group: */
	RencoderDesigner *designer; /* NULL until needed */
} RencoderSummarizing;

/* Slot of the group that the collector's first one is. */
static int
first_summarized_slot(const RencoderSummarizing *s)
{
	return s->whole ? 0 : s->slice * RENC_SLICE_RANGES;
}

/*
 * Loads the coders of the group's keys, its own if it has any, also in a run; else the newest, and
 * then the column may still get another one.
 */
static void
load_summary_coders(RencoderSummarizing *s)
{
	RencoderHeaderData copy;

	s->untouched = !s->names_run;
	for (int col = 0; col < s->scan.meta.natts; col++)
	{
		bool		coded = rencoder_key_is_coded(s->scan.index, col);
		bool		settled;

		rencoder_group_copy_header(&s->group, col, &copy);
		settled = s->names_run || rencoder_is_configured(&copy.config);
		s->untouched &= !settled;
		s->may_get_coder[col] = coded && !settled;
		if (coded)
			rencoder_columns_load_coders(s->scan.index, col,
										 settled ? copy.config.coder :
										 rencoder_coder_newest_generation(s->scan.index, col), &s->scan.coders);
	}
}

static bool
training_for_summary_is_due(const RencoderSummarizing *s)
{
	return rencoder_columns_train_is_due(s->scan.heap, s->scan.index, RENCODER_GROWTH_OF_NEW);
}

static void
train_summary_coders(RencoderSummarizing *s)
{
	RencoderColumnCoders trained;

	rencoder_columns_train(s->scan.heap, s->scan.index, s->scan.indexInfo, true,
						   training_for_summary_is_due(s), &trained);
}

/* Did the scan find values of a column that should have a coder, and can get one? */
static bool
summary_lacks_coder(const RencoderSummarizing *s, int nslots)
{
	for (int col = 0; col < s->scan.meta.natts; col++)
	{
		bool		lacks = s->may_get_coder[col] && s->scan.coders.generation[col] == 0;

		for (int slot = 0; lacks && slot < nslots; slot++)
		{
			if (rencoder_range_has_value(&s->scan.collector->column[col].range[slot]))
				return true;
		}
	}
	return false;
}

/*
 * Reads the keys of "nslots" ranges from "first" on, as rencoder_range_scan() does into the
 * collector, with the coders of the group.  The first ranges with values of a column that wants a
 * coder and has none have one trained, of the table as it is by now, and are read again.
 */
static bool
scan_summarized_ranges(RencoderSummarizing *s, uint64 first, int nslots,
					   renc_mask todo, Size max_size)
{
	load_summary_coders(s);
	if (!rencoder_range_scan(&s->scan, first, nslots, todo, max_size, &s->horizon))
		return false;
	if (s->trained || !summary_lacks_coder(s, nslots))
		return true;
	s->trained = true;
	train_summary_coders(s);
	load_summary_coders(s);
	return rencoder_range_scan(&s->scan, first, nslots, todo, max_size, &s->horizon);
}

/* The header of a column of the group before; false if there is none. */
static bool
read_previous_summary(const RencoderSummarizing *s, int col, RencoderHeader header)
{
	RencoderGroup previous;

	if (s->group.number == 0 ||
		!rencoder_group_locate(&previous, s->scan.index, &s->scan.meta, s->group.number - 1))
		return false;
	rencoder_group_copy_header(&previous, col, header);
	return true;
}

/*
 * Distinct keys a range that filters of a new group should be made for at least.  A slice of full
 * ranges tells by itself, if they have keys.  Else it is what those of the group before are made
 * for, if it has any.
 */
static double
min_capacity_of_summary(const RencoderSummarizing *s, int col)
{
	uint64		end = s->scan.first + RENC_SLICE_RANGES;
	bool		full = s->whole ||
		end * s->scan.meta.pages_per_range <= RelationGetNumberOfBlocks(s->scan.heap);
	RencoderHeaderData previous;

	if (full && s->scan.collector->column[col].nkeys > 0)
		return 0;
	if (read_previous_summary(s, col, &previous) && rencoder_is_configured(&previous.config))
		return previous.config.capacity;
	return s->whole ? 0 : rencoder_range_scan_full_keys(&s->scan, col);
}

/*
 * A designer whose search goes on from where it ended for the group before, in the present context.
 */
static RencoderDesigner *
begin_summary_design(const RencoderSummarizing *s)
{
	uint64		nranges = rencoder_range_count(&s->scan.meta, RelationGetNumberOfBlocks(s->scan.heap));
	uint64		end = (s->group.number + (uint64) 1) * RENC_GROUP_RANGES;
	RencoderDesigner *designer = rencoder_designer_create(s->scan.index, &s->scan.meta,
														  (double) Max(nranges, end));
	RencoderHeaderData previous;

	for (int col = 0; col < s->scan.meta.natts; col++)
	{
		if (read_previous_summary(s, col, &previous) &&
			previous.config.coder == s->scan.coders.generation[col])
			rencoder_designer_resume(designer, col, &previous.config,
									 previous.sample_stamp);
	}
	return designer;
}

/*
 * Chooses the configuration of a column of a new group.  Groups share a designer: what a search
 * costs is in proportion to the groups of a designer, as in a build.
 */
static void
plan_summary_column(RencoderSummarizing *s, int col, RencoderHeader copy)
{
	MemoryContext old = MemoryContextSwitchTo(s->context);

	if (s->designer == NULL)
		s->designer = begin_summary_design(s);
	MemoryContextSwitchTo(old);
	copy->best_fpr = rencoder_design_column(s->designer, s->scan.collector, col,
											min_capacity_of_summary(s, col), &copy->config);
	copy->predicted_fpr = copy->best_fpr;
	copy->sample_stamp = rencoder_designer_stamp(s->designer, col, copy->config.coder);
}

/* Puts what was learnt of a range into the header and the entry's bounds. */
static void
publish_summarized_range(const RencoderSummarizing *s, int col, RencoderHeader header,
						 RencoderEntry entry,
						 const RencoderHeaderData *copy, renc_mask always, int slot)
{
	const RencoderRangeSummary *r = &s->scan.collector->column[col].range[slot -
																		  first_summarized_slot(s)];

	rencoder_reading_add_range(header, entry, slot, r);
	header->distinct[slot] = r->distinct;
	if (renc_mask_test(always, slot))
		rencoder_set_add(header->always, slot);
}

/*
 * Links a column's storage, as "copy" says, and publishes its ranges; of the first also the states.
 */
static void
publish_summary_column(RencoderSummarizing *s, int col, const RencoderHeaderData *copy,
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
	renc_mask_each(slot, s->todo)
		publish_summarized_range(s, col, header, entry, copy, always, slot);
	rencoder_group_mark(entry, header);
	if (col == 0)
	{
		rencoder_reading_set_summarized(header, entry, s->todo, s->horizon, s->cut);
		rencoder_group_update_entry(entry, &s->scan.meta, header);
	}
	rencoder_group_edit_finish(&edit);
}

/* The keys of the ranges that were read; returns those that do not fit, as ranges of the group. */
static renc_mask
keys_of_summary(const RencoderSummarizing *s, int col, const RencoderConfig *config,
				renc_keys *ranges)
{
	renc_mask	always = rencoder_filter_keys(config, s->scan.collector, col, renc_mask_all(),
											  ranges + first_summarized_slot(s));

	return s->whole ? always : renc_mask_from_slice(always, s->slice);
}

/*
 * Writes the keys of a column's ranges, and publishes them.  From the allocation of a matrix until
 * it is linked nothing may be cancelled: its pages would be lost.
 */
static void
write_summary_column(RencoderSummarizing *s, int col, RencoderHeader copy)
{
	renc_keys	ranges[RENC_GROUP_RANGES] = {{NULL, 0}};
	renc_mask	always = keys_of_summary(s, col, &copy->config, ranges);
	RencoderSlab slab;

	HOLD_INTERRUPTS();
	if (copy->matrix.start == RENCODER_NO_BLOCK)
	{
		copy->matrix = rencoder_space_alloc(s->scan.index, rencoder_filter_npages(&copy->config));
		slab = rencoder_slab_of(s->scan.index, copy);
		rencoder_filter_make_pages(&slab, s->whole ? -1 : s->slice, ranges);
	}
	else
	{
		slab = rencoder_slab_of(s->scan.index, copy);
		rencoder_filter_check_extent(&slab);
		rencoder_filter_add_keys(&slab, ranges);
	}
	publish_summary_column(s, col, copy, always);
	RESUME_INTERRUPTS();
}

/* Copies a column's matrix to one that has room for the slice, if it has none. */
static void
make_summary_matrix_room(const RencoderSummarizing *s, int col)
{
	RencoderHeaderData copy;
	RencoderConfig config;
	RencoderGroupEdit edit;
	RencoderEntry entry;
	RencoderHeader header;
	RencoderExtent extent;
	RencoderSlab old;
	RencoderSlab new;

	rencoder_group_copy_header(&s->group, col, &copy);
	if (copy.matrix.start == RENCODER_NO_BLOCK || s->slice < (int) copy.config.width)
		return;
	config = copy.config;
	config.width = rencoder_filter_width(s->slice);
	HOLD_INTERRUPTS();
	extent = rencoder_space_alloc(s->scan.index, rencoder_filter_npages(&config));
	old = rencoder_slab_of(s->scan.index, &copy);
	new = rencoder_slab(s->scan.index, &config, extent);
	rencoder_filter_copy_to_wider(&old, &new);
	rencoder_group_edit_begin(&edit, &s->group, col, RENCODER_EDIT_EPOCH, 1);
	entry = rencoder_group_edit_entry(&edit);
	rencoder_group_edit_release_storage(&edit);
	header = rencoder_group_edit_header(&edit);
	header->config = entry->column[col].config = config;
	header->matrix = entry->column[col].matrix = extent;
	rencoder_group_edit_new_epoch(&edit);
	rencoder_group_edit_finish(&edit);
	RESUME_INTERRUPTS();
}

/*
 * Does a column without storage need some?  If it has no keys yet, there is nothing to make filters
 * for, nor to learn a coder from.  A group that is full has storage, so that scans need not ask its
 * header.
 */
static bool
summary_wants_storage(const RencoderSummarizing *s, int col)
{
	return s->completes || s->scan.collector->column[col].nkeys > 0;
}

/* Writes the keys of a column and publishes them. */
static void
summarize_column(RencoderSummarizing *s, int col)
{
	RencoderHeaderData copy;
	const char *fault;

	rencoder_group_copy_header(&s->group, col, &copy);
	if (!rencoder_is_configured(&copy.config) && !summary_wants_storage(s, col))
	{
		publish_summary_column(s, col, &copy, renc_mask_none());
		return;
	}
	if (!rencoder_is_configured(&copy.config))
	{
		copy.config.coder = s->scan.coders.generation[col];
		plan_summary_column(s, col, &copy);
		copy.config.width = s->whole || s->group.number > 0 ? RENC_MATRIX_WIDTH :
			rencoder_filter_width(s->slice);
	}
	fault = rencoder_filter_config_fault(&copy.config);
	if (fault != NULL)
		rencoder_page_corrupted(s->scan.index, s->group.header + col, fault);
	write_summary_column(s, col, &copy);
}

/*
 * Reads the ranges s->todo and makes their storage; false if their keys are larger than max_size.
 */
static bool
summarize_todo(RencoderSummarizing *s, Size max_size)
{
	int			first = first_summarized_slot(s);

	s->cut = rencoder_pending_last_closed(s->scan.index);
	rencoder_reading_clear_filters(&s->group, s->todo);
	(void) rencoder_reading_begin(&s->group, s->todo, false, 0, 0);
	if (!scan_summarized_ranges(s, (uint64) s->group.number * RENC_GROUP_RANGES + first,
								s->whole ? RENC_GROUP_RANGES : RENC_SLICE_RANGES,
								s->whole ? s->todo : renc_mask_to_slice(s->todo, s->slice),
								max_size))
		return false;

	/* The first column comes last: its record sets the states. */
	for (int col = s->scan.meta.natts - 1; col >= 0; col--)
		summarize_column(s, col);
	return true;
}

/* Summarizes the unsummarized ranges of the slice among "wanted"; returns how many. */
static int
summarize_slice(RencoderSummarizing *s, renc_mask wanted)
{
	RencoderHeaderData copy;

	CHECK_FOR_INTERRUPTS();
	rencoder_group_copy_header(&s->group, 0, &copy);
	s->todo = renc_mask_andnot(wanted, rencoder_set_get(copy.summarized));
	if (renc_mask_empty(s->todo))
		return 0;
	s->completes = renc_mask_within(renc_mask_all(),
									renc_mask_or(s->todo, rencoder_set_get(copy.summarized)));
	for (int col = 0; col < s->scan.meta.natts; col++)
		make_summary_matrix_room(s, col);
	(void) summarize_todo(s, 0);
	return renc_mask_count(s->todo);
}

/* Summarizes all ranges at once, if no column has storage and their keys fit into memory. */
static int
summarize_whole(RencoderSummarizing *s)
{
	if (s->too_large || !s->untouched)
		return 0;
	s->whole = s->completes = true;
	s->todo = renc_mask_all();
	s->too_large = !summarize_todo(s, rencoder_options_key_memory());
	s->whole = false;
	return s->too_large ? 0 : RENC_GROUP_RANGES;
}

/* Is the group all done? */
static bool
is_complete(const RencoderSummarizing *s)
{
	RencoderEntry entry = palloc(s->scan.meta.entry_size);

	(void) rencoder_directory_read(s->scan.index, &s->scan.meta, NULL, s->group.number, NULL, entry);
	return (entry->flags & (RENCODER_ENTRY_SEALED | RENCODER_ENTRY_COVERED)) != 0;
}

/* Slice by slice. */
static int
summarize_slices(RencoderSummarizing *s, uint64 first, uint64 last)
{
	int			count = 0;

	for (uint64 r = first; r <= last;)
	{
		uint64		end = Min(last + 1, (r / RENC_SLICE_RANGES + 1) * RENC_SLICE_RANGES);
		renc_mask	wanted = renc_mask_none();

		rencoder_vacuum_delay_point();
		s->slice = rencoder_slot_of_range(r) / RENC_SLICE_RANGES;
		for (; r < end; r++)
			renc_mask_set(&wanted, rencoder_slot_of_range(r));
		count += summarize_slice(s, wanted);
	}
	return count;
}

/* Summarizes the ranges [first, last] of s->group; context is the caller's. */
static int
summarize_group(RencoderSummarizing *s, uint64 first, uint64 last)
{
	RencoderHeaderData copy;
	int			count = 0;

	if (is_complete(s))
		return 0;
	rencoder_reading_group(&s->group, s->scan.index, &s->scan.meta, s->group.number);
	rencoder_group_copy_header(&s->group, 0, &copy);
	s->names_run = copy.run != 0;
	load_summary_coders(s);
	if (s->untouched && training_for_summary_is_due(s))
		train_summary_coders(s);
	if (last - first + 1 == RENC_GROUP_RANGES)
		count += summarize_whole(s);
	count += summarize_slices(s, first, last);
	return count;
}

static void
init_summarizing(RencoderSummarizing *s, Relation index, Relation heap)
{
	memset(s, 0, sizeof(*s));
	rencoder_range_scan_init(&s->scan, index, heap);
	s->context = CurrentMemoryContext;
}

/* Ranges [first, last] of one group; forgets its memory. */
static int
summarize_in_group(RencoderSummarizing *s, uint64 first, uint64 last)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "rencoder summarize",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int			count;

	s->group.number = rencoder_group_of_range(first);
	s->scan.collector = rencoder_collect_create(s->scan.meta.natts);
	s->scan.collector->in_use = true;
	s->scan.collector->no_dead_toast = s->no_dead_toast;
	memset(&s->scan.coders, 0, sizeof(s->scan.coders));
	count = summarize_group(s, first, last);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return count;
}

double
rencoder_summarize(Relation index, Relation heap, uint64 first, uint64 last)
{
	RencoderSummarizing s;
	uint64		nranges;
	double		count = 0;

	init_summarizing(&s, index, heap);
	nranges = rencoder_range_count(&s.scan.meta, RelationGetNumberOfBlocks(heap));
	for (uint64 r = first; r <= last && r < nranges;)
	{
		uint64		end = Min(nranges, (r / RENC_GROUP_RANGES + 1) * RENC_GROUP_RANGES);

		if (last < end)
			end = last + 1;
		CHECK_FOR_INTERRUPTS();

		/* Between the groups others have their turn. */
		rencoder_meta_lock_maintainer(index);
		count += summarize_in_group(&s, r, end - 1);
		rencoder_meta_unlock_maintainer(index);
		r = end;
	}
	return count;
}

double
rencoder_summarize_all(Relation index, Relation heap)
{
	uint64		complete = RelationGetNumberOfBlocks(heap) / rencoder_meta_get(index)->pages_per_range;
	uint64		nranges = 0;

	while (rencoder_compact_unread(index, heap, complete, 1, 0, false, &nranges) == RENCODER_COMPACT_DONE)
		;
	return (double) nranges + rencoder_summarize(index, heap, 0, PG_UINT64_MAX);
}

void
rencoder_summarize_slices(Relation index, Relation heap, uint64 first, uint64 end,
						  bool no_dead_toast)
{
	RencoderSummarizing s;

	Assert(first / RENC_GROUP_SLICES == (end - 1) / RENC_GROUP_SLICES);
	init_summarizing(&s, index, heap);
	s.no_dead_toast = no_dead_toast;
	(void) summarize_in_group(&s, first * RENC_SLICE_RANGES, end * RENC_SLICE_RANGES - 1);
}

/* ---- Taking summaries away ---- */

/* Takes it back to unsummarized, and from covered (INV-11). */
static void
desummarize_slot(const RencoderGroup *group, unsigned int slot)
{
	RencoderGroupEdit edit;

	rencoder_group_edit_begin(&edit, group, 0, RENCODER_EDIT_EPOCH, 0);
	if (rencoder_header_takes_entries(edit.first, slot))
	{
		RencoderHeader first = rencoder_group_edit_first(&edit);
		uint64		cut;

		rencoder_set_remove(first->summarized, slot);
		rencoder_set_remove(first->summarizing, slot);
		rencoder_set_remove(first->covered, slot);
		rencoder_set_remove(first->flushing, slot);
		rencoder_set_remove(first->noted, slot);
		cut = rencoder_group_least_cut(first);
		if (cut != PG_UINT64_MAX)
			rencoder_group_edit_entry(&edit)->cut = cut;
		rencoder_group_update_entry(rencoder_group_edit_entry(&edit), group->meta, first);
		rencoder_group_edit_new_epoch(&edit);
	}
	rencoder_group_edit_finish(&edit);
}

void
rencoder_desummarize(Relation index, uint64 range)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	RencoderGroup group;

	rencoder_meta_lock_maintainer(index);
	if (rencoder_group_locate(&group, index, &meta, rencoder_group_of_range(range)))
		desummarize_slot(&group, rencoder_slot_of_range(range));
	rencoder_meta_unlock_maintainer(index);
}
