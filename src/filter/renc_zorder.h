/*
 * renc_zorder.h
 *		Keys of points in Z-order, and boxes as queries over them.
 *
 * Each axis of a plane is cut into 2^32 cells; the key of a point interleaves
 * the bits of its two cells, x first:
 *
 *		63                                  0
 *		| x31 y31 x30 y30 ...   ... x0 y0 |
 *
 * so that a node of the segment tree, a prefix of keys, is a rectangle: a
 * square, or half of one.  The predicate over nodes asks whether this rectangle
 * meets the box.
 *
 * A point with a coordinate that is not a number lies nowhere in the plane.
 * All of these share the last key, RENC_POINT_NAN, whose two cells no other
 * coordinate falls into.
 */
#ifndef RENC_ZORDER_H
#define RENC_ZORDER_H

#include "renc_query.h"

/* The last cell of numbers on an axis; infinity lies in it. */
#define RENC_AXIS_LAST	(UINT32_MAX - 1)

/* The key of points with a NaN, and the cell of both its axes. */
#define RENC_POINT_NAN	UINT64_MAX
#define RENC_AXIS_NAN	UINT32_MAX

/*
 * The cell of a coordinate, which is not NaN: monotone, so that x <= y implies
 * cell(x) <= cell(y); -0 and 0 share theirs.  "bounds" (finite, from <= to)
 * are those of most coordinates, for which the cells are of one width; what
 * lies outside falls into the first and last cell.  Without bounds (NULL),
 * cells are as wide as 2^-20 times the coordinate.
 */
extern uint32_t renc_axis_cell(const double *bounds, double coordinate);

/* The key of two cells, and back. */
extern uint64_t renc_zorder(uint32_t x, uint32_t y);
extern void renc_zorder_split(uint64_t key, uint32_t *x, uint32_t *y);

/* Cells from lo to hi, both included, on each axis. */
typedef struct renc_box
{
	uint32_t	xlo;
	uint32_t	xhi;
	uint32_t	ylo;
	uint32_t	yhi;

	/* Set by renc_box_set_prepare(). */
	uint64_t	first;			/* key of the box' first corner */
	uint64_t	reach;			/* last key of it and of all boxes before it */
} renc_box;

/* The union of some boxes, prepared; at least one. */
typedef struct renc_box_set
{
	const renc_box *box;
	size_t		n;
} renc_box_set;

/* Sorts boxes as a set needs them and drops doubles; returns how many stay. */
extern size_t renc_box_set_prepare(renc_box *box, size_t n);

/*
 * How the keys [lo, hi] relate to a set of boxes.  Exact for one box and
 * nodes, also for whether one box meets other intervals (the bounds of block
 * ranges); RENC_PARTIAL on doubt.
 */
extern renc_overlap renc_box_set_overlap(const void *set, uint64_t lo, uint64_t hi);

/* The query of a set of boxes; "set" must outlive it. */
extern renc_query renc_query_boxes(const renc_box_set *set);

/* How the rectangle of a node, whose first and last key these are, meets a box. */
extern renc_overlap renc_box_node_overlap(const renc_box *box, uint64_t lo, uint64_t hi);

#endif							/* RENC_ZORDER_H */
