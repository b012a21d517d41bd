/*
 * encode_integer.c
 *		Keys of types that are integers inside: integers, object identifiers,
 *		dates and times, money, log positions, transaction ids.
 *
 * encode.h says what a key function must do.  These keys are exact: unequal values have
 * unequal keys, also those of two types of a family, but for types that a time zone parts
 * (encode_zone.c).
 */
#include "key/encode.h"

#include "datatype/timestamp.h"
#include "utils/cash.h"
#include "utils/date.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"

PG_FUNCTION_INFO_V1(rencoder_date_key);

/* Integers of all widths share one key space. */
RENCODER_KEY_FUNCTION(rencoder_int2_key, INT64_KEY(PG_GETARG_INT16(0)));
RENCODER_KEY_FUNCTION(rencoder_int4_key, INT64_KEY(PG_GETARG_INT32(0)));
RENCODER_KEY_FUNCTION(rencoder_int8_key, INT64_KEY(PG_GETARG_INT64(0)));
RENCODER_KEY_FUNCTION(rencoder_oid_key, (uint64) PG_GETARG_OID(0));

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
RENCODER_KEY_FUNCTION(rencoder_timestamp_key, INT64_KEY(PG_GETARG_TIMESTAMP(0)));
RENCODER_KEY_FUNCTION(rencoder_timestamptz_key, INT64_KEY(PG_GETARG_TIMESTAMPTZ(0)));

/* Microseconds since midnight. */
RENCODER_KEY_FUNCTION(rencoder_time_key, INT64_KEY(PG_GETARG_TIMEADT(0)));
RENCODER_KEY_FUNCTION(rencoder_money_key, INT64_KEY(PG_GETARG_CASH(0)));

/* The unsigned ones are keys already. */
RENCODER_KEY_FUNCTION(rencoder_pg_lsn_key, PG_GETARG_LSN(0));
RENCODER_KEY_FUNCTION(rencoder_xid8_key, U64FromFullTransactionId(PG_GETARG_FULLTRANSACTIONID(0)));

/* Support function 2 of types whose keys are exact. */
RENCODER_VOID_FUNCTION(rencoder_exact_bound, rencoder_bound_exclude_others(ARGUMENT_BOUND));
