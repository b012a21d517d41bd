/*
 * renc_shape_search.c
 *		Search for the shape with the least expected cost.
 *
 * Proteus tries all designs (Algorithm 1 of the paper): two numbers.  Here a design
 * is a root, a set of levels, kw and kr, once or twice, and a trial takes a tenth of a
 * millisecond.  So the rule's shape and regular ones are tried, with and without a stage that
 * prunes, or, where queries are known, with a second stage far above or below; and steps improve
 * the best: its first levels become a stage of their own; a regular stage, with so many levels
 * spread evenly from a first to a last one, is changed.  To change single levels gains next to
 * nothing more.
 *
 * Where samples are made up, each kind has a shape that is the best for it among the first
 * that are tried, whatever the work: the rule's is made for values, one with a stage that prunes
 * for gaps.  How much worse a shape is than these, decides (renc_trial_cost).  With more work
 * the same trials come first, so it finds no worse shape.
 */
#include "renc_shape_search.h"

#include <math.h>

/* A thousandth is not worth another step, and a fiftieth not all of them once more. */
#define WORTH_A_STEP	0.999
#define WORTH_A_ROUND	0.98

/* Shapes that are improved, if the second costs at most so many times as much. */
#define CANDIDATES		2
#define WORTH_CLIMBING	1.3

/* The root of a stage that prunes is so far above its level. */
#define PRUNING_ROOT	6

/*
 * A level that has so many of the prefixes of the one below is as good, and clusters have many
 * such, unless there are so many times fewer clusters than prefixes.
 */
#define FLAT			0.97
#define FEW_FLAT		4

/* Where queries are known, levels that are tried as the deepest. */
#define GRID_STRIDE		3

/* Half of what the first trials take where there is no shape to start from. */
#define LITTLE_WORK		15000

/*
 * So many samples are asked of those that were put, with so many nodes, and of boxes, since of few of
 * a kind one that meets a key by chance hides what the others tell; and of intervals that are made
 * up, which all tell how near keys are to queries.
 */
#define ASKED_SAMPLES	1000
#define ASKED_NODES		256
#define OWN_SAMPLES		256
#define OWN_NODES		64
#define OWN_BOX_NODES	128

/* Trials of a shape that there is to be work for, with more samples. */
#define LAST_TRIALS		100

/* Most of what can be gained comes first. */
static const renc_stage_plan steps[] = {
	/* root, first, last, nlevels, kw, kr */
	{4, 4, 4, 0, 0, 0}, {-4, -4, -4, 0, 0, 0}, {0, 0, -4, 0, 0, 0}, {0, 0, 4, 0, 0, 0},
	{-4, 0, 0, 0, 0, 0}, {4, 0, 0, 0, 0, 0}, {0, 0, 0, -2, 1, 0}, {0, 0, 0, 2, -1, 0},
	{0, 0, 0, -2, 0, 1}, {0, 0, 0, 0, 1, -1}, {0, 0, 0, 0, -1, 1}, {0, 0, 0, 0, 0, 1},
	{0, 0, 0, 0, 0, -1}, {0, 0, 0, 0, 1, 0}, {1, 1, 1, 0, 0, 0}, {-1, -1, -1, 0, 0, 0},
	{1, 0, 0, 0, 0, 0}, {-1, 0, 0, 0, 0, 0},
};

#define NSTEPS	((int) (sizeof(steps) / sizeof(steps[0])))

typedef struct candidate
{
	renc_shape	shape;
	renc_prediction p;			/* with renc_trial_cost */
} shape_candidate;

typedef struct search_state
{
	renc_trial *trial;
	const renc_trial_input *in;
	double		work;			/* allowed */
	double		least[RENC_SAMPLE_KINDS];	/* what the first shapes cost */
	int			n;
	shape_candidate best[CANDIDATES];	/* ascending in cost */
} search_state;

static bool
search_has_work(const search_state *h)
{
	return renc_trial_work(h->trial) < h->work;
}

/* Tries a shape.  False if it is none, or not below the limit. */
static bool
try_shape_in_search(search_state *h, const renc_shape *shape, double limit, shape_candidate *c)
{
	if (!search_has_work(h) || !renc_shape_valid(shape, NULL))
		return false;
	c->shape = *shape;
	renc_trial_try_shape(h->trial, shape, limit, &c->p);
	c->p.cost = renc_trial_cost(h->trial, &c->p, h->least);
	return c->p.complete && c->p.cost < limit;
}

