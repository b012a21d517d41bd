/*
 * renc_window.c
 *		The bit matrix of a group: filling, interleaving, clearing, counting.
 */
#include "renc_window.h"

#include "renc_hash.h"

uint32_t
renc_window_count_for_keys(double nkeys, double bits_per_key, uint32_t rows)
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

/* A stage, and where its bits go: the slot's band of the image's first window. */
typedef struct stage_fill
{
	uint8_t    *band;
	size_t		window_size;
	uint8_t		bit;
	uint32_t	nwindows;
	uint32_t	rows;
	uint32_t	kr;
	int			root;
	int			nlevels;
	renc_hash_level level[RENC_KEY_BITS];
	uint8_t		first[RENC_KEY_BITS + 1];	/* level below so many bits */
} stage_fill;

/*
 * Sets the bits of keys, "nbits" of each node.  Of a sorted list, the key before has set the nodes
 * of all levels that both share.  Inlined, so that "nbits" is a constant.
 */
static inline void fill_window_keys(const stage_fill *f, const uint32_t nbits, const uint64_t *keys,
									size_t n)
			__attribute__((always_inline));

static inline void
fill_window_keys(const stage_fill *f, const uint32_t nbits, const uint64_t *keys, size_t n)
{
	const renc_hash_level root = renc_hash_level_by(RENC_SEED_ROOT, f->root);
	const uint32_t rows = f->rows;
	const uint8_t bit = f->bit;
	uint8_t    *column[RENC_MAX_KW * RENC_MAX_KR] = {NULL};

	for (size_t i = 0; i < n; i++)
	{
		int			shared = i == 0 ? 0 : renc_common_prefix(keys[i - 1], keys[i]);
		const renc_hash_level *level = f->level + f->first[shared];
		const renc_hash_level *end = f->level + f->nlevels;

		if (level == end)
			continue;
		if (i == 0 || shared < f->root)
		{
			renc_hash	window = renc_hash_first(renc_hash_key(keys[i], root));
			uint32_t	rows_left = f->kr;

			for (uint32_t b = 0; b < nbits; b++, rows_left--)
			{
				if (rows_left == 0)
				{
					window = renc_hash_next(window);
					rows_left = f->kr;
				}
				column[b] = f->band + renc_hash_scale(window.a, f->nwindows) * f->window_size;
			}
		}
		for (; level < end; level++)
		{
			renc_hash	position = renc_hash_first(renc_hash_key(keys[i], *level));

			/*
			 * Not tested first: half of the bits are set, which no CPU
			 * predicts.
			 */
			for (uint32_t b = 0; b + 1 < nbits; b += 2)
			{
				column[b][renc_hash_scale(position.a, rows)] |= bit;
				position = renc_hash_next(position);
				column[b + 1][renc_hash_scale(position.a, rows)] |= bit;
				position = renc_hash_next(position);
			}
			if (nbits % 2 == 1)
				column[nbits - 1][renc_hash_scale(position.a, rows)] |= bit;
		}
	}
}

static void
fill_window_stage(const stage_fill *f, uint32_t nbits, const uint64_t *keys, size_t n)
{
	if (nbits == 1)
		fill_window_keys(f, 1, keys, n);
	else if (nbits == 2)
		fill_window_keys(f, 2, keys, n);
	else if (nbits == 3)
		fill_window_keys(f, 3, keys, n);
	else if (nbits == 4)
		fill_window_keys(f, 4, keys, n);
	else if (nbits == 6)
		fill_window_keys(f, 6, keys, n);
	else
		fill_window_keys(f, nbits, keys, n);
}

void
renc_window_fill(uint8_t *image, int width, unsigned int slot,
				 const renc_shape *shape, uint32_t nwindows, uint32_t rows,
				 const uint64_t *keys, size_t n)
{
	stage_fill	f;

	f.band = image + renc_window_byte(rows, 0, slot);
	f.window_size = renc_image_size(1, rows, width);
	f.bit = renc_window_bit(slot);
	f.nwindows = nwindows;
	f.rows = rows;
	for (int s = 0; s < shape->nstages; s++)
	{
		const renc_stage *st = &shape->stage[s];

		f.kr = st->kr;
		f.root = st->root;
		f.nlevels = 0;
		for (int l = 0; l <= RENC_KEY_BITS; l++)
		{
			f.first[l] = (uint8_t) f.nlevels;
			if (l < RENC_KEY_BITS && st->levels >> l & 1)
				f.level[f.nlevels++] = renc_hash_level_by(RENC_SEED_NODE, l + 1);
		}
		f.first[RENC_KEY_BITS] = (uint8_t) f.nlevels;
		fill_window_stage(&f, st->kw * st->kr, keys, n);
	}
}

uint32_t
renc_band_count_bits(const uint8_t *band, uint32_t rows, int bit)
{
	const uint64_t bytes = UINT64_C(0x0101010101010101);
	const uint64_t pairs = UINT64_C(0x00FF00FF00FF00FF);
	uint32_t	count = 0;
	uint32_t	r = 0;

	while (r + 8 <= rows)
	{
		/*
		 * Each byte counts the bit in each eighth row, which it can do for
		 * 255.
		 */
		uint64_t	sums = 0;

		for (int i = 0; i < UINT8_MAX && r + 8 <= rows; i++, r += 8)
			sums += (renc_load64(band + r) >> bit) & bytes;
		sums = (sums & pairs) + ((sums >> 8) & pairs);
		count += (uint32_t) ((sums * UINT64_C(0x0001000100010001)) >> 48);
	}
	for (; r < rows; r++)
		count += (band[r] >> bit) & 1;
	return count;
}
