-- pgbench -n -f index_gist.sql -D table=T -D column=C -t 1
-- Points; of other types, CREATE EXTENSION btree_gist comes first.
-- Takes the place of what another index_*.sql has made.
DROP INDEX IF EXISTS rencoder_bench_index;
CREATE INDEX rencoder_bench_index ON :table USING gist (:column);
