/*
 * compact.c
 *		Which groups of an index become base runs, and when.  Of deltas: delta_merge.c.
 *
 * Full groups are flushed soon, but each run costs a query a descent.  So where MERGE_RUNS runs of
 * about the same size are neighbours, or MERGE_QUIET when no rows come, one takes their place, which
 * is made of the table, since cells do not have whole keys.  Groups that the table fills before
 * anybody has summarized them have no filters first: their rows are read once, for the run.
 */
#include "maintain/compact.h"

#include "catalog/index.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "design/run_samples.h"
#include "maintain/delta_merge.h"
#include "maintain/flush.h"
#include "maintain/run_groups.h"
#include "maintain/stale_nulls.h"
#include "store/group_copy.h"
#include "store/pending.h"
#include "store/run_pages.h"
#include "table/coder_columns.h"

/* So many runs become one, if the largest is not more than SIZES times the smallest. */
#define MERGE_RUNS		8
#define MERGE_QUIET		3		/* when no rows come */
#define MERGE_SIZES		4

/* VACUUM and the worker merge no more groups, or a share of all there are. */
#define MERGE_GROUPS	256
#define MERGE_SHARE		8

/* With more base runs than this, the smallest neighbours are merged, however different. */
#define MANY_BASE_RUNS	32

/* With so many runs, others are made only in the place of some: deltas want room, too. */
#define MOST_RUNS		56
/*
 * Keys of deltas go when their groups have a later cut.  If deltas have more than this part of the
 * pages of the base runs, and more than a few, VACUUM, or the worker, renews the groups that have
 * the earliest; while rows come the worker renews noted ones only.  An entry of a delta takes three
 * times the bits of one in a base run.
 */
#define RENEWAL_PART	12
#define RENEWAL_PAGES	16

/* Deltas are written anew after a flush if they have no more pages for each group of its run. */
#define NEEDLESS_PAGES		1024

/* A base run with so many times the rows of the table is worth making anew. */
#define GONE_ROWS			1.1

/* Neighbouring groups to make a run of. */
typedef struct Choice
{
	uint32		first;
	uint32		n;				/* 0: nothing to do */
	uint64		nsummarized;	/* ranges, by making it */
} Choice;

/* What is looked for. */
typedef struct Task
{
	Choice		(*choose) (const RencoderRunGroups *groups, const struct Task *task);
	bool		(*wants) (const RencoderAlikeGroups *s, const struct Task *task);
	uint32		least;			/* groups */
	uint32		least_unread;	/* groups, if one of them is unread */
	uint32		most;
	int			runs;			/* to be merged, where that is the task */
	uint32		from;			/* groups before this one are done with */
	uint64		before;			/* pending page: a later cut is not the
								 * earliest; PG_UINT64_MAX: runs count */
	uint64		nranges;		/* of the table: those that are not summarized
								 * are to be */
	bool		recodes;		/* also groups of a run that have old coders */
	bool		gives_way;
} Task;

/* Do groups from "first" on go on where those before end? */
static bool
compact_goes_on(const Choice *choice, uint32 first)
{
	return choice->n > 0 && first == choice->first + choice->n;
}

/* Has a group keys in a run? */
static bool
is_in_run(const RencoderAlikeGroups *s, const Task *task)
{
	return s->run != 0 && s->kind != RENCODER_GROUPS_OTHER;
}

/* Full groups whose keys are not in a run, or are there by an old coder; groups that are unread. */
static bool
waits(const RencoderAlikeGroups *s, const Task *task)
{
	return s->kind == RENCODER_GROUPS_WAITING || s->kind == RENCODER_GROUPS_UNREAD ||
		(task->recodes && is_in_run(s, task) && s->old_coder);
}

static bool
has_filters(const RencoderAlikeGroups *s, const Task *task)
{
	return s->filtered;
}

static bool
is_noted(const RencoderAlikeGroups *s, const Task *task)
{
	return s->noted;
}

static bool
may_join_run(const RencoderAlikeGroups *s, const Task *task)
{
	return s->kind != RENCODER_GROUPS_OTHER || s->uncovered;
}

