/*
 * build_parallel.c
 *		Building the groups of a new index by several processes.
 *
 * The leader makes metapage, coders, samples, the directory and header pages, which
 * groups share.  Then all processes, the leader too, take group after group from a
 * shared counter and build it as a serial build does.  Of groups there is nothing to merge: pages
 * come from extending the index, one process at a time (the lock for that holds between processes
 * of one parallel operation, too), and each group has a directory entry of its own.  The keys of a
 * run are sorted by the process that reads them; workers leave them in files, which the leader
 * merges.
 *
 * Which process builds which group depends on chance, and each goes on from the shape that
 * it has found for its first group.  So the shapes may differ from those of a serial build,
 * or of the next one.
 *
 * Processes scan the heap each by itself, with snapshots and horizons of their own.  The
 * worker's xmin is that of the leader's active snapshot, so what horizon.c says
 * of a process holds.  Under CREATE INDEX CONCURRENTLY the snapshots of the
 * groups may be later ones than the leader's; what they miss is inserted when
 * the index is validated, with a snapshot that is later still.
 */
#include "make/build_run.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/instrument.h"
#include "pgstat.h"
#include "storage/condition_variable.h"
#include "storage/sharedfileset.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "base/options.h"

#define KEY_SHARED			UINT64CONST(0xFFB0000000000001)
#define KEY_QUERY_TEXT		UINT64CONST(0xFFB0000000000002)
#define KEY_WAL_USAGE		UINT64CONST(0xFFB0000000000003)
#define KEY_BUFFER_USAGE	UINT64CONST(0xFFB0000000000004)

/* How often the leader that waits for the last groups reports progress. */
#define REPORT_MS			200

typedef struct Shared
{
	Oid			heap;
	Oid			index;
	uint64		query_id;
	RencoderBuildPlan plan;
	uint32		ngroups;		/* that are distributed */
	pg_atomic_uint32 next_group;
	RencoderBuildProgress progress;
	Size		sort_memory;	/* of a process, in bytes */
	SharedFileSet sorted;		/* what workers leave of a run */

	ConditionVariable worker_done;
	slock_t		mutex;			/* protects what follows */
	int			workers_done;
	RencoderBuildTotals totals; /* of the workers that are done */
} Shared;

/* What the leader keeps of the parallel operation. */
typedef struct Leader
{
	ParallelContext *pcxt;
	Shared	   *shared;
	WalUsage   *wal_usage;		/* of each worker */
	BufferUsage *buffer_usage;
} Leader;

PGDLLEXPORT void rencoder_build_parallel_worker(dsm_segment *seg, shm_toc *toc);

static void
add_parallel_totals(RencoderBuildTotals *sum, const RencoderBuildTotals *totals)
{
	sum->heap_tuples += totals->heap_tuples;
	sum->index_tuples += totals->index_tuples;
	sum->most_rows = Max(sum->most_rows, totals->most_rows);
	sum->broken_hot_chain |= totals->broken_hot_chain;
}

/* Groups that workers may build: the last one may need the one before it. */
static uint32
groups_for_parallel_build(const RencoderBuildPlan *plan)
{
	uint32		ngroups = rencoder_group_count(plan->nranges);

	if (ngroups > 0 && rencoder_build_group_is_rest(plan, ngroups - 1))
		ngroups--;
	return ngroups;
}

/* Builds groups until there are no more. */
static void
build_parallel_groups(RencoderBuildGroup *build, Shared *shared)
{
	for (;;)
	{
		uint32		group = pg_atomic_fetch_add_u32(&shared->next_group, 1);

		if (group >= shared->ngroups)
			break;
		rencoder_build_group_make(build, group);
	}
}

static void *
store_parallel_chunk(ParallelContext *pcxt, uint64 key, Size size)
{
	void	   *chunk = shm_toc_allocate(pcxt->toc, size);

	shm_toc_insert(pcxt->toc, key, chunk);
	return chunk;
}

static void
estimate_parallel_chunk(ParallelContext *pcxt, Size size)
{
	shm_toc_estimate_chunk(&pcxt->estimator, size);
	shm_toc_estimate_keys(&pcxt->estimator, 1);
}

