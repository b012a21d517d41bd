-- rencoder_compact makes one run of all rows there are, whatever there was.
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

-- Makes a run; pages that were read, runs that there are then, whether that is another one, and
-- rows in it but those of the table.
CREATE FUNCTION cp_compact(OUT pages int, OUT runs int, OUT another_run bool, OUT more_rows bigint)
	LANGUAGE plpgsql AS $$
DECLARE
	before int := max(run) FROM rencoder_runs('cp_v');
BEGIN
	pages := rencoder_compact('cp_v');
	SELECT count(DISTINCT run), min(run) > before, sum(rows) FILTER (WHERE attnum = 1) -
		(SELECT count(v) FROM cp) FROM rencoder_runs('cp_v') INTO runs, another_run, more_rows;
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

-- A new index is one run already: nothing is written.  The same after each of what follows.
SELECT * FROM cp_compact();
SELECT false_pages AS before FROM rencoder_runs('cp_v') WHERE attnum = 1 \gset
ALTER INDEX cp_v SET (false_pages = 0.125);
SELECT * FROM cp_compact();
SELECT rencoder_compact('cp_v', 0, 750);
SELECT false_pages < :before AS fewer FROM rencoder_runs('cp_v') WHERE attnum = 1;
ALTER INDEX cp_v RESET (false_pages);
-- A late row, which is on the pending list; late rows in a delta.
INSERT INTO cp VALUES (0, 5, 5, 'x');
SELECT * FROM cp_compact();
UPDATE cp SET v = v + 1 WHERE id % 100 = 0;
VACUUM cp;
SELECT * FROM cp_compact();
-- The table grows: pages behind the frontier; a second run.
INSERT INTO cp SELECT i, hashint8extended(i, 1), i, repeat('x', 900)
FROM generate_series(6001, 6100) i;
SELECT * FROM cp_compact();
INSERT INTO cp SELECT i, hashint8extended(i, 1), i, repeat('x', 900)
FROM generate_series(6101, 6200) i;
SELECT rencoder_maintain_index('cp_v') > 0 AS maintained;
SELECT * FROM cp_compact();
-- Rows that are gone.
DELETE FROM cp WHERE id % 2 = 0;
ANALYZE cp;
SELECT * FROM cp_compact();
SELECT * FROM cp_compact();
-- A part that was read again is in the run again.
SELECT rencoder_compact('cp_v', 3, 5);
SELECT * FROM cp_compact();
SELECT rencoder_maintain_index('cp_v');
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

-- Filters are made anew in any case: other things may be asked than before.
DROP INDEX cp_v;
CREATE INDEX cp_v ON cp USING rencoder (v) WITH (storage = filter, pages_per_range = 1);
SELECT rencoder_compact('cp_v') > 0 AS first, rencoder_compact('cp_v') > 0 AS again;
SELECT cp_wrong();

DROP TABLE cp;
DROP FUNCTION cp_compact, cp_wrong, cp_grown;
