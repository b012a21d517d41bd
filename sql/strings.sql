-- Strings: text, varchar, char(n), name, bytea under C.
-- Each query runs with the index and without; what is printed is the number of
-- rows with it, and a complaint if the other way finds others.
\getenv abs_srcdir PG_ABS_SRCDIR
\set strings :abs_srcdir '/sql/include/strings.sql'
CREATE SCHEMA strings;
SET search_path = strings, public;
\set ECHO none
\i :strings
\set ECHO all

--
-- What LIKE means.
--
SELECT st_table('t_like', 'text',
	ARRAY['', 'a', 'ab', 'abc', 'abcd', 'abd', 'ab%', 'ab_', 'ab\', 'ab\%', 'ab%c', 'ab\c', 'a%b_c',
	'%', '_', '\', '\\', '%%', 'ABC',
	'é', 'éa', 'ée', 'ê', '€', '日本', '日本語', '日', '😀', '😀a', chr(1114111), chr(1), chr(127), 'a ',
	'a  ', ' a', E'a\tb', E'a\nb',
	repeat('a', 300), repeat('a', 300) || 'b', repeat('a', 307), repeat('a', 308), repeat('a', 309),
	repeat('a', 310) || 'c', repeat('日', 103), repeat('日', 104), repeat('a', 10000),
	repeat('ab', 5000), NULL]);
SELECT * FROM st_counts('t_like', $$v LIKE 'ab%'$$, $$v LIKE 'abc%'$$, $$v LIKE 'abc'$$,
	$$v LIKE ''$$, $$v LIKE '%'$$, $$v LIKE '%%'$$, $$v LIKE '%b'$$, $$v LIKE '_b%'$$,
	$$v LIKE 'a_'$$, $$v LIKE 'a_c'$$, $$v LIKE '_'$$,
	$$v LIKE 'a%c'$$, $$v LIKE 'ab\%'$$, $$v LIKE 'ab\%%'$$, $$v LIKE 'ab\_'$$, $$v LIKE 'ab\\'$$,
	$$v LIKE 'ab\\%'$$, $$v LIKE 'ab\\\%'$$, $$v LIKE 'ab\c'$$, $$v LIKE 'ab\c%'$$,
	$$v LIKE '\a\b\c'$$, $$v LIKE '\%'$$, $$v LIKE '\_'$$, $$v LIKE '\\'$$, $$v LIKE '\%\%'$$,
	$$v LIKE 'a\%b\_c'$$,
	$$v LIKE 'abx%' ESCAPE 'x'$$, $$v LIKE 'abx%%' ESCAPE 'x'$$, $$v LIKE 'ab\%' ESCAPE ''$$,
	$$v LIKE 'ab\' ESCAPE ''$$, $$v LIKE 'ab\%' ESCAPE 'x'$$, $$v LIKE 'axa%' ESCAPE 'a'$$,
	$$v LIKE 'abb%' ESCAPE 'b'$$,
	$$v LIKE 'é%'$$, $$v LIKE 'é_'$$, $$v LIKE '日_'$$, $$v LIKE '日本%'$$, $$v LIKE '😀%'$$,
	$$v LIKE '\日\本'$$, $$v LIKE chr(1114111) || '%'$$, $$v LIKE NULL$$,
	$$v LIKE 'a %'$$, $$v LIKE 'a '$$, $$v LIKE repeat('a', 300) || '%'$$,
	$$v LIKE repeat('a', 307) || '%'$$, $$v LIKE repeat('a', 308) || '%'$$,
	$$v LIKE repeat('a', 309) || '%'$$, $$v LIKE repeat('a', 309)$$, $$v LIKE repeat('a', 308)$$,
	$$v LIKE repeat('a', 310) || '_'$$, $$v LIKE repeat('a', 9999) || '_'$$,
	$$v LIKE repeat('日', 103) || '%'$$, $$v LIKE repeat('日', 102) || '_'$$,
	$$v LIKE repeat('\a', 309)$$,
	$$v NOT LIKE 'ab%'$$, $$v ILIKE 'ab%'$$, $$v ~ '^ab'$$, $$v SIMILAR TO 'ab%'$$);
