/*
 * group_copy.h
 *		Reading all that is known of a group at one moment, for functions that
 *		show or check it.
 */
#ifndef RENCODER_GROUP_COPY_H
#define RENCODER_GROUP_COPY_H

#include "store/group.h"

typedef struct RencoderGroupCopy
{
	uint32		group;
	BlockNumber directory;		/* block of the directory page */
	RencoderEntry entry;
	RencoderHeader *header;		/* one for each column */
} RencoderGroupCopy;

/* Room for a copy, palloc'd. */
extern RencoderGroupCopy *rencoder_group_copy_create(const RencoderMeta *meta);

/*
 * Copies directory entry and header pages of a group, all locked together.
 * False if the group has no header; if it has a directory page, the entry is
 * copied even so, otherwise "directory" is RENCODER_NO_BLOCK.
 *
 * Locks: directory and header pages share, released.
 */
extern bool rencoder_group_copy_read(Relation index, const RencoderMeta *meta,
									 uint32 group, RencoderGroupCopy *copy);

/*
 * Copies the header pages of a group whose entry was copied, all locked together; returns that of the
 * first, which is still locked: until it is not, the extents in the copy stay.
 */
extern Buffer rencoder_group_copy_headers(Relation index, const RencoderMeta *meta,
										  RencoderGroupCopy *copy);

/*
 * One more than the last group that may exist: those of a table of
 * "table_ranges" ranges, and those that were summarized before the table
 * became shorter.  "metadata" is a copy of the metapage.
 */
extern uint32 rencoder_group_copy_count_groups(Relation index, const RencoderMeta *meta,
											   const RencoderMetaPageData *metadata,
											   uint64 table_ranges);

#endif							/* RENCODER_GROUP_COPY_H */
