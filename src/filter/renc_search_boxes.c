/*
 * renc_search_boxes.c
 *		Sample boxes from the table's own points.
 *
 * The same idea as in renc_search_sample.c: with no query known, places where there is
 * something are asked about.  The size of the boxes is not known, and what is best for
 * small ones is worthless for large ones; so sizes are spread over the orders of
 * magnitude, from what is empty even between the points of the whole table to what
 * most ranges have a point in.  As with intervals, a box weighs one over the ranges of the
 * table that it can be expected to match: boxes that match little, or nothing, decide,
 * and the others get what bits are left.
 *
 * Points may crowd together, and ranges may each have a part of the plane.  What a box
 * matches is therefore counted in some of the ranges; and if none of them has a
 * point in it, in the least of some larger boxes around it that one of them has, as if the
 * points there were spread evenly.
 *
 * Some of the boxes are points (equality), some stand beside a point, at a distance that is
 * spread over the orders of magnitude, too.  The latter weigh a tenth, but without them
 * a shape may let through nearly everything for a large box between two crowds.
 *
 * Candidates of a box at 20 bits a key, with the rule's shapes and with these samples: of 20
 * million points spread evenly (17,858 ranges; sides are parts of the plane's), and of 934,435
 * positions of aircraft (1,436 ranges; degrees; boxes around positions).
 *
 *		side				0		1e-5	1e-4	1e-3	1e-2
 *		matching			0		0		0.2		20		1880
 *		rule				371		359		373		548		3700
 *		samples				3.5		3.7		6.4		62		3960
 *
 *		side				0		0.001	0.01	0.1		0.3		1
 *		matching			1.2		3.7		13.6	63		117		229
 *		rule				3.5		5.7		15.9	69		144		498
 *		samples				4.3		6.1		15.8	68		132		322
 */
#include <math.h>

#include "renc_search_work.h"

/* Tables grow: ranges of a table, for smaller ones. */
#define LEAST_RANGES	1024.0

/* Keys to each side by whose distance the spacing is told. */
#define NEIGHBOURS		4

/* The least area: so many times that of a point of the table is greater. */
#define LEAST_PARTS		256

/* Shares of points, and of boxes beside a point; what the latter weigh. */
#define POINT_SHARE		0.2
#define BESIDE_SHARE	0.3
#define BESIDE_WEIGHT	0.1

/* Sides are up to so many times as long as each other, as a power of 2. */
#define MOST_ASPECT		2

/* Ranges in which matches are counted, and times that a box is enlarged for it. */
#define COUNTED_RANGES	16
#define MOST_ENLARGED	8

/* What more of the ranges match tells little: a smaller one is drawn, but not for ever. */
#define MOST_MATCHING	0.25
#define MOST_SHRUNK		4

/* So few keys are looked at one by one. */
#define FEW_KEYS		4

typedef struct drawing
{
	const renc_keys *ranges;
	int			filled[RENC_GROUP_RANGES];	/* those with keys */
	int			nfilled;
	double		table_ranges;
	uint64_t	state;			/* of the random numbers */
} box_drawing;

/* A box about to be made: where, in cells, and how large. */
typedef struct plan
{
	int			range;			/* of the point that it is made for */
	double		x;
	double		y;
	double		spacing;		/* area for each point of the range, about
								 * there */
	double		least;			/* area */
	double		most;
	double		area;
	double		aspect;
	double		part[2];		/* of the sides, before the point */
	double		angle;			/* beside the point: in this direction, */
	double		distance;		/* and, in [0, 1), how far; < 0: around the
								 * point */
} box_plan;

/* Area for a key of a range, on the denser side of key i; in Z-order keys differ by areas. */
static double
area_spacing_at(const renc_keys *keys, size_t i)
{
	double		least = ldexp(1, 63);

	if (i >= NEIGHBOURS)
		least = (double) (keys->key[i] - keys->key[i - NEIGHBOURS]) / NEIGHBOURS;
	if (i + NEIGHBOURS < keys->n)
		least = fmin(least, (double) (keys->key[i + NEIGHBOURS] - keys->key[i]) / NEIGHBOURS);
	return fmax(least, 1);
}

