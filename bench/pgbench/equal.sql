-- pgbench -n -f equal.sql -D table=T -D column=C -D min=0 -D max=999999 -T 60
-- One value of an integer column, drawn evenly from min to max.
\set value random(:min, :max)
SELECT * FROM :table WHERE :column = :value;
