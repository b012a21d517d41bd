/*
 * test_run_places.c
 *		Runs of many rows that name parts of pages: all is found, of whole keys no more, and leaves
 *		name pages where rows with neighbouring keys fill them, but not part by part.  Places of one
 *		key that are dense.  What is refused.
 *
 *	test_run_places [SEED]
 */
#include <stdio.h>
#include <stdlib.h>

#include "runlib.h"

#define ROWS		40000
#define PER_PAGE	291
#define PAGES		1000
#define MAX_PARTS	291
#define FEW_PAGES	20
#define FIRST_PAGE	5000
#define QUERIES		1000

static test_run t;
static test_pair * pair;
static size_t npairs;
static uint32_t run_pages = PAGES;
static uint32_t parts;
static bool coarse;				/* may leaves name several parts together? */
static uint32_t *found_place;	/* the number of the query that found it last,
								 * as such */
static uint32_t *found_page;	/* the same of pages as a whole */
static uint32_t *true_place;
static uint32_t *true_page;
static uint32_t query;
static uint32_t *named;			/* places and pages that it found */
static uint32_t nnamed;

/* Rows that lie between one and the next in a page whose rows are not in order. */
#define APART		146

/*
 * Rows in the order of keys for a while, in pages of PER_PAGE rows, then anywhere, and so on;
 * "stretch" 0: in order.  "mixed": what is in order is so by pages only.
 */
static void
make_pairs(size_t stretch, uint32_t rows, bool mixed)
{
	uint32_t	of_part = (PER_PAGE + parts - 1) / parts;
	uint64_t	key = rnd_short();

	for (size_t i = 0; i < ROWS; i++)
	{
		bool		scattered = stretch > 0 && i / stretch % 2;
		size_t		row = scattered ? rnd_below(PAGES * PER_PAGE) : i;

		if (mixed && !scattered)
			row = i / PER_PAGE * PER_PAGE + i % PER_PAGE * APART % PER_PAGE;
		key += 1 + rnd_below(1000);
		pair[i].key = key;
		pair[i].page = (FIRST_PAGE + (uint32_t) (row / PER_PAGE)) * parts +
			(uint32_t) (row % PER_PAGE) / of_part;
		pair[i].rows = rows;
	}
	npairs = sort_pairs(pair, ROWS);
}

static bool
build(renc_run_options *options)
{
	const char *wrong;
	uint32_t	page;

	options->first_page = FIRST_PAGE;
	options->npages = run_pages;
	options->parts = parts;
	options->coarse = coarse;
	if (!test_run_build(&t, options, pair, npairs))
		return tap_ok(false, "%zu pairs are refused", npairs);
	wrong = renc_run_check(&t.run, false, test_run_read, &t, &page);
	return wrong == NULL ? true : tap_ok(false, "page %u: %s", page, wrong);
}

/* What leaves name. */
typedef enum names
{
	PLACES,
	PAGES_AS_A_WHOLE,
	COARSE_PARTS
}			names;

static uint32_t
count_leaves(names what)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < t.n; i++)
		n += t.page[i][0] == 0 && (t.page[i][1] >> 4 & 3) == what;
	return n;
}

static void
mark(uint32_t *found, uint32_t number)
{
	if (found[number] != query)
		named[nnamed++] = number;
	found[number] = query;
}

