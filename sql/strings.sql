-- Strings: text, varchar, char(n), name, bytea under C and other collations.
-- Each query runs with the index and without; what is printed is the number of
-- rows with it, and a complaint if the other way finds others.
\getenv abs_srcdir PG_ABS_SRCDIR
\set plan :abs_srcdir '/sql/include/plan.sql'
\set values :abs_srcdir '/sql/include/values.sql'
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE SCHEMA strings;
SET search_path = strings, public;
\set ECHO none
\i :values
\i :plan
\set ECHO all
SELECT setseed(mod(:'seed'::numeric, 1000003) / 1000003);
SELECT set_config('strings.seed', :'seed', false) = :'seed' AS set;

CREATE FUNCTION st_planner(index_on bool) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('enable_seqscan', (NOT index_on)::text, false),
		set_config('enable_bitmapscan', index_on::text, false),
		set_config('enable_indexscan', 'off', false),
		set_config('enable_indexonlyscan', 'off', false),
		set_config('enable_hashjoin', 'off', false),
		set_config('enable_mergejoin', 'off', false),
		set_config('enable_material', 'off', false),
		set_config('enable_memoize', 'off', false)
$$;

-- Runs a query that returns a number, by any rencoder index and without.
CREATE FUNCTION st_count(query text, OUT rows bigint, OUT verdict text) LANGUAGE plpgsql AS $$
DECLARE
	without bigint;
	line text;
