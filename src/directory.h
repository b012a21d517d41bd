/*
 * directory.h
 *		The directory: one entry per group, found by arithmetic.
 *
 *		metapage.direct[] --------------------> directory page 0, 1, ..
 *		metapage.map[] --> directory map -----> directory page 256, ..
 *
 * Directory page p holds the entries of the groups p * entries_per_page and
 * following; entry i describes the block ranges 128 i .. 128 i + 127.  A
 * directory page, once there, never moves.  An entry:
 *
 *		 0        4       6       8            16        24
 *		 | header | flags | width | generation | horizon | column 0 | column 1 ..
 *
 * and per column min, max, the configuration and the matrix extent: all that
 * a scan needs to probe a sealed group without reading its header.
 */
#ifndef RENCODER_DIRECTORY_H
#define RENCODER_DIRECTORY_H

#include "meta.h"
#include "renc_shape.h"

/* All 128 ranges are summarized and the storage is a matrix. */
#define RENCODER_ENTRY_SEALED	0x0001
/* Some range of some column is marked "always": read the header. */
#define RENCODER_ENTRY_ALWAYS	0x0002

/* How the keys of a column of a group are stored. */
typedef struct RencoderConfig
{
	uint8		shape[RENC_SHAPE_PACKED_SIZE];	/* filters: packed shape */
	uint32		nwindows;		/* filters: windows of each */
	uint32		capacity;		/* distinct keys a range that it is made for */
	uint8		format;			/* RENCODER_FORMAT_xxx, 0 = none yet */
	uint8		unused[3];		/* zero */
	uint32		coder;			/* generation of the column's key coder */
} RencoderConfig;

StaticAssertDecl(sizeof(RencoderConfig) == 32, "RencoderConfig is on disk");

typedef struct RencoderEntryColumn
{
	uint64		min;			/* bounds of all keys; min > max: no key */
	uint64		max;
	RencoderConfig config;
	RencoderExtent matrix;
} RencoderEntryColumn;

StaticAssertDecl(sizeof(RencoderEntryColumn) == 56, "RencoderEntryColumn is on disk");

typedef struct RencoderEntryData
{
	BlockNumber header;			/* first header page, or RENCODER_NO_BLOCK */
	uint16		flags;			/* RENCODER_ENTRY_xxx */
	uint16		width;			/* ranges of the group: 128 */
	uint64		generation;		/* metapage generation of the last removal */
	uint64		horizon;		/* sealed: greatest trust horizon */
	RencoderEntryColumn column[FLEXIBLE_ARRAY_MEMBER];
} RencoderEntryData;

typedef RencoderEntryData *RencoderEntry;

#define RencoderEntrySize(natts) \
	(offsetof(RencoderEntryData, column) + (natts) * sizeof(RencoderEntryColumn))

/* The entry of "group" in a directory page's payload. */
static inline RencoderEntry
rencoder_directory_entry(char *payload, const RencoderMeta *meta, uint32 group)
{
	return (RencoderEntry) (payload +
							(group % meta->entries_per_page) * meta->entry_size);
}

/* The most groups an index of this many columns can have. */
extern uint64 rencoder_directory_max_groups(const RencoderMeta *meta);

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
 * As find, making the directory page (and map) if it is not there.  Maintainer
 * or build only.  WAL: the new page, then its link.
 */
extern BlockNumber rencoder_directory_make(Relation index,
										   const RencoderMeta *meta,
										   uint32 group, bool log);

#endif							/* RENCODER_DIRECTORY_H */
