/*
 * renc_trial.c
 *		What a shape costs, by trying it on some ranges of a group and a sample of queries.
 *
 * A range without a match passes a test for one of two reasons.  The node that is tested
 * holds keys of the range, beside the query: then it passes for certain.  Or other keys
 * have set the rows of the node by chance: with the fills f_1 .. f_kw of the windows that
 * its root selects, it passes with
 *
 *		p = (f_1 * .. * f_kw)^kr
 *
 * (Proteus, equation 5, where the memory has one fill.)  The query's program says which nodes
 * are tested; a node passes if its test and one of its children do.  So with the keys at hand and
 * the fills of a filter that has been built, the probability is known without luck: a trial of some
 * thousand pairs of a sample and a range tells rates of one in a million.
 *
 * Of an interval without a match only the keys next to it matter: with its first key a node has
 * those below it in common, with its last key those above.
 *
 * One filter is built, of the range with the middle number of keys.  Each range takes other windows
 * of it: the few that a root selects would be fuller or emptier than all by luck.
 *
 * Queries that were put cost what they cost, in the mean.  Nobody knows how often queries that are
 * made up will come; so of these counts by how many times as much they read as they must: the mean
 * of the logarithms.
 */
#include "renc_trial.h"

#include <math.h>
#include <stdlib.h>

#include "renc_program.h"
#include "renc_window.h"

/* Ranges looked at, and a probability for each. */
#define RANGES			64
typedef float chances __attribute__((vector_size(RANGES * sizeof(float)), aligned(4)));

/* Windows of the filter that is built. */
#define MOST_WINDOWS	128.0

/* A sample that tells something. */
typedef struct asked_sample
{
	const renc_sample *sample;
	double		must;			/* heap pages of the group that match */
	double		passed;			/* of the last shape that all were asked of */
	uint64_t	empty;			/* positions without a match that count */
	uint64_t	below[RENC_KEY_BITS + 1];	/* positions with a key in the
											 * node of this level that holds
											 * its first key, */
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
	uint8_t		image[(int) MOST_WINDOWS * RENC_TRIAL_ROWS];
	float		fill[(int) MOST_WINDOWS];

	/* Of the query that is asked. */
	renc_program program;
	uint64_t	present[RENC_MAX_NODES];	/* ranges with a key in the node */
	double		reached[RENC_MAX_NODES];	/* mean probability that all above
											 * pass and it does */
	chances		any[RENC_MAX_NODES];	/* that one of its children passes;
										 * later: it does itself */
	chances		tree[RENC_MAX_TREES];	/* that an absent node passes; later:
										 * one of the tree's */
	chances		top;			/* the query */
};

/* Keys in the filter that is built; of fewer windows some are far fuller than others. */
#define FILLED_KEYS		1200.0
#define LEAST_WINDOWS	16.0

/* What kinds that are made up count for. */
static const double kind_share[RENC_SAMPLE_KINDS] = {0, 8, 5, 5};

/* After so many samples that were put the cost so far is looked at. */
#define BLOCK			4

/* Heap pages, and a rate, that are as good as none. */
#define LEAST_COST		0.1
#define LEAST_RATE		1e-6

/*
 * The share of the ranges that may pass as if none did: bits are worth more to values and what is near
 * them than to what lies apart.
 */
static const double kind_good[RENC_SAMPLE_KINDS] = {0, 0.0001, 0.0001, 0.006};

/* ---- Before a shape: ranges, and which samples meet which of them ---- */

size_t
renc_trial_size(void)
{
	return sizeof(renc_trial);
}

static int
compare_ranges(const void *a, const void *b)
{
	const renc_keys *x = *(const renc_keys *const *) a;
	const renc_keys *y = *(const renc_keys *const *) b;

	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return (x > y) - (x < y);
}

/* The ranges looked at. */
static void
choose_ranges(renc_trial *t)
{
	const renc_trial_input *in = &t->in;
	const renc_keys *all[RENC_GROUP_RANGES];
	int			n = 0;

	for (int r = 0; r < in->nranges; r++)
	{
		double		keys = (double) in->ranges[r].n;

		if (keys == 0 || (in->capacity > 0 && renc_rule_overfull(keys, in->capacity)))
			continue;
		all[n++] = &in->ranges[r];
	}
	t->n = n < RANGES ? n : RANGES;
	for (int i = 0; i < t->n; i++)
		t->at[i] = all[(2 * i + 1) * n / (2 * t->n)];
	qsort(t->at, t->n, sizeof(t->at[0]), compare_ranges);
}

/*
 * The keys of the filter that is built: of many, the middle, and the part of the windows that there would
 * be for them.
 */
