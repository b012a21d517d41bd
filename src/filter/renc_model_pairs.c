/*
 * renc_model_pairs.c
 *		The model: comparing the samples with the ranges.
 *
 * Two things decide whether a query passes a range without a match: which nodes
 * it meets at each level (a matter of the query alone, see renc_model_bins.c), and
 * which of those are truly present, because a key stands close by (a matter of the
 * pair).  The latter is kept as the distribution of the deepest truly present level
 * over all pairs, also of boxes: few pairs are close, and those decide about the depth.
 */
#include "renc_model_work.h"

#include <stdlib.h>

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

/* A walk over the truly present nodes of a query in a range. */
typedef struct box_walk
{
	const renc_query *query;
	const uint64_t *key;
	double		present[MODEL_LEVELS];
	int			deepest;
	uint64_t	deepest_key;
	int			nodes;
	bool		match;
} box_walk;

static void
walk_box(box_walk *w, uint64_t prefix, int level, size_t first, size_t end)
{
	size_t		middle;
	uint64_t	half;

	if (first == end || w->match)
		return;
	w->nodes++;
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

/*
 * Walks the nodes of a box among a range's keys, of which those from "first" to before
 * "end" lie in the box' hull.
 */
static void
walk_hull(box_walk *w, const renc_sample *s, const renc_keys *keys, size_t first, size_t end)
{
	int			level = model_common_prefix(s->lo, s->hi);

	memset(w, 0, sizeof(*w));
	w->query = s->query;
	w->key = keys->key;
	for (int l = 0; l < level; l++)
		w->present[l] = 1;

	/*
	 * The key before the hull, and the one behind it, may share deeper nodes
	 * with it.
	 */
	if (first > 0 && model_common_prefix(keys->key[first - 1], s->lo) >= level)
		first--;
	if (end < keys->n && model_common_prefix(keys->key[end], s->hi) >= level)
		end++;
	walk_box(w, renc_prefix(s->lo, level), level, first, end);
}

/* How a range's keys stand to a query. */
typedef struct pair
{
	bool		match;
	int			depth;			/* of the deepest node truly present */
	int			second;			/* that of another one beside it, or 0 */
	uint64_t	probe;			/* a key that meets, or nearly, the query's
								 * nodes */
} key_pair;

/* A box, and a range with keys in its hull, the first of them at "at". */
static void
compare_hull(const renc_sample *s, const renc_keys *keys, size_t at, box_walk *w, key_pair *p)
{
	size_t		end = seek(keys->key, keys->n, at, s->hi);

	if (end < keys->n && keys->key[end] == s->hi)
		end++;
	walk_hull(w, s, keys, at, end);
	p->match = w->match;
	p->depth = w->deepest;
	p->second = 0;

	/* Below the node truly present, about where the query is. */
	p->probe = renc_prefix(w->deepest_key, w->deepest) |
		(w->deepest < RENC_KEY_BITS ? s->lo & (~UINT64_C(0) >> w->deepest) : 0);
}

/*
 * A query, and a range without keys in its hull, the next key being at "at".  Of a node
 * that meets the query, either end of the hull is the point closest to such keys.
 */
static void
compare_neighbours(const renc_sample *s, const renc_keys *keys, size_t at, key_pair *p)
{
	int			left = at > 0 ? model_common_prefix(keys->key[at - 1], s->lo) : 0;
	int			right = at < keys->n ? model_common_prefix(keys->key[at], s->hi) : 0;

	p->match = false;
	p->depth = left > right ? left : right;
	p->second = left > right ? right : left;
	p->probe = left > right ? s->lo : s->hi;
}

/* Adds what the walk of a box in its hull has found. */
static void
add_walk(model_rep *rep, const box_walk *w, double weight)
{
	for (int l = 0; l <= w->deepest; l++)
		rep->present[l] += weight * (w->present[l] - 1);
}

/*
 * Compares the samples, in order, with a range.  Of boxes only each "step"th, another one
 * for each range.
 */
static void
count_range(renc_model *m, uint32_t n, int range, uint32_t step, model_thrown *thrown)
{
	const renc_keys *keys = &m->in.ranges[range];
	double		(*depth_weight)[MODEL_LEVELS] = m->depth_weight[m->size_of[range]];
	uint32_t	probe_step = n / MODEL_PROBES + 1;
	size_t		at = 0;

	for (uint32_t k = 0; k < n; k++)
	{
		uint32_t	i = m->order[k];
		const renc_sample *s = &m->in.sample[m->picked[i]];
		int			rep = m->rep_of[i];
		double		weight = s->weight;
		bool		walked = false;
		box_walk	w;
		key_pair	p;

		at = seek(keys->key, keys->n, at, s->lo);
		if (s->query != NULL)
		{
			if ((i + range) % step != 0)
				continue;
			weight *= step;
		}
		if (at == keys->n || keys->key[at] > s->hi)
			compare_neighbours(s, keys, at, &p);
		else if (s->query == NULL)
			p.match = true;
		else
		{
			compare_hull(s, keys, at, &w, &p);
			walked = true;
		}
		if (p.match)
		{
			m->rep[rep].matches += weight;
			continue;
		}
		if (s->anchor == range)
			continue;
		depth_weight[rep][p.depth] += weight;
		if (walked)
			add_walk(&m->rep[rep], &w, weight);
		if (p.second > m->split_of[i])
		{
			m->second_weight[rep][p.second] += weight;
			if (s->query != NULL)
				m->second_weight[rep][m->split_of[i]] -= weight;
		}
		if (thrown != NULL && k % probe_step == 0)
			add_probe(thrown, p.probe, p.depth);
	}
}

/* Pairs looked at to tell what all would take: so many boxes, so many ranges. */
#define TRIED_BOXES		32
#define TRIED_RANGES	4

/*
 * Of how many boxes can one be compared with a range?  Most are compared like intervals;
 * but one that is large, or lies across a border of large nodes, has keys in its hull.
 */
static uint32_t
choose_step(const renc_model *m)
{
	double		nodes = 0;
	double		pairs = 0;
	double		boxes = 0;
	uint32_t	nth = m->npicked / TRIED_BOXES + 1;
	int			rth = m->in.nranges / TRIED_RANGES + 1;

	for (uint32_t i = 0; i < m->npicked; i++)
		boxes += m->in.sample[m->picked[i]].query != NULL;
	for (uint32_t i = 0; boxes > 0 && i < m->npicked; i += nth)
	{
		const renc_sample *s = &m->in.sample[m->picked[i]];

		for (int range = (int) (i / nth) % rth; range < m->in.nranges && s->query != NULL; range += rth)
		{
			const renc_keys *keys = &m->in.ranges[range];
			size_t		at = seek(keys->key, keys->n, 0, s->lo);

			pairs++;
			if (at < keys->n && keys->key[at] <= s->hi)
			{
				box_walk	w;
				key_pair	p;

				compare_hull(s, keys, at, &w, &p);
				nodes += w.nodes;
			}
		}
	}
	if (pairs == 0)
		return 1;
	return 1 + (uint32_t) (nodes / pairs * boxes * m->in.nranges / MODEL_WALKED_NODES);
}

/* Means and cumulated weights from the counts. */
static void
finish_reps(renc_model *m)
{
	m->pair_weight = 0;
	for (int r = 0; r < m->nreps; r++)
	{
		model_rep  *rep = &m->rep[r];
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
				rep->present[l] = 1 + (second + rep->present[l]) / all;
			if (rep->present[l] > rep->partial[l])
				rep->present[l] = rep->partial[l];
		}
		m->pair_weight += all;
	}
}

void
model_count_pairs(renc_model *m)
{
	uint32_t	n = m->npicked;
	uint32_t	step = choose_step(m);

	memset(m->depth_weight, 0, sizeof(m->depth_weight));
	memset(m->second_weight, 0, sizeof(m->second_weight));
	for (uint32_t i = 0; i < n; i++)
	{
		m->sort[i].rank = m->in.sample[m->picked[i]].lo;
		m->sort[i].index = i;
	}
	qsort(m->sort, n, sizeof(m->sort[0]), model_compare_ranks);
	for (uint32_t k = 0; k < n; k++)
		m->order[k] = m->sort[k].index;

	for (int range = 0; range < m->in.nranges; range++)
	{
		model_thrown *thrown = NULL;

		if (m->size_of[range] < 0)
			continue;
		for (int t = 0; t < m->nthrown; t++)
			if (m->thrown[t].range == range)
				thrown = &m->thrown[t];
		count_range(m, n, range, step, thrown);
	}
	finish_reps(m);
}
