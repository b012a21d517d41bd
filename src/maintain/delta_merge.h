/*
 * delta_merge.h
 *		Deltas: runs of the keys that came to summarized ranges after their storage.
 */
#ifndef RENCODER_DELTA_MERGE_H
#define RENCODER_DELTA_MERGE_H

#include "make/run_sorter.h"
#include "store/run_pages.h"

/* Closed pages of the pending list that are worth a delta. */
#define RENCODER_DELTA_PAGES	8
#define RENCODER_DELTA_READ_PAGES	3	/* while scans read them */

/*
 * So many times as large as what is new may be a delta that a new one takes in: while rows come,
 * while scans come, too, and when no rows do.
 */
#define RENCODER_DELTA_BUSY		1
#define RENCODER_DELTA_READ		3
#define RENCODER_DELTA_AT_REST	8

/*
 * Makes a delta of the closed pages of the pending list, if there are "least" of them (several, if
 * they have keys of several generations of a coder); merges it with deltas that are not larger
 * than "factor" times it, of "most" pages in all unless the list is nearly full; and frees what
 * crashes and earlier changes left.  Without room in the list of runs none is made.
 *
 * The caller has the maintainer lock and no content lock.  Memory: maintenance_work_mem.  If it is
 * cancelled, what is done so far is freed the next time.  WAL: of the run (run_pages.h), then of
 * the list of runs.
 */
extern void rencoder_delta_make(Relation index, uint64 least, uint32 most, double factor);

/*
 * The same for a maintainer who makes a base run, number "making", of groups whose cut is to be
 * "cut": if 8 pages are closed.  Older deltas stay as they are: they go when that run is made.
 */
extern void rencoder_delta_make_meanwhile(Relation index, uint64 cut, uint32 making);

/*
 * For an index that no rows come to: closes the tail, if another page is closed, or, with "all", if it
 * has an entry; makes a delta of what is closed, and merges deltas as far as is worth it.  Takes and
 * releases the maintainer lock, after that of the linker (pending.h): who has the former may ask
 * for no other heavyweight lock.
 */
extern void rencoder_delta_make_at_rest(Relation index, bool all);

/*
 * Sorts what a sorter was given, writes it as a tree of a delta, and ends the sorter.  "coder" made the
 * keys; the others as of rencoder_run_writer_begin_tree().
 */
extern void rencoder_delta_write_tree(RencoderRunWriter *writer, int tree, uint32 coder,
									  RencoderRunSorter *sorter, BlockNumber first_page,
									  uint32 npages, renc_places places);

/*
 * Adds to count[group] how many keys of a group deltas and the pending list have that its storage
 * has not.  Maintainer.  Locks: those of reading pages.
 */
extern void rencoder_delta_count_keys(Relation index, uint32 ngroups, uint64 *count);

/*
 * Rewrites the deltas without the keys that storage has by now.  Locks and memory: as of making
 * one, and the maintainer lock, which it takes.
 */
extern void rencoder_delta_drop_needless(Relation index);

#endif							/* RENCODER_DELTA_MERGE_H */
