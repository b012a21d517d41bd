-- Strict and closed bounds at every edge value of types whose keys are exact, and bounds that are
-- compared by the session's time zone: what the index finds against a sequential scan.
\getenv abs_srcdir PG_ABS_SRCDIR
\getenv seed RENCODER_SEED
\set compare :abs_srcdir '/sql/include/compare.sql'
\set pages_of :abs_srcdir '/sql/include/pages_of.sql'
SET client_min_messages = warning;
SET timezone = 'UTC';
SET DateStyle = 'ISO';
SET max_parallel_workers_per_gather = 0;
SET rencoder.sample_rate = 0;
\i :compare
\i :pages_of

-- A row for each value, in no order, seven rows a page, and one with each neighbour on its page.
CREATE FUNCTION fill_t(type text, vals text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS t;
	EXECUTE format('CREATE TABLE t (id int, v %s, filler text) '
		'WITH (autovacuum_enabled = off)', type);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	EXECUTE format('INSERT INTO t SELECT row_number() OVER (ORDER BY md5(i || v || n)), v::%s,
		repeat(''x'', 1000) FROM unnest($1) WITH ORDINALITY u (v, i), generate_series(1, 2) n
		UNION ALL SELECT 1000 + i, NULL, repeat(''x'', 1000) FROM generate_series(1, 20) i', type)
		USING vals;
END $$;

-- Each operator with each bound; the number of comparisons, and of those that differ.
CREATE FUNCTION compare_bounds(kind text, bounds text[], OUT compared bigint, OUT wrong bigint,
	OUT unused bigint) LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE NOT index_finds(rows_of(c, false), c)),
		count(*) FILTER (WHERE NOT uses_index(c))
	FROM unnest(bounds) b, unnest('{<,<=,=,>=,>}'::text[]) op,
		format('v %s %L::%s', op, b, kind) c
$$;

CREATE TABLE kinds (kind text, type text, vals text[]);
INSERT INTO kinds VALUES
	('int2', 'int2', '{-32768,-32767,-1,0,1,2,32766,32767}'),
	('int4', 'int4', '{-2147483648,-2147483647,-1,0,1,2,2147483646,2147483647}'),
	('int8', 'int8', '{-9223372036854775808,-9223372036854775807,-2147483649,-2147483648,-32769,
		-1,0,1,2,32768,2147483647,2147483648,9223372036854775806,9223372036854775807}'),
	('oid', 'oid', '{0,1,2,2147483647,2147483648,4294967294,4294967295}'),
	('date', 'date', '{-infinity,4714-11-24 BC,4714-11-25 BC,1999-12-31,2000-01-01,2000-01-02,
		294276-12-31,294277-01-01,294277-01-02,5874897-12-30,5874897-12-31,infinity}'),
	('timestamp', 'timestamp', '{-infinity,4714-11-24 00:00:00 BC,4714-11-24 00:00:00.000001 BC,
		1999-12-31 23:59:59.999999,2000-01-01 00:00:00,2000-01-01 00:00:00.000001,
		2000-01-01 12:00:00,2000-01-02 00:00:00,294276-12-31 23:59:59.999999,infinity}'),
	('timestamptz', 'timestamptz', '{-infinity,4714-11-24 00:00:00+00 BC,
		4714-11-24 00:00:00.000001+00 BC,1999-12-31 23:59:59.999999+00,2000-01-01 00:00:00+00,
		2000-01-01 00:00:00.000001+00,294276-12-31 23:59:59.999999+00,infinity}'),
	('float4', 'float4', '{-Infinity,-3.4028235e38,-1.1754944e-38,-1e-45,-1,-0,0,1e-45,1,1.0000001,
		3.4028235e38,Infinity,NaN}'),
	('float8', 'float8', '{-Infinity,-1.7976931348623157e308,-5e-324,-1,-0,0,5e-324,1,1.00000001,
		1.0000000000000002,1.7976931348623157e308,Infinity,NaN}'),
	-- About the 16th and the 17th digit, and about the exponents 255 and -256.
	('numeric', 'numeric', '{-Infinity,-1e300,-1,-1e-300,0,1e-300,0.1,1,1.0000000000000000000001,
		1e300,Infinity,NaN,
		1.000000000000000,1.000000000000001,1.0000000000000001,1.0000000000000002,
		1.00000000000000100000000000000000000001,1.000000000000002,9.999999999999999,
		9.9999999999999991,10,12345678.12345678,12345678.123456780001,12345678.123456781,
		-1.000000000000001,-1.0000000000000011,-1.000000000000002,
		1e-256,1.000000000000001e-256,9.99e-257,-9.99e-257,-1e-256,-1.000000000000001e-256,
		9.999999999999998e255,9.999999999999999e255,9.9999999999999991e255,1e256,-1e256,
		-9.999999999999999e255,-9.999999999999998e255,1e5000,-1e5000}'),
	('time', 'time', '{00:00:00,00:00:00.000001,12:00:00,23:59:59.999999,24:00:00}'),
	('money', 'money', '{-92233720368547758.08,-92233720368547758.07,-0.01,0,0.01,
		92233720368547758.06,92233720368547758.07}'),
	('pg_lsn', 'pg_lsn', '{0/0,0/1,0/2,FFFFFFFF/FFFFFFFE,FFFFFFFF/FFFFFFFF}'),
	('xid8', 'xid8', '{0,1,2,18446744073709551614,18446744073709551615}'),
	('macaddr', 'macaddr',
		'{00:00:00:00:00:00,00:00:00:00:00:01,ff:ff:ff:ff:ff:fe,ff:ff:ff:ff:ff:ff}'),
	('macaddr8', 'macaddr8', '{00:00:00:00:00:00:00:00,00:00:00:00:00:00:00:01,
		ff:ff:ff:ff:ff:ff:ff:fe,ff:ff:ff:ff:ff:ff:ff:ff}'),
	('uuid', 'uuid', '{00000000-0000-0000-0000-000000000000,00000000-0000-0000-0000-000000000001,
		80000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-fffffffffffe,
		ffffffff-ffff-ffff-ffff-ffffffffffff}'),
	('inet', 'inet', '{0.0.0.0/0,0.0.0.0,0.0.0.1,10.0.0.0/8,10.0.0.1/8,255.255.255.255,::/0,::,::1,
		ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff}'),
	('text', 'text COLLATE "C"', E'{"",a,aa,ab,b,\u00e4}'),
	('"char"', '"char"', ARRAY['', ' ', '0', 'A', 'a', chr(1), chr(126), chr(127)]),
	('tid', 'tid',
		'{"(0,0)","(0,1)","(0,65535)","(1,0)","(4294967295,65534)","(4294967295,65535)"}'),
	('timetz', 'timetz', '{00:00+15:59:59,24:00-15:59:59,12:00+00,11:00-01,13:00+01,
		12:00:00.000001+00,11:59:59.999999+00}'),
	('interval', 'interval', '{0,1 mon,30 days,720:00:00,00:00:00.000001,-00:00:00.000001,
		53375994 days 23:59:59.999999,53375995 days,53375995 days 00:00:00.000001,
		-53375995 days,-53375995 days -00:00:00.000001}'),
	('"bit"', 'bit(3)', '{000,001,010,111}'),
	('varbit', 'varbit', ARRAY['', '0', '00', '01', '1', repeat('0', 58), repeat('0', 59),
		repeat('0', 60), repeat('0', 58) || '1', repeat('1', 58), repeat('1', 59),
		repeat('1', 64)]),
	('bytea', 'bytea', '{"",\\x00,\\x0000,\\x01,\\xff,\\xffff}');

-- Bounds of which types are compared with a column of a type: its own, and others of its family.
CREATE FUNCTION compare_kind(k kinds, storage text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	other kinds;
	found record;
	n bigint := 0;
	wrong bigint := 0;
	unused bigint := 0;
BEGIN
	PERFORM fill_t(k.type, k.vals);
	EXECUTE format('CREATE INDEX ON t USING rencoder (v) WITH (pages_per_range = 1, storage = %s, '
		'autosummarize = off)', storage);
	-- Later rows, too.
	EXECUTE 'INSERT INTO t SELECT 2000 + id, v, filler FROM t WHERE id % 3 = 0';
	FOR other IN SELECT * FROM kinds WHERE kind IN (SELECT format_type(amoprighttype, NULL)
			FROM pg_amop JOIN pg_opfamily f ON f.oid = amopfamily JOIN pg_am a ON a.oid = opfmethod
			WHERE amname = 'rencoder' AND amopstrategy = 1 AND amoplefttype = k.kind::regtype)
		OR kind::regtype IN (SELECT amoprighttype
			FROM pg_amop JOIN pg_opfamily f ON f.oid = amopfamily JOIN pg_am a ON a.oid = opfmethod
			WHERE amname = 'rencoder' AND amopstrategy = 1 AND amoplefttype = k.kind::regtype)
		ORDER BY kind LOOP
		SELECT * INTO found FROM compare_bounds(other.kind, other.vals);
		n := n + found.compared;
		wrong := wrong + found.wrong;
		unused := unused + found.unused;
	END LOOP;
	RETURN format('%s compared, %s wrong, %s without the index', n, wrong, unused);
END $$;
SELECT kind, storage, compare_kind(k, storage)
FROM kinds k, unnest('{run,filter}'::text[]) storage ORDER BY 1, 2;

-- A strict bound visits the pages that the next value visits.
SELECT fill_t('int4', (SELECT array_agg((CASE WHEN i % 50 = 0 THEN i ELSE 0 END)::text)
	FROM generate_series(1, 2000) i));
CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 1, storage = run);
SELECT c, pages_of(c)
FROM unnest('{v > 0,v >= 1,v < 0,v <= -1,v > 2147483647,v < -2147483648}'::text[]) c;
SELECT index_finds(rows_of(c, false), c)
FROM unnest('{v > 0,v >= 1,v < 0,v <= -1,v > 50 AND v < 100,v IN (0\,50) AND v > 0}'::text[])
	AS c;

-- Where 98 of 100 rows have one value, a strict bound at it reads the pages of the others only.
CREATE FUNCTION pages_beside(type text, heavy text, others text[], conditions text[])
	RETURNS TABLE (condition text, pages bigint, others_have bigint, finds boolean)
	LANGUAGE plpgsql AS $$
BEGIN
	PERFORM fill_t(type, array(SELECT CASE WHEN i % 50 = 0
		THEN others[i / 50 % cardinality(others) + 1] ELSE heavy END
		FROM generate_series(1, 2000) i));
	CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 1, storage = run);
	EXECUTE format('SELECT count(DISTINCT (ctid::text::point)[0]) FROM t WHERE v <> %L', heavy)
		INTO others_have;
	RETURN QUERY SELECT c, pages_of(c), others_have, index_finds(rows_of(c, false), c)
		FROM unnest(conditions) c;
