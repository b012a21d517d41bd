-- A table that grows: VACUUM makes runs of what waits at its end and merges
-- neighbours, rencoder_compact() makes one of all.  Nothing is lost by any of it.
SET rencoder.sample_rate = 0;
CREATE SCHEMA runs_merge;
SET search_path = runs_merge, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set begin :abs_srcdir '/sql/include/begin.sql'
\set ECHO none
\i :begin
\set ECHO all

-- Four rows a page, half of which is free: 512 rows a group.
CREATE TABLE t (id int, v int8, s text COLLATE "C", few int, filler text)
	WITH (fillfactor = 50, autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, nullif(hashint8extended(i, 1) >> 24, 0),
		CASE WHEN i % 11 <> 0 THEN 'https://example.org/' || md5((i / 3)::text) END,
		nullif(abs(hashint4(i)) % 40, 3), repeat('x', 850)
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
	by_heap text;
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
				(ARRAY['', ' AND s IS NULL', ' OR v IS NULL',
					' AND s > ''https://example.org/8'''])[1 + floor(random() * 4)::int]]
		LOOP
			by_heap := rows_of(c, false);
			differ := differ + (NOT index_finds(by_heap, c))::int;
			found := found + (by_heap !~ '^0 ')::int;
		END LOOP;
	END LOOP;
	PERFORM rencoder_index_check('t_idx', true);
	RETURN format('%s differ, %s have rows', differ,
		CASE WHEN found > 50 THEN 'most' ELSE 'few' END);
END $$;
SELECT fill(1, 700);
CREATE INDEX t_idx ON t USING rencoder (v, s, few) WITH (storage = run, autosummarize = off);
-- Where base runs begin; is the table behind the frontier?
CREATE VIEW state AS
	SELECT (SELECT string_agg(from_page::text, ' ' ORDER BY from_page) FROM rencoder_runs('t_idx')
			WHERE kind = 'base' AND attnum = 1) AS base,
		(SELECT count(DISTINCT run) FROM rencoder_runs('t_idx') WHERE kind = 'delta') AS deltas,
		pending_pages > 1 AS pages_pending,
		greatest(pg_relation_size('t') / current_setting('block_size')::int - frontier, 0) AS behind
	FROM rencoder_metapage('t_idx');
SELECT uses_index('v = 5'), uses_index('s = ''a'' AND few = 1');
SELECT * FROM state;
SELECT compare();

-- The table grows: scans read its end until VACUUM makes a run of it.
SELECT fill(701, 2200);
SELECT * FROM state;
SELECT compare();
SELECT change(1);
VACUUM t;
SELECT * FROM state;
SELECT compare();
SELECT change(2);
SELECT compare();
SELECT fill(2201, 7400);
SELECT change(3);
VACUUM t;
SELECT * FROM state;
SELECT compare();

-- Young runs are merged, four to one; then eight to one.
SELECT step FROM generate_series(0, 6) i, unnest(ARRAY[
	format('DO $a$ BEGIN PERFORM fill(%s, %s); PERFORM change(%s); END $a$', 7401 + i * 512,
		7912 + i * 512, 4 + i),
	'VACUUM t', 'SELECT * FROM state']) step
\gexec
SELECT compare();
SELECT fill(10985, 11500);
VACUUM t;
SELECT * FROM state;
SELECT compare();
SELECT change(12);
SELECT compare();

-- Whatever there is, one run, and no deltas.
SELECT change(13);
SELECT rencoder_compact('t_idx');
SELECT * FROM state;
SELECT compare();
SELECT change(14);
SELECT compare();
-- Also of a table that is smaller than the run.
DELETE FROM t WHERE id > 5000 OR id % 5 = 0;
VACUUM t;
SELECT change(15);
SELECT rencoder_compact('t_idx') > 0 AS compacted;
SELECT * FROM state;
SELECT compare();

-- What is of another kind is not compacted, nor what is not one's own.
DO $$ BEGIN PERFORM rencoder_compact('pg_class_oid_index'); EXCEPTION WHEN OTHERS THEN RAISE
	WARNING '%', SQLERRM; END $$;
CREATE ROLE runs_merge_other;
GRANT USAGE ON SCHEMA runs_merge TO runs_merge_other;
SET ROLE runs_merge_other;
SELECT rencoder_compact('t_idx');
RESET ROLE;
REVOKE ALL ON SCHEMA runs_merge FROM runs_merge_other;
DROP ROLE runs_merge_other;

DROP SCHEMA runs_merge CASCADE;

-- Deltas do not pile up: VACUUM makes base runs anew when there are many keys in them.
CREATE TABLE renewed (id int, v int8, filler text)
	WITH (fillfactor = 50, autovacuum_enabled = off);
INSERT INTO renewed SELECT i, hashint8extended(i, 1), repeat('x', 60)
	FROM generate_series(1, 30000) i;
CREATE INDEX renewed_v ON renewed USING rencoder (v)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
UPDATE renewed SET v = hashint8extended(id, 2);
VACUUM renewed;
UPDATE renewed SET v = hashint8extended(id, 3);
VACUUM renewed;
UPDATE renewed SET v = hashint8extended(id, 4);
VACUUM renewed;
UPDATE renewed SET v = hashint8extended(id, 5);
VACUUM renewed;
SELECT coalesce(sum(entries) FILTER (WHERE kind = 'delta'), 0) < 70000 AS few_late,
	sum(entries) FILTER (WHERE kind = 'base') > 20000 AS base
FROM rencoder_runs('renewed_v');
SELECT rencoder_index_check('renewed_v', true);
SET enable_seqscan = off;
SELECT count(*) FROM generate_series(1, 30000, 200) i, LATERAL
	(SELECT 1 FROM renewed WHERE v = hashint8extended(i, 5) AND id = i) r;
RESET enable_seqscan;
DROP TABLE renewed;

-- A reading that failed leaves a run that is being made, which the next one takes away.
CREATE FUNCTION failed_f(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF v < 0 AND current_setting('failed.now', true) = 'on' THEN
		RAISE 'failed';
	END IF;
	RETURN v;
END $$;
CREATE TABLE failed (v int, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE failed ALTER filler SET STORAGE plain;
CREATE INDEX failed_v ON failed USING rencoder (failed_f(v))
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
INSERT INTO failed SELECT CASE WHEN i = 300 THEN -1 ELSE i END, repeat('x', 3900)
	FROM generate_series(1, 400) i;
SET failed.now = on;
SELECT rencoder_compact('failed_v');
RESET failed.now;
DELETE FROM failed WHERE v BETWEEN 1 AND 250;
SELECT state, from_page FROM rencoder_runs('failed_v');
SELECT frontier, entries_to >= 200 AS entries FROM rencoder_metapage('failed_v');
INSERT INTO failed VALUES (251, '');
SELECT rencoder_index_check('failed_v', true);
SELECT rencoder_maintain_index('failed_v') > 0 AS maintained;
SELECT state, from_page FROM rencoder_runs('failed_v');
SELECT rencoder_index_check('failed_v', true);
SET enable_seqscan = off;
SELECT count(*), sum(v) FROM failed WHERE failed_f(v) BETWEEN 1 AND 260;
RESET enable_seqscan;
DROP TABLE failed;
DROP FUNCTION failed_f;
