/*
 * hint_pages.h
 *		Pages of hints: query samples, counts of scans.
 *
 * They never move once they are made, samples only where there are to be filters:
 *
 *		metapage.stats_root   -> counts (stats_page.h)
 *		metapage.samples_root -> pages of column 0 (sample_pages.h), of column 1, ...
 *
 * Scans change them as hints
 * (rencoder_hints_changed): not logged.  So a crash may lose or tear what stands there, a standby has
 * what was in the last full page image, and each thing bears a check value.  A page that is not what
 * it should be is none.  Wherever such a page is logged, it is logged whole: a delta would be
 * against bytes that the standby never got.
 *
 * A hint relies on what other pages said when it was made: a sample on a coder.  So the page bears the
 * LSN of all WAL that there was, and is written after it: no hint outlives a record that it relies on
 * (INV-16).
 */
#ifndef RENCODER_HINT_PAGES_H
#define RENCODER_HINT_PAGES_H

#include "store/space.h"

/* Pages of query samples of a column (disk format). */
#define RENCODER_SAMPLE_PAGES	4

/*
 * Tables of fewer pages are not worth pages of hints: their share of the index would be felt.
 */
#define RENCODER_HINT_MIN_HEAP		1024

/* Pages of one of the two. */
static inline uint32
rencoder_hints_npages(Relation index, RencoderRoot which)
{
	return which == RENCODER_ROOT_STATS ? 1 : rencoder_key_columns(index) * RENCODER_SAMPLE_PAGES;
}

/*
 * Makes them, if there are none.  "log": of an index in use; takes the maintainer lock.  WAL: as
 * rencoder_space_make_root().
 */
extern void rencoder_hints_ensure_pages(Relation index, RencoderRoot which, bool log);

/* The same, of those that it uses, for an index of a table that is big enough for them. */
extern void rencoder_hints_make_pages(Relation index, BlockNumber heap_nblocks, bool log);

/*
 * Pins a block that the metapage names, which may be damaged; InvalidBuffer: there is none.  A page
 * whose checksum is wrong is seen as an empty one, with a warning: the disk is at fault.
 */
extern Buffer rencoder_hints_pin(Relation index, BlockNumber blkno);

/* Is it a page of hints?  It is locked. */
extern bool rencoder_hints_valid(Buffer buf);

/*
 * Pins and locks a page of hints; InvalidBuffer if it is none.  Unless "busy" is NULL, it does
 * not wait for the lock, which is exclusive then, but sets *busy.
 */
extern Buffer rencoder_hints_lock(Relation index, BlockNumber blkno, int lockmode, bool *busy);

/*
 * The page, which is locked exclusively, has been changed as a hint: marks it dirty, raises its LSN,
 * and unlocks it.  Not on a standby.  WAL: with data checksums or wal_log_hints, the page whole, once
 * after each checkpoint.
 */
extern void rencoder_hints_changed(Relation index, Buffer buf);

#endif							/* RENCODER_HINT_PAGES_H */
