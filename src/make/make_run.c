/*
 * make_run.c
 *		Reading pages of a table in use for a base run: the one verb of maintenance.
 *
 * The order of what is done here is what INV-3 relies on: the tail of the pending list was closed, whose
 * number is the cut; the catalog says that rows of these pages are entries from now on; only then the size
 * of the table is asked for, and the table read.  So a row was in place before the reading, or its inserter
 * looks at the catalog later, and leaves an entry behind the cut.
 */
#include "make/make_run.h"

#include "catalog/index.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "base/subtransaction.h"
#include "make/look.h"
#include "make/make_delta.h"
#include "make/make_matrices.h"
#include "store/stats_page.h"
#include "table/heap_read.h"

/* Pages that are read at once, before others are looked after. */
#define PIECE	64

/* So many behind the frontier become a run meanwhile, where scans read them, and so many at most. */
#define MEANWHILE		16
#define MEANWHILE_MOST	4096

static void
load_newest_coders(RencoderReadRows *rows)
{
	for (int col = 0; col < rencoder_key_columns(rows->index); col++)
		rencoder_columns_load_coders(rows->index, col,
									 rencoder_coder_newest_generation(rows->index, col), &rows->coders);
}

static int
count_relation_locks(Relation rel)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, rel->rd_lockInfo.lockRelId.dbId, rel->rd_lockInfo.lockRelId.relId);
	return LockWaiterCount(&tag);
}

/*
 * How many locks on table and index were asked for, granted or not, that are in the lock table: those of
 * readers and writers are not, until somebody wants one that conflicts with theirs.
 */
static int
count_lock_requests(Relation heap, Relation index)
{
	return count_relation_locks(heap) + count_relation_locks(index);
}

