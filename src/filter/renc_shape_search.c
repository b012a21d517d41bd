/*
 * renc_shape_search.c
 *		Candidates for a shape, and trials that choose among them.
 *
 * Proteus tries all designs (Algorithm 1 of the paper): two numbers.  Here a design is a root, a set
 * of levels, kw and kr, once or twice, so candidates come in steps, each of which goes on from the
 * best so far:
 *
 * 1. One stage: the bits that a key sets are spread over many levels or few with more rows each, down
 *	  to one level or another.
 * 2. The best with a second stage, above it, which prunes what is far from all keys, or below it:
 *	  long intervals and short ones near to keys want levels far apart.
 * 3. With that above, stages as in step 1 again.
 * 4. The best with its roots and levels moved, and with more or fewer windows and rows.
 */
#include "renc_shape_search.h"

#include <math.h>

/* Levels that are tried as the deepest. */
#define STRIDE			3

/* Where no query is known, those about the rule's. */
#define LEVELS_ABOVE	9
#define LEVELS_BELOW	3

/* The root of a second stage has few nodes at its level. */
#define ROOT_ABOVE		6

/* Nodes of a query: of more some pass by chance in any case, and long queries would take long. */
#define MOST_NODES		128

/* Step 4 is taken again while it gains a hundredth: else the next design would go on from here. */
#define WORTH_A_ROUND	0.99
#define MOST_ROUNDS		10

typedef struct search_state
{
	renc_trial *trial;
	const renc_trial_input *in;
	int			bits;			/* that a key sets in a stage alone */
	int			root;			/* where the rule has them */
	int			deepest;
	renc_shape	shape;			/* the best so far */
	renc_prediction best;
} search_state;

/* A stage with levels spread evenly from a first to a last one; or what is to be added to one. */
typedef struct stage_plan
{
	int			root;
	int			first;			/* level */
	int			last;
	int			nlevels;
	int			kw;
	int			kr;
} stage_plan;

/* Makes a stage by a plan; false if there is none with "max_kw" windows. */
static bool
make_stage(const stage_plan *p, int max_kw, renc_stage *st)
{
	int			span = p->last - p->first;

	if (p->root < 0 || p->first <= p->root || p->last > RENC_KEY_BITS || p->kw < 1 ||
		p->kw > max_kw || p->kr < 1 || p->kr > RENC_MAX_KR || p->nlevels < 1 || p->nlevels > span + 1)
		return false;
	st->root = (uint8_t) p->root;
	st->kw = (uint8_t) p->kw;
	st->kr = (uint8_t) p->kr;
	st->levels = RENC_LEVEL_BIT(p->last);
	for (int i = 1; i < p->nlevels; i++)
		st->levels |= RENC_LEVEL_BIT(p->last - i * span / (p->nlevels - 1));
	return true;
}

/* Adds a step to the plan of a stage, likewise; levels that are only moved need not be regular. */
static bool
change_stage(const stage_plan *step, int max_kw, renc_stage *st)
{
	stage_plan	p = {
		st->root + step->root, 1 + __builtin_ctzll(st->levels) + step->first,
		renc_stage_deepest(st) + step->last,
		__builtin_popcountll(st->levels) + step->nlevels, st->kw + step->kw, st->kr + step->kr
	};
	uint64_t	levels = step->last > 0 ? st->levels << step->last : st->levels >> -step->last;
	bool		moved = step->first == step->last && step->nlevels == 0;

	renc_stage	before = *st;

	if (p.nlevels == 1)
		p.first = p.last;
	if (!make_stage(&p, max_kw, st))
		return false;
	if (moved)
		st->levels = levels;
	return st->root != before.root || st->levels != before.levels || st->kw != before.kw || st->kr != before.kr;
}

static void
try_shape(search_state *s, const renc_shape *shape)
{
	renc_prediction p;

	if (!renc_shape_valid(shape, NULL) ||
		!renc_trial_try_shape(s->trial, shape, s->best.cost, &p) || p.cost >= s->best.cost)
		return;
	s->shape = *shape;
	s->best = p;
}

/* A stage with levels down to "last"; false if there is none. */
static bool
set_stage(int root, int last, int nlevels, int gap, int kw, int kr, renc_stage *st)
{
	stage_plan	p = {root < 0 ? 0 : root, last - (nlevels - 1) * gap, last, nlevels, kw,
	kr < RENC_MAX_KR ? kr : RENC_MAX_KR};

	return make_stage(&p, RENC_MAX_KW, st);
}