/* Marks what is named; false if that is none of the run. */
static bool
search(const renc_interval_set *set)
{
	static renc_run_search s;
	bool		good = true;

	query++;
	nnamed = 0;
	renc_run_search_begin(&s, &t.run, test_run_read, &t, set);
	while (renc_run_search_next(&s))
		for (uint32_t i = 0; i < s.n; i++)
		{
			uint32_t	page = s.page[i] - FIRST_PAGE;

			if (page >= PAGES || (s.part[i] != RENC_WHOLE_PAGE && s.part[i] >= parts))
				return false;
			good &= (s.part[i] == RENC_WHOLE_PAGE) == (s.leaf.page[1] >> 4 & 1);
			good &= s.leaf.grain == (s.leaf.page[1] >> 5 & 1 ? RENC_COARSE : s.leaf.names == 1 ? parts : 1);
			if (s.part[i] == RENC_WHOLE_PAGE)
				mark(found_page, page);
			for (uint32_t j = s.part[i]; j < parts && j - s.part[i] < s.leaf.grain; j++)
				mark(found_place, page * parts + j);
		}
	return good && s.failure == NULL;
}

/* How many places are missing and, of whole keys, false? */
static int
count_wrong(const renc_interval *interval, bool exact)
{
	renc_interval_set set = {interval, 1};
	int			wrong = !search(&set);
	size_t		i = find_pair(pair, npairs, interval->lo);

	for (; i < npairs && pair[i].key <= interval->hi; i++)
	{
		uint32_t	place = pair[i].page - FIRST_PAGE * parts;

		wrong += found_place[place] != query && found_page[place / parts] != query;
		true_place[place] = query;
		true_page[place / parts] = query;
	}
	for (uint32_t j = 0; exact && j < nnamed; j++)
		wrong += (found_place[named[j]] == query && true_place[named[j]] != query) ||
			(named[j] < PAGES && found_page[named[j]] == query && true_page[named[j]] != query);
	return wrong;
}

static renc_interval
draw_interval(void)
{
	size_t		i = rnd_below(npairs);
	size_t		n = rnd_below(3) ? 0 : rnd_below(rnd_below(2) && npairs - i > 10 ? 10 : npairs - i);
	renc_interval interval = {pair[i].key, pair[i + n].key};

	if (rnd_below(4) == 0)
		interval.hi += rnd_below(500);
	return interval;
}

/* All targets, over rows in stretches. */
static void
test_stretches(size_t stretch, uint32_t rows, bool mixed)
{
	static const size_t payloads[] = {400, 1000, 8160};
	uint32_t	places = 0;
	uint32_t	pages = 0;
	int			wrong = 0;

	make_pairs(stretch, rows, mixed);
	for (int target = 0; target < 4; target++)
	{
		renc_run_options options = random_run_options(payloads[target % 3], 0, 0);

		options.target = (renc_run_target) (target / 2);
		options.block = 0;
		if (options.target == RENC_RUN_FALSE_PAGES)
			options.wanted = 1 + target;
		if (!build(&options))
			return;
		if (options.target == RENC_RUN_EXACT)
			wrong += count_leaves(PAGES_AS_A_WHOLE) + count_leaves(COARSE_PARTS) > 0;
		else
			places += count_leaves(PLACES) + count_leaves(COARSE_PARTS);
		pages += count_leaves(PAGES_AS_A_WHOLE);
		for (int i = 0; i < QUERIES; i++)
		{
			renc_interval interval = draw_interval();

			wrong += count_wrong(&interval, options.target == RENC_RUN_EXACT);
		}
	}
	tap_ok(wrong == 0, "%u parts, stretches of %zu, %s, %u rows a pair: %d places wrong", parts,
		   stretch, mixed ? "mixed" : "in order", rows, wrong);
	tap_ok((mixed ? pages > 0 : pages == 0) && (mixed && stretch == 0 ? places < 6 : places > 0),
		   "%u leaves name places, %u pages", places, pages);
}

/*
 * Where the keys go with the rows by pages only, parts cost next to nothing; where they go with them,
 * some 3 bits a row; and elsewhere bits for the part.
 */
