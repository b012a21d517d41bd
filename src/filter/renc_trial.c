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
 * are tested; a node passes if its test and one of its children do.  So with the
 * keys at hand and the fills of filters that have been built, the probability is known
 * without luck.  It only has to be summed up over pairs of a sample and a range.
 *
 * Of an interval without a match only the keys next to it matter: with its first key a node has
 * those below it in common, with its last key those above.  For boxes, keys of some ranges are
 * sorted together, so that those in a node are found by halving.  Most nodes hold
 * none: their subtrees pass alike in all ranges of a lane.
 *
 * Filters are built for at most LANES ranges, the keys of which stand for as many as
 * others have: a range is told by the fills of the one next to it in number of keys.
 */
#include "renc_trial_work.h"

#include <math.h>

/* Of more keys in a node, so many tell which ranges have any. */
#define SEEN_KEYS		512

/* After so many samples that were put the cost so far is looked at. */
#define BLOCK			16

/* What costs less than this costs nothing. */
#define LEAST_COST		0.1
#define LEAST_SHARE		0.03
#define LEAST_RATE		1e-6

/* The kind that a shape is worst for decides nearly alone. */
#define WORST			5.0

/* Work: a sample, and a node of its program, in keys set in a filter. */
#define SAMPLE_WORK		12
#define NODE_WORK		0.5

/* The ranges that have keys in a slice; of many keys, by some of them. */
static renc_mask
ranges_of_trial(const renc_trial *t, key_slice s)
{
	size_t		step = (s.end - s.first) / SEEN_KEYS + 1;
	renc_mask	m = renc_mask_none();

	for (size_t i = s.first; i < s.end; i += step)
		renc_mask_set(&m, t->key[i].at);
	return m;
}

/* Builds the filters, and counts what share of each window is set. */
static void
fill_trial_lanes(renc_trial *t, const renc_shape *shape)
{
	size_t		window_size = renc_image_size(1, t->in.rows, RENC_SLICE_WIDTH);

	memset(t->image, 0, t->nwindows * window_size);
	for (int i = 0; i < t->nfilled; i++)
		t->work += (double) t->filled[i].n;
	for (int i = 0; i < t->nfilled; i++)
		renc_window_fill(t->image, RENC_SLICE_WIDTH, i, shape, t->nwindows, t->in.rows,
						 t->filled[i].key, t->filled[i].n);
	for (uint32_t w = 0; w < t->nwindows; w++)
	{
		float		share[LANES] = {0};

		for (int i = 0; i < t->nfilled; i++)
			share[i] = (float) renc_band_count_bits(t->image + w * window_size, t->in.rows, i) / (float) t->in.rows;
		for (int lane = 0; lane < LANES; lane++)
			t->fill[w][lane] = share[lane * t->nfilled / LANES];
	}
}

/*
 * That an absent node of a tree passes, in each lane.  Where samples are made up, a lane takes
 * other windows: the few that their roots select would be fuller or emptier than all by luck.
 */
static void
set_trial_tree_fill(renc_trial *t, int tree)
{
	const renc_tree *of = &t->program.tree[tree];
	const renc_stage *st = &t->program.shape.stage[of->stage];
	float		product[LANES];

	for (int lane = 0; lane < LANES; lane++)
		product[lane] = 1;
	for (int w = 0; w < st->kw; w++)
	{
		uint32_t	window = renc_hash_position(of->hash, w, t->nwindows);

		for (int lane = 0; lane < LANES; lane++)
		{
			product[lane] *= t->fill[window][lane];
			if (t->in.asked_share < 1)
				window = (window + t->nwindows / LANES + (uint32_t) w) % t->nwindows;
		}
	}
	for (int lane = 0; lane < LANES; lane++)
	{
		float		p = product[lane];

		for (int r = 1; r < st->kr; r++)
			p *= product[lane];
		t->tree_fill[tree][lane] = p;
	}
}

/* The ranges with a key in a node; of those keys that are "within" its parent. */
static renc_mask
present_in_trial(renc_trial *t, const asked_sample *asked, int i, key_slice within)
{
	const renc_node *node = &t->program.node[i];
	uint64_t	end = renc_prefix_end(node->prefix, node->level);
	renc_mask	m = renc_mask_none();

	if (t->in.areal)
	{
		t->slice[i] = within;
		if (within.first < within.end)
			t->slice[i] = slice_of(t, within, node->prefix, end);
		return ranges_of_trial(t, t->slice[i]);
	}
	if (node->prefix <= asked->sample->lo && asked->sample->lo <= end)
		m = asked->below[node->level];
	if (node->prefix <= asked->sample->hi && asked->sample->hi <= end)
		m = renc_mask_or(m, asked->above[node->level]);
	return m;
}

