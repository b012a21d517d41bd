/*
 * renc_trial_work.h
 *		What a trial knows; private to renc_trial*.c.
 */
#ifndef RENC_TRIAL_WORK_H
#define RENC_TRIAL_WORK_H

#include "renc_program.h"
#include "renc_trial.h"
#include "renc_window.h"

/* Ranges looked at, and a probability for each. */
#define RANGES			64
typedef float chances __attribute__((vector_size(RANGES * sizeof(float)), aligned(4)));

/* For boxes, keys that are sorted together. */
#define MOST_KEYS		65536

/* Windows of the filter that is built. */
#define MOST_WINDOWS	128.0

typedef struct trial_key
{
	uint64_t	key;
	int			at;				/* position of its range */
} trial_key;

/* Keys [first, end) of those sorted together. */
typedef struct key_slice
{
	size_t		first;
	size_t		end;
} key_slice;

/* A sample that tells something. */
typedef struct asked_sample
{
	const renc_sample *sample;
	double		must;			/* heap pages of the group that match */
	double		passed;			/* of the last shape that all were asked of */
	uint64_t	empty;			/* positions without a match that count */
	uint64_t	below[RENC_KEY_BITS + 1];	/* of an interval: positions with
											 * a key in the node of this level
											 * that holds its first key, */
	uint64_t	above[RENC_KEY_BITS + 1];	/* and its last one */
} asked_sample;

/* Sums over the samples of a kind. */
typedef struct kind_sums
{
	double		share;			/* of all kinds */
	int			n;				/* samples that tell something */
	int			made;			/* all samples, */
	int			without;		/* and those without a match */
	double		pairs;			/* of a sample and a range, without a match */

	/* Of the run. */
	double		windows;
	double		passed;			/* of the pairs */
	double		costs;			/* logarithms of how many times as much is
								 * read */
	double		rates;			/* and of the share of the ranges that passes */
} kind_sums;

struct renc_trial
{
	renc_trial_input in;
	const renc_keys *at[RANGES];	/* the ranges looked at, ascending in keys */
	int			n;
	uint32_t	nwindows;		/* of the filter that is built, */
	renc_keys	filled;			/* and its keys */
	renc_key_profile profile;
	int			most_nodes;		/* of a query */
	int			runs;
	kind_sums	kind[RENC_SAMPLE_KINDS];
	int			nasked;
	asked_sample asked[RENC_TRIAL_SAMPLES];
	asked_sample *order[RENC_TRIAL_SAMPLES];
	size_t		nkeys;			/* sorted together */
	trial_key	key[MOST_KEYS];
	uint8_t		image[(int) MOST_WINDOWS * RENC_TRIAL_ROWS];
	float		fill[(int) MOST_WINDOWS];

	/* Of the query that is asked. */
	renc_program program;
	key_slice	slice[RENC_MAX_NODES];
	uint64_t	present[RENC_MAX_NODES];	/* ranges with a key in the node */
	double		reached[RENC_MAX_NODES];	/* mean probability that all above
											 * pass and it does */
	chances		any[RENC_MAX_NODES];	/* that one of its children passes;
										 * later: it does itself */
	chances		tree[RENC_MAX_TREES];	/* that an absent node passes; later:
										 * one of the tree's */
	chances		top;			/* the query */
};

/* Those of a slice from lo to hi. */
static inline key_slice
slice_of(const renc_trial *t, key_slice s, uint64_t lo, uint64_t hi)
{
	size_t		end = s.end;

	while (s.first < end)
	{
		size_t		middle = s.first + (end - s.first) / 2;

		if (t->key[middle].key < lo)
			s.first = middle + 1;
		else
			end = middle;
	}
	return hi == ~UINT64_C(0) || s.first == s.end ? s :
		(key_slice)
	{
		s.first, slice_of(t, s, hi + 1, ~UINT64_C(0)).first
	};
}

#endif							/* RENC_TRIAL_WORK_H */
