/*
 * accuracy.c
 *		Do trials predict what is measured, and does the search choose well?
 *
 *		accuracy [-s SEED] [-b BITS] [-n KEYS] [-q] [-v] [-c] [-m] [-r] [-k KEYS] [-w QUERIES]
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
 *		predicted	rate of the shape that the search chooses, by a trial
 *		choice		measured; rule: of the rule's shape
 *		best		least rate of an exhaustive search by building (exhaust.h)
 *		times		choice / best
 *		ms, tried	what the search took (processor time), and shapes it looked at
 *
 * The search minimises windows read * their cost + false positives * heap pages, the
 * table compares rates: so a window is said to cost next to nothing here.
 *
 * choice, rule and best are measured anew, until it is clear whether the choice is within
 * the limit (judge.h).
 *
 * 128 ranges of KEYS keys each, but for made keys and correlated queries filters of
 * ONE_KEYS keys, each asked only for queries close to a key of its own; the search
 * then sees one of them.
 *
 * BAD: a median not within 0.8 .. 1.25, a choice over 1.3 times the best, or a true
 * match missed.  "few": so few false positives were seen that times may as well be on the
 * other side of 1.3.  The exit status is 1 if a line is BAD.
 *
 * -q: fewer shapes, unless their median may be on either side of a limit, and fewer queries;
 * -v: every shape compared; -c: columns only; -m: made keys only; -k, -w: only this kind of
 * keys, of queries; -j: cells at a time; -r: the rule's shape is judged in place of the
 * search's, to see what the judgement is worth.  What is printed for a cell depends on the
 * seed alone, but for the time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge.h"

#define SAMPLES			20000	/* as in the Proteus paper; of 2,000 queries
								 * none may be one of those few that find a
								 * key at all */
#define SHAPES			60
#define WINDOW_COST		1e-5
#define ONE_KEYS		8000
#define ONE_RANGES		8
#define ONE_FRESH		16		/* filters of a round of measuring */
#define ENOUGH_PASSED	50
#define LEAST_RATE		1e-4	/* lower ones are not judged */
#define MOST_ROUNDS		40		/* of queries for the comparison with
								 * predictions */
#define LEAST_RATIO		0.8
#define MOST_RATIO		1.25

typedef struct cell
{
	const char *name;
	const char *file;			/* NULL: made keys */
	trial_source source;
} cell;

#define MOST_CELLS		250		/* numbers of cells are handed on as bytes */

