/*
 * worker_queue.c
 *		Requests for maintenance in shared memory.
 */
#include "worker/worker_queue.h"

#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "base/options.h"

/* The name ends with the version of the structure. */
#define SHARED_NAME		"rencoder requests 10"
#define TRANCHE_NAME	"rencoder_requests"

/* Databases with requests at the same time. */
#define MAX_DATABASES	64

/*
 * Beyond these the worker looks at all indexes of its database.  What workers have left unfinished
 * has room in half of the queue.
 */
#define MAX_JOBS		128
#define READ_PLACES		64		/* indexes may share one */

/*
 * A worker that has not reported this long after it was asked for will not
 * come: the server could not fork.
 */
#define START_TIMEOUT_MS	10000

/* How often a new worker looks whether the one that makes room for it has ended. */
#define WAIT_FOR_PLACE_MS	10

typedef struct DatabaseEntry
{
	Oid			database;		/* InvalidOid: free */
	int			pid;			/* of its worker; 0: it has none */
	Latch	   *latch;
	bool		leaving;		/* the worker is about to end */
	TimestampTz due;			/* since when it waits for a worker, or from
								 * when on */
	TimestampTz asked;			/* when a worker was asked for; 0: not */
	bool		overflowed;
} DatabaseEntry;

typedef struct QueuedJob
{
	Oid			database;
	RencoderJob job;
} QueuedJob;

typedef struct SharedRequests
{
	LWLock		lock;
	RencoderMuchRead read[READ_PLACES];
	DatabaseEntry entry[MAX_DATABASES];
	int			nqueued;
	QueuedJob	queued[MAX_JOBS];
} SharedRequests;

static SharedRequests *shared = NULL;
static bool shared_unavailable = false;

/* In the worker: its own entry. */
static DatabaseEntry *my_entry = NULL;

static void
init_queue(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct(SHARED_NAME, sizeof(SharedRequests), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(SharedRequests));
		LWLockInitialize(&shared->lock, rencoder_new_tranche(TRANCHE_NAME));
	}
	LWLockRelease(AddinShmemInitLock);
	rencoder_register_tranche(shared->lock.tranche, TRANCHE_NAME);
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
attach_queue(void)
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
				 errdetail("Sessions maintain indexes themselves.")));
		FreeErrorData(error);
		shared = NULL;
		shared_unavailable = true;
	}
	PG_END_TRY();
	return shared != NULL;
}

static DatabaseEntry *
find_queue_entry(Oid database)
{
	for (int i = 0; i < MAX_DATABASES; i++)
	{
		if (shared->entry[i].database == database)
			return &shared->entry[i];
	}
	return NULL;
}

/* Has a worker been asked for that may still come? */
static bool
is_coming(const DatabaseEntry *entry)
{
	return OidIsValid(entry->database) && entry->pid == 0 && entry->asked != 0 &&
		!TimestampDifferenceExceeds(entry->asked, GetCurrentTimestamp(), START_TIMEOUT_MS);
}

/* Does a database wait for a worker that nobody has asked for? */
static bool
is_waiting(const DatabaseEntry *entry)
{
	return OidIsValid(entry->database) && entry->pid == 0 && !is_coming(entry);
}

/* Is there any worker, to whose place the next one comes? */
static bool
any_worker(void)
{
	for (int i = 0; i < MAX_DATABASES; i++)
	{
		if (shared->entry[i].pid != 0 || is_coming(&shared->entry[i]))
			return true;
	}
	return false;
}

/*
 * The database that has waited longest, if there is a place for its worker, who must be asked for
 * then; else InvalidOid.  Whoever is leaving has given his place up.
 */
static Oid
take_place(void)
{
	DatabaseEntry *longest = NULL;
	int			taken = 0;

	for (int i = 0; i < MAX_DATABASES; i++)
	{
		DatabaseEntry *entry = &shared->entry[i];

		if (!is_waiting(entry))
			taken += OidIsValid(entry->database) && !entry->leaving;
		else if (longest == NULL || entry->due < longest->due)
			longest = entry;
	}
	if (longest == NULL || taken >= rencoder_max_workers)
		return InvalidOid;
	longest->asked = GetCurrentTimestamp();
	return longest->database;
}

/* Frees an entry, with what is to be done of its database. */
static void
free_queue_entry(DatabaseEntry *entry)
{
	int			left = 0;

	for (int i = 0; i < shared->nqueued; i++)
	{
		if (shared->queued[i].database != entry->database)
			shared->queued[left++] = shared->queued[i];
	}
	shared->nqueued = left;
	memset(entry, 0, sizeof(*entry));
}

/* A new entry; NULL if all are taken. */
static DatabaseEntry *
make_queue_entry(Oid database)
{
	DatabaseEntry *entry = find_queue_entry(InvalidOid);

	if (entry != NULL)
	{
		entry->database = database;
		entry->due = GetCurrentTimestamp();
	}
	return entry;
}

