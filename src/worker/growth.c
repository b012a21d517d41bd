/*
 * growth.c
 *		The part of sessions that insert, or scan, in the maintenance of a table that grows.
 *
 * A worker does it, if it can be had.  Inserting sessions do it themselves
 * where a worker could not see the rows (temporary tables; tables and indexes
 * that this transaction has created or truncated; when it commits, it asks the
 * worker for what is left of them), and where none can be started.
 *
 * A worker may get too little time, or be busy elsewhere.  So where scans read what it should have seen to,
 * which they note in shared memory, and HELP_TIMES as much waits as it would let wait, who inserts does
 * it as if there was none; and a scan itself at its end, if the worker has had the time.  So a query reads
 * no more than that.  All of them do so only
 *
 *	- under the maintainer lock, if they get it without waiting;
 *	- if no function of users is run: it might sleep, or write.
 *
 * All of it is done within a subtransaction, so that no damaged page, full disk or other misfortune on
 * the way fails the statement, which has nothing to do with it.
 */
#include "worker/growth.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "storage/proc.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "base/options.h"
#include "base/subtransaction.h"
#include "key/key.h"
#include "make/choose.h"
#include "make/make_delta.h"
#include "store/stats_page.h"
#include "worker/worker_queue.h"

/*
 * A session makes a run itself of so many pages, or of a share of what is before them: a quarter if that is
 * less, a 16th if that is more.  It is of so many at most, so that an INSERT does not take as long as the work of
 * hours that was left undone.
 */
#define INLINE_PAGES			256
#define INLINE_SHARE			4
#define INLINE_LARGE_SHARE		16
#define INLINE_MOST				4096

/* To merge runs takes as long as to make them, and VACUUM does it: so a session does with more than this. */
#define INLINE_RUNS				16

/*
 * Where scans come, so many pages behind the frontier are worth a run.  Where there is a worker, a session waits
 * for so many times as much; and a scan for so long since another has read much, which is remembered for READ_MS.
 */
#define READ_PAGES				RENCODER_GROWTH_READ_PAGES
#define HELP_TIMES				4
#define LATE_MS					RENCODER_LOOK_MS
#define READ_MS					5000

/* A worker for which so much waited leaves the index to sessions for so long. */
#define LATE_WORKER_MS			10000

/* While scans come a session makes a run so often at most, so that a load is not much slower. */
#define HELP_MS					10

/* A scan makes none where a statement_timeout leaves it less. */
#define HELP_LEFT_MS			5000

/* It merges so many pages of deltas with it. */
#define INLINE_MERGED			1024

/* Are there indexes that the worker cannot see before this transaction commits? */
static bool any_new_index = false;

/* Can the worker of the database see the index' pages, and has it a right to? */
static bool
worker_can_see(Relation index)
{
	return !RelationUsesLocalBuffers(index) && !rencoder_new_in_transaction(index);
}

/*
 * The transaction has ended.  When it has committed, the worker can see what is new, among all indexes.
 * Nothing here may raise an error: rencoder_worker_queue_prepare().
 */
static void
ask_after_commit(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PARALLEL_PRE_COMMIT ||
		event == XACT_EVENT_PRE_PREPARE)
		return;
	if (event == XACT_EVENT_COMMIT && any_new_index)
		(void) rencoder_worker_queue_put(InvalidOid, false);
	any_new_index = false;
}

/* Whatever is left of an index that is new in this transaction is for the worker then. */
static void
remember_new_index(Relation index)
{
	static bool registered = false;

	if (any_new_index || RelationUsesLocalBuffers(index) || !rencoder_new_in_transaction(index) ||
		!rencoder_worker_queue_prepare())
		return;
	if (!registered)
		RegisterXactCallback(ask_after_commit, NULL);
	registered = any_new_index = true;
}

static bool
may_make_run(Relation index)
{
	return rencoder_options(index)->autosummarize && !IsInParallelMode() &&
		!rencoder_key_runs_users(RelationGetIndexExpressions(index)) &&
		!rencoder_key_runs_users(RelationGetIndexPredicate(index));
}

