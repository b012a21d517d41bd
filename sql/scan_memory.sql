-- Scans that find more pages than work_mem holds, in runs of many columns and in rows that came
-- later: they read pages too many, and lose none.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET rencoder.sample_rate = 0;
CREATE SCHEMA scan_memory;
SET search_path = scan_memory, public;
\getenv seed RENCODER_SEED
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Values 0 .. 999 in each of 24 columns, four rows a page, 128 pages a group.
CREATE FUNCTION value_of(id int, col int) RETURNS int IMMUTABLE LANGUAGE sql AS
	'SELECT abs(hashint8extended(id, col) % 1000)::int';
SELECT string_agg(format('c%s int', col), ', ') AS columns,
	string_agg(format('c%s', col), ', ') AS names,
	string_agg(format('value_of(i, %s)', col), ', ') AS values,
	string_agg(format('c%s = value_of(id, %s)', col, col + 100), ', ') AS changes
FROM generate_series(1, 24) col \gset
CREATE TABLE t (id int, :columns, filler text) WITH (fillfactor = 20, autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
INSERT INTO t SELECT i, :values, repeat('x', 250) FROM generate_series(1, 6000) i;
CREATE INDEX t_idx ON t USING rencoder (:names)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
-- Base runs of what comes behind.
INSERT INTO t SELECT i, :values, repeat('x', 250) FROM generate_series(6001, 9000) i;
VACUUM t;
INSERT INTO t SELECT i, :values, repeat('x', 250) FROM generate_series(9001, 12000) i;
VACUUM t;
-- Deltas, which the session makes, and pending pages.
UPDATE t SET :changes WHERE id % 7 = 0;
UPDATE t SET :changes WHERE id % 11 = 0;
UPDATE t SET :changes WHERE id % 500 = 0;
SELECT (SELECT pages FROM rencoder_candidates('t_idx', 0, 999)) AS pages,
	count(DISTINCT run) FILTER (WHERE kind = 'base') > 1 AS base,
	count(DISTINCT run) FILTER (WHERE kind = 'delta') > 0 AS deltas,
	(SELECT pending_pages > 0 FROM rencoder_metapage('t_idx')) AS pending
FROM rencoder_runs('t_idx');

-- Pages that a query reads by the index, within so much memory.
CREATE FUNCTION pages_of(condition text, memory text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('work_mem', memory, true);
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json, COSTS OFF, TIMING OFF) SELECT id FROM t WHERE '
		|| condition INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Exact Heap Blocks')::int +
		(plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int;
END $$;
-- Conditions of some columns, each of an interval of so many values.
CREATE FUNCTION condition_of(seed int, ncolumns int, width int) RETURNS text LANGUAGE sql AS
	$$ SELECT string_agg(format('c%s BETWEEN %s AND %s', col, lo, lo + width - 1), ' AND ')
	FROM (SELECT col, value_of(seed, col) * (1000 - width) / 1000 AS lo
		FROM generate_series(1, ncolumns) col) q $$;

-- 64 kB hold 8,192 stretches of rows: all that a query of few columns finds.
CREATE TABLE query AS
	SELECT ncolumns, condition_of(i, ncolumns, width) AS condition
	FROM (VALUES (1, 5), (2, 50), (4, 30), (24, 500), (24, 850)) w (ncolumns, width),
		generate_series(1, 6) i;
SELECT ncolumns, sum(least) = sum(pages) AS as_many, bool_and(least >= pages) AS not_fewer
FROM (SELECT ncolumns, pages_of(condition, '64kB') AS least, pages_of(condition, '4MB') AS pages
	FROM query) q
GROUP BY ncolumns ORDER BY ncolumns;
SET work_mem = '64kB';
SELECT ncolumns, sum((NOT index_finds(rows_of(condition, false), condition))::int) AS lost
FROM query GROUP BY ncolumns ORDER BY ncolumns;

DROP SCHEMA scan_memory CASCADE;
