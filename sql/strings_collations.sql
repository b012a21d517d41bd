-- Strings under other collations than C, in indexes of several columns, and in TOAST.
\getenv abs_srcdir PG_ABS_SRCDIR
\set strings :abs_srcdir '/sql/include/strings.sql'
CREATE SCHEMA strings_collations;
SET search_path = strings_collations, public;
\set ECHO none
\i :strings
\set ECHO all

--
-- Collations other than C: the order is not that of bytes; equality, LIKE and
-- the pattern operators are.  ICU and libc.
--
SELECT st_table('t_icu', 'text COLLATE "en-x-icu"',
	ARRAY['', 'a', 'A', 'b', 'B', 'ä', 'z', 'Z', 'ab', 'Ab', 'a-b', 'ab c', 'resume', 'résumé',
	'Resume', '_', '%', '1', '10', '2', NULL]);
SELECT * FROM st_counts('t_icu', $$v = 'a'$$, $$v = 'A'$$, $$v LIKE 'a%'$$, $$v LIKE 'A%'$$,
	$$v ^@ 'r'$$, $$v LIKE 'r_s%'$$, $$v ~<~ 'a'$$, $$v ~>=~ 'z'$$, $$v IN ('a', 'Z', 'ä')$$,
	$$v LIKE ANY (ARRAY['Re%', 'ä'])$$,
	$$v < 'b'$$, $$v <= 'A'$$, $$v >= 'z'$$, $$v > 'B'$$, $$v BETWEEN 'a' AND 'b'$$,
	$$v > 'a' AND v LIKE 'A%'$$, $$v < 'b' AND v = 'B'$$, $$v < ANY (ARRAY['A', 'B'])$$,
	$$v COLLATE "C" < 'b'$$, $$v COLLATE "C" = 'b'$$, $$v = 'b' COLLATE "de-x-icu"$$,
	$$v LIKE 'a%' COLLATE "C"$$);
-- A needle is found under any collation, an interval only by the order of bytes.
SELECT pages, pages <= table_pages AS some
FROM rencoder_candidates('t_icu_v', 'b'::text, 'b'::text);
SELECT pages FROM rencoder_candidates('t_icu_v', 'b'::name, 'b'::name);
SELECT pages FROM rencoder_candidates('t_icu_v', 'a'::text, 'b'::text);
SELECT st_table('t_libc', 'text COLLATE "POSIX"', ARRAY['', 'a', 'A', 'b', 'B', NULL]);
SELECT * FROM st_counts('t_libc', $$v < 'a'$$, $$v >= 'a'$$, $$v LIKE 'a%'$$, $$v = 'A'$$);
SELECT st_table('t_char_icu', 'char(10) COLLATE "de-x-icu"',
	ARRAY['', 'a', 'A', 'b', 'B', 'ä', NULL]);
SELECT * FROM st_counts('t_char_icu', $$v = 'a'$$, $$v < 'b'$$, $$v > 'A'$$, $$v LIKE 'a%'$$,
	$$v ~<~ 'b'$$, $$v IN ('a', 'B')$$);
SELECT st_table('t_name_icu', 'name COLLATE "en-x-icu"', ARRAY['', 'a', 'A', 'b', 'B', NULL]);
SELECT * FROM st_counts('t_name_icu', $$v = 'a' COLLATE "en-x-icu"$$,
	$$v < 'b' COLLATE "en-x-icu"$$, $$v > 'A' COLLATE "en-x-icu"$$, $$v LIKE 'a%'$$,
	$$v = 'a'::text$$, $$v < 'b'::text$$);
-- Equality and LIKE prune there; the order does not.
SELECT p AS predicate, st_pages('SELECT * FROM t_icu WHERE v ' || p) AS pages FROM unnest(ARRAY[
	$$= 'A'$$, $$LIKE 'A%'$$, $$^@ 'res'$$, $$~<~ 'A'$$, $$IN ('z', 'Z')$$, $$< 'a'$$, $$> 'Z'$$,
	$$BETWEEN 'a' AND 'b'$$]) p;

