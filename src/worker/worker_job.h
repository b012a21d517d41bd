/*
 * worker_job.h
 *		What the worker does of an index.
 */
#ifndef RENCODER_WORKER_JOB_H
#define RENCODER_WORKER_JOB_H

#include "base/compat.h"

#include "utils/relcache.h"

#include "worker/late_reads.h"

/*
 * A table that has not grown for this long, nor its pending list, is quiet: then also what is no
 * whole slice is summarized, the range that the table ends in included.  Rows that come later set
 * their bits one by one, but only in the rest of this one range.
 */
#define QUIET_MS			2000

/* Work to do, by index. */
typedef struct RencoderJob
{
	Oid			index;			/* hash key */
	uint64		ranges;			/* complete ones; 0: as the table's size says */
	TimestampTz due;
	bool		waiting;		/* for a quiet table, or its maintainer */
	TimestampTz locked_since;	/* 0: it was not, when it was tried last */
	int			retry_ms;		/* if it was */
	int			failures;
	int			limit_ms;		/* of its time, while others wait */
	bool		cancelled;		/* was it over, when it was tried last? */
	BlockNumber nblocks;		/* of the table, when it was looked at last */
	uint64		pending;		/* last page of the pending list, likewise */
	TimestampTz since;			/* when both were first seen so */
	uint64		settled;		/* full groups of which none is to be flushed */
	RencoderLateReads reads;	/* what scans have read of the tail */
} RencoderJob;

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
