/*
 * wal.h
 *		Logging of page changes.  The only user of generic WAL.
 *
 * Three ways to change pages:
 *
 *	- rencoder_wal_begin .. register .. finish: one atomic record for up to
 *	  RENCODER_WAL_MAX_PAGES pages that exist;
 *	- rencoder_wal_append: the same for an entry at the end of a page, without a copy of
 *	  it;
 *	- rencoder_wal_write_fresh: a page nobody refers to yet, logged whole.
 *
 * All locks on the buffers are the caller's, who holds them exclusively from
 * register to finish.
 */
#ifndef RENCODER_WAL_H
#define RENCODER_WAL_H

#include "store/page.h"

#include "access/generic_xlog.h"

/* MAX_GENERIC_XLOG_PAGES: pages of one record. */
#define RENCODER_WAL_MAX_PAGES	MAX_GENERIC_XLOG_PAGES

typedef struct RencoderWal RencoderWal;

/*
 * Begins a record.  Without "log", pages are changed in place and nothing is
 * logged: for builds, whose pages nobody else sees and which log the whole
 * fork at their end.  (A delta against a page that was never logged could not
 * be replayed.)
 */
extern RencoderWal *rencoder_wal_begin(Relation index, bool log);

/* Returns the image to change; it becomes the page at finish. */
extern Page rencoder_wal_register(RencoderWal *wal, Buffer buffer);

/* Same for a page that is to be made anew: logged whole. */
extern Page rencoder_wal_register_new(RencoderWal *wal, Buffer buffer);

extern void rencoder_wal_finish(RencoderWal *wal);

/*
 * Appends bytes to a page at its pd_lower, which rises behind them (INV-5).  There must be
 * room.  The buffer is locked exclusively.  WAL: one record of the generic resource
 * manager, the same that begin .. register .. finish would write; none if the
 * relation needs none.
 */
extern void rencoder_wal_append(Relation index, Buffer buffer, const void *data, uint16 size);

/*
 * Makes block "blkno", which must exist and be referred to by nothing, a page
 * of the type with the payload given (NULL: zeroes).  Takes and releases the
 * buffer's exclusive lock.  Raises ERRCODE_INDEX_CORRUPTED if the block does not
 * exist (rencoder_page_renew).  WAL: the whole page, unless "log" is false (build
 * logs the whole index at its end) or the relation needs none.
 */
extern void rencoder_wal_write_fresh(Relation index, BlockNumber blkno,
									 uint16 page_id, const char *payload,
									 bool log);

/* Logs all pages of a fork, at the end of a build. */
extern void rencoder_wal_log_fork(Relation index, ForkNumber fork);

#endif							/* RENCODER_WAL_H */
