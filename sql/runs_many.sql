-- So many runs that the list is as full as it may become: no row is lost, and there is room to make
-- them fewer.
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET rencoder.sample_rate = 0;
CREATE SCHEMA runs_many;
SET search_path = runs_many, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- A row a page; each page is read alone, and becomes a run of its own.
CREATE TABLE t (id int, v int8, filler text)
	WITH (fillfactor = 10, autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE INDEX t_v ON t USING rencoder (v)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
CREATE PROCEDURE fill(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR g IN first .. last LOOP
		INSERT INTO t SELECT i, hashint8extended(i, 1) >> 20, repeat('x', 780)
		FROM generate_series(g * 8 + 1, (g + 1) * 8) i;
		PERFORM rencoder_compact('t_v', g * 8, (g + 1) * 8);
		COMMIT;
	END LOOP;
END $$;
CREATE VIEW state AS
	SELECT (SELECT count(DISTINCT run) FROM rencoder_runs('t_v') WHERE kind = 'base') AS base,
		(SELECT count(DISTINCT run) > 0 FROM rencoder_runs('t_v') WHERE kind = 'delta') AS deltas,
		pending_pages > 1 AS pages_pending,
		frontier = pg_relation_size('t') / current_setting('block_size')::int AS covered
	FROM rencoder_metapage('t_v');
-- Of 30 rows how many are lost?
CREATE FUNCTION compare() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c text;
	lost int := 0;
BEGIN
	FOR c IN SELECT format('v = %s', v) FROM t WHERE id % 17 = 1 LOOP
		lost := lost + (NOT index_finds(rows_of(c, false), c))::int;
	END LOOP;
	PERFORM rencoder_index_check('t_v', true);
	RETURN lost || ' lost';
END $$;

CALL fill(0, 59);
SELECT * FROM state;
SELECT compare();
-- No more of them: neighbours are merged in the same reading.
CALL fill(60, 79);
SELECT base < 64 AS room, covered FROM state;
SELECT compare();

-- Deltas still have room.
UPDATE t SET v = v + 1 WHERE id % 3 = 0;
SELECT pages_pending FROM state;
SELECT compare();

-- VACUUM makes fewer runs of all.
VACUUM t;
SELECT * FROM state;
SELECT compare();
UPDATE t SET v = v + 1 WHERE id % 3 = 1;
VACUUM t;
SELECT * FROM state;
SELECT compare();
SELECT rencoder_compact('t_v') AS compacted;
SELECT * FROM state;
SELECT compare();

DROP SCHEMA runs_many CASCADE;
