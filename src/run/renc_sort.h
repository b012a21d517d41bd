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
	for (uint32_t gap = (n); gap > 1;) \
	{ \
		gap = gap < 5 ? 1 : (uint32_t) (((uint64_t) gap * 5 - 1) / 11); \
		for (uint32_t i = gap; i < (n); i++) \
		{ \
			type		moved = (array)[i]; \
			uint32_t	to = i; \
\
			for (; to >= gap && (array)[to - gap]key > moved key; to -= gap) \
				(array)[to] = (array)[to - gap]; \
			(array)[to] = moved; \
		} \
	}

#endif							/* RENC_SORT_H */
