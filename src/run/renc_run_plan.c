/*
 * renc_run_plan.c
 *		How pairs are divided into blocks, and the width of each block's cells.
 *
 * One width for all cells of a leaf, or of 256 entries, costs 30 to 200 times the
 * false pages where keys crowd together on several scales.  So a piece is halved where
 * its keys are farthest apart, again and again, while that pays for one more header.
 */
#include "renc_run_plan.h"

#include <math.h>

#include "renc_run_block.h"

#define MIN_DIVIDED		48		/* pairs; a header costs 64 bits */
#define BLOCK_BITS		64
#define WINDOW_BITS		(8 * BLOCK_WINDOW)

/* Rice codes of evenly spread numbers need so many bits above their entropy's log2. */
#define RICE_BITS		1.47

/*
 * Evenly spread keys pay up to 2 bits each for false pages.  Those that pay more crowd
 * together, and climbing the first hill may not have been enough.
 */
#define STUCK			3.0

/* Bits that two halves may cost more than the whole to be worth looking into. */
#define PROMISING		32

/* What a width costs. */
typedef struct width_cost
{
	int			width;
	double		total;
	double		bits;
	double		keys;
	double		false_pages;
	double		own;
	double		gaps;
	double		absent;
} width_cost;

/* The cell being looked at, and sums over those before it. */
typedef struct tally
{
	uint64_t	own;			/* false pages of queries for the keys */
	double		between;		/* of points between two keys */
	double		absent;			/* of all values between the first and the
								 * last key that are none */
	double		saved;			/* bits, by coding pages in order */
	uint32_t	ordered;		/* those pages */
	uint32_t	counts;			/* bits for the numbers of pages of cells */
	uint32_t	keys;
	uint32_t	gaps;			/* between keys, that hold a point */
	uint32_t	entries;
	uint32_t	cell_keys;
	uint32_t	cell_pairs;
	uint32_t	cell_pages;
	uint64_t	cell_values;	/* from the first to the last key that lie in
								 * it */
	double		cell_gaps;		/* in the cell; parts of those at its ends */
	uint32_t	distance[64];	/* to the cell before, by its highest bit */
} width_tally;

/* By coding m pages of a cell in order, rather than each for itself. */
static double
bits_saved(uint32_t m)
{
	return fmax(m * (log2(m) - RICE_BITS), 0);
}

void
renc_run_plan_init(renc_run_planner *planner, const renc_run_options *options)
{
	memset(planner, 0, sizeof(*planner));
	planner->npages = options->npages;
	planner->exact = options->target == RENC_RUN_EXACT;
	planner->one_coding = options->one_coding;
	planner->spread = 1;
	for (uint32_t m = 3; m < PLAN_SAVED; m++)
		planner->saved[m] = bits_saved(m);
}

void
renc_run_plan_window(const renc_run_pair *pair, uint32_t n, uint32_t *first, uint32_t *npages)
{
	uint32_t	least = pair[0].page;
	uint32_t	most = pair[0].page;

	for (uint32_t i = 1; i < n; i++)
	{
		least = pair[i].page < least ? pair[i].page : least;
		most = pair[i].page > most ? pair[i].page : most;
	}
	*first = least;
	*npages = most - least + 1;
}

uint32_t
renc_run_plan_cut(const renc_run_pair *pair, uint32_t lo, uint32_t hi)
{
	uint32_t	best = hi;
	uint64_t	most = 0;

	for (uint32_t i = hi; i > lo; i--)
	{
		uint64_t	differ = pair[i - 1].key ^ pair[i].key;

		/* Has it a higher bit? */
		if (differ > most && (differ & ~most) > most)
		{
			most = differ;
			best = i;
		}
	}
	return best;
}

/* Is this the first time that the cell has the page?  Now and then says yes again. */
static inline bool
first_seen(renc_run_planner *planner, uint32_t page)
{
	uint32_t	i = page % PLAN_SEEN;

	if (planner->seen_cell[i] == planner->cells && planner->seen_page[i] == page)
		return false;
	planner->seen_cell[i] = planner->cells;
	planner->seen_page[i] = page;
	return true;
}

