-- Plain columns of a heap table are read page by page, everything else by
-- PostgreSQL's own scan.  Both must find the same: each index here has a twin
-- with a predicate that holds for all rows.
SET client_min_messages = warning;
SET enable_indexscan = off;
\getenv seed RENCODER_SEED
CREATE FUNCTION heapread_seed() RETURNS int8 IMMUTABLE RETURN :seed;

CREATE TABLE heapread (id int NOT NULL, dropped text, v int8, s text, filler text)
	WITH (fillfactor = 70, autovacuum_enabled = off);
ALTER TABLE heapread ALTER s SET STORAGE external;
INSERT INTO heapread
SELECT i, 'dropped ' || i, nullif(hashint8extended(i, heapread_seed()) >> (i % 60), 0),
	CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN i || repeat('long', 700) ELSE 'name '
		|| hashint8(i) END, repeat('x', i % 90)
FROM generate_series(1, 20000) i;
ALTER TABLE heapread DROP dropped;
-- Rows of before have no place for these.
ALTER TABLE heapread ADD late int4 DEFAULT 4711, ADD empty int4;
INSERT INTO heapread SELECT i, hashint8extended(i, heapread_seed()), 'late ' || i, '', i % 3000, i
FROM generate_series(20001, 24000) i;

-- Builds both and says in how many columns they differ.
CREATE FUNCTION heapread_twins(columns text DEFAULT 'v, s, late, empty',
	OUT "column" smallint, OUT rows int8, OUT differ boolean, OUT behind int8)
RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	DROP INDEX IF EXISTS heapread_page, heapread_row;
	EXECUTE format('CREATE INDEX heapread_page ON heapread USING rencoder (%s) '
		'WITH (autosummarize = off)', columns);
	EXECUTE format('CREATE INDEX heapread_row ON heapread USING rencoder (%s) '
		'WITH (autosummarize = off) WHERE id > 0', columns);
	PERFORM rencoder_index_check('heapread_page', true), rencoder_index_check('heapread_row', true);
	RETURN QUERY SELECT * FROM heapread_compare();
END $$;
CREATE FUNCTION heapread_compare(OUT "column" smallint, OUT rows int8, OUT differ boolean,
	OUT behind int8)
RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT a.attnum, a.rows,
		(a.rows, a.nulls, a.entries, a.pages) IS DISTINCT FROM
			(b.rows, b.nulls, b.entries, b.pages),
		pg_relation_size('heapread') / current_setting('block_size')::int - m.frontier
	FROM rencoder_runs('heapread_page'::regclass) a
		FULL JOIN rencoder_runs('heapread_row'::regclass) b
			ON a.attnum = b.attnum AND a.from_page = b.from_page,
		rencoder_metapage('heapread_page') m
	ORDER BY a.attnum;
END $$;
-- Until what is deleted by now is dead to all sessions: versions that are not quite
-- dead are where the twins may differ.
CREATE PROCEDURE heapread_wait() LANGUAGE plpgsql AS $$
DECLARE
	next xid8 := pg_snapshot_xmax(pg_current_snapshot());
BEGIN
	FOR i IN 1 .. 3600 LOOP
		COMMIT;
		PERFORM pg_stat_clear_snapshot();
		EXIT WHEN pg_snapshot_xmin(pg_current_snapshot()) >= next AND NOT EXISTS (
			SELECT FROM pg_stat_activity
			WHERE pid <> pg_backend_pid()
				AND backend_xmin::text::int8 < next::text::int8 % (1::int8 << 32));
		PERFORM pg_sleep(0.05);
	END LOOP;
END $$;

-- At rest.
VACUUM (FREEZE) heapread;
SELECT * FROM heapread_twins();
-- One column is read in another way than several.
SELECT * FROM heapread_twins('v');
SELECT * FROM heapread_twins('s');
SELECT * FROM heapread_twins('late');
-- In use instead of in a build.
SELECT * FROM heapread_twins();
SELECT rencoder_compact('heapread_page', 50, 300)
	= rencoder_compact('heapread_row', 50, 300) AS same;
SELECT * FROM heapread_compare();
SELECT rencoder_index_check('heapread_page', true);

-- Rows of this transaction, of a subtransaction that was rolled back, and rows
-- that it has deleted.
BEGIN;
INSERT INTO heapread SELECT i, i, 'own ' || i, '', i, i FROM generate_series(30001, 30900) i;
SAVEPOINT s;
INSERT INTO heapread SELECT i, i, 'gone ' || i, '', i, i FROM generate_series(40001, 40900) i;
UPDATE heapread SET v = -id WHERE id % 10 = 1;
ROLLBACK TO s;
DELETE FROM heapread WHERE id % 10 = 2;
SELECT * FROM heapread_twins();
COMMIT;
VACUUM heapread;
CALL heapread_wait();
SELECT * FROM heapread_twins();

-- Dead versions, HOT chains, aborted transactions, before any VACUUM.
BEGIN;
UPDATE heapread SET filler = filler || 'y', v = v + 1 WHERE id % 5 = 3;
INSERT INTO heapread SELECT i, i, 'gone ' || i, '', i, i FROM generate_series(50001, 50900) i;
ROLLBACK;
UPDATE heapread SET filler = filler || 'z' WHERE id % 7 = 4;
UPDATE heapread SET v = v + 1 WHERE id % 9 = 5;
UPDATE heapread SET v = v + 2 WHERE id % 9 = 5;
DELETE FROM heapread WHERE id % 11 = 6;
SELECT sum(rows) > 0 AS rows, sum(behind) AS behind FROM heapread_twins();
VACUUM heapread;
CALL heapread_wait();
SELECT * FROM heapread_twins();

-- What a query finds, by either.
CREATE FUNCTION heapread_differing() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
	asked int8;
	query text;
	a text;
	b text;
BEGIN
	FOR i IN 1 .. 90 LOOP
		asked := hashint8extended((i * 157) % 24000, heapread_seed()) >> ((i * 157) % 60);
		query := CASE i % 3 WHEN 0 THEN format('v BETWEEN %s AND %s', asked,
			least(asked, 9000000000000000000) + 100)
			WHEN 1 THEN format('late = %s', i * 31) ELSE format('s = %L', 'name '
				|| hashint8(i * 7)) END;
		query := 'SELECT md5(string_agg(h::text, '','' ORDER BY id)) FROM heapread h '
			'WHERE id > 0 AND '
			|| query;
		SET LOCAL enable_seqscan = on;
		SET LOCAL enable_bitmapscan = off;
		EXECUTE query INTO a;
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_bitmapscan = on;
		EXECUTE query INTO b;
		n := n + (a IS DISTINCT FROM b)::int;
	END LOOP;
	RETURN n;
END $$;
DROP INDEX heapread_row;
SELECT heapread_differing();
DROP TABLE heapread;
DROP PROCEDURE heapread_wait;
DROP FUNCTION heapread_compare, heapread_twins, heapread_differing, heapread_seed;
