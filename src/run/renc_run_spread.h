/*
 * renc_run_spread.h
 *		In how many heap pages do the entries of an interval lie?
 */
#ifndef RENC_RUN_SPREAD_H
#define RENC_RUN_SPREAD_H

#include "renc_run.h"

/* Pieces that are looked at, entries of each, at most; room for twice as many pages. */
#define RENC_RUN_SPREAD_PIECES	4
#define RENC_RUN_SPREAD_ENTRIES 256
#define RENC_RUN_SPREAD_BITS	11
#define RENC_RUN_SPREAD_SLOTS	(1 << RENC_RUN_SPREAD_BITS)

/* Some entries of a leaf. */
typedef struct renc_run_spread_piece
{
	uint32_t	leaf;			/* its page */
	uint64_t	from;			/* number of the first entry, about */
	uint32_t	n;
	uint32_t	pages;			/* different ones */
} renc_run_spread_piece;

/* 10 kB; private. */
typedef struct renc_run_spread
{
	uint32_t	npieces;
	renc_run_spread_piece piece[RENC_RUN_SPREAD_PIECES];
	uint32_t	page[RENC_RUN_SPREAD_SLOTS];	/* a hash table */
	uint8_t		pieces[RENC_RUN_SPREAD_SLOTS];	/* that have it, a bit each */
} renc_run_spread;

extern void renc_run_spread_begin(renc_run_spread *spread);

/*
 * Adds a piece: of the leaf that has entry number "entry" of the run, entries that meet the
 * intervals, up to 256, from about number "from" on.  None that another piece has,
 * nothing once there are four pieces.  NULL, or what is wrong: what was added by then counts.
 */
extern const char *renc_run_spread_add(renc_run_spread *spread, const renc_run *run,
									   renc_run_read read, void *arg, const renc_interval_set *set,
									   uint64_t entry, uint64_t from);

/*
 * The heap pages of "entries" entries, from the first piece to the last, and in how many places
 * they lie, one after the other in each.  Exact if the pieces are all of them; 0 without any.
 */
extern void renc_run_spread_estimate(const renc_run_spread *spread, const renc_run *run,
									 double entries, double *pages, double *places);

#endif							/* RENC_RUN_SPREAD_H */
