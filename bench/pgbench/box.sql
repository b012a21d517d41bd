-- pgbench -n -f box.sql -D table=T -D column=C -D min=0 -D max=1000 -D side=10 -T 60
-- Points in a box with edges of "side", placed evenly; x and y of its corner are integers from min
-- to max, a point may be anywhere.
\set x random(:min, :max)
\set y random(:min, :max)
SELECT * FROM :table WHERE :column <@ box(point(:x, :y), point(:x + :side, :y + :side));