static inline void
begin_cell(renc_run_planner *planner, width_tally *t, uint32_t page, uint64_t values, double share)
{
	t->cell_keys = 1;
	t->cell_pairs = 1;
	t->cell_pages = 1;
	t->cell_values = values;
	t->cell_gaps = share;
	if (planner->windows)
	{
		planner->cells++;
		(void) first_seen(planner, page);
	}
}

static inline void
end_cell(const renc_run_planner *planner, width_tally *t)
{
	t->own += (uint64_t) t->cell_keys * t->cell_pages - t->cell_pairs;
	t->between += t->cell_pages * t->cell_gaps;
	t->absent += t->cell_pages * (double) (int64_t) (t->cell_values - t->cell_keys);
	t->keys += t->cell_keys;
	t->entries += t->cell_pages;
	t->counts += 2 * renc_run_log2(t->cell_pages) + 1;
	if (t->cell_pages < 3)
		return;
	t->ordered += t->cell_pages;
	t->saved += t->cell_pages < PLAN_SAVED ? planner->saved[t->cell_pages] : bits_saved(t->cell_pages);
}

static void
tally_cells(renc_run_planner *planner, const renc_run_pair *pair, uint32_t n, int width, width_tally *t)
{
	const uint64_t mask = (UINT64_C(1) << width) - 1;
	uint64_t	last = pair[0].key;

	begin_cell(planner, t, pair[0].page, (~last & mask) + 1, 0);
	for (uint32_t i = 1; i < n; i++)
	{
		uint64_t	key = pair[i].key;
		uint32_t	gap = pair[i].share > 0;

		t->gaps += gap;
		if ((key ^ last) <= mask)
		{
			t->cell_keys += key != last;
			t->cell_gaps += gap;
			t->cell_pairs++;
			t->cell_pages += !planner->windows || first_seen(planner, pair[i].page);
		}
		else
		{
			t->cell_gaps += (double) (int64_t) (~last & mask) * pair[i].share;
			end_cell(planner, t);
			begin_cell(planner, t, pair[i].page, mask + 1, (double) (int64_t) (key & mask) * pair[i].share);
			t->distance[renc_run_log2((key >> width) - (last >> width))]++;
		}
		last = key;
	}
	t->cell_values -= ~last & mask;
	end_cell(planner, t);
}

static double
rice_cost(double entries, double composites)
{
	double		mean = composites / entries;

	if (composites >= ldexp(1, 62))
		return INFINITY;
	if (mean <= 2)
		return entries * fmax(mean, 1);
	return entries * (log2(mean) + RICE_BITS);
}

static double
gaps_cost(const width_tally *t, uint32_t npages)
{
	int			k = renc_run_gap_parameter(t->distance);
	double		bits = t->counts + (double) (t->entries - t->ordered) * renc_run_page_bits(npages);

	bits += t->ordered * log2(npages) - t->saved;
	for (int high = 0; high < 64; high++)
		if (t->distance[high] > 0)
			bits += (double) t->distance[high] * (high > k ? 2 * high - k + 1 : k + 1);
	return bits;
}

static width_cost
cost_width(renc_run_planner *planner, const renc_run_pair *pair, uint32_t n, uint32_t npages, int width)
{
	width_tally t = {0};
	width_cost	cost;
	double		cells = (double) ((pair[n - 1].key >> width) - (pair[0].key >> width)) + 1;

	tally_cells(planner, pair, n, width, &t);
	cost.width = width;
	cost.keys = t.keys;
	cost.own = (double) t.own;
	cost.gaps = t.gaps;
	cost.absent = t.gaps > 0 ? t.absent / (double) (pair[n - 1].key - pair[0].key - (t.keys - 1)) * t.gaps : 0;
	cost.false_pages = t.gaps > 0 ? 0.5 * (cost.own + t.between * t.keys / t.gaps) : cost.own;
	cost.bits = rice_cost(t.entries, cells * npages);
	if (!planner->one_coding || cost.bits == INFINITY)
		cost.bits = fmin(cost.bits, gaps_cost(&t, npages));
	cost.bits += BLOCK_BITS + (planner->windows ? WINDOW_BITS : 0);
	cost.total = cost.bits + planner->price * cost.false_pages;
	return cost;
}

