-- Groups that become full in use go into base runs: VACUUM makes runs of what waits and merges
-- neighbours, rencoder_compact() makes one of all.  Nothing is lost by any of it.
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET rencoder.sample_rate = 0;
CREATE SCHEMA runs_flush;
SET search_path = runs_flush, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
SELECT setseed(mod(:'seed'::numeric, 1000003) / 1000003);
SELECT set_config('runs_flush.seed', :'seed', false) = :'seed' AS set;

-- Some 17 rows a page, half of which is free.
CREATE TABLE t (id int, v int8, s text COLLATE "C", few int, filler text)
	WITH (fillfactor = 50, autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, nullif(hashint8extended(i, 1) >> 24, 0),
		CASE WHEN i % 11 <> 0 THEN 'https://example.org/' || md5((i / 3)::text) END,
		nullif(abs(hashint4(i)) % 40, 3), repeat('x', 140)
	FROM generate_series(first, last) i
$$;
CREATE FUNCTION change(k int) RETURNS void LANGUAGE sql AS $$
	UPDATE t SET v = hashint8extended(id, k) >> 24,
		s = CASE WHEN id % 3 = 0 THEN 'https://example.org/' || md5(k || s) ELSE s END
	WHERE id % 29 = k % 29
$$;

-- How many of 100 random conditions give other rows by the index than by the table?
CREATE FUNCTION compare() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r t;
	c text;
	differ int := 0;
	found int := 0;
BEGIN
	FOR i IN 1 .. 20 LOOP
		SELECT * INTO r FROM t WHERE id >= random() * (SELECT max(id) FROM t) AND v IS NOT NULL
			AND s IS NOT NULL AND few IS NOT NULL LIMIT 1;
		FOREACH c IN ARRAY ARRAY[format('v = %s', r.v),
			format('v BETWEEN %s AND %s::int8', r.v, r.v + (random() * 1e9)::int8),
			format('s = %L AND few = %s', r.s, r.few),
			format('s BETWEEN %L AND %L', left(r.s, 23), left(r.s, 23) || '~'),
			format('few = %s AND v < %s', r.few, r.v) ||
				(ARRAY['', ' AND s IS NULL', ' OR v IS NULL', ' AND s > ''https://example.org/8'''])[1 + floor(random() * 4)::int]]
		LOOP
			IF rows_of(c, true) <> rows_of(c, false) THEN
				differ := differ + 1;
				RAISE WARNING 'seed %: % (index) and % (table) for %', current_setting('runs_flush.seed'),
					rows_of(c, true), rows_of(c, false), c;
			END IF;
			found := found + (rows_of(c, true) !~ '^0 ')::int;
		END LOOP;
	END LOOP;
	PERFORM rencoder_index_check('t_idx', true);
	RETURN format('%s differ, %s have rows', differ, CASE WHEN found > 50 THEN 'most' ELSE 'few' END);
END $$;
-- Runs from the first group on, and the groups that name them.
CREATE VIEW bases AS
	SELECT string_agg(n::text, ' ' ORDER BY first) AS groups_of_runs
	FROM (SELECT run, min(group_no) AS first, count(*) AS n FROM rencoder_groups('t_idx')
		WHERE attnum = 1 AND run > 0 GROUP BY run) q;
CREATE VIEW state AS
	SELECT (SELECT count(DISTINCT run) FROM rencoder_runs('t_idx') WHERE kind = 'base') AS base,
		(SELECT count(DISTINCT run) FROM rencoder_runs('t_idx') WHERE kind = 'delta') AS deltas,
		(SELECT pending_pages FROM rencoder_metapage('t_idx')) > 1 AS pages_pending,
		(SELECT bool_or(storage <> '') FROM rencoder_groups('t_idx') WHERE covered = 128) AS covered_with_storage,
		(SELECT count(*) FROM rencoder_groups('t_idx') WHERE attnum = 1 AND sealed) AS sealed,
		(SELECT count(*) FROM rencoder_groups('t_idx') WHERE attnum = 1 AND covered > 0 AND covered < 128) AS partial;

-- The build makes a run, of which the last group is not full.
SELECT fill(1, 3000);
CREATE INDEX t_idx ON t USING rencoder (v, s, few)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
SELECT uses_index('v = 5'), uses_index('s = ''a'' AND few = 1');
SELECT * FROM state;
SELECT compare();

-- The table grows: groups of filters until VACUUM makes a run of those that are full, the last one
-- of the build among them.
SELECT fill(3001, 9000);
SELECT rencoder_summarize_new_values('t_idx') > 0 AS summarized;
SELECT * FROM state;
SELECT compare();
SELECT change(1);
VACUUM t;
SELECT * FROM state, bases;
SELECT group_no, attnum, sealed, summarized, covered, storage <> '' AS has_storage, run > 0 AS has_run
FROM rencoder_groups('t_idx') ORDER BY 1, 2;
SELECT compare();
SELECT change(2);
SELECT compare();

-- Group by group: eight runs of one become one.
DO $$
BEGIN
	FOR i IN 0 .. 20 LOOP
		PERFORM fill(9001 + i * 1100, 9000 + (i + 1) * 1100);
		PERFORM change(3 + i);
	END LOOP;
END $$;
VACUUM t;
SELECT * FROM state, bases;
SELECT fill(32101, 34000);
VACUUM t;
SELECT fill(34001, 36000);
VACUUM t;
SELECT fill(36001, 38000);
VACUUM t;
SELECT fill(38001, 40000);
SELECT change(25);
VACUUM t;
SELECT * FROM state, bases;
SELECT compare();
SELECT change(26);
SELECT fill(40001, 42000);
VACUUM t;
SELECT fill(42001, 44000);
VACUUM t;
SELECT fill(44001, 46000);
VACUUM t;
SELECT * FROM state, bases;
SELECT compare();

-- Whatever there is, one run, and no deltas.
SELECT change(27);
SELECT rencoder_compact('t_idx') > 15 AS compacted;
SELECT * FROM state, bases;
SELECT compare();
SELECT change(28);
SELECT compare();

DROP SCHEMA runs_flush CASCADE;
