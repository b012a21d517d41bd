/*
 * renc_rule.c
 *		The shape rule: a shape from the keys of a group.
 *
 * No query is known, so the rule looks for a shape that serves points and
 * short intervals near the optimum and lets longer ones, up to about the
 * spacing of a range's keys, degrade slowly.  In words; n is the number of
 * distinct keys of a range, B the bits per key,
 *
 *		K(l)	mean number of distinct prefixes of length l in a range
 *		S(l)	probability that two of its keys, drawn at random, share one
 *		N(l)	share of the keys of other ranges that share a prefix of length
 *				l with an unequal key of this range: neighbours
 *
 * 1. Deepest level E: a query beside the data should rarely share its deepest
 *	  node with a key.  For uniform keys log2(n) + B is enough; that is
 *	  where N falls to 2^-6, plus B - 6.  Where that would go below five
 *	  levels above the grain of the data (the common divisor of all
 *	  differences: 60 s, say) the keys are dense, and levels are better spent
 *	  on short intervals than on single values: E is then where N falls to
 *	  DENSE_NEIGHBOURS, but at least that level and at most the grain.
 * 2. Bits that a key sets: H = 0.69 times the bits that a key really gets, the
 *	  optimum of a Bloom filter.
 * 3. Root: where S has fallen to what single keys would give, so that the
 *	  windows are evenly filled (log2(n) + 4 for uniform keys).
 * 4. If there is room for it, levels from E upwards, every second one, with
 *	  kw = 2 and kr = 1.  A level's test passes with 2^-2, about the factor
 *	  by which two levels of depth make a true neighbour rarer, so this is
 *	  even-handed between the two ways to fail.
 * 5. If not, the keys are crowded: clustered, or dense in places.  The root
 *	  then leaves six levels at least, and the budget is spread over what is
 *	  below it.  An interval longer than a few such roots would find one of
 *	  its many leaves set by chance; so a first stage prunes it, with one
 *	  window and four rows for every second level.  It starts where so many
 *	  keys share prefixes that the level costs a tenth of H, goes up as long
 *	  as a level prunes, and is left out if it would prune little.
 *
 * Measured at 20 bits a key.  Uniform keys, 4,800 a range, empty queries of
 * length 1 .. 32: 9.6e-5, where the best of 415 shapes built has 7.5e-5 (at 16
 * bits 6.1e-4 and 4.9e-4).  Real data: false positives among the ranges without
 * a key in the interval; the interval holds a key of some other range, which is
 * what people look for.  In brackets, windows read per group of 128 ranges.
 *
 *	 pages a range		length	1			64			1024
 *	 AS numbers		 8		9e-4 (3)	1.3e-3 (5)	7e-4 (30)
 *					32		2.3e-3 (3)	1.3e-3 (5)	6e-4 (30)
 *	 IPv4 addresses	 8		2e-4 (2)	5e-4 (2)	1.6e-3 (2)
 *							1 s			60 s		1 h
 *	 flight times	 8		1e-4 (2)	2e-3 (2)	3e-2 (15)
 *	 bursts			32		4e-5 (2)	< 1e-5 (2)	< 1e-5 (3)
 *
 * (AS numbers in order of address, 110 rows a page; addresses and times of
 * flights, full minutes in half a year, in random order; bursts of 80 rows in ten
 * minutes, anywhere in a year.)  One stage with every second level above the
 * deepest gave 0.25 .. 0.98 for the AS numbers and 0.42 for bursts: where keys
 * share their upper levels, a short root puts them all into a few windows.
 */
#include "renc_rule.h"

#include <math.h>
#include <stdlib.h>

/* Optimal bits set per bit of budget: ln 2. */
#define LN2					0.6931471805599453

/* Leaves of 32 values serve the intervals of length 1 .. 64 best. */
#define SHORT_LEVELS		5
#define DENSE_NEIGHBOURS	(1.0 / 4096)

/* S of the root, relative to that of whole keys. */
#define ROOT_SPREAD			1.1

/* More levels than this get two rows each instead. */
#define MANY_LEVELS			14

/* Levels that even crowded keys leave below the second stage's root. */
#define CROWDED_LEVELS		6

