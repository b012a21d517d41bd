-- rencoder_maintain() does what is useful for the indexes of a table and its partitions, and no
-- more; what it says it did is what the indexes show.
SET client_min_messages = warning;
SET max_parallel_maintenance_workers = 0;
SET rencoder.max_workers = 0;
SET rencoder.sample_rate = 0;
CREATE TABLE ma (k int, v int8, note text) PARTITION BY RANGE (k);
CREATE TABLE ma_1 PARTITION OF ma FOR VALUES FROM (0) TO (10) WITH (autovacuum_enabled = off);
CREATE TABLE ma_2 PARTITION OF ma FOR VALUES FROM (10) TO (20) WITH (autovacuum_enabled = off);
CREATE TABLE ma_3 PARTITION OF ma FOR VALUES FROM (20) TO (30) PARTITION BY RANGE (k);
CREATE TABLE ma_3_1 PARTITION OF ma_3 FOR VALUES FROM (20) TO (30)
	WITH (autovacuum_enabled = off);
CREATE INDEX ma_v ON ma USING rencoder (v) WITH (autosummarize = off);
CREATE INDEX ma_2_more ON ma_2 USING rencoder (v, k) WITH (autosummarize = off);
INSERT INTO ma SELECT i % 30, (i::int8 * 2654435761) % 4294967296, repeat('x', 200)
FROM generate_series(1, 90000) i;
-- A run, of which all rows are changed.
REINDEX INDEX ma_1_v_idx;
UPDATE ma SET v = v + 1 WHERE k < 10;

SELECT index, pages > 0 AS read, size = pg_relation_size(index) AS size
FROM rencoder_maintain('ma') ORDER BY index::text COLLATE "C";
SELECT i.index, (SELECT pg_relation_size(indrelid) / current_setting('block_size')::int - frontier
		FROM pg_index, rencoder_metapage(i.index) WHERE indexrelid = i.index) AS behind,
	count(DISTINCT run) FILTER (WHERE kind = 'delta') AS deltas
FROM unnest('{ma_1_v_idx,ma_2_more,ma_2_v_idx,ma_3_1_v_idx}'::regclass[]) AS i (index),
	rencoder_runs(i.index) AS r
GROUP BY i.index ORDER BY i.index::text COLLATE "C";

-- No more pages are in use than a build makes, by half.
SELECT pg_relation_size('ma_3_1_v_idx') / current_setting('block_size')::int - free_pages AS used
FROM rencoder_metapage('ma_3_1_v_idx') \gset
BEGIN;
REINDEX INDEX ma_3_1_v_idx;
SELECT :used * 2 <= pg_relation_size('ma_3_1_v_idx') / current_setting('block_size')::int * 3
	AS about_as_few;
ROLLBACK;
-- There is nothing to do a second time.
SELECT index, pages FROM rencoder_maintain('ma') WHERE pages > 0;
-- Nor in an index of few pages, as the last page of its pending list stays.
CREATE TABLE ma_small (v int8) WITH (autovacuum_enabled = off);
INSERT INTO ma_small SELECT hashint8(i) FROM generate_series(1, 10000) i;
CREATE INDEX ma_small_v ON ma_small USING rencoder (v);
UPDATE ma_small SET v = v + 1 WHERE v % 3 = 0;
SELECT rencoder_compact('ma_small_v') > 0 AS compacted;
SELECT pages FROM rencoder_maintain('ma_small');
SELECT pending_pages FROM rencoder_metapage('ma_small_v');
SELECT sum(pages) < 10 AS few FROM rencoder_runs('ma_small_v');
DROP TABLE ma_small;
-- A single partition, and a table without such an index.
SELECT count(*) FROM rencoder_maintain('ma_3');
SELECT count(*) FROM rencoder_maintain('pg_class');
-- Rows are found.
SET enable_seqscan = off;
SELECT count(*) FROM ma WHERE v BETWEEN 100000 AND 20000000;
SET rencoder.enable_scan = off;
SELECT count(*) FROM ma WHERE v BETWEEN 100000 AND 20000000;
RESET rencoder.enable_scan;

-- For owners.
CREATE ROLE ma_other;
GRANT SELECT ON ma, ma_1, ma_2, ma_3, ma_3_1 TO ma_other;
SET ROLE ma_other;
SELECT index FROM rencoder_maintain('ma');
RESET ROLE;
-- Also of those of one owner only; of an index alone; and of what is neither.
ALTER TABLE ma_2 OWNER TO ma_other;
SET ROLE ma_other;
SELECT index FROM rencoder_maintain('ma');
SELECT index FROM rencoder_maintain('ma_2_more');
SELECT index FROM rencoder_maintain('ma_1_v_idx');
SELECT index FROM rencoder_maintain('ma_v');
SELECT index FROM rencoder_maintain('rencoder_stat_indexes');
RESET ROLE;
ALTER TABLE ma_2 OWNER TO CURRENT_USER;
REVOKE ALL ON ma, ma_1, ma_2, ma_3, ma_3_1 FROM ma_other;
DROP ROLE ma_other;
DROP TABLE ma;
