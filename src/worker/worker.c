/*
 * worker.c
 *		The background worker that summarizes for a database.
 *
 * It is started by the first request, takes requests as they come, and ends when there have been
 * none for a while and the tables that it was asked for are quiet.  A lock on one of them, or an
 * error, does not make it forget.  It must not be in anybody's way:
 *
 *	- it takes RowExclusiveLock on table and index, as an INSERT does, which
 *	  neither VACUUM nor autovacuum minds, without waiting, and for a fifth of
 *	  a second, one slice or one group at a time.  A run of full groups takes
 *	  longer; it is given up when somebody waits for the table;
 *	- while somebody else maintains an index, perhaps for long, it serves others;
 *	- DROP DATABASE and others that need a database without sessions give up
 *	  after 5 seconds and have no way to end this one; so it looks whether
 *	  anybody has locked the database, and leaves;
 *	- an index with which something went wrong is left alone for a minute, and
 *	  the others are served.
 *
 * The shared memory, and why no request is lost between two workers: worker_queue.h.
 */
#include "base/compat.h"

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

#include "base/options.h"
#include "maintain/compact.h"
#include "maintain/delta.h"
#include "maintain/summarize.h"
#include "store/open_index.h"
#include "worker/autosummarize.h"
#include "worker/late_reads.h"
#include "worker/worker_queue.h"

/* How often it looks around, at least. */
#define LOOK_MS				200

/* It ends when it has had no request for this long. */
#define LINGER_MS			5000

/* How long it works on one index, unless a slice, or a group at once, takes longer. */
#define PIECE_MS			200

/*
 * A table that has not grown for this long, nor its pending list, is quiet: then also what is no
 * whole slice is summarized, the range that the table ends in included.  Rows that come later set
 * their bits one by one, but only in the rest of this one range.
 */
#define QUIET_MS			2000

/*
 * An index that somebody has locked is tried again, less and less often, and then left to VACUUM.
 * Another index or a foreign key, made after a load, often locks the table for long.
 */
#define RETRY_LOCKED_MS		200
#define RETRY_LOCKED_MAX_MS	5000
#define GIVE_UP_LOCKED_MS	(10 * 60 * 1000)

/* One with which something went wrong keeps this process once. */
#define RETRY_FAILED_MS		60000

/* It looks for gaps so many slices back; older ones are for VACUUM. */
#define WINDOW_SLICES		1024

/* Work to do, by index. */
typedef struct Job
{
	Oid			index;			/* hash key */
	uint64		ranges;			/* complete ones; 0: as the table's size says */
	TimestampTz due;
	bool		waiting;		/* for a quiet table, or its maintainer */
	TimestampTz locked_since;	/* 0: it was not, when it was tried last */
	int			retry_ms;		/* if it was */
	int			failures;
	BlockNumber nblocks;		/* of the table, when it was looked at last */
	uint64		pending;		/* last page of the pending list, likewise */
	TimestampTz since;			/* when both were first seen so */
	uint64		settled;		/* full groups of which none is to be flushed */
	RencoderLateReads reads;	/* what scans have read of the tail */
} Job;

typedef enum JobResult
{
	JOB_DONE,
	JOB_UNFINISHED,
	JOB_WAITING,				/* for the table to be quiet */
	JOB_MAINTAINED,				/* somebody else is at it */
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
add_job(Oid index, uint64 ranges, bool urgent)
{
	bool		found;
	Job		   *job = hash_search(jobs, &index, HASH_ENTER, &found);

	if (!found)
	{
		memset(job, 0, sizeof(*job));
		job->index = index;
		job->nblocks = InvalidBlockNumber;
	}
	if (job->waiting && (urgent || ranges > job->ranges))
		job->due = 0;
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
			add_job(form->oid, 0, false);
	}
	table_endscan(scan);
	table_close(pg_class, AccessShareLock);
	CommitTransactionCommand();
}

/* The slice at which the job ends. */
static uint64
job_end(const Job *job, BlockNumber nblocks, const RencoderMeta *meta)
{
	uint64		in_table = nblocks / meta->pages_per_range;

	/* The table may have been truncated since. */
	if (job->ranges > 0)
		return Min(job->ranges, in_table) / RENC_SLICE_RANGES;
	return rencoder_autosummarize_complete_slices(meta, in_table);
}

