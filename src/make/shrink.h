/*
 * shrink.h
 *		Makes the file of an index shorter.
 */
#ifndef RENCODER_SHRINK_H
#define RENCODER_SHRINK_H

#include "store/catalog.h"

typedef struct RencoderShrinkLook
{
	uint64		ends;			/* the blocks behind all base runs, added up:
								 * less when one is moved to the front */
	uint32		room;			/* pages that are free before the last of them */
	const RencoderRunEntry *larger; /* the largest that stands there and has
									 * no room, or NULL */
} RencoderShrinkLook;

/*
 * The block behind all LIVE deltas, or all LIVE base runs, of the catalog (NULL: as it is now); 0: there are none.
 * Locks: info pages share, one at a time, released.
 */
extern BlockNumber rencoder_shrink_runs_end(Relation index, const RencoderCatalog *catalog, bool deltas);

/*
 * A base run that stands where these would end if nothing between them were free, or behind that, and that has room
 * before its end; NULL: none, or not much is free, for an index to which rows come if "busy".
 */
extern const RencoderRunEntry *rencoder_shrink_base_run(Relation index, const RencoderCatalog *catalog, bool busy,
														RencoderShrinkLook *look);

/* Is much free between base runs and deltas?  *end is the block behind these. */
extern bool rencoder_shrink_deltas(Relation index, const RencoderCatalog *catalog, BlockNumber *end);

/* Is so much behind all runs that it is worth being cut off?  The pending list may be there, if it has entries. */
extern bool rencoder_shrink_is_due(Relation index);

/*
 * Cuts off what is free at the end of the file, if that is worth it, the index can be locked, and the table's
 * vacuum_truncate allows it.  The caller has no content lock, nor the maintainer lock, and RowExclusiveLock on
 * both (INV-21).
 */
extern void rencoder_shrink_file(Relation index, Relation heap);

#endif							/* RENCODER_SHRINK_H */
