-- The file of an index becomes shorter: pieces are read again where rows have gone or came late,
-- runs move to the front of what is free, and VACUUM cuts off the end.  Without a worker, so that
-- each step is VACUUM's.
\getenv seed RENCODER_SEED
SELECT setseed(:seed / 2147483647.0);
SET client_min_messages = warning;
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\ir :compare

CREATE TABLE t (id int, v int8, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, hashint8extended(i, 1), repeat('x', 180)
	FROM generate_series(first, last) AS i
$$;
SELECT fill(1, 150000);
CREATE INDEX t_v ON t USING rencoder (v) WITH (autosummarize = off);
VACUUM ANALYZE t;

CREATE FUNCTION pages(index regclass) RETURNS numeric LANGUAGE sql AS
	$$SELECT pg_relation_size(index)::numeric / current_setting('block_size')::int$$;
-- Is the index sound, has it every row, and do queries find what a sequential scan does?
CREATE FUNCTION sound() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	list text := (SELECT string_agg(hashint8extended(i, 1)::text, ', ')
		FROM generate_series(1, 300000, 997) AS i);
	condition text := format('v IN (%s) OR v BETWEEN %s AND %s + (1::int8 << 50)', list, v, v)
		FROM hashint8extended((random() * 100000)::int, 7) AS v;
BEGIN
	PERFORM rencoder_index_check('t_v', true);
	RETURN index_finds(rows_of(condition, false), condition);
END $$;
SELECT pages('t_v') AS fresh \gset

-- Half of the rows go: pieces are read again, oldest first, and all moves to the front.
DELETE FROM t WHERE id % 2 = 0;
VACUUM t;
SELECT pages('t_v') < 0.75 * :fresh AS shorter, sound();

-- The table says no.
ALTER TABLE t SET (vacuum_truncate = off);
DELETE FROM t WHERE id % 16 <> 3;
SELECT pages('t_v') AS before \gset
VACUUM t;
SELECT pages('t_v') >= :before AS as_long, free_pages > :before / 4 AS much_is_free, sound()
FROM rencoder_metapage('t_v');
ALTER TABLE t RESET (vacuum_truncate);
VACUUM t;
SELECT pages('t_v') < :before AS shorter, sound();

-- The session knows a tail of the pending list that was cut off, and sizes of the file.
SELECT fill(150001, 150100);
SELECT pending_pages, sound() FROM rencoder_metapage('t_v');

-- Rows come again.
SELECT fill(150101, 262500);
VACUUM t;
VACUUM t;
SELECT pages('t_v') <= 1.5 * :fresh AS like_fresh, sound();

-- Retention: the oldest rows go, as many come.
CREATE PROCEDURE retain(rounds int) LANGUAGE plpgsql AS $$
DECLARE
	most int := (SELECT max(id) FROM t);
	n int := (SELECT count(*) FROM t) / 20;
BEGIN
	FOR i IN 1 .. rounds LOOP
		DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY id LIMIT n);
		PERFORM fill(most + 1, most + n);
		most := most + n;
	END LOOP;
END $$;
CALL retain(1); VACUUM t;
CALL retain(1); VACUUM t;
CALL retain(1); VACUUM t;
CALL retain(1); VACUUM t;
SELECT pages('t_v') <= 1.75 * :fresh AS bounded, sound();
CALL retain(1); VACUUM t;
CALL retain(1); VACUUM t;
CALL retain(1); VACUUM t;
CALL retain(1); VACUUM t;
SELECT pages('t_v') <= 1.75 * :fresh AS bounded, sound(), count(DISTINCT run) <= 5 AS few_runs
FROM rencoder_runs('t_v') WHERE kind = 'base';

-- In parallel mode a lock of that kind is not to be had: the next VACUUM cuts the end off.
CREATE INDEX t_id ON t USING rencoder (id) WITH (autosummarize = off);
SET min_parallel_index_scan_size = 0;
SET max_parallel_maintenance_workers = 2;
DELETE FROM t WHERE id % 2 = 0;
SELECT pages('t_v') AS before \gset
VACUUM (PARALLEL 2) t;
SELECT pages('t_v') >= :before AS as_long, sound();
VACUUM (PARALLEL 0) t;
SELECT pages('t_v') < 0.75 * :before AS shorter, sound();
DROP INDEX t_id;

-- What compacting leaves is used by the next one.
VACUUM t;
SELECT pages('t_v') AS fresh \gset
SELECT rencoder_compact('t_v', 0, 1000000) > 0 AS compacted;
UPDATE t SET v = v + 1 WHERE id % 20 = 1;
SELECT rencoder_compact('t_v') > 0 AS compacted;
UPDATE t SET v = v - 1 WHERE id % 20 = 1;
SELECT rencoder_compact('t_v') > 0 AS compacted;
SELECT pages('t_v') <= 3 * :fresh AS bounded, sound();
VACUUM t;
VACUUM t;
SELECT pages('t_v') <= 1.4 * :fresh AS like_fresh, sound();

-- Nothing is left.
DELETE FROM t;
VACUUM t;
VACUUM t;
SELECT pages('t_v') <= 16 AS empty, count(*) AS runs, sound() FROM rencoder_runs('t_v');
SELECT fill(1, 30000);
VACUUM t;
SELECT sound();

-- Filters.
DROP INDEX t_v;
SELECT fill(30001, 100000);
CREATE INDEX t_v ON t USING rencoder (v) WITH (autosummarize = off, storage = filter);
SELECT pages('t_v') AS fresh \gset
DELETE FROM t WHERE id > 40000;
VACUUM t;
VACUUM t;
SELECT pages('t_v') < 0.75 * :fresh AS shorter, sound();
DROP TABLE t;

-- A temporary one, by a session that has asked it before.
CREATE TEMP TABLE t (id int, v int8, filler text);
SELECT fill(1, 100000);
CREATE INDEX t_v ON t USING rencoder (v);
SELECT sound(), pages('t_v') AS fresh \gset
DELETE FROM t WHERE id % 3 <> 0;
VACUUM t;
SELECT pages('t_v') < 0.75 * :fresh AS shorter, sound();
SELECT fill(100001, 101000);
SELECT sound();
