/*
 * build_parallel.c
 *		Reading the table for a new index by several processes.
 *
 * All processes, the leader too, take piece after piece of the table from a shared counter.  Keys are
 * sorted by the process that reads them; workers leave them in files, which the leader merges.
 *
 * Processes scan the heap each by itself, with snapshots and horizons of their own.  The
 * worker's xmin is that of the leader's active snapshot, so what horizon.c says
 * of a process holds.
 */
#include "make/build_parallel.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
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

/* How often the leader that waits for the last pieces reports progress. */
#define REPORT_MS			200

/* So many are there at least, unless they are of one page. */
#define PIECES				16

typedef struct Shared
{
	Oid			heap;
	Oid			index;
	uint64		query_id;
	BlockNumber nblocks;		/* that are read */
	uint32		piece;
	pg_atomic_uint64 next;		/* the first that nobody has taken */
	pg_atomic_uint64 read;		/* how many have been read */
	renc_places places;
	uint32		coder[INDEX_MAX_KEYS];	/* generations */
	Size		sort_memory;	/* of a process, in bytes */
	SharedFileSet sorted;		/* what workers leave */

	ConditionVariable worker_done;
	slock_t		mutex;			/* protects what follows */
	int			workers_done;
	double		heap_tuples;	/* of the workers that are done, as in
								 * RencoderReadRows */
	double		index_tuples;
	OffsetNumber most_rows;
	bool		broken_hot_chain;
	uint64		horizon;
} Shared;

/* What the leader keeps of the parallel operation. */
typedef struct Leader
{
	ParallelContext *pcxt;		/* NULL: there is none */
	Shared	   *shared;
	WalUsage   *wal_usage;		/* of each worker */
	BufferUsage *buffer_usage;
} Leader;

static Leader leader;

PGDLLEXPORT void rencoder_build_parallel_worker(dsm_segment *seg, shm_toc *toc);

/* Adds what a worker has read. */
static void
add_totals(Shared *shared, const RencoderReadRows *rows)
{
	shared->heap_tuples += rows->heap_tuples;
	shared->index_tuples += rows->index_tuples;
	shared->most_rows = Max(shared->most_rows, rows->most_rows);
	shared->broken_hot_chain |= rows->broken_hot_chain;
	shared->horizon = Max(shared->horizon, rows->horizon);
}

static void
take_totals(RencoderReadRows *rows, const Shared *shared)
{
	rows->heap_tuples += shared->heap_tuples;
	rows->index_tuples += shared->index_tuples;
	rows->most_rows = Max(shared->most_rows, rows->most_rows);
	rows->broken_hot_chain |= shared->broken_hot_chain;
	rows->horizon = Max(shared->horizon, rows->horizon);
}

static void
report_read_blocks(Shared *shared)
{
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
								 (int64) pg_atomic_read_u64(&shared->read));
}