SELECT * FROM st_counts('t_like', $$v ^@ ''$$, $$v ^@ 'ab'$$, $$v ^@ 'ab%'$$, $$v ^@ '\'$$,
	$$v ^@ 'ab\'$$, $$v ^@ '日'$$, $$v ^@ repeat('a', 309)$$, $$v ^@ repeat('a', 10001)$$,
	$$v ^@ NULL$$, $$starts_with(v, 'ab')$$,
	$$v ~ ''$$, $$v ~ '^'$$, $$v ~ 'ab'$$, $$v ~ '^ab$'$$, $$v ~ '^abc'$$, $$v ~ '^ab*'$$,
	$$v ~ '^ab?c'$$, $$v ~ '^ab{2}'$$, $$v ~ '^ab|^日'$$, $$v ~ '^(ab|abc)c'$$, $$v ~ '^(?:ab)'$$,
	$$v ~ '^[a]b'$$, $$v ~ '\Aab'$$, $$v ~ '(?i)^ab'$$, $$v ~ '(?n)^ab'$$, $$v ~ '***=ab'$$,
	$$v ~ '***:^ab'$$, $$v ~ '^a\.b'$$, $$v ~ '^a%'$$, $$v ~ '^日'$$, $$v ~ '^é$'$$, $$v ~ '^ '$$,
	$$v ~ ('^' || repeat('a', 254))$$, $$v ~ ('^' || repeat('a{10}', 40))$$, $$v ~ NULL$$,
	$$v ~ ANY (ARRAY['^ab', '^日', NULL])$$, $$v ~ ANY ('{}')$$, $$v ~ ALL (ARRAY['^a', 'c$'])$$,
	$$v ~ '^ab' AND v ~ '^é'$$, $$v ~ '^ab' OR v ~ '^日'$$, $$v !~ '^ab'$$, $$v ~* '^ab'$$,
	$$v ~ '^ab' AND v > 'abc'$$, $$v ~ '^ab'::varchar(3)$$,
	$$v = ''$$, $$v = 'ab'$$, $$v = 'a '$$, $$v = repeat('a', 309)$$, $$v = repeat('a', 10000)$$,
	$$v = NULL$$, $$v = 'ab'::varchar(3)$$, $$v = 'ab'::name$$,
	$$v < ''$$, $$v <= ''$$, $$v >= ''$$, $$v > ''$$, $$v < 'ab'$$, $$v <= 'ab'$$, $$v >= 'ab'$$,
	$$v > 'ab'$$, $$v > repeat('a', 309)$$, $$v BETWEEN 'abc' AND 'abd'$$, $$v > '日'$$,
	$$v > chr(1114111)$$, $$v < 'ab'::name$$,
	$$v ~<~ 'ab'$$, $$v ~<=~ 'ab'$$, $$v ~>=~ 'ab'$$, $$v ~>~ 'ab'$$, $$v ~<~ ''$$, $$v ~>=~ ''$$,
	$$v ~<~ repeat('a', 309)$$, $$v ~>~ '😀'$$,
	$$v IN ('ab', 'é', NULL, 'nowhere')$$, $$v = ANY ('{}')$$, $$v = ANY (ARRAY[NULL]::text[])$$,
	$$v LIKE ANY (ARRAY['ab%', '日%', NULL])$$, $$v LIKE ANY ('{}')$$,
	$$v LIKE ANY (ARRAY['%b', 'é%'])$$, $$v LIKE ALL (ARRAY['ab%', '%c'])$$,
	$$v ^@ ANY (ARRAY['日', 'ABC'])$$, $$v ~<~ ANY (ARRAY['', 'ab'])$$,
	$$v LIKE 'ab%' AND v LIKE '%c' AND v > 'abc'$$, $$v LIKE 'ab%' AND v LIKE 'é%'$$,
	$$v = 'ab' AND v = 'abc'$$, $$v LIKE 'ab%' OR v LIKE '日%'$$, $$v IS NULL$$,
	$$v IS NOT NULL AND v LIKE 'ab%'$$, $$v IS NULL AND v LIKE 'ab%'$$);

-- A pattern that ends with an escape is an error when it meets a string that it
-- could match so far; with an index fewer are met.
SELECT st_planner(true) \g /dev/null
SELECT count(*) FROM t_like WHERE v LIKE 'zz\';
SELECT count(*) FROM t_like WHERE v LIKE 'ab\';
SELECT count(*) FROM t_like WHERE v LIKE '\';

