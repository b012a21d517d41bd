-- Coders that were made before the rows that they are for: of no row, of '', of strings with
-- another beginning, of places elsewhere.  VACUUM and rencoder_compact() make new ones, and make
-- the runs anew whose keys the old ones made, so that a query visits few pages.
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET rencoder.sample_rate = 0;
CREATE SCHEMA runs_recode;
SET search_path = runs_recode, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\set pages_of :abs_srcdir '/sql/include/pages_of.sql'
\set ECHO none
\i :compare
\i :pages_of
\set ECHO all

CREATE FUNCTION url(i int) RETURNS text LANGUAGE sql IMMUTABLE AS
	$$ SELECT 'https://www.example.com/' || md5(i::text) $$;
CREATE FUNCTION place(i int, far float8) RETURNS point LANGUAGE sql IMMUTABLE AS
	$$ SELECT point(far + (hashint4(i) & 65535) / 65536.0,
		far + (hashint4(-i) & 65535) / 65536.0) $$;
-- Four rows a page, 512 rows a group.
CREATE TABLE t (id int, s text COLLATE "C", p point, filler text)
	WITH (autovacuum_enabled = off, vacuum_index_cleanup = on);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE PROCEDURE make() LANGUAGE sql AS $$
	DROP INDEX IF EXISTS t_sp;
	TRUNCATE t;
$$;
CREATE PROCEDURE make_index() LANGUAGE sql AS $$
	CREATE INDEX t_sp ON t USING rencoder (s, p)
		WITH (storage = run, pages_per_range = 1, autosummarize = off);
$$;
CREATE PROCEDURE fill(first int, last int, what text, far float8) LANGUAGE sql AS $$
	INSERT INTO t SELECT i, CASE what WHEN 'url' THEN url(i) WHEN 'a' THEN 'a' || i ELSE what END,
		place(i, far), repeat('x', 1900) FROM generate_series(first, last) i
$$;
-- The most pages that a query of one row's value visits, of rows from "first" to "last".  The
-- filters of the last group, of 128 pages, may pass for most of them in the second column.
CREATE FUNCTION most_pages(first int, last int, OUT s bigint, OUT p bigint) LANGUAGE plpgsql AS $$
DECLARE
	r t;
BEGIN
	s := 0;
	p := 0;
	FOR r IN SELECT * FROM t WHERE id BETWEEN first AND last AND id % 97 = 5 LOOP
		s := greatest(s, pages_of(format('s = %L', r.s)));
		p := greatest(p, pages_of(format('p ~= %L', r.p)));
	END LOOP;
END $$;
-- Values, beginnings and boxes: by the index, and by a sequential scan.
CREATE FUNCTION compare(step int DEFAULT 211) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r t;
	c text;
	without text;
	compared int := 0;
	found int := 0;
	lost int := 0;
BEGIN
	FOR r IN SELECT * FROM t WHERE id % step BETWEEN 7 AND 9 LOOP
		FOREACH c IN ARRAY ARRAY[format('s = %L', r.s), format('s LIKE %L', left(r.s, 27) || '%'),
			format('s BETWEEN %L AND %L', left(r.s, 26), r.s), format('p ~= %L', r.p),
			format('p <@ %L::box', box(r.p, r.p + point(0.01, 0.01))),
			format('s = %L AND p <@ %L::box', r.s, box(r.p, r.p + point(0.01, 0.01)))]
		LOOP
			compared := compared + 1;
			without := rows_of(c, false);
			found := found + (without !~ '^0 ')::int;
			lost := lost + (NOT index_finds(without, c))::int;
		END LOOP;
	END LOOP;
	PERFORM rencoder_index_check('t_sp', true);
	RETURN format('%s lost%s', lost, CASE WHEN compared > 20 AND found = compared
		THEN ', all are there' END);
END $$;
-- Pages that are covered, and base runs.
CREATE VIEW state AS
	SELECT frontier AS covered, (SELECT count(DISTINCT r.run)
		FROM rencoder_runs('t_sp'::text::regclass) r WHERE kind = 'base') AS base
	FROM rencoder_metapage('t_sp'::text::regclass);

