-- pgbench -n -r -f like.sql -D table=T -D column=C -D values=1000 -D prefix=6 -T 60
-- Strings that begin as one that is there, with "prefix" characters; sample.sql comes first,
-- "values" is how many it drew.  -r shows how much of the time is that of the last statement.
\set i random(1, :values)
SELECT quote_literal(regexp_replace(left(string, :prefix), '([\\%_])', '\\\1', 'g') || '%')
        AS pattern
    FROM rencoder_bench_values WHERE i = :i \gset
SELECT * FROM :table WHERE :column LIKE :pattern;
