/*
 * judge.h
 *		Is the shape that was chosen as good as the best that was found?
 */
#ifndef JUDGE_H
#define JUDGE_H

#include "exhaust.h"

/* A choice may have so many times the rate of the best. */
#define JUDGE_LIMIT		1.3

typedef struct judge_effort
{
	int			rounds;			/* of queries; while it is undecided JUDGE_MORE others */
	size_t		queries;		/* of a round; JUDGE_LARGER times as many of the others */
} judge_effort;

#define JUDGE_MORE		40
#define JUDGE_LARGER	8

typedef struct verdict
{
	bench_result choice;
	bench_result rule;			/* of one round, only to look at */
	bench_result best;
	int			which;			/* winner or runner-up */
	double		times;			/* choice / best; of none seen: as of one, see judge.c */
	double		noise;			/* two standard deviations of log(times) */
	bool		decided;		/* times is on one side of JUDGE_LIMIT by noise */
	double		missed;			/* true matches, of all shapes and rounds */
} verdict;

extern void judge_choice(const trial_source *source, const judge_effort *effort,
						 const renc_shape *choice, const renc_shape *rule,
						 const renc_shape best[EXHAUST_BEST], verdict *v);

/* False positives of different queries that say as much as "passed" do. */
extern double judge_independent(double passed, double squares);

#endif							/* JUDGE_H */
