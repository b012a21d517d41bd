/*
 * rebuild.h
 *		Rebuilding a group of an index in use with another configuration.
 */
#ifndef RENCODER_REBUILD_H
#define RENCODER_REBUILD_H

#include "plan/design.h"
#include "table/range_scan.h"

/*
 * What is to become of the columns of a group.  The scan is for rencoder_rebuild_collect() and
 * rencoder_rebuild_group().
 */
typedef struct RencoderRebuild
{
	RencoderGroup group;
	RencoderRangeScan scan;		/* coders: by which keys are to be made;
								 * collector: of 128 slots */

	/* For each column: is it to be rebuilt, and how? */
	bool		wanted[INDEX_MAX_KEYS];
	RencoderConfig config[INDEX_MAX_KEYS];
	double		predicted_fpr[INDEX_MAX_KEYS];
	uint64		stamp[INDEX_MAX_KEYS];	/* rencoder_designer_stamp() */
} RencoderRebuild;

/*
 * Collects the keys of all ranges of the group, any version visible.  Returns
 * the trust horizon of what was seen.
 */
extern uint64 rencoder_rebuild_collect(RencoderRebuild *rebuild);

/*
 * Rebuilds the columns that are wanted, from the keys that were collected and
 * another look at the table.  Inserts and scans go on meanwhile.
 *
 * The caller has the maintainer lock, at least RowExclusiveLock on the heap,
 * and no content lock.  WAL: the new pages whole; header (next); what came
 * meanwhile; then for each column the switch: metapage, directory, header,
 * free list in one record.
 */
extern void rencoder_rebuild_group(RencoderRebuild *rebuild);

/*
 * Gives back what a crash left of a rebuilding that was not finished.  Locks as
 * above.
 */
extern void rencoder_rebuild_forget(const RencoderGroup *group);

/*
 * Takes away all summaries and the storage of a group that is not full yet or names a run, which
 * it names no more, and notes the configurations of the columns that are wanted, so that it can
 * be summarized anew.  Until it is, its ranges are visited by all scans.  Locks as above.  WAL:
 * metapage, directory, header; then for each column directory, header and free list.
 */
extern void rencoder_rebuild_reset(const RencoderRebuild *rebuild);

#endif							/* RENCODER_REBUILD_H */
