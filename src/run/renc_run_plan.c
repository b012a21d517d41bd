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
#define PAGE_SPAN_BITS	(8 * BLOCK_PAGE_SPAN)

/* Slots for the pages of the first block of a leaf. */
#define SEEN_PAGES		2048

/*
 * Evenly spread keys pay up to 2 bits each for false pages.  Those that pay more crowd
 * together, and climbing the first hill may not have been enough.
 */
#define STUCK			3.0

/* So far from each other are the widths from which other hills are climbed. */
#define HILL_STEP		5

/* Bits that two halves may cost more than the whole to be worth looking into. */
#define PROMISING		32

void
renc_run_plan_init(renc_run_planner *planner, const renc_run_options *options)
{
	memset(planner, 0, sizeof(*planner));
	planner->npages = options->npages;
	planner->exact = options->target >= RENC_RUN_EXACT;
	planner->spread = 1;
	renc_run_tally_init(&planner->tallier);
}

void
renc_run_plan_page_span(const renc_run_pair *pair, uint32_t n, uint32_t *first, uint32_t *npages)
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

void
renc_run_plan_name(renc_run_pair *pair, uint32_t place, uint32_t parts, uint32_t grain)
{
	uint32_t	part = renc_place_part(place, parts);

	pair->page = renc_place_page(place, parts) * renc_place_names(parts, grain) + part / grain;
	pair->part = (uint16_t) (part % grain);
}

uint32_t
renc_run_plan_place(const renc_run_pair *pair, uint32_t parts, uint32_t grain)
{
	uint32_t	names = renc_place_names(parts, grain);

	return renc_place_page(pair->page, names) * parts + renc_place_part(pair->page, names) * grain +
		pair->part;
}

renc_run_named
renc_run_plan_count_named(const renc_run_pair *pair, uint32_t n, uint32_t names)
{
	uint32_t	seen[SEEN_PAGES] = {0};
	renc_run_named named = {0, 0, 0, 0};

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	page = renc_place_page(pair[i].page, names);
		uint32_t	slot = page % SEEN_PAGES;

		named.rows += pair[i].rows;
		named.keys += i == 0 || pair[i].key != pair[i - 1].key;
		named.turns += i == 0 || pair[i].page != pair[i - 1].page;
		named.pages += seen[slot] != page + 1;
		seen[slot] = page + 1;
	}
	return named;
}

uint32_t
renc_run_plan_find_split(const renc_run_pair *pair, uint32_t lo, uint32_t hi)
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

/* ---- The cost of a width ---- */

static double
run_plan_rice_cost(double entries, double composites)
{
	double		mean = composites / entries;

	if (composites >= ldexp(1, 62))
		return INFINITY;
	if (mean <= 2)
		return entries * fmax(mean, 1);
	return entries * (log2(mean) + RICE_BITS);
}

static double
run_plan_gaps_cost(const renc_run_tally *t, const renc_run_part *part)
{
	int			k = renc_run_best_gap_parameter(t->distance, t->distances);
	uint32_t	left = t->distances;
	double		bits = t->counts + (double) (t->entries - t->ordered) * renc_run_page_bits(part->npages);

	bits += t->ordered * part->page_bits - t->saved;
	for (int high = 0; left > 0; left -= t->distance[high++])
		if (t->distance[high] > 0)
			bits += (double) t->distance[high] * (high > k ? 2 * high - k + 1 : k + 1);
	return bits;
}