static void
test_size(size_t stretch, bool mixed, uint32_t divided, double most)
{
	double		bits[2];

	for (int i = 0; i < 2; i++)
	{
		renc_run_options options = {.payload = 8160,.target = RENC_RUN_FALSE_PAGES,.wanted = 1};
		double		used = 0;

		rnd_seed(7);
		parts = i == 0 ? 1 : divided;
		make_pairs(stretch, 1, mixed);
		if (!build(&options))
			return;
		for (uint32_t j = 0; j < t.n; j++)
			used += t.page[j][0] == 0 ? t.page[j][4] + 256 * t.page[j][5] : 0;
		bits[i] = 8 * used / ROWS;
	}
	tap_ok(bits[1] <= bits[0] + most, "stretches of %zu, %s: %.2f bits a row, %.2f with %u parts",
		   stretch, mixed ? "mixed" : "in order", bits[0], bits[1], divided);
}

/*
 * Leaves of a run that names rows may name four of them together.  Where keys do not lie together they
 * name rows; where they do, no row costs more than in a run that names four in any case.
 */
static void
test_coarse(size_t stretch, bool mixed, bool places, bool coarse_parts, bool pages)
{
	double		bits[2];
	uint32_t	n[3];
	int			wrong = 0;

	for (int i = 0; i < 2; i++)
	{
		renc_run_options options = {.payload = 8160,.target = RENC_RUN_FALSE_PAGES,.wanted = 1};

		rnd_seed(7);
		coarse = i == 1;
		parts = coarse ? 291 : 73;
		make_pairs(stretch, 1, mixed);
		if (!build(&options))
			return;
		bits[i] = 0;
		for (uint32_t j = 0; j < t.n; j++)
			bits[i] += t.page[j][0] == 0 ? 8.0 * (t.page[j][4] + 256 * t.page[j][5]) / ROWS : 0;
	}
	for (int what = 0; what < 3; what++)
		n[what] = count_leaves((names) what);
	for (int i = 0; i < QUERIES; i++)
	{
		renc_interval interval = draw_interval();

		wrong += count_wrong(&interval, false);
	}
	coarse = false;
	tap_ok(wrong == 0 && bits[1] <= bits[0] + (places ? 2.3 : 0.1),
		   "rows, or four: %d places wrong, %.2f bits a row, %.2f if always four", wrong, bits[1],
		   bits[0]);
	tap_ok((n[PLACES] > 0) == places && (n[COARSE_PARTS] > 0) == coarse_parts &&
		   (n[PAGES_AS_A_WHOLE] > 0) == pages, "%u leaves name rows, %u four, %u pages", n[PLACES],
		   n[COARSE_PARTS], n[PAGES_AS_A_WHOLE]);
}

/*
 * Keys of "lines" rows each in order, which fill pages of 35 rows: a query for a key reads its own
 * page and its own parts, and few others.
 */
static void
test_lines(uint32_t lines, double most_pages, double most_rows)
{
	renc_run_options options = {.payload = 8160,.target = RENC_RUN_FALSE_PAGES,.wanted = 0.5,.wanted_together = 1};
	double		pages[2] = {0, 0};	/* that are found, and there */
	double		rows = 0;		/* of the places that are found */

	parts = 9;
	for (uint32_t row = 0; row < ROWS; row++)
	{
		pair[row].key = row / lines;
		pair[row].page = (FIRST_PAGE + row / 35) * parts + row % 35 / 4;
		pair[row].rows = 1;
	}
	npairs = sort_pairs(pair, ROWS);
	run_pages = ROWS / 35 + 1;
	if (!build(&options))
		return;
	for (uint32_t key = 0; key < ROWS / lines; key += 7)
	{
		renc_interval interval = {key, key};
		renc_interval_set set = {&interval, 1};
		static renc_run_search s;
		uint32_t	last = UINT32_MAX;

		pages[1] += (key * lines + lines - 1) / 35 - key * lines / 35 + 1;
		renc_run_search_begin(&s, &t.run, test_run_read, &t, &set);
		while (renc_run_search_next(&s))
			for (uint32_t i = 0; i < s.n; i++)
			{
				pages[0] += s.page[i] != last;
				rows += s.part[i] == RENC_WHOLE_PAGE ? 35 : s.part[i] == 8 ? 3 : 4;
				last = s.page[i];
			}
	}
	run_pages = PAGES;
	rows /= (ROWS / lines + 6) / 7 * lines;
	tap_ok(pages[0] <= most_pages * pages[1] && rows <= most_rows,
		   "keys of %u rows in order: %.2f pages for one, %.2f rows for one", lines, pages[0] / pages[1],
		   rows);
	tap_ok(t.false_pages <= 0.2, "%.2f false pages expected", t.false_pages);
}