/* The first neighbours that the task wants. */
static Choice
choose_to_compact(const RencoderRunGroups *groups, const Task *task)
{
	Choice		choice = {0};
	uint32		least = task->least;

	for (int i = 0; i < groups->n; i++)
	{
		const RencoderAlikeGroups *s = &groups->alike[i];
		uint32		first = Max(s->first, task->from);
		uint32		end = s->first + s->n;

		if (!task->wants(s, task) || end <= first)
			continue;
		if (!compact_goes_on(&choice, first))
		{
			if (choice.n >= least)
				break;
			choice.first = first;
			choice.n = 0;
			least = task->least;
		}
		choice.n += end - first;
		if (s->kind == RENCODER_GROUPS_UNREAD)
			least = Min(least, task->least_unread);
	}
	choice.n = choice.n < least ? 0 : Min(choice.n, task->most);
	return choice;
}

/* The groups in runs whose cut is the earliest, or of the oldest run, and those that follow them. */
static Choice
choose_earliest(const RencoderRunGroups *groups, const Task *task)
{
	Task		following = *task;
	uint64		earliest = task->before;

	following.from = PG_UINT32_MAX;
	for (int i = 0; i < groups->n; i++)
	{
		const RencoderAlikeGroups *s = &groups->alike[i];
		uint64		age = task->before == PG_UINT64_MAX ? s->run : s->cut;

		if (!is_in_run(s, task) || age >= earliest)
			continue;
		earliest = age;
		following.from = s->first;
	}
	return choose_to_compact(groups, &following);
}

/* Are there so many keys in deltas that base runs are to be made anew? */
static bool
compact_renewal_is_due(Relation index)
{
	uint64		base;
	uint64		delta;

	rencoder_run_groups_count_pages(index, &base, &delta);
	return delta > RENEWAL_PAGES && delta > base / RENEWAL_PART;
}

bool
rencoder_compact_is_overdue(Relation index)
{
	return rencoder_options_use_runs(index) && compact_renewal_is_due(index);
}

/*
 * The next base run from *i on, as far as its groups are neighbours.  "continued": it may
 * be merged with the one before; full groups between them are taken along.
 */
static Choice
next_run(const RencoderRunGroups *groups, int *i, bool *continued)
{
	Choice		run = {0};
	uint32		number = 0;

	*continued = true;
	for (; *i < groups->n; (*i)++)
	{
		const RencoderAlikeGroups *s = &groups->alike[*i];
		bool		in_run = s->kind == RENCODER_GROUPS_COVERED || s->kind == RENCODER_GROUPS_PARTIAL;

		if (run.n > 0 && (!in_run || s->run != number || !compact_goes_on(&run, s->first)))
			break;
		if (!in_run && s->kind != RENCODER_GROUPS_WAITING)
			*continued = false;
		if (!in_run)
			continue;
		if (run.n == 0)
			run.first = s->first;
		number = s->run;
		run.n += s->n;
	}
	return run;
}

/* Are these runs worth merging? */
static bool
is_tier(const Choice *run, const Task *task)
{
	uint32		least = run[0].n;
	uint32		greatest = run[0].n;
	uint64		sum = 0;

	for (int i = 0; i < task->runs; i++)
	{
		least = Min(least, run[i].n);
		greatest = Max(greatest, run[i].n);
		sum += run[i].n;
	}
	return greatest <= (uint64) least * MERGE_SIZES && sum <= task->most;
}

/* Neighbouring runs. */
static Choice
choose_base_run_merge(const RencoderRunGroups *groups, const Task *task)
{
	Choice	   *run = palloc(Max(groups->n, 1) * sizeof(Choice));
	Choice		smallest = {0}; /* or the tier that was found */
	int			nruns = 0;		/* in all */
	int			n = 0;			/* neighbours */
	bool		found = false;
	bool		continued;

	for (int i = 0; i < groups->n && !found;)
	{
		Choice		merged = {0};

		run[n] = next_run(groups, &i, &continued);
		if (run[n].n == 0)
			break;
		if (!continued)
		{
			run[0] = run[n];
			n = 0;
		}
		n++;
		nruns++;
		if (n < task->runs)
			continue;
		merged.first = run[n - task->runs].first;
		merged.n = run[n - 1].first + run[n - 1].n - merged.first;
		found = is_tier(&run[n - task->runs], task);
		if (found || smallest.n == 0 || merged.n < smallest.n)
			smallest = merged;
	}
	if (!found && nruns <= MANY_BASE_RUNS)
		smallest.n = 0;
	pfree(run);
	return smallest;
}

