-- Composite keys: whatever is asked of the columns of an index, a scan finds the rows that a
-- sequential scan finds.
\getenv abs_srcdir PG_ABS_SRCDIR
\set begin :abs_srcdir '/sql/include/begin.sql'
\i :begin
SET timezone = 'UTC';
SET datestyle = 'ISO';

--
-- What is refused.
--
CREATE TABLE composite_refused (a int4, b int4, c int4, d int4, e int4, p point);
CREATE INDEX ON composite_refused USING rencoder (a) WITH (composite = on);
CREATE INDEX ON composite_refused USING rencoder (a, b, c, d, e) WITH (composite = on);
CREATE INDEX ON composite_refused USING rencoder (a, p) WITH (composite = on);
CREATE INDEX ON composite_refused USING rencoder (a, b) WITH (composite = on, storage = filter);
CREATE INDEX composite_refused_i ON composite_refused USING rencoder (a, b) WITH (composite = on);
ALTER INDEX composite_refused_i SET (storage = filter);
DROP TABLE composite_refused;

--
-- Values of many types: some often, some at the ends, some null.
--
CREATE TYPE composite_enum AS ENUM ('a', 'b', 'c', 'd');
CREATE TABLE t (id int4, i4 int4, i2 int2, i8 int8, z timestamptz, d date, x text COLLATE "C",
	l text, u uuid, n numeric, f float8, e composite_enum, ip inet, b bytea)
	WITH (fillfactor = 70, autovacuum_enabled = off);
CREATE FUNCTION composite_fill(first int, n int, far float8) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i,
		CASE WHEN i % 97 > 0 THEN (200 * power(random(), 3) * far)::int END,
		CASE WHEN i % 31 > 0 THEN (random() * 40 - 20 + far)::int2 END,
		CASE WHEN random() < 0.02 THEN 9223372036854775807
			WHEN random() < 0.02 THEN -9223372036854775808 ELSE (random() * 100000 * far)::int8 END,
		CASE WHEN i % 53 = 0 THEN 'infinity' WHEN i % 59 = 0 THEN '-infinity' WHEN i % 61 > 0
			THEN '2024-01-01'::timestamptz + i * far * interval '1 minute' END,
		CASE WHEN i % 43 > 0 THEN '2024-01-01'::date + (random() * 300 * far)::int END,
		CASE WHEN i % 19 > 0 THEN 'tenant-' || (random() * 90 * far)::int END,
		CASE WHEN i % 17 > 0 THEN chr(97 + (random() * 20)::int) || (random() * far)::int END,
		md5((random() * 300 * far)::int::text)::uuid,
		CASE WHEN i % 13 > 0 THEN round((random() * 1000 * far)::numeric, 2) END,
		CASE WHEN i % 71 = 0 THEN 'NaN' WHEN i % 73 = 0 THEN '-Infinity' ELSE random() * far END,
		(ARRAY['a', 'b', 'c', NULL])[1 + (random() * 3)::int]::composite_enum,
		('10.0.' || (random() * 9)::int || '.' || (random() * 200)::int)::inet,
		decode(md5((random() * 500)::int::text), 'hex')
	FROM generate_series(first, first + n - 1) i
$$;
SELECT composite_fill(1, 3000, 1);
SELECT array_agg(attname ORDER BY attnum) AS columns FROM pg_attribute
	WHERE attrelid = 't'::regclass AND attnum > 1 \gset

