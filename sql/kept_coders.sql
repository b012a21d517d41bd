-- A session keeps the coders that it has read, up to 4 MB of them, and asks no index with the
-- coder of another one.
SET client_min_messages = warning;
SET enable_seqscan = off;
SET enable_indexscan = off;
CREATE SCHEMA kept_coders;
SET search_path = kept_coders, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set index_pages :abs_srcdir '/sql/include/index_pages.sql'
\set ECHO none
CREATE FUNCTION names(n int, seed int) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT chr(96 + seed) || ' user ' || i % 89 * seed || ' is ' || md5(i || ' ' || seed)
	FROM generate_series(1, n) i
$$;

\i :index_pages

-- Values, and as many absent ones, of which the index finds more or fewer rows than there are.
CREATE FUNCTION differences(relation text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*)
		FROM (SELECT k FROM %1$I UNION ALL SELECT k || ''x'' FROM %1$I) asked
		WHERE (SELECT count(*) FROM %1$I WHERE k = asked.k) <>
			(SELECT sum((k = asked.k)::int) FROM %1$I)', relation) INTO n;
	RETURN n;
END $$;

CREATE FUNCTION kept() RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(sum(used_bytes), 0)::bigint FROM pg_backend_memory_contexts
	WHERE name = 'rencoder coders'
$$;
\set ECHO all

CREATE TABLE kept (k text) WITH (autovacuum_enabled = off);
INSERT INTO kept SELECT names(600, 1);
CREATE INDEX kept_k ON kept USING rencoder (k) WITH (pages_per_range = 1);

-- Planning reads the coder, of 4 pages with its list, if no query has; then nobody does.
SELECT index_pages('kept', 'none') <= 4 AS few, index_pages('kept', 'none') <= 4 AS few,
	differences('kept');
SELECT kept() BETWEEN 1000 AND 100000 AS kept;

-- A run by another coder: both are asked.
INSERT INTO kept SELECT names(600, 2);
SELECT rencoder_compact('kept_k') > 0 AS compacted, differences('kept');

-- The index anew, in another file, and in the same file.
DELETE FROM kept WHERE k ~ '^a';
REINDEX INDEX kept_k;
SELECT differences('kept');
BEGIN;
CREATE TABLE again (k text);
INSERT INTO again SELECT names(600, 3);
CREATE INDEX again_k ON again USING rencoder (k) WITH (pages_per_range = 1);
SELECT differences('again'), pg_relation_filenode('again_k') AS file \gset
SELECT :differences AS differences;
TRUNCATE again;
INSERT INTO again SELECT names(600, 4);
SELECT differences('again'), pg_relation_filenode('again_k') = :file AS same_file;
COMMIT;

-- Temporary, emptied at the end of each transaction.
BEGIN;
CREATE TEMP TABLE short (k text) ON COMMIT DELETE ROWS;
CREATE INDEX short_k ON short USING rencoder (k) WITH (pages_per_range = 1);
INSERT INTO short SELECT names(600, 5);
SELECT rencoder_maintain_index('short_k') > 0 AS summarized, differences('short');
COMMIT;
BEGIN;
INSERT INTO short SELECT names(600, 6);
SELECT rencoder_maintain_index('short_k') > 0 AS summarized, differences('short');
COMMIT;

-- More coders than a session keeps: an insert wants 32 of each index.  What an index kept goes with
-- it.
CREATE TABLE many (k text) WITH (autovacuum_enabled = off);
INSERT INTO many SELECT names(3000, 7);
\set ECHO none
SELECT format('CREATE INDEX many_%s ON many USING rencoder (%s) WITH (pages_per_range = 1)', i,
	repeat('k, ', 31) || 'k') FROM generate_series(1, 5) i \gexec
\set ECHO all
INSERT INTO many SELECT names(10, 8);
SELECT kept() BETWEEN 3500000 AND 4500000 AS kept;
SELECT count(*) FILTER (WHERE (SELECT count(*) FROM many WHERE k = asked.k) <> 1) AS lost
FROM names(10, 8) AS asked (k);
SELECT rencoder_index_check('many_5', true);
DROP TABLE many;
SELECT kept() < 500000 AS kept;
REINDEX INDEX kept_k;
SELECT index_pages('kept', 'none') <= 4 AS few, kept() > 1000 AS kept;
DROP SCHEMA kept_coders CASCADE;
