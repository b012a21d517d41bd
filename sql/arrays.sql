-- column operator ANY (array), one scan for all elements: the same rows with
-- the index as without, and few pages read.
SET enable_indexscan = off;
-- Recording a scan reads pages too.
SET rencoder.sample_rate = 0;
CREATE SCHEMA arrays;
SET search_path = arrays, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set begin :abs_srcdir '/sql/include/begin.sql'
\set ECHO none
\i :begin
\set ECHO all
SET random_page_cost = 1.1;

-- 500 pages.
CREATE TABLE t (id int, v int8, small int4, few int2, medium int4, at timestamp, filler text);
INSERT INTO t SELECT i, CASE WHEN i % 50 <> 0 THEN floor(random() * 9e18)::int8 END,
	floor(random() * 100000)::int4,
	floor(random() * 40)::int2, floor(random() * 600)::int4,
	timestamp '2024-01-01' + floor(random() * 1e6) * interval '1 minute', repeat('x', 70)
FROM generate_series(1, 30000) i;
CREATE INDEX t_v ON t USING rencoder (v) WITH (false_pages = 0.05);
CREATE INDEX t_small ON t USING rencoder (small) WITH (pages_per_range = 1);
CREATE INDEX t_few ON t USING rencoder (few) WITH (pages_per_range = 1);
CREATE INDEX t_medium ON t USING rencoder (medium) WITH (pages_per_range = 1);
CREATE INDEX t_at ON t USING rencoder (at) WITH (pages_per_range = 1);
VACUUM ANALYZE t;

-- Heap pages that the index leaves, index pages that it reads.
CREATE FUNCTION pages_of(condition text, OUT heap int, OUT index int) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	scan json;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_bitmapscan = on;
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json, TIMING OFF, SUMMARY OFF) '
		'SELECT * FROM t WHERE '
		|| condition INTO plan;
	scan := plan->0->'Plan';
	heap := (scan->>'Exact Heap Blocks')::int + (scan->>'Lossy Heap Blocks')::int;
	scan := scan->'Plans'->0;
	index := (scan->>'Shared Hit Blocks')::int + (scan->>'Shared Read Blocks')::int;
	IF scan->>'Node Type' <> 'Bitmap Index Scan' THEN
		RAISE WARNING '%: %', condition, plan;
	END IF;
END $$;
CREATE FUNCTION compare(condition text) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN NOT index_finds(rows_of(condition, false), condition) THEN 'different'
		WHEN uses_index(condition) THEN 'same, by index'
		ELSE 'same' END
$$;

-- One scan, whatever the number of elements.
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE v = ANY ('{1,2,3}');
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE v IN (1, 2, 3) AND v > 1;
RESET enable_seqscan;

-- Nothing, nulls, duplicates, order.
SELECT condition, rows_of(condition, true), compare(condition) FROM unnest(ARRAY[
	$$v = ANY ('{}')$$,
	$$v = ANY ('{NULL}')$$,
	$$v = ANY ('{NULL,NULL,NULL}')$$,
	$$v = ANY (NULL::int8[])$$,
	$$v < ANY ('{}')$$,
	$$v < ANY ('{NULL}')$$,
	$$few = ANY ('{40,41,-32768,32767}')$$,
	$$v = ANY ('{}') AND few = 3$$,
	$$v = ANY ('{1,2,3}') AND v IS NULL$$,
	$$v > ANY ('{9223372036854775807,NULL}')$$]) condition;
