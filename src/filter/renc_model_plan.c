/*
 * renc_model_plan.c
 *		The model: what the budget of nodes leaves of a query's program.
 */
#include "renc_model_work.h"

/* Halvings by which the size is found from which queries do not fit. */
#define SIZE_STEPS		8

/*
 * The nodes of a program whose inside nodes from "limit" on are leaves, for a query
 * "size" times as large as the representative.
 */
static double
count_nodes(const model_storey *st, int nstoreys, const model_rep *rep, double size,
			int limit, double *trees)
{
	double		nodes = 0;
	int			above = -1;		/* the last level before this one */

	*trees = 0;
	for (int s = 0; s < nstoreys; s++)
	{
		for (int j = 0; j <= st[s].nlevels; j++)
		{
			int			l = st[s].stored[j];
			double		n = rep->partial[l];

			n += above >= limit && above <= RENC_KEY_BITS ? model_new_inside(rep, above, l) :
				rep->inside[l];
			n *= size;
			if (j == 0)
				*trees += n;
			else
			{
				nodes += n;
				above = l;
			}
		}
	}
	return nodes;
}

/* As renc_program_compile() gives up levels. */
static model_plan
plan_size(const model_storey *st, int nstoreys, const model_rep *rep, double size)
{
	model_plan	p = {false, RENC_KEY_BITS + 1, 1};
	double		trees;

	if (count_nodes(st, nstoreys, rep, size, p.limit, &trees) <= RENC_MAX_NODES &&
		trees <= RENC_MAX_TREES)
		return p;
	for (int s = nstoreys - 1; s >= 0; s--)
	{
		for (int j = st[s].nlevels; j > 0; j--)
		{
			p.limit = st[s].stored[j];
			if (count_nodes(st, nstoreys, rep, size, p.limit, &trees) <= RENC_MAX_NODES &&
				trees <= RENC_MAX_TREES)
				return p;
		}
	}
	p.always = true;
	return p;
}

static bool
same_plan(const model_plan *a, const model_plan *b)
{
	return a->always == b->always && a->limit == b->limit;
}

/*
 * A search finds the very shape under which the representative just fits.  The larger
 * queries that it stands for may not, and the few that pass everything would be most of
 * all that pass.  So where the smallest and the largest differ, there are two plans: the
 * former's up to some size, the latter's from there on, sizes being spread evenly.
 */
int
model_plan_queries(const model_storey *st, int nstoreys, const model_rep *rep,
				   model_plan plan[2])
{
	double		fits = rep->least;
	double		fails = rep->most;

	plan[0] = plan_size(st, nstoreys, rep, rep->least);
	if (rep->most <= rep->least)
		return 1;
	plan[1] = plan_size(st, nstoreys, rep, rep->most);
	if (same_plan(&plan[0], &plan[1]))
		return 1;
	for (int i = 0; i < SIZE_STEPS; i++)
	{
		double		size = (fits + fails) / 2;
		model_plan	p = plan_size(st, nstoreys, rep, size);

		if (same_plan(&p, &plan[0]))
			fits = size;
		else
			fails = size;
	}
	plan[0].share = (fits - rep->least) / (rep->most - rep->least);
	plan[1].share = 1 - plan[0].share;
	return 2;
}
