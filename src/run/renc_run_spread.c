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
#include <string.h>

/* So few entries at the end of a leaf tell nothing. */
#define FEW		32

/* Pages that were seen, by numbers and one: twice as much room as is needed, 2^bits. */
typedef struct seen_table
{
	int			bits;
	uint32_t	page[2 * RENC_RUN_SPREAD_ENTRIES];
} seen_table;

/*
 * Adds entries of a leaf that meet the interval; returns the greatest key that they may have,
 * UINT64_MAX if these are all.
 */
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
	while (spread->n < end)
	{
		if (!renc_run_search_next(&search))
		{
			last = search.failure == NULL ? UINT64_MAX : last;
			break;
		}
		if (search.leaves > 1 && spread->n - begin >= FEW)
			break;
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
	spread->all = true;
	interval.lo = interval.lo > run->least ? interval.lo : run->least;
	interval.hi = interval.hi < run->greatest ? interval.hi : run->greatest;
	if (interval.lo > interval.hi)
		return;
	middle = interval.lo + (interval.hi - interval.lo) / 2;
	last = look_at_leaf(spread, run, read, arg, interval);
	spread->all = last == UINT64_MAX;
	if (last >= interval.hi)
		return;
	interval.lo = last < middle ? middle : last + 1;
	(void) look_at_leaf(spread, run, read, arg, interval);
}

/* Where a page stands in the table; or is to stand, where 0 is. */
static inline uint32_t *
find_seen(seen_table *table, uint32_t page)
{
	const uint32_t mask = (UINT32_C(1) << table->bits) - 1;
	uint32_t	at = page * UINT32_C(0x9e3779b1) >> (32 - table->bits);

	while (table->page[at] != 0 && table->page[at] != page + 1)
		at = (at + 1) & mask;
	return &table->page[at];
}

/* Different pages, and in how many places they are, one after the other in each. */
static void
count_seen(const renc_run_spread *spread, double *seen, double *starts)
{
	seen_table	table;

	for (table.bits = 1; UINT32_C(1) << table.bits < 2 * spread->n;)
		table.bits++;
	memset(table.page, 0, sizeof(table.page[0]) << table.bits);
	*seen = *starts = 0;
	for (uint32_t i = 0; i < spread->n; i++)
	{
		uint32_t	page = spread->page[i];
		uint32_t   *at = find_seen(&table, page);

		if (*at != 0)
			continue;
		*at = page + 1;
		*seen += 1;
		*starts += 1 - (page > 0 && *find_seen(&table, page - 1) != 0) -
			(*find_seen(&table, page + 1) != 0);
	}
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
	while (high - low > 1e-3 * low)
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
	double		most = fmax(run->npages, 1);
	double		seen;
	double		starts;
	double		per_page;

	*pages = *places = 0;
	if (spread->n == 0)
		return;
	count_seen(spread, &seen, &starts);
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
