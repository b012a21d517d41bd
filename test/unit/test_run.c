/*
 * test_run.c
 *		Runs over small domains: every interval between interesting points, against
 *		the truth.
 *
 *	test_run [SEED [ROUNDS]]
 *
 * Dense, random and extreme keys, duplicates, pages that go with the keys, whole or in parts;
 * small pages so that trees are high; all targets.  What is compared: places found (none missing;
 * of whole keys none too many), sets of intervals with their intervals one by one, the cells of
 * entries with the keys, ranks with the entries that a search finds, what a search says that it
 * will read with what it reads.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "place_set.h"
#include "runlib.h"

#define ROUNDS		1000
#define MAX_PAIRS	4000
#define MAX_VALUES	64
#define MAX_POINTS	(4 * MAX_VALUES + 2)

/* What was found: places, and pages as a whole. */
typedef struct findings
{
	place_set	places;
	place_set	whole;			/* all places of these pages */
}			findings;

typedef struct domain
{
	test_pair	pair[MAX_PAIRS];
	size_t		n;
	uint64_t	point[MAX_POINTS];
	size_t		npoints;
	uint32_t	first_page;
	uint32_t	npages;
	uint32_t	parts;
	uint32_t	first;			/* place */
	uint32_t	nplaces;
}			domain;

/* A search: the pages of each level that it was said to read, and how many of them it has read. */
typedef struct watch
{
	uint32_t	queue[RENC_RUN_MAX_LEVEL + 1][MAX_PAIRS];
	uint32_t	first[RENC_RUN_MAX_LEVEL + 1];
	uint32_t	end[RENC_RUN_MAX_LEVEL + 1];
	uint32_t	passed[RENC_RUN_MAX_LEVEL + 1]; /* others read, while some
												 * waited */
	bool		begun[RENC_RUN_MAX_LEVEL + 1];	/* is one below the present
												 * parent read? */
	uint32_t	distance;
	long		unexpected;
	long		inner;			/* pages read */
	bool		good;
}			watch;

static domain d;
static test_run t;
static long queries;
static long expected;
static long false_places;
static long trees;
static long high_trees;
static long gap_blocks;
static long page_spans[3];		/* leaves: of undivided pages; that name
								 * places; pages */
static long leaves[3];
static long mixed;
static long reaching;
static long ranked;

/* All places of the pages that have one of these. */
static place_set
whole_pages(const place_set * places)
{
	place_set	whole;

	memset(&whole, 0, sizeof(whole));
	for (uint32_t place = 0; place < d.nplaces; place++)
		if (has_place(places, place))
			for (uint32_t part = 0; part < d.parts; part++)
				set_place(&whole, place / d.parts * d.parts + part);
	return whole;
}

static uint64_t
random_value(int kind, int i)
{
	switch (kind)
	{
		case 0:
			return (uint64_t) i;
		case 1:
			return rnd();
		case 2:
			return rnd_short();
		case 3:
			return (rnd_below(4) << 62) + rnd_below(40);
		case 4:
			return ~rnd_below(200);
		case 5:
			return (UINT64_C(1) << 63) - 30 + (uint64_t) i;
		default:
			return rnd_below(2) ? rnd_below(3) : ~rnd_below(3);
	}
}

static void
make_points(const uint64_t *value, int nvalues)
{
	d.npoints = 0;
	for (int i = 0; i < nvalues; i++)
	{
		d.point[d.npoints++] = value[i];
		if (rnd_below(2))
			d.point[d.npoints++] = value[i] + 1;
		if (rnd_below(2))
			d.point[d.npoints++] = value[i] - 1;
		if (rnd_below(4) == 0)
			d.point[d.npoints++] = value[i] + rnd_short();
	}
	d.point[d.npoints++] = 0;
	d.point[d.npoints++] = UINT64_MAX;
	d.npoints = sort_keys(d.point, d.npoints);
}

/* How many pages, from where on, in how many parts. */
static void
draw_pages(void)
{
	static const uint32_t parts[] = {2, 9, 73, 291};
	uint32_t	most;

	d.parts = rnd_below(2) ? 1 : parts[rnd_below(4)];
	most = (d.parts == 1 ? 256 : MAX_PLACES) / d.parts;
	d.npages = 1 + (uint32_t) rnd_below(rnd_below(2) || most < 8 ? most : 8);
	d.nplaces = d.npages * d.parts;
	d.first_page = rnd_below(2) ? 0 : rnd_below(2) ? 1000 :
		(uint32_t) ((UINT64_C(1) << 32) / d.parts) - d.npages;
	d.first = d.first_page * d.parts;
}

