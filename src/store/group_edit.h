/*
 * group_edit.h
 *		Changing what is said of a group: headers, directory entry, epoch, free list.
 *
 * An edit locks pages exclusively in the order of INV-8, hands out what is to be changed, logs all
 * of it in one record and unlocks in reverse.  Its scope says where the locks begin:
 *
 *		RENCODER_EDIT_EPOCH     metapage
 *		                           |
 *		RENCODER_EDIT_ENTRY     (metapage, if the group is in a span: covered_spans.h)
 *		                        directory page
 *		                           |
 *		RENCODER_EDIT_HEADERS   first header page
 *		                           |
 *		                        header page of the column
 *		                           :      (here the caller may have a format lock storage)
 *		                        free list: with the first extent that is released
 *
 * The caller looks at edit.first and edit.header, which are as all see them, and decides.  If it
 * asks for nothing to change, nothing is logged.  Else the record names the metapage and the
 * directory page, as far as the scope has them, and what it asks for.
 *
 * A group whose entry is changed leaves its span in the same record (INV-17).
 *
 * What takes something away that a scan may trust starts a new epoch in the same record (INV-7).
 * What makes ranges "summarized" comes after the records of all that it vouches for (INV-4).
 *
 *		rencoder_group_edit_begin(&edit, &group, col, RENCODER_EDIT_EPOCH, 1);
 *		header = rencoder_group_edit_header(&edit);
 *		rencoder_group_edit_release_storage(&edit);
 *		rencoder_group_edit_new_epoch(&edit);
 *		rencoder_group_edit_finish(&edit);
 */
#ifndef RENCODER_GROUP_EDIT_H
#define RENCODER_GROUP_EDIT_H

#include "store/group.h"

typedef enum RencoderEditScope
{
	RENCODER_EDIT_HEADERS,
	RENCODER_EDIT_ENTRY,
	RENCODER_EDIT_EPOCH
} RencoderEditScope;

typedef struct RencoderGroupEdit
{
	const RencoderGroup *group;
	int			col;

	/* To look at, not to change. */
	const RencoderHeaderData *first;	/* the group's first header */
	const RencoderHeaderData *header;	/* the column's, maybe the same */

	/* Private. */
	RencoderWal *wal;			/* NULL: no page is changed yet */
	Buffer		meta_buffer;
	Buffer		directory_buffer;
	Buffer		first_buffer;
	Buffer		column_buffer;
	Buffer		free_buffer;
	bool		free_locked;
} RencoderGroupEdit;

/*
 * Pins and locks the pages of the scope, and prepares to release up to "nextents" extents.  The
 * group has a header; its blocks, as far as the scope goes, must be known.  Only a maintainer may
 * release, or begin with RENCODER_EDIT_ENTRY; others who change an entry begin an epoch (INV-17).  Error if a page is another one than it
 * should be.  Locks: none of these pages on entry.  WAL: none, but for a new page of the free list
 * where no room is left.
 */
extern void rencoder_group_edit_begin(RencoderGroupEdit *edit, const RencoderGroup *group, int col,
									  RencoderEditScope scope, uint32 nextents);

/*
 * What is to be changed, as it is to be after the edit.  The page is in the record from now on.
 * The entry wants RENCODER_EDIT_ENTRY at least.
 */
extern RencoderEntry rencoder_group_edit_entry(RencoderGroupEdit *edit);
extern RencoderHeader rencoder_group_edit_first(RencoderGroupEdit *edit);
extern RencoderHeader rencoder_group_edit_header(RencoderGroupEdit *edit);

/* Gives the matrix of the column, if it has one, to the free list, and notes it in the entry. */
extern void rencoder_group_edit_release_storage(RencoderGroupEdit *edit);

/* Starts a new epoch, and notes it in the group's entry.  Wants RENCODER_EDIT_EPOCH. */
extern void rencoder_group_edit_new_epoch(RencoderGroupEdit *edit);

/* Logs what was changed, in one record, and unlocks. */
extern void rencoder_group_edit_finish(RencoderGroupEdit *edit);

/*
 * Raises the trust horizon of a group's ranges to "horizon", where it is lower (INV-9).  The group
 * has a header, and the caller the maintainer lock.  WAL: one record of directory page and header.
 */
extern void rencoder_group_edit_raise_horizon(const RencoderGroup *group, uint64 horizon);

#endif							/* RENCODER_GROUP_EDIT_H */
