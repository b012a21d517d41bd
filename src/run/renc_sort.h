/*
 * renc_sort.h
 *		Sorting in place: Shell's sort, which is short where little is out of order.
 *
 * qsort() may allocate.
 */
#ifndef RENC_SORT_H
#define RENC_SORT_H

#include <stdint.h>

/* Sorts n elements of an array by "key", the end of an expression: ".page", say, or nothing. */
#define RENC_SORT(type, array, n, key) \
	do \
	{ \
		for (uint32_t sort_gap = (n); sort_gap > 1;) \
		{ \
			sort_gap = sort_gap < 5 ? 1 : (uint32_t) (((uint64_t) sort_gap * 5 - 1) / 11); \
			for (uint32_t sort_at = sort_gap; sort_at < (n); sort_at++) \
			{ \
				type		moved = (array)[sort_at]; \
				uint32_t	to = sort_at; \
\
				for (; to >= sort_gap && (array)[to - sort_gap]key > moved key; to -= sort_gap) \
					(array)[to] = (array)[to - sort_gap]; \
				(array)[to] = moved; \
			} \
		} \
	} while (0)

#endif							/* RENC_SORT_H */
