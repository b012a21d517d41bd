/*
 * renc_composite_train.c
 *		Training the codes of composite keys.
 */
#include "renc_composite.h"

/* Codes for each distinct key of a sample, of columns but the last. */
#define CODES_A_KEY		16

/* Of the points of a column, so many parts are for keys that come often. */
#define OFTEN_PARTS		4

/*
 * Keys of the last column further from the middle 98 % than so many times its width count as
 * outside.
 */
#define STRAY_PART		100
#define OUTSKIRTS		16

/* Bits of a code at most, and behind the first one of a distance, by the number of columns. */
static const uint8_t most_bits[] = {0, 0, 24, 20, 16};
static const uint8_t mantissas[] = {0, 0, 8, 6, 5};

/* A key that may become a point, and rows up to there, without those of points. */
typedef struct Group
{
	uint64_t	key;
	size_t		n;				/* rows that have it */
	bool		exact;
} Group;

/* The rows of the sample's i-th key on that have the same one; *i is behind them. */
static Group
next_group(const renc_composite_sample *sample, size_t *i)
{
	Group		group = {sample->value[*i].key, 0, sample->value[*i].exact};

	for (; *i < sample->n && sample->value[*i].key == group.key; (*i)++)
	{
		group.n++;
		group.exact &= sample->value[*i].exact;
	}
	return group;
}

/* How many keys come so often. */
static size_t
count_groups(const renc_composite_sample *sample, size_t often)
{
	size_t		count = 0;

	for (size_t i = 0; i < sample->n;)
		count += next_group(sample, &i).n >= often;
	return count;
}

/* What the points of a column are chosen by. */
typedef struct Choice
{
	size_t		often;			/* rows of a key that becomes one */
	size_t		step;			/* rows of others, from one of them to the
								 * next */
} Choice;

static Choice
choose_points(const renc_composite_sample *sample, size_t most)
{
	size_t		room = most - most / OFTEN_PARTS - 2;	/* the ends are points */
	Choice		choice = {2, 0};
	size_t		rows = 0;

	while (count_groups(sample, choice.often) > room)
		choice.often++;
	for (size_t i = 0; i < sample->n;)
	{
		size_t		n = next_group(sample, &i).n;

		rows += n < choice.often ? n : 0;
	}
	choice.step = rows / (most / OFTEN_PARTS) + 1;
	return choice;
}

/* The points of a column, and how many rows lie before each, behind the one before. */
typedef struct Points
{
	uint32_t	n;
	uint64_t   *key;
	uint32_t   *code;			/* until they are known, these rows */
	bool		alone[RENC_COMPOSITE_POINTS];
} Points;

static void
add_point(Points *points, const Group *group, size_t rows)
{
	points->key[points->n] = group->key;
	points->code[points->n] = (uint32_t) (rows < UINT32_MAX ? rows : UINT32_MAX);
	points->alone[points->n++] = group->exact;
}

static void
find_points(const renc_composite_sample *sample, Choice choice, Points *points)
{
	const Group middle = {UINT64_C(1) << 63, 0, false};
	size_t		rows = 0;		/* since the last point */

	for (size_t i = 0; i < sample->n;)
	{
		bool		end = i == 0;
		Group		group = next_group(sample, &i);

		if (end || i == sample->n || group.n >= choice.often || rows + group.n > choice.step)
		{
			add_point(points, &group, rows);
			rows = 0;
		}
		else
			rows += group.n;
	}
	if (points->n == 0)
		add_point(points, &middle, 0);
}

/* Gives codes to points and to the stretches between them; returns the last code. */
static uint64_t
give_codes(Points *points, uint64_t from, uint64_t budget)
{
	double		weight = 0;
	uint64_t	stretches = 0;
	uint64_t	code = from;
	double		left;

	for (uint32_t i = 1; i < points->n; i++)
	{
		if (points->key[i] - points->key[i - 1] > 1)
		{
			weight += points->code[i] + 1.0;
			stretches++;
		}
	}
	left = budget > points->n + stretches ? (double) (budget - points->n - stretches) : 0;
	for (uint32_t i = 0; i < points->n; i++)
	{
		uint64_t	keys = i == 0 ? 0 : points->key[i] - points->key[i - 1] - 1;

		if (keys > 0)
		{
			uint64_t	codes = 1 + (uint64_t) (left * (points->code[i] + 1.0) / weight);

			code += codes < keys ? codes : keys;
		}
		points->code[i] = (uint32_t) code | (points->alone[i] ? UINT32_C(1) << 31 : 0);
		code++;
	}
	return code - 1;
}

