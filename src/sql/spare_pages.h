/*
 * spare_pages.h
 *		The pages that were in the pending list and wait to be used again.
 *
 * For functions that show or check an index.  Inserters take pages meanwhile, and a maintainer
 * whom the caller does not keep out adds some.  So a fault is one only if nothing has moved
 * since the metapage was looked at (rencoder_pending_moved()).
 */
#ifndef RENCODER_SPARE_PAGES_H
#define RENCODER_SPARE_PAGES_H

#include "store/pending.h"

/*
 * The spare page behind "blkno"; RENCODER_NO_BLOCK at the end, or if *fault is set.  Locks:
 * the page share, released.
 */
extern BlockNumber rencoder_spare_next(Relation index, BlockNumber blkno, const char **fault);

/* How many spare pages there are.  Error if the chain is damaged. */
extern uint64 rencoder_spare_count(Relation index);

#endif							/* RENCODER_SPARE_PAGES_H */
