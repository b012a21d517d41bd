/*
 * retune.h
 *		Finding the groups of an index that another configuration would serve
 *		better, and rebuilding them.
 */
#ifndef RENCODER_RETUNE_H
#define RENCODER_RETUNE_H

#include "rebuild.h"

/*
 * Looks at all groups and rebuilds those whose predicted cost under the
 * present sample of queries exceeds the best by RENCODER_RETUNE_MARGIN, that
 * have outgrown their filters, or that were made without a coder where there
 * is one now; trains a coder if there is none.  Returns the groups rebuilt.
 *
 * Locks: the caller has at least RowExclusiveLock on the heap and on the index,
 * and no content lock; takes the maintainer lock, group by group.  Runs user
 * code of expression indexes: the caller sets the table owner's user id.
 */
extern int64 rencoder_retune(Relation index, Relation heap);

#define RENCODER_RETUNE_MARGIN		1.3

#endif							/* RENCODER_RETUNE_H */