-- Which pages the index leaves: one for each row that matches, if it prunes.
SELECT p AS predicate, st_pages('SELECT * FROM t_like WHERE v ' || p) AS pages FROM unnest(ARRAY[
	$$LIKE '日%'$$, $$LIKE 'é_'$$, $$^@ 'abc'$$, $$= 'ab\'$$, $$LIKE 'ab\%'$$, $$LIKE 'ABC'$$,
	$$LIKE ANY (ARRAY['日%', 'ABC'])$$, $$= ANY (ARRAY['日', 'ABC', NULL])$$,
	$$< 'A'$$, $$> '日本'$$, $$~<~ 'A'$$, $$~>=~ '😀'$$, $$BETWEEN 'abc' AND 'abcd'$$, $$LIKE '%'$$,
	$$LIKE '%a'$$, $$LIKE '_a'$$, $$LIKE ''$$]) p;

--
-- Patterns that the planner does not know.
--
SET plan_cache_mode = force_generic_plan;
PREPARE st_like(text) AS SELECT count(*) FROM t_like WHERE v LIKE $1;
PREPARE st_prefix(text) AS SELECT count(*) FROM t_like WHERE v ^@ $1;
PREPARE st_any(text[]) AS SELECT count(*) FROM t_like WHERE v LIKE ANY ($1);
PREPARE st_escape(text, text) AS SELECT count(*) FROM t_like WHERE v LIKE $1 ESCAPE $2;
PREPARE st_eq(text) AS SELECT count(*) FROM t_like WHERE v = $1;
EXPLAIN (COSTS OFF) EXECUTE st_like('ab%');
EXPLAIN (COSTS OFF) EXECUTE st_prefix('ab');
EXPLAIN (COSTS OFF) EXECUTE st_any('{ab%}');
EXPLAIN (COSTS OFF) EXECUTE st_escape('ab%', 'x');
SELECT p, (st_count(format('EXECUTE %s', p))).* FROM unnest(ARRAY[
	$$st_like('ab%')$$, $$st_like('ab\%')$$, $$st_like('%')$$, $$st_like('%b')$$, $$st_like('_b')$$,
	$$st_like('')$$, $$st_like(NULL)$$, $$st_like('日_')$$, $$st_like(repeat('a', 308) || '%')$$,
	$$st_prefix('ab')$$, $$st_prefix('')$$, $$st_prefix('ab%')$$, $$st_prefix(NULL)$$,
	$$st_any('{ab%,日_,NULL}')$$, $$st_any('{}')$$, $$st_any(NULL)$$, $$st_any('{%}')$$,
	$$st_escape('abx%', 'x')$$, $$st_escape('ab\%', '')$$, $$st_escape('ab%', NULL)$$,
	$$st_eq('ab')$$, $$st_eq('')$$, $$st_eq(NULL)$$]) p;
RESET plan_cache_mode;
DEALLOCATE ALL;

-- A column as the pattern: each rescan has another one.
CREATE TABLE patterns (p text);
INSERT INTO patterns VALUES ('ab%'), ('日%'), ('%'), (NULL), ('abc'), ('ab\%'), (''), ('_'), ('é_'),
	('zz%'), (repeat('a', 309) || '%');
SELECT st_planner(true) \g /dev/null
SELECT plan_of('SELECT * FROM patterns JOIN t_like ON v LIKE p');
SELECT left(p, 10), count(v) FROM patterns LEFT JOIN t_like ON v LIKE p GROUP BY p ORDER BY p;
SELECT * FROM st_count('SELECT count(*) FROM patterns JOIN t_like ON v LIKE p');
SELECT * FROM st_count('SELECT count(*) FROM patterns JOIN t_like ON v ^@ p');
SELECT * FROM st_count('SELECT count(*) FROM t_like a JOIN t_like b ON b.v = a.v');
SELECT * FROM st_count('SELECT count(*) FROM t_like a JOIN t_like b ON b.v ~>=~ a.v');
SELECT * FROM st_count('SELECT count(*) FROM t_like WHERE v LIKE (SELECT max(p) FROM patterns)');
SELECT * FROM st_count('SELECT count(*) FROM t_like WHERE v LIKE ANY (SELECT p FROM patterns)');
SELECT *
FROM st_count('SELECT count(*) FROM t_like WHERE v LIKE ANY (ARRAY(SELECT p FROM patterns))');

--
-- char(n): blanks at the end do not count, except for LIKE.
--
SELECT st_table('t_char', 'char(700)',
	ARRAY['', ' ', 'a', 'a   ', ' a', 'ab', 'a b', 'a' || repeat(' ', 310) || 'b', 'a'
	|| repeat(' ', 306) || 'b', 'a' || repeat(' ', 307) || 'b', 'a' || repeat(' ', 308) || 'b', 'a'
	|| repeat(' ', 600) || 'b',
	repeat(' ', 310) || 'x', 'é', 'é é', repeat('é', 200), E'a\t', E'a\x01', E'\x01', 'a!',
	repeat('a', 308), repeat('a', 309), repeat('a', 308) || ' b', repeat('a', 700), NULL]);
