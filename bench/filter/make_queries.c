/*
 * make_queries.c
 *		Files for renc_bench: keys and queries of the published measurements.
 *
 *		make_queries SEED FILTERS N QUERIES KIND DISTANCE KEYS-FILE QUERIES-FILE SAMPLES-FILE
 *				[LENGTH [KEYS]]
 *
 * KIND is "uniform" or "correlated" (starting DISTANCE above a key); lengths are
 * 2 .. LENGTH (32 if it is not given), or 1.  Queries that match any filter are not
 * written.  KEYS are "uniform", "normal" (deviation 2^60), "zipf" (one in the x
 * smallest as often as ln x says) or "clustered" (each in one of 100 places of 2^32
 * integers); those queries that are uniform are drawn as the keys are.
 */
#include <math.h>
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

static uint64_t places[100];

static double
part(void)
{
	return ((double) (rnd() >> 11) + 0.5) / 9007199254740992.0;
}

static uint64_t
draw(const char *kind)
{
	double		x;

	if (strcmp(kind, "normal") == 0)
	{
		x = sqrt(-2 * log(part())) * cos(6.283185307179586 * part());
		x = fmin(fmax(x, -7.9), 7.9);
		return (uint64_t) (9223372036854775808.0 + x * 1152921504606846976.0);
	}
	if (strcmp(kind, "zipf") == 0)
		return (uint64_t) exp(part() * log(18446744073709549568.0));
	if (strcmp(kind, "clustered") == 0)
		return places[bench_below(100)] + (rnd() & 0xffffffff);
	return rnd();
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
write_queries(const char *name, long n, bool correlated, uint64_t distance, uint64_t length,
			  const char *kind, const uint64_t *sorted, size_t nkeys)
{
	FILE	   *f = fopen(name, "wb");

	if (f == NULL)
		exit(EXIT_FAILURE);
	while (n > 0)
	{
		uint64_t	lo = correlated ? sorted[bench_below(nkeys)] + distance : draw(kind);
		uint64_t	hi = length < 2 ? lo : lo + 1 + bench_below(length - 1);

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
	uint64_t	length = 32;
	const char *kind = "uniform";

	if (argc < 10 || argc > 12)
		return EXIT_FAILURE;
	if (argc > 10)
		length = strtoull(argv[10], NULL, 10);
	if (argc > 11)
		kind = argv[11];
	rnd_seed(strtoull(argv[1], NULL, 10));
	nkeys = strtoull(argv[2], NULL, 10) * strtoull(argv[3], NULL, 10);
	correlated = strcmp(argv[5], "correlated") == 0;
	distance = strtoull(argv[6], NULL, 10);
	keys = (uint64_t *) test_alloc(nkeys * sizeof(uint64_t));
	f = fopen(argv[7], "wb");
	if (f == NULL)
		return EXIT_FAILURE;
	if (strcmp(kind, "clustered") == 0)
		for (int i = 0; i < 100; i++)
			places[i] = rnd();
	for (size_t i = 0; i < nkeys; i++)
	{
		keys[i] = draw(kind);
		write_integer(f, keys[i]);
	}
	fclose(f);
	nkeys = sort_keys(keys, nkeys);
	write_queries(argv[8], atol(argv[4]), correlated, distance, length, kind, keys, nkeys);
	write_queries(argv[9], 20000, correlated, distance, length, kind, keys, nkeys);
	return EXIT_SUCCESS;
}
