/*
 * uncovered.h
 *		Rows that no run covers, as keys with line pointers: read once by an ordered scan.
 *
 * They are on pages behind the frontier, or of runs that the snapshot does not trust.  When the catalog
 * was copied again, other pages may be among them; what was read stays true for the snapshot.
 */
#ifndef RENCODER_UNCOVERED_H
#define RENCODER_UNCOVERED_H

#include "base/compat.h"

#include "access/relscan.h"

#include "run/renc_stretches.h"
#include "scan/scan_copies.h"
#include "scan/slice_edge.h"

/* Fetches the row at scan->xs_heaptid, and makes its key; false: none is seen there. */
typedef bool (*RencoderFetchRow) (void *arg, IndexScanDesc scan, RencoderRowKind *kind, uint64 *key);

struct RencoderUncoveredRow;

typedef struct RencoderUncovered
{
	uint64		version;		/* of the catalog by which they were read last */
	Size		nrows;
	int64		pages;			/* of the table that were read */

	/* Private. */
	bool		known;			/* is there a version? */
	renc_stretches list;		/* of these pages */
	struct RencoderUncoveredRow *row;	/* in order of keys */
	Size		room;
	bool		keyless;		/* has any row no key? */
} RencoderUncovered;

/* In the current context. */
extern void rencoder_uncovered_init(RencoderUncovered *uncovered);

/* Nothing was read, in this snapshot. */
extern void rencoder_uncovered_forget(RencoderUncovered *uncovered);

/*
 * Reads those of the copy that were not read yet.  False: they are too many, or have values without a
 * key, and all rows are to be sorted at once.  Locks: those of "fetch", released.
 */
extern bool rencoder_uncovered_read(RencoderUncovered *uncovered, IndexScanDesc scan,
									const RencoderCopies *copies, RencoderFetchRow fetch, void *arg);

/* Adds those with a key from lo to hi, or with a null, to a list, which is then in order. */
extern void rencoder_uncovered_add(const RencoderUncovered *uncovered, bool nulls, uint64 lo, uint64 hi,
								   renc_stretches *list);

/* Moves the edge to where they have n keys from lo to hi, if they have as many. */
extern void rencoder_uncovered_move_edge(const RencoderUncovered *uncovered, uint64 lo, uint64 hi, uint32 n,
										 RencoderSliceEdge *edge);

extern void rencoder_uncovered_end(RencoderUncovered *uncovered);

#endif							/* RENCODER_UNCOVERED_H */