END $$;
SELECT * FROM pages_beside('interval', '00:00:00', array(SELECT i || ' us'
	FROM generate_series(50, 2000, 50) i), '{v > ''0'',v < ''0'',v > ''1999 us''}');
SELECT * FROM pages_beside('numeric', '0', array(SELECT (i / 100.0)::text
	FROM generate_series(1, 40) i), '{v > 0,v >= 0.01,v < 0,v > 0.40}');
SELECT * FROM pages_beside('numeric', '-12.5', array(SELECT (i - 12.5)::text
	FROM generate_series(1, 40) i), '{v > -12.5,v < -12.5,v > -12.50000000000000001}');

--
-- Time zones.  Bounds and values about each change of a zone's offset in some spans of time.
--
CREATE TABLE zones (zone text, since timestamp, till timestamp);
INSERT INTO zones VALUES
	('UTC', '2026-03-29', '2026-03-30'),
	('Europe/Berlin', '2026-03-01', '2026-11-01'),
	('America/New_York', '2026-03-01', '2026-11-30'),
	('America/St_Johns', '1987-10-01', '1989-01-01'),
	('Australia/Lord_Howe', '2026-03-01', '2026-11-01'),
	('Asia/Kathmandu', '1985-12-30', '1986-01-03'),
	('Pacific/Apia', '2011-09-20', '2012-04-10'),
	('Asia/Manila', '1844-12-20', '1845-01-10'),
	('Africa/Casablanca', '2026-02-01', '2026-04-01'),
	('Europe/Amsterdam', '1937-05-01', '1940-06-01'),
	('<-150>150', '2026-01-01', '2026-01-02'),
	('AAA+167BBB-167,M1.1.0,M2.1.0', '2026-01-01', '2026-03-01');
