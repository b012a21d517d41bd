/*
 * test_shape.c
 *		Shapes: validation, the packed form, text, the positions of a key.
 */
#include <stdio.h>
#include <stdlib.h>

#include "shape_text.h"
#include "testlib.h"

static bool
same_shape(const renc_shape *a, const renc_shape *b)
{
	bool		same = a->nstages == b->nstages;

	for (int s = 0; s < a->nstages && same; s++)
		same = a->stage[s].levels == b->stage[s].levels &&
			a->stage[s].root == b->stage[s].root &&
			a->stage[s].kw == b->stage[s].kw &&
			a->stage[s].kr == b->stage[s].kr;
	return same;
}

static void
test_roundtrip(void)
{
	int			wrong = 0;

	for (int i = 0; i < 20000; i++)
	{
		renc_shape	shape;
		renc_shape	back;
		uint8_t		packed[RENC_SHAPE_PACKED_SIZE];
		const char *reason = NULL;
		int			first = 1 + (int) rnd_below(50);

		random_shape(&shape, first, first + 6 + (int) rnd_below(8));
		renc_shape_pack(&shape, packed);
		if (!renc_shape_unpack(packed, &back, &reason) || !same_shape(&shape, &back))
			wrong++;
	}
	tap_ok(wrong == 0, "20000 random shapes packed and unpacked, %d wrong", wrong);
}

/* Whatever the bytes are, what unpacks is valid and packs to the same. */
static void
test_random_bytes(void)
{
	int			wrong = 0;
	int			accepted = 0;

	for (int i = 0; i < 200000; i++)
	{
		uint8_t		bytes[RENC_SHAPE_PACKED_SIZE] = {0};
		uint8_t		again[RENC_SHAPE_PACKED_SIZE];
		renc_shape	shape;
		const char *reason = NULL;

		renc_store64(bytes, rnd() & rnd() & rnd());
		bytes[8] = (uint8_t) (rnd() & (rnd_below(2) ? 7 : 255));
		bytes[9] = (uint8_t) (rnd_below(2) ? 255 : rnd());
		for (int b = 10; b < 14; b++)
			bytes[b] = (uint8_t) rnd_below(6);
		if (bytes[9] == 255 && rnd_below(2))
			bytes[12] = bytes[13] = 0;
		if (rnd_below(8) == 0)
			bytes[14 + rnd_below(2)] = (uint8_t) rnd();
		if (!renc_shape_unpack(bytes, &shape, &reason))
		{
			if (reason == NULL)
				wrong++;
			continue;
		}
		accepted++;
		renc_shape_pack(&shape, again);
		if (!renc_shape_valid(&shape, NULL) || memcmp(bytes, again, sizeof(bytes)) != 0)
			wrong++;
	}
	tap_ok(wrong == 0 && accepted > 100 && accepted < 199900,
		   "200000 random packed forms, %d accepted, %d wrong", accepted, wrong);
}

static void
refused(const char *why, renc_shape shape)
{
	const char *reason = NULL;
	bool		valid = renc_shape_valid(&shape, &reason) || renc_shape_valid(&shape, NULL);

	tap_ok(!valid && reason != NULL, "%s: %s", why, reason ? reason : "accepted");
}

static void
test_invalid(void)
{
	renc_shape	good = make_shape(10, 2, 1, 20, 2, 4);
	renc_shape	bad;

	tap_ok(renc_shape_valid(&good, NULL), "a good shape is valid");
	bad = good;
	bad.nstages = 0;
	refused("no stage", bad);
	bad.nstages = 3;
	refused("three stages", bad);
	bad = good;
	bad.stage[0].root = 64;
	refused("root of 64", bad);
	bad = good;
	bad.stage[0].kw = 0;
	refused("kw 0", bad);
	bad.stage[0].kw = RENC_MAX_KW + 1;
	refused("kw too great", bad);
	bad = good;
	bad.stage[0].kr = 0;
	refused("kr 0", bad);
	bad.stage[0].kr = RENC_MAX_KR + 1;
	refused("kr too great", bad);
	bad = good;
	bad.stage[0].levels = 0;
	refused("no levels", bad);
	bad.stage[0].levels = RENC_LEVEL_BIT(10);
	refused("a level at the root", bad);
	bad = make_shape(0, 4, 3, 64, 1, 64);
	refused("too many positions", bad);
	bad = good;
	bad.nstages = 2;
	bad.stage[1] = make_shape(19, 2, 1, 30, 1, 3).stage[0];
	refused("second root above the first stage's deepest level", bad);
	bad.stage[1].root = 20;
	tap_ok(renc_shape_valid(&bad, NULL), "second root at the first stage's deepest level");
}

