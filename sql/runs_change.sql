-- Changes of a table that a run covers: rows that come later stand on the pending
-- list, then in deltas; parts of the table are read again.  Nothing is lost by any of it.
SET rencoder.sample_rate = 0;
CREATE SCHEMA runs_change;
SET search_path = runs_change, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set begin :abs_srcdir '/sql/include/begin.sql'
\set ECHO none
\i :begin
\set ECHO all

-- Half of each page is free.  "other" has an index of its own, so that updates of it are not HOT.
CREATE TABLE t (id int, v int8, s text COLLATE "C", few int, p point, other int, filler text)
	WITH (fillfactor = 50, autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, nullif(hashint8extended(i, 1) >> 24, 0),
		CASE WHEN i % 11 <> 0 THEN CASE WHEN i <= 6000 THEN 'https://example.org/' ELSE 'ZZTOP:'
			|| i % 7 END || md5((i / 3)::text) END,
		nullif(abs(hashint4(i)) % 40, 3),
		point(mod(hashint8extended(i, 2), 1000000) / 1000.0, mod(hashint8extended(i, 3),
			1000000) / 1000.0),
		i, repeat('x', 60)
	FROM generate_series(first, last) i
$$;
SELECT fill(1, 6000);
CREATE INDEX t_other ON t (other);
CREATE INDEX t_idx ON t USING rencoder (v, s, few, p)
	WITH (storage = run, resolution = pages, pages_per_range = 1, autosummarize = off);

-- How many of 60 random conditions give other rows by the index than by the table?
CREATE FUNCTION compare() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r t;
	c text;
	by_heap text;
	differ int := 0;
	found int := 0;
BEGIN
	FOR i IN 1 .. 10 LOOP
		SELECT * INTO r FROM t WHERE id >= random() * (SELECT max(id) FROM t) AND v IS NOT NULL
			AND s IS NOT NULL AND few IS NOT NULL AND p IS NOT NULL LIMIT 1;
		FOREACH c IN ARRAY ARRAY[format('v = %s', r.v),
			format('v BETWEEN %s AND %s::int8', r.v, r.v + (random() * 1e9)::int8),
			format('s = %L AND few = %s', r.s, r.few),
			format('s BETWEEN %L AND %L', left(r.s, 23), left(r.s, 23) || '~'),
			format('p <@ %L::box', box(point(r.p[0] + random(), r.p[1] + 1), r.p)),
			format('few = %s AND v < %s', r.few, r.v) ||
				(ARRAY['', ' AND s IS NULL', ' OR v IS NULL',
					' AND s > ''https://example.org/8'''])[1 + floor(random() * 4)::int]]
		LOOP
			by_heap := rows_of(c, false);
			differ := differ + (NOT index_finds(by_heap, c))::int;
			found := found + (by_heap !~ '^0 ')::int;
		END LOOP;
	END LOOP;
	RETURN format('%s differ, %s have rows', differ,
		CASE WHEN found > 30 THEN 'most' ELSE 'few' END);
END $$;
-- "pending": are there entries on the list?
CREATE VIEW state AS
	SELECT (SELECT count(DISTINCT run) FROM rencoder_runs('t_idx') WHERE kind = 'base') AS base,
		(SELECT count(DISTINCT run) FROM rencoder_runs('t_idx') WHERE kind = 'delta') AS deltas,
		(SELECT coalesce(sum(entries), 0) FROM rencoder_runs('t_idx') WHERE kind = 'delta' AND
			attnum = 1) AS entries,
		(SELECT pending_pages FROM rencoder_metapage('t_idx')) > 1 AS pages_pending;
SELECT uses_index('v = 5'), uses_index('s = ''a'' AND few = 1'), uses_index('p <@ box ''1,1,2,2''');
SELECT * FROM state;
SELECT frontier = pg_relation_size('t') / current_setting('block_size')::int AS all_covered
FROM rencoder_metapage('t_idx');
SELECT compare();

-- HOT updates have no entries; those of another index' column have, on the same page, too.
UPDATE t SET filler = repeat('y', 60) WHERE id % 40 = 0;
UPDATE t SET other = -id WHERE id % 40 = 1;
SELECT pending_pages FROM rencoder_metapage('t_idx');
SELECT count(*) FROM t a JOIN t b ON b.id = a.id + 1 WHERE a.id % 40 = 1 AND
	(a.ctid::text::point)[0] = (b.ctid::text::point)[0];
SELECT rencoder_index_check('t_idx', true);

INSERT INTO t SELECT id, v, s, few, p, other, filler FROM t WHERE id = 77;
SELECT pending_pages FROM rencoder_metapage('t_idx');
VACUUM t;
SELECT * FROM state;

-- Nulls: a row without any key has an entry, too, but no key in a delta.
UPDATE t SET v = NULL, s = NULL, few = NULL, p = NULL WHERE id IN (5, 705, 5005);
VACUUM t;
SELECT * FROM state;
UPDATE t SET v = NULL, s = NULL, few = NULL WHERE id IN (6, 706, 5006);
UPDATE t SET v = -id WHERE id IN (7, 707, 5007);
VACUUM t;
SELECT * FROM state;
SELECT attnum, entries FROM rencoder_runs('t_idx') WHERE kind = 'delta' ORDER BY run, 1;
SELECT rows_of('v = -707', true), rows_of('v < 0 AND v > -6000', true),
	rows_of('v < 0 AND v > -6000', false);
SELECT rencoder_index_check('t_idx', true);
SELECT compare();

-- Many rows: pages are pending, VACUUM makes a delta of them, and merges it with others.
CREATE FUNCTION change(k int) RETURNS void LANGUAGE sql AS $$
	UPDATE t SET v = hashint8extended(id, k) >> 24, p = point(p[0] + k, p[1]),
		s = CASE WHEN id % 3 = 0 THEN 'https://example.org/' || md5(k || s) ELSE s END
	WHERE id % 80 = k % 80
$$;
SELECT change(1);
SELECT * FROM state;
SELECT compare();
VACUUM t;
SELECT * FROM state;
SELECT compare();
SELECT change(2);
VACUUM t;
SELECT change(3);
VACUUM t;
SELECT * FROM state;
SELECT change(4);
VACUUM t;
SELECT * FROM state;
SELECT spare_pages > 0 AS spare, free_pages > 0 AS free FROM rencoder_metapage('t_idx');
SELECT rencoder_index_check('t_idx', true);
SELECT compare();
-- Nothing is pending: VACUUM makes none.
VACUUM t;
SELECT * FROM state;

-- A part of the table is read again: over its pages the newest reading wins, and there are
-- two runs.
SELECT rencoder_compact('t_idx', 40, 120);
SELECT count(*) AS runs, count(DISTINCT rank) AS ranks, min(from_page) AS first
FROM rencoder_runs('t_idx') WHERE kind = 'base' AND attnum = 1;
SELECT rencoder_index_check('t_idx', true);
SELECT compare();
SELECT change(5);
SELECT compare();
SELECT rencoder_compact('t_idx', 80, 200);
SELECT rencoder_compact('t_idx', 0, 41);
SELECT kind, from_page, to_page, state FROM rencoder_runs('t_idx')
WHERE kind = 'base' AND attnum = 1
ORDER BY rank;
SELECT rencoder_index_check('t_idx', true);
SELECT compare();
SELECT change(6);
SELECT compare();
-- A run of which no page is covered any more goes.
SELECT rencoder_compact('t_idx', 30, 210);
SELECT count(*) AS runs, max(from_page) AS last FROM rencoder_runs('t_idx')
WHERE kind = 'base' AND attnum = 1;
SELECT rencoder_index_check('t_idx', true);
SELECT compare();
SELECT change(7);
VACUUM t;
SELECT compare();

-- A table that grows; strings of another kind, so another coder.
SELECT fill(6001, 16000);
SELECT compare();
SELECT rencoder_maintain_index('t_idx') > 0 AS maintained;
SELECT compare();
SELECT change(8);
SELECT rencoder_index_check('t_idx', true);
SELECT compare();

-- One run of it all again.  Without a worker the session makes a delta when the list gets long.
VACUUM t;
REINDEX INDEX t_idx;
SELECT * FROM state;
SELECT compare();
UPDATE t SET v = v + 1 WHERE id % 3 <> 0;
SELECT runs > 1 AS made, pending_pages < 64 AS short FROM rencoder_metapage('t_idx');
SELECT rencoder_index_check('t_idx', true);
SELECT compare();
-- Also in a subtransaction that is rolled back, whose entries only cost time.
BEGIN;
SAVEPOINT a;
UPDATE t SET v = v + 1 WHERE id % 3 <> 0;
ROLLBACK TO a;
SELECT compare();
COMMIT;
SELECT pending_pages < 64 AS short FROM rencoder_metapage('t_idx');
SELECT rencoder_index_check('t_idx', true);

-- The second phase of CREATE INDEX CONCURRENTLY inserts all rows, which it finds in the run.  A
-- table that was truncated has none.
CREATE INDEX CONCURRENTLY t_conc ON t USING rencoder (v, few) WITH (storage = run,
	pages_per_range = 1, autosummarize = off);
SELECT pending_pages FROM rencoder_metapage('t_conc');
SELECT rencoder_index_check('t_conc', true);
TRUNCATE t;
SELECT fill(1, 3000);
SELECT * FROM state;
SELECT rencoder_index_check('t_idx', true);

-- Updates that change nothing of the index, but whose rows move to other covered pages: the run has
-- their keys, with other pages.
CREATE TABLE run_moves (id int, v int8, other int, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE run_moves ALTER filler SET STORAGE plain;
INSERT INTO run_moves SELECT i, i, i, repeat('x', 300) FROM generate_series(1, 2000) i;
CREATE INDEX run_moves_other ON run_moves (other);
CREATE INDEX run_moves_v ON run_moves USING rencoder (v) WITH (storage = run, pages_per_range =
	1, autosummarize = off);
DELETE FROM run_moves WHERE (ctid::text::point)[0] BETWEEN 10 AND 29;
VACUUM run_moves;
UPDATE run_moves SET other = -other WHERE id BETWEEN 1501 AND 1700;
SELECT count(*) > 100 AS moved FROM run_moves WHERE id > 1500 AND (ctid::text::point)[0] BETWEEN
	10 AND 29;
SELECT rencoder_index_check('run_moves_v', true);
SELECT rows_of('v BETWEEN 1600 AND 1650', true, 'run_moves'), rows_of('v BETWEEN 1600 AND 1650',
	false, 'run_moves');

-- The same with keys that the run has not got, just outside of its least and greatest ones, but in
-- their cells, and on their pages.
CREATE TABLE run_ends (id int, v int8, other int, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE run_ends ALTER filler SET STORAGE plain;
INSERT INTO run_ends
	SELECT i, CASE WHEN i IN (700, 1300) THEN 3000 WHEN i IN (701, 1301) THEN -3000 ELSE i %
		1000 END * (1::int8 << 40),
		i, repeat('x', 300)
	FROM generate_series(1, 2000) i;
CREATE INDEX run_ends_other ON run_ends (other);
CREATE INDEX run_ends_v ON run_ends USING rencoder (v)
	WITH (storage = run, pages_per_range = 1, autosummarize = off, false_pages = 100);
INSERT INTO run_ends
	SELECT i, CASE i % 2 WHEN 0 THEN (3000::int8 << 40) + 1 ELSE (-3000::int8 << 40) - 1 END, i,
		repeat('x', 300)
	FROM generate_series(2001, 2050) i;
DELETE FROM run_ends a USING run_ends b
	WHERE b.id IN (700, 1300) AND a.id NOT IN (700, 701, 1300, 1301) AND
		(a.ctid::text::point)[0] = (b.ctid::text::point)[0];
VACUUM (INDEX_CLEANUP on) run_ends;
UPDATE run_ends SET other = -other, filler = repeat('x', 7000) WHERE id = 2001;
UPDATE run_ends SET other = -other, filler = repeat('x', 7000) WHERE id = 2050;
SELECT count(DISTINCT (ctid::text::point)[0]) AS pages FROM run_ends WHERE id IN (700, 701,
	1300, 1301, 2001, 2050);
SELECT rencoder_index_check('run_ends_v', true);
SELECT rows_of(c, true, 'run_ends') AS indexed, rows_of(c, false, 'run_ends') AS sequential
FROM unnest(ARRAY['v > 3000::int8 << 40', 'v = (-3000::int8 << 40) - 1']) c;

-- Rows that are alike, on one page: a delta counts each of them.
CREATE TABLE run_alike (id int, v int8) WITH (fillfactor = 50, autovacuum_enabled = off);
INSERT INTO run_alike SELECT i, i FROM generate_series(1, 20000) i;
CREATE INDEX run_alike_v ON run_alike USING rencoder (v)
	WITH (storage = run, resolution = pages, pages_per_range = 1, autosummarize = off);
UPDATE run_alike SET v = -1 WHERE id % 100 BETWEEN 40 AND 44;
VACUUM run_alike;
SELECT kind, rows, entries < 500 AS few_entries FROM rencoder_runs('run_alike_v');

-- Tables that are not logged.
CREATE TEMP TABLE run_temp (id int, v int8, filler text) WITH (fillfactor = 20);
CREATE UNLOGGED TABLE run_unlogged (LIKE run_temp) WITH (fillfactor = 20);
CREATE FUNCTION unlogged(name text) RETURNS TABLE (made boolean, same boolean) LANGUAGE plpgsql
	AS $$
BEGIN
	EXECUTE format('INSERT INTO %I SELECT i, i, repeat(''x'', 30) FROM generate_series(1, 6000) i',
		name);
	EXECUTE format('CREATE INDEX %I ON %I USING rencoder (v)
		WITH (storage = run, pages_per_range = 1, autosummarize = off)',
		name || '_v', name);
	EXECUTE format('UPDATE %I SET v = v + 10000', name);
	EXECUTE format('UPDATE %I SET v = v + 10000', name);
	PERFORM rencoder_index_check((name || '_v')::regclass, true);
	RETURN QUERY SELECT runs > 1, rows_of('v BETWEEN 20100 AND 20200', true, name) =
		rows_of('v BETWEEN 20100 AND 20200', false, name)
	FROM rencoder_metapage((name || '_v')::regclass);
END $$;
SELECT * FROM unlogged('run_temp');
SELECT * FROM unlogged('run_unlogged');

DROP SCHEMA runs_change CASCADE;
