/*
 * retune.c
 *		Finding the groups of an index that another configuration would serve
 *		better, and rebuilding them.
 *
 * Whether a group gains is known only from its keys, so the table is read
 * once; what has to be rebuilt, twice.
 */
#include "maintain/retune.h"

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "key/key.h"
#include "maintain/compact.h"
#include "maintain/run_groups.h"
#include "maintain/summarize.h"
#include "store/group_edit.h"
#include "store/sample_pages.h"

/*
 * Groups looked at last with the same queries that do not gain, after which VACUUM
 * believes that the others of them would not either; and those of any kind, after
 * which it stops.
 */
#define MAX_UNPROFITABLE	2
#define MOST_UNPROFITABLE	4

/*
 * Filters with so many more bits set than when they were made pass many more
 * ranges: with half of all bits set at first, and 14 tests, a tenth more bits
 * are nearly four times the false positives.
 */
#define OUTGROWN	1.1

/*
 * Coders are looked at again when the table has grown by this factor, or its deltas are so large a
 * part of its base runs: other values may have come in the place of those that a coder knows.
 */
#define GROWTH		1.125
#define LATE_PART	10

typedef struct Retuning
{
	RencoderRebuild rebuild;
	RencoderDesigner *designer;
	double		margin;			/* of the present cost over the best, to
								 * rebuild */
	RencoderHeaderData *column; /* copies of the header pages */
	uint32		ngroups;		/* of the table */
	bool		full;			/* the group is a matrix of 128 summarized
								 * ranges */
	MemoryContext context;		/* reset with each group */
} Retuning;

/* Are these the first ranges of a group, without a gap? */
static bool
is_beginning(renc_mask mask)
{
	int			n = renc_mask_count(mask);

	for (int slot = 0; slot < n; slot++)
	{
		if (!renc_mask_test(mask, slot))
			return false;
	}
	return true;
}

/* Copies the headers of a group; false if there are none. */
static bool
copy_all_headers(Retuning *t, uint32 group)
{
	RencoderRebuild *r = &t->rebuild;

	if (!rencoder_group_locate(&r->group, r->scan.index, &r->scan.meta, group))
		return false;
	for (int col = 0; col < r->scan.meta.natts; col++)
		rencoder_group_copy_header(&r->group, col, &t->column[col]);
	return true;
}

/* Is there a column whose coder is not the newest, in the headers that were copied? */
static bool
has_old_coder(const Retuning *t)
{
	for (int col = 0; col < t->rebuild.scan.meta.natts; col++)
	{
		if (t->column[col].config.coder != t->rebuild.scan.coders.generation[col])
			return true;
	}
	return false;
}

/*
 * Copies the headers of a group; false if it cannot be rebuilt: it has no
 * summaries, ranges in the middle of a matrix lost theirs, or it names a run
 * that was made with the newest coders.  Takes away what an interrupted rebuilding left.
 */
static bool
read_group(Retuning *t, uint32 group)
{
	RencoderRebuild *r = &t->rebuild;
	renc_mask	summarized;
	bool		slices = false;

	if (!copy_all_headers(t, group))
		return false;
	for (int col = 0; col < r->scan.meta.natts; col++)
		slices |= t->column[col].matrix.start == RENCODER_NO_BLOCK;
	rencoder_rebuild_forget(&r->group);
	t->full = false;
	if (t->column[0].run != 0)
		return has_old_coder(t);
	summarized = rencoder_set_get(t->column[0].summarized);
	t->full = !slices && renc_mask_count(summarized) == RENC_GROUP_RANGES;
	return !renc_mask_empty(summarized) && (slices || is_beginning(summarized));
}

/*
 * Would the keys of the group fit into memory?  All of maintenance_work_mem is the limit here, not
 * rencoder_options_key_memory(): this is an estimate by what the headers say, and a group that was
 * built within the half is not to drop out because it has got some keys more.
 */
static bool
fits_memory(const Retuning *t)
{
	double		keys = 0;

	for (int col = 0; col < t->rebuild.scan.meta.natts; col++)
	{
		for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
			keys += t->column[col].distinct[slot];
	}
	return keys * sizeof(uint64) <= maintenance_work_mem * 1024.0;
}

/* Are many more bits set than when the column was made? */
static bool
has_outgrown(const Retuning *t, int col)
{
	const RencoderHeaderData *header = &t->column[col];
	RencoderSlab slab = rencoder_slab_whole(t->rebuild.scan.index, &header->config, header->matrix);
	uint32		now[RENC_GROUP_RANGES] = {0};
	double		set = 0;
	double		then = 0;

	if (!t->full)
		return false;
	rencoder_filter_count(&slab, renc_mask_all(), now);
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		set += now[slot];
		then += header->nset[slot];
	}
	return set > then * OUTGROWN;
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
 * Distinct keys a range that filters of a group of few ranges should be made for at
 * least: what its present ones are.
 */
