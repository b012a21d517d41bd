/*
 * renc_model.c
 *		Predicted false positive rate and cost of a shape.
 *
 * The CPFPR model of Proteus (paper, sections 3 and 4) carried over to segment
 * trees in hashed windows.  Proteus' equation 5 says: a query Q passes a prefix
 * Bloom filter of depth l for certain if lcp(Q, K) >= l, else with 1 - (1 - p)^|Q_l|;
 * p follows from |K_l| and the memory.  Here a query is tested at several levels,
 * each test depending on the one above (REncoder paper, section 3.4, whose
 * analysis in section 4 assumes independent bits and no close keys), so the two
 * ways to pass mix.  For a query and a range without a match:
 *
 * - A root (level r) selects kw windows.  With fills f_1 .. f_kw, a node that is
 *	 not in the range passes its kw * kr row tests with
 *
 *			p = (f_1 * .. * f_kw)^kr
 *
 *	 This product varies from root to root; its distribution comes from throwing
 *	 real roots (renc_model_fill.c), apart for roots in the range, whose windows
 *	 hold their own keys, and for others.  Below, E is the mean over it: roots
 *	 are independent of each other, the nodes of one root are not.
 *
 * - Let l_1 < .. < l_k be the levels.  An absent node of level l_j lying wholly
 *	 inside the query passes with
 *
 *			F_k = p,	F_j = p (1 - (1 - F_(j+1))^(2^(l_(j+1) - l_j)))
 *
 *	 and one that reaches over the query's border, with the mean numbers b of
 *	 such children and c of children inside,
 *
 *			A_k = p,	A_j = p (1 - (1 - A_(j+1))^b (1 - F_(j+1))^c)
 *
 *	 which is a_(l+1) = p (1 - (1 - a_l)^2) of the whole tree when all is inside.
 *	 b and c come from the numbers of nodes per level of representative queries, so
 *	 a box is as good as an interval.
 *
 * - Nodes truly present, down to the level d = lcp(Q, K), pass for certain.  A path
 *	 of them hands on what their other children do: with T_j present nodes,
 *
 *			1 - pass = prod_j (1 - A_(j+1))^(b T_j - T_(j+1)) (1 - F_(j+1))^(c T_j)
 *
 *	 and pass = 1 when d reaches l_k.
 *
 * - Nodes of the last level of a first stage pass if a tree of the second stage
 *	 below them does, too: a factor like the others.
 *
 * - Inside nodes that the program gives up for its budget of nodes are leaves.
 *
 * Products are kept as sums of -log(1 - x), which makes the exponent's being a
 * mean harmless where probabilities are small.
 *
 * Windows read: those of a tree are read one after the other as long as any of
 * the group's ranges is alive, and trees of the second stage if any range passed
 * their link.
 */
#include "renc_model.h"

#include <math.h>
#include <stdlib.h>

#include "renc_model_work.h"

/* -log(1 - x) of something certain. */
#define CERTAIN		35.0

/*
 * An even fill is no strict bound: where some windows are full and the others
 * nearly empty, few levels may do better.
 */
#define EVEN_MARGIN	1.25

/* What one point of the distribution gives for a tree. */
typedef struct chain
{
	double		absent_tree;	/* pass probability of a tree over the border */
	double		inside_tree;	/* and of one inside */
	double		path[MODEL_LEVELS]; /* for j: sum up to j of what present
									 * nodes add */
} node_chain;

/* Means over the distribution, of one stage; y is -log(1 - probability). */
typedef struct stage_result
{
	double		absent_y;		/* of a tree with absent root over the border */
	double		inside_y;
	double		node_pass;		/* mean of p^k: a path to the last level */
	node_chain	present[MODEL_POINTS];
} stage_result;

/*
 * 1 - exp(-y) and -log(1 - x).  Most of the time goes into these two, and most
 * arguments are small: a series is exact to 1e-4 there, and several times faster.
 */
