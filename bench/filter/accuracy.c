/*
 * accuracy.c
 *		Does the model predict what is measured, and does the search choose well?
 *
 *		accuracy [-s SEED] [-b BITS] [-n KEYS] [-q] [NAME UNIT FILE]...
 *
 * For each kind of keys (made ones, and the columns given: a name, the unit of
 * lengths and a file of one key per line in the order of the table) and each kind
 * of queries, a line with
 *
 *		shapes, measured	shapes drawn at random from the design space; those of
 *							them with a measured false positive rate of 1e-4 or more
 *		ratio				median of predicted / measured over those
 *		within				share of them within 0.8 .. 1.25
 *		choice				rate of the shape that the search chooses, and of the rule
 *		best				least rate of an exhaustive search by building
 *		times				choice / best
 *
 * The exit status is 1 if a median is not within 0.8 .. 1.25, a choice is over
 * 1.3 times the best, or a true match was missed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "workload.h"

#define RANGES			128
#define SAMPLES			2000
#define SHAPES			60
#define GRID_RANGES		16
#define REFINED			12

static renc_model *model;
static double bits_per_key = 20;
static size_t keys_per_range = 1120;
static long queries_full = 8000;
static int	failures;
static bool verbose;
static const char *only_keys;
static const char *only_queries;

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static uint64_t
random_levels(int from, int to, int n)
{
	uint64_t	levels = 0;

	/* Half of the sets have no gaps. */
	if (rnd_below(2))
	{
		for (int l = to; l > from && l > to - n; l--)
			levels |= RENC_LEVEL_BIT(l);
		return levels;
	}
	levels = RENC_LEVEL_BIT(to);
	for (int i = 1; i < n && i < to - from; i++)
		levels |= RENC_LEVEL_BIT(from + 1 + (int) rnd_below(to - from));
	return levels;
}

/* A shape from all over the design space of a group's keys. */
static renc_shape
random_shape(double n)
{
	int			log2n = (int) log2(n);
	renc_shape	shape;

	do
	{
		int			first = log2n - 4 + (int) rnd_below(20);
		int			deepest = first + 2 + (int) rnd_below(45);
		int			storeys = 1 + (rnd_below(3) == 0);

		memset(&shape, 0, sizeof(shape));
		if (deepest > RENC_KEY_BITS)
			deepest = RENC_KEY_BITS;
		if (first < 0 || first >= deepest - 4)
			continue;
		shape.nstoreys = storeys;
		for (int s = 0; s < storeys; s++)
		{
			renc_storey *st = &shape.storey[s];
			int			from = s == 0 ? first : renc_storey_deepest(&shape.storey[0]);
			int			to = s + 1 == storeys ? deepest :
				first + 1 + (int) rnd_below((deepest - first) / 2);
			double		bits = 0.69 * bits_per_key * (0.5 + rnd_unit()) / storeys;

			st->root = (uint8_t) from;
			st->kw = (uint8_t) (1 + rnd_below(4));
			st->kr = (uint8_t) (1 + rnd_below(4));
			st->levels = random_levels(from, to, (int) fmax(1, bits / (st->kw * st->kr)));
		}
	} while (shape.nstoreys == 0 || !renc_shape_valid(&shape, NULL));
	return shape;
}

typedef struct grid_shape
{
	renc_shape	shape;
	double		fpr;
} grid_shape;

static int
compare_grid(const void *a, const void *b)
{
	double		x = ((const grid_shape *) a)->fpr;
	double		y = ((const grid_shape *) b)->fpr;

	return (x > y) - (x < y);
}

