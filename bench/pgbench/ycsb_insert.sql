-- YCSB, D and E: inserts a row; see ycsb_read.sql.
INSERT INTO usertable SELECT hashint8extended(nextval('ycsb_n'), 0), f, f, f, f, f, f, f, f, f, f
    FROM rpad(md5(random()::text), 100, 'z') AS f;
