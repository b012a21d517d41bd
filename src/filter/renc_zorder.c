/*
 * renc_zorder.c
 *		Keys of points in Z-order, and boxes as queries over them.
 */
#include "renc_zorder.h"

#include <math.h>
#include <stdlib.h>

/*
 * Boxes of a set that are looked at closely for one interval.  Where more of
 * them crowd around it, it counts as met: with thousands of boxes an answer
 * would cost more than it saves.
 */
#define MAX_CLOSE_LOOKS	256

/* Cells between the first one and the last: those within the bounds. */
#define INNER_CELLS		((double) (RENC_AXIS_LAST - 1))

/* The upper half of the bits of a number, in the order of numbers. */
static uint32_t
zorder_number_bits(double coordinate)
{
	uint64_t	bits;

	/* Minus zero is zero. */
	if (coordinate == 0)
		coordinate = 0;
	memcpy(&bits, &coordinate, sizeof(bits));
	bits = (bits >> 63) != 0 ? ~bits : bits | (UINT64_C(1) << 63);
	return (uint32_t) (bits >> 32);
}

/*
 * Each step rounds monotonically: subtracting a constant, dividing by and
 * multiplying with positive ones.  Nothing is added to a product, which some
 * compilers would round once instead of twice.
 */
uint32_t
renc_axis_cell(const double *bounds, double coordinate)
{
	double		width;
	double		offset;
	double		cell;

	if (bounds == NULL)
		return zorder_number_bits(coordinate);
	if (coordinate < bounds[0])
		return 0;
	if (coordinate > bounds[1])
		return RENC_AXIS_LAST;
	width = bounds[1] - bounds[0];
	offset = coordinate - bounds[0];
	if (isinf(width))
	{
		width = bounds[1] / 2 - bounds[0] / 2;
		offset = coordinate / 2 - bounds[0] / 2;
	}
	if (width == 0)
		return 1;
	cell = floor(offset / width * INNER_CELLS);
	if (cell >= INNER_CELLS)
		return RENC_AXIS_LAST - 1;
	return 1 + (uint32_t) cell;
}

/* Moves the bits of a cell to every second place. */
static uint64_t
spread_zorder_bits(uint32_t cell)
{
	uint64_t	b = cell;

	b = (b | b << 16) & UINT64_C(0x0000FFFF0000FFFF);
	b = (b | b << 8) & UINT64_C(0x00FF00FF00FF00FF);
	b = (b | b << 4) & UINT64_C(0x0F0F0F0F0F0F0F0F);
	b = (b | b << 2) & UINT64_C(0x3333333333333333);
	b = (b | b << 1) & UINT64_C(0x5555555555555555);
	return b;
}

static uint32_t
gather_zorder_bits(uint64_t b)
{
	b &= UINT64_C(0x5555555555555555);
	b = (b | b >> 1) & UINT64_C(0x3333333333333333);
	b = (b | b >> 2) & UINT64_C(0x0F0F0F0F0F0F0F0F);
	b = (b | b >> 4) & UINT64_C(0x00FF00FF00FF00FF);
	b = (b | b >> 8) & UINT64_C(0x0000FFFF0000FFFF);
	b = (b | b >> 16) & UINT64_C(0x00000000FFFFFFFF);
	return (uint32_t) b;
}

uint64_t
renc_zorder(uint32_t x, uint32_t y)
{
	return spread_zorder_bits(x) << 1 | spread_zorder_bits(y);
}

void
renc_zorder_split(uint64_t key, uint32_t *x, uint32_t *y)
{
	*x = gather_zorder_bits(key >> 1);
	*y = gather_zorder_bits(key);
}

renc_overlap
renc_box_node_overlap(const renc_box *box, uint64_t lo, uint64_t hi)
{
	/* All bits from some on differ, on each axis every second of them. */
	int			bits = lo == hi ? 0 : RENC_KEY_BITS - __builtin_clzll(lo ^ hi);
	uint32_t	xhi;
	uint32_t	yhi;
	uint32_t	xlo;
	uint32_t	ylo;

	renc_zorder_split(lo, &xlo, &ylo);
	xhi = xlo | (uint32_t) ((UINT64_C(1) << bits / 2) - 1);
	yhi = ylo | (uint32_t) ((UINT64_C(1) << (bits + 1) / 2) - 1);
	if (xlo > box->xhi || xhi < box->xlo || ylo > box->yhi || yhi < box->ylo)
		return RENC_DISJOINT;
	if (xlo >= box->xlo && xhi <= box->xhi && ylo >= box->ylo && yhi <= box->yhi)
		return RENC_INSIDE;
	return RENC_PARTIAL;
}

