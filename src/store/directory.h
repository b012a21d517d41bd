/*
 * directory.h
 *		The directory: one entry per group, found by arithmetic.
 *
 *		metapage.direct[] --------------------> directory page 0, 1, ..
 *		metapage.map[] --> directory map -----> directory page 256, ..
 *
 * Directory page p holds the entries of the groups p * entries_per_page and
 * following; entry i describes the block ranges 128 i .. 128 i + 127.  A
 * directory page, once there, never moves.
 */
#ifndef RENCODER_DIRECTORY_H
#define RENCODER_DIRECTORY_H

#include "store/entry.h"
#include "store/meta.h"

/* The entry of "group" in a directory page's payload. */
static inline RencoderEntry
rencoder_directory_entry(char *payload, const RencoderMeta *meta, uint32 group)
{
	return (RencoderEntry) (payload +
							(group % meta->entries_per_page) * meta->entry_size);
}

/*
 * Block of the directory page that holds the entry of "group", or
 * RENCODER_NO_BLOCK.  With "metadata" (a copy), the metapage is not read.
 * Locks: metapage or map page share, released.  *npages (if not NULL) is
 * increased by the pages read.
 */
extern BlockNumber rencoder_directory_find(Relation index,
										   const RencoderMeta *meta,
										   const RencoderMetaPageData *metadata,
										   uint32 group, int64 *npages);

/*
 * The same, and a copy of the entry, of meta->entry_size, which is zero if there is no page.  If that
 * is not a directory page: an error, or, unless "fault" is NULL, as if there were none.  Locks: then
 * the page share, released.
 */
extern BlockNumber rencoder_directory_read(Relation index, const RencoderMeta *meta,
										   const RencoderMetaPageData *metadata, uint32 group,
										   const char **fault, RencoderEntry copy);

/*
 * As find, making the directory page (and map) if it is not there.  Maintainer
 * or build only.  WAL: the new page, then its link.
 */
extern BlockNumber rencoder_directory_make(Relation index,
										   const RencoderMeta *meta,
										   uint32 group, bool log);

/*
 * Writes the entry of a new group, and makes its directory page if it is not there.  Maintainer or
 * build only.  Locks: directory page exclusive, released.  WAL: what making takes, then the entry.
 */
extern void rencoder_directory_put(Relation index, const RencoderMeta *meta, uint32 group,
								   const RencoderEntryData *entry, bool log);

/*
 * One more than the number of the last directory page that there is.  "metadata" is a copy of the
 * metapage.  Locks: map pages share, one at a time, released.
 */
extern uint64 rencoder_directory_count_pages(Relation index, const RencoderMetaPageData *metadata);

#endif							/* RENCODER_DIRECTORY_H */