static void
described(const renc_shape *shape, const char *expected)
{
	char		buf[200];
	char		small[10];
	int			len = renc_shape_describe(shape, buf, sizeof(buf));

	tap_ok(strcmp(buf, expected) == 0 && len == (int) strlen(expected),
		   "described as %s", buf);
	len = renc_shape_describe(shape, small, sizeof(small));
	tap_ok(len == (int) strlen(expected) && strncmp(small, expected, 9) == 0 &&
		   small[9] == '\0', "cut to 10 bytes: %s", small);
	tap_ok(renc_shape_describe(shape, NULL, 0) == (int) strlen(expected),
		   "the length without a buffer");
}

static void
test_describe(void)
{
	renc_shape	shape = make_shape(18, 2, 1, 24, 1, 3);

	shape.stage[0].levels |= RENC_LEVEL_BIT(20);
	described(&shape, "{r 18, kw 2, kr 1, L 20,22-24}");
	shape.nstages = 2;
	shape.stage[1] = make_shape(60, 1, 2, 64, 1, 4).stage[0];
	described(&shape, "{r 18, kw 2, kr 1, L 20,22-24} {r 60, kw 1, kr 2, L 61-64}");
}

/* Positions are in bounds, and depend on nothing below the deepest level. */
static void
test_positions(void)
{
	int			wrong = 0;

	for (int i = 0; i < 5000; i++)
	{
		renc_shape	shape;
		renc_position pos[RENC_MAX_POSITIONS];
		renc_position other[RENC_MAX_POSITIONS];
		uint32_t	nwindows = 1 + (uint32_t) rnd_below(1000);
		uint32_t	rows = 1 + (uint32_t) rnd_below(2000);
		uint64_t	key = rnd();
		int			deepest;
		int			n;

		random_shape(&shape, 1 + (int) rnd_below(40), 64);
		deepest = renc_stage_deepest(&shape.stage[shape.nstages - 1]);
		n = renc_shape_positions(&shape, key, nwindows, rows, pos);
		if (n != renc_shape_nbits(&shape) || n > RENC_MAX_POSITIONS)
			wrong++;
		for (int p = 0; p < n; p++)
			if (pos[p].window >= nwindows || pos[p].row >= rows)
				wrong++;
		(void) renc_shape_positions(&shape, renc_prefix_end(key, deepest), nwindows,
									rows, other);
		if (memcmp(pos, other, n * sizeof(*pos)) != 0)
			wrong++;
	}
	tap_ok(wrong == 0, "positions of 5000 random shapes and keys, %d wrong", wrong);
}

static void
test_levels(void)
{
	int			wrong = 0;

	for (int i = 0; i < 5000; i++)
	{
		renc_stage st = {rnd() | RENC_LEVEL_BIT(1 + rnd_below(64)), 0, 1, 1};
		uint8_t		levels[RENC_KEY_BITS];
		int			n = renc_stage_levels(&st, levels);
		uint64_t	back = 0;

		for (int l = 0; l < n; l++)
		{
			back |= RENC_LEVEL_BIT(levels[l]);
			if (l > 0 && levels[l] <= levels[l - 1])
				wrong++;
		}
		if (back != st.levels || renc_stage_deepest(&st) != levels[n - 1])
			wrong++;
	}
	tap_ok(wrong == 0, "levels of a stage in order, %d wrong", wrong);
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_shape");
	test_roundtrip();
	test_random_bytes();
	test_invalid();
	test_describe();
	test_positions();
	test_levels();
	return tap_finish();
}
