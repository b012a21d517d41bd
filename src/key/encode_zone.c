/*
 * encode_zone.c
 *		Bounds of dates and timestamps whose column is of another type.
 *
 * A date or timestamp is compared with a timestamptz by the session's time zone.  The operators
 * convert what has no zone.  If that is the bound, it is converted here as they do, and its key
 * is exact.  If it is the column, each of its values x is converted to y = x - g(x), where g(x)
 * is an offset of the zone from UTC.  The order of x and y is not the same: behind a change to a
 * greater offset, local times that do not exist are converted to later ones than those that
 * follow.  So the bound c becomes an interval: x lies in c + (least offset .. greatest offset),
 * of the offsets that values with a y near c can have.
 *
 * Which these are.  Let d be a day.  g(x) is what DetermineTimeZoneOffset() finds: it takes the
 * first change of the zone's offset behind the moment x - d of UTC.  It chooses the offset
 * before that change, which is in force at x - d, or the one after it, the latter only if the
 * change is at y or earlier.  (For the ambiguous times of a change it chooses the later y.  Is
 * that the one before, it is in force at x - d, too.)  So g(x) is in force at a moment from
 * x - d to max(y, x - d), where x = y + g(x).
 *
 * Let M be the greatest distance from UTC that any zone can have.  G are the offsets in force
 * from c - 3M - d to c + 3M, "least" and "most" their ends, and r = most - least.
 *
 * 1. If y is in c - 2M .. c + 2M, then g(x) is in G, by the above.
 * 2. If y < c - 2M, then x <= y + M < c - M <= c + least.  If y > c + 2M, then x > c + most.
 * 3. If y is in c - r .. c + r, then g(x) is also among the offsets H that are in force from
 *	  c - r + least - d to c + r + max(0, most - d), a day and some hours.
 * 4. Else, if c - 2M <= y < c - r, then x <= y + most < c + least; likewise behind c + r.
 *
 * So, with the ends of H: y < c implies x < c + most(H), and y > c implies x > c + least(H); the
 * same holds with <= and >=.  Changes that are further away than that make no difference.  Where
 * H has one offset, the bound is exact.
 *
 * The zone is that of the moment when the scan makes its keys, as a btree's is when it compares.
 */
#include "key/encode.h"

#include "datatype/timestamp.h"
#include "pgtime.h"
#include "utils/date.h"
#include "utils/timestamp.h"

/*
 * No zone of PostgreSQL is further from UTC than this: a POSIX-style time zone
 * may say up to 167:59 hours, and daylight-saving time an hour more.
 */
#define MAX_ZONE_OFFSET		(8 * SECS_PER_DAY)

/* From 1970 to 2000, in seconds. */
#define POSTGRES_EPOCH_UNIX	((pg_time_t) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY)

PG_FUNCTION_INFO_V1(rencoder_zoned_date_bound);
PG_FUNCTION_INFO_V1(rencoder_zoned_timestamp_bound);

/*
 * The least and the greatest offset (seconds east of UTC) that the session's zone has in a time.
 * False if that cannot be told.
 */
static bool
zone_offsets(pg_time_t from, pg_time_t to, long int *least, long int *most)
{
	pg_time_t	boundary = from;
	long int	before;
	long int	after;
	int			isdst;
	int			found;

	*least = LONG_MAX;
	*most = LONG_MIN;
	do
	{
		pg_time_t	start = boundary;

		found = pg_next_dst_boundary(&start, &before, &isdst, &boundary, &after, &isdst,
									 session_timezone);
		if (found < 0)
			return false;
		*least = Min(*least, before);
		*most = Max(*most, before);
		if (found == 0 || boundary > to)
			break;
		*least = Min(*least, after);
		*most = Max(*most, after);

		/* The first change of all is found again from where it is. */
		boundary = Max(boundary, start) + 1;
	} while (boundary <= to);
	return true;
}

/* The offsets H of the file's comment, with two seconds more on both sides for the fractions. */
static void
zone_offsets_near(TimestampTz moment, long int *least, long int *most)
{
	pg_time_t	seconds = moment / USECS_PER_SEC + POSTGRES_EPOCH_UNIX;
	long int	spread;

	if (zone_offsets(seconds - 3 * MAX_ZONE_OFFSET - SECS_PER_DAY - 2,
					 seconds + 3 * MAX_ZONE_OFFSET + 2, least, most))
	{
		spread = *most - *least;
		if (spread == 0 ||
			zone_offsets(seconds - spread + *least - SECS_PER_DAY - 2,
						 seconds + spread + Max(0, *most - SECS_PER_DAY) + 2, least, most))
			return;
	}
	*least = -MAX_ZONE_OFFSET;
	*most = MAX_ZONE_OFFSET;
}

