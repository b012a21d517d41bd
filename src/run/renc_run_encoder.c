/*
 * renc_run_encoder.c
 *		From sorted pairs to the pages of a run.
 *
 * The encoder looks ahead some blocks of pairs, plans the next blocks, puts them into
 * the leaf and goes on.  After each block, or leaf, it corrects the price of a false page
 * so that the average comes out as wanted.
 */
#include "renc_run_page_build.h"

#include <math.h>


/* Entries of a block.  Different whole keys are few, but take longer to read. */
#define DEFAULT_BLOCK	256
#define EXACT_BLOCK		32

/* Dense places are a bit or two each, so that blocks are worth their headers only if they have many. */
#define DENSE_BLOCK		(RENC_RUN_MAX_BLOCK / 4 * 3)

/* The part of the places of its pages that a leaf of them has for entries to name pages. */
#define DENSE_PLACES	0.875

/* A value of more pairs is heavy. */
#define HEAVY			512

/* Pairs looked ahead: a block and a quarter, and others to compare with. */
#define MOST_LOOKED_AT	(BUILD_PAIRS - 1 - HEAVY)

/*
 * What the planner counts where keys are evenly spread and a point anywhere meets one
 * page: between keys that are close to each other there are more.
 */
#define EVEN_QUERIES	1.4

/* What blocks of false pages that stay dear pay, times the least price. */
#define DEARER			2.5

/* Blocks that the first price is made from. */
#define FIRST_BLOCKS	4

/* Rows of an undivided page that are to be neighbours. */
#define TOGETHER		8

/*
 * A leaf whose keys fill pages names parts if so many rows of a part follow each other, on average:
 * then parts cost 2 to 4 bits a row more than pages, else 4 to 8 (measured).
 */
#define ROWS_IN_TURN	1.5

/* A key of more pages than these has few rows to check beside its own. */
#define PAGES_OF_KEY	4

/*
 * The part of the false pages wanted that such a leaf may have of false parts: with 35 rows a page,
 * one query in ten then reads a page more.
 */
#define WANTED_IN_ORDER	0.9

/*
 * What is wanted is a limit, also of the mean of some hundred queries, which varies.  So the
 * mean that is expected is to stay below.
 */
#define AIM				0.9

/* Where keys have more rows than this, bits of a key are few for a row. */
#define MANY_ROWS		16

/*
 * The last pieces, eight or so, say by how much false pages are too many.  The price then
 * takes ten blocks to follow.
 */
#define KEPT			0.875
#define MOST_OVER		4.0
#define GAIN			0.1

struct renc_run_encoder
{
	renc_run_pair *pair;		/* BUILD_PAIRS */
	uint32_t	n;
	uint32_t	done;			/* pairs in front that are in blocks already */
	uint64_t	last_key;
	uint32_t	last_place;
	uint32_t	parts;			/* of a page */
	uint32_t	coarse;			/* parts that are named together where keys
								 * lie together */
	uint32_t	block;			/* entries of a block, nominally */
	double		ratio;			/* pairs to an entry */
	bool		started;
	bool		heavy;			/* was there a heavy value? */
	uint64_t	heavy_key;		/* the last */

	bool		together;		/* do neighbours fill pages? */
	double		aim;			/* false pages */
	renc_run_expected all;
	renc_run_expected recent;	/* the last pieces */

	renc_run_planner planner;
	renc_run_builder build;
};

size_t
renc_run_encoder_size(size_t payload)
{
	return renc_run_aligned(sizeof(renc_run_encoder)) + renc_run_aligned(BUILD_PAIRS * sizeof(renc_run_pair)) +
		renc_run_build_size(payload);
}

