/*
 * pending_walk.h
 *		Going over the pages of the pending list, and over the spare ones.
 *
 * For functions that show or check an index.  Inserters link pages meanwhile, and a
 * maintainer whom the caller does not keep out takes some away.  So a fault is one only
 * if the list has not moved since it was looked at.
 */
#ifndef RENCODER_PENDING_WALK_H
#define RENCODER_PENDING_WALK_H

#include "store/pending.h"
#include "store/run_list.h"

typedef struct RencoderPendingWalk
{
	Relation	index;
	BlockNumber from;			/* the page that refers to this one */
	BlockNumber blkno;			/* the page that was read last */
	uint64		number;			/* likewise */
	uint64		last_number;
	RencoderPendingCopy copy;	/* likewise */
	const char *fault;			/* of "blkno" */

	/* Private. */
	BlockNumber next;
	uint64		next_number;
} RencoderPendingWalk;

/* Begins at the oldest page that "runs" knows. */
extern void rencoder_pending_walk_begin(RencoderPendingWalk *walk, Relation index,
										const RencoderRuns *runs);

/*
 * Reads the next page, up to the one that was the tail: false behind it, or if *fault is
 * set.  Locks: the page share, released.
 */
extern bool rencoder_pending_walk_next(RencoderPendingWalk *walk);

/* Have run list, pending list or spare pages moved since the metapage was copied? */
extern bool rencoder_pending_moved(Relation index, const RencoderMetaPageData *metadata);

/*
 * The spare page behind "blkno"; RENCODER_NO_BLOCK at the end, or if *fault is set.  Locks:
 * the page share, released.
 */
extern BlockNumber rencoder_spare_next(Relation index, BlockNumber blkno, const char **fault);

/* How many spare pages there are.  Error if the chain is damaged. */
extern uint64 rencoder_spare_count(Relation index);

#endif							/* RENCODER_PENDING_WALK_H */