/*
 * Keys of many rows in few pages: entries name pages, each once for a key, and cells are made as
 * they are without parts.
 */
static void
test_few_pages(uint32_t divided)
{
	double		bits[2];
	double		said[2];

	for (int i = 0; i < 2; i++)
	{
		renc_run_options options = {.payload = 8160,.target = RENC_RUN_FALSE_PAGES,.wanted = 1};

		rnd_seed(7);
		parts = i == 0 ? 1 : divided;
		for (size_t row = 0; row < ROWS; row++)
		{
			pair[row].key = row / 10 * 1000003;
			pair[row].page = (FIRST_PAGE + (uint32_t) rnd_below(FEW_PAGES)) * parts;
			pair[row].page += (uint32_t) rnd_below(291) * parts / 291;
			pair[row].rows = 1;
		}
		npairs = sort_pairs(pair, ROWS);
		if (!build(&options))
			return;
		bits[i] = 0;
		for (uint32_t j = 0; j < t.n; j++)
			bits[i] += t.page[j][0] == 0 ? 8.0 * (t.page[j][4] + 256 * t.page[j][5]) / ROWS : 0;
		said[i] = t.false_pages;
	}
	tap_ok(bits[1] <= bits[0] + 0.1 && said[1] <= said[0] + 0.2,
		   "few pages: %.2f bits a row, %.2f with %u parts; %.2f false pages, %.2f with them", bits[0],
		   bits[1], divided, said[0], said[1]);
}

/*
 * A key in a share of all places, and another in few: leaves name pages if that is nearly all.  A place
 * takes few bits.
 */
static void
test_dense(double share, double most, bool may_be_coarse)
{
	static const renc_interval keys[] = {{0, 0}, {1, 1}};
	renc_run_options options = {.payload = 8160,.target = RENC_RUN_DENSE};
	double		used = 0;
	int			wrong;

	parts = 30;
	coarse = may_be_coarse;
	npairs = 0;
	for (uint32_t place = 0; place < PAGES * parts; place++)
		if (rnd_below(1000) < share * 1000)
			pair[npairs++] = (test_pair)
		{
			0, FIRST_PAGE * parts + place, 4
		};
	for (uint32_t page = 3; page < PAGES; page += 100)
		pair[npairs++] = (test_pair)
	{
		1, (FIRST_PAGE + page) * parts + 7, 1
	};
	if (!build(&options))
		return;
	for (uint32_t i = 0; i < t.n; i++)
		used += t.page[i][0] == 0 ? 8 * (t.page[i][4] + 256 * t.page[i][5]) : 0;
	wrong = count_wrong(&keys[0], !coarse) + count_wrong(&keys[1], !coarse);
	tap_ok(wrong == 0 && (!coarse || count_leaves(PLACES) == 0) && used <= most * PAGES * parts && count_leaves(share < (coarse ? 0.3 : 0.9) ? PAGES_AS_A_WHOLE : PLACES) == 0,
		   "a key in %.1f %% of the places: %d places wrong, %.2f bits for each place of the table",
		   100 * share, wrong, used / PAGES / parts);
	coarse = false;
}

/* ---- What is refused ---- */

