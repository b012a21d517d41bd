/*
 * pending.h
 *		The pending list: rows that came to pages after they were read for a run.
 *
 * A chain of pages from the metapage, numbered one after the other for ever:
 *
 *		metapage.pending.first -> page n -> page n + 1 -> .. -> metapage.pending.last
 *		metapage.pending.spare -> page -> page ..       to be used again
 *
 *		payload
 *		 0        8      12       16
 *		 | number | next | open   | entry, entry, ..          up to pd_lower
 *
 *		an entry, a multiple of 8 bytes
 *		 0           4       8             8 + 8 * natts  8 + 12 * natts
 *		 | heap page | nulls | key[natts]  | coder[natts] | row | padding |
 *
 * "row" is the line pointer of the root of the row's HOT chain; 0: not known.  Bit c of "nulls":
 * column c has no key: it is null, or its value has none, which then stands in the place of the key
 * (RENCODER_RUN_NULL ..); the coder is zero.  The number of an entry is
 * its page's.
 *
 * The tail is open, which no other page is, and the only one that is appended to.  Closing it
 * links the next page.  Pages of which no entry is needed are put onto the spare chain as they
 * are, in a record of the catalog.
 *
 * Locks: a reader holds one page, share.  Who links a page holds the linker's lock, a
 * heavyweight one, then perhaps the maintainer lock, which he only tries for, then metapage, old tail and new
 * page, exclusively.
 */
#ifndef RENCODER_PENDING_H
#define RENCODER_PENDING_H

#include "run/renc_place.h"
#include "store/kept_pages.h"
#include "store/run_format.h"
#include "store/space.h"

typedef struct RencoderPendingPageData
{
	uint64		number;			/* from 1 on */
	BlockNumber next;			/* RENCODER_NO_BLOCK: none */
	uint32		open;			/* 1: the tail, else 0 */
	char		entries[FLEXIBLE_ARRAY_MEMBER];
} RencoderPendingPageData;

#define RencoderPageGetPending(page) \
	((RencoderPendingPageData *) RencoderPageGetPayload(page))

typedef struct RencoderPendingEntry
{
	BlockNumber page;			/* of the heap */
	uint32		nulls;
	uint64		key[FLEXIBLE_ARRAY_MEMBER];
	/* uint32 coder[natts] and uint32 row follow */
} RencoderPendingEntry;

static inline bool
rencoder_pending_has_key(const RencoderPendingEntry *entry, int col)
{
	return ((entry->nulls >> col) & 1) == 0;
}

static inline bool
rencoder_pending_is_null(const RencoderPendingEntry *entry, int col)
{
	return !rencoder_pending_has_key(entry, col) && entry->key[col] == RENCODER_RUN_NULL;
}

/* Bytes of an entry. */
static inline Size
rencoder_pending_entry_size(int natts)
{
	return MAXALIGN(offsetof(RencoderPendingEntry, key) + natts * (sizeof(uint64) + sizeof(uint32)) +
					sizeof(uint32));
}

static inline uint32 *
rencoder_pending_coders(const RencoderPendingEntry *entry, int natts)
{
	return (uint32 *) &entry->key[natts];
}

static inline uint32 *
rencoder_pending_line_pointer(const RencoderPendingEntry *entry, int natts)
{
	return rencoder_pending_coders(entry, natts) + natts;
}

/*
 * How a delta of an index whose table has so many pages divides them (run/renc_place.h): into parts
 * as the option "resolution" says, as long as places fit 32 bits, else into larger ones.
 */
extern renc_places rencoder_pending_places(Relation index, uint64 npages);

/* The tree of a run that gets what an entry has of a column. */
static inline int
rencoder_pending_tree(const RencoderPendingEntry *entry, int natts, int col)
{
	return rencoder_pending_has_key(entry, col) ? col : rencoder_run_null_tree(natts, col);
}

/* ---- Appending ---- */

/*
 * Appends an entry to the page that *tail says, a guess; false if that is not the tail or
 * full: then rencoder_pending_find_tail(), and again.  No content lock is held.  Locks: the page exclusive, released.
 * WAL: one record of about 80 bytes.
 */
extern bool rencoder_pending_append(Relation index, const RencoderPendingEntry *entry,
									BlockNumber tail);

/*
 * The tail, which had room when it was looked at; links a new page if need be.  *closed, if
 * not NULL, says whether it did, and *npages how many pages the list has.  Locks: no content
 * locks on entry and exit.  WAL: a new page whole; metapage, old tail, new tail.
 */
extern BlockNumber rencoder_pending_find_tail(Relation index, bool *closed, uint64 *npages);

/*
 * Closes the tail unless it is empty, so that all entries up to now are on closed pages;
 * returns the number of the last page that is closed, whether it is still in the list or not;
 * 0 if there never was one.  Locks and WAL as rencoder_pending_find_tail(); not to be called by
 * a maintainer, since the linker's lock is a heavyweight one.
 */
extern uint64 rencoder_pending_close(Relation index);

/* Does the list have this many closed pages, or more?  Locks: metapage share, released. */
extern bool rencoder_pending_has_closed(Relation index, uint64 npages);

/* Has the list no entry?  Locks: metapage, its pages share, one at a time, released. */
extern bool rencoder_pending_is_empty(Relation index);

/*
 * Frees spare pages but for RENCODER_SPARE_PAGES, or a 32nd of a small index's file.  The caller has the
 * maintainer lock.  WAL: for up to 64 of them a record of metapage and free list.
 */
extern void rencoder_pending_free_spares(Relation index);