RencoderJob
rencoder_job_create(Oid index, bool urgent)
{
	return (RencoderJob)
	{
		.index = index,.urgent = urgent,.due = GetCurrentTimestamp(),
			.limit_ms = RENCODER_JOB_LIMIT_MS,.nblocks = InvalidBlockNumber
	};
}

bool
rencoder_job_merge(RencoderJob *job, const RencoderJob *request)
{
	bool		more = request->urgent && !job->urgent;

	if (job->waiting && more)
		job->due = Min(job->due, Max(request->due, TimestampTzPlusMilliseconds(job->looked,
																			   RENCODER_LEAST_LOOK_MS)));
	job->urgent |= request->urgent;
	job->known &= request->known;
	return more;
}

static void
queue_job(Oid database, const RencoderJob *job)
{
	QueuedJob  *queued = &shared->queued[shared->nqueued++];

	queued->database = database;
	queued->job = *job;
}

/* Queues a request; false if the same one, or one for more, is there already. */
static bool
queue_request(DatabaseEntry *entry, const RencoderJob *request)
{
	bool		already = entry->overflowed;

	for (int i = 0; i < shared->nqueued && OidIsValid(request->index); i++)
	{
		QueuedJob  *queued = &shared->queued[i];

		if (queued->database == entry->database && queued->job.index == request->index)
			return rencoder_job_merge(&queued->job, request);
	}
	if (OidIsValid(request->index) && shared->nqueued < MAX_JOBS)
	{
		queue_job(entry->database, request);
		return true;
	}
	entry->overflowed = true;
	return !already;
}

/*
 * Asks for the worker that take_place() has found a place for.  False if the server has
 * none left of its own: the database waits on.  Without a handle of the worker nothing is
 * allocated: see rencoder_worker_queue_prepare().
 */
static bool
start_queued_worker(Oid database)
{
	BackgroundWorker worker;
	DatabaseEntry *entry;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "rencoder", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "rencoder_worker_main", sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_name, "rencoder worker", sizeof(worker.bgw_name));
	strlcpy(worker.bgw_type, "rencoder worker", sizeof(worker.bgw_type));
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	if (RegisterDynamicBackgroundWorker(&worker, NULL))
		return true;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	entry = find_queue_entry(database);
	if (entry != NULL)
		entry->asked = 0;
	LWLockRelease(&shared->lock);
	return false;
}

/* Asks for the worker of the database that has waited longest, if there is a place for one. */
static void
start_next(void)
{
	Oid			next;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	next = take_place();
	LWLockRelease(&shared->lock);
	if (OidIsValid(next))
		(void) start_queued_worker(next);
}

/* There are no workers without a postmaster. */
bool
rencoder_worker_queue_prepare(void)
{
	return IsUnderPostmaster && attach_queue();
}

bool
rencoder_worker_queue_put(Oid index, bool urgent)
{
	RencoderJob request = rencoder_job_create(index, urgent);
	DatabaseEntry *entry;
	Latch	   *latch = NULL;
	Oid			next;
	bool		served;

	if (!rencoder_worker_queue_prepare())
		return false;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	entry = find_queue_entry(MyDatabaseId);
	if (entry == NULL)
		entry = make_queue_entry(MyDatabaseId);

	/*
	 * Whoever made the request that is there already has set the latch. Those
	 * that are not urgent must not fill the queue until the worker looks
	 * around by itself.
	 */
	if (entry != NULL)
	{
		entry->due = Min(entry->due, request.due);
		if (queue_request(entry, &request) && entry->pid != 0 &&
			(urgent || shared->nqueued >= MAX_JOBS / 2))
			latch = entry->latch;
	}
	next = take_place();
	served = any_worker();
	LWLockRelease(&shared->lock);

	/*
	 * The worker may run at once, in place of this process, for whose lock
	 * others would wait.
	 */
	if (latch != NULL)
		SetLatch(latch);
	if (OidIsValid(next) && !start_queued_worker(next))
	{
		LWLockAcquire(&shared->lock, LW_SHARED);
		served = any_worker();
		LWLockRelease(&shared->lock);
	}
	return entry != NULL && served;
}

void
rencoder_worker_queue_tell_tail_read(Oid index)
{
	RencoderJob request = rencoder_job_create(index, true);
	DatabaseEntry *entry;
	Latch	   *latch = NULL;

	if (!rencoder_worker_queue_prepare())
		return;
	request.known = true;
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	entry = find_queue_entry(MyDatabaseId);
	if (entry != NULL && entry->pid != 0 && shared->nqueued < MAX_JOBS / 2 &&
		queue_request(entry, &request))
		latch = entry->latch;
	LWLockRelease(&shared->lock);
	if (latch != NULL)
		SetLatch(latch);
}

RencoderMuchRead *
rencoder_worker_queue_read(Oid index)
{
	return rencoder_worker_queue_prepare() ? &shared->read[(index ^ MyDatabaseId) % READ_PLACES] : NULL;
}