static inline double
pass_of(double y)
{
	if (y < 0.4)
		return y * (1 - y * (1.0 / 2) * (1 - y * (1.0 / 3) * (1 - y * (1.0 / 4) * (1 - y * (1.0 / 5)))));
	return 1 - exp(-y);
}

static inline double
y_of(double x)
{
	if (x < 0.25)
		return x * (1 + x * (1.0 / 2 + x * (1.0 / 3 + x * (1.0 / 4 + x * (1.0 / 5 + x * (1.0 / 6))))));
	return x < 1 - 1e-15 ? -log(1 - x) : CERTAIN;
}

static inline double
per_partial(const model_rep *rep, int level, double count)
{
	return rep->partial[level] > 0 ? count / rep->partial[level] : 0;
}

/* Mean numbers of children per node, from one stored level to the next. */
typedef struct branching
{
	double		partial[MODEL_LEVELS];	/* partial ones of a partial node, b */
	double		inside[MODEL_LEVELS];	/* inside ones of a partial node, c */
	double		all[MODEL_LEVELS];	/* of an inside node */
	double		present[MODEL_LEVELS];	/* truly present nodes, T */
} tree_branching;

static void
count_branches(const model_stage *st, const model_rep *rep, tree_branching *b)
{
	for (int j = 0; j <= st->nlevels; j++)
	{
		int			l = st->stored[j];

		b->present[j] = rep->present[l];
		if (j < st->nlevels)
		{
			int			next = st->stored[j + 1];

			b->partial[j] = per_partial(rep, l, rep->partial[next]);
			b->inside[j] = per_partial(rep, l, model_new_inside(rep, l, next));
			b->all[j] = model_descendants(next - l);
		}
	}
}

/*
 * The recursion for one product of fills.  "below_absent" and "below_inside" are
 * the probabilities that a passing node of the last level goes on: 1, or those
 * of the second stage.
 */
static void
run_chain(const model_stage *st, const tree_branching *b, int limit, double p,
		  double below_absent, double below_inside, bool want_path, node_chain *c)
{
	double		x_absent = below_absent;
	double		x_inside = below_inside;
	double		down = 0;		/* y of the children of a partial node */

	for (int j = st->nlevels;; j--)
	{
		double		y_absent;
		double		y_inside;

		if (j == 0)
			break;
		if (st->stored[j] >= limit)
			x_inside = 1;
		y_absent = y_of(p * x_absent);
		y_inside = y_of(p * x_inside);
		c->path[j] = b->present[j] * (down - y_absent);
		down = b->partial[j - 1] * y_absent + b->inside[j - 1] * y_inside;
		x_absent = pass_of(down);
		x_inside = pass_of(b->all[j - 1] * y_inside);
	}
	c->absent_tree = x_absent;
	c->inside_tree = x_inside;
	c->path[0] = b->present[0] * down;
	for (int j = 1; want_path && j <= st->nlevels; j++)
		c->path[j] += c->path[j - 1];
}

static void
run_stage(const model_stage *st, const model_rep *rep, int size, int limit,
		  double below_absent, double below_inside, stage_result *r)
{
	const model_fill *absent = &st->absent[size];
	const model_fill *present = &st->present[size];
	double		x_absent = 0;
	double		x_inside = 0;
	double		path;
	tree_branching b;
	node_chain	c;

	count_branches(st, rep, &b);
	r->node_pass = 0;
	for (int i = 0; i < absent->n; i++)
	{
		run_chain(st, &b, limit, absent->pass[i], below_absent, below_inside,
				  false, &c);
		x_absent += absent->share[i] * c.absent_tree;
		x_inside += absent->share[i] * c.inside_tree;
		path = absent->share[i];
		for (int j = 0; j < st->nlevels; j++)
			path *= absent->pass[i];
		r->node_pass += path;
	}
	r->absent_y = y_of(x_absent);
	r->inside_y = y_of(x_inside);
	for (int i = 0; i < present->n && rep->deeper[size][st->stored[0]] > 0; i++)
		run_chain(st, &b, limit, present->pass[i], below_absent, below_inside,
				  true, &r->present[i]);
}

