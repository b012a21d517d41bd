-- pgbench -n -r -f known.sql -D table=T -D column=C -D values=1000 -T 60
-- A value that is there, of a column of any type; sample.sql comes first, "values" is how many it
-- drew.  -r shows how much of the time is that of the last statement.
\set i random(1, :values)
SELECT literal FROM rencoder_bench_values WHERE i = :i \gset
SELECT * FROM :table WHERE :column = :literal;
