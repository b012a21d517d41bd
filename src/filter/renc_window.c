/*
 * renc_window.c
 *		The bit matrix of a group: filling, interleaving, clearing, counting.
 */
#include "renc_window.h"

#include "renc_hash.h"

uint32_t
renc_windows_for(double nkeys, double bits_per_key, uint32_t rows)
{
	double		windows = nkeys * bits_per_key / rows;
	uint32_t	n;

	if (windows <= 1)
		return 1;
	if (windows >= UINT32_MAX / 2)
		return UINT32_MAX / 2;
	n = (uint32_t) windows;
	return n < windows ? n + 1 : n;
}

/* Levels shared by two keys: the length of their common prefix. */
static int
common_prefix(uint64_t a, uint64_t b)
{
	return a == b ? RENC_KEY_BITS : __builtin_clzll(a ^ b);
}

/*
 * The nodes of a storey; "shared": those that the previous key of the sorted list
 * has set already.  Inline, so that the width is a constant.
 */
static inline void
fill_storey(uint8_t *image, int width, unsigned int slot,
			const renc_storey *st, uint32_t nwindows, uint32_t rows,
			uint64_t key, int shared)
{
	const uint8_t bit = renc_window_bit(slot);

	/* Not read again after each bit set, which might change them for all C knows. */
	const uint32_t kw = st->kw;
	const uint32_t kr = st->kr;
	uint64_t	todo = st->levels;
	uint8_t    *column[RENC_MAX_KW];
	renc_hash	root;

	if (shared > 0)
		todo &= ~UINT64_C(0) << shared;
	if (todo == 0)
		return;

	root = renc_hash_root(renc_prefix(key, st->root), st->root);
	for (uint32_t w = 0; w < kw; w++)
		column[w] = image + slot / 8 +
			(size_t) renc_hash_reduce(root, w, nwindows) * rows * width;
	for (; todo != 0; todo &= todo - 1)
	{
		int			level = __builtin_ctzll(todo) + 1;
		renc_hash	node = renc_hash_node(renc_prefix(key, level), level);

		/* Not tested first: half of the bits are set, which no CPU predicts. */
		for (uint32_t w = 0; w < kw; w++)
			for (uint32_t r = 0; r < kr; r++)
				column[w][(size_t) renc_hash_reduce(node, w * kr + r, rows) * width] |= bit;
	}
}

static inline void
fill_keys(uint8_t *image, int width, unsigned int slot,
		  const renc_shape *shape, uint32_t nwindows, uint32_t rows,
		  const uint64_t *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		int			shared = i == 0 ? 0 : common_prefix(keys[i - 1], keys[i]);

		if (shared == RENC_KEY_BITS)
			continue;
		for (int s = 0; s < shape->nstoreys; s++)
			fill_storey(image, width, slot, &shape->storey[s], nwindows, rows,
						keys[i], shared);
	}
}

void
renc_fill(uint8_t *image, int width, unsigned int slot,
		  const renc_shape *shape, uint32_t nwindows, uint32_t rows,
		  const uint64_t *keys, size_t n)
{
	if (width == RENC_SLICE_WIDTH)
		fill_keys(image, RENC_SLICE_WIDTH, slot, shape, nwindows, rows, keys, n);
	else
		fill_keys(image, RENC_MATRIX_WIDTH, slot, shape, nwindows, rows, keys, n);
}

void
renc_window_interleave(uint8_t *matrix_window, const uint8_t *slice_window,
					   unsigned int slice_no, uint32_t rows)
{
	for (uint32_t r = 0; r < rows; r++)
		matrix_window[(size_t) r * RENC_MATRIX_WIDTH + slice_no] |= slice_window[r];
}

bool
renc_window_clear(uint8_t *window, int width, uint32_t rows, renc_mask slots)
{
	bool		changed = false;

	for (uint32_t r = 0; r < rows; r++)
	{
		uint8_t    *row = window + (size_t) r * width;
		renc_mask	m = renc_mask_load(row, width);

		if (!renc_mask_empty(renc_mask_and(m, slots)))
		{
			renc_mask_store(row, width, renc_mask_andnot(m, slots));
			changed = true;
		}
	}
	return changed;
}

/*
 * Adds to counts[i] the words, "stride" bytes apart, that have bit i.  Byte k of
 * sums[j] counts bit 8 * k + j, which it can do for 255 words.
 */
static void
count_words(const uint8_t *from, size_t stride, uint32_t n, uint32_t *counts)
{
	while (n > 0)
	{
		uint64_t	sums[8] = {0};
		uint32_t	some = n < UINT8_MAX ? n : UINT8_MAX;

		for (uint32_t i = 0; i < some; i++, from += stride)
		{
			uint64_t	word = renc_load64(from);

			for (int j = 0; j < 8; j++)
				sums[j] += (word >> j) & UINT64_C(0x0101010101010101);
		}
		for (int bit = 0; bit < 64; bit++)
			counts[bit] += (uint8_t) (sums[bit % 8] >> (bit / 8 * 8));
		n -= some;
	}
}

void
renc_window_count(const uint8_t *window, int width, uint32_t rows,
				  uint32_t *counts)
{
	uint32_t	bits[64] = {0};
	uint8_t		rest[8] = {0};

	if (width == RENC_MATRIX_WIDTH)
	{
		count_words(window, RENC_MATRIX_WIDTH, rows, counts);
		count_words(window + 8, RENC_MATRIX_WIDTH, rows, counts + 64);
		return;
	}

	/* Eight rows of a slice are a word. */
	count_words(window, 8, rows / 8, bits);
	memcpy(rest, window + (size_t) (rows / 8) * 8, rows % 8);
	count_words(rest, 8, 1, bits);
	for (int bit = 0; bit < 64; bit++)
		counts[bit % 8] += bits[bit];
}