/* The last index into stored[] that is not deeper than d; -1 if the root is. */
static int
last_present(const model_stage *st, int d)
{
	int			j = -1;

	while (j < st->nlevels && st->stored[j + 1] <= d)
		j++;
	return j;
}

/*
 * y of the trees of a stage whose roots are present, when present nodes end at
 * level d; "extra" is what lies below the stage.
 */
static double
present_trees(const model_stage *st, const model_rep *rep, int size,
			  const stage_result *r, int d, double extra)
{
	const model_fill *f = &st->present[size];
	double		trees = rep->present[st->stored[0]];
	int			j = last_present(st, d);
	double		x = 0;

	if (j < 0 || trees <= 0)
		return 0;
	for (int i = 0; i < f->n; i++)
		x += f->share[i] * pass_of((model_not_negative(r->present[i].path[j]) + extra) / trees);
	return trees * y_of(x);
}

/* Probability that a query passes whose present nodes end at level d. */
static double
pass_at(const model_stage *st, int nstages, const model_rep *rep, int size,
		const stage_result *r, int d)
{
	const model_stage *last = &st[nstages - 1];
	int			root = st[0].stored[0];
	double		roots = d >= root ? rep->present[root] : 0;
	double		extra = 0;
	double		y;

	if (d >= last->stored[last->nlevels])
		return 1;
	if (nstages > 1 && d >= st[0].stored[st[0].nlevels])
	{
		int			link = st[0].stored[st[0].nlevels];
		int			below = st[1].stored[0];
		double		links = rep->present[link];
		double		present = d >= below ? rep->present[below] : 0;

		extra = model_not_negative(links * per_partial(rep, link, rep->partial[below]) - present) *
			r[1].absent_y +
			links * per_partial(rep, link, model_new_inside(rep, link, below)) * r[1].inside_y +
			present_trees(&st[1], rep, size, &r[1], d, 0);
	}
	y = model_not_negative(rep->partial[root] - roots) * r[0].absent_y +
		rep->inside[root] * r[0].inside_y +
		present_trees(&st[0], rep, size, &r[0], d, extra);
	return pass_of(y);
}

/* Mean pass probability over the pairs of a representative, times their weight. */
static double
rep_passes(const model_stage *st, int nstages, const model_rep *rep, int size,
		   model_plan p, stage_result *r)
{
	double		sum = 0;
	int			d = -1;

	if (p.always)
		return rep->deeper[size][0];
	if (nstages > 1)
	{
		int			link = st[0].stored[st[0].nlevels];
		int			below = st[1].stored[0];

		run_stage(&st[1], rep, size, p.limit, 1, 1, &r[1]);
		run_stage(&st[0], rep, size, p.limit,
				  pass_of(per_partial(rep, link, rep->partial[below]) * r[1].absent_y +
						  per_partial(rep, link, model_new_inside(rep, link, below)) *
						  r[1].inside_y),
				  pass_of(r[1].inside_y * model_descendants(below - link)), &r[0]);
	}
	else
		run_stage(&st[0], rep, size, p.limit, 1, 1, &r[0]);

	/* All pairs between two stored levels are alike. */
	for (int s = 0; s < nstages; s++)
	{
		for (int j = 0; j <= st[s].nlevels; j++)
		{
			int			l = st[s].stored[j];
			double		from = d < 0 ? 0 : d;
			double		weight = rep->deeper[size][(int) from] - rep->deeper[size][l];

			if (l > (int) from && weight > 0)
				sum += weight * pass_at(st, nstages, rep, size, r, (int) from);
			d = l;
		}
	}
	return sum + rep->deeper[size][d];
}

/*
 * The trees of a stage that a query's program has.  Inside nodes that are leaves link to
 * none; the border nodes of an interval reach over half of what is below them, in the mean.
 */
