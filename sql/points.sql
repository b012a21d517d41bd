-- Points: the same rows with the index as without, for random and edge values
-- in the table and in the queries.
SET enable_indexscan = off;
CREATE SCHEMA points;
SET search_path = points, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set plan :abs_srcdir '/sql/include/plan.sql'
\set begin :abs_srcdir '/sql/include/begin.sql'
\set ECHO none
\i :begin
\i :plan
\set ECHO all
SET random_page_cost = 1.1;

-- Coordinates where something may go wrong.  The square of the greatest still
-- is finite: PostgreSQL's operators raise errors where numbers overflow.
CREATE FUNCTION edges() RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
	SELECT '{NaN,-Infinity,Infinity,-1e150,1e150,-0,0,5e-324,-5e-324,1e-300,1e-6,0.9999999e-6,'
		'1.0000001e-6,-1e-6,1,-1,10,9.999999,10.000001,180,1e15}'::float8[]
$$;
CREATE FUNCTION edge() RETURNS float8 LANGUAGE sql VOLATILE AS
	'SELECT (edges())[1 + floor(random() * cardinality(edges()))::int]';
-- Like places; some with an edge.
CREATE FUNCTION coordinate() RETURNS float8 LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.02 THEN edge()
		WHEN random() < 0.3 THEN round((random() * 20)::numeric, 1)::float8
		ELSE random() * 20 END
$$;

-- A group of 128 full ranges and one that grows; rows before the index, rows
-- that lie far outside of what it was trained on, rows that are not indexed.
CREATE TABLE t (id int, p point, few point, filler text);
CREATE FUNCTION fill(first int, last int, far float8) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, CASE WHEN i % 50 <> 0 THEN point(coordinate() * far,
		coordinate() * far) END,
		point((i % 3) * far, (i / 700) % 5), repeat('x', 180)
	FROM generate_series(first, last) i;
	INSERT INTO t SELECT first, point(x, y), point(x, y), repeat('x', 180)
	FROM unnest(edges()) x, unnest(edges()) y WHERE random() < 0.4
$$;
SELECT fill(1, 4500, 1);
CREATE INDEX t_p ON t USING rencoder (p)
	WITH (pages_per_range = 1, autosummarize = off);
CREATE INDEX t_few ON t USING rencoder (few)
	WITH (pages_per_range = 1, autosummarize = off);
SELECT fill(4501, 5000, 1000);
SELECT rencoder_maintain_index('t_p') > 10 AS p,
	rencoder_maintain_index('t_few') > 10 AS few;
SELECT fill(5001, 5500, -3);
-- Values that come to pages that are indexed, with their keys.
DELETE FROM t WHERE id BETWEEN 1000 AND 1100;
VACUUM t;
SELECT fill(5501, 5600, -1e6);
INSERT INTO t SELECT 5700, p, p
FROM unnest('{"(1,1)","(NaN,1)","(1.1,3)","(5,4)","(15.2,15.2)"}'::point[]) p;
ANALYZE t;

