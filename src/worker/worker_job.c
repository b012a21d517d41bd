/*
 * worker_job.c
 *		Decides what to do next for one index, and does it.  worker.c chooses the index.
 *
 * Scans read the pages behind the frontier.  To make a run of a few of them costs as much as some scans
 * that read them, so it is made as soon as scans come.  While none come, it can wait until the run is one
 * that need not be merged soon; but not for long, since the next scan would read all that waits.
 */
#include "worker/worker_job.h"

#include "catalog/pg_am.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "base/options.h"
#include "make/choose.h"
#include "make/make_delta.h"
#include "store/pending.h"
#include "store/stats_page.h"
#include "worker/growth.h"

/* Pages behind the frontier that are worth a run: if scans have read so many, if none come, and at most. */
#define READ_PAID		0.5
#define UNREAD_PAGES	256
#define LOADED_PAGES	4096

/* Where scans come, the tail is looked at so often. */
#define READ_LOOK_MS	28

/*
 * Where scans come, and in RENCODER_LOOK_MS so many pages, a run ends with the last page that has a row, though
 * others that come to it are entries: else each scan reads it.  Where fewer come, most rows would be entries.
 */
#define READ_GROWTH		4

/* Of scans that come after a pause it is not known yet how often they do: so often, by RENCODER_LOOK_MS. */
#define FIRST_RATE		1

/* So many, by RENCODER_LOOK_MS, are worth writing deltas again and again. */
#define MANY_SCANS		1

/* How long they wait at most for as many as LOADED_PAGES, where a table grows by UNREAD_PAGES in a second. */
#define WAIT_MS			2000

/*
 * Rows of a table that grows by so many pages at a look are put on the last ones by several sessions, or
 * these have none yet: they are left alone, since a row that comes to a run's page is an entry.
 */
#define FAST_PAGES		16
#define FAST_SLACK		64

/* Sessions write their counts of scans so often. */
#define COUNTS_MS		1500

/* How often what is not the tail is looked after: runs to merge, and pages to be read again. */
#define SETTLE_MS		1000
#define RENEW_MS		10000

/* A measurement of growth takes so long, at least: rows come by fits and starts. */
#define MEASURE_MS		20

/* What is left of a growth after each. */
#define FADING			0.8

/* Has the table been of this size for a while, and the pending list of these pages? */
static bool
job_is_quiet(RencoderJob *job, const RencoderCatalog *catalog, BlockNumber nblocks)
{
	TimestampTz now = GetCurrentTimestamp();

	if (nblocks != job->nblocks || catalog->pending.last_number != job->pending)
	{
		job->nblocks = nblocks;
		job->pending = catalog->pending.last_number;
		job->since = now;
	}
	return TimestampDifferenceExceeds(job->since, now, QUIET_MS);
}

static void
measure_growth(RencoderJob *job, BlockNumber nblocks)
{
	TimestampTz now = GetCurrentTimestamp();
	long		ms = TimestampDifferenceMilliseconds(job->grown_since, now);
	double		pages = 0;

	if (job->grown_since != 0 && ms < MEASURE_MS)
		return;
	if (job->grown_since == 0)
		pages = FAST_PAGES;		/* as if it were loaded */
	else if (nblocks > job->grown)
		pages = (nblocks - job->grown) * (double) RENCODER_LOOK_MS / ms;
	job->growth = Max(pages, job->growth * FADING);
	job->grown_since = now;
	job->grown = nblocks;
}

/* How often scans come.  An index whose scans are not counted gets pages for that. */
static void
look_at_scans(RencoderJob *job, Relation index, BlockNumber nblocks)
{
	TimestampTz now = GetCurrentTimestamp();
	RencoderStats stats;
	int64		scans;

	if (!rencoder_stats_read(index, &stats))
	{
		rencoder_hints_make_pages(index, nblocks, true);
		return;
	}
	scans = job->counted ? stats.count[RENCODER_STATS_SCANS] - job->scans :
		Min(stats.count[RENCODER_STATS_SCANS], 1);
	if (scans > 0)
	{
		long		ms = TimestampDifferenceMilliseconds(job->scans_at, now);

		job->scan_rate = Max(scans * (double) RENCODER_LOOK_MS / Max(Min(ms, COUNTS_MS), RENCODER_LOOK_MS),
							 job->scan_rate > 0 ? 0 : FIRST_RATE);
		job->scans_at = now;
		job->scanned |= job->counted;
	}
	else if (TimestampDifferenceExceeds(job->scans_at, now, COUNTS_MS))
		job->scan_rate = 0;
	job->counted = true;
	job->scans = stats.count[RENCODER_STATS_SCANS];
}

