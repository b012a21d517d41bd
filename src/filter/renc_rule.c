/*
 * renc_rule.c
 *		The shape rule: a shape from the keys of a group.
 *
 * The rule in words; n is the number of distinct keys of a range, B the bits
 * per key, K(l) the mean number of distinct prefixes of length l, N(l) the
 * share of keys of other ranges that have a neighbour here, that is, share a
 * prefix of length l with an unequal key of this range:
 *
 * 1. Deepest level E: a query beside the data should rarely share its deepest
 *	  node with a key.  For uniform keys log2(n) + B is enough; that is
 *	  where N falls to 2^-6, plus B - 6.  Not deeper than the granularity of
 *	  the data.  Where this would go past SHORT_LEVEL the keys are dense and
 *	  levels are better spent on short intervals than on single values: E is
 *	  then where N falls to DENSE_NEIGHBOURS, but at least SHORT_LEVEL.
 * 2. Number of bits a key sets: 0.69 B, the optimum of a Bloom filter.  kw is
 *	  2 (1 for very small budgets), kr is 1, or 2 where the levels run out.
 * 3. Levels: from E upwards, every second one.  A level's test passes with
 *	  2^(-kw kr), about the factor by which two levels of depth make a true
 *	  neighbour rarer, so this is even-handed between the two ways to fail,
 *	  and it reaches up to longer intervals.  Where the prefixes are shared
 *	  by many keys, every level.
 * 4. Root: where K reaches 0.96 n (log2(n) + 4 for uniform keys), so that the
 *	  windows are evenly filled, or just above the topmost level.
 */
#include "renc_rule.h"

#include <math.h>
#include <stdlib.h>

/* Optimal bits set per bit of budget: ln 2. */
#define LN2					0.6931471805599453

/* Leaves of 32 values serve the intervals of length 1 .. 64 best. */
#define SHORT_LEVEL			59
#define DENSE_NEIGHBOURS	(1.0 / 4096)

/* Share of distinct prefixes at which the windows are evenly filled. */
#define ROOT_DISTINCT		0.96

/* Ranges looked at; more change the shares by less than they vary. */
#define SAMPLED_RANGES		16

typedef struct key_profile
{
	double		n;				/* mean distinct keys of a range */
	double		distinct[RENC_KEY_BITS + 1];	/* K(l) */
	double		neighbours[RENC_KEY_BITS + 1];	/* N(l) */
	int			granularity;	/* keys differ from neighbours at this level */
} key_profile;

static int
common_prefix(uint64_t a, uint64_t b)
{
	return a == b ? RENC_KEY_BITS : __builtin_clzll(a ^ b);
}

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
			shared = common_prefix(a->key[p], key);
		if (p > 0 && common_prefix(a->key[p - 1], key) > shared)
			shared = common_prefix(a->key[p - 1], key);
		hist[shared]++;
	}
}

/* The same for the keys of a single range among themselves. */
static void
count_own_neighbours(const renc_keys *a, double *hist)
{
	for (size_t i = 0; i < a->n; i++)
	{
		int			shared = 0;

		if (i > 0)
			shared = common_prefix(a->key[i - 1], a->key[i]);
		if (i + 1 < a->n && common_prefix(a->key[i], a->key[i + 1]) > shared)
			shared = common_prefix(a->key[i], a->key[i + 1]);
		hist[shared]++;
	}
}

static void
profile_neighbours(key_profile *p, const double *hist)
{
	double		total = 0;
	double		deeper = 0;

	for (int l = 0; l <= RENC_KEY_BITS; l++)
		total += hist[l];
	p->granularity = RENC_KEY_BITS;
	for (int l = RENC_KEY_BITS; l >= 0; l--)
	{
		deeper += hist[l];
		p->neighbours[l] = total > 0 ? deeper / total : 0;

		/*
		 * Many neighbours that part at this very level and none deeper: the
		 * values have a grain, such as whole seconds in microseconds.
		 */
		if (p->granularity == RENC_KEY_BITS && hist[l] > 0 &&
			hist[l] >= total / 256 && deeper == hist[l] && l < RENC_KEY_BITS)
			p->granularity = l + 1;
	}
}

