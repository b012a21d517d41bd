/*
 * renc_trial.h
 *		What a shape costs, by trying it on some ranges of a group and a sample of queries.
 *
 * A trial builds filters of the shape for a few ranges in memory, and asks the
 * samples.  How likely a range passes that has no match follows from its keys and from the
 * fill of the windows that the query reads: so a trial of some thousand pairs tells rates of
 * one in a million, which counting those that pass would not.
 *
 * Use: fill in a renc_trial_input, renc_trial_init() once for each group (it
 * compares every sample with every range), then renc_trial_try_shape() for each shape.  A trial
 * is one block of memory of renc_trial_size() bytes from the caller; it keeps
 * pointers to the keys and samples.
 */
#ifndef RENC_TRIAL_H
#define RENC_TRIAL_H

#include "renc_query.h"
#include "renc_rule.h"
#include "renc_shape.h"

/*
 * What reading a window costs, in heap pages, for those who say nothing else.  From shared
 * buffers it takes 60 .. 90 ns, and visiting a heap page 3.5 us at 35 rows a page and 8.5 us
 * at 185: 0.01 .. 0.025.  Cold, one is as good as the other: 1.  In between, a third window
 * buys a tenth less false positives.
 */
#define RENC_TRIAL_WINDOW_COST	0.1

/*
 * What a sample stands for.  Queries that were put cost what they cost.  Of those that are
 * made up nobody knows how often they will come: each kind counts by how many times as
 * much it costs, not by how much more.
 */
typedef enum renc_sample_kind
{
	RENC_SAMPLE_ASKED,			/* put by somebody */
	RENC_SAMPLE_POINT,			/* a value of the table */
	RENC_SAMPLE_SHORT,			/* interval or box at one, of the first of
								 * RENC_SAMPLE_SIZES sizes */
	RENC_SAMPLE_APART = RENC_SAMPLE_SHORT + 5	/* at the first of as many
												 * distances from one */
} renc_sample_kind;

#define RENC_SAMPLE_SIZES	(RENC_SAMPLE_APART - RENC_SAMPLE_SHORT)
#define RENC_SAMPLE_KINDS	(RENC_SAMPLE_APART + RENC_SAMPLE_SIZES)

/* A sample query. */
typedef struct renc_sample
{
	uint64_t	lo;				/* the interval, or the hull of "query" */
	uint64_t	hi;
	const renc_query *query;	/* NULL: the interval [lo, hi] itself */
	float		weight;			/* 1 for an ordinary one; 0 is left out. Those
								 * that are made up weigh no more than one
								 * over the ranges of the table that they
								 * match */
	int32_t		anchor;			/* index of a range that does not count, or -1 */
	int			kind;			/* renc_sample_kind, or of a greater size or
								 * distance */
} renc_sample;

typedef struct renc_trial_input
{
	const renc_keys *ranges;	/* sorted distinct keys of ranges of the group */
	int			nranges;		/* 1 .. 128 */
	int			group_ranges;	/* ranges of the whole group, >= nranges */

	uint32_t	nwindows;		/* windows of a filter */
	uint32_t	rows;			/* rows of a window */
	double		capacity;		/* keys that a filter is made for; ranges over
								 * four times that do not count; 0 = no limit */
	double		table_ranges;	/* of the whole table, or a larger one */
	double		pages_per_range;
	double		window_cost;	/* of a window read, in heap pages */

	const renc_sample *sample;
	size_t		nsamples;
	int			max_kw;			/* a search takes no more windows per root */
	bool		areal;			/* keys in Z-order, asked for by boxes */
	double		asked_share;	/* what queries that were put count for, if
								 * there are others */
} renc_trial_input;

/*
 * Does a query of this kind count as much as any other, whatever it matches?  The largest boxes do:
 * nearly all ranges match these, and still the others should not be read.
 */
static inline bool
renc_trial_each_alike(const renc_trial_input *in, int kind)
{
	return in->areal && kind == RENC_SAMPLE_APART - 1;
}

typedef struct renc_prediction
{
	double		fpr;			/* share of the ranges without a match that
								 * pass */
	double		windows;		/* windows read per query and group */
	double		cost;			/* of a query: windows * window_cost + fpr *
								 * heap pages of the group; in heap pages.  A
								 * mean, or what renc_trial_cost says */
	double		kind[RENC_SAMPLE_KINDS];	/* of a query of each kind */
	bool		complete;		/* false: given up early, "cost" tells only
								 * that it is above the limit */
} renc_prediction;

typedef struct renc_trial renc_trial;

/*
 * Bytes for a trial of this input: a sixteenth of what the group's filters take, two kilobytes
 * a sample, a megabyte, and for boxes 16 bytes for each key looked at (RENC_TRIAL_KEYS, or
 * those of one range).
 */
#define RENC_TRIAL_KEYS		65536
extern size_t renc_trial_size(const renc_trial_input *in);

/*
 * Prepares for a group.  False if no pair of a sample and a range can tell anything: no
 * samples, no keys, or every sample matches every range.
 */
extern bool renc_trial_init(renc_trial *trial, const renc_trial_input *in);

/*
 * Tries a valid shape.  If all samples are queries that were put, it gives up as soon as they are
 * known to cost more than "limit"; pass INFINITY to have the exact numbers.
 */
extern void renc_trial_try_shape(renc_trial *trial, const renc_shape *shape,
								 double limit, renc_prediction *out);

/*
 * What a query costs, in heap pages.  Nobody knows how often which kind of those that are made up
 * will be asked, so "least" has what each kind costs with the shape that is the best for it: the
 * cost is that least one, times how much worse the shape is, in the mean and for the kind that it
 * is worst for.
 */
extern double renc_trial_cost(const renc_trial *trial, const renc_prediction *p, const double *least);

/*
 * From now on so many of the samples are asked at most, and each has so many nodes: of more some
 * pass by chance in any case, and long queries would take long.
 */
extern void renc_trial_limit(renc_trial *trial, size_t samples, int nodes);

/*
 * What the trials since init have cost, in keys set in a filter (50 ns); and how many there
 * were.
 */
extern double renc_trial_work(const renc_trial *trial);
extern int	renc_trial_count_tries(const renc_trial *trial);

#endif							/* RENC_TRIAL_H */