/* The ranges with keys in each node. */
static void
find_present_in_trial(renc_trial *t, const asked_sample *asked)
{
	const renc_program *prog = &t->program;
	key_slice	all = {0, t->nkeys};

	for (int tree = 0; tree < prog->ntrees; tree++)
	{
		const renc_tree *of = &prog->tree[tree];

		set_trial_tree_fill(t, tree);
		for (int i = of->first_node; i < of->first_node + of->nnodes; i++)
		{
			int			parent = prog->node[i].parent >= 0 ? prog->node[i].parent : of->link;

			t->present[i] = present_in_trial(t, asked, i, parent >= 0 ? t->slice[parent] : all);
			t->width[i] = renc_mask_empty(t->present[i]) ? LANES : t->npositions;
			memset(&t->any[i], 0, t->width[i] * sizeof(float));
		}
	}
}

/* Those of some positions, which most CPUs compute at once. */
#define AT_ONCE		4
typedef float some_chances __attribute__((vector_size(AT_ONCE * sizeof(float))));
typedef int32_t some_bits __attribute__((vector_size(AT_ONCE * sizeof(int32_t))));

/* That a node passes: its test, and one of its children, unless it is a leaf. */
static void
test_node_in_trial(renc_trial *t, int i, const float *absent)
{
	const some_chances certain = {1, 1, 1, 1};
	const some_bits bit = {1, 2, 4, 8};
	bool		leaf = t->program.node[i].flags & RENC_NODE_RESULT;
	float	   *any = t->any[i].p;

	for (int at = 0; at < t->width[i]; at += AT_ONCE)
	{
		some_bits	present = (bit & (int32_t) (t->present[i].w[at >> 6] >> (at & 63) & 15)) != 0;
		some_chances children;
		some_chances p;

		memcpy(&p, absent + at % LANES, sizeof(p));
		memcpy(&children, any + at, sizeof(children));
		p = (some_chances) (((some_bits) certain & present) | ((some_bits) p & ~present));
		if (!leaf)
			p *= children;
		memcpy(any + at, &p, sizeof(p));
	}
}

/* One of some nodes passes: those so far, and another. */
static void
add_pass_of_trial(pass_chances *any, int width, const pass_chances *node, int node_width)
{
	for (int at = 0; at < width; at += AT_ONCE)
	{
		some_chances p;
		some_chances more;

		memcpy(&p, any->p + at, sizeof(p));
		memcpy(&more, node->p + (node_width == LANES ? at % LANES : at), sizeof(more));
		p += more * (1 - p);
		memcpy(any->p + at, &p, sizeof(p));
	}
}

/* Mean over the ranges used of the probability that a tree passes. */
static double
mean_pass_of_trial(const renc_trial *t, const pass_chances *any, int width)
{
	double		sum = 0;

	if (width == LANES)
	{
		for (int lane = 0; lane < LANES; lane++)
			sum += any->p[lane];
		return sum / LANES;
	}
	for (int word = 0; word < 2; word++)
		for (uint64_t rest = t->used.w[word]; rest != 0; rest &= rest - 1)
			sum += any->p[64 * word + __builtin_ctzll(rest)];
	return sum / t->nchosen;
}

/* From the last tree to the first: below come after. */
static void
combine_trial_trees(renc_trial *t)
{
	const renc_program *prog = &t->program;

	memset(&t->top, 0, t->npositions * sizeof(float));
	for (int tree = prog->ntrees - 1; tree >= 0; tree--)
	{
		const renc_tree *of = &prog->tree[tree];
		int			width = of->link >= 0 ? t->width[of->link] : t->npositions;

		memset(&t->tree, 0, width * sizeof(float));
		for (int i = of->first_node + of->nnodes - 1; i >= of->first_node; i--)
		{
			int			parent = prog->node[i].parent;

			test_node_in_trial(t, i, t->tree_fill[tree]);
			add_pass_of_trial(parent >= 0 ? &t->any[parent] : &t->tree,
							  parent >= 0 ? t->width[parent] : width, &t->any[i], t->width[i]);
		}
		if (prog->shape.stage[of->stage].kw > 1)
			t->tree_pass[tree] = mean_pass_of_trial(t, &t->tree, width);
		add_pass_of_trial(of->link >= 0 ? &t->any[of->link] : &t->top, width, &t->tree, width);
	}
}

