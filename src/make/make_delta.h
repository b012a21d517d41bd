/*
 * make_delta.h
 *		Deltas: runs of the entries of the pending list.
 */
#ifndef RENCODER_MAKE_DELTA_H
#define RENCODER_MAKE_DELTA_H

#include "store/catalog.h"

/* Closed pages of the pending list that are worth a delta. */
#define RENCODER_DELTA_PAGES	8	/* or while few read them */
#define RENCODER_DELTA_READ_PAGES	3	/* while many scans read them */
#define RENCODER_DELTA_UNREAD_PAGES	32	/* while none do */

/*
 * So many times as large as what is new may be a delta that a new one takes in: while rows come and no scans do,
 * or few, or a session that inserts makes it, while many scans come, and when no rows do.
 */
#define RENCODER_DELTA_UNREAD	0.34
#define RENCODER_DELTA_BUSY		1
#define RENCODER_DELTA_READ		3
#define RENCODER_DELTA_AT_REST	8

/*
 * Makes a delta of the closed pages of the pending list, if there are "least" of them (several, if
 * they have keys of several generations of a coder); merges it with deltas that are not larger
 * than "factor" times it, of "most" pages in all unless the catalog is nearly full; and frees what
 * crashes and earlier changes left.  Without room in the catalog none is made.
 *
 * The caller has the maintainer lock and no content lock.  Memory: maintenance_work_mem.  If it is
 * cancelled, what is done so far is freed the next time.  WAL: of the run (run_pages.h), then of
 * the catalog.
 */
extern void rencoder_make_delta(Relation index, uint64 least, uint32 most, double factor);

/*
 * The same for a maintainer who makes a base run, number "making", which has the entries up to "cut": if 8
 * pages are closed.  What is up to the cut, and what is behind it, become two deltas, since the former
 * goes with that run.
 */
extern void rencoder_make_delta_meanwhile(Relation index, uint64 cut, uint32 making);

/*
 * For an index that no rows come to: closes the tail, if another page is closed, or, with "all", if it
 * has an entry; makes a delta of what is closed, and merges deltas as far as is worth it.  Takes and
 * releases the maintainer lock, after that of the linker (pending.h): who has the former may ask
 * for no other heavyweight lock.
 */
extern void rencoder_make_delta_at_rest(Relation index, bool all);

/* Rewrites the deltas without entries that are not needed.  Locks and memory likewise. */
extern void rencoder_make_delta_anew(Relation index);

/*
 * How many entries of deltas are needed of the first "npages" heap pages, of the next, and so on, "n"
 * times.  Maintainer, or whoever can do with a guess.  Locks: those of reading pages.
 */
extern void rencoder_make_delta_count(Relation index, BlockNumber npages, uint64 *count, int n);

#endif							/* RENCODER_MAKE_DELTA_H */