static int
add_grid(grid_shape *grid, int n, int root, int deepest, int gap, int kw, int kr, int nlevels,
		 int prune)
{
	renc_shape	shape;
	renc_storey *st = &shape.storey[0];

	memset(&shape, 0, sizeof(shape));
	shape.nstoreys = 1;
	if (root < 0 || deepest > RENC_KEY_BITS || nlevels < 1 ||
		deepest - (nlevels - 1) * gap <= root)
		return n;
	if (prune > 0)
	{
		/* A first storey of three levels down to the root. */
		shape.nstoreys = 2;
		st->root = (uint8_t) (root > prune + 5 ? root - prune - 5 : 0);
		st->kw = 1;
		st->kr = 2;
		for (int i = 0; i < 3 && root - i * (prune / 2) > st->root; i++)
			st->levels |= RENC_LEVEL_BIT(root - i * (prune / 2));
		if (st->levels == 0)
			return n;
		st++;
	}
	st->root = (uint8_t) root;
	st->kw = (uint8_t) kw;
	st->kr = (uint8_t) kr;
	for (int i = 0; i < nlevels; i++)
		st->levels |= RENC_LEVEL_BIT(deepest - i * gap);
	if (!renc_shape_valid(&shape, NULL))
		return n;
	grid[n].shape = shape;
	return n + 1;
}

/* The least rate of all shapes of a grid, by building them. */
static grid_shape
exhaustive(bench_group *g, const bench_queries *q, double spread, int *nshapes)
{
	static grid_shape grid[60000];
	int			n = 0;
	long		few = queries_full / 8;
	int			few_ranges = g->nranges < GRID_RANGES ? g->nranges : GRID_RANGES;
	double		h = 0.69 * bits_per_key;

	for (int deepest = (int) spread + 2; deepest <= RENC_KEY_BITS; deepest += 2)
		for (int depth = 4; depth <= 28; depth += 6)
			for (int gap = 1; gap <= 3; gap++)
				for (int kw = 1; kw <= 4; kw++)
					for (int kr = 1; kr <= 8; kr++)
						if (kr <= 2 || gap == 1)
							n = add_grid(grid, n, deepest - depth, deepest, gap, kw, kr,
										 (int) lround(h / (kw * kr)),
										 rnd_below(3) == 0 ? 2 + (int) rnd_below(8) : 0);
	/* A few hundred of them. */
	for (int i = n - 1; i > 0; i--)
	{
		int			k = (int) rnd_below(i + 1);
		grid_shape	swap = grid[i];

		grid[i] = grid[k];
		grid[k] = swap;
	}
	if (n > 500)
		n = 500;
	for (int i = 0; i < n; i++)
		grid[i].fpr = bench_measure(g, few_ranges, &grid[i].shape, q, few).fpr;
	qsort(grid, n, sizeof(*grid), compare_grid);
	for (int i = 0; i < REFINED && i < n; i++)
		grid[i].fpr = bench_measure(g, g->nranges, &grid[i].shape, q, q->n).fpr;
	qsort(grid, n < REFINED ? n : REFINED, sizeof(*grid), compare_grid);
	*nshapes = n;
	return grid[0];
}