/* Has the table been of this size for a while, and the pending list of these pages? */
static bool
is_quiet(Job *job, Relation index, BlockNumber nblocks)
{
	TimestampTz now = GetCurrentTimestamp();
	RencoderRuns runs;

	rencoder_runs_look(index, &runs, NULL);
	if (nblocks != job->nblocks || runs.pending_last_number != job->pending)
	{
		job->nblocks = nblocks;
		job->pending = runs.pending_last_number;
		job->since = now;
	}
	return TimestampDifferenceExceeds(job->since, now, QUIET_MS);
}

/* Complete slices up to "end", for a while; true if there are no more of them. */
static bool
fill_gaps(Relation index, Relation heap, const RencoderMeta *meta, uint64 end)
{
	TimestampTz start = GetCurrentTimestamp();
	uint64		slice;
	uint64		next;

	rencoder_meta_lock_maintainer(index);
	slice = end < WINDOW_SLICES ? 0 : end - WINDOW_SLICES;
	while ((slice = rencoder_autosummarize_first_gap(index, meta, slice, end)) < end &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), PIECE_MS))
	{
		/*
		 * A group at once, if it comes so late; it is logged once then, not
		 * twice.
		 */
		next = slice + 1;
		if (slice % RENC_GROUP_SLICES == 0 && slice + RENC_GROUP_SLICES <= end)
			next = slice + RENC_GROUP_SLICES;
		rencoder_summarize_slices(index, heap, slice, next, false);
	}
	rencoder_meta_unlock_maintainer(index);
	return slice >= end;
}

/* A delta of the pending list, if that is long enough. */
static void
shorten_pending(Relation index)
{
	if (!rencoder_delta_is_due(index, RENCODER_DELTA_PAGES))
		return;
	rencoder_meta_lock_maintainer(index);
	(void) rencoder_delta_make(index, RENCODER_DELTA_PAGES, PG_UINT32_MAX, RENCODER_DELTA_BUSY);
	rencoder_meta_unlock_maintainer(index);
}

/*
 * Makes base runs of full groups.  To look for them takes as long as the directory is, so it is
 * done when there is another, and when the table is quiet.
 */
static RencoderCompactResult
flush_full_groups(Job *job, Relation index, Relation heap, const RencoderMeta *meta,
				  BlockNumber nblocks, bool quiet)
{
	uint64		full = nblocks / meta->pages_per_range / RENC_GROUP_RANGES;
	RencoderCompactResult result;

	if (full == job->settled && !quiet)
		return RENCODER_COMPACT_NOTHING;
	result = rencoder_compact_some(index, heap, quiet);
	if (result == RENCODER_COMPACT_NOTHING)
		job->settled = full;
	return result;
}

/* All there is from range "first" on, the range that the table ends in included. */
static void
summarize_tail(Relation index, Relation heap, const RencoderMeta *meta, BlockNumber nblocks,
			   uint64 first)
{
	if (rencoder_autosummarize_is_worth(meta, nblocks))
		(void) rencoder_summarize(index, heap, first, rencoder_range_count(meta, nblocks) - 1, true);
}

/* What is to be done of an index now. */
static JobResult
serve_index(Job *job, Relation index, Relation heap)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	bool		quiet = is_quiet(job, index, nblocks);
	uint64		end;
	uint64		first;

	if (!rencoder_options_autosummarize(index))
		return JOB_DONE;

	/* Who comes between holds us up, but most have it for one group. */
	if (!rencoder_meta_try_maintainer(index))
		return JOB_MAINTAINED;
	rencoder_meta_unlock_maintainer(index);

	shorten_pending(index);
	end = quiet ? nblocks / meta.pages_per_range / RENC_SLICE_RANGES :
		job_end(job, nblocks, &meta);
	if (!fill_gaps(index, heap, &meta, end))
		return JOB_UNFINISHED;

	/* Before runs are made, which others may be in the way of for long. */
	if (quiet)
	{
		rencoder_delta_settle(index);
		summarize_tail(index, heap, &meta, nblocks, end * RENC_SLICE_RANGES);
	}
	switch (flush_full_groups(job, index, heap, &meta, nblocks, quiet))
	{
		case RENCODER_COMPACT_DONE:
			return JOB_UNFINISHED;
		case RENCODER_COMPACT_WAITED_FOR:
			return JOB_LOCKED;
		case RENCODER_COMPACT_NOTHING:
			break;
	}
	if (quiet)
		return JOB_DONE;
	if (rencoder_late_reads_look(&job->reads, index, &meta, nblocks, &first))
		summarize_tail(index, heap, &meta, nblocks, first);
	return JOB_WAITING;
}