/* Adds a shape that was tried to the best if it is one of them.  The same shape costs the same. */
static void
add_search_candidate(search_state *h, const shape_candidate *c)
{
	int			at;

	for (int i = 0; i < h->n; i++)
		if (h->best[i].p.cost == c->p.cost)
			return;
	if (h->n == CANDIDATES && c->p.cost >= h->best[CANDIDATES - 1].p.cost)
		return;
	if (h->n < CANDIDATES)
		h->n++;
	for (at = h->n - 1; at > 0 && h->best[at - 1].p.cost > c->p.cost; at--)
		h->best[at] = h->best[at - 1];
	h->best[at] = *c;
}

static void
offer_to_search(search_state *h, const renc_shape *shape)
{
	shape_candidate c;

	if (try_shape_in_search(h, shape, h->n == CANDIDATES ? h->best[CANDIDATES - 1].p.cost :
							INFINITY, &c))
		add_search_candidate(h, &c);
}

/* Takes a shape if it is better. */
static bool
improve(search_state *h, shape_candidate *c, const renc_shape *shape)
{
	shape_candidate other;

	if (!try_shape_in_search(h, shape, c->p.cost * WORTH_A_STEP, &other))
		return false;
	*c = other;
	return true;
}

/* A step of a stage, as often as it is one for the better. */
static void
take_search_step(search_state *h, shape_candidate *c, int stage, const renc_stage_plan *step)
{
	renc_shape	shape;

	do
		shape = c->shape;
	while (renc_stage_change(step, h->in->max_kw, &shape.stage[stage]) && improve(h, c, &shape));
}

/*
 * The first levels of the only stage become a stage of their own with fewer windows: all keys below
 * a root share its windows, so those of a stage of few levels, or of a deeper root, are filled more
 * evenly, and the levels that any query tests first can have more rows.
 */
static void
split_stage_of_shape(search_state *h, shape_candidate *c)
{
	static const renc_stage_plan tops[] = { /* levels, windows and rows */
		{0, 0, 0, 1, 1, 3}, {0, 0, 0, 1, 2, 2}, {0, 0, 0, 2, 1, 2},
	};
	const renc_stage from = c->shape.stage[0];

	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]) && c->shape.nstages == 1; i++)
	{
		renc_shape	shape = c->shape;
		renc_stage *rest = &shape.stage[1];
		renc_stage_plan p = tops[i];

		*rest = from;
		p.root += from.root;
		p.first = 1 + __builtin_ctzll(rest->levels);
		for (int l = 0; l < p.nlevels && rest->levels != 0; l++)
		{
			p.last = 1 + __builtin_ctzll(rest->levels);
			rest->levels &= rest->levels - 1;
		}
		rest->root = (uint8_t) p.last;
		shape.nstages = 2;
		if (rest->levels != 0 && renc_stage_set(&p, h->in->max_kw, &shape.stage[0]))
			improve(h, c, &shape);
	}
}

/* The last stage alone. */
static renc_shape
shape_without_pruning(const renc_shape *from)
{
	renc_shape	shape;

	memset(&shape, 0, sizeof(shape));
	shape.nstages = 1;
	shape.stage[0] = from->stage[from->nstages - 1];
	return shape;
}

/*
 * The deepest level at which a range has at most so many distinct prefixes for each of its keys; or
 * one above it from which on they hardly become fewer: there each cluster of keys has one.
 */
static int
search_level_of_share(const renc_trial_input *in, double share)
{
	const renc_keys *keys = &in->ranges[0];
	double		prefixes[RENC_KEY_BITS + 1] = {0};
	int			l = 0;
	int			flat;

	for (int r = 1; r < in->nranges; r++)
		if (in->ranges[r].n > keys->n)
			keys = &in->ranges[r];
	for (size_t i = 1; i < keys->n; i++)
		prefixes[renc_common_prefix(keys->key[i - 1], keys->key[i]) + 1]++;
	prefixes[0] = 1;
	for (int i = 1; i <= RENC_KEY_BITS; i++)
		prefixes[i] += prefixes[i - 1];
	while (l < RENC_KEY_BITS && prefixes[l + 1] <= share * (double) keys->n)
		l++;
	for (flat = l; flat > 0 && prefixes[flat - 1] < FLAT * prefixes[flat];)
		flat--;
	return FEW_FLAT * prefixes[flat] > prefixes[l] ? flat : l;
}

