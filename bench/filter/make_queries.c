/*
 * make_queries.c
 *		Files for renc_bench: uniform keys, and the queries of the published
 *		measurements.
 *
 *		make_queries SEED FILTERS N QUERIES KIND DISTANCE KEYS-FILE QUERIES-FILE SAMPLES-FILE
 *
 * KIND is "uniform" or "correlated" (starting DISTANCE above a key); lengths are
 * 2 .. 32.  Queries that match any filter are not written.
 */
#include <stdio.h>
#include <stdlib.h>

#include "benchlib.h"

static void
write_integer(FILE *f, uint64_t x)
{
	uint8_t		bytes[8];

	renc_store64(bytes, x);
	if (fwrite(bytes, 1, 8, f) != 8)
		exit(EXIT_FAILURE);
}

static bool
matches(const uint64_t *sorted, size_t n, uint64_t lo, uint64_t hi)
{
	size_t		left = 0;
	size_t		right = n;

	while (left < right)
	{
		size_t		mid = left + (right - left) / 2;

		if (sorted[mid] < lo)
			left = mid + 1;
		else
			right = mid;
	}
	return left < n && sorted[left] <= hi;
}

static void
write_queries(const char *name, long n, bool correlated, uint64_t distance,
			  const uint64_t *sorted, size_t nkeys)
{
	FILE	   *f = fopen(name, "wb");

	if (f == NULL)
		exit(EXIT_FAILURE);
	while (n > 0)
	{
		uint64_t	lo = correlated ? sorted[bench_below(nkeys)] + distance : rnd();
		uint64_t	hi = lo + 1 + bench_below(31);

		if (hi < lo || lo < distance || matches(sorted, nkeys, lo, hi))
			continue;
		write_integer(f, lo);
		write_integer(f, hi);
		n--;
	}
	fclose(f);
}

int
main(int argc, char **argv)
{
	size_t		nkeys;
	uint64_t   *keys;
	FILE	   *f;
	bool		correlated;
	uint64_t	distance;

	if (argc != 10)
		return EXIT_FAILURE;
	rnd_seed(strtoull(argv[1], NULL, 10));
	nkeys = strtoull(argv[2], NULL, 10) * strtoull(argv[3], NULL, 10);
	correlated = strcmp(argv[5], "correlated") == 0;
	distance = strtoull(argv[6], NULL, 10);
	keys = (uint64_t *) test_alloc(nkeys * sizeof(uint64_t));
	f = fopen(argv[7], "wb");
	if (f == NULL)
		return EXIT_FAILURE;
	for (size_t i = 0; i < nkeys; i++)
	{
		keys[i] = rnd();
		write_integer(f, keys[i]);
	}
	fclose(f);
	nkeys = sort_keys(keys, nkeys);
	write_queries(argv[8], atol(argv[4]), correlated, distance, keys, nkeys);
	write_queries(argv[9], 20000, correlated, distance, keys, nkeys);
	return EXIT_SUCCESS;
}