/* Rows of a pair with value j of n. */
static uint32_t
draw_rows(int kind, int j, int n)
{
	if (kind == 2 || (kind == 1 && j < n / 2))
		return 1 + (uint32_t) rnd_below(4 * d.parts);
	return 1 + (uint32_t) rnd_below(3);
}

static void
make_domain(void)
{
	uint64_t	value[MAX_VALUES];
	int			nvalues = 1 + (int) rnd_below(MAX_VALUES);
	int			kind = (int) rnd_below(7);
	int			skew = (int) rnd_below(3);
	bool		with_pages = rnd_below(3) == 0;
	int			many = (int) rnd_below(4);

	for (int i = 0; i < nvalues; i++)
		value[i] = random_value(kind, i);
	nvalues = (int) sort_keys(value, nvalues);
	draw_pages();
	d.n = 1 + rnd_below(rnd_below(d.parts == 1 ? 3 : 2) ? 200 : MAX_PAIRS);
	for (size_t i = 0; i < d.n; i++)
	{
		int			j = (int) rnd_below(nvalues);

		if (skew == 1 && rnd_below(10) > 0)
			j = 0;
		if (skew == 2)
			j = j * (int) rnd_below(nvalues) / nvalues;
		d.pair[i].key = value[j];
		d.pair[i].page = d.first +
			(uint32_t) (with_pages ? (uint64_t) j * d.nplaces / nvalues : rnd_below(d.nplaces));
		d.pair[i].rows = draw_rows(many, j, nvalues);
	}
	d.n = sort_pairs(d.pair, d.n);
	make_points(value, nvalues);
}

/* A read of a search that is watched. */
static const uint8_t *
watched_read(void *arg, uint32_t page, int level)
{
	watch	   *w = (watch *) arg;
	bool		named = w->first[level] < w->end[level] && w->queue[level][w->first[level]] == page;

	w->first[level] += named;
	w->unexpected += !named;
	w->passed[level] += !named && w->begun[level];
	if (w->first[level] == w->end[level])
		w->passed[level] = 0;
	w->begun[level] = true;
	if (level > 0)
		w->begun[level - 1] = false;
	w->inner += level > 0;
	return test_run_read(&t, page, level);
}

static void
watched_expect(void *arg, uint32_t page)
{
	watch	   *w = (watch *) arg;
	int			level = test_run_page(&t, page)[0];

	if (w->end[level] == MAX_PAIRS)
	{
		w->good = false;
		return;
	}
	w->queue[level][w->end[level]++] = page;

	/*
	 * The present one is read only after those behind it were named.  If it
	 * was not named itself, since an interval ends there, one more is.
	 */
	w->good &= w->end[level] - w->first[level] <= w->distance + 1 + w->passed[level];
	expected++;
}

/*
 * Was all read that was to be expected, in that order?  What was not, is the root, a page
 * below each inner page, and perhaps one where an interval ends with an inner page.
 */
static bool
foreseen(const watch * w, size_t intervals)
{
	long		most = 1 + w->inner + (long) intervals - 1;
	bool		good = w->good && (w->distance == 0 || w->unexpected <= most);

	for (int level = 0; level <= RENC_RUN_MAX_LEVEL; level++)
		good &= w->first[level] == w->end[level];
	return good;
}

/* Adds what an entry names; false if that is nothing of the run. */
static bool
add_entry(findings * found, uint32_t page, uint16_t part, uint32_t grain)
{
	uint32_t	place = (page - d.first_page) * d.parts;
	uint32_t	first = part == RENC_WHOLE_PAGE ? 0 : part;
	uint32_t	end = part == RENC_WHOLE_PAGE || part + grain > d.parts ? d.parts : part + grain;

	if (page - d.first_page >= d.npages ||
		(part != RENC_WHOLE_PAGE && (d.parts == 1 || part >= d.parts)))
		return false;
	for (uint32_t i = first; i < end; i++)
		set_place(grain > 1 ? &found->whole : &found->places, place + i);
	return true;
}

