/*
 * accuracy.c
 *		Does the model predict what is measured, and does the search choose well?
 *
 *		accuracy [-s SEED] [-b BITS] [-n KEYS] [-q] [-v] [-c] [-m] [-k KEYS] [-w QUERIES]
 *				[-j JOBS] [NAME UNIT FILE]...
 *
 * For each kind of keys (made ones, and the columns given: a name, the unit of
 * lengths and a file of one key per line in the order of the table) and each kind
 * of queries, a line with
 *
 *		n			shapes drawn at random from the design space with a measured
 *					false positive rate of 1e-4 .. 0.9 and false positives of enough
 *					queries
 *		ratio		median of predicted / measured over those
 *		within		share of them within 0.8 .. 1.25
 *		predicted	rate of the shape that the search chooses, by the model
 *		choice		measured; rule: of the rule's shape
 *		best		least rate of an exhaustive search by building (exhaust.h)
 *		times		choice / best
 *		ms, tried	what the search took (processor time), and shapes it looked at
 *
 * The search minimises windows read * their cost + false positives * heap pages, the
 * table compares rates: so a window is said to cost next to nothing here.
 *
 * The rates of choice, rule and best are measured anew, of made keys with other keys and
 * queries than they were found with, of a column with other queries.  Of the exhaustive
 * search, winner and runner-up are measured so once, and the better one goes on.  That lasts
 * until times is known to be above or below 1.3 by two standard deviations, queries being
 * independent (the ranges that one passes are not), or for some rounds.
 *
 * 128 ranges of KEYS keys each, but for made keys and correlated queries filters of
 * ONE_KEYS keys, each asked only for queries close to a key of its own; the search
 * then sees one of them.
 *
 * BAD: a median not within 0.8 .. 1.25, a choice over 1.3 times the best, or a true
 * match missed.  "few": times is over 1.3, but so few false positives were seen that it
 * may be chance.  The exit status is 1 if a line is BAD.
 *
 * -q: fewer shapes and queries; -v: every shape compared; -c: columns only; -m: made keys
 * only; -k, -w: only this kind of keys, of queries; -j: cells at a time.  What is
 * printed for a cell depends on the seed alone, but for the time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exhaust.h"

#define SAMPLES			20000	/* as in the Proteus paper; of 2,000 queries none may be
								 * one of those few that find a key at all */
#define SHAPES			60
#define WINDOW_COST		1e-5
#define ONE_KEYS		8000
#define ONE_RANGES		8
#define ONE_FRESH		16		/* filters of a round of measuring */
#define ENOUGH_PASSED	50
#define LEAST_RATE		1e-4	/* lower ones are not judged */
#define MOST_ROUNDS		40		/* of queries for the comparison with predictions */
#define LIMIT			1.3

typedef struct cell
{
	const char *name;
	const char *file;			/* NULL: made keys */
	trial_source source;
} cell;

#define MOST_CELLS		250		/* numbers of cells are handed on as bytes */

static cell cells[MOST_CELLS];
static int	ncells;
static renc_model *model;
static double bits_per_key = 20;
static size_t keys_per_range = 1120;
static uint64_t seed = 1;
static int	shapes = SHAPES;
static int	rounds = 30;
static size_t queries = 8000;
static exhaust_effort effort = {6000, 200, 4000};
static bool verbose;

/* Other queries of the workload, as samples. */
static void
draw_samples(trial *seen, const trial_source *source, renc_sample *sample)
{
	trial_queries(seen, source, SAMPLES);
	for (size_t i = 0; i < SAMPLES; i++)
	{
		memset(&sample[i], 0, sizeof(sample[i]));
		sample[i].lo = seen->interval[i].lo;
		sample[i].hi = seen->interval[i].hi;
		sample[i].weight = 1;
		sample[i].anchor = -1;
	}
}

/* A shape, measured and predicted. */
typedef struct comparison
{
	renc_shape	shape;
	double		empty;
	double		passed;
	double		squares;		/* sum of those of a query's false positives */
	double		predicted;		/* mean over draws of samples */
} comparison;

/*
 * False positives that would say as much if each was of a query of its own.  Where few
 * queries come close to the keys at all (a domain nearly empty), each of them passes all
 * ranges or none: thousands of false positives, but of three queries.
 */
static double
independent(const comparison *c)
{
	return c->squares > 0 ? c->passed * c->passed / c->squares : 0;
}

static void
measure(comparison *c, trial *t, double *missed)
{
	bench_result r = trial_run(t, &c->shape, t->nqueries, INFINITY);

	c->empty += r.empty;
	c->passed += r.passed;
	*missed += r.missed;
	for (size_t i = 0; i < t->nqueries; i++)
		c->squares += (double) t->passed[i] * t->passed[i];
}