CREATE FUNCTION rows_or_null(condition text, indexed boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN rows_of(condition, indexed);
EXCEPTION WHEN numeric_value_out_of_range THEN
	RETURN NULL;				-- overflow or underflow in the operator
END $$;

-- Shapes around somewhere.
CREATE FUNCTION some_point() RETURNS point LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.3 THEN point(edge(), edge())
		WHEN random() < 0.5 THEN point(coordinate(), coordinate())
		ELSE (SELECT p FROM t WHERE p IS NOT NULL AND id >= random() * 5600 ORDER BY id LIMIT 1) END
$$;
CREATE FUNCTION size() RETURNS float8 LANGUAGE sql VOLATILE AS
	'SELECT CASE WHEN random() < 0.1 THEN edge() '
		'ELSE power(10::float8, floor(random() * 12) - 8) * random() END';
CREATE FUNCTION some_box() RETURNS box LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	a point := some_point();
BEGIN
	IF random() < 0.3 THEN
		RETURN box(a, some_point());
	END IF;
	RETURN box(a, point(a[0] + size(), a[1] + size()));
END $$;
CREATE FUNCTION some_circle() RETURNS circle LANGUAGE sql VOLATILE AS
	'SELECT circle(some_point(), abs(size()))';
CREATE FUNCTION some_polygon() RETURNS polygon LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	b box := some_box();
BEGIN
	CASE floor(random() * 3)
	WHEN 0 THEN RETURN polygon(b);
	WHEN 1 THEN RETURN format('(%s,%s,%s)', b[0], b[1], some_point())::polygon;
	ELSE RETURN format('(%s,%s,%s,%s)', b[0], point((b[0])[0], (b[1])[1]),
		point(((b[0])[0] + (b[1])[0]) / 2, (b[0])[1]), b[1])::polygon;
	END CASE;
END $$;

CREATE TABLE compared (operator text, col text, rows text);
CREATE FUNCTION compare(what text, n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	condition text;
	operand text;
	col text;
	unused int := 0;
	without text;
	different int := 0;
BEGIN
	FOR i IN 1 .. n LOOP
		BEGIN
			EXECUTE format('SELECT some_%s()::text', what) INTO operand;
		EXCEPTION WHEN numeric_value_out_of_range THEN
			CONTINUE;
		END;
		FOREACH col IN ARRAY ARRAY['p', 'few'] LOOP
			condition := format(CASE WHEN what = 'point' THEN '%1$s ~= %2$L::%3$s'
									 WHEN i % 2 = 0 THEN '%1$s <@ %2$L::%3$s'
									 ELSE '%2$L::%3$s @> %1$s' END, col, operand, what);
			without := rows_or_null(condition, false);
			CONTINUE WHEN without IS NULL;
			different := different + (NOT index_finds(without, condition))::int;
			INSERT INTO compared VALUES (what, col, without);
			unused := unused + (NOT uses_index(condition))::int;
		END LOOP;
	END LOOP;
	RETURN format('%s: %s different%s', what, different,
		CASE WHEN unused > n / 2 THEN format(', %s unused', unused) ELSE '' END);
END $$;
SELECT compare(what, 150) FROM unnest('{point,box,circle,polygon}'::text[]) what;
-- Not all of nothing.
SELECT operator, col, count(*) > 50 AS compared,
	count(*) FILTER (WHERE rows NOT LIKE '0 %') > 10 AS found,
	count(DISTINCT rows) > 5 AS various
FROM compared GROUP BY operator, col ORDER BY operator, col;

-- Every edge with every other one.
CREATE FUNCTION compare_edges(template text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a float8;
	b float8;
	condition text;
	without text;
	different int := 0;
	compared int := 0;
BEGIN
	FOREACH a IN ARRAY edges() LOOP
		FOREACH b IN ARRAY edges() LOOP
			BEGIN
				EXECUTE 'SELECT ' || format(replace(template, 'p ', '''(1,1)''::point '), a, b);
				condition := format(template, a, b);
			EXCEPTION WHEN numeric_value_out_of_range OR invalid_text_representation THEN
				CONTINUE;
			END;
			without := rows_or_null(condition, false);
			CONTINUE WHEN without IS NULL;
			compared := compared + 1;
			different := different + (NOT index_finds(without, condition))::int;
		END LOOP;
	END LOOP;
	RETURN format('%s: %s different%s', template, different,
		CASE WHEN compared < 100 THEN ', too few' ELSE '' END);
END $$;
SELECT compare_edges(template) FROM unnest(ARRAY[
	$$p ~= '(%1$s,%2$s)'::point$$,
	$$p <@ '(%1$s,%2$s),(10,10)'::box$$,
	$$p <@ '(%1$s,%1$s),(%2$s,%2$s)'::box$$,
	$$p <@ '(%1$s,%2$s),(%1$s,%2$s)'::box$$,
	$$p <@ '<(%1$s,%2$s),3>'::circle$$,
	$$p <@ '<(%1$s,%2$s),Infinity>'::circle$$,
	$$p <@ '<(%1$s,%2$s),NaN>'::circle$$,
	$$p <@ '<(1,%1$s),%2$s>'::circle$$,
	$$p <@ '(%1$s,%2$s),(10,0),(0,10)'::polygon$$,
	$$p <@ '(%1$s,%2$s)'::polygon$$,
	$$p <@ '(0,%1$s),(%2$s,0),(10,10)'::polygon$$]) template;

-- What is special about NaN: such a point is in no box, but may be in a
-- polygon, in a circle of infinite radius, and the same as itself.
SELECT '(0,NaN)'::point <@ '(-Infinity,-Infinity),(Infinity,Infinity)'::box AS box,
	'(0,NaN)'::point <@ '(1,1),(2,2),(3,0)'::polygon AS polygon,
	'(Infinity,NaN)'::point <@ '<(0,0),Infinity>'::circle AS circle,
	'(0,NaN)'::point ~= '(0,NaN)' AS same;

-- Lists, conjunctions, contradictions, NULL.
SELECT condition, rows_or_null(condition, true) = rows_or_null(condition, false) AS same,
	rows_or_null(condition, false) NOT LIKE '0 %' AS found, uses_index(condition) AS indexed
FROM unnest(ARRAY[
	$$p <@ ANY ('{(1,1),(2,2);(3,3),(3.5,3.5)}'::box[])$$,
	$$p <@ ANY ('{}'::box[])$$,
	$$p <@ ANY ('{NULL;(1,1),(1.5,1.5)}'::box[])$$,
	$$p ~= ANY (ARRAY(SELECT p FROM t WHERE id % 20 = 1))$$,
	$$p ~= ANY (ARRAY[point '(1,1)', point '(NaN,1)'])$$,
	$$p <@ box '(1,1),(5,5)' AND p <@ circle '<(5,5),2>'$$,
	$$p <@ ANY ('{(1,1),(2,2);(3,3),(3.5,3.5)}'::box[]) AND p <@ ANY ('{(1.5,0),(3.2,9)}'::box[])$$,
	$$p <@ box '(1,1),(5,5)' AND p <@ box '(5.1,5.1),(6,6)'$$,
	$$p <@ box '(1,1),(5,5)' OR p <@ box '(15,15),(15.5,15.5)'$$,
	$$p <@ NULL::box$$,
	$$p <@ box '(1,1),(5,5)' AND few ~= point '(1,1)'$$,
	$$p IS NULL$$, $$p IS NOT NULL AND p <@ box '(1,1),(1.2,5)'$$]) condition;
-- Many boxes.
SELECT rows_or_null(condition, true) = rows_or_null(condition, false) AS same,
	uses_index(condition) AS indexed
FROM (SELECT format('p <@ ANY (%L::box[])',
	array_agg(box(point(i % 97, i / 97), point(i % 97 + 0.01, i / 97 + 0.01)))) AS condition
	  FROM generate_series(1, 5000) i) x;

-- Operands that are known at run time only.
PREPARE inside(box) AS SELECT count(*) FROM t WHERE p <@ $1;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) EXECUTE inside('(1,1),(2,2)');
CREATE TEMP TABLE by_index AS EXECUTE inside('(1,1),(2,2)');
SET enable_seqscan = on;
SET enable_bitmapscan = off;
CREATE TEMP TABLE by_table AS EXECUTE inside('(1,1),(2,2)');
SELECT i.count = t.count AS same, i.count > 0 AS found FROM by_index i, by_table t;
RESET enable_bitmapscan;
RESET plan_cache_mode;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM unnest('{(1,1),(2,2);(3,3),(4,4)}'::box[]) b
	JOIN t ON p <@ b;
RESET enable_seqscan;

-- What the index holds is right, also when it is made anew.
SELECT rencoder_index_check('t_p', true), rencoder_index_check('t_few', true);
SELECT rencoder_compact('t_p', 5, 130);
SELECT compare('box', 20);
SELECT rencoder_maintain_index('t_p') > 1 AS maintained;
SELECT rencoder_index_check('t_p', true);
SELECT compare('polygon', 20);
REINDEX INDEX t_p;
SELECT compare('circle', 20);
SELECT compare('point', 20);
SELECT rencoder_index_check('t_p', true);

-- An index made on an empty table knows no bounds.
CREATE TABLE saved AS SELECT * FROM t;
DROP INDEX t_few;
TRUNCATE t;
REINDEX INDEX t_p;
CREATE INDEX t_few ON t USING rencoder (few)
	WITH (pages_per_range = 1, autosummarize = off);
INSERT INTO t SELECT * FROM saved;
SELECT rencoder_maintain_index('t_p') > 128 AS p,
	rencoder_maintain_index('t_few') > 128 AS few;
ANALYZE t;
SELECT compare(what, 30) FROM unnest('{point,box,circle,polygon}'::text[]) what;
SELECT compare_edges($$p <@ '(%1$s,%2$s),(10,10)'::box$$);
SELECT rencoder_index_check('t_p', true), rencoder_index_check('t_few', true);
DROP INDEX t_p, t_few;

-- Several columns; a predicate; an expression.
CREATE INDEX t_all ON t USING rencoder (id, p, few) WITH (pages_per_range = 1);
SELECT condition, rows_or_null(condition, true) = rows_or_null(condition, false) AS same,
	rows_or_null(condition, false) NOT LIKE '0 %' AS found, uses_index(condition) AS indexed
FROM unnest(ARRAY[
	$$p <@ box '(1,1),(5,5)' AND id BETWEEN 100 AND 300$$,
	$$few ~= point '(1,1)' AND p <@ circle '<(5,5),2>'$$, $$few ~= point '(1,1)'$$,
	$$id = 77 AND p IS NULL$$]) condition;
SELECT rencoder_index_check('t_all', true);
DROP INDEX t_all;
CREATE INDEX t_part ON t USING rencoder (point(p[1], p[0]))
	WITH (pages_per_range = 1)
	WHERE id > 1000;
SELECT rows_or_null(condition, true) = rows_or_null(condition, false) AS same,
	uses_index(condition) AS indexed
FROM unnest(ARRAY[$$point(p[1], p[0]) <@ box '(1,1),(2,2)' AND id > 1000$$]) condition;
DROP INDEX t_part;

-- It tells ranges apart: of 400 places with 40 rows each, in the order of the
-- places, a box around one is visited.
CREATE TABLE places AS SELECT i / 40 AS place,
	point(sin(i / 40) * 90, cos((i / 40) * 7) * 90 + random() / 10) AS p, repeat('x', 150) AS filler
	FROM generate_series(0, 15999) i;
CREATE INDEX places_p ON places USING rencoder (p) WITH (pages_per_range = 1);
SELECT count(*) > 300 AS several, max(pages) < 20 AS selective, min(pages) > 0 AS found
FROM generate_series(0, 399) i,
	rencoder_candidates('places_p', point(sin(i) * 90, cos(i * 7) * 90),
	point(sin(i) * 90, cos(i * 7) * 90 + 0.1));
-- The corners may be any two.
SELECT a.pages = b.pages AS same
FROM rencoder_candidates('places_p', point(1, 50), point(3, 20)) a,
	rencoder_candidates('places_p', point(3, 20), point(1, 50)) b;
SELECT * FROM rencoder_candidates('places_p', 1, 2);
SELECT pages FROM rencoder_candidates('places_p', point(5000, 5000), point(5001, 5001));
-- Stray points do not spoil it.
INSERT INTO places SELECT -1, point(1e200, -1e200), repeat('x', 150) FROM generate_series(1, 50);
REINDEX INDEX places_p;
SELECT max(pages) < 20 AS selective, min(pages) > 0 AS found
FROM generate_series(0, 399, 7) i,
	rencoder_candidates('places_p', point(sin(i) * 90, cos(i * 7) * 90),
	point(sin(i) * 90, cos(i * 7) * 90 + 0.1));
-- The planner sees what it is good for.
VACUUM (FULL, ANALYZE) places;
EXPLAIN (COSTS OFF) SELECT * FROM places WHERE p <@ box '(1,20),(3,21)';
EXPLAIN (COSTS OFF) SELECT * FROM places WHERE p <@ circle '<(0,0),1e201>';
EXPLAIN (COSTS OFF) SELECT * FROM places WHERE NOT p <@ box '(1,20),(3,21)';

-- Operators of no index strategy.
SET enable_seqscan = off;
SELECT plan_of($$SELECT * FROM places WHERE p << point '(1,1)'$$);
-- Points have no other default operator class.
SELECT amname FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE opcintype = 'point'::regtype
	AND opcdefault AND amname = 'rencoder';
DROP SCHEMA points CASCADE;
