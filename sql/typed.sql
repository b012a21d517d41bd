-- Bounds as users type them: quoted literals, mixed types, parameters, NULLs,
-- strings under any collation.
SET client_min_messages = warning;
SET timezone = 'UTC';
SET DateStyle = 'ISO, DMY';
SET max_parallel_workers_per_gather = 0;

-- 64 values of each type, each on pages of its own.
CREATE TABLE ty (g int, i2 int2, i4 int4, i8 int8, f4 real, f8 float8, num numeric(12, 2),
	cash money, d date, t time,
	ts timestamp(0), tstz timestamptz, u uuid, m macaddr, m8 macaddr8, net inet, c cidr, lsn pg_lsn,
	x xid8, o oid,
	tz timetz, iv interval, c1 "char", place tid, bits bit(8), vb varbit,
	s text, s_c text COLLATE "C", v varchar(8), ch char(8), nm name, b bytea, p point, filler text)
	WITH (autovacuum_enabled = off);
INSERT INTO ty SELECT k, k * 100, k * 1000, k * 4000000000, k / 8.0, k / 8.0, k * 1000.25,
	(k * 2.5)::numeric::money,
	date '2026-01-01' + k, time '00:00' + k * interval '20 min',
	timestamp '2026-01-01 12:00' + k * interval '1 day',
	timestamptz '2026-01-01 12:00' + k * interval '1 day',
	(lpad(to_hex(k), 2, '0') || repeat('ab', 15))::uuid,
	('08:00:2b:01:02:' || lpad(to_hex(k), 2, '0'))::macaddr,
	('08:00:2b:01:02:03:04:' || lpad(to_hex(k), 2, '0'))::macaddr8, inet '10.0.0.0' + k * 256,
	set_masklen(inet '10.0.0.0' + k * 256, 24)::cidr,
	('1/' || to_hex(k * 4096))::pg_lsn, (k * 100)::text::xid8, k * 10,
	timetz '00:00+02' + k * interval '20 min', k * interval '1 day', chr(32 + k)::"char",
	format('(%s,1)', k)::tid, k::bit(8), k::bit(8)::varbit || B'1',
	'site' || lpad(k::text, 3, '0'), 'site' || lpad(k::text, 3, '0'), 's' || lpad(k::text, 3, '0'),
	's' || lpad(k::text, 3, '0'),
	'n' || lpad(k::text, 3, '0'), decode(lpad(to_hex(k), 2, '0') || 'ff00', 'hex'), point(k, -k),
	repeat('x', 1500)
FROM generate_series(1, 64) k, generate_series(1, 4);

