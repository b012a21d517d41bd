/*
 * slice_edge.h
 *		Where a slice of an ordered scan is to end: behind so many entries.
 *
 * A guess, which costs time if it is wrong, never a row: what a slice has is found by its search.
 */
#ifndef RENCODER_SLICE_EDGE_H
#define RENCODER_SLICE_EDGE_H

#include "scan/scan_copies.h"

#include "key/key.h"

typedef struct RencoderSliceEdge
{
	bool		backward;		/* it is the least key of the slice, else the
								 * greatest */
	uint64		key;			/* the caller sets it to the end of all */
	bool		crowded;		/* entries are many more, and have one cell */
} RencoderSliceEdge;

/*
 * Moves the edge to where a run, or delta, of the copy whose keys are by "generation" has "n" entries of
 * the set before it, of runs that have as many.  *npages is increased by the pages read.  Locks: those
 * of reading a page of a run, one at a time, released.
 */
extern void rencoder_slice_edge_find(Relation index, RencoderCopies *copies, uint32 generation,
									 const renc_interval_set *set, uint32 n, RencoderSliceEdge *edge,
									 int64 *npages);

#endif							/* RENCODER_SLICE_EDGE_H */
