-- Points of PostGIS.  Where it is not installed there is nothing to test.
SELECT count(*) = 0 AS missing FROM pg_available_extensions WHERE name = 'postgis' \gset
\if :missing
\quit
\endif
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
CREATE SCHEMA gis;
CREATE EXTENSION postgis SCHEMA gis;
-- It finds PostGIS wherever that is.
CREATE EXTENSION rencoder_postgis;
SET search_path = gis, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
SET random_page_cost = 1.1;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SELECT setseed(mod(:'seed'::numeric, 1000003) / 1000003);

SELECT opcname, amvalidate(c.oid) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'rencoder' AND opcintype = 'geometry'::regtype;
SELECT pg_describe_object(classid, objid, objsubid) AS without_comment
FROM pg_depend d
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'rencoder_postgis')
	AND obj_description(objid, classid::regclass::name) IS NULL;

CREATE FUNCTION edges() RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
	SELECT '{NaN,-Infinity,Infinity,-1e300,1e39,3.4028234663852886e38,3.4028235e38,-1e39,-0,0,'
		'1e-45,-1e-50,5e-324,1e-300,1,1.00000001,1.0000001,0.99999999,180,16777217}'::float8[]
$$;
CREATE FUNCTION edge() RETURNS float8 LANGUAGE sql VOLATILE AS
	'SELECT (edges())[1 + floor(random() * cardinality(edges()))::int]';
CREATE FUNCTION coordinate() RETURNS float8 LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.02 THEN edge()
		-- neighbours in single precision
		WHEN random() < 0.3 THEN (floor(random() * 20))::float4 + floor(random() * 5) * 1e-8
		ELSE random() * 20 END
$$;
CREATE FUNCTION some_geometry() RETURNS geometry LANGUAGE sql VOLATILE AS $$
	SELECT CASE floor(random() * 10)
		WHEN 0 THEN ST_MakePoint(coordinate(), coordinate(), coordinate())
		WHEN 1 THEN ST_SetSRID(ST_MakePoint(coordinate(), coordinate()), 4326)
		WHEN 2 THEN ST_MakePointM(coordinate(), coordinate(), 7)
		ELSE ST_MakePoint(coordinate(), coordinate()) END
$$;

-- The table is in the order of its rows: first points alone, then one that is
-- empty now and then, then one that is none.
CREATE TABLE t (id int, g geometry, filler text);
CREATE FUNCTION fill(first int, last int, far float8) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, CASE WHEN i % 50 = 0 THEN NULL
			WHEN i BETWEEN 1500 AND 2000 AND i % 20 = 0 THEN
				(ARRAY['POINT EMPTY'::geometry, 'POLYGON EMPTY', 'GEOMETRYCOLLECTION EMPTY',
					'POINT Z EMPTY'])[i / 20 % 4 + 1]
			WHEN i BETWEEN 2100 AND 2500 AND i % 20 = 0 THEN
				(ARRAY[ST_MakeEnvelope(i / 200, 3, i / 100, 15), 'LINESTRING(1 1,5 5)',
					'MULTIPOINT(1 1,15 15)', 'MULTIPOINT(3 4)',
					   'LINESTRING(7 7,7 7)', 'LINESTRING(3 3,3 3.00000000001)',
					   ST_Buffer(ST_MakePoint(9, 9), 1)])[i / 20 % 7 + 1]
			WHEN far = 1 THEN some_geometry() ELSE ST_MakePoint(coordinate() * far,
				coordinate() * far) END, repeat('x', 180)
	FROM generate_series(first, last) i
$$;
SELECT fill(1, 4500, 1);
CREATE INDEX t_g ON t USING rencoder (g)
	WITH (pages_per_range = 1, autosummarize = off);
SELECT fill(4501, 5000, 1000);
SELECT rencoder_maintain_index('t_g') > 10 AS maintained;
SELECT fill(5001, 5500, -3);
-- Values that come to pages that are indexed, with their keys or without.
DELETE FROM t WHERE id BETWEEN 1000 AND 1100;
VACUUM t;
SELECT fill(2100, 2200, 1);
ANALYZE t;

