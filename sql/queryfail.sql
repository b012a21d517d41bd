-- query_sample names a table or view: what that does while an index is built
-- must neither lose rows nor fail what rebuilds the index for other reasons.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET rencoder.sample_rate = 0;

CREATE FUNCTION qf_count(index regclass) RETURNS TABLE (source text, n bigint) LANGUAGE sql AS $$
	SELECT source, count(*) FROM rencoder_query_samples(index) GROUP BY 1 ORDER BY 1
$$;

--
-- Rows that come while the samples are read: behind the end of the table as it
-- was, but in its last range.
--
CREATE TABLE qf_grow (a bigint, pad text);
INSERT INTO qf_grow SELECT g, repeat('x', 200) FROM generate_series(1, 3000) g;
CREATE FUNCTION qf_add() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	INSERT INTO public.qf_grow SELECT 1000000 + g, repeat('y', 200) FROM generate_series(1, 60) g;
	RETURN 1;
END $$;
CREATE VIEW qf_adding AS SELECT public.qf_add() AS lo, 5::bigint AS hi;
CREATE INDEX qf_grow_a ON qf_grow USING rencoder (a)
	WITH (pages_per_range = 16, autosummarize = off, query_sample = 'public.qf_adding',
		storage = filter);
SET enable_seqscan = off;
SELECT count(*) FROM qf_grow WHERE a BETWEEN 1000030 AND 1000060;
SELECT rencoder_index_check('qf_grow_a', true);
SELECT count(*), count(*) FILTER (WHERE state = 'summarized') AS summarized
FROM rencoder_ranges('qf_grow_a');
DROP INDEX qf_grow_a;
DROP VIEW qf_adding;
RESET enable_seqscan;

