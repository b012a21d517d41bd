-- Keys are in the order of the values, for every operator class: x < y implies
-- key(x) <= key(y), and x = y implies key(x) = key(y).  100,000 random values
-- of each type and the edge values are sorted; that all neighbours are in order
-- implies that all pairs are.
\getenv abs_srcdir PG_ABS_SRCDIR
\set values :abs_srcdir '/sql/include/values.sql'
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
CREATE SCHEMA opclass_order;
SET search_path = opclass_order, public;
\set ECHO none
\i :values
\set ECHO all
SELECT setseed(mod(:'seed'::numeric, 1000003) / 1000003);

-- Inversions among the values that "query" returns, column v, whose keys are
-- the column key.  "resolution": the share of distinct values that must have
-- keys of their own, lest a constant be called an order.
CREATE FUNCTION check_order(name text, query text, resolution float8)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	seed text := current_setting('opclass_order.seed');
BEGIN
	-- A key is unsigned.
	EXECUTE format('CREATE TEMP TABLE ordered AS
		SELECT v, key, lag(v) OVER w AS v0, lag(key) OVER w AS key0
		FROM (SELECT v, key # (-9223372036854775808) AS key FROM (%s) q) q
		WINDOW w AS (ORDER BY v)', query);
	SELECT * INTO r FROM ordered WHERE key0 > key OR (v0 = v AND key0 <> key) LIMIT 1;
	IF FOUND THEN
		RAISE WARNING '%: % has key %, % has key %, seed %', name, r.v0, r.key0, r.v, r.key, seed;
	END IF;
	SELECT count(*) AS n, count(DISTINCT v) AS values, count(DISTINCT key) AS keys INTO r
	FROM ordered;
	DROP TABLE ordered;
	IF r.keys < resolution * r.values THEN
		RAISE WARNING '%: % values have only % keys, seed %', name, r.values, r.keys, seed;
	END IF;
	RETURN name || CASE WHEN r.n >= 100000 THEN ' checked' ELSE ' has few values' END;
END $$;
CREATE FUNCTION type_query(type text) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT v, rencoder_%4$s_key(v) AS key FROM (
		SELECT %2$s AS v FROM generate_series(1, 100000)
		UNION ALL SELECT unnest(%3$L::text[])::%1$s) q OFFSET 0',
		type, value_random(type), value_edges(type),
		CASE type WHEN '"char"' THEN 'char' WHEN 'bit(70)' THEN 'bit' ELSE type END)
$$;
SELECT set_config('opclass_order.seed', :'seed', false) = :'seed' AS set;

-- Types of one family share keys, and are compared with one another here.
SELECT check_order(type, type_query(type), resolution)
FROM (VALUES ('int2', 1), ('int4', 1), ('int8', 1), ('oid', 1), ('date', 1), ('timestamp', 1),
	('timestamptz', 1), ('time', 1), ('money', 1), ('pg_lsn', 1), ('xid8', 1), ('float4', 1),
	('float8', 1), ('numeric', 0.7), ('uuid', 0.5), ('macaddr', 1), ('macaddr8', 1),
	('inet', 0.7)) t (type, resolution);
SELECT check_order('integers',
	format('SELECT v::int8 AS v, key FROM (%s) a UNION ALL SELECT v::int8, key FROM (%s) b '
		'UNION ALL %s',
	type_query('int2'), type_query('int4'), type_query('int8')), 1);
SELECT check_order('floats', format('SELECT v::float8 AS v, key FROM (%s) a UNION ALL %s',
	type_query('float4'), type_query('float8')), 1);
-- A timestamp cannot hold every date.
SELECT check_order('dates',
	format('SELECT v::timestamp AS v, key FROM (%s) a WHERE v = ''infinity'' '
		'OR v < ''294277-01-01'' UNION ALL %s',
	type_query('date'), type_query('timestamp')), 1);

-- The same order when the difference is in the last place.
SELECT rencoder_numeric_key(9999999999999999) < rencoder_numeric_key(10000000000000000) AS up,
	rencoder_numeric_key(12345678.90123456) < rencoder_numeric_key(12345678.90123457)
		AS sixteen_digits,
	rencoder_numeric_key('NaN') > rencoder_numeric_key('Infinity') AS nan_last,
	rencoder_numeric_key('Infinity') > rencoder_numeric_key(1e131071) AS infinity_after_all,
	rencoder_float8_key('NaN') = -1 AS nan,
	rencoder_float8_key('-0') = rencoder_float8_key('0') AS zeros,
	rencoder_float4_key('0.1') = rencoder_float8_key('0.1'::float4::float8) AS widened;

-- Keys are on disk: these must never change.
SELECT to_hex(rencoder_numeric_key(1)) AS one, to_hex(rencoder_numeric_key(-123.45)) AS negative,
	to_hex(rencoder_numeric_key(0)) AS zero,
	to_hex(rencoder_numeric_key(98765432109876543210)) AS long,
	to_hex(rencoder_numeric_key(1e-300)) AS tiny, to_hex(rencoder_numeric_key(1e300)) AS huge;
SELECT to_hex(rencoder_float8_key(1)) AS one, to_hex(rencoder_float8_key(-1.5)) AS negative,
	to_hex(rencoder_float4_key(1.5)) AS single;
SELECT to_hex(rencoder_inet_key('10.1.2.3/8')) AS host,
	to_hex(rencoder_inet_key('10.1.2.3')) AS address,
	to_hex(rencoder_inet_key('255.255.255.255/0')) AS nothing,
	to_hex(rencoder_inet_key('2001:db8:1:2:3:4:5:6/56')) AS v6;
SELECT to_hex(rencoder_uuid_key('01234567-89ab-cdef-0123-456789abcdef')) AS uuid,
	to_hex(rencoder_macaddr_key('01:23:45:67:89:ab')) AS mac,
	to_hex(rencoder_macaddr8_key('01:23:45:67:89:ab:cd:ef')) AS mac8,
	to_hex(rencoder_time_key('00:00:01')) AS time, to_hex(rencoder_money_key('-0.01')) AS money,
	to_hex(rencoder_pg_lsn_key('1/2')) AS lsn, to_hex(rencoder_xid8_key('3')) AS xid;
SELECT to_hex(rencoder_interval_key('1 mon 2 days 00:00:03')) AS span,
	to_hex(rencoder_interval_key('-300000 years')) AS long,
	to_hex(rencoder_timetz_key('12:00:01-08')) AS timetz, to_hex(rencoder_char_key('a')) AS char,
	to_hex(rencoder_tid_key('(1,2)')) AS tid, to_hex(rencoder_bit_key(B'101')) AS bit,
	to_hex(rencoder_varbit_key(repeat('1', 80)::varbit)) AS varbit;
SELECT rencoder_interval_key('53375994 days') + 1
		= rencoder_interval_key('53375994 days 00:00:00.000001') AS interval_exact,
	rencoder_timetz_key('12:00+00') < rencoder_timetz_key('11:00-01') AS zone_decides,
	rencoder_varbit_key(repeat('0', 57)::varbit) < rencoder_varbit_key(repeat('0', 58)::varbit)
		AS length_decides;

--
-- Keys of strings depend on what the index has learnt, and are seen as the least and the greatest
-- one of runs only.  Rows in order, a page for each or many to a page, in 45 runs: then these
-- must be in order, and equal strings must have equal
-- keys.  "learnt": the index is built on the rows; else on none, and the rows are
-- indexed later.
--
CREATE FUNCTION check_string_order(type text, n int, width int, learnt bool, resolution float8)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	pages bigint;
	coll text := CASE type WHEN 'bytea' THEN '' ELSE 'COLLATE "C"' END;
	rows text;
	seed text := current_setting('opclass_order.seed');
	what text := format('%s, %s, %s', type, CASE WHEN n < 10000 THEN 'one by one' ELSE 'many' END,
		CASE WHEN learnt THEN 'learnt' ELSE 'learnt as it grew' END);
BEGIN
	rows := format('SELECT v %5$s AS v, repeat(''x'', %1$s) AS filler FROM (
		SELECT (%2$s)::%3$s AS v FROM generate_series(1, %4$s)
		UNION ALL SELECT unnest(value_edges(%3$L))::%3$s) q ORDER BY v %5$s', width,
			value_random(type), type, n, coll);
	-- INSERT may fill up a page further back, unless a row takes more than half of one.
	EXECUTE format('CREATE TABLE o AS %s %s', rows,
		CASE WHEN width > 4000 THEN 'LIMIT 0' ELSE '' END);
	ALTER TABLE o ALTER filler SET STORAGE plain;
	CREATE INDEX o_v ON o USING rencoder (v) WITH (pages_per_range = 1);
	IF width > 4000 THEN
		EXECUTE 'INSERT INTO o ' || rows;
	END IF;
	IF learnt THEN
		REINDEX INDEX o_v;
	ELSE
		PERFORM rencoder_maintain_index('o_v');
	END IF;
	pages := pg_relation_size('o') / current_setting('block_size')::int;
	FOR i IN 0 .. 44 LOOP
		PERFORM rencoder_compact('o_v', pages * i / 45, pages * (i + 1) / 45);
	END LOOP;
	CREATE TEMP TABLE bounds AS SELECT from_page, min_key, max_key,
			lag(max_key) OVER (ORDER BY from_page) AS max_before
		FROM rencoder_runs('o_v');
	FOR r IN SELECT * FROM bounds WHERE min_key COLLATE "C" < max_before COLLATE "C"
		OR min_key COLLATE "C" > max_key COLLATE "C" LIMIT 3 LOOP
		RAISE WARNING '%: the run from page % has keys % .. %, the one before up to %, seed %',
			what, r.from_page, r.min_key, r.max_key, r.max_before, seed;
	END LOOP;
	-- The first row of each run and the last of the one before.
	CREATE TEMP TABLE ends AS SELECT page, v, v0 FROM (
		SELECT (ctid::text::point)[0]::int AS page, v, lag(v) OVER (ORDER BY ctid) AS v0,
			(ctid::text::point)[1] = 1 AS first FROM o) s
		WHERE first AND page IN (SELECT from_page FROM bounds);
	IF EXISTS (SELECT FROM ends WHERE v < v0) THEN
		RAISE WARNING '%: rows are not in order', what;
	END IF;
	FOR r IN SELECT e.* FROM ends e JOIN bounds ON from_page = page WHERE v = v0
		AND min_key <> max_before LIMIT 3 LOOP
		RAISE WARNING '%: page % and the one before share %, but no key, seed %', what, r.page, r.v,
			seed;
	END LOOP;
	SELECT count(DISTINCT v) AS values, count(DISTINCT min_key) AS keys INTO r FROM ends
		JOIN bounds ON from_page = page;
	IF r.keys < resolution * r.values THEN
		RAISE WARNING '%: % values have only % keys, seed %', what, r.values, r.keys, seed;
	END IF;
	DROP TABLE o, bounds, ends;
	RETURN what || CASE WHEN r.values > 35 THEN ' checked' ELSE ' has few values' END;
