-- A view of query samples may read the indexed table itself.  What rebuilds the index has the
-- table locked and changed: it warns and keeps the samples that it has, for PostgreSQL plans
-- no query on the table meanwhile.  It does before 15.7 and 16.3, with any result.
SET client_min_messages = warning;
SELECT current_setting('server_version_num')::int < 150007
	OR current_setting('server_version_num')::int BETWEEN 160000 AND 160002 AS too_early \gset
SELECT :'too_early' AS too_early;
\if :too_early
\quit
\endif
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET rencoder.sample_rate = 0;
\set VERBOSITY terse

CREATE FUNCTION qs_count(index regclass) RETURNS TABLE (source text, n bigint) LANGUAGE sql AS $$
	SELECT source, count(*) FROM rencoder_query_samples(index) GROUP BY 1 ORDER BY 1
$$;
CREATE TABLE qs (a bigint, pad text);
INSERT INTO qs SELECT g, repeat('x', 200) FROM generate_series(1, 3000) g;
CREATE INDEX qs_pad ON qs (pad);
CLUSTER qs USING qs_pad;

-- Read by CREATE INDEX and REINDEX CONCURRENTLY only.
CREATE VIEW qs_view AS SELECT a AS lo, a + 10 AS hi FROM public.qs WHERE a <= 20;
CREATE INDEX qs_a ON qs USING rencoder (a)
	WITH (pages_per_range = 4, query_sample = 'public.qs_view', storage = filter);
SELECT * FROM qs_count('qs_a');
-- More could be read now.
CREATE OR REPLACE VIEW qs_view AS SELECT a AS lo, a + 10 AS hi FROM public.qs WHERE a <= 30;
REINDEX INDEX qs_a;
REINDEX TABLE qs;
VACUUM FULL qs;
CLUSTER qs;
ALTER TABLE qs ALTER pad TYPE text USING pad || '';
SELECT * FROM qs_count('qs_a');
REINDEX INDEX CONCURRENTLY qs_a;
SELECT * FROM qs_count('qs_a');
BEGIN;
TRUNCATE qs;
SELECT * FROM qs_count('qs_a');
ROLLBACK;
DROP INDEX qs_a;
CREATE INDEX qs_a ON qs USING rencoder (a)
	WITH (pages_per_range = 4, query_sample = 'public.qs_view', storage = filter);
SELECT * FROM qs_count('qs_a');
-- Or a partition of what the view reads.
CREATE TABLE qs_parts (a bigint, pad text) PARTITION BY RANGE (a);
CREATE TABLE qs_part1 PARTITION OF qs_parts FOR VALUES FROM (0) TO (1000);
INSERT INTO qs_parts SELECT g, repeat('x', 200) FROM generate_series(1, 900) g;
CREATE OR REPLACE VIEW qs_view AS SELECT a AS lo, a + 10 AS hi FROM public.qs_parts WHERE a <= 30;
CREATE INDEX qs_parts_a ON qs_parts USING rencoder (a)
	WITH (pages_per_range = 4, query_sample = 'public.qs_view', storage = filter);
SELECT * FROM qs_count('qs_part1_a_idx');
BEGIN;
TRUNCATE qs_parts;
SELECT * FROM qs_count('qs_part1_a_idx');
ROLLBACK;
REINDEX TABLE CONCURRENTLY qs_part1;
SELECT * FROM qs_count('qs_part1_a_idx');

DROP TABLE qs, qs_parts CASCADE;
DROP FUNCTION qs_count;
