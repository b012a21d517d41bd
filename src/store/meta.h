/*
 * meta.h
 *		The metapage: format version, options frozen at build, roots.
 *
 *		payload of block 0
 *		+------------------------------------------------------------+
 *		| magic | version | hash id | options                        |
 *		| roots: coders, free extents, hints | number of runs        |
 *		| the catalog (catalog.h): version, frontier, entries_to,    |
 *		|   numbers given last, pending list (pending.h), runs       |
 *		+------------------------------------------------------------+
 */
#ifndef RENCODER_META_H
#define RENCODER_META_H

#include "store/run_format.h"
#include "store/wal.h"

#define RENCODER_MAGIC		0x5245434F	/* "RECO" */
#define RENCODER_VERSION	1

/* What development versions called it.  No later format gets this number. */
#define RENCODER_VERSION_DEVELOPMENT	16

/* Rows in a window, which are bytes of a band: 510 at BLCKSZ 8192. */
#define RENCODER_ROWS		RENCODER_BAND_SIZE

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
	uint32		natts;			/* columns of keys */
	uint32		pages_per_range;
	uint32		bits_per_key;
	BlockNumber coder_root;		/* list of coders, or RENCODER_NO_BLOCK, as
								 * all of these */
	BlockNumber free_root;		/* first page of the free-extent list */
	BlockNumber stats_root;		/* counts of scans (stats_page.h) */
	uint32		nruns;

	uint64		changes;		/* the catalog's version */
	BlockNumber frontier;
	BlockNumber entries_to;
	uint32		last_run;		/* number given last */
	uint32		last_rank;		/* likewise */
	RencoderPendingList pending;
	RencoderRunEntry run[RENCODER_MAX_RUNS];
	BlockNumber samples_root;	/* first page of query samples */
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
} RencoderMeta;

/* Which families of btree have the order of the columns' keys (key/key_order.c). */
typedef struct RencoderOrder
{
	bool		known;
	bool		has;
	Oid			family[INDEX_MAX_KEYS];
} RencoderOrder;

/* What a session keeps of an index in rd_amcache. */
typedef struct RencoderCache
{
	RencoderMeta meta;
	RencoderOrder order;
	BlockNumber nblocks;		/* of the index, a guess
								 * (rencoder_meta_has_block) */
	BlockNumber frontier;		/* as seen last; that it has fallen costs
								 * entries only (INV-3) */
	Buffer		buffer;			/* of the metapage: a guess */
} RencoderCache;

/*
 * Writes block 0 of a fork that is still empty.  WAL: none; the caller logs
 * the fork when it is complete.  "natts": columns of keys.
 */
extern void rencoder_meta_create(Relation index, ForkNumber fork, int natts,
								 uint32 pages_per_range, uint32 bits_per_key);

/*
 * The frozen part, from rd_amcache or read and checked.  Valid while the
 * relcache entry is; copy it if it must live longer.  Locks: metapage share,
 * released.  Error on an unknown magic or format version.
 */
extern const RencoderMeta *rencoder_meta_get(Relation index);

/* The same with all that is kept; valid until the next lookup in a catalog. */
extern RencoderCache *rencoder_meta_cache(Relation index);

/*
 * Columns of keys that an index has: one, if its keys are composite (key/composite.h), else as many as
 * it has key columns.  Locks: as rencoder_meta_get(); so not while the metapage is locked.
 */
static inline int
rencoder_key_columns(Relation index)
{
	return rencoder_meta_get(index)->natts;
}

/* Are all columns of the index in one key? */
static inline bool
rencoder_is_composite(Relation index)
{
	return rencoder_key_columns(index) < IndexRelationGetNumberOfKeyAttributes(index);
}

/*
 * Does a row that has just come to a heap page have to be an entry (INV-3)?  If the session does not
 * know that it has, the metapage is looked at.  Locks: that share, released.
 */
extern bool rencoder_meta_takes_entries(Relation index, BlockNumber page);

/* The guess of the pending list's tail, which the session keeps, and keeping one. */
extern BlockNumber rencoder_meta_tail(Relation index);
extern void rencoder_meta_keep_tail(Relation index, BlockNumber tail);

/* Is the block in the file?  The kernel is asked only about those that are new. */
extern bool rencoder_meta_has_block(Relation index, BlockNumber blkno);

/* A copy of the metapage's data, palloc'd, read under share lock. */
extern RencoderMetaPageData *rencoder_meta_copy(Relation index);

/* Is the index's disk format another one than this library's?  Then all else fails with a hint. */
extern bool rencoder_meta_needs_reindex(Relation index);

/* The metapage, pinned and locked. */
extern Buffer rencoder_meta_lock(Relation index, int lockmode);

/*
 * Maintainer lock (INV-6): one maintainer per index changes layout at a time.
 * A heavyweight lock on block 0, released at the end of transaction at last.  "unlock" returns how
 * many bytes of WAL the session has written under it.
 * "try" does not wait, and refuses also if this session is the maintainer, which is an error else:
 * a maintainer within another one would take away what that one is making.
 */
extern void rencoder_meta_lock_maintainer(Relation index);
extern bool rencoder_meta_try_lock_maintainer(Relation index);
extern uint64 rencoder_meta_unlock_maintainer(Relation index);

#endif							/* RENCODER_META_H */
