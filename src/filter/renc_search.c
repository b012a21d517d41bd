/*
 * renc_search.c
 *		Search for the shape with the least expected cost.
 *
 * Proteus tries all designs (Algorithm 1 of the paper): two numbers.  Here a design
 * is a root, a set of levels, kw and kr, once or twice, and a trial takes a tenth of a
 * millisecond at least.  So trials of little effort choose among the rule's shape and regular
 * ones, with and without a stage that prunes, and improve the best step by step; the last
 * word is with trials of all samples.  Levels are regular: so many, spread evenly from a
 * first to a last one.  A trial is given up once it costs more than the best so far.
 */
#include "renc_search.h"

#include <math.h>

/* A thousandth is not worth another step. */
#define WORTH_A_STEP	0.999

/*
 * Points may cost so many times what they do with the rule's shape, and so much more where all is
 * gaps between clusters of values.  Short intervals and boxes may cost some more.
 */
#define WORSE_THAN_RULE	1.25
#define WORSE_FOR_GAPS	0.5
#define WORSE_SHORT		1.2
#define WORSE_BOXES		1.2

/*
 * Trials of little effort choose among all that is proposed, and improve what they choose: so
 * many samples, so many keys of one range, and that part of the work.  The others have
 * filters of so many keys.
 */
#define FEW_SAMPLES		16
#define FEW_KEYS		400
#define MANY_KEYS		1200
#define FIRST_WORK		0.5
#define CLIMB_WORK		0.65

/* Shapes that are improved. */
#define CANDIDATES		4

/* The root of a stage that prunes is so far above its level. */
#define PRUNING_ROOT	6

/*
 * A level that has so many of the prefixes of the one below is as good, and clusters have many
 * such.
 */
#define FLAT			0.97

/* Where queries are known, levels that are tried as the deepest. */
#define GRID_STRIDE		3

/* That close to the cost of the best, what a level costs at least leaves nothing to gain. */
#define HOPELESS		0.8

/* Trials that there is to be work for, unless too few samples were left. */
#define LEAST_TRIALS	100
#define LEAST_SAMPLES	64

/* A stage with regular levels; changes of one. */
typedef struct stage_plan
{
	int			root;
	int			first;			/* level */
	int			last;
	int			nlevels;
	int			kw;
	int			kr;
} stage_plan;

/* Most of what can be gained comes first. */
static const stage_plan steps[] = {
	/* root, first, last, nlevels, kw, kr */
	{0, 0, -4, 0, 0, 0}, {0, 0, 4, 0, 0, 0}, {0, 4, 0, 0, 0, 0}, {0, -4, 0, 0, 0, 0},
	{4, 4, 4, 0, 0, 0}, {-4, -4, -4, 0, 0, 0}, {-4, 0, 0, 0, 0, 0}, {4, 0, 0, 0, 0, 0},
	{0, 0, 0, -2, 1, 0}, {0, 0, 0, 2, -1, 0}, {0, 0, 0, -2, 0, 1}, {0, 0, 0, 2, 0, -1},
	{0, 0, 0, 0, 1, -1}, {0, 0, 0, 0, -1, 1},
	{0, 0, -1, 0, 0, 0}, {0, 0, 1, 0, 0, 0}, {0, 1, 0, 0, 0, 0}, {0, -1, 0, 0, 0, 0},
	{0, 0, 0, 1, 0, 0}, {0, 0, 0, -1, 0, 0}, {1, 0, 0, 0, 0, 0}, {-1, 0, 0, 0, 0, 0},
	{0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, -1}, {0, 0, 0, 0, 1, 0}, {0, 0, 0, 0, -1, 0},
	{0, 0, 1, 1, 0, 0}, {0, 0, -1, -1, 0, 0}, {1, 1, 1, 0, 0, 0}, {-1, -1, -1, 0, 0, 0},
};

#define NSTEPS	((int) (sizeof(steps) / sizeof(steps[0])))

typedef struct candidate
{
	renc_shape	shape;
	renc_prediction p;
} shape_candidate;

