-- When the planner uses an index without being told to.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- x is not correlated with the order of rows, n is; few has 20 values.
CREATE TABLE pl (n int8, x int8, few int4, d timestamptz, filler text)
	WITH (autovacuum_enabled = off);
INSERT INTO pl SELECT i, (i * 2654435761) % 4294967296, (i * 7919) % 20,
	'2020-01-01 00:00+00'::timestamptz
		+ ((i * 2654435761) % 4294967296) % 100000007 * interval '1 s',
	repeat('x', 200)
FROM generate_series(1, 100000) i;
CREATE INDEX pl_x ON pl USING rencoder (x) WITH (autosummarize = off);
CREATE INDEX pl_n ON pl USING rencoder (n) WITH (autosummarize = off);
CREATE INDEX pl_few ON pl USING rencoder (few) WITH (autosummarize = off);
CREATE INDEX pl_d ON pl USING rencoder (d) WITH (autosummarize = off);
VACUUM ANALYZE pl;

\getenv abs_srcdir PG_ABS_SRCDIR
\set plan_line :abs_srcdir '/sql/include/plan_line.sql'
\set ECHO none
\i :plan_line
\set ECHO all
CREATE FUNCTION pl_plans(VARIADIC predicates text[]) RETURNS TABLE (predicate text, plan text)
	LANGUAGE sql AS $$
	SELECT p, plan_line('SELECT * FROM pl WHERE ' || p) FROM unnest(predicates) p
$$;

--
-- Alone: for narrow predicates, not for wide ones.
--
EXPLAIN (COSTS OFF) SELECT * FROM pl WHERE x BETWEEN 1000000 AND 1000064;
SELECT * FROM pl_plans('x = 2654435761', 'x BETWEEN 1000000 AND 1000064',
	'x > 1000000 AND x < 1010000', 'x < 1000',
	'x IN (1, 2, 3, 5000)', 'x IS NULL', 'x = 5 AND few = 3', 'n = 5', 'n BETWEEN 1000 AND 2000',
	'n < 20000',
	'd BETWEEN ''2021-01-01 00:00+00'' AND ''2021-01-01 00:01+00''', 'few = 21');
SELECT * FROM pl_plans('x < 2000000000', 'x > 1000000', 'x BETWEEN 1000000 AND 300000000',
	'x IS NOT NULL', 'few = 3', 'n > 500',
	'd < ''2022-01-01''');
-- Never for what is not an operator of the index.
SELECT * FROM pl_plans('x <> 5', 'NOT x = 5', 'x + 0 = 5', 'x IS DISTINCT FROM 5', 'x = 5.0');
-- Nothing to visit: outside the bounds of all groups.
SELECT * FROM pl_plans('x = -5', 'x > 5000000000', 'n BETWEEN 200000 AND 300000',
	'x < 5 AND x > 7');

-- Workers share the rows to be checked, where the table is large enough for them.  Here these are
-- nearly all of the cost.
\set some_pages 'SELECT count(*) FROM pl WHERE x BETWEEN 1000000 AND 86899345'
SET enable_seqscan = off;
SET min_parallel_table_scan_size = '1MB';
SET seq_page_cost = 0.1;
SET random_page_cost = 0.1;
SET parallel_setup_cost = 100;
SELECT plan_line(:'some_pages');
:some_pages;
SET max_parallel_workers_per_gather = 3;
SELECT plan_line(:'some_pages');
:some_pages;
-- Not where few pages are visited.
SELECT plan_line('SELECT count(*) FROM pl WHERE x BETWEEN 1000000 AND 1000064');
SET max_parallel_workers_per_gather = 0;
RESET parallel_setup_cost;
RESET random_page_cost;
RESET seq_page_cost;
RESET min_parallel_table_scan_size;

