/*
 * renc_model_plan.c
 *		The model: what the budget of nodes leaves of a query's program.
 */
#include "renc_model_work.h"

/* The nodes of a program whose inside nodes from "limit" on are leaves. */
static double
count_nodes(const model_storey *st, int nstoreys, const model_rep *rep, int limit,
			double *trees)
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
model_plan
model_plan_query(const model_storey *st, int nstoreys, const model_rep *rep)
{
	model_plan	p = {false, RENC_KEY_BITS + 1};
	double		trees;

	if (count_nodes(st, nstoreys, rep, p.limit, &trees) <= RENC_MAX_NODES &&
		trees <= RENC_MAX_TREES)
		return p;
	for (int s = nstoreys - 1; s >= 0; s--)
	{
		for (int j = st[s].nlevels; j > 0; j--)
		{
			p.limit = st[s].stored[j];
			if (count_nodes(st, nstoreys, rep, p.limit, &trees) <= RENC_MAX_NODES &&
				trees <= RENC_MAX_TREES)
				return p;
		}
	}
	p.always = true;
	return p;
}
