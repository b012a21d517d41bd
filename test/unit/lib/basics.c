/*
 * basics.c
 *		Random numbers, memory and sorted keys.
 */
#include "basics.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t rnd_state = 1;

void
rnd_seed(uint64_t seed)
{
	rnd_state = seed;
}

/* splitmix64: one state word, good for any seed. */
uint64_t
rnd(void)
{
	uint64_t	z = (rnd_state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t
rnd_below(uint64_t n)
{
	return rnd() % n;
}

double
rnd_unit(void)
{
	return (double) (rnd() >> 11) * 0x1p-53;
}

void *
test_alloc(size_t size)
{
	void	   *p = calloc(1, size > 0 ? size : 1);

	if (p == NULL)
	{
		fprintf(stderr, "out of memory\n");
		exit(EXIT_FAILURE);
	}
	return p;
}

static int
compare_keys(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

size_t
sort_keys(uint64_t *keys, size_t n)
{
	size_t		kept = 0;

	if (n == 0)
		return 0;
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || keys[kept - 1] != keys[i])
			keys[kept++] = keys[i];
	return kept;
}

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

void
sort_doubles(double *values, size_t n)
{
	qsort(values, n, sizeof(double), compare_doubles);
}

bool
keys_meet(const uint64_t *keys, size_t n, uint64_t lo, uint64_t hi)
{
	size_t		left = 0;
	size_t		right = n;

	while (left < right)
	{
		size_t		mid = left + (right - left) / 2;

		if (keys[mid] < lo)
			left = mid + 1;
		else
			right = mid;
	}
	return left < n && keys[left] <= hi;
}
