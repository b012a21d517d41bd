/*
 * entry.h
 *		On-disk form of a group's directory entry.
 *
 *		 0        4       6       8            16        24
 *		 | header | flags | width | epoch | horizon | column 0 | column 1 ..
 *
 * and per column min, max, the configuration and the matrix extent: all that
 * a scan needs to probe a sealed group without reading its header.
 */
#ifndef RENCODER_ENTRY_H
#define RENCODER_ENTRY_H

#include "filter/renc_shape.h"
#include "store/page.h"

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
	uint64		epoch;			/* metapage epoch of the last removal */
	uint64		horizon;		/* sealed: greatest trust horizon */
	RencoderEntryColumn column[FLEXIBLE_ARRAY_MEMBER];
} RencoderEntryData;

typedef RencoderEntryData *RencoderEntry;

#define RencoderEntrySize(natts) \
	(offsetof(RencoderEntryData, column) + (natts) * sizeof(RencoderEntryColumn))

#endif							/* RENCODER_ENTRY_H */
