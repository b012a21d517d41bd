/*
 * boxes.h
 *		Sets of keys of points as lists of boxes.
 */
#ifndef RENCODER_BOXES_H
#define RENCODER_BOXES_H

#include "base/compat.h"

#include "filter/renc_zorder.h"
#include "key/intervals.h"

typedef struct RencoderBoxes
{
	renc_box   *box;			/* palloc'd, possibly huge; NULL if never used */
	size_t		n;
	size_t		capacity;
} RencoderBoxes;

/* Appends the cells from lo to hi of each axis; nothing if lo > hi in one. */
extern void rencoder_boxes_add(RencoderBoxes *list, uint32 xlo, uint32 xhi,
							   uint32 ylo, uint32 yhi);

/*
 * Leaves of "list" what is also in "other", or more than that if saying it
 * would take too many boxes.
 */
extern void rencoder_boxes_intersect(RencoderBoxes *list, const RencoderBoxes *other);

/*
 * Adds intervals that hold all keys of the boxes, and others: of one box at most 32, of
 * each of many 4.  Normalized.
 */
extern void rencoder_boxes_to_intervals(const renc_box_set *boxes, RencoderIntervals *intervals);

/* The part of the keys of such intervals that the boxes have; 1 at most. */
extern double rencoder_boxes_covered_part(const renc_box_set *boxes, renc_interval_set intervals);

#endif							/* RENCODER_BOXES_H */
