/*
 * run_bench.c
 *		Size and false pages of runs, over made keys and files.
 *
 *		run_bench [-n ROWS] [-r ROWS/PAGE] [-f FALSE_PAGES | -e] [-q QUERIES]
 *				[-s SEED] [DATA]...
 *
 * -f: the rule, 1 page by default; -e: whole keys.  A line for the run, then one for each kind of queries:
 *
 *		bits		all pages of 8,192 bytes, for a row
 *		fill		share of the leaves that is used
 *		gaps		share of the blocks in the second coding
 *		predicted	false pages, by the encoder
 *		encode		processor time for a row, without sorting
 *		false		heap pages found that have no match, on average; p99, most
 *		pages		read of the run
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "renc_run.h"
#include "run_data.h"

#define PAYLOAD		8160

typedef struct pair
{
	uint64_t	key;
	uint32_t	page;
}			pair;

static pair * pairs;
static size_t npairs;
static uint32_t npages;
static uint8_t **stored;
static size_t nstored;
static size_t capacity;
static uint64_t used;
static uint32_t *stamp;
static uint32_t mark;

static double
cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	const		pair *x = (const pair *) a;
	const		pair *y = (const pair *) b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->page > y->page) - (x->page < y->page);
}

static uint32_t
store(void *arg, const renc_run_page *page)
{
	(void) arg;
	if (nstored == capacity)
	{
		capacity = capacity * 2 + 1024;
		stored = (uint8_t **) realloc(stored, capacity * sizeof(*stored));
	}
	stored[nstored] = (uint8_t *) test_alloc(PAYLOAD);
	memcpy(stored[nstored], page->payload, PAYLOAD);
	if (page->level == 0)
		used += page->used;
	return (uint32_t) nstored++;
}

static uint64_t pages_read;

static const uint8_t *
fetch(void *arg, uint32_t page, int level)
{
	pages_read++;
	(void) arg;
	(void) level;
	return stored[page];
}

static double
share_of_gap_blocks(void)
{
	size_t		gaps = 0;
	size_t		blocks = 0;

	for (size_t i = 0; i < nstored; i++)
	{
		const uint8_t *p = stored[i];
		uint32_t	n = p[2] | (uint32_t) p[3] << 8;

		for (uint32_t j = 0; p[0] == 0 && j < n; j++, blocks++)
			gaps += p[24 + n * ((p[1] & 7) + 3) + 3 * j + 2] >> 7;
	}
	return (double) gaps / (double) blocks;
}

static void
build(const char *name, renc_run_options *options, renc_run *run)
{
	void	   *memory = test_alloc(renc_run_encoder_size(PAYLOAD));
	renc_run_encoder *encoder;
	double		predicted;
	double		start = cpu_time();
	const char *wrong;
	uint32_t	page;
	bool		good = true;

	while (nstored > 0)
		free(stored[--nstored]);
	used = 0;
	encoder = renc_run_encoder_init(memory, options);
	for (size_t i = 0; i < npairs && good; i++)
		good = renc_run_encoder_push(encoder, pairs[i].key, pairs[i].page, 1);
	if (!good || !renc_run_encoder_finish(encoder, run, &predicted))
	{
		fprintf(stderr, "%s: the encoder fails\n", name);
		exit(EXIT_FAILURE);
	}
	printf("%-12s rows %zu pages %u bits %.2f entries/row %.3f leaves %u inner %u fill %.4f gaps %.2f "
		   "predicted %.3f encode %.0f ns\n",
		   name, npairs, npages, (double) nstored * 65536 / (double) npairs,
		   (double) run->entries / (double) npairs, run->nleaves, run->ninner,
		   (double) used / run->nleaves / PAYLOAD, share_of_gap_blocks(), predicted,
		   (cpu_time() - start) / (double) npairs);
	wrong = renc_run_check(run, false, fetch, NULL, &page);
	if (wrong != NULL)
	{
		fprintf(stderr, "%s: page %u: %s\n", name, page, wrong);
		exit(EXIT_FAILURE);
	}
	free(memory);
}

/* ---- Queries ---- */

