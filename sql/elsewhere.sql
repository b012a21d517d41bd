--
-- Functions are called for an index that does not have the rows: of a partitioned table with
-- foreign partitions, or of a table that Citus has distributed.
--
CREATE FOREIGN DATA WRAPPER elsewhere_wrapper;
CREATE SERVER elsewhere_server FOREIGN DATA WRAPPER elsewhere_wrapper;
CREATE TABLE elsewhere (id int, v int8) PARTITION BY RANGE (id);
CREATE TABLE elsewhere_here PARTITION OF elsewhere FOR VALUES FROM (0) TO (100);
CREATE INDEX elsewhere_v ON elsewhere USING rencoder (v)
	WITH (autosummarize = off, storage = filter);
SELECT rencoder_summarize_new_values('elsewhere_v');
CREATE FOREIGN TABLE elsewhere_1 PARTITION OF elsewhere FOR VALUES FROM (100) TO (200)
	SERVER elsewhere_server;
SELECT rencoder_summarize_new_values('elsewhere_v');

-- Also of a partition of a partition.
CREATE TABLE elsewhere_more PARTITION OF elsewhere FOR VALUES FROM (200) TO (300)
	PARTITION BY RANGE (id);
CREATE FOREIGN TABLE elsewhere_2 PARTITION OF elsewhere_more FOR VALUES FROM (200) TO (250)
	SERVER elsewhere_server;
SELECT rencoder_index_check('elsewhere_v');
SELECT * FROM rencoder_metapage('elsewhere_more_v_idx');
SELECT rencoder_summarize_new_values('elsewhere_here_v_idx');
SELECT method FROM rencoder_estimate('elsewhere_1', 'v', 1, 2);

-- As Citus notes it.  The rows of others are where they seem to be.
SELECT rencoder_index_check('elsewhere_here_v_idx');
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (partmethod "char", logicalrelid regclass);
INSERT INTO pg_catalog.pg_dist_partition VALUES ('h', 'elsewhere_more'), ('h', 'elsewhere_here');
CREATE TABLE elsewhere_not (v int8);
CREATE INDEX elsewhere_not_v ON elsewhere_not USING rencoder (v)
	WITH (autosummarize = off, storage = filter);
SELECT rencoder_index_check('elsewhere_here_v_idx');
SELECT ranges FROM rencoder_candidates('elsewhere_here_v_idx', 1, 2);
SELECT rencoder_summarize_new_values('elsewhere_not_v');

-- Nor is any table of that name taken for Citus' own.
DROP TABLE pg_catalog.pg_dist_partition;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid oid);
INSERT INTO pg_catalog.pg_dist_partition VALUES ('elsewhere_here'::regclass);
SELECT rencoder_index_check('elsewhere_here_v_idx');
DROP TABLE pg_catalog.pg_dist_partition;
RESET allow_system_table_mods;

DROP TABLE elsewhere, elsewhere_not;
DROP SERVER elsewhere_server;
DROP FOREIGN DATA WRAPPER elsewhere_wrapper;
