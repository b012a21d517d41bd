/*
 * place_set.h
 *		Small sets of places, as plain bits.
 */
#ifndef PLACE_SET_H
#define PLACE_SET_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_PLACES	1024

/* Places from a run's first on. */
typedef struct place_set
{
	uint64_t	w[MAX_PLACES / 64];
} place_set;

static inline void
set_place(place_set *set, uint32_t place)
{
	set->w[place / 64] |= UINT64_C(1) << place % 64;
}

static inline bool
has_place(const place_set *set, uint32_t place)
{
	return set->w[place / 64] >> place % 64 & 1;
}

/* Places of one set that the other has not. */
static inline int
count_others(const place_set *one, const place_set * other)
{
	int			n = 0;

	for (int i = 0; i < MAX_PLACES / 64; i++)
		n += __builtin_popcountll(one->w[i] & ~other->w[i]);
	return n;
}

static inline void
add_places(place_set *to, const place_set * from)
{
	for (int i = 0; i < MAX_PLACES / 64; i++)
		to->w[i] |= from->w[i];
}

#endif							/* PLACE_SET_H */