-- Moments at which the offset changes (by the hour), or the first, each with others around it.
CREATE FUNCTION moments_of(z zones) RETURNS SETOF timestamptz LANGUAGE sql AS $$
	WITH hours AS (
		SELECT m, (m AT TIME ZONE z.zone) - (m AT TIME ZONE 'UTC') AS shift
		FROM generate_series(z.since AT TIME ZONE 'UTC', z.till AT TIME ZONE 'UTC', '1 hour') m
	), changes AS (
		SELECT m, shift IS DISTINCT FROM lag(shift) OVER (ORDER BY m) AS changed FROM hours
	)
	SELECT m + d FROM changes, unnest('{-25 hours,-24 hours,-3661 seconds,-1 hour,-30 minutes,
		-1 microsecond,0,1 microsecond,1 second,30 minutes,59 minutes,1 hour,2 hours,24 hours,
		7 days 12:34:56}'::interval[]) d
	WHERE changed ORDER BY m LIMIT 60
$$;
-- As a literal; in UTC where it has a zone, since not all offsets can be written.
CREATE FUNCTION literal_of(m timestamptz, kind text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE kind WHEN 'timestamptz' THEN (m AT TIME ZONE 'UTC')::text || '+00'
		WHEN 'timestamp' THEN m::timestamp::text ELSE m::date::text END
$$;
CREATE FUNCTION compare_zone(z zones, kind text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	moments timestamptz[] := array(SELECT moments_of(z));
	found record;
	n bigint := 0;
	wrong bigint := 0;
	other text;
BEGIN
	PERFORM set_config('timezone', z.zone, true);
	PERFORM fill_t(kind, array(SELECT literal_of(m + d, kind) FROM unnest(moments) m,
			unnest('{-24 hours,-1 hour,0,30 minutes,24 hours}'::interval[]) d
		UNION SELECT literal_of(m::date::timestamp::timestamptz, kind) FROM unnest(moments) m
		UNION SELECT unnest('{-infinity,infinity}'::text[])));
	CREATE INDEX ON t USING rencoder (v) WITH (pages_per_range = 1, storage = run);
	FOREACH other IN ARRAY '{date,timestamp,timestamptz}'::text[] LOOP
		SELECT * INTO found FROM compare_bounds(other, array(
			SELECT literal_of(m, other) FROM unnest(moments) m
			UNION SELECT unnest('{-infinity,infinity}'::text[])));
		n := n + found.compared;
		wrong := wrong + found.wrong + found.unused;
	END LOOP;
	RETURN format('%s wrong%s', wrong, CASE WHEN n < 200 THEN ', few compared' ELSE '' END);
END $$;
SELECT zone, kind, compare_zone(z, kind)
FROM zones z, unnest('{date,timestamp,timestamptz}'::text[]) kind ORDER BY 1, 2;

-- Bounds of another type visit few pages, too.
SET timezone = 'Europe/Berlin';
CREATE TABLE zoned AS SELECT timestamp '2026-01-01' + i * interval '31 seconds' AS local,
	timestamptz '2026-01-01' + i * interval '31 seconds' AS moment, repeat('x', 150) AS filler
FROM (SELECT i * 7919 % 100000 AS i FROM generate_series(1, 100000) i) x;
CREATE INDEX zoned_local ON zoned USING rencoder (local);
CREATE INDEX zoned_moment ON zoned USING rencoder (moment);
SELECT c, pages_of(c, 'zoned') BETWEEN 10 AND 16 AS few FROM (VALUES
	('local >= timestamptz ''2026-01-15 12:00+01'' '
		'AND local < timestamptz ''2026-01-15 12:05+01'''),
	('moment >= timestamp ''2026-01-15 12:00'' AND moment < timestamp ''2026-01-15 12:05'''),
	('moment >= date ''2026-01-15'' AND moment < timestamp ''2026-01-15 00:05''')) x (c);

DROP TABLE t, kinds, zones, zoned CASCADE;
DROP FUNCTION fill_t, compare_bounds, pages_beside, literal_of, rows_of, index_finds, uses_index,
	pages_of;
