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
static const uint8_t leaf[128] = {
	0, 0x00, 2, 0, 45, 0, 4, 4,	/* level, flags, blocks, used, shift, wmax */
	0x00, 0x10, 0, 0, 0, 0, 0, 0,	/* lo = 0x1000 */
	5, 0, 0, 0, 7, 0, 0, 0,		/* entries, rows */
	0x00, 0x10,					/* separators 0x1000, 0x1100 */
	0, 0, 3, 0,					/* offsets */
	0x04, 0x12, 0x00,			/* w 4, parameter 8, 2 entries, Rice */
	0x80, 0x20, 0xc0,			/* w 0, parameter 2, 3 entries, cont, gaps */

	/*
	 * Cell 0 page 7, cell 1 page 3: 7 and 1003.  Lows 7 and 995 % 256, highs 0 and 3:
	 * "1", "0001".
	 */
	0x07, 0xe3, 0x11,

	/*
	 * Cell 1 pages 5 and 900, cell 7 page 0.  x = 1, q = 1: "1", low bits "10"; two
	 * pages: "010", of 10 bits each.  x = 5, q = 2: "010", low bits "10"; one: "1".
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

static void
golden_reading(void)
{
	static renc_run_search s;
	static const uint64_t lo[] = {0x1000, 0x1010, 0x1101, 0x1101, 0x1107};
	static const uint64_t hi[] = {0x100f, 0x101f, 0x1101, 0x1101, 0x1107};
	static const uint32_t page[] = {7, 3, 5, 900, 0};
	renc_run	run = {sizeof(leaf), 50, 1000, 3, 0, 1, 0, 5, 7, 0x1002, 0x1107};
	renc_interval all = {0, UINT64_MAX};
	renc_interval_set set = {&all, 1};
	renc_run_summary summary;
	const char *wrong = renc_run_check_leaf(leaf, sizeof(leaf), 1000, &summary);
	uint32_t	n = 0;

	tap_ok(wrong == NULL, "the verifier says of the leaf: %s", wrong != NULL ? wrong : "nothing");
	renc_run_search_begin(&s, &run, read_leaf, NULL, &set);
	while (renc_run_search_next(&s))
		for (uint32_t i = 0; i < s.n; i++, n++)
			tap_ok(n < 5 && renc_run_entry_lo(&s, i) == lo[n] && renc_run_entry_hi(&s, i) == hi[n] &&
				   s.page[i] == 50 + page[n], "entry %u: [%llx, %llx] page %u", n,
				   (unsigned long long) renc_run_entry_lo(&s, i),
				   (unsigned long long) renc_run_entry_hi(&s, i), s.page[i]);
	tap_ok(n == 5, "%u entries", n);
}

/* Rows in the order of keys of several scales, not from the random seed. */
static uint64_t
golden_run(renc_run_target target, double wanted, size_t payload, bool with_pages)
{
	enum
	{
		N = 20000
	};
	static test_run t;
	test_pair  *pair = (test_pair *) test_alloc(N * sizeof(test_pair));
	renc_run_options options = {payload, 100, 5000, target, wanted, 0, false, NULL, NULL, NULL};
	uint64_t	h = UINT64_C(0xcbf29ce484222325);
	size_t		n;

	for (uint64_t i = 0; i < N; i++)
	{
		uint64_t	r = i * UINT64_C(0x9e3779b97f4a7c15);

		r ^= r >> 29;
		pair[i].key = with_pages ? i * 1000 + r % 3000 : r >> (r % 5 * 9);
		pair[i].page = 100 + (uint32_t) (with_pages ? i / 8 : r / 7 % 5000);
		pair[i].rows = 1;
	}
	n = sort_pairs(pair, N);
	if (!test_run_build(&t, &options, pair, n))
		return 0;
	for (uint32_t i = 0; i < t.n; i++)
		h = fnv1a(h, t.page[i], payload);
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
	golden_reading();
	golden("whole keys", golden_run(RENC_RUN_EXACT, 0, 8160, false), UINT64_C(0x24aef323508483ac));
	golden("a false page", golden_run(RENC_RUN_FALSE_PAGES, 1, 8160, false), UINT64_C(0x0ad1abaf38f055f3));
	golden("18 bits", golden_run(RENC_RUN_BITS, 18, 400, false), UINT64_C(0xb0efe981a2467201));
	golden("in the order of the table", golden_run(RENC_RUN_FALSE_PAGES, 1, 8160, true), UINT64_C(0x7cac4c3f8cd5cc54));
	return tap_finish();
}