/* A trial that there has been: steps lead to the same shapes again. */
typedef struct past_trial
{
	uint8_t		shape[RENC_SHAPE_PACKED_SIZE];
	renc_prediction p;
} past_trial;

#define PAST_TRIALS		256

typedef struct search_state
{
	renc_trial *trial;
	const renc_trial_input *in;
	double		work;			/* allowed */
	int			n;
	shape_candidate best[CANDIDATES];	/* ascending in cost */
	past_trial	past[PAST_TRIALS];	/* of the same effort */
} search_state;

static bool
has_work(const search_state *h)
{
	return renc_trial_work(h->trial) < h->work;
}

/* Where a trial of a shape is kept; another one's is overwritten. */
static past_trial *
past_of(search_state *h, const uint8_t *packed)
{
	uint32_t	hash = 0;

	for (int i = 0; i < RENC_SHAPE_PACKED_SIZE; i++)
		hash = (hash ^ packed[i]) * UINT32_C(16777619);
	return &h->past[hash % PAST_TRIALS];
}

/* Tries a shape, unless what it costs is known.  False if it is not below the limit. */
static bool
try_shape(search_state *h, const renc_shape *shape, double limit, renc_prediction *p)
{
	uint8_t		packed[RENC_SHAPE_PACKED_SIZE];
	past_trial *past;

	if (!has_work(h) || !renc_shape_valid(shape, NULL))
		return false;
	renc_shape_pack(shape, packed);
	past = past_of(h, packed);
	if (memcmp(past->shape, packed, sizeof(packed)) != 0 || (!past->p.complete && past->p.score < limit))
	{
		memcpy(past->shape, packed, sizeof(packed));
		renc_trial_run(h->trial, shape, limit, &past->p);
	}
	*p = past->p;
	return p->complete && p->score < limit;
}

/* Adds a shape to the best if it is one of them.  The same shape costs the same. */
static void
offer(search_state *h, const renc_shape *shape)
{
	shape_candidate c;
	double		limit = h->n == CANDIDATES ? h->best[CANDIDATES - 1].p.score : INFINITY;
	int			at;

	c.shape = *shape;
	if (!try_shape(h, shape, limit, &c.p))
		return;
	for (int i = 0; i < h->n; i++)
		if (h->best[i].p.score == c.p.score)
			return;
	if (h->n < CANDIDATES)
		h->n++;
	for (at = h->n - 1; at > 0 && h->best[at - 1].p.score > c.p.score; at--)
		h->best[at] = h->best[at - 1];
	h->best[at] = c;
}

/* Takes a shape if it is better. */
static bool
improve(search_state *h, shape_candidate *c, const renc_shape *shape)
{
	renc_prediction p;

	if (!try_shape(h, shape, c->p.score * WORTH_A_STEP, &p))
		return false;
	c->shape = *shape;
	c->p = p;
	return true;
}

static stage_plan
plan_of(const renc_stage *st)
{
	stage_plan	p;

	p.root = st->root;
	p.first = 1 + __builtin_ctzll(st->levels);
	p.last = renc_stage_deepest(st);
	p.nlevels = __builtin_popcountll(st->levels);
	p.kw = st->kw;
	p.kr = st->kr;
	return p;
}

/* False if there is no such stage. */
static bool
set_stage(const stage_plan *p, int max_kw, renc_stage *st)
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

/* A step of a stage, as often as it is one for the better. */
static bool
take_step(search_state *h, shape_candidate *c, int stage, const stage_plan *step)
{
	bool		better = false;

	while (stage < c->shape.nstages)
	{
		renc_shape	shape = c->shape;
		stage_plan	p = plan_of(&shape.stage[stage]);

		p.root += step->root;
		p.first += step->first;
		p.last += step->last;
		p.nlevels += step->nlevels;
		p.kw += step->kw;
		p.kr += step->kr;
		if (p.nlevels == 1)
			p.first = p.last;
		if (!set_stage(&p, h->in->max_kw, &shape.stage[stage]) || !improve(h, c, &shape))
			break;
		better = true;
	}
	return better;
}

