/*
 * cost_nulls.c
 *		What IS NULL, IS NOT NULL, and a partial index used for its predicate alone read of covered
 *		ranges.
 *
 * The runs know how many nulls have places, and how many values there are.  Nulls that have none
 * fill their ranges, and so do values that are too many to be looked at one by one: of these, flags
 * of a sample of the ranges tell, or the statistics.
 */
#include "query/cost_path.h"

#include <math.h>

#include "query/run_scan.h"

/* "entries" have places; besides, a share of the ranges is read whole. */
static RencoderCostNullsRate
add_flagged_nulls(const RencoderCostPath *p, const RencoderCostRunColumn *run, double pages,
				  double entries, double flagged)
{
	double		by_flags = Min(flagged, 1) * pages;
	double		others = pages - by_flags;
	double		by_place = others > 0 ? others * (1 - exp(-entries / others)) : 0;
	double		per_page = rencoder_cost_rows_per_page(p);
	RencoderCostNullsRate rate;

	rate.pages = by_flags + by_place;
	rate.places = by_flags / p->info.pages_per_range + by_place;
	rate.rows = by_flags * per_page + Min(rencoder_cost_runs_checked_rows(run, entries, per_page),
										  by_place * per_page);
	return rate;
}

static RencoderCostNullsRate
estimate_nulls(RencoderCostPath *p, int col, double pages, double rows)
{
	const RencoderCostRunColumn *run = &p->runs.column[col];
	const RencoderCostNulls *nulls = &p->column[col].found_nulls;
	double		without_place = Max(rows - run->null_rows, 0);
	double		flagged = without_place / Max(rencoder_cost_rows_per_page(p) * pages, 1);

	if (nulls->covered_hits > 0 || (nulls->covered > 0 && nulls->all))
		flagged = nulls->covered_hits / Min(nulls->covered, p->info.covered);
	else if (nulls->covered > 0)
		flagged = Min(flagged, 1 / nulls->covered);
	p->run_entries += run->null_entries;
	p->run_pages += rencoder_cost_runs_leaves_of_all(&p->runs, run->null_leaves);
	return add_flagged_nulls(p, run, pages, run->null_entries, flagged);
}

static RencoderCostNullsRate
estimate_values_not_null(RencoderCostPath *p, int col, double pages, double rows)
{
	const RencoderCostRunColumn *run = &p->runs.column[col];
	const RencoderCostNulls *nulls = &p->column[col].found_nulls;
	double		flagged = rows * p->info.pages_per_range / Max(pages, 1);

	if (!rencoder_run_scan_many_values(run->entries, p->index->rel->pages))
	{
		p->run_entries += run->entries;
		p->run_pages += rencoder_cost_runs_leaves_of_all(&p->runs, run->leaves);
		return add_flagged_nulls(p, run, pages, run->entries, 0);
	}
	if (nulls->covered > 0)
		flagged = nulls->covered_hits / Min(nulls->covered, p->info.covered);
	return add_flagged_nulls(p, run, pages, 0, flagged);
}

RencoderCostNullsRate
rencoder_cost_nulls_column(RencoderCostPath *p, int col, double pages, double rows)
{
	return p->query->column[col].wants_null ? estimate_nulls(p, col, pages, rows) :
		estimate_values_not_null(p, col, pages, rows);
}

RencoderCostNullsRate
rencoder_cost_nulls_all(RencoderCostPath *p, double pages, double share)
{
	double		rows = rencoder_cost_rows(p, NIL) * share;
	const RencoderCostRunColumn *run = &p->runs.column[0];
	RencoderCostNullsRate rate;
	RencoderCostNullsRate nulls;

	rate = estimate_values_not_null(p, 0, pages, Max(rows - run->null_rows, 0));
	nulls = estimate_nulls(p, 0, pages, Max(rows - run->rows, run->null_rows));
	rate.pages = Min(rate.pages + nulls.pages, pages);
	rate.places = Min(rate.places + nulls.places, rate.pages);
	rate.rows += nulls.rows;
	return rate;
}
