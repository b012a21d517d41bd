-- Nulls by place: IS NULL, IS NOT NULL and a partial index's scan without a condition on its
-- columns read the pages that have such rows, from runs, deltas and the pending list; and nothing
-- is missed, whatever becomes of the rows.
SET enable_indexscan = off;
CREATE SCHEMA nulls;
SET search_path = nulls, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set begin :abs_srcdir '/sql/include/begin.sql'
\set ECHO none
\i :begin
\set ECHO all

-- Heap pages that a bitmap scan reads, and those that have a row: at most a tenth and three more?
-- If not, both numbers.
CREATE FUNCTION reads_few(condition text, relation text DEFAULT 't') RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	visited bigint;
	pages bigint;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_bitmapscan = on;
	EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, FORMAT json) SELECT * FROM %I WHERE ', relation)
		|| condition INTO plan;
	visited := coalesce((plan->0->'Plan'->>'Exact Heap Blocks')::bigint, 0) +
		coalesce((plan->0->'Plan'->>'Lossy Heap Blocks')::bigint, 0);
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE format('SELECT count(DISTINCT (ctid::text::point)[0]) FROM %I WHERE ', relation)
		|| condition INTO pages;
	RETURN CASE WHEN plan::text NOT LIKE '%Bitmap Index Scan%' THEN 'no index is used'
		WHEN visited > 1.1 * pages + 3 THEN visited || ' pages, ' || pages || ' have rows'
		ELSE 'few' END;
END $$;

-- ---- Pages ----

-- Some 2,500 pages of 40 rows.
CREATE TABLE t (id int, done int, failed int, filler text) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, CASE WHEN random() >= 0.0005 THEN (random() * 1e9)::int END,
	CASE WHEN random() < 0.0005 THEN (random() * 1e9)::int END, repeat('x', 160)
FROM generate_series(1, 100000) i;
CREATE INDEX t_done ON t USING rencoder (done);
CREATE INDEX t_failed ON t USING rencoder (failed);
VACUUM ANALYZE t;
SELECT reads_few('done IS NULL'), reads_few('failed IS NOT NULL');
SELECT attnum, nulls = (SELECT count(*) FROM t WHERE done IS NULL) AS all_nulls, null_pages
FROM rencoder_runs('t_done');
-- Nulls everywhere: of the pages of the table each has a bit.
SELECT nulls = (SELECT count(*) FROM t WHERE failed IS NULL) AS all_nulls, null_pages
FROM rencoder_runs('t_failed');
DROP INDEX t_done;
-- A partial index used for its predicate alone, whose column has values; and one that has nulls.
CREATE INDEX t_part ON t USING rencoder (id) WHERE done IS NULL;
SELECT reads_few('done IS NULL');
DROP INDEX t_part;
CREATE INDEX t_part ON t USING rencoder (failed) WHERE done IS NULL;
SELECT reads_few('done IS NULL');
DROP INDEX t_part, t_failed;
-- Two columns: of a null in one and an interval, or a value, in the other, row by row.
CREATE INDEX t_both ON t USING rencoder (done, failed);
CREATE INDEX t_back ON t USING rencoder (failed, id);
SELECT reads_few('failed IS NOT NULL AND done IS NOT NULL'),
	reads_few('done IS NULL AND failed IS NULL'),
	reads_few('failed IS NOT NULL AND id BETWEEN 1000 AND 4000');
UPDATE t SET done = NULL WHERE failed IS NOT NULL AND id % 2 = 0;
SELECT rencoder_compact('t_both') > 0, rencoder_compact('t_back') > 0;
SELECT reads_few('done IS NULL AND failed IS NOT NULL'),
	reads_few('done IS NULL AND failed BETWEEN 0 AND 500000000');
SELECT rencoder_index_check('t_both', true), rencoder_index_check('t_back', true);
DROP TABLE t;

