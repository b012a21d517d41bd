-- pgbench -n -f index_brin.sql -D table=T -D column=C -D pages=128 -t 1
-- pages: 128 if nothing else is known, 32 for narrow intervals.
-- Takes the place of what another index_*.sql has made.
DROP INDEX IF EXISTS rencoder_bench_index;
CREATE INDEX rencoder_bench_index ON :table USING brin (:column) WITH (pages_per_range = :pages);
