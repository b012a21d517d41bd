/*
 * worker_queue.h
 *		Requests for summarization: from inserting sessions to the worker of
 *		their database.
 *
 * They meet in a few kilobytes of shared memory, which the first session that
 * needs them takes from the reserve of the main segment (as pg_prewarm does
 * before PostgreSQL 17): no shared_preload_libraries.
 *
 *		worker[]	database | pid | latch | since | overflowed
 *		request[]	database | index | ranges | urgent	oldest first
 *
 * One LWLock protects all of it and is never held while anything else is
 * locked.  There is at most one worker per database.  A request stands in the
 * queue only while its database has an entry in worker[].
 */
#ifndef RENCODER_WORKER_QUEUE_H
#define RENCODER_WORKER_QUEUE_H

#include "base/compat.h"

typedef struct RencoderWorkerRequest
{
	Oid			index;
	uint64		ranges;			/* the ranges below this number are complete */
	bool		urgent;			/* do not wait for the table to be quiet */
} RencoderWorkerRequest;

/*
 * Inserter: asks for the summarization of an index of this database, and for a
 * worker if there is none.  False if none can be had.  InvalidOid stands for all
 * indexes of the database.  "urgent": it is to look at
 * once; else the request is for what is there when the table is quiet, and a worker
 * that runs finds it when it looks around next.  Raises no errors but for lack of
 * memory.
 */
extern bool rencoder_worker_queue_put(Oid index, uint64 ranges, bool urgent);

/*
 * Inserter: makes sure that rencoder_worker_queue_put() will allocate no memory, so that it
 * raises no errors at all, after a transaction's commit, say.  False if there is no
 * shared memory to be had.  Raises no errors but for lack of memory.
 */
extern bool rencoder_worker_queue_prepare(void);

/*
 * Worker: takes over the requests of a database until the process ends, in
 * whatever way.  False if another worker has them.
 */
extern bool rencoder_worker_queue_attach(Oid database);

/* Worker: takes the oldest request; false if there is none. */
extern bool rencoder_worker_queue_take(RencoderWorkerRequest *request);

/* Worker: have requests been lost, since the last call, for lack of room? */
extern bool rencoder_worker_queue_overflowed(void);

/*
 * Worker: does a request for another index than "index" wait for it?  Takes no lock, so that a
 * signal handler may ask.
 */
extern bool rencoder_worker_queue_others_wait(Oid index);

/*
 * Worker: gives the database up.  False, and nothing is changed, if there is a
 * request: so none can fall between two workers.
 */
extern bool rencoder_worker_queue_detach(void);

#endif							/* RENCODER_WORKER_QUEUE_H */
