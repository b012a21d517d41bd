/*
 * test_run_large.c
 *		Runs of many rows against sorted arrays: nothing is missed, nothing read twice;
 *		and what the rule for cells makes of known data.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runlib.h"

#define ROWS		60000
#define MANY		70000		/* more than 16 bits say */
#define QUERIES		1500
#define IN_VALUES	400
#define NEIGHBOURS	100

static test_run t;
static test_pair * pair;
static size_t npairs;
static uint32_t *found;			/* the number of the query that found the page
								 * last */
static uint32_t query;

/* The same for all seeds, unless "number" is one. */
static uint64_t
mix(uint64_t number)
{
	uint64_t	z = number * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x632be59bd9b4e019);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t
uniform_key(uint64_t seed, uint64_t i)
{
	return mix(seed + i);
}

/* 200 clusters, 2^4 to 2^50 wide, some with many more keys than others. */
static uint64_t
cluster_key(uint64_t seed, uint64_t i)
{
	uint64_t	r = mix(seed + i);
	uint64_t	cluster = r % 200 * (r / 200 % 200) / 200;

	return mix(seed + cluster + (UINT64_C(1) << 40)) + (mix(~(seed + i)) >> (60 - mix(cluster) % 47));
}

static uint64_t
dense_key(uint64_t seed, uint64_t i)
{
	(void) seed;
	return (UINT64_C(1) << 63) + i * 7919 % ROWS;
}

static uint64_t
thousand_key(uint64_t seed, uint64_t i)
{
	return mix(seed + i) % 1000 * 7919;
}

static uint64_t
hot_key(uint64_t seed, uint64_t i)
{
	return mix(seed + i) % 10 > 0 ? UINT64_C(1) << 63 : mix(seed + i);
}

static uint64_t
timestamp_key(uint64_t seed, uint64_t i)
{
	return UINT64_C(1700000000000000) + i * 50000 + mix(seed + i) % 50000;
}

static uint64_t
drawn_key(uint64_t seed, uint64_t i)
{
	return (UINT64_C(1) << 63) + mix(seed + i) % ROWS;
}

static uint64_t
second_key(uint64_t seed, uint64_t i)
{
	(void) seed;
	return UINT64_C(1700000000000000) + i * 1000000;
}

static uint64_t
late_key(uint64_t seed, uint64_t i)
{
	return timestamp_key(seed, i) - mix(seed + i + ROWS) % 10000000;
}

/* What the default rule, one false page, must reach with the seed 0. */
typedef struct kind
{
	const char *name;
	uint64_t	(*key) (uint64_t seed, uint64_t i);
	uint32_t	per_page;		/* rows */
	double		bits;			/* of the leaves for a row, at most */
	double		existing;		/* false pages of queries for keys, at most */
	double		absent;			/* of values among them, at most */
}			kind;

static const kind kinds[] = {
	{"uniform", uniform_key, 4, 15.9, 1.0, 1.0},
	{"clusters", cluster_key, 4, 16.2, 1.0, 1.0},
	{"dense", dense_key, 4, 14.8, 1.0, 0},
	{"drawn", drawn_key, 35, 14.0, 1.0, 1.0},
	{"thousand", thousand_key, 35, 7.0, 0, 0.9},
	{"hot", hot_key, 7, 2.1, 0.9, 1.0},
	{"timestamps", timestamp_key, 35, 2.4, 0.25, 1.0},
	{"seconds", second_key, 35, 4.0, 0.25, 1.0},
	{"late", late_key, 35, 5.6, 0.9, 1.0}
};
#define HOT		5
#define TIMESTAMPS	6
#define NKINDS	((int) (sizeof(kinds) / sizeof(kinds[0])))

static void
make_pairs(const kind * k, uint64_t seed)
{
	for (size_t i = 0; i < ROWS; i++)
	{
		pair[i].key = k->key(seed, i);
		pair[i].page = (uint32_t) (i / k->per_page);
		pair[i].rows = 1;
	}
	npairs = sort_pairs(pair, ROWS);
}

