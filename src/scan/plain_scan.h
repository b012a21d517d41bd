/*
 * plain_scan.h
 *		Handing out rows one by one, as a plain index scan wants them.
 *
 * Whatever the index may say to a bitmap is right here, too, as each row is rechecked (INV-1).  Two
 * things are not: that a row comes twice, and that one is missed since the index changed between
 * two calls.  So a search is done from beginning to end within one call (INV-7), what it has found
 * is a list, and the list is handed out.  Nobody holds a lock or a pin meanwhile but the executor.
 *
 * Who wants one row of many should not wait for all.  So a search of one column (of several columns:
 * RencoderEarlyEnd) is broken off after some entries, and these are handed out; if more are wanted, it
 * is done anew, with a bound that is 4 times as high, and at last with none.  What was handed out
 * before is left out: all rows are in the last list, which is that of a whole search, however the
 * index has changed.
 *
 * Pages of the table are fetched ahead, as a bitmap scan does it: one after the first page, and twice as
 * many after each further one, up to effective_io_concurrency.
 */
#ifndef RENCODER_PLAIN_SCAN_H
#define RENCODER_PLAIN_SCAN_H

#include "base/compat.h"

#include "access/htup_details.h"
#include "access/relscan.h"

#include "run/renc_stretches.h"
#include "scan/candidates.h"

/* Line pointers of a page: those that candidates tell apart, or all. */
#define RENCODER_PLAIN_WORDS	((Max(MaxHeapTuplesPerPage, RENC_MAX_PAGE_ROWS) + 63) / 64)

/* Entries that the first search looks for. */
#define RENCODER_PLAIN_FIRST_ENTRIES	32

/* And each further one, in times of the one before, and the last that has a limit. */
#define RENCODER_PLAIN_LIMIT_FACTOR		4
#define RENCODER_PLAIN_LAST_ENTRIES		(RENCODER_PLAIN_FIRST_ENTRIES * 256)

typedef struct RencoderPlainScan
{
	bool		begun;			/* was there a search since the beginning? */
	bool		complete;		/* was the last one a whole one? */
	int64		pages;			/* that rows were handed out of, since the
								 * beginning */

	/* Private. */
	MemoryContext context;
	uint32		limit;			/* of the next search */
	RencoderEarlyEnd early;		/* of the last one */
	renc_stretches list;		/* what that has found */
	renc_stretches_cursor next;
	renc_stretches_cursor ahead;	/* of the pages fetched ahead, the last */
	uint32		nahead;			/* of them, that are not handed out yet; */
	uint32		most_ahead;		/* as many as may be, */
	uint32		distance;		/* and as many as the tablespace allows */
	renc_stretches earlier;		/* what was handed out of those before */
	renc_stretches_cursor left_out;
	BlockNumber counted;		/* last, or InvalidBlockNumber */
	BlockNumber page;			/* that is being handed out */
	int			word;			/* of "row", the first that is not zero */
	uint64		row[RENCODER_PLAIN_WORDS];	/* what is left of the page */
} RencoderPlainScan;

/* Its memory will be in the current context. */
extern void rencoder_plain_scan_init(RencoderPlainScan *plain);

/* Begins anew: nothing was handed out. */
extern void rencoder_plain_scan_rewind(RencoderPlainScan *plain);

/* Begins a list anew that is no search's: what was handed out does not matter. */
extern void rencoder_plain_scan_take(RencoderPlainScan *plain, const renc_stretches *rows);

/* Frees memory. */
extern void rencoder_plain_scan_end(RencoderPlainScan *plain);

/*
 * Before a search: where it may be broken off, or NULL.  What it has found is to be handed to
 * rencoder_plain_scan_end_search().
 */
extern RencoderEarlyEnd *rencoder_plain_scan_begin_search(RencoderPlainScan *plain);
extern void rencoder_plain_scan_end_search(RencoderPlainScan *plain, const renc_stretches *rows);

/*
 * The next row that the last search has found, in scan->xs_heaptid; false if there is none.  Reads
 * pages of the table of which rows are not told.  Locks: such a page share, released.
 */
extern bool rencoder_plain_scan_next(RencoderPlainScan *plain, IndexScanDesc scan);

#endif							/* RENCODER_PLAIN_SCAN_H */
