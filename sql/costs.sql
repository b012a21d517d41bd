-- Costs that rise with what is asked for, alike for what is alike, and the plans that come of it.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET jit = off;
SET rencoder.sample_rate = 0;
SET random_page_cost = 1.1;
-- All rows are in the sample.
SET default_statistics_target = 1000;

\getenv abs_srcdir PG_ABS_SRCDIR
\set plan_line :abs_srcdir '/sql/include/plan_line.sql'
\set ECHO none
\i :plan_line
\set ECHO all
-- A number of the plan; where: the path to its node.
CREATE FUNCTION co_number(query text, what text, place text[] DEFAULT '{}') RETURNS float8
	LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan') #>> (place || what);
END $$;

-- size has 50 values, brand 25, cont 40, in no order.
CREATE TABLE co (id int, size int, brand int, cont int, pad text) WITH (autovacuum_enabled = off);
INSERT INTO co SELECT i, 1 + (hashint4(i) & 1048575) % 50,
	1 + (hashint4(i + 1000000) & 1048575) % 25,
	1 + (hashint4(i + 2000000) & 1048575) % 40, repeat('x', 110)
FROM generate_series(1, 60000) i;
CREATE INDEX co_size ON co USING rencoder (size) WITH (autosummarize = off);
CREATE INDEX co_brand ON co USING rencoder (brand) WITH (autosummarize = off);
CREATE INDEX co_cont ON co USING rencoder (cont) WITH (autosummarize = off);
VACUUM ANALYZE co;

-- One value by = or BETWEEN.  Conditions cost something, too: not here.
SET enable_seqscan = off;
SET cpu_operator_cost = 0;
SELECT co_number('SELECT * FROM co WHERE size = 7', 'Total Cost')
	/ co_number('SELECT * FROM co WHERE size BETWEEN 7 AND 7', 'Total Cost')
	BETWEEN 0.99 AND 1.01 AS alike;
RESET cpu_operator_cost;
-- The longer, the dearer, by bitmaps.
CREATE FUNCTION co_falls(tab text, col text, lower int, step int, n int, noise float8 DEFAULT 0)
	RETURNS TABLE (upper int, before float8, cost float8) LANGUAGE sql AS $$
	SELECT * FROM (
		SELECT lower + i * step, lag(c) OVER (ORDER BY i), c
		FROM generate_series(0, n - 1) i,
			co_number(format('SELECT * FROM %I WHERE %I BETWEEN %s AND %s',
				tab, col, lower, lower + i * step), 'Total Cost') c) s (upper, before, cost)
	WHERE cost < before * (1 - noise)
$$;
SET enable_indexscan = off;
SELECT * FROM co_falls('co', 'size', 7, 1, 43);
SELECT * FROM co_falls('co', 'brand', 1, 1, 25);
-- Their rows, and those checked, are those of a bitmap, so that what selects most looks like it.
SELECT bool_and(told BETWEEN rows AND 3 * rows) AS told
FROM (VALUES (7, 9), (7, 16), (1, 15), (1, 30)) v (lower, upper),
	LATERAL (SELECT count(*) AS rows FROM co WHERE size BETWEEN lower AND upper) c,
	co_number(format('SELECT * FROM co WHERE size BETWEEN %s AND %s', lower, upper), 'Plan Rows',
		'{Plans,0}') told;
