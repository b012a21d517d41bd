-- A session keeps the roots of runs that it has searched, 64 of them, and searches no run with the
-- root of another one.
SET client_min_messages = warning;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET rencoder.sample_rate = 0;
CREATE SCHEMA kept_roots;
SET search_path = kept_roots, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set index_pages :abs_srcdir '/sql/include/index_pages.sql'
\set ECHO none
-- Different even numbers, of runs of several leaves.
CREATE FUNCTION keys(n int, seed int) RETURNS SETOF int8 LANGUAGE sql AS $$
	SELECT hashint8extended(i, seed) / 2 * 2 FROM generate_series(1, n) i
$$;

\i :index_pages

-- Some values, and as many absent ones, of which the index finds more or fewer rows than there are:
-- each in a scan of its own, since rescans keep pages themselves.
CREATE FUNCTION differences(relation text, n int = 300) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	value int8;
	found int8;
	differences int := 0;
BEGIN
	FOR value IN EXECUTE format('SELECT k FROM %I LIMIT %s', relation, n) LOOP
		FOR more IN 0 .. 1 LOOP
			EXECUTE format('SELECT count(*) FROM %I WHERE k = %s', relation, value + more)
				INTO found;
			differences := differences + (found <> 1 - more)::int;
		END LOOP;
	END LOOP;
	RETURN differences;
END $$;
\set ECHO all

CREATE TABLE kept (k int8) WITH (autovacuum_enabled = off);
INSERT INTO kept SELECT keys(12000, 1);
CREATE INDEX kept_k ON kept USING rencoder (k) WITH (pages_per_range = 1, autosummarize = off);
SELECT index_pages('kept', '1') - index_pages('kept', '1') AS root, differences('kept');

-- Another run, which is searched beside it, and one that takes the place of both.
INSERT INTO kept SELECT keys(12000, 2);
SELECT rencoder_compact('kept_k') > 0 AS compacted;
SELECT index_pages('kept', '1') - index_pages('kept', '1') AS root, differences('kept');
REINDEX INDEX kept_k;
SELECT index_pages('kept', '1') - index_pages('kept', '1') AS root, differences('kept');
-- What is told of a query does not hang on what the session has read.
REINDEX INDEX kept_k;
SELECT count(DISTINCT index_pages) AS answers
FROM generate_series(1, 3) i, LATERAL (SELECT index_pages
	FROM rencoder_candidates('kept_k', 1 + i * 0, 1)) c;

-- The same file, runs of the same numbers, and roots in the same places.
BEGIN;
CREATE TABLE again (k int8);
CREATE INDEX again_k ON again USING rencoder (k) WITH (pages_per_range = 1, autosummarize = off);
INSERT INTO again SELECT keys(12000, 3);
SELECT rencoder_compact('again_k') > 0 AS compacted, index_pages('again', '1') > 0 AS searched;
CREATE TABLE before AS SELECT pg_relation_filenode('again_k') AS file, run
FROM rencoder_runs('again_k');
TRUNCATE again;
INSERT INTO again SELECT keys(12000, 4) / 4 * 2;
SELECT rencoder_compact('again_k') > 0 AS compacted;
SELECT file = pg_relation_filenode('again_k') AS same_file, before.run = now.run AS same_run,
	differences('again')
FROM before, rencoder_runs('again_k') now;
COMMIT;

-- More runs than are kept.
\set ECHO none
SELECT format('CREATE TABLE many_%1$s AS SELECT keys(3000, %1$s) AS k;
	CREATE INDEX ON many_%1$s USING rencoder (k) WITH (pages_per_range = 1)', i)
FROM generate_series(1, 70) i
\gexec
\set ECHO all
SELECT sum(differences('many_' || i, 15)) FROM generate_series(1, 70) i;
SELECT sum(differences('many_' || i, 15)) FROM generate_series(1, 70) i;

DROP SCHEMA kept_roots CASCADE;