/* The last stage alone. */
static renc_shape
without_pruning(const renc_shape *from)
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
level_of_share(const renc_trial_input *in, double share)
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
	return flat > 0 ? flat : l;
}

/* Stages above that prune, and none: clusters have few prefixes, which cost little. */
static void
try_pruning(search_state *h, const renc_shape *from)
{
	static const double shares[] = {0.4, 0.1, 0.02};
	static const int8_t rows[] = {6, 3, 8};
	const renc_shape alone = without_pruning(from);
	int			deepest = RENC_KEY_BITS;

	offer(h, &alone);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
	{
		int			base = level_of_share(h->in, shares[i]);

		/* The stage below begins where this one ends, or deeper. */
		if (base > __builtin_ctzll(alone.stage[0].levels))
			base = __builtin_ctzll(alone.stage[0].levels);
		if (base < 1 || base == deepest)
			continue;
		deepest = base;
		for (size_t k = 0; k < sizeof(rows); k++)
		{
			stage_plan	p = {base > PRUNING_ROOT ? base - PRUNING_ROOT : 0, base, base, 1, 1, rows[k]};
			renc_shape	shape = {2, {alone.stage[0], alone.stage[0]}};

			if (base > alone.stage[0].root)
				shape.stage[1].root = (uint8_t) base;
			if (set_stage(&p, h->in->max_kw, &shape.stage[0]))
				offer(h, &shape);
		}
	}
}

/* Steps from a shape as long as they are for the better. */
static void
climb(search_state *h, shape_candidate *c)
{
	bool		better = true;

	while (better && has_work(h))
	{
		better = false;
		for (int i = 0; i < NSTEPS; i++)
			for (int stage = c->shape.nstages - 1; stage >= 0; stage--)
				better |= take_step(h, c, stage, &steps[i]);
	}
}

/* Steps from all candidates, which share the work; the best comes first afterwards. */
static void
climb_all(search_state *h, double work)
{
	double		before = renc_trial_work(h->trial);
	int			best = 0;

	for (int i = 0; i < h->n; i++)
	{
		h->work = before + (work - before) * (i + 1) / h->n;
		climb(h, &h->best[i]);
		if (h->best[i].p.score < h->best[best].p.score)
			best = i;
	}
	h->best[0] = h->best[best];
}

/* Regular levels up to "last", so that a key sets so many bits. */
static void
try_regular(search_state *h, int last, int nlevels, int span, int bits, int root)
{
	stage_plan	p;
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
	if ((h->in->asked_share > 0 || p.root <= root) && set_stage(&p, h->in->max_kw, &shape.stage[0]))
		offer(h, &shape);

	/* A short root reads fewer windows for long intervals. */
	p.root = root;
	if (root < p.first - 1 && set_stage(&p, h->in->max_kw, &shape.stage[0]))
		offer(h, &shape);
}

/* Regular shapes with the deepest level from "first" to before "end". */
static void
try_levels(search_state *h, const renc_shape *rule, const int8_t *pattern, int first, int end, int stride)
{
	const renc_stage *st = &rule->stage[rule->nstages - 1];
	const renc_shape alone = without_pruning(rule);

	for (int last = first; last < end; last += stride)
		if (last > 0 && (h->n == 0 || renc_trial_least(h->trial, last) <= HOPELESS * h->best[0].p.cost))
			try_regular(h, last, pattern[0], pattern[1], renc_shape_nbits(&alone), st->root);
}

/*
 * Regular shapes.  Queries that were put may want quite another deepest level than the rule's,
 * which no step leads to.
 */
static void
try_grid(search_state *h, const renc_shape *rule)
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
			try_levels(h, rule, pattern[i], 1, RENC_KEY_BITS + 1, GRID_STRIDE);
		return;
	}
	try_levels(h, rule, pattern[0], deepest - 4, deepest + (h->in->areal ? 30 : 3), 2);
	deepest = renc_stage_deepest(&h->best[0].shape.stage[h->best[0].shape.nstages - 1]);
	for (int i = 1; i < 6; i++)
		try_levels(h, rule, pattern[i], deepest - 2, deepest + 3, 2);
}