/* First stage: rows a level, share of H that a level may cost. */
#define PRUNE_ROWS			4
#define PRUNE_COST			0.1

/* Limits that keep a shape within RENC_MAX_POSITIONS. */
#define PRUNE_LEVELS		12
#define MAX_BITS			72

/* N of its deepest level, and of its topmost. */
#define PRUNE_USEFUL		0.8
#define PRUNE_USELESS		0.98

/* What a root of it may add to the fill of a window of PAGE_ROWS rows. */
#define PRUNE_OWN_FILL		0.2
#define PAGE_ROWS			510

/* Ranges looked at; more change the shares by less than they vary. */
#define SAMPLED_RANGES		16

typedef struct key_profile
{
	double		n;				/* mean distinct keys of a range */
	double		spare;			/* capacity of a filter per key in it */
	double		distinct[RENC_KEY_BITS + 1];	/* K(l) */
	double		same[RENC_KEY_BITS + 1];	/* S(l) */
	double		neighbours[RENC_KEY_BITS + 1];	/* N(l) */
	int			grain;			/* nodes of this level hold one value */
	bool		aligned;		/* and the values are multiples of them */
} key_profile;

/* Adds, for each key of "b" that "a" lacks, its longest prefix shared with a. */
static void
count_neighbours_for_rule(const renc_keys *a, const renc_keys *b, double *hist)
{
	size_t		p = 0;

	for (size_t i = 0; i < b->n; i++)
	{
		uint64_t	key = b->key[i];
		int			shared = 0;

		while (p < a->n && a->key[p] < key)
			p++;
		if (p < a->n && a->key[p] == key)
			continue;
		if (p < a->n)
			shared = renc_common_prefix(a->key[p], key);
		if (p > 0 && renc_common_prefix(a->key[p - 1], key) > shared)
			shared = renc_common_prefix(a->key[p - 1], key);
		hist[shared]++;
	}
}

/* The same for the keys of a single range among themselves. */
static void
count_own_neighbours_for_rule(const renc_keys *a, double *hist)
{
	for (size_t i = 0; i < a->n; i++)
	{
		int			shared = 0;

		if (i > 0)
			shared = renc_common_prefix(a->key[i - 1], a->key[i]);
		if (i + 1 < a->n && renc_common_prefix(a->key[i], a->key[i + 1]) > shared)
			shared = renc_common_prefix(a->key[i], a->key[i + 1]);
		hist[shared]++;
	}
}

/*
 * Where all ranges have the same keys, as columns of few values do, nothing tells how near
 * other values are: as near as can be.
 */
static void
profile_neighbours_for_rule(key_profile *p, const double *hist)
{
	double		total = 0;
	double		deeper = 0;

	for (int l = 0; l <= RENC_KEY_BITS; l++)
		total += hist[l];
	for (int l = RENC_KEY_BITS; l >= 0; l--)
	{
		deeper += hist[l];
		p->neighbours[l] = total > 0 ? deeper / total : 1;
	}
}

/*
 * Adds a range to the sums of K(l) and S(l).  From one key to the next few nodes of several keys
 * begin or end; below what a key shares with both of its neighbours it is alone.
 */
static void
profile_prefixes_for_rule(key_profile *p, const renc_keys *r)
{
	double		n = (double) r->n;
	size_t		first[RENC_KEY_BITS + 1];	/* of the keys that share a prefix */
	double		prefixes[RENC_KEY_BITS + 1] = {0};	/* of several keys */
	double		pairs[RENC_KEY_BITS + 1] = {0};
	double		alone[RENC_KEY_BITS + 2] = {0}; /* keys, from this level on */
	double		single = 0;
	int			before = -1;

	for (size_t k = 1; k <= r->n; k++)
	{
		int			shared = k < r->n ? renc_common_prefix(r->key[k - 1], r->key[k]) : -1;

		for (int l = before + 1; l <= shared; l++)
			first[l] = k - 1;
		for (int l = shared + 1; l <= before; l++)
		{
			double		keys = (double) (k - first[l]);

			prefixes[l]++;
			pairs[l] += keys * keys;
		}
		alone[(shared > before ? shared : before) + 1]++;
		before = shared;
	}
	for (int l = 0; l <= RENC_KEY_BITS; l++)
	{
		single += alone[l];
		p->distinct[l] += prefixes[l] + single;
		p->same[l] += (pairs[l] + single) / (n * n);
	}
}

