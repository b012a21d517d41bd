/*
 * renc_run_spread.c
 *		In how many heap pages do the entries of an interval lie?
 *
 * Entries with neighbouring keys may be anywhere in the table, or in few of its pages: where the
 * table was loaded device by device, each page has one stretch of the keys.  Nothing in a run
 * tells, but a few leaves do: some entries of each, a piece, repeat the more pages the fewer there
 * are to choose from.
 *
 * A piece of n entries with d different pages looks as if these were drawn from U pages, with
 *
 *		d = U * (1 - exp(-n / U))
 *
 * and all pieces together from V.  What pages lie between two pieces and meet neither, is told by
 * those that meet both: if these are the same, none; if there are none, as many as the entries
 * between the two fill, less the U that go on into the pieces.
 */
#include "renc_run_spread.h"

#include <math.h>

#include "renc_run_block.h"

/* Of a piece: bit i of slot->pieces. */
#define PIECE(i)		((uint8_t) (1 << (i)))

void
renc_run_spread_begin(renc_run_spread *spread)
{
	spread->npieces = 0;
	memset(spread->pieces, 0, sizeof(spread->pieces));
}

/* The slot of a page, or the empty one where it would be. */
static uint32_t
find_slot(const renc_run_spread *spread, uint32_t page)
{
	uint32_t	slot = (page * UINT32_C(2654435769)) >> (32 - RENC_RUN_SPREAD_BITS);

	while (spread->pieces[slot] != 0 && spread->page[slot] != page)
		slot = (slot + 1) % RENC_RUN_SPREAD_SLOTS;
	return slot;
}

