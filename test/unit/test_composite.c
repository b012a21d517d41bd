/*
 * test_composite.c
 *		Composite keys: codes rise with keys, whatever was trained on.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "renc_composite.h"

/* What the samples of a column look like, as those of types do. */
typedef enum Shape
{
	NOTHING,					/* no values */
	ONE,						/* always the same */
	SERIAL,						/* integers, from 1 on */
	TIMES,						/* microseconds of a month */
	UUIDS,						/* anywhere */
	SKEWED,						/* few that come often, many that come once */
	FLOATS,						/* near zero and far away, on both sides */
	SMALL,						/* int2 */
	ENDS,						/* both ends of the key space, and the middle */
	SHAPES
} Shape;

static const char *const shape_names[] = {
	"nothing", "one", "serial", "times", "uuids", "skewed", "floats", "small", "ends"
};

#define SAMPLE		3000
#define ZERO		(UINT64_C(1) << 63)

static renc_composite_value values[RENC_COMPOSITE_MAX][SAMPLE];
static uint64_t stored[(RENC_COMPOSITE_MAX_SIZE + 7) / 8];
static renc_composite *const coder = (renc_composite *) stored;

static int
compare_values(const void *a, const void *b)
{
	uint64_t	x = ((const renc_composite_value *) a)->key;
	uint64_t	y = ((const renc_composite_value *) b)->key;

	return (x > y) - (x < y);
}

static uint64_t
draw(Shape shape, int i)
{
	switch (shape)
	{
		case SERIAL:
			return ZERO + 1 + rnd_below(1000);
		case TIMES:
			return ZERO + UINT64_C(757382400000000) + rnd_below(UINT64_C(2592000000000));
		case UUIDS:
			return rnd();
		case SKEWED:
			return rnd_below(2) ? ZERO + rnd_below(30) * 1000 : rnd() >> 1;
		case FLOATS:
			return rnd_below(2) ? ZERO + (rnd() >> (1 + rnd_below(60))) :
				ZERO - 1 - (rnd() >> (1 + rnd_below(60)));
		case SMALL:
			return ZERO - 32768 + rnd_below(65536);
		case ENDS:
			return i % 3 == 0 ? 0 : i % 3 == 1 ? UINT64_MAX : ZERO;
		default:
			return ZERO + 7;
	}
}

static renc_composite_sample
draw_sample(int col, Shape shape)
{
	renc_composite_sample sample = {values[col], shape == NOTHING ? 0 : SAMPLE};

	for (size_t i = 0; i < sample.n; i++)
	{
		values[col][i].key = draw(shape, (int) i);
		values[col][i].exact = shape != UUIDS && shape != SKEWED;
	}
	qsort(values[col], sample.n, sizeof(renc_composite_value), compare_values);
	return sample;
}

/* Keys of a column in order: all small distances from what matters to it, and some between. */
#define NEAR		300
#define MAX_KEYS	60000

static uint64_t keys[MAX_KEYS];
static size_t nkeys;

