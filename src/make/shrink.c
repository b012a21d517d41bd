/*
 * shrink.c
 *		Makes the file of an index shorter.
 *
 * New runs are written to the front of what is free.  So where much is free, the run at the end of the file is
 * made again (choose.c), until the end is free.  Then the pending list, if it has no entry, is given up, since
 * its pages may be anywhere, and the file is cut off, as VACUUM does with that of a table: with a lock that
 * nobody waits for (INV-21).
 */
#include "make/shrink.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"

#include "base/compat.h"
#include "store/pending.h"
#include "store/run_pages.h"
#include "store/stats_page.h"

/*
 * Base runs are moved if what is free before their end is so much of it, and so many pages: more than a piece that
 * was read again leaves (look.h), which the next piece takes.  While rows come, only what compaction leaves is: else
 * pieces that are read again soon take it.
 */
#define HOLES_PART		0.25
#define HOLES_PART_BUSY	0.4
#define LEAST_FREE		8

/* Deltas, if so much of the file is free between base runs and them. */
#define GAP_PART		0.2

/* The file is cut off, if so much is free at its end. */
#define FREE_PART		(1 / 16.0)

/* The lock is tried for so often. */
#define LOCK_TRIES		10
#define LOCK_PAUSE_US	20000L

/* The block behind the last page of a run, by its info page, or, if that is not there, behind that. */
static BlockNumber
find_run_end(Relation index, const RencoderRunEntry *entry)
{
	const char *fault;
	RencoderRunInfo info = rencoder_run_read_info(index, entry, &fault);
	BlockNumber end = entry->info + 1;

	for (int i = 0; info != NULL && i < info->nextents; i++)
		end = Max(end, rencoder_run_extents(info)[i].start + rencoder_run_extents(info)[i].npages);
	return end;
}

BlockNumber
rencoder_shrink_runs_end(Relation index, const RencoderCatalog *catalog, bool deltas)
{
	RencoderCatalog *now = NULL;
	BlockNumber end = 0;

	if (catalog == NULL)
	{
		now = palloc(sizeof(RencoderCatalog));
		rencoder_catalog_copy(index, now, NULL, NULL, NULL);
		catalog = now;
	}
	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *run = &catalog->entry[i];

		if (run->state == RENCODER_RUN_LIVE && rencoder_run_covers(run) != deltas)
			end = Max(end, find_run_end(index, run));
	}
	if (now != NULL)
		pfree(now);
	return end;
}

static bool
is_much(double npages, BlockNumber nblocks, double part)
{
	return npages >= LEAST_FREE && npages >= nblocks * part;
}

/*
 * The last of the large ones comes first: where a small one went to the front, a large one behind it might not
 * fit.
 */
const RencoderRunEntry *
rencoder_shrink_base_run(Relation index, const RencoderCatalog *catalog, bool busy, RencoderShrinkLook *look)
{
	BlockNumber last = rencoder_shrink_runs_end(index, catalog, false);
	BlockNumber holes = (BlockNumber) rencoder_space_count_free_pages(index, last, NULL);
	const RencoderRunEntry *found = NULL;
	BlockNumber found_end = 0;

	look->ends = 0;
	look->larger = NULL;
	look->room = holes;
	for (uint32 i = 0; i < catalog->n; i++)
	{
		const RencoderRunEntry *run = &catalog->entry[i];
		BlockNumber end;

		if (run->state != RENCODER_RUN_LIVE || !rencoder_run_covers(run))
			continue;
		end = find_run_end(index, run);
		look->ends += end;
		if (!is_much(holes, last, busy ? HOLES_PART_BUSY : HOLES_PART) || end <= last - holes)
			continue;
		if (rencoder_space_count_free_pages(index, end, NULL) < run->npages)
		{
			if (look->larger == NULL || run->npages > look->larger->npages)
				look->larger = run;
			continue;
		}
		if (found == NULL || (end > found_end ? run->npages * 2 >= found->npages :
							  run->npages > found->npages * 2))
		{
			found = run;
			found_end = end;
		}
	}
	return found;
}

bool
rencoder_shrink_deltas(Relation index, const RencoderCatalog *catalog, BlockNumber *end)
{
	BlockNumber from = rencoder_shrink_runs_end(index, catalog, false);

	*end = rencoder_shrink_runs_end(index, catalog, true);
	return *end > from && is_much(rencoder_space_count_free_pages(index, *end, NULL) -
								  rencoder_space_count_free_pages(index, from, NULL),
								  RelationGetNumberOfBlocks(index), GAP_PART);
}

bool
rencoder_shrink_is_due(Relation index)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	BlockNumber end = Max(rencoder_shrink_runs_end(index, NULL, true),
						  rencoder_shrink_runs_end(index, NULL, false));

	return is_much(nblocks - end, nblocks, FREE_PART);
}

/*
 * Not if it is known that the pending list, or a page that is never moved, will stand in the way.  This spares the
 * lock; what may be given up is looked for under it.
 */
static bool
may_be_cut(Relation index)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);

	return rencoder_shrink_is_due(index) &&
		(rencoder_pending_can_be_given_up(index) ||
		 is_much(nblocks - rencoder_space_used_end(index), nblocks, FREE_PART));
}

/* Nobody is waited for: who plans a query of the table has locked all its indexes until he commits. */
static bool
lock_to_truncate(Relation index)
{
	for (int i = 0; i < LOCK_TRIES; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ConditionalLockRelation(index, AccessExclusiveLock))
			return true;
		pg_usleep(LOCK_PAUSE_US);
	}
	return false;
}

/* A lock of this kind is logged, for which a transaction needs an id: there is none in parallel mode. */
void
rencoder_shrink_file(Relation index, Relation heap)
{
	BlockNumber nblocks;
	BlockNumber end;

	if (IsInParallelMode() || !rencoder_may_truncate(heap) || !may_be_cut(index) ||
		!lock_to_truncate(index))
		return;
	rencoder_meta_lock_maintainer(index);
	rencoder_pending_give_up(index);
	nblocks = RelationGetNumberOfBlocks(index);
	end = rencoder_space_used_end(index);
	if (is_much(nblocks - end, nblocks, FREE_PART))
		rencoder_space_truncate(index, end);
	rencoder_stats_unlock_maintainer(index);
	UnlockRelation(index, AccessExclusiveLock);
}
