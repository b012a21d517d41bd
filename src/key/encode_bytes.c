/*
 * encode_bytes.c
 *		Keys of types that are compared as bytes: "char", tid, uuid, bit and varbit.
 *
 * encode.h says what a key function must do.  Keys of "char" and tid are exact, those of uuid the
 * first half of the bytes.
 */
#include "key/encode.h"

#include "access/detoast.h"
#include "storage/itemptr.h"
#include "utils/uuid.h"
#include "utils/varbit.h"


PG_FUNCTION_INFO_V1(rencoder_tid_key);
PG_FUNCTION_INFO_V1(rencoder_bit_key);

/* SQL compares the byte unsigned, whatever C's char is. */
RENCODER_KEY_FUNCTION(rencoder_char_key, (uint64) (uint8) PG_GETARG_CHAR(0));

/* Block, then offset.  Neither need be one that a table can have. */
Datum
rencoder_tid_key(PG_FUNCTION_ARGS)
{
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(0);

	PG_RETURN_KEY((uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
				  ItemPointerGetOffsetNumberNoCheck(tid));
}

RENCODER_KEY_FUNCTION(rencoder_uuid_key, rencoder_load_big_endian(PG_GETARG_UUID_P(0)->data));

/* rencoder_uuid_bound(uuid, internal) */
RENCODER_VOID_FUNCTION(rencoder_uuid_bound,
					   rencoder_bound_exclude_by_rest(ARGUMENT_BOUND,
													  rencoder_load_big_endian(PG_GETARG_UUID_P(0)->data + UUID_LEN / 2),
													  PG_UINT64_MAX));

/*
 * bit and varbit.
 *
 *		| first 58 bits, zeros behind the last | length, up to 59 (6 bits) |
 *
 * SQL compares as many bytes as both have, where the last is filled up with zeros, then the
 * lengths in bits.  Let x < y.
 *
 * - They differ in a byte that both have: filled up with zeros, they differ there, too, so the
 *	 first 58 bits of x are less, or the same if the difference lies behind them.
 * - They do not, and x is shorter: y is the bytes of x followed by anything, so its first 58
 *	 bits are not less than those of x.
 *
 * If the first 58 bits are the same, the lengths decide.  In the second case that of x is less.
 * In the first the difference lies behind bit 58, so y has a bit there and length 59, or more.
 * So up to 58 bits keys are exact.
 */
#define BIT_HEAD			58
#define BIT_LENGTH_BITS		6
#define BIT_LENGTH_MASK		((UINT64CONST(1) << BIT_LENGTH_BITS) - 1)

StaticAssertDecl(BIT_HEAD + 1 < 1 << BIT_LENGTH_BITS, "a length must fit its bits");

/* Of a value in TOAST no more is fetched than the key depends on. */
Datum
rencoder_bit_key(PG_FUNCTION_ARGS)
{
	Datum		value = PG_GETARG_DATUM(0);
	struct varlena *v = (struct varlena *) DatumGetPointer(value);
	size_t		header = offsetof(VarBit, bit_dat) - VARHDRSZ;
	size_t		size;
	int32		length;
	uint64		head = 0;

	if (VARATT_IS_COMPRESSED(v) || VARATT_IS_EXTERNAL(v))
		v = PG_DETOAST_DATUM_SLICE(value, 0, header + sizeof(head));
	size = VARSIZE_ANY_EXHDR(v) - header;
	memcpy(&length, VARDATA_ANY(v), sizeof(length));
	memcpy(&head, VARDATA_ANY(v) + header, Min(size, sizeof(head)));
	head = pg_ntoh64(head) & ~BIT_LENGTH_MASK;
	PG_RETURN_KEY(head | (uint64) Min(length, BIT_HEAD + 1));
}

/* The key of a string that fits is of no other. */
static bool
is_whole_bit_string(uint64 key)
{
	return (key & BIT_LENGTH_MASK) <= BIT_HEAD;
}

RENCODER_BOUND_FUNCTION(rencoder_bit_bound, is_whole_bit_string);