--
-- The same by a function of the index that is not as immutable as it says:
-- while a coder is trained, and while the groups are read.
--
CREATE SEQUENCE qf_calls;
CREATE FUNCTION qf_add_once(calls bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	IF nextval('public.qf_calls') = calls THEN
		INSERT INTO public.qf_grow SELECT 2000000 + g, repeat('y', 200)
		FROM generate_series(1, 60) g;
	END IF;
END $$;
CREATE FUNCTION qf_text(a bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM public.qf_add_once(1500);
	RETURN 'number ' || a::text;
END $$;
CREATE FUNCTION qf_number(a bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM public.qf_add_once(1500);
	RETURN a;
END $$;
CREATE INDEX qf_grow_text ON qf_grow USING rencoder (qf_text(a))
	WITH (pages_per_range = 16, autosummarize = off, storage = filter);
SET enable_seqscan = off;
SELECT count(*) FROM qf_grow WHERE qf_text(a) IN ('number 2000001', 'number 2000059',
	'number 2000060');
SELECT rencoder_index_check('qf_grow_text', true);
DROP INDEX qf_grow_text;
DELETE FROM qf_grow WHERE a > 2000000;
VACUUM FULL qf_grow;
SELECT setval('qf_calls', 1);
CREATE INDEX qf_grow_number ON qf_grow USING rencoder (qf_number(a))
	WITH (pages_per_range = 16, autosummarize = off, storage = filter);
SELECT count(*) FROM qf_grow WHERE qf_number(a) BETWEEN 2000001 AND 2000060;
SELECT rencoder_index_check('qf_grow_number', true);
-- The range that the table ended in is left to VACUUM.
SELECT count(*) - count(*) FILTER (WHERE state = 'summarized') AS unsummarized
FROM rencoder_ranges('qf_grow_number');
VACUUM qf_grow;
SELECT count(*) - count(*) FILTER (WHERE state = 'summarized') AS unsummarized
FROM rencoder_ranges('qf_grow_number');
SELECT count(*) FROM qf_grow WHERE qf_number(a) BETWEEN 2000001 AND 2000060;
DROP TABLE qf_grow;

--
-- On pages that have been read already: of the same group and of one before, by
-- a function in SQL or PL/pgSQL, beside a command that is rolled back.  What is
-- only rolled back does no harm.
--
CREATE TABLE qf_back (v int, pad text);
INSERT INTO qf_back SELECT g, repeat('x', 200) FROM generate_series(1, 20000) g;
DELETE FROM qf_back WHERE v BETWEEN 100 AND 300;
VACUUM qf_back;
CREATE FUNCTION qf_late_plpgsql() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	INSERT INTO public.qf_back VALUES (777777, 'late');
	BEGIN
		INSERT INTO public.qf_back VALUES (888888, 'rolled back');
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN NULL;
	END;
END $$;
CREATE FUNCTION qf_late_sql() RETURNS void LANGUAGE sql VOLATILE AS $$
	INSERT INTO public.qf_back VALUES (777777, 'late')
$$;
CREATE FUNCTION qf_late_not() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	INSERT INTO public.qf_back VALUES (777777, 'rolled back');
	RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN NULL;
END $$;
CREATE FUNCTION qf_liar(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF v = current_setting('qf.at')::int AND nextval('public.qf_calls') = 1 THEN
		EXECUTE 'SELECT public.qf_late_' || current_setting('qf.how') || '()';
	END IF;
	RETURN v;
END $$;
CREATE PROCEDURE qf_try_late(how text, at int) LANGUAGE plpgsql AS $$
DECLARE
	found bigint;
	groups text;
BEGIN
	PERFORM set_config('qf.how', how, false), set_config('qf.at', at::text, false),
		setval('public.qf_calls', 1, false);
	CREATE INDEX qf_back_i ON public.qf_back USING rencoder (public.qf_liar(v))
		WITH (pages_per_range = 2, autosummarize = off, storage = filter);
	SELECT count(*) INTO found FROM public.qf_back WHERE public.qf_liar(v) = 777777;
	SELECT string_agg(format('%s of %s', summarized, n), ', ' ORDER BY g) INTO groups FROM (
		SELECT range_no / 128 AS g, count(*) AS n,
			count(*) FILTER (WHERE state = 'summarized') AS summarized
		FROM public.rencoder_ranges('public.qf_back_i') GROUP BY 1) x;
	RAISE WARNING '% at %: % rows found, summarized %', how, at, found, groups;
	PERFORM public.rencoder_index_check('public.qf_back_i', true);
	DROP INDEX public.qf_back_i;
	DELETE FROM public.qf_back WHERE v = 777777;
END $$;
\set VERBOSITY terse
CALL qf_try_late('plpgsql', 5000);
CALL qf_try_late('sql', 5000);
CALL qf_try_late('not', 5000);
CALL qf_try_late('plpgsql', 15000);
CALL qf_try_late('sql', 15000);
\set VERBOSITY default
DROP TABLE qf_back;
DROP PROCEDURE qf_try_late;
DROP FUNCTION qf_liar, qf_late_plpgsql, qf_late_sql, qf_late_not;
RESET enable_seqscan;

--
-- Errors in reading them, of whatever kind, are warnings where the index is
-- rebuilt, and the samples stay.
--
CREATE TABLE qf (a bigint, pad text);
INSERT INTO qf SELECT g, repeat('x', 200) FROM generate_series(1, 3000) g;
CREATE INDEX qf_pad ON qf (pad);
CREATE TABLE qf_base (x bigint);
INSERT INTO qf_base SELECT generate_series(1, 10);
CREATE FUNCTION qf_gone(x bigint) RETURNS bigint
	LANGUAGE plpgsql AS $$ BEGIN RETURN public.qf_missing(x); END $$;
CREATE FUNCTION qf_slow(x bigint) RETURNS bigint
	LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); RETURN x; END $$;
CREATE VIEW qf_view AS SELECT x AS lo, x AS hi FROM public.qf_base;
CREATE INDEX qf_a ON qf USING rencoder (a)
	WITH (pages_per_range = 4, query_sample = 'public.qf_view', storage = filter);
SELECT * FROM qf_count('qf_a');

CREATE PROCEDURE qf_try(command text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
EXCEPTION WHEN OTHERS THEN
	RAISE WARNING '% failed: %', command, SQLERRM;
END $$;

-- A division by zero.
CREATE OR REPLACE VIEW qf_view AS SELECT x / (x - x) AS lo, x AS hi FROM public.qf_base;
CALL qf_try('CREATE INDEX qf_other ON qf USING rencoder (a) '
	'WITH (query_sample = ''public.qf_view'', storage = filter)');
REINDEX INDEX qf_a;
\set VERBOSITY terse
REINDEX TABLE qf;
VACUUM FULL qf;
CLUSTER qf USING qf_pad;
ALTER TABLE qf ALTER pad TYPE varchar(1000) USING pad || '';
ALTER TABLE qf SET UNLOGGED;
ALTER TABLE qf SET LOGGED;
REINDEX INDEX CONCURRENTLY qf_a;
REINDEX TABLE CONCURRENTLY qf;
SELECT * FROM qf_count('qf_a');
SELECT relname, indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid
WHERE indrelid = 'qf'::regclass ORDER BY 1;
BEGIN;
TRUNCATE qf;
SELECT * FROM qf_count('qf_a');
ROLLBACK;
SELECT * FROM qf_count('qf_a');
SELECT rencoder_index_check('qf_a', true);
-- What was under way in the transaction stays.
BEGIN;
INSERT INTO qf VALUES (5000, 'x');
SAVEPOINT s;
TRUNCATE qf;
ROLLBACK TO s;
REINDEX INDEX qf_a;
SELECT count(*) FROM qf WHERE a = 5000;
COMMIT;
SELECT count(*) FROM qf WHERE a = 5000;

-- A function that is gone.
CREATE OR REPLACE VIEW qf_view AS SELECT public.qf_gone(x) AS lo, x AS hi FROM public.qf_base;
REINDEX INDEX qf_a;
VACUUM FULL qf;
REINDEX INDEX CONCURRENTLY qf_a;
SELECT * FROM qf_count('qf_a');

-- Cancellation is one.
CREATE OR REPLACE VIEW qf_view AS SELECT public.qf_slow(x) AS lo, x AS hi FROM public.qf_base;
SET statement_timeout = '300ms';
REINDEX INDEX qf_a;
TRUNCATE qf;
RESET statement_timeout;
SELECT count(*) FROM qf;
SELECT * FROM qf_count('qf_a');

-- Rights: of the view's owner on what it reads, and of the index's on the view.
CREATE ROLE regress_rencoder_qf;
CREATE ROLE regress_rencoder_qf_view;
CREATE OR REPLACE VIEW qf_view AS SELECT x AS lo, x AS hi FROM public.qf_base;
ALTER VIEW qf_view OWNER TO regress_rencoder_qf_view;
GRANT SELECT ON qf_view TO regress_rencoder_qf;
ALTER TABLE qf OWNER TO regress_rencoder_qf;
REINDEX INDEX qf_a;
VACUUM FULL qf;
REVOKE SELECT ON qf_view FROM regress_rencoder_qf;
REINDEX INDEX qf_a;
REINDEX INDEX CONCURRENTLY qf_a;
SELECT * FROM qf_count('qf_a');
GRANT SELECT ON qf_base TO regress_rencoder_qf_view;
GRANT SELECT ON qf_view TO regress_rencoder_qf;
REINDEX INDEX qf_a;
SELECT * FROM qf_count('qf_a');

--
-- Keys of what others asked for are the owner's, and of those who may see
-- statistics of everybody.
--
\set VERBOSITY default
CREATE ROLE regress_rencoder_qf_reader;
CREATE ROLE regress_rencoder_qf_stats IN ROLE pg_read_all_stats;
GRANT SELECT ON qf TO regress_rencoder_qf_reader, regress_rencoder_qf_stats;
ALTER INDEX qf_a RESET (query_sample);
DROP INDEX qf_a;
DELETE FROM qf_base WHERE x > 1;
CREATE INDEX qf_a ON qf USING rencoder (a)
	WITH (pages_per_range = 4, query_sample = 'public.qf_view', storage = filter);
SELECT rencoder_add_query_sample('qf_a', 12, 13);
SET rencoder.sample_rate = 1;
SET enable_seqscan = off;
DO $$
BEGIN
	-- A scan that passes much is not always recorded.
	FOR i IN 1 .. 1000 LOOP
		PERFORM count(*) FROM public.qf WHERE a BETWEEN 123 AND 125;
		EXIT WHEN EXISTS (SELECT FROM public.qf_count('qf_a') WHERE source = 'scan');
	END LOOP;
END $$;
SET rencoder.sample_rate = 0;
CREATE VIEW qf_samples AS SELECT DISTINCT source, lo_key, hi_key
	FROM rencoder_query_samples('qf_a');
GRANT SELECT ON qf_samples TO PUBLIC;
SELECT * FROM qf_samples ORDER BY source;
SET ROLE regress_rencoder_qf_reader;
SELECT DISTINCT source, lo_key, hi_key FROM rencoder_query_samples('qf_a') ORDER BY source;
SET ROLE regress_rencoder_qf_stats;
SELECT DISTINCT source, lo_key, hi_key FROM rencoder_query_samples('qf_a') ORDER BY source;
SET ROLE regress_rencoder_qf;
SELECT DISTINCT source, lo_key, hi_key FROM rencoder_query_samples('qf_a') ORDER BY source;
RESET ROLE;

DROP TABLE qf, qf_base CASCADE;
DROP PROCEDURE qf_try;
DROP FUNCTION qf_count, qf_gone, qf_slow, qf_add, qf_add_once, qf_text, qf_number;
DROP SEQUENCE qf_calls;
DROP ROLE regress_rencoder_qf, regress_rencoder_qf_view, regress_rencoder_qf_reader,
	regress_rencoder_qf_stats;
