-- pgbench -n -f index_rencoder.sql -D table=T -D column=C -t 1
-- CREATE EXTENSION rencoder comes first.
-- Takes the place of what another index_*.sql has made.
DROP INDEX IF EXISTS rencoder_bench_index;
CREATE INDEX rencoder_bench_index ON :table USING rencoder (:column);
