/*
 * test_zorder.c
 *		Keys in Z-order and boxes over them, against brute force.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "renc_zorder.h"

/* Small planes are 2^SMALL cells wide, their intervals up to 4^SMALL keys long. */
#define SMALL		4
#define SMALL_KEYS	(1 << 2 * SMALL)

static renc_program program;

static void
test_interleaving(void)
{
	int			wrong = 0;

	for (int i = 0; i < 100000; i++)
	{
		uint32_t	x = (uint32_t) rnd();
		uint32_t	y = (uint32_t) rnd();
		uint64_t	key = 0;
		uint32_t	back_x;
		uint32_t	back_y;

		for (int bit = 31; bit >= 0; bit--)
			key = key << 2 | (x >> bit & 1) << 1 | (y >> bit & 1);
		renc_zorder_split(key, &back_x, &back_y);
		if (renc_zorder(x, y) != key || back_x != x || back_y != y)
			wrong++;
	}
	tap_ok(wrong == 0, "bits are interleaved, x first, and back: %d wrong", wrong);
	tap_ok(renc_zorder(RENC_AXIS_NAN, RENC_AXIS_NAN) == RENC_POINT_NAN, "NaN has the last key");
}

static const double edges[] = {
	0.0, -0.0, 1, -1, DBL_MIN, -DBL_MIN, 4.9e-324, -4.9e-324, DBL_MAX, -DBL_MAX,
	1e300, -1e300, 1e-300, 180, -180, 1e15, 3, INFINITY, -INFINITY
};

#define EDGES	(sizeof(edges) / sizeof(edges[0]))

/* Not NaN; of all magnitudes, or like coordinates. */
static double
random_coordinate(void)
{
	double		d;
	uint64_t	bits;

	switch (rnd_below(4))
	{
		case 0:
			return edges[rnd_below(EDGES)];
		case 1:
			do
			{
				bits = rnd();
				memcpy(&d, &bits, sizeof(d));
			} while (isnan(d));
			return d;
		default:
			return (double) (int64_t) rnd() / 5e16;
	}
}

static double
finite_coordinate(void)
{
	double		d;

	do
		d = random_coordinate();
	while (isinf(d));
	return d;
}

/* Coordinates that are neighbours of each other and of the bounds. */
static double
near(const double *bounds)
{
	double		d = rnd_below(3) == 0 ? bounds[rnd_below(2)] : random_coordinate();

	if (rnd_below(2) == 0)
		d = nextafter(d, rnd_below(2) == 0 ? INFINITY : -INFINITY);
	return d;
}

static void
test_cells(void)
{
	int			disorder = 0;
	int			misplaced = 0;
	int			coarse = 0;

	for (int i = 0; i < 20000; i++)
	{
		double		bounds[2];
		const double *given = i % 4 == 0 ? NULL : bounds;
		double		sample[16];
		uint32_t	last = 0;

		bounds[0] = finite_coordinate();
		bounds[1] = i % 16 == 1 ? bounds[0] : finite_coordinate();
		if (bounds[1] < bounds[0])
		{
			double		d = bounds[0];

			bounds[0] = bounds[1];
			bounds[1] = d;
		}
		for (int j = 0; j < 16; j++)
			sample[j] = near(bounds);
		sort_doubles(sample, 16);
		for (int j = 0; j < 16; j++)
		{
			uint32_t	cell = renc_axis_cell(given, sample[j]);
			bool		outside = sample[j] < bounds[0] || sample[j] > bounds[1];

			if (j > 0 && (cell < last || (sample[j] == sample[j - 1] && cell != last)))
				disorder++;
			if (cell == RENC_AXIS_NAN ||
				(given != NULL && outside != (cell == 0 || cell == RENC_AXIS_LAST)))
				misplaced++;
			last = cell;
		}
		/* Bounds far apart use all cells. */
		if (given != NULL && bounds[0] < bounds[1] &&
			renc_axis_cell(bounds, bounds[1]) - renc_axis_cell(bounds, bounds[0]) !=
			RENC_AXIS_LAST - 2)
			coarse++;
	}
	tap_ok(disorder == 0, "cells are monotone, -0 is 0: %d wrong", disorder);
	tap_ok(misplaced == 0, "the end cells are for what is outside: %d wrong", misplaced);
	tap_ok(coarse == 0, "the bounds' cells are as far apart as can be: %d wrong", coarse);
}

/* A square of the plane: cells from (x, y) on, each 2^shift wide. */
typedef struct plane
{
	uint32_t	x;
	uint32_t	y;
	int			shift;
} plane;

