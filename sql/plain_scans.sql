-- Plain index scans: row by row, without a bitmap.  Each row comes once, and none is missing, as by
-- a bitmap and by a sequential scan; who wants few rows does not wait for all.
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET rencoder.sample_rate = 0;
CREATE SCHEMA plain_scans;
SET search_path = plain_scans, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- 40 rows a page, with room for HOT updates, 400 pages: keys that are unique (v), frequent (few),
-- nulls, text.
CREATE FUNCTION row_filler() RETURNS text LANGUAGE sql AS $$ SELECT repeat('x', 60) $$;
CREATE TABLE t (id int, v int8, few int, s text COLLATE "C", other int, filler text)
	WITH (fillfactor = 60, autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t
	SELECT i,
		CASE WHEN i % 50 <> 0 THEN hashint8extended(i, current_setting('compare.seed')::int8) END,
		CASE WHEN i % 7 <> 0 THEN abs(hashint4(i)) % 20 END, 'key ' || md5(i::text), 0, row_filler()
	FROM generate_series(first, last) i
$$;
CREATE FUNCTION conditions() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format(unnest('{v = %1$s, v BETWEEN %1$s AND %2$s, v < %1$s, v IS NULL, v IS NOT NULL,
		"v IN (%1$s, 5, %2$s)", few = 3, few BETWEEN 3 AND 9, few IS NULL, "few IN (3, 8)",
		v > %1$s AND few = 4, few = 4 AND v IS NULL, few IS NULL AND v > %1$s,
		s = ''%3$s'', s LIKE ''key a%%'', s LIKE ''key a%%'' AND few = 5,
		few = 11, few = 11 AND v > %1$s, few = 11 AND v IS NULL}'::text[]), v,
		least(v + 2 ^ 60::numeric, 9223372036854775807)::int8, s)
	FROM t WHERE id IN (77, 3001, 7003)
$$;
-- Of how many conditions a plain scan, or a bitmap, finds other rows than a sequential scan.
CREATE FUNCTION compare() RETURNS text LANGUAGE sql AS $$
	SELECT format('%s conditions, %s wrong', count(*),
		sum((NOT index_finds(rows_of(c, false), c))::int)) FROM conditions() c
$$;
CREATE PROCEDURE change(name text) LANGUAGE plpgsql AS $$
BEGIN
	-- HOT, and not; chains of several members, some of them pruned.
	FOR i IN 1 .. 4 LOOP
		UPDATE t SET other = other + 1 WHERE id % 9 = i;
		UPDATE t SET few = (few + i) % 20, v = v + 1 WHERE id % 31 = i;
		COMMIT;
	END LOOP;
	DELETE FROM t WHERE id % 37 = 0;
	BEGIN
		UPDATE t SET v = v + 7, few = 3 WHERE id % 3 = 0;
		RAISE EXCEPTION 'undone';
	EXCEPTION WHEN raise_exception THEN
	END;
END $$;

-- Runs beside a tail that is not indexed, a pending list and deltas; one column, or
-- several.
CREATE FUNCTION make_indexes(options text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DROP INDEX IF EXISTS t_v, t_few, t_s, t_two, t_part;
	EXECUTE format('CREATE INDEX t_v ON t USING rencoder (v) WITH (%1$s);
		CREATE INDEX t_few ON t USING rencoder (few) WITH (%1$s);
		CREATE INDEX t_s ON t USING rencoder (s) WITH (%1$s);
		CREATE INDEX t_two ON t USING rencoder (few, v) WITH (%1$s);
		CREATE INDEX t_part ON t USING rencoder (v) WITH (%1$s) WHERE few = 11', options);
END $$;
CREATE PROCEDURE compare_all(options text, INOUT result text) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE t;
	PERFORM fill(1, 6000);
	PERFORM make_indexes('autosummarize = off, pages_per_range = 1, ' || options);
	result := concat_ws('; ', 'made: ' || compare());
	PERFORM fill(6001, 8000);
	CALL change('t');
	result := concat_ws('; ', result, 'changed: ' || compare());
	PERFORM rencoder_maintain_index(i::regclass)
	FROM unnest('{t_v,t_few,t_s,t_two,t_part}'::text[]) i;
	CALL change('t');
	result := concat_ws('; ', result, 'maintained: ' || compare());
	IF options ~ 'storage = run' THEN
		PERFORM rencoder_compact(i::regclass) FROM unnest('{t_v,t_few,t_s,t_two,t_part}'::text[]) i;
	END IF;
	UPDATE t SET v = v - 3, few = few + 1 WHERE id % 23 = 0;
	result := concat_ws('; ', result, 'compacted: ' || compare());
END $$;
CALL compare_all('storage = run', NULL);
CALL compare_all('storage = run, resolution = pages', NULL);
CALL compare_all('storage = run, resolution = rows, false_pages = 20', NULL);
VACUUM t;
SELECT compare();
SET work_mem = '64kB';
SELECT compare();
RESET work_mem;
DROP INDEX t_v, t_few, t_s, t_two;
-- Nothing but the predicate: PostgreSQL does not recheck it.  Its index-only scan asks for no
-- column, so the index counts the rows itself.
ANALYZE t;
CREATE FUNCTION counts(query text) RETURNS TABLE (plan text, answer text) LANGUAGE plpgsql AS $$
DECLARE
	way text;
	explained json;
BEGIN
	FOREACH way IN ARRAY '{seqscan,bitmapscan,indexscan,indexonlyscan}'::text[] LOOP
		PERFORM set_config('enable_seqscan', (way = 'seqscan')::text, true),
			set_config('enable_bitmapscan', (way = 'bitmapscan')::text, true),
			set_config('enable_indexscan', (way IN ('indexscan', 'indexonlyscan'))::text, true),
			set_config('enable_indexonlyscan', (way = 'indexonlyscan')::text, true);
		EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO explained;
		plan := explained -> 0 -> 'Plan' -> 'Plans' -> 0 ->> 'Node Type';
		EXECUTE query INTO answer;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT plan, count(*) OVER (PARTITION BY answer) AS alike
FROM counts('SELECT count(*) FROM t WHERE few = 11');
SELECT plan, count(*) OVER (PARTITION BY answer) AS alike
FROM counts('SELECT count(*) || '' '' || sum(id) FROM t WHERE few = 11');
-- A version that is too young, or gone, does not count either.
BEGIN;
DELETE FROM t WHERE few = 11 AND id % 2 = 0;
INSERT INTO t SELECT id, v, 11, s, other, filler FROM t WHERE few = 12;
SELECT plan, count(*) OVER (PARTITION BY answer) AS alike
FROM counts('SELECT count(*) FROM t WHERE few = 11');
ROLLBACK;
DROP INDEX t_part;

-- Few rows of many: the index pages that are read do not grow with the number of matches, nor do
-- the pages of the table.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
TRUNCATE t;
SELECT fill(1, 30000);
CREATE INDEX t_few ON t USING rencoder (few) WITH (storage = run, autosummarize = off);
VACUUM ANALYZE t;
-- Pages that a query reads, of the table and the index.
CREATE FUNCTION pages_read(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json, COSTS OFF, TIMING OFF) ' || query INTO plan;
	IF plan::text NOT LIKE '%"Index Scan"%' THEN
		RAISE EXCEPTION 'no plain scan: %', plan;
	END IF;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int +
		(plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
END $$;
SELECT pages_read('SELECT count(id) FROM t WHERE few = 5') > 500 AS all,
	pages_read('SELECT id FROM t WHERE few = 5 LIMIT 1') < 20 AS one,
	pages_read('SELECT id FROM t WHERE few = 5 LIMIT 10') < 50 AS ten,
	pages_read('SELECT EXISTS (SELECT id FROM t WHERE few = 5)') < 20 AS exists;
SELECT (SELECT count(*) FROM (SELECT id FROM t WHERE few = 5 LIMIT n) q) = n AS limited
FROM unnest('{1,63,64,65,1000}'::int[]) n;
SELECT count(*) = count(DISTINCT id) AS distinct, count(*) =
	(SELECT count(*) FROM t WHERE few + 0 = 5) AS complete FROM t WHERE few = 5;
-- By itself the planner takes it for a few rows, and a bitmap for many.
RESET enable_bitmapscan;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE few = 5 LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE few = 5;
SET enable_indexscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE few = 5 LIMIT 1;
RESET enable_indexscan;
SET enable_bitmapscan = off;

-- Cursors: forward only, unless PostgreSQL keeps the rows; nothing is lost by what others, or the
-- index's maintenance, do between two of them.
CREATE TABLE expected AS SELECT id FROM t WHERE few + 0 = 5;
CREATE TABLE fetched (id int);
CREATE PROCEDURE fetch_all(declaration text, INOUT result text) LANGUAGE plpgsql AS $$
DECLARE
	c refcursor := 'c';
	row_id int;
BEGIN
	TRUNCATE fetched;
	EXECUTE format('DECLARE c %s FOR SELECT id FROM t WHERE few = 5', declaration);
	FOR i IN 1 .. 100000 LOOP
		FETCH c INTO row_id;
		EXIT WHEN row_id IS NULL;
		INSERT INTO fetched VALUES (row_id);
		IF i = 10 THEN
			UPDATE t SET few = 5 WHERE few = 6 AND id % 2 = 0;
			UPDATE t SET other = 1 WHERE few = 5;
		ELSIF i = 40 THEN
			PERFORM rencoder_compact('t_few');
		ELSIF i = 70 THEN
			DELETE FROM t WHERE few = 5 AND id % 2 = 0;
			PERFORM rencoder_compact('t_few', 0, 30);
		ELSIF i = 100 THEN
			PERFORM rencoder_maintain_index('t_few');
			PERFORM rencoder_compact('t_few');
		END IF;
	END LOOP;
	CLOSE c;
	result := format('%s rows too many, %s missing, %s twice',
		(SELECT count(*) FROM (SELECT id FROM fetched EXCEPT SELECT id FROM expected) q),
		(SELECT count(*) FROM (SELECT id FROM expected EXCEPT SELECT id FROM fetched) q),
		(SELECT count(*) - count(DISTINCT id) FROM fetched));
END $$;
BEGIN;
CALL fetch_all('CURSOR', NULL);
ROLLBACK;
BEGIN;
CALL fetch_all('SCROLL CURSOR', NULL);
ROLLBACK;
BEGIN;
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT row_number() OVER () AS n, id FROM t WHERE few = 5;
FETCH 1 FROM c \gset first_
DELETE FROM t WHERE few = 5 AND id % 4 = 0;
COMMIT;
FETCH LAST FROM c \gset last_
FETCH ABSOLUTE 1 FROM c \gset again_
SELECT :last_n = count(*) AS all, :first_id = :again_id AS back FROM expected;
CLOSE c;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t WHERE few = 5;
FETCH 1 FROM c \gset ignored_
FETCH BACKWARD 1 FROM c;
ROLLBACK;

-- Joins: rescans; a merge join, whose inner side goes back, has the rows sorted.
CREATE TABLE keys AS SELECT DISTINCT few AS a FROM t;
INSERT INTO keys SELECT a FROM keys;
ANALYZE keys, t;
SET enable_hashjoin = off;
SET enable_material = off;
SET enable_memoize = off;
CREATE FUNCTION join_rows(merge boolean, plain boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('enable_mergejoin', merge::text, true),
		set_config('enable_nestloop', (NOT merge)::text, true),
		set_config('enable_indexscan', plain::text, true),
		set_config('enable_seqscan', (NOT plain)::text, true);
	SELECT count(*) || ' ' || sum(t.id) INTO result FROM keys JOIN t ON few = a AND t.few > 0;
	RETURN result;
END $$;
SELECT join_rows(merge, true) = join_rows(merge, false) AS alike
FROM unnest('{t,f}'::boolean[]) merge;
SELECT count(*) FROM keys WHERE NOT EXISTS (SELECT FROM t WHERE few = a);
SELECT a, (SELECT count(*) > 0 FROM (SELECT FROM t WHERE few = a LIMIT 3) q) AS some FROM keys
WHERE a < 3 ORDER BY a;

-- What was visited is counted, also where a scan is stopped.
RESET enable_hashjoin;
RESET enable_material;
RESET enable_memoize;
SELECT rencoder_index_stats_reset('t_few');
SELECT id > 0 AS one FROM t WHERE few = 7 LIMIT 1;
SELECT scans, pages, table_pages > 1 AS more
FROM rencoder_index_stats('t_few');
SELECT count(id) > 0 AS some FROM t WHERE few = 7;
SELECT scans, pages - 1 = (SELECT pages FROM rencoder_candidates('t_few', 7, 7)) AS pages
FROM rencoder_index_stats('t_few');

DROP SCHEMA plain_scans CASCADE;
