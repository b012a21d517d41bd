/*
 * worker.c
 *		The background worker that maintains the indexes of a database.
 *
 * It is started by the first request, takes requests as they come, and ends when there have been
 * none for a while and the tables that it was asked for are quiet.  A lock on one of them, or an
 * error, does not make it forget.  It must not be in anybody's way:
 *
 *	- it takes RowExclusiveLock on table and index, as an INSERT does, which
 *	  neither VACUUM nor autovacuum minds, without waiting, and for a fifth of
 *	  a second, one run at a time.  A large one takes
 *	  longer; it is given up when somebody waits for the table;
 *	- while somebody else maintains an index, perhaps for long, it serves others;
 *	- DROP DATABASE and others that need a database without sessions give up
 *	  after 5 seconds and have no way to end this one; so it looks whether
 *	  anybody has locked the database, and leaves;
 *	- an index with which something went wrong is left alone for a minute, and
 *	  the others are served;
 *	- when other databases wait for a worker, it leaves after a second, and its
 *	  jobs go on with the next worker of the database;
 *	- a job that takes long is cancelled if others wait: expressions of an index are functions of
 *	  the table's owner, which may sleep, or wait for a lock.  Time alone is no reason to end a job,
 *	  since a run of a large table takes long.
 *
 * The shared memory, and why no request is lost between two workers: worker_queue.h.
 */
#include "base/compat.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "base/options.h"
#include "make/make_run.h"
#include "store/open_index.h"
#include "worker/worker_job.h"
#include "worker/worker_queue.h"

/*
 * A turn, when other databases wait.  After a look at all indexes it is long enough to see whether
 * tables are quiet: what is known of each may have been lost.
 */
#define TURN_MS				1000
#define TURN_OF_ALL_MS		(QUIET_MS + TURN_MS)

/* It ends when it has had no request for this long. */
#define LINGER_MS			5000

/*
 * An index that somebody has locked, or with which something went wrong, is tried again for a while,
 * and then left to who asks for it, or to VACUUM.  Another index or a foreign key, made after a load,
 * often locks the table for long.
 */
#define RETRY_LOCKED_MS		500
#define GIVE_UP_MS			(10 * 60 * 1000)
#define RETRY_FAILED_MS		60000

/* The most time that a job gets while others wait (RENCODER_JOB_LIMIT_MS). */
#define LIMIT_MAX_MS		(5 * 60 * 1000)

PGDLLEXPORT void rencoder_worker_main(Datum arg);

static HTAB *jobs;

static TimestampTz turn_began;
static int	turn_ms = TURN_MS;

/* How often it looks for others when the time is over. */
#define LOOK_FOR_OTHERS_MS	1000

static TimeoutId limit;
static Oid	limited_index;
static TimestampTz limited_other_due;
static volatile sig_atomic_t over;

static void
add_job(const RencoderJob *request)
{
	bool		found;
	RencoderJob *job = hash_search(jobs, &request->index, request->known ? HASH_FIND : HASH_ENTER,
								   &found);

	if (job == NULL)
		return;
	if (found)
		(void) rencoder_job_merge(job, request);
	else
		*job = *request;
	job->urgent = false;
}

/* Jobs for all indexes of the access method in this database. */
static void
add_all_indexes(void)
{
	Relation	pg_class;
	TableScanDesc scan;
	ScanKeyData key[2];
	HeapTuple	tuple;

	StartTransactionCommand();
	ScanKeyInit(&key[0], Anum_pg_class_relam, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(get_index_am_oid("rencoder", true)));
	ScanKeyInit(&key[1], Anum_pg_class_relkind, BTEqualStrategyNumber, F_CHAREQ,
				CharGetDatum(RELKIND_INDEX));
	pg_class = table_open(RelationRelationId, AccessShareLock);
	scan = table_beginscan_catalog(pg_class, lengthof(key), key);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		RencoderJob request = rencoder_job_create(form->oid, false);

		if (form->relpersistence != RELPERSISTENCE_TEMP)
			add_job(&request);
	}
	table_endscan(scan);
	table_close(pg_class, AccessShareLock);
	CommitTransactionCommand();
	turn_ms = TURN_OF_ALL_MS;
}

/* Of the job at hand, for messages. */
static char job_index_name[3 * NAMEDATALEN];

