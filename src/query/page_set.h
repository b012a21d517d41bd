/*
 * page_set.h
 *		Sets of heap pages: added in any order, taken in ascending order.
 *
 * A list, since most queries find few; of more than it can hold, PostgreSQL's bitmap, whose lossy
 * pages stay exact: 256 pages in 56 bytes.
 */
#ifndef RENCODER_PAGE_SET_H
#define RENCODER_PAGE_SET_H

#include "base/compat.h"

/* Pages in the list, at most. */
#define RENCODER_FEW_PAGES	32

/* Zeroed: an empty set. */
typedef struct RencoderPageSet
{
	bool		all;			/* every page that there is */
	bool		begun;			/* has a page been taken since the beginning? */
	BlockNumber next;			/* if so: not passed yet */
	BlockNumber last;			/* added last, if there are pages */
	uint32		nfew;			/* pages in the list */
	uint32		taken;			/* of them, since the beginning */
	BlockNumber *few;			/* the list, ascending; NULL: no page, or a
								 * bitmap */
	TIDBitmap  *pages;			/* NULL: no bitmap */
	RencoderBitmapIterator *iterator;	/* NULL: at the beginning */
} RencoderPageSet;

/* Adds a page, which is not InvalidBlockNumber; none after the first was taken. */
extern void rencoder_page_set_add(RencoderPageSet *set, BlockNumber page);

/* Goes back to the beginning. */
extern void rencoder_page_set_rewind(RencoderPageSet *set);

/* Goes on to the first page from "from" on; see rencoder_page_set_seek(). */
extern BlockNumber rencoder_page_set_advance(RencoderPageSet *set, BlockNumber from);

/*
 * The first page from "from" on, which never falls until the set is rewound;
 * InvalidBlockNumber: none.  Of "all" it knows nothing.
 */
static inline BlockNumber
rencoder_page_set_seek(RencoderPageSet *set, BlockNumber from)
{
	if (set->few == NULL && set->pages == NULL)
		return InvalidBlockNumber;
	if (set->begun && set->next >= from)
		return set->next;
	return rencoder_page_set_advance(set, from);
}

extern void rencoder_page_set_free(RencoderPageSet *set);

#endif							/* RENCODER_PAGE_SET_H */
