/*
 * autosummarize.c
 *		The inserting session's part in automatic summarization.
 *
 * A worker does it, if it can be had.  Inserting sessions do it themselves
 * where a worker could not see the rows (temporary tables; tables and indexes
 * that this transaction has created or truncated; when it commits, it asks the
 * worker for what is left of them), and where none can be started.  They do so only
 *
 *	- under the maintainer lock, if they get it without waiting;
 *	- for plain columns: a function of an expression or predicate that fails
 *	  for another session's row must not fail this session's;
 *	- for two slices at a time, so that an INSERT does not take as long as the
 *	  work of hours that was left undone.
 *
 * All of it, what it reads to know whom to ask for what included, is done within a
 * subtransaction, so that no damaged page, full disk or other misfortune on the way fails the
 * INSERT, which has nothing to do with it.
 */
#include "worker/autosummarize.h"

#include "access/parallel.h"
#include "access/xact.h"

#include "base/options.h"
#include "base/subtransaction.h"
#include "maintain/delta_merge.h"
#include "maintain/summarize.h"
#include "worker/worker_queue.h"

/* Slices a session summarizes in one go. */
#define INLINE_SLICES			2

/* It looks for them so many slices back: one group. */
#define INLINE_WINDOW			RENC_GROUP_SLICES

/*
 * A session makes a delta itself when so many pages are pending and there is no worker to be
 * had, or many times as many though there is one.
 */
#define INLINE_PENDING			32
#define LATE_PENDING			128

/* It merges so many pages of deltas with it. */
#define INLINE_MERGED			1024

/* One transaction's new indexes that it asks for by name; else it asks for all there are. */
#define MAX_NEW_INDEXES			64

/* Indexes that the worker cannot see before this transaction commits. */
static Oid	new_indexes[MAX_NEW_INDEXES];
static int	nnew_indexes = 0;	/* MAX_NEW_INDEXES + 1: there are more */

uint64
rencoder_autosummarize_complete_slices(const RencoderMeta *meta, uint64 range)
{
	return rencoder_tail_complete_ranges(meta, range) / RENC_SLICE_RANGES;
}

bool
rencoder_autosummarize_is_worth(const RencoderMeta *meta, BlockNumber nblocks)
{
	return rencoder_range_count(meta, nblocks) >= RENC_SLICE_RANGES;
}

uint64
rencoder_autosummarize_first_gap(Relation index, const RencoderMeta *meta, uint64 first, uint64 end)
{
	while (first < end && rencoder_group_slice_is_summarized(index, meta, first))
		first++;
	return first;
}

/* Can the worker of the database see the index' pages, and has it a right to? */
static bool
worker_can_see(Relation index)
{
	return !RelationUsesLocalBuffers(index) && !rencoder_new_in_transaction(index);
}

/*
 * The transaction has ended.  When it has committed, the worker can see what is new; it
 * waits for the locks, and finds nothing of what a subtransaction took back.  Nothing
 * here may raise an error: rencoder_worker_queue_prepare().
 */
static void
ask_after_commit(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PARALLEL_PRE_COMMIT ||
		event == XACT_EVENT_PRE_PREPARE)
		return;
	if (event == XACT_EVENT_COMMIT && nnew_indexes > MAX_NEW_INDEXES)
		(void) rencoder_worker_queue_put(InvalidOid, false);
	else if (event == XACT_EVENT_COMMIT)
	{
		for (int i = 0; i < nnew_indexes; i++)
			(void) rencoder_worker_queue_put(new_indexes[i], false);
	}
	nnew_indexes = 0;
}

/* Whatever is left of an index that is new in this transaction is for the worker then. */
static void
remember_new_index(Relation index)
{
	static bool registered = false;
	int			i = Min(nnew_indexes, MAX_NEW_INDEXES);

	if (RelationUsesLocalBuffers(index) || !rencoder_new_in_transaction(index) ||
		!rencoder_worker_queue_prepare())
		return;
	while (i > 0 && new_indexes[i - 1] != RelationGetRelid(index))
		i--;
	if (i > 0)
		return;
	if (!registered)
		RegisterXactCallback(ask_after_commit, NULL);
	registered = true;
	if (nnew_indexes < MAX_NEW_INDEXES)
		new_indexes[nnew_indexes] = RelationGetRelid(index);
	nnew_indexes = Min(nnew_indexes + 1, MAX_NEW_INDEXES + 1);
}