static void
gather_keys(renc_trial *t)
{
	const renc_keys *from = t->at[t->n / 2];
	double		part = fmax(FILLED_KEYS / (double) from->n, LEAST_WINDOWS / t->in.nwindows);

	part = fmin(fmin(1, part), MOST_WINDOWS / t->in.nwindows);
	t->nwindows = (uint32_t) fmin(ceil(part * t->in.nwindows), MOST_WINDOWS);
	t->filled.n = (size_t) ceil((double) from->n * t->nwindows / t->in.nwindows);
	t->filled.key = from->key + (from->n - t->filled.n) / 2;
}

/* Which ranges match an interval, and with which levels do others have keys beside it? */
static void
compare_interval(renc_trial *t, asked_sample *asked)
{
	const renc_sample *s = asked->sample;

	for (int at = 0; at < t->n; at++)
	{
		const renc_keys *keys = t->at[at];
		size_t		first = renc_keys_first_from(keys, s->lo);
		uint64_t	bit = UINT64_C(1) << at;

		if (first < keys->n && keys->key[first] <= s->hi)
		{
			asked->empty &= ~bit;
			continue;
		}
		if (first > 0)
			asked->below[renc_common_prefix(keys->key[first - 1], s->lo)] |= bit;
		if (first < keys->n)
			asked->above[renc_common_prefix(keys->key[first], s->hi)] |= bit;
	}
	for (int l = RENC_KEY_BITS; l > 0; l--)
	{
		asked->below[l - 1] |= asked->below[l];
		asked->above[l - 1] |= asked->above[l];
	}
}

/* Compares samples with ranges; leaves those that tell something. */
static void
compare_all(renc_trial *t)
{
	for (size_t i = 0; i < t->in.nsamples && t->nasked < RENC_TRIAL_SAMPLES; i++)
	{
		asked_sample *asked = &t->asked[t->nasked];
		const renc_sample *s = &t->in.sample[i];
		int			matching;

		if (s->kind == RENC_SAMPLE_POINT)
			continue;
		memset(asked, 0, sizeof(*asked));
		asked->sample = s;
		asked->empty = ~UINT64_C(0) >> (64 - t->n);
		compare_interval(t, asked);

		/* The range of a value is no match that a query like it has. */
		matching = t->n - __builtin_popcountll(asked->empty) - (s->kind == RENC_SAMPLE_NEAR);
		asked->must = fmax(0, matching) / t->n * t->in.group_ranges * t->in.pages_per_range;
		for (int at = 0; at < t->n && s->anchor >= 0; at++)
			if (t->at[at] == &t->in.ranges[s->anchor])
				asked->empty &= ~(UINT64_C(1) << at);
		t->kind[s->kind].made++;

		/* An interval that matches much reads much in any case. */
		if (asked->empty == 0 || (s->kind != RENC_SAMPLE_ASKED && asked->must > 0))
			continue;
		t->kind[s->kind].without += asked->must == 0;
		t->kind[s->kind].n++;
		t->kind[s->kind].pairs += __builtin_popcountll(asked->empty);
		t->order[t->nasked++] = asked;
	}
}

/*
 * What each kind counts for, of those that there are.  Where few queries that lie apart are without a
 * match there are no gaps.
 */
static void
share_kinds(renc_trial *t)
{
	double		made_up = 0;
	const kind_sums *apart = &t->kind[RENC_SAMPLE_APART];
	double		gaps = apart->made > 0 ? (double) apart->without / apart->made : 0;
	double		asked = t->kind[RENC_SAMPLE_ASKED].n > 0 ? t->in.asked_share : 0;

	t->kind[RENC_SAMPLE_POINT].n = 1;
	t->kind[RENC_SAMPLE_POINT].pairs = 1;
	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
	{
		if (t->kind[k].n > 0)
			t->kind[k].share = kind_share[k] * (k == RENC_SAMPLE_APART ? gaps : 1);
		made_up += t->kind[k].share;
	}
	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
		t->kind[k].share *= (1 - asked) / made_up;
	t->kind[RENC_SAMPLE_ASKED].share = asked;
}

bool
renc_trial_init(renc_trial *t, const renc_trial_input *in)
{
	t->in = *in;
	t->runs = 0;
	t->most_nodes = RENC_MAX_NODES;
	t->nasked = 0;
	memset(t->kind, 0, sizeof(t->kind));
	choose_ranges(t);
	if (t->n == 0)
		return false;
	gather_keys(t);
	compare_all(t);
	share_kinds(t);
	renc_rule_profile(in->ranges, in->nranges, &t->profile);
	return t->nasked > 0;
}

/* ---- A shape ---- */

