/*
 * entry.h
 *		On-disk form of a group's directory entry.
 *
 *		 0        4       8       16        24    32    36       40
 *		 | header | flags | epoch | horizon | cut | run | placed | column 0 | ..
 *
 *		a column
 *		 0     8     16       48
 *		 | min | max | config | matrix |
 *
 *		a configuration
 *		 0              16         20         24      28
 *		 | packed shape | nwindows | capacity | coder | width |
 *
 * So an entry has all that a scan needs to ask a sealed or covered group without reading its
 * header, or one that grows, as long as its ranges are noted.
 */
#ifndef RENCODER_ENTRY_H
#define RENCODER_ENTRY_H

#include "filter/renc_shape.h"
#include "store/page.h"

/* All 128 ranges are summarized and the storage is a matrix. */
#define RENCODER_ENTRY_SEALED	0x0001
/* Some range of some column always matches, whatever its matrix says: read the header. */
#define RENCODER_ENTRY_ALWAYS	0x0002
/* All 128 ranges are summarized, and the run has their keys. */
#define RENCODER_ENTRY_COVERED	0x0004

/* How the keys of a column of a group are stored. */
typedef struct RencoderConfig
{
	uint8		shape[RENC_SHAPE_PACKED_SIZE];
	uint32		nwindows;		/* 0: nothing is chosen yet */
	uint32		capacity;		/* distinct keys a range that they are made
								 * for */
	uint32		coder;			/* generation of the column's key coder */
	uint32		width;			/* of the matrix: ranges / 8 that it has room
								 * for; 1, 2, 4, 8 or 16 */
} RencoderConfig;

StaticAssertDecl(sizeof(RencoderConfig) == 32, "RencoderConfig is on disk");

/* Does it say how?  If not, the coder alone counts. */
static inline bool
rencoder_is_configured(const RencoderConfig *config)
{
	return config->nwindows != 0;
}

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
	uint32		flags;			/* RENCODER_ENTRY_xxx */
	uint64		epoch;			/* metapage epoch of the last removal */
	uint64		horizon;		/* sealed, covered, or of those that are
								 * "placed": greatest trust horizon */
	uint64		cut;			/* the least of the header, if a range is
								 * summarized */
	uint32		run;			/* the base run of the group, 0: none */
	uint32		placed;			/* the first ranges, if all others are
								 * unsummarized: runs, deltas and pending list
								 * have all their keys; 0: ask the header */
	RencoderEntryColumn column[FLEXIBLE_ARRAY_MEMBER];
} RencoderEntryData;

StaticAssertDecl(offsetof(RencoderEntryData, column) == 40, "RencoderEntryData is on disk");

typedef RencoderEntryData *RencoderEntry;

#define RencoderEntrySize(natts) \
	(offsetof(RencoderEntryData, column) + (natts) * sizeof(RencoderEntryColumn))

#endif							/* RENCODER_ENTRY_H */
