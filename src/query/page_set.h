/*
 * page_set.h
 *		Sets of heap pages: added in any order, taken in ascending order.
 *
 * PostgreSQL's bitmap, whose lossy pages stay exact: 256 pages in 56 bytes.
 */
#ifndef RENCODER_PAGE_SET_H
#define RENCODER_PAGE_SET_H

#include "base/compat.h"

/* Zeroed: an empty set. */
typedef struct RencoderPageSet
{
	bool		all;			/* every page that there is */
	BlockNumber last;			/* added last, if there are pages */
	TIDBitmap  *pages;			/* NULL: none */
	RencoderBitmapIterator *iterator;	/* NULL: at the beginning */
	BlockNumber next;			/* if there is an iterator: not passed yet */
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
	if (set->pages == NULL)
		return InvalidBlockNumber;
	if (set->iterator != NULL && set->next >= from)
		return set->next;
	return rencoder_page_set_advance(set, from);
}

extern void rencoder_page_set_free(RencoderPageSet *set);

#endif							/* RENCODER_PAGE_SET_H */
