-- rencoder_index_stats(): what scans have read, and found, beside what a test counts.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET jit = off;
SET rencoder.sample_rate = 0;

-- 1,097 pages of 31 rows: enough for a page of counts from the beginning.
CREATE TABLE st (id int, v int8, w int8, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE st ALTER filler SET STORAGE plain;
INSERT INTO st SELECT i, (i * 2654435761) % 4294967296, i % 1000, repeat('x', 190)
FROM generate_series(1, 34000) i;
CREATE INDEX st_v ON st USING rencoder (v) WITH (storage = run, autosummarize = off);
CREATE INDEX st_w ON st USING rencoder (w) WITH (storage = filter, autosummarize = off);
VACUUM ANALYZE st;
SET enable_seqscan = off;
SELECT scans, pages, checked_scans, false_pages, predicted_false_pages > 0 AS predicted, since
FROM rencoder_index_stats('st_v');

-- The pages that a query visits, and those of them without a row of it: both are counted once
-- more by the statistics.
CREATE TABLE st_expected (index_name text PRIMARY KEY, scans int8, pages int8, skipped int8,
	index_pages int8, checked int8, false_pages int8);
INSERT INTO st_expected VALUES ('st_v', 0, 0, 0, 0, 0, 0), ('st_w', 0, 0, 0, 0, 0, 0);
CREATE FUNCTION st_ask(name text, lo int8, hi int8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	found record;
	hits int8;
BEGIN
	SELECT * INTO found FROM rencoder_candidates(name, lo, hi);
	EXECUTE format('SELECT count(DISTINCT (ctid::text::point)[0]) FROM st '
		'WHERE %s BETWEEN %s AND %s', right(name, 1), lo, hi) INTO hits;
	UPDATE st_expected SET scans = scans + 1, pages = pages + found.pages,
		skipped = skipped + found.skipped, index_pages = index_pages + found.index_pages,
		checked = checked + found.pages, false_pages = false_pages + found.pages - hits
	WHERE index_name = name;
END $$;
CREATE FUNCTION st_differs(OUT index_name text, OUT counted text, OUT expected text)
	RETURNS SETOF record LANGUAGE sql AS $$
	SELECT * FROM (SELECT e.index_name, (s.scans, s.pages, s.skipped, s.index_pages,
			s.checked_pages, s.false_pages)::text AS counted,
			(e.scans, e.pages, e.skipped, e.index_pages, e.checked, e.false_pages)::text AS expected
		FROM st_expected e, rencoder_index_stats(e.index_name::regclass) s) x
	WHERE counted <> expected
$$;
-- From here on the session keeps the root of the run.
SELECT pages > 0 AS searched FROM rencoder_candidates('st_v', 0::int8, 10000000::int8);
SELECT rencoder_index_stats_reset('st_v'), rencoder_index_stats_reset('st_w');
SELECT count(st_ask('st_v', lo, lo + i * i * 1000))
FROM generate_series(1, 60) i, LATERAL (SELECT i * 10000000::int8) l (lo);
SELECT count(st_ask('st_w', 970 + i, 970 + i)) FROM generate_series(1, 60) i;
SELECT false_pages > 0 AS false_pages, pages > false_pages AS and_true_ones FROM st_expected;
SELECT * FROM st_differs();
SELECT scans, table_pages = scans * (pg_relation_size('st') / 8192) AS table_pages,
	ranges > skipped AS ranges,
	checked_scans = scans AS checked,
	false_pages * 1.0 / checked_scans BETWEEN
	predicted_false_pages / 3 AND predicted_false_pages * 3 + 1 AS as_predicted
FROM rencoder_index_stats('st_v');
-- Three digits of what is predicted.
SELECT length(ltrim(replace(predicted_false_pages::text, '.', ''), '0')) <= 3 AS digits
FROM rencoder_index_stats('st_v');
SELECT since BETWEEN now() - interval '1 day' AND clock_timestamp() AS since
FROM rencoder_index_stats('st_v');

-- Rescans: each is a scan, and a page counts in each.
CREATE TABLE st_keys AS SELECT (i * 777777 * 2654435761) % 4294967296 AS v
FROM generate_series(1, 30) i UNION ALL SELECT 2654435761 UNION ALL SELECT 2654435761;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SELECT rencoder_index_stats_reset('st_v');
SELECT count(st.v) FROM st_keys k LEFT JOIN st ON st.v = k.v;
SELECT (s.scans, s.checked_scans, s.pages, s.checked_pages, s.false_pages) = (e.n, e.n, e.pages,
	e.pages, e.pages - e.hits) AS as_expected, e.n, e.hits, e.pages > e.hits AS more
FROM rencoder_index_stats('st_v') s, (SELECT count(*) AS n, sum(c.pages) AS pages,
		sum((SELECT count(DISTINCT (ctid::text::point)[0]) FROM st WHERE v + 0 = k.v)) AS hits
	FROM st_keys k, rencoder_candidates('st_v', k.v, k.v) c) e;

-- A parallel bitmap scan is one scan of the index; its pages are counted in all processes.
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET parallel_leader_participation = off;
SELECT rencoder_index_stats_reset('st_w');
EXPLAIN (COSTS OFF) SELECT count(id) FROM st WHERE w < 300;
SELECT count(id) FROM st WHERE w < 300;
SELECT s.scans, s.pages = c.pages AS pages, s.checked_pages = c.pages AS checked_pages,
	s.false_pages > 0 AS some, s.false_pages = c.pages - hits AS false_pages
FROM rencoder_index_stats('st_w') s, rencoder_candidates('st_w', 0, 299) c,
	(SELECT count(DISTINCT (ctid::text::point)[0]) AS hits FROM st WHERE w + 0 < 300) h;
SET max_parallel_workers_per_gather = 0;

-- What else hides rows is not counted, nor what the bitmap of several indexes found; and of a
-- scan that was stopped only what it has read.
SELECT rencoder_index_stats_reset('st_v'), rencoder_index_stats_reset('st_w');
SELECT count(id) FROM st WHERE v < 100000000 AND id % 2 = 0;
SELECT count(id) FROM st WHERE v < 100000000 OR w = 5;
SELECT scans, checked_scans FROM rencoder_index_stats('st_v');
SELECT id > 0 AS one FROM st WHERE v < 100000000 LIMIT 1;
SELECT scans, checked_scans, pages > 100 AS pages, checked_pages BETWEEN 1 AND 20 AS few,
	false_pages < checked_pages AS found FROM rencoder_index_stats('st_v');

-- A query that fails is a scan, but nobody knows what it found.
SELECT rencoder_index_stats_reset('st_v');
SELECT 1 / (id - id) FROM st WHERE v = 2654435761;
SELECT scans, checked_scans FROM rencoder_index_stats('st_v');
-- EXPLAIN runs nothing.
EXPLAIN (COSTS OFF) SELECT * FROM st WHERE v = 5;
SELECT scans, checked_scans FROM rencoder_index_stats('st_v');

-- Other sessions: what they have not written when they end is written then.
SELECT rencoder_index_stats_reset('st_v');
\connect -
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SELECT count(id) FROM st WHERE v = 1;
SELECT count(id) FROM st WHERE v = 2;
SELECT count(id) FROM st WHERE v = 3;
\connect -
-- The other one may still be ending.
DO $$
BEGIN
	FOR i IN 1 .. 18000 LOOP
		EXIT WHEN (SELECT scans FROM rencoder_index_stats('st_v')) >= 3;
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;
SELECT scans, checked_scans FROM rencoder_index_stats('st_v');
SELECT rencoder_index_check('st_v', true), rencoder_index_check('st_w', true);

-- Small tables have no page for it until somebody asks for one.
CREATE TABLE st_small AS SELECT i AS v FROM generate_series(1, 1000) i;
CREATE INDEX st_small_v ON st_small USING rencoder (v);
SELECT count(v) FROM st_small WHERE v = 5;
SELECT scans, since FROM rencoder_index_stats('st_small_v');
SELECT rencoder_index_stats_reset('st_small_v');
SET enable_seqscan = off;
SELECT count(v) FROM st_small WHERE v = 5;
SELECT scans, checked_scans FROM rencoder_index_stats('st_small_v');
SELECT rencoder_index_check('st_small_v', true);

CREATE ROLE regress_rencoder_stats;
SET ROLE regress_rencoder_stats;
SELECT * FROM rencoder_index_stats('st_v');
SELECT rencoder_index_stats_reset('st_v');
RESET ROLE;
GRANT pg_stat_scan_tables TO regress_rencoder_stats;
SET ROLE regress_rencoder_stats;
SELECT scans FROM rencoder_index_stats('st_v');
SELECT rencoder_index_stats_reset('st_v');
RESET ROLE;
DROP TABLE st, st_small, st_keys, st_expected;
DROP FUNCTION st_ask, st_differs;
DROP ROLE regress_rencoder_stats;