RESET enable_indexscan;
RESET enable_seqscan;
-- A sequential scan where most rows are read.  Bitmaps name rows, so that several are combined.
SELECT q, plan_line('SELECT * FROM co WHERE ' || q) FROM unnest(ARRAY['size BETWEEN 7 AND 7',
	'size BETWEEN 7 AND 21', 'size BETWEEN 2 AND 45', 'size BETWEEN 1 AND 15 AND brand = 7',
	'(size BETWEEN 1 AND 5 AND brand = 7 AND cont IN (1, 2, 3, 4))
	OR (size BETWEEN 1 AND 10 AND brand = 8 AND cont IN (5, 6, 7, 8))
	OR (size BETWEEN 1 AND 15 AND brand = 9 AND cont IN (9, 10, 11, 12))']) q;
-- Beside BRIN, which leaves us no index cost to tell: of an arm of an OR, too, the widest of three
-- is not read; and a plain scan of 30 % of the rows is dearer than a bitmap scan, of 40 % than a
-- sequential one.
CREATE INDEX co_size_brin ON co USING brin (size);
CREATE INDEX co_brand_brin ON co USING brin (brand);
CREATE INDEX co_cont_brin ON co USING brin (cont);
SELECT plan_line('SELECT * FROM co WHERE
	(size BETWEEN 1 AND 5 AND brand = 7 AND cont IN (1, 2, 3, 4))
	OR (size BETWEEN 1 AND 10 AND brand = 8 AND cont IN (5, 6, 7, 8))
	OR (size BETWEEN 1 AND 15 AND brand = 9 AND cont IN (9, 10, 11, 12))');
SELECT plan_line('SELECT * FROM co WHERE size BETWEEN 7 AND 21'),
	plan_line('SELECT * FROM co WHERE size BETWEEN 7 AND 26');
DROP TABLE co;

-- Columns in order, 4 rows a key in "part"; m100 and m1000 have so many rows of each value.  Who
-- wants one or ten of many rows gets them from the index.
CREATE TABLE co_log (id int, part int, line int, created timestamptz, m100 int, m1000 int, pad text)
	WITH (autovacuum_enabled = off);
INSERT INTO co_log SELECT i, i / 4, i % 4, timestamptz '2026-01-01 00:00+00' + i * interval '1 min',
	(hashint4(i) & 1048575) % 1000, (hashint4(i + 1000000) & 1048575) % 100, repeat('x', 60)
FROM generate_series(1, 100000) i;
CREATE INDEX co_id ON co_log USING rencoder (id) WITH (autosummarize = off);
CREATE INDEX co_created ON co_log USING rencoder (created) WITH (autosummarize = off);
CREATE INDEX co_m100 ON co_log USING rencoder (m100) WITH (autosummarize = off);
CREATE INDEX co_m1000 ON co_log USING rencoder (m1000) WITH (autosummarize = off);
CREATE INDEX co_part ON co_log USING rencoder (part) WITH (autosummarize = off);
VACUUM ANALYZE co_log;
SELECT page_cost, q, plan_line('SELECT * FROM co_log WHERE ' || q)
FROM unnest('{1.1,4}'::text[]) WITH ORDINALITY p (page_cost, nr),
	unnest(ARRAY['id > 97000 LIMIT 10',
		'created BETWEEN ''2026-03-01 00:00+00'' AND ''2026-03-02 00:00+00'' LIMIT 1',
		'm100 = 77 LIMIT 1', 'm100 = 77 LIMIT 10', 'm1000 = 77 LIMIT 1', 'm1000 = 77 LIMIT 10'])
	WITH ORDINALITY q (q, nr2), set_config('random_page_cost', page_cost, false)
ORDER BY nr, nr2;
SET random_page_cost = 1.1;
SELECT plan_line('SELECT EXISTS (SELECT FROM co_log WHERE m1000 = 77)'),
	plan_line('SELECT EXISTS (SELECT FROM co_log WHERE id > 97000)');
SET enable_seqscan = off;
-- Two leaves tell on how many pages the entries lie, here that is 2 % too few at one place.
SELECT * FROM co_falls('co_log', 'id', 1000, 3000, 30, 0.03);
RESET enable_seqscan;

-- Beside the primary key, for which the planner takes the order to be worse than it is.  The key is
-- the faster one, so it is to be taken.
CREATE TABLE co_keys AS SELECT (hashint4(i) & 1048575) % 25000 AS a FROM generate_series(1, 2000) i;
ANALYZE co_keys;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
\set sorted 'SELECT * FROM co_keys WHERE EXISTS (SELECT FROM co_log WHERE part = a AND m100 > 3)'

ALTER TABLE co_log ADD CONSTRAINT co_pk PRIMARY KEY (part, line);
SELECT q, plan_line(q) FROM unnest(ARRAY[:'sorted', 'SELECT * FROM co_log WHERE part = 1000',
	'SELECT * FROM co_log WHERE part BETWEEN 1000 AND 1999',
	'SELECT * FROM co_log WHERE part > 24900 LIMIT 10']) q;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- BRIN costs next to nothing, and so do we beside it: but not the second index of an AND, which is
-- to save pages for what it costs.
CREATE INDEX co_m100_brin ON co_log USING brin (m100);
CREATE INDEX co_m1000_brin ON co_log USING brin (m1000);
SELECT plan_line('SELECT * FROM co_log WHERE m100 = 77 AND m1000 > 90'),
	plan_line('SELECT * FROM co_log WHERE m1000 = 77');
DROP TABLE co_keys, co_log;

-- Patterns: of these a scan reads what their prefix has.  GIN stands for indexes that know more.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE TABLE co_text (url text COLLATE "C", tag text COLLATE "C", pad text)
	WITH (autovacuum_enabled = off);
INSERT INTO co_text SELECT
	'https://' || (ARRAY['www', 'app', 'shop'])[1 + i % 3] || '.example.com/' || md5(i::text),
	md5((i % 2000)::text), repeat('x', 80)
FROM generate_series(1, 40000) i;
CREATE INDEX co_url ON co_text USING rencoder (url) WITH (autosummarize = off);
CREATE INDEX co_tag ON co_text USING rencoder (tag) WITH (autosummarize = off);
VACUUM ANALYZE co_text;
CREATE FUNCTION co_patterns() RETURNS TABLE (condition text, plan text) LANGUAGE sql AS $$
	SELECT q, plan_line('SELECT * FROM co_text WHERE ' || q)
	FROM unnest(ARRAY['url LIKE ''https://%abc12%''', 'url LIKE ''https://www.example.com/abc%''',
		'tag LIKE ''%abc1%''', 'tag ~ ''abc1''', 'tag ~ ''^ab.*c1''']) q
$$;
SELECT * FROM co_patterns();
CREATE INDEX co_url_trgm ON co_text USING gin (url gin_trgm_ops);
CREATE INDEX co_tag_trgm ON co_text USING gin (tag gin_trgm_ops);
SELECT * FROM co_patterns();
DROP INDEX co_url_trgm, co_tag_trgm;
CREATE INDEX co_url_btree ON co_text (url);
CREATE INDEX co_tag_btree ON co_text (tag);
VACUUM co_text;
SELECT * FROM co_patterns();
DROP TABLE co_text;
DROP EXTENSION pg_trgm;
DROP FUNCTION plan_line, co_number, co_falls, co_patterns;
