/*
 * defaults.c
 *		With no query known: the rule's shape against the search's.
 *
 *		defaults [-s SEED] [-b BITS] [-n KEYS] [-g GROUPS] [NAME UNIT FILE]...
 *
 * For each kind of keys (made ones, and columns: one key per line in the order
 * of the table), measured false positive rates of queries that begin at a key of
 * another range, by length: in units, and in parts of the keys' spacing.  "Apart": of 1,024
 * units at a distance from a key that is spread over the orders of magnitude.  Then the
 * time that searching took over GROUPS groups, relative to sorting their keys and
 * setting their bits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "workload.h"

#define QUERIES		4000
#define SAMPLES		128

static double bits_per_key = 20;
static size_t keys_per_range = 1120;
static int	ngroups = 8;

/* Lengths: > 0 in units, < 0 in parts of the spacing. */
static const double lengths[] = {1, 32, 1024, -0x1p-20, -0x1p-10, -0x1p-5, -0.25, -1};

#define NLENGTHS	((int) (sizeof(lengths) / sizeof(lengths[0])))

static double
spacing_of(const bench_group *g)
{
	double		sum = 0;

	for (int r = 0; r < g->nranges; r++)
	{
		const renc_keys *k = &g->ranges[r];
		size_t		i = k->n / 2;
		size_t		end = i + 8 < k->n ? i + 8 : k->n - 1;

		sum += end > i ? log((double) (k->key[end] - k->key[i]) / (double) (end - i)) : 40;
	}
	return exp(sum / g->nranges);
}

/* The rate of intervals, which are freed. */
static void
measure(const bench_group *g, const renc_shape *shape, renc_interval *interval)
{
	bench_queries q = bench_queries_make(g, interval, QUERIES);
	bench_result r = bench_probe(g, g->nranges, shape, &q, QUERIES);

	printf(" %8.1e%s", r.fpr, r.missed > 0 ? " MISSED" : "");
	bench_queries_free(&q);
}

static renc_interval *
draw_at_keys(const bench_group *g, uint64_t more)
{
	renc_interval *interval = (renc_interval *) test_alloc(QUERIES * sizeof(renc_interval));

	for (int k = 0; k < QUERIES; k++)
	{
		const renc_keys *keys = &g->ranges[bench_below(g->nranges)];

		interval[k].lo = keys->key[bench_below(keys->n)];
		interval[k].hi = interval[k].lo + more < interval[k].lo ? ~UINT64_C(0) :
			interval[k].lo + more;
	}
	return interval;
}

/* Between the least and the greatest key, at some distance from one. */
static renc_interval *
draw_apart(const bench_group *g, uint64_t length)
{
	renc_interval *interval = draw_at_keys(g, 0);
	double		most = (double) (g->greatest - g->least);

	for (int k = 0; k < QUERIES; k++)
	{
		uint64_t	key = interval[k].lo;
		uint64_t	lo;

		do
		{
			uint64_t	distance = (uint64_t) exp2(rnd_unit() * log2(most));

			lo = bench_below(2) ? key + distance : key - distance;
		} while (lo < g->least || lo > g->greatest);
		interval[k].lo = lo;
		interval[k].hi = g->greatest - lo < length ? g->greatest : lo + (length - 1);
	}
	return interval;
}

static void
measure_lengths(bench_group *g, uint64_t unit, const renc_shape *shape, const char *what)
{
	double		spacing = spacing_of(g);

	printf("  %-7s", what);
	bench_fill(g, g->nranges, shape);
	for (int i = 0; i < NLENGTHS; i++)
	{
		double		length = lengths[i] > 0 ? lengths[i] * (double) unit : -lengths[i] * spacing;

		measure(g, shape, draw_at_keys(g, length > 1 ? (uint64_t) length - 1 : 0));
	}
	measure(g, shape, draw_apart(g, 1024 * unit));
	printf("  %s\n", bench_describe(shape));
}

