/*
 * renc_search.c
 *		Search for the shape with the least expected cost.
 *
 * Proteus tries all designs (Algorithm 1 of the paper): two numbers.  Here a design
 * is a root, a set of levels, kw and kr, once or twice; so the search looks at
 * a grid of regular shapes first, of which those closest to the optimum are then
 * improved step by step.  What keeps it cheap:
 *
 * - a prediction is given up once its cost exceeds that of the best so far;
 * - levels where too many queries have a key in their node are not tried as the
 *	 deepest at all;
 * - bits set per key stay near ln 2 times the bits there are, where a Bloom filter
 *	 is best; the steps may leave it.
 *
 * From group to group: renc_search_group.c.
 */
#include "renc_search_work.h"

#include <math.h>

/*
 * The numbers below were found by trying.  What others do, to shapes and to the number of
 * predictions, bench/filter/accuracy.sh and bench/filter/effort.sh show.
 */
#define LN2				0.6931471805599453

/* The best of the grid, from which steps are taken; how far from the best. */
#define STARTS			4
#define MAX_START_COST_RATIO	1.5

/* Of them, those from which steps are taken after a grid. */
#define CLIMBS			2

/* A thousandth is not worth another round. */
#define WORTH_A_ROUND	0.999

/*
 * The grid: every so many levels as the deepest one, where few predictions are allowed
 * and where many are; as many windows a root as most good shapes have.
 */
#define COARSE_GRID		6
#define FINE_GRID		3
#define GRID_KW			2
#define GRID_GAPS		3

/* A level is tried as the deepest if no more of the queries have a key in their node. */
#define MAX_CLOSE_SHARE	0.5

/*
 * From some level on so many of the prefixes of a range's keys are distinct; a short
 * root is so many levels below it, where each tree still has few keys.
 */
#define DISTINCT_SHARE	0.9
#define BELOW_DISTINCT	4

/*
 * A stage that prunes: at every so many levels, of 1, 3 .. levels at most, with its root
 * so far above the topmost.
 */
#define PRUNING_STRIDE	5
#define PRUNING_LEVELS	5
#define PRUNING_ROOT	6

typedef struct search_state
{
	renc_model *model;
	int			left;			/* predictions allowed */
	int			max_kw;
	int			nstarts;
	search_result best[STARTS]; /* ascending in cost */
} search_state;

/* A result without a stage is none. */
static bool
has_shape(const search_result *s)
{
	return s->shape.nstages > 0;
}

