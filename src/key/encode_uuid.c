/*
 * encode_uuid.c
 *		Keys of uuid: the first half of the bytes.
 *
 * encode.h says what a key function must do.
 */
#include "key/encode.h"
#include "key/key.h"

#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(rencoder_uuid_bound);

RENCODER_KEY_FUNCTION(rencoder_uuid_key, rencoder_load_big_endian(PG_GETARG_UUID_P(0)->data));

/* rencoder_uuid_bound(uuid, internal): the first and the last value of a key exclude it. */
Datum
rencoder_uuid_bound(PG_FUNCTION_ARGS)
{
	RencoderBound *bound = (RencoderBound *) PG_GETARG_POINTER(1);
	uint64		rest = rencoder_load_big_endian(PG_GETARG_UUID_P(0)->data + UUID_LEN / 2);

	if (rest == 0)
		rencoder_bound_exclude_below(bound, bound->lt);
	if (rest == PG_UINT64_MAX)
		rencoder_bound_exclude_above(bound, bound->gt);
	PG_RETURN_VOID();
}
