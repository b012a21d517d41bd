-- What the functions show of an index whose keys are in runs, that rencoder_index_check
-- reads them, and when the planner uses it.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET jit = off;
SET rencoder.sample_rate = 0;

-- 1,032 pages of 31 rows.
CREATE TABLE look (id int, v int8, few int4, s text COLLATE "C", filler text)
	WITH (autovacuum_enabled = off);
ALTER TABLE look ALTER filler SET STORAGE plain;
INSERT INTO look SELECT i, (i * 2654435761) % 4294967296, nullif(i % 50, 7), 'key ' || i,
	repeat('x', 190)
FROM generate_series(1, 32000) i;
CREATE INDEX look_v ON look USING rencoder (v) WITH (storage = run, autosummarize = off);
CREATE INDEX look_id ON look USING rencoder (id) WITH (storage = run, autosummarize = off);
CREATE INDEX look_two ON look USING rencoder (few, s) WITH (storage = run, autosummarize = off);
VACUUM ANALYZE look;
SELECT relpages FROM pg_class WHERE relname = 'look';

SELECT run, attnum, kind, state, rank, from_page, to_page, cut, horizon, entries, rows, pages,
	round(bits_per_entry::numeric, 1) AS bits, false_pages >= 0 AS predicted
FROM rencoder_runs('look_v');
SELECT run, attnum, kind, state, from_page, to_page, entries > 0 AS entries, rows,
	pages > 0 AS pages, nulls
FROM rencoder_runs('look_two');
-- Pages of few values: exactly the pairs that there are.
SELECT entries = (SELECT count(DISTINCT (few, (ctid::text::point)[0])) FROM look
	WHERE few IS NOT NULL) AS pairs FROM rencoder_runs('look_two') WHERE attnum = 1;
SELECT runs, pending_pages, spare_pages, free_pages FROM rencoder_metapage('look_v');
SELECT frontier, entries_to FROM rencoder_metapage('look_v');
SELECT rencoder_index_check('look_v', true), rencoder_index_check('look_two', true);

--
-- Plans: for what matches little of 1,032 pages; also beside a parallel scan.
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set plan_line :abs_srcdir '/sql/include/plan_line.sql'
\set ECHO none
\i :plan_line
\set ECHO all
CREATE FUNCTION look_plan(condition text) RETURNS text LANGUAGE sql AS
	$$SELECT plan_line('SELECT * FROM look WHERE ' || condition)$$;
CREATE TABLE look_needles (condition text);
INSERT INTO look_needles VALUES ('v = 2654435761'), ('v = 5'), ('v BETWEEN 5 AND 100000'),
	('v IN (1, 2, 2654435761)'), ('id = 77'), ('id BETWEEN 1000 AND 2000'), ('s = ''key 5'''),
	('s LIKE ''key 55%'''), ('few = 5 AND s = ''key 5'''), ('few = 51'), ('v < 0'),
	('v = -5 AND id > 5');
SELECT condition, look_plan(condition) FROM look_needles;
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SELECT count(*) FROM look_needles
WHERE look_plan(condition) ~ '^Bitmap Heap Scan on look / Bitmap Index Scan';
COMMIT;
SELECT c AS condition, look_plan(c)
FROM unnest(ARRAY['v > 1000', 'v < 2000000000', 'few IS NULL', 'id > 3000', 's > ''key 1''']) c;
-- Bounds that the planner does not know.
SET plan_cache_mode = force_generic_plan;
PREPARE look_eq(int8) AS SELECT * FROM look WHERE v = $1;
EXPLAIN (COSTS OFF) EXECUTE look_eq(5);
PREPARE look_between(int8, int8) AS SELECT * FROM look WHERE v BETWEEN $1 AND $2;
EXPLAIN (COSTS OFF) EXECUTE look_between(5, 6);
RESET plan_cache_mode;

-- Pages that the planner expects, beside those that are visited.
CREATE FUNCTION look_pages(condition text, OUT expected float8, OUT visited float8)
	LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT * FROM look WHERE ' || condition
		INTO plan;
	-- Nearly one row a page is what the bitmap scan of scattered rows stands for.
	expected := (plan->0->'Plan'->'Plans'->0->>'Plan Rows')::float8;
	visited := (plan->0->'Plan'->>'Exact Heap Blocks')::float8 +
		(plan->0->'Plan'->>'Lossy Heap Blocks')::float8;
END $$;
SELECT c AS condition, expected BETWEEN visited / 2 - 3 AND visited * 2 + 3 AS near
FROM unnest(ARRAY['v = 5', 'v BETWEEN 5 AND 100000', 'v BETWEEN 1000000 AND 20000000',
	'id BETWEEN 1000 AND 2000', 'id < 3000', 'few = 51']) c, look_pages(c);

