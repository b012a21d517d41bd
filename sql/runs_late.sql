-- Filters of ranges that come behind a run are made for full ranges, though the first of them has
-- few pages when it is summarized.  Made for what it has then, they would pass nearly every query
-- in all later ranges of the group, or these would be always.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET rencoder.sample_rate = 0;
CREATE SCHEMA runs_late;
SET search_path = runs_late, public;

-- 35 rows a page, 8 pages a range: 280 keys in each.
CREATE TABLE t (v int8, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE PROCEDURE grow(pages int, seed int) LANGUAGE sql AS $$
	INSERT INTO t SELECT hashint8extended(i, seed), repeat('x', 188)
	FROM generate_series(1, 35 * pages) i
$$;
-- Ranges that are in no run, what their filters are made for, and pages that queries for values
-- that are not there read on average.
CREATE FUNCTION late(index regclass, OUT ranges int, OUT always int, OUT fits_range boolean,
	OUT few_in_vain boolean) LANGUAGE sql AS $$
	SELECT sum(summarized - covered), sum(always),
		bool_and(capacity BETWEEN 200 AND 400) FILTER (WHERE summarized > covered),
		(SELECT avg(c.pages) < 4 FROM generate_series(1, 200) i,
			rencoder_candidates(index, -i::int8, -i::int8) c)
	FROM rencoder_groups(index)
$$;

-- A page of the first range is summarized: too little to tell, but the table's statistics do.  Full
-- ranges follow, in the same slice and in others.
CALL grow(99, 1);
CREATE INDEX t_v ON t USING rencoder (v)
	WITH (storage = run, pages_per_range = 8, autosummarize = off);
VACUUM t;
CALL grow(6, 2);
SELECT rencoder_summarize_new_values('t_v');
SELECT * FROM late('t_v');
CALL grow(200, 3);
SELECT rencoder_summarize_new_values('t_v');
SELECT * FROM late('t_v');
SELECT rencoder_index_check('t_v', true);

-- A quarter of it: that tells by itself.
TRUNCATE t;
CALL grow(96, 4);
REINDEX INDEX t_v;
CALL grow(2, 5);
SELECT rencoder_summarize_new_values('t_v');
CALL grow(200, 6);
SELECT rencoder_summarize_new_values('t_v');
SELECT * FROM late('t_v');

-- Pages with few rows, as sessions leave them that fill each its own: rows tell more than pages, by
-- the statistics of the table.
TRUNCATE t;
CALL grow(96, 13);
REINDEX INDEX t_v;
ANALYZE t;
CALL grow(4, 14);
DELETE FROM t WHERE (ctid::text::point)[0] >= 96 AND mod((ctid::text::point)[1]::int, 7) > 0;
VACUUM (TRUNCATE false) t;
CALL grow(200, 15);
SELECT rencoder_summarize_new_values('t_v');
SELECT * FROM late('t_v');

-- Statistics that cannot be true: no more keys than fit on pages.
TRUNCATE t;
CALL grow(96, 16);
REINDEX INDEX t_v;
UPDATE pg_class SET reltuples = 1e12 WHERE oid = 't_v'::regclass;
UPDATE pg_class SET relpages = 1 WHERE oid = 't'::regclass;
CALL grow(4, 17);
SELECT rencoder_summarize_new_values('t_v');
SELECT max(capacity) BETWEEN 200 AND 8 * 291 AS fits FROM rencoder_groups('t_v');

-- In a group behind those of the run.
TRUNCATE t;
CALL grow(1024, 7);
REINDEX INDEX t_v;
CALL grow(2, 8);
SELECT rencoder_summarize_new_values('t_v');
CALL grow(40, 9);
SELECT rencoder_summarize_new_values('t_v');
SELECT * FROM late('t_v');
SELECT rencoder_index_check('t_v', true);

-- A group behind one of filters is made for what that one is.
DROP INDEX t_v;
TRUNCATE t;
CALL grow(1024, 10);
CREATE INDEX t_v ON t USING rencoder (v)
	WITH (storage = filter, pages_per_range = 8, autosummarize = off);
CALL grow(1, 11);
SELECT rencoder_summarize_new_values('t_v');
CALL grow(40, 12);
SELECT rencoder_summarize_new_values('t_v');
SELECT * FROM late('t_v');
SELECT rencoder_index_check('t_v', true);
DROP SCHEMA runs_late CASCADE;