static void
random_plane(plane *p)
{
	int			free_bits;

	p->shift = (int) rnd_below(32 - SMALL + 1);
	free_bits = p->shift + SMALL;
	p->x = free_bits == 32 ? 0 : (uint32_t) rnd() >> free_bits << free_bits;
	p->y = free_bits == 32 ? 0 : (uint32_t) rnd() >> free_bits << free_bits;
}

/* A box of whole cells of the plane; now and then it goes on outside. */
static renc_box
random_box(const plane *p)
{
	uint32_t	width = (UINT32_C(1) << p->shift) - 1;
	uint32_t	c[4];
	renc_box	box = {0};

	for (int i = 0; i < 4; i++)
		c[i] = (uint32_t) rnd_below(rnd_below(2) == 0 ? 3 : 1 << SMALL);
	for (int i = 0; i < 4; i += 2)
	{
		c[i + 1] += c[i];
		if (c[i + 1] >= 1 << SMALL)
			c[i + 1] = (1 << SMALL) - 1;
	}
	box.xlo = p->x + (c[0] << p->shift);
	box.xhi = p->x + (c[1] << p->shift) + width;
	box.ylo = p->y + (c[2] << p->shift);
	box.yhi = p->y + (c[3] << p->shift) + width;
	if (rnd_below(8) == 0)
		box.xhi = UINT32_MAX;
	if (rnd_below(8) == 0)
		box.ylo = 0;
	return box;
}

static bool
in_box(const renc_box *box, uint64_t key)
{
	uint32_t	x;
	uint32_t	y;

	renc_zorder_split(key, &x, &y);
	return x >= box->xlo && x <= box->xhi && y >= box->ylo && y <= box->yhi;
}

typedef struct counts
{
	int			lost;			/* disjoint, but is not */
	int			invented;		/* inside, but is not */
	int			vague;			/* neither, though it could be told */
	int			seen[3];
} counts;

/* Compares with the keys one by one; "exact": nothing but the truth will do. */
static void
check_interval(const renc_box_set *set, uint64_t lo, uint64_t hi, uint64_t step,
			   bool node, counts *c)
{
	renc_overlap answer = renc_box_set_overlap(set, lo, hi);
	bool		some = false;
	bool		all = true;
	bool		inside_one = false;

	for (uint64_t key = lo;; key += step)
	{
		bool		in = false;

		for (size_t b = 0; b < set->n && !in; b++)
			in = in_box(&set->box[b], key);
		some |= in;
		all &= in;
		if (hi - key < step)
			break;
	}
	for (size_t b = 0; b < set->n && !inside_one; b++)
	{
		inside_one = true;
		for (uint64_t key = lo; inside_one; key += step)
		{
			inside_one = in_box(&set->box[b], key);
			if (hi - key < step)
				break;
		}
	}
	c->seen[answer]++;
	if (answer == RENC_DISJOINT && some)
		c->lost++;
	if (answer == RENC_INSIDE && !all)
		c->invented++;
	if ((!some && answer != RENC_DISJOINT) || (node && inside_one && answer != RENC_INSIDE))
		c->vague++;
}

static void
test_overlap(void)
{
	counts		c = {0};

	for (int i = 0; i < 3000; i++)
	{
		plane		p;
		renc_box	boxes[6];
		renc_box_set set = {boxes, 1 + rnd_below(6)};
		uint64_t	base;
		uint64_t	step;

		random_plane(&p);
		base = renc_zorder(p.x, p.y);
		step = UINT64_C(1) << 2 * p.shift;
		for (size_t b = 0; b < set.n; b++)
			boxes[b] = random_box(&p);
		set.n = renc_box_set_prepare(boxes, set.n);
		for (int k = 0; k < 60; k++)
		{
			uint64_t	from = rnd_below(SMALL_KEYS);
			uint64_t	to = from + rnd_below(SMALL_KEYS - from);
			int			level = (int) rnd_below(2 * SMALL + 1);
			uint64_t	node = from >> level << level;
			uint64_t	last = node + (UINT64_C(1) << level) - 1;

			check_interval(&set, base + from * step, base + to * step + step - 1, step,
						   false, &c);
			check_interval(&set, base + node * step, base + last * step + step - 1, step,
						   true, &c);
		}
	}
	tap_ok(c.lost == 0, "no interval that meets a box is called disjoint: %d of %d are",
		   c.lost, c.seen[RENC_DISJOINT]);
	tap_ok(c.invented == 0, "none is called inside that is not: %d of %d are",
		   c.invented, c.seen[RENC_INSIDE]);
	tap_ok(c.vague == 0, "what can be told is told: not %d times", c.vague);
	tap_ok(c.seen[RENC_DISJOINT] > 10000 && c.seen[RENC_INSIDE] > 10000 &&
		   c.seen[RENC_PARTIAL] > 10000, "all answers occur: %d, %d, %d",
		   c.seen[RENC_DISJOINT], c.seen[RENC_PARTIAL], c.seen[RENC_INSIDE]);
}

