-- Spans of groups that one run covers (INV-17): a scan that finds nothing in them reads none of
-- their directory entries.  An index of 32 columns has entries of four groups on a page, so that
-- 2,200 pages of table have five directory pages.
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET rencoder.sample_rate = 0;
SET rencoder.enable_facts = off;
CREATE SCHEMA spans;
SET search_path = spans, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\set polygon_ops :abs_srcdir '/sql/include/polygon_ops.sql'
\set ECHO none
\i :compare
\i :polygon_ops
\set ECHO all

-- A row a page, with room for another.
CREATE TABLE t (id int, v int8, g polygon, n int8, filler text)
	WITH (fillfactor = 10, autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, hashint8extended(i, 1),
		format('((%s,%s))', i % 1000, i % 999)::polygon, i % 50, repeat('x', 700)
	FROM generate_series(first, last) i
$$;
SELECT fill(1, 2200);
SELECT format('CREATE INDEX t_idx ON t USING rencoder (v, g, n, %s)
	WITH (storage = run, pages_per_range = 1, autosummarize = off)',
	string_agg(format('(id + %s)', i), ', ')) FROM generate_series(4, 32) i \gexec
SELECT directory_pages, pg_relation_size('t') / current_setting('block_size')::int AS pages
FROM rencoder_metapage('t_idx');

-- Index pages that a query of an absent value reads.
CREATE FUNCTION index_pages() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true),
		set_config('enable_indexscan', 'off', true);
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT json) SELECT * FROM t WHERE v = 1'
	INTO plan;
	plan := plan -> 0 -> 'Plan' -> 'Plans' -> 0;
	RETURN (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int;
END $$;
-- That, and how many conditions have other rows by the index.
CREATE FUNCTION state() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c text;
	compared int := 0;
	lost int := 0;
BEGIN
	FOR c IN SELECT format('v = %s', v) FROM t WHERE (id % 97 = 0 OR id < 0) AND v IS NOT NULL
		UNION ALL SELECT format('v BETWEEN %s AND %s', v, v + (1::int8 << 56))
			FROM generate_series(1, 5) i, hashint8extended(i, 2) v
		UNION ALL SELECT format('g && %L::polygon', g) FROM t WHERE id % 211 = 0 OR area(box(g)) > 0
		UNION ALL SELECT format('g && %L::polygon AND v = %s', g, v)
			FROM t WHERE area(box(g)) > 0 AND v IS NOT NULL
		UNION ALL VALUES ('v IS NULL'), ('v IS NOT NULL AND n = 7'), ('n = 49'), ('g IS NULL')
	LOOP
		compared := compared + 1;
		lost := lost + (NOT index_finds(rows_of(c, false), c))::int;
	END LOOP;
	PERFORM rencoder_index_check('t_idx', true);
	RETURN format('%s index pages; %s conditions, %s lost', index_pages(),
		CASE WHEN compared > 25 THEN 'many' ELSE compared::text END, lost);
END $$;
-- None of the directory but the page of the group that the table ends in.
SELECT state();

-- A late row changes no entry.
UPDATE t SET v = v + 1 WHERE id = 1000;
SELECT state();
-- A value without a key: its group leaves the span, whose parts remain.
UPDATE t SET g = '((100,100),(160,100),(160,190))' WHERE id = 1100;
SELECT state();
UPDATE t SET g = '((500,100),(560,100),(560,190))' WHERE id IN (100, 1101, 2100);
SELECT state();
-- A range that is not summarized, and a row that has come there.
SELECT rencoder_desummarize_range('t_idx', 300);
UPDATE t SET v = -id, id = -id WHERE ctid >= '(300,1)' AND ctid < '(301,1)';
SELECT state();
SELECT rencoder_summarize_range('t_idx', 300) AS summarized;
SELECT state();
-- Maintenance puts the groups back that have no such value.
SELECT rencoder_compact('t_idx') > 0 AS compacted;
SELECT state();
UPDATE t SET g = '((1,1))' WHERE area(box(g)) > 0;
VACUUM t;
SELECT rencoder_compact('t_idx') > 0 AS compacted;
SELECT state();
-- Nulls of whole pages have no places, which the span says.
UPDATE t SET v = NULL WHERE id BETWEEN 700 AND 1300;
VACUUM t;
SELECT rencoder_compact('t_idx') > 0 AS compacted;
SELECT state();
-- The table grows, by another run, and becomes shorter.
SELECT fill(2201, 3000);
SELECT state();
VACUUM t;
SELECT state();
DELETE FROM t WHERE id > 1500;
VACUUM t;
SELECT state();
SELECT fill(1501, 1600);
SELECT state();
DROP SCHEMA spans CASCADE;