/* A piece of the job, in a transaction of its own. */
static JobResult
do_job(Job *job)
{
	RencoderOpenIndex target;
	JobResult	result = JOB_DONE;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	switch (rencoder_open_index_try(&target, job->index, RowExclusiveLock))
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
			result = serve_index(job, target.index, target.heap);
			rencoder_open_index_close(&target);
			break;
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	return result;
}

/* An error is reported in the server's log and goes no further. */
static JobResult
try_job(Job *job, bool *failed)
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

static void
put_off(Job *job, int ms)
{
	job->due = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
}

/*
 * Are there jobs to stay for: tables that will be quiet, locks that will be released, a
 * first failure that may not come twice?
 */
static bool
any_to_stay_for(void)
{
	HASH_SEQ_STATUS status;
	Job		   *job;
	bool		found = false;

	hash_seq_init(&status, jobs);
	while ((job = hash_seq_search(&status)) != NULL)
		found |= job->waiting || job->locked_since != 0 || job->failures == 1;
	return found;
}

static void
remove_job(Job *job)
{
	hash_search(jobs, &job->index, HASH_REMOVE, NULL);
}

/* Puts off a job whose index is locked; after some minutes it is given up. */
static void
retry_locked(Job *job)
{
	TimestampTz now = GetCurrentTimestamp();

	if (job->locked_since == 0)
	{
		job->locked_since = now;
		job->retry_ms = RETRY_LOCKED_MS;
	}
	else
		job->retry_ms = Min(2 * job->retry_ms, RETRY_LOCKED_MAX_MS);
	if (TimestampDifferenceExceeds(job->locked_since, now, GIVE_UP_LOCKED_MS))
		remove_job(job);
	else
		put_off(job, job->retry_ms);
}

/* What becomes of a job; is there more of it to do at once? */
static bool
settle(Job *job, JobResult result, bool failed)
{
	job->waiting = !failed && (result == JOB_WAITING || result == JOB_MAINTAINED);
	if (failed || result != JOB_LOCKED)
		job->locked_since = 0;
	if (failed)
	{
		job->failures++;
		put_off(job, RETRY_FAILED_MS);
	}
	else if (result == JOB_LOCKED)
		retry_locked(job);
	else if (result == JOB_WAITING)
		put_off(job, job->reads.busy ? LOOK_MS : QUIET_MS);
	else if (result == JOB_MAINTAINED)
		put_off(job, LOOK_MS);
	else if (result == JOB_DONE)
		remove_job(job);
	return !failed && result == JOB_UNFINISHED;
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
		more |= settle(job, result, failed);
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
	RencoderWorkerRequest request;
	bool		any = false;

	while (rencoder_worker_queue_take(&request))
	{
		if (OidIsValid(request.index))
			add_job(request.index, request.ranges, request.urgent);
		else
			add_all_indexes();
		any = true;
	}
	if (rencoder_worker_queue_overflowed())
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
		if (any_to_stay_for())
			last = GetCurrentTimestamp();
		if (TimestampDifferenceExceeds(last, GetCurrentTimestamp(), LINGER_MS) &&
			rencoder_worker_queue_detach())
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
 * Some of them end the session, and it would be asked for again and again.  Not every
 * version has all of them.
 */
static void
disable_timeouts(void)
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
	disable_timeouts();
	SetConfigOption("zero_damaged_pages", "false", PGC_SUSET, PGC_S_OVERRIDE);
	create_jobs();
	serve_database();
}
