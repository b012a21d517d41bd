-- YCSB, E: 1 to 100 rows from a key on, by the distance that so many random keys take; see ycsb_read.sql.
-- YCSB asks for the next rows in order (LIMIT); that is for a btree alone.
\set n random_zipfian(1, :rows, 1.001)
\set many random(1, 100)
SELECT * FROM usertable WHERE ycsb_key >= hashint8extended(:n, 0)
    AND ycsb_key < least(hashint8extended(:n, 0)::numeric + :many * (2::numeric ^ 64 / :rows), 9223372036854775807)::bigint;