/*
 * Stages above that prune, and none, if there is one: clusters have few prefixes, which cost
 * little.  Returns how many shapes there are.
 */
static int
add_pruning_to_shape(const renc_trial_input *in, const renc_shape *from, renc_shape *shapes)
{
	static const double shares[] = {0.4, 0.1, 0.02};
	const renc_shape alone = shape_without_pruning(from);
	int			deepest = RENC_KEY_BITS;
	int			n = 0;

	if (from->nstages > 1)
		shapes[n++] = alone;
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
	{
		int			base = search_level_of_share(in, shares[i]);
		renc_stage_plan p = {0, 0, 0, 1, 1, 6};

		/* The stage below begins where this one ends, or deeper. */
		if (base > __builtin_ctzll(alone.stage[0].levels))
			base = __builtin_ctzll(alone.stage[0].levels);
		if (base < 1 || base == deepest)
			continue;
		deepest = p.first = p.last = base;
		p.root = base > PRUNING_ROOT ? base - PRUNING_ROOT : 0;
		shapes[n] = (renc_shape)
		{
			2,
			{
				alone.stage[0], alone.stage[0]
			}
		};
		if (base > alone.stage[0].root)
			shapes[n].stage[1].root = (uint8_t) base;
		if (__builtin_popcountll(alone.stage[0].levels) > 4)
			shapes[n].stage[1].levels &= alone.stage[0].levels - 1;
		n += renc_stage_set(&p, in->max_kw, &shapes[n].stage[0]);
	}
	return n;
}

#define PRUNED	4

/* Steps from a shape as long as they are for the better. */
static void
climb_from_shape(search_state *h, shape_candidate *c)
{
	double		before;

	do
	{
		before = c->p.cost;
		split_stage_of_shape(h, c);
		for (int i = 0; i < NSTEPS; i++)
			for (int stage = c->shape.nstages - 1; stage >= 0; stage--)
				take_search_step(h, c, stage, &steps[i]);
	} while (c->p.cost < WORTH_A_ROUND * before && search_has_work(h));
}

/* Steps from all candidates, which share the work; the best comes first afterwards. */
static void
climb_from_all_shapes(search_state *h)
{
	double		work = h->work;
	double		before = renc_trial_work(h->trial);
	int			best = 0;

	if (h->n > 1 && h->best[1].p.cost > WORTH_CLIMBING * h->best[0].p.cost)
		h->n = 1;
	for (int i = 0; i < h->n; i++)
	{
		h->work = before + (work - before) * (i + 1) / h->n;
		climb_from_shape(h, &h->best[i]);
		if (h->best[i].p.cost < h->best[best].p.cost)
			best = i;
	}
	h->best[0] = h->best[best];
	h->work = work;
}

/* Regular levels up to "last", so that a key sets so many bits. */
static void
try_regular_shape(search_state *h, int last, int nlevels, int span, int bits, int root)
{
	renc_stage_plan p;
	renc_shape	shape;

	p.last = last;
	p.first = last - span;
	p.nlevels = nlevels;
	p.kw = bits < 6 ? 1 : 2;
	p.kr = (bits + p.kw * nlevels / 2) / (p.kw * nlevels);
	if (p.kr > RENC_MAX_KR)
		p.kr = RENC_MAX_KR;
	memset(&shape, 0, sizeof(shape));
	shape.nstages = 1;
	p.root = p.first - 1;
	if ((h->in->asked_share > 0 || p.root <= root) && renc_stage_set(&p, h->in->max_kw, &shape.stage[0]))
		offer_to_search(h, &shape);

	/* A short root reads fewer windows for long intervals. */
	p.root = root;
	if (root < p.first - 1 && renc_stage_set(&p, h->in->max_kw, &shape.stage[0]))
		offer_to_search(h, &shape);
}

/* Regular shapes with the deepest level from "first" to before "end". */
static void
try_levels_of_shape(search_state *h, const renc_shape *rule, const int8_t *pattern, int first,
					int end, int stride)
{
	const renc_stage *st = &rule->stage[rule->nstages - 1];
	const renc_shape alone = shape_without_pruning(rule);

	for (int last = first; last < end; last += stride)
		if (last > 0)
			try_regular_shape(h, last, pattern[0], pattern[1], renc_shape_nbits(&alone), st->root);
}

