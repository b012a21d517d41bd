-- pgbench -n -f in.sql -D table=T -D column=C -D min=0 -D max=999999 -T 60
-- A list of ten values of an integer column, drawn evenly from min to max.
\set v1 random(:min, :max)
\set v2 random(:min, :max)
\set v3 random(:min, :max)
\set v4 random(:min, :max)
\set v5 random(:min, :max)
\set v6 random(:min, :max)
\set v7 random(:min, :max)
\set v8 random(:min, :max)
\set v9 random(:min, :max)
\set v10 random(:min, :max)
SELECT * FROM :table WHERE :column IN (:v1, :v2, :v3, :v4, :v5, :v6, :v7, :v8, :v9, :v10);
