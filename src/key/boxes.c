/*
 * boxes.c
 *		Sets of keys of points as lists of boxes.
 */
#include "key/boxes.h"

#include "miscadmin.h"
#include "utils/memutils.h"

/* Pairs of boxes that an intersection is worked out for. */
#define MAX_PAIRS	100000

void
rencoder_boxes_add(RencoderBoxes *list, uint32 xlo, uint32 xhi, uint32 ylo, uint32 yhi)
{
	renc_box   *box;

	if (xlo > xhi || ylo > yhi)
		return;
	if (list->box == NULL)
	{
		list->capacity = 8;
		list->box = palloc(list->capacity * sizeof(renc_box));
	}
	else if (list->n == list->capacity)
	{
		list->capacity *= 2;
		list->box = repalloc_huge(list->box, list->capacity * sizeof(renc_box));
	}
	box = &list->box[list->n++];
	memset(box, 0, sizeof(*box));
	box->xlo = xlo;
	box->xhi = xhi;
	box->ylo = ylo;
	box->yhi = yhi;
}

void
rencoder_boxes_intersect(RencoderBoxes *list, const RencoderBoxes *other)
{
	RencoderBoxes result = {0};

	/* Either list alone is a superset of what both have in common. */
	if (list->n > 1 && other->n > 1 && list->n > MAX_PAIRS / other->n)
	{
		if (other->n < list->n)
			*list = *other;
		return;
	}
	for (size_t i = 0; i < list->n; i++)
	{
		const renc_box *a = &list->box[i];

		CHECK_FOR_INTERRUPTS();
		for (size_t j = 0; j < other->n; j++)
		{
			const renc_box *b = &other->box[j];

			rencoder_boxes_add(&result, Max(a->xlo, b->xlo), Min(a->xhi, b->xhi),
							   Max(a->ylo, b->ylo), Min(a->yhi, b->yhi));
		}
	}
	*list = result;
}
