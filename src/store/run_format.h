/*
 * run_format.h
 *		On-disk form of runs.
 *
 * A run has two trees (run/renc_run.h) for each column of the index: of its keys, and of rows without
 * one, which are null, or whose value has none.  Its info page says where:
 *
 *		 0        4       6         8
 *		 | number | natts | extents | tree[2 natts] | extent[] |
 *
 * A page of a tree:
 *
 *		 0        4      6       8
 *		 | number | tree | level | payload of the run core, RENCODER_RUN_PAYLOAD bytes |
 *
 * so that a page that was freed and used again since is found.  Pages of a run never
 * change once it is LIVE.
 *
 * Its entry in the catalog (catalog.h), 120 bytes, repeats the tree of the first column, so that
 * a query of that column does without the info page:
 *
 *		 0        4      8      9       10        12     16   20     24       28
 *		 | number | rank | kind | state | keyless | from | to | info | npages | outside
 *		 32    40        48      120
 *		 | cut | horizon | column |
 */
#ifndef RENCODER_RUN_FORMAT_H
#define RENCODER_RUN_FORMAT_H

#include "run/renc_place.h"
#include "store/page.h"

typedef struct RencoderRunPageData
{
	uint32		number;			/* of the run */
	uint16		tree;			/* 0-based: of a column's keys, then of rows
								 * without one */
	uint16		level;			/* 0: leaf */
	uint8		payload[FLEXIBLE_ARRAY_MEMBER];
} RencoderRunPageData;

#define RENCODER_RUN_PAYLOAD \
	(RENCODER_PAYLOAD_SIZE - offsetof(RencoderRunPageData, payload))

#define RencoderPageGetRunPage(page) \
	((RencoderRunPageData *) RencoderPageGetPayload(page))

/* A tree of a column.  run/renc_place.h says what parts are. */
typedef struct RencoderRunColumn
{
	uint32		coder;			/* generation that made its keys, 0: none */
	BlockNumber root;			/* RENCODER_NO_BLOCK: it has no entries */
	uint16		level;			/* of the root */
	uint16		part_rows;		/* line pointers of a part */
	uint16		parts;			/* of a page, that entries name */
	uint16		most_rows;		/* the greatest line pointer that they name */
	uint32		nleaves;
	uint32		ninner;
	uint32		first_page;		/* of the heap */
	uint32		npages;			/* likewise */
	uint64		entries;
	uint64		rows;
	uint64		least;			/* keys, if there are entries */
	uint64		greatest;
	double		false_pages;	/* expected of a query
								 * (renc_run_encoder_finish) */
} RencoderRunColumn;

StaticAssertDecl(sizeof(RencoderRunColumn) == 72, "RencoderRunColumn is on disk");

/* How its entries name heap pages; sound if the page is damaged, too. */
static inline renc_places
rencoder_run_places(const RencoderRunColumn *column)
{
	renc_places places = {Max(column->parts, 1), Max(column->part_rows, 1),
	column->parts > 1 ? column->most_rows : PG_UINT16_MAX};

	return places;
}

typedef struct RencoderRunInfoData
{
	uint32		number;
	uint16		natts;
	uint16		nextents;
	RencoderRunColumn column[FLEXIBLE_ARRAY_MEMBER];	/* trees */
	/* RencoderExtent extent[nextents] follows */
} RencoderRunInfoData;

/* Trees of a run of an index with so many columns: of their keys, then of rows without one. */
static inline int
rencoder_run_ntrees(int natts)
{
	return 2 * natts;
}

#define RENCODER_MAX_TREES	(2 * INDEX_MAX_KEYS)

/* The tree of the rows without a key of a column, */
static inline int
rencoder_run_null_tree(int natts, int col)
{
	return natts + col;
}

/* where what they have takes the place of a key. */
#define RENCODER_RUN_NULL		0
#define RENCODER_RUN_KEYLESS	1	/* a value for which no single key stands */

typedef RencoderRunInfoData *RencoderRunInfo;

/* Has a column values for which no single key stands? */
static inline bool
rencoder_run_has_keyless(const RencoderRunInfoData *info)
{
	bool		any = false;

	for (int col = 0; col < info->natts; col++)
		any |= info->column[rencoder_run_null_tree(info->natts, col)].greatest >= RENCODER_RUN_KEYLESS;
	return any;
}

#define RencoderPageGetRunInfo(page) \
	((RencoderRunInfo) RencoderPageGetPayload(page))

/* Its extents, and how many there is room for. */
static inline RencoderExtent *
rencoder_run_extents(RencoderRunInfo info)
{
	return (RencoderExtent *) &info->column[rencoder_run_ntrees(info->natts)];
}

static inline uint32
rencoder_run_max_extents(int natts)
{
	return (RENCODER_PAYLOAD_SIZE - offsetof(RencoderRunInfoData, column) -
			rencoder_run_ntrees(natts) * sizeof(RencoderRunColumn)) / sizeof(RencoderExtent);
}

/* Is it of that run, of an index with so many columns? */
static inline bool
rencoder_run_info_is_of(const RencoderRunInfoData *info, uint32 number, int natts)
{
	return info->number == number && info->natts == natts &&
		info->nextents <= rencoder_run_max_extents(natts);
}

/* What the catalog says of a run. */
#define RENCODER_RUN_BASE		1	/* keys and nulls of the rows of its pages */
#define RENCODER_RUN_DELTA		2	/* those of rows that came later */
#define RENCODER_RUN_MATRIX		3	/* filters of its pages */

#define RENCODER_RUN_BUILDING	1
#define RENCODER_RUN_LIVE		2
#define RENCODER_RUN_FREEING	3

typedef struct RencoderRunEntry
{
	uint32		number;			/* from 1 on, never used again */
	uint32		rank;			/* of the reading; 0: a delta */
	uint8		kind;			/* RENCODER_RUN_BASE .. */
	uint8		state;			/* RENCODER_RUN_BUILDING .. */
	uint16		keyless;		/* LIVE: 1 if a column has values without a
								 * key: the info page says which */
	BlockNumber from;			/* heap pages that it covers, or, of a delta,
								 * that its entries are of: */
	BlockNumber to;				/* up to before this one */
	BlockNumber info;			/* run_pages.h */
	uint32		npages;			/* LIVE: pages in all, info included */
	uint32		outside;		/* of composite keys: rows beside what their
								 * coder was trained on */
	uint64		cut;			/* number of a pending page: of entries up to
								 * there it has what is needed; a delta's
								 * entries count as being on this one */
	uint64		horizon;		/* snapshots with an older xmin do not trust
								 * it */
	RencoderRunColumn first;	/* LIVE: the tree of the first column's keys,
								 * as in the info page */
} RencoderRunEntry;

StaticAssertDecl(sizeof(RencoderRunEntry) == 120, "RencoderRunEntry is on disk");

/* Entries in the metapage, 64 at BLCKSZ 8192, which has room for other things yet. */
#define RENCODER_MAX_RUNS \
	((int) ((RENCODER_PAYLOAD_SIZE - 480) / sizeof(RencoderRunEntry)))

/* Does it cover pages, or is to? */
static inline bool
rencoder_run_covers(const RencoderRunEntry *entry)
{
	return entry->kind != RENCODER_RUN_DELTA;
}

#endif							/* RENCODER_RUN_FORMAT_H */