static cell cells[MOST_CELLS];
static int	ncells;
static renc_trial *room;
static double bits_per_key = 20;
static size_t keys_per_range = 1120;
static uint64_t seed = 1;
static int	shapes = SHAPES;
static judge_effort judging =
{
	30, 8000
};
static exhaust_effort effort =
{
	6000, 200, 4000
};
static bool verbose;
static bool judge_rule;

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
	return judge_independent(c->passed, c->squares);
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
measure_shapes(const trial_source *source, const trial *whole, comparison *c, int most,
			   int *n, double *missed)
{
	size_t		asked = source->own_range ? ONE_RANGES / 2 * ONE_KEYS : judging.queries;
	bool		enough = false;
	int			round;
	trial		look;
	trial		t;

	*n = 0;
	trial_part(&look, whole, source->own_range ? 1 : 8);
	trial_queries(&look, source, 400);
	trial_part(&t, whole, source->own_range ? ONE_RANGES / 2 : whole->g.nranges);
	trial_queries(&t, source, asked);
	for (int i = 0; i < 10 * most && *n < most; i++)
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

/* Ratios of predicted to measured rates. */
typedef struct ratios
{
	double		value[SHAPES];	/* sorted */
	int			n;
	int			within;			/* LEAST_RATIO .. MOST_RATIO */
} ratios;

/*
 * Compares so many shapes.  The samples are drawn as often as the queries: else the
 * ratio would be that of two numbers of lucky queries.
 */
static void
compare_some(const trial_source *source, const trial *whole, trial *seen,
			 renc_trial_input *in, int most, ratios *r, double *missed)
{
	comparison	c[SHAPES];
	int			n;
	int			draws = measure_shapes(source, whole, c, most, &n, missed);

	for (int draw = 0; draw < draws; draw++)
	{
		draw_samples(seen, source, (renc_sample *) in->sample);
		renc_trial_init(room = bench_room(), in);
		for (int i = 0; i < n; i++)
		{
			renc_prediction p;

			renc_trial_try_shape(room, &c[i].shape, INFINITY, &p);
			c[i].predicted += p.fpr / draws;
		}
	}
	for (int i = 0; i < n; i++)
	{
		double		fpr = c[i].passed / c[i].empty;

		if (verbose)
			printf("# %-50s %9.3g %9.3g %6.2f, %.0f independent, %d draws\n",
				   bench_describe(&c[i].shape), fpr, c[i].predicted, c[i].predicted / fpr,
				   independent(&c[i]), draws);
		if (fpr < LEAST_RATE || independent(&c[i]) < ENOUGH_PASSED)
			continue;
		r->value[r->n++] = c[i].predicted / fpr;
		r->within += c[i].predicted / fpr >= LEAST_RATIO && c[i].predicted / fpr <= MOST_RATIO;
	}
	sort_doubles(r->value, r->n);
}

static double
median(const ratios *r)
{
	return r->n == 0 ? 0 : (r->value[r->n / 2] + r->value[(r->n - 1) / 2]) / 2;
}

/*
 * Do the shapes drawn say on which side of the limits the median of all is?  It is between
 * the k-th least and the k-th greatest of n with 95 %.
 */
static bool
median_is_known(const ratios *r)
{
	int			k = (int) ((r->n + 1) / 2.0 - 0.98 * sqrt(r->n));
	double		least;
	double		greatest;

	if (k < 1)
		return false;
	least = r->value[k - 1];
	greatest = r->value[r->n - k];
	return greatest < LEAST_RATIO || least > MOST_RATIO ||
		(least >= LEAST_RATIO && greatest <= MOST_RATIO);
}

/* Predicted / measured, of twice as many shapes until their median is known. */
static void
compare_predictions(const trial_source *source, const trial *whole, trial *seen,
					renc_trial_input *in, ratios *r, double *missed)
{
	int			tried = 0;

	memset(r, 0, sizeof(*r));
	while (tried < SHAPES && !median_is_known(r))
	{
		int			some = tried == 0 ? shapes : tried;

		if (some > SHAPES - tried)
			some = SHAPES - tried;
		compare_some(source, whole, seen, in, some, r, missed);
		tried += some;
	}
}

/* The choice against the best of an exhaustive search. */
static void
judge_cell(const trial_source *source, const trial *whole, const renc_shape *choice,
		   const renc_shape *rule, renc_shape *best, verdict *v)
{
	renc_shape	found[EXHAUST_BEST];
	trial_source fresh = *source;
	judge_effort how = judging;

	exhaust_search(source, whole, &effort, choice, found);
	if (fresh.own_range)
	{
		fresh.nranges = ONE_FRESH;
		how.queries = ONE_FRESH * ONE_KEYS;
	}
	judge_choice(&fresh, &how, choice, rule, found, v);
	*best = found[v->which];
}

/* The search, as a build with samples of these queries does it. */
static double
search_cell(const bench_group *g, renc_trial_input *in, renc_choice *choice)
{
	double		start = bench_seconds();

	in->window_cost = WINDOW_COST;
	room = bench_search(in, bits_per_key, NULL, choice);
	start = bench_seconds() - start;
	if (judge_rule)
	{
		renc_rule_shape(g->ranges, g->nranges, bits_per_key, false, &choice->shape);
		renc_trial_try_shape(room, &choice->shape, INFINITY, &choice->best);
	}
	return start;
}

/* Prints the line of a cell; false if it is BAD. */
static bool
run_cell(const cell *c)
{
	const trial_source *source = &c->source;
	renc_sample *sample = (renc_sample *) test_alloc(SAMPLES * sizeof(renc_sample));
	renc_shape	best;
	renc_trial_input in;
	renc_choice choice;
	renc_shape	rule;
	trial		whole;
	trial		seen;			/* by the search */
	verdict		v;
	ratios		r;
	double		seconds;
	double		missed = 0;
	bool		bad;

	trial_make(&whole, source);
	trial_part(&seen, &whole, source->own_range ? 1 : whole.g.nranges);
	draw_samples(&seen, source, sample);
	in = bench_input(&seen.g, sample, SAMPLES);
	seconds = search_cell(&seen.g, &in, &choice);
	renc_rule_shape(seen.g.ranges, seen.g.nranges, bits_per_key, false, &rule);
	compare_predictions(source, &whole, &seen, &in, &r, &missed);
	judge_cell(source, &whole, &choice.shape, &rule, &best, &v);
	missed += v.missed;

	bad = (r.n > 0 && (median(&r) < LEAST_RATIO || median(&r) > MOST_RATIO)) ||
		(v.decided && v.times > JUDGE_LIMIT) || missed > 0;
	printf("%-12s %-12s %3d %6.2f %5.0f%% %9.2e %9.2e %9.2e %9.2e %6.2f %6.0f %5d  %s",
		   c->name, source->kind->name, r.n, median(&r), r.n > 0 ? 100.0 * r.within / r.n : 0,
		   choice.best.fpr, v.choice.fpr, v.rule.fpr, v.best.fpr, v.times, seconds * 1e3,
		   renc_trial_count_tries(room), bench_describe(&choice.shape));
	printf(" best %s%s%s%s\n", bench_describe(&best), v.decided ? "" : " few",
		   bad ? " BAD" : "", missed > 0 ? " MISSED" : "");
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

	while ((opt = getopt(argc, argv, "s:b:n:k:w:j:cmqrv")) != -1)
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
				judging.rounds = 6;
				shapes = 9;
				effort.grid = 300;
				effort.neighbours = 20;
				effort.queries = 1500;
				break;
			case 'r':
				judge_rule = true;
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
