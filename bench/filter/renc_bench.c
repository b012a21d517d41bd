/*
 * renc_bench.c
 *		Any keys and queries through filters of this kind.
 *
 *		renc_bench --keys F --queries F [--samples F] --n N --bits B
 *				[--shape S] [--seed N] [--pages N] [--window-cost X] [--max-kw N]
 *
 * Key file: 64-bit little-endian integers, N for each filter, one filter after the
 * other, in any order.  Query and sample file: pairs lo, hi of such integers, both
 * ends included.  128 filters make a group, as in an index.  The shape of each group
 * is found from the samples (without: from keys of the other filters), or is the
 * one given, written as the program prints it: "{r 18, kw 2, kr 1, L 20,22-24}".
 *
 * Every query is put to every filter and compared with the keys.  One line:
 *
 *		bits_per_key	with what pages have around the rows
 *		fpr				share of the pairs without a match that pass
 *		fpr_predicted	by a trial, for the samples
 *		shape			of the first group
 *		ns_probe		for one filter by itself, per query
 *		ns_group		for a group of 128, per query, of a compiled query
 *		ns_compile		compiling it, once for all groups
 *		build_ns_key	sorting keys and setting bits, per key
 *		model_ms		searching shapes, all groups
 *		searches		groups for which a search was made
 *		windows			read per query and group
 *		false_negatives must be 0, or the exit status is 1
 */
#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "benchlib.h"

#include "renc_flat.h"

/* Queries that times are taken of. */
#define TIMED			20000

/* Samples of own keys. */
#define OWN_SAMPLES		512

typedef struct options
{
	const char *keys;
	const char *queries;
	const char *samples;
	const char *shape;
	size_t		n;
	double		bits;
	uint64_t	seed;
	double		pages;
	double		window_cost;
	int			max_kw;
} options;

typedef struct totals
{
	bench_result result;
	double		predicted;
	double		bits;
	double		keys;
	double		build_seconds;
	double		model_seconds;
	double		windows;
	int			groups;
	int			searches;
} totals;

static renc_program program;
static long windows_read;

static void
fail(const char *what, const char *detail)
{
	fprintf(stderr, "renc_bench: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
	exit(EXIT_FAILURE);
}

/* The 64-bit integers of a file. */
static uint64_t *
read_integers(const char *name, size_t *n)
{
	FILE	   *f = fopen(name, "rb");
	uint8_t    *bytes;
	uint64_t   *integer;
	long		size = 0;

	if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0 ||
		fseek(f, 0, SEEK_SET) != 0)
		fail("cannot read", name);
	if (size % 8 != 0)
		fail("not a file of 64-bit integers", name);
	*n = (size_t) size / 8;
	bytes = (uint8_t *) test_alloc(size);
	integer = (uint64_t *) test_alloc(size);
	if (fread(bytes, 1, size, f) != (size_t) size)
		fail("cannot read", name);
	fclose(f);
	for (size_t i = 0; i < *n; i++)
		integer[i] = renc_load64(bytes + 8 * i);
	free(bytes);
	return integer;
}

/* Pairs lo, hi. */
static renc_interval *
read_intervals(const char *name, size_t *n)
{
	uint64_t   *integer = read_integers(name, n);
	renc_interval *interval;

	if (*n % 2 != 0)
		fail("an interval has no end", name);
	*n /= 2;
	interval = (renc_interval *) test_alloc(*n * sizeof(renc_interval));
	for (size_t i = 0; i < *n; i++)
	{
		interval[i].lo = integer[2 * i];
		interval[i].hi = integer[2 * i + 1];
		if (interval[i].lo > interval[i].hi)
			fail("an interval ends before it begins", name);
	}
	free(integer);
	return interval;
}

/* Reads "20,22-24"; returns what follows. */
static const char *
parse_levels(const char *s, uint64_t *levels)
{
	int			first;
	int			last;
	int			used;

	*levels = 0;
	while (sscanf(s, "%d%n", &first, &used) == 1)
	{
		s += used;
		last = first;
		if (*s == '-' && sscanf(s, "-%d%n", &last, &used) == 1)
			s += used;
		if (first < 1 || last > RENC_KEY_BITS)
			break;
		for (int l = first; l <= last; l++)
			*levels |= RENC_LEVEL_BIT(l);
		if (*s == ',')
			s++;
	}
	return s;
}

