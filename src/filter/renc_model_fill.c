/*
 * renc_model_fill.c
 *		The model: how full the windows are.
 *
 * Which windows the roots of a range hit, and how many bits the keys below each
 * root set, is not left to a formula: on clustered keys a few roots carry most of
 * the bits, and a Poisson formula is off by up to 9 times.  The real roots of a
 * few ranges are thrown into counters, by the filter's own hash.
 */
#include "renc_model_work.h"

#include <math.h>
#include <stdlib.h>

/* Ranges whose nodes differ by more than this in number are put in classes. */
#define SIZE_SPREAD		1.25

/* Where the classes end, in parts of the ranges. */
#define CLASS_PARTS		32

/* Fewer ranges are one class. */
#define MIN_CLASSED		8

/* Fewer draws of a kind are filled up. */
#define ENOUGH_DRAWS	256

/* So many close queries say enough about the roots that queries meet. */
#define ENOUGH_PROBES	24

/* Runs of neighbouring keys that stand for a range with too many. */
#define RUNS			64

/* Bins of the distribution before it is reduced to points. */
#define BINS			64

/* log of the fill of a window without bits. */
#define LOG_EMPTY		(-60.0f)

typedef struct range_size
{
	double		nodes;			/* beside those of other ranges, see
								 * weigh_range() */
	int			range;
} range_size;

static int
compare_range_sizes(const void *a, const void *b)
{
	const range_size *x = (const range_size *) a;
	const range_size *y = (const range_size *) b;

	if (x->nodes != y->nodes)
		return x->nodes < y->nodes ? -1 : 1;
	return (x->range > y->range) - (x->range < y->range);
}

static void
fill_table(renc_model *m)
{
	double		c = m->in.rows > 1 ? log1p(-1.0 / m->in.rows) : -60;

	m->log_fill_of[0] = LOG_EMPTY;
	for (int i = 1; i <= MODEL_MAX_LOAD; i++)
		m->log_fill_of[i] = (float) fmin(log(-expm1(i * c)), -1e-9);
}

/* Counters taken in turn: neighbours mostly part at the same few levels. */
#define TURNS		4

/* The numbers of distinct prefixes of each length. */
static void
count_prefixes(const renc_keys *keys, float *distinct)
{
	uint32_t	parted[TURNS][MODEL_LEVELS + 1] = {{1}};
	uint32_t	n = 0;

	for (size_t i = 1; i < keys->n; i++)
		parted[i % TURNS][model_common_prefix(keys->key[i - 1], keys->key[i]) + 1]++;
	for (int l = 0; l <= RENC_KEY_BITS; l++)
	{
		for (int t = 0; t < TURNS; t++)
			n += parted[t][l];
		distinct[l] = (float) n;
	}
}

/*
 * How many nodes has a range, beside the mean?  Of as many keys, those scattered over
 * a year have ten times the nodes of those of an hour, at the levels in between; so
 * every level counts alike.
 */
static double
weigh_range(const float *distinct, const double *mean)
{
	double		sum = 0;

	for (int l = 1; l <= RENC_KEY_BITS; l++)
		sum += distinct[l] / mean[l];
	return sum;
}

/* Ranges that count, in the order of their nodes; returns their number. */
static int
order_ranges(renc_model *m, range_size *sizes)
{
	double		mean[MODEL_LEVELS] = {0};
	int			n = 0;

	for (int i = 0; i < m->in.nranges; i++)
	{
		size_t		keys = m->in.ranges[i].n;

		m->size_of[i] = -1;
		if (keys == 0 ||
			(m->in.capacity > 0 && renc_rule_overfull((double) keys, m->in.capacity)))
			continue;
		count_prefixes(&m->in.ranges[i], m->prefixes[i]);
		for (int l = 0; l <= RENC_KEY_BITS; l++)
			mean[l] += m->prefixes[i][l];
		sizes[n++].range = i;
	}
	for (int i = 0; i < n; i++)
		sizes[i].nodes = weigh_range(m->prefixes[sizes[i].range], mean);
	qsort(sizes, n, sizeof(*sizes), compare_range_sizes);
	return n;
}

/* Looks once at what every throw of a range needs. */
static void
note_shared(model_thrown *t)
{
	t->shared[0] = 0;
	for (size_t i = 1; i < t->keys->n && i < MODEL_KEPT_KEYS; i++)
		t->shared[i] = (uint8_t) model_common_prefix(t->keys->key[i - 1], t->keys->key[i]);
	for (int i = 0; i < RENC_MAX_STAGES; i++)
		t->roots[i].level = -1;
	t->last_roots = 0;
}

