-- Which plan is taken, where measuring says which is the fastest (bench/checks/plans.sh).
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET jit = off;
SET rencoder.sample_rate = 0;

\getenv abs_srcdir PG_ABS_SRCDIR
\set plan_line :abs_srcdir '/sql/include/plan_line.sql'
\set ECHO none
\i :plan_line
\set ECHO all
CREATE FUNCTION ps_plans(VARIADIC conditions text[]) RETURNS TABLE (condition text, plan text)
	LANGUAGE sql AS $$
	SELECT left(c, 60), plan_line('SELECT * FROM ps WHERE ' || c) FROM unnest(conditions) c
$$;
-- Of a generic plan, by both random_page_costs.
CREATE FUNCTION ps_generic(types text, condition text, args text, relation text DEFAULT 'ps')
	RETURNS TABLE (page_cost text, plan text) LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL plan_cache_mode = force_generic_plan;
	EXECUTE format('PREPARE ps_asked (%s) AS SELECT * FROM %I WHERE %s', types, relation,
		condition);
	FOREACH page_cost IN ARRAY '{4,1.1}'::text[] LOOP
		PERFORM set_config('random_page_cost', page_cost, true);
		plan := plan_line(format('EXECUTE ps_asked (%s)', args));
		RETURN NEXT;
	END LOOP;
	DEALLOCATE ps_asked;
END $$;

-- About 1,000 pages: u in no order, c in that of the table, few with 20 values, late
-- null here and there, done at the end.
CREATE TABLE ps (u int8, c int, few int, late int, done int8, t text COLLATE "C", ip inet, p point,
	filler text) WITH (autovacuum_enabled = off);
ALTER TABLE ps ALTER filler SET STORAGE plain;
INSERT INTO ps SELECT hashint8extended(i, 1), i, (i * 7919) % 20,
	CASE WHEN hashint4(i) % 40 <> 0 THEN i END, CASE WHEN i < 31000 THEN hashint8extended(i, 3) END,
	'https://www.example.com/' || md5(i::text),
	inet '10.0.0.0' + (hashint8extended(i, 2) & 16777215),
	point(i * 2654435761 % 65537, i * 40503 % 65539) / point(65536, 0), repeat('x', 65)
FROM generate_series(1, 32000) i;
CREATE INDEX ps_u ON ps USING rencoder (u) WITH (autosummarize = off);
CREATE INDEX ps_c ON ps USING rencoder (c) WITH (autosummarize = off);
CREATE INDEX ps_few ON ps USING rencoder (few) WITH (autosummarize = off);
CREATE INDEX ps_late ON ps USING rencoder (late) WITH (autosummarize = off);
CREATE INDEX ps_done ON ps USING rencoder (done) WITH (autosummarize = off);
CREATE INDEX ps_t ON ps USING rencoder (t) WITH (autosummarize = off);
CREATE INDEX ps_ip ON ps USING rencoder (ip) WITH (autosummarize = off);
CREATE INDEX ps_p ON ps USING rencoder (p) WITH (autosummarize = off);
VACUUM ANALYZE ps;
SELECT relpages BETWEEN 900 AND 1200 AS pages FROM pg_class WHERE relname = 'ps';

-- Generic plans: intervals are taken to be short.
SELECT * FROM ps_generic('int8', 'u = $1', '5');
SELECT * FROM ps_generic('int8, int8', 'u BETWEEN $1 AND $2', '5, 6');
SELECT * FROM ps_generic('int8', 'u > $1', '5');
SELECT * FROM ps_generic('text', 't LIKE $1', '''a%''');
SELECT * FROM ps_generic('inet', 'ip << $1', '''10.7.7.0/24''');
SELECT * FROM ps_generic('box', 'p <@ $1', '''(0,0,0.01,0.01)''');

