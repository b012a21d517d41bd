/*
 * renc_model_pairs.c
 *		The model: binning samples, and comparing them with the ranges.
 *
 * Two things decide whether a query passes a range without a match: which nodes
 * it meets at each level (a matter of the query alone), and which of those are
 * truly present, because a key stands close by (a matter of the pair).  The first
 * is kept for at most MODEL_REPS representative queries, the second as the
 * distribution of the deepest truly present level over all pairs.
 */
#include "renc_model_work.h"

#include <stdlib.h>

/* log2 of the number of keys in [lo, hi], rounded down. */
static int
log2_length(uint64_t lo, uint64_t hi)
{
	uint64_t	more = hi - lo;

	return more == 0 ? 0 : RENC_KEY_BITS - __builtin_clzll(more);
}

static int
compare_ranks(const void *a, const void *b)
{
	/* Both begin with the rank; see renc_model.sort. */
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* The nodes of each level that meet an interval. */
static void
profile_interval(model_rep *rep, uint64_t lo, uint64_t hi)
{
	for (int l = 0; l <= RENC_KEY_BITS; l++)
	{
		uint64_t	first = renc_prefix(lo, l);
		uint64_t	last = renc_prefix(hi, l);
		bool		left = first != lo;
		bool		right = renc_prefix_end(hi, l) != hi;
		double		nodes = l == 0 ? 1 :
			(double) ((last >> (RENC_KEY_BITS - l)) - (first >> (RENC_KEY_BITS - l))) + 1;

		if (first == last)
			rep->partial[l] = left || right;
		else
			rep->partial[l] = left + right;
		rep->inside[l] = nodes - rep->partial[l];
	}
}

/*
 * The same for any query, level by level as long as the nodes fit a program.
 * Deeper levels are said to have as many as certainly do not.
 */
static void
profile_query(renc_model *m, model_rep *rep, const renc_query *query)
{
	uint32_t	n = 1;
	int			l = 0;

	m->frontier[0][0] = 0;
	rep->partial[0] = 1;
	rep->inside[0] = 0;
	for (; l < RENC_KEY_BITS && n <= RENC_MAX_NODES; l++)
	{
		const uint64_t *from = m->frontier[l & 1];
		uint64_t   *to = m->frontier[(l + 1) & 1];
		uint32_t	next = 0;

		rep->inside[l + 1] = 2 * rep->inside[l];
		for (uint32_t i = 0; i < n; i++)
		{
			for (int child = 0; child < 2; child++)
			{
				uint64_t	prefix = from[i] |
					((uint64_t) child << (RENC_KEY_BITS - 1 - l));

				switch (query->overlap(query->arg, prefix, renc_prefix_end(prefix, l + 1)))
				{
					case RENC_DISJOINT:
						break;
					case RENC_PARTIAL:
						/* A single key that may match is looked up as one that does. */
						if (l + 1 < RENC_KEY_BITS)
							to[next++] = prefix;
						else
							rep->inside[l + 1]++;
						break;
					case RENC_INSIDE:
						rep->inside[l + 1]++;
						break;
				}
			}
		}
		n = next;
		rep->partial[l + 1] = n;
	}
	for (; l < RENC_KEY_BITS; l++)
	{
		rep->partial[l + 1] = 2.0 * RENC_MAX_NODES;
		rep->inside[l + 1] = 2 * rep->inside[l];
	}
}

/* Takes samples of weight, at even distances if there are too many. */
static void
pick_samples(renc_model *m)
{
	size_t		most = RENC_MODEL_MAX_SAMPLES;
	size_t		step;

	if (m->in.max_samples > 0 && m->in.max_samples < most)
		most = m->in.max_samples;
	step = (m->in.nsamples + most - 1) / most;
	m->npicked = 0;
	m->query_weight = 0;
	for (size_t i = 0; step > 0 && i < m->in.nsamples; i += step)
	{
		const renc_sample *s = &m->in.sample[i];

		if (!(s->weight > 0) || s->lo > s->hi)
			continue;
		m->picked[m->npicked++] = (uint32_t) i;
		m->query_weight += s->weight;
	}
}

static model_rep *
add_rep(renc_model *m, uint32_t sample)
{
	model_rep  *rep = &m->rep[m->nreps++];

	memset(rep, 0, sizeof(*rep));
	rep->sample = sample;
	return rep;
}

/* Orders the samples that are intervals; returns how many, points first. */
static uint32_t
sort_intervals(renc_model *m, uint32_t *npoints, double *total)
{
	uint32_t	n = 0;

	*npoints = 0;
	*total = 0;
	for (uint32_t i = 0; i < m->npicked; i++)
	{
		const renc_sample *s = &m->in.sample[m->picked[i]];
		int			length;

		if (s->query != NULL)
			continue;
		m->split_of[i] = (uint8_t) model_common_prefix(s->lo, s->hi);
		length = log2_length(s->lo, s->hi);
		m->sort[n].rank = (uint64_t) length << 56 |
			(uint64_t) (RENC_KEY_BITS - m->split_of[i]) << 49 |
			(length == 0 ? 0 : (s->hi - s->lo) << (RENC_KEY_BITS - length) >> 15);
		m->sort[n].index = i;
		n++;
		if (length == 0)
			(*npoints)++;
		else
			*total += s->weight;
	}
	qsort(m->sort, n, sizeof(m->sort[0]), compare_ranks);
	return n;
}

/* Adds a representative of sort[first .. end - 1]: the one in their middle. */
static void
represent(renc_model *m, uint32_t first, uint32_t end)
{
	uint32_t	middle = m->picked[m->sort[first + (end - 1 - first) / 2].index];

	for (uint32_t k = first; k < end; k++)
		m->rep_of[m->sort[k].index] = (uint8_t) m->nreps;
	profile_interval(add_rep(m, middle), m->in.sample[middle].lo, m->in.sample[middle].hi);
}

/*
 * Bins the samples that are intervals: all points into one bin, and the others,
 * ordered by length and by the level at which their ends part, into equal ones.
 * Equal in what?  In weight, but long intervals may weigh little and yet cost a
 * thousand times as much as others: so half in weight, half in number.
 */
static void
bin_intervals(renc_model *m, int most)
{
	uint32_t	npoints;
	double		total;
	uint32_t	n = sort_intervals(m, &npoints, &total);
	uint32_t	first = npoints;
	double		done = 0;
	int			bins = 0;

	if (npoints > 0)
	{
		represent(m, 0, npoints);
		most--;
	}
	for (uint32_t k = npoints; k < n; k++)
	{
		done += 0.5 * m->in.sample[m->picked[m->sort[k].index]].weight / total +
			0.5 / (n - npoints);
		if (k + 1 == n || (bins < most - 1 && done >= (bins + 1.0) / most))
		{
			represent(m, first, k + 1);
			bins++;
			first = k + 1;
		}
	}
}

void
model_bin_samples(renc_model *m)
{
	uint32_t	boxes = 0;
	uint32_t	seen = 0;
	int			most;

	pick_samples(m);
	m->nreps = 0;
	for (uint32_t i = 0; i < m->npicked; i++)
		boxes += m->in.sample[m->picked[i]].query != NULL;
	most = boxes == 0 ? 0 : boxes == m->npicked ? MODEL_BOXES : MODEL_BOXES / 2;

	/* Boxes represent themselves; each also the next ones that find no place. */
	for (uint32_t i = 0; i < m->npicked; i++)
	{
		const renc_sample *s = &m->in.sample[m->picked[i]];

		if (s->query == NULL)
			continue;
		if ((uint64_t) seen * most / boxes >= (uint64_t) m->nreps)
			profile_query(m, add_rep(m, m->picked[i]), s->query);
		m->rep_of[i] = (uint8_t) (m->nreps - 1);
		seen++;
	}
	if (boxes < m->npicked)
		bin_intervals(m, MODEL_REPS - m->nreps);
	for (uint32_t i = 0; i < m->npicked; i++)
		m->rep[m->rep_of[i]].weight += m->in.sample[m->picked[i]].weight;
}

static void
add_probe(model_thrown *t, uint64_t key, int depth)
{
	if (t->nprobes == MODEL_PROBES)
		return;
	t->probe[t->nprobes] = key;
	t->depth[t->nprobes] = (uint8_t) depth;
	t->nprobes++;
}

/* The first key >= lo at or after "from", found by doubling steps. */
static size_t
seek(const uint64_t *key, size_t n, size_t from, uint64_t lo)
{
	size_t		step = 1;
	size_t		end;

	if (from >= n || key[from] >= lo)
		return from;
	while (from + step < n && key[from + step] < lo)
	{
		from += step;
		step *= 2;
	}
	end = from + step < n ? from + step : n;
	while (end - from > 1)
	{
		size_t		mid = from + (end - from) / 2;

		if (key[mid] < lo)
			from = mid;
		else
			end = mid;
	}
	return end;
}

/* Compares the intervals, in order, with a range. */
static void
count_intervals(renc_model *m, uint32_t n, int range, model_thrown *thrown)
{
	const renc_keys *keys = &m->in.ranges[range];
	double	   (*depth_weight)[MODEL_LEVELS] = m->depth_weight[m->size_of[range]];
	uint32_t	probe_step = n / MODEL_PROBES + 1;
	size_t		at = 0;

	for (uint32_t k = 0; k < n; k++)
	{
		uint32_t	i = m->order[k];
		const renc_sample *s = &m->in.sample[m->picked[i]];
		int			rep = m->rep_of[i];
		int			left;
		int			right;
		int			depth;
		int			second;

		at = seek(keys->key, keys->n, at, s->lo);
		if (at < keys->n && keys->key[at] <= s->hi)
		{
			m->rep[rep].matches += s->weight;
			continue;
		}
		if (s->anchor == range)
			continue;
		left = at > 0 ? model_common_prefix(keys->key[at - 1], s->lo) : 0;
		right = at < keys->n ? model_common_prefix(keys->key[at], s->hi) : 0;
		depth = left > right ? left : right;
		second = left > right ? right : left;
		depth_weight[rep][depth] += s->weight;
		if (second > m->split_of[i])
			m->second_weight[rep][second] += s->weight;
		if (thrown != NULL && k % probe_step == 0)
			add_probe(thrown, left > right ? s->lo : s->hi, depth);
	}
}

/* A walk over the truly present nodes of a query in a range. */
typedef struct box_walk
{
	const renc_query *query;
	const uint64_t *key;
	double		present[MODEL_LEVELS];
	int			deepest;
	uint64_t	deepest_key;
	bool		match;
} box_walk;

static void
walk_box(box_walk *w, uint64_t prefix, int level, size_t first, size_t end)
{
	size_t		middle;
	uint64_t	half;

	if (first == end || w->match)
		return;
	switch (w->query->overlap(w->query->arg, prefix, renc_prefix_end(prefix, level)))
	{
		case RENC_DISJOINT:
			return;
		case RENC_PARTIAL:
			break;
		case RENC_INSIDE:
			w->match = true;
			return;
	}
	w->present[level]++;
	if (level > w->deepest)
	{
		w->deepest = level;
		w->deepest_key = w->key[first];
	}
	if (level == RENC_KEY_BITS)
	{
		w->match = true;
		return;
	}
	half = prefix | UINT64_C(1) << (RENC_KEY_BITS - 1 - level);
	middle = first + seek(w->key + first, end - first, 0, half);
	walk_box(w, prefix, level + 1, first, middle);
	walk_box(w, half, level + 1, middle, end);
}

static void
count_box(renc_model *m, model_rep *rep, int rep_no, int range, double weight,
		  model_thrown *thrown)
{
	const renc_sample *s = &m->in.sample[rep->sample];
	box_walk	w;

	memset(&w, 0, sizeof(w));
	w.query = s->query;
	w.key = m->in.ranges[range].key;
	walk_box(&w, 0, 0, 0, m->in.ranges[range].n);
	if (w.match)
	{
		rep->matches += weight;
		return;
	}
	if (s->anchor == range)
		return;
	m->depth_weight[m->size_of[range]][rep_no][w.deepest] += weight;
	for (int l = 0; l <= w.deepest; l++)
		rep->present[l] += weight * w.present[l];
	if (thrown != NULL)
		add_probe(thrown, w.deepest_key, w.deepest);
}

static void
count_boxes(renc_model *m)
{
	int			step = (m->in.nranges + MODEL_BOX_RANGES - 1) / MODEL_BOX_RANGES;

	for (int r = 0; r < m->nreps; r++)
	{
		model_rep  *rep = &m->rep[r];
		double		weight = rep->weight * step;

		if (m->in.sample[rep->sample].query == NULL)
			continue;
		for (int range = r % step; range < m->in.nranges; range += step)
		{
			model_thrown *thrown = NULL;

			if (m->size_of[range] < 0)
				continue;
			for (int t = 0; t < m->nthrown; t++)
				if (m->thrown[t].range == range)
					thrown = &m->thrown[t];
			count_box(m, rep, r, range, weight, thrown);
		}
	}
}

/* Means and cumulated weights from the counts. */
static void
finish_reps(renc_model *m)
{
	m->pair_weight = 0;
	for (int r = 0; r < m->nreps; r++)
	{
		model_rep  *rep = &m->rep[r];
		bool		interval = m->in.sample[rep->sample].query == NULL;
		double		all = 0;
		double		second = 0;

		for (int l = RENC_KEY_BITS; l >= 0; l--)
		{
			for (int s = 0; s < m->nsizes; s++)
			{
				all += m->depth_weight[s][r][l];
				rep->deeper[s][l] = rep->deeper[s][l + 1] + m->depth_weight[s][r][l];
			}
			second += m->second_weight[r][l];
			if (all > 0)
				rep->present[l] = interval ? 1 + second / all : rep->present[l] / all;
			if (rep->present[l] > rep->partial[l])
				rep->present[l] = rep->partial[l];
		}
		m->pair_weight += all;
	}
}

void
model_count_pairs(renc_model *m)
{
	uint32_t	n = 0;

	memset(m->depth_weight, 0, sizeof(m->depth_weight));
	memset(m->second_weight, 0, sizeof(m->second_weight));
	for (uint32_t i = 0; i < m->npicked; i++)
	{
		const renc_sample *s = &m->in.sample[m->picked[i]];

		if (s->query != NULL)
			continue;
		m->sort[n].rank = s->lo;
		m->sort[n].index = i;
		n++;
	}
	qsort(m->sort, n, sizeof(m->sort[0]), compare_ranks);
	for (uint32_t k = 0; k < n; k++)
		m->order[k] = m->sort[k].index;

	for (int range = 0; range < m->in.nranges && n > 0; range++)
	{
		model_thrown *thrown = NULL;

		if (m->size_of[range] < 0)
			continue;
		for (int t = 0; t < m->nthrown; t++)
			if (m->thrown[t].range == range)
				thrown = &m->thrown[t];
		count_intervals(m, n, range, thrown);
	}
	count_boxes(m);
	finish_reps(m);
}