renc_run_encoder *
renc_run_encoder_init(void *memory, const renc_run_options *options)
{
	renc_run_encoder *e = (renc_run_encoder *) memory;
	uint8_t    *rest = (uint8_t *) memory + renc_run_aligned(sizeof(renc_run_encoder));
	uint32_t	parts = options->parts > 0 ? options->parts : 1;

	if (options->payload < RENC_RUN_MIN_PAYLOAD || options->payload > RENC_RUN_MAX_PAYLOAD ||
		options->npages == 0 || options->write == NULL || parts >= RENC_WHOLE_PAGE ||
		(uint64_t) options->npages * parts > UINT32_MAX ||
		((uint64_t) options->first_page + options->npages) * parts > (uint64_t) UINT32_MAX + 1 ||
		(options->target < RENC_RUN_EXACT && !(options->wanted > 0)))
		return NULL;
	memset(memory, 0, renc_run_encoder_size(options->payload));
	e->pair = (renc_run_pair *) rest;
	e->block = options->block == 0 ? DEFAULT_BLOCK : options->block;
	if (e->block > RENC_RUN_MAX_BLOCK / 2)
		e->block = RENC_RUN_MAX_BLOCK / 2;
	if (options->target == RENC_RUN_DENSE)
		e->block = DENSE_BLOCK;
	if (e->block < 4)
		e->block = 4;
	e->ratio = 1;
	e->parts = parts;
	e->coarse = options->coarse && parts > RENC_COARSE ? RENC_COARSE : 1;
	e->aim = AIM * options->wanted;
	renc_run_plan_init(&e->planner, options);
	renc_run_build_init(&e->build, options, rest + renc_run_aligned(BUILD_PAIRS * sizeof(renc_run_pair)));
	return e;
}

/* ---- The price ---- */

/*
 * Widths are powers of two: with evenly spread keys, all blocks would have up to half a
 * page too many or too few.  Between the least and twice the least lie all prices at
 * which one of them begins to change.  Where keys have many rows each, narrow cells cost
 * a row next to nothing, so a false page is worth more.
 */
static double
least_encoder_price(const renc_run_encoder *e, const renc_run_expected *x)
{
	double		many = x->keys > 0 ? x->rows / x->keys / MANY_ROWS : 1;

	return fmax(many, 1) / (EVEN_QUERIES * e->aim);
}

/*
 * What evenly spread keys pay for false pages is the most that others do, unless their
 * rows take fewer bits: by then a false page may cost as much more.
 */
static double
most_encoder_price(const renc_run_encoder *e, const renc_run_expected *x)
{
	double		even_bits = 2 + log2(e->build.npages);
	double		cheap = x->bits > 0 ? even_bits * x->rows / x->bits : 1;

	return DEARER * fmax(least_encoder_price(e, x),
						 fmin(fmax(cheap, 1), 32) / (EVEN_QUERIES * e->aim));
}

/*
 * After each piece: the price's logarithm is the sum of what was too many and too few, so
 * that on average there is neither.
 */
static void
correct_for_false_pages(renc_run_encoder *e, double keys)
{
	double		over = fmin(renc_run_plan_mean_expected(&e->recent) / e->aim - 1, MOST_OVER);
	double		price = e->planner.price * exp(GAIN * over * keys / e->block);

	e->planner.price = fmin(fmax(price, least_encoder_price(e, &e->all)),
							most_encoder_price(e, &e->all));
}

/* From now on pairs that are in no block name so many parts. */
static void
set_encoder_names(renc_run_encoder *e, uint32_t grain)
{
	if (e->build.grain == grain)
		return;
	for (uint32_t i = e->done; i < e->n; i++)
		renc_run_plan_name(&e->pair[i], renc_run_plan_place(&e->pair[i], e->parts, e->build.grain),
						   e->parts, grain);
	e->build.grain = grain;
}

/*
 * Do neighbours in the order of keys fill pages, so that to check these as a whole is to check no
 * more rows for one that matches than a coarse part has?  Then entries of a leaf name pages.
 * Where rows follow each other in the order of keys within a page, an entry of a coarse part stands for
 * several.  Then they name these, if keys do not fill pages, or have so few rows that most rows of
 * a page would be checked in vain.  Else they name places.
 * Of whole keys always places, so that runs of these can be made one without loss, but where they are
 * dense.
 */
