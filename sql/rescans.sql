-- The inner side of a nested loop is one scan that begins anew for each outer row.  It goes on with
-- pages that it has copied, unless something was taken away meanwhile, and finds what its snapshot
-- sees, whatever comes or changes between its rows.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET rencoder.sample_rate = 0;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SET jit = off;

-- 32 rows a page, with room for as many, 300 pages and more.
CREATE TABLE r (id int, v int8, s text COLLATE "C", filler text)
	WITH (fillfactor = 50, autovacuum_enabled = off);
ALTER TABLE r ALTER filler SET STORAGE plain;
CREATE FUNCTION r_fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO r
	SELECT i, hashint8extended(i, 1) % 1000000, 'key ' || md5(i::text), repeat('x', 40)
	FROM generate_series(first, last) i
$$;
SELECT r_fill(1, 10000);
CREATE TABLE o (n int PRIMARY KEY, v int8, s text COLLATE "C");
INSERT INTO o SELECT row_number() OVER (ORDER BY id), v, s FROM r WHERE id % 500 = 7;
ANALYZE r, o;

-- What is done before the rescan of an outer row.
CREATE TABLE act (n int, statement text);
CREATE FUNCTION act(outer_row int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	todo text;
BEGIN
	FOR todo IN SELECT a.statement FROM act a WHERE a.n = outer_row LOOP
		EXECUTE todo;
	END LOOP;
	RETURN outer_row;
END $$;

-- The rows of a nested loop, and index pages a rescan if "plan"; what is done meanwhile is undone,
-- but for what it did to the index.
CREATE FUNCTION join_rows(condition text, indexed boolean, plan boolean DEFAULT false) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT count(*) || '' rows, '' || sum(id) || '' '' || sum(r.v)
		FROM (SELECT act(n), v, s FROM o ORDER BY n OFFSET 0) o JOIN r ON ' || condition;
	result text;
	lines json;
BEGIN
	PERFORM set_config('enable_seqscan', (NOT indexed)::text, true),
		set_config('enable_bitmapscan', indexed::text, true);
	BEGIN
		IF plan THEN
			EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT json) ' || query INTO lines;
			SELECT (node->>'Shared Hit Blocks')::numeric + (node->>'Shared Read Blocks')::numeric
				INTO STRICT result
			FROM jsonb_path_query(lines::jsonb,
				'strict $.**?(@."Node Type" == "Bitmap Index Scan")') node;
		ELSE
			EXECUTE query INTO result;
		END IF;
		RAISE EXCEPTION 'undone' USING ERRCODE = 'RR000';
	EXCEPTION WHEN SQLSTATE 'RR000' THEN
		RETURN result;
	END;
END $$;

-- Rows without the index, and, if it finds others, with it.
CREATE FUNCTION compare_joins(what text) RETURNS TABLE (done text, answer text, with_index text)
	LANGUAGE plpgsql AS $$
DECLARE
	condition text;
BEGIN
	FOREACH condition IN ARRAY ARRAY['r.v BETWEEN o.v - 9 AND o.v + 9', 'r.s = o.s'] LOOP
		TRUNCATE r;
		PERFORM r_fill(1, 10000);
		PERFORM make_index();
		done := what;
		with_index := join_rows(condition, true);
		answer := join_rows(condition, false);
		with_index := nullif(with_index, answer);
		RETURN NEXT;
	END LOOP;
END $$;
CREATE FUNCTION compare_all() RETURNS TABLE (done text, answer text, with_index text)
	LANGUAGE plpgsql AS $$
DECLARE
	later text := 'v IN (SELECT v FROM o WHERE n > 3)';
