/*
 * accuracy.c
 *		Does the model predict what is measured, and does the search choose well?
 *
 *		accuracy [-s SEED] [-b BITS] [-n KEYS] [-q] [-v] [-c] [-k KEYS] [-w QUERIES]
 *				[NAME UNIT FILE]...
 *
 * For each kind of keys (made ones, and the columns given: a name, the unit of
 * lengths and a file of one key per line in the order of the table) and each kind
 * of queries, a line with
 *
 *		shapes		shapes drawn at random from the design space with a measured
 *					false positive rate of 1e-4 .. 0.9
 *		ratio		median of predicted / measured over those
 *		within		share of them within 0.8 .. 1.25
 *		predicted	rate of the shape that the search chooses, by the model
 *		choice		measured; rule: of the rule's shape
 *		best		least rate of an exhaustive search by building, measured with
 *					queries that the choice of the best has not seen
 *		times		choice / best
 *		ms, tried	what the search took, and shapes it looked at
 *
 * 128 ranges of KEYS keys each, but for made keys and correlated queries a single
 * range of 128 times as many: else only one range in 128 would be close.
 *
 * BAD: a median not within 0.8 .. 1.25, a choice over 1.3 times the best, or a true
 * match missed.  "noise?": over 1.3, but not by more than two standard deviations of
 * the numbers of false positives.  The exit status is 1 if a line is BAD.
 *
 * -q: fewer shapes and queries (-qq: still fewer); -v: every shape compared; -c: columns only; -k, -w:
 * only this kind of keys, of queries.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "workload.h"

#define RANGES			128
#define SAMPLES			2000
#define SAMPLES_ONE		20000
#define ONE_QUERIES		40		/* more of them where there is one range */
#define SHAPES			80
#define WINDOW_COST		0.001	/* the rates are compared, so reads hardly count */
#define GRID_RANGES		16
#define REFINED			12

static renc_model *model;
static double bits_per_key = 20;
static size_t keys_per_range = 1120;
static size_t queries_full = 8000;
static int	grid_shapes = 1200;
static int	shapes = SHAPES;
static int	neighbours = 200;
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

/* Shapes that differ a little from the one given. */
static int
add_neighbours(grid_shape *grid, int n, const renc_shape *centre)
{
	for (int tries = 0; tries < neighbours; tries++)
	{
		renc_shape	shape = *centre;
		renc_storey *st = &shape.storey[rnd_below(shape.nstoreys)];
		int			shift = (int) rnd_below(3) - 1;

		if (rnd_below(2))
			st->root = (uint8_t) (st->root + rnd_below(7) - 3);
		if (rnd_below(2))
			st->levels = shift > 0 ? st->levels << 1 : shift < 0 ? st->levels >> 1 : st->levels;
		if (rnd_below(2))
			st->levels ^= RENC_LEVEL_BIT(1 + rnd_below(64)) & ~((UINT64_C(1) << st->root) - 1);
		if (rnd_below(2))
			st->kw = (uint8_t) (st->kw + rnd_below(3) - 1);
		if (rnd_below(2))
			st->kr = (uint8_t) (st->kr + rnd_below(3) - 1);
		if (renc_shape_valid(&shape, NULL))
			grid[n++].shape = shape;
	}
	return n;
}

/* Regular shapes of all kinds, some with a first storey, in random order. */
static int
make_grid(grid_shape *grid, double log2n)
{
	double		h = 0.69 * bits_per_key;
	int			n = 0;

	for (int deepest = (int) log2n - 4; deepest <= RENC_KEY_BITS; deepest++)
		for (int depth = 1; depth <= 28; depth += 3)
			for (int gap = 1; gap <= 3; gap++)
				for (int kw = 1; kw <= 4; kw++)
					for (int kr = 1; kr <= RENC_MAX_KR; kr++)
						if (kr <= 2 || gap == 1)
							n = add_grid(grid, n, deepest - depth, deepest, gap, kw, kr,
										 (int) lround(h / (kw * kr)),
										 rnd_below(3) == 0 ? 2 + (int) rnd_below(8) : 0);
	for (int i = n - 1; i > 0; i--)
	{
		int			k = (int) rnd_below(i + 1);
		grid_shape	swap = grid[i];

		grid[i] = grid[k];
		grid[k] = swap;
	}
	return n;
}