-- A value of the table, or one beside all of them; of another type, where operators take it.
CREATE FUNCTION composite_value(col text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	type text := format_type(atttypid, NULL) FROM pg_attribute
		WHERE attrelid = 't'::regclass AND attname = col;
	value text;
BEGIN
	EXECUTE format('SELECT %I::text FROM t WHERE id >= %s AND %1$I IS NOT NULL
		ORDER BY id LIMIT 1', col, floor(random() * 2900)::int) INTO value;
	IF random() < 0.1 THEN
		value := CASE col WHEN 'i4' THEN '2000000000' WHEN 'i2' THEN '-32768' WHEN 'i8' THEN '-5'
			WHEN 'z' THEN '2031-05-05' WHEN 'd' THEN '1900-01-01' WHEN 'x' THEN 'z'
			WHEN 'n' THEN '1e30' WHEN 'f' THEN '1e300' ELSE value END;
	END IF;
	type := CASE WHEN random() < 0.3 AND col IN ('i4', 'i2') THEN 'int8'
		WHEN random() < 0.3 AND col = 'i8' AND abs(value::numeric) < 1e9 THEN 'int4'
		WHEN random() < 0.3 AND col = 'z' THEN 'date'
		WHEN random() < 0.3 AND col = 'd' THEN 'timestamptz' ELSE type END;
	RETURN format('%L::%s', value, type);
END $$;
CREATE FUNCTION composite_condition(col text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	v text := composite_value(col);
	w text := composite_value(col);
BEGIN
	RETURN CASE floor(random() * 11)::int
		WHEN 0 THEN format('%I < %s', col, v) WHEN 1 THEN format('%I <= %s', col, v)
		WHEN 2 THEN format('%I > %s', col, v) WHEN 3 THEN format('%I >= %s', col, v)
		WHEN 4 THEN format('%I BETWEEN %s AND %s', col, v, w)
		WHEN 5 THEN format('%I > %s AND %1$I < %s', col, v, w)
		WHEN 6 THEN format('%I IS NULL', col) WHEN 7 THEN format('%I IS NOT NULL', col)
		WHEN 8 THEN format('%I = ANY (ARRAY[%s, %s])', col, v, w)
		ELSE format('%I = %s', col, v) END;
END $$;
-- Of each column one, or none; at least one.
CREATE FUNCTION composite_conditions(columns text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	WHILE result IS NULL LOOP
		SELECT string_agg(composite_condition(c), ' AND ') INTO result FROM unnest(columns) c
			WHERE random() < 0.8;
	END LOOP;
	RETURN result;
END $$;
CREATE FUNCTION composite_compare(columns text[], n int, OUT asked int, OUT wrong int)
	LANGUAGE plpgsql AS $$
DECLARE
	condition text;
BEGIN
	asked := 0;
	wrong := 0;
	FOR k IN 1 .. n LOOP
		condition := composite_conditions(columns);
		asked := asked + 1;
		IF NOT index_finds(rows_of(condition, false), condition) THEN
			wrong := wrong + 1;
		END IF;
	END LOOP;
END $$;

-- All pairs of types, and some of three and four.
CREATE FUNCTION composite_pairs(columns text[], OUT indexes int, OUT asked int, OUT wrong int)
	LANGUAGE plpgsql AS $$
DECLARE
	now record;
	compared record;
BEGIN
	indexes := 0;
	asked := 0;
	wrong := 0;
	FOR now IN SELECT ARRAY[a, b] AS pair FROM unnest(columns) a, unnest(columns) b WHERE a <> b
		UNION ALL
		SELECT (SELECT array_agg(c ORDER BY md5(c || k)) FROM unnest(columns) c)[1:3 + k % 2]
		FROM generate_series(1, 12) k
	LOOP
		EXECUTE format('CREATE INDEX composite_i ON t USING rencoder (%s) WITH (composite = on)',
			array_to_string(now.pair, ','));
		PERFORM rencoder_index_check('composite_i', true);
		compared := composite_compare(now.pair, 4);
		asked := asked + compared.asked;
		wrong := wrong + compared.wrong;
		indexes := indexes + 1;
		DROP INDEX composite_i;
	END LOOP;
END $$;
ANALYZE t;
SELECT * FROM composite_pairs(:'columns');

--
-- What changes: updates, deletes, rows beyond all that coders were trained on.
--
CREATE INDEX composite_iz ON t USING rencoder (i4, z)
	WITH (composite = on, autosummarize = off);
CREATE INDEX composite_xd ON t USING rencoder (x, d)
	WITH (composite = on, autosummarize = off);
CREATE INDEX composite_uni ON t USING rencoder (u, n, i8)
	WITH (composite = on, autosummarize = off);
CREATE INDEX composite_ilzf ON t USING rencoder (i2, l, z, f)
	WITH (composite = on, autosummarize = off);
CREATE INDEX composite_partial ON t USING rencoder (e, ip)
	WITH (composite = on, autosummarize = off) WHERE id % 3 = 0;
CREATE INDEX composite_expression ON t USING rencoder ((i4 % 10), (lower(x)) COLLATE "C")
	WITH (composite = on, autosummarize = off);
CREATE FUNCTION composite_compare_all(n int, OUT asked int, OUT wrong int) LANGUAGE plpgsql AS $$
DECLARE
	condition text;
BEGIN
	SELECT sum((c).asked), sum((c).wrong) INTO asked, wrong
	FROM (SELECT composite_compare(columns, n) AS c
		FROM (VALUES ('{i4,z}'::text[]), ('{x,d}'), ('{u,n,i8}'), ('{i2,l,z,f}')) v(columns)) s;
	FOR k IN 1 .. n LOOP
		FOREACH condition IN ARRAY ARRAY['id % 3 = 0',
			'id % 3 = 0 AND ' || composite_conditions('{e,ip}'),
			'i4 % 10 = ' || k % 10 || ' AND lower(x) > ''tenant-' || k || ''''] LOOP
			asked := asked + 1;
			IF NOT index_finds(rows_of(condition, false), condition) THEN
				wrong := wrong + 1;
			END IF;
		END LOOP;
	END LOOP;
	PERFORM rencoder_index_check(indexrelid, true) FROM pg_index WHERE indrelid = 't'::regclass;
END $$;
ANALYZE t;
SELECT * FROM composite_compare_all(20);
SELECT composite_fill(3001, 500, 5);
UPDATE t SET z = z + interval '3 years', n = n * 100 WHERE id % 11 = 0;
UPDATE t SET i4 = NULL, x = 'other' WHERE id % 29 = 0;
DELETE FROM t WHERE id % 7 = 0;
SELECT * FROM composite_compare_all(20);
SELECT count(rencoder_maintain_index(indexrelid)) AS maintained
	FROM pg_index WHERE indrelid = 't'::regclass;
SELECT * FROM composite_compare_all(20);
VACUUM t;
SELECT composite_fill(5001, 500, 20);
DELETE FROM t WHERE id % 5 = 0 AND id < 2000;
SELECT * FROM composite_compare_all(20);
SELECT count(rencoder_compact(indexrelid)) AS compacted
	FROM pg_index WHERE indrelid = 't'::regclass;
SELECT * FROM composite_compare_all(20);

-- Products of lists: beyond 4,096 intervals the second list counts less.
CREATE TABLE codes AS SELECT chr(97 + k % 20) || k / 20 AS l FROM generate_series(1, 1000) k;
SELECT index_finds(rows_of(c, false), c) FROM (VALUES
	('i2 IN (1, 2, 3) AND l IN (''a0'', ''b1'', ''c0'')'),
	('i2 = ANY (ARRAY(SELECT generate_series(1, 1000))) AND l = ANY (ARRAY(TABLE codes))'),
	('i2 = ANY (ARRAY(SELECT generate_series(-5, 5))) AND l = ANY (ARRAY(TABLE codes))
		AND z > ''2024-01-02'''),
	('i2 BETWEEN 1 AND 3 AND l = ''a0'''), ('l = ''a0'''), ('f < 0.5'),
	('i2 IS NULL AND l IS NULL'), ('i2 IS NULL AND l IS NOT NULL AND z = ''infinity''')) v(c);

-- Contradictions.
SELECT count(*) FROM t WHERE i2 IS NULL AND i2 = 1;
SELECT count(*) FROM t WHERE i2 = 1 AND i2 = 2 AND l = 'a0';
DROP TABLE t, codes;

--
-- Nothing outgrows its code: a table that keeps as many rows while time goes on, with serial
-- tenants.  Times of what is kept lie outside of those that the first coder was trained on, until
-- another one is.
--
CREATE TABLE g (id int8, tenant int4, at timestamptz, filler text) WITH (autovacuum_enabled = off);
CREATE FUNCTION composite_month(m int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO g SELECT m * 10000 + i, m * 20 + i % 40, '2024-01-01'::timestamptz +
		m * interval '30 days' + i * interval '4 minutes', repeat('x', 60)
	FROM generate_series(1, 10000) i
$$;
SELECT composite_month(1);
CREATE INDEX g_i ON g USING rencoder (tenant, at) WITH (composite = on, autosummarize = off);
ANALYZE g;
CREATE PROCEDURE composite_retain(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR m IN first .. last LOOP
		DELETE FROM g WHERE id < m * 10000;
		PERFORM composite_month(m);
	END LOOP;
END $$;
-- Does a scan find a tenant's day, in few pages more than there are rows?
CREATE FUNCTION composite_day(t int, day timestamptz,
	OUT n int, OUT same boolean, OUT few boolean) LANGUAGE plpgsql AS $$
DECLARE
	condition text := format('tenant = %s AND at >= %L AND at < %L', t, day,
		day + interval '1 day');
	plan json;
BEGIN
	EXECUTE 'SELECT count(*) FROM g WHERE ' || condition INTO n;
	same := index_finds(rows_of(condition, false, 'g'), condition, 'g');
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_bitmapscan = on;
	SET LOCAL enable_indexscan = off;
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json, TIMING off) SELECT * FROM g WHERE ' || condition
		INTO plan;
	few := (plan #>> '{0,Plan,Exact Heap Blocks}')::int <= n + 3;
END $$;
SELECT * FROM composite_day(25, '2024-02-10');
CALL composite_retain(2, 5);
VACUUM g;
SELECT * FROM composite_day(105, '2024-06-10');
CALL composite_retain(6, 9);
SELECT * FROM composite_day(185, '2024-10-08');
SELECT rencoder_index_check('g_i', true);
VACUUM g;
SELECT * FROM composite_day(185, '2024-10-08');
SELECT rencoder_index_check('g_i', true);
DROP TABLE g;

-- Another coder is trained as soon as a tenth of the rows lie outside, though the table has hardly
-- grown: the codes of its last column leave the last sixteenth.
CREATE TABLE g (id int8, tenant int4, at timestamptz, filler text) WITH (autovacuum_enabled = off);
CREATE OR REPLACE FUNCTION composite_month(m int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO g SELECT m * 10000 + i, 1, '2024-01-01'::timestamptz + m * interval '30 days' +
		i * interval '4 minutes', repeat('x', 60)
	FROM generate_series(1, 10000) i
$$;
SELECT composite_month(1), composite_month(2);
CREATE INDEX g_i ON g USING rencoder (tenant, at) WITH (composite = on, autosummarize = off);
ANALYZE g;
-- The greatest key of all runs, as a share of the codes of its last column.
CREATE FUNCTION composite_is_outside() RETURNS boolean LANGUAGE sql AS $$
	SELECT max((('x' || substr(max_key, 3))::bit(64)::int8 & ((1::int8 << 49) - 1)) /
		(1::int8 << 49)::float8) > 15 / 16.0 FROM rencoder_runs('g_i')
$$;
SELECT pg_relation_size('g') AS size \gset
INSERT INTO g
	SELECT 40000 + i, 1, '2032-01-01'::timestamptz + i * interval '4 minutes', repeat('x', 60)
	FROM generate_series(1, 1000) i;
SELECT rencoder_maintain_index('g_i') > 0 AS indexed, composite_is_outside();
INSERT INTO g
	SELECT 50000 + i, 1, '2033-01-01'::timestamptz + i * interval '4 minutes', repeat('x', 60)
	FROM generate_series(1, 1350) i;
VACUUM g;
SELECT pg_relation_size('g') < :size * 1.125 AS has_not_grown, composite_is_outside();
SELECT * FROM composite_day(1, '2032-01-02');
SELECT rencoder_index_check('g_i', true);
DROP TABLE g;