/* NULL: scans have not read much lately. */
static RencoderMuchRead *
find_read(Relation index)
{
	RencoderMuchRead *read = rencoder_worker_queue_read(RelationGetRelid(index));

	return read == NULL || read->database != MyDatabaseId || read->index != RelationGetRelid(index) ||
		TimestampDifferenceExceeds(read->last, GetCurrentTimestamp(), READ_MS) ? NULL : read;
}

bool
rencoder_growth_is_read(Relation index)
{
	return find_read(index) != NULL;
}

bool
rencoder_growth_is_late(Relation index)
{
	const RencoderMuchRead *read = find_read(index);

	return read != NULL && !TimestampDifferenceExceeds(read->late, GetCurrentTimestamp(), LATE_WORKER_MS);
}

/* False: sessions are to do without it. */
static bool
ask_worker(Relation index, bool urgent)
{
	return worker_can_see(index) && rencoder_worker_queue_put(RelationGetRelid(index), urgent) &&
		!rencoder_growth_is_late(index);
}

/* Has no session tried just now?  Then this one does. */
static bool
is_time_to_help(Relation index)
{
	RencoderMuchRead *read = find_read(index);
	TimestampTz now = GetCurrentTimestamp();

	if (read == NULL || !TimestampDifferenceExceeds(read->helped, now, HELP_MS))
		return false;
	read->helped = now;
	return true;
}

/* Is there time left before the statement is cancelled, which no help is worth? */
static bool
has_time_to_help(void)
{
	return StatementTimeout == 0 ||
		!TimestampDifferenceExceeds(GetCurrentStatementStartTimestamp(), GetCurrentTimestamp(),
									StatementTimeout - HELP_LEFT_MS);
}

/* A look at what is before a page, which is complete up to there. */
typedef struct RowsLook
{
	Relation	index;
	Relation	heap;
	BlockNumber page;
	bool		asked;			/* a worker, which is there */
	bool		read;			/* scans come */
} RowsLook;

/* What is worth a run. */
static BlockNumber
least_pages(const RowsLook *look, BlockNumber frontier)
{
	BlockNumber pages = Max(Min(INLINE_PAGES, frontier / INLINE_SHARE), frontier / INLINE_LARGE_SHARE);

	if (look->read)
		return READ_PAGES * (look->asked ? HELP_TIMES : 1);
	return Min(Max(pages, RENCODER_WORTH_PAGES), INLINE_MOST);
}

/* Makes a run, and another in the place of some, if these are many. */
static void
make_run_here(void *arg)
{
	const RowsLook *look = (const RowsLook *) arg;
	RencoderCatalog catalog;
	RencoderDemand demand = {.tries = true,.read = look->read};
	RencoderMuchRead *read;
	RencoderMade made;

	rencoder_catalog_copy(look->index, &catalog, NULL, NULL, NULL);
	if (look->page < catalog.frontier ||
		look->page - catalog.frontier < least_pages(look, catalog.frontier))
		return;
	demand.tail_to = Min(look->page, catalog.frontier + INLINE_MOST);
	made = rencoder_choose_step(look->index, look->heap, &demand);
	if (made == RENCODER_MADE_DONE && catalog.n > INLINE_RUNS)
	{
		demand.tail_to = 0;
		(void) rencoder_choose_step(look->index, look->heap, &demand);
	}

	/* It has the lock, and for so long that it does not get on. */
	read = find_read(look->index);
	if (made == RENCODER_MADE_NOTHING && look->asked && read != NULL &&
		look->page - catalog.frontier >= 2 * least_pages(look, catalog.frontier))
		read->late = GetCurrentTimestamp();
}

