/*
 * renc_trial_work.h
 *		What the files of a trial share; private to renc_trial*.c.
 */
#ifndef RENC_TRIAL_WORK_H
#define RENC_TRIAL_WORK_H

#include "renc_program.h"
#include "renc_trial.h"
#include "renc_window.h"

/* Filters that are built. */
#define LANES			RENC_SLICE_RANGES

typedef struct trial_key
{
	uint64_t	key;
	uint32_t	at;				/* position of its range */
} trial_key;

/* A sample that tells something. */
typedef struct asked_sample
{
	const renc_sample *sample;
	double		weight;
	double		turn;			/* asked in the order of these, so that the
								 * first few are like all */
	int			empty;			/* positions without a match */
	renc_mask	excluded;		/* those that match, or do not count */
	uint8_t		level[RENC_GROUP_RANGES];	/* levels that an interval has in
											 * common with keys of the
											 * position */
	renc_mask	below[RENC_KEY_BITS + 1];	/* of an interval: positions with
											 * a key in the node of this level
											 * that holds its first key, */
	renc_mask	above[RENC_KEY_BITS + 1];	/* and its last one */
} asked_sample;

/* Sums over the samples of a kind that a run has asked. */
typedef struct kind_run
{
	double		weight;
	double		windows;
	double		times;			/* logarithms of what each costs more than
								 * nothing */
	double		pairs[RENC_KEY_BITS + 1];	/* by the levels that query and
											 * keys have in common; */
	double		passed[RENC_KEY_BITS + 1];	/* of them */
} kind_run;

typedef struct kind_sums
{
	double		share;			/* of all kinds */
	double		weight;			/* of all that are asked */
	double		empty;			/* pairs without a match */
	double		gaps;			/* share of queries away from values that
								 * match few ranges */
	double		close[RENC_KEY_BITS + 1];	/* of all samples: share of the
											 * pairs with a key in a node of
											 * the level */
	kind_run	run;
} kind_sums;

/* Keys [first, end) of those sorted together. */
typedef struct key_slice
{
	size_t		first;
	size_t		end;
} key_slice;

/*
 * Pass probabilities of the positions: position p stands in lane p % LANES.  Of a node
 * that no range has a key in, one of each lane tells all.
 */
typedef struct pass_chances
{
	float		p[RENC_GROUP_RANGES];
} pass_chances;

struct renc_trial
{
	renc_trial_input in;
	int			npositions;		/* a multiple of LANES */
	renc_mask	used;			/* positions that have a range */
	int			position[RENC_GROUP_RANGES];	/* of each range; -1: not
												 * looked at */
	const renc_keys *at[RENC_GROUP_RANGES]; /* range of each position, or NULL */
	const renc_keys *chosen[RENC_GROUP_RANGES]; /* the ranges looked at,
												 * ascending in keys */
	int			nchosen;
	size_t		total;			/* of their keys */
	renc_keys	filled[LANES];
	int			nfilled;
	uint32_t	nwindows;		/* of their filters */
	size_t		nkeys;
	int			runs;
	double		work;
	kind_sums	kind[RENC_SAMPLE_KINDS];
	size_t		nsamples;		/* asked: the first of them */
	size_t		nknown;
	int			most_nodes;		/* of a query */

	/* Of the run. */
	renc_program program;
	key_slice	slice[RENC_MAX_NODES];
	renc_mask	present[RENC_MAX_NODES];	/* ranges with a key in the node */
	int			width[RENC_MAX_NODES];	/* positions that chances are kept of:
										 * one of each lane, or all */
	pass_chances any[RENC_MAX_NODES];	/* that one of its children passes;
										 * later: it does itself */
	pass_chances tree;			/* that one of a tree's nodes passes */
	pass_chances top;			/* the query */
	float		tree_fill[RENC_MAX_TREES][LANES];	/* of a row of each window */
	double		tree_pass[RENC_MAX_TREES];

	/* What lies behind it. */
	trial_key  *key;
	asked_sample *asked;
	uint8_t    *image;
	float		(*fill)[LANES];
};

/* Sums over the samples that are asked, of a kind each; false if they tell nothing. */
extern bool renc_trial_sum_up(renc_trial *t);

/* The first of the keys of a slice that is >= key. */
static inline size_t
first_from(const renc_trial *t, key_slice s, uint64_t key)
{
	while (s.first < s.end)
	{
		size_t		middle = s.first + (s.end - s.first) / 2;

		if (t->key[middle].key < key)
			s.first = middle + 1;
		else
			s.end = middle;
	}
	return s.first;
}

static inline key_slice
slice_of(const renc_trial *t, key_slice within, uint64_t lo, uint64_t hi)
{
	key_slice	s;

	s.first = first_from(t, within, lo);
	s.end = within.end;
	if (hi < ~UINT64_C(0))
	{
		key_slice	rest = {s.first, within.end};

		s.end = first_from(t, rest, hi + 1);
	}
	return s;
}

/* The query of a sample; of an interval in the memory given. */
static inline renc_query
query_of(const renc_sample *s, renc_interval *interval, renc_interval_set *set)
{
	if (s->query != NULL)
		return *s->query;
	interval->lo = s->lo;
	interval->hi = s->hi;
	set->interval = interval;
	set->n = 1;
	return renc_query_intervals(set);
}

#endif							/* RENC_TRIAL_WORK_H */
