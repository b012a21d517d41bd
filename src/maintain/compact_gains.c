/*
 * compact_gains.c
 *		Is a base run worth making anew?
 */
#include "maintain/compact_gains.h"

#include "build/build_run.h"
#include "store/pending.h"
#include "store/run_pages.h"

/* A run is, if less than this part of its rows is left. */
#define LIVE_PART		0.9

/*
 * Have many rows gone that the run has, as the table's statistics say?  Not if they say what they
 * said when it was made: it would not help to make it again.
 */
static bool
has_many_dead(Relation index, Relation heap, const RencoderRunEntry *run)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	uint64		group_pages = (uint64) RENC_GROUP_RANGES * meta.pages_per_range;
	double		table_pages = heap->rd_rel->relpages;
	double		table_rows = heap->rd_rel->reltuples;
	double		first = (double) run->first_group * group_pages;
	double		end = Min(first + (double) run->ngroups * group_pages, table_pages);

	return table_rows >= 0 && table_pages > 0 && (float) table_rows != run->table_rows &&
		table_rows * Max(end - first, 0) / table_pages < LIVE_PART * run->rows;
}

/* Would other cells be made now? */
static bool
has_other_aim(Relation index, const RencoderRunEntry *run)
{
	const char *fault;
	RencoderRunInfo info = rencoder_run_trees(index, run,
											  IndexRelationGetNumberOfKeyAttributes(index),
											  NULL, NULL, &fault);
	bool		other = info == NULL;

	for (int col = 0; info != NULL && col < info->natts; col++)
	{
		const RencoderRunColumn *c = &info->column[col];

		other |= c->root != RENCODER_NO_BLOCK &&
			rencoder_build_run_aim_changed(c->aim, rencoder_build_run_aim(index, col, c->coder));
	}
	if (info != NULL)
		pfree(info);
	return other;
}

/* Do the runs have nothing to do but what they do for these groups? */
static bool
runs_are_in_order(const RencoderRuns *runs, uint64 cut)
{
	for (uint32 i = 0; i < runs->list.n; i++)
	{
		const RencoderRunEntry *run = &runs->list.entry[i];

		if (run->state != RENCODER_RUN_LIVE || (run->kind == RENCODER_RUN_DELTA && run->upto > cut))
			return false;
	}
	return true;
}

bool
rencoder_compact_gains(Relation index, Relation heap, const RencoderRunGroups *groups, uint32 first,
					   uint32 n)
{
	const RencoderRunEntry *run;
	RencoderRuns runs;
	uint32		number = 0;
	uint64		cut = PG_UINT64_MAX;

	for (int i = 0; i < groups->n; i++)
	{
		const RencoderGroupSpan *s = &groups->span[i];

		if (s->first < first || s->first >= first + n)
			continue;
		if (s->run == 0 || s->kind == RENCODER_SPAN_OTHER || s->old_coder || s->leftover || s->uncovered ||
			(number != 0 && s->run != number))
			return true;
		number = s->run;
		cut = Min(cut, s->cut);
	}
	rencoder_runs_look(index, &runs, NULL);
	run = rencoder_runs_find(&runs, number);
	return run == NULL || !runs_are_in_order(&runs, cut) ||
		rencoder_pending_has_entries(index, cut) || has_many_dead(index, heap, run) ||
		has_other_aim(index, run);
}
