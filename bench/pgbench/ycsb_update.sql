-- YCSB, A and B: changes a field that is not indexed; see ycsb_read.sql.
\set n random_zipfian(1, :rows, 1.001)
UPDATE usertable SET field0 = rpad(md5(random()::text), 100, 'y') WHERE ycsb_key = hashint8extended(:n, 0);
