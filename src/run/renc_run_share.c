/*
 * renc_run_share.c
 *		How many rows the entries of a leaf stand for.
 *
 * A leaf says how many rows all of its entries have together, not which.  An entry has one at
 * least.  How the others are shared out is told by the pages that lists of entries name: rows
 * that are scattered over "span" pages meet a share of 1 - exp(-rows / span) of them, so a
 * list of n has -span * ln(1 - n / span) rows.  Where the leaf has fewer, lists have less in
 * proportion.  Where it has more, values fill pages.  If there are lists that leave out next to
 * no page, their values do, and they get nearly all of it.  Else values lie in a few pages each
 * and all lists are much alike; where keys go with the pages, a page that several cells of a block
 * name has no more rows for that.
 */
#include "renc_run_block.h"

#include <math.h>

/* An entry of a list that has so many rows more, if they are scattered, counts twice. */
#define MANY_MORE	3.0

/* Rows that an entry of the list has, less one, if they are scattered. */
static double
more_rows(const uint32_t *page, uint32_t n)
{
	double		part = (n - 1) / ((double) page[n - 1] - page[0] + 1);

	/* Pages of a cell are in order unless the run is damaged. */
	return part > 0 && part < 1 ? -log1p(-part) / part - 1 : 0;
}

double
renc_run_share_fresh(const uint32_t *page, uint32_t n)
{
	uint32_t	fresh = 1;

	for (uint32_t i = 1; i < n; i++)
		fresh += page[i] != page[i - 1];
	return (double) fresh / n;
}

void
renc_run_share_add(renc_run_share *sum, const uint32_t *page, uint32_t n, double fresh)
{
	double		more = more_rows(page, n);

	sum->entries += n;
	sum->scattered += n * more;
	sum->crowded += n * fresh * (1 + pow(more / MANY_MORE, 16));
}

const char *
renc_run_share_leaf(renc_run_share *sum, const renc_run_leaf *leaf, uint32_t first, uint32_t end)
{
	uint64_t	cell[RENC_RUN_MAX_BLOCK];
	uint32_t	page[RENC_RUN_MAX_BLOCK];

	for (uint32_t j = first; j < end; j++)
	{
		renc_run_found found = {cell, page, 0, NULL};
		renc_run_block block;
		double		fresh;
		const char *wrong = renc_run_open_block(&block, leaf, j);

		if (wrong == NULL)
			wrong = renc_run_read_block(&block, &found);
		if (wrong != NULL)
			return wrong;
		fresh = renc_run_share_fresh(page, found.n);
		for (uint32_t i = 0, last; i < found.n; i = last)
		{
			for (last = i + 1; last < found.n && cell[last] == cell[i];)
				last++;
			renc_run_share_add(sum, page + i, last - i, fresh);
		}
	}
	return NULL;
}

double
renc_run_share_rows(const renc_run_share *part, const renc_run_share *leaf, double rows)
{
	double		more = rows - leaf->entries;

	if (leaf->entries <= 0)
		return 0;
	if (more <= 0)
		return rows * part->entries / leaf->entries;
	if (more <= leaf->scattered)
		return part->entries + more * part->scattered / leaf->scattered;
	return part->entries + part->scattered +
		(more - leaf->scattered) * part->crowded / leaf->crowded;
}