SELECT * FROM st_counts('t_char', $$v = ''$$, $$v = '   '$$, $$v = 'a'$$, $$v = 'a    '$$,
	$$v = 'a' || repeat(' ', 310) || 'b'$$, $$v = ('a' || repeat(' ', 307) || 'b')::bpchar$$,
	$$v = ('a' || repeat(' ', 308) || 'b')::bpchar$$, $$v = ('a' || repeat(' ', 308))::bpchar$$,
	$$v = repeat('a', 308)::bpchar$$, $$v = (repeat('a', 308) || repeat(' ', 1000))::bpchar$$,
	$$v = 'é '$$,
	$$v < 'a'$$, $$v <= 'a'$$, $$v >= 'a'$$, $$v > 'a'$$, $$v <= 'a '$$, $$v > E'a\x01'$$,
	$$v < E'a\x01'$$, $$v >= ('a' || repeat(' ', 400))::bpchar$$,
	$$v < ('a' || repeat(' ', 308) || 'b')::bpchar$$,
	$$v ~<~ 'a'$$, $$v ~<=~ 'a'$$, $$v ~>=~ 'a'$$, $$v ~>~ 'a'$$, $$v ~<=~ 'a  '$$,
	$$v ~>~ E'a\x01'$$, $$v ~>=~ ('a' || repeat(' ', 308) || 'b')::bpchar$$,
	$$v LIKE 'a%'$$, $$v LIKE 'a'$$, $$v LIKE 'a '$$, $$v LIKE rpad('a', 700)$$,
	$$v LIKE rpad('a', 699)$$, $$v LIKE rpad('', 700)$$, $$v LIKE 'a %'$$, $$v LIKE 'a  %b%'$$,
	$$v LIKE ' %'$$, $$v LIKE ' a%'$$, $$v LIKE '%a'$$, $$v LIKE 'a' || repeat(' ', 307) || '%'$$,
	$$v LIKE 'a' || repeat(' ', 308) || 'b%'$$, $$v LIKE 'a' || repeat(' ', 320) || '%b%'$$,
	$$v LIKE 'a_' || repeat(' ', 698)$$, $$v LIKE repeat(' ', 310) || 'x%'$$,
	$$v LIKE repeat(' ', 310) || '%'$$, $$v LIKE 'é\ é%'$$,
	$$v LIKE rpad('a\ ', 701)$$, $$v LIKE 'a' || repeat('\ ', 699)$$,
	$$v LIKE ANY (ARRAY['ab%', 'é%'])$$, $$v IN ('a', 'ab  ', 'none', NULL)$$,
	$$v = ANY (ARRAY['a', NULL]::bpchar[])$$, $$v IS NULL$$, $$v IN ('a', 'ab')$$);

--
-- name, bytea, varchar, domains.
--
SELECT st_table('t_name', 'name',
	ARRAY['', 'a', 'ab', 'abc', 'pg_class', 'pg_attribute', 'pgxclass', repeat('n', 63),
	repeat('n', 62), repeat('é', 31), NULL]);
SELECT * FROM st_counts('t_name', $$v = ''$$, $$v = 'ab'$$, $$v = 'ab'::text$$,
	$$v = 'ab'::varchar$$, $$v < 'ab'$$, $$v >= 'ab'::text$$, $$v > 'ab'::text$$,
	$$v <= 'pg'::name$$, $$v LIKE 'pg\_%'$$, $$v LIKE 'pg_c%'$$, $$v LIKE ''$$, $$v LIKE '%a'$$,
	$$v = repeat('n', 63)::text$$, $$v = repeat('n', 64)::text$$, $$v = repeat('n', 64)::name$$,
	$$v < (repeat('n', 63) || 'x')::text$$, $$v LIKE repeat('n', 64) || '%'$$, $$v IN ('a', 'ab')$$,
	$$v = ANY (ARRAY['a', 'abc', NULL]::text[])$$, $$v = ANY (ARRAY['a', 'abc', NULL]::name[])$$,
	$$v LIKE ANY (ARRAY['pg%', 'é%'])$$, $$v IS NULL$$);
-- Names are of collation C.
SELECT st_table('t_c', 'text COLLATE "C"',
	ARRAY['', 'a', 'ab', 'abc', 'pg_class', repeat('n', 63), repeat('n', 64), NULL]);