#define RENCODER_SPARE_PAGES	32

/* Has the list pages, but no entry?  Locks: those of rencoder_pending_is_empty(). */
extern bool rencoder_pending_can_be_given_up(Relation index);

/*
 * Frees all pages of a list without entries, and the spare ones, so that the end of the file may be free; the
 * next entry begins the list anew.  Nothing is done if there are entries, or too many spare pages.  The caller
 * has locked the index AccessExclusively.  WAL: metapage, tail, free list.
 */
extern void rencoder_pending_give_up(Relation index);

typedef struct RencoderSparePage
{
	BlockNumber blkno;
	uint64		number;
} RencoderSparePage;

/* The spare pages, from the one to be used next on; palloc'd. */
typedef struct RencoderSpareChain
{
	RencoderSparePage *page;
	uint64		n;
	size_t		allocated;
} RencoderSpareChain;

/*
 * Reads the chain from "first" on into *chain, which is zero.  NULL, or what is wrong with its last
 * page: only if nothing has moved since the metapage was looked at (rencoder_pending_has_moved()), as
 * inserters take pages, and a maintainer whom the caller does not keep out adds some.  Locks: the
 * pages share, one at a time, released.
 */
extern const char *rencoder_pending_read_spares(Relation index, BlockNumber first,
												RencoderSpareChain *chain);

/* How many spare pages there are.  Error if the chain is damaged. */
extern uint64 rencoder_pending_count_spares(Relation index);

/* ---- Reading ---- */

/* A copy of a page, perhaps without entries at its beginning. */
typedef struct RencoderPendingCopy
{
	const RencoderPendingPageData *page;
	int			nentries;
	Size		entry_size;
	char	   *room;			/* palloc'd at the first copy that is not kept */
} RencoderPendingCopy;

static inline const RencoderPendingEntry *
rencoder_pending_entry(const RencoderPendingCopy *copy, int i)
{
	return (const RencoderPendingEntry *) (copy->page->entries + i * copy->entry_size);
}

/*
 * Entries of no interest: with a key of a column, or what stands in its place, beside lo .. hi, but for
 * values without a key.
 */
typedef struct RencoderPendingMisses
{
	int			natts;
	int			col;
	bool		coded;			/* only those by this coder */
	uint32		coder;
	uint64		lo;
	uint64		hi;
} RencoderPendingMisses;

/* Is what an entry, "at", has of the column beside lo .. lo + width? */
static inline bool
rencoder_pending_is_beside(const char *at, int col, uint64 lo, uint64 width)
{
	uint64		key = ((const RencoderPendingEntry *) at)->key[col];

	return key - lo > width && key != RENCODER_RUN_KEYLESS;
}

/* The first entry from i on that is no miss.  Each scan goes through all entries: by few instructions. */
static inline int
rencoder_pending_skip_misses(const RencoderPendingCopy *copy, int i, const RencoderPendingMisses *misses)
{
	const Size	size = copy->entry_size;
	const int	col = misses->col;
	const uint64 lo = misses->lo;
	const uint64 width = misses->hi - lo;
	const bool	coded = misses->coded;
	const char *end = copy->page->entries + copy->nentries * size;
	const char *at = copy->page->entries + i * size;

	while (!coded && (Size) (end - at) >= 4 * size &&
		   rencoder_pending_is_beside(at, col, lo, width) &&
		   rencoder_pending_is_beside(at + size, col, lo, width) &&
		   rencoder_pending_is_beside(at + 2 * size, col, lo, width) &&
		   rencoder_pending_is_beside(at + 3 * size, col, lo, width))
		at += 4 * size;
	while (at < end && rencoder_pending_is_beside(at, col, lo, width) &&
		   (!coded || rencoder_pending_coders((const RencoderPendingEntry *) at,
											  misses->natts)[col] == misses->coder))
		at += size;
	return (int) ((at - copy->page->entries) / size);
}

/*
 * A walk over the pages of the list.  Inserters link pages meanwhile, and a maintainer whom the
 * caller does not keep out takes some away.
 */
typedef struct RencoderPendingWalk
{
	Relation	index;
	BlockNumber from;			/* the page that refers to this one */
	BlockNumber blkno;			/* the page that was read last */
	uint64		number;			/* likewise */
	uint64		last_number;
	RencoderPendingCopy copy;	/* likewise */
	int64		npages;			/* index pages read */
	const char *fault;			/* of "blkno": corruption only if the
								 * catalog's version is what it was when the
								 * block was learnt of */

	/* NULL, unless the caller sets them. */
	RencoderKept *kept;
	const RencoderPendingMisses *misses;	/* those that a page begins with
											 * need not be copied */

	/* Private. */
	BlockNumber next;
	uint64		next_number;
} RencoderPendingWalk;

/*
 * Begins at the first page of the list, and ends at the one of number "last_number", both from one
 * look at it.
 */
extern void rencoder_pending_walk_begin(RencoderPendingWalk *walk, Relation index,
										const RencoderPendingList *list, uint64 last_number);

/*
 * Reads the next page; false behind the last one, or if "fault" is set.  Locks: the page share,
 * released.
 */
extern bool rencoder_pending_walk_next(RencoderPendingWalk *walk);
extern void rencoder_pending_walk_end(RencoderPendingWalk *walk);

/* Have runs, pending list or spare pages moved since the metapage was copied? */
extern bool rencoder_pending_has_moved(Relation index, const RencoderMetaPageData *metadata);

#endif							/* RENCODER_PENDING_H */