/*
 * Sorts the ranges into classes by their nodes and picks those that are thrown.
 */
void
model_choose_thrown(renc_model *m)
{
	/* The few fullest have most false positives, if not all. */
	static const int class_end[MODEL_SIZES + 1] = {0, 16, 26, 31, CLASS_PARTS};
	range_size	sizes[RENC_GROUP_RANGES];
	int			n;

	fill_table(m);
	m->nsizes = 0;
	m->nthrown = 0;
	n = order_ranges(m, sizes);
	if (n == 0)
		return;
	m->nsizes = n < MIN_CLASSED ||
		sizes[n - 1].nodes <= SIZE_SPREAD * sizes[0].nodes ? 1 : MODEL_SIZES;
	for (int s = 0; s < m->nsizes; s++)
	{
		int			first = m->nsizes == 1 ? 0 : n * class_end[s] / CLASS_PARTS;
		int			end = m->nsizes == 1 ? n : n * class_end[s + 1] / CLASS_PARTS;
		int			most = m->nsizes == 1 && m->in.nwindows < MODEL_MANY_WINDOWS ?
			MODEL_THROWN_ALIKE : MODEL_THROWN;
		int			picks = end - first < most ? end - first : most;

		memset(m->distinct[s], 0, sizeof(m->distinct[s]));
		for (int i = first; i < end; i++)
			m->size_of[sizes[i].range] = (int8_t) s;
		for (int p = 0; p < picks; p++)
		{
			model_thrown *t = &m->thrown[m->nthrown++];
			int			pick = first + (2 * p + 1) * (end - first) / (2 * picks);

			t->range = sizes[pick].range;
			t->keys = &m->in.ranges[t->range];
			t->size = s;
			t->nprobes = 0;
			note_shared(t);
			for (int l = 0; l <= RENC_KEY_BITS; l++)
				m->distinct[s][l] += m->prefixes[t->range][l] / picks;
		}
	}
}

/* Up to which level does a key of a thrown range share the prefix of the one before? */
static inline int
shared_prefix(const model_thrown *t, size_t i)
{
	if (i < MODEL_KEPT_KEYS)
		return t->shared[i];
	return model_common_prefix(t->keys->key[i - 1], t->keys->key[i]);
}

static inline renc_hash
hash_root(uint64_t key, int level)
{
	return renc_hash_root(renc_prefix(key, level), level);
}

/* The hashes of the roots of a range that is thrown whole; NULL: too many to keep. */
static const model_roots *
known_roots(model_thrown *t, int level)
{
	model_roots *roots;
	int			n = 0;

	if (t->keys->n > MODEL_KEPT_KEYS)
		return NULL;
	for (int i = 0; i < RENC_MAX_STAGES; i++)
	{
		if (t->roots[i].level == level)
		{
			t->last_roots = i;
			return &t->roots[i];
		}
	}
	t->last_roots = (t->last_roots + 1) % RENC_MAX_STAGES;
	roots = &t->roots[t->last_roots];
	roots->level = level;
	for (size_t i = 0; i < t->keys->n; i++)
		if (i == 0 || t->shared[i] < level)
			roots->hash[n++] = hash_root(t->keys->key[i], level);
	for (int i = 0; i < t->nprobes; i++)
		roots->probe[i] = hash_root(t->probe[i], level);
	return roots;
}

/*
 * Bits that the keys of a run set for a stage, counted at each window, root by root.
 * "known": the hashes of the run's roots, or NULL.
 */
static void
throw_run(renc_model *m, const renc_stage *st, const model_thrown *t, size_t first, size_t n,
		  const renc_hash *known, uint32_t nwindows)
{
	uint32_t	bits_of[MODEL_LEVELS];	/* of a key, by its shared prefix */
	size_t		end = first + n;

	for (int l = 0; l < RENC_KEY_BITS; l++)
		bits_of[l] = (uint32_t) __builtin_popcountll(st->levels & ~UINT64_C(0) << l) * st->kr;
	while (first < end)
	{
		renc_hash	h = known != NULL ? *known++ : hash_root(t->keys->key[first], st->root);
		uint32_t	bits = bits_of[0];
		int			shared;

		while (++first < end && (shared = shared_prefix(t, first)) >= st->root)
			bits += bits_of[shared];
		for (uint32_t w = 0; w < st->kw; w++)
			m->load[renc_hash_reduce(h, w, nwindows)] += bits;
	}
}

/*
 * How a range is thrown: whole, unless there are more windows than counters.
 * Then runs of neighbouring keys from all over it are, into as many fewer windows.
 */
typedef struct throw_plan
{
	uint32_t	nwindows;
	bool		whole;
	size_t		runs;
	size_t		length;
} throw_plan;

