/*
 * fact_pages.h
 *		Facts: what scans read in vain, kept in the index.
 *
 * A fact says that on some heap pages no row has a key of a column between two keys, but for rows
 * that came later and are entries, as long as the group's directory entry has the same epoch, that
 * is, the same storage (INV-16).
 *
 * Four pages, made all together with the first fact, and never moved:
 *
 *		metapage.fact_root -> page
 *		 0       a bucket: 50 facts of 40 bytes    8000
 *		 | bucket 0 | bucket 1 | bucket 2 | bucket 3 | zero |
 *
 *		a fact
 *		 0    8    16      24      28       30    32
 *		 | lo | hi | epoch | first | npages | col | check |
 *
 * The heap page chooses page and bucket.  In a bucket the newest fact comes first, and the oldest
 * falls out.  Facts are hints, as query samples are (sample_pages.h): not logged.  A crash, a
 * standby or a backup has older ones, which are as true as ever.  None is newer than the WAL that it
 * relies on, which was flushed before.  A torn or damaged fact has a wrong check value, as has one
 * of another index.
 */
#ifndef RENCODER_FACT_PAGES_H
#define RENCODER_FACT_PAGES_H

#include "store/space.h"

#define RENCODER_FACT_PAGES		4

typedef struct RencoderFact
{
	uint64		lo;				/* no key from lo to hi */
	uint64		hi;
	uint64		epoch;			/* of the group's directory entry */
	BlockNumber first;			/* heap pages */
	uint16		npages;
	uint16		col;			/* 0-based */
	uint64		check;			/* of all bytes before (private) */
} RencoderFact;

StaticAssertDecl(sizeof(RencoderFact) == 40, "RencoderFact is on disk");

/*
 * Makes the pages, if there are none; returns the first, or RENCODER_NO_BLOCK while another
 * maintainer is at work.  Takes and releases the maintainer lock.  WAL: each page whole, then the
 * metapage.
 */
extern BlockNumber rencoder_facts_make(Relation index);

/*
 * Is there a fact of just these pages, this column and epoch, for all keys from lo to hi?  Locks: a
 * page share, released.  Works on a standby.
 */
extern bool rencoder_facts_known(Relation index, BlockNumber root, const RencoderFact *asked);

/*
 * Puts a fact as a hint; the WAL that it relies on is flushed.  Not on a standby.  Locks: a page
 * exclusive, released.  WAL: as query samples of scans.
 */
extern void rencoder_facts_put(Relation index, BlockNumber root, const RencoderFact *fact);

#endif							/* RENCODER_FACT_PAGES_H */
