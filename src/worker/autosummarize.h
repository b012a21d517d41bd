/*
 * autosummarize.h
 *		Automatic summarization: when it is due, and by whom.
 *
 * Slices of 8 block ranges are summarized when the table has grown beyond
 * them.  Slices are numbered from the start of the table here, not within
 * their group.
 */
#ifndef RENCODER_AUTOSUMMARIZE_H
#define RENCODER_AUTOSUMMARIZE_H

#include "store/group.h"

#include "nodes/execnodes.h"
#include "storage/itemptr.h"

/* What a statement remembers of it. */
typedef struct RencoderProgress
{
	uint64		range;			/* greatest one a row was inserted into */
	uint64		slices;			/* all before this one need no attention */
	uint64		looked_range;	/* when this was reached, something was done
								 * about it */
} RencoderProgress;

/*
 * Might a row just put at "tid" be the one that completes a batch?  The first
 * row of a page might, and the first of the statement in another range; so
 * that not only single-row statements notice, nor only those whose rows are
 * all in the index.
 */
static inline bool
rencoder_autosummarize_due(RencoderProgress *progress, uint64 range, ItemPointer tid)
{
	bool		due = ItemPointerGetOffsetNumber(tid) == FirstOffsetNumber ||
		(range > progress->range && progress->range > 0);

	if (range > progress->range)
		progress->range = range;
	return due;
}

/*
 * The inserting session's part: if the last complete slice is not summarized,
 * asks the worker, or does it.  If it is, but the range of the row is not, tells the
 * worker that there is a tail.  Errors of other rows do not get out; those of
 * query cancellation do.  Locks: no content lock may be held.
 */
extern void rencoder_autosummarize(Relation index, Relation heap,
								   IndexInfo *indexInfo, const RencoderMeta *meta,
								   RencoderProgress *progress);

/*
 * The inserting session's part in making deltas, when it has linked a page of the pending
 * list, which has so many pages now: if these are enough, asks the worker, or makes a delta.
 * Errors and locks as rencoder_autosummarize().
 */
extern void rencoder_autosummarize_pending(Relation index, const IndexInfo *indexInfo,
										   uint64 npages);

/*
 * Number of slices that are complete when a table's rows have come to "range".
 */
extern uint64 rencoder_autosummarize_complete_slices(const RencoderMeta *meta, uint64 range);

/*
 * Is a table large enough for an index?  To scan less than a slice of ranges costs less.
 */
extern bool rencoder_autosummarize_is_worth(const RencoderMeta *meta, BlockNumber nblocks);

/*
 * First unsummarized slice of [first, end), or "end".  Locks: headers share,
 * one after the other.
 */
extern uint64 rencoder_autosummarize_first_gap(Relation index, const RencoderMeta *meta,
											   uint64 first, uint64 end);

#endif							/* RENCODER_AUTOSUMMARIZE_H */