bool
rencoder_may_stay_in_database(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	if (LockAcquire(&tag, RowExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	LockRelease(&tag, RowExclusiveLock, true);
	return true;
}

/* What is asked for, and what has become of it. */
typedef struct Order
{
	RencoderReadRows rows;
	BlockNumber from;
	BlockNumber to;
	uint64		cut;
	bool		gives_way;
	bool		read;			/* scans come */
	uint32		keep;			/* the run that is made besides, or 0 */
	uint32		number;			/* of the run that is made */
	int			requests;		/* of locks, when it began */
	int64		scans;			/* that were counted then */
	RencoderMade result;
} Order;

static RencoderMade make_run_of_pages(Order *order);

static Order *
make_order(Relation index, Relation heap, BlockNumber from, BlockNumber to, uint64 cut)
{
	Order	   *order = palloc0(sizeof(Order));

	order->rows.heap = heap;
	order->rows.index = index;
	order->rows.indexInfo = BuildIndexInfo(index);
	order->rows.indexInfo->ii_Concurrent = false;	/* any version visible,
													 * not a snapshot */
	order->rows.in_use = true;
	order->from = from;
	order->to = to;
	order->cut = cut;
	return order;
}

static int64
count_scans(Relation index)
{
	RencoderStats stats;

	return rencoder_stats_read(index, &stats) ? stats.count[RENCODER_STATS_SCANS] : 0;
}

/*
 * Makes a run of what has come behind the frontier meanwhile, if scans read it: nobody else can.  If the outer run is
 * of the tail itself, that would be read twice.  The inner one has a greater rank.  The last page of the pending list
 * that is closed is its cut, since the linker's lock must not be asked for: entries on the one that is open are needed
 * less long than they stay.
 */
static void
make_tail_meanwhile(const Order *outer)
{
	Relation	index = outer->rows.index;
	RencoderCatalog *catalog = palloc(sizeof(RencoderCatalog));
	BlockNumber nblocks = RelationGetNumberOfBlocks(outer->rows.heap);

	rencoder_catalog_copy(index, catalog, NULL, NULL, NULL);
	if (outer->to <= catalog->frontier && nblocks >= MEANWHILE && nblocks - MEANWHILE >= catalog->frontier &&
		catalog->n < RENCODER_MOST_RUNS && (outer->read || count_scans(index) > outer->scans))
	{
		Order	   *order = make_order(index, outer->rows.heap, catalog->frontier,
									   (BlockNumber) Min(nblocks, (uint64) catalog->frontier + MEANWHILE_MOST),
									   catalog->pending.last_number -
									   (catalog->pending.last == RENCODER_NO_BLOCK ? 0 : 1));

		order->keep = outer->number;
		(void) make_run_of_pages(order);
	}
	pfree(catalog);
}

/* Between two parts of a reading: looks after what comes meanwhile; false if the reading is to give way. */
static bool
pause_reading(void *arg)
{
	const Order *order = (const Order *) arg;
	MemoryContext context;
	MemoryContext old;

	if (order->keep != 0)
		return true;
	context = AllocSetContextCreate(CurrentMemoryContext, "rencoder meanwhile", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	rencoder_make_delta_meanwhile(order->rows.index, order->cut, order->number);
	make_tail_meanwhile(order);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return !order->gives_way ||
		(count_lock_requests(order->rows.heap, order->rows.index) <= order->requests &&
		 rencoder_may_stay_in_database());
}

/* What is written already does not give way. */
static void
pause_writing(void *arg)
{
	(void) pause_reading(arg);
}

/* Reads the pages [from, end); false if it gives way: then there are no sorters. */
static bool
read_pages(RencoderReadRows *rows, BlockNumber from, BlockNumber end, Order *order)
{
	uint64		block = from;

	rows->places = rencoder_heap_choose_places(rows->heap, rows->index, from, end);
	rencoder_read_rows_begin(rows, rencoder_options_sort_memory(), end, NULL, 0);
	while (block < end)
	{
		rencoder_read_rows(rows, (BlockNumber) block, (BlockNumber) Min(end - block, PIECE));
		block += PIECE;
		if (block < end && !pause_reading(order))
		{
			rencoder_read_rows_give_up(rows);
			return false;
		}
	}
	return true;
}

/* Reads and writes the run; false if it gives way. */
static bool
write_run(Order *order, RencoderRunWriter *writer, BlockNumber nblocks)
{
	RencoderReadRows *rows = &order->rows;
	BlockNumber from = order->from;
	BlockNumber end = Max(Min(order->to, nblocks), from);

	if (!rencoder_options_use_runs(rows->index))
		return rencoder_make_matrices(rows, writer, from, order->to, end, pause_reading, order);
	if (!read_pages(rows, from, end, order))
		return false;
	rows->pause = pause_writing;
	rows->pause_arg = order;
	rencoder_read_rows_write(rows, writer, from, end - from, nblocks, false);
	return true;
}

static RencoderMade
make_run_of_pages(Order *order)
{
	RencoderReadRows *rows = &order->rows;
	Relation	index = rows->index;
	RencoderRunWriter *writer =
		rencoder_run_writer_begin(index, rencoder_options_use_runs(index) ? RENCODER_RUN_BASE :
								  RENCODER_RUN_MATRIX, order->from, order->to, order->cut, true);
	RencoderNewRun made;
	BlockNumber nblocks;

	if (writer == NULL)
		return RENCODER_MADE_NOTHING;
	nblocks = RelationGetNumberOfBlocks(rows->heap);
	load_newest_coders(rows);
	order->number = rencoder_run_writer_number(writer);
	order->requests = count_lock_requests(rows->heap, index);
	order->scans = count_scans(index);
	if (!write_run(order, writer, nblocks))
	{
		rencoder_catalog_lower(index, MaxBlockNumber);
		rencoder_catalog_free(index, 0);
		return RENCODER_MADE_WAITED_FOR;
	}
	rencoder_run_writer_finish(writer, &made);
	made.horizon = rows->horizon;
	made.outside = rows->outside;
	rencoder_catalog_publish(index, &made, 1, 0, NULL, 0, true);
	rencoder_catalog_free(index, order->keep);
	return RENCODER_MADE_DONE;
}

static void
fill_order(void *arg)
{
	Order	   *order = (Order *) arg;

	order->result = make_run_of_pages(order);
}

/*
 * If it fails, the pages behind the frontier want no entries any more: these need space, for want of which
 * the reading may have failed, and an INSERT would.  A subtransaction lets go of all that the
 * reading held.  In parallel mode there is none, and after FATAL nobody to do it: the next maintainer does.
 */
RencoderMade
rencoder_make_run(Relation index, Relation heap, BlockNumber from, BlockNumber to, uint64 cut,
				  bool gives_way, bool read)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "rencoder make run",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Order	   *order = make_order(index, heap, from, to, cut);
	ErrorData  *error = NULL;
	RencoderMade result;

	order->gives_way = gives_way;
	order->read = read;
	if (rencoder_may_begin_subtransaction())
		error = rencoder_subtransaction(fill_order, order);
	else
		fill_order(order);
	if (error != NULL)
	{
		rencoder_catalog_lower(index, MaxBlockNumber);
		ReThrowError(error);
	}
	result = order->result;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return result;
}