/* Wider as long as that is better, else narrower. */
static width_cost
try_widths(renc_run_planner *planner, const renc_run_pair *pair, uint32_t n, uint32_t npages, width_cost best)
{
	bool		wider = false;

	while (best.width < MAX_WIDTH)
	{
		width_cost	next = cost_width(planner, pair, n, npages, best.width + 1);

		if (next.total >= best.total)
			break;
		best = next;
		wider = true;
	}
	while (!wider && best.width > 0)
	{
		width_cost	next = cost_width(planner, pair, n, npages, best.width - 1);

		if (next.total > best.total)
			break;
		best = next;
	}
	return best;
}

static bool
is_stuck(const renc_run_planner *planner, const width_cost *cost)
{
	return planner->price * cost->false_pages > STUCK * cost->keys;
}

/* The best width of one block. */
static width_cost
choose_width(renc_run_planner *planner, const renc_run_pair *pair, uint32_t n)
{
	uint64_t	span = pair[n - 1].key - pair[0].key;
	uint32_t	first = 0;
	uint32_t	npages = planner->npages;
	double		start;
	width_cost	best;

	if (planner->windows)
		renc_run_plan_window(pair, n, &first, &npages);
	if (span == 0 || planner->exact)
		return cost_width(planner, pair, n, npages, 0);
	start = log2((double) span / (n * planner->spread));
	best = cost_width(planner, pair, n, npages, start < 0 ? 0 : start > MAX_WIDTH ? MAX_WIDTH : (int) start);
	best = try_widths(planner, pair, n, npages, best);

	/* Keys of several scales have several hills. */
	if (is_stuck(planner, &best))
	{
		int			stuck = best.width;
		width_cost	other = best;

		for (int width = stuck - 24; width <= stuck + 9; width += 3)
			if (width >= 0 && width <= MAX_WIDTH && width != stuck)
			{
				width_cost	next = cost_width(planner, pair, n, npages, width);

				if (next.total < other.total)
					other = next;
			}
		if (other.width != stuck)
			best = try_widths(planner, pair, n, npages, other);
	}
	planner->spread = fmax(((double) span / n) / ldexp(1, best.width), 1e-4);
	return best;
}

/* Returns the cost of the pieces appended; "whole": n pairs as one. */
static double
divide(renc_run_planner *planner, const renc_run_pair *pair, uint32_t n, const width_cost *whole,
	   int depth, renc_run_piece *piece, uint32_t *npieces)
{
	uint32_t	start = *npieces;

	if (n >= MIN_DIVIDED && depth < PLAN_DEPTH)
	{
		uint32_t	cut = renc_run_plan_cut(pair, n / 4, n - n / 4);
		double		spread = planner->spread;
		width_cost	left = choose_width(planner, pair, cut);
		width_cost	right = choose_width(planner, pair + cut, n - cut);

		if (is_stuck(planner, whole) || left.total + right.total < whole->total + PROMISING)
		{
			double		cost = divide(planner, pair, cut, &left, depth + 1, piece, npieces);

			cost += divide(planner, pair + cut, n - cut, &right, depth + 1, piece, npieces);
			if (cost < whole->total)
				return cost;
		}
		*npieces = start;
		planner->spread = spread;
	}
	piece[start].n = n;
	piece[start].width = whole->width;
	piece[start].bits = whole->bits;
	piece[start].keys = whole->keys;
	piece[start].false_pages = whole->false_pages;
	piece[start].own = whole->own;
	piece[start].gaps = whole->gaps;
	piece[start].absent = whole->absent;
	*npieces = start + 1;
	return whole->total;
}

uint32_t
renc_run_plan(renc_run_planner *planner, const renc_run_pair *pair, uint32_t n, renc_run_piece *piece)
{
	width_cost	whole = choose_width(planner, pair, n);
	uint32_t	npieces = 0;

	(void) divide(planner, pair, n, &whole, 0, piece, &npieces);
	return npieces;
}