/* What is to be done now. */
static Choice
look_for_compact_work(Relation index, const Task *task)
{
	RencoderRunGroups groups;
	Choice		choice;

	rencoder_run_groups_look(index, task->nranges, &groups);
	choice = task->choose(&groups, task);
	pfree(groups.alike);
	return choice;
}

/*
 * Has the list room for a run of these groups?  Where it takes the place of others the list gets no
 * longer, so that a crowded one can still become shorter.
 */
static bool
has_room(Relation index, const Choice *choice)
{
	RencoderRuns runs;
	int			replaced = 0;

	rencoder_runs_copy(index, &runs, NULL);
	for (uint32 i = 0; i < runs.list.n; i++)
	{
		const RencoderRunEntry *run = &runs.list.entry[i];

		replaced += run->kind == RENCODER_RUN_BASE && run->first_group >= choice->first &&
			run->first_group + run->ngroups <= choice->first + choice->n;
	}
	return runs.list.n < (replaced > 0 ? RENCODER_MAX_RUNS : MOST_RUNS);
}

/*
 * Makes one run.  The tail of the pending list is closed before the maintainer lock is asked
 * for (pending.h), and not if nothing is to be done, which is why it is looked for twice.  That
 * other pages are closed before the table is read does no harm: the cut is lower than it might
 * be (INV-13).
 */
static RencoderCompactResult
compact_one_run(Relation index, Relation heap, const Task *task, Choice *choice)
{
	RencoderCompactResult result = RENCODER_COMPACT_NOTHING;
	uint64		cut;

	*choice = look_for_compact_work(index, task);
	if (choice->n == 0)
		return RENCODER_COMPACT_NOTHING;
	cut = rencoder_pending_close(index);
	rencoder_meta_lock_maintainer(index);
	rencoder_run_groups_clean_up(index);
	*choice = look_for_compact_work(index, task);
	if (choice->n > 0 && has_room(index, choice))
	{
		result = rencoder_flush(index, heap, choice->first, choice->n, task->nranges, cut,
								task->gives_way, &choice->nsummarized) ?
			RENCODER_COMPACT_DONE : RENCODER_COMPACT_WAITED_FOR;
		rencoder_run_groups_clean_up(index);
	}
	rencoder_meta_unlock_maintainer(index);
	return result;
}

static uint32
count_groups(Relation index)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	RencoderMetaPageData *metadata = rencoder_meta_copy(index);
	uint32		ngroups = rencoder_group_copy_count_groups(index, &meta, metadata, 0);

	pfree(metadata);
	return ngroups;
}

static Task
make_base_run_merge_task(uint32 ngroups)
{
	return (Task)
	{
		.choose = choose_base_run_merge,.most = Max(MERGE_GROUPS, ngroups / MERGE_SHARE),
			.runs = MERGE_RUNS
	};
}

void
rencoder_compact_train_coders(Relation index, Relation heap, double growth)
{
	RencoderColumnCoders coders;
	uint64		base;
	uint64		delta;

	if (!rencoder_key_any_coded(index) || rencoder_range_count(rencoder_meta_get(index), RelationGetNumberOfBlocks(heap)) < RENC_SLICE_RANGES)
		return;
	rencoder_run_groups_count_pages(index, &base, &delta);
	rencoder_meta_lock_maintainer(index);
	rencoder_columns_train(heap, index, BuildIndexInfo(index), true,
						   growth == 0 || delta > base / RENEWAL_PART ||
						   rencoder_columns_train_is_due(heap, index, growth), &coders);
	rencoder_meta_unlock_maintainer(index);
}

/*
 * After a flush in the worker: noted groups leave as many keys in deltas as the new run has.  So
 * where the deltas are not much larger than that, they are written anew.
 */
static void
drop_needless_after(Relation index, const Choice *choice, RencoderCompactResult result)
{
	uint64		base;
	uint64		delta;

	rencoder_run_groups_count_pages(index, &base, &delta);
	if (result == RENCODER_COMPACT_DONE && delta > 0 && delta <= (uint64) NEEDLESS_PAGES * choice->n)
		rencoder_delta_drop_needless(index);
}

