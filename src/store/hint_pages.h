/*
 * hint_pages.h
 *		Pages of hints: query samples, counts of scans.
 *
 * They are made all together, named by the metapage, and never move.  Scans change them as hints
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

/*
 * Pins a block that the metapage names, which may be damaged; InvalidBuffer: there is none.  A page
 * whose checksum is wrong is seen as an empty one, with a warning: the disk is at fault.
 */
extern Buffer rencoder_hints_pin(Relation index, BlockNumber blkno);

/* Is it a page of the type?  It is locked. */
extern bool rencoder_hints_valid(Buffer buf, uint16 page_id);

/*
 * Pins and locks a page of the type; InvalidBuffer if it is none.  Unless "busy" is NULL, it does
 * not wait for the lock, which is exclusive then, but sets *busy.
 */
extern Buffer rencoder_hints_lock(Relation index, BlockNumber blkno, uint16 page_id, int lockmode,
								  bool *busy);

/*
 * The page, which is locked exclusively, has been changed as a hint: marks it dirty, raises its LSN,
 * and unlocks it.  Not on a standby.  WAL: with data checksums or wal_log_hints, the page whole, once
 * after each checkpoint.
 */
extern void rencoder_hints_changed(Relation index, Buffer buf);

#endif							/* RENCODER_HINT_PAGES_H */
