/*
 * renc_run_samples.c
 *		What known queries say about the width of cells.
 *
 * There are far fewer of them than blocks.  So the blocks that they lie in do not get
 * cells of their own: what would help the same queries only.  Rather, each tells how its
 * false pages compare with those that the rule counts in the same place, and all cells
 * from there on are made for what the last queries have told.
 *
 * False pages of a query lie in the cells of its two ends: keys below the first or above the
 * last value asked for.  This is exact but for pages that hold other matches, and
 * for cells that reach in from earlier blocks.
 */
#include "renc_run_samples.h"

#include <math.h>
#include <stdlib.h>

/*
 * Up to so many matching pages a false one counts in full.  Beyond that it counts in
 * proportion to them, for it is lost among what is read anyway.
 */
#define FULL_MATCHES	16.0

/* The last queries that count, and how many count for the rule. */
#define LAST_QUERIES	128.0
#define RULE_QUERIES	16.0

/* The rule is bent by no more than this. */
#define LEAST_RATIO	0.125
#define MOST_RATIO		4.0

/* By key; what begins comes before what ends there. */
static int
compare_run_sample_edges(const void *a, const void *b)
{
	const renc_run_edge *x = (const renc_run_edge *) a;
	const renc_run_edge *y = (const renc_run_edge *) b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return (x->query > y->query) - (x->query < y->query);
}

void
renc_run_samples_init(renc_run_samples *s, const renc_interval *query, uint32_t n,
					  renc_run_edge *edge, renc_run_asked *asked)
{
	memset(s, 0, sizeof(*s));
	s->n = n;
	s->edge = edge;
	s->asked = asked;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t end = 0; end < 2; end++)
		{
			edge[2 * i + end].key = end ? query[i].hi : query[i].lo;
			edge[2 * i + end].query = i;
			edge[2 * i + end].end = end;
		}
	qsort(edge, 2 * (size_t) n, sizeof(*edge), compare_run_sample_edges);
}

/* A query begins: what is below it in its cell. */
static void
begin_run_sample_query(renc_run_samples *s, const renc_run_edge *edge, const renc_run_pair *pair,
					   uint32_t n, int width, double rule)
{
	renc_run_asked *asked = &s->asked[edge->query];
	uint32_t	i = 0;

	asked->false_pages = 0;
	asked->rule = rule;
	for (; i < n && pair[i].key < edge->key; i++)
		asked->false_pages += pair[i].key >> width == edge->key >> width;
	asked->before = s->pairs + i;
}

/* A query ends: what is above it in its cell. */
static void
end_run_sample_query(renc_run_samples *s, const renc_run_edge *edge, const renc_run_pair *pair,
					 uint32_t n, int width)
{
	const renc_run_asked *asked = &s->asked[edge->query];
	double		false_pages = asked->false_pages;
	double		matches;
	uint32_t	i = n;

	for (; i > 0 && pair[i - 1].key > edge->key; i--)
		false_pages += pair[i - 1].key >> width == edge->key >> width;
	matches = s->pairs + i - asked->before;
	s->false_pages += false_pages;
	s->asked_sum *= 1 - 1 / LAST_QUERIES;
	s->rule_sum *= 1 - 1 / LAST_QUERIES;
	s->asked_sum += false_pages / fmax(1, matches / FULL_MATCHES);
	s->rule_sum += asked->rule;
}

void
renc_run_samples_block(renc_run_samples *s, const renc_run_pair *pair, uint32_t n, bool more, int width,
					   double rule)
{
	for (; s->next < 2 * s->n && (!more || s->edge[s->next].key < pair[n].key); s->next++)
	{
		const renc_run_edge *edge = &s->edge[s->next];

		if (edge->end)
			end_run_sample_query(s, edge, pair, n, width);
		else
			begin_run_sample_query(s, edge, pair, n, width, rule);
	}
	s->pairs += n;
}

double
renc_run_samples_ratio(const renc_run_samples *s, double aim)
{
	double		rule = RULE_QUERIES * aim;
	double		ratio = (s->asked_sum + rule) / (s->rule_sum + rule);

	return fmin(fmax(ratio, LEAST_RATIO), MOST_RATIO);
}
