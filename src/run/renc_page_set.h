/*
 * renc_page_set.h
 *		Sets of heap pages within one bound of memory: added in any order, taken in ascending order.
 *
 * What a page is here the caller says: a place (renc_place.h) does as well.
 *
 * All sets of a scan share one table of chunks, each 64 units of one set.  A unit is one page as
 * long as the bound allows, else 2, 4, .. pages, in all sets alike: a set then has more pages than
 * were added, never fewer.  How large units are depends on the pages added, not on their order.
 * While pages are added the table is hashed.  It is sorted when the first page is taken, and hashed
 * again if pages are added later.
 */
#ifndef RENC_PAGE_SET_H
#define RENC_PAGE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RENC_NO_PAGE		UINT32_MAX

/* The least bound. */
#define RENC_PAGE_SETS_MIN	((size_t) 2048)

typedef struct renc_page_chunk
{
	uint64_t	key;			/* number of its set, then of the chunk */
	uint64_t	units;			/* a bit for each; 0: no chunk */
} renc_page_chunk;

typedef struct renc_page_sets
{
	uint32_t	nsets;			/* with a page */
	int			shift;			/* a unit is 2^shift pages */

	/* Private. */
	size_t		limit;			/* bytes, of two tables while one is made of
								 * the other */
	void	   *(*alloc) (size_t size);
	void		(*release) (void *memory);
	renc_page_chunk *chunk;		/* the table, NULL: no page */
	uint32_t	nslots;			/* of the table, a power of two */
	uint32_t	nchunks;
	uint32_t	sorted;			/* how many times */
	bool		hashed;
} renc_page_sets;

/* Zeroed: an empty set. */
typedef struct renc_page_set
{
	uint32_t	number;			/* 0: no page */
	uint32_t	last;			/* page added last */
	bool		all;			/* every page that there is */
	bool		begun;			/* has a page been taken since the beginning? */
	uint32_t	next;			/* if so: not passed yet */
	uint32_t	at;				/* its chunk, ... */
	uint32_t	sorted;			/* ... when the table was sorted so many times */
} renc_page_set;

/*
 * No set has a page.  Their memory, from alloc(), which does not return NULL, never exceeds "limit"
 * bytes, of which RENC_PAGE_SETS_MIN are the least.
 */
extern void renc_page_sets_begin(renc_page_sets *sets, size_t limit,
								 void *(*alloc) (size_t size), void (*release) (void *memory));

/* Frees the memory of all sets. */
extern void renc_page_sets_end(renc_page_sets *sets);

/*
 * Adds a page, which is not RENC_NO_PAGE, to a set of which none has been taken.  If there are
 * so many sets that there is no memory for another, it becomes "all".
 */
extern void renc_page_set_add(renc_page_sets *sets, renc_page_set *set, uint32_t page);

/* Adds the pages first .. first + n - 1. */
extern void renc_page_set_add_span(renc_page_sets *sets, renc_page_set *set, uint32_t first, uint32_t n);

/* The way of renc_page_set_seek() where the set has to go on. */
extern uint32_t renc_page_set_seek_slow(renc_page_sets *sets, renc_page_set *set, uint32_t from);

/* Goes back to the beginning. */
static inline void
renc_page_set_rewind(renc_page_set *set)
{
	set->begun = false;
}

/*
 * The first page from "from" on, which never falls until the set is rewound; RENC_NO_PAGE: none.
 * Of "all" it knows nothing.
 */
static inline uint32_t
renc_page_set_seek(renc_page_sets *sets, renc_page_set *set, uint32_t from)
{
	if (set->number == 0)
		return RENC_NO_PAGE;
	if (set->begun && set->next >= from)
		return set->next;
	return renc_page_set_seek_slow(sets, set, from);
}

#endif							/* RENC_PAGE_SET_H */