/*
 * Random shapes, measured with new queries until ENOUGH_PASSED independent false positives
 * of each are known.  Returns how many rounds of queries that took.
 */
static int
measure_shapes(const trial_source *source, const trial *whole, comparison *c, int *n,
			   double *missed)
{
	size_t		asked = source->own_range ? ONE_RANGES / 2 * ONE_KEYS : queries;
	bool		enough = false;
	int			round;
	trial		look;
	trial		t;

	*n = 0;
	trial_part(&look, whole, source->own_range ? 1 : 8);
	trial_queries(&look, source, 400);
	trial_part(&t, whole, source->own_range ? ONE_RANGES / 2 : whole->g.nranges);
	trial_queries(&t, source, asked);
	for (int i = 0; i < 10 * shapes && *n < shapes; i++)
	{
		comparison	one = {exhaust_random_shape(whole->g.capacity, bits_per_key), 0, 0, 0, 0};

		/* Shapes that pass nearly everything are too easy. */
		if (trial_run(&look, &one.shape, look.nqueries, 0.9).fpr > 0.9)
			continue;
		measure(&one, &t, missed);
		if (one.passed >= LEAST_RATE / 2 * one.empty && one.passed <= 0.9 * one.empty)
			c[(*n)++] = one;
	}
	for (round = 1; round < MOST_ROUNDS && !enough; round++)
	{
		enough = true;
		for (int i = 0; i < *n; i++)
			enough &= independent(&c[i]) >= ENOUGH_PASSED;
		if (enough)
			break;
		trial_queries(&t, source, asked);
		for (int i = 0; i < *n; i++)
			if (independent(&c[i]) < ENOUGH_PASSED)
				measure(&c[i], &t, missed);
	}
	trial_free(&look);
	trial_free(&t);
	return round;
}

/*
 * Median of predicted / measured; *n shapes could be compared.  The samples are drawn as
 * often as the queries: else the ratio would be that of two numbers of lucky queries.
 */
static double
compare_predictions(const trial_source *source, const trial *whole, trial *seen,
					renc_model_input *in, int *n, double *within, double *missed)
{
	comparison	c[SHAPES];
	double		ratio[SHAPES];
	int			nshapes;
	int			draws = measure_shapes(source, whole, c, &nshapes, missed);

	*n = 0;
	*within = 0;
	for (int draw = 0; draw < draws; draw++)
	{
		if (draw > 0)
			draw_samples(seen, source, (renc_sample *) in->sample);
		renc_model_init(model, in);
		for (int i = 0; i < nshapes; i++)
		{
			renc_prediction p;

			renc_model_predict(model, &c[i].shape, INFINITY, &p);
			c[i].predicted += p.fpr / draws;
		}
	}
	for (int i = 0; i < nshapes; i++)
	{
		double		fpr = c[i].passed / c[i].empty;

		if (verbose)
			printf("# %-50s %9.3g %9.3g %6.2f, %.0f independent, %d draws\n",
				   bench_describe(&c[i].shape), fpr, c[i].predicted, c[i].predicted / fpr,
				   independent(&c[i]), draws);
		if (fpr < LEAST_RATE || independent(&c[i]) < ENOUGH_PASSED)
			continue;
		ratio[(*n)++] = c[i].predicted / fpr;
		*within += c[i].predicted / fpr >= 0.8 && c[i].predicted / fpr <= 1.25;
	}
	if (*n == 0)
		return 0;
	bench_sort_doubles(ratio, *n);
	*within /= *n;
	return (ratio[*n / 2] + ratio[(*n - 1) / 2]) / 2;
}

static void
add_result(bench_result *sum, const bench_result *r)
{
	sum->empty += r->empty;
	sum->passed += r->passed;
	sum->missed += r->missed;
	sum->fpr = sum->empty > 0 ? sum->passed / sum->empty : 0;
}

typedef struct verdict
{
	bench_result choice;
	bench_result rule;
	bench_result best;
	int			which;			/* winner or runner-up */
	double		times;
	double		noise;			/* two standard deviations of log(times) */
} verdict;

/* Sums over queries of the products of what passed under two shapes. */
typedef struct products
{
	double		choice;			/* squares */
	double		best[EXHAUST_BEST];
	double		both[EXHAUST_BEST];
} products;

