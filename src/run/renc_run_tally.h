/*
 * renc_run_tally.h
 *		What cells of some width make of pairs: false pages, and what decides the bits.
 *
 * Used by the run core only.  A block's width is found by trying, and so are those of its
 * halves: so all that does not depend on the width is noted once for each pair.
 *
 * Sums are added up cell after cell, in order, and not from parts: what is added in
 * another order may differ in its last bit, and bytes on disk follow from it (INV-10).
 */
#ifndef RENC_RUN_TALLY_H
#define RENC_RUN_TALLY_H

#include "renc_run_page.h"

/* Pairs that the encoder looks ahead, and the most that are looked at together. */
#define BUILD_PAIRS		8192

/* Rice codes of evenly spread numbers need so many bits above their entropy's log2. */
#define RICE_BITS		1.47

#define TALLY_SEEN		8192	/* a power of two */
#define TALLY_SIZES		64

/* What the encoder is given. */
typedef struct renc_run_pair
{
	uint64_t	key;
	double		share;			/* 1 / (key - the one before); 0: no point is
								 * between */
	uint32_t	page;			/* from the run's first; or the place */
	uint32_t	rows;
	uint16_t	part;			/* of "page", if that is no place */
} renc_run_pair;

/* Of some pairs, in cells of some width. */
typedef struct renc_run_tally
{
	uint64_t	own;			/* false pages of queries for the keys */
	double		between;		/* of points between two keys */
	double		absent;			/* of all values between the first and the
								 * last key that are none */
	double		saved;			/* bits, by coding pages in order */
	uint32_t	ordered;		/* those pages */
	uint32_t	counts;			/* bits for the numbers of pages of cells */
	uint32_t	entries;
	uint32_t	distances;		/* from cell to cell: all, */
	uint32_t	distance[64];	/* by their highest bit */
} renc_run_tally;

/* What the number of its pages says of a cell. */
typedef struct renc_run_size
{
	double		saved;			/* bits, by coding them in order */
	uint64_t	numbers;		/* see renc_run_tally.c */
} renc_run_size;

typedef struct renc_run_tallier
{
	bool		repeats;		/* a cell may have a page more than once,
								 * which counts once */
	const renc_run_pair *pair;

	/* Of each pair: */
	uint8_t		differ[BUILD_PAIRS];	/* bits from the highest on that
										 * differs from the one before */
	uint32_t	begun[BUILD_PAIRS]; /* how many other keys there were up to
									 * here; gaps that hold a point, times
									 * 2^16 */
	uint32_t	turned[BUILD_PAIRS];	/* how often up to here the page was
										 * another; to a lesser one, times
										 * 2^16 */
	uint16_t	same[BUILD_PAIRS];	/* how many up to here are like the one
									 * before */
	uint16_t	start[BUILD_PAIRS + 1]; /* where cells begin; the end */
	renc_run_size size[TALLY_SIZES];	/* by pages */
	uint32_t	cells;			/* looked at; a cell's mark in "seen" */
	uint32_t	seen_page[TALLY_SEEN];
	uint32_t	seen_cell[TALLY_SEEN];
} renc_run_tallier;

extern void renc_run_tally_init(renc_run_tallier *tallier);

/* From now on these n pairs are tallied; they are not copied. */
extern void renc_run_tally_begin(renc_run_tallier *tallier, const renc_run_pair *pair, uint32_t n);

/* How many keys some of them have but the first; and, times 2^16, gaps between these that hold a point. */
static inline uint32_t
renc_run_tally_begun(const renc_run_tallier *t, uint32_t first, uint32_t end)
{
	return t->begun[end - 1] - t->begun[first];
}

/* Tallies pairs first .. end - 1. */
extern void renc_run_tally_part(renc_run_tallier *tallier, uint32_t first, uint32_t end, int width,
								renc_run_tally *part);

#endif							/* RENC_RUN_TALLY_H */
