/*
 * test_run_golden.c
 *		Golden bytes of runs: they never change, whatever the compiler, its flags or the
 *		CPU (INV-10).
 *
 * Built three times, with different flags.  If a line fails, either the build is wrong
 * or the disk format has changed and needs a new version.  The last ones also fail if
 * the encoder has come to choose other cells: then take new values.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runlib.h"

static uint64_t
fnv1a(uint64_t h, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

static void
golden(const char *what, uint64_t value, uint64_t expected)
{
	tap_ok(value == expected, "%s: 0x%016llx, expected 0x%016llx", what,
		   (unsigned long long) value, (unsigned long long) expected);
}

/* A leaf by hand: 1,000 pages, two blocks. */
static uint8_t leaf[128] = {
	0, 0x00, 2, 0, 45, 0, 4, 4, /* level, flags, blocks, used, shift, wmax */
	0x00, 0x10, 0, 0, 0, 0, 0, 0,	/* lo = 0x1000 */
	5, 0, 0, 0, 7, 0, 0, 0,		/* entries, rows */
	0x00, 0x10,					/* separators 0x1000, 0x1100 */
	0, 0, 3, 0,					/* offsets */
	0x04, 0x12, 0x00,			/* w 4, parameter 8, 2 entries, Rice */
	0x80, 0x20, 0xc0,			/* w 0, parameter 2, 3 entries, cont, gaps */

	/*
	 * Cell 0 page 7, cell 1 page 3: 7 and 1003.  Lows 7 and 995 % 256, highs
	 * 0 and 3: "1", "0001".
	 */
	0x07, 0xe3, 0x11,

	/*
	 * Cell 1 pages 5 and 900, cell 7 page 0.  x = 1, q = 1: "1", low bits
	 * "10"; two pages: "010", of 10 bits each.  x = 5, q = 2: "010", low bits
	 * "10"; one: "1".
	 */
	0x53, 0x01, 0x84, 0xab, 0x00, 0x00
};

static const uint8_t *
read_leaf(void *arg, uint32_t page, int level)
{
	(void) arg;
	(void) page;
	(void) level;
	return leaf;
}

/* The leaf is of 1,000 pages, or of 100 in 10 parts, or names pages though there are parts. */
static void
golden_reading(uint32_t npages, uint32_t parts, bool by_page)
{
	static renc_run_search s;
	static const uint64_t lo[] = {0x1000, 0x1010, 0x1101, 0x1101, 0x1107};
	static const uint64_t hi[] = {0x100f, 0x101f, 0x1101, 0x1101, 0x1107};
	static const uint32_t page[] = {7, 3, 5, 900, 0};
	renc_run	run = {sizeof(leaf), 50, npages, parts, 3, 0, 1, 0, 5, 7, 0x1002, 0x1107};
	renc_interval all = {0, UINT64_MAX};
	renc_interval_set set = {&all, 1};
	renc_run_summary summary;
	const char *wrong;
	uint32_t	n = 0;

	leaf[1] = by_page ? 0x10 : 0;
	wrong = renc_run_check_leaf(leaf, &run, &summary);
	tap_ok(wrong == NULL, "the verifier says of the leaf: %s", wrong != NULL ? wrong : "nothing");
	renc_run_search_begin(&s, &run, read_leaf, NULL, &set);
	while (renc_run_search_next(&s))
		for (uint32_t i = 0; i < s.n; i++, n++)
		{
			uint32_t	heap_page = npages == 1000 ? page[n % 5] : page[n % 5] / 10;
			uint32_t	part = npages == 1000 ? RENC_WHOLE_PAGE : page[n % 5] % 10;

			tap_ok(n < 5 && renc_run_entry_lo(&s, i) == lo[n] && renc_run_entry_hi(&s, i) == hi[n] &&
				   s.page[i] == 50 + heap_page && s.part[i] == part,
				   "entry %u: [%llx, %llx] page %u part %u", n,
				   (unsigned long long) renc_run_entry_lo(&s, i),
				   (unsigned long long) renc_run_entry_hi(&s, i), s.page[i], s.part[i]);
		}
	tap_ok(n == 5, "%u entries", n);
}