-- Bounds are computed for each row that is checked.
CREATE FUNCTION pl_cost(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan #>> '{0,Plan,Total Cost}';
END $$;
CREATE FUNCTION pl_day(date) RETURNS timestamptz LANGUAGE plpgsql STABLE COST 100 AS
	'BEGIN RETURN $1 + time ''00:00''; END';
SELECT pl_cost($$SELECT FROM pl WHERE d >= pl_day('2021-02-01') AND d < pl_day('2021-02-02')$$)
	> 5 * pl_cost($$SELECT FROM pl WHERE d >= '2021-02-01' AND d < '2021-02-02'$$) AS dearer;
DROP FUNCTION pl_day;
RESET enable_seqscan;

-- An index is not read, and may be damaged, where nothing is asked of it.
BEGIN;
SELECT format('coalesce(pg_stat_get_xact_%sblocks_fetched(''pl_x''::regclass), 0)',
	CASE WHEN current_setting('server_version_num')::int >= 200000 THEN 'idx_' ELSE '' END)
	AS blocks
\gset
SELECT :blocks AS before \gset
SELECT plan_line('SELECT count(*) FROM pl');
SELECT :blocks - :before AS blocks;
SELECT plan_line('SELECT count(*) FROM pl WHERE x = 5');
SELECT :blocks > :before AS blocks;
COMMIT;

-- Parameters that the planner does not know.
SET plan_cache_mode = force_generic_plan;
PREPARE pl_eq(int8) AS SELECT * FROM pl WHERE x = $1;
EXPLAIN (COSTS OFF) EXECUTE pl_eq(5);
PREPARE pl_between(int8, int8) AS SELECT * FROM pl WHERE x BETWEEN $1 AND $2;
EXPLAIN (COSTS OFF) EXECUTE pl_between(5, 6);
SET plan_cache_mode = auto;
EXPLAIN (COSTS OFF) EXECUTE pl_between(5, 6);
DEALLOCATE ALL;
RESET plan_cache_mode;

-- Inner side of a nested loop; several indexes together.
CREATE TABLE pl_needles (a int8);
INSERT INTO pl_needles SELECT (i * 2654435761) % 4294967296 FROM generate_series(1, 3) i;
ANALYZE pl_needles;
SELECT plan_line('SELECT * FROM pl_needles JOIN pl ON x = a');
SELECT count(*) FROM pl_needles JOIN pl ON x = a;
SELECT * FROM pl_plans('x = 5 OR d = ''2021-01-01''',
	'x BETWEEN 0 AND 20000000 AND n BETWEEN 500 AND 1500');

-- More rows than are indexed: they must all be visited.
SELECT plan_line('SELECT * FROM pl WHERE x = 77');
INSERT INTO pl SELECT n + 100000, x + 5, few, d, filler FROM pl;
SELECT plan_line('SELECT * FROM pl WHERE x = 77');
INSERT INTO pl SELECT n + 200000, x + 7, few, d, filler FROM pl WHERE n <= 50000;
VACUUM pl;
SELECT plan_line('SELECT * FROM pl WHERE x = 77');

--
-- BRIN beside it: better where the column is not ordered, alike where it is.
--
CREATE INDEX pl_brin_x ON pl USING brin (x);
CREATE INDEX pl_brin_multi ON pl USING brin (x int8_minmax_multi_ops);
SELECT * FROM pl_plans('x = 2654435761', 'x BETWEEN 1000000 AND 1000064', 'x IN (1, 2, 3, 5000)',
	'x < 2000000000');
SELECT plan_line('SELECT * FROM pl_needles JOIN pl ON x = a');
CREATE INDEX pl_brin_n ON pl USING brin (n);
SELECT plan_line('SELECT * FROM pl WHERE n BETWEEN 1000 AND 2000')
	LIKE 'Bitmap Heap Scan on pl / Bitmap Index Scan on pl_%n' AS either;
DROP INDEX pl_brin_x, pl_brin_multi, pl_brin_n;

--
-- A btree beside it: the btree.
--
CREATE INDEX pl_btree ON pl (x);
VACUUM pl;
SELECT * FROM pl_plans('x = 2654435761', 'x BETWEEN 1000000 AND 1000064',
	'x BETWEEN 1000000 AND 4000000', 'x IN (1, 2, 3, 5000)', 'x < 2000000000');
SELECT plan_line('SELECT * FROM pl_needles JOIN pl ON x = a');
SET enable_indexscan = off;
SELECT * FROM pl_plans('x = 2654435761', 'x BETWEEN 1000000 AND 1000064',
	'x BETWEEN 1000000 AND 30000000', 'x IN (1, 2, 3, 5000)', 'x < 2000000000');
RESET enable_indexscan;
DROP INDEX pl_btree;

--
-- Several columns; a partial index; a small table.
--
DROP INDEX pl_few, pl_d, pl_n, pl_x;
CREATE INDEX pl_columns ON pl USING rencoder (x, few, n);
SELECT * FROM pl_plans('x = 5', 'few = 3', 'few = 21', 'n = 3 AND few = 3', 'few = 3 AND x > 0',
	'few = 3 AND x BETWEEN 5 AND 10', 'few IS NULL');
DROP INDEX pl_columns;
CREATE INDEX pl_partial ON pl USING rencoder (x) WHERE few = 3;
SELECT * FROM pl_plans('x = 5', 'x = 5 AND few = 3', 'x = 5 AND few = 4', 'few = 3');
DROP INDEX pl_partial;

CREATE TABLE pl_small AS SELECT x FROM pl LIMIT 500;
CREATE INDEX pl_small_x ON pl_small USING rencoder (x);
VACUUM ANALYZE pl_small;
SELECT plan_line('SELECT * FROM pl_small WHERE x = 5');

--
-- Strings: where a pattern says how they begin, and the order is that of bytes.
-- C.utf8 of libc stands for collations other than C.
--
CREATE TABLE pl_text (v text COLLATE "C", w text COLLATE "C.utf8", filler text);
INSERT INTO pl_text SELECT 'https://www.example.com/' || md5(i::text), md5(i::text),
	repeat('x', 200) FROM generate_series(1, 100000) i;
CREATE INDEX pl_text_v ON pl_text USING rencoder (v);
CREATE INDEX pl_text_w ON pl_text USING rencoder (w);
VACUUM ANALYZE pl_text;
SELECT p AS predicate, plan_line('SELECT * FROM pl_text WHERE ' || p) FROM unnest(ARRAY[
	$$v = 'https://www.example.com/abcd'$$, $$v LIKE 'https://www.example.com/abcdef%'$$,
	$$v LIKE 'https://www.example.com/abcdef%e'$$, $$v LIKE 'https://www.example.com/abcdef_0%'$$,
	$$v ^@ 'https://www.example.com/abcdef'$$,
	$$v < 'https://www.example.com/0001'$$,
	$$v BETWEEN 'https://www.example.com/123456' AND 'https://www.example.com/123457'$$,
	$$v ~<~ 'https://www.example.com/0001'$$, $$v IN ('a', 'b')$$,
	$$v LIKE ANY (ARRAY['https://www.example.com/abcdef%', 'https://www.example.com/123456%'])$$,
	$$w = 'abcd'$$, $$w LIKE 'abcdef%'$$, $$w ^@ 'abcdef'$$, $$w IN ('a', 'b')$$,
	$$w < '0001' AND w LIKE '000000%'$$]) p;
-- Not where nothing is gained.
SELECT p AS predicate, plan_line('SELECT * FROM pl_text WHERE ' || p) FROM unnest(ARRAY[
	$$v LIKE '%abcd'$$, $$v LIKE '_bcd%'$$, $$v LIKE '%'$$, $$v LIKE 'https://www.example.com/%'$$,
	$$v LIKE 'https%abcd'$$, $$v NOT LIKE 'a%'$$, $$v ILIKE 'a%'$$,
	$$v > 'https://www.example.com/0001'$$, $$v ~>=~ ''$$,
	$$w LIKE '%abcd'$$, $$w < '0001'$$, $$w > 'ffff'$$, $$w BETWEEN '1234' AND '1235'$$,
	$$v COLLATE "C.utf8" = 'a'$$, $$w COLLATE "C" = 'a'$$, $$v COLLATE "C.utf8" < 'a'$$]) p;
SET plan_cache_mode = force_generic_plan;
PREPARE pl_text_eq(text) AS SELECT * FROM pl_text WHERE v = $1;
EXPLAIN (COSTS OFF) EXECUTE pl_text_eq('a');
DEALLOCATE ALL;
RESET plan_cache_mode;
DROP TABLE pl_text;

-- One value in nearly all rows, and so in all pages: not with it.
CREATE TABLE pl_most AS SELECT CASE WHEN i % 1000 > 1 THEN 1 ELSE 3 - i % 1000 END AS m,
	repeat('x', 100) AS filler FROM generate_series(1, 50000) i;
CREATE INDEX pl_most_m ON pl_most USING rencoder (m) WITH (storage = run);
VACUUM ANALYZE pl_most;
SELECT p AS predicate, plan_line('SELECT count(*) FROM pl_most WHERE ' || p)
FROM unnest(ARRAY['m < 3', 'm <= 2', 'm >= 1', 'm = 1', 'm > 1', 'm = 2']) p;
DROP TABLE pl_most;

-- Not analyzed, and empty.
CREATE TABLE pl_new (x int8);
CREATE INDEX pl_new_x ON pl_new USING rencoder (x);
SELECT plan_line('SELECT * FROM pl_new WHERE x = 5') IS NOT NULL AS planned;
SELECT count(*) FROM pl_new WHERE x = 5;

DROP TABLE pl, pl_needles, pl_small, pl_new;
DROP FUNCTION plan_line, pl_plans, pl_cost;