/* Two standard deviations of the logarithm of choice / best: both met the same queries. */
static double
noise_of(const bench_result *choice, const bench_result *best, const products *p, int which)
{
	double		x = fmax(choice->passed, 1);
	double		y = fmax(best->passed, 1);
	double		variance = p->choice / (x * x) - 2 * p->both[which] / (x * y) +
		p->best[which] / (y * y);

	/* None at all may be chance as well. */
	if (choice->passed == 0 || best->passed == 0)
		variance = 1 / x + 1 / y;
	return 2 * sqrt(fmax(variance, 0));
}

/* Measures the shapes anew until it is clear which side of LIMIT the choice is. */
static void
judge(const trial_source *source, const renc_shape *choice, const renc_shape *rule,
	  const renc_shape best[EXHAUST_BEST], verdict *v)
{
	trial_source fresh = *source;
	products	p = {0, {0}, {0}};
	bench_result sum[EXHAUST_BEST];
	uint8_t    *passed;

	memset(v, 0, sizeof(*v));
	memset(sum, 0, sizeof(sum));
	if (fresh.own_range)
		fresh.nranges = ONE_FRESH;
	for (int round = 0; round < rounds; round++)
	{
		bench_result r;
		trial		t;

		trial_make(&t, &fresh);
		trial_queries(&t, &fresh, fresh.own_range ? ONE_FRESH * ONE_KEYS : queries);
		r = trial_run(&t, choice, t.nqueries, INFINITY);
		add_result(&v->choice, &r);
		passed = (uint8_t *) bench_alloc(t.nqueries);
		memcpy(passed, t.passed, t.nqueries);
		for (size_t i = 0; i < t.nqueries; i++)
			p.choice += (double) passed[i] * passed[i];
		for (int b = 0; b < EXHAUST_BEST; b++)
		{
			/* One of the best is enough. */
			if (round > 0 && b != v->which)
				continue;
			r = trial_run(&t, &best[b], t.nqueries, INFINITY);
			add_result(&sum[b], &r);
			for (size_t i = 0; i < t.nqueries; i++)
			{
				p.best[b] += (double) t.passed[i] * t.passed[i];
				p.both[b] += (double) passed[i] * t.passed[i];
			}
		}
		free(passed);
		if (round == 0)
		{
			/* The rule's is only to look at. */
			v->rule = trial_run(&t, rule, t.nqueries, INFINITY);
			v->which = sum[1].fpr < sum[0].fpr;
		}
		trial_free(&t);
		v->best = sum[v->which];
		v->times = v->choice.passed == v->best.passed ? 1 :
			v->choice.fpr / fmax(v->best.fpr, 1e-12);
		v->noise = noise_of(&v->choice, &v->best, &p, v->which);
		if (round > 0 && fabs(log(v->times / LIMIT)) > v->noise)
			break;
	}
}

/* Prints the line of a cell; false if it is BAD. */
static bool
run_cell(const cell *c)
{
	const trial_source *source = &c->source;
	renc_sample *sample = (renc_sample *) bench_alloc(SAMPLES * sizeof(renc_sample));
	renc_shape	best[EXHAUST_BEST];
	renc_model_input in;
	renc_choice choice;
	renc_search search;
	renc_shape	rule;
	trial		whole;
	trial		seen;			/* by the search */
	verdict		v = {0};
	int			n;
	double		within;
	double		median;
	double		seconds;
	double		missed = 0;
	bool		bad;

	trial_make(&whole, source);
	trial_part(&seen, &whole, source->own_range ? 1 : whole.g.nranges);
	draw_samples(&seen, source, sample);
	in = bench_input(&seen.g, sample, SAMPLES);
	in.window_cost = WINDOW_COST;
	seconds = bench_seconds();
	renc_search_start(&search, bits_per_key);
	renc_search_group(&search, model, &in, &choice);
	seconds = bench_seconds() - seconds;
	renc_rule_shape(seen.g.ranges, seen.g.nranges, bits_per_key, &rule);
	median = compare_predictions(source, &whole, &seen, &in, &n, &within, &missed);
	exhaust_search(source, &whole, &effort, &choice.shape, best);
	judge(source, &choice.shape, &rule, best, &v);
	missed += v.choice.missed + v.rule.missed + v.best.missed;

	bad = (n > 0 && (median < 0.8 || median > 1.25)) || v.times > LIMIT * exp(v.noise) ||
		missed > 0;
	printf("%-12s %-12s %3d %6.2f %5.0f%% %9.2e %9.2e %9.2e %9.2e %6.2f %6.0f %5d  %s",
		   c->name, source->kind->name, n, median, 100 * within, choice.best.fpr,
		   v.choice.fpr, v.rule.fpr, v.best.fpr, v.times, seconds * 1e3, choice.predictions,
		   bench_describe(&choice.shape));
	printf(" best %s%s%s\n", bench_describe(&best[v.which]),
		   bad ? " BAD" : v.times > LIMIT ? " few" : "", missed > 0 ? " MISSED" : "");
	fflush(stdout);
	trial_free(&seen);
	trial_free(&whole);
	free(sample);
	return !bad;
}