static double
trees_of(const model_stage *st, int s, const model_rep *rep, model_plan p)
{
	int			root = st[s].stored[0];
	int			link = s > 0 ? st[s - 1].stored[st[s - 1].nlevels] : 0;

	if (s == 0 || link < p.limit)
		return rep->partial[root] + rep->inside[root];
	if (rep->length == 0)
		return rep->partial[root] + model_new_inside(rep, link, root);
	return rep->partial[link] * (model_descendants(root - link) + 1) / 2;
}

/*
 * Windows that a query reads in a group.  "match" is the probability that one
 * of the trees holds a range that stays alive for certain.
 */
static double
rep_windows(const renc_model *m, const model_stage *st, int nstages,
			const model_rep *rep, model_plan p, const stage_result *r)
{
	double		ranges = m->in.group_ranges;
	double		sum = 0;
	double		reach = 1;		/* that a tree is read at all */
	tree_branching b;

	if (p.always)
		return 0;
	for (int s = 0; s < nstages; s++)
	{
		const model_fill *f = &st[s].absent[0];
		int			root = st[s].stored[0];
		int			deepest = st[s].stored[st[s].nlevels];
		double		trees = trees_of(st, s, rep, p);
		double		alive_for_certain = rep->matches;
		double		reads = 1;
		double		mean = 0;
		double		enough;

		for (int i = 0; i < f->n; i++)
			mean += f->share[i] * f->log_fill[i];
		for (int size = 0; size < m->nsizes; size++)
			alive_for_certain += rep->deeper[size][deepest];
		alive_for_certain *= ranges / m->in.nranges / rep->weight / (trees > 1 ? trees : 1);
		if (st[s].kw > 1)
			count_branches(&st[s], rep, &b);
		for (int w = 1; w < st[s].kw; w++)
		{
			node_chain	c;
			double		x;

			run_chain(&st[s], &b, p.limit, exp(mean * w * st[s].kr / st[s].kw), 1, 1, false, &c);
			x = rep->partial[root] > rep->inside[root] ? c.absent_tree : c.inside_tree;
			reads += 1 - exp(-ranges * y_of(x) - alive_for_certain);
		}

		/* When every range has passed, no further tree is read. */
		if (s == 0)
		{
			enough = (log(ranges) + 0.6) / (1e-9 + (rep->partial[root] > rep->inside[root] ?
													r[0].absent_y : r[0].inside_y));
			if (enough < trees)
				reach = enough / trees;
		}
		sum += trees * reach * reads;
		reach *= 1 - exp(-ranges * r[s].node_pass - alive_for_certain);
	}
	return sum;
}

/* Heap pages per query, of a unit of weight that passes. */
static double
heap_pages_per_pass(const renc_model *m)
{
	return m->in.pages_per_range * m->in.group_ranges / m->in.nranges / m->query_weight;
}

static void
unfold_shape(const renc_shape *shape, model_stage *st)
{
	for (int s = 0; s < shape->nstages; s++)
	{
		st[s].stored[0] = shape->stage[s].root;
		st[s].nlevels = renc_stage_levels(&shape->stage[s], &st[s].stored[1]);
		st[s].kw = shape->stage[s].kw;
		st[s].kr = shape->stage[s].kr;
	}
}

/* What a representative costs, and where it stood. */
typedef struct rep_cost
{
	double		cost;
	uint8_t		rep;
	uint8_t		place;
} rep_cost;

/* The most expensive first; of equal ones the one that was. */
static int
compare_costs(const void *a, const void *b)
{
	const rep_cost *x = (const rep_cost *) a;
	const rep_cost *y = (const rep_cost *) b;

	if (x->cost != y->cost)
		return x->cost > y->cost ? -1 : 1;
	return x->place - y->place;
}

/*
 * Notes which representatives have the most to say: those that cost most under the
 * last shape predicted to the end.  A shape that is not good enough is known as such
 * after a few of them.
 */
static void
order_reps(renc_model *m, rep_cost *costs)
{
	qsort(costs, m->nreps, sizeof(*costs), compare_costs);
	for (int i = 0; i < m->nreps; i++)
		m->rep_order[i] = costs[i].rep;
}

