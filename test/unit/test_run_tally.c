/*
 * test_run_tally.c
 *		What is tallied of pairs in cells of any width is to the last bit what counting pair
 *		after pair says.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "renc_run_tally.h"
#include "runlib.h"

/* Fewer than TALLY_SEEN, so that a page is seen once. */
#define PAGES		8000
#define LARGE		BUILD_PAIRS

static test_pair * drawn;
static renc_run_pair *pair;
static renc_run_tallier *tallier;

static uint64_t
draw_key(int kind, size_t n)
{
	switch (kind)
	{
		case 0:
			return rnd();
		case 1:					/* crowds */
			return (rnd_below(8) << 60) + rnd_short();
		case 2:					/* close to each other */
			return UINT64_MAX / 2 + rnd_below(2 * n);
		case 3:					/* few, with many pages */
			return rnd_below(4) * UINT64_C(0x123456789abcdef);
		case 4:					/* the ends of all keys, and powers of two */
			return rnd_below(2) == 0 ? UINT64_C(1) << rnd_below(64) : 0 - rnd_below(3);
		default:
			return rnd_short();
	}
}

/* Which pages pairs have. */
typedef enum pages_kind
{
	PAGES_APART,				/* pairs of neighbouring keys have different
								 * ones */
	PAGES_REPEATED,				/* or the same: it counts once in a cell */
	PAIRS_REPEATED				/* so do pairs of the same key */
}			pages_kind;

/* Some pairs, as the encoder has them; returns how many. */
static uint32_t
draw_pairs(int kind, size_t n, pages_kind pages)
{
	size_t		made = 0;

	for (size_t i = 0; i < n; i++)
	{
		drawn[i].key = draw_key(kind, n);
		drawn[i].page = (uint32_t) rnd_below(pages == PAIRS_REPEATED && kind != 3 ? 20 : PAGES);
		drawn[i].rows = 1;
	}
	n = sort_pairs(drawn, n);
	for (size_t i = 0; i < n && made < LARGE; i++)
	{
		uint64_t	gap = i > 0 ? drawn[i].key - drawn[i - 1].key : 7;
		uint64_t	times = pages == PAIRS_REPEATED && rnd_below(2) ? 1 + rnd_below(5) : 1;

		/* Parts of a page, when entries name pages. */
		for (; times > 0 && made < LARGE; times--, gap = 0)
		{
			pair[made].key = drawn[i].key;
			pair[made].page = drawn[i].page;
			pair[made].rows = 1;
			pair[made++].share = gap > 1 ? 1 / (double) gap : 0;
		}
	}
	return (uint32_t) made;
}

/* How many pages the first n pairs have. */
static uint32_t
distinct_pages(const renc_run_pair *p, uint32_t n)
{
	static uint32_t seen[PAGES];
	static uint32_t mark;
	uint32_t	pages = 0;

	mark++;
	for (uint32_t i = 0; i < n; i++)
	{
		pages += seen[p[i].page] != mark;
		seen[p[i].page] = mark;
	}
	return pages;
}

/* One cell of n pairs; "gaps" has what lies in it of those at its ends. */
static void
count_cell(renc_run_tally *t, const renc_run_pair *p, uint32_t n, double gaps, uint64_t values)
{
	uint32_t	pages = tallier->repeats ? distinct_pages(p, n) : n;
	uint32_t	keys = 1;
	uint32_t	pairs = 1;

	for (uint32_t i = 1; i < n; i++)
	{
		keys += p[i].key != p[i - 1].key;
		pairs += p[i].key != p[i - 1].key || p[i].page != p[i - 1].page;
	}
	t->own += (uint64_t) keys * pages - pairs;
	t->between += pages * gaps;
	t->absent += pages * (double) (int64_t) (values - keys);
	t->entries += pages;
	t->counts += 2 * (uint32_t) renc_run_log2(pages) + 1;
	if (pages < 3)
		return;
	t->ordered += pages;
	t->saved += fmax(pages * (log2(pages) - 1.47), 0);
}

