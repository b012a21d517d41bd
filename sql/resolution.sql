-- Runs name rows: a scan of an index finds what a sequential scan finds, whatever has become
-- of the line pointers of a page; and it checks few rows for each that matches.
\getenv abs_srcdir PG_ABS_SRCDIR
\set begin :abs_srcdir '/sql/include/begin.sql'
CREATE SCHEMA resolution;
SET search_path = resolution, public;
\set ECHO none
\i :begin
\set ECHO all

-- "a" is anywhere, "b" one of a few, "c" in the order of the table; "n" is in no index.
CREATE TABLE t (id int, a int8, b int, c int, n int, filler text)
	WITH (autovacuum_enabled = off, fillfactor = 70);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE FUNCTION fill(first int, last int, width int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, CASE WHEN random() < 0.9 THEN (random() * 1e12)::int8 END,
		(random() * 30)::int, i, 0, repeat('x', width)
	FROM generate_series(first, last) i
$$;
-- Updates that are HOT and others, some rolled back; pages are pruned as they are read.
CREATE FUNCTION change(rounds int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. rounds LOOP
		UPDATE t SET n = n + 1 WHERE id % 7 = i % 7;
		UPDATE t SET a = (random() * 1e12)::int8 WHERE id % 13 = i % 13;
		BEGIN
			UPDATE t SET n = n + 1 WHERE id % 5 = i % 5;
			UPDATE t SET a = a + 1, b = 31 WHERE id % 17 = i % 17;
			RAISE EXCEPTION 'undo';
		EXCEPTION WHEN raise_exception THEN
		END;
		UPDATE t SET n = n + 1 WHERE id % 5 = i % 5;
		DELETE FROM t WHERE id % 29 = i % 29;
		PERFORM count(*) FROM t WHERE n > 2;
		UPDATE t SET b = (random() * 30)::int WHERE id % 31 = i % 31;
	END LOOP;
END $$;
-- All conditions by the index and by a sequential scan; then each row by rencoder_index_check().
CREATE FUNCTION check_all() RETURNS TABLE (different bigint, without_index bigint)
	LANGUAGE plpgsql AS $$
DECLARE
	i name;
BEGIN
	RETURN QUERY
	SELECT count(*) FILTER (WHERE NOT index_finds(rows_of(condition, false), condition)),
		count(*) FILTER (WHERE NOT uses_index(condition))
	FROM (SELECT format('a BETWEEN %s AND %s', v, v + (random() * w)::int8)
			FROM (SELECT (random() * 1e12)::int8 AS v, 10 ^ (4 + g % 9) AS w
				FROM generate_series(1, 40) g) x
		UNION ALL SELECT format('a = %s', x.a) FROM (SELECT t.a FROM t WHERE t.a IS NOT NULL
			ORDER BY random() LIMIT 10) x
		UNION ALL SELECT format('b = %s', v) FROM generate_series(0, 31, 3) v
		UNION ALL SELECT format('c BETWEEN %s AND %s', v, v + 500)
			FROM generate_series(1, 9000, 1111) v
		UNION ALL SELECT format('a < %s AND b = %s', v * 1e11::int8, v) FROM generate_series(1, 9) v
		UNION ALL SELECT format('a < %s AND c > %s', v * 1e11::int8, v * 900)
			FROM generate_series(1, 9) v
		UNION ALL SELECT format('b IN (1, %s) AND c < %s', v, v * 900) FROM generate_series(1, 9) v
		UNION ALL SELECT 'a IS NULL AND b = 3'
		UNION ALL SELECT 'b = 3 AND a IS NOT NULL') q (condition);
	FOR i IN SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 't'::regclass LOOP
		PERFORM rencoder_index_check(i::regclass, true);
	END LOOP;
END $$;
CREATE FUNCTION make_indexes(options text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE INDEX t_ab ON t USING rencoder (a, b) WITH (%s)', options);
	EXECUTE format('CREATE INDEX t_bca ON t USING rencoder (b, c, a) WITH (%s)', options);
END $$;

SELECT fill(1, 6000, 150);
SELECT fill(6001, 10000, 0);
SELECT change(3);
SELECT make_indexes('autosummarize = off, pages_per_range = 2');
SELECT * FROM check_all();
SELECT change(2);
SELECT * FROM check_all();
VACUUM t;
SELECT * FROM check_all();
-- Line pointers that are free again.
SELECT fill(10001, 12000, 100);
SELECT change(1);
SELECT * FROM check_all();
VACUUM t;
SELECT change(1);
VACUUM t;
SELECT * FROM check_all();
SELECT rencoder_compact('t_ab') > 0 AS ab, rencoder_compact('t_bca') > 0 AS bca;
SELECT * FROM check_all();
-- Within a transaction, and what is left of it.
BEGIN;
SAVEPOINT s;
SELECT change(1);
SELECT * FROM check_all();
ROLLBACK TO s;
UPDATE t SET n = n + 1, a = a + 1 WHERE id % 3 = 0;
SELECT * FROM check_all();
COMMIT;
SELECT * FROM check_all();
-- Little memory: pages as a whole, and sets of several places each.
SET work_mem = '64kB';
SELECT * FROM check_all();
RESET work_mem;
-- Whole pages, and each row by itself; runs of one index may differ.
ALTER INDEX t_ab SET (resolution = pages);
ALTER INDEX t_bca SET (resolution = rows);
SELECT rencoder_compact('t_ab') > 0 AS ab, rencoder_compact('t_bca') > 0 AS bca;
SELECT change(1);
SELECT * FROM check_all();
VACUUM t;
ALTER INDEX t_ab SET (resolution = rows);
ALTER INDEX t_bca RESET (resolution);
SELECT change(1);
VACUUM t;
SELECT * FROM check_all();
ALTER INDEX t_ab SET (resolution = 'column');
-- The index of a build by several processes, and one that is made beside writers.
DROP INDEX t_ab, t_bca;
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
SELECT make_indexes('pages_per_range = 1');
SELECT * FROM check_all();
DROP INDEX t_ab, t_bca;
CREATE INDEX CONCURRENTLY t_ab ON t USING rencoder (a, b);
CREATE INDEX CONCURRENTLY t_bca ON t USING rencoder (b, c, a);
SELECT * FROM check_all();

-- Rows that are checked for each that matches, and pages.
CREATE TABLE r (id int8, s int8, filler text);
INSERT INTO r SELECT mod(i * 7919::int8, 100003) * 1000, i, repeat('x', 60)
FROM generate_series(1, 100002) i;
CREATE FUNCTION checked(condition text)
	RETURNS TABLE (rows int, checked_for_each numeric, exact bool)
	LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	SET LOCAL enable_seqscan = off;
	EXECUTE 'EXPLAIN (FORMAT json, ANALYZE, TIMING off) SELECT FROM r WHERE ' || condition
		INTO plan;
	plan := plan -> 0 -> 'Plan';
	rows := (plan ->> 'Actual Rows')::float8;
	checked_for_each := round((rows + (plan ->> 'Rows Removed by Index Recheck')::float8)::numeric
		/ rows, 1);
	exact := plan ->> 'Lossy Heap Blocks' = '0';
	RETURN NEXT;
END $$;
CREATE INDEX r_id ON r USING rencoder (id);
CREATE INDEX r_s ON r USING rencoder (s);
VACUUM ANALYZE r;
SELECT rows, checked_for_each <= 4 AS few, exact FROM checked('id BETWEEN 5000000 AND 5999999');
SELECT rows, checked_for_each <= 4 AS few, exact FROM checked('id BETWEEN 5000000 AND 14999999');
SELECT rows, checked_for_each <= 1.2 AS few, exact FROM checked('s BETWEEN 5000 AND 14999');
DROP INDEX r_id;
CREATE INDEX r_id ON r USING rencoder (id) WITH (resolution = rows, false_pages = 0.1);
SELECT rows, checked_for_each <= 1.1 AS few, exact FROM checked('id BETWEEN 5000000 AND 5999999');
DROP INDEX r_id;
CREATE INDEX r_id ON r USING rencoder (id) WITH (resolution = pages);
SELECT rows, checked_for_each > 50 AS many, exact FROM checked('id BETWEEN 5000000 AND 5999999');

-- A run of pages behind the end of a table that has shrunk.
CREATE TABLE e (id int8, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE e ALTER filler SET STORAGE plain;
INSERT INTO e SELECT i, repeat('x', 4000) FROM generate_series(1, 3000) i;
CREATE INDEX e_id ON e USING rencoder (id)
	WITH (autosummarize = off, pages_per_range = 1);
DELETE FROM e WHERE id > 100;
VACUUM e;
SELECT pg_relation_size('e') / current_setting('block_size')::int < 128 AS shrunk;
VACUUM e;
SELECT to_page > pg_relation_size('e') / current_setting('block_size')::int AS behind
FROM rencoder_runs('e_id') WHERE kind = 'base';
SELECT rows_of('id BETWEEN 50 AND 200', true, 'e') =
	rows_of('id BETWEEN 50 AND 200', false, 'e') AS same;
DROP SCHEMA resolution CASCADE;
