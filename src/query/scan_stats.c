/*
 * scan_stats.c
 *		Counts of this session's scans, on their way to the page of the index.
 *
 * A session adds them up and writes them when a transaction commits, if it has not done so for
 * a second or there are many, and when it ends.  So a scan costs an addition.  The index is opened
 * only if its lock can be had at once, and its page likewise; else the counts wait.
 *
 * No shared memory is needed, so none has to be reserved at the start of the server.
 */
#include "query/scan_stats.h"

#include "access/amapi.h"
#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "base/options.h"

/* Written at commit after so many scans, or so long after the last time. */
#define FLUSH_SCANS		100
#define FLUSH_MSECS		1000

typedef struct KeptStats
{
	Oid			indexoid;		/* key of the table */
	RencoderStats stats;
} KeptStats;

static HTAB *kept = NULL;
static int64 kept_scans = 0;
static TimestampTz last_flush = 0;

/* Writes and forgets what is kept of an index, unless it or its page is locked. */
static void
flush_index(KeptStats *entry, bool wait)
{
	Oid			indexoid = entry->indexoid;
	Relation	index;
	bool		done = true;

	if (!ConditionalLockRelationOid(indexoid, AccessShareLock))
		return;
	index = try_relation_open(indexoid, NoLock);
	if (index != NULL && index->rd_rel->relkind == RELKIND_INDEX &&
		index->rd_indam->amoptions == rencoderoptions && !RELATION_IS_OTHER_TEMP(index))
		done = rencoder_stats_add(index, &entry->stats, wait);
	if (index != NULL)
		relation_close(index, NoLock);
	UnlockRelationOid(indexoid, AccessShareLock);
	if (done)
		(void) hash_search(kept, &indexoid, HASH_REMOVE, NULL);
}

static void
flush_all(bool wait)
{
	HASH_SEQ_STATUS status;
	KeptStats  *entry;

	last_flush = GetCurrentTimestamp();
	kept_scans = 0;
	hash_seq_init(&status, kept);
	while ((entry = hash_seq_search(&status)) != NULL)
		flush_index(entry, wait);
}

static bool
is_anything_kept(void)
{
	return kept != NULL && hash_get_num_entries(kept) > 0;
}

/* A parallel worker does not come again. */
static void
flush_at_commit(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PARALLEL_PRE_COMMIT && is_anything_kept())
		flush_all(true);
	else if (event == XACT_EVENT_PRE_COMMIT && is_anything_kept() &&
			 (kept_scans >= FLUSH_SCANS ||
			  TimestampDifferenceExceeds(last_flush, GetCurrentTimestamp(), FLUSH_MSECS)))
		flush_all(false);
}

static void
flush_at_exit(int code, Datum arg)
{
	if (code != 0 || !is_anything_kept() || RecoveryInProgress())
		return;
	AbortOutOfAnyTransaction();
	StartTransactionCommand();
	flush_all(true);
	CommitTransactionCommand();
}

void
rencoder_scan_stats_init(void)
{
	RegisterXactCallback(flush_at_commit, NULL);
}

static void
make_table(void)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(KeptStats)};

	kept = hash_create("rencoder scan statistics", 16, &ctl, HASH_ELEM | HASH_BLOBS);
	if (IsUnderPostmaster && !IsParallelWorker())
		before_shmem_exit(flush_at_exit, (Datum) 0);
}

void
rencoder_scan_stats_add(Oid indexoid, const RencoderStats *stats)
{
	KeptStats  *entry;
	bool		found;

	if (RecoveryInProgress())
		return;
	if (kept == NULL)
		make_table();
	entry = hash_search(kept, &indexoid, HASH_ENTER, &found);
	if (!found)
		memset(&entry->stats, 0, sizeof(entry->stats));
	for (int i = 0; i < RENCODER_STATS_COUNTS; i++)
		entry->stats.count[i] += stats->count[i];
	kept_scans += stats->count[RENCODER_STATS_SCANS];
}

void
rencoder_scan_stats_flush(Relation index)
{
	Oid			indexoid = RelationGetRelid(index);
	KeptStats  *entry = kept == NULL ? NULL : hash_search(kept, &indexoid, HASH_FIND, NULL);

	if (entry == NULL)
		return;
	(void) rencoder_stats_add(index, &entry->stats, true);
	(void) hash_search(kept, &indexoid, HASH_REMOVE, NULL);
}
