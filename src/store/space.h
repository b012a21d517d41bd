/*
 * space.h
 *		Allocation of extents: the free-extent list and relation extension.
 *
 * Only the maintainer (INV-6) or a build calls these, but for rencoder_space_extend_made().  The
 * list is a chain of pages from the metapage:
 *
 *		 0      4   8
 *		 | next | n | extent[n] (start, npages: 8 bytes each) |
 */
#ifndef RENCODER_SPACE_H
#define RENCODER_SPACE_H

#include "store/meta.h"

typedef struct RencoderFreePageData
{
	BlockNumber next;
	uint32		n;
	RencoderExtent extent[FLEXIBLE_ARRAY_MEMBER];
} RencoderFreePageData;

#define RENCODER_FREE_EXTENTS \
	((RENCODER_PAYLOAD_SIZE - offsetof(RencoderFreePageData, extent)) / sizeof(RencoderExtent))

#define RencoderPageGetFree(page) \
	((RencoderFreePageData *) RencoderPageGetPayload(page))

/*
 * Takes consecutive blocks: as many as the list has together from block "from" on, "most", or
 * fewer, but "least"; or "most" from the end of the file: zero pages there, and extension.  They
 * may hold anything; the caller writes them with rencoder_wal_write_fresh(), or calls
 * rencoder_space_secure(), before it links them or allocates others.  A crash in between loses
 * them, but for zero pages at the end of the file, until REINDEX.  WAL: the list.
 */
extern RencoderExtent rencoder_space_alloc(Relation index, BlockNumber from, uint32 least, uint32 most);

/* So many, or, where nothing is logged (a build), from the end of the file. */
extern RencoderExtent rencoder_space_take(Relation index, uint32 npages, bool log);

/* Pages that the metapage names. */
typedef enum RencoderRoot
{
	RENCODER_ROOT_CODERS,
	RENCODER_ROOT_FREE,
	RENCODER_ROOT_STATS,
	RENCODER_ROOT_SAMPLES
} RencoderRoot;

/* The first of these pages, or RENCODER_NO_BLOCK.  Locks: metapage share, released. */
extern BlockNumber rencoder_space_find_root(Relation index, RencoderRoot which);

/*
 * The same; "npages" empty pages of the type are made if there are none.  WAL: each page whole,
 * then the metapage; nothing unless "log".
 */
extern BlockNumber rencoder_space_make_root(Relation index, RencoderRoot which, uint16 page_id,
											uint32 npages, bool log);

/*
 * Makes sure that an allocated extent lies within the file on standbys and
 * after a crash, because its blocks will be referred to (as "next", or in the
 * free list) before they are written: extension is not logged, so the last
 * page is.  WAL: this page.
 */
extern void rencoder_space_secure(Relation index, RencoderExtent extent);

/* Extends the relation by "npages" zeroed consecutive blocks. */
extern BlockNumber rencoder_space_extend(Relation index, uint32 npages);

/*
 * Extends the relation by a page of the type, its payload zeroed.  Not only the maintainer may do
 * so: the page is never zero for others, who would take it for unused.  WAL: the page whole.
 */
extern BlockNumber rencoder_space_extend_made(Relation index, uint16 page_id);

/*
 * Prepares to free up to "n" extents within a record of the caller: makes sure
 * that a page with room for them heads the list, and returns it pinned but not
 * locked.  The caller locks it after all others, registers it and calls
 * rencoder_space_release() on the image.
 */
extern Buffer rencoder_space_prepare_release(Relation index, uint32 n);
extern void rencoder_space_release(Page image, RencoderExtent extent);

/* Pages in the list that lie before "end"; extents in the list if not NULL. */
extern uint64 rencoder_space_count_free_pages(Relation index, BlockNumber end, uint32 *nextents);

/* The block behind the last one of the file that is neither in the list, nor a page of it, nor zero. */
extern BlockNumber rencoder_space_used_end(Relation index);

/*
 * Shortens the file to "end", all of what lies behind that being free, and writes the list anew.  The caller
 * has locked the index AccessExclusively, and is not in parallel mode (INV-21).  WAL: metapage, the new list,
 * metapage; then the truncation.  A crash in between leaves the end in the file, and loses what is free, until
 * REINDEX.
 */
extern void rencoder_space_truncate(Relation index, BlockNumber end);

#endif							/* RENCODER_SPACE_H */
