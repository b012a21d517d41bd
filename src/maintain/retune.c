/*
 * retune.c
 *		Finding the groups of filters of an index that another configuration would serve
 *		better, or whose keys have come to deltas, and rebuilding them.
 *
 * Whether a group gains is known only from its keys, so the table is read for that; what is
 * rebuilt is made of the same keys.
 *
 * src/README.md (section 7, Rebuild) has the steps.
 */
#include "maintain/retune.h"

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "design/filter_design.h"
#include "format/format_filter.h"
#include "key/key.h"
#include "maintain/delta_merge.h"
#include "maintain/reading.h"
#include "maintain/run_groups.h"
#include "store/group_edit.h"
#include "store/pending.h"
#include "store/run_list.h"
#include "store/sample_pages.h"
#include "store/space.h"

/* Groups that gain nothing by other queries, one after the other, after which VACUUM stops. */
#define UNPROFITABLE_GROUPS	4

/*
 * Filters of a group are made anew when more than this part of its keys is in deltas and the
 * pending list, which each query searches, too.  VACUUM looks for such groups if these have as
 * large a part of the index, and more than a few pages.
 */
#define LATE_PART	10
#define LATE_PAGES	8

/* A group that is made anew. */
typedef struct Rebuild
{
	RencoderGroup group;
	RencoderRangeScan scan;		/* coders: by which keys are to be made;
								 * collector: of 128 slots */
	renc_mask	ranges;			/* that were read: all summarized ones */
	uint64		cut;
	uint64		horizon;

	/* What each column is to be. */
	RencoderConfig config[INDEX_MAX_KEYS];
	double		predicted_fpr[INDEX_MAX_KEYS];
	uint64		stamp[INDEX_MAX_KEYS];	/* rencoder_designer_stamp() */
} Rebuild;

typedef struct Retuning
{
	Rebuild		rebuild;
	RencoderDesigner *designer;
	double		margin;			/* of the present cost over the best, to
								 * rebuild */
	RencoderHeaderData *column; /* copies of the header pages */
	uint32		ngroups;		/* of the table */
	uint64	   *late;			/* keys of each group in deltas and on the
								 * pending list; NULL: few */
	MemoryContext context;		/* reset with each group */
} Retuning;

/* ---- Making the filters of a group anew ---- */

/* Reads the keys of the summarized ranges of a group, any version visible. */
static void
collect_group(Rebuild *r)
{
	r->ranges = rencoder_reading_begin(&r->group, renc_mask_none(), true, 0, 0);
	r->cut = rencoder_pending_last_closed(r->scan.index);
	(void) rencoder_range_scan(&r->scan, (uint64) r->group.number * RENC_GROUP_RANGES,
							   RENC_GROUP_RANGES, r->ranges, 0, &r->horizon);
}

/* What was read of the ranges takes the place of what was known of them. */
static void
apply_retuned_ranges(const Rebuild *r, int col, RencoderHeader header, RencoderEntry entry)
{
	RencoderEntryColumn *bounds = &entry->column[col];

	bounds->min = PG_UINT64_MAX;
	bounds->max = 0;
	rencoder_set_put(header->keyless, renc_mask_none());
	rencoder_set_put(header->has_null, renc_mask_none());
	renc_mask_each(slot, r->ranges)
	{
		const RencoderRangeSummary *range = &r->scan.collector->column[col].range[slot];

		header->min[slot] = PG_UINT64_MAX;
		header->max[slot] = 0;
		rencoder_reading_add_range(header, entry, slot, range);
		header->distinct[slot] = range->distinct;
	}
}

/* Makes the matrix of a column, and switches to it; the first column comes last. */
static void
rebuild_column(Rebuild *r, int col)
{
	renc_keys	ranges[RENC_GROUP_RANGES];
	renc_mask	always = rencoder_filter_keys(&r->config[col], r->scan.collector, col, r->ranges, ranges);
	char	   *image = rencoder_filter_make_image(&r->config[col], ranges);
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
	apply_retuned_ranges(r, col, header, entry);
	rencoder_set_put(header->always, always);
	rencoder_group_mark(entry, header);
	if (col == 0)
	{
		rencoder_set_put(header->noted, renc_mask_none());
		rencoder_reading_set_cut(header, entry, r->cut);
		rencoder_group_update_entry(entry, r->group.meta, header);
	}
	rencoder_group_edit_new_epoch(&edit);
	rencoder_group_edit_finish(&edit);
	RESUME_INTERRUPTS();
	pfree(image);
}

