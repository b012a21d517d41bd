/*
 * retune.c
 *		Finding the groups of an index that another configuration would serve
 *		better, and rebuilding them.
 *
 * Whether a group gains is known only from its keys, so the table is read
 * once; what has to be rebuilt, twice.
 */
#include "retune.h"

#include "catalog/index.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "summarize.h"

/*
 * Filters with so many more bits set than when they were made pass many more
 * ranges: with half of all bits set at first, and 14 tests, a tenth more bits
 * are nearly four times the false positives.
 */
#define OUTGROWN	1.1

typedef struct Retuning
{
	RencoderRebuild rebuild;
	RencoderPlanner *planner;
	RencoderHeaderData *column; /* copies of the header pages */
	bool		full;			/* the group is a matrix, not slices */
} Retuning;

/*
 * Copies the headers of a group; false if it cannot be rebuilt: it has no
 * summaries, or some ranges of a matrix lost theirs.
 */
static bool
read_group(Retuning *t, uint32 group)
{
	renc_mask	missing;

	RencoderRebuild *r = &t->rebuild;

	r->group = group;
	r->header = rencoder_group_find(r->index, &r->meta, group);
	r->directory = rencoder_directory_find(r->index, &r->meta, NULL, group, NULL);
	if (r->header == RENCODER_NO_BLOCK)
		return false;
	for (int col = 0; col < r->meta.natts; col++)
	{
		Buffer		buf = rencoder_header_read(r->index, r->header, group, col,
											   BUFFER_LOCK_SHARE);

		memcpy(&t->column[col], RencoderPageGetHeader(BufferGetPage(buf)),
			   sizeof(RencoderHeaderData));
		UnlockReleaseBuffer(buf);
	}
	missing = renc_mask_andnot(renc_mask_all(), rencoder_set_get(t->column[0].summarized));
	t->full = t->column[0].matrix.start != RENCODER_NO_BLOCK;
	return t->full ? renc_mask_empty(missing) : renc_mask_count(missing) < RENC_GROUP_RANGES;
}

/* Would the keys of the group fit into memory? */
static bool
fits_memory(const Retuning *t)
{
	double		keys = 0;

	for (int col = 0; col < t->rebuild.meta.natts; col++)
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
	RencoderSlab slab = {t->rebuild.index, &header->config, header->matrix,
	RENC_MATRIX_WIDTH, false};
	uint32		now[RENC_GROUP_RANGES] = {0};
	double		set = 0;
	double		then = 0;

	if (!t->full)
		return false;
	rencoder_format_of(&header->config)->count(&slab, now);
	for (int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		set += now[slot];
		then += header->nset[slot];
	}
	return set > then * OUTGROWN;
}

/*
 * Is the column to be rebuilt?  Sets how, and what is expected of it as it is
 * and of the best.
 */
static bool
is_wanted(Retuning *t, int col, RencoderPrediction *now, RencoderPrediction *best)
{
	RencoderRebuild *r = &t->rebuild;
	const RencoderHeaderData *header = &t->column[col];
	RencoderConfig *config = &r->config[col];

	memset(config, 0, sizeof(*config));
	if (rencoder_format_of(&header->config) == NULL)
		return false;			/* unknown to this version: hands off */
	if (header->config.coder != r->coders.generation[col])
	{
		config->coder = r->coders.generation[col];
		rencoder_plan_column(t->planner, r->collector, col, RENC_MATRIX_WIDTH, 0, true,
							 config, best);
		now->fpr = now->cost = -1;
		return true;
	}
	rencoder_plan_again(t->planner, r->collector, col, &header->config, config, now, best);
	if (!t->full)
		return now->cost >= 0 && now->cost > best->cost * RENCODER_RETUNE_MARGIN;
	return config->format != header->config.format ||
		(now->cost >= 0 && now->cost > best->cost * RENCODER_RETUNE_MARGIN) ||
		!renc_mask_empty(rencoder_set_get(header->always)) ||
		has_outgrown(t, col);
}

