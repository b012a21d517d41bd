/*
 * renc_composite.c
 *		One key of the keys of several columns, in their order.
 */
#include "renc_composite.h"

/* Marks the code of a point that stands for one value alone. */
#define ALONE		(UINT32_C(1) << 31)

static const uint64_t *
point_keys(const renc_composite *c, int col)
{
	return (const uint64_t *) ((const char *) c + c->column[col].points);
}

static const uint32_t *
point_codes(const renc_composite *c, int col)
{
	return (const uint32_t *) (point_keys(c, col) + c->column[col].npoints);
}

/* x * to / of, rounded down, for x < of: below "to". */
static uint64_t
scale(uint64_t x, uint64_t to, uint64_t of)
{
#ifdef __SIZEOF_INT128__
	return (uint64_t) ((unsigned __int128) x * to / of);
#else
	uint64_t	quotient = 0;
	uint64_t	rest = 0;

	for (int bit = 63; bit >= 0; bit--)
	{
		/* 2 * rest + x, if that bit of "to" is set, less "of" once or twice. */
		uint64_t	add = (to >> bit & 1) ? x : 0;

		quotient <<= 1;
		if (rest >= of - rest)
		{
			quotient++;
			rest -= of - rest;
		}
		else
			rest += rest;
		if (add > 0 && rest >= of - add)
		{
			quotient++;
			rest -= of - add;
		}
		else
			rest += add;
	}
	return quotient;
#endif
}

/* A distance as a floating number: less than (65 - mantissa) << mantissa. */
static uint64_t
floating(uint64_t distance, int mantissa)
{
	int			exponent = distance >> mantissa == 0 ? 0 :
		64 - mantissa - __builtin_clzll(distance);

	return exponent == 0 ? distance :
		((uint64_t) exponent << mantissa) + (distance >> (exponent - 1)) - (UINT64_C(1) << mantissa);
}

/* The last point that is not greater than a key from lo to hi. */
static uint32_t
find_point(const uint64_t *point, uint32_t n, uint64_t key)
{
	uint32_t	left = 0;
	uint32_t	right = n;

	while (right - left > 1)
	{
		uint32_t	middle = left + (right - left) / 2;

		if (point[middle] <= key)
			left = middle;
		else
			right = middle;
	}
	return left;
}

static uint64_t
code_between_points(const renc_composite *c, int col, uint64_t key)
{
	const uint64_t *point = point_keys(c, col);
	const uint32_t *code = point_codes(c, col);
	uint32_t	i = find_point(point, c->column[col].npoints, key);
	uint64_t	first = (code[i] & ~ALONE) + UINT64_C(1);

	return key == point[i] ? first - 1 :
		first + scale(key - point[i] - 1, (code[i + 1] & ~ALONE) - first,
					  point[i + 1] - point[i] - 1);
}

uint64_t
renc_composite_code(const renc_composite *c, int col, uint64_t key)
{
	const renc_composite_column *column = &c->column[col];
	bool		last = column->npoints == 0;
	uint64_t	least;			/* distance beyond the trained keys */

	if (key < column->lo)
	{
		least = column->lo - 1 - key;
		return last ? scale(key, column->from, column->lo) :
			column->from - 1 - floating(least, column->mantissa);
	}
	if (key > column->hi)
	{
		least = key - column->hi - 1;
		return column->to + 1 + (last ? scale(least, renc_composite_null(c, col) - column->to - 1,
											  UINT64_MAX - column->hi) :
								 floating(least, column->mantissa));
	}
	if (!last)
		return code_between_points(c, col, key);
	if (column->lo == 0 && column->hi == UINT64_MAX)
		return column->from + scale(key, column->to - column->from + 1, UINT64_MAX) -
			(key == UINT64_MAX);
	return column->from + scale(key - column->lo, column->to - column->from + 1,
								column->hi - column->lo + 1);
}