SELECT condition, compare(condition) FROM unnest(ARRAY[
	$$few = ANY ('{3,1,NULL,3,2,NULL,1,39}')$$,
	$$few = ANY ('{{3,1},{NULL,7}}')$$,
	$$v < ANY ('{1000000000000000000,NULL,2000000000000000000}')$$,
	$$v <= ANY ('{2000000000000000000,1000000000000000000}')$$,
	$$v > ANY ('{8000000000000000000,7000000000000000000}')$$,
	$$v >= ANY ('{8000000000000000000,NULL,7000000000000000000}')$$,
	$$v >= ANY ('{8000000000000000000,7000000000000000000}')$$
		|| $$ AND v < ANY ('{7500000000000000000,1}')$$,
	$$v = ALL ('{1,2}')$$,
	$$v < ALL ('{1000000000000000000,2000000000000000000}')$$,
	$$v <> ANY ('{1,2}')$$,
	$$small = ANY ('{1,2,99999,100000,-1}') AND few = ANY ('{1,2,3,4,5,6,7,8,9,10}')$$,
	$$small = ANY ('{1,2,3,4,5,6,7,8}') AND small = ANY ('{5,6,7,8,9,10}') AND small > 6$$,
	$$medium = ANY ('{0,599,600,-1}')$$,
	$$medium = ANY ('{100,500}') AND medium < ANY ('{499,200,NULL}')$$,
	$$medium < ANY ('{3,5}') AND medium = ANY ('{1,4,7,590}')$$,
	$$medium = ANY ('{100,200,300,500}') AND medium < 400$$,
	$$medium BETWEEN 150 AND 400 AND medium = ANY ('{500,300,200,100}')$$,
	$$medium = ANY ('{1,11,21,31,41,51}') AND medium = ANY ('{51,50,41,40,2,1}')$$,
	$$medium = ANY ('{1,11,21}') AND medium = ANY ('{2,12,22}')$$,
	$$v > 5 AND v < 3$$,
	$$v > 5 AND v < 3 AND medium = ANY ('{1,2}')$$,
	$$small = ANY ('{1,2,3}') OR small = ANY ('{4,5}') OR v = ANY ('{6,NULL}')$$]) condition;

-- Elements of other types of the operator family.
SELECT condition, compare(condition) FROM unnest(ARRAY[
	$$small = ANY ('{1,77,5000000000,-5000000000,99}'::int8[])$$,
	$$small = ANY ('{1,77,99}'::int2[])$$,
	$$v < ANY ('{7,32767}'::int2[])$$,
	$$few = ANY ('{7,65543,39}'::int4[])$$,
	$$at = ANY ('{2024-01-01,2024-05-07,infinity,-infinity}'::date[])$$,
	$$at < ANY ('{2024-01-01,2024-01-02}'::date[])$$,
	$$at = ANY ('{2024-01-01 05:01+00,2025-01-01 07:13+05,infinity}'::timestamptz[])$$]) condition;

-- Random lists of all lengths: values of the table and others.
CREATE FUNCTION random_list(col text, n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	list text;
BEGIN
	EXECUTE format('SELECT array_agg(e)::text FROM (
		(SELECT %1$I::int8 AS e FROM t ORDER BY random() LIMIT %2$s / 2)
		UNION ALL SELECT floor(random() * %3$s)::int8 FROM generate_series(1, (%2$s + 1) / 2)) s',
		col, n,
		CASE col WHEN 'v' THEN 9e18 WHEN 'few' THEN 60 WHEN 'medium' THEN 700 ELSE 110000 END)
			INTO list;
	RETURN list;
END $$;
SELECT col, n, string_agg(DISTINCT compare(format('%s = ANY (%L::int8[])', col,
	random_list(col, n))), ' ') AS rows
FROM unnest('{v,small,few,medium}'::text[]) col, unnest('{1,2,3,10,100,256,257,300,1000}'::int[]) n,
	generate_series(1, 3)
GROUP BY col, n ORDER BY col, n;
-- Every value alone.
SELECT count(*) AS values, count(*) FILTER (WHERE rows_of(format('medium = ANY (''{%s}'')', medium),
	true) <> expected) AS differences
FROM (SELECT medium, count(*) || ' rows, ' || sum(id::int8 * id) AS expected FROM t
	GROUP BY medium OFFSET 0) s;
