/*
 * worker_queue.h
 *		Requests for maintenance: from inserting sessions to the worker of
 *		their database.
 *
 * They meet in a few kilobytes of shared memory, which the first session that
 * needs them takes from the reserve of the main segment (as pg_prewarm does
 * before PostgreSQL 17): no shared_preload_libraries.
 *
 *		entry[]		database | pid | latch | leaving | due | asked | overflowed
 *		queued[]	database | job		requests, and what a worker has left unfinished; oldest first
 *
 * One LWLock protects all of it and is never held while anything else is
 * locked.  There is at most one worker per database, and rencoder.max_workers in all: an entry
 * without a worker waits for one.  A job stands in the queue only while its database has an entry.
 */
#ifndef RENCODER_WORKER_QUEUE_H
#define RENCODER_WORKER_QUEUE_H

#include "base/compat.h"

#include "datatype/timestamp.h"
#include "storage/block.h"

/* So often the worker looks around, at least; and so often at one index, at most. */
#define RENCODER_LOOK_MS		100
#define RENCODER_LEAST_LOOK_MS	5

/*
 * A job is cancelled after this long if others wait, goes behind them for as long, and has twice
 * the time then: most need it, a run of a large table, say.
 */
#define RENCODER_JOB_LIMIT_MS	5000

/* What a worker has to do, by index: a request, or what a worker has left unfinished. */
typedef struct RencoderJob
{
	Oid			index;			/* hash key */
	bool		urgent;			/* do not wait for the table to be quiet */
	bool		known;			/* only for a job that is there */
	TimestampTz due;
	bool		waiting;		/* for rows, a quiet table, or its maintainer */
	TimestampTz trouble_since;	/* since when it was locked, or failed; 0: it
								 * was not, when it was tried last */
	int			limit_ms;		/* of its time, while others wait */
	TimestampTz looked;			/* when it was looked at last; 0: not yet */
	BlockNumber nblocks;		/* of the table then */
	uint64		pending;		/* last page of the pending list, likewise */
	TimestampTz since;			/* when both were first seen so */
	TimestampTz grown_since;	/* when "grown" pages were seen; 0: not yet */
	BlockNumber grown;
	double		growth;			/* pages in RENCODER_LOOK_MS, lately */
	int			pause_ms;		/* until the next look */
	TimestampTz tail_since;		/* when a tail was first seen that waits; 0:
								 * none does */
	bool		counted;		/* were counts of scans found before? */
	bool		scanned;		/* have others come since? */
	int64		scans;			/* that were counted at the last look */
	TimestampTz scans_at;		/* when others were counted last */
	double		scan_rate;		/* by RENCODER_LOOK_MS; 0: none come */
	double		paid;			/* pages of the tail that scans have read by
								 * it, since it was cut last */
	TimestampTz settled_at;		/* when nothing was found to be done last */
	TimestampTz renewed_at;		/* when pages might have been read again last */
} RencoderJob;

/*
 * When scans have read more of an index than they should have to.  It is no more than a hint: no lock, zero at
 * first, and an index may take the place of another one.
 */
typedef struct RencoderMuchRead
{
	Oid			database;
	Oid			index;
	TimestampTz since;
	TimestampTz last;
	TimestampTz helped;			/* when a session has tried to see to it */
	TimestampTz late;			/* when one found that the worker is late */
} RencoderMuchRead;

/* A request for an index. */
extern RencoderJob rencoder_job_create(Oid index, bool urgent);

/* Adds a request to a job for the same index; false if that has all of it. */
extern bool rencoder_job_merge(RencoderJob *job, const RencoderJob *request);

/*
 * Inserter: asks for the maintenance of an index of this database, and for a
 * worker if there is none.  It may have to wait for its turn; false if there is no worker at all,
 * and none can be had.  InvalidOid stands for all
 * indexes of the database.  "urgent": it is to look at
 * once; else the request is for what is there when the table is quiet, and a worker
 * that runs finds it when it looks around next.  Raises no errors but for lack of
 * memory.
 */
extern bool rencoder_worker_queue_put(Oid index, bool urgent);

/*
 * Inserter: makes sure that rencoder_worker_queue_put() will allocate no memory, so that it
 * raises no errors at all, after a transaction's commit, say.  False if there is no
 * shared memory to be had.  Raises no errors but for lack of memory.
 */
extern bool rencoder_worker_queue_prepare(void);

/*
 * Worker: takes over the requests of a database until the process ends, in
 * whatever way.  False if another worker has them, or there is no place for this one.
 */
extern bool rencoder_worker_queue_attach(Oid database);

/*
 * Scan: much of an index' tail was read.  A worker of this database that has a job for it looks at it
 * soon; nobody is asked for.  Errors as of rencoder_worker_queue_prepare().
 */
extern void rencoder_worker_queue_tell_tail_read(Oid index);

/* NULL: there is no shared memory to be had.  Errors likewise. */
extern RencoderMuchRead *rencoder_worker_queue_read(Oid index);

/*
 * Worker: takes the oldest job; false if there is none.  Its index is InvalidOid if all indexes are to
 * be looked at, as that was asked for, or there was no room.
 */
extern bool rencoder_worker_queue_take(RencoderJob *job);

/*
 * Worker: does another database wait for a worker, does the setting want fewer, or does a request for
 * another index than "index" wait for it?  Takes no lock, so that a signal handler may ask.
 */
extern bool rencoder_worker_queue_others_wait(Oid index);

/*
 * Worker: may it end?  It may if databases wait, or if it is idle and there is no request.  If one
 * waits, its worker has been asked for; if that cannot be had, this one is to go on.  A request
 * that comes before the process has ended stays for the next worker.
 */
extern bool rencoder_worker_queue_try_leave(bool idle);

/* Worker: keeps a job for the next one.  Without room for it, that looks at all indexes. */
extern void rencoder_worker_queue_keep(const RencoderJob *job);

#endif							/* RENCODER_WORKER_QUEUE_H */
