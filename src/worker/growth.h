/*
 * growth.h
 *		The part of sessions that insert, or scan, in the maintenance of a table that grows.
 */
#ifndef RENCODER_GROWTH_H
#define RENCODER_GROWTH_H

#include "base/compat.h"

#include "nodes/execnodes.h"
#include "storage/itemptr.h"

#include "make/make_delta.h"

/*
 * Is the worker to be told that a row was put at "tid"?  The first row of a page tells, and the first of the
 * statement on another page, so that not only single-row statements notice.  *told is the greatest page of the
 * statement by now, 0 at its beginning.
 */
static inline bool
rencoder_growth_due(BlockNumber *told, ItemPointer tid)
{
	BlockNumber page = ItemPointerGetBlockNumber(tid);
	bool		due = ItemPointerGetOffsetNumber(tid) == FirstOffsetNumber ||
		(page > *told && *told > 0);

	*told = Max(*told, page);
	return due;
}

/*
 * Asks the worker to look, or, where none can be had, makes a run of what is behind the frontier, and is
 * complete up to "page", if that is much.  Errors of other rows do not get out; those of query cancellation
 * do.  Locks: no content lock may be held.
 */
extern void rencoder_growth_note(Relation index, Relation heap, const IndexInfo *indexInfo,
								 BlockNumber page);

/*
 * The session's part in making deltas, when it has linked a page of the pending
 * list, which has so many pages now: if these are enough, asks the worker, or makes a delta.
 * Errors and locks likewise.
 */
extern void rencoder_growth_note_pending(Relation index, const IndexInfo *indexInfo, uint64 npages);

/*
 * At the end of a scan, which has read so many pages behind the frontier, or of the pending list, that somebody
 * should see to them: asks the worker, or does it.  Errors and locks likewise; the caller has table and index
 * locked as scans do.
 */
extern void rencoder_growth_note_scan(Relation index, int64 tail, int64 pending);

/* Have scans read much of what waits in the last seconds?  Errors: lack of memory. */
extern bool rencoder_growth_is_read(Relation index);

/* Likewise, and has more waited than the worker should let wait, so that sessions do without it for a while? */
extern bool rencoder_growth_is_late(Relation index);

/* So many are worth a run while scans come. */
#define RENCODER_GROWTH_READ_PAGES	4

static inline bool
rencoder_growth_due_by_scan(int64 tail, int64 pending)
{
	return tail >= RENCODER_GROWTH_READ_PAGES || pending > RENCODER_DELTA_READ_PAGES;
}

#endif							/* RENCODER_GROWTH_H */