-- A queue: rows are born with a null, which is set later.  Ten clumps of 30 rows are left.
CREATE TABLE t (id int, done int, filler text) WITH (fillfactor = 70, autovacuum_enabled = off);
INSERT INTO t SELECT i, NULL, repeat('x', 120) FROM generate_series(1, 60000) i;
CREATE INDEX t_done ON t USING rencoder (done);
SELECT nulls FROM rencoder_runs('t_done');
UPDATE t SET done = id WHERE id % 6000 >= 30;
VACUUM ANALYZE t;
SELECT reads_few('done IS NULL', 't'), count(*) FROM t WHERE done IS NULL;
SELECT sum(nulls) FROM rencoder_runs('t_done');
SELECT rencoder_index_check('t_done', true);
-- The same by rencoder_compact.
DROP INDEX t_done;
UPDATE t SET done = NULL WHERE id % 6000 >= 30;
VACUUM t;
CREATE INDEX t_done ON t USING rencoder (done);
CREATE INDEX t_part ON t USING rencoder (id) WHERE done IS NULL;
UPDATE t SET done = id WHERE id % 6000 >= 30;
VACUUM (INDEX_CLEANUP off) t;
SELECT rencoder_compact('t_done') > 0, rencoder_compact('t_part') > 0;
SELECT reads_few('done IS NULL', 't');
DROP INDEX t_done;
SELECT reads_few('done IS NULL', 't');
-- Late rows, pending and in a delta.
CREATE INDEX t_done ON t USING rencoder (done);
DROP INDEX t_part;
DELETE FROM t WHERE id BETWEEN 20000 AND 20100;
VACUUM t;
INSERT INTO t SELECT i, NULL, repeat('x', 120) FROM generate_series(20000, 20100) i;
SELECT reads_few('done IS NULL', 't'), count(*) FROM t WHERE done IS NULL;
VACUUM t;
SELECT kind, nulls FROM rencoder_runs('t_done') ORDER BY kind;
SELECT reads_few('done IS NULL', 't');
SELECT rencoder_index_check('t_done', true);
DROP TABLE t;

-- ---- Rows ----

-- Nulls of all kinds: none, rare, every second, nearly all, all, in stretches of the table.
CREATE TABLE t (id int, none int, rare int, half int, most int, every int, stretch int,
	filler text) WITH (autovacuum_enabled = off);
CREATE FUNCTION add_rows(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, (random() * 1e6)::int,
		CASE WHEN random() >= 0.002 THEN (random() * 1e6)::int END,
		CASE WHEN random() >= 0.5 THEN (random() * 1e6)::int END,
		CASE WHEN random() < 0.01 THEN (random() * 1e6)::int END, NULL,
		CASE WHEN i / 1500 % 2 = 0 THEN i END, repeat('x', 60)
	FROM generate_series(first, last) i $$;
SELECT add_rows(1, 20000);
CREATE TABLE conditions AS
WITH columns AS (SELECT unnest('{none, rare, half, most, every, stretch}'::text[]) AS c),
	singles AS (SELECT c, f AS form, replace(f, '@', c) AS condition
		FROM columns,
			unnest('{@ IS NULL, @ IS NOT NULL, @ > -1, @ BETWEEN 1000 AND 9000}'::text[]) f)
SELECT condition FROM singles
UNION ALL
SELECT a.condition || ' AND ' || b.condition FROM singles a, singles b
WHERE a.c < b.c AND NOT (a.form ~ 'BETWEEN|-1' AND b.form ~ 'BETWEEN|-1');
-- How many conditions find other rows by an index than without, and which?
CREATE FUNCTION compare_all() RETURNS TABLE (compared bigint, wrong bigint) LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE NOT index_finds(rows_of(condition, false), condition))
	FROM conditions $$;
CREATE FUNCTION check_all() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	index regclass;
	n bigint := 0;
BEGIN
	FOR index IN SELECT indexrelid FROM pg_index WHERE indrelid = 't'::regclass LOOP
		PERFORM rencoder_index_check(index, true);
		n := n + 1;
	END LOOP;
	RETURN n;
END $$;
CREATE INDEX t_1 ON t USING rencoder (rare, half) WITH (pages_per_range = 4);
CREATE INDEX t_2 ON t USING rencoder (most, stretch, none) WITH (pages_per_range = 1);
CREATE INDEX t_3 ON t USING rencoder (every, rare, most);
CREATE INDEX t_4 ON t USING rencoder (half, none, stretch, every)
	WITH (pages_per_range = 2);
