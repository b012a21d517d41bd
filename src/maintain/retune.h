/*
 * retune.h
 *		Finding the groups of an index that another configuration would serve
 *		better, and rebuilding them.
 */
#ifndef RENCODER_RETUNE_H
#define RENCODER_RETUNE_H

#include "maintain/rebuild.h"

/*
 * Looks at all groups and rebuilds those whose predicted cost under the
 * present sample of queries exceeds the best by RENCODER_RETUNE_MARGIN, that
 * have outgrown their filters, or whose coder is not the column's newest; trains
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
 * more.  Who asks for the best filters need not read the table twice.
 */
#define RENCODER_RETUNE_MARGIN		1.15

/*
 * The same in VACUUM, from RENCODER_VACUUM_MARGIN on, which begins anywhere and
 * reads the rows of a bounded part of the table: an eighth of its groups, but at
 * least RENCODER_VACUUM_GROUPS (each once, and again if it is rebuilt), and only
 * while it finds groups that gain.  Queries are a reason to look at a group if
 * others are known than when it was looked at last.  To find groups that have
 * outgrown their filters, it counts the bits of a quarter of the groups, but at
 * least of RENCODER_VACUUM_COUNTS.  In all groups it takes away what an
 * interrupted rebuilding left.
 */
extern int64 rencoder_retune_some(Relation index, Relation heap);

/*
 * Before full groups become runs: the same of those only that have a coder that is not the column's
 * newest, and wait for a run, or name one, whose keys an old coder made.  Of the latter it makes
 * filters, until they become a run as others do.  Whether the newest coders serve the table is also
 * looked at if the deltas are large.  With "all" it is looked at in any case, and all groups with an
 * old coder are taken; else as many as VACUUM flushes.  Does nothing with an index without columns
 * that want coders.
 */
extern int64 rencoder_retune_coders(Relation index, Relation heap, bool all);

#define RENCODER_VACUUM_MARGIN		1.3
#define RENCODER_VACUUM_GROUPS		4
#define RENCODER_VACUUM_READ_SHARE	8
#define RENCODER_VACUUM_COUNTS		16
#define RENCODER_VACUUM_COUNT_SHARE	4

#endif							/* RENCODER_RETUNE_H */