static void
init_parallel_shared(Shared *shared, Relation heap, Relation index, const IndexInfo *indexInfo,
					 const RencoderBuildPlan *plan)
{
	memset(shared, 0, sizeof(*shared));
	shared->heap = RelationGetRelid(heap);
	shared->index = RelationGetRelid(index);
	shared->query_id = pgstat_get_my_query_id();
	shared->plan = *plan;
	shared->ngroups = groups_for_parallel_build(plan);
	pg_atomic_init_u32(&shared->next_group, 0);
	pg_atomic_init_u64(&shared->progress.blocks, 0);
	ConditionVariableInit(&shared->worker_done);
	SpinLockInit(&shared->mutex);
}

/* What processes need to sort keys of a run. */
static void
share_parallel_sorting(Shared *shared, dsm_segment *seg, int nprocesses)
{
	shared->sort_memory = rencoder_options_sort_memory() / nprocesses;
	SharedFileSetInit(&shared->sorted, seg);
}

/*
 * Enters parallel mode and launches workers; false if there are none, and
 * parallel mode is left.
 */
static bool
launch_parallel(Leader *leader, int nworkers, Relation heap, Relation index,
				const IndexInfo *indexInfo, const RencoderBuildPlan *plan)
{
	Size		query_size = debug_query_string ? strlen(debug_query_string) + 1 : 0;
	ParallelContext *pcxt;

	EnterParallelMode();
	leader->pcxt = pcxt = CreateParallelContext("rencoder", "rencoder_build_parallel_worker",
												nworkers);
	estimate_parallel_chunk(pcxt, sizeof(Shared));
	estimate_parallel_chunk(pcxt, mul_size(sizeof(WalUsage), nworkers));
	estimate_parallel_chunk(pcxt, mul_size(sizeof(BufferUsage), nworkers));
	if (query_size > 0)
		estimate_parallel_chunk(pcxt, query_size);
	InitializeParallelDSM(pcxt);
	if (pcxt->seg != NULL)
	{
		leader->shared = store_parallel_chunk(pcxt, KEY_SHARED, sizeof(Shared));
		init_parallel_shared(leader->shared, heap, index, indexInfo, plan);
		if (plan->run != 0)
			share_parallel_sorting(leader->shared, pcxt->seg, nworkers + 1);
		leader->wal_usage = store_parallel_chunk(pcxt, KEY_WAL_USAGE,
												 mul_size(sizeof(WalUsage), nworkers));
		leader->buffer_usage = store_parallel_chunk(pcxt, KEY_BUFFER_USAGE,
													mul_size(sizeof(BufferUsage), nworkers));
		if (query_size > 0)
			memcpy(store_parallel_chunk(pcxt, KEY_QUERY_TEXT, query_size), debug_query_string,
				   query_size);
		LaunchParallelWorkers(pcxt);
	}
	if (pcxt->nworkers_launched > 0)
		return true;
	DestroyParallelContext(pcxt);
	ExitParallelMode();
	return false;
}

