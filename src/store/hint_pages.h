/*
 * hint_pages.h
 *		Pages of hints: query samples, counts of scans.
 *
 * They are made all together and never move:
 *
 *		metapage.hint_root -> counts (stats_page.h), pages of column 0 (sample_pages.h), of column 1, ...
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

/* All of them, and the first, or RENCODER_NO_BLOCK. */
#define rencoder_hints_npages(index) \
	(1 + rencoder_key_columns(index) * RENCODER_SAMPLE_PAGES)
#define rencoder_hints_root(index) \
	rencoder_space_find_root(index, RENCODER_PAGE_HINTS)

/* Makes them, if there are none, as rencoder_space_ensure_root(). */
#define rencoder_hints_ensure_pages(index) \
	rencoder_space_ensure_root(index, RENCODER_PAGE_HINTS, rencoder_hints_npages(index))

/* The same for an index of a table that is big enough for them. */
extern void rencoder_hints_make_pages(Relation index, BlockNumber heap_nblocks);

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