/*
 * The best of many shapes, by building them: all with few queries, the better
 * ones with more.
 */
static renc_shape
exhaustive(bench_group *g, const bench_queries *q, const renc_shape *chosen)
{
	static grid_shape grid[100000];
	int			few = g->nranges < GRID_RANGES ? g->nranges : GRID_RANGES;
	int			n = make_grid(grid, log2(g->capacity));

	n = n < grid_shapes ? n : grid_shapes;
	n = add_neighbours(grid, n, chosen);
	for (int i = 0; i < n; i++)
		grid[i].fpr = bench_measure(g, few, &grid[i].shape, q, q->n / 16).fpr;
	qsort(grid, n, sizeof(*grid), compare_grid);
	n = n < 50 ? n : 50;
	for (int i = 0; i < n; i++)
		grid[i].fpr = bench_measure(g, few, &grid[i].shape, q, q->n / 2).fpr;
	qsort(grid, n, sizeof(*grid), compare_grid);
	n = n < REFINED ? n : REFINED;
	for (int i = 0; i < n; i++)
		grid[i].fpr = bench_measure(g, g->nranges, &grid[i].shape, q, q->n).fpr;
	qsort(grid, n, sizeof(*grid), compare_grid);
	return grid[0].shape;
}

typedef struct cell
{
	bench_group *g;
	const query_kind *kind;
	uint64_t	unit;
	bench_queries q;			/* to find the best with */
	bench_queries fresh;		/* to compare with */
	renc_sample *sample;
	double		missed;
} cell;

static bench_queries
make_queries(const cell *c, size_t n)
{
	renc_interval *interval = (renc_interval *) bench_alloc(n * sizeof(renc_interval));

	for (size_t i = 0; i < n; i++)
		c->kind->query(c->g, c->unit, &interval[i].lo, &interval[i].hi);
	return bench_queries_make(c->g, interval, n);
}

/* Median of predicted / measured; *n shapes could be compared. */
static double
compare_predictions(cell *c, int *n, double *within)
{
	double		ratio[SHAPES];

	*n = 0;
	*within = 0;
	for (int i = 0; i < shapes; i++)
	{
		renc_shape	shape = random_shape(c->g->capacity);
		bench_result r = bench_measure(c->g, c->g->nranges, &shape, &c->q, c->q.n / 4);
		renc_prediction p;

		renc_model_predict(model, &shape, INFINITY, &p);
		c->missed += r.missed;
		if (verbose)
			printf("# %-50s %9.3g %9.3g %6.2f\n", bench_describe(&shape), r.fpr, p.fpr,
				   p.fpr / r.fpr);

		/* Shapes that pass nearly everything are too easy. */
		if (r.fpr < 1e-4 || r.passed < 20 || r.fpr > 0.9)
			continue;
		ratio[(*n)++] = p.fpr / r.fpr;
		*within += p.fpr / r.fpr >= 0.8 && p.fpr / r.fpr <= 1.25;
	}
	if (*n == 0)
		return 0;
	qsort(ratio, *n, sizeof(double), compare_doubles);
	*within /= *n;
	return ratio[*n / 2];
}