static int
compare_keys(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

static void
add_near(uint64_t key)
{
	for (uint64_t i = 0; i <= 2 * NEAR; i++)
		keys[nkeys++] = key - NEAR + i;
}

static void
collect_keys(int col, const renc_composite_sample *sample)
{
	nkeys = 0;
	add_near(0);
	add_near(ZERO);
	add_near(coder->column[col].lo);
	add_near(coder->column[col].hi);
	for (size_t i = 0; i < sample->n; i++)
	{
		keys[nkeys++] = sample->value[i].key - 1;
		keys[nkeys++] = sample->value[i].key;
		keys[nkeys++] = sample->value[i].key + 1;
	}
	for (int bit = 0; bit < 64; bit++)
	{
		keys[nkeys++] = coder->column[col].lo - (UINT64_C(1) << bit);
		keys[nkeys++] = coder->column[col].hi + (UINT64_C(1) << bit);
	}
	for (int i = 0; i < 20000; i++)
		keys[nkeys++] = rnd() >> rnd_below(64);
	qsort(keys, nkeys, sizeof(uint64_t), compare_keys);
}

/* Rises the code with the key, below that of NULL?  Returns how often not. */
static int
count_falls(int col)
{
	uint64_t	null = renc_composite_null(coder, col);
	uint64_t	last = 0;
	int			wrong = 0;

	for (size_t i = 0; i < nkeys; i++)
	{
		uint64_t	code = renc_composite_code(coder, col, keys[i]);

		wrong += code < last || code >= null;
		last = code;
	}
	return wrong;
}

/* Has a code that stands for one value no other key? */
static int
count_shared(int col)
{
	int			wrong = 0;

	for (size_t i = 0; i < nkeys && col < (int) coder->n - 1; i++)
	{
		uint64_t	code = renc_composite_code(coder, col, keys[i]);

		if (!renc_composite_is_alone(coder, col, code))
			continue;
		wrong += keys[i] > 0 && renc_composite_code(coder, col, keys[i] - 1) == code;
		wrong += keys[i] < UINT64_MAX && renc_composite_code(coder, col, keys[i] + 1) == code;
	}
	return wrong;
}

/* What is outside of what was trained on, and only that, is said to be. */
static int
count_misplaced(int col)
{
	const renc_composite_column *column = &coder->column[col];
	int			shift = renc_composite_shift(coder, col);
	int			wrong = 0;

	for (size_t i = 0; i < nkeys; i++)
	{
		uint64_t	code = renc_composite_code(coder, col, keys[i]);
		uint64_t	composite = 0;

		for (int other = 0; other < (int) coder->n; other++)
			composite |= (other == col ? code : coder->column[other].from) <<
				renc_composite_shift(coder, other);
		wrong += renc_composite_code_in(coder, col, composite) != code;
		wrong += shift + column->bits > 64;
		wrong += renc_composite_is_outside(coder, composite) !=
			(keys[i] < column->lo || keys[i] > column->hi);
	}
	return wrong;
}

/* Trains a coder, and tells whether something is wrong with it. */
static bool
test_columns(int n, const Shape *shape)
{
	renc_composite_sample sample[RENC_COMPOSITE_MAX];
	size_t		size;
	int			falls = 0;
	int			shared = 0;
	int			misplaced = 0;
	int			bits = 0;

	for (int col = 0; col < n; col++)
		sample[col] = draw_sample(col, shape[col]);
	size = renc_composite_train(sample, n, stored);
	for (int col = 0; col < n; col++)
	{
		collect_keys(col, &sample[col]);
		falls += count_falls(col);
		shared += count_shared(col);
		misplaced += count_misplaced(col);
		bits += coder->column[col].bits;
	}
	if (!renc_composite_valid(stored, size) || size > RENC_COMPOSITE_MAX_SIZE || bits != 64 ||
		falls + shared + misplaced > 0)
	{
		tap_diag("%d columns, %s, %s: %d codes fall, %d are shared, %d misplaced, %d bits",
				 n, shape_names[shape[0]], shape_names[shape[1]], falls, shared, misplaced, bits);
		return true;
	}
	return false;
}

/* All pairs of shapes, and some of three and four. */
static void
test_shapes(void)
{
	int			wrong = 0;

	for (int a = 0; a < SHAPES; a++)
	{
		for (int b = 0; b < SHAPES; b++)
		{
			Shape		shape[RENC_COMPOSITE_MAX] = {a, b, (Shape) rnd_below(SHAPES),
			(Shape) rnd_below(SHAPES)};

			for (int n = RENC_COMPOSITE_MIN; n <= RENC_COMPOSITE_MAX; n++)
				wrong += test_columns(n, shape);
		}
	}
	tap_ok(wrong == 0, "codes rise with keys for all pairs of shapes: not of %d", wrong);
}

/* All keys of int2, one by one. */
static void
test_exhaustively(void)
{
	const Shape shape[] = {SMALL, SMALL, SMALL};
	int			wrong = test_columns(3, shape);

	for (int col = 0; col < 3; col++)
	{
		uint64_t	last = 0;

		for (uint64_t key = ZERO - 100000; key < ZERO + 100000; key++)
		{
			uint64_t	code = renc_composite_code(coder, col, key);

			wrong += code < last;
			last = code;
		}
		wrong += last >= renc_composite_null(coder, col);
	}
	tap_ok(wrong == 0, "codes of 200,000 neighbours rise: %d do not", wrong);
}

/* Nothing outgrows its code. */
static void
test_growth(void)
{
	const Shape shape[] = {SERIAL, TIMES};
	const uint64_t year = UINT64_C(31536000000000);
	uint64_t	first;
	int			alike = test_columns(2, shape);

	for (uint64_t i = 1; i < 256; i++)
		alike += renc_composite_code(coder, 0, coder->column[0].hi + i) ==
			renc_composite_code(coder, 0, coder->column[0].hi + i + 1);
	tap_ok(alike == 0, "the next 256 serial keys have codes of their own");
	first = renc_composite_code(coder, 0, coder->column[0].hi + 1000000);
	tap_ok(first != renc_composite_code(coder, 0, coder->column[0].hi + 1008000) &&
		   first != renc_composite_code(coder, 0, coder->column[0].hi + 992000),
		   "a million behind, codes are less than 8,000 keys wide");
	alike = 0;
	for (int i = 1; i < 1000; i++)
		alike += renc_composite_code(coder, 1, coder->column[1].hi + year * i) ==
			renc_composite_code(coder, 1, coder->column[1].hi + year * i + 4000000);
	tap_ok(alike == 0, "for 1,000 years times four seconds apart have different codes");
	tap_ok(coder->column[1].to - coder->column[1].from > renc_composite_null(coder, 1) / 8 * 7 - 16,
		   "seven eighths of the codes are for what was trained on");
}

/* Distinct keys of a sample mostly have codes of their own. */
static void
test_sharing(void)
{
	const Shape shape[] = {UUIDS, TIMES};
	renc_composite_sample sample = draw_sample(0, UUIDS);
	double		alike;

	tap_ok(!test_columns(2, shape), "a coder of random keys");
	alike = renc_composite_share_alike(coder, 0, &sample);
	tap_ok(alike < 0.2, "of other random keys few share a code: %.3f", alike);
	tap_ok(coder->column[0].bits <= 18, "their codes have %d bits", coder->column[0].bits);
	tap_ok(renc_composite_share_outside(coder, 0, &sample) < 0.05, "nearly all lie inside");
}

/* What is damaged is found, or at least harmless. */
static void
test_damage(void)
{
	const Shape shape[] = {SKEWED, UUIDS, TIMES};
	renc_composite_sample sample[RENC_COMPOSITE_MAX];
	uint8_t    *bytes = (uint8_t *) stored;
	size_t		size = 0;
	int			accepted = 0;
	int			wrong = 0;

	for (int round = 0; round < 400; round++)
	{
		if (round % 100 == 0)
		{
			for (int col = 0; col < 3; col++)
				sample[col] = draw_sample(col, shape[col]);
			size = renc_composite_train(sample, 3, stored);
		}
		else
		{
			size_t		at = rnd_below(rnd_below(2) ? sizeof(renc_composite) : size);
			uint8_t		was = bytes[at];

			bytes[at] ^= (uint8_t) (1 << rnd_below(8));
			if (renc_composite_valid(stored, size))
			{
				accepted++;
				for (int col = 0; col < (int) coder->n; col++)
				{
					collect_keys(col, &sample[0]);
					wrong += count_falls(col);
				}
			}
			bytes[at] = was;
		}
	}
	tap_ok(wrong == 0, "of %d damaged coders that were accepted %d keys have falling codes",
		   accepted, wrong);
	tap_ok(!renc_composite_valid(stored, sizeof(renc_composite) - 8), "half a coder is none");
}

int
main(int argc, char **argv)
{
	tap_start(argc, argv, "test_composite");
	test_shapes();
	test_exhaustively();
	test_growth();
	test_sharing();
	test_damage();
	return tap_finish();
}
