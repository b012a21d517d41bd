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

/*
 * The nodes of a stage; "shared": those that the previous key of the sorted list
 * has set already.  "band": the slot's band of the image's first window.
 */
static inline void
fill_stage(uint8_t *band, size_t window_size, uint8_t bit,
		   const renc_stage *st, uint32_t nwindows, uint32_t rows,
		   uint64_t key, int shared)
{
	/*
	 * Not read again after each bit set, which might change them for all C
	 * knows.
	 */
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
		column[w] = band + renc_hash_position(root, w, nwindows) * window_size;
	for (; todo != 0; todo &= todo - 1)
	{
		int			level = __builtin_ctzll(todo) + 1;
		renc_hash	node = renc_hash_node(renc_prefix(key, level), level);

		/* Not tested first: half of the bits are set, which no CPU predicts. */
		for (uint32_t w = 0; w < kw; w++)
			for (uint32_t r = 0; r < kr; r++)
				column[w][renc_hash_position(node, w * kr + r, rows)] |= bit;
	}
}

void
renc_fill(uint8_t *image, int width, unsigned int slot,
		  const renc_shape *shape, uint32_t nwindows, uint32_t rows,
		  const uint64_t *keys, size_t n)
{
	uint8_t    *band = image + renc_window_byte(rows, 0, slot);
	size_t		window_size = renc_image_size(1, rows, width);

	for (size_t i = 0; i < n; i++)
	{
		int			shared = i == 0 ? 0 : renc_common_prefix(keys[i - 1], keys[i]);

		if (shared == RENC_KEY_BITS)
			continue;
		for (int s = 0; s < shape->nstages; s++)
			fill_stage(band, window_size, renc_window_bit(slot), &shape->stage[s],
					   nwindows, rows, keys[i], shared);
	}
}

bool
renc_window_any(const uint8_t *window, int width, uint32_t rows, renc_mask slots)
{
	for (int b = 0; b < width; b++, window += rows)
	{
		uint8_t		asked = renc_mask_band(slots, b);
		uint8_t		found = 0;

		for (uint32_t r = 0; r < rows && asked != 0; r++)
			found |= window[r];
		if (found & asked)
			return true;
	}
	return false;
}

bool
renc_window_clear(uint8_t *window, int width, uint32_t rows, renc_mask slots)
{
	uint8_t		found = 0;

	for (int b = 0; b < width; b++, window += rows)
	{
		uint8_t		gone = renc_mask_band(slots, b);

		for (uint32_t r = 0; r < rows && gone != 0; r++)
		{
			found |= window[r] & gone;
			window[r] &= (uint8_t) ~gone;
		}
	}
	return found != 0;
}

/* Adds the set bits of each slot of a band to counts[0 .. 7]. */
static void
count_band(const uint8_t *band, uint32_t rows, uint32_t *counts)
{
	/*
	 * Byte k of sums[j] counts bit j of each eighth byte, which it can do for
	 * 255.
	 */
	for (uint32_t r = 0; r < rows;)
	{
		uint64_t	sums[8] = {0};

		for (int i = 0; i < UINT8_MAX && r < rows; i++, r += 8)
		{
			uint64_t	word = 0;

			if (r + 8 <= rows)
				word = renc_load64(band + r);
			else
				memcpy(&word, band + r, rows - r);
			for (int j = 0; j < 8; j++)
				sums[j] += (word >> j) & UINT64_C(0x0101010101010101);
		}
		for (int bit = 0; bit < 64; bit++)
			counts[bit % 8] += (uint8_t) (sums[bit % 8] >> (bit / 8 * 8));
	}
}

void
renc_window_count(const uint8_t *window, int width, uint32_t rows,
				  uint32_t *counts)
{
	for (int b = 0; b < width; b++)
		count_band(window + (size_t) b * rows, rows, counts + 8 * b);
}