/* Adds the cells of a kind of keys. */
static void
add_cells(const char *name, const char *file, uint64_t unit, const key_kind *made,
		  const char *only_keys, const char *only_queries)
{
	if (only_keys != NULL && strcmp(only_keys, name) != 0)
		return;
	for (const query_kind *kind = query_kinds; kind->name != NULL; kind++)
	{
		cell	   *c = &cells[ncells];

		if ((only_queries != NULL && strcmp(only_queries, kind->name) != 0) ||
			ncells == MOST_CELLS)
			continue;
		ncells++;
		c->name = name;
		c->file = file;
		c->source.made = made;
		c->source.unit = unit;
		c->source.kind = kind;
		c->source.own_range = made != NULL && kind->correlated;
		c->source.per_range = c->source.own_range ? ONE_KEYS : keys_per_range;
		c->source.nranges = c->source.own_range ? ONE_RANGES : RENC_GROUP_RANGES;
		c->source.bits_per_key = bits_per_key;
	}
}

/* Takes cells from the pipe until it is empty; returns the number of BAD ones. */
static int
work(int tickets)
{
	unsigned char number;
	int			bad = 0;

	model = (renc_model *) bench_alloc(renc_model_size());
	while (read(tickets, &number, 1) == 1)
	{
		cell	   *c = &cells[number];

		rnd_seed(seed);
		rnd_seed(rnd() + number);
		if (c->file != NULL)
			c->source.column = bench_read_column(c->file, &c->source.ncolumn);
		bad += !run_cell(c);
		free(c->source.column);
		c->source.column = NULL;
	}
	free(model);
	return bad;
}

/* All cells, "jobs" at a time; returns the number of BAD ones. */
static int
run_cells(int jobs)
{
	int			tickets[2];
	int			bad = 0;

	if (pipe(tickets) != 0)
	{
		perror("pipe");
		exit(EXIT_FAILURE);
	}
	for (int i = 0; i < ncells; i++)
	{
		unsigned char number = (unsigned char) i;

		if (write(tickets[1], &number, 1) != 1)
			exit(EXIT_FAILURE);
	}
	close(tickets[1]);
	fflush(stdout);
	for (int i = 0; i < jobs; i++)
		if (fork() == 0)
			_exit(work(tickets[0]));
	for (int i = 0; i < jobs; i++)
	{
		int			status = 0;

		if (wait(&status) < 0 || !WIFEXITED(status))
		{
			fprintf(stderr, "a process has failed\n");
			exit(EXIT_FAILURE);
		}
		bad += WEXITSTATUS(status);
	}
	return bad;
}

int
main(int argc, char **argv)
{
	const char *only_keys = NULL;
	const char *only_queries = NULL;
	bool		only_columns = false;
	bool		only_made = false;
	int			jobs = 1;
	int			bad;
	int			opt;

	while ((opt = getopt(argc, argv, "s:b:n:k:w:j:cmqv")) != -1)
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
			case 'j':
				jobs = atoi(optarg);
				break;
			case 'c':
				only_columns = true;
				break;
			case 'm':
				only_made = true;
				break;
			case 'q':
				rounds = 6;
				shapes = 9;
				effort.grid = 300;
				effort.neighbours = 20;
				effort.queries = 1500;
				break;
			case 'v':
				verbose = true;
				break;
			default:
				return EXIT_FAILURE;
		}
	}
	for (const key_kind *kind = key_kinds; kind->name != NULL && !only_columns; kind++)
		add_cells(kind->name, NULL, kind->unit, kind, only_keys, only_queries);
	for (; optind + 2 < argc && !only_made; optind += 3)
		add_cells(argv[optind], argv[optind + 2], strtoull(argv[optind + 1], NULL, 10), NULL,
				  only_keys, only_queries);
	printf("# seed %llu, %g bits a key, %zu keys a range\n", (unsigned long long) seed,
		   bits_per_key, keys_per_range);
	printf("%-12s %-12s %3s %6s %6s %9s %9s %9s %9s %6s %6s %5s\n", "keys", "queries", "n",
		   "ratio", "within", "predicted", "choice", "rule", "best", "times", "ms", "tried");
	bad = run_cells(jobs);
	printf("# %d of %d cells BAD\n", bad, ncells);
	return bad > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