/* The last pending page whose keys a delta has; 0: there is none. */
static uint64
last_page_of_deltas(Relation index)
{
	RencoderRuns runs;
	uint64		last = 0;

	rencoder_runs_copy(index, &runs, NULL);
	for (uint32 i = 0; i < runs.list.n; i++)
	{
		if (runs.list.entry[i].kind == RENCODER_RUN_DELTA)
			last = Max(last, runs.list.entry[i].upto);
	}
	return last;
}

/*
 * Makes groups anew, so that deltas can do without their keys: those with noted ranges, of which
 * they have all, then, unless "noted" is all, those that have the earliest cut.  If all deltas end
 * before that, what they have is of groups that are not in runs, and nothing is gained.
 */
static RencoderCompactResult
compact_some_anew(Relation index, Relation heap, uint32 most, bool gives_way, bool noted)
{
	Task		task = {.choose = choose_to_compact,.wants = is_noted,.least = 1,
	.most = most,.gives_way = gives_way};
	Choice		choice;
	RencoderCompactResult result = compact_one_run(index, heap, &task, &choice);

	if (result == RENCODER_COMPACT_NOTHING && !noted)
	{
		task.choose = choose_earliest;
		task.wants = is_in_run;
		task.before = last_page_of_deltas(index);
		result = compact_one_run(index, heap, &task, &choice);
	}
	if (result == RENCODER_COMPACT_DONE)
		rencoder_delta_drop_needless(index);
	return result;
}

void
rencoder_compact_vacuum(Relation index, Relation heap)
{
	Task		flush = {.choose = choose_to_compact,.wants = waits,.least = 1,.recodes = true};
	Task		stale = {.choose = choose_earliest,.wants = is_in_run,.least = 1,
	.before = PG_UINT64_MAX};
	Task		merge;
	Choice		choice;
	uint32		ngroups;

	rencoder_meta_lock_maintainer(index);
	rencoder_run_groups_clean_up(index);
	rencoder_meta_unlock_maintainer(index);
	if (!rencoder_options_use_runs(index))
		return;
	rencoder_compact_train_coders(index, heap, RENCODER_GROWTH_IN_VACUUM);
	ngroups = count_groups(index);
	flush.most = Max(RENCODER_VACUUM_FLUSH, ngroups / MERGE_SHARE);
	while (flush.most > 0 && compact_one_run(index, heap, &flush, &choice) == RENCODER_COMPACT_DONE)
		flush.most -= choice.n;
	merge = make_base_run_merge_task(ngroups);
	while (compact_one_run(index, heap, &merge, &choice) == RENCODER_COMPACT_DONE)
		;
	if (compact_renewal_is_due(index))
		rencoder_delta_drop_needless(index);
	if (compact_renewal_is_due(index))
		(void) compact_some_anew(index, heap, merge.most, false, false);
	stale.most = merge.most;
	if (rencoder_nulls_are_stale(index, heap) &&
		compact_one_run(index, heap, &stale, &choice) == RENCODER_COMPACT_DONE)
		rencoder_delta_drop_needless(index);
}

RencoderCompactResult
rencoder_compact_some(Relation index, Relation heap, bool quiet, bool filtered)
{
	Task		flush = {.choose = choose_to_compact,.wants = filtered ? has_filters :
		waits,
		.least = quiet || filtered ? 1 : RENCODER_WORTH_FLUSHING,.most = RENCODER_WORKER_FLUSH,
	.gives_way = true};
	Task		merge;
	Choice		choice;
	RencoderCompactResult result;

	if (!rencoder_options_use_runs(index))
		return RENCODER_COMPACT_NOTHING;
	result = compact_one_run(index, heap, &flush, &choice);
	drop_needless_after(index, &choice, result);
	if (result != RENCODER_COMPACT_NOTHING)
		return result;
	merge = make_base_run_merge_task(count_groups(index));
	merge.gives_way = true;
	if (quiet)
		merge.runs = MERGE_QUIET;
	result = compact_one_run(index, heap, &merge, &choice);
	if (result == RENCODER_COMPACT_NOTHING && compact_renewal_is_due(index))
		result = compact_some_anew(index, heap, merge.most, true, !quiet);
	return result;
}

