/*
 * summarize.h
 *		Summarizing block ranges of an index in use, and taking summaries away.
 */
#ifndef RENCODER_SUMMARIZE_H
#define RENCODER_SUMMARIZE_H

#include "base/compat.h"

#include "utils/rel.h"

/*
 * Summarizes every unsummarized range of [first, last] (clipped to the table), also the one that
 * the table ends in, and returns their number.  Groups of which nothing is summarized yet are made
 * a matrix at once; others grow, by bands of a matrix.
 *
 * Locks: the caller has at least RowExclusiveLock on the heap and on the
 * index, and no content lock; takes the maintainer lock for each group of
 * ranges, so that others need not wait for all.  Runs user code of
 * expression indexes: the caller sets the table owner's user id.
 */
extern double rencoder_summarize(Relation index, Relation heap,
								 uint64 first, uint64 last);

/* The same for all of the table; unread groups are flushed (compact.h), as far as that may be. */
extern double rencoder_summarize_all(Relation index, Relation heap);

/*
 * The same for the slices [first, end) of the index, which are in one group and
 * lie within the table.  With "no_dead_toast", values of dead rows are not
 * fetched from TOAST; their ranges become "keyless".  The caller has the
 * maintainer lock.
 */
extern void rencoder_summarize_slices(Relation index, Relation heap, uint64 first,
									  uint64 end, bool no_dead_toast);

/* Takes the summary of a range away, if it has one.  Takes the maintainer lock. */
extern void rencoder_desummarize(Relation index, uint64 range);

#endif							/* RENCODER_SUMMARIZE_H */