/* The shape by rule. */
static void
shape_by_rule(const renc_trial_input *in, double bits_per_key, renc_shape *shape)
{
	if (in->areal)
		renc_rule_shape_areal(in->ranges, in->nranges, bits_per_key, shape);
	else
		renc_rule_shape(in->ranges, in->nranges, bits_per_key, shape);
}

/*
 * From now on trials take so much effort.  Long queries that were put take long: fewer are asked,
 * so that some trials can be made.  "p" is what the rule's shape costs; what is much worse for
 * points is not taken.
 */
static void
set_effort(search_state *h, size_t samples, double keys, const renc_shape *rule, renc_prediction *p)
{
	double		before = renc_trial_work(h->trial);
	double		most;

	memset(h->past, 0, sizeof(h->past));
	renc_trial_effort(h->trial, samples, keys);
	renc_trial_run(h->trial, rule, INFINITY, p);
	most = (double) samples * h->work / LEAST_TRIALS / (renc_trial_work(h->trial) - before);
	if (h->in->asked_share > 0 && most < (double) samples && samples > LEAST_SAMPLES)
	{
		renc_trial_effort(h->trial, (size_t) fmax(most, LEAST_SAMPLES), keys);
		renc_trial_run(h->trial, rule, INFINITY, p);
	}
	if (!(h->in->asked_share > 0))
	{
		double		times = WORSE_THAN_RULE + WORSE_FOR_GAPS * renc_trial_gaps(h->trial);

		renc_trial_guard(h->trial, times, h->in->areal ? WORSE_BOXES : WORSE_SHORT * times);
	}
}

/*
 * Trials of little effort tell which shapes are the best, and what steps make of them: the best of
 * all is the first.  Returns their number.
 */
static int
propose(search_state *h, const renc_shape *rule, const renc_shape *from, shape_candidate *found)
{
	double		work = h->work;
	int			n;
	renc_prediction p;
	renc_shape	best;

	set_effort(h, FEW_SAMPLES + h->in->nsamples / (h->in->areal ? 4 : 8), FEW_KEYS, rule, &p);
	h->work = FIRST_WORK * work;
	offer(h, rule);
	if (h->n == 0)
		return 0;
	if (from != NULL)
		offer(h, from);
	try_pruning(h, rule);
	try_grid(h, rule);
	n = h->n;
	memcpy(found + CANDIDATES, h->best, sizeof(h->best));
	climb_all(h, CLIMB_WORK * work);
	h->work = work;
	best = h->best[0].shape;
	try_pruning(h, &best);
	memcpy(found, h->best, sizeof(h->best));
	return CANDIDATES + n;
}

bool
renc_search(renc_trial *trial, const renc_trial_input *in, double bits_per_key,
			const renc_shape *from, double work, renc_choice *choice)
{
	search_state h;
	renc_shape	rule;
	shape_candidate found[2 * CANDIDATES];
	int			nfound;

	memset(choice, 0, sizeof(*choice));
	memset(&h, 0, sizeof(h));
	memset(found, 0, sizeof(found));
	h.trial = trial;
	h.in = in;
	h.work = work;
	shape_by_rule(in, bits_per_key, &rule);
	choice->shape = rule;
	if (!renc_trial_init(trial, in))
		return false;
	nfound = propose(&h, &rule, from, found);
	set_effort(&h, in->nsamples, MANY_KEYS, &rule, &h.best[0].p);
	choice->now = h.best[0].p;
	h.best[0].shape = rule;
	h.n = 1;

	/* These two whatever that takes. */
	h.work = INFINITY;
	if (from != NULL)
	{
		renc_trial_run(trial, from, INFINITY, &choice->now);
		offer(&h, from);
	}
	if (nfound > 0)
		offer(&h, &found[0].shape);
	h.work = work;
	for (int i = 1; i < nfound; i++)
		offer(&h, &found[i].shape);
	climb_all(&h, work);
	choice->shape = h.best[0].shape;
	choice->best = h.best[0].p;
	return true;
}
