/*
 * page_set.c
 *		Sets of heap pages: added in any order, taken in ascending order.
 */
#include "query/page_set.h"

/* Inserts a page into the list; false: it is full. */
static bool
add_to_list(RencoderPageSet *set, BlockNumber page)
{
	uint32		i = set->nfew;

	if (set->few == NULL)
		set->few = palloc(RENCODER_FEW_PAGES * sizeof(BlockNumber));
	while (i > 0 && set->few[i - 1] > page)
		i--;
	if (i > 0 && set->few[i - 1] == page)
		return true;
	if (set->nfew == RENCODER_FEW_PAGES)
		return false;
	memmove(&set->few[i + 1], &set->few[i], (set->nfew - i) * sizeof(BlockNumber));
	set->few[i] = page;
	set->nfew++;
	return true;
}

/* Makes a bitmap of the list. */
static void
make_bitmap(RencoderPageSet *set)
{
	set->pages = tbm_create(work_mem * 1024L, NULL);
	for (uint32 i = 0; i < set->nfew; i++)
		tbm_add_page(set->pages, set->few[i]);
	pfree(set->few);
	set->few = NULL;
	set->nfew = 0;
}

void
rencoder_page_set_add(RencoderPageSet *set, BlockNumber page)
{
	Assert(!set->begun);
	if ((set->few != NULL || set->pages != NULL) && set->last == page)
		return;
	set->last = page;
	if (set->pages == NULL)
	{
		if (add_to_list(set, page))
			return;
		make_bitmap(set);
	}
	tbm_add_page(set->pages, page);
}

void
rencoder_page_set_rewind(RencoderPageSet *set)
{
	if (set->iterator != NULL)
		rencoder_bitmap_end_iterate(set->iterator);
	set->iterator = NULL;
	set->begun = false;
	set->taken = 0;
}

/* The page behind the one taken last. */
static BlockNumber
next_page(RencoderPageSet *set)
{
	if (set->pages == NULL)
		return set->taken < set->nfew ? set->few[set->taken++] : InvalidBlockNumber;
	return rencoder_bitmap_next_page(set->iterator);
}

BlockNumber
rencoder_page_set_advance(RencoderPageSet *set, BlockNumber from)
{
	if (!set->begun)
	{
		if (set->pages != NULL)
			set->iterator = rencoder_bitmap_begin_iterate(set->pages);
		set->begun = true;
		set->next = next_page(set);
	}
	while (set->next < from)
		set->next = next_page(set);
	return set->next;
}

void
rencoder_page_set_free(RencoderPageSet *set)
{
	rencoder_page_set_rewind(set);
	if (set->pages != NULL)
		tbm_free(set->pages);
	if (set->few != NULL)
		pfree(set->few);
	set->pages = NULL;
	set->few = NULL;
	set->nfew = 0;
}
