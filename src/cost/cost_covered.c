/*
 * cost_covered.c
 *		What a query visits of pages that runs cover: rows of base runs, ranges of matrices.
 *
 * A scan searches the columns one after the other, and leaves out those whose search costs more than
 * the pages that it may save (run_scan_choice.c).  The planner is told what that comes to.
 */
#include "cost/cost_path.h"

#include <math.h>

#include "scan/run_scan.h"

/*
 * The entries of runs that a column's clauses ask for, and those that are met by
 * accident.  The run knows better than the statistics, if it was asked.
 */
static double
covered_entries(RencoderCostPath *p, int col, double share)
{
	const RencoderCostColumn *column = &p->column[col];
	const RencoderCostRunColumn *run = &p->runs.column[col];
	double		rows;
	double		entries;

	if (column->sampled > 0 && run->found >= 0)
	{
		/* What is not in a sample may be half an element of it. */
		double		found = run->found + (column->sampled < column->elements ? 0.5 : 0);

		return Min(found * column->elements / column->sampled, run->entries);
	}

	/* Rows of one value in one page are one entry. */
	rows = rencoder_cost_column_rows(p, col) * share;
	entries = Min(rows * run->entries / Max(run->rows, 1), run->entries);
	if (column->sampled == 0 && run->between >= 0)
	{
		/* What was counted has what is met by accident. */
		if (!run->bounds_only)
			return run->between;
		entries = Max(Min(entries, run->between), run->in_leaves);
	}
	return entries + run->false_pages * column->elements;
}

/* What the clauses of a column leave of the covered pages, and what its search reads of runs. */
typedef struct CoveredColumn
{
	double		rate;			/* the share of the pages that they let pass */
	double		rows;			/* to be checked there, at most */
	double		together;		/* places for each page; 1: not known */
	double		entries;
	double		leaves;
	double		in_vain;		/* pages found by accident */
	bool		decides;		/* a scan may leave out columns beside it */
} CoveredColumn;

/* The share of the covered pages that a column's clauses on keys let pass. */
static double
covered_rate(RencoderCostPath *p, int col, double pages, double share, CoveredColumn *covered)
{
	const RencoderCostColumn *column = &p->column[col];
	const RencoderCostRunColumn *run = &p->runs.column[col];
	double		entries = covered_entries(p, col, share);

	/* All keys: the most frequent of them may be in each page. */
	double		places = column->all_keys ? Max(entries, run->rows) : entries;
	double		scattered = pages * (1 - exp(-places / pages));
	double		together = ceil(entries / Max(run->entries, 1) * pages);

	covered->rows = rencoder_cost_runs_checked_rows(run, entries, rencoder_cost_rows_per_page(p));
	covered->entries = entries;
	covered->leaves = rencoder_cost_runs_leaves(&p->runs, col, entries, column->elements);
	covered->in_vain = run->false_pages;
	covered->decides = true;
	if (run->near > 0)
		covered->together = run->near_places / run->near_pages;

	/* Values of a list may be anywhere. */
	if (column->elements > 1)
		return scattered / pages;
	if (run->near > 0)
	{
		/* The index knows better than any correlation. */
		double		clustered = (entries - run->false_pages) * run->near_pages / run->near;

		return Min(Min(Max(clustered, 0) + run->false_pages, entries) / pages, 1);
	}
	if (!column->range)
	{
		/* Entries of one value are in as many parts. */
		double		per_page = rencoder_cost_rows_per_page(p);
		double		parts = Max(per_page / rencoder_cost_runs_checked_rows(run, 1, per_page), 1);

		scattered = pages * (1 - pow(1 - Min(entries / (pages * parts), 1), parts));
	}
	scattered = Min(scattered, entries);
	return Min(rencoder_cost_interpolate(scattered, together + run->false_pages, column->correlation) /
			   pages, 1);
}

/* What a column that is asked leaves, if it is searched. */
static CoveredColumn
estimate_covered_column(RencoderCostPath *p, int col, double pages, double share)
{
	CoveredColumn covered = {.rate = 1,.rows = p->index->rel->tuples,.together = 1};
	double		entries = p->run_entries;
	double		leaves = p->run_pages;
	RencoderCostNullsRate rate;

	if (p->column[col].keys)
	{
		covered.rate = covered_rate(p, col, pages, share, &covered);
		return covered;
	}
	rate = rencoder_cost_nulls_column(p, col, pages);
	covered.rate = rate.pages / pages;
	covered.rows = rate.rows;
	covered.together = rate.places / Max(rate.pages, 1);
	covered.entries = p->run_entries - entries;
	covered.leaves = p->run_pages - leaves;
	p->run_entries = entries;
	p->run_pages = leaves;
	return covered;
}

