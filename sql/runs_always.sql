-- Ranges that had too many keys for their group's filters are "always"; a run has all of their
-- keys, so that they are asked for again as soon as the group names one.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET rencoder.sample_rate = 0;
CREATE SCHEMA runs_always;
SET search_path = runs_always, public;
\getenv seed RENCODER_SEED
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- 150 pages with room in each; the tenth has a key a row, the others two.  Of w so has the 100th.
CREATE TABLE t (id int, v int8, w int8, filler text)
	WITH (fillfactor = 50, autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE INDEX t_vw ON t USING rencoder (v, w)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
INSERT INTO t
SELECT i, CASE WHEN i / 33 = 9 THEN 1000000 + i * 7919 ELSE hashint8(i / 17) + 3000000000 END,
	CASE WHEN i / 33 = 99 THEN 1000000 + i * 7919 ELSE hashint8(i / 17) + 3000000000 END,
	repeat('x', 70)
FROM generate_series(0, 33 * 150 - 1) i;
SELECT max((ctid::text::point)[0]) >= 129 AS full FROM t;
SELECT sum(rencoder_summarize_range('t_vw', b)) > 100 AS summarized
FROM generate_series(0, pg_relation_size('t') / current_setting('block_size')::int - 1) b;
SELECT attnum, array_agg(range_no) AS always FROM rencoder_ranges('t_vw') WHERE always GROUP BY 1
ORDER BY 1;
-- Between keys of theirs: a candidate in vain.
SELECT candidates, pages FROM rencoder_candidates('t_vw', 3400000, 3400001);
SELECT always FROM rencoder_groups('t_vw') WHERE group_no = 0 ORDER BY attnum;

VACUUM t;
SELECT group_no, attnum, covered, always FROM rencoder_groups('t_vw') WHERE group_no = 0 ORDER BY 2;
SELECT candidates, pages FROM rencoder_candidates('t_vw', 3400000, 3400001);
SELECT rencoder_index_check('t_vw', true);
-- Nor does a scan read that group's header any more, but that of the next, which has filters here.
CREATE INDEX t_new ON t USING rencoder (v, w)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
SELECT a.index_pages - m.pending_pages - b.index_pages AS more
FROM rencoder_metapage('t_vw') m, rencoder_candidates('t_vw', 3400000, 3400001) a,
	rencoder_candidates('t_new', 3400000, 3400001) b;
DROP INDEX t_new;
SELECT condition, rows_of(condition, true) = rows_of(condition, false) AS same,
	rows_of(condition, true) NOT LIKE '0 %' AS found, uses_index(condition) AS indexed
FROM unnest(ARRAY['v = 1000000 + 7919 * 300', 'w = 1000000 + 7919 * 3270',
	'v BETWEEN 3000000 AND 3500000', 'v < 3500000', 'w BETWEEN 26000000 AND 27000000',
	'v = 1000000 + 7919 * 300 AND w > 0', 'v IN (SELECT v FROM t WHERE id % 33 = 7)']) condition;

-- A range whose bounds are as wide as can be has keys, too.
CREATE TABLE wide (id int, v int8, filler text) WITH (fillfactor = 50, autovacuum_enabled = off);
ALTER TABLE wide ALTER filler SET STORAGE plain;
CREATE INDEX wide_v ON wide USING rencoder (v)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
INSERT INTO wide
SELECT i, CASE WHEN i / 36 = 9 THEN 1000000 + i * 7919 ELSE hashint8(i / 18) + 3000000000 END,
	repeat('x', 70)
FROM generate_series(0, 36 * 150 - 1) i;
SELECT sum(rencoder_summarize_range('wide_v', b)) > 100 AS summarized
FROM generate_series(0, pg_relation_size('wide') / current_setting('block_size')::int - 1) b;
UPDATE wide SET v = -9223372036854775808 WHERE ctid = '(9,1)';
UPDATE wide SET v = 9223372036854775807 WHERE ctid = '(9,2)';
VACUUM wide;
SELECT range_no, covered FROM rencoder_ranges('wide_v') WHERE always;
SELECT rencoder_index_check('wide_v', true);
DROP SCHEMA runs_always CASCADE;