/*
 * No slice is complete, but the worker should know that the table has grown, and see to
 * the range of the row when nothing more comes.  A range that is summarized needs
 * nobody: inserters keep it so.  Without a worker it is left to VACUUM.
 */
static void
ask_for_tail(Relation index, const RencoderMeta *meta, uint64 range)
{
	if (worker_can_see(index) &&
		rencoder_group_header_if_taking_entries(index, meta, range) == RENCODER_NO_BLOCK)
		(void) rencoder_worker_queue_put(RelationGetRelid(index), false);
}

static bool
may_do_it_here(const IndexInfo *indexInfo)
{
	return indexInfo->ii_Expressions == NIL && indexInfo->ii_Predicate == NIL && !IsInParallelMode();
}

/* A row's look at what is summarized before it. */
typedef struct RowsLook
{
	Relation	index;
	Relation	heap;
	const IndexInfo *indexInfo;
	const RencoderMeta *meta;
	RencoderProgress *progress;
} RowsLook;

/* Under the maintainer lock. */
static void
autosummarize_gaps(const RowsLook *look, uint64 end)
{
	uint64		slice = end < INLINE_WINDOW ? 0 : end - INLINE_WINDOW;

	for (int i = 0; i < INLINE_SLICES; i++)
	{
		slice = rencoder_autosummarize_first_gap(look->index, look->meta, slice, end);
		if (slice < end)
			rencoder_summarize_slices(look->index, look->heap, slice, slice + 1, true);
	}
}

static void
autosummarize_slices(void *arg)
{
	const RowsLook *look = (const RowsLook *) arg;
	Relation	index = look->index;
	RencoderProgress *progress = look->progress;
	uint64		end = rencoder_autosummarize_complete_slices(look->meta, progress->range);

	if (end <= progress->slices || rencoder_group_slice_is_summarized(index, look->meta, end - 1))
	{
		progress->slices = Max(progress->slices, end);
		ask_for_tail(index, look->meta, progress->range);
		return;
	}

	if (!(worker_can_see(index) &&
		  rencoder_worker_queue_put(RelationGetRelid(index), true)) &&
		may_do_it_here(look->indexInfo) && rencoder_meta_try_lock_maintainer(index))
	{
		autosummarize_gaps(look, end);
		rencoder_meta_unlock_maintainer(index);
	}
}

void
rencoder_autosummarize(Relation index, Relation heap, IndexInfo *indexInfo,
					   const RencoderMeta *meta, RencoderProgress *progress)
{
	RowsLook	look = {index, heap, indexInfo, meta, progress};

	/*
	 * Once for each range that the statement comes to: the tail has not grown
	 * since.  ii_Concurrent: the second phase of CREATE INDEX CONCURRENTLY.
	 */
	if (progress->range < RENC_SLICE_RANGES - 1 || progress->range == progress->looked_range ||
		indexInfo->ii_Concurrent ||
		!index->rd_index->indisvalid || !rencoder_options_autosummarize(index))
		return;
	progress->looked_range = progress->range;
	remember_new_index(index);
	(void) rencoder_best_effort(autosummarize_slices, &look, index, "summarize block ranges");
}

static void
autosummarize_delta(void *arg)
{
	Relation	index = (Relation) arg;

	if (!rencoder_meta_try_lock_maintainer(index))
		return;
	rencoder_delta_make(index, RENCODER_DELTA_PAGES, INLINE_MERGED, RENCODER_DELTA_BUSY);
	rencoder_meta_unlock_maintainer(index);
}

/*
 * No rows are read, so expressions and predicates do not matter.  The worker is asked each time
 * that another page is linked: it may have failed.  Where automatic summarization is off the
 * list must not grow for ever, either: each scan reads it.
 */
void
rencoder_autosummarize_pending(Relation index, const IndexInfo *indexInfo, uint64 npages)
{
	bool		asked;

	if (npages <= RENCODER_DELTA_PAGES || indexInfo->ii_Concurrent)
		return;
	asked = index->rd_index->indisvalid && rencoder_options_autosummarize(index) &&
		worker_can_see(index) &&
		rencoder_worker_queue_put(RelationGetRelid(index), true);
	if (npages >= (asked ? LATE_PENDING : INLINE_PENDING) && !IsInParallelMode())
		(void) rencoder_best_effort(autosummarize_delta, index, index, "make a delta");
}