/*
 * Since when the next worker of my database will have waited; 0 if there is nothing to do for it.
 * It is not before others that wait now.
 */
static TimestampTz
next_due(void)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz first = DT_NOEND;

	if (my_entry->overflowed)
		return now;
	for (int i = 0; i < shared->nqueued; i++)
	{
		if (shared->queued[i].database == my_entry->database && !shared->queued[i].job.known)
			first = Min(first, shared->queued[i].job.due);
	}
	return first == DT_NOEND ? 0 : Max(first, now);
}

/*
 * However the worker ends: hands its place over.  What it has left is for the next worker of the
 * database, unless this one has failed.
 */
static void
give_place_up(int code, Datum arg)
{
	TimestampTz due;

	if (my_entry == NULL)
		return;
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	due = my_entry->leaving ? next_due() : 0;
	if (due == 0)
		free_queue_entry(my_entry);
	else
	{
		my_entry->pid = 0;
		my_entry->latch = NULL;
		my_entry->leaving = false;
		my_entry->asked = 0;
		my_entry->due = due;
	}
	my_entry = NULL;
	LWLockRelease(&shared->lock);
	start_next();
}

/* Takes the database over if there is a place; must it wait for one that is being given up? */
static bool
try_attach(Oid database)
{
	DatabaseEntry *entry;
	int			workers = 0;
	bool		wait = false;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	entry = find_queue_entry(database);
	for (int i = 0; i < MAX_DATABASES; i++)
	{
		workers += shared->entry[i].pid != 0;
		wait |= shared->entry[i].leaving;
	}
	if (entry == NULL || entry->pid != 0)
		wait = false;
	else if (workers < rencoder_max_workers)
	{
		entry->pid = MyProcPid;
		entry->latch = MyLatch;
		my_entry = entry;
		wait = false;
	}
	else if (!wait)
		entry->asked = 0;
	LWLockRelease(&shared->lock);
	if (my_entry != NULL)
		ereport(DEBUG1,
				(errmsg_internal("rencoder worker %d of at most %d", workers + 1,
								 rencoder_max_workers)));
	return wait;
}

/* The places that are free may be more than one, after the setting was raised. */
bool
rencoder_worker_queue_attach(Oid database)
{
	if (!attach_queue())
		return false;

	/* Before what a session registers: it has gone from all views then. */
	on_shmem_exit(give_place_up, (Datum) 0);
	while (try_attach(database))
	{
		CHECK_FOR_INTERRUPTS();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, WAIT_FOR_PLACE_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	if (my_entry == NULL)
		return false;
	start_next();
	return true;
}

bool
rencoder_worker_queue_take(RencoderJob *job)
{
	bool		found = false;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < shared->nqueued && !found; i++)
	{
		QueuedJob  *queued = &shared->queued[i];

		if (queued->database != my_entry->database)
			continue;
		*job = queued->job;
		shared->nqueued--;
		memmove(queued, queued + 1, (shared->nqueued - i) * sizeof(*queued));
		found = true;
	}
	if (!found && my_entry->overflowed)
	{
		job->index = InvalidOid;
		my_entry->overflowed = false;
		found = true;
	}
	LWLockRelease(&shared->lock);
	return found;
}

/* Is this one more than the setting allows, which has been lowered? */
static bool
is_surplus(void)
{
	int			before = 0;

	for (const DatabaseEntry *entry = shared->entry; entry < my_entry; entry++)
		before += entry->pid != 0 && !entry->leaving;
	return before >= rencoder_max_workers;
}

/* Does another database wait for a worker, or is this one surplus?  Takes no lock. */
static bool
databases_wait(void)
{
	TimestampTz now = GetCurrentTimestamp();

	for (int i = 0; i < MAX_DATABASES; i++)
	{
		if (is_waiting(&shared->entry[i]) && shared->entry[i].due <= now)
			return true;
	}
	return is_surplus();
}

bool
rencoder_worker_queue_others_wait(Oid index)
{
	const volatile SharedRequests *queue = shared;
	Oid			database = my_entry->database;

	if (my_entry->overflowed || databases_wait())
		return true;
	for (int i = 0; i < Min(queue->nqueued, MAX_JOBS); i++)
	{
		if (queue->queued[i].database == database && queue->queued[i].job.index != index &&
			!queue->queued[i].job.known)
			return true;
	}
	return false;
}

bool
rencoder_worker_queue_try_leave(bool idle)
{
	Oid			next = InvalidOid;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	my_entry->leaving = databases_wait() || (idle && next_due() == 0);
	if (my_entry->leaving)
		next = take_place();
	LWLockRelease(&shared->lock);
	if (OidIsValid(next) && !start_queued_worker(next))
		my_entry->leaving = is_surplus();
	return my_entry->leaving;
}

void
rencoder_worker_queue_keep(const RencoderJob *job)
{
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	if (shared->nqueued < MAX_JOBS / 2)
		queue_job(my_entry->database, job);
	else
		my_entry->overflowed = true;
	LWLockRelease(&shared->lock);
}