SELECT col, compare(format('%s = ANY (%L::int8[])', col, random_list(col, 10000)))
FROM unnest('{v,small,few,medium}'::text[]) col;
-- Very many.
SELECT compare(format('v = ANY (%L::int8[])',
	(SELECT array_agg(floor(random() * 9e18)::int8) FROM generate_series(1, 70000))));

-- Values that are there are found in few pages; absent ones in fewer.
SELECT (pages_of(format('v = ANY (%L)', array_agg(v)))).heap <= 10 + 8 AS few_pages
FROM (SELECT v FROM t WHERE v IS NOT NULL ORDER BY random() LIMIT 10) s;
SELECT (pages_of(format('v = ANY (%L::int8[])',
	array_agg(floor(random() * 9e18)::int8)))).heap <= 20 AS few_pages
FROM generate_series(1, 100);
-- Nor do a thousand absent values leave many of the 500 pages.
SELECT (pages_of(format('v = ANY (%L::int8[])',
	array_agg(floor(random() * 9e18)::int8)))).heap < 250 AS pruned
FROM generate_series(1, 1000);

-- A list reads metapage, directory and headers once, and no more windows than
-- its elements would one by one.  A value below all others reads no window.
CREATE FUNCTION list_reads(n int, OUT fixed int, OUT at_once int, OUT one_by_one int)
	LANGUAGE plpgsql AS $$
DECLARE
	list int8[] := (SELECT array_agg(floor(random() * 9e18)::int8) FROM generate_series(1, n));
BEGIN
	fixed := (pages_of('v = -1')).index;
	at_once := (pages_of(format('v = ANY (%L::int8[])', list))).index;
	one_by_one := (SELECT sum((pages_of(format('v = %s', e))).index) FROM unnest(list) e);
END $$;
SELECT at_once - fixed <= one_by_one - 100 * fixed AS fixed_part_once FROM list_reads(100);

-- Several columns: the masks of all lists.
CREATE INDEX t_all ON t USING rencoder (small, few, v) WITH (pages_per_range = 2);
DROP INDEX t_small, t_few, t_v;
SELECT condition, compare(condition) FROM unnest(ARRAY[
	$$small = ANY ('{1,5,9,77,1234,4321,99999}') AND few = ANY ('{1,2,3,4,5,6,7,8,9,10,NULL}')$$,
	$$few = ANY ('{1,2}') AND v > ANY ('{8000000000000000000,8900000000000000000}')$$,
	$$few = ANY ('{1,2}') AND v IS NULL$$,
	$$few = ANY ('{}') AND v IS NULL$$,
	$$small = ANY ('{1,5,9}') AND few = ANY ('{3,4}') AND v IS NOT NULL$$]) condition;

-- An array as a parameter, and from another table.
SET enable_seqscan = off;
SET plan_cache_mode = force_generic_plan;
PREPARE list(int[]) AS SELECT count(*) FROM t WHERE small = ANY ($1);
EXPLAIN (COSTS OFF) EXECUTE list('{1,2,3}');
EXECUTE list('{}');
EXECUTE list(NULL);
EXECUTE list('{NULL}');
SELECT array_agg(i) AS absent FROM generate_series(-20000, -1) i \gset
EXECUTE list(:'absent');
CREATE TABLE lists (list int8[]);
INSERT INTO lists SELECT ARRAY(SELECT small FROM t WHERE id % 100 = i) FROM generate_series(0, 4) i;
INSERT INTO lists VALUES (NULL), ('{}'), ('{NULL}');
ANALYZE lists;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT count(*) FROM lists JOIN t ON small = ANY (list) \gset with_
RESET enable_seqscan;
SET enable_bitmapscan = off;
SELECT count(*) FROM lists JOIN t ON small = ANY (list) \gset without_
SELECT :with_count = :without_count AS same;

SET client_min_messages = error;
DROP SCHEMA arrays CASCADE;
