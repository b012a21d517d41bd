/*
 * effort.c
 *		What is a search worth that looks at few shapes?
 *
 *		effort [-s SEED] [-n KEYS] [-r RANGES] [-c WINDOW-COST] [-k KEYS] [-w QUERIES]
 *				[NAME UNIT FILE]...
 *
 * For each kind of keys (made ones; columns: one key per line in the order of the table)
 * the predicted cost of the shape that a search of so many predictions finds, relative to
 * the least found by any, and its time in ms.  "g": with a grid of regular shapes.  Samples
 * are made from the keys, as for an index of which no queries are known, or with -w
 * drawn from a kind of queries (workload.c).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "workload.h"

#include "renc_search_work.h"

#define BITS		20
#define SAMPLES		1300

static const struct
{
	int			predictions;
	bool		grid;
}			tried[] = {{60, false}, {120, false}, {200, false}, {300, false}, {600, false},
{200, true}, {400, true}, {600, true}, {800, true}, {1200, true}, {3000, true}};

#define NTRIED		((int) (sizeof(tried) / sizeof(tried[0])))

static renc_model *model;
static size_t keys_per_range = 1120;
static int	nranges = RENC_GROUP_RANGES;
static double window_cost = 0.02;	/* as plan.c has it */
static double sum[NTRIED];		/* of logarithms of costs */
static double worst[NTRIED];
static double all_ms[NTRIED];
static int	nkinds;

static size_t
draw_samples(const bench_group *g, uint64_t unit, const query_kind *kind, renc_sample *sample)
{
	if (kind == NULL)
		return renc_search_own_samples(g->ranges, g->nranges, 0, rnd(), sample,
									   RENC_SEARCH_SAMPLES);
	for (int i = 0; i < SAMPLES; i++)
	{
		memset(&sample[i], 0, sizeof(sample[i]));
		kind->query(g, unit, &sample[i].lo, &sample[i].hi);
		sample[i].weight = 1;
		sample[i].anchor = -1;
	}
	return SAMPLES;
}

static void
run_keys(const char *name, uint64_t unit, uint64_t *keys, size_t n, const query_kind *kind)
{
	static renc_sample sample[SAMPLES];
	bench_group g;
	renc_model_input in;
	double		cost[NTRIED];
	double		ms[NTRIED];
	double		least = INFINITY;

	if (n > keys_per_range * nranges)
		n = keys_per_range * nranges;
	bench_group_init(&g, keys, n, keys_per_range, BITS);
	in = bench_input(&g, sample, draw_samples(&g, unit, kind, sample));
	in.window_cost = window_cost;
	for (int i = 0; i < NTRIED; i++)
	{
		search_result found;

		ms[i] = -1e3 * bench_seconds();
		renc_model_init(model, &in);
		renc_search_model(model, &in, BITS, NULL, tried[i].grid, tried[i].predictions, &found);
		ms[i] += 1e3 * bench_seconds();
		cost[i] = found.p.cost;
		least = fmin(least, cost[i]);
	}
	printf("%-12s %9.3g", name, least);
	for (int i = 0; i < NTRIED; i++)
	{
		double		times = least > 0 ? cost[i] / least : 1;

		printf(" %6.2f %3.0f", times, ms[i]);
		sum[i] += log(times);
		worst[i] = fmax(worst[i], times);
		all_ms[i] += ms[i];
	}
	printf("\n");
	fflush(stdout);
	nkinds++;
	bench_group_free(&g);
}

static void
print_totals(void)
{
	printf("%-22s", "mean (geometric), ms");
	for (int i = 0; i < NTRIED; i++)
		printf(" %6.2f %3.0f", exp(sum[i] / nkinds), all_ms[i] / nkinds);
	printf("\n%-22s", "worst");
	for (int i = 0; i < NTRIED; i++)
		printf(" %6.2f    ", worst[i]);
	printf("\n");
}

int
main(int argc, char **argv)
{
	const char *only_keys = NULL;
	const query_kind *kind = NULL;
	uint64_t	seed = 1;
	int			opt;

	while ((opt = getopt(argc, argv, "s:n:r:c:k:w:")) != -1)
	{
		switch (opt)
		{
			case 's':
				seed = strtoull(optarg, NULL, 10);
				break;
			case 'n':
				keys_per_range = (size_t) atol(optarg);
				break;
			case 'r':
				nranges = atoi(optarg);
				break;
			case 'c':
				window_cost = atof(optarg);
				break;
			case 'k':
				only_keys = optarg;
				break;
			case 'w':
				for (kind = query_kinds; kind->name != NULL && strcmp(kind->name, optarg) != 0;)
					kind++;
				if (kind->name == NULL)
					return EXIT_FAILURE;
				break;
			default:
				return EXIT_FAILURE;
		}
	}
	rnd_seed(seed);
	model = (renc_model *) test_alloc(renc_model_size());
	printf("# seed %llu, %d ranges of %zu keys\n%-12s %9s", (unsigned long long) seed, nranges,
		   keys_per_range, "keys", "least");
	for (int i = 0; i < NTRIED; i++)
		printf(" %6d%s %2s", tried[i].predictions, tried[i].grid ? "g" : " ", "ms");
	printf("\n");
	for (const key_kind *made = key_kinds; made->name != NULL; made++)
	{
		size_t		n = keys_per_range * nranges;
		uint64_t   *keys = (uint64_t *) test_alloc(n * sizeof(uint64_t));

		for (size_t i = 0; i < n; i++)
			keys[i] = made->key(i);
		if (only_keys == NULL || strcmp(only_keys, made->name) == 0)
			run_keys(made->name, made->unit, keys, n, kind);
		free(keys);
	}
	for (; optind + 2 < argc; optind += 3)
	{
		size_t		n;
		uint64_t   *keys;

		if (only_keys != NULL && strcmp(only_keys, argv[optind]) != 0)
			continue;
		keys = bench_read_column(argv[optind + 2], &n);
		run_keys(argv[optind], strtoull(argv[optind + 1], NULL, 10), keys, n, kind);
		free(keys);
	}
	print_totals();
	free(model);
	return EXIT_SUCCESS;
}
