/*
 * renc_run_spread.c
 *		In how many heap pages do the entries of an interval lie?
 *
 * Entries with neighbouring keys may be anywhere in the table, or in few of its pages: where the
 * table was loaded device by device, each page has one stretch of the keys.  Nothing in a run
 * tells, but its leaves do: entries repeat the more pages the fewer there are to choose from.  n
 * entries with d different pages look as if these were drawn from U pages, with
 *
 *		d = U * (1 - exp(-n / U))
 *
 * More entries are in these pages, or, if they do not fit there, fill others.
 *
 * Entries of one cell are in the order of the table.  So the first ones of a frequent value are from
 * the first pages that have it, and would seem to be drawn from these.  They tell what share of the
 * entries of a cell begin a new page, and nothing of the pages of other cells: those are taken to be
 * others, as long as there are any.
 */
#include "renc_run_spread.h"

#include <math.h>

#include "renc_sort.h"

/* So few entries at the end of a leaf tell nothing. */
#define FEW		32

/* Adds entries of a leaf that meet the interval; returns the greatest key that they may have. */
static uint64_t
look_at_leaf(renc_run_spread *spread, const renc_run *run, renc_run_read read, void *arg,
			 renc_interval interval)
{
	uint32_t	begin = spread->n;
	uint32_t	end = begin + RENC_RUN_SPREAD_ENTRIES / 2;
	uint32_t	rising = 0;		/* the last entries, of pages that do not fall */
	renc_interval_set set = {&interval, 1};
	uint64_t	last = interval.lo;
	renc_run_search search;

	renc_run_search_begin(&search, run, read, arg, &set);
	while (spread->n < end && renc_run_search_next(&search) &&
		   (search.leaves == 1 || spread->n - begin < FEW))
	{
		for (uint32_t i = 0; i < search.n && spread->n < end; i++)
		{
			if (spread->n > begin && search.page[i] < spread->page[spread->n - 1])
				rising = 0;
			rising++;
			spread->page[spread->n++] = search.page[i];
			last = renc_run_entry_hi(&search, i);
		}
	}
	spread->in_order |= rising > (spread->n - begin) / 2;
	return last;
}

void
renc_run_spread_look(renc_run_spread *spread, const renc_run *run, renc_run_read read, void *arg,
					 renc_interval interval)
{
	uint64_t	middle;
	uint64_t	last;

	spread->n = 0;
	spread->in_order = false;
	interval.lo = interval.lo > run->least ? interval.lo : run->least;
	interval.hi = interval.hi < run->greatest ? interval.hi : run->greatest;
	if (interval.lo > interval.hi)
		return;
	middle = interval.lo + (interval.hi - interval.lo) / 2;
	last = look_at_leaf(spread, run, read, arg, interval);
	if (last >= interval.hi)
		return;
	interval.lo = last < middle ? middle : last + 1;
	(void) look_at_leaf(spread, run, read, arg, interval);
}

/* Different ones of n that are drawn from "pages". */
static double
drawn(double pages, double n)
{
	return pages > 0 ? pages * -expm1(-n / pages) : 0;
}

/* From how many pages, up to "most", are n entries drawn that have so many? */
static double
spread_drawn_from(double n, double pages, double most)
{
	double		low = pages;
	double		high = most;

	if (drawn(most, n) <= pages)
		return most;
	for (int i = 0; i < 40; i++)
	{
		double		middle = (low + high) / 2;

		if (drawn(middle, n) < pages)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* The same, by the standard deviation on the side of more: repeating a few may be chance. */
static double
universe(double n, double pages, double most)
{
	double		u = spread_drawn_from(n, pages, most);
	double		none = exp(-n / u);

	pages += sqrt(fmax(u * none * (1 - (1 + n / u) * none), 0));
	return spread_drawn_from(n, fmin(pages, n), most);
}

void
renc_run_spread_estimate(renc_run_spread *spread, const renc_run *run, double entries,
						 double *pages, double *places)
{
	const uint32_t *page = spread->page;
	double		most = fmax(run->npages, 1);
	double		seen = 0;
	double		starts = 0;
	double		per_page;
	bool		in_order = true;

	*pages = *places = 0;
	if (spread->n == 0)
		return;
	for (uint32_t i = 1; i < spread->n && in_order; i++)
		in_order = page[i - 1] <= page[i];
	if (!in_order)
		RENC_SORT(uint32_t, spread->page, spread->n,);
	for (uint32_t i = 0; i < spread->n; i++)
	{
		seen += i == 0 || page[i] != page[i - 1];
		starts += i == 0 || page[i] > page[i - 1] + 1;
	}
	*pages = seen;
	if (spread->n < entries)
	{
		/* Pages without any entry count in the mean of the run. */
		per_page = fmax(run->entries / most, spread->n / seen);
		if (spread->in_order)
			*pages = entries * seen / spread->n;
		else
			*pages = fmax(drawn(universe(spread->n, seen, most), entries),
						  entries / per_page);
		*pages = fmin(fmax(seen, *pages), most);
	}
	*places = *pages * starts / seen;
}
