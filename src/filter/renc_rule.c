/*
 * renc_rule.c
 *		The shape rule: a shape from the keys of a group.
 *
 * The rule is where trials start from, and the shape of groups too small to be worth a trial.  It
 * serves points and short intervals.  With n distinct keys of a range and B bits per key,
 *
 *		K(l)	mean number of distinct prefixes of length l in a range
 *		N(l)	share of the keys of other ranges that share a prefix of length l with an
 *				unequal key of this range: neighbours
 *
 * the rule is
 *
 * 1. Deepest level: a neighbour should not be more frequent than what passes by chance, 2^-B or
 *	  so: where N falls to 3/4 of 2^-B.  For uniform keys that is log2(n) + B.
 * 2. Bits that a key sets: 0.69 times the bits that a key really gets, the optimum of a Bloom
 *	  filter.
 * 3. Root: where nearly all keys of a range have a prefix of their own, so that the windows are
 *	  evenly filled; or higher, if there is no room for levels below it.
 * 4. Levels from the deepest one upwards, every second one: a level's test passes with 2^-2, about
 *	  the factor by which two levels of depth make a true neighbour rarer.  Two windows a root, one
 *	  row for each level and window.
 *
 * A box of m nodes finds one of them set by chance m times as often as a point would, and nodes
 * multiply by 4 with every two levels.  So keys in Z-order have three levels with more rows each.
 * The first lies so far below the level where a range has a sixth as many nodes as keys that it
 * prunes what is far from all keys; the deepest where hardly a neighbour is left; the other halfway,
 * which is far from both only where points crowd.
 *
 * Of intervals the rule knows no gaps between crowds of keys: stages that prune are left to trials.
 */
#include "renc_rule.h"

#include <math.h>
#include <stdlib.h>

/* Optimal bits set per bit of budget: ln 2. */
#define LN2					0.6931471805599453

/* Prefixes for each key at the root: nearly one, in Z-order a sixth. */
#define ROOT_SHARE			(31.0 / 32)
#define AREA_ROOT_SHARE		(1.0 / 6)

/*
 * In Z-order the windows' root, the first level and, at least, the deepest are so far below that; and
 * the share of neighbours at the deepest is 2^-AREA_BITS.
 */
#define AREA_ROOT			6
#define AREA_FIRST			12
#define AREA_DEEPEST		14
#define AREA_BITS			11
#define AREA_LEVELS			3

/* No root is deeper. */
#define DEEPEST_ROOT		56

/* A limit that keeps a shape within RENC_MAX_POSITIONS; more levels get two rows each instead. */
#define MAX_BITS			72
#define MANY_LEVELS			14

/* Ranges looked at; more change the shares by less than they vary. */
#define SAMPLED_RANGES		16

/* So many pairs with a neighbour say less of the level below than that half as many are left. */
#define FEW_PAIRS			128

/* Adds, for each key of "b" that "a" lacks, its longest prefix shared with a. */
static void
count_neighbours(const renc_keys *a, const renc_keys *b, double *hist)
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

/*
 * N(l) from the numbers of keys by their longest shared prefix.  The closest are few, and luck
 * decides which levels they share: that half as many are left with each level counts as much as
 * FEW_PAIRS pairs.  Without any pair nothing tells how near other values are: as near as can be.
 */
static void
profile_neighbours(renc_key_profile *p, const double *hist)
{
	double		above = 0;
	double		expected = 1;

	for (int l = 0; l <= RENC_KEY_BITS; l++)
		above += hist[l];
	p->close[0] = 1;
	for (int l = 1; l <= RENC_KEY_BITS; l++)
	{
		double		close = above - hist[l - 1];

		if (p->pairs > 0)
			expected *= (close + FEW_PAIRS / 2.0) / (above + FEW_PAIRS);
		p->close[l] = expected;
		above = close;
	}
}

void
renc_rule_profile(const renc_keys *ranges, int nranges, renc_key_profile *p)
{
	double		hist[RENC_KEY_BITS + 1] = {0};
	const renc_keys *previous = NULL;
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
		p->distinct[0]++;
		for (size_t k = 1; k < r->n; k++)
			p->distinct[renc_common_prefix(r->key[k - 1], r->key[k]) + 1]++;
		if (previous)
			count_neighbours(previous, r, hist);
		previous = r;
	}
	for (int l = 1; l <= RENC_KEY_BITS; l++)
		p->distinct[l] += p->distinct[l - 1];
	for (int l = 0; l <= RENC_KEY_BITS; l++)
	{
		p->distinct[l] /= used > 0 ? used : 1;
		p->pairs += hist[l];
	}
	p->n = used > 0 ? p->n / used : 1;
	profile_neighbours(p, hist);
}

/* Filters are made for a range of many keys; how many more than it has? */
static double
spare_capacity(const renc_keys *ranges, int nranges)
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

static int
at_least_one(double x)
{
	return x < 1 ? 1 : (int) lround(x);
}

static void
set_area_levels(int root, int deepest, renc_stage *st)
{
	int			first = root + AREA_FIRST;

	if (deepest < root + AREA_DEEPEST)
		deepest = root + AREA_DEEPEST;
	st->root = (uint8_t) (root + AREA_ROOT);
	st->levels = RENC_LEVEL_BIT(first) | RENC_LEVEL_BIT((first + deepest) / 2) | RENC_LEVEL_BIT(deepest);
}

void
renc_rule_shape(const renc_keys *ranges, int nranges, double bits_per_key, bool areal,
				renc_shape *shape)
{
	renc_key_profile p;
	renc_stage *st = &shape->stage[0];
	double		bits = fmin(LN2 * bits_per_key * spare_capacity(ranges, nranges), MAX_BITS);
	int			kw = bits_per_key < 6 ? 1 : 2;
	int			nlevels = at_least_one(bits / kw);
	int			deepest = 2;
	int			root = 0;
	int			gap = 2;

	memset(shape, 0, sizeof(*shape));
	shape->nstages = 1;
	renc_rule_profile(ranges, nranges, &p);
	if (nlevels > MANY_LEVELS)
		nlevels = at_least_one(bits / (2 * kw));
	while (root < (areal ? RENC_KEY_BITS - AREA_DEEPEST : DEEPEST_ROOT) &&
		   p.distinct[root] < (areal ? AREA_ROOT_SHARE : ROOT_SHARE) * p.n)
		root++;
	while (deepest < RENC_KEY_BITS &&
		   p.close[deepest] > (areal ? exp2(-AREA_BITS) : 0.75 * exp2(-bits_per_key)))
		deepest++;
	if (areal)
	{
		set_area_levels(root, deepest, st);
		st->kw = (uint8_t) kw;
		st->kr = (uint8_t) fmin(at_least_one(bits / (kw * AREA_LEVELS)), RENC_MAX_KR);
		return;
	}
	if (deepest - root <= gap * (nlevels - 1))
		gap = 1;
	if (root > deepest - nlevels)
		root = deepest > nlevels ? deepest - nlevels : 0;
	if (nlevels > deepest - root)
		nlevels = deepest - root;
	st->root = (uint8_t) root;
	st->kw = (uint8_t) kw;
	st->kr = (uint8_t) fmin(at_least_one(bits / (kw * nlevels)), RENC_MAX_KR);
	for (int i = 0; i < nlevels; i++)
		st->levels |= RENC_LEVEL_BIT(deepest - gap * i);
	while (st->kr > 1 && renc_shape_nbits(shape) > RENC_MAX_POSITIONS)
		st->kr--;
}

static int
compare_counts(const void *a, const void *b)
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

	qsort(counts, nranges, sizeof(*counts), compare_counts);
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