/* Searches; returns the pages found, or UINT64_MAX if something is wrong. */
static uint64_t
search(const renc_interval_set *set)
{
	static renc_run_search s;
	uint64_t	pages = 0;

	query++;
	memset(t.reads, 0, t.n * sizeof(uint32_t));
	renc_run_search_begin(&s, &t.run, test_run_read, &t, set);
	while (renc_run_search_next(&s))
		for (uint32_t i = 0; i < s.n; i++)
		{
			pages += found[s.page[i]] != query;
			found[s.page[i]] = query;
		}
	for (uint32_t i = 0; i < t.n; i++)
		if (t.reads[i] > 1)
			return UINT64_MAX;
	return s.failure == NULL ? pages : UINT64_MAX;
}

/* Pages of the pairs in the interval; UINT64_MAX if one was not found. */
static uint64_t
matching(const renc_interval *interval)
{
	static uint32_t *seen;
	static uint32_t mark;
	uint64_t	pages = 0;

	if (seen == NULL)
		seen = (uint32_t *) test_alloc(ROWS * sizeof(uint32_t));
	mark++;
	for (size_t i = find_pair(pair, npairs, interval->lo); i < npairs && pair[i].key <= interval->hi; i++)
	{
		if (found[pair[i].page] != query)
			return UINT64_MAX;
		pages += seen[pair[i].page] != mark;
		seen[pair[i].page] = mark;
	}
	return pages;
}

static renc_interval
random_interval(void)
{
	uint64_t	key = pair[rnd_below(npairs)].key;
	uint64_t	below = rnd_below(3) > 0 ? 0 : rnd_short();
	uint64_t	above = rnd_below(3) > 0 ? 0 : rnd_short();
	renc_interval interval;

	if (rnd_below(4) == 0)
		key += rnd_short();
	interval.lo = key < below ? 0 : key - below;
	interval.hi = key + above < key ? UINT64_MAX : key + above;
	return interval;
}

static bool
check_queries(const char *name, bool exact)
{
	for (int i = 0; i < QUERIES; i++)
	{
		renc_interval one = random_interval();
		renc_interval_set set = {&one, 1};
		uint64_t	pages = search(&set);
		uint64_t	right = matching(&one);

		if (pages == UINT64_MAX || right == UINT64_MAX || (exact && pages != right))
			return tap_ok(false, "%s: [%llx, %llx]: %llu pages for %llu", name,
						  (unsigned long long) one.lo, (unsigned long long) one.hi,
						  (unsigned long long) pages, (unsigned long long) right);
	}
	return true;
}

/* Many values: each leaf once, and the pages that they find one by one. */
static bool
check_in_list(const char *name)
{
	uint64_t	key[IN_VALUES];
	renc_interval interval[IN_VALUES];
	renc_interval_set set = {interval, 0};
	uint32_t   *alone = (uint32_t *) test_alloc(ROWS * sizeof(uint32_t));
	uint64_t	together;
	uint64_t	united = 0;

	for (int i = 0; i < IN_VALUES; i++)
		key[i] = random_interval().lo;
	set.n = sort_keys(key, IN_VALUES);
	for (size_t i = 0; i < set.n; i++)
	{
		renc_interval_set one = {&interval[i], 1};

		interval[i].lo = interval[i].hi = key[i];
		(void) search(&one);
		for (uint32_t p = 0; p < ROWS; p++)
			if (found[p] == query)
				united += alone[p]++ == 0;
	}
	together = search(&set);
	free(alone);
	return together == united ? true :
		tap_ok(false, "%s: %zu values: %llu pages together, %llu alone", name, set.n,
			   (unsigned long long) together, (unsigned long long) united);
}

