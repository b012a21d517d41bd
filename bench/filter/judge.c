/*
 * judge.c
 *		Is the shape that was chosen as good as the best that was found?
 *
 * Both are measured anew, of made keys with other keys and queries than they were
 * found with, of a column with other queries, and meet the same ones.  A first round
 * says which of winner and runner-up is the better one, and does not count.  Then
 * rounds are added up until the quotient of the rates is known to be above or below
 * JUDGE_LIMIT by two standard deviations of its logarithm.
 *
 * The standard deviation takes queries to be independent, not the ranges that one of
 * them passes: where few queries come close to the keys at all, each of those passes
 * all ranges or none.  With c and b, the false positives of a query under either
 * shape, summing up to C and B,
 *
 *		variance of log(C / B) = sum of (c / C - b / B)^2
 *
 * which says nothing good where few have passed: it is zero if all were of one query,
 * whatever its c and b.  So two more are assumed, one that passes under the choice alone
 * and one under the other alone, each as large as those seen, and if none has been
 * seen under a shape it counts as one.
 */
#include "judge.h"

#include <math.h>
#include <stdlib.h>

/* What has passed under a shape. */
typedef struct tally
{
	bench_result r;
	double		squares;		/* sum of those of a query's false positives */
} tally;

double
judge_independent(double passed, double squares)
{
	return squares > 0 ? passed * passed / squares : 0;
}

static void
add_run(tally *t, trial *on, const renc_shape *shape)
{
	bench_result r = trial_run(on, shape, on->nqueries, INFINITY);

	t->r.empty += r.empty;
	t->r.passed += r.passed;
	t->r.missed += r.missed;
	t->r.fpr = t->r.empty > 0 ? t->r.passed / t->r.empty : 0;
	for (size_t i = 0; i < on->nqueries; i++)
		t->squares += (double) on->passed[i] * on->passed[i];
}

/* False positives that one query has, of those that have any. */
static double
per_query(const tally *t, const tally *other)
{
	if (t->squares > 0)
		return t->squares / t->r.passed;
	return other->squares > 0 ? other->squares / other->r.passed : 1;
}

/* "both": sum over the queries of the products of what passed under the two. */
static void
compare(const tally *choice, const tally *best, double both, verdict *v)
{
	double		of_choice = per_query(choice, best);
	double		of_best = per_query(best, choice);
	double		x = fmax(choice->r.passed, of_choice);
	double		y = fmax(best->r.passed, of_best);
	double		variance = choice->squares / (x * x) - 2 * both / (x * y) + best->squares / (y * y);

	variance = fmax(variance, 0) + of_choice * of_choice / (x * x) + of_best * of_best / (y * y);
	v->times = x / y;
	v->noise = 2 * sqrt(variance);
	v->decided = fabs(log(v->times / JUDGE_LIMIT)) > v->noise;
}

static bool
same_shape(const renc_shape *a, const renc_shape *b)
{
	uint8_t		x[RENC_SHAPE_PACKED_SIZE];
	uint8_t		y[RENC_SHAPE_PACKED_SIZE];

	renc_shape_pack(a, x);
	renc_shape_pack(b, y);
	return memcmp(x, y, sizeof(x)) == 0;
}

static void
draw_round(const trial_source *source, size_t queries, trial *t)
{
	trial_make(t, source);
	trial_queries(t, source, queries);
}

/* The first round: the better one of the best, and the rule's shape. */
static void
first_round(const trial_source *source, size_t queries, const renc_shape *rule,
			const renc_shape best[EXHAUST_BEST], verdict *v)
{
	trial		t;
	double		least = INFINITY;

	draw_round(source, queries, &t);
	v->rule = trial_run(&t, rule, t.nqueries, INFINITY);
	v->missed += v->rule.missed;
	for (int b = 0; b < EXHAUST_BEST; b++)
	{
		bench_result r = trial_run(&t, &best[b], t.nqueries, INFINITY);

		v->missed += r.missed;
		if (r.fpr < least)
		{
			least = r.fpr;
			v->which = b;
		}
	}
	trial_free(&t);
}

void
judge_choice(const trial_source *source, const judge_effort *effort, const renc_shape *choice,
			 const renc_shape *rule, const renc_shape best[EXHAUST_BEST], verdict *v)
{
	tally		chosen = {{0, 0, 0, 0}, 0};
	tally		other = {{0, 0, 0, 0}, 0};
	double		both = 0;
	bool		same;

	memset(v, 0, sizeof(*v));
	first_round(source, effort->queries, rule, best, v);
	same = same_shape(choice, &best[v->which]);
	for (int round = 0; round < effort->rounds + JUDGE_MORE; round++)
	{
		bool		more = round >= effort->rounds && !source->own_range;
		uint8_t    *passed;
		trial		t;

		draw_round(source, effort->queries * (more ? JUDGE_LARGER : 1), &t);
		add_run(&chosen, &t, choice);
		passed = (uint8_t *) test_alloc(t.nqueries);
		memcpy(passed, t.passed, t.nqueries);
		add_run(&other, &t, &best[v->which]);
		for (size_t i = 0; i < t.nqueries; i++)
			both += (double) passed[i] * t.passed[i];
		free(passed);
		trial_free(&t);
		compare(&chosen, &other, both, v);
		v->decided |= same;
		if (round > 0 && v->decided)
			break;
	}
	v->choice = chosen.r;
	v->best = other.r;
	v->missed += chosen.r.missed + other.r.missed;
}
