-- Enums: keys are the labels' oids, and the order is asked for label by label, however it has
-- come about.  Each query by the index and by a sequential scan.
\getenv abs_srcdir PG_ABS_SRCDIR
\set begin :abs_srcdir '/sql/include/begin.sql'
CREATE SCHEMA enums;
SET search_path = enums, public;
\set ECHO none
\i :begin
\set ECHO all

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE t (id int, m mood, n int, filler text);
ALTER TABLE t ALTER filler SET STORAGE plain;
-- A page or so for each label, NULLs between.
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, CASE WHEN i % 40 <> 0 THEN
			labels[1 + (i / 8 + floor(random() * 2)::int) % cardinality(labels)] END,
		i % 7, repeat('x', 900)
	FROM generate_series(first, last) i, (SELECT enum_range(NULL::mood) AS labels) l
$$;
SELECT fill(1, 1000);
CREATE INDEX t_m ON t USING rencoder (m) WITH (autosummarize = off, pages_per_range = 1);
SELECT fill(1001, 1300);

-- All operators with all labels, pairs of them and lists; says which do not use the index.
CREATE FUNCTION check_labels() RETURNS TABLE (labels int, conditions bigint, different bigint,
	without_index bigint) LANGUAGE sql AS $$
	SELECT cardinality(enum_range(NULL::mood)), count(*),
		count(*) FILTER (WHERE NOT index_finds(rows_of(condition, false), condition)),
		count(*) FILTER (WHERE NOT uses_index(condition))
	FROM (SELECT format('m %s %L', op, l)
			FROM unnest('{<,<=,=,>=,>}'::text[]) op, unnest(enum_range(NULL::mood)) l
		UNION ALL SELECT format('m >= %L AND m < %L', a, b)
			FROM unnest(enum_range(NULL::mood)) a, unnest(enum_range(NULL::mood)) b
			WHERE a < b AND random() < 0.2
		UNION ALL SELECT format('m IN (%L, %L) OR m IS NULL', min(l), max(l))
			FROM unnest(enum_range(NULL::mood)) l
		UNION ALL SELECT format('m < ANY (%L::mood[])', ARRAY[max(l), min(l)])
			FROM unnest(enum_range(NULL::mood)) l) c (condition)
$$;
SELECT * FROM check_labels();

-- A label between others has an oid behind theirs.
ALTER TYPE mood ADD VALUE 'meh' BEFORE 'ok';
ALTER TYPE mood ADD VALUE 'best';
ALTER TYPE mood ADD VALUE 'worst' BEFORE 'sad';
SELECT fill(1301, 1700);
SELECT labels, different, without_index FROM check_labels();
SELECT rencoder_maintain_index('t_m') > 0 AS maintained;
SELECT labels, different, without_index FROM check_labels();
SELECT sum((l.oid::int8 < before.oid::int8)::int) > 0 AS out_of_order
FROM (SELECT oid, lag(oid) OVER (ORDER BY enumsortorder) AS oid_before FROM pg_enum
	WHERE enumtypid = 'mood'::regtype) l JOIN pg_enum before ON before.oid = oid_before;

-- So many in one place that PostgreSQL numbers all labels anew: the rows are where they were.
CREATE TABLE orders AS SELECT oid, enumsortorder FROM pg_enum WHERE enumtypid = 'mood'::regtype;
\set ECHO none
SELECT format('ALTER TYPE mood ADD VALUE %L BEFORE %L', 'l' || i,
	CASE WHEN i = 1 THEN 'ok' ELSE 'l' || i - 1 END) FROM generate_series(1, 40) i
\gexec
\set ECHO all
SELECT count(*) > 0 AS numbered_anew FROM orders JOIN pg_enum USING (oid)
WHERE orders.enumsortorder <> pg_enum.enumsortorder;
SELECT labels, different, without_index FROM check_labels();
SELECT fill(1701, 2500);
VACUUM t;
SELECT labels, different, without_index FROM check_labels();
SELECT rencoder_index_check('t_m', true);

-- A label's name is not its key; a domain over an enum; parameters; several columns.
ALTER TYPE mood RENAME VALUE 'ok' TO 'fine';
SELECT index_finds(rows_of('m = ''fine''', false), 'm = ''fine'''), count(*) > 0 AS some
FROM t WHERE m = 'fine';
CREATE DOMAIN feeling AS mood CHECK (value <> 'worst');
ALTER TABLE t ADD f feeling;
UPDATE t SET f = m WHERE m <> 'worst';
CREATE INDEX t_f ON t USING rencoder (f, n) WITH (pages_per_range = 1);
SELECT condition, index_finds(rows_of(condition, false), condition), uses_index(condition)
FROM unnest(ARRAY['f::mood > ''fine'' AND n = 3', 'f::mood = ''meh'' AND n < 2',
	'n = 5 AND f::mood <= ''sad''', 'f IS NULL AND n = 1', 'f::mood < ''worst''',
	'f::mood >= ''best''']) condition;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
PREPARE below(mood) AS SELECT count(*) FROM t WHERE m < $1;
EXPLAIN (COSTS OFF) EXECUTE below('fine');
EXECUTE below('fine') \gset generic_
SELECT :generic_count = count(*) AS same FROM t WHERE (m < 'fine') IS TRUE;
EXECUTE below('worst');
EXECUTE below(NULL);
RESET enable_seqscan;
RESET plan_cache_mode;

-- Bounds as users type them.
SELECT typed.pages = literal.pages AS same, literal.pages < literal.table_pages AS skips
FROM rencoder_candidates('t_m', 'meh'::mood, 'fine'::mood) typed,
	rencoder_candidates('t_m', 'meh', 'fine') literal;
SELECT rencoder_candidates('t_m', 'meh', 'blue');
SELECT rencoder_candidates('t_m', 1, 2);
CREATE TYPE other AS ENUM ('sad', 'ok');
SELECT rencoder_candidates('t_m', 'sad'::other, 'ok'::other);
-- An interval for each of 42 labels, and one for the odd oid of 'worst' unless it has a neighbour.
SELECT rencoder_add_query_sample('t_m', 'meh', 'fine');
SELECT count(*) BETWEEN 42 AND 43 AS added FROM rencoder_query_samples('t_m')
	WHERE source = 'added';
ANALYZE t;
SELECT rencoder_estimate('t', 'm') > 0 AS sized;

-- Somebody has moved a label in the catalog: operators do not look there where both oids are even.
CREATE TYPE moved AS ENUM ('low', 'mid', 'high');
CREATE TABLE moves AS SELECT (CASE WHEN g % 500 = 0 THEN 'low' WHEN g % 501 = 0 THEN 'high'
	ELSE 'mid' END)::moved AS m, repeat('x', 60) AS pad FROM generate_series(1, 30000) g;
CREATE INDEX moves_m ON moves USING rencoder (m);
VACUUM ANALYZE moves;
UPDATE pg_enum SET enumsortorder = 99 WHERE enumlabel = 'low' AND enumtypid = 'moved'::regtype;
-- In a session that has not seen the order before.
\c -
SET search_path = enums, public;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM moves WHERE m < 'mid';
SELECT count(*) FROM moves WHERE m < 'mid';
SELECT count(*) FROM moves WHERE m >= 'mid';
SET enable_seqscan = on;
SET rencoder.enable_scan = off;
SELECT count(*) FROM moves WHERE m < 'mid';
SELECT count(*) FROM moves WHERE m >= 'mid';

SET client_min_messages = error;
DROP SCHEMA enums CASCADE;