/* How the rows of a golden run lie. */
typedef enum layout
{
	SCATTERED,					/* keys of several scales */
	WITH_PAGES,					/* in the order of keys */
	WITH_PARTS,					/* the same within each page */
	IN_STRETCHES				/* so for a while, then not */
}			layout;

/* Rows, not from the random seed; leaves are of all kinds that there should be. */
static uint64_t
golden_run(renc_run_target target, double wanted, size_t payload, uint32_t parts, layout how)
{
	enum
	{
		N = 20000
	};
	static test_run t;
	test_pair  *pair = (test_pair *) test_alloc(N * sizeof(test_pair));
	renc_run_options options = {.payload = payload,.first_page = 100,.npages = 5000,.parts = parts,
	.target = target,.wanted = wanted};
	uint64_t	h = UINT64_C(0xcbf29ce484222325);
	uint32_t	kinds = 0;
	size_t		n;

	for (uint64_t i = 0; i < N; i++)
	{
		uint64_t	r = i * UINT64_C(0x9e3779b97f4a7c15);
		bool		with_pages = how == WITH_PAGES || how == WITH_PARTS || (how == IN_STRETCHES && i / 3000 % 2 == 0);

		r ^= r >> 29;
		pair[i].key = how != SCATTERED ? i * 1000 + r % (how == WITH_PARTS ? 1000 : 3000) : r >> (r % 5 * 9);
		pair[i].page = (100 + (uint32_t) (with_pages ? i / 8 : r / 7 % 5000)) * parts +
			(uint32_t) (how == WITH_PARTS ? i % 8 * parts / 8 : r / 11 % parts);
		pair[i].rows = 1;
	}
	n = sort_pairs(pair, N);
	if (!test_run_build(&t, &options, pair, n))
		return 0;
	for (uint32_t i = 0; i < t.n; i++)
	{
		h = fnv1a(h, t.page[i], payload);
		kinds |= t.page[i][0] > 0 ? 0 : t.page[i][1] & 0x10 ? 2 : 1;
	}
	tap_ok(kinds == (how == IN_STRETCHES ? 3 : 1), "leaves of the kinds %u", kinds);
	test_run_free(&t);
	free(t.page);
	free(t.memory);
	memset(&t, 0, sizeof(t));
	free(pair);
	return h;
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, argv[0]);
	golden_reading(1000, 1, false);
	golden_reading(100, 10, false);
	golden_reading(1000, 10, true);
	golden("whole keys",
		   golden_run(RENC_RUN_EXACT, 0, 8160, 1, SCATTERED), UINT64_C(0x3bbb109178c44477));
	golden("a false page",
		   golden_run(RENC_RUN_FALSE_PAGES, 1, 8160, 1, SCATTERED), UINT64_C(0xc4d53b9eb04db47c));
	golden("small pages",
		   golden_run(RENC_RUN_FALSE_PAGES, 0.05, 400, 1, SCATTERED), UINT64_C(0x04d94057b934bf20));
	golden("in the order of the table",
		   golden_run(RENC_RUN_FALSE_PAGES, 1, 8160, 1, WITH_PAGES), UINT64_C(0xae887a4ba1a53569));
	golden("parts, whole keys",
		   golden_run(RENC_RUN_EXACT, 0, 8160, 3, SCATTERED), UINT64_C(0x06f7acf43c594aea));
	golden("parts",
		   golden_run(RENC_RUN_FALSE_PAGES, 1, 400, 3, IN_STRETCHES), UINT64_C(0x529996e7e735861f));
	golden("parts in the order of the table",
		   golden_run(RENC_RUN_FALSE_PAGES, 1, 8160, 2, WITH_PARTS), UINT64_C(0x5643308c5946d4fb));
	golden("many parts",
		   golden_run(RENC_RUN_FALSE_PAGES, 4, 1000, 8, IN_STRETCHES), UINT64_C(0x7f96bd4ca8588e9d));
	return tap_finish();
}