/* Is a run of the only pair, or of the two, accepted? */
static bool
accepts(uint32_t first_page, uint32_t npages, uint32_t divided, uint32_t place, uint32_t other)
{
	renc_run_options options = {.payload = 1000,.target = RENC_RUN_EXACT};
	test_pair	two[2] = {{5, place, 1}, {5, other, 2}};

	options.first_page = first_page;
	options.npages = npages;
	options.parts = divided;
	return test_run_build(&t, &options, two, 2);
}

/* A run of one place, which is found again. */
static bool
finds(uint32_t first_page, uint32_t npages, uint32_t divided, uint32_t place)
{
	static renc_run_search s;
	renc_interval all = {0, UINT64_MAX};
	renc_interval_set set = {&all, 1};
	uint32_t	page;

	if (!accepts(first_page, npages, divided, place, place))
		return false;
	renc_run_search_begin(&s, &t.run, test_run_read, &t, &set);
	return renc_run_search_next(&s) && s.n == 1 && s.page[0] == place / divided &&
		s.part[0] == place % divided && !renc_run_search_next(&s) && t.run.rows == 3 &&
		t.run.parts == divided && renc_run_check(&t.run, false, test_run_read, &t, &page) == NULL;
}

static void
test_refusals(void)
{
	tap_ok(finds(10, 5, 10, 100) && finds(10, 5, 10, 149), "the first place and the last");
	tap_ok(!accepts(10, 5, 10, 99, 99) && !accepts(10, 5, 10, 150, 150) &&
		   !accepts(10, 5, 10, 12, 12) && !accepts(10, 5, 10, 149, 150),
		   "places that are none of the run");
	tap_ok(accepts(10, 5, 10, 104, 105) && t.run.entries == 2 && !accepts(10, 5, 10, 105, 104),
		   "places in order, and out of it");
	tap_ok(finds(0, UINT32_MAX / 10, 10, UINT32_MAX - 6) &&
		   finds(0, UINT32_MAX / 291, 291, UINT32_MAX - 291), "places of the largest runs");
	tap_ok(finds(UINT32_MAX / 73 - 1, 1, 73, UINT32_MAX / 73 * 73 - 1), "of the last page");
	tap_ok(finds(UINT32_MAX / 4, 1, 4, UINT32_MAX), "the last place of 32 bits");
	tap_ok(!accepts(0, UINT32_C(1) << 30, 4, 7, 7), "a page more than places of 32 bits have");
	tap_ok(!accepts(0, UINT32_MAX / 10 + 1, 10, 7, 7) && !accepts(1, UINT32_MAX / 10, 10, 17, 17) &&
		   !accepts(0, UINT32_MAX / 291 + 1, 291, 7, 7) &&
		   !accepts(UINT32_MAX / 73, 1, 73, UINT32_MAX, UINT32_MAX) &&
		   !accepts(UINT32_MAX, 1, 2, UINT32_MAX, UINT32_MAX), "more places than 32 bits say");
	tap_ok(finds(0, 5, RENC_WHOLE_PAGE - 1, RENC_WHOLE_PAGE) &&
		   !accepts(0, 5, RENC_WHOLE_PAGE, 3, 3) &&
		   !accepts(0, 5, UINT32_MAX, 3, 3), "more parts than there are names for");
}

/* The verifier and a search say of the first leaf: */
static void
expect_wrong(const renc_run *run, const char *expected)
{
	static renc_run_search s;
	renc_interval all = {0, UINT64_MAX};
	renc_interval_set set = {&all, 1};
	renc_run_summary summary;
	const char *wrong = renc_run_check_leaf(t.page[0], run, &summary);
	uint32_t	page;

	tap_ok(wrong != NULL && strcmp(wrong, expected) == 0, "a leaf: %s",
		   wrong != NULL ? wrong : "nothing");
	wrong = renc_run_check(run, false, test_run_read, &t, &page);
	renc_run_search_begin(&s, run, test_run_read, &t, &set);
	tap_ok(wrong != NULL && strcmp(wrong, expected) == 0 && !renc_run_search_next(&s) &&
		   s.failure != NULL && strcmp(s.failure, expected) == 0, "the run, and a search: the same");
}