SELECT * FROM st_counts('t_c', $$v = 'ab'::name$$, $$v < 'ab'::name$$, $$v >= 'pg'::name$$,
	$$v = repeat('n', 64)::name$$, $$v IN ('a'::name, 'ab'::name)$$, $$v LIKE 'ab'::name$$,
	$$v = ANY ('{a,pg_class}'::name[])$$);
SELECT * FROM st_count('SELECT count(*) FROM t_name a JOIN t_c b ON a.v = b.v');
SELECT * FROM st_count('SELECT count(*) FROM t_name a JOIN t_c b ON b.v <= a.v');
SELECT * FROM st_count('SELECT count(*) FROM t_c a JOIN t_name b ON b.v <= a.v');

SELECT st_table('t_bytea', 'bytea',
	ARRAY['', '\x00', '\x0000', '\x000001', '\x01', '\x61', '\x6100', '\x610000', '\x6101',
	'\x6162', '\x61ff', '\xff', '\xffff', '\xff00', '\x5c', '\x5c5c', '\x25', '\x5f', '\xc3a9',
	'\xc3', '\x80', '\x' || repeat('00', 308), '\x' || repeat('00', 309), '\x' || repeat('ff', 308),
	'\x' || repeat('ff', 309), '\x' || repeat('00', 10000), NULL]);
SELECT * FROM st_counts('t_bytea', $$v = ''$$, $$v = '\x00'$$, $$v = '\x0000'$$, $$v = '\x6100'$$,
	$$v < '\x00'$$, $$v <= '\x00'$$, $$v > '\x00'$$, $$v >= '\x61'$$, $$v < '\x6100'$$,
	$$v <= '\x6100'$$, $$v > '\x61ff'$$, $$v >= '\xffff'$$,
	$$v > ('\x' || repeat('ff', 308))::bytea$$, $$v < ''$$, $$v >= ''$$,
	$$v LIKE '\x6125'$$, $$v LIKE '\x0025'$$, $$v LIKE '\x615f'$$, $$v LIKE '\x25'$$,
	$$v LIKE '\x5c25'$$, $$v LIKE '\x5c5c25'$$, $$v LIKE '\x5c5c'$$, $$v LIKE '\xc325'$$,
	$$v LIKE '\x5f'$$, $$v LIKE ''$$, $$v LIKE '\xff25'$$, $$v LIKE '\xff5cff'$$,
	$$v LIKE ('\x' || repeat('00', 308) || '25')::bytea$$,
	$$v IN ('\x00', '\x61', '\x77', NULL)$$, $$v LIKE ANY (ARRAY['\x0025', '\xff25']::bytea[])$$,
	$$v = ANY ('{}'::bytea[])$$, $$v IS NULL$$);
SELECT * FROM st_count('SELECT count(*) FROM t_bytea a JOIN t_bytea b ON b.v >= a.v');

SELECT st_table('t_varchar', 'varchar(20)', ARRAY['', 'a', 'ab', 'abc', 'ABC', 'a ', NULL]);
SELECT * FROM st_counts('t_varchar', $$v = 'ab'$$, $$v = 'ab'::text$$, $$v LIKE 'ab%'$$,
	$$v ^@ 'ab'$$, $$v < 'ab'$$, $$v ~<~ 'ab'$$, $$v IN ('a', 'a ')$$,
	$$v = ANY (ARRAY['a', 'abc']::varchar[])$$, $$v LIKE ANY (ARRAY['a_', 'A%'])$$,
	$$v = 'ab'::name$$, $$v = 'a'::char(3)$$, $$v::text = 'ab'$$);
CREATE DOMAIN st_word AS text CHECK (value <> 'bad');
CREATE DOMAIN st_code AS varchar(5);
SELECT st_table('t_domain', 'st_word', ARRAY['', 'a', 'ab', 'abc', NULL]);
SELECT * FROM st_counts('t_domain', $$v = 'ab'$$, $$v = 'ab'::st_word$$, $$v LIKE 'ab%'$$,
	$$v < 'ab'$$, $$v IN ('a', 'abc')$$, $$v = ANY ('{a,ab}'::st_word[])$$);
SELECT st_table('t_code', 'st_code', ARRAY['', 'a', 'ab', 'abc', NULL]);
SELECT * FROM st_counts('t_code', $$v = 'ab'$$, $$v = 'ab'::st_code$$, $$v LIKE 'ab%'$$,
	$$v < 'ab'$$, $$v IN ('a', 'abc')$$);

SET client_min_messages = error;
DROP SCHEMA strings CASCADE;