static void
forget_shape(search_result *s)
{
	s->shape.nstages = 0;
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

static bool
usable(const search_state *h, const renc_shape *shape)
{
	if (h->left <= 0 || !renc_shape_valid(shape, NULL))
		return false;
	for (int s = 0; s < shape->nstages; s++)
	{
		if (shape->stage[s].kw > h->max_kw)
			return false;
	}
	return true;
}

/* Adds a shape to the best if it is one of them. */
static void
consider(search_state *h, const renc_shape *shape)
{
	renc_prediction p;
	double		limit = INFINITY;
	int			at;

	if (!usable(h, shape))
		return;
	for (int i = 0; i < h->nstarts; i++)
	{
		if (same_shape(&h->best[i].shape, shape))
			return;
	}
	if (h->nstarts > 0)
		limit = MAX_START_COST_RATIO * h->best[0].p.cost;
	if (h->nstarts == STARTS && h->best[STARTS - 1].p.cost < limit)
		limit = h->best[STARTS - 1].p.cost;
	h->left--;
	renc_model_predict(h->model, shape, limit, &p);
	if (!p.complete || p.cost >= limit)
		return;
	if (h->nstarts < STARTS)
		h->nstarts++;
	for (at = h->nstarts - 1; at > 0 && h->best[at - 1].p.cost > p.cost; at--)
		h->best[at] = h->best[at - 1];
	h->best[at].shape = *shape;
	h->best[at].p = p;
}

/* Takes a shape if it is better than *s. */
static bool
improve(search_state *h, search_result *s, const renc_shape *shape)
{
	renc_prediction p;

	if (!usable(h, shape))
		return false;
	h->left--;

	renc_model_predict(h->model, shape, s->p.cost * WORTH_A_ROUND, &p);
	if (!p.complete || p.cost >= s->p.cost * WORTH_A_ROUND)
		return false;
	s->shape = *shape;
	s->p = p;
	return true;
}

static uint64_t
shift_levels(uint64_t levels, int by)
{
	return by >= 0 ? levels << by : levels >> -by;
}

/* Steps in the numbers of a stage. */
static bool
step_numbers(search_state *h, search_result *s, int stage)
{
	static const int8_t steps[][4] = {
		/* root, kw, kr, shift of all levels: alone, and what goes together */
		{0, 1, 0, 0}, {0, -1, 0, 0}, {0, 0, 1, 0}, {0, 0, -1, 0},
		{0, 1, -1, 0}, {0, -1, 1, 0}, {0, 1, -2, 0}, {0, -1, 2, 0},
		{0, 2, -1, 0}, {0, -2, 1, 0}, {0, 3, -1, 0}, {0, -3, 1, 0},
		{1, 0, 0, 0}, {-1, 0, 0, 0}, {3, 0, 0, 0}, {-3, 0, 0, 0}, {-8, 0, 0, 0},
		{0, 0, 0, 1}, {0, 0, 0, -1}, {1, 0, 0, 1}, {-1, 0, 0, -1},
		{3, 0, 0, 3}, {-3, 0, 0, -3},
	};
	bool		better = false;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
	{
		renc_shape	shape = s->shape;
		renc_stage *st = &shape.stage[stage];

		if (st->root + steps[i][0] < 0)
			continue;
		st->root = (uint8_t) (st->root + steps[i][0]);
		st->kw = (uint8_t) (st->kw + steps[i][1]);
		st->kr = (uint8_t) (st->kr + steps[i][2]);
		if (__builtin_popcountll(shift_levels(st->levels, steps[i][3])) !=
			__builtin_popcountll(st->levels))
			continue;
		st->levels = shift_levels(st->levels, steps[i][3]);
		better |= improve(h, s, &shape);
	}
	return better;
}

/* Steps in the set of levels: one more, one less, one elsewhere. */
static bool
step_levels(search_state *h, search_result *s, int stage)
{
	bool		better = false;
	int			first = s->shape.stage[stage].root + 1;
	int			last = stage + 1 < s->shape.nstages ?
		s->shape.stage[stage + 1].root : RENC_KEY_BITS;

	for (int l = last; l >= first; l--)
	{
		renc_shape	shape = s->shape;
		renc_stage *st = &shape.stage[stage];

		st->levels ^= RENC_LEVEL_BIT(l);
		if (improve(h, s, &shape))
			better = true;
		if ((s->shape.stage[stage].levels & RENC_LEVEL_BIT(l)) == 0)
			continue;
		for (int by = -2; by <= 2; by++)
		{
			int			to = l + by;

			shape = s->shape;
			st = &shape.stage[stage];
			if (to < first || to > last || (st->levels & RENC_LEVEL_BIT(to)) != 0)
				continue;
			st->levels ^= RENC_LEVEL_BIT(l) | RENC_LEVEL_BIT(to);
			if (improve(h, s, &shape))
			{
				better = true;
				break;
			}
		}
	}
	return better;
}

/* A first stage of n levels from "base" upwards. */
static bool
add_pruning(search_state *h, search_result *s, int base, int n, int gap, int kr)
{
	renc_shape	shape = s->shape;
	int			top = base - (n - 1) * gap;

	if (top < 1)
		return false;
	shape.nstages = 2;
	shape.stage[1] = shape.stage[0];
	shape.stage[0].kw = 1;
	shape.stage[0].kr = (uint8_t) kr;
	shape.stage[0].levels = 0;
	for (int i = 0; i < n; i++)
		shape.stage[0].levels |= RENC_LEVEL_BIT(base - i * gap);
	shape.stage[0].root = (uint8_t) (top > PRUNING_ROOT ? top - PRUNING_ROOT : 0);
	return improve(h, s, &shape);
}

/* A stage above that prunes: clusters have few prefixes, which cost little. */
static bool
step_pruning(search_state *h, search_result *s)
{
	for (int base = s->shape.stage[0].root; base > 1; base -= PRUNING_STRIDE)
	{
		for (int n = 1; n <= PRUNING_LEVELS; n += 2)
		{
			if (add_pruning(h, s, base, n, 2, 1) || add_pruning(h, s, base, n, 1, 3))
				return true;
		}
	}
	return false;
}

/*
 * Another first stage, far above: from two stages close to each other, no
 * single step leads there.
 */
static bool
step_first_stage(search_state *h, search_result *s)
{
	search_result one = *s;

	if (s->shape.nstages < 2)
		return false;
	one.shape.stage[0] = s->shape.stage[1];
	one.shape.nstages = 1;
	if (step_pruning(h, &one))
	{
		*s = one;
		return true;
	}
	return false;
}

/* Steps between one and two stages. */
static bool
step_stages(search_state *h, search_result *s)
{
	bool		better = false;

	if (s->shape.nstages == 2)
	{
		renc_shape	shape = s->shape;

		/* Without the first, and without the second. */
		shape.stage[0] = shape.stage[1];
		shape.nstages = 1;
		better |= improve(h, s, &shape);
		if (s->shape.nstages == 1)
			return better;
		shape = s->shape;
		shape.nstages = 1;
		better |= improve(h, s, &shape);

		/* All levels under the first root. */
		if (s->shape.nstages == 1)
			return better;
		shape = s->shape;
		shape.nstages = 1;
		shape.stage[0].levels |= shape.stage[1].levels;
		return improve(h, s, &shape) || better;
	}

	/* The levels down to l by themselves. */
	for (int l = s->shape.stage[0].root + 1;
		 l < renc_stage_deepest(&s->shape.stage[0]) && s->shape.nstages == 1; l++)
	{
		renc_shape	shape = s->shape;

		if ((shape.stage[0].levels & RENC_LEVEL_BIT(l)) == 0)
			continue;
		shape.nstages = 2;
		shape.stage[1] = shape.stage[0];
		shape.stage[0].levels &= ~UINT64_C(0) >> (RENC_KEY_BITS - l);
		shape.stage[1].levels &= ~shape.stage[0].levels;
		shape.stage[1].root = (uint8_t) l;
		better |= improve(h, s, &shape);
	}

	if (s->shape.nstages == 1)
		better |= step_pruning(h, s);
	return better;
}

static void
climb_from(search_state *h, search_result *s)
{
	bool		better = true;

	while (better && h->left > 0)
	{
		better = false;
		for (int stage = 0; stage < s->shape.nstages; stage++)
			better |= step_numbers(h, s, stage);
		for (int stage = 0; stage < s->shape.nstages; stage++)
			better |= step_levels(h, s, stage);
		better |= step_stages(h, s);
		if (!better)
			better = step_first_stage(h, s);
	}
}

/* The level from which on most prefixes of a range's keys are distinct. */
static int
distinct_level(const renc_model_input *in)
{
	const renc_keys *keys = &in->ranges[0];
	size_t		parted[RENC_KEY_BITS + 1] = {0};
	size_t		prefixes = 1;
	int			l = 0;

	for (int r = 1; r < in->nranges; r++)
	{
		if (in->ranges[r].n > keys->n)
			keys = &in->ranges[r];
	}
	for (size_t i = 1; i < keys->n; i++)
		parted[__builtin_clzll(keys->key[i - 1] ^ keys->key[i]) + 1]++;
	for (l = 1; l < RENC_KEY_BITS; l++)
	{
		prefixes += parted[l];
		if (prefixes >= keys->n * DISTINCT_SHARE)
			break;
	}
	return l;
}

static double
bits_per_present_key(const renc_model_input *in)
{
	double		keys = 0;
	int			n = 0;

	for (int r = 0; r < in->nranges; r++)
	{
		if (in->ranges[r].n == 0)
			continue;
		keys += (double) in->ranges[r].n;
		n++;
	}
	return n == 0 ? 1 : (double) in->nwindows * in->rows * n / keys;
}

/* Regular shapes: n levels, "gap" apart, from "deepest" upwards. */
static void
offer_regular(search_state *h, int deepest, int gap, int nlevels, int kw, double bits,
			  int spread)
{
	renc_shape	shape;
	renc_stage *st = &shape.stage[0];
	int			top = deepest - (nlevels - 1) * gap;
	int			kr = (int) lround(bits / (kw * nlevels));

	if (top < 1 || kr < 1 || kr > RENC_MAX_KR)
		return;
	memset(&shape, 0, sizeof(shape));
	shape.nstages = 1;
	for (int i = 0; i < nlevels; i++)
		st->levels |= RENC_LEVEL_BIT(deepest - i * gap);
	st->kw = (uint8_t) kw;
	st->kr = (uint8_t) kr;
	st->root = (uint8_t) (top - 1);
	consider(h, &shape);

	/* A short root reads fewer windows for long intervals. */
	if (spread + BELOW_DISTINCT < top - 1)
	{
		st->root = (uint8_t) (spread + BELOW_DISTINCT);
		consider(h, &shape);
	}
}

static void
offer_grid(search_state *h, const renc_model_input *in, int step)
{
	static const int8_t numbers[] = {1, 2, 3, 5, 7, 10, 14};
	double		bits = LN2 * bits_per_present_key(in);
	int			spread = distinct_level(in);
	int			first = 1;

	/* The deepest level must tell most queries from the keys. */
	while (first < RENC_KEY_BITS && renc_model_close_share(h->model, first) > MAX_CLOSE_SHARE)
		first++;
	for (int deepest = first; deepest <= RENC_KEY_BITS; deepest += step)
	{
		for (size_t i = 0; i < sizeof(numbers); i++)
		{
			for (int gap = 1; gap <= (numbers[i] == 1 ? 1 : GRID_GAPS); gap++)
				offer_regular(h, deepest, gap, numbers[i], GRID_KW, bits, spread);
		}
	}
}

/* Climbs from the best shapes offered, and from the rule's: hills are many. */
static void
climb_all(search_state *h, int nclimbs, search_result *rule)
{
	for (int i = 0; i < nclimbs; i++)
	{
		if (same_shape(&h->best[i].shape, &rule->shape))
			forget_shape(rule);
	}
	climb_from(h, &h->best[0]);
	if (has_shape(rule))
		climb_from(h, rule);
	for (int i = 1; i < nclimbs; i++)
		climb_from(h, &h->best[i]);
}

/* The shape by rule. */
void
renc_search_rule(const renc_model_input *in, double bits_per_key, renc_shape *shape)
{
	if (in->areal)
		renc_rule_shape_areal(in->ranges, in->nranges, bits_per_key, shape);
	else
		renc_rule_shape(in->ranges, in->nranges, bits_per_key, shape);
}

void
renc_search_model(renc_model *model, const renc_model_input *in, double bits_per_key,
				  const renc_shape *from, bool grid, int predictions, search_result *result)
{
	search_state h;
	search_result rule;

	memset(&h, 0, sizeof(h));
	memset(&rule, 0, sizeof(rule));
	h.model = model;

	/*
	 * There must be a shape in the end: one is looked at, however few are
	 * allowed.
	 */
	h.left = predictions > 0 ? predictions : 1;
	h.max_kw = in->max_kw > 0 ? in->max_kw : RENC_SEARCH_KW;
	if (from == NULL || grid)
	{
		renc_search_rule(in, bits_per_key, &rule.shape);
		consider(&h, &rule.shape);
		if (h.nstarts > 0)
			rule.p = h.best[0].p;
		else
			forget_shape(&rule);
	}
	if (from != NULL)
		consider(&h, from);
	if (grid)
	{
		/* Half of the predictions are left for the steps. */
		h.left = predictions / 2;
		offer_grid(&h, in, predictions < SEARCH_PREDICTIONS ? COARSE_GRID : FINE_GRID);
		h.left += predictions - predictions / 2;
	}
	climb_all(&h, grid && h.nstarts > 1 ? CLIMBS : 1, &rule);
	*result = h.best[0];
	for (int i = 1; i < h.nstarts; i++)
	{
		if (h.best[i].p.cost < result->p.cost)
			*result = h.best[i];
	}
	if (has_shape(&rule) && rule.p.cost < result->p.cost)
		*result = rule;
}
