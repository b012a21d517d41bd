/*
 * cost_nulls.c
 *		What IS NULL, IS NOT NULL, and a partial index used for its predicate alone read of covered
 *		pages.
 *
 * A run counts nulls, and the parts of pages that have some.  The more of them share a part, the more
 * of the rows are null in the pages that have any: so these pages can be told, and those in which all
 * rows are null, whether nulls are anywhere or in some stretch of the table.
 */
#include "cost/cost_path.h"

#include <math.h>

#include "scan/run_scan.h"

/* Neighbours among pages that are in order. */
#define PAGES_TOGETHER	32

/* Pages that have nulls, and the share of the rows of these that are. */
typedef struct NullPages
{
	double		pages;
	double		share;
	double		checked;		/* rows for each entry that names some */
} NullPages;

/* Of so many rows in a part the share that is null, where parts with any have "nulls" on average. */
static double
share_of_nulls_in_parts(double nulls, double part)
{
	double		low = 0;
	double		high = 1;

	for (int i = 0; i < 30 && nulls < 0.995 * part; i++)
	{
		double		share = (low + high) / 2;

		if (part * share < nulls * (1 - pow(1 - share, part)))
			low = share;
		else
			high = share;
	}
	return high;
}

/* Among "pages" covered ones, which may be fewer than the runs were made of. */
static NullPages
find_null_pages(const RencoderCostPath *p, const RencoderCostRunColumn *run, double pages)
{
	double		per_page = Max(rencoder_cost_rows_per_page(p), 1);
	double		part = per_page / ceil(per_page / Max(run->null_part, 1));
	NullPages	result = {0};

	if (run->null_entries > 0)
	{
		double		nulls = run->null_rows / run->null_entries;

		/* Of more nulls than a part has rows, most entries name pages. */
		result.checked = nulls > part ? per_page : part;
		result.share = Max(share_of_nulls_in_parts(nulls, result.checked),
						   Min(run->null_rows / (per_page * pages), 1));
		result.pages = Min(run->null_rows / (per_page * result.share), pages);
	}
	return result;
}

/* Pages of which a share lies together, and rows to be checked there, at most. */
static RencoderCostNullsRate
make_nulls_rate(const RencoderCostPath *p, double pages, double together, double rows)
{
	RencoderCostNullsRate rate;

	rate.pages = pages;
	rate.places = pages * (1 - together + together / PAGES_TOGETHER);
	rate.rows = Min(rows, pages * rencoder_cost_rows_per_page(p));
	return rate;
}

static RencoderCostNullsRate
estimate_nulls(RencoderCostPath *p, int col, double pages)
{
	const RencoderCostRunColumn *run = &p->runs.column[col];
	double		per_page = rencoder_cost_rows_per_page(p);
	NullPages	nulls = find_null_pages(p, run, pages);
	double		hit = 1 - pow(1 - nulls.share, per_page);

	p->run_entries += run->null_entries;
	p->run_pages += rencoder_cost_runs_leaves_of_all(&p->runs, run->null_leaves);
	return make_nulls_rate(p, Min(nulls.pages * hit, run->null_entries), hit,
						   run->null_entries * nulls.checked);
}

static RencoderCostNullsRate
estimate_values_not_null(RencoderCostPath *p, int col, double pages)
{
	const RencoderCostRunColumn *run = &p->runs.column[col];
	double		per_page = rencoder_cost_rows_per_page(p);
	NullPages	nulls = find_null_pages(p, run, pages);
	double		hit = pages * (1 - exp(-run->entries / pages));

	/* Of few values it is not known whether they lie together. */
	if (run->entries > RENCODER_MANY_VALUES * pages)
		hit = Min(hit, pages - nulls.pages * pow(nulls.share, per_page));
	if (rencoder_run_scan_many_values(run->entries, run->null_rows, p->index->rel->pages))
		return make_nulls_rate(p, pages, 1, pages * per_page);
	p->run_entries += run->entries;
	p->run_pages += rencoder_cost_runs_leaves_of_all(&p->runs, run->leaves);
	return make_nulls_rate(p, hit, hit / pages,
						   rencoder_cost_runs_checked_rows(run, run->entries, per_page));
}

RencoderCostNullsRate
rencoder_cost_nulls_column(RencoderCostPath *p, int col, double pages)
{
	return p->query->column[col].wants_null ? estimate_nulls(p, col, pages) :
		estimate_values_not_null(p, col, pages);
}

RencoderCostNullsRate
rencoder_cost_nulls_all(RencoderCostPath *p, double pages)
{
	RencoderCostNullsRate rate = estimate_values_not_null(p, 0, pages);
	RencoderCostNullsRate nulls = estimate_nulls(p, 0, pages);

	rate.pages = Min(rate.pages + nulls.pages, pages);
	rate.places = Min(rate.places + nulls.places, rate.pages);
	rate.rows += nulls.rows;
	return rate;
}