/* The first key >= lo. */
static size_t
first_from(const uint64_t *key, size_t first, size_t end, uint64_t lo)
{
	while (first < end)
	{
		size_t		middle = first + (end - first) / 2;

		if (key[middle] < lo)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static bool
in_box(const renc_box *box, uint64_t key)
{
	uint32_t	x;
	uint32_t	y;

	renc_zorder_split(key, &x, &y);
	return x >= box->xlo && x <= box->xhi && y >= box->ylo && y <= box->yhi;
}

/* Is one of the keys from "first" to before "end" in the box? */
static bool
has_point(const renc_box *box, const uint64_t *key, size_t first, size_t end)
{
	while (end - first > FEW_KEYS)
	{
		/* The node that holds them all. */
		uint64_t	differing = key[first] ^ key[end - 1];
		uint64_t	mask = differing == 0 ? 0 : UINT64_MAX >> __builtin_clzll(differing);
		uint64_t	prefix = key[first] & ~mask;
		size_t		middle;

		switch (renc_box_node(box, prefix, prefix | mask))
		{
			case RENC_DISJOINT:
				return false;
			case RENC_INSIDE:
				return true;
			case RENC_PARTIAL:
				break;
		}
		middle = first_from(key, first, end, prefix | (mask ^ mask >> 1));
		if (has_point(box, key, first, middle))
			return true;
		first = middle;
	}
	for (; first < end; first++)
		if (in_box(box, key[first]))
			return true;
	return false;
}

/* Share of some of the ranges, without one of them, that have a point in a box. */
static double
count_matching(const box_drawing *d, const renc_box *box, int but)
{
	int			step = (d->nfilled + COUNTED_RANGES - 1) / COUNTED_RANGES;
	int			counted = 0;
	int			matching = 0;

	for (int f = 0; f < d->nfilled; f += step)
	{
		const renc_keys *keys = &d->ranges[d->filled[f]];
		size_t		first;

		if (d->filled[f] == but)
			continue;
		counted++;
		first = first_from(keys->key, 0, keys->n, box->first);
		matching += has_point(box, keys->key, first,
							  first_from(keys->key, first, keys->n, box->reach));
	}
	return counted > 0 ? (double) matching / counted : 0;
}

/* "side" more cells than one; "part" of them before "at", unless that is over the edge. */
static void
set_side(double at, double side, double part, uint32_t *lo, uint32_t *hi)
{
	double		more = fmin(floor(side), RENC_AXIS_LAST);
	double		first = floor(at - part * side);

	/* Two roundings must not leave "at" behind; a key may be no place, too. */
	first = fmax(first, ceil(at - more));
	first = fmax(0, fmin(first, RENC_AXIS_LAST - more));
	*lo = (uint32_t) first;
	*hi = (uint32_t) (first + more);
}

/* Into the plane, by way of the other direction. */
static double
move(double from, double by)
{
	if (from + by < 0 || from + by > RENC_AXIS_LAST)
		by = -by;
	return fmax(0, fmin(from + by, RENC_AXIS_LAST));
}

static void
set_box(const box_plan *p, renc_box *box)
{
	double		x = p->x;
	double		y = p->y;

	if (p->distance >= 0)
	{
		double		side = sqrt(p->area) + sqrt(p->least);
		double		distance = side * pow(1 + sqrt(p->most) / side, p->distance);

		x = move(x, distance * cos(p->angle));
		y = move(y, distance * sin(p->angle));
	}
	set_side(x, sqrt(p->area * p->aspect), p->part[0], &box->xlo, &box->xhi);
	set_side(y, sqrt(p->area / p->aspect), p->part[1], &box->ylo, &box->yhi);
	renc_box_set_prepare(box, 1);
}

/* What none of the ranges counted has a point in: by what larger boxes have. */
static double
guess_matching(const box_drawing *d, const box_plan *p, const renc_box *box)
{
	double		x = box->xlo / 2.0 + box->xhi / 2.0;
	double		y = box->ylo / 2.0 + box->yhi / 2.0;
	double		wide = fmax((double) box->xhi - box->xlo + 1, sqrt(p->least));
	double		high = fmax((double) box->yhi - box->ylo + 1, sqrt(p->least));

	if (d->nfilled == 1)
		return fmin(1, p->area / p->spacing);
	for (int i = 0; i < MOST_ENLARGED; i++)
	{
		double		by = exp2(2 * i + 1);
		renc_box	larger;
		double		share;

		set_side(x, wide * by, 0.5, &larger.xlo, &larger.xhi);
		set_side(y, high * by, 0.5, &larger.ylo, &larger.yhi);
		renc_box_set_prepare(&larger, 1);
		share = count_matching(d, &larger, p->range);
		if (share > 0)
			return share * fmin(1, fmax(1, p->area) / (wide * by * high * by));
	}
	return 0;
}

/* What the sample of a range is to be. */
static void
draw_plan(box_drawing *d, int range, box_plan *p)
{
	const renc_keys *keys = &d->ranges[range];
	size_t		k = (size_t) (renc_next_random(&d->state) % keys->n);
	double		kind = renc_next_unit(&d->state);
	double		order = renc_next_unit(&d->state);
	uint32_t	x;
	uint32_t	y;

	renc_zorder_split(keys->key[k], &x, &y);
	p->range = range;
	p->x = x;
	p->y = y;
	p->spacing = area_spacing_at(keys, k);
	p->least = p->spacing / d->table_ranges / LEAST_PARTS;
	p->most = fmax(p->least, (double) (keys->key[keys->n - 1] - keys->key[0]) + 1);
	p->area = kind < POINT_SHARE ? 0 : p->least * pow(p->most / p->least, order);
	p->aspect = exp2(MOST_ASPECT * (2 * renc_next_unit(&d->state) - 1));
	p->part[0] = renc_next_unit(&d->state);
	p->part[1] = renc_next_unit(&d->state);
	p->angle = 2 * 3.141592653589793 * renc_next_unit(&d->state);
	p->distance = renc_next_unit(&d->state);
	if (kind < 1 - BESIDE_SHARE)
		p->distance = -1;
}

static void
draw_box(box_drawing *d, int range, renc_own_box *own, renc_sample *sample)
{
	box_plan	p;
	double		share;

	draw_plan(d, range, &p);
	set_box(&p, &own->box);
	share = count_matching(d, &own->box, range);
	for (int i = 0; i < MOST_SHRUNK && share > MOST_MATCHING && p.area > 0; i++)
	{
		p.area = p.least * pow(p.area / p.least, renc_next_unit(&d->state));
		set_box(&p, &own->box);
		share = count_matching(d, &own->box, range);
	}
	if (share == 0)
		share = guess_matching(d, &p, &own->box);
	own->set.box = &own->box;
	own->set.n = 1;
	own->query = renc_query_boxes(&own->set);
	sample->query = &own->query;
	sample->lo = own->query.hull_lo;
	sample->hi = own->query.hull_hi;
	sample->anchor = p.distance < 0 ? range : -1;
	sample->weight = (float) ((p.distance < 0 ? 1 : BESIDE_WEIGHT) / (1 + d->table_ranges * share));
}

int
renc_search_own_boxes(const renc_keys *ranges, int nranges, double table_ranges,
					  uint64_t seed, renc_own_box *box, renc_sample *sample, int n)
{
	box_drawing d;

	d.ranges = ranges;
	d.nfilled = 0;
	d.table_ranges = fmax(table_ranges, LEAST_RANGES);
	d.state = seed;
	for (int r = 0; r < nranges; r++)
		if (ranges[r].n > 0)
			d.filled[d.nfilled++] = r;
	if (d.nfilled == 0)
		return 0;
	for (int i = 0; i < n; i++)
		draw_box(&d, d.filled[i % d.nfilled], &box[i], &sample[i]);
	return n;
}