/* What a width costs a part. */
static const renc_run_cost *
run_plan_width_cost(renc_run_planner *planner, renc_run_part *part, int width)
{
	renc_run_cost *cost = &part->cost[width];
	uint64_t	first = planner->pair[part->first].key;
	uint64_t	last = planner->pair[part->end - 1].key;
	double		cells = (double) ((last >> width) - (first >> width)) + 1;
	renc_run_tally t;

	if (part->known >> width & 1)
		return cost;
	renc_run_tally_part(&planner->tallier, part->first, part->end, width, &t);
	cost->width = width;
	cost->own = (double) t.own;
	cost->absent = part->gaps > 0 ?
		t.absent / (double) (last - first - (part->keys - 1)) * part->gaps : 0;
	cost->false_pages = part->gaps > 0 ?
		0.5 * (cost->own + t.between * part->keys / part->gaps) : cost->own;
	cost->bits = fmin(run_plan_rice_cost(t.entries, cells * part->npages),
					  run_plan_gaps_cost(&t, part));
	cost->bits += BLOCK_BITS + (planner->page_spans ? PAGE_SPAN_BITS : 0);
	cost->total = cost->bits + planner->price * cost->false_pages;
	part->known |= UINT64_C(1) << width;
	return cost;
}

/* ---- Choice ---- */

static void
begin_run_plan_part(const renc_run_planner *planner, renc_run_part *part, uint32_t first,
					uint32_t end, int depth)
{
	uint32_t	begun = renc_run_tally_begun(&planner->tallier, first, end);
	uint32_t	first_page;

	part->first = first;
	part->end = end;
	part->depth = depth;
	part->npages = planner->npages;
	if (planner->page_spans)
		renc_run_plan_page_span(planner->pair + first, end - first, &first_page, &part->npages);
	part->page_bits = log2(part->npages);
	part->keys = (begun & UINT16_MAX) + 1;
	part->gaps = begun >> 16;
	part->known = 0;
}

/* Wider as long as that is better, else narrower. */
static const renc_run_cost *
try_run_plan_widths(renc_run_planner *planner, renc_run_part *part, const renc_run_cost *best)
{
	bool		wider = false;

	while (best->width < MAX_WIDTH)
	{
		const renc_run_cost *next = run_plan_width_cost(planner, part, best->width + 1);

		if (next->total >= best->total)
			break;
		best = next;
		wider = true;
	}
	while (!wider && best->width > 0)
	{
		const renc_run_cost *next = run_plan_width_cost(planner, part, best->width - 1);

		if (next->total > best->total)
			break;
		best = next;
	}
	return best;
}

static bool
plan_is_stuck(const renc_run_planner *planner, const renc_run_part *part, const renc_run_cost *cost)
{
	return planner->price * cost->false_pages > STUCK * part->keys;
}

static bool
may_divide_run_plan(const renc_run_part *part)
{
	return part->end - part->first >= MIN_DIVIDED && part->depth < PLAN_DEPTH;
}

/* The best width of one block; of one that may be divided, that of the first hill. */
static const renc_run_cost *
choose_run_plan_width(renc_run_planner *planner, renc_run_part *part)
{
	uint32_t	n = part->end - part->first;
	uint64_t	span = planner->pair[part->end - 1].key - planner->pair[part->first].key;
	double		start;
	const renc_run_cost *best;

	if (span == 0 || planner->exact)
		return run_plan_width_cost(planner, part, 0);
	start = log2((double) span / (n * planner->spread));
	best = run_plan_width_cost(planner, part, start < 0 ? 0 : start > MAX_WIDTH ? MAX_WIDTH :
							   (int) start);
	best = try_run_plan_widths(planner, part, best);

	/*
	 * Keys of several scales have several hills, all of which are tried of
	 * parts that stay whole.
	 */
	if (plan_is_stuck(planner, part, best) && !may_divide_run_plan(part))
	{
		int			stuck = best->width;
		const renc_run_cost *other = best;

		for (int width = stuck - 24; width <= stuck + 9; width += HILL_STEP)
			if (width >= 0 && width <= MAX_WIDTH && width != stuck)
			{
				const renc_run_cost *next = run_plan_width_cost(planner, part, width);

				if (next->total < other->total)
					other = next;
			}
		if (other->width != stuck)
			best = try_run_plan_widths(planner, part, other);
	}
	planner->spread = fmax(((double) span / n) / ldexp(1, best->width), 1e-4);
	return best;
}