static void
test_random(const kind * k)
{
	static const size_t payloads[] = {160, 400, 8160};
	uint64_t	seed = rnd();

	make_pairs(k, seed);
	for (int i = 0; i < 3; i++)
	{
		renc_run_options options = random_run_options(payloads[i], 0, ROWS / k->per_page + 1);
		const char *wrong;
		uint32_t	page;
		bool		good;

		if (!test_run_build(&t, &options, pair, npairs))
		{
			tap_ok(false, "%s: refused", k->name);
			return;
		}
		wrong = renc_run_check(&t.run, options.target == RENC_RUN_EXACT, test_run_read, &t, &page);
		good = wrong == NULL && check_queries(k->name, options.target == RENC_RUN_EXACT) &&
			check_in_list(k->name);
		tap_ok(good, "%s, pages of %zu, target %d %.3g: %u leaves, %u others%s%s", k->name, payloads[i],
			   (int) options.target, options.wanted, t.run.nleaves, t.run.ninner,
			   wrong != NULL ? ": " : "", wrong != NULL ? wrong : "");
	}
}

/* A value anywhere among the keys around pair i that is none of them; false: not found. */
static bool
absent_value(size_t i, uint64_t *value)
{
	size_t		lo = i < NEIGHBOURS ? 0 : i - NEIGHBOURS;
	size_t		hi = npairs - i <= NEIGHBOURS ? npairs - 1 : i + NEIGHBOURS;

	for (uint64_t tries = 0; tries < 8; tries++)
	{
		size_t		at;

		*value = pair[lo].key + mix(i * 8 + tries) % (pair[hi].key - pair[lo].key + 1);
		at = find_pair(pair, npairs, *value);
		if (pair[at].key != *value)
			return true;
	}
	return false;
}

/* Mean false pages: of all keys, and of as many values that are none. */
static void
observe(double *existing, double *absent)
{
	double		keys = 0;
	double		absents = 0;

	*existing = 0;
	*absent = 0;
	for (size_t i = 0; i < npairs; i++)
	{
		renc_interval one = {pair[i].key, pair[i].key};
		renc_interval_set set = {&one, 1};

		if (i == 0 || pair[i].key != pair[i - 1].key)
		{
			keys++;
			*existing += (double) (search(&set) - matching(&one));
		}
		if (absent_value(i, &one.lo))
		{
			absents++;
			one.hi = one.lo;
			*absent += (double) search(&set);
		}
	}
	*existing /= keys;
	*absent = absents > 0 ? *absent / absents : 0;
}

/* The rule on known data: size, false pages, and that the encoder knows them. */
static void
test_rule(const kind * k)
{
	renc_run_options options = {.payload = 8160,.npages = ROWS / k->per_page + 1,
	.target = RENC_RUN_FALSE_PAGES,.wanted = 1};
	double		existing;
	double		absent;
	double		bits;
	double		most;
	double		used = 0;

	make_pairs(k, 0);
	if (!test_run_build(&t, &options, pair, npairs))
	{
		tap_ok(false, "%s: refused", k->name);
		return;
	}
	for (uint32_t i = 0; i < t.n; i++)
		used += t.page[i][0] == 0 ? t.page[i][4] + 256 * t.page[i][5] : 0;
	bits = 8 * used / ROWS;
	observe(&existing, &absent);
	most = existing > absent ? existing : absent;
	tap_ok(bits <= k->bits && existing <= k->existing && absent <= k->absent,
		   "%s by the rule: %.2f bits a row, %.3f false pages of a key, %.3f of a value that is none",
		   k->name, bits, existing, absent);
	tap_ok(most <= 1.1 * t.false_pages + 0.02 && most >= 0.9 * t.false_pages - 0.02,
		   "%s: %.3f false pages, %.3f said", k->name, most, t.false_pages);
}

/* Wanted false pages come out, on evenly spread keys. */
static void
test_targets(void)
{
	make_pairs(&kinds[0], 0);
	for (int i = 0; i < 3; i++)
	{
		renc_run_options options = {.payload = 8160,.npages = ROWS / 4,
		.target = RENC_RUN_FALSE_PAGES,.wanted = 0.25 * (1 << 2 * i)};
		double		existing;
		double		absent;
		bool		built = test_run_build(&t, &options, pair, npairs);

		observe(&existing, &absent);
		tap_ok(built && existing > 0.75 * options.wanted && existing < 1.25 * options.wanted,
			   "%.2f false pages are wanted, and are %.3f", options.wanted, existing);
	}
}

