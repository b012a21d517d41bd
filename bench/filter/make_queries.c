/*
 * make_queries.c
 *		Files for renc_bench: keys and queries of the published measurements.
 *
 *		make_queries SEED FILTERS N QUERIES KIND DISTANCE KEYS-FILE QUERIES-FILE SAMPLES-FILE
 *				[LENGTH [KEYS]]
 *
 * KIND is "uniform", "correlated" (starting DISTANCE above a key) or "split" (every other one
 * correlated, of up to 32 values, as in the article of Proteus); lengths are 2 .. LENGTH
 * (32 if it is not given), or 1.  Queries that match any filter are not written.
 *
 * KEYS are "uniform", "normal" (deviation 2^60), "skewed" (99 % of them in 1 % of the domain, as
 * in REncoder's article), "clustered" (each in one of 100 places of 2^32 integers), or have the
 * shape of a data set of SOSD (Kipf et al., "SOSD: A Benchmark for Learned Indexes"): "books"
 * (popularity: log-normal), "facebook" (dense ids, and a few far above all others), "osm" (cells
 * of the earth: places of all sizes), "wiki" (moments of edits in seconds, denser from year to
 * year).  Those queries that are uniform are drawn as the keys are.
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

#define PLACES	2000

static uint64_t places[PLACES];

static double
part(void)
{
	return ((double) (rnd() >> 11) + 0.5) / 9007199254740992.0;
}

static double
normal(void)
{
	double		radius = sqrt(-2 * log(part()));

	return radius * cos(6.283185307179586 * part());
}

static uint64_t
draw(const char *kind)
{
	double		x;

	if (strcmp(kind, "normal") == 0)
	{
		x = fmin(fmax(normal(), -7.9), 7.9);
		return (uint64_t) (9223372036854775808.0 + x * 1152921504606846976.0);
	}
	if (strcmp(kind, "skewed") == 0)
		return bench_below(100) == 0 ? rnd() : ~UINT64_C(0) / 6 + bench_below(~UINT64_C(0) / 100);
	if (strcmp(kind, "books") == 0)
		return (uint64_t) (1099511627776.0 * exp(fmin(2 * normal(), 16)));
	if (strcmp(kind, "facebook") == 0)
		return bench_below(5000) == 0 ? rnd() : bench_below(UINT64_C(1) << 36);
	if (strcmp(kind, "osm") == 0)
	{
		/* The first places have most; each is as large as it likes. */
		x = floor(PLACES * pow(part(), 3));
		return places[(int) x] + bench_below(UINT64_C(1) << (16 + (int) x % 36));
	}
	if (strcmp(kind, "wiki") == 0)
		return UINT64_C(1000000000) + (uint64_t) (3e8 * sqrt(part()));
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
write_queries(const char *name, long n, const char *queries, uint64_t distance, uint64_t most,
			  const char *kind, const uint64_t *sorted, size_t nkeys)
{
	bool		split = strcmp(queries, "split") == 0;
	FILE	   *f = fopen(name, "wb");

	if (f == NULL)
		exit(EXIT_FAILURE);
	while (n > 0)
	{
		bool		correlated = split ? n % 2 == 0 : strcmp(queries, "correlated") == 0;
		uint64_t	length = split && correlated ? 32 : most;
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
	distance = strtoull(argv[6], NULL, 10);
	keys = (uint64_t *) test_alloc(nkeys * sizeof(uint64_t));
	f = fopen(argv[7], "wb");
	if (f == NULL)
		return EXIT_FAILURE;
	if (strcmp(kind, "clustered") == 0 || strcmp(kind, "osm") == 0)
		for (int i = 0; i < PLACES; i++)
			places[i] = rnd();
	for (size_t i = 0; i < nkeys; i++)
	{
		keys[i] = draw(kind);
		write_integer(f, keys[i]);
	}
	fclose(f);
	nkeys = sort_keys(keys, nkeys);
	write_queries(argv[8], atol(argv[4]), argv[5], distance, length, kind, keys, nkeys);
	write_queries(argv[9], 20000, argv[5], distance, length, kind, keys, nkeys);
	return EXIT_SUCCESS;
}