/* A column but the last. */
static void
train_points(renc_composite *c, int col, const renc_composite_sample *sample)
{
	renc_composite_column *column = &c->column[col];
	int			n = (int) c->n;
	uint32_t	most = RENC_COMPOSITE_POINTS / (uint32_t) (n - 1);
	Choice		choice = choose_points(sample, most);
	Points		points = {0};
	uint64_t	outside;
	uint64_t	budget = CODES_A_KEY * (uint64_t) count_groups(sample, 1);
	uint64_t	room;

	column->mantissa = mantissas[n];
	outside = (uint64_t) (65 - column->mantissa) << column->mantissa;
	room = (UINT64_C(1) << most_bits[n]) - 2 * outside - 1;
	points.key = (uint64_t *) ((char *) c + c->size);

	/* Their codes stand behind the keys, once it is known how many these are. */
	points.code = (uint32_t *) (points.key + most);
	find_points(sample, choice, &points);
	column->lo = points.key[0];
	column->hi = points.key[points.n - 1];
	column->from = outside;
	column->to = give_codes(&points, outside, budget < room ? budget : room);
	memmove(points.key + points.n, points.code, points.n * sizeof(uint32_t));
	column->points = c->size;
	column->npoints = points.n;
	while ((UINT64_C(1) << column->bits) < column->to + outside + 2)
		column->bits++;
	c->size += (uint32_t) (points.n * 12 + 7) / 8 * 8;
}

static uint64_t
add_limited(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t
subtract_limited(uint64_t a, uint64_t b)
{
	return a < b ? 0 : a - b;
}

/*
 * The last column.  Its interval has room for twice as many keys as come, on either side: times go
 * on, and for a bit or two codes stay fine.
 */
static void
train_last(renc_composite *c, int bits, const renc_composite_sample *sample)
{
	renc_composite_column *column = &c->column[c->n - 1];
	uint64_t	null;
	uint64_t	width;

	column->bits = (uint8_t) bits;
	null = renc_composite_null(c, (int) c->n - 1);
	column->lo = column->hi = UINT64_C(1) << 63;
	if (sample->n > 0)
	{
		size_t		strays = sample->n / STRAY_PART;
		uint64_t	lo = sample->value[strays].key;
		uint64_t	hi = sample->value[sample->n - 1 - strays].key;
		uint64_t	margin = hi - lo > UINT64_MAX / OUTSKIRTS ? UINT64_MAX : (hi - lo) * OUTSKIRTS;

		column->lo = sample->value[0].key;
		column->hi = sample->value[sample->n - 1].key;
		if (margin > 0 && column->lo < subtract_limited(lo, margin))
			column->lo = subtract_limited(lo, margin);
		if (margin > 0 && column->hi > add_limited(hi, margin))
			column->hi = add_limited(hi, margin);
	}
	width = column->hi - column->lo;
	column->lo = subtract_limited(column->lo, width);
	column->hi = add_limited(column->hi, width);
	column->from = null / 16;
	column->to = null - null / 16 - 1;
}

size_t
renc_composite_train(const renc_composite_sample *sample, int n, void *data)
{
	renc_composite *c = (renc_composite *) data;
	int			bits = 64;

	memset(data, 0, RENC_COMPOSITE_MAX_SIZE);
	c->n = (uint32_t) n;
	c->size = sizeof(renc_composite);
	for (int col = 0; col < n - 1; col++)
	{
		train_points(c, col, &sample[col]);
		bits -= c->column[col].bits;
	}
	train_last(c, bits, &sample[n - 1]);

	/* What stood there until it was moved. */
	memset((char *) data + c->size, 0, RENC_COMPOSITE_MAX_SIZE - c->size);
	return c->size;
}

double
renc_composite_share_outside(const renc_composite *c, int col, const renc_composite_sample *sample)
{
	const renc_composite_column *column = &c->column[col];
	size_t		n = 0;

	for (size_t i = 0; i < sample->n; i++)
		n += sample->value[i].key < column->lo || sample->value[i].key > column->hi;
	return (double) n / (sample->n > 0 ? sample->n : 1);
}

double
renc_composite_share_alike(const renc_composite *c, int col, const renc_composite_sample *sample)
{
	size_t		alike = 0;
	uint64_t	last = UINT64_MAX;

	for (size_t i = 0; i < sample->n;)
	{
		Group		group = next_group(sample, &i);
		uint64_t	code = renc_composite_code(c, col, group.key);

		alike += code == last ? group.n : 0;
		last = code;
	}
	return (double) alike / (sample->n > 0 ? sample->n : 1);
}
