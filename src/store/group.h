/*
 * group.h
 *		Groups of 128 block ranges and their header pages.
 *
 * A group has one header per column, in consecutive pages, which it shares with its
 * neighbour: groups 2i and 2i + 1 have the first and second header in them.  The
 * range states and trust horizons exist once, in the header of the first column.  "The header's
 * lock" means the content lock of that header's page.
 *
 *		payload of a header page
 *		 0                          3920                             7840
 *		 | header of an even group  | header of the odd one after it | unused |
 *
 *		header
 *		 0       4       8        40       48            64
 *		 | group | attno | config | matrix | summarizing | summarized | ..
 *		 80        96         112      128       144        160
 *		 | covered | flushing | always | keyless | has_null | ..
 *		 160     1184    2208        3232      3360         3872
 *		 | min[] | max[] | horizon[] | cut[16] | distinct[] | ..
 *		 3872            3880       3888           3896  3900           3904
 *		 | predicted_fpr | best_fpr | sample_stamp | run | flushing_run | noted |
 *
 * States of a range (INV-1): unsummarized (no bit), summarizing, summarized.
 * Bit j of a 16-byte set is range j of the group.  Keys of "covered" ranges are in a run, "noted"
 * ones have no storage, but deltas and the pending list have all their keys, those of
 * other summarized ones are in the column's matrix (INV-11).  Those of "flushing" ranges are being read
 * for other storage, or, with the summarizing ones among them, for a run (INV-13).
 *
 * Storage never changes (INV-2).  Min and max say what it was made of, "always", "keyless" and has_null
 * what a matrix cannot say of it.  What came later is on the pending list or in deltas.
 */
#ifndef RENCODER_GROUP_H
#define RENCODER_GROUP_H

#include "filter/renc_mask.h"
#include "store/directory.h"

typedef struct RencoderHeaderData
{
	uint32		group;
	uint32		attno;			/* 0-based */
	RencoderConfig config;
	RencoderExtent matrix;

	/* Of the group; first header page only. */
	uint8		summarizing[RENC_MATRIX_WIDTH];
	uint8		summarized[RENC_MATRIX_WIDTH];
	uint8		covered[RENC_MATRIX_WIDTH]; /* subset of summarized */
	uint8		flushing[RENC_MATRIX_WIDTH];	/* or summarizing */

	/* Of the column: what its matrix does not say of ranges that are in it. */
	uint8		always[RENC_MATRIX_WIDTH];	/* it has no room for the keys */
	uint8		keyless[RENC_MATRIX_WIDTH]; /* a value has no key, or its key
											 * was not read */
	uint8		has_null[RENC_MATRIX_WIDTH];
	uint64		min[RENC_GROUP_RANGES]; /* min > max: no key */
	uint64		max[RENC_GROUP_RANGES];

	/* First header page only. */
	uint64		horizon[RENC_GROUP_RANGES];
	uint64		cut[RENC_GROUP_SLICES]; /* the storage of a slice's ranges has
										 * the keys of pending pages up to it,
										 * and, if noted, deltas of later ones */

	/* Of the column, when its storage was made. */
	uint32		distinct[RENC_GROUP_RANGES];	/* distinct keys */
	double		predicted_fpr;	/* of the configuration, when last looked at;
								 * < 0: unknown */
	double		best_fpr;		/* that another would have had then; < 0:
								 * unknown */
	uint64		sample_stamp;	/* of the queries known then; 0: none */

	/* First header page only. */
	uint32		run;			/* that has the keys of the covered ranges, 0:
								 * none */
	uint32		flushing_run;	/* that is being made, 0: a matrix, or nothing */
	uint8		noted[RENC_MATRIX_WIDTH];	/* a state as those above:
											 * summarized, not covered */
} RencoderHeaderData;

typedef RencoderHeaderData *RencoderHeader;

StaticAssertDecl(offsetof(RencoderHeaderData, min) == 160 &&
				 offsetof(RencoderHeaderData, cut) == 3232 &&
				 sizeof(RencoderHeaderData) == 3920,
				 "RencoderHeaderData is on disk");
