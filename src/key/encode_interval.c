/*
 * encode_interval.c
 *		Keys of interval and timetz.
 *
 * encode.h says what a key function must do.
 */
#include "key/encode.h"

#include "datatype/timestamp.h"
#include "utils/date.h"
#include "utils/timestamp.h"


PG_FUNCTION_INFO_V1(rencoder_interval_key);
PG_FUNCTION_INFO_V1(rencoder_timetz_key);

/*
 * interval.
 *
 * SQL compares intervals as spans of microseconds, a month being 30 days and a day 24 hours:
 *
 *		span = (month * 30 + day) * USECS_PER_DAY + time
 *
 * which takes 74 bits.  Let d be the whole days of a span, rounded down, and r the rest,
 * 0 <= r < USECS_PER_DAY.  Then spans are in the order of (d, r).  A day takes
 *
 *		USECS_PER_DAY keys, one a microsecond, if -EXACT_DAYS <= d < EXACT_DAYS,
 *		2^COARSE_BITS keys, one for 2^COARSE_SHIFT microseconds, else.
 *
 * So the key of (d, r) is that of the day plus what r adds, which is less than what the day
 * takes and rises with r: the map is monotone, and keys within 146,135 years are exact.  The
 * greatest days are 31 * 2^31 of month and day and 2^63 / USECS_PER_DAY of time, 6.67 * 10^10
 * in all; what these are from zero, EXACT_DAYS * USECS_PER_DAY + 6.67 * 10^10 * 2^26 keys, is
 * less than 9.09 * 10^18, so that it stays within the 2^63 keys (9.22 * 10^18) of each sign.
 *
 * PostgreSQL 17 gives the interval whose three fields are the least the name -infinity, and
 * the one of the greatest the name infinity.  They are the ends of the order in the versions
 * before, too, and no other interval has their spans: they have the ends of the key space.
 */
#define EXACT_DAYS			((INT64CONST(1) << 62) / USECS_PER_DAY)
#define COARSE_BITS			26
#define COARSE_SHIFT		11

StaticAssertDecl((USECS_PER_DAY >> COARSE_SHIFT) < (1 << COARSE_BITS),
				 "a day must fit its keys");

/* From the start of day zero to the start of a day. */
static inline int64
interval_days_key(int64 days)
{
	int64		exact = Max(-EXACT_DAYS, Min(days, EXACT_DAYS));

	return exact * USECS_PER_DAY + (days - exact) * (INT64CONST(1) << COARSE_BITS);
}

Datum
rencoder_interval_key(PG_FUNCTION_ARGS)
{
	Interval   *span = PG_GETARG_INTERVAL_P(0);
	int64		days = span->month * INT64CONST(30) + span->day + span->time / USECS_PER_DAY;
	int64		rest = span->time % USECS_PER_DAY;

	if (span->month == PG_INT32_MIN && span->day == PG_INT32_MIN && span->time == PG_INT64_MIN)
		PG_RETURN_KEY(0);
	if (span->month == PG_INT32_MAX && span->day == PG_INT32_MAX && span->time == PG_INT64_MAX)
		PG_RETURN_KEY(PG_UINT64_MAX);
	if (rest < 0)
	{
		rest += USECS_PER_DAY;
		days--;
	}
	if (days < -EXACT_DAYS || days >= EXACT_DAYS)
		rest >>= COARSE_SHIFT;
	PG_RETURN_KEY(INT64_KEY(interval_days_key(days) + rest));
}

/* Keys of exact days, and the ends of the key space, are of one span each. */
static bool
is_exact_interval_span(uint64 key)
{
	int64		span = KEY_INT64(key);

	return (span >= interval_days_key(-EXACT_DAYS) && span < interval_days_key(EXACT_DAYS)) ||
		key == 0 || key == PG_UINT64_MAX;
}

RENCODER_BOUND_FUNCTION(rencoder_interval_bound, is_exact_interval_span);

/*
 * timetz.
 *
 * SQL compares the time of UTC, then the zone, in seconds west of Greenwich; so 12:00+00 is
 * before 11:00-01, and not equal to it:
 *
 *		| time of UTC, microseconds + 2^41 (42 bits) | zone + 2^21 (22 bits) |
 *
 * Zones that can be typed are less than 16 hours, those of a session up to 168 hours.  Within
 * 582 hours keys are exact: the time of UTC, time + zone, then fits its bits.  AT TIME ZONE takes
 * any interval.  A time that does not fit has the key at that end, whatever its zone; a zone
 * that does not fit is clamped, which keeps the order of equal times.
 */
#define UTC_BITS			42
#define ZONE_BITS			22
#define UTC_LIMIT			(INT64CONST(1) << (UTC_BITS - 1))
#define ZONE_LIMIT			(1 << (ZONE_BITS - 1))

Datum
rencoder_timetz_key(PG_FUNCTION_ARGS)
{
	TimeTzADT  *t = PG_GETARG_TIMETZADT_P(0);
	int64		utc = t->time + t->zone * USECS_PER_SEC;
	int32		zone = Max(-ZONE_LIMIT, Min(t->zone, ZONE_LIMIT - 1));

	if (utc < -UTC_LIMIT)
		PG_RETURN_KEY(0);
	if (utc >= UTC_LIMIT)
		PG_RETURN_KEY(PG_UINT64_MAX);
	PG_RETURN_KEY((uint64) (utc + UTC_LIMIT) << ZONE_BITS | (uint64) (zone + ZONE_LIMIT));
}

/* A key may be of several values only if its zone is clamped. */
static bool
is_exact_timetz(uint64 key)
{
	uint64		last_zone = (UINT64CONST(1) << ZONE_BITS) - 1;
	uint64		zone = key & last_zone;

	return zone != 0 && zone != last_zone;
}

RENCODER_BOUND_FUNCTION(rencoder_timetz_bound, is_exact_timetz);