static size_t
lower_bound(uint64_t key)
{
	size_t		left = 0;
	size_t		right = npairs;

	while (left < right)
	{
		size_t		mid = left + (right - left) / 2;

		if (pairs[mid].key < key)
			left = mid + 1;
		else
			right = mid;
	}
	return left;
}

/* A key; all keys alike, however many rows have it. */
static size_t
some_key(void)
{
	for (;;)
	{
		size_t		i = rnd() % npairs;
		size_t		first = lower_bound(pairs[i].key);

		if (i == first || rnd() % (i - first + 1) == 0)
			return first;
	}
}

static uint64_t
somewhere(void)
{
	uint64_t	span = pairs[npairs - 1].key - pairs[0].key;

	return pairs[0].key + (span == UINT64_MAX ? rnd() : rnd() % (span + 1));
}

static bool
empty_64(renc_interval *q)
{
	q->lo = somewhere();
	q->hi = q->lo > UINT64_MAX - 63 ? UINT64_MAX : q->lo + 63;
	return true;
}

static bool
existing(renc_interval *q)
{
	q->lo = q->hi = pairs[some_key()].key;
	return true;
}

static bool
gap(renc_interval *q)
{
	size_t		i = some_key();
	uint64_t	key = pairs[i].key;

	while (i < npairs && pairs[i].key == key)
		i++;
	if (i == npairs || pairs[i].key - key < 2)
		return false;
	q->lo = q->hi = key + 1 + rnd() % (pairs[i].key - key - 1);
	return true;
}

/* A value anywhere among the 100 keys before a key and the 100 after it. */
static bool
absent(renc_interval *q)
{
	size_t		i = some_key();
	size_t		lo = i < 100 ? 0 : i - 100;
	size_t		hi = npairs - i <= 100 ? npairs - 1 : i + 100;
	uint64_t	span = pairs[hi].key - pairs[lo].key;

	q->lo = q->hi = pairs[lo].key + (span == UINT64_MAX ? rnd() : rnd() % (span + 1));
	return true;
}

static bool
near(renc_interval *q)
{
	uint64_t	key = pairs[some_key()].key;

	q->lo = q->hi = key + 1 + rnd() % 32;
	return q->lo > key;
}

static bool
hundred(renc_interval *q)
{
	size_t		i = rnd() % npairs;

	if (npairs - i < 100)
		return false;
	q->lo = pairs[i].key;
	q->hi = pairs[i + 99].key;
	return true;
}

