-- A run keeps the coders of its groups.  So VACUUM rebuilds full groups whose coder is outdated
-- before it makes a run of them.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET rencoder.sample_rate = 0;
CREATE SCHEMA runs_coders;
SET search_path = runs_coders, public;
\getenv seed RENCODER_SEED
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Four rows a page.  The coder of the first group does not tell the strings of the others apart.
CREATE TABLE t (id int, s text COLLATE "C", v int8, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE INDEX t_sv ON t USING rencoder (s, v)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
INSERT INTO t SELECT i, 'first/' || md5(i::text), hashint8(i), repeat('x', 1900)
FROM generate_series(1, 520) i;
SELECT sum(rencoder_summarize_range('t_sv', b)) > 120 AS summarized
FROM generate_series(0, pg_relation_size('t') / current_setting('block_size')::int - 1) b;
INSERT INTO t SELECT i, 'second and longer/' || md5(i::text), hashint8(i), repeat('x', 1900)
FROM generate_series(521, 2200) i;
SELECT sum(rencoder_summarize_range('t_sv', b)) > 300 AS summarized
FROM generate_series(0, pg_relation_size('t') / current_setting('block_size')::int - 1) b;
SELECT count(*) AS sealed FROM rencoder_groups('t_sv') WHERE sealed AND attnum = 1;
VACUUM t;
SELECT count(DISTINCT run) AS runs, sum((covered = 128)::int) AS covered
FROM rencoder_groups('t_sv') WHERE attnum = 1;
SELECT rencoder_index_check('t_sv', true);
SELECT condition, index_finds(rows_of(condition, false), condition) AS found
FROM unnest(ARRAY['s = ''first/'' || md5(''77'')', 's LIKE ''first/a%'' AND v > 0',
	's = ''second and longer/'' || md5(''1777'')', 's > ''second and longer/f''']) condition;
DROP SCHEMA runs_coders CASCADE;
