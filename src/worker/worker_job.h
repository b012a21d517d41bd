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
 * A table that has not grown for this long, nor its pending list, is quiet: then also what is no
 * whole slice is summarized, the range that the table ends in included.  Rows that come later
 * are entries of the pending list, but only in the rest of this one range.
 */
#define QUIET_MS			2000

typedef enum RencoderJobResult
{
	JOB_DONE,
	JOB_UNFINISHED,
	JOB_WAITING,				/* for the table to be quiet */
	JOB_MAINTAINED,				/* somebody else is at it */
	JOB_CANCELLED,				/* for others that waited */
	JOB_LOCKED
} RencoderJobResult;

/*
 * What is to be done of an index now.  In a transaction, with both relations locked as by
 * inserters.  Takes the maintainer lock for as long as it needs it.
 */
extern RencoderJobResult rencoder_worker_job_serve(RencoderJob *job, Relation index, Relation heap);

#endif							/* RENCODER_WORKER_JOB_H */
