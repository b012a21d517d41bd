-- How many deltas there are, and what is left of the pending list when they have its keys.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET rencoder.sample_rate = 0;
CREATE SCHEMA runs_deltas;
SET search_path = runs_deltas, public;
\getenv seed RENCODER_SEED
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

CREATE TABLE t (id int, v int8) WITH (fillfactor = 45, autovacuum_enabled = off);
INSERT INTO t SELECT i, hashint8extended(i, 0) FROM generate_series(1, 40000) i;
CREATE INDEX t_idx ON t USING rencoder (v) WITH (storage = run, autosummarize = off);
CREATE FUNCTION change(k int, step int) RETURNS void LANGUAGE sql AS
	'UPDATE t SET v = hashint8extended(id, k) WHERE id % step = 0';
-- Pages of the deltas, that where a run is described included, and of all that are smaller.
CREATE FUNCTION deltas(index regclass) RETURNS TABLE (run int8, pages int8, smaller int8)
LANGUAGE sql AS $$
	SELECT run, pages + 1 AS pages,
		coalesce(sum(pages + 1) OVER (ORDER BY pages, run ROWS BETWEEN UNBOUNDED PRECEDING AND 1
			PRECEDING), 0) AS smaller
	FROM rencoder_runs(index) WHERE kind = 'delta'
$$;

-- A session that makes them itself, without a worker, takes in those that are not larger than what
-- is new; so each is larger than all smaller ones together.
CREATE TABLE made (i int, run int8, pages int8, smaller int8);
DO $$
BEGIN
	FOR i IN 1 .. 12 LOOP
		PERFORM change(i, 7);
		INSERT INTO made SELECT i, d.* FROM deltas('t_idx') d;
	END LOOP;
END $$;
SELECT bool_and(pages > smaller) AS larger_than_smaller_ones,
	bool_and(pages > 8 * smaller) AS much_larger, max(n) > 1 AS several, max(n) <= 5 AS few
FROM (SELECT *, count(*) OVER (PARTITION BY i) AS n FROM made) q;
-- How often an entry was written, on average.
SELECT sum(pages) < 4 * max(last) AS seldom
FROM (SELECT run, max(pages) AS pages FROM made GROUP BY run) q,
	(SELECT sum(pages) AS last FROM deltas('t_idx')) l;

-- VACUUM takes in more of them: each is more than eight times as large as all smaller ones.
CREATE TABLE renewed (id int, v int8) WITH (fillfactor = 60, autovacuum_enabled = off);
INSERT INTO renewed SELECT i, hashint8extended(i, 0) FROM generate_series(1, 1400000) i;
CREATE INDEX renewed_idx ON renewed USING rencoder (v)
	WITH (storage = run, false_pages = 1e-12, autosummarize = off);
UPDATE renewed SET v = hashint8extended(id, 1) WHERE id % 30 = 0;
VACUUM renewed;
SELECT count(*) FROM deltas('renewed_idx');
TRUNCATE made;
\set ECHO none
SELECT step FROM generate_series(2, 21) i, unnest(ARRAY[format('UPDATE renewed SET v = '
	'hashint8extended(id, %s) WHERE ctid < ''(2,0)''', i), 'VACUUM renewed',
	format('INSERT INTO made SELECT %s, d.* FROM deltas(''renewed_idx'') d', i)]) step
\gexec
\set ECHO all
SELECT bool_and(pages > 8 * smaller) AS much_larger, max(n) AS most
FROM (SELECT *, count(*) OVER (PARTITION BY i) AS n FROM made) q;
SELECT count(DISTINCT run) < 5 AS large_one_is_kept FROM made WHERE pages > 20;

-- When deltas have more than a twelfth of the pages of base runs, and more than a few, VACUUM
-- renews these: then no delta is left.
CREATE VIEW pages AS
	SELECT coalesce(sum(pages) FILTER (WHERE kind = 'delta'), 0) AS deltas,
		sum(pages) FILTER (WHERE kind = 'base') AS base
	FROM rencoder_runs('renewed_idx') WHERE state = 'live';
SELECT deltas BETWEEN 17 AND base / 12 AS few FROM pages;
UPDATE renewed SET v = hashint8extended(id, 1) WHERE id % 15 = 1;
SELECT deltas BETWEEN base / 10 AND base / 3 AS more FROM pages;
VACUUM renewed;
SELECT deltas FROM pages;
SELECT rencoder_index_check('renewed_idx', true);

