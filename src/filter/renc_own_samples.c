/*
 * renc_own_samples.c
 *		Samples from the table's own values.
 *
 * Users look for things that look like the data: equal to a value, or an interval
 * that begins at one.  So with no query known, the keys of one range are the
 * queries put to all others.  The range a key comes from does not count, neither
 * does any that truly matches.
 *
 * Two of three samples are short intervals: their lengths are spread evenly over the orders of
 * magnitude up to a few times the spacing of the table's keys.  (Of values by themselves the keys tell
 * all: trials make no samples of them.)
 *
 * Where keys crowd together, all of these lie within or close to the crowds, and a
 * shape made for nothing else may let through nearly every range for an interval
 * of some length that lies between two crowds.  So one sample in three is an interval
 * at some distance from a key; distance and length are spread over the orders of magnitude, too.
 *
 * Of points there are none: the rule is as good without a trial.
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

/* In turn: near, near, apart; of each the sizes in turn. */
#define KINDS			3
#define SIZES			5

/* A step through the ranges that has no divisor in common with the number of a group's. */
#define RANGE_STEP		37

/* The ranges that have keys, and the sample that is made. */
typedef struct sample_maker
{
	const renc_keys *keys[RENC_GROUP_RANGES];
	int			index[RENC_GROUP_RANGES];	/* among all */
	int			n;
	double		table_ranges;
	uint64_t	state;			/* of the random numbers */

	const renc_keys *from;
	uint64_t	key;
	double		spacing;		/* of the keys there */
	double		size;			/* orders of magnitude, 0 .. 1 */
	bool		apart;
} sample_maker;

/* In [0, 1); splitmix64. */
static double
random_unit(sample_maker *m)
{
	uint64_t	z = (m->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double) ((z ^ (z >> 31)) >> 11) * ldexp(1, -53);
}

/* Mean distance between keys on the denser side of key i, as far as they are close. */
static double
spacing_at(const renc_keys *keys, size_t i)
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

static bool
begin_samples(const renc_keys *ranges, int nranges, double table_ranges, uint64_t seed, sample_maker *m)
{
	m->n = 0;
	m->table_ranges = fmax(table_ranges, LEAST_RANGES);
	m->state = seed;
	for (int r = 0; r < nranges; r++)
	{
		if (ranges[r].n == 0)
			continue;
		m->keys[m->n] = &ranges[r];
		m->index[m->n++] = r;
	}
	return m->n > 0;
}

/* The key of a sample.  One that stands alone in its range may have neighbours in others. */
static void
draw_key(sample_maker *m, int i, renc_sample *sample)
{
	int			f = (int) ((unsigned int) i * RANGE_STEP % (unsigned int) m->n);
	size_t		k;

	m->from = m->keys[f];
	k = (size_t) (random_unit(m) * (double) m->from->n);
	m->key = m->from->key[k];
	m->spacing = spacing_at(m->from, k);
	for (int r = 0; r < m->n && r < OTHER_RANGES; r++)
	{
		k = renc_keys_first_from(m->keys[r], m->key);
		m->spacing = fmin(m->spacing, MOST_SPARSE *
						  spacing_at(m->keys[r], k < m->keys[r]->n ? k : k - 1));
	}
	m->size = (i / KINDS % SIZES + random_unit(m)) / SIZES;
	m->apart = i % KINDS == KINDS - 1;
	sample->anchor = m->index[f];
	sample->kind = RENC_SAMPLE_NEAR;
}

static void
set_apart(renc_sample *sample)
{
	sample->anchor = -1;
	sample->kind = RENC_SAMPLE_APART;
}

/*
 * An interval at some distance from a key, both of any order of magnitude; false if there is no
 * room.
 */
static bool
draw_apart(sample_maker *m, renc_sample *sample)
{
	uint64_t	least = m->from->key[0];
	uint64_t	greatest = m->from->key[m->from->n - 1];
	double		room = (double) (greatest - least);
	uint64_t	distance = (uint64_t) (m->spacing * pow(fmax(1, room / m->spacing), m->size));
	double		most = fmin((double) distance, APART_SPACINGS * m->spacing);
	uint64_t	length = (uint64_t) fmax(1, most * exp2(-APART_ORDERS * random_unit(m)));
	bool		above = random_unit(m) < 0.5;

	if ((above ? greatest - m->key : m->key - least) < distance)
		above = !above;
	if ((above ? greatest - m->key : m->key - least) < distance)
		return false;
	sample->lo = above ? m->key + distance : m->key - distance;
	sample->hi = greatest - sample->lo < length - 1 ? greatest : sample->lo + (length - 1);
	set_apart(sample);
	return true;
}

int
renc_own_samples_make(const renc_keys *ranges, int nranges, double table_ranges,
					  uint64_t seed, renc_sample *sample, int n)
{
	sample_maker m;

	if (!begin_samples(ranges, nranges, table_ranges, seed, &m))
		return 0;
	for (int i = 0; i < n; i++)
	{
		double		more = 0;

		draw_key(&m, i, &sample[i]);
		if (!m.apart || !draw_apart(&m, &sample[i]))
		{
			more = exp2(m.size * log2(MAX_SPACINGS * m.spacing / m.table_ranges + 1)) - 1;
			sample[i].lo = m.key;
			sample[i].hi = more >= (double) (~UINT64_C(0) - m.key) ? ~UINT64_C(0) :
				m.key + (uint64_t) more;
		}
	}
	return n;
}