/* All n pairs, one after the other. */
static renc_run_tally
count_pairs(const renc_run_pair *p, uint32_t n, int width)
{
	const uint64_t mask = (UINT64_C(1) << width) - 1;
	renc_run_tally t = {0};
	uint64_t	values = mask + 1 - (p[0].key & mask);
	double		gaps = 0;
	uint32_t	start = 0;

	for (uint32_t i = 1; i < n; i++)
	{
		uint64_t	last = p[i - 1].key;

		if (p[i].key >> width == last >> width)
		{
			gaps += p[i].share > 0 ? 1 : 0;
			continue;
		}
		gaps += (double) (int64_t) (~last & mask) * p[i].share;
		count_cell(&t, p + start, i - start, gaps, values);
		t.distance[renc_run_log2((p[i].key >> width) - (last >> width))]++;
		t.distances++;
		gaps = (double) (int64_t) (p[i].key & mask) * p[i].share;
		values = mask + 1;
		start = i;
	}
	count_cell(&t, p + start, n - start, gaps, values - (~p[n - 1].key & mask));
	return t;
}

static bool
is_right(const renc_run_tally *t, uint32_t first, uint32_t end, int width)
{
	renc_run_tally truth = count_pairs(pair + first, end - first, width);

	return t->own == truth.own && t->own <= (uint64_t) (end - first) * (end - first) &&
		t->between == truth.between && t->absent == truth.absent &&
		t->saved == truth.saved && t->ordered == truth.ordered && t->counts == truth.counts &&
		t->entries == truth.entries && t->distances == truth.distances &&
		memcmp(t->distance, truth.distance, sizeof(truth.distance)) == 0;
}

static bool
counts_are_right(uint32_t first, uint32_t end)
{
	uint32_t	keys = 1;
	uint32_t	gaps = 0;

	for (uint32_t i = first + 1; i < end; i++)
	{
		keys += pair[i].key != pair[i - 1].key;
		gaps += pair[i].share > 0;
	}
	return renc_run_tally_begun(tallier, first, end) == keys - 1 + (gaps << 16);
}

/* Tallies pieces of n pairs at "rounds" widths each; returns how many are wrong. */
static int
compare_pieces(uint32_t n, int rounds)
{
	int			wrong = 0;

	renc_run_tally_begin(tallier, pair, n);
	for (int round = 0; round < rounds; round++)
	{
		uint32_t	first = rnd_below(2) == 0 ? 0 : (uint32_t) rnd_below(n - 1);
		uint32_t	end = rnd_below(2) == 0 ? n : first + 2 + (uint32_t) rnd_below(n - first - 1);
		int			width = (int) rnd_below(64);
		renc_run_tally t;

		renc_run_tally_part(tallier, first, end, width, &t);
		wrong += !is_right(&t, first, end, width);
		wrong += !counts_are_right(first, end);
	}
	return wrong;
}

static void
test_kind(int kind, const char *name, pages_kind pages)
{
	static const char *const says[] = {"", ", each page of a cell once", ", and pairs again"};
	int			wrong = 0;

	tallier->repeats = pages != PAGES_APART;
	for (int block = 0; block < 300; block++)
	{
		uint32_t	n = draw_pairs(kind, 2 + rnd_below(block % 100 == 0 ? LARGE - 1 : 400), pages);

		if (n > 1)
			wrong += compare_pieces(n, 20);
	}
	tap_ok(wrong == 0, "%s%s: %d tallies are wrong", name, says[pages], wrong);
}

int
main(int argc, char **argv)
{
	static const char *const name[] = {"anywhere", "crowds", "close", "few", "ends", "short"};

	tap_start(argc, argv, argv[0]);
	drawn = (test_pair *) test_alloc(LARGE * sizeof(test_pair));
	pair = (renc_run_pair *) test_alloc(LARGE * sizeof(renc_run_pair));
	tallier = (renc_run_tallier *) test_alloc(sizeof(renc_run_tallier));
	renc_run_tally_init(tallier);
	for (int kind = 0; kind < 6; kind++)
		for (int pages = PAGES_APART; pages <= PAIRS_REPEATED; pages++)
			test_kind(kind, name[kind], (pages_kind) pages);
	free(drawn);
	free(pair);
	free(tallier);
	return tap_finish();
}
