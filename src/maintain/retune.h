/*
 * retune.h
 *		Finding the groups of an index that another configuration would serve
 *		better, and rebuilding them.
 */
#ifndef RENCODER_RETUNE_H
#define RENCODER_RETUNE_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * Looks at all groups and rebuilds those whose predicted cost under the
 * present sample of queries exceeds the best by RENCODER_RETUNE_MARGIN, that
 * have many keys in deltas, or whose coder is not the column's newest; trains
 * coders first: a first one, or, if the table has grown much since, another generation
 * where the newest serves it badly (rencoder_columns_train()).  Returns the groups rebuilt.
 *
 * Locks: the caller has at least RowExclusiveLock on the heap and on the index,
 * and no content lock; takes the maintainer lock, group by group.  Runs user
 * code of expression indexes: the caller sets the table owner's user id.
 */
extern int64 rencoder_retune(Relation index, Relation heap);

/*
 * Cost is windows read and pages visited in vain, so the latter may differ by
 * more.
 */
#define RENCODER_RETUNE_MARGIN		1.15

/*
 * The same in VACUUM, from RENCODER_VACUUM_MARGIN on, which begins anywhere and
 * reads the rows of a bounded part of the table: an eighth of its groups, but at
 * least RENCODER_VACUUM_GROUPS, and only
 * while it finds groups that gain.  Queries are a reason to look at a group if
 * others are known than when it was looked at last; so are many keys of the group in deltas, where
 * these are large beside the index.
 */
extern int64 rencoder_retune_some(Relation index, Relation heap);

#define RENCODER_VACUUM_MARGIN		1.3
#define RENCODER_VACUUM_GROUPS		4
#define RENCODER_VACUUM_READ_SHARE	8

#endif							/* RENCODER_RETUNE_H */