/* Places found for a set; false if an entry has nothing to do with it. */
static bool
find(const renc_interval_set *set, findings * found)
{
	static renc_run_search search;
	static watch w;
	bool		good = true;
	uint64_t	entries = 0;

	memset(found, 0, sizeof(*found));
	memset(t.reads, 0, t.n * sizeof(uint32_t));
	memset(w.first, 0, sizeof(w) - offsetof(watch, first));
	w.good = true;
	w.distance = (uint32_t) (queries % 4 == 3 ? 100 : queries % 4);
	renc_run_search_begin(&search, &t.run, watched_read, &w, set);
	if (w.distance > 0)
		renc_run_search_look_ahead(&search, watched_expect, w.distance);
	while (renc_run_search_next(&search))
	{
		for (uint32_t i = 0; i < search.n; i++)
		{
			uint64_t	lo = renc_run_entry_lo(&search, i);
			uint64_t	hi = renc_run_entry_hi(&search, i);

			good &= lo <= hi && add_entry(found, search.page[i], search.part[i], search.leaf.grain);
			good &= renc_interval_set_overlap(set, lo, hi) != RENC_DISJOINT;
		}
		good &= search.n > 0;
		entries += search.n;
	}
	queries++;

	/* Each leaf once; each entry once. */
	for (uint32_t i = 0; i < t.n; i++)
		good &= t.reads[i] <= 1;
	return good && foreseen(&w, set->n) && search.failure == NULL && entries <= t.run.entries;
}

/* Is all found that is true, and of whole keys no more: pages that are named have a true place? */
static bool
is_found(const findings * found, const place_set * truth, bool exact)
{
	place_set	all = found->places;
	place_set	pages;
	int			wrong;

	add_places(&all, &found->whole);
	if (count_others(truth, &all) > 0)
		return tap_ok(false, "%d places are missing", count_others(truth, &all));
	false_places += count_others(&all, truth);
	if (!exact)
		return true;
	pages = whole_pages(truth);
	wrong = count_others(&found->places, truth) + count_others(&found->whole, &pages);
	return wrong == 0 ? true : tap_ok(false, "whole keys, but %d places are false", wrong);
}

static bool
check_intervals(bool exact)
{
	for (size_t i = 0; i < d.npoints; i++)
	{
		place_set	truth;
		size_t		at = find_pair(d.pair, d.n, d.point[i]);

		memset(&truth, 0, sizeof(truth));
		for (size_t j = i; j < d.npoints; j++)
		{
			renc_interval one = {d.point[i], d.point[j]};
			renc_interval_set set = {&one, 1};
			findings	found;

			for (; at < d.n && d.pair[at].key <= one.hi; at++)
				set_place(&truth, d.pair[at].page - d.first);
			if (!find(&set, &found))
				return tap_ok(false, "a search fails or finds what it should not");
			if (!is_found(&found, &truth, exact))
				return tap_ok(false, "[%llx, %llx] is wrong", (unsigned long long) one.lo,
							  (unsigned long long) one.hi);
		}
	}
	return true;
}

/* Several intervals find what they find one by one. */
static bool
check_sets(void)
{
	for (int round = 0; round < 20; round++)
	{
		renc_interval interval[MAX_POINTS];
		renc_interval_set all = {interval, 0};
		size_t		i = rnd_below(d.npoints);
		uint64_t	step = 1 + rnd_below(rnd_below(2) ? 3 : d.npoints);
		findings	together;
		findings	united;

		while (i < d.npoints)
		{
			size_t		j = i + rnd_below(step);

			interval[all.n].lo = d.point[i];
			interval[all.n++].hi = d.point[j < d.npoints ? j : d.npoints - 1];
			i = j + 1 + rnd_below(step);
		}
		memset(&united, 0, sizeof(united));
		for (size_t k = 0; k < all.n; k++)
		{
			renc_interval_set one = {&interval[k], 1};
			findings	found;

			if (!find(&one, &found))
				return tap_ok(false, "a search fails or finds what it should not");
			add_places(&united.places, &found.places);
			add_places(&united.whole, &found.whole);
		}
		if (!find(&all, &together))
			return tap_ok(false, "a search for %zu intervals fails or finds what it should not", all.n);
		if (memcmp(&together, &united, sizeof(united)) != 0)
			return tap_ok(false, "%zu intervals together find other places than alone", all.n);
	}
	return true;
}