-- Planning reads few pages of the index, whatever is asked.
CREATE FUNCTION look_planning(condition text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	FOR i IN 1 .. 3 LOOP
		EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM look WHERE ' || condition
			INTO plan;
	END LOOP;
	RETURN (plan->0->'Planning'->>'Shared Hit Blocks')::int +
		(plan->0->'Planning'->>'Shared Read Blocks')::int;
END $$;
SELECT max(look_planning(condition)) BETWEEN 1 AND 12 AS few_pages FROM look_needles
WHERE condition ~ '^(v|id)' AND condition !~ 'AND id';

-- What statistics cannot tell: of a value that many rows have, in as many places.  Whoever
-- may not see all rows learns nothing of it from costs.
CREATE TABLE look_secret (id int, v int8, filler text) WITH (autovacuum_enabled = off);
INSERT INTO look_secret SELECT i, CASE WHEN i % 100 = 0 THEN 5000 ELSE i * 2 + 1 END,
	repeat('x', 190)
FROM generate_series(1, 32000) i;
CREATE INDEX look_secret_v ON look_secret USING rencoder (v)
	WITH (storage = run, autosummarize = off);
CREATE ROLE regress_rencoder_look;
GRANT SELECT ON look, look_secret TO regress_rencoder_look;
CREATE FUNCTION look_cost(value int8) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	SET LOCAL enable_seqscan = off;
	EXECUTE 'EXPLAIN (FORMAT JSON) SELECT * FROM look_secret WHERE v = ' || value INTO plan;
	ASSERT plan::text ~ 'Bitmap Index Scan';
	RETURN plan->0->'Plan'->>'Total Cost';
END $$;
SELECT look_cost(5000) > 5 * look_cost(50000) AS dearer;
SET ROLE regress_rencoder_look;
SELECT look_cost(5000) > 5 * look_cost(50000) AS dearer;
RESET ROLE;
CREATE POLICY own ON look_secret USING (id < 5);
ALTER TABLE look_secret ENABLE ROW LEVEL SECURITY;
SET ROLE regress_rencoder_look;
SELECT look_cost(5000) = look_cost(50000) AS alike;
RESET ROLE;

--
-- Changes: pending entries, deltas, pages that are read again.
--
UPDATE look SET v = v + 1 WHERE id IN (5, 10000, 20000);
INSERT INTO look SELECT i, -i, 3, 'late ' || i, repeat('x', 190) FROM generate_series(1, 100) i;
SELECT runs, pending_pages, spare_pages FROM rencoder_metapage('look_v');
SELECT rencoder_index_check('look_v', true), rencoder_index_check('look_two', true);
VACUUM look;
SELECT run, kind, state, rank, from_page, to_page, cut, entries, rows, false_pages
FROM rencoder_runs('look_v')
WHERE kind = 'delta';
SELECT runs, pending_pages, spare_pages FROM rencoder_metapage('look_v');
SELECT rencoder_index_check('look_v', true), rencoder_index_check('look_two', true);
SELECT rencoder_compact('look_v', 100, 108);
SELECT run, kind, state, rank, from_page, to_page, cut, rows FROM rencoder_runs('look_v');
-- Behind the table no run is made.
SELECT rencoder_compact('look_v', 100000, 100008);
SELECT rencoder_compact('look_v', 5000000000, 5000000008);
SELECT rencoder_compact('look_v', 108, 100);
SELECT rencoder_compact('look_v', -1, 100);
SELECT rencoder_index_check('look_v', true);
SELECT look_plan('v = 5');
SELECT count(*) FROM look WHERE v = -5;
REINDEX INDEX look_v;
SELECT run, kind, state, rows FROM rencoder_runs('look_v');
SELECT rencoder_index_check('look_v', true);

-- Whose index it is.
SELECT * FROM rencoder_runs(NULL);
SELECT * FROM rencoder_runs('look');
CREATE ROLE regress_rencoder_look_monitor IN ROLE pg_stat_scan_tables;
SET ROLE regress_rencoder_look;
SELECT count(*) FROM rencoder_runs('look_v');
SET ROLE regress_rencoder_look_monitor;
SELECT count(*) FROM rencoder_runs('look_v');
RESET ROLE;
REVOKE ALL ON look FROM regress_rencoder_look;
SET ROLE regress_rencoder_look;
SELECT * FROM rencoder_runs('look_v');
RESET ROLE;

DROP TABLE look, look_needles, look_secret;
DROP FUNCTION look_plan, plan_line, look_pages, look_planning, look_cost;
DROP ROLE regress_rencoder_look, regress_rencoder_look_monitor;
