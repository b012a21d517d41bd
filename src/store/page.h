/*
 * page.h
 *		Pages of an index: types, special area, verification.
 *
 * Every page, whatever its type:
 *
 *		0      24                                        BLCKSZ - 8    BLCKSZ
 *		+------+--------------------------------------------+------------+
 *		| page | payload (RENCODER_PAYLOAD_SIZE bytes,      | special:   |
 *		| head | 8160 at BLCKSZ 8192); pd_lower = its end   | blkno, id  |
 *		+------+--------------------------------------------+------------+
 *
 * pd_lower stands at the end of the payload, or generic WAL and full page
 * images would drop it as a "hole" (INV-5).  In a page of the
 * pending list it stands behind the last entry (rencoder_wal_append).  In a page of a run, which never
 * changes, and in one that describes a run, it stands behind what is on it, so that an image does
 * without the zeros (rencoder_page_trim_lower).  The special
 * area repeats the page's own block number, so that a page written to a wrong
 * place is found.
 */
#ifndef RENCODER_PAGE_H
#define RENCODER_PAGE_H

#include "base/compat.h"

#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/* Page ids, the last half-word of a page, for pg_filedump and similar. */
#define RENCODER_PAGE_META		0xFFB0
#define RENCODER_PAGE_MATRIX	0xFFB1	/* what runs of matrices say of them */
#define RENCODER_PAGE_WINDOWS	0xFFB2	/* windows of filters */
#define RENCODER_PAGE_FREE		0xFFB3	/* list of free extents */
#define RENCODER_PAGE_CODERS	0xFFB4	/* list of coders */
#define RENCODER_PAGE_CODER		0xFFB5	/* bytes of a coder */
#define RENCODER_PAGE_HINTS		0xFFB6	/* query samples, counts of scans */
#define RENCODER_PAGE_RUN_INFO	0xFFB7	/* what a run is */
#define RENCODER_PAGE_RUN		0xFFB8	/* leaves and inner pages of runs */
#define RENCODER_PAGE_PENDING	0xFFB9	/* pending list */

typedef struct RencoderPageOpaqueData
{
	BlockNumber blkno;			/* this page's own block number */
	uint16		unused;			/* zero */
	uint16		page_id;		/* RENCODER_PAGE_xxx */
} RencoderPageOpaqueData;

typedef RencoderPageOpaqueData *RencoderPageOpaque;

StaticAssertDecl(sizeof(RencoderPageOpaqueData) == 8,
				 "special area must leave room for (BLCKSZ - 32) / 16 rows");

#define RencoderPageGetOpaque(page) \
	((RencoderPageOpaque) PageGetSpecialPointer(page))

#define RENCODER_PAYLOAD_SIZE \
	(BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - sizeof(RencoderPageOpaqueData))

#define RencoderPageGetPayload(page) ((char *) PageGetContents(page))

/* A window page is 16 bands of so many bytes: 510 at BLCKSZ 8192. */
#define RENCODER_PAGE_BANDS		16
#define RENCODER_BAND_SIZE		(RENCODER_PAYLOAD_SIZE / RENCODER_PAGE_BANDS)

StaticAssertDecl(RENCODER_BAND_SIZE * RENCODER_PAGE_BANDS == RENCODER_PAYLOAD_SIZE,
				 "bands must fill the payload");

#define RENCODER_META_BLKNO		0

/*
 * "No block": block 0 is the metapage, which nothing refers to, so that
 * zero-filled arrays of block numbers refer to nothing.
 */
#define RENCODER_NO_BLOCK		0

/* A run of consecutive blocks; start = RENCODER_NO_BLOCK: none. */
typedef struct RencoderExtent
{
	BlockNumber start;
	uint32		npages;
} RencoderExtent;

/* Makes an empty page of the type, payload zeroed. */
extern void rencoder_page_init(Page page, BlockNumber blkno, uint16 page_id);

/*
 * Puts pd_lower behind the last byte that is not zero.  To be done whenever the page has been filled,
 * before the record is assembled.
 */
extern void rencoder_page_trim_lower(Page page);

/* CRC-32C. */
extern uint32 rencoder_checksum(const void *data, size_t size);

/*
 * Is this a page of the type, in its place?  Returns NULL if so, else a
 * static text that says what is wrong.
 */
extern const char *rencoder_page_fault(Page page, BlockNumber blkno, uint16 page_id);

/*
 * Reports ERRCODE_INDEX_CORRUPTED for a block of the index at "elevel"; "detail" is a
 * sentence.  The one place for this message.
 */
extern void rencoder_page_report(int elevel, Relation index, BlockNumber blkno,
								 const char *detail);

/* The same as an error. */
rencoder_noreturn extern void rencoder_page_corrupted(Relation index, BlockNumber blkno,
													  const char *detail);

/*
 * A page that is to be made anew, whatever it holds: zeroed, pinned and locked
 * exclusively.  Raises ERRCODE_INDEX_CORRUPTED for a block behind the end of the
 * index: a damaged extent may name one, and no checkpoint could write it.
 */
extern Buffer rencoder_page_renew(Relation index, BlockNumber blkno);

/*
 * Reads, locks (BUFFER_LOCK_SHARE or _EXCLUSIVE) and verifies a page.  The
 * returned buffer is pinned and locked.  Error if the page is not of the type.
 */
extern Buffer rencoder_page_read(Relation index, BlockNumber blkno,
								 int lockmode, uint16 page_id);

/* A copy of what the page holds, palloc'd, RENCODER_PAYLOAD_SIZE bytes. */
extern void *rencoder_page_copy(Relation index, BlockNumber blkno, uint16 page_id);

/*
 * The same with share lock, for a page that is read again and again.  *recent is
 * the buffer that it was in last time, or InvalidBuffer: a guess that saves
 * looking for it, and is set right.  Nothing else is taken on trust.
 */
extern Buffer rencoder_page_read_recent(Relation index, BlockNumber blkno,
										uint16 page_id, Buffer *recent);

/*
 * The same with share lock, but returns InvalidBuffer (nothing pinned) for a
 * page of another type, with *fault set.  For scans, which may meet a page
 * that was reused after they started (INV-7) and find out at their end.
 */
extern Buffer rencoder_page_try_read(Relation index, BlockNumber blkno,
									 uint16 page_id, const char **fault);

/*
 * How many of the last pages of a table or an index with "nblocks", "max" at most, are zero: it was extended, and
 * nobody has used them yet.  Locks: a page share, one at a time, released.
 */
extern uint32 rencoder_page_count_new(Relation rel, BlockNumber nblocks, uint32 max);

#endif							/* RENCODER_PAGE_H */
