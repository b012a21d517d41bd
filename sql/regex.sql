-- Regular expressions with a fixed prefix, and starts_with(), beside a sequential scan.
SET client_min_messages = warning;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
\getenv abs_srcdir PG_ABS_SRCDIR
\getenv seed RENCODER_SEED
\set compare :abs_srcdir '/sql/include/compare.sql'
\set pages_of :abs_srcdir '/sql/include/pages_of.sql'
\i :compare
\i :pages_of

CREATE TABLE t (id int, c text COLLATE "C", u text COLLATE "und-x-icu", filler text)
	WITH (autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
INSERT INTO t SELECT i, v, v, repeat('x', 300) FROM (SELECT i, CASE WHEN i % 50 = 0 THEN
	(ARRAY[E'x\nabc', E'abc\nx', 'ABC', 'aBc', '', 'ábc', E'ab\u0301c', 'ab', 'abd', E'\nab',
	'abcabc', '日本', 'a.c', '^ab', 'xab', 'ab%', repeat('abc', 200),
	repeat('abc', 200) || 'd'])[1 + i / 50 % 18]
	ELSE md5(i::text) END AS v FROM generate_series(1, 6000) i) r;
CREATE INDEX t_c ON t USING rencoder (c) WITH (autosummarize = off);
CREATE INDEX t_u ON t USING rencoder (u) WITH (autosummarize = off);
VACUUM ANALYZE t;

CREATE TABLE regexes (i serial, condition text);
INSERT INTO regexes (condition) SELECT replace(condition, 'x_', c) FROM unnest(ARRAY['c', 'u']) c,
	unnest(ARRAY['x_ ~ ''^abc''', 'x_ ~ ''^ab$''', 'x_ ~ ''(?n)^ab''', 'x_ ~ ''(?p)^ab''',
	'x_ ~ ''(?w)^ab''', 'x_ ~ ''(?i)^abc''', 'x_ ~ ''^abc.*c$''', 'x_ ~ ''^ab*''', 'x_ ~ ''^ab?''',
	'x_ ~ ''^a\.c''', 'x_ ~ ''^\^ab''', 'x_ ~ ''\Aab''', 'x_ ~ ''^(ab|xa)''', 'x_ ~ ''^ab|^xa''',
	'x_ ~ ''^日''', 'x_ ~ ''^á''', 'x_ ~ (''^'' || repeat(''abc'', 80))', 'x_ ~ ''^(abc){150}''',
	'x_ ~ ''^(abc){200}$''', 'x_ ~ ''***=ab''', 'x_ ~ ''***=^ab''', 'x_ ~ ''(?q)^ab''',
	'x_ ~ ''b''',
	'x_ ~ ANY (ARRAY[''^abd'', ''^日''])', 'x_ ~ ''^0'' AND x_ < ''05''', 'starts_with(x_, ''abc'')',
	'starts_with(x_, '''')', 'x_ ^@ ''abc''',
	'x_ ~ ''^abc'' AND starts_with(x_, ''abca'')']) condition;
SELECT count(*) FROM regexes
WHERE NOT index_finds(rows_of(condition, false), condition);
-- starts_with() is a function; PostgreSQL makes it a condition under COLLATE "C" only.
SELECT condition FROM regexes WHERE NOT uses_index(condition) ORDER BY i;

-- The planner takes it by itself, and it skips.
SET enable_indexscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE u ~ '^abd';
RESET enable_indexscan;
SELECT pages_of('u ~ ''^abd''') < pg_relation_size('t') / 8192 / 2 AS skips,
	pages_of('u ~ ''abd''') = pg_relation_size('t') / 8192 AS not_without_prefix;
SET plan_cache_mode = force_generic_plan;
PREPARE by_regex(text) AS SELECT count(*) FROM t WHERE u ~ $1;
EXECUTE by_regex('^abd');
EXECUTE by_regex(NULL);
EXECUTE by_regex('^ab[');
SELECT count(*) FROM t WHERE u ~ '^ab[';
DROP TABLE t, regexes;
DROP FUNCTION rows_of, index_finds, uses_index;
