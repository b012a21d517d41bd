/*
 * worker_job.h
 *		What the worker does of an index.
 */
#ifndef RENCODER_WORKER_JOB_H
#define RENCODER_WORKER_JOB_H

#include "base/compat.h"

#include "utils/relcache.h"

#include "worker/worker_queue.h"

/*
 * A table that has not grown for this long, nor its pending list, is quiet: then all of it gets a run, the
 * page that it ends in included.  Rows that come there later are entries.
 */
#define QUIET_MS			2000

/* What came of a step. */
typedef enum RencoderJobResult
{
	RENCODER_JOB_DONE,			/* nothing is left */
	RENCODER_JOB_MORE,			/* there is more to do now */
	RENCODER_JOB_WAITS,			/* there is to be another step, in pause_ms */
	RENCODER_JOB_LOCKED,
	RENCODER_JOB_CANCELLED,		/* for others that waited */
	RENCODER_JOB_FAILED
} RencoderJobResult;

/*
 * One step of what is most worth doing in an index now.  In a transaction, with both relations
 * locked as by inserters.  Takes the maintainer lock for as long as it needs it.
 */
extern RencoderJobResult rencoder_worker_job_step(RencoderJob *job, Relation index, Relation heap);

#endif							/* RENCODER_WORKER_JOB_H */