static throw_plan
plan_throw(const renc_model *m, const renc_keys *keys)
{
	throw_plan	p = {m->in.nwindows, true, 1, keys->n};

	if (p.nwindows > MODEL_THROW_WINDOWS)
	{
		size_t		n = (size_t) ((double) keys->n * MODEL_THROW_WINDOWS / p.nwindows) + 1;

		p.nwindows = MODEL_THROW_WINDOWS;
		p.whole = false;
		p.runs = n < RUNS ? n : RUNS;
		p.length = n / p.runs;
	}
	return p;
}

/* The first key of a run. */
static inline size_t
run_start(const throw_plan *p, const renc_keys *keys, size_t run)
{
	return run * (keys->n - p->length) / p->runs;
}

/* Throws a range; the windows' fill is in log_fill. */
static void
throw_range(renc_model *m, const renc_shape *shape, int thrown)
{
	model_thrown *t = &m->thrown[thrown];
	throw_plan	p = plan_throw(m, t->keys);

	memset(m->load, 0, p.nwindows * sizeof(*m->load));
	for (int s = 0; s < shape->nstages; s++)
	{
		const renc_stage *st = &shape->stage[s];
		const model_roots *known = p.whole ? known_roots(t, st->root) : NULL;

		for (size_t r = 0; r < p.runs; r++)
			throw_run(m, st, t, run_start(&p, t->keys, r), p.length,
					  known != NULL ? known->hash : NULL, p.nwindows);
	}
	for (uint32_t w = 0; w < p.nwindows; w++)
		m->log_fill[thrown][w] =
			m->log_fill_of[m->load[w] < MODEL_MAX_LOAD ? m->load[w] : MODEL_MAX_LOAD];
}

typedef struct fill_draws
{
	int			n;
	float		log_fill[MODEL_THROWN_ALIKE * (MODEL_PROBES + ENOUGH_DRAWS)];
} fill_draws;

static void
draw(fill_draws *d, const float *log_fill, uint32_t nwindows, renc_hash h, int kw)
{
	float		sum = 0;

	for (int w = 0; w < kw; w++)
		sum += log_fill[renc_hash_reduce(h, w, nwindows)];
	d->log_fill[d->n++] = sum;
}

/*
 * Probability that an absent node passes its kr row tests in each of kw windows,
 * whose fills have the product exp(log_fill).  Two rows of a window may be the
 * same, which is one test less.
 */
static double
node_pass(const renc_model *m, double log_fill, int kw, int kr)
{
	double		fill = exp(log_fill / kw);
	double		same = 0.5 * kr * (kr - 1) / m->in.rows;
	double		pass = 1;

	if (kr == 1)
		return exp(log_fill);
	for (int i = 0; i < kr; i++)
		pass *= fill;
	pass *= 1 + fmin(same, 1) * (1 / fill - 1);
	return exp(log(pass) * kw);
}

/*
 * Reduces draws to a few points that preserve the mean of fill^exponent (the
 * whole chain of tests) and are close together where that mean comes from.
 */
static void
reduce_draws(const renc_model *m, const fill_draws *d, const renc_stage *st, model_fill *f)
{
	int			exponent = st->kr * __builtin_popcountll(st->levels);
	double		count[BINS] = {0};
	double		sum[BINS] = {0};
	double		tail[BINS];
	float		least = d->log_fill[0];
	float		most = d->log_fill[0];
	double		total = 0;
	double		seen = 0;
	double		group_count = 0;
	double		group_power = 0;
	double		width;

	for (int i = 1; i < d->n; i++)
	{
		least = d->log_fill[i] < least ? d->log_fill[i] : least;
		most = d->log_fill[i] > most ? d->log_fill[i] : most;
	}
	/* What is e^-30 less likely to pass does not matter. */
	if (least < most - 30.0f / exponent)
		least = most - 30.0f / exponent;
	width = (most - least) / BINS + 1e-12;
	for (int i = 0; i < d->n; i++)
	{
		float		x = d->log_fill[i] < least ? least : d->log_fill[i];
		int			b = (int) ((x - least) / width);

		b = b < BINS ? b : BINS - 1;
		count[b]++;
		sum[b] += x;
	}
	for (int b = 0; b < BINS; b++)
	{
		tail[b] = count[b] > 0 ?
			count[b] * exp(0.5 * exponent * (sum[b] / count[b] - most)) : 0;
		total += tail[b];
	}
	f->n = 0;
	for (int b = 0; b < BINS; b++)
	{
		seen += tail[b];
		if (count[b] > 0)
		{
			group_count += count[b];
			group_power += count[b] * exp(exponent * (sum[b] / count[b] - most));
		}
		if (group_count > 0 &&
			(b == BINS - 1 || seen >= total * (f->n + 1) / MODEL_POINTS) &&
			f->n < MODEL_POINTS)
		{
			f->share[f->n] = group_count / d->n;
			f->log_fill[f->n] = most + log(group_power / group_count) / exponent;
			f->pass[f->n] = node_pass(m, f->log_fill[f->n], st->kw, st->kr);
			f->n++;
			group_count = group_power = 0;
		}
	}
}

