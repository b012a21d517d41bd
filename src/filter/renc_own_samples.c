/*
 * renc_own_samples.c
 *		Samples from the table's own values.
 *
 * Users look for things that look like the data: equal to a value, or an interval
 * that begins at one.  So with no query known, the keys of one range are the
 * queries put to all others.  The range a key comes from does not count, neither
 * does any that truly matches.
 *
 * Half of the samples are points, a quarter short intervals: their lengths are spread evenly
 * over the orders of magnitude up to a few times the spacing of a range's keys.
 * A sample's weight is one over the ranges of the whole table that it can be
 * expected to match: what a false positive costs is seen in proportion to what
 * the query must read.  Else the long intervals, of which no filter rejects many, would
 * get all the bits.
 *
 * Where keys crowd together, all of these lie within or close to the crowds, and a
 * shape made for nothing else may let through nearly every range for an interval
 * of some length that lies between two crowds.  So one sample in four is an interval
 * at some distance from a key; distance and length are spread over the orders of magnitude, too.
 *
 * Boxes are made alike: a quarter of them are points, half are around a point, of all
 * sizes up to what nearly all ranges match, and a quarter stand beside one.  Keys in
 * Z-order differ by areas; so the expected matches of a box follow from its area.
 */
#include <math.h>

#include "renc_shape_search.h"

/* Greatest length in spacings, of those that begin at a key and of those apart. */
#define MAX_SPACINGS	8
#define APART_SPACINGS	16

/* The least is so many times half as long. */
#define APART_ORDERS	8

/* Tables grow: ranges of a table of 256 MB, for smaller ones. */
#define LEAST_RANGES	1024.0

/* Keys to each side by whose distance the spacing is told. */
#define NEIGHBOURS		4

/* Other ranges that are looked at; a range has so many times the spacing of one at most. */
#define OTHER_RANGES	4
#define MOST_SPARSE		8

/* In turn. */
#define KINDS			4

/* A step through the ranges that has no divisor in common with the number of a group's. */
#define RANGE_STEP		37

/*
 * Areas of boxes are from so many times less than that of a point of the table to so many times
 * more.
 */
#define LEAST_PARTS		256
#define MOST_PARTS		256

/* Sides are up to so many times as long as each other, as a power of 2. */
#define MOST_ASPECT		2

