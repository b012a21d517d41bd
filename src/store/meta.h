/*
 * meta.h
 *		The metapage: format version, options frozen at build, roots.
 *
 *		payload of block 0
 *		+------------------------------------------------------------+
 *		| magic | version | hash id | geometry | options             |
 *		| epoch (INV-7)                                              |
 *		| roots of the free-extent list and of the list of coders    |
 *		| direct[]: blocks of the first directory pages              |
 *		| map[]:    blocks of directory maps for all further ones    |
 *		| root of the query samples                                  |
 *		| runs, pending list (run_list.h, pending.h)                 |
 *		| page of the counts of scans                                |
 *		| the first runs                                             |
 *		| root of the facts                                          |
 *		| spans of covered groups (covered_spans.h)                  |
 *		+------------------------------------------------------------+
 */
#ifndef RENCODER_META_H
#define RENCODER_META_H

#include "store/run_format.h"
#include "store/wal.h"

#define RENCODER_MAGIC		0x5245434F	/* "RECO" */
#define RENCODER_VERSION	14

/* Rows in a window, which are bytes of a band: 510 at BLCKSZ 8192. */
#define RENCODER_ROWS		RENCODER_BAND_SIZE

/*
 * Directory pages found without a map, so that small indexes do without one,
 * and maps.
 */
#define RENCODER_META_DIRECT	256
#define RENCODER_META_MAPS		1300

/* Consecutive groups that one run covers (covered_spans.h). */
typedef struct RencoderCoveredSpan
{
	uint32		first;			/* group */
	uint32		n;				/* groups; 0: no span */
	uint32		run;			/* that covers them */
	uint32		unused;			/* 0 */
	uint64		horizon;		/* the latest of them */
} RencoderCoveredSpan;

#define RENCODER_META_SPANS		16

/* Where the pending list (pending.h) begins and ends. */
typedef struct RencoderPendingList
{
	BlockNumber first;			/* oldest page, or RENCODER_NO_BLOCK */
	BlockNumber last;			/* the tail, likewise */
	BlockNumber spare;			/* pages to be used again, a chain */
	uint32		magic;			/* RENCODER_MAGIC; zeros here would say that
								 * there are no entries, nor runs */
	uint64		first_number;
	uint64		last_number;
} RencoderPendingList;

/* Pages of the list; all but one are closed. */
static inline uint64
rencoder_pending_pages(const RencoderPendingList *list)
{
	return list->first == RENCODER_NO_BLOCK ? 0 : list->last_number - list->first_number + 1;
}

typedef struct RencoderMetaPageData
{
	uint32		magic;
	uint32		version;
	uint32		hash_id;
	uint32		rows_per_window;
	uint32		group_ranges;	/* 128 */
	uint32		slice_ranges;	/* 8 */
	uint32		pages_per_range;
	uint32		bits_per_key;
	uint32		natts;
	BlockNumber coder_root;		/* list of coders, or RENCODER_NO_BLOCK */
	uint64		epoch;			/* bumped before anything is taken away */
	BlockNumber free_root;		/* first page of the free-extent list */
	BlockNumber direct[RENCODER_META_DIRECT];
	BlockNumber map[RENCODER_META_MAPS];
	BlockNumber sample_root;	/* first page of query samples, or
								 * RENCODER_NO_BLOCK */
	BlockNumber run_list;		/* page of further runs, or RENCODER_NO_BLOCK */
	uint32		last_run;		/* number given last */
	RencoderPendingList pending;
	uint64		run_changes;	/* rises when a run or a pending page goes */
	BlockNumber stats_page;		/* counts of scans, or RENCODER_NO_BLOCK */
	uint32		nruns;			/* here and in run_list */
	RencoderRunEntry run[RENCODER_META_RUNS];
	BlockNumber fact_root;		/* first page of facts, or RENCODER_NO_BLOCK */
	RencoderCoveredSpan span[RENCODER_META_SPANS];	/* in no order */
} RencoderMetaPageData;

StaticAssertDecl(sizeof(RencoderMetaPageData) <= RENCODER_PAYLOAD_SIZE,
				 "metapage data must fit the page");

#define RencoderPageGetMeta(page) \
	((RencoderMetaPageData *) RencoderPageGetPayload(page))

/* What never changes during the life of an index. */
typedef struct RencoderMeta
{
	uint32		pages_per_range;
	uint32		bits_per_key;
	int			natts;
	uint32		entry_size;		/* bytes of a directory entry */
	uint32		entries_per_page;	/* directory entries in a page */
} RencoderMeta;

/*
 * The way to the group that this session inserted into last.  Directory pages
 * and headers, once there, never move; buffers are guesses.  That there is none
 * may not be remembered (INV-3), nor anything that stands on these pages.
 */
typedef struct RencoderPath
{
	uint32		dirpage;		/* number of the directory page */
	BlockNumber directory;		/* its block, or RENCODER_NO_BLOCK: not known */
	Buffer		directory_buffer;
	uint32		group;
	BlockNumber header;			/* its first header block; likewise */
	Buffer		header_buffer;
	BlockNumber tail;			/* of the pending list: a guess, or
								 * RENCODER_NO_BLOCK */
} RencoderPath;

/* What a session keeps of an index in rd_amcache. */
typedef struct RencoderCache
{
	RencoderMeta meta;
	RencoderPath path;
	BlockNumber nblocks;		/* of the index, at least: it never becomes
								 * shorter */
} RencoderCache;

/*
 * Writes block 0 of a fork that is still empty.  WAL: none; the caller logs
 * the fork when it is complete.
 */
extern void rencoder_meta_create(Relation index, ForkNumber fork,
								 uint32 pages_per_range, uint32 bits_per_key);

/*
 * The frozen part, from rd_amcache or read and checked.  Valid while the
 * relcache entry is; copy it if it must live longer.  Locks: metapage share,
 * released.  Error on an unknown magic or format version.
 */
extern const RencoderMeta *rencoder_meta_get(Relation index);

/*
 * The path kept for the index, and keeping one.  A copy, because an
 * invalidation may free rd_amcache whenever a catalog is looked at.
 */
extern RencoderPath rencoder_meta_path(Relation index);
extern void rencoder_meta_keep_path(Relation index, const RencoderPath *path);

/* Is the block in the file?  The kernel is asked only about those that are new. */
extern bool rencoder_meta_has_block(Relation index, BlockNumber blkno);

/* A copy of the metapage's data, palloc'd, read under share lock. */
extern RencoderMetaPageData *rencoder_meta_copy(Relation index);

/* The present epoch.  Locks: metapage share, released. */
extern uint64 rencoder_meta_epoch(Relation index);

/* The metapage, pinned and locked. */
extern Buffer rencoder_meta_lock(Relation index, int lockmode);

/*
 * Maintainer lock (INV-6): one maintainer per index changes layout at a time.
 * A heavyweight lock on block 0, released at the end of transaction at last.
 * "try" does not wait, and refuses also if this session is the maintainer, which is an error else:
 * a maintainer within another one would take away what that one is making.
 */
extern void rencoder_meta_lock_maintainer(Relation index);
extern bool rencoder_meta_try_lock_maintainer(Relation index);
extern void rencoder_meta_unlock_maintainer(Relation index);

#endif							/* RENCODER_META_H */