static double
min_capacity_of_present(const Retuning *t, int col)
{
	const RencoderRebuild *r = &t->rebuild;

	if (t->full || !rencoder_design_few_ranges(&r->scan.meta, r->group.number,
											   RelationGetNumberOfBlocks(r->scan.heap)))
		return 0;
	return t->column[col].config.capacity;
}

/*
 * Is the column to be rebuilt?  Sets how, and what is expected of it as it is
 * and of the best.  A rebuilding that gains must leave nothing to gain.
 */
static bool
is_wanted(Retuning *t, int col, RencoderPrediction *now, RencoderPrediction *best)
{
	RencoderRebuild *r = &t->rebuild;
	const RencoderHeaderData *header = &t->column[col];
	RencoderConfig *config = &r->config[col];
	int			always = renc_mask_count(rencoder_set_get(header->always));
	bool		recoded = header->config.coder != r->scan.coders.generation[col];
	RencoderConfig present = header->config;
	int			unfit;
	int			keyless;

	memset(config, 0, sizeof(*config));
	now->fpr = now->cost = best->fpr = best->cost = -1;
	if (!rencoder_is_configured(&header->config))
		return false;
	if (recoded)
	{
		/*
		 * What serves keys of the old coder says nothing of those of the new
		 * one.
		 */
		memset(&present, 0, sizeof(present));
		present.coder = r->scan.coders.generation[col];
	}
	rencoder_design_again(t->designer, r->scan.collector, col,
						  min_capacity_of_present(t, col), &present, config, now, best);

	/* Keys may be there no more: VACUUM fetches no dead value from TOAST. */
	unfit = count_unfit(t, col, config, &keyless);
	if (keyless > always)
		return false;
	if (recoded || unfit < always || has_outgrown(t, col))
		return true;
	return now->cost >= 0 && now->cost > best->cost * t->margin &&
		memcmp(config, &header->config, sizeof(*config)) != 0;
}

