-- Strict and closed bounds at edge values of every type that has an order, and bounds that are
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

-- A value as an expression; one after = is one already.
CREATE FUNCTION expression_of(val text, type text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN val LIKE '=%' THEN format('(%s)', substr(val, 2))
		ELSE format('%L::%s', val, type) END
$$;
-- Two rows for each value, in no order, seven rows a page.
CREATE FUNCTION fill_t(type text, vals text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS t;
	EXECUTE format('CREATE TABLE t (id int, v %s, filler text) '
		'WITH (autovacuum_enabled = off)', type);
	ALTER TABLE t ALTER filler SET STORAGE plain;
	EXECUTE 'INSERT INTO t SELECT row_number() OVER (ORDER BY md5(i || ''.'' || n)), v,
		repeat(''x'', 1000) FROM (VALUES ' || (SELECT string_agg(format('(%s, %s)', i,
			expression_of(v, type)), ', ') FROM unnest(vals) WITH ORDINALITY u (v, i)) ||
		') u (i, v), generate_series(1, 2) n
		UNION ALL SELECT 1000 + i, NULL, repeat(''x'', 1000) FROM generate_series(1, 20) i';
END $$;

-- Each operator with each bound; the number of comparisons, and of those that differ.
CREATE FUNCTION compare_bounds(type text, bounds text[], operators text[], OUT compared bigint,
	OUT wrong bigint, OUT unused bigint) LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE NOT index_finds(rows_of(c, false), c)),
		count(*) FILTER (WHERE NOT uses_index(c))
	FROM unnest(bounds) b, unnest(operators) op,
		format('v %s %s', op, expression_of(b, type)) c
$$;

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE mood ADD VALUE 'so so' BEFORE 'ok';