-- An index of another collation than the clause's is not for it.
CREATE INDEX t_like_c ON t_icu USING rencoder (v COLLATE "C");
DROP INDEX t_icu_v;
SELECT * FROM st_counts('t_icu', $$v = 'a'$$, $$v < 'b'$$, $$v LIKE 'a%'$$, $$v COLLATE "C" = 'a'$$,
	$$v COLLATE "C" < 'b'$$, $$v COLLATE "C" LIKE 'A%'$$, $$v COLLATE "C" IN ('a', 'ä')$$);

-- Nondeterministic collations.
CREATE COLLATION st_ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE t_refused (v text COLLATE st_ignore_case, w varchar(5));
CREATE INDEX ON t_refused USING rencoder (v);
CREATE INDEX t_refused_lower ON t_refused USING rencoder (w, (lower(v)));
CREATE INDEX ON t_refused USING rencoder (w COLLATE st_ignore_case);
CREATE UNLOGGED TABLE t_refused_unlogged (v text COLLATE st_ignore_case);
CREATE INDEX ON t_refused_unlogged USING rencoder (v);
CREATE INDEX t_refused_c ON t_refused USING rencoder (v COLLATE "C");
INSERT INTO t_refused SELECT 'A' FROM generate_series(1, 100);
SELECT * FROM st_counts('t_refused', $$v = 'a'$$, $$v COLLATE "C" = 'a'$$, $$v COLLATE "C" = 'A'$$);
ALTER TABLE t_refused ALTER w TYPE text COLLATE st_ignore_case;
CREATE INDEX t_refused_w ON t_refused USING rencoder (w COLLATE "C");

--
-- Expressions, predicates, several columns.
--
CREATE TABLE t_more (id int, a text, n int, b varchar(40), filler text);
ALTER TABLE t_more ALTER filler SET STORAGE plain;
INSERT INTO t_more SELECT i, CASE WHEN i % 10 <> 0 THEN initcap(value_hex(1 + i % 12)) END, i % 50,
	'https://www.example.com/' || (i % 100), repeat('x', 400)
FROM generate_series(1, 3000) i;
CREATE INDEX t_more_lower ON t_more USING rencoder (lower(a), (a || b))
	WITH (pages_per_range = 1);
SELECT predicate, verdict FROM st_counts('t_more', $$lower(a) = 'ab'$$, $$lower(a) LIKE 'a%'$$,
	$$lower(a) LIKE '%a'$$, $$lower(a) < '5'$$, $$lower(a) IS NULL$$, $$a || b ^@ 'A'$$,
	$$a || b LIKE '1https%5'$$, $$lower(a) LIKE 'a%' AND a || b > 'B'$$);
INSERT INTO t_more VALUES (3001, 'ÄÖ', 1, 'x'), (3002, '', 1, '');
SELECT predicate, verdict FROM st_counts('t_more', $$lower(a) = 'ÄÖ'$$, $$lower(a) = ''$$,
	$$a || b = ''$$, $$a || b = 'ÄÖx'$$);
DROP INDEX t_more_lower;
CREATE INDEX t_more_partial ON t_more USING rencoder (a)
	WITH (pages_per_range = 1) WHERE n < 5
	AND b LIKE 'https%';
SELECT * FROM st_counts('t_more', $$a = 'zz' AND n < 5 AND b LIKE 'https%'$$,
	$$a LIKE 'z%' AND n < 5$$);
SELECT predicate, verdict FROM st_counts('t_more', $$a LIKE 'A%' AND n < 5 AND b LIKE 'https%'$$,
	$$a > 'A' AND n < 5 AND b LIKE 'https%'$$);
UPDATE t_more SET n = 1 WHERE id % 7 = 0;
SELECT predicate, verdict FROM st_counts('t_more', $$a LIKE 'A%' AND n < 5 AND b LIKE 'https%'$$,
	$$a > 'A' AND n < 5 AND b LIKE 'https%'$$);
DROP INDEX t_more_partial;
CREATE INDEX t_more_columns ON t_more USING rencoder (n, a, b)
	WITH (pages_per_range = 1);
