-- Ranges that are noted: scans learn of them from the directory entry of their group, without its
-- header, as long as they come first in the group and nothing but unsummarized ranges follows.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET rencoder.sample_rate = 0;
CREATE SCHEMA noted;
SET search_path = noted, public;
CREATE TABLE t (id int, v int8, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE SEQUENCE ids;
-- Rows of some 35 a page, 4 pages a range.
CREATE PROCEDURE grow(pages int) LANGUAGE sql AS $$
	INSERT INTO t SELECT i, hashint8extended(i, 1), repeat('x', 160)
	FROM (SELECT nextval('ids')::int AS i FROM generate_series(1, 35 * pages)) s
$$;
-- Index pages that the search for a value reads which is not there; pages of the table that one
-- reads for a row of each range; rows that the index does not find.
CREATE FUNCTION look(OUT index_pages int, OUT heap_pages int, OUT lost int) LANGUAGE plpgsql AS $$
BEGIN
	SELECT c.index_pages INTO index_pages FROM rencoder_candidates('t_v', -5::int8, -5::int8) c;
	SELECT max(c.pages) INTO heap_pages FROM t, rencoder_candidates('t_v', v, v) c
	WHERE id % 70 = 0;
	SET LOCAL enable_seqscan = off;
	SELECT count(*) INTO lost FROM t a
	WHERE v IS NOT NULL AND NOT EXISTS (SELECT FROM t b WHERE b.v = a.v AND b.id = a.id);
	SET LOCAL enable_seqscan = on;
END $$;
-- Behind a run, in its last group.
CALL grow(40);
CREATE INDEX t_v ON t USING rencoder (v)
	WITH (storage = run, pages_per_range = 4, autosummarize = off);
CREATE VIEW states AS SELECT string_agg(state || ' ' || n, ', ' ORDER BY state)
FROM (SELECT state, count(*) AS n FROM rencoder_ranges('t_v') WHERE attnum = 1 GROUP BY state) s;
SELECT * FROM states, look();
CALL grow(30);
SELECT rencoder_note_tail('t_v');
SELECT * FROM states, look();
SELECT rencoder_index_check('t_v', true);

-- Rows come behind them.
CALL grow(3);
SELECT * FROM states, look();
CALL grow(20);
SELECT * FROM states, look();
SELECT rencoder_note_tail('t_v');
SELECT * FROM states, look();

-- One in the middle is taken back.  Rows that come to it are no entries, so it has to be read.
DELETE FROM t WHERE (ctid::text::point)[0] BETWEEN 48 AND 51;
VACUUM t;
SELECT rencoder_desummarize_range('t_v', 48);
SELECT * FROM states, look();
CALL grow(3);
SELECT count(*) > 50 AS "rows in it" FROM t WHERE (ctid::text::point)[0] BETWEEN 48 AND 51;
SELECT * FROM states, look();
SELECT rencoder_index_check('t_v', true);

-- It gets filters, then a run; the last range is taken back; what is noted then has nulls.
SELECT rencoder_summarize_range('t_v', 48);
SELECT * FROM states, look();
SELECT rencoder_index_check('t_v', true);
SELECT rencoder_compact('t_v');
SELECT * FROM states, look();
SELECT rencoder_desummarize_range('t_v', (pg_relation_size('t') / 8192 - 1)::int);
CALL grow(5);
UPDATE t SET v = NULL WHERE id % 100 = 3 AND id > 3000;
SELECT * FROM states, look();
SELECT rencoder_note_tail('t_v');
SELECT * FROM states, look();
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE v IS NULL;
SET enable_seqscan = on;
SELECT count(*) FROM t WHERE v IS NULL;
SELECT rencoder_index_check('t_v', true);

-- A table of nothing but noted ranges.
TRUNCATE t;
CALL grow(50);
SELECT rencoder_note_tail('t_v');
SELECT * FROM states, look();
CALL grow(1);
DELETE FROM t WHERE id % 3 = 0;
VACUUM t;
SELECT * FROM states, look();
SELECT rencoder_index_check('t_v', true);
DROP SCHEMA noted CASCADE;