-- Of "kind", a type of operators: what the column is, values, and other bounds.
CREATE TABLE kinds (kind text, type text, vals text[], bounds text[] DEFAULT '{}');
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
		00000000-0000-0000-ffff-ffffffffffff,00000000-0000-0001-0000-000000000000,
		7fffffff-ffff-ffff-ffff-fffffffffffe,7fffffff-ffff-ffff-ffff-ffffffffffff,
		80000000-0000-0000-0000-000000000000,80000000-0000-0000-0000-000000000001,
		80000000-0000-0000-8000-000000000000,ffffffff-ffff-ffff-0000-000000000000,
		ffffffff-ffff-ffff-ffff-fffffffffffe,ffffffff-ffff-ffff-ffff-ffffffffffff}'),
	('inet', 'inet', '{0.0.0.0/0,0.0.0.0,0.0.0.1,10.0.0.0/8,10.0.0.1/8,255.255.255.255,
		0.0.0.1/0,0.0.0.127/0,0.0.0.128/0,255.255.255.255/0,255.255.255.128/0,128.0.0.0/6,
		128.0.0.1/6,128.0.0.2/6,131.255.255.253/6,131.255.255.254/6,131.255.255.255/6,
		130.0.0.0/7,130.0.0.1/7,130.0.0.2/7,131.255.255.254/7,131.255.255.255/7,
		::/0,::/1,::1/0,::,::1,8000::/1,8000::/2,8000::1/1,
		2001:db8::/31,2001:db8::/32,2001:db8::/33,2001:db8::1/32,2001:db8::1/64,2001:db8::,
		2001:db8::1,2001:db8:0:1::/63,2001:db8:0:1::/64,2001:db8:0:2::/62,2001:db8:0:2::/63,
		2001:db8:0:2::1/63,2001:db8:0:2::/64,2001:db8:0:3::/64,2001:db8:0:3:8000::/65,
		2001:db8:0:3:8000::,2001:db8:0:3:ffff:ffff:ffff:ffff,
		ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff}'),
	('inet', 'cidr', '{0.0.0.0/0,10.0.0.0/8,10.0.0.0/9,10.0.0.0/32,::/0,::/1,8000::/1,8000::/2}'),
	('mood', 'mood', '{sad,so so,ok,happy}'),
	('"char"', '"char"', ARRAY['', ' ', '0', 'A', 'a', chr(1), chr(126), chr(127)]),
	('tid', 'tid',
		'{"(0,0)","(0,1)","(0,65535)","(1,0)","(4294967295,65534)","(4294967295,65535)"}'),
	-- Zones behind 582 hours share keys.
	('timetz', 'timetz', ARRAY['00:00+15:59:59', '24:00-15:59:59', '12:00+00', '11:00-01',
		'13:00+01', '12:00:00.000001+00', '11:59:59.999999+00'] ||
		array(SELECT format('=timetz ''%s+00'' AT TIME ZONE interval ''%s''', t, z)
			FROM unnest('{00:00,12:00,24:00}'::text[]) t, unnest('{582:32:32,582:32:31,582:32:33,
				600:00,601:00,-582:32:31,-582:32:32,-582:32:33,-600:00,-601:00}'::text[]) z)),
	('interval', 'interval', '{0,1 mon,30 days,720:00:00,00:00:00.000001,-00:00:00.000001,
		53375994 days 23:59:59.999999,53375995 days,53375995 days 00:00:00.000001,
		-53375995 days,-53375995 days -00:00:00.000001,
		-2147483648 mons -2147483648 days -9223372036854775807 us,
		2147483647 mons 2147483647 days 9223372036854775806 us}'::text[] ||
		-- The ends of the order, which 17 gave names.
		CASE WHEN current_setting('server_version_num')::int >= 170000
		THEN '{-infinity,infinity}'::text[]
		ELSE '{-2147483648 mons -2147483648 days -9223372036854775808 us,
			2147483647 mons 2147483647 days 9223372036854775807 us}' END),
	('"bit"', 'bit(3)', '{000,001,010,111}'),
	('varbit', 'varbit', ARRAY['', '0', '00', '01', '1', repeat('0', 58), repeat('0', 59),
		repeat('0', 60), repeat('0', 58) || '1', repeat('1', 58), repeat('1', 59),
		repeat('1', 64)]);
INSERT INTO kinds VALUES
	-- Bytes that the values have and have not, about the greatest length that keys depend on.
	('text', 'text COLLATE "C"', ARRAY['', 'a', 'aa', 'ab', 'b', 'ä', 'abcdefghijklmnopqrstuvwxyz',
		'a ', 'a!', 'z', 'zz'] || array(SELECT 'b' || repeat('b', n) || c
			FROM unnest('{317,318,319,320}'::int[]) n, unnest('{a,b}'::text[]) c),
		ARRAY[E'\x01', E'a\x01', E'a\x1f', E'aa\x01', 'a"', 'a`', 'a{', 'abcdefghijklmnopqrstuvwxy',
		'B', 'y', E'z\x7f', chr(1114111), repeat('b', 317), repeat('b', 330),
		repeat(chr(1114111), 90)]),
	('text', 'varchar COLLATE "C"', array(SELECT 'https://example.com/' || i * 37 || repeat('p', i)
		FROM generate_series(1, 30) i) || ARRAY[E'\x01', E'https://example.com/37p\x01', ''],
		ARRAY['https://example.com/37', 'https://example.com/37o', 'https://example.com/37p ', 'h',
		'http', 'i', 'https://example.com', 'https://example.com/9']),
	('bpchar', 'bpchar COLLATE "C"', ARRAY['', ' ', 'a', 'a ', E'a\x01', E'a \x01', 'a b', 'aa',
		'b',
		repeat('b', 319), repeat('b', 320), repeat('b', 319) || ' b', repeat('b', 321)],
		ARRAY[E'\x01', E'a\x1f', E'a\x02', 'a!', '`', E'a \x02', repeat('b', 318) || 'c']),
	('name', 'name', '{"",a,aa,ab,b,postgres}', ARRAY[E'a\x01', '`', 'postgre', 'postgret']),
	('bytea', 'bytea', '{"",\\x00,\\x0000,\\x01,\\x0100,\\x61,\\x6100,\\x60ff,\\x60ffff,\\x62,
		\\xff,\\xff00,\\xffff}', '{\\x60,\\x6101,\\x02,\\x61ff,\\xfe,\\xfeff,\\xffffff}');

-- The operators of order that the access method has for two types.
CREATE FUNCTION operators_of(lefttype regtype, righttype regtype) RETURNS text[] LANGUAGE sql AS $$
	SELECT coalesce(array_agg(oprname::text ORDER BY amopstrategy), '{}')
	FROM pg_amop JOIN pg_operator o ON o.oid = amopopr JOIN pg_am a ON a.oid = amopmethod
	WHERE amname = 'rencoder' AND amoplefttype = lefttype AND amoprighttype = righttype
	AND (amopstrategy BETWEEN 1 AND 5 OR amopstrategy BETWEEN 13 AND 16)
$$;
CREATE FUNCTION class_type(kind text) RETURNS regtype LANGUAGE sql AS $$
	SELECT CASE WHEN typtype = 'e' THEN 'anyenum'::regtype ELSE oid END
	FROM pg_type WHERE oid = kind::regtype
$$;
-- All operator classes of types with an order should have values above.
SELECT opcname, opcintype::regtype FROM pg_opclass JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'rencoder' AND operators_of(opcintype, opcintype) <> '{}'
AND NOT EXISTS (SELECT FROM kinds WHERE class_type(kind) = opcintype);

-- A column, with its own values and those of all types that it is compared with.
CREATE FUNCTION compare_kind(k kinds, storage text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	other kinds;
	found record;
	operators text[];
	n bigint := 0;
	wrong bigint := 0;
	unused bigint := 0;
BEGIN
	PERFORM fill_t(k.type, k.vals);
	EXECUTE format('CREATE INDEX ON t USING rencoder (v) WITH (pages_per_range = 1, storage = %s, '
		'autosummarize = off)', storage);
	-- Later rows, too.
	EXECUTE 'INSERT INTO t SELECT 2000 + id, v, filler FROM t WHERE id % 3 = 0';
	FOR other IN SELECT * FROM kinds LOOP
		operators := operators_of(class_type(k.kind), class_type(other.kind));
		SELECT * INTO found FROM compare_bounds(other.kind, other.vals || other.bounds, operators);
		n := n + found.compared;
		wrong := wrong + found.wrong;
		unused := unused + found.unused;
	END LOOP;
	RETURN format('%s compared, %s wrong, %s without the index', n, wrong, unused);
END $$;
SELECT type, storage, compare_kind(k, storage)
FROM kinds k, unnest('{run}'::text[]) storage ORDER BY 1, 2;

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
SELECT * FROM pages_beside('inet', '10.0.0.1', array(SELECT '10.0.' || i || '.1'
	FROM generate_series(1, 40) i), '{v > ''10.0.0.1'',v < ''10.0.0.1''}');
SELECT * FROM pages_beside('text COLLATE "C"', '', array(SELECT chr(i + 80) || 'ame'
	FROM generate_series(1, 40) i), '{v > '''',v < ''''}');
SELECT * FROM pages_beside('text COLLATE "C"', 'heavy', array(SELECT chr(i + 80) || 'ame'
	FROM generate_series(1, 40) i), '{v > ''heavy'',v < ''heavy'',v ~>~ ''heavy''}');
SELECT * FROM pages_beside('char(20) COLLATE "C"', 'heavy', array(SELECT chr(i + 80) || 'ame'
	FROM generate_series(1, 40) i), '{v > ''heavy'',v < ''heavy''}');
SELECT * FROM pages_beside('varchar COLLATE "C"', 'https://example.com/heavy',
	array(SELECT 'https://example.com/' || i FROM generate_series(1, 40) i),
	'{v > ''https://example.com/heavy'',v < ''https://example.com/heavy''}');
SELECT * FROM pages_beside('bytea', '\x7f80', array(SELECT '\x' || to_hex(16 + i * 5) || '80ff'
	FROM generate_series(1, 40) i), '{v > ''\\x7f80'',v < ''\\x7f80''}');
-- Keys of uuid are its first half.
SELECT * FROM pages_beside('uuid', '00000000-0000-4000-8000-000000000000',
	array(SELECT lpad(to_hex(i * 6), 8, '0') || '-0000-4000-8000-000000000000'
	FROM generate_series(1, 40) i), ARRAY['v > ''00000000-0000-4000-8000-000000000000''',
	'v > ''00000000-0000-4000-ffff-ffffffffffff''',
	'v < ''00000000-0000-4000-0000-000000000000''']);

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
			UNION SELECT unnest('{-infinity,infinity}'::text[])), '{<,<=,=,>=,>}');
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
DROP TYPE mood;
DROP FUNCTION expression_of, fill_t, compare_bounds, operators_of, class_type, pages_beside,
	literal_of, rows_of, index_finds, uses_index, pages_of;