/* Levels down to "last", half as many again and again, alone or below another stage. */
static void
try_levels(search_state *s, int last, const renc_stage *above)
{
	int			least = above != NULL ? renc_stage_deepest(above) : 0;

	for (int n = s->bits / 2; n > 0; n /= 2)
	{
		for (int gap = 1; gap <= (n > 1 ? 2 : 1); gap++)
		{
			int			first = last - (n - 1) * gap;
			int			root = first - 1;

			/* A short root reads fewer windows for long intervals. */
			for (int i = 0; i < 2; i++, root = s->root < root ? s->root : root)
			{
				renc_shape	shape;

				memset(&shape, 0, sizeof(shape));
				shape.nstages = above != NULL ? 2 : 1;
				if (above != NULL)
					shape.stage[0] = *above;
				if (set_stage(root < least ? least : root, last, n, gap, 2, (s->bits + n) / (2 * n),
							  &shape.stage[shape.nstages - 1]))
					try_shape(s, &shape);
			}
		}
	}
}

/* Upwards: programs of few levels are short, and what they cost bounds that of others. */
static void
try_grid(search_state *s, const renc_stage *above, int stride)
{
	int			first = 1;
	int			last = RENC_KEY_BITS;

	if (s->in->asked_share == 0)
	{
		first = s->deepest - LEVELS_ABOVE;
		last = s->deepest + LEVELS_BELOW;
	}
	for (int l = first > 0 ? first : 1; l <= last && l <= RENC_KEY_BITS; l += stride)
		try_levels(s, l, above);
}

/* A stage with one that ends at "last" above or below it. */
static void
try_second_stage(search_state *s, const renc_stage *stage, int last, int nlevels, int kw, int kr)
{
	renc_shape	shape = {2, {*stage, *stage}};
	int			deepest = renc_stage_deepest(stage);
	bool		below = last > deepest;
	int			root = last - ROOT_ABOVE;

	if (below && root < deepest)
		root = deepest;
	if (!below && last > stage->root)
	{
		shape.stage[1].root = (uint8_t) last;
		shape.stage[1].levels = last < deepest ? stage->levels & ~UINT64_C(0) << last : 0;
	}
	if (set_stage(root, last, nlevels, 1, kw, kr, &shape.stage[below]))
		try_shape(s, &shape);
}

static void
try_second_stages(search_state *s)
{
	const renc_stage stage = s->shape.stage[s->shape.nstages - 1];

	for (int last = 1; last <= RENC_KEY_BITS; last += 2)
	{
		try_second_stage(s, &stage, last, 1, 1, 6);
		try_second_stage(s, &stage, last, 1, 1, 3);
		try_second_stage(s, &stage, last, 2, 2, 1);
	}
}

/* Shapes that differ a little from the best. */
static void
try_near(search_state *s)
{
	static const stage_plan steps[] = { /* root, first, last, nlevels, kw, kr */
		{1, 1, 1, 0, 0, 0}, {-1, -1, -1, 0, 0, 0}, {0, 1, 1, 0, 0, 0}, {0, -1, -1, 0, 0, 0},
		{STRIDE, 0, 0, 0, 0, 0}, {-STRIDE, 0, 0, 0, 0, 0}, {0, 2, 0, 0, 0, 0}, {0, -2, 0, 0, 0, 0},
		{0, 0, 0, 0, 1, 0}, {0, 0, 0, 0, -1, 0}, {0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, -1},
		{0, 0, 0, 0, 1, -1}, {0, 0, 0, 0, -1, 1},
	};

	for (int stage = 0; stage < s->shape.nstages; stage++)
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		{
			renc_shape	shape = s->shape;

			if (change_stage(&steps[i], s->in->max_kw, &shape.stage[stage]))
				try_shape(s, &shape);
		}
}

bool
renc_shape_search(renc_trial *trial, const renc_trial_input *in, const renc_shape *rule,
				  const renc_shape *from, bool grid, renc_choice *choice)
{
	search_state s = {trial, in, 0, 0, 0, *rule, {0, 0, INFINITY}};
	const renc_stage *last = &rule->stage[rule->nstages - 1];
	double		before;

	memset(choice, 0, sizeof(*choice));
	choice->shape = *rule;
	s.bits = last->kw * last->kr * __builtin_popcountll(last->levels);
	s.root = last->root;
	s.deepest = renc_stage_deepest(last);
	if (!renc_trial_init(trial, in))
		return false;
	renc_trial_limit(trial, MOST_NODES);
	renc_trial_try_shape(trial, from != NULL ? from : rule, INFINITY, &choice->now);
	try_shape(&s, rule);
	if (grid)
	{
		try_grid(&s, NULL, in->asked_share > 0 ? 2 : 1);
		try_second_stages(&s);
		if (s.shape.nstages > 1)
			try_grid(&s, &s.shape.stage[0], STRIDE);
	}
	if (choice->now.cost < s.best.cost && from)
	{
		s.shape = *from;
		s.best = choice->now;
	}
	for (int i = 0; grid && i < MOST_ROUNDS; i++)
	{
		before = s.best.cost;
		try_near(&s);
		if (s.best.cost > WORTH_A_ROUND * before)
			break;
	}
	choice->shape = s.shape;
	choice->best = s.best;
	return true;
}