/* The last child of an inner page with no more entries before it. */
static uint32_t
child_of_entry(const renc_run_step *step, uint64_t entry)
{
	uint32_t	low = 0;
	uint32_t	high = step->n;

	while (high - low > 1)
	{
		uint32_t	middle = low + (high - low) / 2;

		if (renc_run_child_entries(step, middle) <= entry)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Adds entries of the leaf, whose first is number "before", from the block with "from" on. */
static const char *
add_leaf(renc_run_spread *spread, const renc_run *run, const uint8_t *page,
		 const renc_interval_set *set, uint64_t before, uint64_t from, uint64_t until)
{
	uint64_t	cell[RENC_RUN_MAX_BLOCK];
	uint32_t	found_page[RENC_RUN_MAX_BLOCK];
	renc_run_found found = {cell, found_page, 0, NULL};
	renc_run_spread_piece *piece = &spread->piece[spread->npieces];
	renc_run_leaf leaf;
	size_t		next = 0;
	const char *wrong = renc_run_open_leaf(&leaf, page, run);

	for (uint32_t j = 0; wrong == NULL && j < leaf.nblocks; j++)
	{
		renc_run_block block;

		wrong = renc_run_open_block(&block, &leaf, j);
		if (wrong != NULL || before >= until)
			break;
		if (before <= from)
			piece->from = before;
		before += block.n;
		while (next < set->n && set->interval[next].hi < block.separator)
			next++;
		if (next == set->n || piece->n == RENC_RUN_SPREAD_ENTRIES)
			break;
		if (before <= from)
			continue;
		wrong = renc_run_scan_block(&block, set->interval + next, set->n - next, &found);
		for (uint32_t i = 0; wrong == NULL && i < found.n && piece->n < RENC_RUN_SPREAD_ENTRIES; i++)
		{
			uint32_t	heap_page = renc_place_page(found_page[i], leaf.parts);
			uint32_t	slot = find_slot(spread, heap_page);

			piece->n++;
			piece->pages += !(spread->pieces[slot] & PIECE(spread->npieces));
			spread->page[slot] = heap_page;
			spread->pieces[slot] |= PIECE(spread->npieces);
		}
	}
	return wrong;
}

const char *
renc_run_spread_add(renc_run_spread *spread, const renc_run *run, renc_run_read read, void *arg,
					const renc_interval_set *set, uint64_t entry, uint64_t from)
{
	uint32_t	number = run->root;
	uint64_t	before = 0;
	uint64_t	until = UINT64_MAX;
	const uint8_t *page;
	const char *wrong;

	if (spread->npieces == RENC_RUN_SPREAD_PIECES)
		return NULL;
	if (run->level < 0 || run->level > RENC_RUN_MAX_LEVEL)
		return "the level of the root is not valid";
	for (int level = run->level; level > 0; level--)
	{
		renc_run_step step;
		uint32_t	child;

		page = read(arg, number, level);
		if (page == NULL)
			return "it cannot be read";
		wrong = renc_run_open_inner(&step, page, run->payload, level);
		if (wrong != NULL)
			return wrong;
		child = child_of_entry(&step, entry);
		before = renc_run_child_entries(&step, child);
		number = renc_run_child_page(&step, child);
	}
	for (uint32_t i = 0; i < spread->npieces; i++)
	{
		const renc_run_spread_piece *piece = &spread->piece[i];

		if (piece->leaf != number)
			continue;
		if (from >= piece->from)
			return NULL;
		until = piece->from < until ? piece->from : until;
	}
	page = read(arg, number, 0);
	if (page == NULL)
		return "it cannot be read";
	memset(&spread->piece[spread->npieces], 0, sizeof(spread->piece[0]));
	spread->piece[spread->npieces].leaf = number;
	spread->piece[spread->npieces].from = from;
	wrong = add_leaf(spread, run, page, set, before, from, until);
	spread->npieces += spread->piece[spread->npieces].n > 0;
	return wrong;
}

/* Different ones of n that are drawn from "pages". */
static double
drawn(double pages, double n)
{
	return pages > 0 ? pages * -expm1(-n / pages) : 0;
}

/* From how many pages, up to "most", are n entries drawn that have so many? */
static double
drawn_from(double n, double pages, double most)
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
	double		u = drawn_from(n, pages, most);
	double		none = exp(-n / u);

	pages += sqrt(fmax(u * none * (1 - (1 + n / u) * none), 0));
	return drawn_from(n, fmin(pages, n), most);
}

/* Pages that both pieces have. */
static double
shared_pages(const renc_run_spread *spread, uint32_t a, uint32_t b)
{
	uint8_t		both = PIECE(a) | PIECE(b);
	double		n = 0;

	for (uint32_t slot = 0; slot < RENC_RUN_SPREAD_SLOTS; slot++)
		n += (spread->pieces[slot] & both) == both;
	return n;
}

/* Numbers of the pieces in the order of their entries. */
static void
sort_pieces(const renc_run_spread *spread, uint32_t *order)
{
	for (uint32_t i = 0; i < spread->npieces; i++)
	{
		uint32_t	at = i;

		for (; at > 0 && spread->piece[order[at - 1]].from > spread->piece[i].from; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

/* Pages that entries have, but none of the pieces, whose pages are taken from u[]. */
static double
pages_between(const renc_run_spread *spread, double entries, double entries_per_page,
			  const double *u)
{
	uint32_t	order[RENC_RUN_SPREAD_PIECES];
	double		distance = entries / fmax(spread->npieces - 1.0, 1) / entries_per_page;
	double		sum = 0;

	if (spread->npieces == 1)
		return fmax(distance - u[0], 0);
	sort_pieces(spread, order);
	for (uint32_t i = 1; i < spread->npieces; i++)
	{
		uint32_t	a = order[i - 1];
		uint32_t	b = order[i];
		double		expected = (double) spread->piece[a].pages * spread->piece[b].pages /
			fmax(u[a], u[b]);
		double		shared = fmin(shared_pages(spread, a, b) / expected, 1);

		sum += (1 - shared) * fmax(distance - (u[a] + u[b]) / 2, 0);
	}
	return sum;
}

void
renc_run_spread_estimate(const renc_run_spread *spread, const renc_run *run, double entries,
						 double *pages, double *places)
{
	double		u[RENC_RUN_SPREAD_PIECES];
	double		most = fmax(run->npages, 1);
	double		entries_per_page;
	double		seen = 0;
	double		in_pieces = 0;	/* pages of each, added up */
	double		n = 0;
	double		starts = 0;
	double		share;

	*pages = *places = 0;
	for (uint32_t slot = 0; slot < RENC_RUN_SPREAD_SLOTS; slot++)
	{
		if (spread->pieces[slot] == 0)
			continue;
		seen++;
		starts += spread->pieces[find_slot(spread, spread->page[slot] - 1)] == 0;
	}
	if (seen == 0)
		return;
	for (uint32_t i = 0; i < spread->npieces; i++)
	{
		const renc_run_spread_piece *piece = &spread->piece[i];

		n += piece->n;
		u[i] = universe(piece->n, piece->pages, most);
		in_pieces += piece->pages;
	}

	/*
	 * More than on average where few pages have any, or cells are narrow: the
	 * pieces tell, as far as they go.
	 */
	share = fmin(fmax(n / entries, 1.0 / 3), 1);
	entries_per_page = pow(run->entries / most, 1 - share) * pow(n / in_pieces, share);
	entries_per_page = fmax(entries_per_page, run->entries / most);
	*pages = seen;
	if (n < entries)
	{
		double		known = universe(n, seen, most) +
			pages_between(spread, entries, entries_per_page, u);

		known = fmax(drawn(fmin(known, most), entries), fmin(entries / entries_per_page, most));
		*pages = fmax(seen, known);
	}
	*places = *pages * starts / seen;
}
