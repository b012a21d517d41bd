-- pgbench -n -f sample.sql -D table=T -D column=C -D percent=0.1 -t 1
-- Makes the table rencoder_bench_values, of values that the column has: known.sql and like.sql draw
-- from it.  Of any type.  "percent" of the table's pages are read; 1,000 values are enough.
DROP TABLE IF EXISTS rencoder_bench_values;
CREATE TABLE rencoder_bench_values AS
    SELECT row_number() OVER () AS i, quote_literal(:column) AS literal, :column::text AS string
    FROM :table TABLESAMPLE system (:percent) WHERE :column IS NOT NULL;
CREATE UNIQUE INDEX ON rencoder_bench_values (i);
ANALYZE rencoder_bench_values;