/* Crowds of boxes are answered in bounded time, hence vaguely, but not wrongly. */
static void
test_many_boxes(void)
{
	static renc_box boxes[3000];
	counts		c = {0};

	for (int i = 0; i < 20; i++)
	{
		plane		p;
		renc_box_set set = {boxes, 3000};
		uint64_t	base;
		uint64_t	step;

		random_plane(&p);
		base = renc_zorder(p.x, p.y);
		step = UINT64_C(1) << 2 * p.shift;
		for (size_t b = 0; b < set.n; b++)
		{
			do
				boxes[b] = random_box(&p);
			while (in_box(&boxes[b], base) || in_box(&boxes[b], base + (SMALL_KEYS / 2) * step));
		}
		set.n = renc_box_set_prepare(boxes, set.n);
		for (int k = 0; k < 60; k++)
		{
			uint64_t	from = rnd_below(SMALL_KEYS);

			check_interval(&set, base + from * step,
						   base + (from + rnd_below(SMALL_KEYS - from)) * step + step - 1,
						   step, false, &c);
		}
	}
	tap_ok(c.lost == 0 && c.invented == 0, "many boxes: %d lost, %d invented", c.lost, c.invented);
}

static void
test_hull(void)
{
	int			outside = 0;

	for (int i = 0; i < 2000; i++)
	{
		plane		p;
		renc_box	box;
		renc_box_set set = {&box, 1};
		renc_query	query;
		renc_box	two[2];
		renc_box_set pair = {two, 2};
		renc_query	both;

		random_plane(&p);
		box = random_box(&p);
		set.n = renc_box_set_prepare(&box, 1);
		query = renc_query_boxes(&set);
		two[0] = random_box(&p);
		two[1] = random_box(&p);
		pair.n = renc_box_set_prepare(two, 2);
		both = renc_query_boxes(&pair);
		if (pair.n == 1)
			two[1] = two[0];
		for (uint64_t k = 0; k < SMALL_KEYS; k++)
		{
			uint64_t	key = renc_zorder(p.x, p.y) + (k << 2 * p.shift);

			if (in_box(&box, key) && (key < query.hull_lo || key > query.hull_hi))
				outside++;
			if ((in_box(&two[0], key) || in_box(&two[1], key)) &&
				(key < both.hull_lo || key > both.hull_hi))
				outside++;
		}
	}
	tap_ok(outside == 0, "the hull covers the box: %d keys outside", outside);
}

#define POINTS		300
#define RANGES		32

typedef struct passes
{
	int			lost;			/* ranges with a point in the box that do not pass */
	int			empty;			/* without one */
	int			passed;			/* of these */
} passes;

/* Intervals that cover a box, by nodes down to a level, in order; "interval" has room for 400. */
static void
cover_box(const renc_box *box, uint64_t lo, uint64_t mask, int levels, renc_interval *interval, size_t *n)
{
	renc_overlap overlap = renc_box_node_overlap(box, lo, lo | mask);

	if (overlap == RENC_DISJOINT)
		return;
	if (overlap == RENC_PARTIAL && levels > 0 && mask > 0)
	{
		cover_box(box, lo, mask >> 1, levels - 1, interval, n);
		cover_box(box, lo | ((mask >> 1) + 1), mask >> 1, levels - 1, interval, n);
		return;
	}
	if (*n == 0 || interval[*n - 1].hi + 1 != lo)
		interval[(*n)++].lo = lo;
	interval[*n - 1].hi = lo | mask;
}

