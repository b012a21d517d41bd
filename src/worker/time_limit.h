/*
 * time_limit.h
 *		How long the worker stays with one job while others wait for it.
 */
#ifndef RENCODER_TIME_LIMIT_H
#define RENCODER_TIME_LIMIT_H

#include "base/compat.h"

/* Registers the limit and switches off the timeouts of settings.  Once, in a transaction or not. */
extern void rencoder_time_limit_init(void);

/*
 * From "ms" milliseconds on, a job on "index" is cancelled, as a query is, as soon as others wait:
 * another job, which is due at "other_due", a request for another index, or another database.
 */
extern void rencoder_time_limit_begin(Oid index, TimestampTz other_due, int ms);

/* Ends the limit, and a cancellation that came too late.  Has the job been cancelled by it? */
extern bool rencoder_time_limit_end(void);

#endif							/* RENCODER_TIME_LIMIT_H */
