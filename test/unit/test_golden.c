/*
 * test_golden.c
 *		Golden values of the disk format: they never change, whatever the
 *		compiler, its flags or the CPU (INV-10).
 *
 * Built three times, with different flags.  If a line fails, either the build
 * is wrong or the disk format has changed and needs a new version.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "renc_hash.h"

/* FNV-1a: independent of the hash under test. */
static uint64_t
fnv1a(const uint8_t *p, size_t n)
{
	uint64_t	h = UINT64_C(0xcbf29ce484222325);

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

/* A fixed sequence of keys, not from the random seed. */
static uint64_t
fixed_key(uint64_t i)
{
	return i * UINT64_C(0x9e3779b97f4a7c15) ^ (i * i) << 40;
}

static renc_shape
fixed_shape(void)
{
	renc_shape	shape;

	memset(&shape, 0, sizeof(shape));
	shape.nstages = 2;
	shape.stage[0].root = 7;
	shape.stage[0].kw = 2;
	shape.stage[0].kr = 1;
	shape.stage[0].levels = RENC_LEVEL_BIT(9) | RENC_LEVEL_BIT(10) | RENC_LEVEL_BIT(12);
	shape.stage[1].root = 12;
	shape.stage[1].kw = 1;
	shape.stage[1].kr = 2;
	shape.stage[1].levels = RENC_LEVEL_BIT(20) | RENC_LEVEL_BIT(64);
	return shape;
}

static void
golden_hashes(void)
{
	static const struct
	{
		uint64_t	prefix;
		int			level;
		uint64_t	root;
		uint64_t	node;
	}			vectors[] = {
		{0, 0, UINT64_C(0xab9ac51d78003bb8), UINT64_C(0xb2d699d1b34036c1)},
		{0, 1, UINT64_C(0x9f5b335bdbe9967c), UINT64_C(0xb1926a11d28ec207)},
		{UINT64_C(0x8000000000000000), 1, UINT64_C(0xf5cbcf4d39b3eff5), UINT64_C(0x167048930af0935e)},
		{UINT64_C(0x0123456789abcdef), 64, UINT64_C(0x3ee6e35303772fe3), UINT64_C(0x1623d09f1b6ff5f5)},
		{UINT64_C(0xffffffffffffffff), 64, UINT64_C(0xcb1d403b000f4396), UINT64_C(0x4603a3bf89cd3917)},
		{UINT64_C(0xfedcba9876540000), 48, UINT64_C(0xdecd09c19b8d053c), UINT64_C(0x8839234fa8651951)},
		{UINT64_C(0x8000000000000000), 17, UINT64_C(0x82e1f369bb0cacbd), UINT64_C(0x380064178ebb2168)}
	};

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
	{
		renc_hash	r = renc_hash_root(vectors[i].prefix, vectors[i].level);
		renc_hash	n = renc_hash_node(vectors[i].prefix, vectors[i].level);

		golden("hash of a root", (uint64_t) r.b << 32 | r.a, vectors[i].root);
		golden("hash of a node", (uint64_t) n.b << 32 | n.a, vectors[i].node);
	}
}

/* Hashes of nodes are written out; the library's are the disk format. */
static void
hashes_of_library(void)
{
	int			wrong = 0;

	for (uint64_t i = 0; i < 65000; i++)
	{
		int			level = (int) (i % (RENC_KEY_BITS + 1));
		uint8_t		bytes[8];
		renc_hash	r = renc_hash_root(fixed_key(i), level);
		renc_hash	n = renc_hash_node(fixed_key(i), level);

		renc_store64(bytes, renc_prefix(fixed_key(i), level));
		wrong += ((uint64_t) r.b << 32 | r.a) !=
			(XXH3_64bits_withSeed(bytes, 8, UINT64_C(0x72656e63726f6f74) + level) | UINT64_C(1) << 32);
		wrong += ((uint64_t) n.b << 32 | n.a) !=
			(XXH3_64bits_withSeed(bytes, 8, UINT64_C(0x72656e636e6f6465) + level) | UINT64_C(1) << 32);
	}
	tap_ok(wrong == 0, "hashes of roots and nodes are XXH3's, %d wrong", wrong);
}

static void
golden_reduce(void)
{
	renc_hash	h = {0x89abcdef, 0x01234567};

	golden("position 0 of a hash", renc_hash_position(h, 0, 510), 274);
	golden("position 1 of a hash", renc_hash_position(h, 1, 510), 81);
	golden("position 7 of a hash", renc_hash_position(h, 7, 510), 434);
	golden("position 127, wrapping", renc_hash_position(h, 127, 4000000000u), 1489699543);
}

static void
golden_shape(void)
{
	static const uint8_t two[RENC_SHAPE_PACKED_SIZE] = {
		0x00, 0x0b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x80, 7, 12, 2, 1, 1, 2, 0, 0
	};
	static const uint8_t one[RENC_SHAPE_PACKED_SIZE] = {
		0x00, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 7, 255, 2, 1, 0, 0, 0, 0
	};
	renc_shape	shape = fixed_shape();
	uint8_t		packed[RENC_SHAPE_PACKED_SIZE];

	renc_shape_pack(&shape, packed);
	tap_ok(memcmp(packed, two, sizeof(two)) == 0, "packed shape of two stages");
	shape.nstages = 1;
	renc_shape_pack(&shape, packed);
	tap_ok(memcmp(packed, one, sizeof(one)) == 0, "packed shape of one stage");
}

static void
golden_positions(void)
{
	static const renc_position expected[] = {
		{24, 338}, {6, 484}, {24, 368}, {6, 503}, {24, 503},
		{6, 37}, {11, 274}, {11, 93}, {11, 54}, {11, 413}
	};
	renc_shape	shape = fixed_shape();
	renc_position pos[RENC_MAX_POSITIONS];
	int			n = renc_shape_positions(&shape, UINT64_C(0x0123456789abcdef), 37, 510, pos);

	tap_ok(n == 10, "a key sets %d positions", n);
	for (int i = 0; i < n; i++)
		tap_ok(pos[i].window == expected[i].window && pos[i].row == expected[i].row,
			   "position %d: window %u, row %u", i, pos[i].window, pos[i].row);
}

static void
golden_image(int width, uint64_t expected)
{
	renc_shape	shape = fixed_shape();
	test_filter f = filter_new(3, TEST_ROWS, width);

	for (int slot = 0; slot < 8 * width; slot++)
	{
		uint64_t	keys[40];
		size_t		n;

		for (int k = 0; k < 40; k++)
			keys[k] = fixed_key((uint64_t) slot * 40 + k);
		n = sort_keys(keys, 40);
		renc_window_fill(f.image, width, slot, &shape, f.nwindows, f.rows, keys, n);
	}
	golden(width == 1 ? "image of a slice" : "image of a matrix",
		   fnv1a(f.image, filter_size(&f)), expected);
	filter_free(&f);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, argv[0]);
	golden_hashes();
	hashes_of_library();
	golden_reduce();
	golden_shape();
	golden_positions();

	/* Format version 2: bands.  In version 1 the 16 bytes of a row stood together. */
	golden_image(RENC_MATRIX_WIDTH, UINT64_C(0xe830876805560476));
	golden_image(RENC_SLICE_WIDTH, UINT64_C(0x5c98baa76bb17401));
	return tap_finish();
}