static void
run_keys(const char *name, uint64_t unit, uint64_t *keys, size_t n, size_t per_range)
{
	renc_sample *sample = (renc_sample *) test_alloc(SAMPLES * sizeof(renc_sample));
	size_t		per_group = per_range * RENC_GROUP_RANGES;
	double		build = 0;
	double		searching = 0;
	double		greatest = 0;
	double		first = 0;
	int			groups = 0;
	renc_choice choice;

	for (size_t at = 0; at + per_range <= n && groups < ngroups; at += per_group, groups++)
	{
		bench_group g;
		renc_trial_input in;
		renc_shape	rule;
		double		start = bench_seconds();
		double		spent;

		bench_group_init(&g, keys + at, n - at < per_group ? n - at : per_group, per_range,
						 bits_per_key);
		build += bench_seconds() - start;
		start = bench_seconds();
		renc_rule_shape(g.ranges, g.nranges, bits_per_key, false, &rule);
		if (groups == 0)
		{
			/* As design/filter_design.c has it; later groups keep the shape. */
			in = bench_input(&g, sample, renc_own_samples_make(g.ranges, g.nranges, 0, 1, sample, SAMPLES));
			in.asked_share = 0;
			in.window_cost = 0.02;
			in.max_kw = RENC_SEARCH_KW;
			bench_search(&in, bits_per_key, NULL, &choice);
		}
		spent = bench_seconds() - start;
		if (groups == 0)
			first = spent;
		searching += spent;
		greatest = spent > greatest ? spent : greatest;
		start = bench_seconds();
		bench_fill(&g, g.nranges, &choice.shape);
		build += bench_seconds() - start;
		if (groups == 0)
		{
			printf("%s: %zu keys a range, %u windows\n", name, g.ranges[0].n, g.nwindows);
			measure_lengths(&g, unit, &rule, "rule");
			measure_lengths(&g, unit, &choice.shape, "search");
		}
		bench_group_free(&g);
	}
	printf("  %d groups, build %.1f ms a group; search %.1f ms the first, %.2f ms a group "
		   "later, in all %.0f %% of the build\n", groups, build * 1e3 / groups,
		   first * 1e3, groups > 1 ? (searching - first) * 1e3 / (groups - 1) : 0,
		   100 * searching / build);
	fflush(stdout);
	free(sample);
}

int
main(int argc, char **argv)
{
	uint64_t	seed = 1;
	bool		only_columns = false;
	int			opt;

	while ((opt = getopt(argc, argv, "s:b:n:g:c")) != -1)
	{
		switch (opt)
		{
			case 's':
				seed = strtoull(optarg, NULL, 10);
				break;
			case 'b':
				bits_per_key = atof(optarg);
				break;
			case 'n':
				keys_per_range = (size_t) atol(optarg);
				break;
			case 'g':
				ngroups = atoi(optarg);
				break;
			case 'c':
				only_columns = true;
				break;
			default:
				return EXIT_FAILURE;
		}
	}
	rnd_seed(seed);
	printf("# seed %llu, %g bits a key; lengths", (unsigned long long) seed, bits_per_key);
	for (int i = 0; i < NLENGTHS; i++)
		printf(lengths[i] > 0 ? " %g" : " %g spacings", fabs(lengths[i]));
	printf(", apart\n");
	for (const key_kind *kind = key_kinds; kind->name != NULL && !only_columns; kind++)
	{
		size_t		n = keys_per_range * RENC_GROUP_RANGES * ngroups;
		uint64_t   *keys = (uint64_t *) test_alloc(n * sizeof(uint64_t));

		for (size_t i = 0; i < n; i++)
			keys[i] = kind->key(i);
		run_keys(kind->name, kind->unit, keys, n, keys_per_range);
		free(keys);
	}
	for (; optind + 2 < argc; optind += 3)
	{
		size_t		n;
		uint64_t   *keys = bench_read_column(argv[optind + 2], &n);

		run_keys(argv[optind], strtoull(argv[optind + 1], NULL, 10), keys, n, keys_per_range);
		free(keys);
	}
	return EXIT_SUCCESS;
}