END $$;
SELECT check_string_order(type, 2000, 4100, true, 0.65)
FROM unnest('{text,varchar,bpchar,name,bytea}'::text[]) type;
SELECT check_string_order(type, 1500, 4100, false, 0.3)
FROM unnest('{text,varchar,bpchar,name,bytea}'::text[]) type;
SELECT check_string_order(type, 100000, 250, true, 0.5)
FROM unnest('{text,varchar,bpchar,name,bytea}'::text[]) type;

--
-- Spans, zones, bytes and bits.
--
SELECT check_order(type, type_query(type), resolution)
FROM (VALUES ('timetz', 1), ('interval', 0.9), ('"char"', 1), ('tid', 1), ('bit(70)', 0.5),
	('varbit', 0.7)) t (type, resolution);
-- Bytes that no text has; zones that cannot be typed.
SELECT count(*) AS wrong_order
FROM (SELECT v, rencoder_char_key(v) AS key, row_number() OVER (ORDER BY v) - 1 AS place
	FROM (SELECT i::"char" AS v FROM generate_series(-128, 127) i) c) c
WHERE key <> place;
SELECT check_order('zones', $$SELECT v, rencoder_timetz_key(v) AS key FROM (
	SELECT timezone(make_interval(hours => value_int(44)::int, secs => value_int(48)::int),
		timetz '12:00+00' + value_int(26) * interval '1 microsecond') AS v
	FROM generate_series(1, 100000)) q OFFSET 0$$, 0.5);

SET client_min_messages = error;
DROP SCHEMA opclass_order CASCADE;