BEGIN
	DELETE FROM act;
	RETURN QUERY SELECT * FROM compare_joins('nothing');
	INSERT INTO act VALUES (4, 'INSERT INTO r SELECT 1000000, v, s, filler FROM r WHERE ' || later),
		(9, 'INSERT INTO r SELECT 2000000, v, s FROM o');
	RETURN QUERY SELECT * FROM compare_joins('inserts');
	INSERT INTO act VALUES
		(5, 'UPDATE r SET v = v + 500000, s = ''new '' || s WHERE ' || later);
	RETURN QUERY SELECT * FROM compare_joins('updates');
	INSERT INTO act VALUES
		(6, 'SELECT rencoder_compact(''r_idx'', 0, 299)'),
		(8, 'DELETE FROM r WHERE ' || later),
		(11, 'SELECT rencoder_maintain_index(''r_idx'')');
	RETURN QUERY SELECT * FROM compare_joins('read again');
	DELETE FROM act WHERE statement LIKE '%rencoder%';
	INSERT INTO act VALUES (6, 'SELECT rencoder_compact(''r_idx'')'),
		(7, 'SELECT r_fill(10001, 20000)'),
		(8, 'SELECT rencoder_maintain_index(''r_idx'')'),
		(14, 'SELECT rencoder_compact(''r_idx'')');
	RETURN QUERY SELECT * FROM compare_joins('compact');
END $$;

CREATE FUNCTION make_index() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DROP INDEX IF EXISTS r_idx;
	CREATE INDEX r_idx ON r USING rencoder (v, s)
		WITH (storage = run, autosummarize = off, pages_per_range = 1);
END $$;
SELECT * FROM compare_all();

-- A rescan reads a leaf and, at its end, the metapage; false pages may be on a second leaf.  So it
-- does beside pages of the pending list.
CREATE FUNCTION reads_few_pages() RETURNS boolean LANGUAGE sql AS $$
	SELECT bool_and(join_rows(condition, true, true)::int < 50 + 3 * (SELECT count(*) FROM o))
	FROM unnest(ARRAY['r.v = o.v', 'r.s = o.s']) condition
$$;
DELETE FROM act;
SELECT make_index();
SELECT reads_few_pages();
UPDATE r SET v = v + 1 WHERE id % 5 = 0;
SELECT pending_pages > 4 AS pending FROM rencoder_metapage('r_idx');
SELECT reads_few_pages();

-- The first run takes the place of filters.
CREATE OR REPLACE FUNCTION make_index() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DROP INDEX IF EXISTS r_idx;
	CREATE INDEX r_idx ON r USING rencoder (v, s)
		WITH (autosummarize = off, pages_per_range = 1);
	ALTER INDEX r_idx SET (storage = run);
END $$;
SELECT * FROM compare_all();

DROP TABLE r, o, act;
DROP FUNCTION r_fill, act, join_rows, compare_joins, compare_all, make_index, reads_few_pages;

-- What they copy takes memory when it is copied: a loop over many partitions has as many scans.
CREATE TABLE many (k int8, filler text) PARTITION BY HASH (k);
DO $$
BEGIN
	FOR i IN 0 .. 63 LOOP
		EXECUTE format('CREATE TABLE many_%s PARTITION OF many
			FOR VALUES WITH (MODULUS 64, REMAINDER %s)', i, i);
	END LOOP;
END $$;
INSERT INTO many SELECT i, repeat('x', 100) FROM generate_series(1, 20000) i;
CREATE INDEX many_k ON many USING rencoder (k);
ANALYZE many;
CREATE FUNCTION kilobytes(int8) RETURNS int8 LANGUAGE sql VOLATILE AS
	$$ SELECT sum(total_bytes)::int8 / 1024 FROM pg_backend_memory_contexts $$;
SET enable_seqscan = off;
SET enable_partition_pruning = off;
SET enable_bitmapscan = on;
SELECT sum(n) AS rows, max(used) - min(used) < 64 * 128 AS takes_little
FROM (SELECT kilobytes(a) AS used, (SELECT count(*) FROM many WHERE k = a + b) AS n
	FROM generate_series(1, 3) a, generate_series(1, 2) b OFFSET 0) s;
SET enable_bitmapscan = off;
SET enable_indexscan = on;
SELECT sum(n) AS rows, max(used) - min(used) < 64 * 128 AS takes_little
FROM (SELECT kilobytes(a) AS used, (SELECT count(*) FROM many WHERE k = a + b) AS n
	FROM generate_series(1, 3) a, generate_series(1, 2) b OFFSET 0) s;
DROP TABLE many;
