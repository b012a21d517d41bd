-- psql -v rows=1000000 -f ycsb_table.sql
-- The table of YCSB's workloads, which ycsb_a.sql to ycsb_f.sql use: a key and ten fields of 100 bytes.
-- Keys are hashes of 1, 2, 3 .., as YCSB's are by default.  Then index the key, as you like:
--     CREATE INDEX ON usertable USING rencoder (ycsb_key);      CREATE INDEX ON usertable (ycsb_key);
DROP TABLE IF EXISTS usertable;
DROP SEQUENCE IF EXISTS ycsb_n;
CREATE TABLE usertable (ycsb_key bigint NOT NULL, field0 text, field1 text, field2 text, field3 text, field4 text,
    field5 text, field6 text, field7 text, field8 text, field9 text);
CREATE FUNCTION pg_temp.field(i bigint) RETURNS text LANGUAGE sql AS $$ SELECT rpad(md5(i::text), 100, 'x') $$;
INSERT INTO usertable
    SELECT hashint8extended(i, 0), f, f, f, f, f, f, f, f, f, f
    FROM generate_series(1, :rows) AS i, pg_temp.field(i) AS f;
CREATE SEQUENCE ycsb_n;
SELECT setval('ycsb_n', :rows);
VACUUM ANALYZE usertable;
