/*
 * encode.c
 *		Support functions of the operator classes: values to keys.
 *
 * A key function maps a value to a uint64, returned as the int8 of the same
 * bits, such that x < y implies key(x) <= key(y), also across the types of an
 * operator family (support function 1, see key.h).  Keys are on disk: a
 * function that returns other keys than its last release makes every index on
 * its type wrong.
 */
#include "rencoder.h"

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "utils/date.h"
#include "utils/timestamp.h"

/* The smallest int64 becomes 0, the greatest 2^64 - 1. */
#define INT64_KEY(value) \
	((uint64) (int64) (value) ^ (UINT64CONST(1) << 63))

#define PG_RETURN_KEY(key)	PG_RETURN_INT64((int64) (key))

/* The first day that no timestamp can represent. */
#define TIMESTAMP_END_DATE	(TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE)

/*
 * No zone of PostgreSQL is further from UTC than this: a POSIX-style time zone
 * may say up to 167:59:59 hours, for standard and for daylight-saving time.
 */
#define MAX_ZONE_OFFSET		(7 * USECS_PER_DAY)

PG_FUNCTION_INFO_V1(rencoder_int2_key);
PG_FUNCTION_INFO_V1(rencoder_int4_key);
PG_FUNCTION_INFO_V1(rencoder_int8_key);
PG_FUNCTION_INFO_V1(rencoder_oid_key);
PG_FUNCTION_INFO_V1(rencoder_date_key);
PG_FUNCTION_INFO_V1(rencoder_timestamp_key);
PG_FUNCTION_INFO_V1(rencoder_timestamptz_key);
PG_FUNCTION_INFO_V1(rencoder_zone_slack);

/* Integers of all widths share one key space. */
Datum
rencoder_int2_key(PG_FUNCTION_ARGS)
{
	PG_RETURN_KEY(INT64_KEY(PG_GETARG_INT16(0)));
}

Datum
rencoder_int4_key(PG_FUNCTION_ARGS)
{
	PG_RETURN_KEY(INT64_KEY(PG_GETARG_INT32(0)));
}

Datum
rencoder_int8_key(PG_FUNCTION_ARGS)
{
	PG_RETURN_KEY(INT64_KEY(PG_GETARG_INT64(0)));
}

Datum
rencoder_oid_key(PG_FUNCTION_ARGS)
{
	PG_RETURN_KEY((uint64) PG_GETARG_OID(0));
}

/*
 * Dates and timestamps share a key space, microseconds since 2000-01-01.
 *
 * Dates reach further than timestamps.  The microseconds between the last
 * timestamp and infinity are enough to number the days that do.
 */
Datum
rencoder_date_key(PG_FUNCTION_ARGS)
{
	DateADT		date = PG_GETARG_DATEADT(0);
	int64		usec;

	if (DATE_IS_NOBEGIN(date))
		usec = DT_NOBEGIN;
	else if (DATE_IS_NOEND(date))
		usec = DT_NOEND;
	else if (date >= TIMESTAMP_END_DATE)
		usec = END_TIMESTAMP + ((int64) date - TIMESTAMP_END_DATE);
	else
		usec = (int64) date * USECS_PER_DAY;
	PG_RETURN_KEY(INT64_KEY(usec));
}

/* Infinities are the ends of int64 already. */
Datum
rencoder_timestamp_key(PG_FUNCTION_ARGS)
{
	PG_RETURN_KEY(INT64_KEY(PG_GETARG_TIMESTAMP(0)));
}

Datum
rencoder_timestamptz_key(PG_FUNCTION_ARGS)
{
	PG_RETURN_KEY(INT64_KEY(PG_GETARG_TIMESTAMPTZ(0)));
}

/*
 * Support function 2 for a date or timestamp compared with a timestamptz.
 *
 * The operators take the date or timestamp as local time of the session's
 * zone, so that it differs from its key by the zone's offset, whatever that
 * is when the query runs.  Daylight saving only switches between two offsets.
 */
Datum
rencoder_zone_slack(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(MAX_ZONE_OFFSET);
}