static void
choose_encoder_names(renc_run_encoder *e)
{
	uint32_t	n = e->n - e->done < e->block ? e->n - e->done : e->block;
	uint32_t	names = renc_place_names(e->parts, e->coarse);
	renc_run_named named;
	bool		in_turn;

	if (e->build.options.target == RENC_RUN_EXACT)
		return;
	set_encoder_names(e, e->coarse);
	named = renc_run_plan_count_named(e->pair + e->done, n, names);
	if (e->build.options.target == RENC_RUN_DENSE)
	{
		if (names > 1 && named.turns >= DENSE_PLACES * named.pages * names)
			set_encoder_names(e, e->parts);
		return;
	}
	e->together = (uint64_t) named.pages * (names > 1 ? names : TOGETHER) <= named.rows;
	in_turn = named.turns * ROWS_IN_TURN <= named.rows;
	if (e->together && !(in_turn && named.keys * PAGES_OF_KEY > named.pages))
		set_encoder_names(e, e->parts);
	else if (!in_turn)
		set_encoder_names(e, 1);
}

/* The names of a page. */
static uint32_t
encoder_names(const renc_run_encoder *e)
{
	return renc_place_names(e->parts, e->build.grain);
}

/* Do entries name parts that are in the order of the keys? */
static bool
encodes_places_in_order(const renc_run_encoder *e)
{
	return e->together && encoder_names(e) > 1;
}

/*
 * Begins a leaf: what do its entries name, and have its first blocks so little of it that page spans
 * pay?
 */
static void
begin_encoder_leaf(renc_run_encoder *e)
{
	const renc_run_pair *pair = e->pair + e->done;
	uint32_t	n = e->n - e->done;
	uint32_t	first;
	uint32_t	npages;

	choose_encoder_names(e);
	e->build.npages = e->build.options.npages * encoder_names(e);
	e->planner.npages = e->build.npages;
	e->aim = AIM * (e->together && e->build.options.wanted_together > 0 ?
					e->build.options.wanted_together : e->build.options.wanted);
	if (encodes_places_in_order(e))
		e->aim *= WANTED_IN_ORDER;
	renc_run_plan_page_span(pair, n < e->block ? n : e->block, &first, &npages);
	e->build.page_spans = npages < e->build.npages / 8;
	e->planner.page_spans = e->build.page_spans;
	e->planner.repeats = e->build.page_spans || e->together;
	if (!e->planner.repeats)
		e->ratio = 1;
}

/*
 * Adds the first n pairs of a piece, with its false pages as they count.  If places are in the order of
 * the keys, a value between two keys may read the places of both.  A false place is then next to a
 * true one, so that few are in a page of their own, which counts "in_pages".
 */
static void
add_encoder_piece(const renc_run_encoder *e, renc_run_expected *sum, renc_run_piece piece,
				  const renc_run_pair *pair, uint32_t n, bool in_pages)
{
	if (encodes_places_in_order(e))
	{
		piece.absent /= 2;
		piece.own /= in_pages ? encoder_names(e) : 1;
	}
	renc_run_plan_add_expected(sum, &piece, pair, n);
}

/* What a price would make of the first pairs. */
static renc_run_expected
try_encoder_price(renc_run_encoder *e, double price)
{
	renc_run_piece piece[PLAN_PIECES];
	renc_run_expected sum = {0, 0, 0, 0, 0, 0};

	e->planner.price = price;
	for (uint32_t i = 0; i < e->n && i < FIRST_BLOCKS * e->block; i += e->block)
	{
		uint32_t	n = e->n - i < e->block ? e->n - i : e->block;
		uint32_t	npieces = renc_run_plan(&e->planner, e->pair + i, n, piece);

		for (uint32_t j = 0, at = i; j < npieces; at += piece[j++].n)
			add_encoder_piece(e, &sum, piece[j], e->pair + at, piece[j].n, false);
	}
	return sum;
}