CREATE FUNCTION ty_candidates(index text, bounds text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	details text;
	tip text;
BEGIN
	EXECUTE format('SELECT pages || '' of '' || table_pages FROM rencoder_candidates(%L, %s)',
		index, bounds) INTO STRICT message;
	RETURN message;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, details = PG_EXCEPTION_DETAIL,
		tip = PG_EXCEPTION_HINT;
	-- What PostgreSQL says of a function that is not there differs by version.
	IF SQLSTATE = '42883' AND message LIKE 'function %' THEN
		RETURN message;
	END IF;
	RETURN concat_ws(' / ', message, NULLIF(details, ''), NULLIF(tip, ''));
END $$;

--
-- Each column by each way to write two bounds: all give the same answer and
-- the same sample, and every range with a row that matches is a candidate.
--
CREATE FUNCTION ty_forms(col text, type text, lo text, hi text)
	RETURNS TABLE (typed text, answers bigint, enough boolean, skips boolean, samples bigint)
LANGUAGE plpgsql AS $$
DECLARE
	index text := 'ty_' || col;
	form text;
	found bigint;
	counts bigint[];
	total bigint;
	matching bigint;
	condition text := CASE WHEN type = 'point' THEN 'BOX' ELSE 'BETWEEN' END;
BEGIN
	EXECUTE format('CREATE INDEX %I ON ty USING rencoder (%I) '
		'WITH (pages_per_range = 1, autosummarize = off)',
		index, col);
	FOREACH form IN ARRAY ARRAY['%1$L::%3$s, %2$L::%3$s', '%1$L, %2$L', '%1$L, %2$L::%3$s',
		'%1$L::%3$s, %2$L',
		'%1$L::text, %2$L::text', '%1$L::varchar, %2$L::varchar', '%1$L, %2$L::text',
		'%1$L::text, %2$L::varchar'] LOOP
		EXECUTE 'SELECT pages FROM rencoder_candidates($1, ' || format(form, lo, hi, type)
			|| ')' INTO STRICT found USING index::regclass;
		counts := counts || found;
		EXECUTE 'SELECT rencoder_add_query_sample($1, ' || format(form, lo, hi, type) || ')'
			USING index::regclass;
	END LOOP;

	-- Columns of a table.
	EXECUTE format('SELECT c.pages, c.table_pages '
		'FROM (SELECT $1::%s AS lo, $2::%1$s AS hi) q, rencoder_candidates($3, lo, hi) c',
		type)
		INTO STRICT found, total USING lo, hi, index::regclass;
	counts := counts || found;
	EXECUTE 'SELECT c.pages FROM (SELECT $1 AS lo, $2 AS hi) q, '
		'rencoder_candidates($3, lo, hi) c' INTO STRICT found USING lo, hi, index::regclass;
	counts := counts || found;

	-- A parameter that nothing gives a type is text.
	EXECUTE format('PREPARE ty_plain AS SELECT pages FROM rencoder_candidates(%L, $1, $2)',
		index);
	EXECUTE format('EXECUTE ty_plain(%L, %L)', lo, hi) INTO STRICT found;
	counts := counts || found;
	DEALLOCATE ty_plain;
	EXECUTE format('PREPARE ty_sample AS SELECT rencoder_add_query_sample(%L, $1, $2, attnum => 1)',
		index);
	EXECUTE format('EXECUTE ty_sample(%L, %L)', lo, hi);
	DEALLOCATE ty_sample;

	EXECUTE format('SELECT count(DISTINCT (ctid::text::point)[0]) FROM ty WHERE '
		|| CASE WHEN type = 'point' THEN '%I <@ box(%L::%4$s, %3$L::%4$s)'
			ELSE '%I BETWEEN %L::%4$s AND %3$L::%4$s' END,
		col, lo, hi, type)
		INTO STRICT matching;
	RETURN QUERY SELECT col || ' ' || type, (SELECT count(DISTINCT a) FROM unnest(counts) a),
		counts[1] >= matching AND matching > 0,
		counts[1] < total / 3,
		(SELECT CASE WHEN count(*) % 9 = 0 THEN count(DISTINCT (lo_key, hi_key)) * 9 / count(*) END
		FROM rencoder_query_samples(index) WHERE source = 'added');
END $$;
SELECT f.* FROM (VALUES
	('i2', 'int2', '1000', '1200'), ('i4', 'int4', '10000', '12000'),
		('i8', 'int8', '40000000000', '50000000000'),
	('f4', 'real', '1.25', '2.5'), ('f8', 'float8', '1.25', '2.5'),
	('num', 'numeric', '9001.005', '12003.125'),
	('cash', 'money', '25.00', '30.00'), ('d', 'date', '12/1/2026', '2026-01-14'),
	('t', 'time', '03:20', '04:00'),
	('ts', 'timestamp', '2026-01-11 12:00:00.4', '2026-01-14'),
	('tstz', 'timestamptz', '2026-01-11 14:00:00+02', '2026-01-14'),
	('u', 'uuid', '0a000000-0000-0000-0000-000000000000', '0c000000-0000-0000-0000-000000000000'),
	('m', 'macaddr', '08:00:2b:01:02:0a', '08-00-2b-01-02-0c'),
	('m8', 'macaddr8', '08:00:2b:01:02:03:04:0a', '08:00:2b:01:02:03:04:0c'),
	('net', 'inet', '10.0.10.0', '10.0.12.0/24'), ('c', 'cidr', '10.0.10.0/24', '10.0.12.0/24'),
	('lsn', 'pg_lsn', '1/A000', '1/C000'),
	('tz', 'timetz', '03:20+02', '02:00+00'), ('iv', 'interval', '10 days', '288:00'),
	('c1', '"char"', '*', ','), ('place', 'tid', '(10,1)', '(12,1)'),
	('bits', 'bit(8)', '00001010', '00001100'), ('vb', 'varbit', '000010101', '000011001'),
	('x', 'xid8', '1000', '1200'), ('o', 'oid', '100', '120'),
	('s', 'text', 'site010', 'site012'), ('s_c', 'text', 'site010', 'site012'),
	('v', 'varchar', 's010', 's012 and more than 8'),
	('ch', 'bpchar', 's010', 's012'), ('nm', 'name', 'n010', 'n012'),
	('b', 'bytea', '\x0a', '\x0cff00'),
	('p', 'point', '(10,-8)', '8,-10')) AS t (col, type, lo, hi),
	LATERAL ty_forms(col, type, lo, hi) f;

--
-- Two different types: as "column BETWEEN lo AND hi" would take the common one.
--
SELECT bounds, ty_candidates('ty_' || col, bounds) = ty_candidates('ty_' || col, plain) AS same,
	ty_candidates('ty_' || col, bounds) AS candidates
FROM (VALUES
	('i8', '40000000000, 5', '40000000000, 5::int8'),
		('i8', '5, 50000000000', '5::int8, 50000000000'), ('i4', '1::int2, 20000', '1, 20000'),
	('i4', '10000, 50000000000', '10000::int8, 50000000000'),
	('i8', '1::numeric::int8, ''50000000000''', '1::int8, 50000000000'),
	('num', '9000, 12000.5', '9000.0, 12000.5'),
	('num', '9000, ''12000.5''::numeric', '9000.0, 12000.5'),
	('num', '9000, 12000', '9000.0, 12000.0'),
	('f4', '1, 2.5', '1::float8, 2.5::float8'), ('f4', '1, 2', '1::float8, 2::float8'),
		('f4', '1, 1e39', '1::float8, 1e39::float8'),
	('f8', '1, 2.5', '1::float8, 2.5::float8'),
	('f8', '1::real, 2.5', '1::float8, 2.5::float8'), ('o', '100, 120', '100::oid, 120::oid'),
	('o', '100::int8, 120', '100::oid, 120::oid'),
	('d', 'date ''2026-01-12'', timestamp ''2026-01-14 12:00''',
	'timestamp ''2026-01-12'', timestamp ''2026-01-14 12:00'''),
	('tstz', 'date ''2026-01-12'', timestamptz ''2026-01-14''',
	'timestamptz ''2026-01-12'', timestamptz ''2026-01-14'''),
	('tstz', 'date ''2026-01-12'', ''2026-01-14''', 'date ''2026-01-12'', date ''2026-01-14'''),
	('ts', 'date ''2026-01-12'', timestamp ''2026-01-14''',
	'timestamp ''2026-01-12'', timestamp ''2026-01-14'''),
	('net', 'cidr ''10.0.10.0/24'', inet ''10.0.12.1''', '''10.0.10.0/24'', ''10.0.12.1'''),
	('nm', '''n010''::text, ''n012''::name', '''n010'', ''n012'''),
	('s', '''site010''::name, ''site012''::text', '''site010'', ''site012'''),
	('s', '''site010''::char(9), ''site012''::text', '''site010'', ''site012'''),
	('ch', '''s010''::char(4), ''s012''::text', '''s010'', ''s012''')
) AS t (col, bounds, plain);

--
-- Errors say what to do.
--
SELECT bounds, ty_candidates('ty_' || col, bounds) FROM (VALUES
	('i8', '1, 2.5'), ('i8', '1.5::float8, 2'), ('i8', 'date ''2026-01-01'', date ''2026-01-02'''),
		('i8', '''one'', ''two'''),
	('i8', '''one''::text, ''two'''), ('i8', '''9223372036854775808'', ''9223372036854775809'''),
	('i2', '''1'', ''40000'''),
	('i2', '1, 40000'), ('i8', '1, ''50000000000'''), ('i8', 'true, false'), ('d', '1, 2'),
	('d', '''2026-02-30'', ''2026-03-01'''),
	('cash', '1, 2'), ('u', '''x'', ''y'''), ('b', '''\x0g'', ''\x00'''), ('b', '1, 2'),
	('s', '1, 2'), ('p', '1, 2'), ('p', '''1'', ''2'''),
	('p', 'box ''1,1,2,2'', box ''1,1,2,2'''), ('net', '''300.0.0.0'', ''300.0.0.1'''),
	('s', '1, ''site010''::text'),
	('i8', 'ARRAY[1], ARRAY[2]'), ('i8', 'ROW(1), ROW(2)')) AS t (col, bounds);
SELECT rencoder_add_query_sample('ty_i8', 1, 2.5);
SELECT rencoder_add_query_sample('ty_i8', 'one', 'two');
SELECT rencoder_add_query_sample('ty_i2', '1', '40000');
SELECT rencoder_add_query_sample('ty_i8', '7', '6');
SELECT rencoder_add_query_sample('ty_i8', '6', '7', 2);
SELECT rencoder_add_query_sample('ty_i8', '6', '7', NULL);
SELECT rencoder_add_query_sample('ty_p', '(NaN,1)', '(1,1)');

-- A NULL is no bound: said, not passed over.
SELECT bounds, ty_candidates('ty_i8', bounds)
FROM unnest('{"NULL, NULL","NULL, 5","5, NULL","NULL::bigint, 5","5, NULL::text"}'::text[]) bounds;
SELECT rencoder_add_query_sample('ty_i8', NULL::bigint, 5);
SELECT rencoder_add_query_sample('ty_i8', 5, NULL);
-- Nor is an index: nothing, as by all functions.
SELECT rencoder_candidates(NULL, 1, 2), rencoder_add_query_sample(NULL, 1, 2) IS NULL;
-- An open end is the type's.
SELECT pages BETWEEN 1 AND table_pages / 2 AS some
FROM rencoder_candidates('ty_tstz', '2026-02-20', 'infinity');

--
-- The column's type modifier neither cuts nor rounds: these are other keys.
--
CREATE TABLE ty_modified (v varchar(3), ch char(3), num numeric(4, 1), ts timestamp(0));
CREATE INDEX ty_modified_all ON ty_modified USING rencoder (v, ch, num, ts);
SELECT count(rencoder_add_query_sample('ty_modified_all', bound, bound, attnum))
FROM (VALUES (1, 'abc'), (1, 'abcd'), (2, 'abc'), (2, 'abcd'), (2, 'abc  '), (3, '0.5'),
	(3, '0.54'), (3, '0.540'),
	(4, '2026-01-01 00:00:00'), (4, '2026-01-01 00:00:00.4')) AS t (attnum, bound);
SELECT attnum, count(DISTINCT lo_key) FROM rencoder_query_samples('ty_modified_all') GROUP BY attnum
ORDER BY attnum;

--
-- Strings: the order of bytes under every collation, as LIKE asks for it; no
-- answer where that is another way round.
--
CREATE TABLE ty_words (w text COLLATE "und-x-icu", l text COLLATE "C", n name COLLATE "und-x-icu",
	filler text) WITH (autovacuum_enabled = off);
INSERT INTO ty_words SELECT word, word, word, repeat('x', 1700)
FROM (SELECT chr(ascii('A') + k % 26) || k / 26 AS word FROM generate_series(0, 51) k
	UNION ALL SELECT chr(ascii('a') + k % 26) || k / 26 FROM generate_series(0, 51) k) t,
		generate_series(1, 4)
ORDER BY word COLLATE "C";
CREATE INDEX ty_words_w ON ty_words USING rencoder (w)
	WITH (pages_per_range = 1, autosummarize = off);
CREATE INDEX ty_words_l ON ty_words USING rencoder (l)
	WITH (pages_per_range = 1, autosummarize = off);
CREATE INDEX ty_words_n ON ty_words USING rencoder (n)
	WITH (pages_per_range = 1, autosummarize = off);
SELECT lo, hi, ty_candidates('ty_words_w', format('%L, %L', lo, hi)) AS by_icu,
	ty_candidates('ty_words_l', format('%L, %L', lo, hi)) AS by_c,
	(SELECT count(DISTINCT (ctid::text::point)[0]) FROM ty_words WHERE w ~>=~ lo
	AND w ~<=~ hi) AS matching
FROM (VALUES ('b', 'c'), ('B', 'C'), ('b1', 'b1'), ('B', 'b'), ('b', 'C')) AS t (lo, hi);
SELECT pages = (SELECT pages FROM rencoder_candidates('ty_words_w', 'b', 'c')) AS as_text
FROM rencoder_candidates('ty_words_w', 'b'::name, 'c'::name);
SELECT ty_candidates('ty_words_n', '''b'', ''c'''),
	ty_candidates('ty_words_n', '''b1'', ''b1''') AS single;
SELECT rencoder_add_query_sample('ty_words_w', 'b', 'c'),
	rencoder_add_query_sample('ty_words_w', 'b1', 'b1');
SELECT rencoder_add_query_sample('ty_words_w', 'b', 'C');
SELECT rencoder_add_query_sample('ty_words_n', 'b', 'c');

-- An index that has learnt nothing yet.
CREATE TABLE ty_empty (u text, p point);
CREATE INDEX ty_empty_u ON ty_empty USING rencoder (u, p);
SELECT * FROM rencoder_candidates('ty_empty_u', 'a', 'b');
SELECT rencoder_add_query_sample('ty_empty_u', 'a', 'b'),
	rencoder_add_query_sample('ty_empty_u', '(1,2)', '(2,1)', 2);
SELECT DISTINCT attnum, source, coder FROM rencoder_query_samples('ty_empty_u') ORDER BY 1;

-- Domains, and corners in any order: the same intervals.
CREATE DOMAIN ty_key AS int8 CHECK (VALUE > 0);
SELECT ty_candidates('ty_i8', '40000000000::ty_key, 50000000000::ty_key') = ty_candidates('ty_i8',
	'40000000000, 50000000000') AS same;
SELECT rencoder_add_query_sample('ty_p', a::point, b::point)
FROM (VALUES ('(31,7)', '(33,5)'), ('(33,5)', '(31,7)'), ('(31,5)', '(33,7)'),
	('(33,7)', '(31,5)')) t (a, b);
SELECT DISTINCT times FROM (SELECT count(*) AS times FROM rencoder_query_samples('ty_p')
	WHERE source = 'added' GROUP BY lo_key, hi_key) AS intervals ORDER BY 1;

--
-- A type of the caller's own, cast by his function: with his rights, not the
-- owner's.
--
CREATE ROLE regress_rencoder_caller;
GRANT SELECT ON ty, ty_words TO regress_rencoder_caller;
CREATE SCHEMA ty_own AUTHORIZATION regress_rencoder_caller;
SET ROLE regress_rencoder_caller;
CREATE TYPE ty_own.pair AS (v int8);
CREATE FUNCTION ty_own.to_int8(ty_own.pair) RETURNS int8 LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'cast by %', current_user;
	RETURN ($1).v;
END $$;
CREATE CAST (ty_own.pair AS int8) WITH FUNCTION ty_own.to_int8(ty_own.pair) AS IMPLICIT;
SELECT pages > 0 AS pages
FROM rencoder_candidates('ty_i8', ROW(40000000000)::ty_own.pair, ROW(50000000000)::ty_own.pair);
-- One that gives NULL, by value and by reference.
CREATE TYPE ty_own.none AS (v int8);
CREATE FUNCTION ty_own.to_nothing(ty_own.none) RETURNS int8 LANGUAGE sql AS 'SELECT NULL::int8';
CREATE CAST (ty_own.none AS int8) WITH FUNCTION ty_own.to_nothing(ty_own.none) AS IMPLICIT;
CREATE TYPE ty_own.mute AS (v int8);
CREATE FUNCTION ty_own.to_silence(ty_own.mute) RETURNS text LANGUAGE sql AS 'SELECT NULL::text';
CREATE CAST (ty_own.mute AS text) WITH FUNCTION ty_own.to_silence(ty_own.mute) AS IMPLICIT;
SELECT * FROM rencoder_candidates('ty_i8', ROW(1)::ty_own.none, ROW(1)::ty_own.none);
SELECT * FROM rencoder_candidates('ty_words_w', ROW(1)::ty_own.mute, ROW(1)::ty_own.mute);
RESET ROLE;
SELECT rencoder_add_query_sample('ty_words_w', ROW(1)::ty_own.mute, ROW(1)::ty_own.mute);
DROP SCHEMA ty_own CASCADE;
REVOKE ALL ON ty, ty_words FROM regress_rencoder_caller;
DROP ROLE regress_rencoder_caller;

DROP TABLE ty, ty_words, ty_empty, ty_modified;
DROP DOMAIN ty_key;
DROP FUNCTION ty_candidates, ty_forms;
