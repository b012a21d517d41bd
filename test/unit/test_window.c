/*
 * test_window.c
 *		Windows: filling, clearing and counting against a naive form.
 */
#define _DEFAULT_SOURCE			/* MAP_ANONYMOUS */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "testlib.h"
#include "window_bits.h"

static void
test_windows_for(void)
{
	int			wrong = 0;

	tap_ok(renc_window_count_for_keys(0, 20, 510) == 1, "no keys need one window");
	tap_ok(renc_window_count_for_keys(25.5, 20, 510) == 1, "what fits exactly needs no more");
	tap_ok(renc_window_count_for_keys(25.6, 20, 510) == 2, "a little more needs another window");
	tap_ok(renc_window_count_for_keys(4800, 20, 510) == 189, "4800 keys at 20 bits: 189 windows");
	tap_ok(renc_window_count_for_keys(1e300, 64, 254) == UINT32_MAX / 2, "no overflow");
	for (int i = 0; i < 100000; i++)
	{
		double		nkeys = (double) rnd_below(10000000) / 4;
		double		bits = 4 + (double) rnd_below(240) / 4;
		uint32_t	rows = (uint32_t) (254 + rnd_below(1800));
		double		m = renc_window_count_for_keys(nkeys, bits, rows);

		/* Enough bits, and less than a window too many. */
		if (m * rows < nkeys * bits * (1 - 1e-12) ||
			(m > 1 && (m - 1) * rows >= nkeys * bits))
			wrong++;
	}
	tap_ok(wrong == 0, "windows for 100000 random sizes, %d wrong", wrong);
}

/* Sets the positions of the keys one by one. */
static void
naive_fill(test_filter *f, unsigned int slot, const renc_shape *shape,
		   const uint64_t *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		renc_position pos[RENC_MAX_POSITIONS];
		int			npos = renc_shape_positions(shape, keys[i], f->nwindows,
												f->rows, pos);

		for (int p = 0; p < npos; p++)
			f->image[((size_t) pos[p].window * f->width + slot / 8) * f->rows +
					 pos[p].row] |= (uint8_t) (1 << slot % 8);
	}
}