/* All bits below the first in which the two differ, and that. */
static uint64_t
differing_zorder_bits(uint64_t lo, uint64_t hi)
{
	return lo == hi ? 0 : UINT64_MAX >> __builtin_clzll(lo ^ hi);
}

/*
 * Does the box meet the keys [lo, hi] within the node of "mask" below
 * "prefix"?  Of the nodes of a level only the two that hold lo and hi are cut
 * by the interval, so the recursion looks at less than 256.
 */
static bool
interval_meets_box(const renc_box *box, uint64_t lo, uint64_t hi, uint64_t prefix,
				   uint64_t mask)
{
	if (hi < prefix || lo > (prefix | mask) ||
		renc_box_node_overlap(box, prefix, prefix | mask) == RENC_DISJOINT)
		return false;
	if (lo <= prefix && hi >= (prefix | mask))
		return true;
	mask >>= 1;
	return interval_meets_box(box, lo, hi, prefix, mask) ||
		interval_meets_box(box, lo, hi, prefix | (mask + 1), mask);
}

static renc_overlap
box_overlap(const renc_box *box, uint64_t lo, uint64_t hi)
{
	uint64_t	mask = differing_zorder_bits(lo, hi);
	uint64_t	prefix = lo & ~mask;
	renc_overlap overlap = renc_box_node_overlap(box, prefix, prefix | mask);

	/* Is the interval a node? */
	if (overlap != RENC_PARTIAL || (prefix == lo && (prefix | mask) == hi))
		return overlap;
	return interval_meets_box(box, lo, hi, prefix, mask) ? RENC_PARTIAL : RENC_DISJOINT;
}

renc_overlap
renc_box_set_overlap(const void *arg, uint64_t lo, uint64_t hi)
{
	const renc_box_set *set = (const renc_box_set *) arg;
	renc_overlap result = RENC_DISJOINT;
	int			looks = 0;
	size_t		left = 0;
	size_t		right = set->n;

	/* The first box that may reach the interval. */
	while (left < right)
	{
		size_t		mid = left + (right - left) / 2;

		if (set->box[mid].reach < lo)
			left = mid + 1;
		else
			right = mid;
	}
	for (size_t i = left; i < set->n && set->box[i].first <= hi; i++)
	{
		if (++looks > MAX_CLOSE_LOOKS)
			return RENC_PARTIAL;
		switch (box_overlap(&set->box[i], lo, hi))
		{
			case RENC_DISJOINT:
				break;
			case RENC_PARTIAL:
				result = RENC_PARTIAL;
				break;
			case RENC_INSIDE:
				return RENC_INSIDE;
		}
	}
	return result;
}

static int
compare_zorder_boxes(const void *a, const void *b)
{
	const renc_box *x = (const renc_box *) a;
	const renc_box *y = (const renc_box *) b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->reach > y->reach) - (x->reach < y->reach);
}

size_t
renc_box_set_prepare(renc_box *box, size_t n)
{
	size_t		kept = 0;

	for (size_t i = 0; i < n; i++)
	{
		box[i].first = renc_zorder(box[i].xlo, box[i].ylo);
		box[i].reach = renc_zorder(box[i].xhi, box[i].yhi);
	}
	qsort(box, n, sizeof(*box), compare_zorder_boxes);
	for (size_t i = 0; i < n; i++)
	{
		if (kept == 0 || compare_zorder_boxes(&box[kept - 1], &box[i]) != 0)
			box[kept++] = box[i];
	}
	for (size_t i = 1; i < kept; i++)
	{
		if (box[i].reach < box[i - 1].reach)
			box[i].reach = box[i - 1].reach;
	}
	return kept;
}

renc_query
renc_query_boxes(const renc_box_set *set)
{
	renc_query	q;

	q.hull_lo = set->box[0].first;
	q.hull_hi = set->box[set->n - 1].reach;
	q.overlap = renc_box_set_overlap;
	q.arg = set;
	return q;
}