/* Each entry stands for a pair, each pair is in an entry; batches come in order. */
static bool
check_entries(void)
{
	static renc_run_search search;
	renc_interval everything = {0, UINT64_MAX};
	renc_interval_set set = {&everything, 1};
	static bool named[MAX_PAIRS];
	uint64_t	entries = 0;
	uint64_t	last = 0;
	bool		good = true;

	memset(named, 0, sizeof(named));
	renc_run_search_begin(&search, &t.run, test_run_read, &t, &set);
	while (renc_run_search_next(&search))
	{
		good &= search.separator >= last;
		last = search.separator;
		entries += search.n;
		for (uint32_t i = 0; i < search.n; i++)
		{
			bool		any = false;
			size_t		at = find_pair(d.pair, d.n, renc_run_entry_lo(&search, i));

			for (; at < d.n && d.pair[at].key <= renc_run_entry_hi(&search, i); at++)
				if (d.pair[at].page / d.parts == search.page[i] &&
					(search.part[i] == RENC_WHOLE_PAGE ||
					 d.pair[at].page % d.parts - search.part[i] < search.leaf.grain))
					any = named[at] = true;
			good &= any;
		}
	}
	for (size_t i = 0; i < d.n; i++)
		good &= named[i];
	return good && entries == t.run.entries ? true :
		tap_ok(false, "entries and pairs do not belong together");
}

/* The entries of an interval, and of them those of cells that reach beyond it. */
static bool
find_entries(renc_interval interval, double *found, double *cut)
{
	static renc_run_search search;
	renc_interval_set set = {&interval, 1};

	*found = *cut = 0;
	renc_run_search_begin(&search, &t.run, test_run_read, &t, &set);
	while (renc_run_search_next(&search))
		for (uint32_t i = 0; i < search.n; i++)
		{
			*found += 1;
			*cut += renc_run_entry_lo(&search, i) < interval.lo || renc_run_entry_hi(&search, i) > interval.hi;
		}
	return search.failure == NULL;
}

/*
 * The ranks of an interval differ from what a search of it finds by the entries that its bounds
 * cut, at most.  Of whole keys there are as many as pairs, or fewer where pages are named.
 */
static bool
check_rank(renc_interval interval, bool exact)
{
	double		pairs = 0;
	double		pages = 0;
	uint64_t	page = UINT64_MAX;
	double		found;
	double		cut;
	double		below;
	double		upto;
	bool		good = find_entries(interval, &found, &cut);

	for (size_t i = find_pair(d.pair, d.n, interval.lo); i < d.n && d.pair[i].key <= interval.hi; i++)
	{
		pairs++;
		pages += page != d.pair[i].page / d.parts || d.pair[i].key != d.pair[i - 1].key;
		page = d.pair[i].page / d.parts;
	}
	good &= renc_run_rank(&t.run, test_run_read, &t, interval.lo, RENC_RUN_BELOW, &below) == NULL;
	good &= renc_run_rank(&t.run, test_run_read, &t, interval.hi, RENC_RUN_UPTO, &upto) == NULL;
	good &= upto - below >= found - cut && upto - below <= found;
	if (exact)
		good &= upto - below <= pairs && upto - below >= pages;
	return good ? true :
		tap_ok(false, "%llx .. %llx: %f entries; a search finds %f, %f of them cut, of %f pairs",
			   (unsigned long long) interval.lo, (unsigned long long) interval.hi, upto - below, found, cut, pairs);
}

/* Ranks rise, are none before the first key and all behind the last. */
static bool
check_ranks(bool exact)
{
	double		last[2] = {0, 0};

	for (size_t i = 0; i < d.npoints; i++)
	{
		renc_interval interval = {d.point[i], d.point[i + rnd_below(d.npoints - i)]};
		double		before[2];
		bool		good = true;

		for (int side = RENC_RUN_BELOW; side <= RENC_RUN_UPTO; side++)
		{
			good &= renc_run_rank(&t.run, test_run_read, &t, d.point[i], (renc_run_side) side, &before[side]) == NULL;
			good &= before[side] >= last[side] && before[side] <= (double) t.run.entries;
			last[side] = before[side];
		}
		good &= before[1] >= before[0];
		if (d.point[i] <= d.pair[0].key)
			good &= before[0] == 0;
		if (d.point[i] >= d.pair[d.n - 1].key)
			good &= before[1] == (double) t.run.entries;
		if (!good)
			return tap_ok(false, "a rank of %llx is wrong: %f or %f", (unsigned long long) d.point[i],
						  before[0], before[1]);
		ranked++;
		if (!check_rank(interval, exact))
			return false;
	}
	return true;
}