/* Until the workers are done with their last groups. */
static void
wait_for_build_workers(Leader *leader)
{
	Shared	   *shared = leader->shared;
	ParallelContext *pcxt = leader->pcxt;

	/* A worker that could not be started is an error, not waited for. */
	WaitForParallelWorkersToAttach(pcxt);
	ConditionVariablePrepareToSleep(&shared->worker_done);
	for (;;)
	{
		int			done;

		SpinLockAcquire(&shared->mutex);
		done = shared->workers_done;
		SpinLockRelease(&shared->mutex);
		rencoder_build_group_report_progress(&shared->progress);
		if (done == pcxt->nworkers_launched)
			break;
		(void) ConditionVariableTimedSleep(&shared->worker_done, REPORT_MS,
										   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

/* Adds up what the workers did, and waits for their end. */
static void
gather_parallel(Leader *leader, RencoderBuildTotals *totals)
{
	ParallelContext *pcxt = leader->pcxt;

	WaitForParallelWorkersToFinish(pcxt);
	for (int i = 0; i < pcxt->nworkers_launched; i++)
		InstrAccumParallelQuery(&leader->buffer_usage[i], &leader->wal_usage[i]);
	add_parallel_totals(totals, &leader->shared->totals);
}

/* Makes all directory and header pages, so that processes need not agree who does. */
static void
make_directory(Relation index, const RencoderBuildPlan *plan)
{
	const RencoderMeta meta = *rencoder_meta_get(index);
	uint32		ngroups = rencoder_group_count(plan->nranges);
	RencoderEntry entry = palloc0(meta.entry_size);

	for (uint32 group = 0; group < ngroups; group++)
	{
		CHECK_FOR_INTERRUPTS();
		entry->header = rencoder_group_make_headers(index, &meta, group, false);
		rencoder_directory_put(index, &meta, group, entry, false);
	}
	pfree(entry);
}

bool
rencoder_build_parallel(Relation heap, Relation index, IndexInfo *indexInfo,
						RencoderBuildPlan *plan, RencoderBuildRun *run,
						RencoderBuildTotals *totals)
{
	RencoderRunSorter *sorter[RENCODER_MAX_TREES];
	int			natts = rencoder_meta_get(index)->natts;
	uint32		ngroups = groups_for_parallel_build(plan);
	RencoderBuildGroup *build;
	Leader		leader;
	int			nworkers;

	/* Parallel operations hand the active snapshot on. */
	if (ngroups < 2 || !ActiveSnapshotSet())
		return false;
	nworkers = Min(rencoder_build_workers(heap, index, indexInfo), (int) ngroups - 1);
	if (nworkers <= 0)
		return false;

	make_directory(index, plan);
	plan->memory = rencoder_options_key_memory() / (nworkers + 1);

	memset(&leader, 0, sizeof(leader));
	if (!launch_parallel(&leader, nworkers, heap, index, indexInfo, plan))
		return false;
	if (run != NULL)
		rencoder_build_run_begin_sorters(sorter, natts, leader.shared->sort_memory,
										 plan->nblocks * plan->places.parts,
										 NULL, 0);
	build = rencoder_build_group_create(heap, index, indexInfo, plan, &leader.shared->progress,
										sorter, true);
	build_parallel_groups(build, leader.shared);
	wait_for_build_workers(&leader);
	if (ngroups < rencoder_group_count(plan->nranges))
		rencoder_build_group_make(build, ngroups);
	*totals = rencoder_build_group_finish(build);
	gather_parallel(&leader, totals);
	if (run != NULL)
	{
		rencoder_build_run_import(sorter, natts, &leader.shared->sorted.fs,
								  leader.pcxt->nworkers_launched);
		rencoder_build_run_finish(run, sorter, totals);
	}
	DestroyParallelContext(leader.pcxt);
	ExitParallelMode();
	return true;
}

void
rencoder_build_parallel_worker(dsm_segment *seg, shm_toc *toc)
{
	Shared	   *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	WalUsage   *wal_usage = shm_toc_lookup(toc, KEY_WAL_USAGE, false);
	BufferUsage *buffer_usage = shm_toc_lookup(toc, KEY_BUFFER_USAGE, false);
	LOCKMODE	heap_lock = ShareLock;
	LOCKMODE	index_lock = AccessExclusiveLock;
	RencoderRunSorter *sorter[RENCODER_MAX_TREES];
	RencoderBuildGroup *build;
	RencoderBuildTotals totals;
	IndexInfo  *indexInfo;
	int			natts;
	Relation	heap;
	Relation	index;

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY_TEXT, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(shared->query_id, false);

	/* The locks that the leader has; so those do not conflict. */
	heap = table_open(shared->heap, heap_lock);
	index = index_open(shared->index, index_lock);
	indexInfo = BuildIndexInfo(index);

	InstrStartParallelQuery();
	natts = rencoder_meta_get(index)->natts;
	if (shared->plan.run != 0)
	{
		SharedFileSetAttach(&shared->sorted, seg);
		rencoder_build_run_begin_sorters(sorter, natts, shared->sort_memory,
										 shared->plan.nblocks * shared->plan.places.parts,
										 &shared->sorted.fs, ParallelWorkerNumber);
	}
	build = rencoder_build_group_create(heap, index, indexInfo, &shared->plan,
										&shared->progress, sorter, false);
	build_parallel_groups(build, shared);
	if (shared->plan.run != 0)
		rencoder_build_run_export(sorter, natts);
	totals = rencoder_build_group_finish(build);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber], &wal_usage[ParallelWorkerNumber]);

	SpinLockAcquire(&shared->mutex);
	shared->workers_done++;
	add_parallel_totals(&shared->totals, &totals);
	SpinLockRelease(&shared->mutex);
	ConditionVariableSignal(&shared->worker_done);
	index_close(index, index_lock);
	table_close(heap, heap_lock);
}
