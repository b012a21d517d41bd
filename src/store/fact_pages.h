/*
 * fact_pages.h
 *		Facts: what scans read in vain, kept in the index.
 *
 * A fact says that on a heap page no row has a key of a column from lo to hi, but for rows that came
 * later and are entries, as long as the run that covers the page has the fact's rank (INV-16).
 *
 * Four pages of hints (hint_pages.h), made with the first fact:
 *
 *		 0                     4032                  8064
 *		 | bucket 0: fact[126] | bucket 1: fact[126] | zero |
 *
 *		a fact
 *		 0    8    16        24      28
 *		 | lo | hi | storage | page  | check |
 *
 * lo and hi are those of a query, and choose page and bucket, so that one look finds all facts of a
 * query.  In a bucket the newest fact comes first, and the oldest falls out.  A torn or damaged fact
 * has a wrong check value, as has one of another index.
 *
 * A page of facts reaches the disk after the WAL of all that its facts rely on (hint_pages.h).  A
 * crash, a standby or a backup may have older facts, which are as true as ever.
 */
#ifndef RENCODER_FACT_PAGES_H
#define RENCODER_FACT_PAGES_H

#include "store/hint_pages.h"

#define RENCODER_FACT_PAGES		4
#define RENCODER_BUCKET_FACTS	126

typedef struct RencoderFact
{
	uint64		lo;				/* no key from lo to hi */
	uint64		hi;
	uint64		storage;		/* rencoder_fact_storage() */
	BlockNumber page;			/* of the heap */
	uint32		check;			/* of all bytes before (private) */
} RencoderFact;

StaticAssertDecl(sizeof(RencoderFact) == 32, "RencoderFact is on disk");

#define RENCODER_PAGE_BUCKETS \
	(RENCODER_PAYLOAD_SIZE / (RENCODER_BUCKET_FACTS * sizeof(RencoderFact)))
#define RENCODER_PAGE_MAX_FACTS	((int) (RENCODER_PAGE_BUCKETS * RENCODER_BUCKET_FACTS))

/*
 * Which run named the page, by its rank, for which column (0-based).  "box": lo and hi are the keys of
 * its corners.
 */
#define rencoder_fact_storage(rank, col, box) \
	((uint64) (rank) << 8 | (uint64) (col) << 2 | (uint64) (box) << 1)
#define rencoder_fact_rank(fact)	((uint32) ((fact)->storage >> 8))
#define rencoder_fact_is_box(fact)	(((fact)->storage & 2) != 0)
#define rencoder_fact_col(fact)		((int) ((fact)->storage >> 2 & 0x3F))

/*
 * The facts of just this interval of keys, palloc'd; *n is their number.  Locks: a page share,
 * released.  Works on a standby.
 */
extern RencoderFact *rencoder_facts_find(Relation index, BlockNumber root, uint64 lo, uint64 hi,
										 int *n);

/* All facts of a page, into "facts", with room for RENCODER_PAGE_MAX_FACTS; their number.  Likewise. */
extern int	rencoder_facts_read_page(Relation index, BlockNumber blkno, RencoderFact *facts);

/*
 * Puts a fact as a hint, when all that it relies on has been read.  Not on a standby.  Locks: a page
 * exclusive, released.  WAL: rencoder_hints_changed().
 */
extern void rencoder_facts_put(Relation index, BlockNumber root, const RencoderFact *fact);

#endif							/* RENCODER_FACT_PAGES_H */