/* Makes matrices of what was read, for all columns.  Inserts and scans go on meanwhile. */
static void
rebuild_group(Rebuild *r)
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
	rencoder_reading_end_flushing(&r->group);
}

/* ---- Which groups ---- */

/*
 * Copies the headers of a group; false if it has no filters, or names a run as well, or will: it
 * has noted ranges.
 */
static bool
read_group(Retuning *t, uint32 group)
{
	Rebuild    *r = &t->rebuild;

	if (!rencoder_group_locate(&r->group, r->scan.index, &r->scan.meta, group))
		return false;
	for (int col = 0; col < r->scan.meta.natts; col++)
		rencoder_group_copy_header(&r->group, col, &t->column[col]);
	return t->column[0].run == 0 && !renc_mask_empty(rencoder_set_get(t->column[0].summarized)) &&
		(renc_mask_empty(rencoder_set_get(t->column[0].noted)) ||
		 !rencoder_options_use_runs(r->scan.index));
}

/*
 * Would the keys of the group fit into memory?  All of maintenance_work_mem is the limit here, not
 * rencoder_options_key_memory(): this is an estimate by what the headers say, and a group that was
 * built within the half is not to drop out because it has got some keys more.
 */
static bool
retune_fits_memory(const Retuning *t)
{
	double		keys = 0;

	for (int col = 0; col < t->rebuild.scan.meta.natts; col++)
	{
		for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
			keys += t->column[col].distinct[slot];
	}
	return keys * sizeof(uint64) <= maintenance_work_mem * 1024.0;
}

/*
 * Ranges whose keys would not be in storage of this configuration, and those
 * of them for which that is so with any.
 */
static int
count_unfit(const Retuning *t, int col, const RencoderConfig *config, int *keyless)
{
	const RencoderCollector *c = t->rebuild.scan.collector;
	renc_keys	ranges[RENC_GROUP_RANGES];

	*keyless = 0;
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
		*keyless += c->column[col].range[slot].keyless;
	return renc_mask_count(rencoder_filter_keys(config, c, col, renc_mask_all(), ranges));
}

/*
 * The width of a matrix for all summarized ranges of the group.  A column that had no keys when
 * they were summarized has none, but may have got keys since.
 */
static uint32
needed_rebuild_width(const Retuning *t)
{
	renc_mask	summarized = rencoder_set_get(t->column[0].summarized);
	int			slice = RENC_GROUP_SLICES - 1;

	while (slice > 0 && renc_mask_band(summarized, slice) == 0)
		slice--;
	return t->rebuild.group.number > 0 ? RENC_MATRIX_WIDTH : rencoder_filter_width(slice);
}

/*
 * Is the column to be rebuilt?  Sets how, and what is expected of it as it is
 * and of the best.  A rebuilding that gains must leave nothing to gain.
 */
static bool
is_rebuild_wanted(Retuning *t, int col, RencoderPrediction *now, RencoderPrediction *best)
{
	Rebuild    *r = &t->rebuild;
	const RencoderHeaderData *header = &t->column[col];
	RencoderConfig *config = &r->config[col];
	int			always = renc_mask_count(renc_mask_or(rencoder_set_get(header->always),
													  rencoder_set_get(header->keyless)));
	bool		recoded = header->config.coder != r->scan.coders.generation[col];
	RencoderConfig present = header->config;
	int			unfit;
	int			keyless;

	memset(config, 0, sizeof(*config));
	now->fpr = now->cost = best->fpr = best->cost = -1;
	if (recoded)
	{
		/*
		 * What serves keys of the old coder says nothing of those of the new
		 * one.
		 */
		memset(&present, 0, sizeof(present));
		present.coder = r->scan.coders.generation[col];
	}
	rencoder_design_again(t->designer, r->scan.collector, col, 0, &present, config, now, best);
	config->width = Max(header->config.width, needed_rebuild_width(t));

	/* Keys may be there no more: VACUUM fetches no dead value from TOAST. */
	unfit = count_unfit(t, col, config, &keyless);
	if (keyless > always)
		return false;
	if (recoded || unfit < always)
		return true;
	return now->cost >= 0 && now->cost > best->cost * t->margin &&
		memcmp(config, &header->config, sizeof(*config)) != 0;
}

