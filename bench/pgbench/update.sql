-- pgbench -n -f update.sql -D table=T -D column=C -D key=K -D keys=100000 \
--     -D min=0 -D max=999999 -T 60
-- Gives a random row another value, so take a copy of your table; K is a column with a unique index
-- and values from 1 to "keys".
\set row random(1, :keys)
\set value random(:min, :max)
UPDATE :table SET :column = :value WHERE :key = :row;
