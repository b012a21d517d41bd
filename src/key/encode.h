/*
 * encode.h
 *		What the key functions of all types share.
 *
 * A key function maps a value to a uint64, returned as the int8 of the same
 * bits, such that x < y implies key(x) <= key(y), also across the types of an
 * operator family (support function 1, see key.h).  Keys are on disk: a
 * function that returns other keys than its last release makes every index on
 * its type wrong.
 */
#ifndef RENCODER_ENCODE_H
#define RENCODER_ENCODE_H

#include "base/compat.h"

#include "fmgr.h"
#include "port/pg_bswap.h"

#include "key/key.h"

/* The middle of the key space: zero of types with a sign. */
#define RENCODER_KEY_ZERO	(UINT64CONST(1) << 63)

/* The smallest int64 becomes 0, the greatest 2^64 - 1. */
#define INT64_KEY(value)	((uint64) (int64) (value) ^ RENCODER_KEY_ZERO)

/* The int64 that INT64_KEY() made a key of. */
#define KEY_INT64(key)		((int64) ((key) ^ RENCODER_KEY_ZERO))

/*
 * The first day that no timestamp can represent.  Its key and those of later days are behind
 * END_TIMESTAMP.
 */
#define TIMESTAMP_END_DATE	(TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE)

/* The number that eight bytes are in big-endian order. */
static inline uint64
rencoder_load_big_endian(const unsigned char *bytes)
{
	uint64		v;

	memcpy(&v, bytes, sizeof(v));
	return pg_ntoh64(v);
}

#define PG_RETURN_KEY(key)	PG_RETURN_INT64((int64) (key))

/* A key function: its name, and the key of its argument. */
#define RENCODER_KEY_FUNCTION(name, key) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_KEY(key); \
	} \
	extern int	no_such_variable

/* A support function that returns void: its name, and what it does. */
#define RENCODER_VOID_FUNCTION(name, action) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		action; \
		PG_RETURN_VOID(); \
	} \
	extern int	no_such_variable

/* The second argument of support function 2. */
#define ARGUMENT_BOUND		((RencoderBound *) PG_GETARG_POINTER(1))

/* Support function 2: its name, and whether a key is of one value alone. */
#define RENCODER_BOUND_FUNCTION(name, is_of_one_value) \
	RENCODER_VOID_FUNCTION(name, if (is_of_one_value(ARGUMENT_BOUND->le)) \
						   rencoder_bound_exclude_others(ARGUMENT_BOUND))

#endif							/* RENCODER_ENCODE_H */
