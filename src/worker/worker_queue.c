/*
 * worker_queue.c
 *		Requests for summarization in shared memory.
 */
#include "worker/worker_queue.h"

#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

/* The name ends with the version of the structure. */
#define SHARED_NAME		"rencoder requests 3"
#define TRANCHE_NAME	"rencoder_requests"

/* Databases with a worker at the same time; max_worker_processes is 8 by default. */
#define MAX_WORKERS		16

/* Beyond these the worker looks at all indexes of its database. */
#define MAX_REQUESTS	128

/*
 * A worker that has not reported this long after it was asked for will not
 * come: the server could not fork, or not connect it.
 */
#define START_TIMEOUT_MS	10000

typedef struct WorkerEntry
{
	Oid			database;		/* InvalidOid: free */
	int			pid;			/* 0: asked for, but not here yet */
	Latch	   *latch;
	TimestampTz since;			/* when it was asked for */
	bool		overflowed;
} WorkerEntry;

typedef struct QueuedRequest
{
	Oid			database;
	RencoderWorkerRequest request;
} QueuedRequest;

typedef struct SharedRequests
{
	LWLock		lock;
	int			nrequests;
	WorkerEntry worker[MAX_WORKERS];
	QueuedRequest request[MAX_REQUESTS];
} SharedRequests;

static SharedRequests *shared = NULL;
static bool shared_unavailable = false;

/* In the worker: its own entry. */
static WorkerEntry *my_entry = NULL;

static void
init_queue(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct(SHARED_NAME, sizeof(SharedRequests), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(SharedRequests));
		LWLockInitialize(&shared->lock, LWLockNewTrancheId());
	}
	LWLockRelease(AddinShmemInitLock);
	LWLockRegisterTranche(shared->lock.tranche, TRANCHE_NAME);
}

/*
 * Finds or makes the shared structure; false if the reserve is used up (a
 * large lock table may grow into it).  That must not fail an INSERT, and
 * ShmemInitStruct() knows no other answer than an error.  It has let go of its
 * own lock by then; AddinShmemInitLock is ours to release.  An error resets the
 * count that keeps interrupts away while an LWLock is held, hence
 * HOLD_INTERRUPTS, as in LWLockReleaseAll().
 */
static bool
attach_shared(void)
{
	MemoryContext old = CurrentMemoryContext;

	if (shared != NULL || shared_unavailable)
		return shared != NULL;
	PG_TRY();
	{
		init_queue();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		if (LWLockHeldByMe(AddinShmemInitLock))
		{
			HOLD_INTERRUPTS();
			LWLockRelease(AddinShmemInitLock);
		}
		MemoryContextSwitchTo(old);
		error = CopyErrorData();
		FlushErrorState();
		ereport(LOG,
				(errcode(error->sqlerrcode),
				 errmsg("no shared memory for requests to the rencoder worker: %s",
						error->message),
				 errdetail("Sessions summarize block ranges themselves.")));
		FreeErrorData(error);
		shared = NULL;
		shared_unavailable = true;
	}
	PG_END_TRY();
	return shared != NULL;
}

static WorkerEntry *
find_queue_entry(Oid database)
{
	for (int i = 0; i < MAX_WORKERS; i++)
	{
		if (shared->worker[i].database == database)
			return &shared->worker[i];
	}
	return NULL;
}

static bool
is_expired(const WorkerEntry *entry)
{
	return OidIsValid(entry->database) && entry->pid == 0 &&
		TimestampDifferenceExceeds(entry->since, GetCurrentTimestamp(),
								   START_TIMEOUT_MS);
}

/* Frees an entry, with the requests of its database. */
static void
free_entry(WorkerEntry *entry)
{
	int			kept = 0;

	for (int i = 0; i < shared->nrequests; i++)
	{
		if (shared->request[i].database != entry->database)
			shared->request[kept++] = shared->request[i];
	}
	shared->nrequests = kept;
	memset(entry, 0, sizeof(*entry));
}

/* An entry for a worker that is about to be asked for; NULL if all are taken. */
static WorkerEntry *
make_entry(Oid database)
{
	WorkerEntry *entry;

	for (int i = 0; i < MAX_WORKERS; i++)
	{
		if (is_expired(&shared->worker[i]))
			free_entry(&shared->worker[i]);
	}
	entry = find_queue_entry(InvalidOid);
	if (entry != NULL)
	{
		entry->database = database;
		entry->since = GetCurrentTimestamp();
	}
	return entry;
}

