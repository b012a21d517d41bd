-- When rencoder_compact makes a run anew: where that differs from what there is.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET rencoder.sample_rate = 0;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE cp (id int, v int8, w int8, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE cp ALTER filler SET STORAGE plain;
INSERT INTO cp SELECT i, hashint8extended(i, 1), nullif(i % 3, 0), repeat('x', 900)
FROM generate_series(1, 6000) i;
CREATE INDEX cp_v ON cp USING rencoder (v, w) WITH (pages_per_range = 1, autosummarize = off);
VACUUM ANALYZE cp;

-- What a call returned, whether the index has another run, and has written anything.
CREATE FUNCTION cp_state(OUT run text, OUT epoch bigint, OUT size bigint) LANGUAGE sql AS $$
	SELECT (SELECT string_agg(DISTINCT r.run::text, ' ') FROM rencoder_runs('cp_v') r), m.epoch,
		pg_relation_size('cp_v') FROM rencoder_metapage('cp_v') m
$$;
CREATE FUNCTION cp_compact(OUT groups int, OUT another_run bool, OUT written bool)
	LANGUAGE plpgsql AS $$
DECLARE
	before record := cp_state();
	after record;
BEGIN
	groups := rencoder_compact('cp_v');
	after := cp_state();
	another_run := after.run <> before.run;
	written := after <> before;
	PERFORM rencoder_index_check('cp_v', true);
END $$;
CREATE FUNCTION cp_wrong() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	by_index bigint;
	by_table bigint;
BEGIN
	SET LOCAL enable_seqscan = off;
	SELECT count(*) INTO by_index FROM cp WHERE v BETWEEN -1e18::int8 AND 1e18::int8;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_bitmapscan = off;
	SELECT count(*) INTO by_table FROM cp WHERE v BETWEEN -1e18::int8 AND 1e18::int8;
	RETURN by_index - by_table;
END $$;

-- A new index needs nothing, however often it is asked for.
SELECT * FROM cp_compact();
SELECT * FROM cp_compact();
-- A late row, which is on the pending list; in a delta; gone with the run that has it.
INSERT INTO cp VALUES (0, 5, 5, 'x');
SELECT * FROM cp_compact();
SELECT * FROM cp_compact();
UPDATE cp SET v = v + 1 WHERE id % 100 = 0;
VACUUM cp;
SELECT * FROM cp_compact();
SELECT * FROM cp_compact();
-- The table grows: ranges that are not summarized, and not in the run; that are not in the run.
INSERT INTO cp SELECT i, hashint8extended(i, 1), i, repeat('x', 900)
FROM generate_series(6001, 6100) i;
SELECT * FROM cp_compact();
INSERT INTO cp SELECT i, hashint8extended(i, 1), i, repeat('x', 900)
FROM generate_series(6101, 6200) i;
SELECT rencoder_summarize_new_values('cp_v') > 0 AS summarized;
SELECT * FROM cp_compact();
SELECT * FROM cp_compact();
-- Rows that are gone, a few and many.
VACUUM ANALYZE cp;
DELETE FROM cp WHERE id % 50 = 0;
VACUUM cp;
SELECT * FROM cp_compact();
DELETE FROM cp WHERE id % 2 = 0;
SELECT * FROM cp_compact();
VACUUM cp;
SELECT * FROM cp_compact();
SELECT * FROM cp_compact();
SELECT sum(rows) FROM rencoder_runs('cp_v') WHERE attnum = 1;
SELECT count(v) FROM cp;
-- Statistics that are wrong do not have it made each time.
VACUUM cp;
UPDATE pg_class SET reltuples = 1000 WHERE oid = 'cp'::regclass;
SELECT * FROM cp_compact();
SELECT * FROM cp_compact();
-- Other cells: as many bits as the owner says, and what the owner says is asked for.
ALTER INDEX cp_v SET (bits_per_key = 12);
SELECT * FROM cp_compact();
SELECT * FROM cp_compact();
SELECT rencoder_add_query_sample('cp_v', 5, 10);
SELECT * FROM cp_compact();
ALTER INDEX cp_v RESET (bits_per_key);
SELECT * FROM cp_compact();
SELECT rencoder_add_query_sample('cp_v', 50, 100);
SELECT * FROM cp_compact();
SELECT * FROM cp_compact();
-- A range that is not summarized is in the run again.
SELECT rencoder_desummarize_range('cp_v', 3);
SELECT groups FROM cp_compact();
SELECT rencoder_summarize_new_values('cp_v');
SELECT * FROM cp_compact();
SELECT * FROM cp_compact();
SELECT cp_wrong();

-- The place of what was replaced is used again: the file does not grow from the second time on.
CREATE FUNCTION cp_grown(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	size bigint;
	made int := 0;
BEGIN
	FOR i IN 0 .. n LOOP
		INSERT INTO cp VALUES (-i, i, i, 'x');
		made := made + (rencoder_compact('cp_v') > 0)::int;
		size := coalesce(size, pg_relation_size('cp_v'));
	END LOOP;
	RETURN made - n - 1 + (pg_relation_size('cp_v') - size) / current_setting('block_size')::int;
END $$;
SELECT cp_grown(10) AS pages;
SELECT cp_wrong();

DROP TABLE cp;
DROP FUNCTION cp_state, cp_compact, cp_wrong, cp_grown;
