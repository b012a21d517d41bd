-- Lookups by keys in the order of the table: entries name parts of pages, so that each lookup reads
-- hardly more than the pages of its own rows and checks few others; all is found.
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
CREATE SCHEMA sorted_lookups;
SET search_path = sorted_lookups, public;
\set ECHO none
\i :compare
\set ECHO all
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET random_page_cost = 1.1;

-- Orders of 4 lines each, 35 a page; unique numbers; timestamps in uneven steps; and numbers that
-- are in order page by page only, whose entries name pages.
CREATE TABLE t (id int, order_no int, stamp timestamptz, page_no int, filler text)
	WITH (autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
INSERT INTO t SELECT i, i / 4,
	timestamptz '2026-01-01 UTC' + (i * 1000 + i::int8 * i % 997) * interval '1 ms',
	i / 32 * 32 + i * 13 % 32, repeat('x', 176)
FROM generate_series(0, 99999) i;
CREATE INDEX t_order ON t USING rencoder (order_no) WITH (autosummarize = off);
CREATE INDEX t_id ON t USING rencoder (id) WITH (autosummarize = off);
CREATE INDEX t_stamp ON t USING rencoder (stamp) WITH (autosummarize = off);
CREATE INDEX t_page_no ON t USING rencoder (page_no) WITH (autosummarize = off);
CREATE TABLE wanted AS SELECT i * 7919 % 25000 AS order_no, i * 7919 % 100000 AS id
FROM generate_series(1, 1000) i;
VACUUM ANALYZE t;
VACUUM ANALYZE wanted;

-- What a lookup of each of the wanted keys reads and checks, for one page or row of its own.
CREATE FUNCTION lookups(col name, OUT rows int, OUT pages numeric, OUT checked numeric)
	LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	key text;
	own int := 0;
	read int := 0;
	removed int := 0;
	n int;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true);
	rows := 0;
	FOR key IN EXECUTE format('SELECT %I FROM wanted', col) LOOP
		EXECUTE format('EXPLAIN (FORMAT json, ANALYZE, TIMING off) SELECT FROM t WHERE %I = %L',
			col, key)
			INTO plan;
		plan := plan -> 0 -> 'Plan';
		read := read + (plan ->> 'Exact Heap Blocks')::int + (plan ->> 'Lossy Heap Blocks')::int;
		removed := removed + coalesce((plan ->> 'Rows Removed by Index Recheck')::int, 0);
		rows := rows + (plan ->> 'Actual Rows')::float8;
		EXECUTE format('SELECT count(DISTINCT (ctid::text::point)[0]) FROM t WHERE %I = %L',
			col, key)
			INTO n;
		own := own + n;
	END LOOP;
	pages := round(read::numeric / own, 2);
	checked := round((rows + removed)::numeric / rows, 1);
END $$;
SELECT rows, pages <= 1.2 AS few_pages, checked <= 3 AS few_rows,
	CASE WHEN pages > 1.2 OR checked > 3
		THEN format('%s pages, %s rows', pages, checked) END AS wrong
FROM lookups('order_no');
SELECT rows, pages <= 1.2 AS few_pages, checked <= 9 AS few_rows,
	CASE WHEN pages > 1.2 OR checked > 9
		THEN format('%s pages, %s rows', pages, checked) END AS wrong
FROM lookups('id');
-- Pages of the runs, which are 5 bits a row and two pages at most.
SELECT i, (SELECT sum(pages) FROM rencoder_runs(i)) <= 9 AS small
FROM unnest('{t_order,t_id,t_stamp,t_page_no}'::regclass[]) i;

-- Joins: the planner has loops over the index, which check few rows for each.
CREATE FUNCTION join_plan(query text) RETURNS TABLE (node text, checked_for_a_lookup text)
	LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json, ANALYZE, TIMING off) ' || query INTO plan;
	plan := plan #> '{0,Plan,Plans,0}';
	node := concat_ws(' ', plan ->> 'Node Type', plan ->> 'Join Type',
		plan #>> '{Plans,1,Index Name}');
	checked_for_a_lookup := CASE
		WHEN (plan #>> '{Plans,1,Rows Removed by Index Recheck}')::float8 <= 8
		THEN 'few' ELSE plan #>> '{Plans,1,Rows Removed by Index Recheck}' END;
	RETURN NEXT;
END $$;
SELECT * FROM join_plan('SELECT count(filler) FROM wanted w JOIN t USING (order_no)');
SELECT * FROM join_plan('SELECT count(*) FROM wanted w
	WHERE EXISTS (SELECT FROM t WHERE t.order_no = w.order_no)');

-- All that a sequential scan finds, whatever becomes of the rows.
CREATE FUNCTION check_all() RETURNS TABLE (different bigint, without_index bigint)
	LANGUAGE sql AS $$
	SELECT count(*) FILTER (WHERE NOT index_finds(rows_of(condition, false), condition)),
		count(*) FILTER (WHERE NOT uses_index(condition))
	FROM (SELECT format('order_no = %s', v * 613)
			FROM generate_series(0, 42) v
		UNION ALL SELECT format('order_no BETWEEN %s AND %s', v * 613, v * 613 + v)
			FROM generate_series(0, 42) v
		UNION ALL SELECT format('id BETWEEN %s AND %s', v * 2411, v * 2411 + v * v)
			FROM generate_series(0, 42) v
		UNION ALL SELECT format('page_no = %s', v * 2411) FROM generate_series(0, 42, 6) v
		UNION ALL SELECT format('stamp = timestamptz %L + %s * interval ''1 ms''', '2026-01-01 UTC',
			v * 2411 * 1000 + (v * 2411)::int8 * v * 2411 % 997) FROM generate_series(0, 40) v
		UNION ALL SELECT format('stamp > timestamptz %L AND order_no IN (%s, %s)',
			'2026-01-01 10:00 UTC',
			v * 601, v * 607) FROM generate_series(0, 40, 4) v
		UNION ALL SELECT format('order_no < %s AND id > %s', v * 600, v * 2390)
			FROM generate_series(1, 9) v) q (condition)
$$;
SELECT * FROM check_all();
UPDATE t SET filler = repeat('y', 176) WHERE id % 20 = 7;
UPDATE t SET order_no = order_no + 30 WHERE id % 40 = 9;
DELETE FROM t WHERE id % 31 = 3;
SELECT * FROM check_all();
VACUUM t;
INSERT INTO t SELECT i, i / 4, timestamptz '2026-01-01 UTC' + i * interval '1 s', i,
	repeat('z', 176)
FROM generate_series(100000, 104999) i;
SELECT * FROM check_all();
SELECT i, rencoder_compact(i) > 0 AS compacted
FROM unnest('{t_order,t_id,t_stamp,t_page_no}'::regclass[]) i;
SELECT * FROM check_all();
SELECT i, rencoder_index_check(i, true)
FROM unnest('{t_order,t_id,t_stamp,t_page_no}'::regclass[]) i;
DROP SCHEMA sorted_lookups CASCADE;
