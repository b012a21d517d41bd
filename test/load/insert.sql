\set k random(0, 1000000)
\set n random(1, 8)
SELECT put(:n, :k);