static void
run_cell(const char *name, cell *c)
{
	size_t		nsamples = c->g->nranges == 1 ? SAMPLES_ONE : SAMPLES;
	size_t		nqueries = c->g->nranges == 1 ? ONE_QUERIES * queries_full : queries_full;
	renc_model_input in = bench_input(c->g, c->sample, nsamples);
	renc_choice choice;
	renc_search search;
	renc_shape	rule;
	renc_shape	best;
	bench_result r_choice;
	bench_result r_rule;
	bench_result r_best;
	int			n;
	double		within;
	double		median;
	double		seconds;
	double		over;
	double		noise;
	bool		bad;

	for (size_t i = 0; i < nsamples; i++)
	{
		c->kind->query(c->g, c->unit, &c->sample[i].lo, &c->sample[i].hi);
		c->sample[i].weight = 1;
		c->sample[i].anchor = -1;
	}
	in.window_cost = WINDOW_COST;
	c->q = make_queries(c, nqueries);
	c->fresh = make_queries(c, 2 * nqueries);
	c->missed = 0;
	seconds = bench_seconds();
	renc_search_start(&search, bits_per_key);
	renc_search_group(&search, model, &in, &choice);
	seconds = bench_seconds() - seconds;
	renc_model_init(model, &in);
	median = compare_predictions(c, &n, &within);
	best = exhaustive(c->g, &c->q, &choice.shape);
	renc_rule_shape(c->g->ranges, c->g->nranges, bits_per_key, &rule);
	r_best = bench_measure(c->g, c->g->nranges, &best, &c->fresh, 2 * nqueries);
	r_rule = bench_measure(c->g, c->g->nranges, &rule, &c->fresh, 2 * nqueries);
	r_choice = bench_measure(c->g, c->g->nranges, &choice.shape, &c->fresh, 2 * nqueries);
	c->missed += r_best.missed + r_rule.missed + r_choice.missed;

	over = r_choice.fpr / fmax(r_best.fpr, 1e-12);
	noise = 2 * sqrt(1 / fmax(r_choice.passed, 1) + 1 / fmax(r_best.passed, 1));
	if (r_choice.passed == r_best.passed)
		over = 1;
	bad = (n > 0 && (median < 0.8 || median > 1.25)) || over > 1.3 * exp(noise) ||
		c->missed > 0;
	printf("%-12s %-12s %3d %6.2f %5.0f%% %9.2e %9.2e %9.2e %9.2e %6.2f %6.0f %5d  %s",
		   name, c->kind->name, n, median, 100 * within, choice.best.fpr,
		   r_choice.fpr, r_rule.fpr, r_best.fpr, over,
		   seconds * 1e3, choice.predictions, bench_describe(&choice.shape));
	printf(" best %s%s%s\n", bench_describe(&best),
		   bad ? " BAD" : over > 1.3 ? " noise?" : "", c->missed > 0 ? " MISSED" : "");
	fflush(stdout);
	failures += bad;
	bench_queries_free(&c->q);
	bench_queries_free(&c->fresh);
}

static void
run_keys(const char *name, uint64_t unit, uint64_t *keys, size_t n, size_t per_range, bool made)
{
	bench_group g;
	bench_group one;
	size_t		ncopy = made ? n : 1;
	uint64_t   *copy = (uint64_t *) bench_alloc(ncopy * sizeof(uint64_t));
	cell		c;

	memset(&c, 0, sizeof(c));
	c.unit = unit;
	c.sample = (renc_sample *) bench_alloc(SAMPLES_ONE * sizeof(renc_sample));
	memcpy(copy, keys, ncopy * sizeof(uint64_t));
	bench_group_init(&one, copy, ncopy, ncopy, bits_per_key);
	bench_group_init(&g, keys, n, per_range, bits_per_key);
	for (const query_kind *kind = query_kinds; kind->name != NULL; kind++)
		if (only_queries == NULL || strcmp(only_queries, kind->name) == 0)
		{
			c.kind = kind;
			c.g = made && kind->correlated ? &one : &g;
			run_cell(name, &c);
		}
	bench_group_free(&g);
	bench_group_free(&one);
	free(copy);
	free(c.sample);
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
				queries_full /= 2;
				grid_shapes /= 5;
				shapes /= 2;
				neighbours /= 2;
				break;
			case 'v':
				verbose = true;
				break;
			default:
				return EXIT_FAILURE;
		}
	}
	rnd_seed(seed);
	printf("# seed %llu, %g bits a key, %zu keys a range\n", (unsigned long long) seed,
		   bits_per_key, keys_per_range);
	printf("%-12s %-12s %3s %6s %6s %9s %9s %9s %9s %6s %6s %5s\n", "keys", "queries", "n",
		   "ratio", "within", "predicted", "choice", "rule", "best", "times", "ms", "tried");
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
	for (; optind + 2 < argc; optind += 3)
	{
		size_t		n;
		uint64_t   *keys;

		if (only_keys != NULL && strcmp(only_keys, argv[optind]) != 0)
			continue;
		keys = bench_read_column(argv[optind + 2], &n);
		run_keys(argv[optind], strtoull(argv[optind + 1], NULL, 10), keys, n, keys_per_range,
				 false);
		free(keys);
	}
	printf("# %d BAD\n", failures);
	return failures > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