/* Flags and numbers that do not go together. */
static void
test_damage(void)
{
	renc_run_options options = {.payload = 8160,.target = RENC_RUN_FALSE_PAGES,.wanted = 1};
	renc_run	run;

	parts = 9;
	make_pairs(0, 1, true);
	if (!build(&options) || !tap_ok(t.page[0][1] & 0x10, "a leaf that names pages"))
		return;
	run = t.run;
	run.parts = 1;
	expect_wrong(&run, "unknown flags");
	run.parts = 0;
	expect_wrong(&run, "the run has too many places");
	run.parts = 9;
	run.npages = UINT32_MAX / 9 + 1;
	expect_wrong(&run, "the run has too many places");
	make_pairs(1, 1, false);
	if (!build(&options) || !tap_ok(!(t.page[0][1] & 0x10), "a leaf that names places"))
		return;
	t.page[0][1] ^= 0x40;
	expect_wrong(&t.run, "unknown flags");
	t.page[0][1] ^= 0x40 | 0x30;
	expect_wrong(&t.run, "unknown flags");
	t.page[0][1] ^= 0x10;
	run = t.run;
	run.parts = RENC_COARSE;
	expect_wrong(&run, "unknown flags");
}

int
main(int argc, char **argv)
{
	static const uint32_t divisions[] = {2, 9, 73, 291};

	tap_start(argc, argv, "test_run_places");
	pair = (test_pair *) test_alloc(ROWS * sizeof(test_pair));
	found_place = (uint32_t *) test_alloc(PAGES * MAX_PARTS * sizeof(uint32_t));
	found_page = (uint32_t *) test_alloc(PAGES * sizeof(uint32_t));
	true_place = (uint32_t *) test_alloc(PAGES * MAX_PARTS * sizeof(uint32_t));
	named = (uint32_t *) test_alloc(PAGES * (MAX_PARTS + 1) * sizeof(uint32_t));
	true_page = (uint32_t *) test_alloc(PAGES * sizeof(uint32_t));
	for (int i = 0; i < 4; i++)
	{
		parts = divisions[i];
		test_stretches(0, 1, false);
		test_stretches(700, parts == 2 ? 1 : 6, false);
		if (parts < 291)
		{
			test_stretches(0, 1, true);
			test_stretches(700, 1, true);
			test_stretches(9000, 1, true);
		}
	}
	test_size(0, true, 9, 0.1);
	test_size(0, true, 73, 0.1);
	test_size(0, false, 9, 0);
	test_size(0, false, 73, 3.5);
	test_size(1, false, 9, 4);
	test_coarse(0, false, false, true, false);
	test_coarse(0, true, false, false, true);
	test_coarse(1, false, true, false, false);
	test_coarse(9000, false, true, true, false);
	test_coarse(9000, true, true, false, true);
	test_lines(1, 1.2, 9);
	test_lines(4, 1.2, 3);
	test_lines(40, 1.2, 2);
	run_pages = FEW_PAGES;
	test_few_pages(2);
	test_few_pages(9);
	run_pages = PAGES;
	test_dense(0.01, 0.12, false);
	test_dense(0.2, 1.25, false);
	test_dense(0.5, 1.15, false);
	test_dense(0.8, 1.15, false);
	test_dense(0.95, 0.08, false);
	test_dense(1, 0.08, false);
	test_dense(0.01, 0.12, true);
	test_dense(0.2, 0.7, true);
	test_dense(0.5, 0.08, true);
	test_refusals();
	test_damage();
	test_run_free(&t);
	free(t.page);
	free(t.memory);
	free(pair);
	free(found_place);
	free(found_page);
	free(true_place);
	free(true_page);
	free(named);
	return tap_finish();
}