-- Lists: values that are there or not.
SELECT format('u IN (%s)', string_agg(hashint8extended(-i, 1)::text, ',')) AS absent,
	format('u IN (%s)', string_agg(hashint8extended(i * 100, 1)::text, ',')) AS present
FROM generate_series(1, 320) i \gset
SELECT format('few IN (%s)', string_agg((-i)::text, ',')) AS none
FROM generate_series(1, 320) i \gset
SET random_page_cost = 1.1;
SELECT plan FROM ps_plans(:'absent', :'present', :'none');
RESET random_page_cost;
SELECT plan FROM ps_plans(:'absent', :'none', 'few IN (3, 4, 5)');

-- Nulls lie here and there, also in a column whose values are in order, or at the end.
SELECT * FROM ps_plans('late IS NULL', 'late BETWEEN 100 AND 300', 'done IS NULL',
	'done IS NOT NULL');

-- Boxes of which the statistics know nothing.
SELECT * FROM ps_plans('p <@ box ''(0.3,0.3,0.305,0.305)''', 'p <@ box ''(0.3,0.3,0.4,0.4)''',
	'p <@ box ''(0.2,0.2,0.8,0.8)''', 'p <@ box ''(0.1,0.1,0.95,0.95)''');

-- Shares of the table.
SELECT * FROM ps_plans('u BETWEEN 0 AND 1000000000000000', 'u > 0', 'c < 10', 'c < 3000',
	'c > 1000', 'few = 7', 'few = 20', 'u = 5 AND few = 7', 'u = 5 OR c = 7');

-- BRIN beside it: operators that the planner derives for BRIN, shares of the table, no
-- BitmapAnd with an index that adds little.  Who wants few rows does not wait for all.
CREATE INDEX ps_u_brin ON ps USING brin (u);
CREATE INDEX ps_few_brin ON ps USING brin (few);
CREATE INDEX ps_t_brin ON ps USING brin (t);
CREATE INDEX ps_ip_brin ON ps USING brin (ip inet_minmax_ops);
SELECT * FROM ps_plans('u = 5', 'u BETWEEN 0 AND 1000000000000000', 'u = 5 AND few = 7',
	'few = 7', 'u > 0', 't LIKE ''https://www.example.com/abcdef%''',
	't ^@ ''https://www.example.com/abcdef''', 't ~ ''^https://www\.example\.com/abcdef''',
	'ip << ''10.7.7.0/24''');
SELECT plan FROM ps_plans(:'absent');
SET enable_seqscan = off;
SELECT plan_line('SELECT * FROM ps WHERE u BETWEEN 0 AND 1000000000000000000 LIMIT 3');
RESET enable_seqscan;
DROP INDEX ps_u_brin, ps_few_brin, ps_t_brin, ps_ip_brin;

-- A btree beside it: the same operators, also where workers may share the heap's rows.
CREATE INDEX ps_t_btree ON ps (t);
CREATE INDEX ps_ip_btree ON ps (ip);
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET enable_indexscan = off;
-- (For LIKE 'ab%' the two cost about the same: which is taken the sample of ANALYZE decides.)
SELECT * FROM ps_plans('t LIKE ''%nowhere%''', 'ip << ''10.4.0.0/14''', 'ip <<= ''10.8.0.0/14''');
RESET enable_indexscan;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;
DROP INDEX ps_t_btree, ps_ip_btree;

-- Where it is in memory with the table, it is the faster one, however small the other is.
CREATE INDEX ps_u_btree ON ps (u);
CREATE INDEX ps_c_btree ON ps (c);
CREATE TABLE ps_keys AS SELECT hashint8extended(i * 100, 1) AS a FROM generate_series(1, 50) i;
ANALYZE ps_keys;
CREATE FUNCTION ps_beside() RETURNS TABLE (what text, uses text) LANGUAGE sql AS $$
	SELECT what, array_to_string(ARRAY(SELECT m[1] FROM
		regexp_matches(plan_line('SELECT * FROM ' || query),
			'ps_[uc]_btree|ps_[uc]\M', 'g') m), ' ')
	FROM (VALUES
		('list', (SELECT format('ps WHERE u IN (%s)', string_agg(a::text, ',')) FROM ps_keys)),
		('list that comes', 'ps WHERE u = ANY (ARRAY(SELECT a FROM ps_keys))'),
		('one', 'ps WHERE u = 5'), ('in order', 'ps WHERE c BETWEEN 10000 AND 13200'),
		('join', 'ps_keys JOIN ps ON u = a')) q (what, query)