/* Builds the filter, and counts what share of each window is set. */
static void
fill_windows(renc_trial *t, const renc_shape *shape)
{
	size_t		window_size = renc_image_size(1, t->in.rows, RENC_SLICE_WIDTH);

	memset(t->image, 0, t->nwindows * window_size);
	renc_window_fill(t->image, RENC_SLICE_WIDTH, 0, shape, t->nwindows, t->in.rows, t->filled.key,
					 t->filled.n);
	for (uint32_t w = 0; w < t->nwindows; w++)
		t->fill[w] = (float) renc_band_count_bits(t->image + w * window_size, t->in.rows, 0) /
			(float) t->in.rows;
}

/* That an absent node below a root passes. */
static void
set_absent(const renc_trial *t, const renc_stage *st, renc_hash root, chances *p)
{
	chances		product = {0};

	product += 1;
	for (uint32_t w = 0; w < st->kw; w++)
	{
		uint32_t	window = renc_hash_position(root, w, t->nwindows);
		uint32_t	step = (t->nwindows / RANGES + w + 1) % t->nwindows;

		for (int at = 0; at < RANGES; at++)
		{
			product[at] *= t->fill[window];
			window += step < t->nwindows - window ? step : step - t->nwindows;
		}
	}
	*p = product;
	for (int r = 1; r < st->kr; r++)
		*p *= product;
}

/* One of some nodes passes: those so far, and another. */
static void
add_pass(chances *any, const chances *node)
{
	*any += *node * (1 - *any);
}

static double
mean_of(const renc_trial *t, const chances *p)
{
	double		sum = 0;

	for (int at = 0; at < t->n; at++)
		sum += (*p)[at];
	return sum / t->n;
}

/* The ranges with a key in a node. */
static uint64_t
present_in(const renc_trial *t, const asked_sample *asked, int i)
{
	const renc_node *node = &t->program.node[i];
	uint64_t	end = renc_prefix_end(node->prefix, node->level);
	uint64_t	m = 0;

	if (node->prefix <= asked->sample->lo && asked->sample->lo <= end)
		m = asked->below[node->level];
	if (node->prefix <= asked->sample->hi && asked->sample->hi <= end)
		m |= asked->above[node->level];
	return m;
}

/* What is known of each tree and node before its tests. */
static void
prepare_nodes(renc_trial *t, const asked_sample *asked)
{
	const renc_program *prog = &t->program;

	for (int tree = 0; tree < prog->ntrees; tree++)
	{
		const renc_tree *of = &prog->tree[tree];
		double		absent;

		set_absent(t, &prog->shape.stage[of->stage], of->hash, &t->tree[tree]);
		absent = mean_of(t, &t->tree[tree]);
		for (int i = of->first_node; i < of->first_node + of->nnodes; i++)
		{
			int			parent = prog->node[i].parent >= 0 ? prog->node[i].parent : of->link;
			double		present;

			t->present[i] = present_in(t, asked, i);
			present = (double) __builtin_popcountll(t->present[i]) / t->n;
			t->reached[i] = present + absent * ((parent >= 0 ? t->reached[parent] : 1) - present);
			memset(&t->any[i], 0, sizeof(chances));
		}
	}
}

/*
 * Combines the trees, from the last to the first: below come after.  Returns windows read: those of
 * a tree one after the other while any range of the group is left, which has passed what stands
 * above it.
 */
static double
combine_trees(renc_trial *t)
{
	const renc_program *prog = &t->program;
	double		windows = 0;

	memset(&t->top, 0, sizeof(chances));
	for (int tree = prog->ntrees - 1; tree >= 0; tree--)
	{
		const renc_tree *of = &prog->tree[tree];
		int			kw = prog->shape.stage[of->stage].kw;
		double		reached = t->in.group_ranges * (of->link >= 0 ? t->reached[of->link] : 1);
		chances		passed = {0};

		for (int i = of->first_node + of->nnodes - 1; i >= of->first_node; i--)
		{
			chances		p = t->tree[tree];

			for (uint64_t rest = t->present[i]; rest != 0; rest &= rest - 1)
				p[__builtin_ctzll(rest)] = 1;
			if (!(prog->node[i].flags & RENC_NODE_RESULT))
				p *= t->any[i];
			t->any[i] = p;
			add_pass(prog->node[i].parent >= 0 ? &t->any[prog->node[i].parent] : &passed, &p);
		}
		for (int w = 0; w < kw; w++)
			windows += of->link < 0 && w == 0 ? 1 :
				1 - exp(-reached * (w == 0 ? 1 : pow(mean_of(t, &passed), (double) w / kw)));
		add_pass(of->link >= 0 ? &t->any[of->link] : &t->top, &passed);
	}
	return windows;
}

static double
cost_of(const renc_trial *t, double rate, double windows)
{
	return rate * t->in.group_ranges * t->in.pages_per_range + windows * t->in.window_cost;
}