static void
draw_root(const float *log_fill, uint32_t nwindows, const renc_stage *st,
		  uint64_t key, fill_draws *d)
{
	draw(d, log_fill, nwindows, hash_root(key, st->root), st->kw);
}

/*
 * The draws of a root that is in a thrown range, and of one that is not.  Where
 * they can be had they are the roots that queries do meet: a short root is one of
 * few, and its windows are the same in all ranges.
 */
static void
draw_roots(renc_model *m, int thrown, const renc_stage *st,
		   fill_draws *absent, fill_draws *present)
{
	model_thrown *t = &m->thrown[thrown];
	const float *log_fill = m->log_fill[thrown];
	throw_plan	p = plan_throw(m, t->keys);
	const model_roots *known = p.whole ? known_roots(t, st->root) : NULL;
	int			nabsent = absent->n;
	int			npresent = present->n;
	uint32_t	random = 0x9e3779b9;

	for (int i = 0; p.whole && i < t->nprobes; i++)
		draw(t->depth[i] >= st->root ? present : absent, log_fill, p.nwindows,
			 known != NULL ? known->probe[i] : hash_root(t->probe[i], st->root), st->kw);

	while (absent->n - nabsent < ENOUGH_DRAWS)
	{
		renc_hash	h;

		/* xorshift32: any evenly spread numbers do. */
		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		h.a = random * UINT32_C(0x85ebca6b);
		h.b = (random * UINT32_C(0xc2b2ae35)) | 1;
		draw(absent, log_fill, p.nwindows, h, st->kw);
	}

	/* Else roots by their number of keys: queries look for data. */
	if (!p.whole)
	{
		for (size_t r = 0; r < p.runs; r++)
			draw_root(log_fill, p.nwindows, st, t->keys->key[run_start(&p, t->keys, r)], present);
	}
	else if (present->n - npresent < ENOUGH_PROBES)
	{
		size_t		step = t->keys->n / ENOUGH_DRAWS + 1;

		for (size_t i = step / 2 < t->keys->n ? step / 2 : 0; i < t->keys->n; i += step)
			draw_root(log_fill, p.nwindows, st, t->keys->key[i], present);
	}
}

/*
 * The fill if all windows had the same: nearly a lower bound of what the real one
 * does, and cheap.
 */
void
model_even_fill(const renc_model *m, const renc_shape *shape, model_stage *stages)
{
	for (int size = 0; size < m->nsizes; size++)
	{
		double		bits = 0;
		double		log_fill;

		for (int s = 0; s < shape->nstages; s++)
			for (int j = 1; j <= stages[s].nlevels; j++)
				bits += m->distinct[size][stages[s].stored[j]] *
					stages[s].kw * stages[s].kr;
		log_fill = fmin(log(-expm1(-bits / ((double) m->in.nwindows * m->in.rows))), -1e-9);
		for (int s = 0; s < shape->nstages; s++)
		{
			model_fill *f = &stages[s].absent[size];

			f->n = 1;
			f->share[0] = 1;
			f->log_fill[0] = log_fill * stages[s].kw;
			f->pass[0] = node_pass(m, f->log_fill[0], stages[s].kw, stages[s].kr);
			stages[s].present[size] = *f;
		}
	}
}

/*
 * The fill of the windows of roots in and not in a range, for each size of
 * range and stage of the shape.
 */
void
model_throw(renc_model *m, const renc_shape *shape, model_stage *stages)
{
	for (int t = 0; t < m->nthrown; t++)
		throw_range(m, shape, t);
	for (int s = 0; s < shape->nstages; s++)
	{
		const renc_stage *st = &shape->stage[s];

		for (int size = 0; size < m->nsizes; size++)
		{
			fill_draws	absent;
			fill_draws	present;

			absent.n = present.n = 0;
			for (int t = 0; t < m->nthrown; t++)
				if (m->thrown[t].size == size)
					draw_roots(m, t, st, &absent, &present);
			reduce_draws(m, &absent, st, &stages[s].absent[size]);
			reduce_draws(m, &present, st, &stages[s].present[size]);
		}
	}
}