/* The columns that are asked, in the order in which a scan searches them (run_scan_choice.c). */
static int
order_covered_columns(RencoderCostPath *p, double pages, double share, CoveredColumn *covered, int *order)
{
	int			n = 0;

	for (int col = 0; col < p->ncolumns; col++)
	{
		int			at = n;

		if (p->column[col].quals == NIL || !(p->column[col].keys || p->column[col].nulls))
			continue;
		covered[col] = estimate_covered_column(p, col, pages, share);
		while (at > 0 && covered[col].decides >= covered[order[at - 1]].decides &&
			   (covered[col].decides > covered[order[at - 1]].decides ||
				covered[col].entries < covered[order[at - 1]].entries))
			at--;
		memmove(&order[at + 1], &order[at], (n - at) * sizeof(int));
		order[at] = col;
		n++;
	}
	return n;
}

/* Does a scan leave out a column, where those before have found so many pages? */
static bool
is_left_out(const RencoderCostPath *p, int col, const CoveredColumn *covered, double found)
{
	const RencoderCostRunColumn *run = &p->runs.column[col];
	double		left = rencoder_run_choice_share(covered->entries, run->entries + run->null_entries,
												 run->places);

	return rencoder_run_choice_cost(covered->leaves, covered->entries) > found * (1 - left);
}

void
rencoder_cost_covered(RencoderCostPath *p)
{
	double		pages = Min(p->runs.covered, p->index->rel->pages);
	double		share = pages / Max(p->index->rel->pages, 1);
	double		hit = pages;
	double		in_vain = 0;
	double		rows = p->index->rel->tuples;	/* that a column leaves */
	double		together = 1;	/* places for each page, seen or expected */
	CoveredColumn covered[INDEX_MAX_KEYS];
	int			order[INDEX_MAX_KEYS];
	int			n;
	double		places;

	if (pages <= 0)
		return;
	if (!rencoder_cost_asks_anything(p))
	{
		RencoderCostNullsRate rate = rencoder_cost_nulls_all(p, pages);

		hit = rate.pages;
		rows = Min(rows, rate.rows);
		together = rate.places / Max(rate.pages, 1);
	}
	n = order_covered_columns(p, pages, share, covered, order);
	for (int i = 0; i < n; i++)
	{
		const CoveredColumn *c = &covered[order[i]];

		if (i > 0 && covered[order[0]].decides && is_left_out(p, order[i], c, hit))
			continue;
		hit *= c->rate;
		rows = Min(rows, c->rows);
		together = Min(together, c->together);
		in_vain += c->in_vain;
		p->run_entries += c->entries;
		p->run_pages += c->leaves;
		p->searched++;
	}

	/*
	 * In a table in the order of the keys the pages lie together, but for
	 * those in vain.
	 */
	places = Min(rencoder_cost_interpolate(hit, 1 + in_vain, p->correlation), hit * together + in_vain);
	p->heap_pages += Max(hit, 1);
	p->heap_rows += Min(rows, Max(hit, 1) * rencoder_cost_rows_per_page(p));
	p->heap_places += Max(places, 1);
}

/* Ranges that pass a filter in vain, for each value: measured, of random ones a fifth. */
#define FALSE_RANGES	0.0005

/* So many times the ranges that have rows of an interval pass it: measured. */
#define INTERVAL_RANGES	4

/* Ranges of a block, and pages that are read of one: what says of it, and windows. */
#define BLOCK_RANGES	128
#define BLOCK_PAGES		2

void
rencoder_cost_matrices(RencoderCostPath *p)
{
	double		pages = Min(p->runs.matrix_pages, p->index->rel->pages);
	double		share = pages / Max(p->index->rel->pages, 1);
	double		ranges = ceil(pages / p->runs.pages_per_range);
	double		blocks = ceil(ranges / BLOCK_RANGES);
	double		hit = ranges;
	double		visited;

	if (pages <= 0)
		return;
	for (int col = 0; col < p->ncolumns; col++)
	{
		const RencoderCostColumn *column = &p->column[col];
		double		rows;
		double		matching;

		/* One bound is compared with those of blocks only. */
		bool		of_blocks = column->lower != column->upper;

		if (column->quals == NIL || !(column->keys || column->nulls))
			continue;
		rows = rencoder_cost_column_rows(p, col) * share *
			(column->range && !of_blocks ? INTERVAL_RANGES : 1);
		matching = rencoder_cost_interpolate(of_blocks ? ranges : ranges * (1 - exp(-rows / ranges)),
											 ceil(rows / Max(p->index->rel->tuples, 1) * ranges) +
											 (of_blocks ? BLOCK_RANGES / 2 : 0), column->correlation);
		if (column->keys && !column->all_keys)
			matching += FALSE_RANGES * column->elements * (ranges - matching);
		hit *= Min(matching / ranges, 1);
		p->run_pages += blocks * BLOCK_PAGES;
		p->run_entries += blocks * column->elements;
	}
	hit = Max(hit, 1);
	visited = Min(hit * p->runs.pages_per_range, pages);
	p->heap_pages += visited;
	p->heap_rows += visited * rencoder_cost_rows_per_page(p);
	p->heap_places += hit;
}
