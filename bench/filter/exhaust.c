/*
 * exhaust.c
 *		Shapes from all over the design space, and the best of many by building them.
 *
 * Nothing here asks a trial.  A race over some rounds: each looks at those that are
 * left with more ranges and queries than the one before, and what has passed four
 * times as many as the best so far is given up.
 */
#include "exhaust.h"

#include <math.h>
#include <stdlib.h>

#define MOST_SHAPES		100000

/* Worse than the best by this: not measured to the end. */
#define HOPELESS		4

/* So many times more where each is asked of one range only. */
#define OWN_RANGE_QUERIES	4

/* Rounds: ranges (filters, if each query is asked of one), times the queries of the first look, shapes kept. */
static const struct
{
	int			ranges;
	int			own_ranges;
	int			queries;
	int			kept;
}			rounds[] = {{4, 1, 1, 30}, {16, 2, 3, 6}, {128, 8, 5, 2}};

static uint64_t
random_levels(int from, int to, int n)
{
	uint64_t	levels = 0;

	/* Half of the sets have no gaps. */
	if (bench_below(2))
	{
		for (int l = to; l > from && l > to - n; l--)
			levels |= RENC_LEVEL_BIT(l);
		return levels;
	}
	levels = RENC_LEVEL_BIT(to);
	for (int i = 1; i < n && i < to - from; i++)
		levels |= RENC_LEVEL_BIT(from + 1 + (int) bench_below(to - from));
	return levels;
}

/* A shape from all over the design space of a group's keys. */
renc_shape
exhaust_random_shape(double n, double bits_per_key)
{
	int			log2n = (int) log2(n);
	renc_shape	shape;

	do
	{
		int			first = log2n - 4 + (int) bench_below(20);
		int			deepest = first + 2 + (int) bench_below(45);
		int			stages = 1 + (bench_below(3) == 0);

		memset(&shape, 0, sizeof(shape));
		if (deepest > RENC_KEY_BITS)
			deepest = RENC_KEY_BITS;
		if (first < 0 || first >= deepest - 4)
			continue;
		shape.nstages = stages;
		for (int s = 0; s < stages; s++)
		{
			renc_stage *st = &shape.stage[s];
			int			from = s == 0 ? first : renc_stage_deepest(&shape.stage[0]);
			int			to = s + 1 == stages ? deepest :
				first + 1 + (int) bench_below((deepest - first) / 2);
			double		bits = 0.69 * bits_per_key * (0.5 + rnd_unit()) / stages;

			st->root = (uint8_t) from;
			st->kw = (uint8_t) (1 + bench_below(4));
			st->kr = (uint8_t) (1 + bench_below(4));
			st->levels = random_levels(from, to, (int) fmax(1, bits / (st->kw * st->kr)));
		}
	} while (shape.nstages == 0 || !renc_shape_valid(&shape, NULL));
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
	renc_stage *st = &shape.stage[0];

	memset(&shape, 0, sizeof(shape));
	shape.nstages = 1;
	if (root < 0 || deepest > RENC_KEY_BITS || nlevels < 1 ||
		deepest - (nlevels - 1) * gap <= root)
		return n;
	if (prune > 0)
	{
		/* A first stage of three levels down to the root. */
		shape.nstages = 2;
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
add_neighbours(grid_shape *grid, int n, const renc_shape *centre, int tries)
{
	while (tries-- > 0)
	{
		renc_shape	shape = *centre;
		renc_stage *st = &shape.stage[bench_below(shape.nstages)];
		int			shift = (int) bench_below(3) - 1;

		if (bench_below(2))
			st->root = (uint8_t) (st->root + bench_below(7) - 3);
		if (bench_below(2))
			st->levels = shift > 0 ? st->levels << 1 : shift < 0 ? st->levels >> 1 : st->levels;
		if (bench_below(2))
			st->levels ^= RENC_LEVEL_BIT(1 + bench_below(64)) & ~((UINT64_C(1) << st->root) - 1);
		if (bench_below(2))
			st->kw = (uint8_t) (st->kw + bench_below(3) - 1);
		if (bench_below(2))
			st->kr = (uint8_t) (st->kr + bench_below(3) - 1);
		if (st->kw <= RENC_SEARCH_KW && renc_shape_valid(&shape, NULL))
			grid[n++].shape = shape;
	}
	return n;
}

/* Regular shapes of all kinds, some with a first stage, in random order. */
static int
make_grid(grid_shape *grid, double log2n, double bits_per_key)
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
										 bench_below(3) == 0 ? 2 + (int) bench_below(8) : 0);
	for (int i = n - 1; i > 0; i--)
	{
		int			k = (int) bench_below(i + 1);
		grid_shape	swap = grid[i];

		grid[i] = grid[k];
		grid[k] = swap;
	}
	return n;
}

/* One round; returns the number kept, which come first. */
static int
race(grid_shape *grid, int n, trial *t, size_t queries, int kept)
{
	double		best = 1;

	for (int i = 0; i < n; i++)
	{
		bench_result r = trial_run(t, &grid[i].shape, queries, HOPELESS * best);

		grid[i].fpr = r.fpr;

		/* As if a few more had passed, while these are few. */
		best = fmin(best, (r.passed + 3) / fmax(r.empty, 1));
	}
	qsort(grid, n, sizeof(*grid), compare_grid);
	return n < kept ? n : kept;
}

static int
run_rounds(const trial_source *source, const trial *whole, const exhaust_effort *effort,
		   int first, grid_shape *grid, int n)
{
	for (size_t i = first; i < sizeof(rounds) / sizeof(rounds[0]); i++)
	{
		trial		t;
		size_t		queries = effort->queries * rounds[i].queries;

		trial_part(&t, whole, whole->own_range ? rounds[i].own_ranges : rounds[i].ranges);
		if (t.own_range)
			queries *= OWN_RANGE_QUERIES;
		trial_queries(&t, source, queries);
		n = race(grid, n, &t, queries, rounds[i].kept);
		trial_free(&t);
	}
	return n;
}

void
exhaust_search(const trial_source *source, const trial *whole, const exhaust_effort *effort,
			   const renc_shape *chosen, renc_shape best[EXHAUST_BEST])
{
	static grid_shape grid[MOST_SHAPES];
	int			n = make_grid(grid, log2(whole->g.capacity), source->bits_per_key);
	int			kept;

	n = run_rounds(source, whole, effort, 0, grid, n < effort->grid ? n : effort->grid);
	kept = n;
	grid[n++].shape = *chosen;
	n = add_neighbours(grid, n, chosen, effort->neighbours);
	for (int i = 0; i < kept && i < EXHAUST_BEST; i++)
		n = add_neighbours(grid, n, &grid[i].shape, effort->neighbours);
	n = run_rounds(source, whole, effort, 1, grid, n);
	for (int i = 0; i < EXHAUST_BEST; i++)
		best[i] = grid[i < n ? i : 0].shape;
}
