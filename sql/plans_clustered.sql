-- A table that was loaded device by device: each page has one stretch of the column.  In how many
-- pages an interval lies the index knows; statistics do not.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- Some 35 rows a page; 1, 6, 60 pages have one of 16 stretches of a million values; n no order.
CREATE TABLE pc (p1 int, p6 int, p60 int, n int, filler text) WITH (autovacuum_enabled = off);
INSERT INTO pc
SELECT (hashint8(i / 35) & 15) * 1000000 + (hashint8(i) & 1048575) % 1000000,
	(hashint8(i / 210) & 15) * 1000000 + (hashint8(i + 1000000) & 1048575) % 1000000,
	(hashint8(i / 2100) & 15) * 1000000 + (hashint8(i + 2000000) & 1048575) % 1000000,
	(hashint8(i + 3000000) & 15) * 1000000 + (hashint8(i + 4000000) & 1048575) % 1000000,
	repeat('x', 170)
FROM generate_series(1, 200000) i;
CREATE INDEX pc_p1 ON pc USING rencoder (p1);
CREATE INDEX pc_p6 ON pc USING rencoder (p6);
CREATE INDEX pc_p60 ON pc USING rencoder (p60);
CREATE INDEX pc_n ON pc USING rencoder (n);
VACUUM ANALYZE pc;

-- What is taken; and for how many times the pages that are visited is the cost, if a page is all
-- that costs anything?
CREATE FUNCTION pc_ask(col text, lo int, hi int)
	RETURNS TABLE (taken text, ratio numeric, pages int) LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT * FROM pc WHERE %I BETWEEN %s AND %s', col, lo, hi);
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	taken := plan -> 0 -> 'Plan' ->> 'Node Type';
	PERFORM set_config('enable_seqscan', 'off', true);
	PERFORM set_config('seq_page_cost', '100000', true);
	PERFORM set_config('random_page_cost', '100000', true);
	EXECUTE 'EXPLAIN (FORMAT json, ANALYZE, TIMING off) ' || query INTO plan;
	pages := (plan -> 0 -> 'Plan' ->> 'Exact Heap Blocks')::int +
		(plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int;
	ratio := round((plan -> 0 -> 'Plan' ->> 'Total Cost')::numeric / 100000 / pages, 2);
	PERFORM set_config('enable_seqscan', 'on', true);
	PERFORM set_config('seq_page_cost', '1', true);
	PERFORM set_config('random_page_cost', '4', true);
	RETURN NEXT;
END $$;

-- A quarter of a stretch, half, one, two; within one and across two.
SELECT col, lo, width, taken, ratio BETWEEN 0.5 AND 2 AS pages_known,
	CASE WHEN ratio NOT BETWEEN 0.5 AND 2 THEN format('%s times of %s', ratio, pages) END AS off
FROM unnest('{p1,p6,p60}'::text[]) WITH ORDINALITY AS c (col, nr),
	(VALUES (3000000, 250000), (3000000, 500000), (3000000, 999999), (3000000, 1999999),
		(6900000, 250000), (6500000, 500000)) AS v (lo, width),
	pc_ask(col, lo, lo + width)
ORDER BY nr, lo, width;
-- Scattered rows are so still: nearly all pages.
SELECT width, ratio BETWEEN 0.5 AND 2 AS pages_known
FROM (VALUES (250000), (999999), (1999999)) AS v (width), pc_ask('n', 3000000, 3000000 + width)
ORDER BY width;

-- The answers are those of a sequential scan.
CREATE FUNCTION pc_count(condition text, by_index boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	result bigint;
BEGIN
	PERFORM set_config('enable_seqscan', CASE WHEN by_index THEN 'off' ELSE 'on' END, true);
	PERFORM set_config('enable_bitmapscan', CASE WHEN by_index THEN 'on' ELSE 'off' END, true);
	EXECUTE 'SELECT count(*) FROM pc WHERE ' || condition INTO result;
	RETURN result;
END $$;
SELECT condition, pc_count(condition, true) = pc_count(condition, false) AS same
FROM unnest(ARRAY['p6 BETWEEN 3000000 AND 3250000', 'p60 BETWEEN 3000000 AND 4999999',
	'p1 BETWEEN 6900000 AND 7150000']) AS condition ORDER BY 1;

-- BRIN beside a btree hides it where there are many rows: the planner keeps the index that is read
-- at the least cost.  Rather than a sequential scan rencoder is taken, and a btree where it is not
-- hidden.
CREATE INDEX pc_btree ON pc (p60);
EXPLAIN (COSTS OFF) SELECT * FROM pc WHERE p60 BETWEEN 3000000 AND 4999999;
CREATE INDEX pc_brin ON pc USING brin (p60);
EXPLAIN (COSTS OFF) SELECT * FROM pc WHERE p60 BETWEEN 3000000 AND 4999999;
EXPLAIN (COSTS OFF) SELECT * FROM pc WHERE p60 BETWEEN 3000000 AND 3000500;
-- As it would be without rencoder.
SET rencoder.enable_scan = off;
EXPLAIN (COSTS OFF) SELECT * FROM pc WHERE p60 BETWEEN 3000000 AND 4999999;
RESET rencoder.enable_scan;
RESET enable_indexscan;
SET enable_hashjoin = off;
SET enable_mergejoin = off;

-- A btree of two columns, the table in the order of the first: it reads less than it says.
-- Half of the table it is told to read no sooner than all of it: there rencoder is taken, and not a
-- sequential scan.  In a loop, however long, the btree is.
CREATE TABLE pc_lines AS
	SELECT i AS o, i % 4 AS line, hashint8(i) & 63 AS f, repeat('x', 120) AS filler
FROM generate_series(1, 100000) i;
CREATE TABLE pc_keys AS SELECT hashint8(i) & 65535 AS a FROM generate_series(1, 1000) i;
CREATE INDEX pc_lines_o ON pc_lines USING rencoder (o);
CREATE INDEX pc_lines_key ON pc_lines (o, line);
VACUUM ANALYZE pc_lines, pc_keys;
SET random_page_cost = 4;
EXPLAIN (COSTS OFF) SELECT * FROM pc_lines WHERE o BETWEEN 3000 AND 53000;
EXPLAIN (COSTS OFF) SELECT * FROM pc_keys WHERE EXISTS (SELECT FROM pc_lines WHERE o = a AND f > 3);