/*
 * Bounds of a column without a zone.  Dates that no timestamp can represent are greater than all
 * that is finite, so their keys, which begin at END_TIMESTAMP, must not be excluded.
 */
static void
bound_without_zone(TimestampTz moment, RencoderBound *bound)
{
	long int	least;
	long int	most;
	int64		lo;
	int64		hi;

	if (TIMESTAMP_NOT_FINITE(moment))
	{
		rencoder_bound_exclude_others(bound);
		return;
	}
	zone_offsets_near(moment, &least, &most);
	lo = moment + least * USECS_PER_SEC;
	hi = moment + most * USECS_PER_SEC;
	bound->lt = INT64_KEY(hi - 1);
	bound->le = INT64_KEY(hi);
	bound->ge = INT64_KEY(Min(lo, END_TIMESTAMP));
	bound->gt = INT64_KEY(Min(lo + 1, END_TIMESTAMP));
}

/* The bound of a column with a zone, converted; what overflows is beyond all that is finite. */
static void
zoned_bound(TimestampTz moment, int overflow, RencoderBound *bound)
{
	if (overflow != 0)
		moment = overflow > 0 ? END_TIMESTAMP : MIN_TIMESTAMP - 1;
	bound->le = bound->ge = INT64_KEY(moment);
	rencoder_bound_exclude_others(bound);
}

/* Is this the key of a moment that dates are numbered by, and not by itself? */
static inline bool
zoned_key_is_of_day(uint64 key)
{
	return key >= INT64_KEY(MIN_TIMESTAMP) && key < INT64_KEY(END_TIMESTAMP);
}

/* The key of the day that begins there or earlier, or (up) there or later. */
static uint64
round_to_day_in_zone(uint64 key, bool up)
{
	int64		rest;

	if (!zoned_key_is_of_day(key))
		return key;

	/* Days begin at multiples, also before 2000. */
	rest = KEY_INT64(key) % USECS_PER_DAY;
	if (rest < 0)
		rest += USECS_PER_DAY;
	if (rest == 0)
		return key;
	return up ? key + (USECS_PER_DAY - rest) : key - rest;
}

/* The column's values are dates, so that there are no keys between two days. */
static void
round_to_days_in_zone(RencoderBound *bound)
{
	bound->lt = round_to_day_in_zone(bound->lt, false);
	bound->le = round_to_day_in_zone(bound->le, false);
	bound->ge = round_to_day_in_zone(bound->ge, true);
	bound->gt = round_to_day_in_zone(bound->gt, true);
}

/* rencoder_date_bound("any", internal): a date is compared with a date or timestamp. */
RENCODER_VOID_FUNCTION(rencoder_date_bound,
					   (rencoder_bound_exclude_others(ARGUMENT_BOUND),
						round_to_days_in_zone(ARGUMENT_BOUND)));

/* rencoder_local_date_bound(timestamptz, internal): a date is compared with it. */
RENCODER_VOID_FUNCTION(rencoder_local_date_bound,
					   (bound_without_zone(PG_GETARG_TIMESTAMPTZ(0), ARGUMENT_BOUND),
						round_to_days_in_zone(ARGUMENT_BOUND)));

/* rencoder_local_timestamp_bound(timestamptz, internal): a timestamp is compared with it. */
RENCODER_VOID_FUNCTION(rencoder_local_timestamp_bound,
					   bound_without_zone(PG_GETARG_TIMESTAMPTZ(0), ARGUMENT_BOUND));

/* rencoder_zoned_date_bound(date, internal): a timestamptz is compared with it. */
Datum
rencoder_zoned_date_bound(PG_FUNCTION_ARGS)
{
	int			overflow = 0;
	TimestampTz moment = date2timestamptz_opt_overflow(PG_GETARG_DATEADT(0), &overflow);

	zoned_bound(moment, overflow, ARGUMENT_BOUND);
	PG_RETURN_VOID();
}

/* rencoder_zoned_timestamp_bound(timestamp, internal): a timestamptz is compared with it. */
Datum
rencoder_zoned_timestamp_bound(PG_FUNCTION_ARGS)
{
	int			overflow = 0;
	TimestampTz moment = timestamp2timestamptz_opt_overflow(PG_GETARG_TIMESTAMP(0), &overflow);

	zoned_bound(moment, overflow, ARGUMENT_BOUND);
	PG_RETURN_VOID();
}