static const struct
{
	const char *name;
	bool		(*make) (renc_interval *q);
	bool		none;			/* only queries that match nothing */
}			kinds[] = {
	{"empty 64", empty_64, true},
	{"existing", existing, false},
	{"absent", absent, true},
	{"gap", gap, true},
	{"key+1..32", near, true},
	{"100 rows", hundred, false}
};

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static void
ask(const renc_run *run, int kind, size_t wanted)
{
	static renc_run_search search;
	double	   *wrong = (double *) test_alloc(wanted * sizeof(double));
	renc_interval *asked = (renc_interval *) test_alloc(wanted * sizeof(renc_interval));
	size_t		n = 0;
	double		sum = 0;
	double		right = 0;
	uint64_t	pages = pages_read;
	double		spent;

	for (size_t tries = 0; n < wanted && tries < 20 * wanted; tries++)
	{
		renc_interval q;
		renc_interval_set set = {&q, 1};
		size_t		at;
		uint32_t	found = 0;
		uint32_t	matching = 0;

		if (!kinds[kind].make(&q))
			continue;
		at = lower_bound(q.lo);
		if (kinds[kind].none && at < npairs && pairs[at].key <= q.hi)
			continue;
		mark += 2;
		renc_run_search_begin(&search, run, fetch, NULL, &set);
		while (renc_run_search_next(&search))
			for (uint32_t i = 0; i < search.n; i++)
			{
				found += stamp[search.page[i]] != mark;
				stamp[search.page[i]] = mark;
			}
		for (; at < npairs && pairs[at].key <= q.hi; at++)
		{
			uint32_t	page = pairs[at].page;

			if (stamp[page] < mark)
			{
				fprintf(stderr, "page %u is missing\n", page);
				exit(EXIT_FAILURE);
			}
			matching += stamp[page] == mark;
			stamp[page] = mark + 1;
		}
		asked[n] = q;
		wrong[n] = found - matching;
		sum += wrong[n++];
		right += matching;
	}
	pages = pages_read - pages;
	spent = cpu_time();
	for (size_t i = 0; i < n; i++)
	{
		renc_interval_set set = {&asked[i], 1};

		renc_run_search_begin(&search, run, fetch, NULL, &set);
		while (renc_run_search_next(&search))
			continue;
	}
	spent = cpu_time() - spent;
	if (n > 0)
	{
		qsort(wrong, n, sizeof(double), compare_doubles);
		printf("    %-10s false %.3f p99 %.0f most %.0f matching %.2f pages %.2f search %.0f ns (%zu queries)\n",
			   kinds[kind].name, sum / (double) n, wrong[n * 99 / 100], wrong[n - 1], right / (double) n,
			   (double) pages / (double) n, spent / (double) n, n);
	}
	free(wrong);
	free(asked);
}

static void
measure(const char *name, renc_run_options *options, size_t nrows, size_t per_page, size_t queries)
{
	size_t		n = nrows;
	uint64_t   *key = data_keys(name, &n);
	renc_run	run;

	if (key == NULL)
	{
		fprintf(stderr, "unknown data: %s\n", name);
		exit(EXIT_FAILURE);
	}
	npairs = n;
	npages = (uint32_t) ((n + per_page - 1) / per_page);
	pairs = (pair *) test_alloc(n * sizeof(pair));
	for (size_t i = 0; i < n; i++)
	{
		pairs[i].key = key[i];
		pairs[i].page = (uint32_t) (i / per_page);
	}
	free(key);
	qsort(pairs, n, sizeof(pair), compare);
	stamp = (uint32_t *) test_alloc(npages * sizeof(uint32_t));
	mark = 0;
	options->npages = npages;
	build(name, options, &run);
	for (int kind = 0; kind < (int) (sizeof(kinds) / sizeof(kinds[0])); kind++)
		ask(&run, kind, queries);
	fflush(stdout);
	free(pairs);
	free(stamp);
}

int
main(int argc, char **argv)
{
	renc_run_options options = {.payload = PAYLOAD,.target = RENC_RUN_FALSE_PAGES,.wanted = 1,
	.write = store};
	size_t		rows = 2000000;
	size_t		per_page = 4;
	size_t		queries = 20000;
	int			c;

	while ((c = getopt(argc, argv, "n:r:f:eq:s:")) != -1)
	{
		if (c == 'n')
			rows = strtoull(optarg, NULL, 10);
		else if (c == 'r')
			per_page = strtoull(optarg, NULL, 10);
		else if (c == 'q')
			queries = strtoull(optarg, NULL, 10);
		else if (c == 's')
			rnd_seed(strtoull(optarg, NULL, 10));
		else if (c == 'e')
			options.target = RENC_RUN_EXACT;
		else if (c == 'f')
			options.wanted = atof(optarg);
		else
			return EXIT_FAILURE;
	}
	for (int i = optind; i < argc; i++)
		measure(argv[i], &options, rows, per_page, queries);
	if (optind == argc)
		for (int i = 0; data_kinds[i] != NULL; i++)
			measure(data_kinds[i], &options, rows, per_page, queries);
	return EXIT_SUCCESS;
}
