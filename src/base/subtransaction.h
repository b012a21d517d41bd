/*
 * subtransaction.h
 *		Work whose failure must not be that of the command it is done for.
 */
#ifndef RENCODER_SUBTRANSACTION_H
#define RENCODER_SUBTRANSACTION_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * Does work(arg) in a subtransaction.  NULL if it went well; else it is rolled back, and
 * this is its error, in the current memory context.  What the caller does not expect,
 * cancellation for one, it should rethrow.  Not in parallel mode.
 *
 * Locks: those that the work takes and leaves are the command's, or released if it fails.
 * A command's progress report ends with a failure.
 */
extern ErrorData *rencoder_subtransaction(void (*work) (void *arg), void *arg);

/*
 * Does what a command does by the way and can do without, in a subtransaction.  False if it
 * failed, which goes to the server's log ("could not <what> of index ..") and no further, if it has
 * failed in the last minute, or if there can be no subtransaction now.  Only cancellation is an error.
 * "what" stays.
 */
extern bool rencoder_best_effort(void (*work) (void *arg), void *arg, Relation index,
								 const char *what);

#endif							/* RENCODER_SUBTRANSACTION_H */