/* As autovacuum names tables.  In a transaction. */
static void
name_job_index(Oid index)
{
	const char *name = get_rel_name(index);

	snprintf(job_index_name, sizeof(job_index_name), "%s.%s.%s", get_database_name(MyDatabaseId),
			 name == NULL ? "" : get_namespace_name(get_rel_namespace(index)),
			 name == NULL ? psprintf("%u", index) : name);
}

/* A step of the job, in a transaction of its own. */
static RencoderJobResult
do_job(RencoderJob *job)
{
	RencoderOpenIndex target;
	RencoderJobResult result = RENCODER_JOB_DONE;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	name_job_index(job->index);
	switch (rencoder_open_index_try(&target, job->index, RowExclusiveLock, false))
	{
		case RENCODER_TRY_GONE:
			break;
		case RENCODER_TRY_LOCKED:
			result = RENCODER_JOB_LOCKED;
			break;
		case RENCODER_TRY_OPENED:
			pgstat_report_activity(STATE_RUNNING,
								   psprintf("rencoder: maintaining \"%s\"",
											RelationGetRelationName(target.index)));
			result = rencoder_worker_job_step(job, target.index, target.heap);
			rencoder_open_index_close(&target);
			break;
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	return result;
}

/* ---- How long it stays with one job while others wait ---- */

/* In a signal handler: takes no lock. */
static void
look_for_others(void)
{
	if (GetCurrentTimestamp() < limited_other_due &&
		!rencoder_worker_queue_others_wait(limited_index))
		return;
	over = true;
	QueryCancelPending = true;
	InterruptPending = true;
	SetLatch(MyLatch);
}

/*
 * Some timeouts of settings end the session, and it would be asked for again and again.  Not
 * every version has all of them.
 */
static void
init_worker_time_limit(void)
{
	static const char *const timeouts[] = {
		"statement_timeout", "transaction_timeout", "lock_timeout",
		"idle_in_transaction_session_timeout", "idle_session_timeout"
	};

	for (int i = 0; i < (int) lengthof(timeouts); i++)
	{
		if (GetConfigOption(timeouts[i], true, false) != NULL)
			SetConfigOption(timeouts[i], "0", PGC_SUSET, PGC_S_OVERRIDE);
	}
	limit = RegisterTimeout(USER_TIMEOUT, look_for_others);
}

/*
 * From "ms" milliseconds on, the job is cancelled, as a query is, as soon as others wait: another
 * job, which is due at "other_due", a request for another index, or another database.
 */
static void
begin_worker_time_limit(Oid index, TimestampTz other_due, int ms)
{
	over = false;
	limited_index = index;
	limited_other_due = other_due;
	enable_timeout_every(limit, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms),
						 LOOK_FOR_OTHERS_MS);
}

/* Ends the limit, and a cancellation that came too late.  Has the job been cancelled by it? */
static bool
end_worker_time_limit(void)
{
	disable_timeout(limit, false);
	if (over)
		QueryCancelPending = false;
	return over;
}

/* ---- One job ---- */

/* The job that is due first but for "mine", or NULL. */
static RencoderJob *
first_job(const RencoderJob *mine)
{
	HASH_SEQ_STATUS status;
	RencoderJob *job;
	RencoderJob *first = NULL;

	hash_seq_init(&status, jobs);
	while ((job = hash_seq_search(&status)) != NULL)
	{
		if (job != mine && (first == NULL || job->due < first->due))
			first = job;
	}
	return first;
}

