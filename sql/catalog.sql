-- The catalog: intervals of pages, ranks, the frontier, which rises and falls; runs without rows.
-- Whatever is done, each row is found.
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET rencoder.sample_rate = 0;
CREATE SCHEMA catalog;
SET search_path = catalog, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Four rows a page, which is half full.
CREATE TABLE t (id int, v int8, w int8, filler text)
	WITH (fillfactor = 50, autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, hashint8extended(i, 1), nullif(i % 9, 4), repeat('x', 900)
	FROM generate_series(first, last) i
$$;
CREATE INDEX t_idx ON t USING rencoder (v, w)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
-- Base runs in the order of their readings; pages of the table; how many conditions have other rows
-- by the index.
CREATE FUNCTION state(OUT runs text, OUT pages bigint, OUT frontier bigint, OUT entries_to bigint,
	OUT lost int) LANGUAGE plpgsql AS $$
DECLARE
	c text;
BEGIN
	lost := 0;
	FOR c IN SELECT format('v = %s', v) FROM t WHERE id % 37 = 3
		UNION ALL SELECT format('v BETWEEN %s AND %s', v, v + (1::int8 << 57))
			FROM generate_series(1, 4) i, hashint8extended(i, 2) v WHERE v < 1e18
		UNION ALL VALUES ('w IS NULL'), ('w = 5'), ('w IS NULL AND v > 0'), ('v < 0 AND w > 6')
	LOOP
		lost := lost + (NOT index_finds(rows_of(c, false), c))::int;
	END LOOP;
	PERFORM rencoder_index_check('t_idx', true);
	SELECT string_agg(format('%s-%s', from_page, to_page), ', ' ORDER BY rank) INTO runs
	FROM rencoder_runs('t_idx') WHERE kind = 'base' AND attnum = 1;
	SELECT pg_relation_size('t') / current_setting('block_size')::int, m.frontier, m.entries_to
	INTO pages, frontier, entries_to FROM rencoder_metapage('t_idx') m;
END $$;

-- Nothing, then rows behind the frontier, which have no entries; then runs, one behind the other.
SELECT * FROM state();
SELECT fill(1, 400);
SELECT * FROM state();
SELECT pending_pages FROM rencoder_metapage('t_idx');
SELECT rencoder_compact('t_idx', 0, 40);
SELECT * FROM state();
SELECT rencoder_compact('t_idx', 40, 60);
SELECT * FROM state();
-- No page may be left out: what lies between is read, too.
SELECT rencoder_compact('t_idx', 80, 100);
SELECT * FROM state();

-- The newest reading wins: in the middle, over an end, over several.
UPDATE t SET v = v + 1 WHERE id % 5 = 0;
SELECT rencoder_compact('t_idx', 10, 20);
SELECT * FROM state();
UPDATE t SET v = v + 1 WHERE id % 5 = 1;
SELECT rencoder_compact('t_idx', 30, 70);
SELECT * FROM state();
UPDATE t SET v = v + 1 WHERE id % 5 = 2;
SELECT rencoder_compact('t_idx', 5, 75);
SELECT * FROM state();

-- Entries are needed as long as the run of their page has not read them.
SELECT rencoder_compact('t_idx', 0, 100) > 0 AS all_of_it;
SELECT * FROM state();
UPDATE t SET w = 77 WHERE id BETWEEN 200 AND 210;
SELECT pending_pages > 0 AS pending FROM rencoder_metapage('t_idx');
SELECT rencoder_compact('t_idx', 0, 30);
SELECT rows_of('w = 77', true) = rows_of('w = 77', false) AS same;
SELECT rencoder_compact('t_idx', 30, 200);
SELECT rows_of('w = 77', true) = rows_of('w = 77', false) AS same;
SELECT * FROM state();

-- Pages without rows.
DELETE FROM t WHERE ctid >= '(30,0)' AND ctid < '(60,0)';
VACUUM t;
SELECT rencoder_compact('t_idx', 30, 60);
SELECT sum(rows) AS rows FROM rencoder_runs('t_idx') WHERE from_page = 30 AND attnum = 1;
SELECT * FROM state();
SELECT fill(600, 700);
SELECT * FROM state();

-- The table becomes shorter: frontier and entries_to fall with the next maintenance.
DELETE FROM t WHERE ctid >= '(50,0)';
VACUUM t;
SELECT * FROM state();
SELECT rencoder_maintain_index('t_idx');
SELECT * FROM state();
SELECT fill(1001, 1200);
SELECT * FROM state();
DELETE FROM t;
VACUUM t;
VACUUM t;
SELECT * FROM state();
SELECT fill(1, 300);
SELECT pending_pages FROM rencoder_metapage('t_idx');
SELECT * FROM state();
SELECT rencoder_maintain_index('t_idx') > 0 AS maintained;
SELECT * FROM state();
TRUNCATE t;
SELECT * FROM state();

-- In a transaction that is rolled back: runs stay, as entries do.
SELECT fill(1, 200);
BEGIN;
SELECT fill(201, 400);
SELECT rencoder_maintain_index('t_idx') > 0 AS maintained;
SELECT * FROM state();
ROLLBACK;
SELECT * FROM state();

-- COPY, over the end of what is covered.
SELECT rencoder_compact('t_idx') >= 0 AS compacted;
DELETE FROM t WHERE id % 3 = 0;
VACUUM t;
COPY t (id, v, w, filler) FROM stdin;
1	1	1	x
2	2	\N	x
3	3	3	x
\.
SELECT * FROM state();
DROP SCHEMA catalog CASCADE;