/*
 * Regular shapes.  Queries that were put may want quite another deepest level than the rule's,
 * which no step leads to.
 */
static void
try_grid_of_shapes(search_state *h, const renc_shape *rule)
{
	static const int8_t patterns[2][6][2] = {	/* levels, from the first to
												 * the last */
		{{7, 8}, {7, 6}, {4, 6}, {7, 12}, {1, 0}, {2, 7}},
		{{3, 4}, {2, 4}, {3, 8}, {3, 12}, {1, 0}, {2, 8}},
	};
	const int8_t (*pattern)[2] = patterns[h->in->areal];
	int			deepest = renc_stage_deepest(&rule->stage[rule->nstages - 1]);

	if (h->in->asked_share > 0)
	{
		for (int i = 0; i < 6; i++)
			try_levels_of_shape(h, rule, pattern[i], 1, RENC_KEY_BITS + 1, GRID_STRIDE);
		return;
	}
	try_levels_of_shape(h, rule, pattern[0], deepest - 4, deepest + (h->in->areal ? 30 : 3), 2);
	deepest = renc_stage_deepest(&h->best[0].shape.stage[h->best[0].shape.nstages - 1]);
	for (int i = 1; i < 6; i++)
		try_levels_of_shape(h, rule, pattern[i], deepest - 2, deepest + 3, 2);
}

/* Tries a shape with a second stage of two levels that ends at "level", below its stage or above it. */
static void
try_second_stage(search_state *h, const renc_stage *stage, int level, bool below)
{
	renc_stage_plan p = {level - PRUNING_ROOT, level - 1, level, 2, 2, 1};
	renc_shape	shape = {2, {*stage, *stage}};
	int			deepest = renc_stage_deepest(stage);

	if (below && p.root < deepest)
		p.root = deepest;
	if (p.root < 0)
		p.root = 0;
	if (!below && level > stage->root)
		shape.stage[1].root = (uint8_t) level;
	if (renc_stage_set(&p, h->in->max_kw, &shape.stage[below]))
		offer_to_search(h, &shape);
}

/*
 * Queries of two kinds, as long intervals and short ones near to keys, want levels far apart, and
 * the best stage may serve one kind only.
 */
static void
try_second_stages(search_state *h)
{
	const renc_shape best = shape_without_pruning(&h->best[0].shape);
	int			first = 1 + __builtin_ctzll(best.stage[0].levels);
	int			deepest = renc_stage_deepest(&best.stage[0]);

	for (int apart = GRID_STRIDE; apart < RENC_KEY_BITS; apart += GRID_STRIDE)
	{
		if (apart < first)
			try_second_stage(h, &best.stage[0], first - apart, false);
		if (deepest + apart <= RENC_KEY_BITS)
			try_second_stage(h, &best.stage[0], deepest + apart, true);
	}
}

/*
 * For short intervals, and, in Z-order, for boxes, which cross more nodes of each level: stages by
 * how root and levels differ from the root and the deepest level of the rule's, with its rows or
 * more.
 */
#define SHORT	2
static const renc_stage_plan short_stages[2][SHORT] = {
	/* root, first, last, nlevels, kw, kr */
	{{0, -9, -3, 7, 0, 0}, {0, -12, -6, 7, 0, 0}},
	{{4, 3, 6, 2, 0, 1}, {4, 4, 4, 1, 0, 4}},
};

static int
add_short_shape(const renc_trial_input *in, const renc_shape *rule, shape_candidate *first)
{
	const renc_shape alone = shape_without_pruning(rule);
	const renc_stage *st = &alone.stage[0];
	int			n = 0;

	for (int i = 0; i < SHORT; i++)
	{
		renc_stage_plan p = short_stages[in->areal][i];

		p.first += renc_stage_deepest(st);
		p.last += renc_stage_deepest(st);
		p.root = st->root + p.root < p.first ? st->root + p.root : p.first - 1;
		p.kw = st->kw;
		p.kr += st->kr;
		first[n].shape = alone;
		n += renc_stage_set(&p, in->max_kw, &first[n].shape.stage[0]) && renc_shape_valid(&first[n].shape, NULL);
	}
	return n;
}