$$;
SELECT * FROM ps_beside();
SET effective_cache_size = '1MB';
SELECT * FROM ps_beside();
RESET effective_cache_size;
DROP FUNCTION ps_beside;
DROP TABLE ps_keys;
DROP INDEX ps_u_btree, ps_c_btree;

-- Statistics that are out of date: the run knows that half of the rows are there.
CREATE TABLE ps_stale WITH (autovacuum_enabled = off, fillfactor = 40) AS
SELECT i AS id, hashint8extended(i, 1) AS u, repeat('x', 150) AS filler
FROM generate_series(1, 30000) i;
ANALYZE ps_stale;
UPDATE ps_stale SET u = hashint4(id) & 1048575 WHERE id % 2 = 0;
VACUUM FULL ps_stale;
CREATE INDEX ON ps_stale USING rencoder (u) WITH (autosummarize = off);
SELECT plan_line('SELECT * FROM ps_stale WHERE u BETWEEN 0 AND 1048575'),
	plan_line('SELECT * FROM ps_stale WHERE u BETWEEN -1000000 AND -1');
DROP TABLE ps_stale;

-- A run of one leaf: the boxes' rows are counted there.
CREATE TABLE ps_small WITH (autovacuum_enabled = off) AS
SELECT point(i * 2654435761 % 65537, i * 40503 % 65539) / point(65536, 0) AS p,
	repeat('x', 180) AS filler
FROM generate_series(1, 3000::int8) i;
CREATE INDEX ON ps_small USING rencoder (p) WITH (autosummarize = off);
VACUUM ANALYZE ps_small;
SELECT plan_line('SELECT * FROM ps_small WHERE p <@ box ''(0.3,0.3,0.85,0.85)'''),
	plan_line('SELECT * FROM ps_small WHERE p <@ box ''(0.3,0.3,0.31,0.31)''');
DROP TABLE ps_small;

-- In the order of the table BRIN visits a range more than it has to: it is taken where its ranges
-- are small.
CREATE INDEX ps_c_brin ON ps USING brin (c);
SELECT * FROM ps_plans('c BETWEEN 10000 AND 13200', 'c > 31700', 'c = 5');
DROP INDEX ps_c_brin;
CREATE INDEX ps_c_brin ON ps USING brin (c) WITH (pages_per_range = 32);
SELECT * FROM ps_plans('c BETWEEN 10000 AND 13200');
DROP INDEX ps_c, ps_c_brin;
CREATE INDEX ps_c ON ps USING rencoder (c) WITH (autosummarize = off);
CREATE INDEX ps_c_brin ON ps USING brin (c);
SELECT * FROM ps_plans('c BETWEEN 10000 AND 13200');
DROP INDEX ps_c_brin;
CREATE INDEX ps_c_brin ON ps USING brin (c) WITH (pages_per_range = 4);
SELECT * FROM ps_plans('c BETWEEN 10000 AND 13200');
DROP INDEX ps_c_brin;

-- Filters.
DROP INDEX ps_u, ps_t;
CREATE INDEX ps_u ON ps USING rencoder (u) WITH (autosummarize = off);
CREATE INDEX ps_t ON ps USING rencoder (t) WITH (autosummarize = off);
SELECT * FROM ps_generic('int8, int8', 'u BETWEEN $1 AND $2', '5, 6');
SELECT * FROM ps_generic('text', 't LIKE $1', '''a%''');
SELECT plan FROM ps_plans(:'absent', :'present');
DROP TABLE ps;

