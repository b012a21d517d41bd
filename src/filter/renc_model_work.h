/*
 * renc_model_work.h
 *		What the files of the model share; private to renc_model*.c.
 */
#ifndef RENC_MODEL_WORK_H
#define RENC_MODEL_WORK_H

#include <math.h>

#include "renc_hash.h"
#include "renc_model.h"

/* Representative queries that the samples are binned to. */
#define MODEL_REPS			64

/* Classes of ranges by their number of nodes, and ranges thrown of each. */
#define MODEL_SIZES			4
#define MODEL_THROWN		2

/*
 * The same where all are of one class, at most MODEL_SIZES * MODEL_THROWN; but a few hundred
 * windows tell their fill well enough.
 */
#define MODEL_THROWN_ALIKE	4
#define MODEL_MANY_WINDOWS	200

/* Points by which a distribution of the window fill is represented. */
#define MODEL_POINTS		4

/* Most windows that a range is thrown into; more are scaled down. */
#define MODEL_THROW_WINDOWS 8192

/* Keys of a thrown range of which things are kept from throw to throw. */
#define MODEL_KEPT_KEYS		8192

/* Close queries kept of each thrown range. */
#define MODEL_PROBES		512

/* Greatest load of a window in multiples of its rows that makes a difference. */
#define MODEL_MAX_LOAD		8192

/* Nodes looked at in comparing boxes with the ranges: about as many; 4 ms. */
#define MODEL_WALKED_NODES	200000

/* A query of so many nodes on a level is large: their exact number does not matter. */
#define MODEL_PROFILED_NODES	128

/* Levels 0 (all keys) .. 64. */
#define MODEL_LEVELS		(RENC_KEY_BITS + 1)

/* A representative query: the nodes of each level that meet it. */
typedef struct model_rep
{
	uint32_t	sample;
	double		weight;			/* of the samples it stands for */
	double		matches;		/* weight of their pairs with a true match */
	double		length;			/* of an interval; 0: a box */
	uint32_t	first_size;		/* their sizes, ascending: renc_model.size[] */
	uint32_t	nqueries;
	double		partial[MODEL_LEVELS];	/* nodes that reach over its border */
	double		inside[MODEL_LEVELS];	/* nodes wholly inside */

	/* Partial nodes truly present, in the mean of pairs that have one. */
	double		present[MODEL_LEVELS];

	/*
	 * Weight of the pairs (by size of the range) whose deepest truly present
	 * node is at level d or deeper.
	 */
	double		deeper[MODEL_SIZES][MODEL_LEVELS + 1];
} model_rep;

/*
 * Hashes of the roots of a thrown range, in order, and of those of its probes: most shapes
 * that a search looks at have their roots where the one before had them.
 */
typedef struct model_roots
{
	int			level;			/* -1: none yet */
	renc_hash	hash[MODEL_KEPT_KEYS];
	renc_hash	probe[MODEL_PROBES];
} model_roots;

/* A range thrown into counters, for the windows' fill. */
typedef struct model_thrown
{
	const renc_keys *keys;
	int			size;			/* class */
	int			range;			/* its index */
	uint8_t		shared[MODEL_KEPT_KEYS];	/* levels of a key's prefix that
											 * the key before it has, too */
	model_roots roots[RENC_MAX_STAGES];
	int			last_roots;		/* which of them were used last */
	int			nprobes;
	uint64_t	probe[MODEL_PROBES];	/* key of a query's end .. */
	uint8_t		depth[MODEL_PROBES];	/* .. and its truly present levels */
} model_thrown;

/* Distribution of the product of the fills of a root's windows. */
typedef struct model_fill
{
	int			n;
	double		log_fill[MODEL_POINTS];
	double		pass[MODEL_POINTS]; /* probability that an absent node passes */
	double		share[MODEL_POINTS];
} model_fill;

/* A stage, as the evaluation likes it; stored[0] is the root's level. */
typedef struct model_stage
{
	int			nlevels;
	uint8_t		stored[MODEL_LEVELS];
	int			kw;
	int			kr;
	model_fill	absent[MODEL_SIZES];	/* root not in the range */
	model_fill	present[MODEL_SIZES];	/* root in the range */
} model_stage;