/* What an encoder refuses. */
static void
test_refusals(void)
{
	renc_run_options options = {.payload = 8160,.first_page = 10,.npages = 5,
	.target = RENC_RUN_EXACT};
	test_pair	two[2] = {{5, 10, 1}, {5, 11, 1}};

	tap_ok(test_run_build(&t, &options, two, 2) && t.run.entries == 2 && t.run.level == 0, "two pairs");
	two[0].rows = UINT32_MAX;
	two[1].page = 10;
	tap_ok(test_run_build(&t, &options, two, 2) && t.run.entries == 1 && t.run.rows == UINT32_MAX, "a pair twice");
	two[1].page = 9;
	tap_ok(!test_run_build(&t, &options, two, 2), "a page before the first");
	two[1].page = 15;
	tap_ok(!test_run_build(&t, &options, two, 2), "a page behind the last");
	two[1].page = 10;
	two[1].key = 4;
	tap_ok(!test_run_build(&t, &options, two, 2), "keys out of order");
	two[1].key = 5;
	two[0].page = 11;
	tap_ok(!test_run_build(&t, &options, two, 2), "pages out of order");
	two[0].page = 10;
	two[1].rows = 0;
	tap_ok(!test_run_build(&t, &options, two, 2), "no rows");
	tap_ok(!test_run_build(&t, &options, two, 0), "no pairs");
	options.payload = RENC_RUN_MIN_PAYLOAD - 1;
	tap_ok(!test_run_build(&t, &options, two, 1), "a small page");
	options.payload = RENC_RUN_MAX_PAYLOAD;
	tap_ok(test_run_build(&t, &options, two, 1), "the largest page");
	options.target = RENC_RUN_FALSE_PAGES;
	tap_ok(!test_run_build(&t, &options, two, 1), "nothing wanted");
}

/* The verifier says of the tree, with one byte of a page changed: */
static void
expect_damage(uint8_t *byte, uint8_t value, const char *expected)
{
	uint8_t		was = *byte;
	uint32_t	page;
	const char *wrong;

	*byte = value;
	wrong = renc_run_check(&t.run, false, test_run_read, &t, &page);
	tap_ok(wrong != NULL && strcmp(wrong, expected) == 0, "damage: %s", wrong != NULL ? wrong : "none");
	*byte = was;
}

/* A page that is none of the run is not given to anyone. */
static void
expect_no_such_page(uint8_t *window)
{
	static renc_run_search s;
	renc_interval all = {0, UINT64_MAX};
	renc_interval_set set = {&all, 1};
	bool		good = true;
	uint8_t		was = window[3];

	window[3] = 0x7f;
	renc_run_search_begin(&s, &t.run, test_run_read, &t, &set);
	while (renc_run_search_next(&s))
		for (uint32_t i = 0; i < s.n; i++)
			good &= s.page[i] < t.run.npages;
	tap_ok(good && s.failure != NULL, "damage: a search ends with: %s", s.failure != NULL ? s.failure : "nothing");
	window[3] = was;
}