/* Mean over the ranges of the probability that what stands above a tree passes. */
static double
mean_reached_in_trial(const renc_trial *t, int tree)
{
	const renc_program *prog = &t->program;
	int			link = prog->tree[tree].link;
	double		p = 1;
	int			above = tree - 1;
	double		present;

	if (link < 0)
		return 1;
	while (prog->tree[above].first_node > link || prog->tree[above].stage != 0)
		above--;
	for (int i = link; i >= 0 && renc_mask_empty(t->present[i]); i = prog->node[i].parent)
		p *= t->tree_fill[above][LANES / 2];
	present = renc_mask_count(t->present[link]) / (double) t->nchosen;
	return present + (1 - present) * p;
}

/*
 * Windows read: those of a tree one after the other while any range of the group is left,
 * which has passed what stands above it.
 */
static double
count_trial_windows(const renc_trial *t)
{
	const renc_program *prog = &t->program;
	double		windows = 0;

	for (int tree = 0; tree < prog->ntrees; tree++)
	{
		int			kw = prog->shape.stage[prog->tree[tree].stage].kw;
		double		reached = t->in.group_ranges * mean_reached_in_trial(t, tree);

		for (int w = 0; w < kw; w++)
		{
			double		left = w == 0 ? reached :
				reached * pow(t->tree_pass[tree], (double) w / kw);

			windows += prog->tree[tree].link < 0 && w == 0 ? 1 : 1 - exp(-left);
		}
	}
	return windows;
}

/* Tests a sample in all ranges; false if it is too long to be tested.  Returns windows read. */
static bool
test_sample_in_trial(renc_trial *t, const asked_sample *asked, const renc_shape *shape,
					 double *windows)
{
	renc_interval interval;
	renc_interval_set set;
	renc_query	q = query_of(asked->sample, &interval, &set);

	renc_program_compile_within(&t->program, shape, &q, t->most_nodes);
	t->work += SAMPLE_WORK + NODE_WORK * t->program.nnodes;
	*windows = 0;
	if (t->program.always)
		return false;
	find_present_in_trial(t, asked);
	combine_trial_trees(t);
	*windows = count_trial_windows(t);
	return true;
}

static double
cost_of(const renc_trial *t, double rate, double windows)
{
	return rate * t->in.group_ranges * t->in.pages_per_range + windows * t->in.window_cost;
}

/* Asks one sample, and adds up what passes. */
static void
ask(renc_trial *t, const asked_sample *asked, const renc_shape *shape)
{
	kind_run   *run = &t->kind[asked->sample->kind].run;
	renc_mask	empty = renc_mask_andnot(t->used, asked->excluded);
	double		windows;
	bool		tested = test_sample_in_trial(t, asked, shape, &windows);
	double		all = 0;

	for (int word = 0; word < 2; word++)
	{
		for (uint64_t rest = empty.w[word]; rest != 0; rest &= rest - 1)
		{
			int			at = 64 * word + __builtin_ctzll(rest);
			double		passed = tested ? t->top.p[at] : 1;

			run->pairs[asked->level[at]] += asked->weight;
			run->passed[asked->level[at]] += asked->weight * passed;
			all += passed;
		}
	}
	run->weight += asked->weight;
	run->windows += asked->weight * windows;
	run->times += asked->weight * log(1 + cost_of(t, all / asked->empty, windows) / LEAST_COST);
}

/* Bits that a key sets at the levels below this one. */
static int
bits_below_in_trial(const renc_shape *shape, int level)
{
	int			bits = 0;

	for (int s = 0; s < shape->nstages; s++)
		bits += shape->stage[s].kw * shape->stage[s].kr *
			__builtin_popcountll(shape->stage[s].levels & ~UINT64_C(0) << level);
	return bits;
}

/*
 * Share of the pairs that pass.  The closest pairs are few, and luck decides which shape lets
 * through none of them.  So those of a level count as many as they can be expected to be; where
 * there are none, each test that is left passes as often as those did on the level above.
 */