-- No row, and rows that are dead: nothing to learn of.  Other rows come behind them.
CALL make();
CALL fill(1, 2100, '', 0);
DELETE FROM t;
CALL make_index();
CALL fill(1, 1500, 'url', 0);
SELECT rencoder_maintain_index('t_sp') > 0 AS maintained;
VACUUM t;
SELECT * FROM state;
SELECT s <= 8 AS s, p <= 130 AS p FROM most_pages(1, 1500);
SELECT compare();

-- Where they were: their keys came to the pending list without a coder.
CALL make();
CALL fill(1, 2100, '', 0);
DELETE FROM t;
CALL make_index();
VACUUM (TRUNCATE off) t;
CALL fill(1, 2000, 'url', 0);
SELECT compare();
VACUUM t;
SELECT s <= 8 AS s, p <= 130 AS p FROM most_pages(1, 2000);
SELECT compare();

-- '', and places, of which there are other ones later.  A few rows more are no reason to look
-- again for VACUUM, which makes a run that tells nothing; rencoder_compact() looks.
CALL make();
CALL fill(1, 5100, '', 0);
CALL make_index();
CALL fill(5101, 5700, 'url', 100);
VACUUM t;
SELECT s > 100 AS s, p > 100 AS p FROM most_pages(5201, 5700);
SELECT compare(101);
SELECT rencoder_compact('t_sp') >= 10 AS compacted;
SELECT * FROM state;
SELECT s <= 8 AS s, p <= 130 AS p FROM most_pages(5201, 5700);
SELECT compare(101);

-- More rows are a reason.
CALL make();
CALL fill(1, 3000, '', 0);
CALL make_index();
CALL fill(3001, 3300, 'url', 100);
VACUUM t;
SELECT s > 50 AS s, p > 50 AS p FROM most_pages(3100, 3300);
CALL fill(3301, 3700, 'url', 100);
SELECT compare(101);
VACUUM t;
SELECT * FROM state;
SELECT s <= 8 AS s, p <= 130 AS p FROM most_pages(3100, 3700);
SELECT compare(101);

-- Other beginnings.
CALL make();
CALL fill(1, 1500, 'a', 0);
CALL make_index();
CALL fill(1501, 4000, 'url', 100);
SELECT rencoder_maintain_index('t_sp') > 0 AS maintained;
SELECT compare();
VACUUM t;
SELECT * FROM state;
SELECT s <= 8 AS s, p <= 130 AS p FROM most_pages(1, 4000);
SELECT compare();

-- Rows that get their values later, where they are; so many at a time that there is room again.
CALL make();
CALL fill(1, 3000, '', 0);
DELETE FROM t WHERE id % 2 = 0;
CALL make_index();
VACUUM t;
UPDATE t SET s = url(id), p = place(id, 100) WHERE id <= 2000;
SELECT pg_relation_size('t') / 8192 <= 760 AS not_grown;
SELECT compare(66);
VACUUM t;
SELECT s <= 8 AS s, p <= 130 AS p FROM most_pages(1, 2000);
SELECT compare(66);
UPDATE t SET s = url(id), p = place(id, 100) WHERE id > 2000;
SELECT compare(66);
SELECT rencoder_compact('t_sp') > 0 AS compacted;
SELECT s <= 8 AS s, p <= 130 AS p FROM most_pages(1, 3000);
SELECT compare(66);

-- VACUUM reads all of a table of this size again.  Before that, the run, deltas and pending entries
-- have keys of different coders.
CALL make();
CALL fill(1, 10500, '', 0);
CALL make_index();
CALL fill(10501, 12000, 'url', 100);
UPDATE t SET s = url(-id) WHERE id % 50 = 7;
SELECT compare(307);
VACUUM t;
SELECT base > 1 AS mixed FROM state;
UPDATE t SET s = url(id) WHERE id % 50 = 8;
SELECT compare(307);
VACUUM t;
UPDATE t SET p = place(-id, 100) WHERE id % 50 = 9;
SELECT compare(307);
VACUUM t;
SELECT compare(307);
SELECT rencoder_compact('t_sp') > 20 AS compacted;
SELECT * FROM state;
SELECT s <= 8 AS s, p <= 130 AS p FROM most_pages(10501, 12000);
SELECT compare(307);

-- Nothing is made anew that has the newest coders.
SELECT rencoder_maintain_index('t_sp');
DROP SCHEMA runs_recode CASCADE;
