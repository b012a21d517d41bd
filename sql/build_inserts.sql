-- Rows that come while an index is built, by functions of its expressions that are not as immutable
-- as they say: none is lost.  And what such functions do while the index is maintained.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET rencoder.sample_rate = 0;

CREATE TABLE bi_grow (a bigint, pad text);
INSERT INTO bi_grow SELECT g, repeat('x', 200) FROM generate_series(1, 3000) g;

--
-- Behind the end of the table as it was: while a coder is trained, and
-- while the table is read.
--
CREATE SEQUENCE bi_calls;
CREATE FUNCTION bi_add_once(calls bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	IF nextval('public.bi_calls') = calls THEN
		INSERT INTO public.bi_grow SELECT 2000000 + g, repeat('y', 200)
		FROM generate_series(1, 60) g;
	END IF;
END $$;
CREATE FUNCTION bi_text(a bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM public.bi_add_once(1500);
	RETURN 'number ' || a::text;
END $$;
CREATE FUNCTION bi_number(a bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM public.bi_add_once(1500);
	RETURN a;
END $$;
CREATE INDEX bi_grow_text ON bi_grow USING rencoder (bi_text(a))
	WITH (pages_per_range = 16, autosummarize = off);
SET enable_seqscan = off;
SELECT count(*) FROM bi_grow WHERE bi_text(a) IN ('number 2000001', 'number 2000059',
	'number 2000060');
SELECT rencoder_index_check('bi_grow_text', true);
DROP INDEX bi_grow_text;
DELETE FROM bi_grow WHERE a > 2000000;
VACUUM FULL bi_grow;
SELECT setval('bi_calls', 1);
CREATE INDEX bi_grow_number ON bi_grow USING rencoder (bi_number(a))
	WITH (pages_per_range = 16, autosummarize = off);
SELECT count(*) FROM bi_grow WHERE bi_number(a) BETWEEN 2000001 AND 2000060;
SELECT rencoder_index_check('bi_grow_number', true);
-- Pages in doubt are behind the frontier.  They are left to maintenance.
SELECT pg_relation_size('bi_grow') / current_setting('block_size')::int > frontier AS behind
FROM rencoder_metapage('bi_grow_number');
SELECT rencoder_maintain_index('bi_grow_number') > 0 AS maintained;
SELECT pg_relation_size('bi_grow') / current_setting('block_size')::int - frontier AS behind
FROM rencoder_metapage('bi_grow_number');
SELECT count(*) FROM bi_grow WHERE bi_number(a) BETWEEN 2000001 AND 2000060;
DROP TABLE bi_grow;

--
-- On pages that have been read already, by
-- a function in SQL or PL/pgSQL, beside a command that is rolled back.  What is
-- only rolled back does no harm.
--
CREATE TABLE bi_back (v int, pad text);
INSERT INTO bi_back SELECT g, repeat('x', 200) FROM generate_series(1, 20000) g;
DELETE FROM bi_back WHERE v BETWEEN 100 AND 300;
VACUUM bi_back;
CREATE FUNCTION bi_late_plpgsql() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	INSERT INTO public.bi_back VALUES (777777, 'late');
	BEGIN
		INSERT INTO public.bi_back VALUES (888888, 'rolled back');
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN NULL;
	END;
END $$;
CREATE FUNCTION bi_late_sql() RETURNS void LANGUAGE sql VOLATILE AS $$
	INSERT INTO public.bi_back VALUES (777777, 'late')
$$;
CREATE FUNCTION bi_late_not() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	INSERT INTO public.bi_back VALUES (777777, 'rolled back');
	RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN NULL;
END $$;
CREATE FUNCTION bi_liar(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF v = current_setting('bi.at')::int AND nextval('public.bi_calls') = 1 THEN
		EXECUTE 'SELECT public.bi_late_' || current_setting('bi.how') || '()';
	END IF;
	RETURN v;
END $$;
CREATE PROCEDURE bi_try_late(how text, at int) LANGUAGE plpgsql AS $$
DECLARE
	found bigint;
	frontier bigint;
BEGIN
	PERFORM set_config('bi.how', how, false), set_config('bi.at', at::text, false),
		setval('public.bi_calls', 1, false);
	CREATE INDEX bi_back_i ON public.bi_back USING rencoder (public.bi_liar(v))
		WITH (pages_per_range = 2, autosummarize = off);
	SELECT count(*) INTO found FROM public.bi_back WHERE public.bi_liar(v) = 777777;
	SELECT m.frontier INTO frontier FROM public.rencoder_metapage('public.bi_back_i') m;
	RAISE WARNING '% at %: % rows found, frontier %', how, at, found, frontier;
	PERFORM public.rencoder_index_check('public.bi_back_i', true);
	DROP INDEX public.bi_back_i;
	DELETE FROM public.bi_back WHERE v = 777777;
END $$;
\set VERBOSITY terse
CALL bi_try_late('plpgsql', 5000);
CALL bi_try_late('sql', 5000);
CALL bi_try_late('not', 5000);
CALL bi_try_late('plpgsql', 15000);
CALL bi_try_late('sql', 15000);
\set VERBOSITY default
DROP TABLE bi_back;
DROP PROCEDURE bi_try_late;
DROP FUNCTION bi_liar, bi_late_plpgsql, bi_late_sql, bi_late_not, bi_add_once, bi_text, bi_number;
DROP SEQUENCE bi_calls;

--
-- A function of the index that maintains it, while it is being maintained: an error, which leaves
-- the index as it was.
--
CREATE TABLE bi_nested (a bigint, pad text) WITH (autovacuum_enabled = off);
CREATE FUNCTION bi_maintain(a bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF a = 2000 AND current_setting('bi.command', true) <> '' THEN
		EXECUTE current_setting('bi.command');
	END IF;
	RETURN a;
END $$;
CREATE INDEX bi_nested_a ON bi_nested USING rencoder (bi_maintain(a))
	WITH (pages_per_range = 1, autosummarize = off);
INSERT INTO bi_nested SELECT g, repeat('x', 200) FROM generate_series(1, 6000) g;
SELECT rencoder_maintain_index('bi_nested_a');
UPDATE bi_nested SET a = a + 1 WHERE a = 5;
SET bi.command = 'SELECT public.rencoder_compact(''public.bi_nested_a'')';
SELECT rencoder_compact('bi_nested_a');
SET bi.command = 'SELECT public.rencoder_maintain_index(''public.bi_nested_a'')';
SELECT rencoder_compact('bi_nested_a');
RESET bi.command;
SELECT rencoder_compact('bi_nested_a');
SELECT rencoder_index_check('bi_nested_a', true);
SELECT count(*) FROM bi_nested WHERE bi_maintain(a) IN (1, 2000, 6000);
DROP TABLE bi_nested;
DROP FUNCTION bi_maintain;