static renc_shape
parse_shape(const char *text)
{
	renc_shape	shape;
	const char *s = text;
	const char *reason = "not of the form {r 18, kw 2, kr 1, L 20,22-24}";

	memset(&shape, 0, sizeof(shape));
	while (shape.nstages < RENC_MAX_STAGES)
	{
		renc_stage *st = &shape.stage[shape.nstages];
		int			root;
		int			kw;
		int			kr;
		int			used = 0;

		if (sscanf(s, " { r %d , kw %d , kr %d , L %n", &root, &kw, &kr, &used) != 3 ||
			used == 0)
			break;
		st->root = (uint8_t) root;
		st->kw = (uint8_t) kw;
		st->kr = (uint8_t) kr;
		s = parse_levels(s + used, &st->levels);
		if (*s++ != '}')
			fail("shape", reason);
		shape.nstages++;
	}
	while (isspace((unsigned char) *s))
		s++;
	if (*s != '\0')
		fail("shape", reason);
	if (!renc_shape_valid(&shape, &reason))
		fail("shape", reason);
	return shape;
}

static void
parse_options(int argc, char **argv, options *o)
{
	static const struct option names[] = {
		{"keys", required_argument, NULL, 'k'},
		{"queries", required_argument, NULL, 'q'},
		{"samples", required_argument, NULL, 's'},
		{"shape", required_argument, NULL, 'S'},
		{"n", required_argument, NULL, 'n'},
		{"bits", required_argument, NULL, 'b'},
		{"seed", required_argument, NULL, 'r'},
		{"pages", required_argument, NULL, 'p'},
		{"window-cost", required_argument, NULL, 'w'},
		{"max-kw", required_argument, NULL, 'K'},
		{NULL, 0, NULL, 0}
	};
	int			opt;

	memset(o, 0, sizeof(*o));
	o->pages = 32;
	o->window_cost = BENCH_WINDOW_COST;
	o->seed = 1;
	o->max_kw = RENC_MAX_KW;
	while ((opt = getopt_long(argc, argv, "", names, NULL)) != -1)
	{
		switch (opt)
		{
			case 'k':
				o->keys = optarg;
				break;
			case 'q':
				o->queries = optarg;
				break;
			case 's':
				o->samples = optarg;
				break;
			case 'S':
				o->shape = optarg;
				break;
			case 'n':
				o->n = (size_t) strtoull(optarg, NULL, 10);
				break;
			case 'b':
				o->bits = atof(optarg);
				break;
			case 'r':
				o->seed = strtoull(optarg, NULL, 10);
				break;
			case 'p':
				o->pages = atof(optarg);
				break;
			case 'w':
				o->window_cost = atof(optarg);
				break;
			case 'K':
				o->max_kw = atoi(optarg);
				break;
			default:
				exit(EXIT_FAILURE);
		}
	}
	if (o->keys == NULL || o->queries == NULL || o->n == 0 || !(o->bits > 0) || optind < argc)
		fail("usage", "--keys F --queries F [--samples F] --n N --bits B [--shape S]");
}

/* The samples of the file, or of the group's own keys. */
static size_t
group_samples(const options *o, const bench_group *g, const renc_interval *given, size_t ngiven,
			  int group, renc_sample *sample)
{
	if (given == NULL)
		return (size_t) renc_own_samples_make(g->ranges, g->nranges, 0, o->seed + group,
										 sample, OWN_SAMPLES);
	for (size_t i = 0; i < ngiven; i++)
	{
		sample[i].lo = given[i].lo;
		sample[i].hi = given[i].hi;
		sample[i].anchor = -1;
	}
	return ngiven;
}

static const uint8_t *
counted_window(void *arg, uint32_t window)
{
	const bench_group *g = (const bench_group *) arg;

	windows_read++;
	return g->image + (size_t) window * BENCH_ROWS * g->width;
}

/* Times of a group, and of its first range as a filter by itself. */
static void
time_group(const bench_group *g, const renc_shape *shape, const bench_queries *q,
		   double *ns_probe, double *ns_group, double *ns_compile)
{
	renc_windows windows = {g->nwindows, g->width, counted_window, (void *) g};
	size_t		n = q->n < TIMED ? q->n : TIMED;
	uint8_t    *flat = (uint8_t *) test_alloc(renc_flat_size(g->nwindows, BENCH_ROWS));
	double		start;
	double		compile = 0;
	double		run = 0;
	volatile long passed = 0;

	renc_flat_fill(flat, shape, g->nwindows, BENCH_ROWS, g->ranges[0].key, g->ranges[0].n);
	windows_read = 0;
	for (size_t i = 0; i < n; i++)
	{
		renc_interval_set set = {&q->interval[i], 1};
		double		middle;

		start = bench_seconds();
		renc_program_compile(&program, shape, BENCH_ROWS, &set);
		middle = bench_seconds();
		passed += renc_mask_count(renc_program_execute(&program, &windows, renc_mask_all()));
		run += bench_seconds() - middle;
		compile += middle - start;
	}
	start = bench_seconds();
	for (size_t i = 0; i < n; i++)
		passed += renc_flat_may_contain(flat, shape, g->nwindows, BENCH_ROWS,
										q->interval[i].lo, q->interval[i].hi);
	(void) passed;
	*ns_probe = (bench_seconds() - start) * 1e9 / n;
	*ns_compile = compile * 1e9 / n;
	*ns_group = run * 1e9 / n;
	free(flat);
}

