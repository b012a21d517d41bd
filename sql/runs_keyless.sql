-- Values for which no single key stands, in ranges that a run covers: the place of such a row is
-- always a candidate, whoever has put it there and whatever becomes of its run.
SET rencoder.sample_rate = 0;
CREATE SCHEMA runs_keyless;
SET search_path = runs_keyless, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set begin :abs_srcdir '/sql/include/begin.sql'
\set polygon_ops :abs_srcdir '/sql/include/polygon_ops.sql'
\set pages_of :abs_srcdir '/sql/include/pages_of.sql'
\set ECHO none
\i :begin
\i :polygon_ops
\i :pages_of
\set ECHO all

-- A point has a key, an area has none.  Each page has four rows and room for as many.
CREATE FUNCTION point_at(x int, y int) RETURNS polygon LANGUAGE sql IMMUTABLE AS
	$$SELECT format('((%s,%s))', x, y)::polygon$$;
CREATE FUNCTION area_at(x int, y int) RETURNS polygon LANGUAGE sql IMMUTABLE AS
	$$SELECT polygon(box(point(x, y), point(x + 3, y + 3)))$$;
CREATE TABLE t (id int, g polygon, v int8, filler text)
	WITH (fillfactor = 50, autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
-- All points lie between 0 and 1000, the area of row i where no point and no other area is.
CREATE FUNCTION fill(first int, last int, areas int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, CASE WHEN i % areas = 3 THEN area_at(2000 + i * 10, -i * 10)
			WHEN i % 17 <> 0 THEN point_at(abs(hashint4(i)) % 1000, abs(hashint4(-i)) % 1000) END,
		nullif(hashint8extended(i, 1) >> 24, 0), repeat('x', 850)
	FROM generate_series(first, last) i
$$;
-- Of row i: the area that it has, or has not, and of rows of points; how many have other rows by
-- the index?
CREATE FUNCTION compare() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r t;
	c text;
	compared int := 0;
	lost int := 0;
	found int := 0;
BEGIN
	FOR r IN (SELECT * FROM t WHERE area(box(g)) > 0 ORDER BY random() LIMIT 12)
		UNION ALL (SELECT * FROM t WHERE area(box(g)) = 0 ORDER BY random() LIMIT 6)
	LOOP
		FOREACH c IN ARRAY ARRAY[
			format('g && %L::polygon', r.g),
			format('g && %L::polygon AND v = %s', r.g, r.v),
			format('v BETWEEN %s AND %s AND g && %L::polygon', r.v - 1000, r.v + 1000, r.g),
			format('g <@ %L::polygon', polygon(box(point(box(r.g)) - point(20, 20),
				point(box(r.g)) + point(21, 21)))),
			format('g && %L::polygon', polygon(box(r.g) + point(0.5, 0.5)))]
		LOOP
			compared := compared + 1;
			found := found + (rows_of(c, false) !~ '^0 ')::int;
			lost := lost + (NOT index_finds(rows_of(c, false), c))::int;
		END LOOP;
	END LOOP;
	PERFORM rencoder_index_check(indexrelid, true) FROM pg_index WHERE indrelid = 't'::regclass;
	RETURN format('%s compared, %s%s', compared, CASE WHEN lost = 0 THEN 'none is lost'
		ELSE lost || ' lost' END, CASE WHEN found > compared / 2 THEN ', most are there' END);
END $$;

-- CREATE INDEX: of two columns either is the one with such values.
SELECT fill(1, 2048, 40);
CREATE INDEX t_g ON t USING rencoder (g)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
CREATE INDEX t_v ON t USING rencoder (v, g)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
CREATE VIEW state AS
	SELECT i::regclass AS index, attnum, sum(nulls) > 0 AS keyless,
		count(*) FILTER (WHERE kind = 'base') AS runs
	FROM unnest('{t_g,t_v}'::regclass[]) i, rencoder_runs(i) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM state;
SELECT uses_index('g && ''((1,1),(2,2),(3,1))''');
SELECT compare();
-- A query that finds nothing reads the pages of areas, and one or two beside.  IS NOT NULL finds
-- all.
CREATE VIEW reads AS SELECT pages_of('g && ''((-9,-9),(-8,-8),(-7,-9))''') - (SELECT count(DISTINCT
	(ctid::text::point)[0]) FROM t WHERE area(box(g)) > 0) BETWEEN 0 AND 2 AS areas_only;
SELECT * FROM reads;
SELECT index_finds(rows_of('g IS NOT NULL', false), 'g IS NOT NULL'),
	index_finds(rows_of('g IS NULL', false), 'g IS NULL');

-- They come to pages that a run covers, with the row or in the place of a key, and stay
-- on the page.
UPDATE t SET g = area_at(2000 + id * 10, -id * 10) WHERE id % 31 = 5;
SELECT compare();
INSERT INTO t SELECT -i, area_at(2000 - i * 10, i * 10), i FROM generate_series(1, 10) i;
SELECT compare();
SELECT * FROM reads;
-- Deltas have them, too.
VACUUM t;
SELECT * FROM reads;
SELECT count(DISTINCT run) > 0 AS deltas FROM rencoder_runs('t_v') WHERE kind = 'delta';
SELECT compare();

-- Another run, and runs that are merged.
SELECT fill(3001, 5200, 40);
SELECT rencoder_maintain_index('t_g') > 0 AS maintained;
SELECT rencoder_maintain_index('t_v') > 0 AS maintained;
SELECT * FROM state;
UPDATE t SET g = area_at(2000 + id * 10, -id * 10) WHERE id > 3000 AND id % 31 = 9;
SELECT compare();
VACUUM t;
SELECT * FROM state;
SELECT compare();
UPDATE t SET g = area_at(2000 + id * 10, -id * 10) WHERE id % 31 = 12;
SELECT rencoder_compact('t_g') > 0 AS compacted, rencoder_compact('t_v') > 0 AS compacted;
SELECT * FROM state;
SELECT compare();

-- A part that is read again.
SELECT rencoder_compact('t_g', 7, 60) > 0 AS made, rencoder_compact('t_v', 7, 60) > 0 AS made;
SELECT compare();
SELECT rencoder_maintain_index('t_g') > 0 AS summarized,
	rencoder_maintain_index('t_v') > 0 AS maintained;
SELECT compare();
UPDATE t SET g = area_at(2000 + id * 10, -id * 10) WHERE id % 31 = 20;
SELECT compare();
SELECT rencoder_compact('t_g') > 0 AS compacted, rencoder_compact('t_v') > 0 AS compacted;
SELECT compare();

-- None of them is left.
UPDATE t SET g = point_at(id % 1000, id % 900) WHERE area(box(g)) > 0;
VACUUM t;
SELECT compare();
REINDEX TABLE t;
SELECT * FROM state;
SELECT compare();

-- Few values, all of which are asked for: areas are found beside points, in runs and late ones.
CREATE TABLE few (id int, g polygon, filler text) WITH (fillfactor = 50, autovacuum_enabled = off);
ALTER TABLE few ALTER filler SET STORAGE plain;
INSERT INTO few SELECT i, CASE WHEN i % 97 = 3 THEN area_at(i, i) WHEN i % 101 = 5
	THEN point_at(i, -i) END, repeat('x', 850) FROM generate_series(1, 4000) i;
CREATE INDEX few_g ON few USING rencoder (g polygon_ops)
	WITH (pages_per_range = 1, autosummarize = off);
CREATE FUNCTION compare_few() RETURNS TABLE (condition text, same boolean, few_pages boolean)
	LANGUAGE sql AS $$
	SELECT c, index_finds(rows_of(c, false, 'few'), c, 'few'), pages_of(c, 'few') < 400
	FROM unnest('{g IS NOT NULL,g IS NULL,"g IS NOT NULL AND g && ''((0,0),(900,900))''::polygon",
		"g IS NULL OR g && ''((50,50),(50,50))''::polygon"}'::text[]) c
$$;
SELECT * FROM compare_few();
UPDATE few SET g = area_at(id, id) WHERE id % 501 = 7;
UPDATE few SET g = NULL WHERE id % 291 = 3;
SELECT * FROM compare_few();
VACUUM few;
SELECT * FROM compare_few();
SELECT rencoder_index_check('few_g', true);

-- Without a coder, as no row had a value when the index was made: keys of points, and areas, are by
-- none.
CREATE TABLE uncoded (id int, g polygon, filler text)
	WITH (fillfactor = 50, autovacuum_enabled = off);
ALTER TABLE uncoded ALTER filler SET STORAGE plain;
INSERT INTO uncoded SELECT i, NULL, repeat('x', 850) FROM generate_series(1, 400) i;
CREATE INDEX uncoded_g ON uncoded USING rencoder (g polygon_ops)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
UPDATE uncoded SET g = CASE WHEN id % 7 = 3 THEN area_at(id, id) ELSE point_at(id, -id) END
WHERE id BETWEEN 100 AND 140;
SELECT count(*) AS late,
	sum(index_finds(rows_of(c, false, 'uncoded'), c, 'uncoded')::int) AS found
FROM (SELECT format('g && %L::polygon', g) AS c FROM uncoded WHERE g IS NOT NULL) AS s;

-- A queue, born with nulls that are set later, beside areas: VACUUM makes the run anew.
CREATE TABLE queue (done int, g polygon) WITH (fillfactor = 50, autovacuum_enabled = off);
INSERT INTO queue SELECT NULL, area_at(i, i) FROM generate_series(1, 20000) i;
CREATE INDEX queue_done ON queue USING rencoder (done, g polygon_ops) WITH (autosummarize = off);
SELECT attnum, nulls FROM rencoder_runs('queue_done');
UPDATE queue SET done = 1;
VACUUM queue;
SELECT attnum, nulls FROM rencoder_runs('queue_done');
SELECT rencoder_index_check('queue_done', true);

DROP SCHEMA runs_keyless CASCADE;