/* The first price comes from the first pairs. */
static void
first_encoder_price(renc_run_encoder *e)
{
	renc_run_expected x;
	double		lo;
	double		hi;

	e->started = true;
	if (e->build.options.target >= RENC_RUN_EXACT)
		return;
	begin_encoder_leaf(e);
	x = try_encoder_price(e, 1 / (EVEN_QUERIES * e->aim));
	lo = least_encoder_price(e, &x);
	hi = most_encoder_price(e, &x);
	for (int i = 0; i < 6; i++)
	{
		double		middle = sqrt(lo * hi);

		x = try_encoder_price(e, middle);
		if (renc_run_plan_mean_expected(&x) <= e->aim)
			hi = middle;
		else
			lo = middle;
	}
	e->planner.price = hi;
}

/* ---- Blocks ---- */

/* Pairs that a block is made of, nominally. */
static uint32_t
encoder_block_pairs(const renc_run_encoder *e)
{
	double		n = e->block * e->ratio;
	uint32_t	end = e->done + EXACT_BLOCK;

	if (e->build.options.target == RENC_RUN_EXACT && e->block > EXACT_BLOCK && end < e->n &&
		e->pair[e->done].key != e->pair[end].key)
		return EXACT_BLOCK;
	return n > MOST_LOOKED_AT * 0.75 ? (uint32_t) (MOST_LOOKED_AT * 0.75) : (uint32_t) n;
}

/*
 * How many of the first n pairs are best in a block?  If the cell of the last goes on,
 * keys that crowd there are better off in the next one, with a width of their own: both
 * blocks would have to be read for each of them.
 */
static uint32_t
encoder_whole_cells(const renc_run_pair *pair, uint32_t n, int width)
{
	uint64_t	cell = pair[n].key >> width;
	uint32_t	end = n;

	while (end > n / 2 && pair[end - 1].key >> width == cell)
		end--;
	return end > n / 2 ? end : n;
}

/*
 * Puts a piece into the leaf: whole, or as much of it as fits or is good.  "more": is
 * there a pair behind it?  Returns the pairs taken, none if the leaf is full.
 */
static uint32_t
encode_piece(renc_run_encoder *e, const renc_run_pair *pair, const renc_run_piece *piece, bool more)
{
	uint32_t	n = more ? encoder_whole_cells(pair, piece->n, piece->width) : piece->n;
	uint32_t	least = (uint32_t) (e->block / 10 * e->ratio);
	uint32_t	fit;

	while (!renc_run_build_block(&e->build, pair, n, piece->width, &fit))
	{
		if (e->build.nblocks > 0 && fit < least + 1)
			return 0;
		if (n == 1)
		{
			/* A single entry fits into an empty page. */
			if (e->build.nblocks == 0)
				e->build.failed = true;
			return 0;
		}
		fit = fit > 0 ? fit : 1;
		n = fit <= 8 ? fit : renc_run_plan_find_split(pair, fit - fit / 8, fit);
	}
	add_encoder_piece(e, &e->all, *piece, pair, n, true);

	renc_run_plan_fade_expected(&e->recent, KEPT);
	add_encoder_piece(e, &e->recent, *piece, pair, n, false);

	if (e->build.options.target == RENC_RUN_FALSE_PAGES)
		correct_for_false_pages(e, piece->keys * n / piece->n);
	return n;
}

/*
 * Of how many pairs to make blocks, "most" or fewer: up to where a heavy value begins or ends, else
 * to where keys differ most.  So no other key is in the cells of the heavy value, and what is
 * asked for beside it does not read its pages.
 */
static uint32_t
choose_encoder_cut(renc_run_encoder *e, uint32_t nominal, uint32_t most)
{
	const renc_run_pair *pair = e->pair + e->done;
	uint32_t	left = e->n - e->done;

	for (uint32_t i = 0; i < left && i < most; i++)
	{
		bool		begins = i + HEAVY < left && pair[i].key == pair[i + HEAVY].key;

		if (i > 0 && pair[i].key != pair[i - 1].key &&
			(begins || (e->heavy && pair[i - 1].key == e->heavy_key)))
			return i;
		if (begins)
		{
			e->heavy = true;
			e->heavy_key = pair[i].key;
		}
	}
	return left > most ? renc_run_plan_find_split(pair, nominal - nominal / 4, most) : left;
}