/* Queues a request; false if the same one, or one for more, is there already. */
static bool
add_request(WorkerEntry *entry, const RencoderWorkerRequest *wanted)
{
	QueuedRequest *queued;

	for (int i = 0; i < shared->nrequests; i++)
	{
		RencoderWorkerRequest *request = &shared->request[i].request;

		if (shared->request[i].database != entry->database || request->index != wanted->index)
			continue;
		if (request->ranges >= wanted->ranges && (request->urgent || !wanted->urgent))
			return false;
		request->ranges = Max(request->ranges, wanted->ranges);
		request->urgent |= wanted->urgent;
		return true;
	}
	if (shared->nrequests == MAX_REQUESTS)
	{
		bool		already = entry->overflowed;

		entry->overflowed = true;
		return !already;
	}
	queued = &shared->request[shared->nrequests++];
	queued->database = entry->database;
	queued->request = *wanted;
	return true;
}

/* Without a handle of the worker nothing is allocated: see rencoder_worker_queue_prepare(). */
static bool
start_worker(void)
{
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "rencoder", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "rencoder_worker_main",
			sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_name, "rencoder worker", sizeof(worker.bgw_name));
	strlcpy(worker.bgw_type, "rencoder worker", sizeof(worker.bgw_type));
	worker.bgw_main_arg = ObjectIdGetDatum(MyDatabaseId);
	return RegisterDynamicBackgroundWorker(&worker, NULL);
}

/* There are no workers without a postmaster. */
bool
rencoder_worker_queue_prepare(void)
{
	return IsUnderPostmaster && attach_shared();
}

bool
rencoder_worker_queue_put(Oid index, uint64 ranges, bool urgent)
{
	RencoderWorkerRequest request = {index, ranges, urgent};
	WorkerEntry *entry;
	bool		start = false;

	if (!rencoder_worker_queue_prepare())
		return false;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	entry = find_queue_entry(MyDatabaseId);
	if (entry == NULL || is_expired(entry))
	{
		entry = make_entry(MyDatabaseId);
		start = true;
	}

	/*
	 * Whoever made the request that is there already has set the latch. Those
	 * that are not urgent must not fill the queue until the worker looks
	 * around by itself.
	 */
	if (entry != NULL && add_request(entry, &request) && entry->pid != 0 &&
		(urgent || shared->nrequests >= MAX_REQUESTS / 2))
		SetLatch(entry->latch);
	LWLockRelease(&shared->lock);

	if (entry == NULL)
		return false;
	if (!start || start_worker())
		return true;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	entry = find_queue_entry(MyDatabaseId);
	if (entry != NULL && entry->pid == 0)
		free_entry(entry);
	LWLockRelease(&shared->lock);
	return false;
}

/* However the worker ends. */
static void
free_my_entry(int code, Datum arg)
{
	if (my_entry == NULL)
		return;
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	free_entry(my_entry);
	my_entry = NULL;
	LWLockRelease(&shared->lock);
}

bool
rencoder_worker_queue_attach(Oid database)
{
	WorkerEntry *entry;
	bool		attached = false;

	if (!attach_shared())
		return false;
	before_shmem_exit(free_my_entry, (Datum) 0);
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	entry = find_queue_entry(database);
	if (entry == NULL)
		entry = make_entry(database);
	if (entry != NULL && entry->pid == 0)
	{
		entry->pid = MyProcPid;
		entry->latch = MyLatch;
		my_entry = entry;
		attached = true;
	}
	LWLockRelease(&shared->lock);
	return attached;
}

bool
rencoder_worker_queue_take(RencoderWorkerRequest *request)
{
	bool		found = false;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < shared->nrequests && !found; i++)
	{
		QueuedRequest *queued = &shared->request[i];

		if (queued->database != my_entry->database)
			continue;
		*request = queued->request;
		shared->nrequests--;
		memmove(queued, queued + 1, (shared->nrequests - i) * sizeof(*queued));
		found = true;
	}
	LWLockRelease(&shared->lock);
	return found;
}

bool
rencoder_worker_queue_overflowed(void)
{
	bool		overflowed;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	overflowed = my_entry->overflowed;
	my_entry->overflowed = false;
	LWLockRelease(&shared->lock);
	return overflowed;
}

bool
rencoder_worker_queue_others_wait(Oid index)
{
	const volatile SharedRequests *queue = shared;
	Oid			database = my_entry->database;

	if (my_entry->overflowed)
		return true;
	for (int i = 0; i < Min(queue->nrequests, MAX_REQUESTS); i++)
	{
		if (queue->request[i].database == database && queue->request[i].request.index != index)
			return true;
	}
	return false;
}

bool
rencoder_worker_queue_detach(void)
{
	bool		wanted;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	wanted = my_entry->overflowed;
	for (int i = 0; i < shared->nrequests && !wanted; i++)
		wanted = shared->request[i].database == my_entry->database;
	if (!wanted)
	{
		free_entry(my_entry);
		my_entry = NULL;
	}
	LWLockRelease(&shared->lock);
	return !wanted;
}