/* One filter of every range, asked for random boxes. */
static void
ask_filters(const renc_keys *ranges, const renc_shape *shape, uint32_t spread,
			bool all_sizes, passes *p)
{
	test_filter f = filter_new(12, TEST_ROWS, 16);
	renc_windows windows = filter_windows(&f);

	filter_fill(&f, shape, ranges, RANGES);
	for (int q = 0; q < 100; q++)
	{
		renc_box	box = {0};
		renc_interval interval[400];
		renc_interval_set set = {interval, 0};
		uint64_t	differ;
		renc_mask	result;
		uint32_t	size = all_sizes ? spread >> rnd_below(20) : spread / 20;

		box.xlo = (uint32_t) rnd_below((uint64_t) spread - size + 1);
		box.ylo = (uint32_t) rnd_below((uint64_t) spread - size + 1);
		box.xhi = box.xlo + (uint32_t) rnd_below((uint64_t) size + 1);
		box.yhi = box.ylo + (uint32_t) rnd_below((uint64_t) size + 1);
		differ = renc_zorder(box.xlo, box.ylo) ^ renc_zorder(box.xhi, box.yhi);
		differ = differ == 0 ? 0 : UINT64_MAX >> __builtin_clzll(differ);
		cover_box(&box, renc_zorder(box.xlo, box.ylo) & ~differ, differ, 8, interval, &set.n);
		renc_program_compile(&program, shape, TEST_ROWS, &set);
		result = renc_program_execute(&program, &windows, renc_mask_all());
		for (int r = 0; r < RANGES; r++)
		{
			bool		truth = false;

			for (size_t k = 0; k < ranges[r].n && !truth; k++)
				truth = in_box(&box, ranges[r].key[k]);
			p->lost += truth && !renc_mask_test(result, r);
			p->empty += !truth;
			p->passed += !truth && renc_mask_test(result, r);
		}
	}
	filter_free(&f);
}

/*
 * Filters of points find what is in a box, whatever the shape; and the shapes
 * of the rule for boxes drop more than those of the rule for intervals.
 */
static void
test_filters(void)
{
	static uint64_t keys[RANGES][POINTS];
	renc_keys	ranges[RANGES];
	passes		random = {0};
	passes		areal = {0};
	passes		other = {0};

	for (int round = 0; round < 60; round++)
	{
		renc_shape	shape;
		uint32_t	spread = rnd_below(2) == 0 ? UINT32_MAX : UINT32_C(1) << 20;

		for (int r = 0; r < RANGES; r++)
		{
			for (int k = 0; k < POINTS; k++)
				keys[r][k] = renc_zorder((uint32_t) rnd_below(spread), (uint32_t) rnd_below(spread));
			ranges[r].key = keys[r];
			ranges[r].n = sort_keys(keys[r], POINTS);
		}
		random_shape(&shape, 1, 40);
		ask_filters(ranges, &shape, spread, true, &random);
		if (round % 10 != 0)
			continue;
		renc_rule_shape(ranges, RANGES, 20, true, &shape);
		ask_filters(ranges, &shape, spread, false, &areal);
		renc_rule_shape(ranges, RANGES, 20, false, &shape);
		ask_filters(ranges, &shape, spread, false, &other);
	}
	tap_ok(random.lost == 0 && areal.lost == 0 && other.lost == 0,
		   "no range with a point in the box is lost: %d with random shapes, %d, %d",
		   random.lost, areal.lost, other.lost);
	tap_ok(areal.passed * 2 < other.passed,
		   "with the shapes for boxes %.2f %% of the others pass, with those for intervals %.2f %%",
		   100.0 * areal.passed / areal.empty, 100.0 * other.passed / other.empty);
}

/* Whatever the keys and the budget, the rule makes a valid shape. */
static void
test_rule_valid(void)
{
	static uint64_t keys[2000];
	int			invalid = 0;

	for (int i = 0; i < 2000; i++)
	{
		size_t		n = 1 + rnd_below(rnd_below(2) == 0 ? 5 : 2000);
		int			shift = (int) rnd_below(64);
		renc_keys	range = {keys, 0};
		renc_shape	shape;
		renc_shape	back;
		uint8_t		packed[RENC_SHAPE_PACKED_SIZE];
		const char *reason;

		for (size_t k = 0; k < n; k++)
			keys[k] = rnd() >> shift;
		range.n = sort_keys(keys, n);
		renc_rule_shape(&range, 1, 4 + (double) rnd_below(61), true, &shape);
		renc_shape_pack(&shape, packed);
		if (!renc_shape_unpack(packed, &back, &reason) ||
			renc_shape_nbits(&shape) > RENC_MAX_POSITIONS)
			invalid++;
	}
	tap_ok(invalid == 0, "the rule's shapes are valid: %d are not", invalid);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_zorder");
	test_interleaving();
	test_cells();
	test_overlap();
	test_many_boxes();
	test_hull();
	test_filters();
	test_rule_valid();
	return tap_finish();
}