CREATE FUNCTION some_query() RETURNS geometry LANGUAGE sql VOLATILE AS $$
	SELECT CASE floor(random() * 8)
		WHEN 0 THEN some_geometry()
		WHEN 1 THEN (SELECT g FROM t WHERE g IS NOT NULL AND id >= random() * 5600
			ORDER BY id LIMIT 1)
		WHEN 2 THEN ST_MakeLine(ST_MakePoint(coordinate(), coordinate()),
			ST_MakePoint(coordinate(), coordinate()))
		WHEN 3 THEN ST_MakePoint(edge(), edge())
		ELSE (SELECT ST_MakeEnvelope(x, y, x + s, y + s * random(), 4326)
			  FROM coordinate() x, coordinate() y,
			  	LATERAL (SELECT power(10::float8, floor(random() * 12) - 9) AS s) z) END
$$;
CREATE TABLE compared (op text, rows text);
CREATE FUNCTION compare(op text, n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	condition text;
	without text;
	different int := 0;
	unused int := 0;
BEGIN
	FOR i IN 1 .. n LOOP
		condition := format('g %s %L::geometry', op, some_query());
		without := rows_of(condition, false);
		different := different + (NOT index_finds(without, condition))::int;
		INSERT INTO compared VALUES (op, without);
		unused := unused + (NOT uses_index(condition))::int;
	END LOOP;
	RETURN format('%s: %s different%s', op, different,
		CASE WHEN unused > 0.4 * n THEN format(', %s unused', unused) ELSE '' END);
END $$;
SELECT compare(op, 250) FROM unnest('{&&,@}'::text[]) op;
SELECT op, count(*) FILTER (WHERE rows NOT LIKE '0 %') > 50 AS found,
	count(DISTINCT rows) > 50 AS various
FROM compared GROUP BY op ORDER BY op;
-- Every edge with every other one.
SELECT op, count(*) FILTER (WHERE rows_of(condition, true) <> rows_of(condition,
	false)) AS different
FROM unnest('{&&,@}'::text[]) op, unnest(edges()) x, unnest(edges()) y,
	LATERAL (SELECT format('g %s %L::geometry', op,
	CASE WHEN x < y THEN ST_MakeLine(ST_MakePoint(x, 0), ST_MakePoint(10, y)) ELSE ST_MakePoint(x,
	y) END) AS condition) c
GROUP BY op ORDER BY op;
SELECT condition, rows_of(condition, true) = rows_of(condition, false) AS same,
	rows_of(condition, false) NOT LIKE '0 %' AS found, uses_index(condition) AS indexed
FROM unnest(ARRAY[
	$$g && ST_MakeEnvelope(1, 1, 2, 2)$$, $$ST_MakeEnvelope(1, 1, 2, 2) && g$$,
	$$g && ANY (ARRAY[ST_MakeEnvelope(1, 1, 2, 2), ST_MakePoint(3, 4)])$$,
	$$g && ST_MakeEnvelope(1, 1, 2, 2)$$
		|| $$ AND ST_Intersects(ST_SetSRID(g, 0), ST_MakeEnvelope(1, 1, 1.5, 3))$$,
	$$g && ST_Expand(ST_MakePoint(3, 4), 0.1)$$
		|| $$ AND ST_DWithin(ST_SetSRID(g, 0), ST_MakePoint(3, 4), 0.1)$$,
	$$g && ST_MakeEnvelope(1, 1, 2, 2) AND g && ST_MakeEnvelope(5, 5, 6, 6)$$,
	$$g && ST_MakeEnvelope(1, 1, 2, 2) AND g @ ST_MakeEnvelope(5, 5, 6, 6)$$,
	$$g && 'POINT EMPTY'$$, $$g IS NULL$$]) condition;
-- Whether an empty geometry lies within another depends on PostGIS's version.
SELECT rows_of(condition, true) = rows_of(condition, false) AS same,
	(rows_of(condition, false) NOT LIKE '0 %') = ('POINT EMPTY'::geometry @ 'POINT EMPTY')
		AS found_if_within, uses_index(condition) AS indexed
FROM (VALUES ($$g @ 'POINT EMPTY'$$)) c (condition);
SELECT rencoder_index_check('t_g', true);
SELECT rencoder_compact('t_g', 5, 60) > 0 AS made;
SELECT compare('&&', 20);
SELECT rencoder_maintain_index('t_g') >= 0 AS maintained;
REINDEX INDEX t_g;
SELECT compare('&&', 50);
SELECT rencoder_index_check('t_g', true);

-- The same in runs: rows with a value that is no point are always candidates, whether they were
-- there when the run was made or came later, and stay so in the next run.
CREATE INDEX t_run ON t USING rencoder (g)
	WITH (pages_per_range = 1, autosummarize = off, storage = run);
DROP INDEX t_g;
SELECT nulls > 5 AS of_lines FROM rencoder_runs('t_run');
SELECT compare(op, 50) FROM unnest('{&&,@}'::text[]) op;
DELETE FROM t WHERE id BETWEEN 2600 AND 2700;
VACUUM t;
SELECT sum(nulls) AS lines FROM rencoder_runs('t_run') \gset
SELECT fill(2100, 2200, 1);
SELECT compare(op, 50) FROM unnest('{&&,@}'::text[]) op;
SELECT rencoder_compact('t_run') > 0 AS compacted;
SELECT sum(nulls) > :lines AS more FROM rencoder_runs('t_run');
SELECT compare(op, 50) FROM unnest('{&&,@}'::text[]) op;
SELECT rencoder_index_check('t_run', true);

-- It tells ranges apart, also beside others.
CREATE TABLE places AS SELECT i / 40 AS place,
	ST_SetSRID(ST_MakePoint(sin(i / 40) * 90, cos((i / 40) * 7) * 90 + random() / 10), 4326) AS g,
	repeat('x', 150) AS filler
	FROM generate_series(0, 15999) i;
CREATE INDEX places_g ON places USING rencoder (g) WITH (pages_per_range = 1);
VACUUM ANALYZE places;
SET enable_indexscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM places WHERE g && ST_MakeEnvelope(1, 20, 3, 21, 4326);
RESET enable_indexscan;
-- A plain scan does not count its pages.
CREATE FUNCTION heap_pages(query text) RETURNS int LANGUAGE plpgsql SET enable_indexscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json, COSTS OFF, TIMING OFF, SUMMARY OFF) '
		|| query INTO plan;
	RETURN (plan #>> '{0,Plan,Exact Heap Blocks}')::int +
		(plan #>> '{0,Plan,Lossy Heap Blocks}')::int;
END $$;
SELECT max(pages) < 20 AS selective, min(pages) > 0 AS found
FROM generate_series(0, 399, 7) i,
	heap_pages(format('SELECT * FROM places WHERE g && %L::geometry',
	ST_Expand(ST_MakePoint(sin(i) * 90, cos(i * 7) * 90), 0.05))) pages;

-- rencoder_candidates() looks for the box around two geometries.
SELECT max(c.pages) < 20 AS selective, min(c.pages) > 0 AS found
FROM generate_series(0, 399, 7) i,
	LATERAL (SELECT sin(i) * 90 AS x, cos(i * 7) * 90 AS y) place,
	rencoder_candidates('places_g', ST_MakePoint(x, y), ST_MakePoint(x + 0.05, y + 0.1)) c;
SELECT count(*) FILTER (WHERE c.pages <> b.pages
	OR c.pages <> e.pages) AS different
FROM generate_series(0, 399, 7) i,
	LATERAL (SELECT sin(i) * 90 AS x, cos(i * 7) * 90 AS y) place,
	LATERAL (SELECT ST_MakeEnvelope(x, y, x + 3, y + 5, 4326) AS box) around,
	rencoder_candidates('places_g', ST_MakePoint(x, y), ST_MakePoint(x + 3, y + 5)) c,
	rencoder_candidates('places_g', ST_MakePoint(x + 3, y), ST_MakePoint(x, y + 5)) b,
	rencoder_candidates('places_g', box, box) e;
-- As they are typed.
SELECT a.pages > 0 AS found, a = b AS literals, a = c AS typed, a = d AS text, a = e AS mixed,
	a = f AS corners, a = g AS boxes
FROM rencoder_candidates('places_g', ST_MakePoint(-1, 70), ST_MakePoint(9, 80)) a,
	rencoder_candidates('places_g', 'POINT(-1 70)', 'POINT(9 80)') b,
	rencoder_candidates('places_g', 'POINT(-1 70)', ST_MakePoint(9, 80)) c,
	rencoder_candidates('places_g', 'POINT(-1 70)'::text, 'SRID=4326;POINT(9 80)'::text) d,
	rencoder_candidates('places_g', ST_MakePoint(-1, 70), 'POINT(9 80)') e,
	rencoder_candidates('places_g', 'POINT(9 70)', 'POINT(-1 80)') f,
	rencoder_candidates('places_g', 'BOX(-1 70,0 71)'::box2d, 'BOX(8 79,9 80)'::box2d) g;
PREPARE typed AS SELECT pages > 0 AS found FROM rencoder_candidates('places_g', $1, $2);
EXECUTE typed('POINT(-1 70)', 'POINT(9 80)');
DEALLOCATE typed;
SELECT rencoder_add_query_sample('places_g', 'POINT(-1 70)', 'POINT(9 80)'),
	rencoder_add_query_sample('places_g', ST_MakePoint(9, 70), 'POINT(-1 80)');
SELECT DISTINCT times FROM (SELECT count(*) AS times FROM rencoder_query_samples('places_g')
	WHERE source = 'added' GROUP BY lo_key, hi_key) AS intervals;
SELECT * FROM rencoder_candidates('places_g', 'POINT(1', 'POINT(2 2)');
-- The casts of PostGIS make no other call ambiguous.
CREATE TABLE typed (b bytea, t text, p point, n int8);
CREATE INDEX typed_b ON typed USING rencoder (b);
CREATE INDEX typed_t ON typed USING rencoder (t);
CREATE INDEX typed_p ON typed USING rencoder (p);
CREATE INDEX typed_n ON typed USING rencoder (n);
SELECT a.table_pages, b.table_pages, c.table_pages, d.table_pages, e.table_pages, f.table_pages
FROM rencoder_candidates('typed_b', '\x00'::bytea, '\x01'::bytea) a,
	rencoder_candidates('typed_b', '\x00', '\x01'::bytea) b,
	rencoder_candidates('typed_t', 'a', 'b'::text) c,
	rencoder_candidates('typed_t', 'a'::varchar, 'b'::text) d,
	rencoder_candidates('typed_p', '(1,2)', point(2, 1)) e,
	rencoder_candidates('typed_n', 1, 2::int8) f;
DROP TABLE typed;
SELECT pages FROM rencoder_candidates('places_g', ST_MakePoint(5000, 5000),
	ST_MakePoint(5001, 5001));
-- All pages with rows; since 16 a table may end in pages without.
SELECT pages = (SELECT count(DISTINCT (ctid::text::point)[0]) FROM places) AS all_pages
FROM rencoder_candidates('places_g', ST_MakePoint(-1e300, -1e300), ST_MakePoint(1e300, 1e300));
SELECT * FROM rencoder_candidates('places_g', 'POINT EMPTY'::geometry, ST_MakePoint(1, 1));
SELECT * FROM rencoder_candidates('places_g', 1, 2);
SELECT * FROM rencoder_candidates('places_g', point(1, 1), point(2, 2));

-- Indexes stand in the way of the extension's going, and it in that of PostGIS.
\set VERBOSITY terse
DROP EXTENSION rencoder_postgis;
DROP TABLE t, places;
DROP EXTENSION postgis;
DROP EXTENSION rencoder_postgis;
DROP SCHEMA gis CASCADE;
