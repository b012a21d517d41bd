/*
 * scan_stats.c
 *		Counts of this session's scans, on their way to the page of the index.
 *
 * A session adds them up and writes them at the end of a scan of the same index, if it has not
 * done so for a second or there are many, and when it ends.  So a scan costs an addition, and
 * nothing is read of an index in a command that has nothing to do with it, such as a commit.
 * The page is not waited for then; else the counts wait.  They are written sooner if scans read
 * the tail of the table: the worker notes it when it knows of that.
 *
 * What fails is forgotten, and not tried again for a while.  When a process exits no error can
 * be caught: each is a message in the server's log then.  So what is likely to be amiss is looked
 * at before, and the metapage is not read again.
 *
 * No shared memory is needed, so none has to be reserved at the start of the server.
 */
#include "scan/scan_stats.h"

#include "access/amapi.h"
#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "base/options.h"
#include "base/subtransaction.h"
#include "worker/worker_queue.h"

/* Written after so many scans, or so long after the last time. */
#define FLUSH_SCANS		100
#define FLUSH_MSECS		1000

/* After so many pages of the tail, as two ranges mostly have; no sooner than the worker looks. */
#define FLUSH_TAIL		64

typedef struct KeptStats
{
	Oid			indexoid;		/* key of the table */
	RencoderFileNumber file;	/* that the page is in; 0: not looked yet */
	BlockNumber page;			/* of the counts, or RENCODER_NO_BLOCK */
	TimestampTz written;		/* last, and the worker told of the tail */
	int64		tail;			/* pages of it that were read since */
	RencoderStats stats;
} KeptStats;

static HTAB *kept = NULL;

static void
forget_kept_scan_stats(KeptStats *entry)
{
	memset(&entry->stats, 0, sizeof(entry->stats));
}

static bool
scan_stats_are_kept(const KeptStats *entry)
{
	for (int i = 0; i < RENCODER_STATS_COUNTS; i++)
	{
		if (entry->stats.count[i] != 0)
			return true;
	}
	return false;
}

/* The page of the counts stays where it is as long as the index has the same file. */
static void
find_scan_stats_page(KeptStats *entry, Relation index)
{
	RencoderFileNumber file = rencoder_locator_number(rencoder_relation_locator(index));

	if (entry->file == file && entry->page != RENCODER_NO_BLOCK)
		return;
	entry->file = 0;
	entry->page = rencoder_space_find_root(index, RENCODER_ROOT_STATS);
	entry->file = file;
}

/* Writes and forgets what is kept of an index, which is open, unless its page is locked. */
static void
write_kept_stats(KeptStats *entry, Relation index, bool wait)
{
	find_scan_stats_page(entry, index);
	if (rencoder_stats_add(index, entry->page, &entry->stats, wait))
		forget_kept_scan_stats(entry);
}

/* What rencoder_best_effort() does. */
typedef struct WriteWork
{
	KeptStats  *entry;
	Relation	index;
} WriteWork;

static void
write_scan_stats_work(void *arg)
{
	const WriteWork *work = (const WriteWork *) arg;

	write_kept_stats(work->entry, work->index, false);
	if (work->entry->tail >= FLUSH_TAIL)
		rencoder_worker_queue_tell_tail_read(RelationGetRelid(work->index));
	work->entry->tail = 0;
}

/* Has much of the tail been read that the worker may note? */
static bool
is_tail_due_by_stats(const KeptStats *entry, Relation index, TimestampTz now)
{
	return entry->tail >= FLUSH_TAIL && rencoder_options(index)->autosummarize &&
		TimestampDifferenceExceeds(entry->written, now, RENCODER_LEAST_LOOK_MS);
}

void
rencoder_scan_stats_write_if_due(Relation index)
{
	Oid			indexoid = RelationGetRelid(index);
	KeptStats  *entry = kept == NULL ? NULL : hash_search(kept, &indexoid, HASH_FIND, NULL);
	WriteWork	work = {entry, index};
	TimestampTz now;

	if (entry == NULL || !scan_stats_are_kept(entry) || !rencoder_may_begin_subtransaction())
		return;
	now = GetCurrentTimestamp();
	if (entry->stats.count[RENCODER_STATS_SCANS] < FLUSH_SCANS &&
		!TimestampDifferenceExceeds(entry->written, now, FLUSH_MSECS) &&
		!is_tail_due_by_stats(entry, index, now))
		return;
	entry->written = now;
	if (!rencoder_best_effort(write_scan_stats_work, &work, index, "add the counts of scans"))
		forget_kept_scan_stats(entry);
}

/* When the process exits. */
static void
write_last_stats(KeptStats *entry)
{
	Relation	index;

	if (!scan_stats_are_kept(entry) ||
		!ConditionalLockRelationOid(entry->indexoid, AccessShareLock))
		return;
	index = try_relation_open(entry->indexoid, NoLock);
	if (index == NULL)
		return;
	if (index->rd_rel->relkind == RELKIND_INDEX &&
		index->rd_indam->amoptions == rencoderoptions && !RELATION_IS_OTHER_TEMP(index) &&
		smgrexists(RelationGetSmgr(index), MAIN_FORKNUM))
		write_kept_stats(entry, index, true);
	relation_close(index, NoLock);
}

static void
flush_stats_at_exit(int code, Datum arg)
{
	HASH_SEQ_STATUS status;
	KeptStats  *entry;

	if (code != 0 || RecoveryInProgress())
		return;
	AbortOutOfAnyTransaction();
	StartTransactionCommand();
	hash_seq_init(&status, kept);
	while ((entry = hash_seq_search(&status)) != NULL)
		write_last_stats(entry);
	CommitTransactionCommand();
}

static void
make_scan_stats_table(void)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(KeptStats)};

	kept = hash_create("rencoder scan statistics", 16, &ctl, HASH_ELEM | HASH_BLOBS);
	if (IsUnderPostmaster)
		before_shmem_exit(flush_stats_at_exit, (Datum) 0);
}

void
rencoder_scan_stats_add(Oid indexoid, const RencoderStats *stats, int64 tail)
{
	KeptStats  *entry;
	bool		found;

	if (RecoveryInProgress())
		return;
	if (kept == NULL)
		make_scan_stats_table();
	entry = hash_search(kept, &indexoid, HASH_ENTER, &found);
	if (!found)
		memset((char *) entry + sizeof(Oid), 0, sizeof(KeptStats) - sizeof(Oid));
	for (int i = 0; i < RENCODER_STATS_COUNTS; i++)
		entry->stats.count[i] += stats->count[i];
	entry->tail += tail;
}

void
rencoder_scan_stats_write(Relation index)
{
	Oid			indexoid = RelationGetRelid(index);
	KeptStats  *entry = kept == NULL ? NULL : hash_search(kept, &indexoid, HASH_FIND, NULL);

	if (entry != NULL && scan_stats_are_kept(entry))
		write_kept_stats(entry, index, true);
}