/* A query's program as the budget leaves it. */
typedef struct model_plan
{
	bool		always;
	int			limit;			/* inside nodes from this level on are leaves */
	double		share;			/* of the queries that a representative stands
								 * for */
} model_plan;

struct renc_model
{
	renc_model_input in;
	int			predictions;
	int			throws;			/* of them, looked at closely */
	bool		useful;
	double		query_weight;	/* of all samples */
	double		pair_weight;	/* of all pairs without a match */
	double		close[MODEL_LEVELS];	/* renc_model_close_share() */

	int			nreps;
	model_rep	rep[MODEL_REPS];
	uint8_t		rep_order[MODEL_REPS];	/* in which they are summed */

	/* Of the queries that one represents, itself being 1. */
	float		size[RENC_MODEL_MAX_SAMPLES];
	uint32_t	nqueries;		/* filled in */

	int			nsizes;
	int			nthrown;
	model_thrown thrown[MODEL_SIZES * MODEL_THROWN];
	int8_t		size_of[RENC_GROUP_RANGES]; /* -1: does not count */
	double		distinct[MODEL_SIZES][MODEL_LEVELS];	/* mean prefixes of a
														 * thrown range */

	/* log(1 - (1 - 1/rows)^load) */
	float		log_fill_of[MODEL_MAX_LOAD + 1];

	/* Scratch. */
	float		prefixes[RENC_GROUP_RANGES][MODEL_LEVELS];	/* distinct ones */
	uint32_t	order[RENC_MODEL_MAX_SAMPLES];	/* samples in order of lo */
	uint8_t		rep_of[RENC_MODEL_MAX_SAMPLES]; /* indexed like "picked" */
	uint8_t		split_of[RENC_MODEL_MAX_SAMPLES];
	uint32_t	picked[RENC_MODEL_MAX_SAMPLES]; /* samples used */
	uint32_t	npicked;
	struct
	{
		uint64_t	rank;
		uint32_t	index;
	}			sort[RENC_MODEL_MAX_SAMPLES];
	double		depth_weight[MODEL_SIZES][MODEL_REPS][MODEL_LEVELS];
	double		second_weight[MODEL_REPS][MODEL_LEVELS];
	uint32_t	load[MODEL_THROW_WINDOWS];
	float		log_fill[MODEL_SIZES * MODEL_THROWN][MODEL_THROW_WINDOWS];
	uint64_t	frontier[2][2 * MODEL_PROFILED_NODES + 2];
};

static inline int
model_common_prefix(uint64_t a, uint64_t b)
{
	return a == b ? RENC_KEY_BITS : __builtin_clzll(a ^ b);
}

static inline double
model_not_negative(double x)
{
	return x > 0 ? x : 0;
}

/* Nodes "levels" levels below one node. */
static inline double
model_descendants(int levels)
{
	return levels < RENC_KEY_BITS ? (double) (UINT64_C(1) << levels) : ldexp(1, 64);
}

/* Inside nodes of level "to" whose ancestor of level "from" is not inside. */
static inline double
model_new_inside(const model_rep *rep, int from, int to)
{
	return model_not_negative(rep->inside[to] - rep->inside[from] * model_descendants(to - from));
}

/* renc_model_bins.c: representatives of the samples. */
extern void model_bin_samples(renc_model *m);
extern int	model_compare_ranks(const void *a, const void *b);	/* for m->sort */

/* renc_model_pairs.c: compares the samples with the ranges. */
extern void model_count_pairs(renc_model *m);

/* renc_model_plan.c: what the budget of nodes leaves of a query's program. */
extern int	model_plan_queries(const renc_model *m, const model_stage *st, int nstages,
							   const model_rep *rep, model_plan plan[2]);

/* renc_model_fill.c: how full are the windows under a shape? */
extern void model_choose_thrown(renc_model *m);
extern void model_even_fill(const renc_model *m, const renc_shape *shape,
							model_stage *stages);
extern void model_throw(renc_model *m, const renc_shape *shape,
						model_stage *stages);

#endif							/* RENC_MODEL_WORK_H */
