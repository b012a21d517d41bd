/*
 * matrix_pages.h
 *		Runs of kind MATRIX: filters of heap pages, as pages of an index.
 *
 * The pages [from, to) of the run are divided into ranges of the index's pages_per_range pages each, and
 * 128 ranges are a block.  A block has a matrix for each column, of the ranges' keys, whose windows are an
 * extent of their own (format/format_filter.h).  Pages in one extent say of all blocks, column by column:
 *
 *		payload
 *		 0        8
 *		 | number | entry[67] |
 *
 *		an entry
 *		 0                    32       40    48    56       72        88         104
 *		 | config             | matrix | min | max | always | keyless | has_null | has_value |
 *
 * number is that of the run.  A range that is "always" has more keys than its matrix has room for.  Windows
 * bear no number: who has read some looks whether the run is LIVE yet (INV-7).
 *
 * The run's info page says of the tree of a column's keys: its root is the first of these pages; leaves are all
 * pages of the column; entries the distinct keys of its ranges together.  Of the tree of rows without a key it
 * says how many ranges have any, as entries; and its root is the same page.
 */
#ifndef RENCODER_MATRIX_PAGES_H
#define RENCODER_MATRIX_PAGES_H

#include "filter/renc_mask.h"
#include "filter/renc_shape.h"
#include "store/run_pages.h"

/* How the keys of a column of a block are stored. */
typedef struct RencoderConfig
{
	uint8		shape[RENC_SHAPE_PACKED_SIZE];
	uint32		nwindows;		/* 0: there are no keys, and no matrix */
	uint32		capacity;		/* distinct keys a range that they are made
								 * for */
	uint32		coder;			/* generation of the column's key coder */
	uint32		width;			/* of the matrix: ranges / 8 that it has room
								 * for; 1, 2, 4, 8 or 16 */
} RencoderConfig;

StaticAssertDecl(sizeof(RencoderConfig) == 32, "RencoderConfig is on disk");

/* Does it say how? */
static inline bool
rencoder_is_configured(const RencoderConfig *config)
{
	return config->nwindows != 0;
}

/* Bit sets of the ranges of a block. */
typedef uint8 RencoderRangeSet[RENC_GROUP_RANGES / BITS_PER_BYTE];

typedef struct RencoderMatrixEntry
{
	RencoderConfig config;
	RencoderExtent matrix;
	uint64		min;			/* bounds of all keys; min > max: no key */
	uint64		max;
	RencoderRangeSet always;
	RencoderRangeSet keyless;
	RencoderRangeSet has_null;
	RencoderRangeSet has_value;
} RencoderMatrixEntry;

StaticAssertDecl(sizeof(RencoderMatrixEntry) == 120, "RencoderMatrixEntry is on disk");

typedef struct RencoderMatrixPageData
{
	uint32		number;			/* of the run */
	uint32		unused;			/* 0 */
	RencoderMatrixEntry entry[FLEXIBLE_ARRAY_MEMBER];
} RencoderMatrixPageData;

#define RENCODER_MATRIX_ENTRIES \
	((RENCODER_PAYLOAD_SIZE - offsetof(RencoderMatrixPageData, entry)) / sizeof(RencoderMatrixEntry))

#define RencoderPageGetMatrices(page) \
	((RencoderMatrixPageData *) RencoderPageGetPayload(page))

static inline void
rencoder_set_add(uint8 *set, int slot)
{
	set[slot / BITS_PER_BYTE] |= 1 << slot % BITS_PER_BYTE;
}

/* Pages of a block, and blocks of a run. */
static inline uint64
rencoder_matrix_block_pages(uint32 pages_per_range)
{
	return (uint64) RENC_GROUP_RANGES * pages_per_range;
}

static inline uint32
rencoder_matrix_blocks(const RencoderRunEntry *run, uint32 pages_per_range)
{
	uint64		pages = rencoder_matrix_block_pages(pages_per_range);

	return (uint32) ((run->to - run->from + pages - 1) / pages);
}

/*
 * What is said of a column of a block; false, with *fault and *blkno, if the page is another one.  "column": of
 * the run's info page.  Locks: the page share, released.
 */
extern bool rencoder_matrix_read_entry(Relation index, uint32 number, const RencoderRunColumn *column,
									   int natts, uint32 block, int col, RencoderKept *kept,
									   RencoderMatrixEntry *entry, int64 *npages, BlockNumber *blkno,
									   const char **fault);

/* Writes the entries of all blocks, column by column of each; "column": as of rencoder_run_writer_set_matrices(). */
extern void rencoder_matrix_write_entries(RencoderRunWriter *writer, const RencoderRunColumn *column,
										  const RencoderMatrixEntry *entry, uint64 n);

#endif							/* RENCODER_MATRIX_PAGES_H */