/* Notes what was predicted for a column that stays as it is. */
static void
note_retune_prediction(const Retuning *t, int col, double fpr, double best_fpr)
{
	const Rebuild *r = &t->rebuild;
	const RencoderHeaderData *header = &t->column[col];
	RencoderGroupEdit edit;
	RencoderHeader image;

	if (header->predicted_fpr == fpr && header->best_fpr == best_fpr &&
		header->sample_stamp == r->stamp[col])
		return;
	rencoder_group_edit_begin(&edit, &r->group, col, RENCODER_EDIT_HEADERS, 0);
	image = rencoder_group_edit_header(&edit);
	image->predicted_fpr = fpr;
	image->best_fpr = best_fpr;
	image->sample_stamp = r->stamp[col];
	rencoder_group_edit_finish(&edit);
}

/* Have many keys of the group come since its filters were made? */
static bool
has_late_keys(const Retuning *t)
{
	uint64		keys = 0;

	if (t->late == NULL)
		return false;
	for (int col = 0; col < t->rebuild.scan.meta.natts; col++)
	{
		for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
			keys += t->column[col].distinct[slot];
	}
	return t->late[t->rebuild.group.number] > keys / LATE_PART;
}

/*
 * Reads the keys of the group that read_group() was called for, and rebuilds it if a
 * column gains by it.  True if it was.
 */
static bool
retune_group(Retuning *t)
{
	Rebuild    *r = &t->rebuild;
	RencoderPrediction now[INDEX_MAX_KEYS];
	RencoderPrediction best[INDEX_MAX_KEYS];
	bool		any = has_late_keys(t);

	if (!retune_fits_memory(t))
	{
		ereport(DEBUG1,
				(errmsg_internal("group %u of index \"%s\" is not retuned for want of maintenance_work_mem",
								 r->group.number, RelationGetRelationName(r->scan.index))));
		return false;
	}
	r->scan.collector = rencoder_collect_create(r->scan.meta.natts);
	r->scan.collector->in_use = true;
	collect_group(r);
	for (int col = 0; col < r->scan.meta.natts; col++)
	{
		CHECK_FOR_INTERRUPTS();
		r->stamp[col] = rencoder_designer_stamp(t->designer, col, r->scan.coders.generation[col]);
		any |= is_rebuild_wanted(t, col, &now[col], &best[col]);
		r->predicted_fpr[col] = best[col].fpr;
	}
	if (any)
	{
		rebuild_group(r);
		return true;
	}
	rencoder_reading_give_up(&r->group, 0);
	for (int col = 0; col < r->scan.meta.natts; col++)
		note_retune_prediction(t, col, now[col].fpr, best[col].fpr);
	return false;
}

/* The newest coders; with "train", new ones where there are none, or the table has grown. */
static void
find_coders(Retuning *t, bool train)
{
	Rebuild    *r = &t->rebuild;

	if (train)
		rencoder_columns_train(r->scan.heap, r->scan.index, r->scan.indexInfo, true,
							   rencoder_columns_train_is_due(r->scan.heap, r->scan.index,
															 RENCODER_GROWTH_IN_VACUUM),
							   &r->scan.coders);
	for (int col = 0; col < r->scan.meta.natts; col++)
		rencoder_columns_load_coders(r->scan.index, col,
									 rencoder_coder_newest_generation(r->scan.index, col), &r->scan.coders);
}

static void
begin_retuning(Retuning *t, Relation index, Relation heap, bool train, double margin)
{
	uint64		nranges;

	memset(t, 0, sizeof(*t));
	t->margin = margin;
	rencoder_range_scan_init(&t->rebuild.scan, index, heap);
	t->column = palloc(t->rebuild.scan.meta.natts * sizeof(RencoderHeaderData));

	rencoder_meta_lock_maintainer(index);
	find_coders(t, train);
	rencoder_meta_unlock_maintainer(index);

	nranges = rencoder_range_count(&t->rebuild.scan.meta, RelationGetNumberOfBlocks(heap));
	t->ngroups = rencoder_group_count(nranges);
	t->designer = rencoder_designer_create(index, &t->rebuild.scan.meta, (double) nranges);
	t->context = AllocSetContextCreate(CurrentMemoryContext, "rencoder retune",
									   ALLOCSET_DEFAULT_SIZES);
}