/* Returns the cheaper one of a part's cost and what it would be with another width. */
static const renc_run_cost *
try_other_run_plan_width(renc_run_planner *planner, renc_run_part *part,
						 const renc_run_cost *best, int width)
{
	const renc_run_cost *other = run_plan_width_cost(planner, part, width);

	return other->total < best->total ? other : best;
}

/* Returns the cost of the pieces appended; "whole": the part as one. */
static double
divide_run_plan(renc_run_planner *planner, renc_run_part *part, const renc_run_cost *whole,
				renc_run_piece *piece, uint32_t *npieces)
{
	uint32_t	start = *npieces;
	uint32_t	n = part->end - part->first;

	if (may_divide_run_plan(part))
	{
		renc_run_part *half = planner->half[part->depth];
		uint32_t	split = renc_run_plan_find_split(planner->pair, part->first + n / 4, part->end - n / 4);
		double		spread = planner->spread;
		bool		stuck = plan_is_stuck(planner, part, whole);
		const renc_run_cost *left;
		const renc_run_cost *right;

		begin_run_plan_part(planner, &half[0], part->first, split, part->depth + 1);
		begin_run_plan_part(planner, &half[1], split, part->end, part->depth + 1);
		left = choose_run_plan_width(planner, &half[0]);
		right = choose_run_plan_width(planner, &half[1]);
		if (stuck || left->total + right->total < whole->total + PROMISING)
		{
			double		cost = divide_run_plan(planner, &half[0], left, piece, npieces);

			cost += divide_run_plan(planner, &half[1], right, piece, npieces);
			if (stuck)
			{
				whole = try_other_run_plan_width(planner, part, whole, piece[start].width);
				whole = try_other_run_plan_width(planner, part, whole, piece[*npieces - 1].width);
			}
			if (cost < whole->total)
				return cost;
		}
		*npieces = start;
		planner->spread = spread;
	}
	piece[start].n = n;
	piece[start].width = whole->width;
	piece[start].bits = whole->bits;
	piece[start].keys = part->keys;
	piece[start].own = whole->own;
	piece[start].gaps = part->gaps;
	piece[start].absent = whole->absent;
	*npieces = start + 1;
	return whole->total;
}

uint32_t
renc_run_plan(renc_run_planner *planner, const renc_run_pair *pair, uint32_t n, renc_run_piece *piece)
{
	const renc_run_cost *best;
	uint32_t	npieces = 0;

	planner->pair = pair;
	planner->tallier.repeats = planner->repeats;
	renc_run_tally_begin(&planner->tallier, pair, n);
	begin_run_plan_part(planner, &planner->whole, 0, n, 0);
	best = choose_run_plan_width(planner, &planner->whole);
	(void) divide_run_plan(planner, &planner->whole, best, piece, &npieces);
	return npieces;
}

/* ---- What is expected ---- */

void
renc_run_plan_add_expected(renc_run_expected *sum, const renc_run_piece *piece, const renc_run_pair *pair, uint32_t n)
{
	double		part = (double) n / piece->n;

	for (uint32_t i = 0; i < n; i++)
		sum->rows += pair[i].rows;
	sum->bits += piece->bits * part;
	sum->keys += piece->keys * part;
	sum->own += piece->own * part;
	sum->gaps += piece->gaps * part;
	sum->absent += piece->absent * part;
}

void
renc_run_plan_fade_expected(renc_run_expected *sum, double part)
{
	sum->bits *= part;
	sum->rows *= part;
	sum->keys *= part;
	sum->own *= part;
	sum->gaps *= part;
	sum->absent *= part;
}

double
renc_run_plan_mean_expected(const renc_run_expected *sum)
{
	return fmax(sum->keys > 0 ? sum->own / sum->keys : 0, sum->gaps > 0 ? sum->absent / sum->gaps : 0);
}
