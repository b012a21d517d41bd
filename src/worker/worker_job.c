/*
 * worker_job.c
 *		Decides what to do next for one index, and does it.  worker.c chooses the index, and
 *		tail_reads.c says what scans have paid for.
 */
#include "worker/worker_job.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "base/options.h"
#include "maintain/compact.h"
#include "maintain/delta_merge.h"
#include "maintain/note.h"
#include "maintain/summarize.h"
#include "store/pending.h"
#include "worker/autosummarize.h"

/* How long it works on one index, unless a slice, or a group at once, takes longer. */
#define PIECE_MS			200

/* How long slices wait for their group to be full. */
#define GAP_MS				1000

/* How often groups are looked for because deltas are large, when none was found. */
#define OVERDUE_MS			1000

/* It looks for gaps so many slices back; older ones are for VACUUM. */
#define WINDOW_SLICES		1024

/* Has the table been of this size for a while, and the pending list of these pages? */
static bool
job_is_quiet(RencoderJob *job, Relation index, BlockNumber nblocks)
{
	TimestampTz now = GetCurrentTimestamp();
	RencoderRuns runs;

	rencoder_runs_copy(index, &runs, NULL);
	if (nblocks != job->nblocks || runs.pending.last_number != job->pending)
	{
		job->nblocks = nblocks;
		job->pending = runs.pending.last_number;
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

/* A delta of the pending list, if that is long enough; sooner if scans read it. */
static void
shorten_pending(Relation index, bool read)
{
	uint64		least = read ? RENCODER_DELTA_READ_PAGES : RENCODER_DELTA_PAGES;

	if (!rencoder_pending_has_closed(index, least))
		return;
	rencoder_meta_lock_maintainer(index);
	rencoder_delta_make(index, least, PG_UINT32_MAX,
						read ? RENCODER_DELTA_READ : RENCODER_DELTA_BUSY);
	rencoder_meta_unlock_maintainer(index);
}

/*
 * May slices up to "end" wait?  While rows come fast, groups will soon be full, and their rows are
 * then read once, for a base run.  Not if half a group, which would still be unread, takes longer
 * than they may wait, nor if scans read what is unsummarized meanwhile.
 */
static bool
job_may_wait(RencoderJob *job, Relation index, const RencoderMeta *meta, uint64 end)
{
	TimestampTz now = GetCurrentTimestamp();
	double		half = (double) RENC_GROUP_RANGES / 2 * meta->pages_per_range;

	if (!rencoder_options_use_runs(index) || job->reads.busy || end == 0 ||
		job->growth.lately * GAP_MS / RENCODER_LOOK_MS < half ||
		rencoder_group_slice_is_summarized(index, meta, end - 1))
		job->gap_since = 0;
	else if (job->gap_since == 0)
		job->gap_since = now;
	return job->gap_since != 0 && !TimestampDifferenceExceeds(job->gap_since, now, GAP_MS);
}

/*
 * Are deltas too large?  Those of random updates may be, of which no group is to be made anew while
 * rows come.
 */
static bool
delta_job_is_overdue(const RencoderJob *job, Relation index)
{
	return TimestampDifferenceExceeds(job->settled_at, GetCurrentTimestamp(), OVERDUE_MS) &&
		rencoder_compact_is_overdue(index);
}

/* Ranges of the tail; where the index keeps its keys in runs they are noted. */
static void
summarize_tail(Relation index, Relation heap, const RencoderMeta *meta, BlockNumber nblocks,
			   uint64 first, uint64 end)
{
	if (!rencoder_autosummarize_is_worth(meta, nblocks) || first >= end)
		return;
	if (rencoder_options_use_runs(index))
		(void) rencoder_note(index, heap, first, end);
	else
		(void) rencoder_summarize(index, heap, first, end - 1);
}

/* What scans have paid for. */
static RencoderCompactResult
do_what_is_read(RencoderJob *job, Relation index, Relation heap, const RencoderMeta *meta,
				BlockNumber nblocks)
{
	RencoderTailWork work = rencoder_tail_reads_look(&job->reads, index, meta, nblocks, &job->growth,
													 rencoder_options_use_runs(index));

	/* When about a range more has come. */
	if (work.soon)
		job->pause_ms = Max(RENCODER_LEAST_LOOK_MS, (int) (RENCODER_LOOK_MS * meta->pages_per_range /
														   job->growth.now));
	summarize_tail(index, heap, meta, nblocks, work.first, work.end);
	return work.flush ? rencoder_compact_some(index, heap, false, true) : RENCODER_COMPACT_NOTHING;
}

RencoderJobResult
rencoder_worker_job_step(RencoderJob *job, Relation index, Relation heap)
{
	RencoderMeta meta = *rencoder_meta_get(index);
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	uint64		in_table = nblocks / meta.pages_per_range;
	bool		quiet;
	bool		waits;
	bool		flushes;
	uint64		end;
	uint64		full;
	uint64		nsummarized = 0;
	RencoderCompactResult result = RENCODER_COMPACT_NOTHING;

	if (!rencoder_options_autosummarize(index))
		return RENCODER_JOB_DONE;
	quiet = job_is_quiet(job, index, nblocks);
	rencoder_tail_growth_measure(&job->growth, nblocks);
	job->pause_ms = RENCODER_LOOK_MS;

	/* Who comes between holds us up, but most have it for one group. */
	if (!rencoder_meta_try_lock_maintainer(index))
		return RENCODER_JOB_WAITS;
	rencoder_meta_unlock_maintainer(index);

	shorten_pending(index, job->reads.busy);
	if (!quiet)
		result = do_what_is_read(job, index, heap, &meta, nblocks);
	if (result == RENCODER_COMPACT_WAITED_FOR)
		return RENCODER_JOB_LOCKED;
	end = quiet ? in_table / RENC_SLICE_RANGES :
		rencoder_autosummarize_complete_slices(&meta, in_table);
	full = end / RENC_GROUP_SLICES;
	waits = !quiet && job_may_wait(job, index, &meta, end);

	/*
	 * To look for groups takes as long as the directory is, so it is done
	 * when there is another, when deltas have got too large, and when the
	 * table is quiet.
	 */
	flushes = quiet || delta_job_is_overdue(job, index) ||
		(full != job->settled &&
		 !(waits && full < job->settled + RENCODER_WORTH_FLUSHING));

	/* One that had to give way to others tries one at a time, which does not. */
	result = !flushes ? RENCODER_COMPACT_NOTHING :
		rencoder_compact_unread(index, heap, end * RENC_SLICE_RANGES,
								waits ? RENCODER_WORTH_FLUSHING : 1,
								job->trouble_since == 0 ? RENCODER_WORKER_FLUSH : 1, true,
								&nsummarized);
	if (result == RENCODER_COMPACT_NOTHING)
	{
		if (waits)
			return RENCODER_JOB_WAITS;
		if (!fill_gaps(index, heap, &meta, end))
			return RENCODER_JOB_MORE;
	}
	job->gap_since = 0;

	/* Before runs are made, which others may be in the way of for long. */
	if (quiet && result == RENCODER_COMPACT_NOTHING)
	{
		summarize_tail(index, heap, &meta, nblocks, end * RENC_SLICE_RANGES,
					   rencoder_range_count(&meta, nblocks) +
					   (rencoder_options_use_runs(index) && job->reads.busy));
		rencoder_delta_make_at_rest(index, false);
	}
	if (flushes && result == RENCODER_COMPACT_NOTHING)
		result = rencoder_compact_some(index, heap, quiet, false);
	if (result != RENCODER_COMPACT_NOTHING)
		return result == RENCODER_COMPACT_DONE ? RENCODER_JOB_MORE : RENCODER_JOB_LOCKED;
	if (flushes)
		job->settled_at = GetCurrentTimestamp();
	job->settled = full;
	if (!job->reads.busy)
		job->pause_ms = QUIET_MS;
	return quiet ? RENCODER_JOB_DONE : RENCODER_JOB_WAITS;
}