/* What kinds of blocks were met: the tests must have seen all of them. */
static void
count_kinds(void)
{
	long		named[3] = {0, 0, 0};

	for (uint32_t i = 0; i < t.n; i++)
	{
		const uint8_t *page = t.page[i];
		uint32_t	n = page[2] | page[3] << 8;
		int			kind;

		if (page[0] != 0)
			continue;
		kind = d.parts == 1 ? 0 : page[1] & 0x10 ? 2 : 1;
		named[kind]++;
		page_spans[kind] += page[1] >> 3 & 1;
		for (uint32_t j = 0; j < n; j++)
		{
			const uint8_t *head = page + 24 + n * ((page[1] & 7) + 1 + 2) + 3 * j;

			gap_blocks += head[2] >> 7;
			reaching += head[2] >> 6 & 1;
		}
	}
	for (int kind = 0; kind < 3; kind++)
		leaves[kind] += named[kind];
	mixed += named[1] > 0 && named[2] > 0;
	trees += t.run.level > 0;
	high_trees += t.run.level > 1;
}

static bool
check_domain(void)
{
	static const size_t payloads[] = {128, 160, 160, 400, 8160};
	renc_run_options options = random_run_options(payloads[rnd_below(5)], d.first_page, d.npages);
	const char *wrong;
	uint32_t	page;
	uint64_t	rows = 0;

	options.parts = d.parts == 1 && rnd_below(2) ? 0 : d.parts;
	t.strict = rnd_below(8) == 0;
	for (size_t i = 0; i < d.n; i++)
		rows += d.pair[i].rows;
	if (!test_run_build(&t, &options, d.pair, d.n))
		return tap_ok(false, "%zu pairs are refused", d.n);
	count_kinds();
	wrong = renc_run_check(&t.run, options.target == RENC_RUN_EXACT, test_run_read, &t, &page);
	if (wrong != NULL)
		return tap_ok(false, "page %u: %s", page, wrong);
	if (t.run.rows != rows || t.run.least != d.pair[0].key || t.run.greatest != d.pair[d.n - 1].key ||
		t.run.entries > d.n || t.run.parts != d.parts || t.run.nleaves + t.run.ninner != t.n)
		return tap_ok(false, "the run's totals are wrong");
	return check_entries() && check_ranks(options.target == RENC_RUN_EXACT) && test_run_selects(&t) && check_sets() &&
		check_intervals(options.target == RENC_RUN_EXACT);
}

int
main(int argc, char **argv)
{
	int			rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
	bool		good = true;
	int			round = 0;

	tap_start(argc, argv, "test_run");
	for (; good && round < rounds; round++)
	{
		make_domain();
		good = check_domain();
	}
	tap_ok(good, "%d runs, %ld queries, %ld false places: none is missing", round, queries,
		   false_places);
	tap_ok(trees > 0 && high_trees > 0 && gap_blocks > 0 && reaching > 0,
		   "with %ld trees, %ld of them of more levels, %ld blocks of gaps, "
		   "%ld blocks that are reached into", trees, high_trees, gap_blocks, reaching);
	tap_ok(leaves[1] > 0 && leaves[2] > 0 && mixed > 0, "%ld leaves of undivided pages, %ld name "
		   "places, %ld pages; %ld runs have both", leaves[0], leaves[1], leaves[2], mixed);
	tap_ok(page_spans[0] > 0 && page_spans[1] > 0 && page_spans[2] > 0,
		   "of these have page spans: %ld, %ld and %ld", page_spans[0], page_spans[1], page_spans[2]);
	tap_ok(ranked > 0, "%ld ranks", ranked);
	tap_ok(expected > 0, "%ld pages were read as was to be expected", expected);
	test_run_free(&t);
	free(t.page);
	free(t.memory);
	return tap_finish();
}