BEGIN
	verdict := 'index not used';
	PERFORM st_planner(true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Bitmap Index Scan|One-Time Filter: false' THEN
			verdict := 'ok';
		END IF;
	END LOOP;
	EXECUTE query INTO rows;
	PERFORM st_planner(false);
	EXECUTE query INTO without;
	IF rows <> without THEN
		verdict := format('WRONG: a sequential scan finds %s', without);
	END IF;
	PERFORM set_config('enable_bitmapscan', 'on', false);
END $$;
CREATE FUNCTION st_counts(tab text, VARIADIC predicates text[])
RETURNS TABLE (predicate text, rows bigint, verdict text) LANGUAGE sql AS $$
	SELECT p, (st_count(format('SELECT count(*) FROM %s WHERE %s', tab, p))).*
	FROM unnest(predicates) p
$$;

-- Each value on a page of its own, and NULL; the dictionary has seen them all.
CREATE FUNCTION st_table(tab text, typ text, vals text[]) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I (id int, v %s, filler text)', tab, typ);
	EXECUTE format('ALTER TABLE %I ALTER filler SET STORAGE plain', tab);
	EXECUTE format('INSERT INTO %I SELECT n, v::%s, repeat(''x'', 4100)
		FROM unnest($1) WITH ORDINALITY u(v, n)',
		tab, regexp_replace(typ, ' COLLATE.*', '')) USING vals;
	EXECUTE format('CREATE INDEX %I ON %I USING rencoder (v)
		WITH (pages_per_range = 1, storage = filter)', tab
		|| '_v', tab);
	RETURN (SELECT count(*) FROM rencoder_ranges((tab || '_v')::regclass));
END $$;

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
CREATE FUNCTION st_pages(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM st_planner(true);
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json, TIMING OFF, SUMMARY OFF) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Exact Heap Blocks')::int +
		(plan->0->'Plan'->>'Lossy Heap Blocks')::int;
END $$;
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
SELECT candidates, candidates + skipped = ranges AS adds_up
FROM rencoder_candidates('t_icu_v', 'b'::text, 'b'::text);
SELECT candidates FROM rencoder_candidates('t_icu_v', 'b'::name, 'b'::name);
SELECT candidates FROM rencoder_candidates('t_icu_v', 'a'::text, 'b'::text);
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
CREATE INDEX t_like_c ON t_icu USING rencoder (v COLLATE "C") WITH (storage = filter);
DROP INDEX t_icu_v;
SELECT * FROM st_counts('t_icu', $$v = 'a'$$, $$v < 'b'$$, $$v LIKE 'a%'$$, $$v COLLATE "C" = 'a'$$,
	$$v COLLATE "C" < 'b'$$, $$v COLLATE "C" LIKE 'A%'$$, $$v COLLATE "C" IN ('a', 'ä')$$);

-- Nondeterministic collations.
CREATE COLLATION st_ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE t_refused (v text COLLATE st_ignore_case, w varchar(5));
CREATE INDEX ON t_refused USING rencoder (v);
CREATE INDEX ON t_refused USING rencoder (w, (lower(v)));
CREATE INDEX ON t_refused USING rencoder (w COLLATE st_ignore_case);
CREATE UNLOGGED TABLE t_refused_unlogged (v text COLLATE st_ignore_case);
CREATE INDEX ON t_refused_unlogged USING rencoder (v);
CREATE INDEX t_refused_c ON t_refused USING rencoder (v COLLATE "C") WITH (storage = filter);
INSERT INTO t_refused SELECT 'A' FROM generate_series(1, 100);
SELECT * FROM st_counts('t_refused', $$v = 'a'$$, $$v COLLATE "C" = 'a'$$, $$v COLLATE "C" = 'A'$$);
ALTER TABLE t_refused ALTER w TYPE text COLLATE st_ignore_case;
CREATE INDEX t_refused_w ON t_refused USING rencoder (w COLLATE "C") WITH (storage = filter);

--
-- Expressions, predicates, several columns.
--
CREATE TABLE t_more (id int, a text, n int, b varchar(40), filler text);
ALTER TABLE t_more ALTER filler SET STORAGE plain;
INSERT INTO t_more SELECT i, CASE WHEN i % 10 <> 0 THEN initcap(value_hex(1 + i % 12)) END, i % 50,
	'https://www.example.com/' || (i % 100), repeat('x', 400)
FROM generate_series(1, 3000) i;
CREATE INDEX t_more_lower ON t_more USING rencoder (lower(a), (a || b))
	WITH (pages_per_range = 1, storage = filter);
SELECT predicate, verdict FROM st_counts('t_more', $$lower(a) = 'ab'$$, $$lower(a) LIKE 'a%'$$,
	$$lower(a) LIKE '%a'$$, $$lower(a) < '5'$$, $$lower(a) IS NULL$$, $$a || b ^@ 'A'$$,
	$$a || b LIKE '1https%5'$$, $$lower(a) LIKE 'a%' AND a || b > 'B'$$);
INSERT INTO t_more VALUES (3001, 'ÄÖ', 1, 'x'), (3002, '', 1, '');
SELECT predicate, verdict FROM st_counts('t_more', $$lower(a) = 'ÄÖ'$$, $$lower(a) = ''$$,
	$$a || b = ''$$, $$a || b = 'ÄÖx'$$);
DROP INDEX t_more_lower;
CREATE INDEX t_more_partial ON t_more USING rencoder (a)
	WITH (pages_per_range = 1, storage = filter) WHERE n < 5
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
	WITH (pages_per_range = 1, storage = filter);
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
-- matter.  Later rows are inserted, updated and summarized like any others.
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
CREATE INDEX t_toast_v ON t_toast USING rencoder (v) WITH (pages_per_range = 1, storage = filter);
CREATE INDEX t_toast_b ON t_toast USING rencoder (b) WITH (pages_per_range = 1, storage = filter);
CREATE INDEX t_toast_c ON t_toast USING rencoder (c) WITH (pages_per_range = 1, storage = filter);
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
SELECT rencoder_summarize_new_values('t_toast_v'),
	rencoder_summarize_new_values('t_toast_b') \g /dev/null
SELECT bool_and(state = 'summarized') AS summarized FROM rencoder_ranges('t_toast_v');
SELECT * FROM st_toast_queries();
DELETE FROM t_toast WHERE id % 5 = 0;
VACUUM t_toast;
SELECT st_fill_toast(851, 900);
SELECT * FROM st_toast_queries();
SELECT rencoder_desummarize_range('t_toast_v', b), rencoder_desummarize_range('t_toast_c', b)
FROM generate_series(0, 60, 3) b \g /dev/null
VACUUM t_toast;
SELECT * FROM st_toast_queries();
REINDEX TABLE t_toast;
SELECT * FROM st_toast_queries();
DROP TABLE t_toast;

--
-- Random strings, random queries, whatever the history of the table.  Each
-- kind of string for each type; built with rows, and before there were any.
--
CREATE TABLE st_tables (name text PRIMARY KEY, typ text, coll text, kind text, empty bool,
	dense bool);
INSERT INTO st_tables SELECT format('r_%s_%s%s%s', typ, kind, CASE WHEN empty THEN '_later' END,
	CASE WHEN coll = 'C' THEN '' ELSE '_icu' END), typ, coll, kind, empty, random() < 0.5
FROM (VALUES ('text', 'any', 'C', false), ('text', 'any', 'C', true), ('text', 'url', 'C', false),
	('text', 'url', 'C', true), ('text', 'few', 'C', false), ('text', 'letters', 'C', false),
	('text', 'any', 'en-x-icu', false), ('text', 'url', 'en-x-icu', false),
	('varchar', 'letters', 'C', false), ('bpchar', 'any', 'C', false), ('bpchar', 'few', 'C', true),
	('bpchar', 'blanks', 'C', false), ('bpchar', 'blanks', 'de-x-icu', false),
	('name', 'any', 'C', false), ('name', 'few', 'C', false), ('bytea', 'any', NULL, false),
	('bytea', 'url', NULL, true), ('bytea', 'few', NULL, false)) t (typ, kind, coll, empty);

-- A random string as text.
CREATE FUNCTION st_string(typ text, kind text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	s text;
BEGIN
	IF random() < 0.03 AND kind <> 'few' THEN
		RETURN (value_edges(typ))[1 + floor(random() * cardinality(value_edges(typ)))::int];
	END IF;
	CASE kind
		WHEN 'url' THEN s := 'https://www.example.com/' || to_hex((value_int(40)) & 16777215)
			|| CASE WHEN random() < 0.3 THEN '/' || value_hex(3) ELSE '' END;
		WHEN 'few' THEN s := 'https://www.example.com/' || floor(power(random(), 2) * 20);
		WHEN 'letters' THEN s := translate(value_hex(1 + floor(random() * 6)::int),
			'0123456789abcdef', 'aeiounrstlabcdef');
		WHEN 'blanks' THEN s := repeat(' ', floor(random() * 2)::int)
			|| to_hex(floor(random() * 20)::int)
			|| CASE WHEN random() < 0.5 THEN repeat(' ', floor(random() * 400)::int)
			|| to_hex(floor(random() * 3)::int) ELSE '' END
			|| repeat(' ', floor(random() * 5)::int);
		ELSE EXECUTE format('SELECT (%s)::text', value_random(typ)) INTO s;
	END CASE;
	IF typ = 'bytea' AND s NOT LIKE '\\x%' THEN
		s := convert_to(s, 'UTF8')::text;
	END IF;
	RETURN s;
END $$;

CREATE FUNCTION st_fill(t st_tables, first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I SELECT i, CASE WHEN random() > 0.02 THEN (%s)::%s END,
			CASE WHEN %L THEN repeat(''x'', 1300) END
		FROM generate_series(%s, %s) i',
		t.name, CASE WHEN t.kind = 'any'
		AND first > 1 THEN value_random(t.typ) ELSE format('st_string(%L, %L)', t.typ, t.kind) END,
		t.typ, NOT t.dense, first, last);
END $$;

-- A literal of a value in the table or another, or of the beginning of one.
CREATE FUNCTION st_value(t st_tables) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	s text;
BEGIN
	IF random() < 0.7 THEN
		EXECUTE format('SELECT v::text FROM %I WHERE v IS NOT NULL AND id >= %s LIMIT 1', t.name,
			floor(random() * 1500)) INTO s;
	END IF;
	RETURN coalesce(s, st_string(t.typ, t.kind));
END $$;
CREATE FUNCTION st_beginning(typ text, s text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN typ = 'bytea' THEN left(s,
		2 + 2 * floor(random() * (length(s) - 2) / 2 + 0.5)::int) ELSE left(s,
		ceil(random() * length(s))::int) END
$$;
-- As a pattern that matches just this.
CREATE FUNCTION st_quoted(typ text, s text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN typ = 'bytea' THEN regexp_replace(s, '(5c|25|5f)', '5c\1',
		'g') ELSE regexp_replace(s, '([\\%_])', '\\\1', 'g') END
$$;

CREATE FUNCTION st_predicate(t st_tables, OUT predicate text, OUT args text[], OUT argtype text)
	LANGUAGE plpgsql AS $$
DECLARE
	op text;
	ops text[] := '{=,=,=,IN,any,<,<=,>=,>,BETWEEN,isnull,LIKE,LIKE,LIKE,likeany}';
	a text := st_value(t);
	b text := st_value(t);
	wild text := CASE WHEN t.typ = 'bytea' THEN '25' ELSE '%' END;
	one text := CASE WHEN t.typ = 'bytea' THEN '5f' ELSE '_' END;
	tails text[] := ARRAY[wild, wild, one || wild, '', one, wild || one];
	tail text := tails[1 + floor(random() * 6)::int];
BEGIN
	IF t.typ IN ('text', 'varchar') THEN
		ops := ops || '{^@,^@}'::text[];
	END IF;
	IF t.typ IN ('text', 'varchar', 'bpchar') THEN
		ops := ops || '{~<~,~<=~,~>=~,~>~}'::text[];
	END IF;
	op := ops[1 + floor(random() * cardinality(ops))::int];
	argtype := t.typ;
	IF op ~ '^(LIKE|likeany|\^@)$' THEN
		argtype := CASE WHEN t.typ = 'bytea' THEN 'bytea' ELSE 'text' END;
		IF random() < 0.8 THEN
			a := st_beginning(t.typ, a);
		END IF;
		IF op <> '^@' THEN
			a := st_quoted(t.typ, a) || tail;
			b := st_quoted(t.typ, st_beginning(t.typ, b)) || wild;
		END IF;
		IF random() < 0.03 AND t.typ <> 'bytea' THEN
			a := wild || a;
		END IF;
	ELSIF t.typ = 'name' AND random() < 0.3 THEN
		argtype := 'text';
	END IF;
	IF op = 'BETWEEN' THEN
		predicate := 'v BETWEEN $1 AND $2';
		args := CASE WHEN random() < 0.9 THEN ARRAY[least(a, b), greatest(a, b)] ELSE ARRAY[a,
			b] END;
	ELSIF op = 'IN' THEN
		predicate := 'v IN ($1, $2, NULL)';
		args := ARRAY[a, b];
	ELSIF op = 'any' THEN
		predicate := format('v = ANY (ARRAY[$1, $2, NULL]::%s[])', argtype);
		args := ARRAY[a, b];
	ELSIF op = 'likeany' THEN
		predicate := 'v LIKE ANY (ARRAY[$1, $2])';
		args := ARRAY[a, b];
	ELSIF op = 'isnull' THEN
		predicate := 'v IS NULL';
		args := '{}';
	ELSE
		predicate := format('v %s $1', op);
		args := ARRAY[a];
	END IF;
END $$;

-- Runs "n" queries on each table and checks the index; returns what failed.
CREATE FUNCTION st_run(phase text, n int) RETURNS TABLE (failed_in text, failure text)
	LANGUAGE plpgsql AS $$
DECLARE
	t st_tables;
	p record;
	q text;
	r record;
	declared text;
	known bool;
BEGIN
	failed_in := phase;
	FOR t IN SELECT * FROM st_tables ORDER BY name LOOP
		FOR i IN 1..n LOOP
			p := st_predicate(t);
			q := format('SELECT coalesce(sum(id), 0) + 1000000 * count(*) FROM %I WHERE %s', t.name,
				p.predicate);
			known := p.args = '{}' OR random() < 0.6;
			IF known THEN
				FOR a IN REVERSE cardinality(p.args)..1 LOOP
					q := replace(q, '$' || a, format('%L::%s', p.args[a], p.argtype));
				END LOOP;
			ELSE
				EXECUTE format('PREPARE st_query (%s) AS %s',
					rtrim(repeat(p.argtype || ',', cardinality(p.args)), ','), q);
				q := format('EXECUTE st_query(%s)',
					(SELECT string_agg(quote_literal(a), ', ' ORDER BY place) FROM unnest(p.args)
					WITH ORDINALITY u(a, place)));
				PERFORM set_config('plan_cache_mode', 'force_generic_plan', false);
			END IF;
			r := st_count(q);
			IF NOT known THEN
				DEALLOCATE st_query;
				PERFORM set_config('plan_cache_mode', 'auto', false);
			END IF;
			IF r.verdict <> 'ok' THEN
				failure := format('seed %s: %s: %s; %s %s', current_setting('strings.seed'), t.name,
					r.verdict, p.predicate, left(q, 300));
				RETURN NEXT;
			END IF;
		END LOOP;
		q := format('SELECT count(*)
			FROM (SELECT v FROM %1$I ORDER BY id LIMIT 5 OFFSET %2$s) a JOIN %1$I b ON %3$s',
			t.name, floor(random() * 50),
			CASE WHEN random() < 0.5
				OR t.typ IN ('bpchar', 'name') THEN 'b.v = a.v' ELSE 'b.v LIKE a.v || ''%''' END);
		r := st_count(q);
		IF r.verdict NOT IN ('ok', 'index not used') THEN
			failure := format('seed %s: %s: %s', current_setting('strings.seed'), q, r.verdict);
			RETURN NEXT;
		END IF;
		PERFORM rencoder_index_check((t.name || '_v')::regclass, true);
	END LOOP;
END $$;
CREATE FUNCTION st_each(command text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	t st_tables;
BEGIN
	FOR t IN SELECT * FROM st_tables ORDER BY name LOOP
		EXECUTE format(command, t.name, t.typ, t.kind);
	END LOOP;
END $$;

DO $$
DECLARE
	t st_tables;
BEGIN
	FOR t IN SELECT * FROM st_tables ORDER BY name LOOP
		EXECUTE format('CREATE TABLE %I (id int, v %s %s, filler text) '
			'WITH (autovacuum_enabled = off)',
			t.name, t.typ, 'COLLATE ' || quote_ident(t.coll));
		EXECUTE format('ALTER TABLE %I ALTER filler SET STORAGE plain', t.name);
		IF NOT t.empty THEN
			PERFORM st_fill(t, 1, 600);
		END IF;
		EXECUTE format('CREATE INDEX %I ON %I USING rencoder (v)
			WITH (pages_per_range = 1, bits_per_key = %s, storage = filter)',
			t.name || '_v', t.name, (ARRAY[10, 20, 30])[1 + floor(random() * 3)::int]);
		IF t.empty THEN
			PERFORM st_fill(t, 1, 600);
		END IF;
	END LOOP;
END $$;
SELECT * FROM st_run('built', 12);
-- Enough for a group to become a matrix.
SELECT st_fill(t, 601, 1500) FROM st_tables t ORDER BY name \g /dev/null
SELECT * FROM st_run('inserted', 8);
SELECT rencoder_summarize_new_values((name || '_v')::regclass) FROM st_tables
ORDER BY name \g /dev/null
SELECT count(*) > 1000 AS ranges, bool_and(state = 'summarized') AS summarized FROM st_tables,
	rencoder_ranges((name || '_v')::regclass);
SELECT * FROM st_run('summarized', 12);
SELECT st_each('UPDATE %1$I SET v = st_string(%2$L, %3$L)::%2$I WHERE id %% 7 = 3');
SELECT * FROM st_run('updated', 8);
SELECT st_each('DELETE FROM %1$I WHERE id BETWEEN 300 AND 500 OR id %% 5 = 1');
SELECT string_agg(name, ', ' ORDER BY name) AS tables FROM st_tables \gset
VACUUM :tables;
SELECT st_fill(t, 1501, 1800) FROM st_tables t ORDER BY name \g /dev/null
SELECT * FROM st_run('vacuumed and filled', 8);
SELECT rencoder_desummarize_range((name || '_v')::regclass, b) FROM st_tables,
	generate_series(0, 40, 5) b WHERE b * 8192 < pg_relation_size(name::regclass)
ORDER BY name \g /dev/null
VACUUM :tables;
SELECT * FROM st_run('desummarized and summarized', 8);
VACUUM FULL :tables;
SELECT * FROM st_run('rewritten', 6);
SELECT st_each('REINDEX INDEX %1$s_v');
SELECT * FROM st_run('reindexed', 6);
SELECT st_each('TRUNCATE %1$I');
SELECT st_fill(t, 1, 200) FROM st_tables t ORDER BY name \g /dev/null
VACUUM :tables;
SELECT * FROM st_run('truncated', 5);
SELECT st_each('DROP TABLE %1$I');

--
-- Two generations of keys do not mix: groups made before there was anything to
-- learn from, and slices that become a matrix.
--
CREATE TABLE t_grow (id int, v text, few text);
CREATE INDEX t_grow_v ON t_grow USING rencoder (v, few)
	WITH (pages_per_range = 1, storage = filter);
CREATE FUNCTION st_grow(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t_grow SELECT i, 'https://www.example.com/' || md5(i::text),
		'https://www.example.com/' || i % 20 FROM generate_series(first, last) i
$$;
SELECT st_grow(1, 5000);
SELECT rencoder_summarize_new_values('t_grow_v') >= 0 AS summarized;
REINDEX INDEX t_grow_v;
SELECT st_grow(5001, 30000);
VACUUM t_grow;
SELECT attnum, storage, count(*) FROM rencoder_groups('t_grow_v') GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM st_counts('t_grow', $$few = 'https://www.example.com/7'$$,
	$$few LIKE 'https://www.example.com/1%'$$, $$few = 'https://www.example.com/20'$$,
	$$v = 'https://www.example.com/' || md5('77')$$,
	$$v = 'https://www.example.com/' || md5('29000')$$,
	$$few > 'https://www.example.com/8' AND v < 'https://www.example.com/1'$$);
SELECT rencoder_index_check('t_grow_v', true);

-- Workers.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT st_planner(true) \g /dev/null
EXPLAIN (COSTS OFF) SELECT count(*) FROM t_grow WHERE few LIKE 'https://www.example.com/7%';
SELECT count(*) FROM t_grow WHERE few LIKE 'https://www.example.com/7%';

SET client_min_messages = error;
DROP SCHEMA strings CASCADE;