SELECT * FROM compare_all();
SELECT check_all();

-- Late rows on pages that VACUUM has emptied, and behind them.
DELETE FROM t WHERE id % 3 = 0;
VACUUM t;
SELECT add_rows(20001, 26000);
SELECT * FROM compare_all();
SELECT check_all();
-- Values that become null, and the other way round; rolled back, too.
UPDATE t SET rare = NULL, none = NULL WHERE id % 500 = 1;
UPDATE t SET half = 7, every = 1 WHERE id % 700 = 2;
BEGIN;
UPDATE t SET stretch = NULL WHERE id % 5 = 1;
SAVEPOINT s;
DELETE FROM t WHERE rare IS NULL;
ROLLBACK TO s;
SELECT * FROM compare_all();
ROLLBACK;
SELECT * FROM compare_all();
SELECT check_all();
-- Deltas.
VACUUM t;
SELECT * FROM compare_all();
SELECT check_all();
SELECT add_rows(26001, 28000);
UPDATE t SET most = NULL, stretch = 5 WHERE id % 50 = 1;
VACUUM t;
SELECT * FROM compare_all();
-- Pages that are read again.
SELECT bool_and(rencoder_compact(i::regclass, 20, 60) > 0) AS made
FROM unnest('{t_1, t_2, t_3, t_4}'::text[]) i;
SELECT * FROM compare_all();
SELECT add_rows(28001, 28500);
SELECT bool_and(rencoder_maintain_index(i::regclass) >= 0)
FROM unnest('{t_1, t_2, t_3, t_4}'::text[]) i;
SELECT * FROM compare_all();
SELECT check_all();
-- Runs made anew, whatever the worker has done by now.
SELECT bool_and(rencoder_compact(i::regclass, 0, pg_relation_size('t') / 8192) > 0)
FROM unnest('{t_1, t_2, t_3}'::text[]) i;
SELECT * FROM compare_all();
SELECT check_all();
-- Concurrently, and by whole pages.
REINDEX INDEX CONCURRENTLY t_1;
ALTER INDEX t_2 SET (resolution = pages);
REINDEX INDEX t_2;
SELECT add_rows(28501, 29000);
SELECT * FROM compare_all();
SELECT check_all();
-- By several processes.
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
ALTER TABLE t SET (parallel_workers = 2);
REINDEX TABLE t;
SELECT * FROM compare_all();
SELECT check_all();

-- ---- Shares ----

-- From 0.1 to 99 % nulls, here and there or in a stretch, beside late rows of all kinds, of keys
-- that are made by several coders.
CREATE TABLE s (id int, n int, a text, b text, c text, d text, e text, f text, g text, filler text)
	WITH (fillfactor = 80, autovacuum_enabled = off);
CREATE FUNCTION share_row(i int, begins text) RETURNS SETOF s LANGUAGE sql AS $$
	SELECT i, 0, CASE WHEN random() >= 0.001 THEN v END, CASE WHEN random() >= 0.01 THEN v END,
		CASE WHEN random() >= 0.1 THEN v END, CASE WHEN random() >= 0.5 THEN v END,
		CASE WHEN random() >= 0.9 THEN v END, CASE WHEN random() >= 0.99 THEN v END,
		CASE WHEN i > 3000 THEN v END, repeat('x', 120)
	FROM (SELECT begins || md5(hashint4(i % 997)::text)) AS values(v) $$;
INSERT INTO s SELECT (share_row(i, 'a')).* FROM generate_series(1, 8000) i;
CREATE INDEX s_run ON s USING rencoder (a, b, c, d, e, f, g)
	WITH (pages_per_range = 2, autosummarize = off);
CREATE INDEX s_back ON s USING rencoder (g, f, e, d, c, b, a)
	WITH (pages_per_range = 2, autosummarize = off);
CREATE INDEX s_filter ON s USING rencoder (a, b, c, d, e, f, g)
	WITH (pages_per_range = 2, autosummarize = off);