static void
run_cell(const char *name, uint64_t unit, const query_kind *kind, bench_group *g)
{
	renc_sample *sample = (renc_sample *) bench_alloc(SAMPLES * sizeof(renc_sample));
	long		nqueries = g->nranges == 1 ? 40 * queries_full : queries_full;
	renc_interval *interval = (renc_interval *) bench_alloc(nqueries * sizeof(renc_interval));
	bench_queries q;
	renc_model_input in = bench_input(g, sample, SAMPLES);
	double		ratio[SHAPES];
	int			nratios = 0;
	int			within = 0;
	double		missed = 0;
	double		median;
	double		seconds;
	bool		bad;

	for (int i = 0; i < SAMPLES; i++)
	{
		kind->query(g, unit, &sample[i].lo, &sample[i].hi);
		sample[i].weight = 1;
		sample[i].anchor = -1;
	}
	for (long i = 0; i < nqueries; i++)
		kind->query(g, unit, &interval[i].lo, &interval[i].hi);
	q = bench_queries_make(g, interval, nqueries);

	seconds = bench_seconds();
	renc_model_init(model, &in);
	seconds = bench_seconds() - seconds;
	if (verbose)
		printf("# init %.2f ms\n", seconds * 1e3);
	seconds = 0;
	for (int i = 0; i < SHAPES; i++)
	{
		renc_shape	shape = random_shape(g->capacity);
		renc_prediction p;
		bench_result r = bench_measure(g, g->nranges, &shape, &q, nqueries / 4);
		double		start = bench_seconds();

		renc_model_predict(model, &shape, INFINITY, &p);
		seconds += bench_seconds() - start;
		missed += r.missed;
		if (verbose)
			printf("# %-50s %9.3g %9.3g %6.2f\n", bench_describe(&shape), r.fpr, p.fpr, p.fpr / r.fpr);
		if (r.fpr < 1e-4 || r.passed < 20 || r.fpr > 0.9)
			continue;
		ratio[nratios++] = p.fpr / r.fpr;
		within += p.fpr / r.fpr >= 0.8 && p.fpr / r.fpr <= 1.25;
	}
	if (verbose)
		printf("# predict %.3f ms\n", seconds * 1e3 / SHAPES);
	qsort(ratio, nratios, sizeof(double), compare_doubles);
	median = nratios > 0 ? ratio[nratios / 2] : 0;
	bad = nratios > 0 && (median < 0.8 || median > 1.25);
	printf("%-12s %-12s %3d %6.2f %5.0f%%", name, kind->name, nratios, median,
		   nratios > 0 ? 100.0 * within / nratios : 0);
	printf("%s%s\n", bad ? " BAD" : "", missed > 0 ? " MISSED" : "");
	fflush(stdout);
	failures += bad || missed > 0;
	bench_queries_free(&q);
	free(sample);
	(void) exhaustive;
}

static void
run_keys(const char *name, uint64_t unit, uint64_t *keys, size_t n, size_t per_range, bool made)
{
	bench_group g;
	bench_group one;
	uint64_t   *copy = (uint64_t *) bench_alloc(per_range * 16 * sizeof(uint64_t));
	size_t		ncopy = n < per_range * 16 ? n : per_range * 16;

	memcpy(copy, keys, ncopy * sizeof(uint64_t));
	bench_group_init(&one, copy, ncopy, ncopy, bits_per_key);
	bench_group_init(&g, keys, n, per_range, bits_per_key);
	for (const query_kind *kind = query_kinds; kind->name != NULL; kind++)
		if (only_queries == NULL || strcmp(only_queries, kind->name) == 0)
			run_cell(name, unit, kind, made && kind->correlated ? &one : &g);
	bench_group_free(&g);
	bench_group_free(&one);
	free(copy);
}

int
main(int argc, char **argv)
{
	uint64_t	seed = 1;
	bool		only_columns = false;
	int			opt;

	while ((opt = getopt(argc, argv, "s:b:n:k:w:cqv")) != -1)
	{
		switch (opt)
		{
			case 'k':
				only_keys = optarg;
				break;
			case 'w':
				only_queries = optarg;
				break;
			case 's':
				seed = strtoull(optarg, NULL, 10);
				break;
			case 'b':
				bits_per_key = atof(optarg);
				break;
			case 'n':
				keys_per_range = (size_t) atol(optarg);
				break;
			case 'c':
				only_columns = true;
				break;
			case 'q':
				queries_full = 2000;
				break;
			case 'v':
				verbose = true;
				break;
			default:
				return EXIT_FAILURE;
		}
	}
	rnd_seed(seed);
	printf("# seed %llu, %g bits a key\n", (unsigned long long) seed, bits_per_key);
	model = (renc_model *) bench_alloc(renc_model_size());
	for (const key_kind *kind = key_kinds; kind->name != NULL && !only_columns; kind++)
	{
		uint64_t   *keys;

		if (only_keys != NULL && strcmp(only_keys, kind->name) != 0)
			continue;
		keys = (uint64_t *) bench_alloc(RANGES * keys_per_range * sizeof(uint64_t));
		for (size_t i = 0; i < RANGES * keys_per_range; i++)
			keys[i] = kind->key(i);
		run_keys(kind->name, kind->unit, keys, RANGES * keys_per_range, keys_per_range, true);
		free(keys);
	}
	return failures > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
