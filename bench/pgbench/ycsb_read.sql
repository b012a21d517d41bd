-- YCSB: reads a row by its key, of which some are asked for often (Zipf).  C by itself:
--     pgbench -n -M prepared -D rows=1000000 -f ycsb_read.sql -T 60
-- A: -f ycsb_read.sql@50 -f ycsb_update.sql@50      B: -f ycsb_read.sql@95 -f ycsb_update.sql@5
-- D: -f ycsb_latest.sql@95 -f ycsb_insert.sql@5     E: -f ycsb_scan.sql@95 -f ycsb_insert.sql@5
-- F: -f ycsb_read.sql@50 -f ycsb_modify.sql@50      ../ycsb.sh runs all of them.
-- pgbench wants an exponent above 1, where YCSB has 0.99.
\set n random_zipfian(1, :rows, 1.001)
SELECT * FROM usertable WHERE ycsb_key = hashint8extended(:n, 0);
