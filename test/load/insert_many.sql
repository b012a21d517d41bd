\set k random(0, 1000000)
SELECT put(300, :k);
