-- pgbench -n -f index_brin_class.sql -D table=T -D column=C -D class=K -D pages=128 -t 1
-- class: int8_minmax_multi_ops, int8_bloom_ops (= only) and the like, by the column's type.
-- Takes the place of what another index_*.sql has made.
DROP INDEX IF EXISTS rencoder_bench_index;
CREATE INDEX rencoder_bench_index ON :table
    USING brin (:column :class) WITH (pages_per_range = :pages);