RencoderCompactResult
rencoder_compact_unread(Relation index, Relation heap, uint64 nranges, uint32 least, uint32 most,
						bool gives_way, uint64 *nsummarized)
{
	Task		task = {.choose = choose_to_compact,.wants = waits,.least = PG_UINT32_MAX,
	.least_unread = least,.most = most,.nranges = nranges,.gives_way = gives_way};
	RencoderCompactResult result;
	Choice		choice;

	if (most == 0)
		task.most = Max(MERGE_GROUPS, rencoder_group_count(nranges) / MERGE_SHARE);
	if (!rencoder_options_use_runs(index) || look_for_compact_work(index, &task).n == 0)
		return RENCODER_COMPACT_NOTHING;
	rencoder_compact_train_coders(index, heap, RENCODER_GROWTH_OF_NEW);
	result = compact_one_run(index, heap, &task, &choice);
	drop_needless_after(index, &choice, result);
	*nsummarized += choice.nsummarized;
	return result;
}

/* The rows that the run has, in the column that has most; 0: it has gone meanwhile. */
static double
count_rows(Relation index, const RencoderRunEntry *entry)
{
	const char *fault;
	RencoderRunInfo info = rencoder_run_read_info(index, entry, &fault);
	double		most = 0;

	for (int col = 0; info != NULL && col < info->natts; col++)
		most = Max(most, (double) info->column[col].rows +
				   (double) info->column[rencoder_run_null_tree(info->natts, col)].rows);
	return most;
}

/* Has the table, as its statistics say, so few rows by now that many of the run's have gone? */
static bool
many_rows_have_gone(Relation index, Relation heap, const RencoderRunEntry *entry)
{
	double		rows = (RelationGetIndexPredicate(index) != NIL ? index : heap)->rd_rel->reltuples;
	double		pages = heap->rd_rel->relpages;

	return rows >= 0 && pages > 0 && count_rows(index, entry) >
		rows / pages * RelationGetNumberOfBlocks(heap) * GONE_ROWS;
}

/*
 * Is the index one base run of all of the table, as the options and the coders want it, and nothing
 * late beside it, so that noted ranges have no rows?  Then to write it again would gain nothing.
 */
static bool
is_compact(Relation index, Relation heap, uint64 nranges)
{
	RencoderRunGroups groups;
	RencoderRuns runs;
	bool		covered = true;

	rencoder_runs_copy(index, &runs, NULL);
	if (runs.list.n != 1 || runs.list.entry[0].kind != RENCODER_RUN_BASE ||
		runs.list.entry[0].state != RENCODER_RUN_LIVE ||
		runs.list.entry[0].upto != rencoder_run_samples_stamp(index) ||
		!rencoder_pending_is_empty(index))
		return false;
	rencoder_run_groups_look(index, nranges, &groups);
	for (int i = 0; i < groups.n && covered; i++)
	{
		const RencoderAlikeGroups *s = &groups.alike[i];

		covered = !s->lacking && !s->filtered &&
			(s->run == 0 || (s->run == runs.list.entry[0].number && !s->old_coder));
	}
	pfree(groups.alike);
	return covered && !many_rows_have_gone(index, heap, &runs.list.entry[0]) &&
		!(rencoder_key_any_coded(index) &&
		  rencoder_columns_train_is_due(heap, index, RENCODER_GROWTH_IN_VACUUM));
}

uint32
rencoder_compact(Relation index, Relation heap)
{
	Task		task = {.choose = choose_to_compact,.wants = may_join_run,.least = 1,
	.least_unread = 1,.most = PG_UINT32_MAX};
	uint64		nranges = rencoder_range_count(rencoder_meta_get(index), RelationGetNumberOfBlocks(heap));
	Choice		choice;
	uint32		n = 0;

	if (!rencoder_options_use_runs(index))
		return 0;

	/* As in a build. */
	if (nranges >= RENC_SLICE_RANGES || rencoder_options_pages_per_range(index) != 0)
		task.nranges = nranges;
	if (is_compact(index, heap, task.nranges))
		return 0;
	rencoder_compact_train_coders(index, heap, 0);
	while (compact_one_run(index, heap, &task, &choice) == RENCODER_COMPACT_DONE)
	{
		n += choice.n;
		task.from = choice.first + choice.n;
	}
	return n;
}
