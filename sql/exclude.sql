-- Exclusion constraints: no value twice, whatever becomes of the index; rows are entries from the
-- first one on, so that nobody who looks for a conflict reads what is not indexed.
SET client_min_messages = warning;
SET max_parallel_maintenance_workers = 0;
SET timezone = 'UTC';
CREATE SCHEMA exclude;
SET search_path = exclude, public;
\set VERBOSITY terse

-- Of types, on a table without rows, with a few, and with some on many pages: what is refused is
-- what UNIQUE refuses.
CREATE FUNCTION value_of(type text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE type WHEN 'int2' THEN '(i % 30000)::int2' WHEN 'int4' THEN 'hashint4(i)'
		WHEN 'int8' THEN 'hashint8extended(i, 1)' WHEN 'numeric' THEN 'i / 7.0'
		WHEN 'float8' THEN '(CASE i % 3 WHEN 0 THEN -i ELSE i END / 7.0)::float8'
		WHEN 'date' THEN $v$date '2020-01-01' + i$v$ WHEN 'uuid' THEN 'md5(i::text)::uuid'
		WHEN 'timestamptz' THEN $v$timestamptz '2020-01-01' + i * interval '1 s'$v$
		WHEN 'inet' THEN $v$'10.0.0.0'::inet + i$v$
		WHEN 'bytea' THEN $v$decode(md5(i::text), 'hex')$v$
		ELSE $v$repeat('same ', 5) || i$v$ END
$$;
CREATE FUNCTION insert_both(type text, first int, last int, step int) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	source text := format('SELECT CASE WHEN i %% 50 <> 0 THEN %s END
		FROM generate_series(%s, %s, %s) i', value_of(type), first, last, step);
BEGIN
	EXECUTE 'INSERT INTO b (v) ' || source || ' ON CONFLICT DO NOTHING';
	EXECUTE 'INSERT INTO e (v) ' || source || ' ON CONFLICT DO NOTHING';
	RETURN CASE WHEN EXISTS (SELECT v::text FROM b WHERE v IS NOT NULL
			EXCEPT ALL SELECT v::text FROM e)
		OR (SELECT count(v) FROM b) <> (SELECT count(v) FROM e)
		THEN format('%s to %s differ', first, last) END;
END $$;
CREATE FUNCTION try_type(type text, before int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DROP TABLE IF EXISTS e, b;
		CREATE TABLE e (v %1$s, filler text) WITH (fillfactor = 30, autovacuum_enabled = off);
		CREATE TABLE b (v %1$s UNIQUE, filler text)',
		type || CASE type WHEN 'text' THEN ' COLLATE "C"' ELSE '' END);
	EXECUTE format('INSERT INTO b (v) SELECT %s FROM generate_series(1, %s) i', value_of(type),
		before);
	INSERT INTO e SELECT * FROM b;
	ALTER TABLE e ADD CONSTRAINT e_v EXCLUDE USING rencoder (v WITH =);
	RETURN NEXT insert_both(type, 1, 900, 3);
	-- Deltas, runs read again, dead rows, a shorter table.
	PERFORM rencoder_maintain_index('e_v');
	RETURN NEXT insert_both(type, 1, 900, 2);
	PERFORM rencoder_compact('e_v');
	RETURN NEXT insert_both(type, 1, 1000, 1);
	DELETE FROM e WHERE ctid > '(9,0)';
	DELETE FROM b WHERE v IS NULL OR v NOT IN (SELECT v FROM e WHERE v IS NOT NULL);
	RETURN NEXT insert_both(type, 1, 1200, 1);
	UPDATE e SET filler = 'x' WHERE v IN (SELECT v FROM e LIMIT 50);
	PERFORM rencoder_maintain_index('e_v');
	RETURN NEXT insert_both(type, 600, 1600, 1);
	REINDEX INDEX e_v;
	RETURN NEXT insert_both(type, 1500, 1700, 1);
	PERFORM rencoder_index_check('e_v', true);
END $$;
SELECT type, before, result
FROM unnest('{int2,int4,int8,numeric,float8,date,uuid,timestamptz,inet,bytea,text}'::text[]) type,
	unnest('{0,40,1500}'::int[]) before, try_type(type, before) result WHERE result IS NOT NULL;
SELECT count(*), count(v), count(DISTINCT v) FROM e;

-- No page is behind the frontier, in a table that grows, is emptied, and is cut off.
CREATE FUNCTION uncovered(index regclass, value int8) RETURNS bigint LANGUAGE sql AS
	'SELECT unindexed FROM rencoder_candidates(index, value, value)';
CREATE TABLE f (id int8, filler text, EXCLUDE USING rencoder (id WITH =));
INSERT INTO f SELECT i, repeat('x', 200) FROM generate_series(1, 3000) i;
SELECT uncovered('f_id_excl', 5), uncovered('f_id_excl', 5000);
VACUUM f;
INSERT INTO f SELECT i, repeat('x', 200) FROM generate_series(3001, 9000) i;
SELECT uncovered('f_id_excl', 5);
DELETE FROM f WHERE id > 100;
VACUUM f;
INSERT INTO f SELECT i, repeat('x', 200) FROM generate_series(50, 8000) i ON CONFLICT DO NOTHING;
SELECT uncovered('f_id_excl', 5), count(*), count(DISTINCT id) FROM f;
BEGIN;
TRUNCATE f;
INSERT INTO f SELECT i % 1000 FROM generate_series(1, 3000) i ON CONFLICT DO NOTHING;
SELECT uncovered('f_id_excl', 5), count(*), count(DISTINCT id) FROM f;
ROLLBACK;
TRUNCATE f;
INSERT INTO f SELECT i % 1000 FROM generate_series(1, 3000) i ON CONFLICT DO NOTHING;
SELECT uncovered('f_id_excl', 5), count(*), count(DISTINCT id) FROM f;
SELECT rencoder_index_check('f_id_excl', true);

-- What is read again takes the place of the first run, also for the pages to come.
CREATE TABLE g (id int8, EXCLUDE USING rencoder (id WITH =) WITH (autosummarize = off));
INSERT INTO g SELECT i FROM generate_series(1, 3000) i;
SELECT rencoder_compact('g_id_excl') > 0 AS made;
SELECT kind, count(DISTINCT run) FROM rencoder_runs('g_id_excl')
WHERE state = 'live' GROUP BY kind;

-- What is in the table counts when the constraint is added.
CREATE TABLE twice (id int8);
INSERT INTO twice SELECT i % 4999 FROM generate_series(1, 5000) i;
ALTER TABLE twice ADD CONSTRAINT once EXCLUDE USING rencoder (id WITH =);
DELETE FROM twice WHERE ctid = (SELECT max(ctid) FROM twice);
ALTER TABLE twice ADD CONSTRAINT once EXCLUDE USING rencoder (id WITH =);

-- INSERT and UPDATE that conflict, with rows of this command and others; NULL does not; rows that
-- were rolled back do not.
INSERT INTO twice VALUES (7);
INSERT INTO twice VALUES (-1), (-2), (-1);
UPDATE twice SET id = 8 WHERE id = 7;
UPDATE twice SET id = id WHERE id = 7;
INSERT INTO twice VALUES (NULL), (NULL);
BEGIN;
INSERT INTO twice VALUES (-5);
SAVEPOINT s;
INSERT INTO twice VALUES (-6);
ROLLBACK TO s;
INSERT INTO twice VALUES (-6);
DELETE FROM twice WHERE id = 9;
INSERT INTO twice VALUES (9);
COMMIT;
INSERT INTO twice VALUES (-6), (-7) ON CONFLICT ON CONSTRAINT once DO NOTHING;
INSERT INTO twice VALUES (-8) ON CONFLICT ON CONSTRAINT once DO UPDATE SET id = 1;
INSERT INTO twice VALUES (-8) ON CONFLICT (id) DO NOTHING;
SELECT count(*), count(DISTINCT id) FROM twice;

-- Not deferrable: from PostgreSQL 16 on, a check that was put off finds no row that a HOT update
-- left.
CREATE TABLE d (id int8, EXCLUDE USING rencoder (id WITH =) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE d (id int8, EXCLUDE USING rencoder (id WITH =) DEFERRABLE);
-- One that is made at once does.
CREATE TABLE d (id int8, EXCLUDE USING rencoder (id WITH =)) WITH (fillfactor = 50);
INSERT INTO d SELECT i FROM generate_series(1, 2000) i;
UPDATE d SET id = 5 WHERE id = 7;
UPDATE d SET id = -7 WHERE id = 7;
INSERT INTO d VALUES (-7);
INSERT INTO d VALUES (7);
SELECT count(*), count(DISTINCT id) FROM d;
-- Nor does it get filters later, of as many ranges as all pages to come have.
ALTER INDEX d_id_excl SET (storage = filter);
SELECT rencoder_compact('d_id_excl', 0, 4) AS pages,
	pg_relation_size('d_id_excl') < 1000000 AS small;
SELECT DISTINCT kind FROM rencoder_runs('d_id_excl');
INSERT INTO d VALUES (8);
REINDEX INDEX d_id_excl;
ALTER INDEX d_id_excl RESET (storage);
REINDEX INDEX d_id_excl;

-- Columns that are one key, some of the rows, an expression.
CREATE TABLE c (tenant int, id int8, code text, gone boolean,
	EXCLUDE USING rencoder (tenant WITH =, id WITH =) WITH (composite = on),
	CONSTRAINT c_lower EXCLUDE USING rencoder (lower(code) COLLATE "C" WITH =) WHERE (NOT gone));
INSERT INTO c SELECT i % 20, i % 200, 'Code ' || i, false FROM generate_series(1, 4000) i
ON CONFLICT DO NOTHING;
SELECT count(*), count(DISTINCT (tenant, id)) FROM c;
INSERT INTO c VALUES (NULL, 7, 'x', false), (NULL, 7, 'y', false), (3, NULL, 'z', false),
	(3, NULL, 'Z', true);
INSERT INTO c VALUES (3, 3, 'new', false);
INSERT INTO c VALUES (21, 3, 'CODE 3', false);
INSERT INTO c VALUES (21, 3, 'CODE 3', true);
UPDATE c SET gone = false WHERE tenant = 21;

-- What cannot be.
ALTER TABLE c ADD EXCLUDE USING rencoder (tenant WITH <);
ALTER TABLE c ADD EXCLUDE USING rencoder (tenant WITH <>);
ALTER TABLE c ADD EXCLUDE USING rencoder (tenant WITH =) WITH (storage = filter);
ALTER TABLE c ADD UNIQUE USING INDEX c_tenant_id_excl;
CREATE UNIQUE INDEX ON c USING rencoder (id);
DROP SCHEMA exclude CASCADE;