SELECT predicate, verdict FROM st_counts('t_more', $$a = 'zz'$$, $$n = 7 AND a LIKE 'A%'$$,
	$$b = 'https://www.example.com/7'$$, $$b LIKE '%/7' AND n = 7$$,
	$$n < 5 AND a < 'A' AND b ^@ 'https://www.example.com/1'$$,
	$$a IS NULL AND b LIKE 'https://www.example.com/9%'$$,
	$$n IN (1, 2) AND b IN ('https://www.example.com/1', 'https://www.example.com/2', '')$$,
	$$a IS NULL AND b = 'no'$$, $$a IS NOT NULL AND n = 7 AND b ~>~ 'https://www.example.com/5'$$,
	$$a = 'A' AND a = 'B'$$);
SELECT rencoder_index_check('t_more_columns', true);
DROP TABLE t_more;

--
-- Strings in TOAST: compressed or not, out of line or not; only their heads
-- matter.  Later rows are inserted, updated and indexed like any others.
--
CREATE TABLE t_toast (id int, k text, v text, b bytea, c char(3000), filler text);
ALTER TABLE t_toast ALTER filler SET STORAGE plain;
CREATE FUNCTION st_long(i int, n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT left('key ' || lpad(i::text, 6, '0') || ' ' || repeat(md5(i::text), 1 + n / 32), n)
$$;
CREATE FUNCTION st_fill_toast(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t_toast SELECT i, 'key ' || lpad(i::text, 6, '0'), long, convert_to(long, 'UTF8'),
		'c' || i || repeat(' ', 500) || 'd' || i, repeat('x', 1000)
	FROM (SELECT i, st_long(i, 12 + n[1 + i % 5]) AS long
		FROM (VALUES ('{10,300,1990,2500,10000}'::int[])) n(n),
		generate_series(first, last) i OFFSET 0) s
$$;
SELECT st_fill_toast(1, 200);
ALTER TABLE t_toast ALTER v SET STORAGE external, ALTER b SET STORAGE external;
SELECT st_fill_toast(201, 400);
ALTER TABLE t_toast ALTER v SET STORAGE main, ALTER b SET STORAGE main,
	ALTER c SET STORAGE external;
SELECT st_fill_toast(401, 600);
-- More than a megabyte; and alike in more than the head.
ALTER TABLE t_toast ALTER v SET STORAGE extended, ALTER b SET STORAGE external;
INSERT INTO t_toast SELECT 600 + i, repeat('k', 500) || i, st_long(600 + i, 1500000),
	convert_to(st_long(600 + i, 1200000), 'UTF8'), 'c' FROM generate_series(1, 2) i;
INSERT INTO t_toast SELECT 700 + i, repeat('alike', 100) || i, repeat('alike', 100) || i
	|| repeat('x', 5000), convert_to(repeat('alike', 100) || i, 'UTF8'), repeat('alike', 100) || i
FROM generate_series(1, 50) i;
-- Alike up to the middle of the head.
INSERT INTO t_toast SELECT 1000 + i, '', repeat('middle', 25) || i || repeat('x', 5000),
	convert_to(repeat('middle', 25) || i || repeat('x', 5000), 'UTF8'), repeat('middle', 25) || i
FROM generate_series(1, 50) i;
-- The same in the row, so that the dictionary tells them apart.
INSERT INTO t_toast SELECT 1100 + i, '', repeat('middle', 25) || i,
	convert_to(repeat('middle', 25) || i, 'UTF8'), repeat('middle', 25) || i
FROM generate_series(1, 50) i;
-- How they are stored: values of each kind there are.
SELECT bool_or(pg_column_size(v) < length(v) / 2) AS compressed,
	bool_or(pg_column_size(v) BETWEEN 9000 AND 11000 AND pg_column_size(v) >= length(v)) AS plain,
	pg_relation_size(reltoastrelid) > 1000000 AS toasted
FROM t_toast, pg_class WHERE oid = 't_toast'::regclass GROUP BY reltoastrelid;
CREATE INDEX t_toast_v ON t_toast USING rencoder (v) WITH (pages_per_range = 1);
CREATE INDEX t_toast_b ON t_toast USING rencoder (b) WITH (pages_per_range = 1);
CREATE INDEX t_toast_c ON t_toast USING rencoder (c) WITH (pages_per_range = 1);
CREATE FUNCTION st_toast_queries() RETURNS TABLE (wrong text) LANGUAGE plpgsql AS $$
DECLARE
	p text;
	r record;
	i int;
	lengths int[] := '{22,312,2002,2512,10012}';
BEGIN
	FOR n IN 1..3 LOOP
		i := 1 + floor(random() * 900)::int;
		FOREACH p IN ARRAY ARRAY[format('v = st_long(%s, %s)', i, lengths[1 + i % 5]),
			format('v LIKE ''key %s%%''', lpad(i::text, 6, '0')),
			format('v ^@ st_long(%s, %s)', i, 11 + 300 * (i % 2)),
			format('v = repeat(''alike'', 100) || %s || repeat(''x'', 5000)', i % 60),
			'v LIKE ''alike%''',
			format('v = repeat(''middle'', 25) || %s || repeat(''x'', 5000)', i % 60),
			format('v LIKE repeat(''middle'', 25) || ''%s%%''', i % 10),
			format('b = convert_to(repeat(''middle'', 25) || %s || repeat(''x'', 5000), ''UTF8'')',
			i % 60), format('c = (repeat(''middle'', 25) || %s)::bpchar', i % 60),
			format('v BETWEEN ''key %s'' AND ''key %s''', lpad(i::text, 6, '0'),
			lpad((i + 3)::text, 6, '0')),
			format('v LIKE st_long(%s, %s)', 601 + i % 4, 1500000),
			format('v ^@ st_long(%s, %s)', 601 + i % 4, 1500001),
			format('b = convert_to(st_long(%s, %s), ''UTF8'')', i, lengths[1 + i % 5]),
			format('b LIKE ''key %s%%''', lpad(i::text, 6, '0')),
			format('b > convert_to(st_long(%s, 50), ''UTF8'')', i),
			format('b = convert_to(st_long(%s, 1200000), ''UTF8'')', 601 + i % 4),
			format('c = (''c%1$s'' || repeat('' '', 500) || ''d%1$s'')::bpchar', i),
			format('c LIKE ''c%1$s %%d%1$s%%''', i), format('c < ''c%s''', i),
			format('c ~>=~ ''c%s''', i), 'c = ''c'''] LOOP
			r := st_count('SELECT coalesce(sum(id), 0) FROM t_toast WHERE ' || p);
			IF r.verdict <> 'ok' THEN
				wrong := format('seed %s: %s: %s', current_setting('strings.seed'), left(p, 200),
					r.verdict);
				RETURN NEXT;
			END IF;
		END LOOP;
	END LOOP;
	PERFORM rencoder_index_check('t_toast_v', true), rencoder_index_check('t_toast_b', true),
		rencoder_index_check('t_toast_c', true);
END $$;
SELECT * FROM st_toast_queries();
SELECT st_fill_toast(751, 850);
SELECT * FROM st_toast_queries();
UPDATE t_toast SET filler = 'y' WHERE id % 3 = 0;
UPDATE t_toast SET v = st_long(id + 5, 3000), b = convert_to(st_long(id + 5, 3000), 'UTF8')
	WHERE id % 7 = 0;
SELECT * FROM st_toast_queries();
SELECT rencoder_maintain_index('t_toast_v'),
	rencoder_maintain_index('t_toast_b') \g /dev/null
SELECT * FROM st_toast_queries();
DELETE FROM t_toast WHERE id % 5 = 0;
VACUUM t_toast;
SELECT st_fill_toast(851, 900);
SELECT * FROM st_toast_queries();
SELECT rencoder_compact('t_toast_v', 3, 20), rencoder_compact('t_toast_c', 3, 20) \g /dev/null
VACUUM t_toast;
SELECT * FROM st_toast_queries();
REINDEX TABLE t_toast;
SELECT * FROM st_toast_queries();
DROP TABLE t_toast;

SET client_min_messages = error;
DROP SCHEMA strings_collations CASCADE;