/* Groups whose headers are in one page. */
#define RENCODER_PAGE_GROUPS	2

StaticAssertDecl(RENCODER_PAGE_GROUPS * sizeof(RencoderHeaderData) <= RENCODER_PAYLOAD_SIZE,
				 "the headers of neighbours must fit a page");

/* The header of a group in its header page. */
static inline RencoderHeader
rencoder_page_header(Page page, uint32 group)
{
	return (RencoderHeader) RencoderPageGetPayload(page) + group % RENCODER_PAGE_GROUPS;
}

/* A group of an index, and where its pages are: these never move. */
typedef struct RencoderGroup
{
	Relation	index;
	const RencoderMeta *meta;
	uint32		number;
	BlockNumber directory;		/* directory page, or RENCODER_NO_BLOCK */
	BlockNumber header;			/* first header page, or RENCODER_NO_BLOCK */
} RencoderGroup;

/* Copies the header of a group in a page that is locked. */
static inline void
rencoder_header_copy(RencoderHeader copy, Buffer buf, uint32 group)
{
	*copy = *rencoder_page_header(BufferGetPage(buf), group);
}

/* Arithmetic of block ranges. */
static inline uint64
rencoder_range_of_block(const RencoderMeta *meta, BlockNumber heap_blkno)
{
	return heap_blkno / meta->pages_per_range;
}

static inline uint32
rencoder_group_of_range(uint64 range)
{
	return (uint32) (range / RENC_GROUP_RANGES);
}

static inline uint32
rencoder_slot_of_range(uint64 range)
{
	return (uint32) (range % RENC_GROUP_RANGES);
}

/* Block ranges of a table of "nblocks" pages, the partial last one included. */
static inline uint64
rencoder_range_count(const RencoderMeta *meta, BlockNumber nblocks)
{
	return ((uint64) nblocks + meta->pages_per_range - 1) / meta->pages_per_range;
}

/* Groups of so many ranges, the partial last one included. */
static inline uint32
rencoder_group_count(uint64 nranges)
{
	return (uint32) ((nranges + RENC_GROUP_RANGES - 1) / RENC_GROUP_RANGES);
}

/* Sets of ranges in a header. */
static inline renc_mask
rencoder_set_get(const uint8 *set)
{
	return renc_mask_load(set);
}

static inline void
rencoder_set_put(uint8 *set, renc_mask mask)
{
	renc_mask_store(set, mask);
}

/* One range of such a set. */
static inline bool
rencoder_set_test(const uint8 *set, unsigned int slot)
{
	return (set[slot / 8] >> (slot % 8)) & 1;
}

static inline void
rencoder_set_add(uint8 *set, unsigned int slot)
{
	set[slot / 8] |= (uint8) (1 << (slot % 8));
}

static inline void
rencoder_set_remove(uint8 *set, unsigned int slot)
{
	set[slot / 8] &= (uint8) ~(1 << (slot % 8));
}

/* Has a range a summary, or is it getting one? */
static inline bool
rencoder_header_takes_entries(const RencoderHeaderData *first, unsigned int slot)
{
	return rencoder_set_test(first->summarizing, slot) ||
		rencoder_set_test(first->summarized, slot);
}

/* Is there a range that matches whatever is asked, as far as bounds do not exclude it? */
static inline bool
rencoder_header_has_always(const RencoderHeaderData *header)
{
	return !renc_mask_empty(renc_mask_or(rencoder_set_get(header->always),
										 rencoder_set_get(header->keyless)));
}

/* Sets the mark of the entry that says that the header of a column is to be read. */
static inline void
rencoder_group_mark(RencoderEntry entry, const RencoderHeaderData *header)
{
	if (rencoder_header_has_always(header))
		entry->flags |= RENCODER_ENTRY_ALWAYS;
}

