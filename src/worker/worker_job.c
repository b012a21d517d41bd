/*
 * worker_job.c
 *		What the worker does of an index.
 */
#include "worker/worker_job.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "base/options.h"
#include "maintain/compact.h"
#include "maintain/delta.h"
#include "maintain/summarize.h"
#include "worker/autosummarize.h"

/* How long it works on one index, unless a slice, or a group at once, takes longer. */
#define PIECE_MS			200

/* It looks for gaps so many slices back; older ones are for VACUUM. */
#define WINDOW_SLICES		1024

/* The slice at which the job ends. */
static uint64
job_end(const RencoderJob *job, BlockNumber nblocks, const RencoderMeta *meta)
{
	uint64		in_table = nblocks / meta->pages_per_range;

	/* The table may have been truncated since. */
	if (job->ranges > 0)
		return Min(job->ranges, in_table) / RENC_SLICE_RANGES;
	return rencoder_autosummarize_complete_slices(meta, in_table);
}

/* Has the table been of this size for a while, and the pending list of these pages? */
static bool
is_quiet(RencoderJob *job, Relation index, BlockNumber nblocks)
{
	TimestampTz now = GetCurrentTimestamp();
	RencoderRuns runs;

	rencoder_runs_look(index, &runs, NULL);
	if (nblocks != job->nblocks || runs.pending_last_number != job->pending)
	{
		job->nblocks = nblocks;
		job->pending = runs.pending_last_number;
		job->since = now;
	}
	return TimestampDifferenceExceeds(job->since, now, QUIET_MS);
}

/* Complete slices up to "end", for a while; true if there are no more of them. */
static bool
fill_gaps(Relation index, Relation heap, const RencoderMeta *meta, uint64 end)
{
	TimestampTz start = GetCurrentTimestamp();
	uint64		slice;
	uint64		next;

	rencoder_meta_lock_maintainer(index);
	slice = end < WINDOW_SLICES ? 0 : end - WINDOW_SLICES;
	while ((slice = rencoder_autosummarize_first_gap(index, meta, slice, end)) < end &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), PIECE_MS))
	{
		/*
		 * A group at once, if it comes so late; it is logged once then, not
		 * twice.
		 */
		next = slice + 1;
		if (slice % RENC_GROUP_SLICES == 0 && slice + RENC_GROUP_SLICES <= end)
			next = slice + RENC_GROUP_SLICES;
		rencoder_summarize_slices(index, heap, slice, next, false);
	}
	rencoder_meta_unlock_maintainer(index);
	return slice >= end;
}

/* A delta of the pending list, if that is long enough. */
static void
shorten_pending(Relation index)
{
	if (!rencoder_delta_is_due(index, RENCODER_DELTA_PAGES))
		return;
	rencoder_meta_lock_maintainer(index);
	(void) rencoder_delta_make(index, RENCODER_DELTA_PAGES, PG_UINT32_MAX, RENCODER_DELTA_BUSY);
	rencoder_meta_unlock_maintainer(index);
}

/*
 * Makes base runs of full groups.  To look for them takes as long as the directory is, so it is
 * done when there is another, and when the table is quiet.
 */
static RencoderCompactResult
flush_full_groups(RencoderJob *job, Relation index, Relation heap, const RencoderMeta *meta,
				  BlockNumber nblocks, bool quiet)
{
	uint64		full = nblocks / meta->pages_per_range / RENC_GROUP_RANGES;
	RencoderCompactResult result;

	if (full == job->settled && !quiet)
		return RENCODER_COMPACT_NOTHING;
	result = rencoder_compact_some(index, heap, quiet);
	if (result == RENCODER_COMPACT_NOTHING)
		job->settled = full;
	return result;
}

/* All there is from range "first" on, the range that the table ends in included. */
static void
summarize_tail(Relation index, Relation heap, const RencoderMeta *meta, BlockNumber nblocks,
			   uint64 first)
{
	if (rencoder_autosummarize_is_worth(meta, nblocks))
		(void) rencoder_summarize(index, heap, first, rencoder_range_count(meta, nblocks) - 1, true);
}

RencoderJobResult
rencoder_worker_job_serve(RencoderJob *job, Relation index, Relation heap)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	bool		quiet = is_quiet(job, index, nblocks);
	uint64		end;
	uint64		first;

	if (!rencoder_options_autosummarize(index))
		return JOB_DONE;

	/* Who comes between holds us up, but most have it for one group. */
	if (!rencoder_meta_try_maintainer(index))
		return JOB_MAINTAINED;
	rencoder_meta_unlock_maintainer(index);

	shorten_pending(index);
	end = quiet ? nblocks / meta.pages_per_range / RENC_SLICE_RANGES :
		job_end(job, nblocks, &meta);
	if (!fill_gaps(index, heap, &meta, end))
		return JOB_UNFINISHED;

	/* Before runs are made, which others may be in the way of for long. */
	if (quiet)
	{
		rencoder_delta_settle(index);
		summarize_tail(index, heap, &meta, nblocks, end * RENC_SLICE_RANGES);
	}
	switch (flush_full_groups(job, index, heap, &meta, nblocks, quiet))
	{
		case RENCODER_COMPACT_DONE:
			return JOB_UNFINISHED;
		case RENCODER_COMPACT_WAITED_FOR:
			return JOB_LOCKED;
		case RENCODER_COMPACT_NOTHING:
			break;
	}
	if (quiet)
		return JOB_DONE;
	if (rencoder_tail_reads_look(&job->reads, index, &meta, nblocks, &first))
		summarize_tail(index, heap, &meta, nblocks, first);
	return JOB_WAITING;
}