static double
rate_of_trial(const kind_sums *kind, const renc_shape *shape, int deepest)
{
	double		passed = kind->close[deepest];
	double		p = 0;
	double		bits = 1;

	for (int l = 0; l < deepest; l++)
	{
		if (kind->run.pairs[l] > 0)
		{
			p = kind->run.passed[l] / kind->run.pairs[l];
			bits = bits_below_in_trial(shape, l);
		}
		passed += pow(p, bits_below_in_trial(shape, l) / bits) *
			(kind->close[l] - kind->close[l + 1]);
	}
	return passed;
}

/*
 * What a query of a kind costs; of queries that were put at least, if others are still to be asked.
 */
static double
trial_cost_of_kind(const renc_trial *t, int k, int deepest, double *windows)
{
	const kind_sums *kind = &t->kind[k];
	const kind_run *run = &kind->run;
	double		passed = 0;

	*windows = 0;
	if (run->weight <= 0)
		return 0;
	*windows = run->windows / run->weight;
	if (k > (t->in.areal ? RENC_SAMPLE_APART - 2 : RENC_SAMPLE_POINT))
		return LEAST_COST * (exp(run->times / run->weight) - 1);
	if (k != RENC_SAMPLE_ASKED)
		return cost_of(t, rate_of_trial(kind, &t->program.shape, deepest), *windows);
	*windows = run->windows / kind->weight;
	for (int l = 0; l <= RENC_KEY_BITS; l++)
		passed += run->passed[l];
	return cost_of(t, passed / kind->empty, *windows);
}

/* What is little beside what must be read is nothing. */
static double
least_of_trial(const renc_trial *t, int k)
{
	return renc_trial_each_alike(&t->in, k) ? cost_of(t, LEAST_SHARE, 0) : LEAST_COST;
}

/* Adds up what the samples of each kind cost; the rate is a mean of logarithms. */
static void
add_up_trial(renc_trial *t, renc_prediction *p)
{
	const renc_shape *shape = &t->program.shape;
	int			deepest = renc_stage_deepest(&shape->stage[shape->nstages - 1]);
	double		rate = 0;

	p->windows = p->cost = 0;
	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
	{
		double		share = t->kind[k].share;
		double		windows;

		p->kind[k] = 0;
		if (share <= 0)
			continue;
		p->kind[k] = trial_cost_of_kind(t, k, deepest, &windows);
		p->cost += share * p->kind[k];
		p->windows += share * windows;
		rate += share * log(fmax(0, p->kind[k] - cost_of(t, 0, windows)) / cost_of(t, 1, 0) + LEAST_RATE);
	}
	p->fpr = fmax(0, exp(rate) - LEAST_RATE);
}

double
renc_trial_cost(const renc_trial *t, const renc_prediction *p, const double *least)
{
	double		worst = 0;
	double		mean = 0;
	double		at_least = 0;

	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
	{
		double		share = t->kind[k].share;
		double		times = (p->kind[k] + least_of_trial(t, k)) / (least[k] + least_of_trial(t, k));

		if (share <= 0)
			continue;
		worst += share * pow(times, WORST);
		mean += share * log(times);
		at_least += share * log(least[k] + LEAST_COST);
	}
	return fmax(0, exp(at_least + (log(worst) / WORST + mean) / 2) - LEAST_COST);
}

void
renc_trial_limit(renc_trial *t, size_t samples, int nodes)
{
	t->most_nodes = nodes;
	t->nsamples = samples < t->nknown ? samples : t->nknown;
	renc_trial_sum_up(t);
}

double
renc_trial_work(const renc_trial *t)
{
	return t->work;
}

int
renc_trial_count_tries(const renc_trial *t)
{
	return t->runs;
}

void
renc_trial_try_shape(renc_trial *t, const renc_shape *shape, double limit, renc_prediction *out)
{
	memset(out, 0, sizeof(*out));
	t->runs++;
	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
		memset(&t->kind[k].run, 0, sizeof(kind_run));
	fill_trial_lanes(t, shape);
	for (size_t i = 0; i < t->nsamples; i++)
	{
		ask(t, &t->asked[i], shape);
		if (t->in.asked_share < 1 || i % BLOCK != BLOCK - 1)
			continue;
		add_up_trial(t, out);
		if (out->cost > limit)
			return;
	}
	add_up_trial(t, out);
	out->complete = true;
}
