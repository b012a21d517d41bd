-- pgbench -n -f insert.sql -D table=T -D column=C -D min=0 -D max=999999 -T 60
-- Inserts a row, so take a copy of your table; the other columns need defaults or accept NULL.
-- Nine queries to one insert: pgbench -n -f equal.sql@9 -f insert.sql@1 ..
\set value random(:min, :max)
INSERT INTO :table (:column) VALUES (:value);