/* Notes what was predicted for a column that stays as it is. */
static void
note_prediction(const Retuning *t, int col, double fpr, double best_fpr)
{
	const RencoderRebuild *r = &t->rebuild;
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

/* The group starts over, with the configurations that are noted for it. */
static void
start_over(const RencoderRebuild *r)
{
	uint64		first = (uint64) r->group.number * RENC_GROUP_RANGES;

	rencoder_rebuild_reset(r);
	(void) rencoder_summarize(r->scan.index, r->scan.heap, first, first + RENC_GROUP_RANGES - 1, true);
}

/* A group whose run has keys by an old coder gets filters, which become a run as any others do. */
static bool
recode_group(RencoderRebuild *r)
{
	for (int col = 0; col < r->scan.meta.natts; col++)
	{
		r->wanted[col] = true;
		memset(&r->config[col], 0, sizeof(r->config[col]));
		r->predicted_fpr[col] = -1;
		r->stamp[col] = 0;
	}
	start_over(r);
	return true;
}

/*
 * Reads the keys of the group that read_group() was called for, and rebuilds
 * what gains by it.  True if anything was rebuilt.
 */
static bool
retune_group(Retuning *t)
{
	RencoderRebuild *r = &t->rebuild;
	bool		any = false;

	if (t->column[0].run != 0)
		return recode_group(r);
	if (!fits_memory(t))
	{
		ereport(DEBUG1,
				(errmsg_internal("group %u of index \"%s\" is not retuned for want of maintenance_work_mem",
								 r->group.number, RelationGetRelationName(r->scan.index))));
		return false;
	}
	r->scan.collector = rencoder_collect_create(r->scan.meta.natts);
	r->scan.collector->in_use = true;
	(void) rencoder_rebuild_collect(r);
	for (int col = 0; col < r->scan.meta.natts; col++)
	{
		RencoderPrediction now;
		RencoderPrediction best;

		CHECK_FOR_INTERRUPTS();
		r->stamp[col] = rencoder_designer_stamp(t->designer, col, r->scan.coders.generation[col]);
		r->wanted[col] = is_wanted(t, col, &now, &best);
		r->predicted_fpr[col] = best.fpr;
		if (r->wanted[col])
			any = true;
		else if (rencoder_is_configured(&t->column[col].config))
			note_prediction(t, col, now.fpr, best.fpr);
	}
	if (any && t->full)
		rencoder_rebuild_group(r);
	else if (any)
		start_over(r);
	return any;
}

/* The newest coders; with "train", new ones where there are none, or, with "due", also others. */
static void
find_coders(Retuning *t, bool train, bool due)
{
	RencoderRebuild *r = &t->rebuild;

	due = due || rencoder_columns_train_is_due(r->scan.heap, r->scan.index, GROWTH);
	if (train)
		rencoder_columns_train(r->scan.heap, r->scan.index, r->scan.indexInfo, true, due,
							   &r->scan.coders);
	for (int col = 0; col < r->scan.meta.natts; col++)
		rencoder_columns_load_coders(r->scan.index, col, rencoder_coder_newest(r->scan.index, col), &r->scan.coders);
}

static void
begin_retuning(Retuning *t, Relation index, Relation heap, bool train, bool due, double margin)
{
	uint64		nranges;

	memset(t, 0, sizeof(*t));
	t->margin = margin;
	rencoder_range_scan_init(&t->rebuild.scan, index, heap);
	t->column = palloc(t->rebuild.scan.meta.natts * sizeof(RencoderHeaderData));

	rencoder_meta_lock_maintainer(index);
	find_coders(t, train, due);
	rencoder_meta_unlock_maintainer(index);

	nranges = rencoder_range_count(&t->rebuild.scan.meta, RelationGetNumberOfBlocks(heap));
	t->ngroups = rencoder_group_count(nranges);
	t->designer = rencoder_designer_create(index, &t->rebuild.scan.meta, (double) nranges);
	t->context = AllocSetContextCreate(CurrentMemoryContext, "rencoder retune",
									   ALLOCSET_DEFAULT_SIZES);
}

/* Are other queries known than when the group was looked at last, or another coder? */
static bool
samples_changed(Retuning *t)
{
	const RencoderRebuild *r = &t->rebuild;

	for (int col = 0; col < r->scan.meta.natts; col++)
	{
		uint32		coder = r->scan.coders.generation[col];
		uint64		stamp = rencoder_designer_stamp(t->designer, col, coder);

		if (stamp != 0 && t->column[col].sample_stamp != stamp)
			return true;
	}
	return has_old_coder(t);
}

/* What VACUUM may still do. */
typedef struct Limits
{
	uint32		reads;			/* groups whose rows may be read */
	uint32		counts;			/* groups whose bits may be counted */
	bool		coders_only;	/* only groups whose coders are outdated */

	/*
	 * Stamps of groups that gained nothing: what they had been looked at
	 * with.
	 */
	uint64		unprofitable_stamp[MOST_UNPROFITABLE];
	int			n_unprofitable;
} Limits;

/* The queries that a group was looked at with last, of all columns; 0: none. */
static uint64
old_stamp(const Retuning *t)
{
	uint64		stamp = 0;

	for (int col = 0; col < t->rebuild.scan.meta.natts; col++)
		stamp = stamp * 31 + t->column[col].sample_stamp;
	return stamp;
}

/*
 * Have groups that were looked at last with the same queries gained nothing?  Then this
 * one hardly will, and those that an earlier VACUUM did not come to are worth more.
 */
static bool
is_unprofitable(const Limits *limits, uint64 stamp)
{
	int			same = 0;

	for (int i = 0; i < limits->n_unprofitable; i++)
		same += limits->unprofitable_stamp[i] == stamp;
	return same >= MAX_UNPROFITABLE || limits->n_unprofitable == MOST_UNPROFITABLE;
}

/* A group in VACUUM; true if it was rebuilt. */
static bool
vacuum_group(Retuning *t, uint32 group, Limits *limits)
{
	bool		outgrown = false;
	bool		done;
	uint64		stamp;

	/*
	 * This also takes away what an interrupted rebuilding left, whatever the
	 * limits.
	 */
	if (!read_group(t, group) || limits->reads == 0 ||
		(limits->coders_only ? !has_old_coder(t) : t->column[0].run != 0))
		return false;
	if (t->column[0].run != 0)
	{
		limits->reads--;
		return retune_group(t);
	}
	if (t->full && limits->counts > 0)
	{
		limits->counts--;
		for (int col = 0; col < t->rebuild.scan.meta.natts && !outgrown; col++)
			outgrown = has_outgrown(t, col);
	}
	stamp = old_stamp(t);
	if (!outgrown &&
		(is_unprofitable(limits, stamp) || !samples_changed(t)))
		return false;
	limits->reads--;
	done = retune_group(t);
	if (done)
		limits->n_unprofitable = 0;
	else if (!outgrown)
		limits->unprofitable_stamp[limits->n_unprofitable++] = stamp;
	return done;
}

/*
 * Visits n groups, or, if "groups" is NULL, the first n of all, from any on where "limits" bounds
 * the work, so that all have their turn.  Those with old coders have it anyhow, and neighbours that
 * get the same one can be in one run.  Returns how many were rebuilt.
 */
static int64
visit_groups(Retuning *t, const uint32 *groups, uint32 n, Limits *limits)
{
	Relation	index = t->rebuild.scan.index;
	uint32		start = limits == NULL || limits->coders_only || n == 0 ? 0 :
		(uint32) pg_prng_uint64_range(&pg_global_prng_state, 0, n - 1);
	int64		count = 0;

	for (uint32 i = 0; i < n; i++)
	{
		uint32		place = (start + i) % n;
		uint32		group = groups == NULL ? place : groups[place];
		MemoryContext old;

		rencoder_vacuum_delay_point();
		if (group >= t->ngroups)
			continue;			/* of a table that has become shorter */
		old = MemoryContextSwitchTo(t->context);
		rencoder_meta_lock_maintainer(index);
		if (limits != NULL)
			count += vacuum_group(t, group, limits);
		else if (read_group(t, group) && t->column[0].run == 0)
			count += retune_group(t);
		rencoder_meta_unlock_maintainer(index);
		MemoryContextSwitchTo(old);
		MemoryContextReset(t->context);
	}
	MemoryContextDelete(t->context);
	return count;
}

int64
rencoder_retune(Relation index, Relation heap)
{
	Retuning	t;

	begin_retuning(&t, index, heap, true, false, RENCODER_RETUNE_MARGIN);
	return visit_groups(&t, NULL, t.ngroups, NULL);
}

/* Returns how many groups there are. */
static uint32
begin_vacuum(Retuning *t, Relation index, Relation heap, bool due, Limits *limits)
{
	/* Coders are for the tables that are summarized. */
	begin_retuning(t, index, heap,
				   rencoder_range_count(rencoder_meta_get(index),
										RelationGetNumberOfBlocks(heap)) >= RENC_SLICE_RANGES,
				   due, RENCODER_VACUUM_MARGIN);
	memset(limits, 0, sizeof(*limits));
	limits->reads = Max(RENCODER_VACUUM_GROUPS, t->ngroups / RENCODER_VACUUM_READ_SHARE);
	limits->counts = Max(RENCODER_VACUUM_COUNTS, t->ngroups / RENCODER_VACUUM_COUNT_SHARE);
	return t->ngroups;
}

int64
rencoder_retune_some(Relation index, Relation heap)
{
	Retuning	t;
	Limits		limits;
	uint32		n = begin_vacuum(&t, index, heap, false, &limits);

	return visit_groups(&t, NULL, n, &limits);
}

/* Has a stretch groups with an old coder, which is that of all of them? */
static bool
is_for_coders(Retuning *t, const RencoderStretch *s, bool all)
{
	if (s->run == 0 && !all &&
		!(s->kind == RENCODER_STRETCH_WAITING && rencoder_options_use_runs(t->rebuild.scan.index)))
		return false;
	return copy_all_headers(t, s->first) && has_old_coder(t);
}

/*
 * The groups with an old coder that wait for a run or name one, or all of them, palloc'd, as the
 * directory has them.  Before a visit that would read the headers of all groups, most of which have
 * the newest.
 */
static uint32 *
groups_for_coders(Retuning *t, bool all, uint32 *n)
{
	RencoderRunGroups found;
	uint32	   *groups;

	rencoder_run_groups_look(t->rebuild.scan.index, &found);
	groups = palloc_extended(Max(t->ngroups, 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
	*n = 0;
	for (int i = 0; i < found.n; i++)
	{
		const RencoderStretch *s = &found.stretch[i];

		if (!is_for_coders(t, s, all))
			continue;
		for (uint32 group = s->first; group < s->first + s->n && group < t->ngroups; group++)
			groups[(*n)++] = group;
	}
	pfree(found.stretch);
	return groups;
}

int64
rencoder_retune_coders(Relation index, Relation heap, bool all)
{
	Retuning	t;
	Limits		limits;
	int64		rebuilt;
	bool		coded = false;
	uint64		base;
	uint64		delta;
	uint32	   *groups;
	uint32		n;

	for (int col = 0; col < IndexRelationGetNumberOfKeyAttributes(index); col++)
		coded |= rencoder_key_is_coded(index, col);
	if (!coded)
		return 0;
	rencoder_run_groups_count_pages(index, &base, &delta);
	n = begin_vacuum(&t, index, heap, all || delta > base / LATE_PART, &limits);
	limits.reads = all ? PG_UINT32_MAX : Max(RENCODER_VACUUM_FLUSH, n / RENCODER_VACUUM_READ_SHARE);
	limits.coders_only = true;
	groups = groups_for_coders(&t, all, &n);
	rebuilt = visit_groups(&t, groups, n, &limits);
	pfree(groups);
	return rebuilt;
}
