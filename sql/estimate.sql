-- rencoder_estimate() beside the indexes that CREATE INDEX then makes.  Tables this small are
-- sampled whole, so nothing hangs on chance.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET jit = off;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET rencoder.sample_rate = 0;
\getenv seed RENCODER_SEED
SELECT setseed(:seed / 2147483647.0) \gset ignored_

CREATE TABLE es (id int, v int8, skewed int8, few int, gone int, s text COLLATE "C", p point,
	j json) WITH (autovacuum_enabled = off);
INSERT INTO es SELECT i, (i::int8 * 2654435761) % 4294967296, (1e9 * random() ^ 5)::int8, i % 50,
	nullif(i % 4, 0), 'key ' || (i * 7919::int8) % 60000,
	point(random() * 100, random() * 100), NULL
FROM generate_series(1, 120000) i;
VACUUM ANALYZE es;

-- Pages of the table that a bitmap scan visits.
CREATE FUNCTION es_visited(condition text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT FROM es WHERE ' || condition
		INTO plan;
	plan := plan -> 0 -> 'Plan';
	IF plan ->> 'Node Type' <> 'Bitmap Heap Scan' THEN
		RAISE 'not a bitmap scan: %', plan;
	END IF;
	RETURN (plan ->> 'Exact Heap Blocks')::bigint + (plan ->> 'Lossy Heap Blocks')::bigint;
END $$;

-- Is b within a factor of a, or no more than "slack" away?
CREATE FUNCTION es_near(a numeric, b numeric, factor numeric, slack numeric) RETURNS boolean
LANGUAGE sql AS $$
	SELECT abs(a - b) <= slack OR (a <= b * factor AND b <= a * factor)
$$;

-- Makes the index that each row is about, and tells where it is another one.
CREATE FUNCTION es_compare(name, lo anycompatible, hi anycompatible, condition text,
	OUT method text, OUT answer text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	e record;
	visited bigint;
	size bigint;
BEGIN
	FOR e IN SELECT * FROM rencoder_estimate('es', $1, lo, hi) LOOP
		method := e.method;
		answer := 'near';
		IF e.size IS NULL THEN
			answer := e.advice;
			RETURN NEXT;
			CONTINUE;
		END IF;
		EXECUTE format('CREATE INDEX es_made ON es USING %I (%I)', e.method, $1);
		size := pg_relation_size('es_made');
		visited := es_visited(condition);
		DROP INDEX es_made;
		IF NOT es_near(e.size, size, 1.1, 8192) THEN
			answer := format('%s bytes for %s', e.size, size);
		ELSIF NOT es_near(e.heap_pages, visited, 1.5, 8) THEN
			answer := format('%s pages for %s', e.heap_pages, visited);
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM es_compare('id', 500, 600, 'id BETWEEN 500 AND 600');
SELECT * FROM es_compare('v', 0::int8, 40000000::int8, 'v BETWEEN 0 AND 40000000');
SELECT * FROM es_compare('v', -9::int8, -5::int8, 'v BETWEEN -9 AND -5');
SELECT * FROM es_compare('skewed', 0::int8, 10::int8, 'skewed BETWEEN 0 AND 10');
SELECT * FROM es_compare('few', 7, 7, 'few = 7');
SELECT * FROM es_compare('gone', 7, 8, 'gone BETWEEN 7 AND 8');
SELECT * FROM es_compare('s', 'key 500'::text, 'key 501'::text,
	's BETWEEN ''key 500'' AND ''key 501''');
SELECT * FROM es_compare('p', point '(10,10)', point '(15,15)', 'p <@ box ''(10,10),(15,15)''');

-- What it advises.
CREATE VIEW es_view AS SELECT 1 AS a;
SELECT advice ~ '^use BRIN: ' AS ok FROM rencoder_estimate('es', 'id', 500, 600)
WHERE method = 'brin';
-- Neither the few pages that a btree reads less for a needle, nor for a few rows, speak for it.
SELECT hi, advice ~ '^use rencoder: \d+ bits a row, reads \d+ pages$' AS ok
FROM unnest('{100000,200000,10000000}'::int8[]) hi, rencoder_estimate('es', 'v', 100000::int8, hi)
WHERE advice LIKE 'use %';
SELECT min(advice) FILTER (WHERE advice LIKE 'use %') ~ '^use rencoder' AS ok,
	sum(index_pages + heap_pages) FILTER (WHERE method = 'rencoder') >
	sum(index_pages + heap_pages) FILTER (WHERE method = 'btree') AS reads_more
FROM rencoder_estimate('es', 's', 'key 500'::text, 'key 500'::text);
SELECT method, advice FROM rencoder_estimate('es', 'v', 0::int8, 4000000000::int8)
WHERE advice LIKE 'use %';
CREATE TABLE es_small AS SELECT 1 AS a;
SELECT method, size, heap_pages, advice FROM rencoder_estimate('es_small', 'a', 1, 1)
WHERE method = 'rencoder';
TRUNCATE es_small;
SELECT method, heap_pages, false_pages FROM rencoder_estimate('es_small', 'a', 1, 1);

-- The same table gives the same answer, and bounds are read as everywhere.
SELECT count(*) AS rows FROM (SELECT * FROM rencoder_estimate('es', 'v', 5, 6)
	UNION SELECT * FROM rencoder_estimate('es', 'v', '5', '6')) e;

-- Who may ask, and for what.
SELECT * FROM rencoder_estimate(NULL, 'v', 1, 2);
SELECT * FROM rencoder_estimate('es', 'v', 1, NULL::int8);
SELECT * FROM rencoder_estimate('es', 'w', 1, 2);
SELECT * FROM rencoder_estimate(999999::regclass, 'v', 1, 2);
SELECT * FROM rencoder_estimate('es', 'ctid', 1, 2);
SELECT * FROM rencoder_estimate('es', 'j', 1, 2);
SELECT * FROM rencoder_estimate('es', 'v', point '(1,1)', point '(2,2)');
SELECT * FROM rencoder_estimate('es_view', 'a', 1, 2);
CREATE TABLE es_parts (a int) PARTITION BY RANGE (a);
SELECT * FROM rencoder_estimate('es_parts', 'a', 1, 2);
CREATE ROLE regress_rencoder_estimate;
SET ROLE regress_rencoder_estimate;
SELECT * FROM rencoder_estimate('es', 'v', 1, 2);
RESET ROLE;
GRANT SELECT (v) ON es TO regress_rencoder_estimate;
SET ROLE regress_rencoder_estimate;
SELECT count(*) AS allowed FROM rencoder_estimate('es', 'v', 1, 2);
SELECT * FROM rencoder_estimate('es', 'id', 1, 2);
RESET ROLE;
ALTER TABLE es ENABLE ROW LEVEL SECURITY;
SET ROLE regress_rencoder_estimate;
SELECT * FROM rencoder_estimate('es', 'v', 1, 2);
RESET ROLE;
SELECT count(*) AS owner FROM rencoder_estimate('es', 'v', 1, 2);

DROP VIEW es_view;
DROP TABLE es, es_small, es_parts;
DROP FUNCTION es_compare, es_near, es_visited;
DROP ROLE regress_rencoder_estimate;