/* Notes what was predicted for a column that stays as it is. */
static void
note_prediction(const Retuning *t, int col, double fpr, double best_fpr)
{
	const RencoderRebuild *r = &t->rebuild;
	const RencoderHeaderData *header = &t->column[col];
	RencoderWal *wal;
	RencoderHeader image;
	Buffer		buf;

	if (header->predicted_fpr == fpr && header->best_fpr == best_fpr)
		return;
	buf = rencoder_header_read(r->index, r->header, r->group, col, BUFFER_LOCK_EXCLUSIVE);
	wal = rencoder_wal_begin(r->index, true);
	image = RencoderPageGetHeader(rencoder_wal_register(wal, buf));
	image->predicted_fpr = fpr;
	image->best_fpr = best_fpr;
	rencoder_wal_finish(wal);
	UnlockReleaseBuffer(buf);
}

/*
 * Ranges that always match are rebuilt in the hope of a better capacity, but
 * not if they would always match again.
 */
static bool
gains_nothing(const Retuning *t, int col)
{
	const RencoderHeaderData *header = &t->column[col];
	const RencoderConfig *config = &t->rebuild.config[col];

	return memcmp(config, &header->config, sizeof(*config)) == 0 && !has_outgrown(t, col);
}

static bool
retune_group(Retuning *t, uint32 group)
{
	RencoderRebuild *r = &t->rebuild;
	bool		any = false;

	if (!read_group(t, group))
		return false;
	if (t->full)
		rencoder_rebuild_forget(r);
	if (!fits_memory(t))
	{
		ereport(DEBUG1,
				(errmsg_internal("group %u of index \"%s\" is not retuned for want of maintenance_work_mem",
								 group, RelationGetRelationName(r->index))));
		return false;
	}
	r->collector = rencoder_collect_create(r->meta.natts);
	(void) rencoder_rebuild_collect(r);
	for (int col = 0; col < r->meta.natts; col++)
	{
		RencoderPrediction now;
		RencoderPrediction best;

		CHECK_FOR_INTERRUPTS();
		r->wanted[col] = is_wanted(t, col, &now, &best) && !gains_nothing(t, col);
		r->predicted_fpr[col] = best.fpr;
		if (r->wanted[col])
			any = true;
		else
			note_prediction(t, col, now.fpr, best.fpr);
	}
	if (any && t->full)
		rencoder_rebuild_group(r);
	else if (any)
	{
		uint64		first = (uint64) group * RENC_GROUP_RANGES;

		rencoder_rebuild_reset(r);
		(void) rencoder_summarize(r->index, r->heap, first, first + RENC_GROUP_RANGES - 1, true);
	}
	return any;
}

/* The newest coders; new ones where there are none. */
static void
find_coders(Retuning *t)
{
	RencoderRebuild *r = &t->rebuild;
	bool		train = false;

	for (int col = 0; col < r->meta.natts; col++)
	{
		if (rencoder_key_is_coded(r->index, col) && rencoder_coder_newest(r->index, col) == 0)
			train = true;
	}
	if (train)
		rencoder_train(r->heap, r->index, r->indexInfo, true, &r->coders);
	for (int col = 0; col < r->meta.natts; col++)
		rencoder_coders_load(r->index, col, rencoder_coder_newest(r->index, col), &r->coders);
}

int64
rencoder_retune(Relation index, Relation heap)
{
	Retuning	t;
	int64		count = 0;
	uint64		nranges;
	MemoryContext context;
	MemoryContext old;

	memset(&t, 0, sizeof(t));
	t.rebuild.index = index;
	t.rebuild.heap = heap;
	t.rebuild.meta = *rencoder_meta_get(index);
	t.rebuild.indexInfo = BuildIndexInfo(index);
	t.rebuild.indexInfo->ii_Concurrent = false;
	t.column = palloc(t.rebuild.meta.natts * sizeof(RencoderHeaderData));

	rencoder_meta_lock_maintainer(index);
	find_coders(&t);
	rencoder_meta_unlock_maintainer(index);

	nranges = rencoder_range_count(&t.rebuild.meta, RelationGetNumberOfBlocks(heap));
	t.planner = rencoder_planner_create(index, &t.rebuild.meta, (double) nranges);
	context = AllocSetContextCreate(CurrentMemoryContext, "rencoder retune",
									ALLOCSET_DEFAULT_SIZES);
	for (uint32 group = 0; (uint64) group * RENC_GROUP_RANGES < nranges; group++)
	{
		rencoder_vacuum_delay_point();
		old = MemoryContextSwitchTo(context);
		rencoder_meta_lock_maintainer(index);
		count += retune_group(&t, group);
		rencoder_meta_unlock_maintainer(index);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	return count;
}