/* What the verifier finds, and says. */
static void
test_damage(void)
{
	renc_run_options options = {.payload = 1000,.npages = ROWS / 35 + 1,
	.target = RENC_RUN_FALSE_PAGES,.wanted = 1};
	uint8_t    *leaf;
	uint8_t    *root;
	uint32_t	n;
	size_t		bytes;
	bool		cleared = false;
	const char *wrong;
	uint32_t	page;

	make_pairs(&kinds[TIMESTAMPS], 0);
	if (!tap_ok(test_run_build(&t, &options, pair, npairs) && t.run.level == 1, "a run to be damaged"))
		return;
	leaf = t.page[0];
	root = test_run_page(&t, t.run.root);
	n = leaf[2] + 256U * leaf[3];
	bytes = (leaf[1] & 7) + 1U;
	expect_damage(&leaf[0], 1, "it is not a leaf");
	expect_damage(&leaf[1], leaf[1] | 0x80, "unknown flags");
	expect_damage(&leaf[5], 0xff, "the blocks do not fit");
	expect_damage(&leaf[6], 64, "a shift is too large");
	expect_damage(&leaf[7], 0, "a cell is wider than the page says");
	expect_damage(&leaf[8], leaf[8] ^ 0x80, "its first key is not the one that the page above says");
	expect_damage(&leaf[16], leaf[16] ^ 1, "the number of entries is wrong");
	expect_damage(&leaf[22], 0xff, "the number of entries or rows is wrong");
	expect_damage(&leaf[4], (uint8_t) (leaf[4] - 1), "the last block does not end where the data do");
	expect_damage(&leaf[24 + n * (bytes + 5) + 3], 0x7f, "a block has pages that are none of the run");
	expect_no_such_page(&leaf[24 + n * (bytes + 5)]);
	expect_damage(&root[0], 2, "it is not an inner page of its level");
	expect_damage(&root[3], 0xff, "the children do not fit");
	expect_damage(&root[8 + 8 + 7], 0xff, "its first key is not the one that the page above says");
	n = root[2];
	expect_damage(&root[8 + 8 * n + 3], 0xff, "it cannot be read");
	expect_damage(&root[8 + 12 * n], 1, "the count before a child is wrong");
	wrong = renc_run_check(&t.run, true, test_run_read, &t, &page);
	tap_ok(wrong != NULL && strcmp(wrong, "it has cells of more than a key") == 0, "not of whole keys: %s",
		   wrong != NULL ? wrong : "none");

	/* Equal keys go on from block to block. */
	make_pairs(&kinds[HOT], 0);
	options.npages = ROWS / 7 + 1;
	options.target = RENC_RUN_EXACT;
	if (!tap_ok(test_run_build(&t, &options, pair, npairs), "another run to be damaged"))
		return;
	for (uint32_t i = 0; i < t.n && !cleared; i++)
	{
		leaf = t.page[i];
		n = leaf[0] == 0 ? leaf[2] + 256U * leaf[3] : 0;
		for (uint32_t j = 1; j < n && !cleared; j++)
		{
			uint8_t    *head = leaf + 24 + n * ((leaf[1] & 7) + 3U) + 3 * j;

			cleared = head[2] >> 6 & 1;
			if (cleared)
				expect_damage(&head[2], head[2] ^ 0x40, "a cell reaches into a block that does not say so");
		}
	}
	tap_ok(cleared, "a block is reached into");
}

/* More entries than 16 bits say, more rows than 32. */
static void
test_many_rows(void)
{
	renc_run_options options = {.payload = 8160,.npages = MANY,.target = RENC_RUN_EXACT};
	test_pair  *many = (test_pair *) test_alloc(MANY * sizeof(test_pair));
	double		before;
	uint32_t	page;

	for (uint32_t i = 0; i < MANY; i++)
	{
		many[i].key = i * UINT64_C(1000000007);
		many[i].page = i;
		many[i].rows = UINT32_MAX;
	}
	tap_ok(test_run_build(&t, &options, many, MANY) && t.run.level > 0 && t.run.entries == MANY &&
		   renc_run_check(&t.run, false, test_run_read, &t, &page) == NULL, "leaves of many rows");
	tap_ok(renc_run_rank(&t.run, test_run_read, &t, many[MANY - 1].key, RENC_RUN_BELOW, &before) == NULL &&
		   before == MANY - 1 && t.run.rows == (uint64_t) t.run.nleaves * UINT32_MAX,
		   "%.0f entries before the last", before);
	free(many);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_run_large");
	pair = (test_pair *) test_alloc(ROWS * sizeof(test_pair));
	found = (uint32_t *) test_alloc((ROWS + 1) * sizeof(uint32_t));
	test_refusals();
	for (int i = 0; i < NKINDS; i++)
	{
		test_random(&kinds[i]);
		test_rule(&kinds[i]);
	}
	test_targets();
	test_damage();
	test_many_rows();
	test_run_free(&t);
	free(t.page);
	free(t.memory);
	free(pair);
	free(found);
	return tap_finish();
}
