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

#include "renc_run_page.h"

/* Pieces of one plan, at most: it divides up to PLAN_DEPTH times. */
#define PLAN_DEPTH		6
#define PLAN_PIECES		(1 << PLAN_DEPTH)
#define PLAN_SEEN		8192	/* a power of two */
#define PLAN_SAVED		64

/* What the encoder is given. */
typedef struct renc_run_pair
{
	uint64_t	key;
	double		share;			/* 1 / (key - the one before); 0: no point is
								 * between */
	uint32_t	page;			/* from the run's first */
	uint32_t	rows;
} renc_run_pair;

typedef struct renc_run_planner
{
	uint32_t	npages;			/* of the run */
	bool		exact;			/* cells are keys */
	bool		one_coding;
	bool		windows;		/* a block names pages of its own window */
	double		price;			/* bits that a false page is worth */
	double		spread;			/* cells for each pair, as chosen last */
	double		saved[PLAN_SAVED];	/* bits that m pages in order save */
	uint32_t	cells;			/* looked at; a cell's mark in "seen" */
	uint32_t	seen_page[PLAN_SEEN];
	uint32_t	seen_cell[PLAN_SEEN];
} renc_run_planner;

/* Pairs that become a block, if they fit. */
typedef struct renc_run_piece
{
	uint32_t	n;
	int			width;
	double		bits;
	double		keys;
	double		false_pages;	/* of "keys" queries together: */
	double		own;			/* of queries for keys */
	double		gaps;			/* between keys, that hold a point */
	double		absent;			/* of "gaps" values anywhere between the first
								 * and the last key, but none of them */
} renc_run_piece;

extern void renc_run_plan_init(renc_run_planner *planner, const renc_run_options *options);

/* Divides n pairs into pieces, at most PLAN_PIECES; returns their number. */
extern uint32_t renc_run_plan(renc_run_planner *planner, const renc_run_pair *pair, uint32_t n,
							  renc_run_piece *piece);

/*
 * Where in lo < i <= hi to cut: before pair i, whose key differs from the one before in
 * the highest bit.  There is a pair "hi".
 */
extern uint32_t renc_run_plan_cut(const renc_run_pair *pair, uint32_t lo, uint32_t hi);

/* The first page of some pairs, and from it to the last. */
extern void renc_run_plan_window(const renc_run_pair *pair, uint32_t n, uint32_t *first,
								 uint32_t *npages);

#endif							/* RENC_RUN_PLAN_H */
