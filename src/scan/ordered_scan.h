/*
 * ordered_scan.h
 *		Handing out rows in the order of the index's column.
 *
 * The keys asked for are cut into slices, in the order wanted.  The rows of a slice are found as any
 * scan finds them, fetched, and sorted by their values; those whose key is not in the slice are left
 * out, as they come in theirs.  Keys are monotone, so slice after slice all rows come in order, each
 * once, whatever runs, deltas and the pending list have of them, and whatever becomes of these between
 * two slices: each is searched with a copy of the catalog that is right for it (INV-19).
 *
 *		keys	|-- slice --|-- slice --------|-- slice ..
 *				 3 entries    19                76, or a value with many rows alone
 *
 * If it is known how many rows are wanted, the first slice has as many entries.
 *
 * Rows that no run covers are read once, and kept as keys with line pointers.  Nulls are a slice of
 * their own, before or behind.  Rows of a slice whose only key stands for one value need no order.
 */
#ifndef RENCODER_ORDERED_SCAN_H
#define RENCODER_ORDERED_SCAN_H

#include "base/compat.h"

#include "access/genam.h"
#include "access/sdir.h"

#include "scan/candidates.h"

/* Entries that the first slice of a scan is to have: for who wants the least, or the greatest. */
#define RENCODER_ORDERED_FIRST_ENTRIES	3

/*
 * In sk_flags of a scan key, which has bits for access methods: rows may come in any order, or how many
 * are wanted, up to the most that can be said; 0 if that is not known.
 */
#define RENCODER_SK_ANY_ORDER			0x00010000
#define RENCODER_SK_WANTED_SHIFT		17
#define RENCODER_SK_MOST_WANTED			0x0FFF

typedef struct RencoderOrderedScan RencoderOrderedScan;

/* In the current context; NULL: rows of this scan need not come in order. */
extern RencoderOrderedScan *rencoder_ordered_scan_begin(IndexScanDesc scan);

/* Begins anew, with other scan keys. */
extern void rencoder_ordered_scan_rewind(RencoderOrderedScan *order);

/*
 * Before a search: takes the catalog's copy, and reads pages that no run covers, unless that was done.
 * Runs functions of the index.  Locks: those of rencoder_copies_begin(), and of fetching rows, released.
 */
extern void rencoder_ordered_scan_prepare(RencoderOrderedScan *order, IndexScanDesc scan,
										  RencoderCopies *copies, int64 *index_pages);

typedef enum RencoderSliceFound
{
	RENCODER_SLICE_NONE,		/* there is no slice any more */
	RENCODER_SLICE_AGAIN,		/* the catalog has changed: prepare and search
								 * again */
	RENCODER_SLICE_FOUND
} RencoderSliceFound;

/*
 * Searches the next slice of a query, which is clipped, or more of the last one.  Locks: those of
 * rencoder_candidates_find(), released.
 */
extern RencoderSliceFound rencoder_ordered_scan_search(RencoderOrderedScan *order, IndexScanDesc scan,
													   ScanDirection direction, RencoderQuery *query,
													   RencoderCopies *copies,
													   RencoderCandidates *found);

/*
 * Fetches and sorts what was found; false: search again.  Runs functions of the index.  Locks: those of
 * fetching rows, released.
 */
extern bool rencoder_ordered_scan_sort(RencoderOrderedScan *order, IndexScanDesc scan);

/* The next row of the slice, in scan->xs_heaptid; false: there is none. */
extern bool rencoder_ordered_scan_next(RencoderOrderedScan *order, IndexScanDesc scan);

/* Pages of the table that rows were fetched from, since the beginning. */
extern int64 rencoder_ordered_scan_pages(const RencoderOrderedScan *order);

extern void rencoder_ordered_scan_end(RencoderOrderedScan *order);

#endif							/* RENCODER_ORDERED_SCAN_H */
