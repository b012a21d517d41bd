-- rencoder_index_stats(): what scans have read, beside what a test counts; and WAL of maintenance.
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
CREATE INDEX st_w ON st USING rencoder (w) WITH (autosummarize = off);
VACUUM ANALYZE st;
SET enable_seqscan = off;
SELECT scans, pages, predicted_false_pages > 0 AS predicted, since
FROM rencoder_index_stats('st_v');

-- The pages that a query visits are counted once more by the statistics.
CREATE TABLE st_expected (index_name text PRIMARY KEY, scans int8, pages int8,
	index_pages int8, false_pages int8);
INSERT INTO st_expected VALUES ('st_v', 0, 0, 0, 0), ('st_w', 0, 0, 0, 0);
CREATE FUNCTION st_ask(name text, lo int8, hi int8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	found record;
	hits int8;
BEGIN
	SELECT * INTO found FROM rencoder_candidates(name, lo, hi);
	EXECUTE format('SELECT count(DISTINCT (ctid::text::point)[0]) FROM st '
		'WHERE %s BETWEEN %s AND %s', right(name, 1), lo, hi) INTO hits;
	UPDATE st_expected SET scans = scans + 1, pages = pages + found.pages,
		index_pages = index_pages + found.index_pages,
		false_pages = false_pages + found.pages - hits
	WHERE index_name = name;
END $$;
CREATE FUNCTION st_differs(OUT index_name text, OUT counted text, OUT expected text)
	RETURNS SETOF record LANGUAGE sql AS $$
	SELECT * FROM (SELECT e.index_name, (s.scans, s.pages, s.index_pages)::text AS counted,
			(e.scans, e.pages, e.index_pages)::text AS expected
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
SELECT scans, table_pages = scans * (pg_relation_size('st') / 8192) AS table_pages
FROM rencoder_index_stats('st_v');
SELECT false_pages / 60.0 BETWEEN predicted_false_pages / 3 AND predicted_false_pages * 3 + 1
	AS as_predicted
FROM st_expected, rencoder_index_stats('st_v') WHERE index_name = 'st_v';
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
SELECT (s.scans, s.pages) = (e.n, e.pages) AS as_expected, e.n
FROM rencoder_index_stats('st_v') s, (SELECT count(*) AS n, sum(c.pages) AS pages
	FROM st_keys k, rencoder_candidates('st_v', k.v, k.v) c) e;

-- A parallel bitmap scan is one scan of the index.
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET parallel_leader_participation = off;
SELECT rencoder_index_stats_reset('st_w');
EXPLAIN (COSTS OFF) SELECT count(id) FROM st WHERE w < 300;
SELECT count(id) FROM st WHERE w < 300;
SELECT s.scans, s.pages = c.pages AS pages
FROM rencoder_index_stats('st_w') s, rencoder_candidates('st_w', 0, 299) c;
SET max_parallel_workers_per_gather = 0;

-- A query that fails is not counted; EXPLAIN runs nothing.
SELECT rencoder_index_stats_reset('st_v');
SELECT 1 / (id - id) FROM st WHERE v = 2654435761;
EXPLAIN (COSTS OFF) SELECT * FROM st WHERE v = 5;
SELECT scans FROM rencoder_index_stats('st_v');

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
SELECT scans FROM rencoder_index_stats('st_v');
SELECT rencoder_index_check('st_v', true), rencoder_index_check('st_w', true);

-- WAL of maintenance: none of CREATE INDEX, of inserts and of scans; of rencoder_compact() exactly
-- what EXPLAIN says of the statement; of rencoder_maintain_index(), which closes the pending list
-- besides, three records with whole pages less at most.
CREATE FUNCTION st_wal(query text, OUT counted int8, OUT told int8) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	before int8 := (SELECT maintenance_wal FROM rencoder_index_stats('st_wal_v'));
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT json) ' || query INTO plan;
	counted := (SELECT maintenance_wal FROM rencoder_index_stats('st_wal_v')) - before;
	told := plan -> 0 -> 'Plan' ->> 'WAL Bytes';
END $$;
CREATE TABLE st_wal WITH (autovacuum_enabled = off) AS SELECT id, v, filler FROM st;
CREATE INDEX st_wal_v ON st_wal USING rencoder (v) WITH (autosummarize = off);
SELECT maintenance_wal FROM rencoder_index_stats('st_wal_v');
SELECT counted, told > 100000 AS told
FROM st_wal('INSERT INTO st_wal SELECT id, v + 1, filler FROM st WHERE id <= 20000');
SELECT counted FROM st_wal('SELECT count(id) FROM st_wal WHERE v = 2654435761');
SELECT counted BETWEEN 30000 AND told AS counted, told - counted < 3 * 8300 AS nearly_all
FROM st_wal('SELECT rencoder_maintain_index(''st_wal_v'')');
SELECT counted, told FROM st_wal('SELECT rencoder_maintain_index(''st_wal_v'')');
-- Deltas of late rows, which come to pages that a run has.
DELETE FROM st_wal WHERE id % 7 = 0;
VACUUM (INDEX_CLEANUP off) st_wal;
INSERT INTO st_wal SELECT id, v + 2, NULL FROM st WHERE id <= 2000;
SELECT counted > 10000 AND counted <= told AS counted, told - counted < 3 * 8300 AS nearly_all
FROM st_wal('SELECT rencoder_maintain_index(''st_wal_v'')');
SELECT counted > 60000 AS counted, counted = told AS exactly
FROM st_wal('SELECT rencoder_compact(''st_wal_v'')');
SELECT s.maintenance_wal > 100000 AS wal,
	v.maintenance_wal = s.maintenance_wal AS as_the_view
FROM rencoder_index_stats('st_wal_v') s, rencoder_stat_indexes v WHERE v.indexrelname = 'st_wal_v';
SELECT rencoder_index_stats_reset('st_wal_v');
SELECT maintenance_wal FROM rencoder_index_stats('st_wal_v');
-- VACUUM counts, in parallel, too.
CREATE INDEX st_wal_id ON st_wal USING rencoder (id) WITH (autosummarize = off);
SET min_parallel_index_scan_size = 0;
SET max_parallel_maintenance_workers = 2;
INSERT INTO st_wal SELECT id, v + 3, filler FROM st WHERE id <= 9000;
VACUUM (PARALLEL 2) st_wal;
SELECT indexrelname, maintenance_wal > 20000 AS wal FROM rencoder_stat_indexes
WHERE relname = 'st_wal' ORDER BY 1;
SET max_parallel_maintenance_workers = 0;
RESET min_parallel_index_scan_size;
SELECT rencoder_index_check('st_wal_v', true);

-- Small tables have no page for it until somebody asks for one.
CREATE TABLE st_small AS SELECT i AS v FROM generate_series(1, 1000) i;
CREATE INDEX st_small_v ON st_small USING rencoder (v);
SELECT count(v) FROM st_small WHERE v = 5;
SELECT scans, since, maintenance_wal FROM rencoder_index_stats('st_small_v');
SELECT rencoder_index_stats_reset('st_small_v');
SET enable_seqscan = off;
SELECT count(v) FROM st_small WHERE v = 5;
SELECT scans FROM rencoder_index_stats('st_small_v');
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
DROP TABLE st, st_small, st_wal, st_keys, st_expected;
DROP FUNCTION st_wal, st_ask, st_differs;
DROP ROLE regress_rencoder_stats;
