/*
 * compact.h
 *		Which groups of an index become base runs, and when.
 */
#ifndef RENCODER_COMPACT_H
#define RENCODER_COMPACT_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * All of these are for indexes that are to keep their keys in runs, and do nothing with others.
 *
 * Locks: the caller has at least RowExclusiveLock on the heap and on the index, and no content
 * lock; take the maintainer lock for each run that is made.  Run user code of expression indexes:
 * the caller sets the table owner's user id.  WAL: as rencoder_flush() and
 * rencoder_run_groups_clean_up().
 */

/*
 * In VACUUM: cleans up, makes runs of full groups, of an eighth of all groups at most, but of
 * RENCODER_VACUUM_FLUSH, and merges neighbouring runs of about the same size.  If there are many
 * keys in deltas, makes a new run of the groups that have the earliest cut.
 */
extern void rencoder_compact_vacuum(Relation index, Relation heap);

#define RENCODER_VACUUM_FLUSH	8

typedef enum RencoderCompactResult
{
	RENCODER_COMPACT_NOTHING,	/* to do */
	RENCODER_COMPACT_DONE,		/* one run; there may be more to do */
	RENCODER_COMPACT_WAITED_FOR /* somebody wants a lock on the table */
} RencoderCompactResult;

/*
 * In the worker: makes a run of up to RENCODER_WORKER_FLUSH groups, if RENCODER_WORTH_FLUSHING are
 * full, or merges some, or renews some, if deltas are many.  If the table is quiet, one full group is
 * enough: when others will be full, nobody knows; "filtered": groups with filters, full or not.  Gives
 * way to others who wait for a lock on the
 * table.
 */
extern RencoderCompactResult rencoder_compact_some(Relation index, Relation heap, bool quiet,
												   bool filtered);

/* Are deltas so many that this should be called now?  Locks: those of looking at the run list. */
extern bool rencoder_compact_is_overdue(Relation index);

#define RENCODER_WORKER_FLUSH	16
#define RENCODER_WORTH_FLUSHING	4

/*
 * Makes a run of "least" neighbouring groups or more that are unread: the table, of which "nranges"
 * ranges count, fills them, but less than half of their ranges are summarized.  Full groups beside
 * them count.  Of "most" groups at most; 0: 256, or an eighth of all if that is more.  *nsummarized
 * rises by the number of ranges that were not summarized.  The caller summarizes what is left, for
 * one if the list of runs has no room (summarize.h).
 */
extern RencoderCompactResult rencoder_compact_unread(Relation index, Relation heap, uint64 nranges,
													 uint32 least, uint32 most, bool gives_way,
													 uint64 *nsummarized);

/*
 * Sees to it that columns have coders that serve the table: where it has grown by this factor (0: in
 * any case), or got so many late keys that others may have come in the place of those that a coder
 * knows.
 */
extern void rencoder_compact_train_coders(Relation index, Relation heap, double growth);

/*
 * Makes one run of all of the table, unless that is what it has already (0 then).  Of less than 8 ranges only if they
 * are summarized, or their size is set, as in a build.  Returns the groups in new runs.
 */
extern uint32 rencoder_compact(Relation index, Relation heap);

#endif							/* RENCODER_COMPACT_H */