/* splitmix64 */
static uint64_t
next_random_of_samples(uint64_t *state)
{
	uint64_t	z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* In [0, 1). */
static double
random_unit_of_sample(uint64_t *state)
{
	return (double) (next_random_of_samples(state) >> 11) * ldexp(1, -53);
}

/* The ranges that have keys. */
typedef struct filled_ranges
{
	const renc_keys *keys[RENC_GROUP_RANGES];
	int			index[RENC_GROUP_RANGES];	/* among all */
	int			n;
	double		table_ranges;
	uint64_t	state;			/* of the random numbers */
} filled_ranges;

/* Mean distance between keys on the denser side of key i, as far as they are close. */
static double
own_sample_spacing_at(const renc_keys *keys, size_t i)
{
	double		least = ldexp(1, 63);

	for (size_t k = 1; k <= NEIGHBOURS; k++)
	{
		if (i >= k)
			least = fmin(least, (double) (keys->key[i] - keys->key[i - k]) / (double) k);
		if (i + k < keys->n)
			least = fmin(least, (double) (keys->key[i + k] - keys->key[i]) / (double) k);
	}
	return fmax(least, 1);
}

/*
 * An interval at some distance from a key, both of any order of magnitude; false if there is no
 * room.
 */
static bool
draw_apart(filled_ranges *filled, const renc_keys *keys, uint64_t key, double spacing, double far,
		   renc_sample *sample)
{
	uint64_t	least = keys->key[0];
	uint64_t	greatest = keys->key[keys->n - 1];
	double		room = (double) (greatest - least);
	uint64_t	distance = (uint64_t) (spacing * pow(fmax(1, room / spacing), far));
	double		most = fmin((double) distance, APART_SPACINGS * spacing);
	uint64_t	length = (uint64_t) fmax(1,
										 most * exp2(-APART_ORDERS *
													 random_unit_of_sample(&filled->state)));
	bool		above = next_random_of_samples(&filled->state) % 2 == 0;

	if (distance > greatest - least || (above ? greatest - key : key - least) < distance)
		above = !above;
	if (distance > greatest - least || (above ? greatest - key : key - least) < distance)
		return false;
	sample->lo = above ? key + distance : key - distance;
	sample->hi = greatest - sample->lo < length - 1 ? greatest : sample->lo + (length - 1);
	sample->anchor = -1;
	return true;
}

/* The index of the first key of a range that is >= key, or of the last one. */
static size_t
place_of_own_sample(const renc_keys *keys, uint64_t key)
{
	size_t		left = 0;
	size_t		right = keys->n - 1;

	while (left < right)
	{
		size_t		middle = left + (right - left) / 2;

		if (keys->key[middle] < key)
			left = middle + 1;
		else
			right = middle;
	}
	return left;
}

/*
 * The spacing at key k of a range.  One that stands alone in its range may have neighbours in
 * others.
 */
static double
spacing_of(const filled_ranges *filled, const renc_keys *keys, size_t k)
{
	double		spacing = own_sample_spacing_at(keys, k);

	for (int i = 0; i < filled->n && i < OTHER_RANGES; i++)
		spacing = fmin(spacing, MOST_SPARSE *
					   own_sample_spacing_at(filled->keys[i],
											 place_of_own_sample(filled->keys[i], keys->key[k])));
	return spacing;
}

static bool
fill_in_own_sample(const renc_keys *ranges, int nranges, double table_ranges, uint64_t seed,
				   filled_ranges *filled)
{
	filled->n = 0;
	filled->table_ranges = fmax(table_ranges, LEAST_RANGES);
	filled->state = seed;
	for (int r = 0; r < nranges; r++)
	{
		if (ranges[r].n == 0)
			continue;
		filled->keys[filled->n] = &ranges[r];
		filled->index[filled->n++] = r;
	}
	return filled->n > 0;
}

/* The range that a sample is made of, and one of its keys. */
static const renc_keys *
draw_key(filled_ranges *filled, int i, renc_sample *sample, size_t *k)
{
	int			f = (int) ((unsigned int) i * RANGE_STEP % (unsigned int) filled->n);

	*k = (size_t) (next_random_of_samples(&filled->state) % filled->keys[f]->n);
	sample->query = NULL;
	sample->anchor = filled->index[f];
	return filled->keys[f];
}

int
renc_own_samples_make(const renc_keys *ranges, int nranges, double table_ranges,
					  uint64_t seed, renc_sample *sample, int n)
{
	filled_ranges filled;

	if (!fill_in_own_sample(ranges, nranges, table_ranges, seed, &filled))
		return 0;
	for (int i = 0; i < n; i++)
	{
		size_t		k;
		const renc_keys *keys = draw_key(&filled, i, &sample[i], &k);
		double		spacing = spacing_of(&filled, keys, k);
		int			size = i / KINDS % RENC_SAMPLE_SIZES;
		double		unit = (size + random_unit_of_sample(&filled.state)) / RENC_SAMPLE_SIZES;
		double		more = 0;

		if (i % KINDS == 3 && draw_apart(&filled, keys, keys->key[k], spacing, unit, &sample[i]))
			sample[i].kind = RENC_SAMPLE_APART + size;
		else
		{
			if (i % KINDS == 1)
				more = exp2(unit * log2(MAX_SPACINGS * spacing / filled.table_ranges + 1)) - 1;
			sample[i].lo = keys->key[k];
			sample[i].hi = more >= (double) (~UINT64_C(0) - sample[i].lo) ? ~UINT64_C(0) :
				sample[i].lo + (uint64_t) more;
			sample[i].kind = i % KINDS == 1 ? RENC_SAMPLE_SHORT + size : RENC_SAMPLE_POINT;
		}
		sample[i].weight = (float) (1 / (1 - filled.table_ranges * expm1(-more / spacing)));
	}
	return n;
}

/* ---------------------------------------------------------------- boxes */

/* "side" more cells than one; "part" of them before "at", unless that is over the edge. */
static void
set_side_of_own_box(double at, double side, double part, uint32_t *lo, uint32_t *hi)
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
move_own_point(double from, double by)
{
	if (from + by < 0 || from + by > RENC_AXIS_LAST)
		by = -by;
	return fmax(0, fmin(from + by, RENC_AXIS_LAST));
}

static void
draw_own_box(filled_ranges *filled, int i, renc_own_box *own, renc_sample *sample)
{
	uint64_t   *state = &filled->state;
	size_t		k;
	const renc_keys *keys = draw_key(filled, i, sample, &k);
	double		spacing = own_sample_spacing_at(keys, k);
	double		least = spacing / filled->table_ranges / LEAST_PARTS;
	int			size = i / KINDS % RENC_SAMPLE_SIZES;
	double		unit = (size + random_unit_of_sample(state)) / RENC_SAMPLE_SIZES;
	double		area = size < RENC_SAMPLE_SIZES - 1 ?
		least * pow(MOST_PARTS * LEAST_PARTS, unit * RENC_SAMPLE_SIZES / (RENC_SAMPLE_SIZES - 1)) :
		least * LEAST_PARTS * pow(MOST_PARTS, 2 + 1.5 * random_unit_of_sample(state));
	double		aspect = exp2(MOST_ASPECT * (2 * random_unit_of_sample(state) - 1));
	uint32_t	x;
	uint32_t	y;

	sample->kind = i % KINDS == 0 ? RENC_SAMPLE_POINT : RENC_SAMPLE_SHORT + size;
	if (sample->kind == RENC_SAMPLE_POINT)
		area = 0;
	renc_zorder_split(keys->key[k], &x, &y);
	if (i % KINDS == 3)
	{
		/*
		 * In any direction; how far and how large is spread over the orders
		 * of magnitude.
		 */
		double		most = (double) (keys->key[keys->n - 1] - keys->key[0]) + 1;
		double		angle = 2 * 3.141592653589793 * random_unit_of_sample(state);
		double		side;
		double		distance;

		area = least * pow(fmax(1, most / least), unit);
		side = sqrt(area) + sqrt(least);
		distance = side * pow(1 + sqrt(most) / side, random_unit_of_sample(state));
		x = (uint32_t) move_own_point(x, distance * cos(angle));
		y = (uint32_t) move_own_point(y, distance * sin(angle));
		sample->anchor = -1;
		sample->kind = RENC_SAMPLE_APART + size;
	}
	set_side_of_own_box(x, sqrt(area * aspect), random_unit_of_sample(state), &own->box.xlo,
						&own->box.xhi);
	set_side_of_own_box(y, sqrt(area / aspect), random_unit_of_sample(state), &own->box.ylo,
						&own->box.yhi);
	own->set.box = &own->box;
	own->set.n = renc_box_set_prepare(&own->box, 1);
	own->query = renc_query_boxes(&own->set);
	sample->query = &own->query;
	sample->lo = own->query.hull_lo;
	sample->hi = own->query.hull_hi;
	sample->weight = (float) (1 / (1 - filled->table_ranges * expm1(-area / spacing)));
}

int
renc_own_samples_make_boxes(const renc_keys *ranges, int nranges, double table_ranges,
							uint64_t seed, renc_own_box *box, renc_sample *sample, int n)
{
	filled_ranges filled;

	if (!fill_in_own_sample(ranges, nranges, table_ranges, seed, &filled))
		return 0;
	for (int i = 0; i < n; i++)
		draw_own_box(&filled, i, &box[i], &sample[i]);
	return n;
}
