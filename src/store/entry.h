/*
 * entry.h
 *		On-disk form of a group's directory entry.
 *
 *		 0        4       6         8       16        24    32    36       40
 *		 | header | flags | nranges | epoch | horizon | cut | run | unused | column 0 | ..
 *
 *		a column
 *		 0     8     16       48
 *		 | min | max | config | matrix |
 *
 *		a configuration
 *		 0        1        4       8
 *		 | format | unused | coder | what the format wants to know |
 *
 * So an entry has all that a scan needs to probe a sealed group without reading
 * its header.
 */
#ifndef RENCODER_ENTRY_H
#define RENCODER_ENTRY_H

#include "store/page.h"

/* All 128 ranges are summarized and the storage is a matrix. */
#define RENCODER_ENTRY_SEALED	0x0001
/* Some range of some column is marked "always": read the header. */
#define RENCODER_ENTRY_ALWAYS	0x0002
/* All 128 ranges are summarized, and the run has their keys. */
#define RENCODER_ENTRY_COVERED	0x0004

/* How keys are stored: the formats that format/ has. */
#define RENCODER_FORMAT_NONE	0	/* not at all yet */
#define RENCODER_FORMAT_FILTER	1	/* bit-sliced range filters */
#define RENCODER_FORMAT_DICT	2	/* exact dictionary: key -> ranges */
#define RENCODER_FORMATS			3	/* numbers in use */

/* Words of a configuration that are the format's own. */
#define RENCODER_CONFIG_WORDS	3

/* How the keys of a column of a group are stored. */
typedef struct RencoderConfig
{
	uint8		format;			/* RENCODER_FORMAT_xxx */
	uint8		unused[3];		/* zero */
	uint32		coder;			/* generation of the column's key coder */
	uint64		own[RENCODER_CONFIG_WORDS]; /* what the format wants to know;
											 * plan/ fills it in */
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
	uint16		nranges;		/* of the group: 128 */
	uint64		epoch;			/* metapage epoch of the last removal */
	uint64		horizon;		/* sealed or covered: greatest trust horizon */
	uint64		cut;			/* pending pages up to it are in the run */
	uint32		run;			/* the base run of the group, 0: none */
	uint32		unused;			/* zero */
	RencoderEntryColumn column[FLEXIBLE_ARRAY_MEMBER];
} RencoderEntryData;

StaticAssertDecl(offsetof(RencoderEntryData, column) == 40, "RencoderEntryData is on disk");

typedef RencoderEntryData *RencoderEntry;

#define RencoderEntrySize(natts) \
	(offsetof(RencoderEntryData, column) + (natts) * sizeof(RencoderEntryColumn))

#endif							/* RENCODER_ENTRY_H */
