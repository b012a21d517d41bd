-- VACUUM looks at the groups of a column that wants a coder as often as at those of another one.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_maintenance_workers = 0;
SET stats_fetch_consistency = none;

CREATE TABLE vi (v int8, s text COLLATE "C") WITH (fillfactor = 20, autovacuum_enabled = off);
INSERT INTO vi SELECT hashint8extended(i, 1), 'key ' || md5(i::text)
FROM generate_series(1, 240000) i;
CREATE INDEX vi_v ON vi USING rencoder (v)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
CREATE INDEX vi_s ON vi USING rencoder (s)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
VACUUM (PARALLEL 0) vi;
SELECT count(*) > 80 AS groups, count(*) FILTER (WHERE covered < 128) <= 1 AS covered
FROM rencoder_groups('vi_s') WHERE attnum = 1;

SELECT pg_stat_force_next_flush();
SELECT pg_stat_reset_single_table_counters('vi_v'::regclass),
	pg_stat_reset_single_table_counters('vi_s'::regclass);
VACUUM (PARALLEL 0) vi;
SELECT pg_stat_force_next_flush();
SELECT v.blocks > 80 AS counted, s.blocks - v.blocks < 80 AS not_for_each_group
FROM (SELECT pg_stat_get_blocks_fetched('vi_v'::regclass) AS blocks) v,
	(SELECT pg_stat_get_blocks_fetched('vi_s'::regclass) AS blocks) s;
DROP TABLE vi;
