-- Every type: NULL, ends of the type, duplicates, constants and parameters of
-- other types.  Each query runs with the index and without; what is printed is
-- the number of rows with it, and a complaint if the other way finds others.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET datestyle = 'ISO, YMD';
SET timezone = 'UTC';

CREATE FUNCTION ty_count(query text, OUT rows bigint, OUT verdict text) LANGUAGE plpgsql AS $$
DECLARE
	without bigint;
	line text;
BEGIN
	verdict := 'ok';			-- nothing is scanned if the planner sees NULL
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = off;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Bitmap Index Scan on ty_' THEN
			verdict := 'ok';
		ELSIF line ~ 'Seq Scan' THEN
			verdict := 'index not used';
		END IF;
	END LOOP;
	EXECUTE query INTO rows;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE query INTO without;
	IF rows <> without THEN
		verdict := format('WRONG: sequential scan finds %s', without);
	END IF;
	SET LOCAL enable_bitmapscan = on;
END $$;

-- Runs "SELECT count(*) FROM tab WHERE column op value" for all operators.
CREATE FUNCTION ty_operators(tab text, VARIADIC vals text[])
RETURNS TABLE (value text, "<" text, "<=" text, "=" text, ">=" text, ">" text)
	LANGUAGE plpgsql AS $$
DECLARE
	op text;
	r record;
	results text[];
BEGIN
	FOREACH value IN ARRAY vals LOOP
		results := '{}';
		FOREACH op IN ARRAY '{<,<=,=,>=,>}'::text[] LOOP
			r := ty_count(format('SELECT count(*) FROM %s WHERE v %s %s', tab, op, value));
			results := results || CASE r.verdict WHEN 'ok' THEN r.rows::text ELSE r.rows || ' '
				|| r.verdict END;
		END LOOP;
		RETURN QUERY SELECT value, results[1], results[2], results[3], results[4], results[5];
	END LOOP;
END $$;