/* Sums over the representatives, until the cost exceeds the limit. */
static void
sum_reps(renc_model *m, const model_stage *st, int nstages, double limit,
		 renc_prediction *out)
{
	stage_result r[RENC_MAX_STAGES];
	double		heap_pages = heap_pages_per_pass(m);
	rep_cost	costs[MODEL_REPS];
	double		passes = 0;

	out->windows = 0;
	out->cost = 0;
	out->complete = true;
	for (int i = 0; i < m->nreps && out->complete; i++)
	{
		const model_rep *rep = &m->rep[m->rep_order[i]];
		double		before = out->cost;
		model_plan	plan[2];
		int			nplans = model_plan_queries(m, st, nstages, rep, plan);

		for (int p = 0; p < nplans; p++)
		{
			for (int size = m->nsizes - 1; size >= 0; size--)
				passes += plan[p].share * rep_passes(st, nstages, rep, size, plan[p], r);
			if (m->in.window_cost > 0)
				out->windows += plan[p].share * rep->weight / m->query_weight *
					rep_windows(m, st, nstages, rep, plan[p], r);
		}
		out->cost = out->windows * m->in.window_cost + passes * heap_pages;
		out->complete = out->cost <= limit;
		costs[i].cost = out->cost - before;
		costs[i].rep = m->rep_order[i];
		costs[i].place = (uint8_t) i;
	}
	if (out->complete)
		order_reps(m, costs);
	out->fpr = passes / m->pair_weight;
}

void
renc_model_predict(renc_model *m, const renc_shape *shape, double limit,
				   renc_prediction *out)
{
	model_stage st[RENC_MAX_STAGES];

	memset(out, 0, sizeof(*out));
	out->complete = true;
	if (!m->useful)
		return;
	m->predictions++;
	unfold_shape(shape, st);
	if (limit < HUGE_VAL)
	{
		/* Queries too close to a key need no closer look. */
		out->fpr = renc_model_close_share(m, renc_stage_deepest(&shape->stage[shape->nstages - 1]));
		out->cost = out->fpr * m->pair_weight * heap_pages_per_pass(m);
		out->complete = out->cost <= limit;
		if (!out->complete)
			return;

		/*
		 * Nor does what would be too expensive if no window were fuller than
		 * others.
		 */
		model_even_fill(m, shape, st);
		sum_reps(m, st, shape->nstages, limit * EVEN_MARGIN, out);
		if (!out->complete)
			return;
	}
	m->throws++;
	model_throw(m, shape, st);
	sum_reps(m, st, shape->nstages, limit, out);
}

static void
note_close(renc_model *m)
{
	memset(m->close, 0, sizeof(m->close));
	for (int i = 0; i < m->nreps; i++)
		for (int size = 0; size < m->nsizes; size++)
			for (int l = 0; l <= RENC_KEY_BITS; l++)
				m->close[l] += m->rep[i].deeper[size][l] / m->pair_weight;
}

size_t
renc_model_size(void)
{
	return sizeof(renc_model);
}

bool
renc_model_init(renc_model *m, const renc_model_input *in)
{
	m->in = *in;
	if (m->in.nwindows < 1)
		m->in.nwindows = 1;
	if (m->in.group_ranges < m->in.nranges)
		m->in.group_ranges = m->in.nranges;
	m->predictions = 0;
	m->throws = 0;
	m->useful = false;
	m->pair_weight = 0;
	model_choose_thrown(m);
	model_bin_samples(m);
	if (m->nsizes == 0 || m->nreps == 0)
		return false;
	model_count_pairs(m);

	/* To begin with, long intervals first. */
	for (int i = 0; i < m->nreps; i++)
		m->rep_order[i] = (uint8_t) (m->nreps - 1 - i);
	m->useful = m->pair_weight > 0;
	if (m->useful)
		note_close(m);
	return m->useful;
}

double
renc_model_close_share(const renc_model *m, int level)
{
	return m->useful ? m->close[level] : 0;
}

int
renc_model_predictions(const renc_model *m)
{
	return m->predictions;
}
