/*
 * renc_model_bins.c
 *		The model: binning samples to representative queries.
 *
 * Which nodes a query meets at each level is a matter of the query alone.  It is
 * kept for at most MODEL_REPS representatives, each of which stands for samples
 * that are much like it.
 */
#include "renc_model_work.h"

#include <math.h>
#include <stdlib.h>

/* The largest query of all stands for those that are a little larger. */
#define LARGER			1.02f

/* Nodes by whose level boxes are told apart. */
#define RANKED_NODES	16

/* log2 of the number of keys in [lo, hi], rounded down. */
static int
log2_length(uint64_t lo, uint64_t hi)
{
	uint64_t	more = hi - lo;

	return more == 0 ? 0 : RENC_KEY_BITS - __builtin_clzll(more);
}

int
model_compare_ranks(const void *a, const void *b)
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
 * The same for any query, level by level up to MODEL_PROFILED_NODES.  Border nodes of deeper
 * levels become more as they did over the last two, and as many of their other children
 * lie inside as outside.
 */
static void
profile_query(renc_model *m, model_rep *rep, const renc_query *query)
{
	uint32_t	n = 1;
	int			l = 0;

	m->frontier[0][0] = 0;
	rep->partial[0] = 1;
	rep->inside[0] = 0;
	for (; l < RENC_KEY_BITS && n <= MODEL_PROFILED_NODES; l++)
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

						/*
						 * A single key that may match is looked up as one
						 * that does.
						 */
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
		double		growth = fmin(sqrt(rep->partial[l] / rep->partial[l - 2]), 2);

		rep->partial[l + 1] = rep->partial[l] * growth;
		rep->inside[l + 1] = 2 * rep->inside[l] + rep->partial[l] * (2 - growth) / 2;
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
	qsort(m->sort, n, sizeof(m->sort[0]), model_compare_ranks);
	return n;
}

/*
 * How large is a box?  The level at which it meets more than a few nodes says so, of
 * whatever form it is.
 */
static uint64_t
rank_box(renc_model *m, const renc_sample *s)
{
	int			l = model_common_prefix(s->lo, s->hi);
	uint32_t	n = 1;

	m->frontier[l & 1][0] = renc_prefix(s->lo, l);
	for (; l < RENC_KEY_BITS && n <= RANKED_NODES; l++)
	{
		const uint64_t *from = m->frontier[l & 1];
		uint64_t   *to = m->frontier[(l + 1) & 1];
		uint32_t	next = 0;

		for (uint32_t i = 0; i < n; i++)
		{
			for (int child = 0; child < 2; child++)
			{
				uint64_t	prefix = from[i] | ((uint64_t) child << (RENC_KEY_BITS - 1 - l));

				if (s->query->overlap(s->query->arg, prefix, renc_prefix_end(prefix, l + 1)) !=
					RENC_DISJOINT)
					to[next++] = prefix;
			}
		}
		n = next;
	}
	return (uint64_t) (RENC_KEY_BITS - l) << 8 | n;
}

/* Orders the samples that are boxes by size; returns how many. */
static uint32_t
sort_boxes(renc_model *m, double *total)
{
	uint32_t	n = 0;

	*total = 0;
	for (uint32_t i = 0; i < m->npicked; i++)
	{
		const renc_sample *s = &m->in.sample[m->picked[i]];

		if (s->query == NULL)
			continue;
		m->split_of[i] = (uint8_t) model_common_prefix(s->lo, s->hi);
		m->sort[n].rank = rank_box(m, s) << 32 | i;
		m->sort[n].index = i;
		*total += s->weight;
		n++;
	}
	qsort(m->sort, n, sizeof(m->sort[0]), model_compare_ranks);
	return n;
}

/* How large a query is, in the order of sort[]: boxes in nodes of a deep level. */
static double
size_of(const renc_model *m, uint32_t k)
{
	const renc_sample *s = &m->in.sample[m->picked[m->sort[k].index]];
	uint64_t	rank = m->sort[k].rank >> 32;

	if (s->query == NULL)
		return (double) (s->hi - s->lo) + 1;
	return (double) (rank & 0xff) * model_descendants((int) (rank >> 8));
}

static int
compare_floats(const void *a, const void *b)
{
	float		x = *(const float *) a;
	float		y = *(const float *) b;

	return (x > y) - (x < y);
}

/* Adds a representative of sort[first .. end - 1]: the one in their middle. */
static void
represent(renc_model *m, uint32_t first, uint32_t end)
{
	uint32_t	at = first + (end - 1 - first) / 2;
	uint32_t	middle = m->picked[m->sort[at].index];
	const renc_sample *s = &m->in.sample[middle];
	model_rep  *rep = add_rep(m, middle);

	rep->first_size = m->nqueries;
	rep->nqueries = end - first;
	for (uint32_t k = first; k < end; k++)
	{
		m->rep_of[m->sort[k].index] = (uint8_t) (m->nreps - 1);
		m->size[m->nqueries++] = (float) (size_of(m, k) / size_of(m, at));
	}
	qsort(&m->size[rep->first_size], rep->nqueries, sizeof(m->size[0]), compare_floats);
	if (s->query != NULL)
		profile_query(m, rep, s->query);
	else
	{
		rep->length = (double) (s->hi - s->lo) + 1;
		profile_interval(rep, s->lo, s->hi);
	}
}

/*
 * Bins the samples sort[first .. n - 1], of a weight in total, to equal bins, "most" of
 * them.  Equal in what?  In weight, but long intervals may weigh little and yet cost a
 * thousand times as much as others: so half in weight, half in number.
 */
static void
bin_sorted(renc_model *m, uint32_t first, uint32_t n, double total, int most)
{
	uint32_t	all = n - first;
	uint32_t	largest = first;
	double		done = 0;
	int			bins = 0;

	for (uint32_t k = first; k < n; k++)
		if (size_of(m, k) > size_of(m, largest))
			largest = k;

	for (uint32_t k = first; k < n; k++)
	{
		done += 0.5 * m->in.sample[m->picked[m->sort[k].index]].weight / total + 0.5 / all;
		if (k + 1 == n || (bins < most - 1 && done >= (bins + 1.0) / most))
		{
			represent(m, first, k + 1);
			if (largest >= first && largest <= k)
				m->size[m->nqueries - 1] *= LARGER;
			bins++;
			first = k + 1;
		}
	}
}

/*
 * Intervals: all points into one bin, the others in the order of length and of the
 * level at which their ends part.
 */
static void
bin_intervals(renc_model *m, int most)
{
	uint32_t	npoints;
	double		total;
	uint32_t	n = sort_intervals(m, &npoints, &total);

	if (npoints > 0)
	{
		represent(m, 0, npoints);
		most--;
	}
	bin_sorted(m, npoints, n, total, most);
}

void
model_bin_samples(renc_model *m)
{
	uint32_t	boxes;
	double		total;

	pick_samples(m);
	m->nreps = 0;
	m->nqueries = 0;
	boxes = sort_boxes(m, &total);
	if (boxes > 0)
		bin_sorted(m, 0, boxes, total, boxes == m->npicked ? MODEL_REPS : MODEL_REPS / 2);
	if (boxes < m->npicked)
		bin_intervals(m, MODEL_REPS - m->nreps);
	for (uint32_t i = 0; i < m->npicked; i++)
		m->rep[m->rep_of[i]].weight += m->in.sample[m->picked[i]].weight;
}
