-- pgbench -n -f index_hash.sql -D table=T -D column=C -t 1
-- Answers = only.
-- Takes the place of what another index_*.sql has made.
DROP INDEX IF EXISTS rencoder_bench_index;
CREATE INDEX rencoder_bench_index ON :table USING hash (:column);
