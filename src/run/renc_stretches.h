/*
 * renc_stretches.h
 *		Lists of rows of a table within a bound of memory: in the order of the table, each row once.
 *
 * A stretch is consecutive line pointers of one page, or consecutive pages as a whole.  A list that
 * is added to in order stays as it is; renc_stretches_finish() sorts any other one, and unites what
 * overlaps.  Where a list reaches its bound, whole pages take the place of line pointers, and one
 * stretch that of several with few pages in between: it has more rows than were added, never fewer.
 */
#ifndef RENC_STRETCHES_H
#define RENC_STRETCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "renc_place.h"


/* No page has this number. */
#define RENC_NO_PAGE		UINT32_MAX

typedef struct renc_stretches
{
	uint32_t	n;				/* stretches */

	/* Private. */
	uint64_t   *stretch;		/* page << 32 | first << 16 | number of line
								 * pointers; or, if first is 0, of pages */
	uint32_t	room;
	uint32_t	limit;
	bool		sorted;			/* and disjoint */
	void	   *(*alloc) (size_t size);
	void		(*release) (void *memory);
} renc_stretches;

/* Where taking the rows of a list stands; zeroed: at its beginning. */
typedef struct renc_stretches_cursor
{
	uint32_t	at;				/* the next stretch */
	uint32_t	pages;			/* of it that were taken, if it is of pages */
} renc_stretches_cursor;

/*
 * An empty list without memory, which comes from alloc(), which does not return NULL.  It takes
 * "limit" bytes, and as many while it is sorted, or some hundred if that is less, unless pages are
 * so far apart that stretches of them cannot be made fewer.
 */
extern void renc_stretches_begin(renc_stretches *list, size_t limit,
								 void *(*alloc) (size_t size), void (*release) (void *memory));

/* Empties the list and frees its memory. */
extern void renc_stretches_end(renc_stretches *list);

/* Empties the list. */
static inline void
renc_stretches_clear(renc_stretches *list)
{
	list->n = 0;
	list->sorted = true;
}

/* Adds line pointers first .. last of a page, 1 .. UINT16_MAX. */
extern void renc_stretches_add_rows(renc_stretches *list, uint32_t page, uint32_t first,
									uint32_t last);

/* Adds "n" pages from "page" on. */
extern void renc_stretches_add_pages(renc_stretches *list, uint32_t page, uint32_t n);

/* Adds all that is in another list. */
extern void renc_stretches_add_all(renc_stretches *list, const renc_stretches *other);

/* Puts the list in order: to be done before anything is taken. */
extern void renc_stretches_finish(renc_stretches *list);

/*
 * Takes the next page: false if there is none.  "row" gets a bit for each line pointer of it, as in
 * renc_place.h; all bits: the whole page.
 */
extern bool renc_stretches_next(const renc_stretches *list, renc_stretches_cursor *cursor,
								uint32_t *page, uint64_t *row);

/*
 * Goes on to the first page that the list has from "page" on, which is never less than before with
 * the same cursor, and returns it, or RENC_NO_PAGE: renc_stretches_next() takes it.
 */
extern uint32_t renc_stretches_seek(const renc_stretches *list, renc_stretches_cursor *cursor,
									uint32_t page);

/* Has a list that is in order any of these line pointers of a page; first 0: or any of the page? */
extern bool renc_stretches_meet(const renc_stretches *list, uint32_t page, uint32_t first,
								uint32_t last);

/* Leaves in a list what another one has, too; both are in order. */
extern void renc_stretches_keep(renc_stretches *list, const renc_stretches *other);

/* Pages of a list that is in order. */
extern uint64_t renc_stretches_count_pages(const renc_stretches *list);

/* The bits of a page that is behind all that the cursor has passed; none if the list lacks it. */
extern void renc_stretches_rows(const renc_stretches *list, renc_stretches_cursor *cursor,
								uint32_t page, uint64_t *row);

#endif							/* RENC_STRETCHES_H */