void
rencoder_growth_note(Relation index, Relation heap, const IndexInfo *indexInfo, BlockNumber page)
{
	RowsLook	look = {.index = index,.heap = heap,.page = page};

	/* ii_Concurrent: the second phase of CREATE INDEX CONCURRENTLY. */
	if (indexInfo->ii_Concurrent || !index->rd_index->indisvalid ||
		!rencoder_options(index)->autosummarize)
		return;
	remember_new_index(index);
	look.asked = ask_worker(index, false);
	if (page % RENCODER_WORTH_PAGES != 0 || !may_make_run(index))
		return;
	look.read = rencoder_growth_is_read(index);
	if (look.read ? !is_time_to_help(index) : look.asked)
		return;
	(void) rencoder_best_effort(make_run_here, &look, index, "make a run");
}

static void
make_delta_here(void *arg)
{
	const RowsLook *look = (const RowsLook *) arg;

	if (!rencoder_meta_try_lock_maintainer(look->index))
		return;
	rencoder_make_delta(look->index, RENCODER_DELTA_PAGES, INLINE_MERGED,
						look->read ? RENCODER_DELTA_READ : RENCODER_DELTA_BUSY);
	rencoder_stats_unlock_maintainer(look->index);
}

/* Closed pages of the pending list that are worth a delta. */
static uint64
least_pending(const RowsLook *look)
{
	return (look->asked ? HELP_TIMES : 1) *
		(look->read ? RENCODER_DELTA_READ_PAGES : RENCODER_DELTA_UNREAD_PAGES);
}

/*
 * No rows are read, so expressions and predicates do not matter.  The worker is asked each time
 * that another page is linked: it may have failed.  Where automatic summarization is off the
 * list must not grow for ever, either: each scan reads it.
 */
void
rencoder_growth_note_pending(Relation index, const IndexInfo *indexInfo, uint64 npages)
{
	RowsLook	look = {.index = index};

	if (npages <= RENCODER_DELTA_PAGES || indexInfo->ii_Concurrent)
		return;
	look.asked = index->rd_index->indisvalid && rencoder_options(index)->autosummarize &&
		ask_worker(index, true);
	look.read = rencoder_growth_is_read(index);
	if (npages >= least_pending(&look) && !IsInParallelMode())
		(void) rencoder_best_effort(make_delta_here, &look, index, "make a delta");
}

/* At the end of a scan there may be no active snapshot, which INV-9 relies on. */
static void
help_scan(void *arg)
{
	RowsLook   *look = (RowsLook *) arg;

	PushActiveSnapshot(GetTransactionSnapshot());
	make_delta_here(look);
	look->heap = table_open(look->index->rd_index->indrelid, NoLock);
	look->page = RelationGetNumberOfBlocks(look->heap);
	if (may_make_run(look->index))
		make_run_here(look);
	table_close(look->heap, NoLock);
	PopActiveSnapshot();
}

/* Notes that scans read much of the index; have they for so long that a worker should have come? */
static bool
note_read(Relation index)
{
	RencoderMuchRead *read = rencoder_worker_queue_read(RelationGetRelid(index));
	TimestampTz now = GetCurrentTimestamp();

	if (read == NULL)
		return true;
	if (!rencoder_growth_is_read(index))
	{
		read->since = now;
		read->late = 0;
	}
	read->database = MyDatabaseId;
	read->index = RelationGetRelid(index);
	read->last = now;
	return TimestampDifferenceExceeds(read->since, now, LATE_MS);
}

void
rencoder_growth_note_scan(Relation index, int64 tail, int64 pending)
{
	RowsLook	look = {.index = index,.asked = true,.read = true};
	bool		late;

	if (RecoveryInProgress())
		return;
	late = note_read(index);
	if (XactReadOnly || IsInParallelMode() || !index->rd_index->indisvalid || !has_time_to_help() ||
		((tail < HELP_TIMES * READ_PAGES || !may_make_run(index)) &&
		 pending <= HELP_TIMES * RENCODER_DELTA_READ_PAGES))
		return;
	if (late || !rencoder_options(index)->autosummarize || !ask_worker(index, true))
		(void) rencoder_best_effort(help_scan, &look, index, "make a run");
}