/*
 * Tries shapes; what the least of them costs for each kind is what others are compared with.  One
 * that is the best for a kind because it gives up points is no measure: it counts as so many times
 * worse as it is for points.
 */
static void
try_first_shapes(search_state *h, shape_candidate *first, int n)
{
	double		points = INFINITY;

	h->n = 0;
	for (int i = 0; i < n; i++)
	{
		renc_trial_try_shape(h->trial, &first[i].shape, INFINITY, &first[i].p);
		points = fmin(points, first[i].p.kind[RENC_SAMPLE_POINT]);
	}
	for (int k = 0; k < RENC_SAMPLE_KINDS; k++)
	{
		bool		alone = k <= RENC_SAMPLE_POINT || points <= 0 || renc_trial_each_alike(h->in, k);

		h->least[k] = INFINITY;
		for (int i = 0; i < n; i++)
			h->least[k] = fmin(h->least[k], first[i].p.kind[k] *
							   (alone ? 1 : first[i].p.kind[RENC_SAMPLE_POINT] / points));
	}
	for (int i = 0; i < n; i++)
	{
		first[i].p.cost = renc_trial_cost(h->trial, &first[i].p, h->least);
		add_search_candidate(h, &first[i]);
	}
}

/*
 * The rule's shape, that to start from, and where no query is known, those with a stage that prunes
 * and those for short intervals.  With little work a trial decides between the first two.
 */
static int
propose_first_shapes(const search_state *h, const renc_shape *rule, const renc_shape *from,
					 shape_candidate *first)
{
	renc_shape	shapes[PRUNED];
	bool		alone = h->in->asked_share > 0 || (from != NULL && h->work < LITTLE_WORK);
	int			pruned = alone ? 0 : add_pruning_to_shape(h->in, rule, shapes);
	int			n = 0;

	first[n++].shape = *rule;
	if (from != NULL)
		first[n++].shape = *from;
	for (int i = 0; i < pruned; i++)
		first[n++].shape = shapes[i];
	if (!alone)
		n += add_short_shape(h->in, rule, &first[n]);
	return n;
}

/*
 * Puts more of the samples to the best and the first shapes, if there is work for it: few hardly tell
 * what the rare ones among them cost, most of all where there are few ranges.
 */
static void
ask_more(search_state *h, shape_candidate *first, int n)
{
	double		trials = (double) renc_trial_work(h->trial) / renc_trial_count_tries(h->trial) * LAST_TRIALS;
	double		samples = ASKED_SAMPLES * (h->work - renc_trial_work(h->trial)) / trials;

	if (samples <= 2 * ASKED_SAMPLES || h->in->nsamples <= ASKED_SAMPLES)
		return;
	for (int i = 0; i < h->n; i++)
		first[n++] = h->best[i];
	renc_trial_limit(h->trial, (size_t) samples, ASKED_NODES);
	try_first_shapes(h, first, n);
	climb_from_all_shapes(h);
}

bool
renc_shape_search(renc_trial *trial, const renc_trial_input *in, const renc_shape *rule,
				  const renc_shape *from, double work, renc_choice *choice)
{
	search_state h;
	shape_candidate first[2 + SHORT + PRUNED + CANDIDATES];
	int			nfirst;
	bool		asked = in->asked_share > 0;

	memset(choice, 0, sizeof(*choice));
	memset(&h, 0, sizeof(h));
	memset(first, 0, sizeof(first));
	h.trial = trial;
	h.in = in;
	h.work = work;
	choice->shape = *rule;
	if (!renc_trial_init(trial, in))
		return false;
	renc_trial_limit(trial, asked || in->areal ? ASKED_SAMPLES : OWN_SAMPLES,
					 asked ? ASKED_NODES : in->areal ? OWN_BOX_NODES : OWN_NODES);
	nfirst = propose_first_shapes(&h, rule, from, first);
	try_first_shapes(&h, first, nfirst);
	try_grid_of_shapes(&h, rule);
	if (asked)
		try_second_stages(&h);
	climb_from_all_shapes(&h);
	if (asked)
		ask_more(&h, first, nfirst);
	choice->now = first[from != NULL].p;
	choice->shape = h.best[0].shape;
	choice->best = h.best[0].p;
	return true;
}