/* The ranges in matrices that have a value. */
static inline renc_mask
rencoder_header_has_value(const RencoderHeaderData *header)
{
	renc_mask	ranges = rencoder_set_get(header->keyless);

	for (unsigned int slot = 0; slot < RENC_GROUP_RANGES; slot++)
	{
		if (header->min[slot] <= header->max[slot])
			renc_mask_set(&ranges, slot);
	}
	return ranges;
}

/* The ranges whose keys are in the matrix of each column. */
static inline renc_mask
rencoder_header_filtered(const RencoderHeaderData *first)
{
	return renc_mask_andnot(rencoder_set_get(first->summarized),
							renc_mask_or(rencoder_set_get(first->covered),
										 rencoder_set_get(first->noted)));
}

/* Makes a header: all ranges unsummarized, no keys. */
extern void rencoder_group_init_header(RencoderHeader header, uint32 group, int attno);

/*
 * The first header block of a group, or, if it has none, the one to be: that of its neighbour, or
 * else new pages, with new headers of both, which nothing refers to yet.  Maintainer or build only.
 * Locks: as rencoder_group_locate().  WAL: the new pages, and what taking them takes.
 */
extern BlockNumber rencoder_group_make_headers(Relation index, const RencoderMeta *meta,
											   uint32 group, bool log);

/*
 * Puts the header of a column of a group where it belongs, in pages that nobody else reads; "first"
 * is the group's first header block.  Build only: not logged.  Locks: the page exclusive, released.
 */
extern void rencoder_group_put_header(Relation index, BlockNumber first,
									  const RencoderHeaderData *header);

/* The header in a header page; error if it is not that of this group and column. */
extern RencoderHeader rencoder_group_verify_header(Relation index, Page page, BlockNumber first,
												   uint32 group, int attno);

/*
 * Reads and locks a header page of a group; "first" is the group's first
 * header block.  Error if it is not the header of this group and column.
 */
extern Buffer rencoder_group_read_header(Relation index, BlockNumber first,
										 uint32 group, int attno, int lockmode);

/*
 * Finds the pages of a group; false if it has no header.  "meta" must live as long as *group.
 * Locks: metapage or map page share, then directory page share, released.
 */
extern bool rencoder_group_locate(RencoderGroup *group, Relation index, const RencoderMeta *meta,
								  uint32 number);

/* A copy of a header page of a group that has one.  Locks: the page share, released. */
extern void rencoder_group_copy_header(const RencoderGroup *group, int attno, RencoderHeader copy);

/* The first header block of a group, or RENCODER_NO_BLOCK.  Locks: as rencoder_group_locate(). */
extern BlockNumber rencoder_group_find_header(Relation index, const RencoderMeta *meta,
											  uint32 group);

/*
 * The first header block of the range's group, if the range is summarizing or
 * summarized; RENCODER_NO_BLOCK if it is unsummarized.
 *
 * The state is read at each call, under the content lock of the page that says
 * it (INV-3): the first header page, or, if the group has none, the directory
 * page, or the metapage if there is no such page.  When the session asks for
 * the same group again, no other page is read.  Locks: these pages share, one
 * after the other, released.
 */
extern BlockNumber rencoder_group_header_if_taking_entries(Relation index, const RencoderMeta *meta,
														   uint64 range);

/*
 * The least cut of the slices that have a summarized range, or one that is flushing: what pending
 * pages up to it say of the group is not asked any more.  PG_UINT64_MAX: there is no such slice.
 */
extern uint64 rencoder_group_least_cut(const RencoderHeaderData *first);

/*
 * Says in the entry of a group what scans need not read its first header for, which has changed: it
 * is sealed, if all ranges are in matrices of all columns, covered, if they are in the run; which
 * are placed; their greatest horizon.
 */
extern void rencoder_group_update_entry(RencoderEntry entry, const RencoderMeta *meta,
										const RencoderHeaderData *first);

/*
 * Are the 8 ranges of a slice of the index (not of a group) all summarized?
 * Locks: directory share, header share, released.
 */
extern bool rencoder_group_slice_is_summarized(Relation index, const RencoderMeta *meta,
											   uint64 slice);

#endif							/* RENCODER_GROUP_H */
