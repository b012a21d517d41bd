/*
 * intervals.c
 *		Sets of keys as lists of closed intervals.
 */
#include "key/intervals.h"

#include "utils/memutils.h"

void
rencoder_intervals_add(RencoderIntervals *list, uint64 lo, uint64 hi)
{
	if (lo > hi)
		return;
	list->interval = rencoder_list_with_room(list->interval, list->n, &list->capacity,
											 sizeof(renc_interval));
	list->interval[list->n].lo = lo;
	list->interval[list->n].hi = hi;
	list->n++;
}

static int
compare_interval_starts(const void *a, const void *b)
{
	uint64		x = ((const renc_interval *) a)->lo;
	uint64		y = ((const renc_interval *) b)->lo;

	return (x > y) - (x < y);
}

void
rencoder_intervals_normalize(RencoderIntervals *list)
{
	size_t		n = 0;			/* done */

	if (list->n < 2)
		return;
	qsort(list->interval, list->n, sizeof(renc_interval), compare_interval_starts);
	for (size_t i = 1; i < list->n; i++)
	{
		renc_interval *last = &list->interval[n];
		const renc_interval *next = &list->interval[i];

		if (next->lo <= last->hi || next->lo - 1 == last->hi)
			last->hi = Max(last->hi, next->hi);
		else
			list->interval[++n] = *next;
	}
	list->n = n + 1;
}

void
rencoder_intervals_intersect(RencoderIntervals *list,
							 const RencoderIntervals *other)
{
	RencoderIntervals result = {0};
	size_t		i = 0;
	size_t		j = 0;

	while (i < list->n && j < other->n)
	{
		const renc_interval *a = &list->interval[i];
		const renc_interval *b = &other->interval[j];

		rencoder_intervals_add(&result, Max(a->lo, b->lo), Min(a->hi, b->hi));

		/* What ends first meets nothing else. */
		if (a->hi < b->hi)
			i++;
		else
			j++;
	}
	if (list->interval)
		pfree(list->interval);
	*list = result;
}
