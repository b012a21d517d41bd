/*
 * page_set.c
 *		Sets of heap pages: added in any order, taken in ascending order.
 */
#include "query/page_set.h"

void
rencoder_page_set_add(RencoderPageSet *set, BlockNumber page)
{
	Assert(set->iterator == NULL);
	if (set->pages == NULL)
		set->pages = tbm_create(work_mem * 1024L, NULL);
	else if (set->last == page)
		return;
	tbm_add_page(set->pages, page);
	set->last = page;
}

void
rencoder_page_set_rewind(RencoderPageSet *set)
{
	if (set->iterator != NULL)
		rencoder_bitmap_end_iterate(set->iterator);
	set->iterator = NULL;
}

BlockNumber
rencoder_page_set_advance(RencoderPageSet *set, BlockNumber from)
{
	if (set->iterator == NULL)
	{
		set->iterator = rencoder_bitmap_begin_iterate(set->pages);
		set->next = rencoder_bitmap_next_page(set->iterator);
	}
	while (set->next < from)
		set->next = rencoder_bitmap_next_page(set->iterator);
	return set->next;
}

void
rencoder_page_set_free(RencoderPageSet *set)
{
	rencoder_page_set_rewind(set);
	if (set->pages != NULL)
		tbm_free(set->pages);
	set->pages = NULL;
}
