/*
 * renc_model_plan.c
 *		The model: what the budget of nodes leaves of a query's program.
 */
#include "renc_model_work.h"

#include <math.h>

/*
 * The nodes of level l that a query "size" times as large as the representative meets.
 * An interval's are one more than its length in nodes, in the mean over where it lies;
 * the representative's may be half a node more or less, which is much where the budget
 * is just reached.
 */
static double
nodes_of(const model_rep *rep, double size, int l)
{
	if (rep->length == 0)
		return (rep->partial[l] + rep->inside[l]) * size;
	if (rep->inside[l] < 2)
		return rep->partial[l] + rep->inside[l];
	return rep->length * size / model_descendants(RENC_KEY_BITS - l) + 1;
}

/*
 * The nodes of level l below the border nodes of level "above".  An interval may end
 * anywhere in these: the most are counted, or the search would find the shape under which
 * nearly all queries fit, and the others, which pass everything, are most of what passes.
 */
static double
border_nodes(const model_rep *rep, double size, int above, int l)
{
	if (rep->length == 0)
		return rep->partial[l] + model_new_inside(rep, above, l);
	return fmin(rep->partial[above] * model_descendants(l - above), nodes_of(rep, size, l));
}

/*
 * Does a program fit whose inside nodes from "limit" on are leaves?  Half of the queries
 * that need one too many in the mean do.
 */
static bool
fits(const model_stage *st, int nstages, const model_rep *rep, double size, int limit)
{
	double		nodes = 0;
	double		trees = 0;
	int			above = -1;		/* the last level before this one */

	for (int s = 0; s < nstages; s++)
	{
		for (int j = 0; j <= st[s].nlevels; j++)
		{
			int			l = st[s].stored[j];
			double		n = above >= limit ? border_nodes(rep, size, above, l) :
				nodes_of(rep, size, l);

			if (j == 0)
				trees += n;
			else
			{
				nodes += n;
				above = l;
			}
		}
	}
	return nodes <= RENC_MAX_NODES + 0.5 && trees <= RENC_MAX_TREES + 0.5;
}

/* As renc_program_compile() gives up levels. */
static model_plan
plan_size(const model_stage *st, int nstages, const model_rep *rep, double size)
{
	model_plan	p = {false, RENC_KEY_BITS + 1, 1};

	if (fits(st, nstages, rep, size, p.limit))
		return p;
	for (int s = nstages - 1; s >= 0; s--)
	{
		for (int j = st[s].nlevels; j > 0; j--)
		{
			p.limit = st[s].stored[j];
			if (fits(st, nstages, rep, size, p.limit))
				return p;
		}
	}
	p.always = true;
	return p;
}

/*
 * Is a query far from exceeding the budget?  Deeper levels have more nodes: what the deepest
 * has stands for all of them.
 */
static bool
fits_easily(const model_stage *st, int nstages, const model_rep *rep, double size)
{
	const model_stage *last = &st[nstages - 1];
	int			levels = 0;

	for (int s = 0; s < nstages; s++)
		levels += st[s].nlevels;
	return levels * nodes_of(rep, size, last->stored[last->nlevels]) <= RENC_MAX_NODES / 2 &&
		nstages * nodes_of(rep, size, last->stored[0]) <= RENC_MAX_TREES / 2;
}

static bool
same_plan(const model_plan *a, const model_plan *b)
{
	return a->always == b->always && a->limit == b->limit;
}

/*
 * A search finds the very shape under which the representative just fits.  The larger
 * queries that it stands for may not, and the few that pass everything would be most of
 * all that pass.  So where the smallest and the largest differ, there are two plans: that
 * of the smaller ones, and that of the largest for all that are not planned as the smallest.
 */
int
model_plan_queries(const renc_model *m, const model_stage *st, int nstages,
				   const model_rep *rep, model_plan plan[2])
{
	const float *size = &m->size[rep->first_size];
	uint32_t	fitting = 0;
	uint32_t	failing = rep->nqueries - 1;

	if (fits_easily(st, nstages, rep, size[failing]))
	{
		plan[0].always = false;
		plan[0].limit = RENC_KEY_BITS + 1;
		plan[0].share = 1;
		return 1;
	}
	plan[0] = plan_size(st, nstages, rep, size[fitting]);
	if (size[failing] == size[fitting])
		return 1;
	plan[1] = plan_size(st, nstages, rep, size[failing]);
	if (same_plan(&plan[0], &plan[1]))
		return 1;
	while (failing - fitting > 1)
	{
		uint32_t	middle = fitting + (failing - fitting) / 2;
		model_plan	p = plan_size(st, nstages, rep, size[middle]);

		if (same_plan(&p, &plan[0]))
			fitting = middle;
		else
			failing = middle;
	}
	plan[0].share = (double) failing / rep->nqueries;
	plan[1].share = 1 - plan[0].share;
	return 2;
}