/* Are deltas and pending list large beside the index? */
static bool
late_keys_want_retuning(Relation index)
{
	RencoderRuns runs;
	uint64		base;
	uint64		pages;

	rencoder_run_groups_count_pages(index, &base, &pages);
	rencoder_runs_copy(index, &runs, NULL);
	pages += runs.pending.last_number - runs.pending.first_number;
	return pages > LATE_PAGES && pages > RelationGetNumberOfBlocks(index) / LATE_PART;
}

static void
count_late_keys(Retuning *t)
{
	Relation	index = t->rebuild.scan.index;

	(void) rencoder_pending_close(index);
	t->late = palloc_extended(Max(t->ngroups, 1) * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	rencoder_meta_lock_maintainer(index);
	rencoder_delta_count_keys(index, t->ngroups, t->late);
	rencoder_meta_unlock_maintainer(index);
}

/* Are other queries known than when the group was looked at last, or another coder? */
static bool
samples_changed(Retuning *t)
{
	const Rebuild *r = &t->rebuild;

	for (int col = 0; col < r->scan.meta.natts; col++)
	{
		uint32		coder = r->scan.coders.generation[col];
		uint64		stamp = rencoder_designer_stamp(t->designer, col, coder);

		if (t->column[col].config.coder != coder ||
			(stamp != 0 && t->column[col].sample_stamp != stamp))
			return true;
	}
	return false;
}

/* What VACUUM may still do. */
typedef struct Limits
{
	uint32		reads;			/* groups whose rows may be read */
	int			unprofitable;	/* of these, that may gain nothing */
} Limits;

/* A group in VACUUM; true if it was rebuilt. */
static bool
retune_group_in_vacuum(Retuning *t, uint32 group, Limits *limits)
{
	bool		late;

	if (limits->reads == 0 || !read_group(t, group))
		return false;
	late = has_late_keys(t);
	if (!late && (limits->unprofitable == 0 || !samples_changed(t)))
		return false;
	limits->reads--;
	if (retune_group(t))
	{
		limits->unprofitable = UNPROFITABLE_GROUPS;
		return true;
	}
	limits->unprofitable -= !late;
	return false;
}

/*
 * Visits all groups, from any on where "limits" bounds the work, so that all have their turn.
 * Returns how many were rebuilt.
 */
static int64
visit_groups(Retuning *t, Limits *limits)
{
	Relation	index = t->rebuild.scan.index;
	uint32		n = t->ngroups;
	uint32		start = limits == NULL || n == 0 ? 0 :
		(uint32) pg_prng_uint64_range(&pg_global_prng_state, 0, n - 1);
	int64		count = 0;

	for (uint32 i = 0; i < n; i++)
	{
		uint32		group = (start + i) % n;
		MemoryContext old = MemoryContextSwitchTo(t->context);

		rencoder_vacuum_delay_point();
		rencoder_meta_lock_maintainer(index);
		if (limits != NULL)
			count += retune_group_in_vacuum(t, group, limits);
		else if (read_group(t, group))
			count += retune_group(t);
		rencoder_meta_unlock_maintainer(index);
		MemoryContextSwitchTo(old);
		MemoryContextReset(t->context);
	}
	MemoryContextDelete(t->context);
	if (count > 0)
	{
		/* Their keys in deltas and on the pending list are needed no more. */
		rencoder_meta_lock_maintainer(index);
		rencoder_run_groups_clean_up(index);
		rencoder_meta_unlock_maintainer(index);
		rencoder_delta_drop_needless(index);
	}
	return count;
}

int64
rencoder_retune(Relation index, Relation heap)
{
	Retuning	t;

	begin_retuning(&t, index, heap, true, RENCODER_RETUNE_MARGIN);
	count_late_keys(&t);
	return visit_groups(&t, NULL);
}

int64
rencoder_retune_some(Relation index, Relation heap)
{
	Retuning	t;
	Limits		limits = {0, UNPROFITABLE_GROUPS};

	/* Coders are for the tables that are summarized. */
	begin_retuning(&t, index, heap,
				   rencoder_range_count(rencoder_meta_get(index),
										RelationGetNumberOfBlocks(heap)) >= RENC_SLICE_RANGES,
				   RENCODER_VACUUM_MARGIN);
	limits.reads = Max(RENCODER_VACUUM_GROUPS, t.ngroups / RENCODER_VACUUM_READ_SHARE);
	if (late_keys_want_retuning(index))
		count_late_keys(&t);
	return visit_groups(&t, &limits);
}
