/*
 * worker.c
 *		The background worker that summarizes for a database.
 *
 * It is started by the first request, takes requests as they come, and ends
 * when there have been none for a while.  It must not be in anybody's way:
 *
 *	- it takes RowExclusiveLock on table and index, as an INSERT does, which
 *	  neither VACUUM nor autovacuum minds, without waiting, and for a fifth of
 *	  a second, one slice or one group at a time;
 *	- DROP DATABASE and others that need a database without sessions give up
 *	  after 5 seconds and have no way to end this one; so it looks whether
 *	  anybody has locked the database, and leaves;
 *	- an index with which something went wrong is left alone for a minute, and
 *	  the others are served.
 *
 * The shared memory, and why no request is lost between two workers: request.h.
 */
#include "compat.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "commands/defrem.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "tcop/tcopprot.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "autosummarize.h"
#include "rencoder.h"
#include "request.h"
#include "summarize.h"
#include "target.h"

/* How often it looks around, at least. */
#define LOOK_MS				200

/* It ends when it has had no request for this long. */
#define LINGER_MS			5000

/* How long it works on one index, unless a slice, or a group at once, takes longer. */
#define PIECE_MS			200

#define RETRY_LOCKED_MS		200
#define RETRY_FAILED_MS		60000

/* It looks for gaps so many slices back; older ones are for VACUUM. */
#define WINDOW_SLICES		1024

/* Work to do, by index. */
typedef struct Job
{
	Oid			index;			/* hash key */
	uint64		ranges;			/* complete ones; 0: as the table's size says */
	TimestampTz due;
} Job;

typedef enum JobResult
{
	JOB_DONE,
	JOB_UNFINISHED,
	JOB_LOCKED
} JobResult;

PGDLLEXPORT void rencoder_worker_main(Datum arg);

static HTAB *jobs;

/*
 * Does nobody want the database without sessions?  DROP DATABASE, ALTER
 * DATABASE .. RENAME or SET TABLESPACE, and CREATE DATABASE with it as
 * template lock it, in a mode that conflicts with that of starting sessions,
 * before they wait for the others to leave.
 */
static bool
may_stay(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	if (LockAcquire(&tag, RowExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	LockRelease(&tag, RowExclusiveLock, true);
	return true;
}

static void
add_job(Oid index, uint64 ranges)
{
	bool		found;
	Job		   *job = hash_search(jobs, &index, HASH_ENTER, &found);

	if (!found)
	{
		job->ranges = 0;
		job->due = 0;
	}
	job->ranges = Max(job->ranges, ranges);
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

		if (form->relpersistence != RELPERSISTENCE_TEMP)
			add_job(form->oid, 0);
	}
	table_endscan(scan);
	table_close(pg_class, AccessShareLock);
	CommitTransactionCommand();
}

/* The slice at which the job ends. */
static uint64
job_end(const Job *job, Relation heap, const RencoderMeta *meta)
{
	uint64		in_table = RelationGetNumberOfBlocks(heap) / meta->pages_per_range;

	/* The table may have been truncated since. */
	if (job->ranges > 0)
		return Min(job->ranges, in_table) / RENC_SLICE_RANGES;
	return rencoder_complete_slices(meta, in_table);
}

static JobResult
fill_gaps(const Job *job, Relation index, Relation heap)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	TimestampTz start = GetCurrentTimestamp();
	uint64		end;
	uint64		slice;
	uint64		next;

	if (!rencoder_options_autosummarize(index))
		return JOB_DONE;

	/* Others hold it for one group of ranges at most. */
	rencoder_meta_lock_maintainer(index);
	end = job_end(job, heap, &meta);
	slice = end < WINDOW_SLICES ? 0 : end - WINDOW_SLICES;
	while ((slice = rencoder_first_gap(index, &meta, slice, end)) < end &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), PIECE_MS))
	{
		/* A group at once, if it comes so late; it is logged once then, not twice. */
		next = slice + 1;
		if (slice % RENC_GROUP_SLICES == 0 && slice + RENC_GROUP_SLICES <= end)
			next = slice + RENC_GROUP_SLICES;
		rencoder_summarize_slices(index, heap, slice, next, false);
	}
	rencoder_meta_unlock_maintainer(index);
	return slice < end ? JOB_UNFINISHED : JOB_DONE;
}

