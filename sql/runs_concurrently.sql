-- CREATE INDEX CONCURRENTLY: the second phase makes a run of all rows, and inserts none.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
\getenv seed RENCODER_SEED
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\i :compare
CREATE FUNCTION found(condition text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN index_finds(r, condition, 'runs_concurrently') THEN r END
	FROM rows_of(condition, false, 'runs_concurrently') r
$$;

-- How often a value is looked at is counted by a sequence: what a function sets while an index is
-- built is undone.
CREATE SEQUENCE runs_concurrently_calls;
CREATE FUNCTION runs_concurrently_f(v int8) RETURNS int8 LANGUAGE sql IMMUTABLE
	AS $$ SELECT v + 0 * nextval('public.runs_concurrently_calls') $$;

-- Values of all kinds: alone in their page, many alike, on pages in a row, null, with a coder,
-- too long for the page.
CREATE TABLE runs_concurrently (id int, alone int8, alike int4, near int8, nothing int8,
	word text, long text);
ALTER TABLE runs_concurrently ALTER long SET STORAGE external;
INSERT INTO runs_concurrently
	SELECT i, hashint8extended(i, 3), abs(hashint4(i)) % 7, i / 3,
		CASE WHEN i % 3 = 0 THEN i END, 'a common beginning of words ' || md5(i::text),
		CASE WHEN i % 1000 = 0 THEN repeat(md5(i::text), 100) ELSE i::text END
	FROM generate_series(1, 20000) i;

-- Each row is looked at by the first phase, and for the run.
CREATE INDEX CONCURRENTLY runs_concurrently_f ON runs_concurrently
	USING rencoder (runs_concurrently_f(alone)) WITH (autosummarize = off, pages_per_range = 4);
SELECT last_value AS calls, last_value - 2 * 20000 AS more FROM runs_concurrently_calls;
SELECT rencoder_index_check('runs_concurrently_f', true);
DROP INDEX runs_concurrently_f;

-- Columns of all kinds.
CREATE INDEX CONCURRENTLY runs_concurrently_all ON runs_concurrently
	USING rencoder (alone, alike, near, nothing, word, long)
	WITH (autosummarize = off, pages_per_range = 4);
SELECT rencoder_index_check('runs_concurrently_all', true);
SELECT count(*) AS runs FROM rencoder_runs('runs_concurrently_all');
SELECT found(format('alone BETWEEN %s AND %s', alone, alone + 1000))
	FROM runs_concurrently WHERE id % 2500 = 0;
SELECT found(format('word = %L', word))
	FROM runs_concurrently WHERE id % 5000 = 0;
SELECT found(format('long = %L', long))
	FROM runs_concurrently WHERE id IN (1000, 1001);

-- Again, with dead and changed rows.
DELETE FROM runs_concurrently WHERE id % 50 = 0;
UPDATE runs_concurrently SET alone = -id WHERE id % 77 = 0;
REINDEX INDEX CONCURRENTLY runs_concurrently_all;
SELECT rencoder_index_check('runs_concurrently_all', true);
SELECT found('alone BETWEEN -20000 AND -1');
SELECT found('near BETWEEN 100 AND 200 AND alike = 3');
SELECT found('nothing IS NULL AND alike = 3');

DROP TABLE runs_concurrently;
DROP FUNCTION runs_concurrently_f, found, index_finds, rows_of, uses_index;
DROP SEQUENCE runs_concurrently_calls;
