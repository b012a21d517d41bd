/*
 * renc_run_plan.h
 *		How pairs are divided into blocks, and the width of each block's cells.
 *
 * Used by the run core only.  What is to be least is bits + price * false pages, the
 * latter expected of as many queries as there are keys: half of them for keys, half for
 * points between two keys.
 */
#ifndef RENC_RUN_PLAN_H
#define RENC_RUN_PLAN_H

#include "renc_run_tally.h"

/* Pieces of one plan, at most: it divides up to PLAN_DEPTH times. */
#define PLAN_DEPTH		6
#define PLAN_PIECES		(1 << PLAN_DEPTH)

/* What a width costs. */
typedef struct renc_run_cost
{
	int			width;
	double		total;
	double		bits;
	double		false_pages;	/* of as many queries as there are keys */
	double		own;			/* of queries for keys */
	double		absent;			/* of values anywhere between, as many as gaps */
} renc_run_cost;

/* Pairs that may become a block, or blocks. */
typedef struct renc_run_part
{
	uint32_t	first;			/* first .. end - 1 of those that are planned */
	uint32_t	end;
	int			depth;			/* how often pairs were divided to get it */
	uint32_t	npages;			/* of its page span */
	double		page_bits;		/* log2 of that */
	uint32_t	keys;
	uint32_t	gaps;			/* between keys, that hold a point */
	uint64_t	known;			/* widths whose costs are known, as bits */
	renc_run_cost cost[64];
} renc_run_part;

typedef struct renc_run_planner
{
	uint32_t	npages;			/* of the run, or its places */
	bool		exact;			/* cells are keys */
	bool		page_spans;		/* a block names pages of its own page span */
	bool		repeats;		/* pairs with neighbouring keys name the same */
	double		price;			/* bits that a false page is worth */
	double		spread;			/* cells for each pair, as chosen last */
	const renc_run_pair *pair;	/* that are planned */
	renc_run_part whole;
	renc_run_part half[PLAN_DEPTH][2];	/* by how often it was divided */
	renc_run_tallier tallier;
} renc_run_planner;

/* Pairs that become a block, if they fit. */
typedef struct renc_run_piece
{
	uint32_t	n;
	int			width;
	double		bits;
	double		keys;
	double		own;			/* false pages of queries for keys, together */
	double		gaps;			/* between keys, that hold a point */
	double		absent;			/* of "gaps" values anywhere between the first
								 * and the last key, but none of them */
} renc_run_piece;

extern void renc_run_plan_init(renc_run_planner *planner, const renc_run_options *options);

/* Divides n pairs into pieces, at most PLAN_PIECES; returns their number. */
extern uint32_t renc_run_plan(renc_run_planner *planner, const renc_run_pair *pair, uint32_t n,
							  renc_run_piece *piece);

/*
 * What a pair names if a name stands for "grain" of the parts of a page; and back.  A place is counted
 * from the run's first page.
 */
extern void renc_run_plan_name(renc_run_pair *pair, uint32_t place, uint32_t parts, uint32_t grain);
extern uint32_t renc_run_plan_place(const renc_run_pair *pair, uint32_t parts, uint32_t grain);

/* What some pairs name. */
typedef struct renc_run_named
{
	uint64_t	rows;
	uint32_t	keys;
	uint32_t	turns;			/* from one name to another */
	uint32_t	pages;			/* about */
} renc_run_named;

/* Of n pairs, with so many names for a page. */
extern renc_run_named renc_run_plan_count_named(const renc_run_pair *pair, uint32_t n, uint32_t names);

/*
 * Where in lo < i <= hi to split: before pair i, whose key differs from the one before in
 * the highest bit.  There is a pair "hi".
 */
extern uint32_t renc_run_plan_find_split(const renc_run_pair *pair, uint32_t lo, uint32_t hi);

/* The first page of some pairs, and from it to the last. */
extern void renc_run_plan_page_span(const renc_run_pair *pair, uint32_t n, uint32_t *first,
									uint32_t *npages);

/* ---- False pages that are to be expected of the blocks made so far ---- */

/* What is expected of some pairs: sums. */
typedef struct renc_run_expected
{
	double		bits;
	double		rows;
	double		keys;
	double		own;			/* as in a piece */
	double		gaps;
	double		absent;
} renc_run_expected;

/* Adds the first n pairs of a piece. */
extern void renc_run_plan_add_expected(renc_run_expected *sum, const renc_run_piece *piece, const renc_run_pair *pair,
									   uint32_t n);

/* "part" of what was expected counts from now on. */
extern void renc_run_plan_fade_expected(renc_run_expected *sum, double part);

/*
 * False pages of a query for a key, or of one for a value that is none, whichever meets
 * more on average.
 */
extern double renc_run_plan_mean_expected(const renc_run_expected *sum);

#endif							/* RENC_RUN_PLAN_H */