/* Reads pieces until there are no more. */
static void
read_pieces(RencoderReadRows *rows, Shared *shared, bool reports)
{
	uint64		npages = 0;

	rows->counter = &shared->read;
	for (;;)
	{
		uint64		first = pg_atomic_fetch_add_u64(&shared->next, shared->piece);
		BlockNumber n;

		if (first >= shared->nblocks)
			break;
		n = (BlockNumber) Min(shared->nblocks - first, shared->piece);
		rencoder_read_rows(rows, (BlockNumber) first, n);
		if (reports)
			report_read_blocks(shared);
		npages += n;
	}
	ereport(DEBUG1,
			(errmsg_internal("index \"%s\": this process has read %llu pages",
							 RelationGetRelationName(rows->index), (unsigned long long) npages)));
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
init_parallel_shared(Shared *shared, const RencoderReadRows *rows, BlockNumber nblocks, uint32 piece,
					 dsm_segment *seg, int nprocesses)
{
	memset(shared, 0, sizeof(*shared));
	shared->heap = RelationGetRelid(rows->heap);
	shared->index = RelationGetRelid(rows->index);
	shared->query_id = pgstat_get_my_query_id();
	shared->nblocks = nblocks;
	shared->piece = piece;
	shared->places = rows->places;
	memcpy(shared->coder, rows->coders.generation, sizeof(shared->coder));
	pg_atomic_init_u64(&shared->next, 0);
	pg_atomic_init_u64(&shared->read, 0);
	shared->sort_memory = rencoder_options_sort_memory() / nprocesses;
	SharedFileSetInit(&shared->sorted, seg);
	ConditionVariableInit(&shared->worker_done);
	SpinLockInit(&shared->mutex);
}

/*
 * Enters parallel mode and launches workers; false if there are none, and
 * parallel mode is left.
 */
static bool
launch_parallel(int nworkers, const RencoderReadRows *rows, BlockNumber nblocks, uint32 piece)
{
	Size		query_size = debug_query_string ? strlen(debug_query_string) + 1 : 0;
	ParallelContext *pcxt;

	EnterParallelMode();
	pcxt = CreateParallelContext("rencoder", "rencoder_build_parallel_worker", nworkers);
	estimate_parallel_chunk(pcxt, sizeof(Shared));
	estimate_parallel_chunk(pcxt, mul_size(sizeof(WalUsage), nworkers));
	estimate_parallel_chunk(pcxt, mul_size(sizeof(BufferUsage), nworkers));
	if (query_size > 0)
		estimate_parallel_chunk(pcxt, query_size);
	InitializeParallelDSM(pcxt);
	if (pcxt->seg != NULL)
	{
		leader.shared = store_parallel_chunk(pcxt, KEY_SHARED, sizeof(Shared));
		init_parallel_shared(leader.shared, rows, nblocks, piece, pcxt->seg, nworkers + 1);
		leader.wal_usage = store_parallel_chunk(pcxt, KEY_WAL_USAGE,
												mul_size(sizeof(WalUsage), nworkers));
		leader.buffer_usage = store_parallel_chunk(pcxt, KEY_BUFFER_USAGE,
												   mul_size(sizeof(BufferUsage), nworkers));
		if (query_size > 0)
			memcpy(store_parallel_chunk(pcxt, KEY_QUERY_TEXT, query_size), debug_query_string,
				   query_size);
		LaunchParallelWorkers(pcxt);
	}
	if (pcxt->nworkers_launched > 0)
	{
		leader.pcxt = pcxt;
		return true;
	}
	DestroyParallelContext(pcxt);
	ExitParallelMode();
	return false;
}

/* Until the workers are done with their last pieces. */
static void
wait_for_build_workers(void)
{
	Shared	   *shared = leader.shared;
	ParallelContext *pcxt = leader.pcxt;

	/* A worker that could not be started is an error, not waited for. */
	WaitForParallelWorkersToAttach(pcxt);
	ConditionVariablePrepareToSleep(&shared->worker_done);
	for (;;)
	{
		int			done;

		SpinLockAcquire(&shared->mutex);
		done = shared->workers_done;
		SpinLockRelease(&shared->mutex);
		report_read_blocks(shared);
		if (done == pcxt->nworkers_launched)
			break;
		(void) ConditionVariableTimedSleep(&shared->worker_done, REPORT_MS,
										   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

bool
rencoder_build_parallel(RencoderReadRows *rows, BlockNumber nblocks)
{
	uint32		piece = Max(Min(RENCODER_BUILD_PIECE, nblocks / PIECES), 1);
	int			nworkers;

	/* Parallel operations hand the active snapshot on. */
	leader.pcxt = NULL;
	if (nblocks < 2 * piece || !ActiveSnapshotSet())
		return false;
	nworkers = Min(rencoder_build_workers(rows->heap, rows->index, rows->indexInfo),
				   (int) (nblocks / piece) - 1);
	if (nworkers <= 0 || !launch_parallel(nworkers, rows, nblocks, piece))
		return false;
	rencoder_read_rows_begin(rows, leader.shared->sort_memory, nblocks, NULL, 0);
	read_pieces(rows, leader.shared, true);
	wait_for_build_workers();
	WaitForParallelWorkersToFinish(leader.pcxt);
	for (int i = 0; i < leader.pcxt->nworkers_launched; i++)
		InstrAccumParallelQuery(&leader.buffer_usage[i], &leader.wal_usage[i]);
	take_totals(rows, leader.shared);
	rencoder_read_rows_import(rows, &leader.shared->sorted.fs, leader.pcxt->nworkers_launched);
	return true;
}

void
rencoder_build_end_parallel(void)
{
	if (leader.pcxt == NULL)
		return;
	DestroyParallelContext(leader.pcxt);
	ExitParallelMode();
	leader.pcxt = NULL;
}

void
rencoder_build_parallel_worker(dsm_segment *seg, shm_toc *toc)
{
	Shared	   *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	WalUsage   *wal_usage = shm_toc_lookup(toc, KEY_WAL_USAGE, false);
	BufferUsage *buffer_usage = shm_toc_lookup(toc, KEY_BUFFER_USAGE, false);
	LOCKMODE	heap_lock = ShareLock;
	LOCKMODE	index_lock = AccessExclusiveLock;
	RencoderReadRows rows = {0};

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY_TEXT, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(shared->query_id, false);

	/* The locks that the leader has; so those do not conflict. */
	rows.heap = table_open(shared->heap, heap_lock);
	rows.index = index_open(shared->index, index_lock);
	rows.indexInfo = BuildIndexInfo(rows.index);
	rows.places = shared->places;

	InstrStartParallelQuery();
	for (int col = 0; col < rencoder_key_columns(rows.index); col++)
		rencoder_columns_load_coders(rows.index, col, shared->coder[col], &rows.coders);
	SharedFileSetAttach(&shared->sorted, seg);
	rencoder_read_rows_begin(&rows, shared->sort_memory, shared->nblocks, &shared->sorted.fs,
							 ParallelWorkerNumber);
	read_pieces(&rows, shared, false);
	rencoder_read_rows_export(&rows);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber], &wal_usage[ParallelWorkerNumber]);

	SpinLockAcquire(&shared->mutex);
	shared->workers_done++;
	add_totals(shared, &rows);
	SpinLockRelease(&shared->mutex);
	ConditionVariableSignal(&shared->worker_done);
	index_close(rows.index, index_lock);
	table_close(rows.heap, heap_lock);
}