int
renc_composite_shift(const renc_composite *c, int col)
{
	int			shift = 0;

	for (int i = col + 1; i < (int) c->n; i++)
		shift += c->column[i].bits;
	return shift;
}

uint64_t
renc_composite_code_in(const renc_composite *c, int col, uint64_t composite)
{
	return composite >> renc_composite_shift(c, col) & renc_composite_null(c, col);
}

bool
renc_composite_is_alone(const renc_composite *c, int col, uint64_t code)
{
	const renc_composite_column *column = &c->column[col];
	const uint32_t *codes = point_codes(c, col);
	uint32_t	left = 0;
	uint32_t	right = column->npoints;

	if (code == renc_composite_null(c, col))
		return true;
	while (left < right)
	{
		uint32_t	middle = left + (right - left) / 2;

		if ((codes[middle] & ~ALONE) < code)
			left = middle + 1;
		else
			right = middle;
	}
	return left < column->npoints && codes[left] == (code | ALONE);
}

bool
renc_composite_is_outside(const renc_composite *c, uint64_t composite)
{
	for (int col = (int) c->n - 1; col >= 0; col--)
	{
		const renc_composite_column *column = &c->column[col];
		uint64_t	null = renc_composite_null(c, col);
		uint64_t	code = composite & null;

		if (code != null && (code < column->from || code > column->to))
			return true;
		composite >>= column->bits;
	}
	return false;
}

/* Do points rise from "lo" to "hi", with codes for all keys between them? */
static bool
points_are_valid(const renc_composite *c, int col)
{
	const renc_composite_column *column = &c->column[col];
	const uint64_t *point = point_keys(c, col);
	const uint32_t *code = point_codes(c, col);
	uint32_t	n = column->npoints;

	if (point[0] != column->lo || point[n - 1] != column->hi ||
		(code[0] & ~ALONE) != column->from || (code[n - 1] & ~ALONE) != column->to)
		return false;
	for (uint32_t i = 1; i < n; i++)
	{
		uint32_t	codes = (code[i] & ~ALONE) - (code[i - 1] & ~ALONE);

		if (point[i] <= point[i - 1] || (code[i] & ~ALONE) <= (code[i - 1] & ~ALONE) ||
			(codes == 1) != (point[i] - point[i - 1] == 1))
			return false;
	}
	return true;
}

static bool
column_is_valid(const renc_composite *c, int col)
{
	const renc_composite_column *column = &c->column[col];
	uint64_t	room = 12 * (uint64_t) column->npoints;
	uint64_t	outside;

	if (column->bits < 3 || column->bits > 63 || column->lo > column->hi || column->from > column->to)
		return false;
	if ((column->npoints == 0) != (col == (int) c->n - 1))
		return false;
	if (column->npoints == 0)
		return column->from > 0 && column->to < renc_composite_null(c, col) - 1;
	if (column->bits > 31 || column->mantissa < 1 || column->mantissa > 16)
		return false;
	outside = (uint64_t) (65 - column->mantissa) << column->mantissa;
	return column->from >= outside && column->to + outside < renc_composite_null(c, col) &&
		column->points % 8 == 0 && column->points >= sizeof(renc_composite) &&
		column->points + room <= c->size && points_are_valid(c, col);
}

bool
renc_composite_valid(const void *data, size_t size)
{
	const renc_composite *c = (const renc_composite *) data;
	int			bits = 0;

	if (size < sizeof(renc_composite) || c->n < RENC_COMPOSITE_MIN || c->n > RENC_COMPOSITE_MAX ||
		c->size > size || c->size % 8 != 0)
		return false;
	for (int col = 0; col < (int) c->n; col++)
	{
		const renc_composite_column *column = &c->column[col];

		if (!column_is_valid(c, col) ||
			(column->coder_size > 0 && (column->coder % 8 != 0 || column->coder < c->size ||
										(uint64_t) column->coder + column->coder_size > size)))
			return false;
		bits += column->bits;
	}
	return bits == 64;
}