/* A piece of the job, in a transaction of its own. */
static JobResult
do_job(const Job *job)
{
	RencoderTarget target;
	JobResult	result = JOB_DONE;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	switch (rencoder_target_try_open(&target, job->index, RowExclusiveLock))
	{
		case RENCODER_TRY_GONE:
			break;
		case RENCODER_TRY_LOCKED:
			result = JOB_LOCKED;
			break;
		case RENCODER_TRY_OPENED:
			pgstat_report_activity(STATE_RUNNING,
								   psprintf("rencoder: summarizing \"%s\"",
											RelationGetRelationName(target.index)));
			result = fill_gaps(job, target.index, target.heap);
			rencoder_target_close(&target);
			break;
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	return result;
}

/* An error is reported in the server's log and goes no further. */
static JobResult
try_job(const Job *job, bool *failed)
{
	volatile JobResult result = JOB_DONE;

	*failed = false;
	PG_TRY();
	{
		result = do_job(job);
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		errcontext("automatic summarization of index with OID %u", job->index);
		EmitErrorReport();
		AbortOutOfAnyTransaction();
		FlushErrorState();
		*failed = true;
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	return result;
}

/* Indexes whose jobs are due; not a scan of the table that spans transactions. */
static List *
due_jobs(void)
{
	HASH_SEQ_STATUS status;
	Job		   *job;
	TimestampTz now = GetCurrentTimestamp();
	List	   *due = NIL;

	hash_seq_init(&status, jobs);
	while ((job = hash_seq_search(&status)) != NULL)
	{
		if (job->due <= now)
			due = lappend_oid(due, job->index);
	}
	return due;
}

/* One round over the jobs that are due; is there more to do at once? */
static bool
do_jobs(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	List	   *due = due_jobs();
	ListCell   *cell;
	bool		more = false;

	MemoryContextSwitchTo(old);
	foreach(cell, due)
	{
		Job		   *job = hash_search(jobs, &lfirst_oid(cell), HASH_FIND, NULL);
		JobResult	result;
		bool		failed;

		if (!may_stay())
			break;
		result = try_job(job, &failed);
		if (failed || result == JOB_LOCKED)
			job->due = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
												   failed ? RETRY_FAILED_MS : RETRY_LOCKED_MS);
		else if (result == JOB_DONE)
			hash_search(jobs, &job->index, HASH_REMOVE, NULL);
		else
			more = true;
	}
	if (due != NIL)
	{
		pgstat_report_stat(true);
		pgstat_report_activity(STATE_IDLE, NULL);
	}
	list_free(due);
	return more;
}

/* Takes what has been asked for; was anything? */
static bool
take_requests(void)
{
	RencoderRequest request;
	bool		any = false;

	while (rencoder_request_take(&request))
	{
		add_job(request.index, request.ranges);
		any = true;
	}
	if (rencoder_request_overflowed())
	{
		add_all_indexes();
		any = true;
	}
	return any;
}

static void
serve_database(void)
{
	TimestampTz last = GetCurrentTimestamp();
	bool		more = false;

	while (may_stay())
	{
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}

		ResetLatch(MyLatch);
		if (take_requests() || more)
			last = GetCurrentTimestamp();
		more = do_jobs();
		if (more)
			continue;
		if (TimestampDifferenceExceeds(last, GetCurrentTimestamp(), LINGER_MS) &&
			rencoder_request_detach())
			break;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 LOOK_MS, PG_WAIT_EXTENSION);
	}
}

static void
create_jobs(void)
{
	HASHCTL		ctl;

	memset(&ctl, 0, sizeof(ctl));
	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(Job);
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
	if (!rencoder_request_attach(database))
		return;
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);

	/* Settings of the database are for its users. */
	SetConfigOption("default_transaction_isolation", "read committed",
					PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("lock_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("zero_damaged_pages", "false", PGC_SUSET, PGC_S_OVERRIDE);
	create_jobs();
	serve_database();
}