static void
profile_keys(const renc_keys *ranges, int nranges, key_profile *p)
{
	double		hist[RENC_KEY_BITS + 1] = {0};
	const renc_keys *previous = NULL;
	int			used = 0;
	int			step = nranges > SAMPLED_RANGES ? nranges / SAMPLED_RANGES : 1;

	memset(p, 0, sizeof(*p));
	for (int i = 0; i < nranges; i += step)
	{
		const renc_keys *r = &ranges[i];
		double		shared[RENC_KEY_BITS + 1] = {0};
		double		prefixes = 1;

		if (r->n == 0)
			continue;
		used++;
		p->n += (double) r->n;
		for (size_t k = 1; k < r->n; k++)
			shared[common_prefix(r->key[k - 1], r->key[k])]++;
		p->distinct[0] += 1;
		for (int l = 1; l <= RENC_KEY_BITS; l++)
		{
			prefixes += shared[l - 1];
			p->distinct[l] += prefixes;
		}
		if (previous)
			count_neighbours(previous, r, hist);
		previous = r;
	}
	if (used == 1)
		count_own_neighbours(previous, hist);
	if (used > 0)
	{
		p->n /= used;
		for (int l = 0; l <= RENC_KEY_BITS; l++)
			p->distinct[l] /= used;
	}
	profile_neighbours(p, hist);
}

/* The first level where N is not over "share". */
static int
level_of_neighbours(const key_profile *p, double share)
{
	int			l = 1;

	while (l < RENC_KEY_BITS && p->neighbours[l] > share)
		l++;
	return l;
}

static int
deepest_level(const key_profile *p, double bits_per_key)
{
	double		depth = level_of_neighbours(p, 1.0 / 64) + bits_per_key - 6;
	int			e = depth > RENC_KEY_BITS ? RENC_KEY_BITS : (int) ceil(depth);

	if (e > SHORT_LEVEL)
	{
		int			dense = level_of_neighbours(p, DENSE_NEIGHBOURS);

		e = dense > SHORT_LEVEL ? dense : SHORT_LEVEL;
	}
	if (e > p->granularity)
		e = p->granularity;
	return e < 2 ? 2 : e;
}

/*
 * Adds levels from "e" upwards, "gap" apart, while they fit the budget of
 * bits set per range; returns what is left of it.
 */
static double
add_levels(const key_profile *p, int e, int gap, int hashes, double budget,
		   uint64_t *levels)
{
	*levels = 0;
	for (int l = e; l >= 1; l -= gap)
	{
		double		cost = p->distinct[l] * hashes;

		/* Half a level too much is no worse than half a level too little. */
		if (*levels != 0 && budget < cost / 2)
			break;
		*levels |= RENC_LEVEL_BIT(l);
		budget -= cost;
		if (__builtin_popcountll(*levels) * hashes >= RENC_MAX_POSITIONS - hashes)
			break;
	}
	return budget;
}

void
renc_rule_shape(const renc_keys *ranges, int nranges, double bits_per_key,
				renc_shape *shape)
{
	key_profile p;
	renc_storey *st = &shape->storey[0];
	double		budget;
	int			e;
	int			top;
	int			root = 0;

	memset(shape, 0, sizeof(*shape));
	shape->nstoreys = 1;
	profile_keys(ranges, nranges, &p);
	e = deepest_level(&p, bits_per_key);
	budget = LN2 * bits_per_key * p.n;
	st->kw = bits_per_key < 6 ? 1 : 2;
	st->kr = bits_per_key > 40 ? 2 : 1;

	(void) add_levels(&p, e, 2, st->kw * st->kr, budget, &st->levels);
	if (p.distinct[__builtin_ctzll(st->levels) + 1] < p.n / 2)
		(void) add_levels(&p, e, 1, st->kw * st->kr, budget, &st->levels);

	top = __builtin_ctzll(st->levels) + 1;
	while (root < top - 1 && p.distinct[root] < ROOT_DISTINCT * p.n)
		root++;
	st->root = (uint8_t) root;
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

	/* At most one range in twenty may be too full (one in a slice). */
	outliers = n < 4 ? 0 : (n < 20 ? 1 : n / 20);
	capacity = 1.5 * counts[first + n / 2];
	if (capacity < counts[nranges - 1 - outliers] / 2.0)
		capacity = counts[nranges - 1 - outliers] / 2.0;
	if (capacity > counts[nranges - 1])
		capacity = counts[nranges - 1];
	return capacity;
}

bool
renc_rule_use_dict(size_t ndistinct, size_t total, int nranges, int width,
				   double bits_per_key)
{
	/* A tenth of the entries is left free. */
	double		dict_bits = ndistinct * 8.0 * (8 + width) / 0.9;
	double		filter_bits = total * bits_per_key;

	/*
	 * A slice's dictionary may take twice the filter's bits, because the
	 * group's, which it becomes, is so much smaller: 16 times the ranges, at
	 * 24 in place of 9 bytes a key.
	 */
	if (width == RENC_SLICE_WIDTH && nranges > 1)
		filter_bits *= 2;
	return ndistinct > 0 && dict_bits <= filter_bits;
}
