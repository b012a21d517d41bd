-- EXPLAIN ANALYZE of PostgreSQL 18 shows "Index Searches": one for each scan and
-- rescan, which goes over the groups once, whatever the number of conditions.
SET client_min_messages = warning;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET jit = off;
SET enable_memoize = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE searched (v int8, w int8, filler text) WITH (autovacuum_enabled = off);
INSERT INTO searched SELECT i, i % 50, repeat('x', 200) FROM generate_series(1, 20000) i;
CREATE INDEX searched_v ON searched USING rencoder (v, w)
	WITH (pages_per_range = 1, autosummarize = off);
CREATE TABLE asked (a int8);
INSERT INTO asked VALUES (7), (NULL), (1), (7), (20001);
VACUUM ANALYZE searched, asked;

-- Searches of all bitmap index scans of a plan, and what PostgreSQL 15 to 17, which do
-- not count, cannot tell from it.
CREATE FUNCTION searches_are(expected bigint, query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	scans int := 0;
	shown int := 0;
	n bigint := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		scans := scans + (line ~ 'Bitmap Index Scan on searched_v')::int;
		IF line ~ 'Index Searches: ' THEN
			shown := shown + 1;
			n := n + substring(line FROM 'Index Searches: (\d+)')::bigint;
		END IF;
	END LOOP;
	IF scans = 0 THEN
		RETURN NULL;
	END IF;
	RETURN CASE WHEN current_setting('server_version_num')::int >= 180000 THEN shown = scans
		AND n = expected ELSE shown = 0 END;
END $$;
SELECT searches_are(n, 'SELECT * FROM ' || query) AS as_expected, query FROM (VALUES
	(1, 'searched WHERE v = 7'),
	(1, 'searched WHERE v BETWEEN 7 AND 9 AND w = 3'),
	(1, 'searched WHERE v > 19000'),
	(1, 'searched WHERE v < 0'),
	(1, 'searched WHERE v IN (1, 5000, 10000, 15000, 20000)'),
	(1, 'searched WHERE v = ANY (ARRAY(SELECT generate_series(1, 20000, 100)))'),
	(2, 'searched WHERE v < 5 OR w > 100'),
	-- Nothing is equal to NULL: no group is asked.
	(0, 'searched WHERE v = (SELECT NULL::int8)'),
	-- Rescans; the one with NULL does not search.
	(4, 'asked, LATERAL (SELECT count(*) FROM searched WHERE v = a) s'),
	(5, 'asked, LATERAL (SELECT count(*) FROM searched WHERE v IN (a, 3)) s')) AS t (n, query);

-- Several processes share the bitmap of one.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM searched WHERE v BETWEEN 100 AND 15000;
SELECT searches_are(1,
	'SELECT count(*) FROM searched WHERE v BETWEEN 100 AND 15000') AS as_expected;
SET parallel_leader_participation = off;
SELECT searches_are(1,
	'SELECT count(*) FROM searched WHERE v BETWEEN 100 AND 15000') AS as_expected;

DROP TABLE searched, asked;
DROP FUNCTION searches_are;