int
main(int argc, char **argv)
{
	options		o;
	totals		t = {{0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0};
	size_t		nkeys;
	size_t		nqueries;
	size_t		nsamples = OWN_SAMPLES;
	uint64_t   *keys;
	renc_interval *interval;
	renc_interval *given = NULL;
	renc_sample *sample;
	renc_shape	fixed;
	renc_shape	shape;
	double		ns_probe = 0;
	double		ns_group = 0;
	double		ns_compile = 0;
	int			searches = 0;

	parse_options(argc, argv, &o);
	keys = read_integers(o.keys, &nkeys);
	interval = read_intervals(o.queries, &nqueries);
	if (o.samples)
		given = read_intervals(o.samples, &nsamples);
	if (o.shape)
		fixed = parse_shape(o.shape);
	if (nkeys == 0 || nqueries == 0)
		fail("no keys or no queries", NULL);
	sample = (renc_sample *) test_alloc(nsamples * sizeof(renc_sample));

	for (size_t at = 0; at < nkeys; at += o.n * RENC_GROUP_RANGES)
	{
		bench_group g;
		bench_queries q;
		bench_result r;
		renc_trial_input in;
		renc_choice choice;
		double		start = bench_seconds();
		size_t		left = nkeys - at;

		bench_group_init(&g, keys + at, left < o.n * RENC_GROUP_RANGES ? left :
						 o.n * RENC_GROUP_RANGES, o.n, o.bits);
		t.build_seconds += bench_seconds() - start;
		start = bench_seconds();
		in = bench_input(&g, sample, group_samples(&o, &g, given, nsamples, t.groups, sample));
		in.pages_per_range = o.pages;
		in.window_cost = o.window_cost;
		in.max_kw = o.max_kw;
		in.asked_share = given != NULL ? 1 : 0;
		if (o.shape)
		{
			renc_trial *room = bench_room();

			memset(&choice, 0, sizeof(choice));
			choice.shape = fixed;
			renc_trial_init(room, &in);
			renc_trial_try_shape(room, &fixed, INFINITY, &choice.best);
		}
		else
		{
			bench_search(&in, o.bits, NULL, &choice);
			searches++;
		}
		t.model_seconds += bench_seconds() - start;
		start = bench_seconds();
		bench_fill(&g, g.nranges, &choice.shape);
		t.build_seconds += bench_seconds() - start;

		q = bench_queries_make(&g, interval, nqueries);
		r = bench_probe(&g, g.nranges, &choice.shape, &q, nqueries);
		t.result.empty += r.empty;
		t.result.passed += r.passed;
		t.result.missed += r.missed;
		t.predicted += choice.best.fpr * r.empty;
		for (int i = 0; i < g.nranges; i++)
		{
			/* A window takes a page of 8192 bytes for 128 filters. */
			t.bits += g.nwindows * 8192.0 * 8 / RENC_GROUP_RANGES;
			t.keys += (double) g.ranges[i].n;
		}
		if (t.groups++ == 0)
		{
			shape = choice.shape;
			time_group(&g, &shape, &q, &ns_probe, &ns_group, &ns_compile);
			t.windows = (double) windows_read / (nqueries < TIMED ? nqueries : TIMED);
		}
		free(q.truth);
		bench_group_free(&g);
	}
	printf("bits_per_key=%.3f fpr=%.4g fpr_predicted=%.4g shape=\"%s\" ns_probe=%.0f "
		   "ns_group=%.0f ns_compile=%.0f build_ns_key=%.1f model_ms=%.1f searches=%d "
		   "groups=%d windows=%.2f pairs=%.0f passed=%.0f false_negatives=%.0f\n",
		   t.bits / t.keys, t.result.empty > 0 ? t.result.passed / t.result.empty : 0,
		   t.result.empty > 0 ? t.predicted / t.result.empty : 0, bench_describe(&shape),
		   ns_probe, ns_group, ns_compile, t.build_seconds * 1e9 / t.keys,
		   t.model_seconds * 1e3, o.shape ? 0 : searches, t.groups, t.windows,
		   t.result.empty, t.result.passed, t.result.missed);
	return t.result.missed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
