-- Functions of PostGIS: none asks an index of rencoder by itself, with && or @ beside it each does.
-- And: nothing but PostGIS's own type and operators gets into the operator class.
SELECT count(*) = 0 AS missing FROM pg_available_extensions WHERE name = 'postgis' \gset
\if :missing
\quit
\endif
SET client_min_messages = warning;
CREATE SCHEMA gis;
CREATE EXTENSION postgis SCHEMA gis;

-- A schema in which others have put what looks like PostGIS's.
CREATE SCHEMA strange;
\set VERBOSITY terse
CREATE TYPE strange.geometry AS (x float8);
CREATE FUNCTION strange.meets(strange.geometry, strange.geometry) RETURNS bool LANGUAGE sql
	AS 'SELECT true';
CREATE OPERATOR strange.&& (LEFTARG = strange.geometry, RIGHTARG = strange.geometry,
	FUNCTION = strange.meets);
CREATE OPERATOR strange.@ (LEFTARG = strange.geometry, RIGHTARG = strange.geometry,
	FUNCTION = strange.meets);
CREATE EXTENSION rencoder_postgis SCHEMA strange;
DROP TYPE strange.geometry CASCADE;
CREATE FUNCTION strange.meets(gis.geometry, gis.geometry) RETURNS bool LANGUAGE sql
	AS 'SELECT true';
CREATE OPERATOR strange.@ (LEFTARG = gis.geometry, RIGHTARG = gis.geometry,
	FUNCTION = strange.meets);
CREATE FUNCTION strange.is(oid, regclass) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	RAISE 'strange.is() was called';
END $$;
CREATE OPERATOR strange.= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = strange.is);
CREATE EXTENSION rencoder_postgis SCHEMA strange;
\set VERBOSITY default
DROP SCHEMA strange CASCADE;
CREATE SCHEMA own;
CREATE EXTENSION rencoder_postgis SCHEMA own;

-- Neither building nor asking needs a search path.
CREATE TABLE pf (id int, g gis.geometry(Point, 4326), filler text) WITH (autovacuum_enabled = off);
INSERT INTO pf SELECT i, gis.ST_SetSRID(gis.ST_MakePoint(i * 7919 % 10007 / 100.0,
	i * 104729 % 10009 / 200.0), 4326), repeat('x', 150)
FROM generate_series(1, 20000) i;
SET search_path = '';
CREATE INDEX pf_g ON public.pf USING rencoder (g) WITH (autosummarize = off);
VACUUM ANALYZE public.pf;
SELECT public.rencoder_index_check('public.pf_g', true);
SELECT count(*) FROM public.pf
WHERE g OPERATOR(gis.&&) gis.ST_MakeEnvelope(10, 10, 11, 11, 4326);
SET search_path = public, gis;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
-- Is the index asked, and how many rows are found?
CREATE FUNCTION pf_asks(condition text, OUT by_index boolean, OUT rows bigint)
	LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM pf WHERE ' || condition INTO plan;
	by_index := plan #>> '{0,Plan,Node Type}' IN ('Bitmap Heap Scan', 'Index Scan');
	EXECUTE 'SELECT count(*) FROM pf WHERE ' || condition INTO rows;
END $$;
-- As docs/types.md has it; what is asked for by the function alone is the truth.
CREATE TABLE pf_functions (function text, beside text);
INSERT INTO pf_functions VALUES
	('ST_Intersects(g, x)', 'g && x'), ('ST_Intersects(x, g)', 'g && x'),
	('ST_DWithin(g, x, 0.3)', 'g && ST_Expand(x, 0.3)'),
	('ST_DWithin(x, g, 0.3)', 'g && ST_Expand(x, 0.3)'),
	('ST_DFullyWithin(g, x, 3)', 'g && ST_Expand(x, 3)'),
	('ST_Contains(x, g)', 'g @ x'), ('ST_Covers(x, g)', 'g @ x'), ('ST_Within(g, x)', 'g @ x'),
	('ST_CoveredBy(g, x)', 'g @ x'),
	('ST_Contains(g, p)', 'g && p'), ('ST_Equals(g, p)', 'g && p');
CREATE FUNCTION pf_with(condition text) RETURNS text LANGUAGE sql AS $$
	SELECT replace(regexp_replace(condition, '\mx\M', format('%L::geometry',
			ST_Buffer(ST_SetSRID(ST_MakePoint(10.5, 10.5), 4326), 0.5)), 'g'),
		'p)', format('%L::geometry)', (SELECT g FROM pf WHERE id = 77)))
$$;
SELECT function, beside, a.by_index AS alone, b.by_index AS with_beside, a.rows > 0 AS found,
	a.rows = b.rows AS same
FROM pf_functions, pf_asks(pf_with(function)) a,
	pf_asks(pf_with('(' || beside || ') AND ' || function)) b;
-- A function that PostgreSQL puts in place of its call.
CREATE FUNCTION near(a geometry, b geometry, distance float8) RETURNS boolean
	LANGUAGE sql IMMUTABLE AS 'SELECT a && ST_Expand(b, distance) AND ST_DWithin(a, b, distance)';
SELECT a.*, a.rows = b.rows AS same
FROM pf_asks(pf_with('near(g, x, 0.3)')) a, pf_asks(pf_with('ST_DWithin(g, x, 0.3)')) b;
-- Joins, where the condition is of another table.
CREATE TABLE pf_places AS SELECT ST_Buffer(ST_SetSRID(ST_MakePoint(i, i / 2.0), 4326), 0.5) AS x
FROM generate_series(1, 20) i;
ANALYZE pf_places;
SET enable_indexscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM pf_places JOIN pf ON g && x AND ST_Intersects(g, x);
RESET enable_indexscan;
SELECT count(*) FROM pf_places JOIN pf ON g && x AND ST_Intersects(g, x);
SELECT count(*) FROM pf_places JOIN pf ON ST_Intersects(g, x);
DROP TABLE pf, pf_places, pf_functions;
DROP FUNCTION pf_asks, pf_with, near;
DROP EXTENSION postgis CASCADE;
DROP SCHEMA gis, own;
