/* Install script of rencoder 0.1.0 */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION rencoder" to load this file. \quit

-- Access method

CREATE FUNCTION rencoder_handler(internal)
RETURNS index_am_handler
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;
COMMENT ON FUNCTION rencoder_handler(internal) IS
	'rencoder index access method handler';

CREATE ACCESS METHOD rencoder TYPE INDEX HANDLER rencoder_handler;
COMMENT ON ACCESS METHOD rencoder IS
	'sorted runs and range filters, for columns not correlated with the order of the table';

-- Support functions of operator classes
--
-- 1: value -> key, an int8 that holds the bits of an order-preserving uint64
-- 2: which keys the values on either side of a bound may have
-- 3: for operators beyond btree's, the keys that may satisfy them
-- 6: the same for btree's operators, where keys are not in the order of the values

CREATE FUNCTION rencoder_int2_key(int2)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_int2_key(int2) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_int4_key(int4)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_int4_key(int4) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_int8_key(int8)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_int8_key(int8) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_oid_key(oid)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_oid_key(oid) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_date_key(date)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_date_key(date) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_timestamp_key(timestamp)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_timestamp_key(timestamp) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_timestamptz_key(timestamptz)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_timestamptz_key(timestamptz) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_time_key(time)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_time_key(time) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_money_key(money)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_money_key(money) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_pg_lsn_key(pg_lsn)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_pg_lsn_key(pg_lsn) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_xid8_key(xid8)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_xid8_key(xid8) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_interval_key(interval)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_interval_key(interval) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_timetz_key(timetz)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_timetz_key(timetz) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_char_key("char")
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_char_key("char") IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_tid_key(tid)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_tid_key(tid) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_bit_key(bit)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_bit_key(bit) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_varbit_key(varbit)
RETURNS int8
AS 'MODULE_PATHNAME', 'rencoder_bit_key'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_varbit_key(varbit) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_enum_key(anyenum)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_enum_key(anyenum) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_enum_intervals(anyenum, int2, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_enum_intervals(anyenum, int2, internal) IS
	'rencoder support: keys that an operator of order asks for';

CREATE FUNCTION rencoder_float4_key(float4)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_float4_key(float4) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_float8_key(float8)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_float8_key(float8) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_numeric_key(numeric)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_numeric_key(numeric) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_uuid_key(uuid)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_uuid_key(uuid) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_macaddr_key(macaddr)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_macaddr_key(macaddr) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_macaddr8_key(macaddr8)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_macaddr8_key(macaddr8) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_inet_key(inet)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_inet_key(inet) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_inet_intervals(inet, int2, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_inet_intervals(inet, int2, internal) IS
	'rencoder support: keys that a subnet operator asks for';

CREATE FUNCTION rencoder_exact_bound("any", internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_exact_bound("any", internal) IS
	'rencoder support: bounds of a type whose keys are exact';

CREATE FUNCTION rencoder_date_bound("any", internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_date_bound("any", internal) IS
	'rencoder support: bounds of dates';

CREATE FUNCTION rencoder_interval_bound("any", internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_interval_bound("any", internal) IS
	'rencoder support: bounds of spans of time';

CREATE FUNCTION rencoder_timetz_bound("any", internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_timetz_bound("any", internal) IS
	'rencoder support: bounds of times of day with a zone';

CREATE FUNCTION rencoder_numeric_bound("any", internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_numeric_bound("any", internal) IS
	'rencoder support: bounds of numbers';

CREATE FUNCTION rencoder_uuid_bound(uuid, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_uuid_bound(uuid, internal) IS
	'rencoder support: bounds of uuid';

CREATE FUNCTION rencoder_inet_bound(inet, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_inet_bound(inet, internal) IS
	'rencoder support: bounds of hosts and networks';

CREATE FUNCTION rencoder_bit_bound("any", internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_bit_bound("any", internal) IS
	'rencoder support: bounds of bit strings';

CREATE FUNCTION rencoder_local_date_bound(timestamptz, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_local_date_bound(timestamptz, internal) IS
	'rencoder support: bounds by the time zone';

CREATE FUNCTION rencoder_local_timestamp_bound(timestamptz, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_local_timestamp_bound(timestamptz, internal) IS
	'rencoder support: bounds by the time zone';

CREATE FUNCTION rencoder_zoned_date_bound(date, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_zoned_date_bound(date, internal) IS
	'rencoder support: bounds by the time zone';

CREATE FUNCTION rencoder_zoned_timestamp_bound(timestamp, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_zoned_timestamp_bound(timestamp, internal) IS
	'rencoder support: bounds by the time zone';

-- Integers

CREATE OPERATOR FAMILY integer_ops USING rencoder;
COMMENT ON OPERATOR FAMILY integer_ops USING rencoder IS
	'integers of all widths';

CREATE OPERATOR CLASS int2_ops
DEFAULT FOR TYPE int2 USING rencoder FAMILY integer_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_int2_key(int2),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS int2_ops USING rencoder IS
	'rencoder index operators of int2';

CREATE OPERATOR CLASS int4_ops
DEFAULT FOR TYPE int4 USING rencoder FAMILY integer_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_int4_key(int4),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS int4_ops USING rencoder IS
	'rencoder index operators of int4';

CREATE OPERATOR CLASS int8_ops
DEFAULT FOR TYPE int8 USING rencoder FAMILY integer_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_int8_key(int8),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS int8_ops USING rencoder IS
	'rencoder index operators of int8';

ALTER OPERATOR FAMILY integer_ops USING rencoder ADD
	OPERATOR	1	< (int2, int4),
	OPERATOR	2	<= (int2, int4),
	OPERATOR	3	= (int2, int4),
	OPERATOR	4	>= (int2, int4),
	OPERATOR	5	> (int2, int4),
	OPERATOR	1	< (int2, int8),
	OPERATOR	2	<= (int2, int8),
	OPERATOR	3	= (int2, int8),
	OPERATOR	4	>= (int2, int8),
	OPERATOR	5	> (int2, int8),
	OPERATOR	1	< (int4, int2),
	OPERATOR	2	<= (int4, int2),
	OPERATOR	3	= (int4, int2),
	OPERATOR	4	>= (int4, int2),
	OPERATOR	5	> (int4, int2),
	OPERATOR	1	< (int4, int8),
	OPERATOR	2	<= (int4, int8),
	OPERATOR	3	= (int4, int8),
	OPERATOR	4	>= (int4, int8),
	OPERATOR	5	> (int4, int8),
	OPERATOR	1	< (int8, int2),
	OPERATOR	2	<= (int8, int2),
	OPERATOR	3	= (int8, int2),
	OPERATOR	4	>= (int8, int2),
	OPERATOR	5	> (int8, int2),
	OPERATOR	1	< (int8, int4),
	OPERATOR	2	<= (int8, int4),
	OPERATOR	3	= (int8, int4),
	OPERATOR	4	>= (int8, int4),
	OPERATOR	5	> (int8, int4);

-- Object identifiers

CREATE OPERATOR FAMILY oid_ops USING rencoder;
COMMENT ON OPERATOR FAMILY oid_ops USING rencoder IS
	'object identifiers';

CREATE OPERATOR CLASS oid_ops
DEFAULT FOR TYPE oid USING rencoder FAMILY oid_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_oid_key(oid),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS oid_ops USING rencoder IS
	'rencoder index operators of oid';

-- Dates and timestamps

CREATE OPERATOR FAMILY datetime_ops USING rencoder;
COMMENT ON OPERATOR FAMILY datetime_ops USING rencoder IS
	'dates and timestamps';

CREATE OPERATOR CLASS date_ops
DEFAULT FOR TYPE date USING rencoder FAMILY datetime_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_date_key(date),
	FUNCTION	2	rencoder_date_bound("any", internal);
COMMENT ON OPERATOR CLASS date_ops USING rencoder IS
	'rencoder index operators of date';

CREATE OPERATOR CLASS timestamp_ops
DEFAULT FOR TYPE timestamp USING rencoder FAMILY datetime_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_timestamp_key(timestamp),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS timestamp_ops USING rencoder IS
	'rencoder index operators of timestamp';

CREATE OPERATOR CLASS timestamptz_ops
DEFAULT FOR TYPE timestamptz USING rencoder FAMILY datetime_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_timestamptz_key(timestamptz),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS timestamptz_ops USING rencoder IS
	'rencoder index operators of timestamptz';

ALTER OPERATOR FAMILY datetime_ops USING rencoder ADD
	OPERATOR	1	< (date, timestamp),
	OPERATOR	2	<= (date, timestamp),
	OPERATOR	3	= (date, timestamp),
	OPERATOR	4	>= (date, timestamp),
	OPERATOR	5	> (date, timestamp),
	FUNCTION	2	(date, timestamp) rencoder_date_bound("any", internal),
	OPERATOR	1	< (date, timestamptz),
	OPERATOR	2	<= (date, timestamptz),
	OPERATOR	3	= (date, timestamptz),
	OPERATOR	4	>= (date, timestamptz),
	OPERATOR	5	> (date, timestamptz),
	FUNCTION	2	(date, timestamptz) rencoder_local_date_bound(timestamptz, internal),
	OPERATOR	1	< (timestamp, date),
	OPERATOR	2	<= (timestamp, date),
	OPERATOR	3	= (timestamp, date),
	OPERATOR	4	>= (timestamp, date),
	OPERATOR	5	> (timestamp, date),
	FUNCTION	2	(timestamp, date) rencoder_exact_bound("any", internal),
	OPERATOR	1	< (timestamp, timestamptz),
	OPERATOR	2	<= (timestamp, timestamptz),
	OPERATOR	3	= (timestamp, timestamptz),
	OPERATOR	4	>= (timestamp, timestamptz),
	OPERATOR	5	> (timestamp, timestamptz),
	FUNCTION	2	(timestamp, timestamptz)
		rencoder_local_timestamp_bound(timestamptz, internal),
	OPERATOR	1	< (timestamptz, date),
	OPERATOR	2	<= (timestamptz, date),
	OPERATOR	3	= (timestamptz, date),
	OPERATOR	4	>= (timestamptz, date),
	OPERATOR	5	> (timestamptz, date),
	FUNCTION	2	(timestamptz, date) rencoder_zoned_date_bound(date, internal),
	OPERATOR	1	< (timestamptz, timestamp),
	OPERATOR	2	<= (timestamptz, timestamp),
	OPERATOR	3	= (timestamptz, timestamp),
	OPERATOR	4	>= (timestamptz, timestamp),
	OPERATOR	5	> (timestamptz, timestamp),
	FUNCTION	2	(timestamptz, timestamp)
		rencoder_zoned_timestamp_bound(timestamp, internal);

-- Floating point and numeric

CREATE OPERATOR FAMILY float_ops USING rencoder;
COMMENT ON OPERATOR FAMILY float_ops USING rencoder IS
	'floating point numbers';

CREATE OPERATOR CLASS float4_ops
DEFAULT FOR TYPE float4 USING rencoder FAMILY float_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_float4_key(float4),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS float4_ops USING rencoder IS
	'rencoder index operators of float4';

CREATE OPERATOR CLASS float8_ops
DEFAULT FOR TYPE float8 USING rencoder FAMILY float_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_float8_key(float8),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS float8_ops USING rencoder IS
	'rencoder index operators of float8';

ALTER OPERATOR FAMILY float_ops USING rencoder ADD
	OPERATOR	1	< (float4, float8),
	OPERATOR	2	<= (float4, float8),
	OPERATOR	3	= (float4, float8),
	OPERATOR	4	>= (float4, float8),
	OPERATOR	5	> (float4, float8),
	OPERATOR	1	< (float8, float4),
	OPERATOR	2	<= (float8, float4),
	OPERATOR	3	= (float8, float4),
	OPERATOR	4	>= (float8, float4),
	OPERATOR	5	> (float8, float4);

CREATE OPERATOR FAMILY numeric_ops USING rencoder;
COMMENT ON OPERATOR FAMILY numeric_ops USING rencoder IS
	'numeric';

CREATE OPERATOR CLASS numeric_ops
DEFAULT FOR TYPE numeric USING rencoder FAMILY numeric_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_numeric_key(numeric),
	FUNCTION	2	rencoder_numeric_bound("any", internal);
COMMENT ON OPERATOR CLASS numeric_ops USING rencoder IS
	'rencoder index operators of numeric';

-- Other types that are numbers inside

CREATE OPERATOR FAMILY time_ops USING rencoder;
COMMENT ON OPERATOR FAMILY time_ops USING rencoder IS
	'times of day';

CREATE OPERATOR CLASS time_ops
DEFAULT FOR TYPE time USING rencoder FAMILY time_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_time_key(time),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS time_ops USING rencoder IS
	'rencoder index operators of time';

CREATE OPERATOR FAMILY money_ops USING rencoder;
COMMENT ON OPERATOR FAMILY money_ops USING rencoder IS
	'amounts of money';

CREATE OPERATOR CLASS money_ops
DEFAULT FOR TYPE money USING rencoder FAMILY money_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_money_key(money),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS money_ops USING rencoder IS
	'rencoder index operators of money';

CREATE OPERATOR FAMILY pg_lsn_ops USING rencoder;
COMMENT ON OPERATOR FAMILY pg_lsn_ops USING rencoder IS
	'log positions';

CREATE OPERATOR CLASS pg_lsn_ops
DEFAULT FOR TYPE pg_lsn USING rencoder FAMILY pg_lsn_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_pg_lsn_key(pg_lsn),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS pg_lsn_ops USING rencoder IS
	'rencoder index operators of pg_lsn';

CREATE OPERATOR FAMILY xid8_ops USING rencoder;
COMMENT ON OPERATOR FAMILY xid8_ops USING rencoder IS
	'64-bit transaction ids';

CREATE OPERATOR CLASS xid8_ops
DEFAULT FOR TYPE xid8 USING rencoder FAMILY xid8_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_xid8_key(xid8),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS xid8_ops USING rencoder IS
	'rencoder index operators of xid8';

CREATE OPERATOR FAMILY timetz_ops USING rencoder;
COMMENT ON OPERATOR FAMILY timetz_ops USING rencoder IS
	'times of day with a zone';

CREATE OPERATOR CLASS timetz_ops
DEFAULT FOR TYPE timetz USING rencoder FAMILY timetz_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_timetz_key(timetz),
	FUNCTION	2	rencoder_timetz_bound("any", internal);
COMMENT ON OPERATOR CLASS timetz_ops USING rencoder IS
	'rencoder index operators of timetz';

CREATE OPERATOR FAMILY interval_ops USING rencoder;
COMMENT ON OPERATOR FAMILY interval_ops USING rencoder IS
	'spans of time';

CREATE OPERATOR CLASS interval_ops
DEFAULT FOR TYPE interval USING rencoder FAMILY interval_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_interval_key(interval),
	FUNCTION	2	rencoder_interval_bound("any", internal);
COMMENT ON OPERATOR CLASS interval_ops USING rencoder IS
	'rencoder index operators of interval';

CREATE OPERATOR FAMILY char_ops USING rencoder;
COMMENT ON OPERATOR FAMILY char_ops USING rencoder IS
	'single bytes';

CREATE OPERATOR CLASS char_ops
DEFAULT FOR TYPE "char" USING rencoder FAMILY char_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_char_key("char"),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS char_ops USING rencoder IS
	'rencoder index operators of "char"';

CREATE OPERATOR FAMILY tid_ops USING rencoder;
COMMENT ON OPERATOR FAMILY tid_ops USING rencoder IS
	'places of rows';

CREATE OPERATOR CLASS tid_ops
DEFAULT FOR TYPE tid USING rencoder FAMILY tid_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_tid_key(tid),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS tid_ops USING rencoder IS
	'rencoder index operators of tid';

CREATE OPERATOR FAMILY bit_ops USING rencoder;
COMMENT ON OPERATOR FAMILY bit_ops USING rencoder IS
	'bit strings of fixed length';

CREATE OPERATOR CLASS bit_ops
DEFAULT FOR TYPE bit USING rencoder FAMILY bit_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_bit_key(bit),
	FUNCTION	2	rencoder_bit_bound("any", internal);
COMMENT ON OPERATOR CLASS bit_ops USING rencoder IS
	'rencoder index operators of bit(n)';

CREATE OPERATOR FAMILY varbit_ops USING rencoder;
COMMENT ON OPERATOR FAMILY varbit_ops USING rencoder IS
	'bit strings';

CREATE OPERATOR CLASS varbit_ops
DEFAULT FOR TYPE varbit USING rencoder FAMILY varbit_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_varbit_key(varbit),
	FUNCTION	2	rencoder_bit_bound("any", internal);
COMMENT ON OPERATOR CLASS varbit_ops USING rencoder IS
	'rencoder index operators of bit varying';

CREATE OPERATOR FAMILY enum_ops USING rencoder;
COMMENT ON OPERATOR FAMILY enum_ops USING rencoder IS
	'enums';

CREATE OPERATOR CLASS enum_ops
DEFAULT FOR TYPE anyenum USING rencoder FAMILY enum_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_enum_key(anyenum),
	FUNCTION	6	rencoder_enum_intervals(anyenum, int2, internal);
COMMENT ON OPERATOR CLASS enum_ops USING rencoder IS
	'rencoder index operators of enums';

-- Identifiers and network addresses

CREATE OPERATOR FAMILY uuid_ops USING rencoder;
COMMENT ON OPERATOR FAMILY uuid_ops USING rencoder IS
	'universally unique identifiers';

CREATE OPERATOR CLASS uuid_ops
DEFAULT FOR TYPE uuid USING rencoder FAMILY uuid_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_uuid_key(uuid),
	FUNCTION	2	rencoder_uuid_bound(uuid, internal);
COMMENT ON OPERATOR CLASS uuid_ops USING rencoder IS
	'rencoder index operators of uuid';

CREATE OPERATOR FAMILY macaddr_ops USING rencoder;
COMMENT ON OPERATOR FAMILY macaddr_ops USING rencoder IS
	'MAC addresses';

CREATE OPERATOR CLASS macaddr_ops
DEFAULT FOR TYPE macaddr USING rencoder FAMILY macaddr_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_macaddr_key(macaddr),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS macaddr_ops USING rencoder IS
	'rencoder index operators of macaddr';

CREATE OPERATOR FAMILY macaddr8_ops USING rencoder;
COMMENT ON OPERATOR FAMILY macaddr8_ops USING rencoder IS
	'MAC addresses of eight bytes';

CREATE OPERATOR CLASS macaddr8_ops
DEFAULT FOR TYPE macaddr8 USING rencoder FAMILY macaddr8_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	FUNCTION	1	rencoder_macaddr8_key(macaddr8),
	FUNCTION	2	rencoder_exact_bound("any", internal);
COMMENT ON OPERATOR CLASS macaddr8_ops USING rencoder IS
	'rencoder index operators of macaddr8';

CREATE OPERATOR FAMILY inet_ops USING rencoder;
COMMENT ON OPERATOR FAMILY inet_ops USING rencoder IS
	'hosts and networks';

CREATE OPERATOR CLASS inet_ops
DEFAULT FOR TYPE inet USING rencoder FAMILY inet_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	OPERATOR	6	<<,
	OPERATOR	7	<<=,
	OPERATOR	8	>>,
	OPERATOR	9	>>=,
	OPERATOR	10	&&,
	FUNCTION	1	rencoder_inet_key(inet),
	FUNCTION	2	rencoder_inet_bound(inet, internal),
	FUNCTION	3	rencoder_inet_intervals(inet, int2, internal);
COMMENT ON OPERATOR CLASS inet_ops USING rencoder IS
	'rencoder index operators of inet and cidr';

-- Strings

CREATE FUNCTION rencoder_text_key(text, internal)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_text_key(text, internal) IS
	'rencoder support: key of a value by a coder';

CREATE FUNCTION rencoder_bpchar_key(bpchar, internal)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_bpchar_key(bpchar, internal) IS
	'rencoder support: key of a value by a coder';

CREATE FUNCTION rencoder_name_key(name, internal)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_name_key(name, internal) IS
	'rencoder support: key of a value by a coder';

CREATE FUNCTION rencoder_bytea_key(bytea, internal)
RETURNS int8
AS 'MODULE_PATHNAME', 'rencoder_text_key'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_bytea_key(bytea, internal) IS
	'rencoder support: key of a value by a coder';

CREATE FUNCTION rencoder_text_sample(text, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_text_sample(text, internal) IS
	'rencoder support: adds a value to a sample';

CREATE FUNCTION rencoder_bpchar_sample(bpchar, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_bpchar_sample(bpchar, internal) IS
	'rencoder support: adds a value to a sample';

CREATE FUNCTION rencoder_name_sample(name, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_name_sample(name, internal) IS
	'rencoder support: adds a value to a sample';

CREATE FUNCTION rencoder_bytea_sample(bytea, internal)
RETURNS void
AS 'MODULE_PATHNAME', 'rencoder_text_sample'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_bytea_sample(bytea, internal) IS
	'rencoder support: adds a value to a sample';

CREATE FUNCTION rencoder_text_bound(text, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_text_bound(text, internal) IS
	'rencoder support: bounds of text and varchar';

CREATE FUNCTION rencoder_bpchar_bound(bpchar, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_bpchar_bound(bpchar, internal) IS
	'rencoder support: bounds of char(n)';

CREATE FUNCTION rencoder_bytea_bound(bytea, internal)
RETURNS void
AS 'MODULE_PATHNAME', 'rencoder_text_bound'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_bytea_bound(bytea, internal) IS
	'rencoder support: bounds of bytea';

CREATE FUNCTION rencoder_text_intervals(text, int2, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_text_intervals(text, int2, internal) IS
	'rencoder support: keys that a pattern operator asks for';

CREATE FUNCTION rencoder_bpchar_intervals(bpchar, int2, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_bpchar_intervals(bpchar, int2, internal) IS
	'rencoder support: keys that a pattern operator asks for';

CREATE FUNCTION rencoder_bpchar_pattern_intervals(text, int2, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_bpchar_pattern_intervals(text, int2, internal) IS
	'rencoder support: keys that LIKE asks for in char(n)';

CREATE FUNCTION rencoder_bytea_intervals(bytea, int2, internal)
RETURNS void
AS 'MODULE_PATHNAME', 'rencoder_text_intervals'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_bytea_intervals(bytea, int2, internal) IS
	'rencoder support: keys that LIKE asks for in bytea';

CREATE OPERATOR FAMILY text_ops USING rencoder;
COMMENT ON OPERATOR FAMILY text_ops USING rencoder IS
	'text, varchar and name';

CREATE OPERATOR CLASS text_ops
DEFAULT FOR TYPE text USING rencoder FAMILY text_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	OPERATOR	11	~~,
	OPERATOR	12	^@,
	OPERATOR	13	~<~,
	OPERATOR	14	~<=~,
	OPERATOR	15	~>=~,
	OPERATOR	16	~>~,
	OPERATOR	19	~,
	FUNCTION	2	rencoder_text_bound(text, internal),
	FUNCTION	3	rencoder_text_intervals(text, int2, internal),
	FUNCTION	4	rencoder_text_key(text, internal),
	FUNCTION	5	rencoder_text_sample(text, internal);
COMMENT ON OPERATOR CLASS text_ops USING rencoder IS
	'rencoder index operators of text and varchar';

CREATE OPERATOR CLASS name_ops
DEFAULT FOR TYPE name USING rencoder FAMILY text_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	OPERATOR	11	~~ (name, text),
	FUNCTION	3	(name, text) rencoder_text_intervals(text, int2, internal),
	FUNCTION	4	rencoder_name_key(name, internal),
	FUNCTION	5	rencoder_name_sample(name, internal);
COMMENT ON OPERATOR CLASS name_ops USING rencoder IS
	'rencoder index operators of name';

ALTER OPERATOR FAMILY text_ops USING rencoder ADD
	OPERATOR	1	< (text, name),
	OPERATOR	2	<= (text, name),
	OPERATOR	3	= (text, name),
	OPERATOR	4	>= (text, name),
	OPERATOR	5	> (text, name),
	OPERATOR	1	< (name, text),
	OPERATOR	2	<= (name, text),
	OPERATOR	3	= (name, text),
	OPERATOR	4	>= (name, text),
	OPERATOR	5	> (name, text);

CREATE OPERATOR FAMILY bpchar_ops USING rencoder;
COMMENT ON OPERATOR FAMILY bpchar_ops USING rencoder IS
	'char(n): blanks at the end do not count';

CREATE OPERATOR CLASS bpchar_ops
DEFAULT FOR TYPE bpchar USING rencoder FAMILY bpchar_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	OPERATOR	11	~~ (bpchar, text),
	OPERATOR	13	~<~,
	OPERATOR	14	~<=~,
	OPERATOR	15	~>=~,
	OPERATOR	16	~>~,
	FUNCTION	2	rencoder_bpchar_bound(bpchar, internal),
	FUNCTION	3	rencoder_bpchar_intervals(bpchar, int2, internal),
	FUNCTION	3	(bpchar, text) rencoder_bpchar_pattern_intervals(text, int2, internal),
	FUNCTION	4	rencoder_bpchar_key(bpchar, internal),
	FUNCTION	5	rencoder_bpchar_sample(bpchar, internal);
COMMENT ON OPERATOR CLASS bpchar_ops USING rencoder IS
	'rencoder index operators of char(n)';

CREATE OPERATOR FAMILY bytea_ops USING rencoder;
COMMENT ON OPERATOR FAMILY bytea_ops USING rencoder IS
	'byte strings';

CREATE OPERATOR CLASS bytea_ops
DEFAULT FOR TYPE bytea USING rencoder FAMILY bytea_ops AS
	OPERATOR	1	<,
	OPERATOR	2	<=,
	OPERATOR	3	=,
	OPERATOR	4	>=,
	OPERATOR	5	>,
	OPERATOR	11	~~,
	FUNCTION	2	rencoder_bytea_bound(bytea, internal),
	FUNCTION	3	rencoder_bytea_intervals(bytea, int2, internal),
	FUNCTION	4	rencoder_bytea_key(bytea, internal),
	FUNCTION	5	rencoder_bytea_sample(bytea, internal);
COMMENT ON OPERATOR CLASS bytea_ops USING rencoder IS
	'rencoder index operators of bytea';

-- Points: keys in Z-order, queries as boxes over them

CREATE FUNCTION rencoder_point_key(point, internal)
RETURNS int8
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_point_key(point, internal) IS
	'rencoder support: key of a value';

CREATE FUNCTION rencoder_point_sample(point, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_point_sample(point, internal) IS
	'rencoder support: adds a value to a sample';

CREATE FUNCTION rencoder_point_intervals(point, int2, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_point_intervals(point, int2, internal) IS
	'rencoder support: keys that ~= asks for';

CREATE FUNCTION rencoder_point_box_intervals(box, int2, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_point_box_intervals(box, int2, internal) IS
	'rencoder support: keys of the points in a box';

CREATE FUNCTION rencoder_point_polygon_intervals(polygon, int2, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_point_polygon_intervals(polygon, int2, internal) IS
	'rencoder support: keys of the points in a polygon';

CREATE FUNCTION rencoder_point_circle_intervals(circle, int2, internal)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rencoder_point_circle_intervals(circle, int2, internal) IS
	'rencoder support: keys of the points in a circle';

CREATE OPERATOR FAMILY point_ops USING rencoder;
COMMENT ON OPERATOR FAMILY point_ops USING rencoder IS
	'points in the plane';

CREATE OPERATOR CLASS point_ops
DEFAULT FOR TYPE point USING rencoder FAMILY point_ops AS
	OPERATOR	17	<@ (point, box),
	OPERATOR	17	<@ (point, polygon),
	OPERATOR	17	<@ (point, circle),
	OPERATOR	18	~= (point, point),
	FUNCTION	3	rencoder_point_intervals(point, int2, internal),
	FUNCTION	3	(point, box) rencoder_point_box_intervals(box, int2, internal),
	FUNCTION	3	(point, polygon) rencoder_point_polygon_intervals(polygon, int2, internal),
	FUNCTION	3	(point, circle) rencoder_point_circle_intervals(circle, int2, internal),
	FUNCTION	4	rencoder_point_key(point, internal),
	FUNCTION	5	rencoder_point_sample(point, internal);
COMMENT ON OPERATOR CLASS point_ops USING rencoder IS
	'rencoder index operators of points';

-- Maintenance and inspection
--
-- Each function checks the caller's privileges itself: see the comments.

CREATE FUNCTION rencoder_maintain_index(index regclass)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION rencoder_maintain_index(regclass) IS
	'does what VACUUM does for an index; returns how many pages of the table were not indexed (owner)';

CREATE FUNCTION rencoder_compact(
	index regclass,
	from_page bigint DEFAULT 0,
	to_page bigint DEFAULT 4294967295)
RETURNS bigint
AS 'MODULE_PATHNAME', 'rencoder_sql_compact'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION rencoder_compact(regclass, bigint, bigint) IS
	'makes one sorted run of all rows, or of those on some pages of the table; returns the number of table pages read (owner)';

CREATE FUNCTION rencoder_add_query_sample(
	index regclass,
	lo anycompatible,
	hi anycompatible,
	attnum integer DEFAULT 1)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION rencoder_add_query_sample(regclass, anycompatible, anycompatible, integer) IS
	'adds the interval from lo to hi to the query samples of a column (owner)';

CREATE FUNCTION rencoder_query_samples(
	index regclass,
	OUT attnum smallint,
	OUT lo_key text,
	OUT hi_key text,
	OUT source text,
	OUT coder bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION rencoder_query_samples(regclass) IS
	'the query samples of an index (owner, readers of the table; pg_stat_scan_tables without keys; keys of scans: owner, pg_read_all_stats)';

CREATE FUNCTION rencoder_index_check(index regclass, heapallindexed boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION rencoder_index_check(regclass, boolean) IS
	'raises an error on the first fault of the index; with heapallindexed also if it does not cover a row of the table (owner)';

CREATE FUNCTION rencoder_metapage(
	index regclass,
	OUT magic text,
	OUT version integer,
	OUT hash_id integer,
	OUT natts integer,
	OUT pages_per_range integer,
	OUT bits_per_key integer,
	OUT catalog_version bigint,
	OUT frontier bigint,
	OUT entries_to bigint,
	OUT runs integer,
	OUT pending_pages bigint,
	OUT spare_pages bigint,
	OUT free_extents bigint,
	OUT free_pages bigint,
	OUT reindex_pages_per_range integer)
RETURNS record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION rencoder_metapage(regclass) IS
	'format, options and extent of an index (owner, readers of the table, pg_stat_scan_tables)';

CREATE FUNCTION rencoder_runs(
	index regclass,
	OUT run bigint,
	OUT attnum smallint,
	OUT kind text,
	OUT state text,
	OUT rank bigint,
	OUT from_page bigint,
	OUT to_page bigint,
	OUT cut bigint,
	OUT horizon xid8,
	OUT entries bigint,
	OUT rows bigint,
	OUT pages bigint,
	OUT bits_per_entry double precision,
	OUT false_pages double precision,
	OUT parts int,
	OUT min_key text,
	OUT max_key text,
	OUT nulls bigint,
	OUT null_pages bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION rencoder_runs(regclass) IS
	'the sorted runs of an index, a row for each column (owner, readers of the table; pg_stat_scan_tables without keys)';

CREATE FUNCTION rencoder_candidates(
	index regclass,
	lo anycompatible,
	hi anycompatible,
	OUT table_pages bigint,
	OUT pages bigint,
	OUT unindexed bigint,
	OUT index_pages bigint)
RETURNS record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION rencoder_candidates(regclass, anycompatible, anycompatible) IS
	'what a scan for "first column BETWEEN lo AND hi" would visit, of points for "<@ box(lo, hi)" (owner, readers of the table)';

CREATE FUNCTION rencoder_estimate_count(
	index regclass,
	lo anycompatible,
	hi anycompatible)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION rencoder_estimate_count(regclass, anycompatible, anycompatible) IS
	'about how many rows "first column BETWEEN lo AND hi" has, of points "<@ box(lo, hi)" (owner, readers of the table)';

CREATE FUNCTION rencoder_index_stats(
	index regclass,
	wait boolean DEFAULT true,
	OUT scans bigint,
	OUT table_pages bigint,
	OUT pages bigint,
	OUT index_pages bigint,
	OUT whole_pages bigint,
	OUT predicted_false_pages double precision,
	OUT since timestamptz,
	OUT size bigint,
	OUT runs integer,
	OUT pending_pages bigint,
	OUT maintenance_wal bigint,
	OUT needs_reindex boolean)
RETURNS record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION rencoder_index_stats(regclass, boolean) IS
	'what scans of an index have read and skipped, and bytes of WAL of its maintenance (owner, readers of the table, pg_stat_scan_tables)';

CREATE FUNCTION rencoder_index_stats_reset(index regclass)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION rencoder_index_stats_reset(regclass) IS
	'begins to count the scans of an index and the WAL of its maintenance, or begins anew (owner)';

-- A whole database

-- Bits of a run of "n" keys: those of "common" come so often, the others of "keys" alike.  The rows
-- of a key stand anywhere, but for two things: "correlation" (of ANALYZE) says how far keys are from
-- the order of the table, and "repeats" which share of rows has the value of the row before.  An entry
-- stands for the rows of a key in a place, or on a page if these are most of its rows.  An entry takes
-- the logarithm of the places for each entry, and some bits more.  Where keys are in the table's order,
-- but for some pages, each place takes so many bits, fewer if it shares a key with others.  The constants
-- were fitted to indexes that were built.
CREATE FUNCTION rencoder_run_bits(
	n double precision,
	keys double precision,
	common double precision[],
	correlation double precision,
	repeats double precision,
	pages double precision,
	page_rows double precision)
RETURNS double precision
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	WITH groups AS MATERIALIZED (
		SELECT 1::double precision AS members, c AS rows FROM unnest(common) AS c
		UNION ALL
		SELECT r.members, r.rows / r.members
		FROM (SELECT greatest(keys - cardinality(common), 1) AS members,
				n - coalesce((SELECT sum(c) FROM unnest(common) AS c), 0) AS rows) AS r
		WHERE r.rows >= 1
	), run AS MATERIALIZED (
		-- A place is a row; where keys lie together, four of them.
		SELECT pages * ceil(page_rows / 4) AS places, pages * page_rows AS row_places,
			-- Rows between where a key is and where it would be in order.
			n * sqrt(2 * (1 - least(abs(coalesce(correlation, 0)), 1))) AS spread,
			-- What rencoder_options_false_pages() wants of a query.
			ln(1 / greatest(0.2, least(1, pg_size_bytes(current_setting('effective_cache_size'))
				/ current_setting('block_size')::double precision / pages))) / ln(2) AS finer,
			-- Rows of a key that stand together, but for those that chance puts there.
			(SELECT 1 / (1 - least(greatest(repeats - c.chance, 0) / greatest(1 - c.chance, 0.001), 0.999))
			 FROM (SELECT sum(g.members * (g.rows / n) ^ 2) AS chance FROM groups AS g) AS c) AS together
	), entries AS MATERIALIZED (
		SELECT r.*, g.members, g.rows, e.in_places, e.in_pages, page_rows * e.in_pages <= 6 * e.in_places AS by_page,
			1.5 * e.in_places <= g.rows AS in_parts
		FROM run AS r, groups AS g,
			LATERAL (SELECT
				r.places * (1 - exp(-least(g.rows / r.together * ((r.together - 1) / 4 + 1) / r.places, 99)))
					AS in_places,
				pages * (1 - exp(-least(g.rows / r.together * ((r.together - 1) / page_rows + 1) / pages, 99)))
					AS in_pages) AS e
	), gaps AS MATERIALIZED (
		SELECT e.*, f.n_entries,
			greatest(1, f.places_named * least(1, (e.spread + 256) / n)) / greatest(f.n_entries, 1e-9) AS gap
		FROM entries AS e,
			LATERAL (SELECT CASE WHEN e.by_page THEN e.in_pages WHEN e.in_parts THEN e.in_places ELSE e.rows END
					AS n_entries,
				CASE WHEN e.by_page THEN pages WHEN e.in_parts THEN e.places ELSE e.row_places END
					AS places_named) AS f
	)
	SELECT CASE WHEN min(g.spread) < 500 AND n >= min(g.places)
		THEN min(g.places) * (greatest(0.8, 15.4 + 2.2 * ln(least(keys / min(g.places), 1)) / ln(2))
			+ least(0.65 * min(g.spread) / page_rows, 8))
		ELSE sum(g.members * g.n_entries * (ln(1 + g.gap) / ln(2) +
			(CASE WHEN g.rows < 2 THEN 3.4 ELSE 2.7 END + g.finer) * g.gap / (g.gap + 2))) END
	FROM gaps AS g
	WHERE n >= 1;
END;
COMMENT ON FUNCTION rencoder_run_bits(double precision, double precision, double precision[],
	double precision, double precision, double precision, double precision) IS
	'bits of a sorted run of so many keys, from what ANALYZE says of a column';

CREATE FUNCTION rencoder_look_at(
	"table" regclass,
	index regclass,
	columns int2[],
	OUT size bigint,
	OUT repeats double precision[],
	OUT falls double precision[],
	OUT problem text)
RETURNS record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION rencoder_look_at(regclass, regclass, int2[]) IS
	'size of an index, or of a table, and the shares of rows that repeat the row before, and that are out of order, of columns (readers of the columns)';

-- Pages of an index that a column takes, from what ANALYZE says of it, "rows" being those of the table
-- or, of an expression, of the index.  "index_rows": of a partial index, else null.  "share" of the
-- table's pages that a typical value is on.  "coder": its pages, at most.  No row without statistics.
CREATE FUNCTION rencoder_column_size(
	table_pages double precision,
	table_rows double precision,
	rows double precision,
	null_frac double precision,
	n_distinct double precision,
	correlation double precision,
	freqs real[],
	index_rows double precision,
	repeats double precision,
	coder double precision,
	OUT pages double precision,
	OUT share double precision)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
	WITH statistics AS (
		SELECT table_pages AS pages, table_rows / table_pages AS page_rows, rows, n_distinct, correlation,
			freqs, rows * (1 - null_frac) AS valued
		WHERE table_pages > 0 AND table_rows > 0 AND rows > 0 AND n_distinct IS NOT NULL
	), counts AS (
		SELECT s.*, least(index_rows, s.valued) AS n,
			greatest(coalesce(index_rows, s.rows) - s.valued, 0) AS nulls,
			greatest(CASE WHEN s.n_distinct > 0 THEN s.n_distinct
				WHEN s.n_distinct < 0 THEN -s.n_distinct * s.rows ELSE s.valued END, 1) AS all_keys
		FROM statistics AS s
	), keys AS MATERIALIZED (
		SELECT c.*, greatest(1, least(c.n, CASE WHEN c.n < c.valued
				THEN c.all_keys * (1 - exp(-least(c.n / c.all_keys, 99))) ELSE c.all_keys END)) AS keys,
			coalesce((SELECT array_agg(f * c.rows * c.n / greatest(c.valued - a.rows, 1))
				FROM unnest(c.freqs) AS f WHERE f * c.rows <= 1.01 * c.n), '{}') AS common,
			greatest(repeats - a.alike, 0) / greatest(1 - a.alike, 0.001) AS repeated
		FROM counts AS c,
			-- A value with more rows than the index has is not in it.
			LATERAL (SELECT coalesce(sum(f), 0) * c.rows AS rows, coalesce(sum(f ^ 2), 0) AS alike
				FROM unnest(c.freqs) AS f WHERE f * c.rows > 1.01 * c.n) AS a
	), sized AS MATERIALIZED (
		SELECT k.*, coalesce(rencoder_run_bits(k.n, k.keys, k.common, k.correlation, k.repeated, k.pages,
				k.page_rows), 0)
			-- Nulls have places, unless they are everywhere.
			+ CASE WHEN k.nulls < 2.3 * k.pages THEN k.nulls * (2 + ln(greatest(1,
				k.pages * ceil(k.page_rows / 4) / greatest(k.nulls, 1))) / ln(2)) ELSE 0 END AS bits,
			-- Most values are common ones, or none is.
			CASE WHEN k.keys > 2 * cardinality(k.common)
				THEN greatest(k.n - (SELECT coalesce(sum(c), 0) FROM unnest(k.common) AS c), 1)
					/ (k.keys - cardinality(k.common))
				ELSE (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY c) FROM unnest(k.common) AS c) END
				AS value_rows,
			CASE WHEN k.correlation IS NULL THEN k.pages
				ELSE k.pages * sqrt(2 * (1 - least(abs(k.correlation), 1))) END AS spread_pages
		FROM keys AS k
	)
	SELECT CASE WHEN s.pages < 8 THEN 0 ELSE ceil(s.bits / 8 / 8150) + 1 + floor(s.bits / 8 / 8150 / 428) END
			+ CASE WHEN s.pages >= 1024 THEN 4 ELSE 0 END
			-- It is trained on 512 pages.
			+ least(coder, ceil(1 + least(s.keys, 512 * s.page_rows) / 500)),
		least(1 - exp(-least(s.value_rows / s.pages, 99)),
			(s.value_rows / s.page_rows + s.spread_pages + 1) / s.pages)
	FROM sized AS s;
END;
COMMENT ON FUNCTION rencoder_column_size(double precision, double precision, double precision,
	double precision, double precision, double precision, real[], double precision, double precision,
	double precision) IS
	'what a column takes of an index, from what ANALYZE says of it';

-- What ANALYZE says of columns, and of expressions of indexes, as far as the caller may see it.
CREATE FUNCTION rencoder_statistics(
	OUT relation oid,
	OUT attname name,
	OUT rows double precision,
	OUT null_frac double precision,
	OUT n_distinct double precision,
	OUT correlation double precision,
	OUT freqs real[])
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT c.oid, s.attname, c.reltuples, s.null_frac, s.n_distinct, s.correlation, s.most_common_freqs
	FROM pg_stats AS s
	JOIN pg_namespace AS n ON n.nspname = s.schemaname
	JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = s.tablename
	WHERE NOT s.inherited;
END;
COMMENT ON FUNCTION rencoder_statistics() IS
	'what ANALYZE says of columns and of expressions of indexes (readers of the columns)';

-- Types that rencoder indexes by default, pages that a coder of their values takes at most, and whether
-- the class has =.
CREATE FUNCTION rencoder_types(OUT type oid, OUT coder double precision, OUT equal boolean)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 40
BEGIN ATOMIC
	SELECT o.opcintype, CASE WHEN NOT EXISTS (SELECT FROM pg_amproc AS p
			WHERE p.amprocfamily = o.opcfamily AND p.amprocnum = 5) THEN 0
		WHEN y.typcategory = 'G' THEN 2 ELSE 7 END,
		EXISTS (SELECT FROM pg_amop AS p WHERE p.amopfamily = o.opcfamily AND p.amopstrategy = 3)
	FROM pg_opclass AS o JOIN pg_am AS m ON m.oid = o.opcmethod JOIN pg_type AS y ON y.oid = o.opcintype
	WHERE m.amname = 'rencoder' AND o.opcdefault;
END;
COMMENT ON FUNCTION rencoder_types() IS
	'types with a default operator class';

-- Pages beside those of columns: metapage, description of the run (small tables have none), counts.
CREATE FUNCTION rencoder_fixed_pages(pages double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1 + CASE WHEN pages >= 1024 THEN 2 WHEN pages >= 8 THEN 1 ELSE 0 END;
COMMENT ON FUNCTION rencoder_fixed_pages(double precision) IS
	'pages of an index of a table of so many pages, beside those of its columns';

CREATE FUNCTION rencoder_estimate("table" regclass, VARIADIC columns name[])
RETURNS bigint
LANGUAGE sql VOLATILE STRICT PARALLEL RESTRICTED
BEGIN ATOMIC
	WITH RECURSIVE parts (oid) AS (
		SELECT "table"::oid
		UNION ALL
		SELECT h.inhrelid FROM parts AS p JOIN pg_inherits AS h ON h.inhparent = p.oid
			JOIN pg_class AS k ON k.oid = h.inhrelid AND k.relispartition
	)
	SELECT CASE WHEN bool_and(e.pages IS NOT NULL)
		THEN sum((e.pages + rencoder_fixed_pages(c.relpages)) * current_setting('block_size')::bigint)
		END::bigint
	FROM parts AS p JOIN pg_class AS c ON c.oid = p.oid AND c.relkind IN ('r', 'm'),
		LATERAL rencoder_look_at(c.oid::regclass, 0::regclass,
			(SELECT array_agg(a.attnum ORDER BY o.number)
			 FROM unnest(columns) WITH ORDINALITY AS o (name, number)
			 LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = o.name AND a.attnum > 0
				AND NOT a.attisdropped)) AS l,
		LATERAL (SELECT CASE WHEN count(s.pages) = cardinality(columns) THEN sum(s.pages) END AS pages
			FROM unnest(columns) WITH ORDINALITY AS o (name, number)
			JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = o.name
			JOIN pg_type AS y ON y.oid = a.atttypid
			JOIN pg_type AS b ON b.oid = coalesce(nullif(y.typbasetype, 0), y.oid),
			LATERAL (SELECT min(r.coder) AS coder FROM rencoder_types() AS r
				WHERE r.type = b.oid OR (b.typtype = 'e' AND r.type = 'anyenum'::regtype)
					OR EXISTS (SELECT FROM pg_cast AS k WHERE k.castsource = b.oid AND k.casttarget = r.type
						AND k.castmethod = 'b' AND k.castcontext = 'i')) AS r,
			rencoder_statistics() AS t,
			LATERAL rencoder_column_size(c.relpages, c.reltuples, t.rows, t.null_frac, t.n_distinct,
				CASE WHEN l.falls[o.number] < 0.02 AND abs(t.correlation) > 0.999 THEN 1 ELSE t.correlation END,
				t.freqs, NULL, l.repeats[o.number], r.coder) AS s
			WHERE r.coder IS NOT NULL AND t.relation = c.oid AND t.attname = a.attname) AS e;
END;
COMMENT ON FUNCTION rencoder_estimate(regclass, name[]) IS
	'bytes that an index on these columns would have, from what ANALYZE says of them; null if it has said nothing (readers of the columns)';

-- Best effort: whatever is wrong with pg_stat_statements, there are just no queries.
CREATE FUNCTION rencoder_sorting_queries()
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	place name;
BEGIN
	SELECT n.nspname INTO place
	FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
	WHERE e.extname = 'pg_stat_statements';
	IF place IS NOT NULL THEN
		RETURN QUERY EXECUTE format('SELECT regexp_replace(query, ''\s+'', '' '', ''g'')
			FROM %I.pg_stat_statements
			WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
				AND query ~* ''\m(order\s+by|distinct\s+on|min|max)\M'' AND calls > 0', place);
	END IF;
EXCEPTION WHEN OTHERS THEN
	RETURN;
END $$;
COMMENT ON FUNCTION rencoder_sorting_queries() IS
	'statements of pg_stat_statements that want rows in order, as far as the caller may see them';

-- The names are resolved here, once, whatever the caller's search_path is.
CREATE FUNCTION rencoder_advise(
	schema regnamespace DEFAULT NULL,
	OUT "table" regclass,
	OUT index regclass,
	OUT method name,
	OUT verdict text,
	OUT size bigint,
	OUT rencoder_size bigint,
	OUT saves bigint,
	OUT scans bigint,
	OUT reason text,
	OUT ddl text)
RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 100
SET jit = off
BEGIN ATOMIC
	WITH tables AS MATERIALIZED (
		SELECT t.oid, t.relname, t.relkind, t.relpages, t.reltuples, n.nspname
		FROM pg_class AS t JOIN pg_namespace AS n ON n.oid = t.relnamespace
		WHERE t.relkind IN ('r', 'p', 'm') AND NOT pg_is_other_temp_schema(n.oid)
			AND CASE WHEN schema IS NULL
				THEN n.nspname <> 'information_schema' AND n.nspname !~ '^pg_(catalog$|toast)'
				ELSE n.oid = schema END
			AND has_table_privilege(t.oid, 'SELECT') AND NOT row_security_active(t.oid)
	),
	-- Indexes that hold rows, each with the one that it is part of: its root, or itself.
	leaves AS MATERIALIZED (
		SELECT i.*, coalesce(pg_partition_root(i.indexrelid), i.indexrelid)::oid AS root, c.relpages,
			c.reltuples, t.relpages AS table_pages, t.reltuples AS table_rows
		FROM pg_index AS i
		JOIN pg_class AS c ON c.oid = i.indexrelid AND c.relkind = 'i'
		JOIN pg_am AS m ON m.oid = c.relam AND m.amname <> 'rencoder'
		JOIN tables AS t ON t.oid = i.indrelid
		WHERE i.indislive
	),
	-- Key columns of these, and of roots.  "collated": a string in another order than rencoder has.
	-- "lacks": what queries may sort by, and rencoder's index cannot; "names": hardly by this one.
	columns AS MATERIALIZED (
		SELECT i.indexrelid, i.indrelid, a.attnum AS number, i.indkey[a.attnum - 1] AS attnum, k.name,
			coalesce(b.attrelid, a.attrelid) AS relation, coalesce(b.attname, a.attname) AS attname,
			r.coder, l.collated,
			CASE WHEN r.type IS NULL THEN 'rencoder has no operator class for type '
					|| format_type(o.opcintype, NULL)
				WHEN NOT l.collisdeterministic THEN 'rencoder has no nondeterministic collations'
				WHEN m.amname NOT IN ('btree', 'hash') AND NOT o.opcdefault
					THEN 'rencoder has no operator class like ' || o.opcname END AS problem,
			CASE WHEN bool_or(CASE m.amname WHEN 'btree' THEN i.indnkeyatts > 4
						OR o.opcintype = 'anyenum'::regtype
						OR l.collated AND (i.indnkeyatts > 1 OR o.opcname !~ '_pattern_ops$')
					ELSE EXISTS (SELECT FROM pg_amop AS p
						WHERE p.amopfamily = o.opcfamily AND p.amoppurpose = 'o') END)
					OVER (PARTITION BY i.indexrelid) THEN k.name
				-- Read backward, the order is the opposite one of all columns.
				WHEN i.indoption[a.attnum - 1] <> i.indoption[i.indnkeyatts - 1] THEN 'ASC with DESC'
				END AS lacks,
			coalesce(l.collated AND k.name ~* ('(^|_)(e?mail|token|hash|digest|guid|id|key|code|ur[il]|'
				'slug|sku|no|number|phone|md5|ref|ip|agent|state|status|kind|type|role|country)$'), false)
				AS names
		FROM (SELECT indexrelid FROM leaves UNION SELECT root FROM leaves) AS x
		JOIN pg_index AS i ON i.indexrelid = x.indexrelid
		JOIN pg_class AS c ON c.oid = i.indexrelid
		JOIN pg_am AS m ON m.oid = c.relam
		JOIN pg_attribute AS a ON a.attrelid = i.indexrelid AND a.attnum <= i.indnkeyatts
		LEFT JOIN pg_attribute AS b ON b.attrelid = i.indrelid AND b.attnum = i.indkey[a.attnum - 1]
			AND b.attnum > 0
		JOIN pg_opclass AS o ON o.oid = i.indclass[a.attnum - 1]
		LEFT JOIN (SELECT l.oid, l.collisdeterministic,
				CASE coalesce(nullif(l.collprovider, 'd'), d.datlocprovider) WHEN 'b' THEN false
					WHEN 'c' THEN coalesce(l.collcollate, d.datcollate) NOT IN ('C', 'POSIX')
					ELSE true END AS collated
			FROM pg_collation AS l JOIN pg_database AS d ON d.datname = current_database()) AS l
			ON l.oid = a.attcollation
		LEFT JOIN rencoder_types() AS r ON r.type = o.opcintype
			AND (r.equal OR m.amname NOT IN ('btree', 'hash')),
		LATERAL (SELECT min(b.attname)::text AS name FROM pg_attribute AS b
			WHERE b.attrelid = i.indrelid AND CASE WHEN i.indkey[a.attnum - 1] > 0
				THEN b.attnum = i.indkey[a.attnum - 1]
				-- One that an expression of the index is made of.
				ELSE b.attnum IN (SELECT v[1]::int2
					FROM regexp_matches(i.indexprs::text, ':varattno (\d+)', 'g') AS v) END) AS k
	),
	analyzed AS MATERIALIZED (SELECT * FROM rencoder_statistics()),
	recorded AS MATERIALIZED (SELECT q, lower(q) AS low FROM rencoder_sorting_queries() AS q),
	present AS MATERIALIZED (
		SELECT i.*, c.relname, c.relkind, m.amname, t.relname AS table_name, t.nspname, l.*,
			nullif(concat_ws(', ',
				CASE WHEN i.indisprimary THEN 'primary key'
					WHEN i.indisexclusion THEN 'exclusion constraint'
					WHEN i.indisunique THEN 'unique' END,
				CASE WHEN l.clustered THEN 'order of CLUSTER' END,
				CASE WHEN l.replident THEN 'replica identity' END,
				-- Neither ASC NULLS LAST nor DESC NULLS FIRST, which is the same backward.
				CASE WHEN EXISTS (SELECT FROM unnest(i.indoption) AS o WHERE o IN (1, 2))
					THEN 'order with nulls at the other end' END,
				CASE WHEN i.indnatts > i.indnkeyatts THEN 'index-only scans (INCLUDE)' END,
				CASE WHEN EXISTS (SELECT FROM pg_constraint AS k
					WHERE k.contype = 'f' AND k.conindid = i.indexrelid)
					THEN 'target of foreign keys' END), '') AS needed_for,
			-- The constraint whose referencing side it serves.
			(SELECT min(k.conname) FROM pg_constraint AS k
			 WHERE k.contype = 'f' AND k.conrelid = i.indrelid AND i.indkey[0] = ANY (k.conkey)) AS serves,
			(SELECT string_agg(DISTINCT s.lacks, ', ') FROM columns AS s
			 WHERE s.indexrelid = i.indexrelid AND NOT s.names) AS sorts,
			-- It is asked for its first columns: one key of all of them does, too.
			m.amname = 'btree' AND i.indnkeyatts BETWEEN 2 AND 4 AS composite,
			(SELECT coalesce(bool_or(s.collated), false) FROM columns AS s
			 WHERE s.indexrelid = i.indexrelid) AS collated,
			(SELECT min(s.problem) FROM columns AS s WHERE s.indexrelid = i.indexrelid) AS no_class,
			-- The shortest recorded query that names table and column, and sorts by that in vain.
			(SELECT r.q FROM columns AS s, recorded AS r
			 WHERE s.indexrelid = i.indexrelid AND s.lacks IS NOT NULL
				AND strpos(r.low, lower(t.relname)) > 0 AND strpos(r.low, lower(s.name)) > 0
				-- Behind columns that the query does not know, it is in no order.
				AND NOT EXISTS (SELECT FROM columns AS b WHERE b.indexrelid = s.indexrelid
					AND b.number < s.number AND strpos(r.low, lower(b.name)) = 0)
				AND CASE m.amname WHEN 'btree'
					THEN r.low ~ ('(order\s+by\M[^;]*?|(distinct\s+on|\mm(in|ax))\s*\([^)]*?)\m' ||
						regexp_replace(lower(s.name), '(\W)', '\\\1', 'g') || '\M')
					ELSE strpos(r.low, '<->') > 0 END
			 ORDER BY length(r.q), r.q LIMIT 1) AS sorted
		FROM (SELECT root, count(*) AS leaves, bool_or(indisclustered) AS clustered,
				bool_or(indisreplident) AS replident, bool_and(indisvalid) AS valid,
				sum(pg_stat_get_numscans(indexrelid))::bigint AS scans,
				-- What cannot have come by plain and bitmap scans came by index-only scans.
				sum(pg_stat_get_tuples_returned(indexrelid)) AS entries_read,
				sum(pg_stat_get_tuples_returned(indexrelid) - pg_stat_get_tuples_fetched(indexrelid) -
					pg_stat_get_tuples_fetched(indrelid)) AS only_read
			FROM leaves GROUP BY root) AS l
		JOIN pg_index AS i ON i.indexrelid = l.root
		JOIN pg_class AS c ON c.oid = i.indexrelid
		JOIN pg_am AS m ON m.oid = c.relam AND m.amname IN ('btree', 'hash', 'gist', 'spgist', 'brin')
		JOIN tables AS t ON t.oid = i.indrelid
	),
	summed AS MATERIALIZED (
		SELECT p.*, s.*
		FROM present AS p, LATERAL (
			SELECT sum(coalesce(e.size, l.relpages * current_setting('block_size')::bigint))::bigint AS size,
				CASE WHEN bool_and(e.empty OR f.pages IS NOT NULL)
					THEN sum(CASE WHEN e.empty THEN 1
						ELSE f.pages + rencoder_fixed_pages(l.table_pages) END
						* current_setting('block_size')::bigint)::bigint END AS new_size,
				max(f.share) AS share, coalesce(bool_and(f.brin_serves), false) AS brin_serves,
				min(e.problem) AS problem, sum(l.table_pages) AS table_pages
			FROM leaves AS l,
				-- An empty partition has no statistics, nor has a table that nobody has analyzed.
				LATERAL (SELECT e.size, e.repeats, e.falls, l.table_pages = 0 AND (l.table_rows >= 0 OR
						coalesce(e.size, 0) <= 2 * current_setting('block_size')::bigint) AS empty,
					CASE WHEN l.indisvalid THEN e.problem ELSE 'the index is not valid' END AS problem
				 FROM rencoder_look_at(l.indrelid::regclass, l.indexrelid::regclass,
					(SELECT array_agg(k ORDER BY o) FILTER (WHERE o <= l.indnkeyatts)
					 FROM unnest(l.indkey::int2[]) WITH ORDINALITY AS u (k, o))) AS e) AS e,
				LATERAL (SELECT CASE WHEN sum(g.columns) = l.indnkeyatts THEN sum(z.pages) END AS pages,
					min(z.share) AS share, bool_or(g.brin_serves) AS brin_serves
				 -- Of a composite key columns are taken for independent.  Its rows are as far from the order
				 -- of the table as by one of the columns, which begins anew with each value of those before
				 -- it, and says nothing of rows that it has alike.  Its coder has 680 points a page.
				 FROM (SELECT count(*) AS columns, max(d.rows) AS rows,
						bool_or(l.table_pages * sqrt(2 * (1 - d.ordered)) <= 128)
							FILTER (WHERE d.number = 1) AS brin_serves,
						CASE count(*) WHEN 1 THEN max(d.null_frac) ELSE 0 END AS null_frac,
						CASE count(*) WHEN 1 THEN max(d.freqs) END AS freqs,
						-- Lines of orders that are in order take half the bits (measured).
						CASE WHEN count(*) > 1 AND max(d.rows / d.keys * (d.ordered > 0.9999)::int)
							FILTER (WHERE d.number = 1) BETWEEN 2.5 AND 32
							THEN least(exp(sum(ln(d.keys))), max(d.rows)) / 66
							ELSE exp(sum(ln(d.keys))) END AS n_distinct,
						CASE count(*) WHEN 1 THEN max(d.ordered) ELSE greatest(0, 1 - min(d.before *
							(sqrt(2 * (1 - d.ordered)) + 256 / d.rows) - 256 / d.rows + d.alike / d.before)
							^ 2 / 2) END AS correlation,
						min(e.repeats[d.number]) AS repeats,
						sum(least(d.coder, ceil(1 + d.keys / 500))) + CASE count(*) WHEN 1 THEN 0
							ELSE 1 + floor(sum(least(d.keys, 4096 / (l.indnkeyatts - 1)
								/ CASE WHEN d.keys > d.rows / 8 THEN 4 ELSE 1 END))
								FILTER (WHERE d.number < l.indnkeyatts) / 680) END AS coder
					FROM (SELECT k.*, a.alike, a.alike / exp(sum(ln(a.alike)) OVER (ORDER BY k.number)) AS before
						FROM (SELECT t.*, c.number, c.coder,
								-- In order but for rows that a page had no room for.
								CASE WHEN e.falls[c.number] < 0.02 AND abs(t.correlation) > 0.999 THEN 1
									ELSE least(abs(coalesce(t.correlation, 0)), 1) END AS ordered,
								greatest(1, CASE WHEN t.n_distinct > 0 THEN t.n_distinct
									ELSE -coalesce(nullif(t.n_distinct, 0), -1) * t.rows END) AS keys
							FROM columns AS c
							JOIN analyzed AS t ON t.relation = c.relation AND t.attname = c.attname
							WHERE c.indexrelid = l.indexrelid AND c.coder IS NOT NULL AND t.rows > 0) AS k,
							-- The chance that two rows have one value.
							LATERAL (SELECT coalesce(sum(f ^ 2), 0) + (1 - coalesce(sum(f), 0)) ^ 2
								/ greatest(k.keys - count(f), 1) AS alike FROM unnest(k.freqs) AS f) AS a) AS d
					GROUP BY CASE WHEN NOT p.composite THEN d.number END) AS g,
				LATERAL rencoder_column_size(l.table_pages, l.table_rows, g.rows, g.null_frac,
					g.n_distinct, g.correlation, g.freqs,
					CASE WHEN l.indpred IS NOT NULL THEN l.reltuples END, g.repeats, g.coder) AS z) AS f
			WHERE l.root = p.root) AS s
	),
	judged AS (
		SELECT e.*,
			CASE WHEN NOT e.valid THEN 'problem'
				WHEN e.needed_for IS NOT NULL THEN 'needed'
				WHEN e.problem IS NOT NULL THEN 'problem'
				-- A small BRIN index may stand for a large table.
				WHEN CASE e.amname WHEN 'brin' THEN e.table_pages * current_setting('block_size')::bigint
					ELSE e.size END < 1048576 THEN 'small'
				WHEN e.no_class IS NOT NULL THEN 'class'
				WHEN e.new_size IS NULL THEN 'statistics'
				WHEN e.amname = 'brin' AND (e.brin_serves OR e.share > 0.3) THEN 'serves'
				WHEN e.amname = 'brin' THEN 'add'
				WHEN e.size < 2 * e.new_size THEN 'little'
				WHEN e.share > 0.3 THEN 'common'
				WHEN e.scans = 0 AND e.serves IS NULL THEN 'unused'
				WHEN e.sorted IS NOT NULL THEN 'sorted'
				WHEN e.amname = 'btree' AND e.only_read > 0.5 * e.entries_read THEN 'only'
				WHEN e.sorts IS NOT NULL THEN 'sorts'
				ELSE 'replace' END AS state
		FROM summed AS e
	),
	advised AS (
		SELECT j.*,
			CASE WHEN j.state IN ('problem', 'statistics') THEN 'unknown'
				WHEN j.state IN ('add', 'unused', 'replace') THEN j.state
				WHEN j.state = 'sorts' THEN 'replace unless sorted'
				ELSE 'keep' END AS verdict,
			CASE j.state
				WHEN 'needed' THEN j.needed_for
				WHEN 'small' THEN 'small'
				WHEN 'problem' THEN j.problem
				WHEN 'class' THEN j.no_class
				WHEN 'statistics' THEN 'no statistics of it: ANALYZE the table'
				WHEN 'add' THEN 'BRIN reads much of the table for one value'
				WHEN 'serves' THEN 'BRIN serves this column, and is small'
				WHEN 'little' THEN 'rencoder would not be half as large'
				WHEN 'common' THEN 'one value is on much of the table: perhaps no index'
				WHEN 'unused' THEN 'no scan' || coalesce(to_char(pg_stat_get_db_stat_reset_time((
					SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())),
					' since YYYY-MM-DD'), '') || ': drop it unless a standby uses it'
				WHEN 'sorted' THEN 'queries sort by it: ' || CASE WHEN length(j.sorted) <= 50 THEN j.sorted
					ELSE left(j.sorted, 20) || ' .. ' || left(substring(j.sorted,
						'(?i)(\m(?:order\s+by|distinct\s+on|min|max)\M.*)$'), 26) END
				WHEN 'only' THEN 'most reads of it end there: index-only scans'
				WHEN 'sorts' THEN format('does ORDER BY%s use %s?', CASE WHEN j.amname <> 'btree' THEN ' <->'
					WHEN j.collated THEN ', <, >' ELSE '' END, j.sorts)
				ELSE CASE WHEN j.serves IS NOT NULL THEN 'serves foreign key ' || j.serves
					WHEN j.amname = 'hash' THEN 'for = and IN'
					WHEN j.collated THEN 'for =, IN and LIKE'
					WHEN j.amname = 'btree' THEN 'for =, IN, ranges and order'
					ELSE 'for =, IN and ranges' END
				END || CASE WHEN j.brin_serves AND j.state IN ('replace', 'sorts') THEN '; BRIN is smaller'
				ELSE '' END AS reason,
			CASE WHEN j.state IN ('replace', 'sorts') THEN j.size - j.new_size
				WHEN j.state = 'unused' THEN j.size ELSE 0 END AS saves,
			CASE WHEN j.state IN ('replace', 'sorts', 'add') THEN format('USING rencoder (%s)%s%s%s',
				(SELECT string_agg(pg_get_indexdef(j.indexrelid, a.attnum, true) ||
					CASE WHEN a.attcollation NOT IN (0, coalesce(b.attcollation, 100))
						THEN format(' COLLATE %I.%I', n.nspname, l.collname) ELSE '' END,
					', ' ORDER BY a.attnum)
				 FROM pg_attribute AS a
				 LEFT JOIN pg_attribute AS b ON b.attrelid = j.indrelid
					AND b.attnum = j.indkey[a.attnum - 1] AND b.attnum > 0
				 LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
				 LEFT JOIN pg_namespace AS n ON n.oid = l.collnamespace
				 WHERE a.attrelid = j.indexrelid AND a.attnum <= j.indnkeyatts),
				CASE WHEN j.composite THEN ' WITH (composite = on)' END,
				(SELECT format(' TABLESPACE %I', s.spcname) FROM pg_class AS c
				 JOIN pg_tablespace AS s ON s.oid = c.reltablespace WHERE c.oid = j.indexrelid),
				' WHERE ' || pg_get_expr(j.indpred, j.indrelid, true)) END AS definition
		FROM judged AS j
	),
	-- What CREATE INDEX CONCURRENTLY cannot do for a partitioned table, it does for each partition.
	parts AS (
		WITH RECURSIVE tree AS (
			SELECT a.root, a.root AS indexrelid, NULL::oid AS parent FROM advised AS a
			WHERE a.relkind = 'I' AND a.definition IS NOT NULL
			UNION ALL
			SELECT t.root, h.inhrelid, h.inhparent
			FROM tree AS t JOIN pg_inherits AS h ON h.inhparent = t.indexrelid
		), named AS (
			SELECT t.*, c.relkind, n.nspname, i.indrelid, s.relname AS table_name,
				CASE WHEN octet_length(c.relname::text) > 53 THEN left(c.relname, 12) || '_' || md5(c.relname)
					ELSE c.relname END || '_rencoder' AS name
			FROM tree AS t
			JOIN pg_index AS i ON i.indexrelid = t.indexrelid
			JOIN pg_class AS c ON c.oid = t.indexrelid
			JOIN pg_class AS s ON s.oid = i.indrelid
			JOIN pg_namespace AS n ON n.oid = c.relnamespace
		)
		SELECT a.root, string_agg(format('CREATE INDEX %s%I ON %s%I.%I %s;',
				CASE n.relkind WHEN 'i' THEN 'CONCURRENTLY ' ELSE '' END, n.name,
				CASE n.relkind WHEN 'i' THEN '' ELSE 'ONLY ' END, n.nspname, n.table_name, a.definition),
				E'\n' ORDER BY n.indexrelid)
			|| string_agg(format(E'\nALTER INDEX %I.%I ATTACH PARTITION %I.%I;', p.nspname, p.name,
				n.nspname, n.name), '' ORDER BY n.indexrelid) FILTER (WHERE p.name IS NOT NULL) AS creates
		FROM advised AS a JOIN named AS n ON n.root = a.root
		LEFT JOIN named AS p ON p.indexrelid = n.parent
		GROUP BY a.root
	),
	-- Referencing sides of foreign keys without an index.
	missing AS (
		SELECT k.conrelid, t.relname, format('foreign key %s has no index', k.conname) AS reason,
			format('CREATE INDEX %sON %I.%I USING rencoder (%s);',
				CASE t.relkind WHEN 'p' THEN '' ELSE 'CONCURRENTLY ' END, t.nspname, t.relname,
				(SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute AS a
				 WHERE a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey))) AS ddl
		FROM pg_constraint AS k JOIN tables AS t ON t.oid = k.conrelid
		WHERE k.contype = 'f' AND k.conparentid = 0 AND (t.relkind = 'p' OR t.relpages >= 128)
			AND NOT EXISTS (SELECT FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
				JOIN pg_am AS m ON m.oid = c.relam
				WHERE i.indrelid = k.conrelid AND i.indisvalid AND i.indpred IS NULL
					AND CASE m.amname WHEN 'rencoder' THEN i.indkey::int2[] && k.conkey
						ELSE m.amname IN ('btree', 'hash') AND i.indkey[0] = ANY (k.conkey) END)
			AND NOT EXISTS (SELECT FROM pg_attribute AS a
				WHERE a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
					AND coalesce(nullif(a.atttypid, 'varchar'::regtype), 'text'::regtype)
						NOT IN (SELECT r.type FROM rencoder_types() AS r))
	)
	SELECT r."table"::regclass, r.index::regclass, r.amname, r.verdict, r.size, r.new_size, r.saves,
		r.scans, r.reason, r.ddl
	FROM (
		SELECT 1 AS place, a.indrelid AS "table", a.indexrelid AS index, a.amname, a.verdict, a.size,
			a.new_size, a.saves, a.scans, a.reason, a.relname,
			CASE WHEN a.verdict = 'unused' THEN format('DROP INDEX %s%I.%I;',
					CASE a.relkind WHEN 'i' THEN 'CONCURRENTLY ' ELSE '' END, a.nspname, a.relname)
				WHEN a.definition IS NOT NULL THEN coalesce(p.creates,
					format('CREATE INDEX CONCURRENTLY ON %I.%I %s;', a.nspname, a.table_name, a.definition))
					|| CASE WHEN a.state = 'add' THEN '' ELSE format(E'\nDROP INDEX %s%I.%I;',
						CASE a.relkind WHEN 'i' THEN 'CONCURRENTLY ' ELSE '' END, a.nspname, a.relname) END
				END AS ddl
		FROM advised AS a LEFT JOIN parts AS p ON p.root = a.root
		UNION ALL
		SELECT 2, m.conrelid, NULL, 'rencoder', 'add', NULL, NULL, 0, NULL, m.reason, m.relname, m.ddl
		FROM missing AS m
		UNION ALL
		SELECT 3, NULL, NULL, NULL, 'total', coalesce(sum(a.size), 0)::bigint, sum(a.new_size)::bigint,
			coalesce(sum(a.saves), 0)::bigint, sum(a.scans)::bigint,
			CASE count(*) WHEN 0 THEN 'no index here of a table that you may read whole'
				ELSE format('%s; %s after "replace"; %s after "unused", too; %s after all',
					pg_size_pretty(sum(a.size)), pg_size_pretty(sum(a.size) - coalesce(sum(a.saves)
						FILTER (WHERE a.verdict = 'replace'), 0)),
					pg_size_pretty(sum(a.size) - coalesce(sum(a.saves)
						FILTER (WHERE a.verdict IN ('replace', 'unused')), 0)),
					pg_size_pretty(sum(a.size) - sum(a.saves))) END,
			NULL, NULL
		FROM advised AS a
	) AS r
	ORDER BY r.place, r.saves DESC, r.size DESC NULLS LAST, r.relname, r.index;
END;
COMMENT ON FUNCTION rencoder_advise(regnamespace) IS
	'for each index of the database, or of a schema: may rencoder take its place, why, what it saves, and how (indexes of tables that the caller may read)';

CREATE VIEW rencoder_stat_indexes AS
SELECT i.relid, i.indexrelid, i.schemaname, i.relname, i.indexrelname,
	s.size, s.scans, s.table_pages, s.pages, s.index_pages,
	s.predicted_false_pages, s.since, s.runs, s.pending_pages, s.maintenance_wal,
	s.needs_reindex
-- OFFSET 0: nothing is asked of an index that the function would refuse.
FROM (SELECT t.oid AS relid, c.oid AS indexrelid, n.nspname AS schemaname, t.relname,
		c.relname AS indexrelname
	FROM pg_am AS a
	JOIN pg_class AS c ON c.relam = a.oid AND c.relkind = 'i'
	JOIN pg_index AS x ON x.indexrelid = c.oid AND x.indisvalid
	JOIN pg_class AS t ON t.oid = x.indrelid
	JOIN pg_namespace AS n ON n.oid = t.relnamespace
	WHERE a.amname = 'rencoder' AND NOT pg_is_other_temp_schema(n.oid)
		AND NOT (c.relpersistence = 'u' AND pg_is_in_recovery())
		AND (pg_has_role(c.relowner, 'USAGE') OR pg_has_role('pg_stat_scan_tables', 'USAGE')
			OR has_table_privilege(t.oid, 'SELECT') AND NOT row_security_active(t.oid))
	OFFSET 0) AS i,
	LATERAL rencoder_index_stats(i.indexrelid::regclass, false) AS s;
GRANT SELECT ON rencoder_stat_indexes TO PUBLIC;
COMMENT ON VIEW rencoder_stat_indexes IS
	'each rencoder index that the reader may inspect: its size, what scans have read and skipped, and WAL of maintenance';

CREATE FUNCTION rencoder_maintainable(relation regclass, is_index boolean)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c pg_class;
BEGIN
	SELECT * INTO c FROM pg_class WHERE oid = relation;
	-- This looks beyond the snapshot of the transaction, which may know what has been dropped.
	IF NOT FOUND OR has_table_privilege(relation, 'SELECT') IS NULL THEN
		RETURN false;
	ELSIF is_index AND NOT pg_has_role(c.relowner, 'USAGE') THEN
		RAISE WARNING 'skipping "%" --- only its owner can maintain it', c.relname;
		RETURN false;
	ELSIF NOT is_index AND c.relkind NOT IN ('r', 'p', 'm', 'i') THEN
		RAISE WARNING 'skipping "%" --- it is neither a table nor an index of one', c.relname;
		RETURN false;
	END IF;
	RETURN true;
END $$;
COMMENT ON FUNCTION rencoder_maintainable(regclass, boolean) IS
	'is it a table, or an index that the caller owns? If not, rencoder_maintain() skips it, and this warns';

CREATE FUNCTION rencoder_maintain(
	relation regclass,
	OUT index regclass,
	OUT pages bigint,
	OUT size bigint)
RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
	-- pg_partition_tree() would wait for locks of tables that are not the caller's.
	WITH RECURSIVE t (relid) AS (
		SELECT relation::oid WHERE rencoder_maintainable(relation, false)
		UNION ALL
		SELECT h.inhrelid FROM t JOIN pg_inherits AS h ON h.inhparent = t.relid
			JOIN pg_class AS k ON k.oid = h.inhrelid AND k.relispartition
	)
	SELECT i.index, m.pages, pg_relation_size(i.index)
	FROM (SELECT x.indexrelid::regclass AS index
			FROM t
			JOIN pg_index AS x ON (x.indrelid = t.relid OR x.indexrelid = t.relid) AND x.indisvalid
			JOIN pg_class AS c ON c.oid = x.indexrelid AND c.relkind = 'i'
			JOIN pg_am AS a ON a.oid = c.relam AND a.amname = 'rencoder'
			WHERE NOT pg_is_other_temp_schema(c.relnamespace)
			ORDER BY c.relname, c.oid OFFSET 0) AS i,
		LATERAL (SELECT rencoder_maintain_index(i.index) AS pages OFFSET 0) AS m
	WHERE rencoder_maintainable(i.index, true);
END;
COMMENT ON FUNCTION rencoder_maintain(regclass) IS
	'does what VACUUM does for an index, or for all of a table and of its partitions; says how many pages of the table were not indexed (indexes that the caller owns)';
