/*
 * note.h
 *		Noting block ranges: the tail of a table that is read while it grows.
 */
#ifndef RENCODER_NOTE_H
#define RENCODER_NOTE_H

#include "base/compat.h"

#include "utils/rel.h"

#include "store/meta.h"

/*
 * The range that the tail of a table of "nblocks" pages begins with: those that are not summarized,
 * of a group at most; that behind the last one, if there is no tail.  Locks: headers share, one
 * after the other, released.
 */
extern uint64 rencoder_note_find_tail(Relation index, const RencoderMeta *meta, BlockNumber nblocks);

/*
 * Notes those of the ranges "first" to before "end" that are not summarized, and returns their
 * number: their rows become a delta of their group, and the ranges are summarized, without storage.
 * They may lie behind the end of the table: rows that come there will be entries of the pending
 * list.  0 if the list of runs is nearly full, or the index does not keep its keys in runs.
 *
 * Locks: the caller has at least RowExclusiveLock on the heap and on the index, and no content
 * lock; takes the maintainer lock for each group.  Runs user code of expression indexes: the caller
 * sets the table owner's user id.  Memory: maintenance_work_mem.  WAL: of a new group its header
 * pages and entry; of the delta, if there are keys (run_pages.h); directory and header for each
 * column, at last with a new epoch, if there was a delta.  An error leaves the ranges summarizing,
 * and a run that is not LIVE, or not needed.
 */
extern int	rencoder_note(Relation index, Relation heap, uint64 first, uint64 end);

#endif							/* RENCODER_NOTE_H */