/* What costs less than this costs nothing. */
static double
least_of(const renc_trial *t, int kind)
{
	return LEAST_COST + cost_of(t, kind_good[kind], 0);
}

static void
add_to_kind(renc_trial *t, int k, double passed, double of, double must, double windows)
{
	kind_sums  *kind = &t->kind[k];

	kind->windows += windows;
	kind->passed += passed;
	kind->costs += log1p(cost_of(t, passed / of, windows) / (least_of(t, k) + must));
	kind->rates += log(LEAST_RATE + passed / of);
}

/*
 * Asks one sample, and adds up what passes.  One too long to be tested passes everywhere, and no match
 * makes up for that.
 */
static void
ask(renc_trial *t, asked_sample *asked, const renc_shape *shape)
{
	renc_interval interval = {asked->sample->lo, asked->sample->hi};
	renc_interval_set set = {&interval, 1};
	int			empty = __builtin_popcountll(asked->empty);
	double		windows = 0;
	double		passed = empty;

	renc_program_compile_within(&t->program, shape, &set, t->most_nodes);
	if (!t->program.always)
	{
		prepare_nodes(t, asked);
		windows = combine_trees(t);
		passed = 0;
		for (uint64_t rest = asked->empty; rest != 0; rest &= rest - 1)
			passed += t->top[__builtin_ctzll(rest)];
	}
	asked->passed = passed / empty;
	add_to_kind(t, asked->sample->kind, passed, empty, t->program.always ? 0 : asked->must, windows);
}

/*
 * A value of the table: it shares so many levels with a key, and those below pass by chance.  What
 * shares the deepest level passes for certain.
 */
static void
ask_values(renc_trial *t, const renc_shape *shape)
{
	chances		p = {0};
	double		closer = 0;		/* share of the pairs that share a level below */
	double		rate = 0;
	double		windows = 0;

	p += 1;
	for (int s = shape->nstages - 1; s >= 0; s--)
	{
		const renc_stage *st = &shape->stage[s];
		chances		absent;

		set_absent(t, st, renc_hash_root(0, st->root), &absent);
		windows += st->kw;
		for (uint64_t rest = st->levels; rest != 0;)
		{
			int			level = RENC_KEY_BITS - __builtin_clzll(rest);

			rate += mean_of(t, &p) * (t->profile.close[level] - closer);
			closer = t->profile.close[level];
			p *= absent;
			rest &= ~RENC_LEVEL_BIT(level);
		}
	}
	add_to_kind(t, RENC_SAMPLE_POINT, rate + mean_of(t, &p) * (1 - closer), 1, 0, windows);
}

/* What all samples cost; at least, if others are still to be asked. */
static void
add_up(renc_trial *t, renc_prediction *p)
{
	double		costs = 0;
	double		rates = 0;

	p->windows = 0;
	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
	{
		const kind_sums *kind = &t->kind[k];
		double		rate = kind->passed / kind->pairs;

		if (kind->share <= 0)
			continue;
		p->windows += kind->share * kind->windows / kind->n;
		if (k == RENC_SAMPLE_ASKED)
		{
			costs += kind->share * log1p(cost_of(t, rate, kind->windows / kind->n) / least_of(t, k));
			rates += kind->share * log(LEAST_RATE + rate);
		}
		else
		{
			costs += kind->share * kind->costs / kind->n;
			rates += kind->share * kind->rates / kind->n;
		}
	}
	p->cost = expm1(costs) * LEAST_COST;
	p->fpr = fmax(0, exp(rates) - LEAST_RATE);
}

/* Those first that pass most: most shapes are worse, and soon known to be. */
static int
compare_passed(const void *a, const void *b)
{
	const asked_sample *x = *(asked_sample *const *) a;
	const asked_sample *y = *(asked_sample *const *) b;

	if (x->passed != y->passed)
		return x->passed > y->passed ? -1 : 1;
	return (x > y) - (x < y);
}

void
renc_trial_limit(renc_trial *t, int nodes)
{
	t->most_nodes = nodes;
}

int
renc_trial_count_tries(const renc_trial *t)
{
	return t->runs;
}

bool
renc_trial_try_shape(renc_trial *t, const renc_shape *shape, double limit, renc_prediction *out)
{
	t->runs++;
	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
		t->kind[k].windows = t->kind[k].passed = t->kind[k].costs = t->kind[k].rates = 0;
	fill_windows(t, shape);
	ask_values(t, shape);
	for (int i = 0; i < t->nasked; i++)
	{
		ask(t, t->order[i], shape);
		if (i % BLOCK != BLOCK - 1)
			continue;
		add_up(t, out);
		if (out->cost > limit)
			return false;
	}
	add_up(t, out);
	qsort(t->order, t->nasked, sizeof(t->order[0]), compare_passed);
	return true;
}