CREATE TABLE share_conditions AS
SELECT replace(form, '@', c) || coalesce(' AND ' || replace(other, '@', d), '') AS condition
FROM unnest('{a,b,c,d,e,f,g}'::text[]) c,
	unnest(ARRAY['@ IS NULL', '@ IS NOT NULL', '@ LIKE ''a5%''', '@ BETWEEN ''a'' AND ''b4'''])
		form,
	unnest('{d,f}'::text[]) d, unnest(ARRAY[NULL, '@ IS NULL', '@ < ''a7''']) other
WHERE c <> d AND (other IS NOT NULL OR d = 'd' OR c = 'd');
-- In how many conditions does each index find other rows than a sequential scan?
CREATE FUNCTION compare_shares() RETURNS TABLE (index text, compared bigint, wrong bigint)
LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE found ON COMMIT DROP AS
		SELECT condition, rows_of(condition, false, 's') AS without FROM share_conditions;
	FOREACH index IN ARRAY '{s_run,s_back,s_filter}'::text[] LOOP
		UPDATE pg_index SET indisvalid = indexrelid = index::regclass
		WHERE indrelid = 's'::regclass;
		SELECT count(*), count(*) FILTER (WHERE NOT index_finds(without, condition, 's')) FROM found
		INTO compared, wrong;
		RETURN NEXT;
		PERFORM rencoder_index_check(index::regclass, true);
	END LOOP;
	UPDATE pg_index SET indisvalid = true WHERE indrelid = 's'::regclass;
	DROP TABLE found;
END $$;
SELECT * FROM compare_shares();
SELECT condition, reads_few(condition, 's')
FROM unnest('{a,b,c,d,e,f,g}'::text[]) c,
	unnest(ARRAY[c || ' IS NULL', c || ' IS NOT NULL']) condition;
-- A row that is null in all columns is an entry, as others are.
INSERT INTO s (id) VALUES (8001);
UPDATE s SET a = NULL, b = NULL, c = NULL, d = NULL, e = NULL, f = NULL, g = NULL WHERE id = 100;
-- Deleted, and their places used again; updated with and without other values.
DELETE FROM s WHERE id % 11 = 0;
VACUUM s;
INSERT INTO s SELECT (share_row(i, 'b')).* FROM generate_series(8002, 8800) i;
UPDATE s SET n = 1 WHERE id % 13 = 0;
UPDATE s SET f = a, a = f, g = NULL WHERE id % 17 = 0;
SELECT * FROM compare_shares();
VACUUM s;
SELECT * FROM compare_shares();
-- The table gets twice as long, and coders are trained anew.
INSERT INTO s SELECT (share_row(i, 'b')).* FROM generate_series(8801, 18000) i;
UPDATE s SET d = 'b5' || d, e = NULL WHERE id % 19 = 0;
SELECT * FROM compare_shares();
VACUUM s;
UPDATE s SET c = NULL, f = 'a5' WHERE id % 23 = 0;
SELECT * FROM compare_shares();
SELECT rencoder_compact('s_run') > 0 AS compacted;
SELECT * FROM compare_shares();
VACUUM s;
UPDATE s SET c = NULL, e = 'a6' WHERE id % 41 = 0;
VACUUM s;
SELECT count(DISTINCT run) > 0 AS deltas FROM rencoder_runs('s_run') WHERE kind = 'delta';
SELECT * FROM compare_shares();

-- Rows of nulls only are found, also where no other row is.
CREATE TABLE n (id int, a int, b int, filler text) WITH (autovacuum_enabled = off);
INSERT INTO n SELECT i, i, i, repeat('x', 60) FROM generate_series(1, 5000) i;
CREATE INDEX n_ab ON n USING rencoder (a, b);
DELETE FROM n WHERE id % 100 = 0;
VACUUM n;
INSERT INTO n VALUES (5001, NULL, NULL), (5002, NULL, 1), (5003, 1, NULL);
SELECT condition, index_finds(rows_of(condition, false, 'n'), condition, 'n')
FROM unnest('{a IS NULL, b IS NULL, a IS NULL AND b IS NULL, a IS NULL AND b = 1,
	a IS NULL AND b IS NOT NULL}'::text[]) condition;
SELECT reads_few('a IS NULL AND b IS NULL', 'n');
SELECT rencoder_index_check('n_ab', true);

SET client_min_messages = error;
DROP SCHEMA nulls CASCADE;
