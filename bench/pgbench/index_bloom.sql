-- pgbench -n -f index_bloom.sql -D table=T -D column=C -t 1
-- CREATE EXTENSION bloom comes first; integer and text, = only.
-- Takes the place of what another index_*.sql has made.
DROP INDEX IF EXISTS rencoder_bench_index;
CREATE INDEX rencoder_bench_index ON :table USING bloom (:column);