-- Each value ten times on pages of their own, NULLs on others and between.
CREATE FUNCTION ty_table(typ text, vals text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	tab text := 'ty_' || typ;
BEGIN
	EXECUTE format('CREATE TABLE %I (id int, v %s, filler text)', tab, typ);
	EXECUTE format('ALTER TABLE %I ALTER filler SET STORAGE plain', tab);
	EXECUTE format('INSERT INTO %I SELECT n, v, repeat(''x'', 1900)
		FROM (SELECT n, v FROM unnest(%L::%s[]) WITH ORDINALITY v(v, n)
			  UNION ALL SELECT 1000, NULL UNION ALL SELECT 3, NULL) v, generate_series(1, 10)
		ORDER BY n', tab, vals, typ);
	EXECUTE format('CREATE INDEX %I ON %I USING rencoder (v)
		WITH (pages_per_range = 1)', tab
		|| '_v', tab);
	RETURN format('%s pages', (SELECT frontier FROM rencoder_metapage((tab || '_v')::regclass)));
END $$;

--
-- Integers
--
SELECT ty_table('int2', '{-32768,-32767,-1,0,1,100,32766,32767}');
SELECT * FROM ty_operators('ty_int2', '(-32768)::int2', '0::int2', '32767::int2', 'NULL::int2',
	'(-32769)::int4', '(-32768)::int4', '0::int4', '32767::int4', '32768::int4',
	'(-2147483648)::int4',
	'(-9223372036854775808)::int8', '100::int8', '9223372036854775807::int8', '32768::int8');

SELECT ty_table('int4', '{-2147483648,-2147483647,-32769,-1,0,1,100,65536,2147483646,2147483647}');
SELECT * FROM ty_operators('ty_int4', '(-2147483648)', '0', '2147483647', 'NULL::int4',
	'(-32768)::int2', '100::int2', '32767::int2',
	'(-2147483649)::int8', '(-9223372036854775808)::int8', '65536::int8', '2147483648::int8',
	'9223372036854775807::int8');

SELECT ty_table('int8',
	'{-9223372036854775808,-9223372036854775807,-4294967296,-1,0,1,100,4294967296,'
		'9223372036854775806,9223372036854775807}');
SELECT * FROM ty_operators('ty_int8', '(-9223372036854775808)::int8', '0::int8',
	'9223372036854775807::int8', 'NULL::int8',
	'(-32768)::int2', '100::int2', '(-2147483648)::int4', '100::int4', '2147483647::int4',
	'9223372036854775806::int8');

SELECT ty_table('oid', '{0,1,16384,2147483647,2147483648,4294967294,4294967295}');
SELECT * FROM ty_operators('ty_oid', '0::oid', '16384::oid', '2147483648::oid', '4294967295::oid',
	'16384', 'NULL::oid');

--
-- Dates and timestamps.  Those without zone are compared with those with one
-- as local time, so that results depend on the setting.
--
SELECT ty_table('date',
	'{-infinity,4713-01-01 BC,1970-01-01,1999-12-31,2000-01-01,2024-02-29,294276-12-31,'
		'294277-01-01,5874897-12-31,infinity}');
SELECT * FROM ty_operators('ty_date', $$'-infinity'::date$$, $$'4713-01-01 BC'::date$$,
	$$'2000-01-01'::date$$, $$'5874897-12-31'::date$$, $$'infinity'::date$$, 'NULL::date');
SELECT * FROM ty_operators('ty_date', $$'-infinity'::timestamp$$, $$'1999-12-31 12:00'::timestamp$$,
	$$'2000-01-01'::timestamp$$, $$'294276-12-31 23:59:59.999999'::timestamp$$,
	$$'infinity'::timestamp$$);
SELECT * FROM ty_operators('ty_date', $$'-infinity'::timestamptz$$,
	$$'1999-12-31 12:00Z'::timestamptz$$, $$'2000-01-01 00:00Z'::timestamptz$$,
	$$'294276-12-31 23:59:59.999999Z'::timestamptz$$, $$'infinity'::timestamptz$$);

SELECT ty_table('timestamp',
	'{-infinity,4713-01-01 00:00 BC,1970-01-01,1999-12-31 23:59:59.999999,2000-01-01,'
		'2024-02-29 12:00:00,294276-12-31 23:59:59.999999,infinity}');
SELECT * FROM ty_operators('ty_timestamp', $$'-infinity'::timestamp$$,
	$$'4713-01-01 BC'::timestamp$$, $$'2000-01-01'::timestamp$$,
	$$'294276-12-31 23:59:59.999999'::timestamp$$, $$'infinity'::timestamp$$, 'NULL::timestamp');
SELECT * FROM ty_operators('ty_timestamp', $$'-infinity'::date$$, $$'2000-01-01'::date$$,
	$$'294277-01-01'::date$$, $$'5874897-12-31'::date$$, $$'infinity'::date$$);
SELECT * FROM ty_operators('ty_timestamp', $$'-infinity'::timestamptz$$,
	$$'1999-12-31 23:59:59.999999Z'::timestamptz$$, $$'2000-01-01 00:00Z'::timestamptz$$,
	$$'294276-12-31 23:59:59.999999Z'::timestamptz$$, $$'infinity'::timestamptz$$);

SELECT ty_table('timestamptz',
	'{-infinity,4713-01-01 00:00Z BC,1970-01-01 00:00Z,1999-12-31 23:59:59.999999Z,'
		'2000-01-01 00:00Z,2024-02-29 12:00:00Z,294276-12-31 23:59:59.999999Z,infinity}');
SELECT * FROM ty_operators('ty_timestamptz', $$'-infinity'::timestamptz$$,
	$$'4713-01-01 00:00Z BC'::timestamptz$$, $$'2000-01-01 00:00Z'::timestamptz$$,
	$$'294276-12-31 23:59:59.999999Z'::timestamptz$$, $$'infinity'::timestamptz$$,
	'NULL::timestamptz');
SELECT * FROM ty_operators('ty_timestamptz', $$'-infinity'::date$$, $$'2000-01-01'::date$$,
	$$'294277-01-01'::date$$, $$'infinity'::date$$);
SELECT * FROM ty_operators('ty_timestamptz', $$'-infinity'::timestamp$$,
	$$'2000-01-01'::timestamp$$, $$'infinity'::timestamp$$);

-- Other zones, as far from UTC as can be.
SET timezone = 'Pacific/Kiritimati';
SELECT * FROM ty_operators('ty_date', $$'1999-12-31 10:00Z'::timestamptz$$,
	$$'1999-12-31 10:00:00.000001Z'::timestamptz$$,
	$$'294276-12-31 23:59:59.999999Z'::timestamptz$$);
SELECT * FROM ty_operators('ty_timestamp', $$'1999-12-31 10:00Z'::timestamptz$$);
SELECT * FROM ty_operators('ty_timestamptz', $$'2000-01-01 14:00'::timestamp$$,
	$$'2000-01-02'::date$$);
SET timezone = '<-150>150';
SELECT * FROM ty_operators('ty_date', $$'2000-01-07 06:00Z'::timestamptz$$);
SELECT * FROM ty_operators('ty_timestamp', $$'2000-01-07 06:00Z'::timestamptz$$);
SELECT * FROM ty_operators('ty_timestamptz', $$'1999-12-25 18:00'::timestamp$$);
SET timezone = '<+150>-150';
SELECT * FROM ty_operators('ty_date', $$'1999-12-25 18:00Z'::timestamptz$$);
SELECT * FROM ty_operators('ty_timestamptz', $$'2000-01-07 06:00'::timestamp$$);
-- In summer it is an hour more: a minute less than a week and an hour.
SET timezone = 'AAA-167:59BBB';
INSERT INTO ty_date (id, v) VALUES (0, '2000-07-01');
INSERT INTO ty_timestamp (id, v) VALUES (0, '2000-07-01 00:00');
INSERT INTO ty_timestamptz (id, v) VALUES (0, '2000-06-23 23:01Z');
SELECT * FROM ty_operators('ty_date', $$'1999-12-25 00:01Z'::timestamptz$$,
	$$'2000-06-23 23:01Z'::timestamptz$$);
SELECT * FROM ty_operators('ty_timestamp', $$'1999-12-25 00:01Z'::timestamptz$$,
	$$'2000-06-23 23:01Z'::timestamptz$$);
SELECT * FROM ty_operators('ty_timestamptz', $$'2000-01-07 23:59'::timestamp$$,
	$$'2000-07-01 00:00'::timestamp$$, $$'2000-07-01'::date$$);
DELETE FROM ty_date WHERE v = '2000-07-01';
DELETE FROM ty_timestamp WHERE v = '2000-07-01 00:00';
DELETE FROM ty_timestamptz WHERE v = '2000-06-23 23:01Z';
SET timezone = 'UTC';

--
-- Intervals, contradictions, lists, NULL tests.
--
SELECT predicate, (ty_count('SELECT count(*) FROM ty_int4 WHERE ' || predicate)).*
FROM unnest(ARRAY[
	'v BETWEEN -1 AND 1', 'v > -1 AND v < 1', 'v >= -1 AND v < 0', 'v > 0 AND v <= 1',
	'v BETWEEN 1 AND -1', 'v > 5 AND v < 3', 'v = 1 AND v = 2', 'v = 1 AND v > 1',
	'v < 1 AND v > 0',
	'v = 1 AND v >= 1::int8 AND v <= 1::int2', 'v BETWEEN SYMMETRIC 1 AND -1',
	'v IN (1, 100, 7, NULL)', 'v IN (1::int8, 2147483648)', 'v = ANY (''{}'')',
	'v = ANY (NULL::int[])',
	'v > ALL (''{0,1}'')', 'v < ANY (''{-1,0}'')',
	'v IS NULL', 'v IS NOT NULL', 'v IS NULL AND v IS NOT NULL', 'v IS NULL AND v = 1',
	'v IS NOT NULL AND v = 1',
	'v = 1 OR v = 100', 'v = 1 OR v IS NULL', 'v < -2147483647 OR v > 2147483646',
	'v - 1 = 0 AND v > 0', '1 = v', '100 >= v AND 0 < v', 'v = (SELECT 1)',
	'v >= (SELECT max(v) FROM ty_int4)']) predicate;

-- Never for what an index cannot find.
SELECT predicate, (ty_count('SELECT count(*) FROM ty_int4 WHERE ' || predicate)).*
FROM unnest(ARRAY[
	'v <> 1', 'v NOT IN (1, 2)', 'v IS DISTINCT FROM 1', 'v IS NOT DISTINCT FROM 1', 'v % 2 = 1',
	'v = 1.5', 'v > 0.5::float8']) predicate;

--
-- Parameters: their values are not known to the planner.
--
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
PREPARE ty_eq(int8) AS SELECT count(*), min(v), max(v) FROM ty_int4 WHERE v = $1;
EXPLAIN (COSTS OFF) EXECUTE ty_eq(1);
EXECUTE ty_eq(1);
EXECUTE ty_eq(2147483648);
EXECUTE ty_eq(-9223372036854775808);
EXECUTE ty_eq(NULL);
PREPARE ty_between(int2, int8) AS SELECT count(*), min(v), max(v) FROM ty_int4 WHERE v > $1
	AND v <= $2;
EXPLAIN (COSTS OFF) EXECUTE ty_between(1, 2);
EXECUTE ty_between(-1, 9223372036854775807);
EXECUTE ty_between(-32768, 0);
EXECUTE ty_between(0, 0);
EXECUTE ty_between(1, -1);
EXECUTE ty_between(NULL, 1);
PREPARE ty_any(int[]) AS SELECT count(*), min(v), max(v) FROM ty_int4 WHERE v = ANY ($1);
EXPLAIN (COSTS OFF) EXECUTE ty_any('{1}');
EXECUTE ty_any('{1,100,NULL,1,5}');
EXECUTE ty_any('{}');
EXECUTE ty_any(NULL);
PREPARE ty_zone(timestamptz) AS SELECT count(*), min(v), max(v) FROM ty_date WHERE v <= $1
	AND v > '1980-01-01'::timestamp;
EXPLAIN (COSTS OFF) EXECUTE ty_zone('2000-01-01 00:00Z');
EXECUTE ty_zone('2000-01-01 00:00Z');
SET timezone = 'America/New_York';
EXECUTE ty_zone('2000-01-01 00:00Z');
SET timezone = 'UTC';
RESET plan_cache_mode;
DEALLOCATE ALL;

-- Stable expressions.
SELECT * FROM ty_operators('ty_timestamptz', 'now()', $$(now() - interval '1 day')$$);

--
-- Joins that scan the index again and again.
--
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
CREATE TABLE ty_values (a int8, b int8);
INSERT INTO ty_values VALUES (0, 1), (1, 0), (NULL, 5), (2, 2), (100, NULL), (-40000, -30000),
	(-2147483648, -2147483648), (0, 1000000), (3000000000, 4000000000);
EXPLAIN (COSTS OFF) SELECT p.a, t.v FROM generate_series(0::int8, 2) p(a)
	LEFT JOIN ty_int4 t ON t.v = p.a;
SELECT p.a, count(t.v) FROM ty_values p LEFT JOIN ty_int4 t ON t.v = p.a GROUP BY 1 ORDER BY 1;
SELECT p.a, p.b, count(t.v) FROM ty_values p LEFT JOIN ty_int4 t ON t.v BETWEEN p.a AND p.b
GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) FROM ty_int4 a JOIN ty_int8 b ON a.v = b.v;
SELECT count(*) FROM ty_date a JOIN ty_timestamptz b ON b.v = a.v;
-- A cursor that is read back and forth.
BEGIN;
DECLARE ty_cursor SCROLL CURSOR FOR SELECT v FROM ty_int2 WHERE v BETWEEN 1 AND 100;
FETCH 11 FROM ty_cursor;
MOVE BACKWARD ALL FROM ty_cursor;
FETCH 1 FROM ty_cursor;
COMMIT;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;

--
-- Domains, expressions, partial indexes, several columns.
--
CREATE DOMAIN ty_positive AS int4 CHECK (value > 0);
CREATE DOMAIN ty_small AS ty_positive CHECK (value < 1000);
CREATE TABLE ty_more (d ty_small, w int8, t timestamp, filler text);
ALTER TABLE ty_more ALTER filler SET STORAGE plain;
INSERT INTO ty_more SELECT 1 + i % 7, nullif(i, 50), '2024-01-01'::timestamp + i * interval '1 h',
	repeat('x', 1900)
FROM generate_series(1, 400) i;
CREATE INDEX ty_domain ON ty_more USING rencoder (d) WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF) SELECT count(*) FROM ty_more WHERE d = 5;
SELECT * FROM ty_count('SELECT count(*) FROM ty_more WHERE d = 5');
SELECT * FROM ty_count('SELECT count(*) FROM ty_more WHERE d > 6::int8');
SELECT * FROM ty_count('SELECT count(*) FROM ty_more WHERE d = 5::ty_small');
DROP INDEX ty_domain;