/* How many of the last pages are left alone. */
static BlockNumber
tail_slack(const RencoderJob *job, Relation heap, BlockNumber nblocks, bool quiet)
{
	if (quiet)
		return 0;
	if (job->scan_rate > 0 && job->growth >= READ_GROWTH && heap->rd_rel->relam == HEAP_TABLE_AM_OID)
		return rencoder_page_count_new(heap, nblocks, FAST_SLACK);
	return job->growth >= FAST_PAGES ? FAST_SLACK : 1;
}

/* The page that a run of the tail is to end before; 0: none is made now. */
static BlockNumber
tail_to_make(RencoderJob *job, Relation heap, const RencoderCatalog *catalog, BlockNumber nblocks, bool quiet)
{
	TimestampTz now = GetCurrentTimestamp();
	BlockNumber slack = tail_slack(job, heap, nblocks, quiet);
	BlockNumber end = nblocks > slack ? nblocks - slack : 0;
	BlockNumber waiting = end > catalog->frontier ? end - catalog->frontier : 0;

	if (waiting == 0)
		job->tail_since = 0;
	else if (job->tail_since == 0)
		job->tail_since = now;
	if (waiting == 0 || quiet)
		return waiting == 0 ? 0 : end;
	if (job->scan_rate > 0)
	{
		job->paid += job->scan_rate * waiting * READ_LOOK_MS / RENCODER_LOOK_MS;
		return job->paid >= READ_PAID ? end : 0;
	}
	if (waiting < UNREAD_PAGES ||
		(waiting < LOADED_PAGES && job->growth * 1000 / RENCODER_LOOK_MS > UNREAD_PAGES &&
		 !TimestampDifferenceExceeds(job->tail_since, now, WAIT_MS)))
		return 0;
	return end;
}

/*
 * A delta of the pending list, if that is long enough: the sooner, and merged with the more of the older ones, the
 * more scans read it.  Scans from before this job say nothing; one that finds the list long notes that.
 */
static void
shorten_pending(const RencoderJob *job, Relation index)
{
	double		rate = job->scanned ? job->scan_rate : 0;
	uint64		least = RENCODER_DELTA_UNREAD_PAGES;
	double		factor = RENCODER_DELTA_UNREAD;

	if (rate >= MANY_SCANS)
	{
		least = RENCODER_DELTA_READ_PAGES;
		factor = RENCODER_DELTA_READ;
	}
	else if (rate > 0 || rencoder_growth_is_read(index))
	{
		least = RENCODER_DELTA_PAGES;
		factor = RENCODER_DELTA_BUSY;
	}
	if (!rencoder_pending_has_closed(index, least))
		return;
	rencoder_meta_lock_maintainer(index);
	rencoder_make_delta(index, least, PG_UINT32_MAX, factor);
	rencoder_stats_unlock_maintainer(index);
}

RencoderJobResult
rencoder_worker_job_step(RencoderJob *job, Relation index, Relation heap)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	RencoderDemand demand = {.gives_way = true};
	RencoderMade made;
	RencoderCatalog catalog;
	bool		settles;

	if (!rencoder_options(index)->autosummarize)
		return RENCODER_JOB_DONE;
	job->pause_ms = RENCODER_LOOK_MS;

	/* Who comes between holds us up, but most have it for one run. */
	if (rencoder_growth_is_late(index) || !rencoder_meta_try_lock_maintainer(index))
		return RENCODER_JOB_WAITS;
	(void) rencoder_meta_unlock_maintainer(index);

	rencoder_catalog_copy(index, &catalog, NULL, NULL, NULL);
	demand.quiet = job_is_quiet(job, &catalog, nblocks);
	measure_growth(job, nblocks);
	look_at_scans(job, index, nblocks);
	demand.read = job->scan_rate > 0;
	if (demand.read)
		job->pause_ms = READ_LOOK_MS;
	shorten_pending(job, index);
	demand.tail_to = tail_to_make(job, heap, &catalog, nblocks, demand.quiet);
	demand.renew = demand.quiet ||
		TimestampDifferenceExceeds(job->renewed_at, GetCurrentTimestamp(), RENEW_MS);
	settles = demand.quiet ||
		TimestampDifferenceExceeds(job->settled_at, GetCurrentTimestamp(), SETTLE_MS);
	if (demand.tail_to == 0 && !settles)
		return RENCODER_JOB_WAITS;
	made = rencoder_choose_step(index, heap, &demand);
	if (made == RENCODER_MADE_WAITED_FOR)
		return RENCODER_JOB_LOCKED;
	if (demand.tail_to != 0)
	{
		job->tail_since = 0;
		job->paid = 0;
	}
	if (made == RENCODER_MADE_DONE)
		return demand.read && !settles ? RENCODER_JOB_WAITS : RENCODER_JOB_MORE;
	job->settled_at = GetCurrentTimestamp();
	if (demand.renew)
		job->renewed_at = job->settled_at;
	return demand.quiet ? RENCODER_JOB_DONE : RENCODER_JOB_WAITS;
}
