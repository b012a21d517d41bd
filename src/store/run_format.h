/*
 * run_format.h
 *		On-disk form of runs.
 *
 * A run has a tree (run/renc_run.h) for each column of the index.  Its info page says
 * where:
 *
 *		 0        4       6        8         12
 *		 | number | natts | unused | extents | unused | column[natts] | extent[] |
 *
 * A page of a tree:
 *
 *		 0        4     6       8
 *		 | number | col | level | payload of the run core, RENCODER_RUN_PAYLOAD bytes |
 *
 * so that a page that was freed and used again since is found.  Pages of a run never
 * change once it is LIVE.
 */
#ifndef RENCODER_RUN_FORMAT_H
#define RENCODER_RUN_FORMAT_H

#include "store/page.h"

typedef struct RencoderRunPageData
{
	uint32		number;			/* of the run */
	uint16		col;			/* 0-based */
	uint16		level;			/* 0: leaf */
	uint8		payload[FLEXIBLE_ARRAY_MEMBER];
} RencoderRunPageData;

#define RENCODER_RUN_PAYLOAD \
	(RENCODER_PAYLOAD_SIZE - offsetof(RencoderRunPageData, payload))

#define RencoderPageGetRunPage(page) \
	((RencoderRunPageData *) RencoderPageGetPayload(page))

/* The tree of a column. */
typedef struct RencoderRunColumn
{
	uint32		coder;			/* generation that made its keys, 0: none */
	BlockNumber root;			/* RENCODER_NO_BLOCK: it has no entries */
	uint32		level;			/* of the root */
	uint32		nleaves;
	uint32		ninner;
	uint32		first_page;		/* of the heap */
	uint32		npages;			/* likewise */
	uint32		aim;			/* what its cells were made for (build_run.h) */
	uint64		entries;
	uint64		rows;
	uint64		least;			/* keys, if there are entries */
	uint64		greatest;
	double		false_pages;	/* expected of a query (renc_run_finish) */
} RencoderRunColumn;

StaticAssertDecl(sizeof(RencoderRunColumn) == 72, "RencoderRunColumn is on disk");

typedef struct RencoderRunInfoData
{
	uint32		number;
	uint16		natts;
	uint16		unused;			/* zero */
	uint32		nextents;
	uint32		unused2;		/* zero */
	RencoderRunColumn column[FLEXIBLE_ARRAY_MEMBER];
	/* RencoderExtent extent[nextents] follows */
} RencoderRunInfoData;

typedef RencoderRunInfoData *RencoderRunInfo;

#define RencoderPageGetRunInfo(page) \
	((RencoderRunInfo) RencoderPageGetPayload(page))

/* Its extents, and how many there is room for. */
static inline RencoderExtent *
rencoder_run_extents(RencoderRunInfo info)
{
	return (RencoderExtent *) &info->column[info->natts];
}

static inline uint32
rencoder_run_max_extents(int natts)
{
	return (RENCODER_PAYLOAD_SIZE - offsetof(RencoderRunInfoData, column) -
			natts * sizeof(RencoderRunColumn)) / sizeof(RencoderExtent);
}

/* Is it of that run, of an index with so many columns? */
static inline bool
rencoder_run_info_is_of(const RencoderRunInfoData *info, uint32 number, int natts)
{
	return info->number == number && info->natts == natts &&
		info->nextents <= rencoder_run_max_extents(natts);
}

#endif							/* RENCODER_RUN_FORMAT_H */
