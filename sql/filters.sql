-- storage = filter: runs of matrices find what a sequential scan finds, of all kinds of keys, of
-- nulls and values, beside late rows, and after pages were read again; and are sound.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET rencoder.sample_rate = 0;
CREATE SCHEMA filters;
SET search_path = filters, public;
SELECT setseed(0.5);
CREATE TABLE t (id int, p point, s text, at timestamptz) WITH (autovacuum_enabled = off);
CREATE FUNCTION fill(first int, last int, what text) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, CASE WHEN i % 97 > 0 THEN point(random() * 1000, random() * 1000) END,
		what || (i * 7919 % 40000), timestamptz '2026-01-01 00:00+00' + i * interval '1 min'
	FROM generate_series(first, last) i
$$;
SELECT fill(1, 20000, 'https://example.org/item/');
CREATE INDEX t_i ON t USING rencoder (p, s, at)
	WITH (storage = filter, pages_per_range = 2, autosummarize = off);
\getenv abs_srcdir PG_ABS_SRCDIR
\set lost :abs_srcdir '/sql/include/lost.sql'
\set ECHO none
\i :lost
\set ECHO all
CREATE FUNCTION compare(OUT asked bigint, OUT lost text) LANGUAGE sql AS $$
	SELECT * FROM compare_all(ARRAY['p <@ box(point(10, 10), point(40, 60))', 'p IS NULL',
		'p IS NOT NULL',
		's = ''https://example.org/item/777''', 's LIKE ''https://example.org/item/12%''',
		'at BETWEEN ''2026-01-05'' AND ''2026-01-05 10:00''', 'at < ''2026-01-01 05:00''',
		's = ''late/62'' AND p <@ box(point(0, 0), point(1000, 1000))', 's = ''late/62''',
		'p IS NULL AND at < ''2026-01-03''', 'at > ''2026-01-14 12:00''', 's LIKE ''late/%''',
		's = ANY (''{https://example.org/item/1,https://example.org/item/2,late/63}'')'])
$$;
CREATE VIEW state AS
	SELECT string_agg(DISTINCT kind, ', ') AS kinds, count(DISTINCT run) AS runs,
		bool_and(state = 'live') AS live FROM rencoder_runs('t_i');
SELECT * FROM state;
SELECT * FROM compare();
-- Entries, before and in a delta; then a tail, and a piece that many rows have come to.
DELETE FROM t WHERE id BETWEEN 1000 AND 1400;
VACUUM t;
SELECT fill(60001, 60200, 'late/');
SELECT * FROM compare();
SELECT rencoder_maintain_index('t_i') >= 0 AS maintained;
SELECT * FROM compare();
SELECT fill(61001, 70000, 'late/');
SELECT * FROM compare();
VACUUM t;
SELECT * FROM state;
SELECT * FROM compare();
UPDATE t SET s = s || 'x' WHERE id % 3 = 0;
VACUUM t;
SELECT * FROM compare();
UPDATE t SET s = s || 'y' WHERE id % 3 = 1;
SELECT rencoder_compact('t_i') > 0 AS compacted;
SELECT * FROM state;
SELECT * FROM compare();
-- One storage takes the place of the other.
ALTER INDEX t_i SET (storage = run);
SELECT rencoder_compact('t_i', 0, 100);
SELECT * FROM state;
SELECT * FROM compare();
ALTER INDEX t_i SET (storage = filter);
SELECT rencoder_compact('t_i', 50, 200);
SELECT * FROM state;
SELECT * FROM compare();
REINDEX INDEX t_i;
SELECT * FROM state;
SELECT * FROM compare();
-- Without rows, and with nulls only.
CREATE TABLE nothing (v int8) WITH (autovacuum_enabled = off);
INSERT INTO nothing SELECT NULL FROM generate_series(1, 5000);
CREATE INDEX nothing_v ON nothing USING rencoder (v) WITH (storage = filter, autosummarize = off);
SELECT rencoder_index_check('nothing_v', true);
SET enable_seqscan = off;
SELECT count(*) AS nulls, (SELECT count(*) FROM nothing WHERE v IS NOT NULL) AS others,
	(SELECT count(*) FROM nothing WHERE v = 1) AS ones FROM nothing WHERE v IS NULL;
DELETE FROM nothing;
VACUUM (TRUNCATE off) nothing;
SELECT rencoder_compact('nothing_v') > 0 AS compacted;
SELECT count(*) FROM nothing WHERE v IS NULL;
SELECT rencoder_index_check('nothing_v', true);
-- Rows that come late to pages that had none.
INSERT INTO nothing VALUES (1), (NULL);
SELECT count(*) FROM nothing WHERE v = 1 OR v IS NULL;
SELECT rencoder_index_check('nothing_v', true);
DROP SCHEMA filters CASCADE;