static uint64_t
common_divisor_for_rule(uint64_t a, uint64_t b)
{
	while (b != 0)
	{
		uint64_t	rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The common divisor of the differences between keys, and that so far. */
static uint64_t
range_divisor_for_rule(const renc_keys *r, uint64_t origin, uint64_t divisor)
{
	for (size_t k = 0; k < r->n && divisor != 1; k++)
	{
		uint64_t	difference = r->key[k] > origin ? r->key[k] - origin :
			origin - r->key[k];

		if (divisor == 0 || difference % divisor != 0)
			divisor = common_divisor_for_rule(difference, divisor);
	}
	return divisor;
}

/* Filters are made for a range of many keys; how many more than it has? */
static double
spare_capacity_by_rule(const renc_keys *ranges, int nranges)
{
	uint32_t	counts[RENC_GROUP_RANGES];
	double		keys = 0;
	double		squares = 0;
	int			n = 0;

	for (int i = 0; i < nranges && n < RENC_GROUP_RANGES; i++)
	{
		if (ranges[i].n == 0)
			continue;
		counts[n++] = (uint32_t) ranges[i].n;
		keys += (double) ranges[i].n;
		squares += (double) ranges[i].n * (double) ranges[i].n;
	}
	return n == 0 ? 1 : renc_rule_capacity(counts, n) * keys / squares;
}

static void
profile_keys_for_rule(const renc_keys *ranges, int nranges, key_profile *p)
{
	double		hist[RENC_KEY_BITS + 1] = {0};
	const renc_keys *first = NULL;
	const renc_keys *previous = NULL;
	uint64_t	divisor = 0;
	int			used = 0;
	int			step = nranges > SAMPLED_RANGES ? nranges / SAMPLED_RANGES : 1;

	memset(p, 0, sizeof(*p));
	for (int i = 0; i < nranges; i += ranges[i].n > 0 ? step : 1)
	{
		const renc_keys *r = &ranges[i];

		if (r->n == 0)
			continue;
		used++;
		p->n += (double) r->n;
		profile_prefixes_for_rule(p, r);
		if (first == NULL)
			first = r;
		divisor = range_divisor_for_rule(r, first->key[0], divisor);
		if (previous)
			count_neighbours_for_rule(previous, r, hist);
		previous = r;
	}
	if (used == 1)
		count_own_neighbours_for_rule(previous, hist);
	if (used > 0)
	{
		p->n /= used;
		for (int l = 0; l <= RENC_KEY_BITS; l++)
		{
			p->distinct[l] /= used;
			p->same[l] /= used;
		}
	}
	else
		p->n = 1;
	profile_neighbours_for_rule(p, hist);
	p->spare = spare_capacity_by_rule(ranges, nranges);
	p->grain = divisor == 0 ? RENC_KEY_BITS : 1 + __builtin_clzll(divisor);
	p->aligned = (divisor & (divisor - 1)) == 0;
}

/* The first level where N is not over "share". */
static int
rule_level_of_neighbours(const key_profile *p, double share)
{
	int			l = 1;

	while (l < RENC_KEY_BITS && p->neighbours[l] > share)
		l++;
	return l;
}

static int
deepest_level_by_rule(const key_profile *p, double bits_per_key)
{
	double		depth = rule_level_of_neighbours(p, 1.0 / 64) + bits_per_key - 6;
	int			e = depth > RENC_KEY_BITS ? RENC_KEY_BITS : (int) ceil(depth);

	if (e > p->grain - SHORT_LEVELS)
	{
		int			dense = rule_level_of_neighbours(p, DENSE_NEIGHBOURS);

		e = p->grain - SHORT_LEVELS;
		if (e < dense)
			e = dense;

		/* An interval's ends cut through nodes as wide as the grain. */
		if (e >= p->grain)
			e = p->grain + (p->aligned ? 0 : 2);
		if (e > RENC_KEY_BITS)
			e = RENC_KEY_BITS;
	}
	return e < 2 ? 2 : e;
}

/* The topmost level from which on S is at most "limit", or "deepest". */
static int
rule_level_of_same(const key_profile *p, double limit, int deepest)
{
	int			l = 0;

	while (l < deepest && p->same[l] > limit)
		l++;
	return l;
}

static int
at_least_one(double x)
{
	return x < 1 ? 1 : (int) lround(x);
}

/*
 * The first stage of crowded keys, for the levels down to "deepest"; levels
 * = 0 if it would not pay.  Returns the bits that a key sets in it.
 */
static double
pruning_stage_by_rule(const key_profile *p, int deepest, double h, renc_stage *st)
{
	double		bits = 0;
	int			l = deepest;

	st->levels = 0;
	st->kw = 1;
	st->kr = PRUNE_ROWS;
	while (l > 0 && PRUNE_ROWS * p->distinct[l] > PRUNE_COST * h * p->n)
		l--;
	if (l == 0 || p->neighbours[l] > PRUNE_USEFUL)
		return 0;
	for (int i = 0; i < PRUNE_LEVELS && l > 0 && p->neighbours[l] <= PRUNE_USELESS;
		 i++, l -= 2)
	{
		st->levels |= RENC_LEVEL_BIT(l);
		bits += PRUNE_ROWS * p->distinct[l] / p->n;
	}
	st->root = (uint8_t) rule_level_of_same(p, PRUNE_OWN_FILL * PAGE_ROWS / (bits * p->n),
											renc_stage_deepest(st) - 1);
	st->levels &= ~UINT64_C(0) << st->root;
	return bits;
}

void
renc_rule_shape(const renc_keys *ranges, int nranges, double bits_per_key,
				renc_shape *shape)
{
	key_profile p;
	renc_stage *st = &shape->stage[0];
	uint8_t		kw = bits_per_key < 6 ? 1 : 2;
	double		h;
	double		gap = 2;
	int			e;
	int			root;
	int			nlevels;

	memset(shape, 0, sizeof(*shape));
	shape->nstages = 1;
	profile_keys_for_rule(ranges, nranges, &p);
	h = fmin(LN2 * bits_per_key * p.spare, MAX_BITS);
	e = deepest_level_by_rule(&p, bits_per_key);
	root = rule_level_of_same(&p, ROOT_SPREAD * p.same[RENC_KEY_BITS], e - 1);
	nlevels = at_least_one(h / kw);

	if (nlevels > MANY_LEVELS)
		nlevels = at_least_one(h / (2 * kw));
	if (e - root < gap * nlevels - 1)
	{
		double		bits;

		if (root > e - CROWDED_LEVELS)
			root = e > CROWDED_LEVELS ? e - CROWDED_LEVELS : 0;
		bits = pruning_stage_by_rule(&p, root, h, st);
		if (bits > 0)
		{
			h -= bits;
			shape->nstages = 2;
			st++;
		}
		nlevels = at_least_one(h / kw);
		if (nlevels > e - root)
			nlevels = e - root;
		gap = nlevels > 1 ? (e - root - 1) / (double) (nlevels - 1) : 0;
		if (gap > 2)
			gap = 2;
	}
	st->root = (uint8_t) root;
	st->kw = kw;
	st->kr = (uint8_t) at_least_one(h / (kw * nlevels));
	if (st->kr > RENC_MAX_KR)
		st->kr = RENC_MAX_KR;
	for (int i = 0; i < nlevels; i++)
		st->levels |= RENC_LEVEL_BIT(e - (int) (gap * i));
	while (st->kr > 1 && renc_shape_nbits(shape) > RENC_MAX_POSITIONS)
		st->kr--;
}

/*
 * Keys in Z-order, of which boxes are asked.
 *
 * A box of m nodes at the deepest level finds one of them set by chance m
 * times as often as a point would, and its nodes multiply by 4 with every two
 * levels.  So levels below those where keys get apart only add to m, and what
 * lies deeper than a program may have nodes is not tested at all: a box wants
 * its rows a node at few levels, near its own size.  That size is not known.
 * People look at places where there is something, with more than one row, so
 *
 *	- the main root is where a range has a sixth as many nodes as keys, and
 *	  levels 4, 6 and 8 below it see most keys apart;
 *	- a first stage of three levels above that root has few nodes, hence
 *	  many rows for each at little cost.  It prunes what is far from all
 *	  keys, and is what larger boxes are tested by.
 *
 * Measured at 20 bits a key and 8 pages a range, boxes around points of the
 * table: candidate ranges / ranges that match, and in brackets the candidates
 * with the shapes of the rule for intervals.
 *
 *	 degrees				0.03		0.1			0.3			1			3
 *	 aircraft positions		60/58 (293) 99/93 (523) 112/89 (832) 408/168 (1172)
 *	 cities of the world				2.9/2.1 (9) 8.1/7.1 (15) 10.9/10.7 (26) 18/16 (80)
 */
#define AREA_ROOT_SHARE		(1.0 / 6)
#define AREA_MAX_ROOT		(RENC_KEY_BITS - 8)
#define AREA_BITS			14	/* that a key sets with the rows below */

/* At least one, at most RENC_MAX_KR; "kr" is for AREA_BITS bits a key. */
static uint8_t
area_rows_by_rule(int kr, double bits)
{
	int			rows = at_least_one(kr * bits / AREA_BITS);

	return (uint8_t) (rows > RENC_MAX_KR ? RENC_MAX_KR : rows);
}

void
renc_rule_shape_areal(const renc_keys *ranges, int nranges, double bits_per_key,
					  renc_shape *shape)
{
	key_profile p;
	renc_stage *st = &shape->stage[0];
	double		bits;
	int			root = 0;

	memset(shape, 0, sizeof(*shape));
	profile_keys_for_rule(ranges, nranges, &p);
	bits = fmin(LN2 * bits_per_key * p.spare, MAX_BITS);
	while (root < AREA_MAX_ROOT && p.distinct[root] < AREA_ROOT_SHARE * p.n)
		root++;
	if (root >= 8)
	{
		st->root = (uint8_t) (root - 8);
		st->kw = 1;
		st->kr = area_rows_by_rule(4, bits);
		st->levels = RENC_LEVEL_BIT(root - 6) | RENC_LEVEL_BIT(root - 4) |
			RENC_LEVEL_BIT(root - 2);
		st++;
	}
	st->root = (uint8_t) root;
	st->kw = bits_per_key < 6 ? 1 : 2;
	st->kr = area_rows_by_rule(2, bits);
	st->levels = RENC_LEVEL_BIT(root + 4) | RENC_LEVEL_BIT(root + 6) |
		RENC_LEVEL_BIT(root + 8);
	shape->nstages = (uint8_t) (st - shape->stage + 1);
	while (st->kr > 1 && renc_shape_nbits(shape) > RENC_MAX_POSITIONS)
	{
		st->kr--;
		if (shape->stage[0].kr > 1)
			shape->stage[0].kr--;
	}
}

static int
compare_counts_for_rule(const void *a, const void *b)
{
	uint32_t	x = *(const uint32_t *) a;
	uint32_t	y = *(const uint32_t *) b;

	return (x > y) - (x < y);
}

double
renc_rule_capacity(uint32_t *counts, int nranges)
{
	int			first = 0;
	int			n;
	int			outliers;
	double		capacity;

	qsort(counts, nranges, sizeof(*counts), compare_counts_for_rule);
	while (first < nranges && counts[first] == 0)
		first++;
	n = nranges - first;
	if (n == 0)
		return 1;

	/*
	 * At most two ranges of a group may be too full, or one of a slice: each
	 * of them costs a query pages_per_range heap pages.
	 */
	outliers = n < 4 ? 0 : (n < 64 ? 1 : n / 64);
	capacity = 1.5 * counts[first + n / 2];
	if (capacity < counts[nranges - 1 - outliers] / 2.0)
		capacity = counts[nranges - 1 - outliers] / 2.0;
	if (capacity > counts[nranges - 1])
		capacity = counts[nranges - 1];
	return capacity;
}