/* An error is reported in the server's log and goes no further. */
static RencoderJobResult
try_job(RencoderJob *job)
{
	const RencoderJob *other = first_job(job);
	volatile RencoderJobResult result = RENCODER_JOB_FAILED;

	job->looked = GetCurrentTimestamp();
	begin_worker_time_limit(job->index, other == NULL ? DT_NOEND : other->due, job->limit_ms);
	PG_TRY();
	{
		result = do_job(job);
		(void) end_worker_time_limit();
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		if (end_worker_time_limit() && geterrcode() == ERRCODE_QUERY_CANCELED)
			result = RENCODER_JOB_CANCELLED;
		else
		{
			errcontext("automatic maintenance of index \"%s\"", job_index_name);
			EmitErrorReport();
			result = RENCODER_JOB_FAILED;
		}
		AbortOutOfAnyTransaction();
		FlushErrorState();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	if (result == RENCODER_JOB_CANCELLED)
		ereport(LOG,
				(errmsg("put off automatic maintenance of index \"%s\"", job_index_name),
				 errdetail("It took more than %d ms, and others wait.", job->limit_ms)));
	return result;
}

/* A step of a job that is due, which then goes behind the others, unless nothing is left of it. */
static void
serve_job(RencoderJob *job)
{
	RencoderJobResult result = try_job(job);
	TimestampTz now = GetCurrentTimestamp();
	bool		trouble = result == RENCODER_JOB_LOCKED || result == RENCODER_JOB_FAILED;
	int			pause_ms =
		result == RENCODER_JOB_WAITS ? job->pause_ms :
		result == RENCODER_JOB_LOCKED ? RETRY_LOCKED_MS :
		result == RENCODER_JOB_FAILED ? RETRY_FAILED_MS :
		result == RENCODER_JOB_CANCELLED ? job->limit_ms : 0;

	job->waiting = result == RENCODER_JOB_WAITS;
	job->due = TimestampTzPlusMilliseconds(job->waiting ? job->looked : now, pause_ms);
	if (job->waiting)
		job->due = Max(job->due, TimestampTzPlusMilliseconds(now, RENCODER_LEAST_LOOK_MS));
	if (result == RENCODER_JOB_CANCELLED)
		job->limit_ms = Min(2 * job->limit_ms, LIMIT_MAX_MS);
	if (!trouble)
		job->trouble_since = 0;
	else if (job->trouble_since == 0)
		job->trouble_since = now;
	if (result == RENCODER_JOB_DONE ||
		(trouble && TimestampDifferenceExceeds(job->trouble_since, now, GIVE_UP_MS)))
		hash_search(jobs, &job->index, HASH_REMOVE, NULL);
	pgstat_report_stat(true);
	pgstat_report_activity(STATE_IDLE, NULL);
}

/* Has this database had its turn, if others wait?  Without a job it needs none. */
static bool
worker_turn_is_over(void)
{
	return hash_get_num_entries(jobs) == 0 ||
		TimestampDifferenceExceeds(turn_began, GetCurrentTimestamp(), turn_ms);
}

/* Takes what has been asked for. */
static void
take_requests(void)
{
	RencoderJob request;

	while (rencoder_worker_queue_take(&request))
	{
		if (OidIsValid(request.index))
			add_job(&request);
		else
			add_all_indexes();
	}
}

/* For the next worker of the database. */
static void
keep_jobs(void)
{
	HASH_SEQ_STATUS status;
	RencoderJob *job;

	hash_seq_init(&status, jobs);
	while ((job = hash_seq_search(&status)) != NULL)
		rencoder_worker_queue_keep(job);
}

static void
serve_database(void)
{
	TimestampTz last = GetCurrentTimestamp();	/* when there was a job */

	turn_began = last;
	while (rencoder_may_stay_in_database())
	{
		RencoderJob *job;
		TimestampTz now;
		long		wait_ms = RENCODER_LOOK_MS;
		bool		idle;

		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}

		ResetLatch(MyLatch);
		take_requests();
		job = first_job(NULL);
		now = GetCurrentTimestamp();
		if (job != NULL)
		{
			last = now;
			wait_ms = Min(wait_ms, TimestampDifferenceMilliseconds(now, job->due));
			if (job->due <= now)
				serve_job(job);
		}
		idle = TimestampDifferenceExceeds(last, GetCurrentTimestamp(), LINGER_MS);
		if ((idle || worker_turn_is_over()) && rencoder_worker_queue_try_leave(idle))
		{
			keep_jobs();
			break;
		}
		if (wait_ms > 0)
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, wait_ms,
							 PG_WAIT_EXTENSION);
	}
}

static void
create_jobs(void)
{
	HASHCTL		ctl;

	memset(&ctl, 0, sizeof(ctl));
	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(RencoderJob);
	jobs = hash_create("rencoder jobs", 64, &ctl, HASH_ELEM | HASH_BLOBS);
}

/*
 * Entry point of the process.  The database's requests are taken over first,
 * so that they are given up again if the connection fails.
 */
void
rencoder_worker_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	if (!rencoder_worker_queue_attach(database))
		return;
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);

	/* Settings of the database are for its users. */
	SetConfigOption("default_transaction_isolation", "read committed",
					PGC_SUSET, PGC_S_OVERRIDE);
	init_worker_time_limit();
	SetConfigOption("zero_damaged_pages", "false", PGC_SUSET, PGC_S_OVERRIDE);
	create_jobs();
	serve_database();
}
