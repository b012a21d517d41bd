-- What the scans of one query skipped: EXPLAIN (ANALYZE) of PostgreSQL 18 shows it at the nodes of
-- the plan.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET jit = off;
CREATE TABLE es (id int, v int8, w int8, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE es ALTER filler SET STORAGE plain;
INSERT INTO es SELECT i, (i * 2654435761) % 4294967296, i % 1000, repeat('x', 190)
FROM generate_series(1, 17000) i;
CREATE INDEX es_v ON es USING rencoder (v) WITH (storage = run, autosummarize = off);
CREATE INDEX es_w ON es USING rencoder (w)
	WITH (storage = filter, autosummarize = off, pages_per_range = 4);
CREATE TABLE es_keys AS SELECT (i * 777777 * 2654435761) % 4294967296 AS v
FROM generate_series(1, 20) i UNION ALL SELECT 2654435761 UNION ALL SELECT 2654435761
UNION ALL SELECT NULL;
VACUUM ANALYZE es, es_keys;
SET enable_seqscan = off;

CREATE TYPE es_figures AS (pages int8, ranges int8, skipped int8, without_rows int8);
-- Pages that pass, ranges and those skipped, as rencoder_candidates says of an interval, and pages
-- on which a sequential scan finds no row of it.
CREATE FUNCTION es_truth(index_name text, lo int8, hi int8) RETURNS es_figures
	LANGUAGE plpgsql AS $$
DECLARE
	truth es_figures;
BEGIN
	SELECT pages, ranges, skipped INTO truth FROM rencoder_candidates(index_name, lo, hi);
	EXECUTE format('SELECT $1 - count(DISTINCT (ctid::text::point)[0]) FROM es '
		'WHERE %s + 0 BETWEEN $2 AND $3', right(index_name, 1))
		INTO truth.without_rows USING truth.pages, lo, hi;
	RETURN truth;
END $$;

-- The same of a plan, summed up over its nodes that scan the index; null: not shown.
CREATE FUNCTION es_explained(index_name text, query text) RETURNS es_figures
	LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	shown es_figures;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json, COSTS OFF, TIMING OFF) ' || query INTO plan;
	SELECT sum((n ->> 'Pages Passed')::int8), sum((n ->> 'Block Ranges')::int8),
		sum((n ->> 'Block Ranges Skipped')::int8)
	INTO shown.pages, shown.ranges, shown.skipped
	FROM jsonb_path_query(plan, 'strict $.** ? (exists (@."Index Name"))') n
	WHERE n ->> 'Index Name' = index_name;
	SELECT sum((n ->> 'Pages Without Rows')::int8) INTO shown.without_rows
	FROM jsonb_path_query(plan, 'strict $.** ? (exists (@."Pages Without Rows"))') n;
	RETURN shown;
END $$;

-- Before 18 nothing is shown.
CREATE FUNCTION es_same(explained es_figures, truth es_figures) RETURNS boolean LANGUAGE sql AS $$
	SELECT CASE WHEN current_setting('server_version_num')::int >= 180000
		THEN explained IS NOT DISTINCT FROM truth ELSE explained IS NULL END
$$;
CREATE TABLE es_asked (index_name text, condition text, lo int8, hi int8);
INSERT INTO es_asked
SELECT 'es_v', format('v BETWEEN %s AND %s', lo, lo + i * i * 10000), lo, lo + i * i * 10000
FROM generate_series(1, 40, 3) i, LATERAL (SELECT i * 100000000::int8) l (lo)
UNION ALL SELECT 'es_w', format('w = %s', w), w, w
FROM generate_series(1, 6) i, LATERAL (SELECT 980 + i * 5) l (w)
UNION ALL SELECT 'es_w', 'w < 300', 0, 299
-- There is none, as there is nothing below all values.
UNION ALL SELECT 'es_v', 'v IS NULL', -2, -1;
SELECT count(*), bool_and(es_same(e, t)) AS same, sum(t.pages) > 100 AS pages,
	sum(t.without_rows) > 10 AS without_rows, sum(t.skipped) > 1000 AS skipped
FROM es_asked a, es_truth(index_name, lo, hi) t,
	es_explained(index_name, 'SELECT id FROM es WHERE ' || condition) e;

-- What a bitmap of several indexes found, and what other conditions hide, is not known; nor
-- does anybody know what a scan that was stopped would have found.
SELECT es_same(e, (t.pages, t.ranges, t.skipped, NULL)) AS same
FROM es_truth('es_w', 5, 5) t,
	unnest('{v < 1000 OR w = 5,w = 5 AND id % 2 = 0}'::text[]) condition,
	es_explained('es_w', 'SELECT id FROM es WHERE ' || condition) e;
SELECT es_same(e, (t.pages, t.ranges, t.skipped, 0)) AS same
FROM es_truth('es_w', 0, 900) t,
	es_explained('es_w', 'SELECT id FROM es WHERE w BETWEEN 0 AND 900 LIMIT 1') e;
-- Nothing can match, so nothing is scanned.
SELECT es_same(e, (0, 0, 0, 0)) AS same
FROM es_explained('es_v', 'SELECT id FROM es WHERE v = (SELECT NULL::int8)') e;

-- Rescans are added up; the NULL among them is none.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SELECT es_same(e, (t.pages, t.ranges, t.skipped, t.without_rows)) AS same,
	t.pages > t.without_rows AS found, t.without_rows > 0 AS without_rows
FROM (SELECT sum(pages)::int8 AS pages, sum(ranges)::int8 AS ranges, sum(skipped)::int8 AS skipped,
		sum(without_rows)::int8 AS without_rows
	FROM es_keys k, es_truth('es_v', k.v, k.v) WHERE k.v IS NOT NULL) t,
	es_explained('es_v', 'SELECT es.id FROM es_keys k LEFT JOIN es ON es.v = k.v') e;

-- Of parallel scans: of all processes, whichever has made the bitmap.
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
EXPLAIN (COSTS OFF) SELECT count(id) FROM es WHERE w < 300;
SELECT es_same(e, t) AS same FROM es_truth('es_w', 0, 299) t,
	es_explained('es_w', 'SELECT count(id) FROM es WHERE w < 300') e;
SET parallel_leader_participation = off;
SELECT es_same(e, t) AS same FROM es_truth('es_w', 0, 299) t,
	es_explained('es_w', 'SELECT count(id) FROM es WHERE w < 300') e;
-- A subquery whose workers are started anew for each row; each row has another bitmap.
CREATE FUNCTION es_join() RETURNS text LANGUAGE sql AS $$
	SELECT 'SELECT k, (SELECT count(id) FROM es WHERE w < k) FROM (VALUES (150), (300)) x (k)'
$$;
SELECT es_same(e, (t.pages, t.ranges, t.skipped, t.without_rows)) AS same
FROM (SELECT sum(pages)::int8 AS pages, sum(ranges)::int8 AS ranges, sum(skipped)::int8 AS skipped,
		sum(without_rows)::int8 AS without_rows
	FROM unnest('{149,299}'::int8[]) hi, es_truth('es_w', 0, hi)) t,
	es_explained('es_w', es_join()) e;

DROP TABLE es, es_keys, es_asked;
DROP FUNCTION es_truth, es_explained, es_same, es_join;
DROP TYPE es_figures;