CREATE INDEX ty_expression ON ty_more USING rencoder ((w % 100), (t::date))
	WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF) SELECT count(*) FROM ty_more WHERE w % 100 = 7 AND t::date <= '2024-01-10';
SELECT *
FROM ty_count('SELECT count(*) FROM ty_more WHERE w % 100 = 7 AND t::date <= ''2024-01-10''');
SELECT * FROM ty_count('SELECT count(*) FROM ty_more WHERE t::date = ''2024-01-03''');
SELECT * FROM ty_count('SELECT count(*) FROM ty_more WHERE (w % 100) IS NULL');
INSERT INTO ty_more VALUES (1, 1007, '2024-01-03');
SELECT *
FROM ty_count('SELECT count(*) FROM ty_more WHERE w % 100 = 7 AND t::date <= ''2024-01-10''');
DROP INDEX ty_expression;

CREATE INDEX ty_partial ON ty_more USING rencoder (w)
	WITH (pages_per_range = 1) WHERE d = 3;
EXPLAIN (COSTS OFF) SELECT count(*) FROM ty_more WHERE w < 100 AND d = 3;
SELECT * FROM ty_count('SELECT count(*) FROM ty_more WHERE w < 100 AND d = 3');
SELECT * FROM ty_count('SELECT count(*) FROM ty_more WHERE d = 3');
SELECT * FROM ty_count('SELECT count(*) FROM ty_more WHERE w < 100');
UPDATE ty_more SET d = 3 WHERE w = 1;
SELECT * FROM ty_count('SELECT count(*) FROM ty_more WHERE w < 100 AND d = 3');
DROP INDEX ty_partial;

CREATE INDEX ty_columns ON ty_more USING rencoder (d, w, t)
	WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF) SELECT count(*) FROM ty_more WHERE d = 5 AND w < 100 AND t > '2024-01-02';
SELECT predicate, (ty_count('SELECT count(*) FROM ty_more WHERE ' || predicate)).*
FROM unnest(ARRAY[
	'd = 5 AND w < 100 AND t > ''2024-01-02''', 'w = 7', 't = ''2024-01-02 02:00''',
	'd = 5 AND t = ''2024-01-02 02:00''',
	'w IS NULL', 'w IS NULL AND d = 2', 'w IS NULL AND d = 3',
	'w IS NOT NULL AND t < ''2024-01-01 10:00''',
	'd = 5 AND w = 4 AND w = 5', 't < ''2024-01-02''::date AND w > 3::int2']) predicate;
DROP TABLE ty_more;

DROP TABLE ty_values, ty_int2, ty_int4, ty_int8, ty_oid, ty_date, ty_timestamp, ty_timestamptz;
DROP DOMAIN ty_small;
DROP DOMAIN ty_positive;
DROP FUNCTION ty_count, ty_operators, ty_table;