/* Makes blocks of the first pairs, "n" of them or fewer. */
static void
encode_pairs(renc_run_encoder *e, uint32_t n)
{
	renc_run_piece piece[PLAN_PIECES];
	uint32_t	npieces = renc_run_plan(&e->planner, e->pair + e->done, n, piece);

	for (uint32_t i = 0; i < npieces; i++)
	{
		uint32_t	taken = encode_piece(e, e->pair + e->done, &piece[i],
										 e->n - e->done > piece[i].n);

		e->done += taken;
		if (taken == 0)
			renc_run_build_leaf(&e->build);
		if (taken < piece[i].n)
			return;
	}
	if (npieces == 1)
	{
		double		ratio = (double) n / e->build.block[e->build.nblocks - 1].n;

		if (e->planner.repeats)
			e->ratio = fmax(1, (e->ratio + ratio) / 2);
	}
}

/* Encodes until too few pairs are left to choose where to cut; all of them at the end. */
static void
drain_encoder(renc_run_encoder *e, bool all)
{
	if (!e->started && e->n > 0)
		first_encoder_price(e);
	while (!e->build.failed)
	{
		uint32_t	left = e->n - e->done;
		uint32_t	nominal;
		uint32_t	most;

		if (e->build.nblocks == 0 && left > 0)
			begin_encoder_leaf(e);
		nominal = encoder_block_pairs(e);
		most = nominal + nominal / 4;
		if (left == 0 || (!all && left <= most + HEAVY))
			break;
		encode_pairs(e, choose_encoder_cut(e, nominal, most));
	}
	memmove(e->pair, e->pair + e->done, (e->n - e->done) * sizeof(renc_run_pair));
	e->n -= e->done;
	e->done = 0;
}

/* Adds a pair that is not equal to the last. */
static void
encode_pair(renc_run_encoder *e, uint64_t key, uint32_t place, uint32_t rows)
{
	renc_run_pair *pair = &e->pair[e->n];

	pair->key = key;
	pair->share = e->n > 0 && key - e->last_key > 1 ? 1 / (double) (key - e->last_key) : 0;
	renc_run_plan_name(pair, place - e->build.options.first_page * e->parts, e->parts, e->build.grain);
	pair->rows = rows;
	e->n++;
	e->last_key = key;
	e->last_place = place;
}

bool
renc_run_encoder_push(renc_run_encoder *e, uint64_t key, uint32_t place, uint32_t rows)
{
	renc_run_pair *last = &e->pair[e->n - (e->n > 0)];
	const renc_run_options *options = &e->build.options;
	uint32_t	page = renc_place_page(place, e->parts);
	bool		first = e->n == 0;

	if (rows == 0 || page < options->first_page || page - options->first_page >= options->npages ||
		(!first && (key < e->last_key || (key == e->last_key && place < e->last_place))))
		e->build.failed = true;
	if (e->build.failed)
		return false;
	if (!first && key == e->last_key && place == e->last_place)
	{
		last->rows = rows > UINT32_MAX - last->rows ? UINT32_MAX : last->rows + rows;
		return true;
	}
	if (e->n == BUILD_PAIRS)
	{
		drain_encoder(e, false);
		if (e->build.failed)
			return false;
	}
	encode_pair(e, key, place, rows);
	return true;
}

bool
renc_run_encoder_finish(renc_run_encoder *e, renc_run *run, double *false_pages)
{
	drain_encoder(e, true);
	if (e->build.failed || (!e->build.any && e->build.nblocks == 0))
		return false;
	renc_run_build_leaf(&e->build);
	renc_run_build_root(&e->build);
	*run = e->build.run;
	if (false_pages != NULL)
		*false_pages = renc_run_plan_mean_expected(&e->all);
	return !e->build.failed;
}
