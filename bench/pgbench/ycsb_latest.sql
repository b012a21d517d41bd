-- YCSB, D: reads one of the latest rows; see ycsb_read.sql.
\set back random_zipfian(1, :rows, 1.001)
SELECT * FROM usertable
    WHERE ycsb_key = (SELECT hashint8extended(last_value - :back + 1, 0) FROM ycsb_n);