static int
compare_keys(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* Fills some slots of two filters in both ways; are they the same? */
static bool
fills_alike(const renc_shape *shape, int width)
{
	uint32_t	nwindows = 1 + (uint32_t) rnd_below(9);
	test_filter a = filter_new(nwindows, TEST_ROWS, width);
	test_filter b = filter_new(nwindows, TEST_ROWS, width);
	int			shift = (int) rnd_below(60);
	bool		alike;

	for (int i = 0; i < 10; i++)
	{
		uint64_t	keys[60];
		size_t		n = rnd_below(60);
		unsigned int slot = (unsigned int) rnd_below(8 * width);

		/* Equal keys too, so no sort_keys(). */
		for (size_t k = 0; k < n; k++)
			keys[k] = rnd() >> shift;
		qsort(keys, n, sizeof(keys[0]), compare_keys);
		renc_window_fill(a.image, width, slot, shape, nwindows, TEST_ROWS, keys, n);
		naive_fill(&b, slot, shape, keys, n);
	}
	alike = memcmp(a.image, b.image, filter_size(&a)) == 0;
	filter_free(&a);
	filter_free(&b);
	return alike;
}

static void
test_fill(int width)
{
	int			wrong = 0;

	for (int round = 0; round < 400; round++)
	{
		renc_shape	shape;

		random_shape(&shape, 1 + (int) rnd_below(50), 64);
		wrong += !fills_alike(&shape, width);
	}
	for (int kw = 1; kw <= RENC_MAX_KW; kw++)
	{
		for (int kr = 1; kr <= RENC_MAX_KR; kr++)
		{
			renc_shape	shape = make_shape((int) rnd_below(50), kw, kr, 64, 1 + (int) rnd_below(9), 2);

			wrong += !fills_alike(&shape, width);
		}
	}
	tap_ok(wrong == 0, "width %d: renc_window_fill sets exactly the positions of the keys, %d wrong",
		   width, wrong);
}

static void
random_bits(test_filter *f)
{
	for (size_t i = 0; i < filter_size(f); i++)
		f->image[i] = (uint8_t) (rnd() & rnd());
}

static void
test_set_and_test(int width)
{
	test_filter f = filter_new(1, TEST_ROWS, width);
	int			wrong = 0;

	for (int i = 0; i < 20000; i++)
	{
		uint32_t	row = (uint32_t) rnd_below(TEST_ROWS);
		unsigned int slot = (unsigned int) rnd_below(8 * width);
		bool		before = window_test(f.image, TEST_ROWS, row, slot);

		if (window_set(f.image, TEST_ROWS, row, slot) == before ||
			!window_test(f.image, TEST_ROWS, row, slot))
			wrong++;
	}
	tap_ok(wrong == 0, "width %d: setting and testing single bits, %d wrong", width, wrong);
	filter_free(&f);
}

/* Rows as masks, for many candidates and for few, against single bits. */
static void
test_rows(int width)
{
	int			wrong = 0;

	for (int round = 0; round < 20000; round++)
	{
		uint32_t	rows = 1 + (uint32_t) rnd_below(20);
		test_filter f = filter_new(1, rows, width);
		uint32_t	row = (uint32_t) rnd_below(rows);
		renc_mask	among = {{rnd(), rnd()}};
		renc_mask	found;

		for (uint64_t sparse = rnd_below(8); sparse > 0; sparse--)
			among = renc_mask_and(among, (renc_mask) {{rnd(), rnd()}});
		for (size_t i = 0; i < filter_size(&f); i++)
			f.image[i] = (uint8_t) rnd();
		found = renc_window_row(f.image, width, rows, row, among);
		for (int s = 0; s < RENC_GROUP_RANGES; s++)
		{
			bool		expected = s < 8 * width && renc_mask_test(among, s) &&
				window_test(f.image, rows, row, s);

			wrong += renc_mask_test(found, s) != expected;
		}
		filter_free(&f);
	}
	tap_ok(wrong == 0, "width %d: rows are the bits of the candidates, %d wrong", width, wrong);
}

/* The last window of a page, of any width, where memory ends: nothing behind it is read. */
static void
test_last_window(int width)
{
	size_t		size = (size_t) TEST_ROWS * width;
	size_t		room = 65536;
	uint8_t    *memory = mmap(NULL, 2 * room, PROT_READ | PROT_WRITE,
							  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t    *window = memory + room - size;
	int			wrong = 0;

	if (memory == MAP_FAILED || mprotect(memory + room, room, PROT_NONE) != 0)
		exit(EXIT_FAILURE);
	for (size_t i = 0; i < size; i++)
		window[i] = (uint8_t) rnd();
	for (int round = 0; round < 20000; round++)
	{
		uint32_t	row = TEST_ROWS - 1 - (uint32_t) rnd_below(10);
		renc_mask	among = renc_mask_none();
		renc_mask	found;

		for (int s = 0; s < 8 * width; s++)
			if (rnd_below(2))
				renc_mask_set(&among, (unsigned int) s);
		found = renc_window_row(window, width, TEST_ROWS, row, among);
		for (int s = 0; s < RENC_GROUP_RANGES; s++)
			wrong += renc_mask_test(found, s) !=
				(renc_mask_test(among, s) && window_test(window, TEST_ROWS, row, s));
	}
	tap_ok(wrong == 0, "width %d: rows of the last window in memory, %d wrong", width, wrong);
	munmap(memory, 2 * room);
}

static void
test_count(int width)
{
	int			wrong_counts = 0;

	for (int round = 0; round < 200; round++)
	{
		uint32_t	rows = 1 + (uint32_t) rnd_below(TEST_ROWS);
		test_filter f = filter_new(1, rows, width);
		uint32_t	counts[RENC_GROUP_RANGES];
		uint32_t	expected[RENC_GROUP_RANGES];

		random_bits(&f);
		for (int s = 0; s < 8 * width; s++)
		{
			counts[s] = expected[s] = (uint32_t) rnd_below(1000);
			for (uint32_t r = 0; r < rows; r++)
				expected[s] += window_test(f.image, rows, r, s);
		}
		for (int s = 0; s < 8 * width; s++)
			counts[s] += renc_band_count_bits(f.image + (size_t) (s / 8) * rows, rows, s % 8);
		if (memcmp(counts, expected, 8 * width * sizeof(counts[0])) != 0)
			wrong_counts++;

		filter_free(&f);
	}
	tap_ok(wrong_counts == 0, "width %d: counts of the slots, %d wrong", width, wrong_counts);
}

static void
test_masks(void)
{
	int			wrong = 0;

	for (int i = 0; i < 10000; i++)
	{
		uint8_t		row[RENC_MATRIX_WIDTH + 1];
		unsigned int bit = (unsigned int) rnd_below(128);
		renc_mask	a;
		renc_mask	b;

		/* Unaligned on purpose. */
		for (size_t byte = 0; byte < sizeof(row); byte++)
			row[byte] = (uint8_t) rnd();
		a = b = renc_mask_load(row + 1);
		if (renc_mask_test(a, bit) != (row[1 + bit / 8] >> bit % 8 & 1))
			wrong++;
		renc_mask_set(&b, bit);
		if (!renc_mask_test(b, bit) || !mask_subset(a, b) || renc_mask_count(b) !=
			renc_mask_count(a) + (int) !renc_mask_test(a, bit))
			wrong++;
	}
	tap_ok(wrong == 0, "masks: load, set, count, %d wrong", wrong);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_window");
	test_windows_for();
	test_masks();
	for (int width = RENC_SLICE_WIDTH; width <= RENC_MATRIX_WIDTH; width += 15)
	{
		test_set_and_test(width);
		test_rows(width);
		test_fill(width);
		test_count(width);
	}
	for (int width = RENC_SLICE_WIDTH; width <= RENC_MATRIX_WIDTH; width *= 2)
		test_last_window(width);
	return tap_finish();
}
