/*
 * encode_number.c
 *		Keys of float4, float8 and numeric.
 *
 * encode.h says what a key function must do.
 */
#include "key/encode.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/numeric.h"


PG_FUNCTION_INFO_V1(rencoder_numeric_key);

/*
 * The bits of an IEEE number with the sign bit set, or all bits inverted if it
 * is negative, are in the order of the numbers.  In SQL -0 equals 0, and NaN
 * equals itself and is greater than all others.
 */
static uint64
float_key(float8 value)
{
	uint64		bits;

	if (isnan(value))
		return PG_UINT64_MAX;
	if (value == 0)
		return RENCODER_KEY_ZERO;
	memcpy(&bits, &value, sizeof(bits));
	return bits & RENCODER_KEY_ZERO ? ~bits : bits | RENCODER_KEY_ZERO;
}

/* As float8, which represents every float4: SQL compares them so, too. */
RENCODER_KEY_FUNCTION(rencoder_float4_key, float_key((float8) PG_GETARG_FLOAT4(0)));
RENCODER_KEY_FUNCTION(rencoder_float8_key, float_key(PG_GETARG_FLOAT8(0)));

/*
 * Numeric.  A finite number other than zero is +-m * 10^e, 1 <= m < 10.  Its magnitude is
 *
 *		62                54 53                          1   0
 *		+-------------------+-----------------------------+---+
 *		| e + EXPONENT_BIAS | first 16 decimal digits of  | r |  + 2
 *		|                   | m, less 10^15               |   |
 *		+-------------------+-----------------------------+---+
 *
 * and its key lies so far above or below that of zero.  Digits beyond the 16th are cut off; r is
 * 1 if one of them is not 0.  Exponents that do not fit are clamped: what is too small has
 * magnitude 1, what is too great the greatest, 511 * 2^54 + 18 * 10^15 + 1, which leaves room for
 * the infinities and NaN at the ends.
 *
 * So magnitudes keep the order, and even ones are of one number each.
 */
#define MANTISSA_DIGITS		16
#define MANTISSA_BITS		54
#define MANTISSA_FIRST		INT64CONST(1000000000000000)	/* 10^15 */
#define MAGNITUDE(e, m, r)	(((uint64) (e) << MANTISSA_BITS) + 2 * ((m) - MANTISSA_FIRST) + (r) + 2)
#define MAGNITUDE_LEAST		1
#define EXPONENT_BIAS		256
#define EXPONENT_MAX		511 /* biased */

StaticAssertDecl(18 * MANTISSA_FIRST + 1 < INT64CONST(1) << MANTISSA_BITS,
				 "digits must fit their bits");

/*
 * Digits of a numeric are read from its binary external form, which unlike
 * the internal one is public and stable: five int16s and int16 digits in base
 * 10000, in network order.
 */
#define WIRE_HEADER			8	/* bytes before the first digit */
#define WIRE_NEGATIVE		0x4000
#define WIRE_NAN			0xC000
#define WIRE_INFINITY		0xD000
#define WIRE_MINUS_INFINITY	0xF000
#define WIRE_BASE_DIGITS	4	/* decimal digits in one of base 10000 */
#define WIRE_BASE			10000

static inline uint16
numeric_wire_get(const char *wire, int offset)
{
	uint16		v;

	memcpy(&v, wire + offset, sizeof(v));
	return pg_ntoh16(v);
}

/*
 * The distance from zero of a number with "ndigits" digits in base 10000, the
 * first of which (not zero) counts 10000^weight.
 */
static uint64
numeric_magnitude(const char *digits, int ndigits, int weight)
{
	uint64		mantissa = 0;
	int			first = numeric_wire_get(digits, 0);
	int			decimals = first >= 1000 ? 4 : first >= 100 ? 3 : first >= 10 ? 2 : 1;
	int			exponent = weight * WIRE_BASE_DIGITS + decimals - 1 + EXPONENT_BIAS;
	int			missing = WIRE_BASE_DIGITS - decimals;
	int			last;
	bool		rest;

	if (exponent < 0)
		return MAGNITUDE_LEAST;
	if (exponent > EXPONENT_MAX)
		return MAGNITUDE(EXPONENT_MAX, 10 * MANTISSA_FIRST - 1, 1);

	/*
	 * Four digits in base 10000 are 16 decimal ones, some of them leading
	 * zeros.
	 */
	for (int i = 0; i < MANTISSA_DIGITS / WIRE_BASE_DIGITS; i++)
		mantissa = mantissa * WIRE_BASE + (i < ndigits ? numeric_wire_get(digits, 2 * i) : 0);

	/* As many come from the fifth digit instead. */
	last = ndigits > MANTISSA_DIGITS / WIRE_BASE_DIGITS ?
		numeric_wire_get(digits, 2 * (MANTISSA_DIGITS / WIRE_BASE_DIGITS)) : 0;
	for (int i = 0; i < missing; i++)
	{
		mantissa = mantissa * 10 + last / 1000;
		last = last % 1000 * 10;
	}
	rest = last != 0;
	for (int i = MANTISSA_DIGITS / WIRE_BASE_DIGITS + 1; i < ndigits; i++)
		rest |= numeric_wire_get(digits, 2 * i) != 0;
	return MAGNITUDE(exponent, mantissa, rest);
}

static uint64
numeric_wire_key(const char *wire)
{
	int			ndigits = numeric_wire_get(wire, 0);
	int			weight = (int16) numeric_wire_get(wire, 2);
	int			sign = numeric_wire_get(wire, 4);
	const char *digits = wire + WIRE_HEADER;
	uint64		magnitude;

	switch (sign)
	{
		case WIRE_NAN:
			return PG_UINT64_MAX;
		case WIRE_INFINITY:
			return PG_UINT64_MAX - 1;
		case WIRE_MINUS_INFINITY:
			return 0;
	}

	/* There are none in numbers that PostgreSQL computed. */
	while (ndigits > 0 && numeric_wire_get(digits, 0) == 0)
	{
		digits += 2;
		ndigits--;
		weight--;
	}
	if (ndigits == 0)
		return RENCODER_KEY_ZERO;
	magnitude = numeric_magnitude(digits, ndigits, weight);
	return sign == WIRE_NEGATIVE ? RENCODER_KEY_ZERO - magnitude :
		RENCODER_KEY_ZERO + magnitude;
}

Datum
rencoder_numeric_key(PG_FUNCTION_ARGS)
{
	bytea	   *wire = DatumGetByteaPP(DirectFunctionCall1(numeric_send,
														   PG_GETARG_DATUM(0)));
	uint64		key = numeric_wire_key(VARDATA_ANY(wire));

	pfree(wire);
	PG_RETURN_KEY(key);
}

/* An even key is of one value, and so is the odd one of NaN. */
static bool
is_of_one_number(uint64 key)
{
	return key % 2 == 0 || key == PG_UINT64_MAX;
}

RENCODER_BOUND_FUNCTION(rencoder_numeric_bound, is_of_one_number);
