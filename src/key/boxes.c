/*
 * boxes.c
 *		Sets of keys of points as lists of boxes.
 */
#include "key/boxes.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

/* Pairs of boxes that an intersection is worked out for. */
#define MAX_PAIRS	100000

/* Intervals that cover the boxes of a set, but no less than so many for each. */
#define COVER_INTERVALS		32
#define COVER_INTERVALS_EACH	4

void
rencoder_boxes_add(RencoderBoxes *list, uint32 xlo, uint32 xhi, uint32 ylo, uint32 yhi)
{
	renc_box   *box;

	if (xlo > xhi || ylo > yhi)
		return;
	list->box = rencoder_list_with_room(list->box, list->n, &list->capacity, sizeof(renc_box));
	box = &list->box[list->n++];
	memset(box, 0, sizeof(*box));
	box->xlo = xlo;
	box->xhi = xhi;
	box->ylo = ylo;
	box->yhi = yhi;
}

void
rencoder_boxes_intersect(RencoderBoxes *list, const RencoderBoxes *other)
{
	RencoderBoxes result = {0};

	/* Either list alone is a superset of what both have in common. */
	if (list->n > 1 && other->n > 1 && list->n > MAX_PAIRS / other->n)
	{
		if (other->n < list->n)
			*list = *other;
		return;
	}
	for (size_t i = 0; i < list->n; i++)
	{
		const renc_box *a = &list->box[i];

		CHECK_FOR_INTERRUPTS();
		for (size_t j = 0; j < other->n; j++)
		{
			const renc_box *b = &other->box[j];

			rencoder_boxes_add(&result, Max(a->xlo, b->xlo), Min(a->xhi, b->xhi),
							   Max(a->ylo, b->ylo), Min(a->yhi, b->yhi));
		}
	}
	*list = result;
}

/* Nodes that cover a box. */
typedef struct BoxCover
{
	const renc_box *box;
	int			n;
	renc_interval node[COVER_INTERVALS];
	bool		partly[COVER_INTERVALS];	/* has it keys that are not in the
											 * box? */
} BoxCover;

/* Adds a node, if it meets the box. */
static void
cover_node_by_boxes(BoxCover *cover, uint64 lo, uint64 hi)
{
	renc_overlap overlap = renc_box_node_overlap(cover->box, lo, hi);

	if (overlap == RENC_DISJOINT)
		return;
	cover->node[cover->n].lo = lo;
	cover->node[cover->n].hi = hi;
	cover->partly[cover->n++] = overlap == RENC_PARTIAL && lo < hi;
}

/*
 * At most "max" nodes.  The largest of those that lie partly in the box is halved first:
 * most of the keys that are not in it are there.
 */
static void
cover_box(const renc_box *box, int max, RencoderIntervals *intervals)
{
	uint64		first = renc_zorder(box->xlo, box->ylo);
	uint64		last = renc_zorder(box->xhi, box->yhi);
	uint64		mask = first == last ? 0 : PG_UINT64_MAX >> __builtin_clzll(first ^ last);
	BoxCover	cover = {.box = box};

	cover_node_by_boxes(&cover, first & ~mask, first | mask);
	while (cover.n < max)
	{
		int			largest = -1;
		renc_interval whole;
		uint64		half;

		for (int i = 0; i < cover.n; i++)
		{
			if (cover.partly[i] &&
				(largest < 0 || cover.node[i].hi - cover.node[i].lo > whole.hi - whole.lo))
			{
				largest = i;
				whole = cover.node[i];
			}
		}
		if (largest < 0)
			break;
		cover.n--;
		cover.node[largest] = cover.node[cover.n];
		cover.partly[largest] = cover.partly[cover.n];
		half = whole.lo + ((whole.hi - whole.lo) >> 1);
		cover_node_by_boxes(&cover, whole.lo, half);
		cover_node_by_boxes(&cover, half + 1, whole.hi);
	}
	for (int i = 0; i < cover.n; i++)
		rencoder_intervals_add(intervals, cover.node[i].lo, cover.node[i].hi);
}

void
rencoder_boxes_to_intervals(const renc_box_set *boxes, RencoderIntervals *intervals)
{
	int			max = (int) Max(COVER_INTERVALS / boxes->n, COVER_INTERVALS_EACH);

	for (size_t i = 0; i < boxes->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		cover_box(&boxes->box[i], max, intervals);
	}
	rencoder_intervals_normalize(intervals);
}

double
rencoder_boxes_covered_part(const renc_box_set *boxes, renc_interval_set intervals)
{
	double		area = 0;
	double		keys = 0;

	for (size_t i = 0; i < boxes->n; i++)
		area += ((double) boxes->box[i].xhi - boxes->box[i].xlo + 1) *
			((double) boxes->box[i].yhi - boxes->box[i].ylo + 1);
	for (size_t i = 0; i < intervals.n; i++)
		keys += (double) (intervals.interval[i].hi - intervals.interval[i].lo) + 1;
	return Min(1, area / Max(keys, 1));
}