-- Nulls: a few on each page, of which all are to be read, but not all rows; all rows at the end of
-- the table.  Values that are many, and only there.
CREATE TABLE ps_nulls (often int, done int, later int, filler text)
	WITH (autovacuum_enabled = off);
INSERT INTO ps_nulls SELECT CASE WHEN i % 12 <> 0 THEN i END, CASE WHEN i <= 45000 THEN i END,
	CASE WHEN i > 45000 THEN i END, repeat('x', 60)
FROM generate_series(1, 50000) i;
CREATE INDEX ON ps_nulls USING rencoder (often) WITH (autosummarize = off);
CREATE INDEX ON ps_nulls USING rencoder (later) WITH (autosummarize = off);
CREATE INDEX ps_done ON ps_nulls USING rencoder (done) WITH (autosummarize = off);
VACUUM ANALYZE ps_nulls;
SELECT c AS condition, plan_line('SELECT * FROM ps_nulls WHERE ' || c) AS plan
FROM unnest('{often IS NULL, later IS NOT NULL, done IS NULL}'::text[]) c;
DROP TABLE ps_nulls;

-- The end of a table in the order of its values is in a run of its own.
CREATE TABLE ps_grown (c int, filler text) WITH (autovacuum_enabled = off);
INSERT INTO ps_grown SELECT i, repeat('x', 180) FROM generate_series(1, 18000) i;
CREATE INDEX ON ps_grown USING rencoder (c) WITH (autosummarize = off, pages_per_range = 4);
CREATE INDEX ON ps_grown USING brin (c);
INSERT INTO ps_grown SELECT i, repeat('x', 180) FROM generate_series(18001, 36000) i;
VACUUM ANALYZE ps_grown;
SELECT plan_line('SELECT * FROM ps_grown WHERE c > 35700');
DROP TABLE ps_grown;

-- Partitions: joins by keys that are in one of them, or in none.
CREATE TABLE ps_parts (u int8, month int, filler text) PARTITION BY LIST (month);
CREATE TABLE ps_part1 PARTITION OF ps_parts FOR VALUES IN (1);
CREATE TABLE ps_part2 PARTITION OF ps_parts FOR VALUES IN (2);
INSERT INTO ps_parts SELECT hashint8extended(i, 1), 1 + i / 30000, repeat('x', 180)
FROM generate_series(1, 59999) i;
CREATE INDEX ON ps_parts USING rencoder (u);
CREATE TABLE ps_keys AS SELECT hashint8extended(i * 1000, 1) AS a FROM generate_series(1, 50) i;
CREATE TABLE ps_absent AS SELECT hashint8extended(-i, 1) AS a FROM generate_series(1, 50) i;
VACUUM ANALYZE ps_parts, ps_keys, ps_absent;
SELECT plan_line('SELECT * FROM ps_keys JOIN ps_parts ON u = a');
SELECT plan_line('SELECT * FROM ps_absent WHERE NOT EXISTS (SELECT FROM ps_parts WHERE u = a)');
SELECT plan_line('SELECT * FROM ps_keys JOIN ps_parts ON u BETWEEN a AND a + 5');
SELECT plan_line('SELECT * FROM ps_parts WHERE u = ANY (ARRAY(SELECT a FROM ps_keys))');
SELECT * FROM ps_generic('int8, int8', 'u BETWEEN $1 AND $2', '5, 6', 'ps_parts');

-- No worker is started for some rows of partitions, by plain scans, which are not divided.
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM ps_parts WHERE u BETWEEN 0 AND 100000000000000;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET enable_bitmapscan;
SET max_parallel_workers_per_gather = 0;
DROP TABLE ps_parts, ps_keys, ps_absent;
DROP FUNCTION plan_line, ps_plans, ps_generic;
