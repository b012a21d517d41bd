/*
 * rebuild.h
 *		Making the filters of a group of an index in use anew.
 */
#ifndef RENCODER_REBUILD_H
#define RENCODER_REBUILD_H

#include "plan/filter_design.h"
#include "store/group.h"
#include "table/range_scan.h"

typedef struct RencoderRebuild
{
	RencoderGroup group;
	RencoderRangeScan scan;		/* coders: by which keys are to be made;
								 * collector: of 128 slots */
	renc_mask	ranges;			/* that were read: all summarized ones */
	uint64		cut;
	uint64		horizon;

	/* What each column is to be. */
	RencoderConfig config[INDEX_MAX_KEYS];
	double		predicted_fpr[INDEX_MAX_KEYS];
	uint64		stamp[INDEX_MAX_KEYS];	/* rencoder_designer_stamp() */
} RencoderRebuild;

/*
 * Reads the keys of the summarized ranges of a group, any version visible, for rencoder_rebuild()
 * or rencoder_rebuild_give_up(), one of which must follow.  The caller has the maintainer lock
 * until then, at least RowExclusiveLock on the heap, and no content lock.  WAL: as
 * rencoder_reading_begin().
 */
extern void rencoder_rebuild_collect(RencoderRebuild *rebuild);

/*
 * Makes matrices of what was read, for all columns.  Inserts and scans go on meanwhile.  WAL: the
 * new pages whole; then for each column the switch: metapage, directory, header, free list in one
 * record.
 */
extern void rencoder_rebuild(RencoderRebuild *rebuild);

/* Leaves the group as it is.  WAL: as rencoder_reading_give_up(). */
extern void rencoder_rebuild_give_up(const RencoderRebuild *rebuild);

#endif							/* RENCODER_REBUILD_H */