-- Where deltas have as many keys of a group in filters, base runs are renewed once, and not again.
CREATE TABLE growing (id int, v int8) WITH (fillfactor = 80, autovacuum_enabled = off);
INSERT INTO growing SELECT i, hashint8extended(i, 0) FROM generate_series(1, 300000) i;
CREATE INDEX growing_idx ON growing USING rencoder (v)
	WITH (pages_per_range = 16, autosummarize = off);
INSERT INTO growing SELECT i, hashint8extended(i, 0) FROM generate_series(300001, 590000) i;
SELECT rencoder_maintain_index('growing_idx') > 0;
UPDATE growing SET v = hashint8extended(id, 1) WHERE id > 310000 AND id % 13 = 0;
VACUUM growing;
CREATE TABLE base_then AS SELECT run FROM rencoder_runs('growing_idx') WHERE kind = 'base';
VACUUM growing;
SELECT r.kind, r.kind = 'delta' AND r.pages > 16 AS large, r.run = b.run AS same
	FROM rencoder_runs('growing_idx') r LEFT JOIN base_then b ON r.kind = 'base' ORDER BY r.kind;
SELECT rencoder_index_check('growing_idx', true);
DROP TABLE growing, base_then;

REINDEX INDEX t_idx;

-- While the table is locked the worker cannot make a delta, and many pages are pending.  VACUUM
-- makes one of all, and leaves some of the pages for later ones; the others are free.
ALTER INDEX t_idx SET (autosummarize = on);
ALTER TABLE t SET (vacuum_truncate = off);	-- nor is the file cut off
BEGIN;
LOCK TABLE t IN SHARE ROW EXCLUSIVE MODE;
SELECT change(50, 1);
SELECT pending_pages > 100 AS many FROM rencoder_metapage('t_idx');
COMMIT;
ALTER INDEX t_idx SET (autosummarize = off);
VACUUM t;
SELECT pending_pages, spare_pages BETWEEN 1 AND 32 AS spare, free_pages > 60 AS free
FROM rencoder_metapage('t_idx');
SELECT rencoder_index_check('t_idx', true);
SELECT rows_of('v > 0', true) = rows_of('v > 0', false) AS same;
-- They are used again, for whatever.
SELECT change(51, 2);
SELECT change(52, 3);
VACUUM t;
SELECT pg_relation_size('t_idx') AS size \gset
SELECT change(53, 2);
SELECT change(54, 3);
VACUUM t;
SELECT spare_pages BETWEEN 1 AND 32 AS spare, pg_relation_size('t_idx') <= :size AS no_larger
FROM rencoder_metapage('t_idx');
SELECT rencoder_index_check('t_idx', true);
SELECT rows_of('v > 0', true) = rows_of('v > 0', false) AS same;

-- Deltas are written anew where more than half of their entries are not needed any more, and not
-- where it is fewer: VACUUM leaves the delta as it is, half of 314 being needed; then 152.
CREATE TABLE half (id int, v int8) WITH (fillfactor = 70, autovacuum_enabled = off);
INSERT INTO half SELECT i, hashint8extended(i, 0) FROM generate_series(1, 7000) i;
CREATE INDEX half_idx ON half USING rencoder (v) WITH (pages_per_range = 1, autosummarize = off);
UPDATE half SET v = hashint8extended(id, 1)
	WHERE id % 20 = 0 AND id <= 3150 OR id % 20 = 1 AND id > 3850;
VACUUM half;
DELETE FROM half WHERE id <= 3500 AND id % 20 <> 0;
CREATE VIEW half_delta AS SELECT run, entries FROM rencoder_runs('half_idx') WHERE kind = 'delta';
CREATE TABLE delta_then AS TABLE half_delta;
SELECT (ctid::text::point)[0]::int AS middle FROM half WHERE id = 3675 \gset
SELECT rencoder_compact('half_idx', 0, :middle);
VACUUM half;
SELECT d.entries, d.run = t.run AS same FROM half_delta d, delta_then t;
SELECT (ctid::text::point)[0]::int AS further FROM half WHERE id = 4101 \gset
SELECT rencoder_compact('half_idx', :middle, :further);
VACUUM half;
SELECT d.entries BETWEEN 130 AND 156 AS fewer, d.run = t.run AS same
	FROM half_delta d, delta_then t;
SELECT rencoder_index_check('half_idx', true);
SET enable_seqscan = off;
SELECT count(*) = 314 AS all_found FROM half h, generate_series(1, 7000) i
	WHERE h.v = hashint8extended(i, 1) AND i <> h.id + 1;
RESET enable_seqscan;

DROP SCHEMA runs_deltas CASCADE;
