-- Who may call which function, for each function of the extension as its comment says it;
-- and that functions and operators of others, in front of the search path, are not called.
SET client_min_messages = warning;
CREATE ROLE regress_rencoder_priv_owner;
CREATE ROLE regress_rencoder_priv_reader;
CREATE ROLE regress_rencoder_priv_column;
CREATE ROLE regress_rencoder_priv_hidden;
CREATE ROLE regress_rencoder_priv_monitor IN ROLE pg_stat_scan_tables;
CREATE ROLE regress_rencoder_priv_nobody;
CREATE SCHEMA privileges;
GRANT USAGE ON SCHEMA privileges TO PUBLIC;

-- A table with a policy, another without one.
CREATE TABLE privileges.open (v int8, s text, other int);
INSERT INTO privileges.open SELECT i, 'text ' || i, i FROM generate_series(1, 2000) i;
CREATE TABLE privileges.closed (LIKE privileges.open);
INSERT INTO privileges.closed TABLE privileges.open;
CREATE INDEX open_v ON privileges.open USING rencoder (v, s)
	WITH (pages_per_range = 1, autosummarize = off);
CREATE INDEX closed_v ON privileges.closed USING rencoder (v, s)
	WITH (pages_per_range = 1, autosummarize = off);
ALTER TABLE privileges.open OWNER TO regress_rencoder_priv_owner;
ALTER TABLE privileges.closed OWNER TO regress_rencoder_priv_owner;
GRANT SELECT ON privileges.open TO regress_rencoder_priv_reader;
GRANT SELECT (v) ON privileges.open TO regress_rencoder_priv_column;
GRANT SELECT ON privileges.closed TO regress_rencoder_priv_hidden;
ALTER TABLE privileges.closed ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON privileges.closed USING (v < 5);

-- The functions that take an index: a call of each, and who may, by its comment.
CREATE VIEW privileges.functions AS
	SELECT p.oid::regprocedure::text AS function, comment,
		substring(comment FROM '\(([^()]*)\)$') AS who,
		format('SELECT * FROM %s.%I(%s)', pronamespace::regnamespace, proname, args) AS call
	FROM pg_proc p
		JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
			AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
		JOIN pg_extension e ON e.oid = d.refobjid AND extname = 'rencoder',
		obj_description(p.oid, 'pg_proc') comment,
		LATERAL (SELECT string_agg(CASE type
				WHEN 'regclass'::regtype THEN '%1$L'
				WHEN 'bigint'::regtype THEN '0'
				WHEN 'integer'::regtype THEN '1'
				WHEN 'boolean'::regtype THEN 'true'
				WHEN 'anycompatible'::regtype THEN '3::int8'
				WHEN 'anycompatiblearray'::regtype THEN '''{3}''::int8[]'
				ELSE format('(an argument of type %s)', type) END, ', ' ORDER BY n) AS args
			FROM unnest(proargtypes) WITH ORDINALITY u (type, n)) a
	WHERE proargnames[1] = 'index';
GRANT SELECT ON privileges.functions TO PUBLIC;
CREATE FUNCTION privileges.try(index regclass, call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format(call, index);
	RETURN 'may';
EXCEPTION WHEN insufficient_privilege THEN
	RETURN 'may not';
END $$;
-- What each function said to the role: those that it may call.
CREATE FUNCTION privileges.callable(index regclass) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT function FROM privileges.functions
	WHERE privileges.try(index, call) = 'may' ORDER BY function COLLATE "C"
$$;

-- What is known of each.  Functions that operator classes call take values, and have no
-- privileges to check; what else takes no index is seen here.
SELECT function, who FROM privileges.functions ORDER BY function COLLATE "C";
SELECT p.oid::regprocedure AS neither
FROM pg_proc p
	JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND extname = 'rencoder'
WHERE proargnames[1] IS DISTINCT FROM 'index'
	AND p.oid NOT IN (SELECT amproc FROM pg_amproc UNION SELECT amhandler FROM pg_am);

-- The owner may call all, also with row security, which does not apply to him.
SET ROLE regress_rencoder_priv_owner;
SELECT function AS owner_may_not FROM privileges.functions
WHERE privileges.try('privileges.open_v', call) <> 'may'
	OR privileges.try('privileges.closed_v', call) <> 'may';
-- Others may what the comments say.
SET ROLE regress_rencoder_priv_reader;
SELECT * FROM privileges.callable('privileges.open_v');
SELECT function AS not_as_the_comment_says, who FROM privileges.functions
WHERE privileges.try('privileges.open_v', call) <>
	CASE WHEN who ~ 'readers of the table' THEN 'may' ELSE 'may not' END;
SET ROLE regress_rencoder_priv_monitor;
SELECT * FROM privileges.callable('privileges.open_v');
SELECT function AS not_as_the_comment_says, who FROM privileges.functions
WHERE privileges.try('privileges.open_v', call) <>
	CASE WHEN who ~ 'pg_stat_scan_tables' THEN 'may' ELSE 'may not' END;
SET ROLE regress_rencoder_priv_nobody;
SELECT privileges.callable('privileges.open_v') AS nobody_may;
-- Who reads some columns, or some rows, does not read the table.
SET ROLE regress_rencoder_priv_column;
SELECT privileges.callable('privileges.open_v') AS reader_of_a_column_may;
SET ROLE regress_rencoder_priv_hidden;
SELECT privileges.callable('privileges.closed_v') AS reader_of_some_rows_may;
RESET ROLE;
-- REVOKE works as for any function.
REVOKE EXECUTE ON FUNCTION rencoder_metapage FROM PUBLIC;
SET ROLE regress_rencoder_priv_owner;
SELECT function AS revoked FROM privileges.functions
WHERE privileges.try('privileges.open_v', call) <> 'may';
RESET ROLE;
GRANT EXECUTE ON FUNCTION rencoder_metapage TO PUBLIC;

--
-- Operators, functions, casts and types of somebody else, who may create them in a schema
-- that the search path has in front of all.  All say so when they are called.
--
CREATE SCHEMA trap;
DO $$
DECLARE
	body text := 'BEGIN RAISE WARNING ''a function of somebody else ran, as %'', current_user;
		RETURN null; END';
	type text;
	operator text;
	kind record;
BEGIN
	FOREACH type IN ARRAY '{int8,int4,text,regclass,oid,bool,numeric}'::text[] LOOP
		EXECUTE format('CREATE FUNCTION trap.sprung(%s, %1$s) RETURNS bool LANGUAGE plpgsql AS %L',
			type, body);
		FOREACH operator IN ARRAY '{<,<=,=,>=,>,<>}'::text[] LOOP
			EXECUTE format('CREATE OPERATOR trap.%s (FUNCTION = trap.sprung, LEFTARG = %s,
				RIGHTARG = %2$s)', operator, type);
		END LOOP;
	END LOOP;
	FOR kind IN SELECT DISTINCT proname, proargtypes FROM pg_proc
		WHERE (proname IN ('int8ge', 'int8le', 'int8eq', 'int8', 'text_ge', 'texteq', 'btint8cmp',
			'bttextcmp', 'hashint8') OR proname ~ '^rencoder_')
			AND NOT proargtypes::oid[] @> array['internal'::regtype::oid]
			AND cardinality(proargtypes::oid[]) > 0 LOOP
		EXECUTE format('CREATE FUNCTION trap.%I(%s) RETURNS int8 LANGUAGE plpgsql AS %L',
			kind.proname, array_to_string(kind.proargtypes::oid[]::regtype[], ', '), body);
	END LOOP;
END $$;
CREATE FUNCTION trap.plus(int8, int8) RETURNS int8 LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'an operator of somebody else ran, as %', current_user;
	RETURN 0;
END $$;
CREATE OPERATOR trap.+ (FUNCTION = trap.plus, LEFTARG = int8, RIGHTARG = int8);
GRANT USAGE ON SCHEMA trap TO PUBLIC;
CREATE INDEX open_filter ON privileges.open USING rencoder (v)
	WITH (pages_per_range = 1, autosummarize = off);
-- An expression of an index that means the operators of PostgreSQL, without a path of its own.
CREATE FUNCTION privileges.twice(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN v + v;
END $$;
CREATE INDEX open_twice ON privileges.open USING rencoder (privileges.twice(v))
	WITH (pages_per_range = 1, autosummarize = off);

-- The traps work.
SET search_path = trap, pg_catalog, public;
SELECT 1::int8 = 1::int8 AS trapped, privileges.twice(1) AS trapped_too;
SET search_path = public;
-- All calls, prepared with a path that is safe.
CREATE TABLE privileges.calls AS
SELECT function, format(call, i) AS call
FROM privileges.functions,
	unnest('{privileges.open_v,privileges.open_twice,privileges.open_filter}'::text[]) i
WHERE i <> 'privileges.open_filter' OR function !~ 'compact';
CREATE FUNCTION privileges.call_all() RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	call text;
	n int;
BEGIN
	n := 0;
	FOR call IN SELECT call FROM privileges.calls ORDER BY call COLLATE "C" LOOP
		PERFORM pg_catalog.set_config('search_path', 'trap, pg_catalog, public', true);
		EXECUTE call;
		PERFORM pg_catalog.set_config('search_path', 'public', true);
		n := n + 1;
	END LOOP;
	RETURN n;
END $$;
SELECT privileges.call_all() = (SELECT count(*) FROM privileges.calls) AS all_called;
INSERT INTO privileges.open SELECT i, 'text ' || i, i FROM generate_series(2001, 4000) i;
SELECT privileges.call_all() > 20 AS many_called;
SELECT rencoder_index_check('privileges.open_twice', true);
-- Nor by VACUUM, on any version.
DELETE FROM privileges.open WHERE v % 2 = 0;
INSERT INTO privileges.open SELECT i, 'text ' || i, i FROM generate_series(4001, 6000) i;
SET search_path = trap, pg_catalog, public;
VACUUM privileges.open;
SET search_path = public;
SELECT rencoder_index_check('privileges.open_twice', true);
-- REINDEX before PostgreSQL 17, and INSERT, evaluate expressions with the path of the session,
-- for indexes of any kind; there is none now.
DROP INDEX privileges.open_twice;
SET search_path = trap, pg_catalog, public;
INSERT INTO privileges.open VALUES (1, 'text', 1);
REINDEX TABLE privileges.open;
SET search_path = public;
SELECT rencoder_index_check('privileges.open_v', true);

-- The extension finds PostgreSQL's operators and types, whatever the schema has that it is
-- created in, and replaces no function of others.
CREATE DATABASE regress_rencoder_trap TEMPLATE template0;
\set old :DBNAME
\c regress_rencoder_trap
SET client_min_messages = warning;
CREATE SCHEMA trap;
CREATE FUNCTION trap.sprung(int8, int8) RETURNS bool LANGUAGE sql RETURN false;
CREATE FUNCTION trap.sprung(text, text) RETURNS bool LANGUAGE sql RETURN false;
CREATE OPERATOR trap.= (FUNCTION = trap.sprung, LEFTARG = int8, RIGHTARG = int8);
CREATE OPERATOR trap.>= (FUNCTION = trap.sprung, LEFTARG = int8, RIGHTARG = int8);
CREATE OPERATOR trap.~~ (FUNCTION = trap.sprung, LEFTARG = text, RIGHTARG = text);
CREATE DOMAIN trap.int4 AS text;
SET search_path = trap, pg_catalog;
CREATE EXTENSION rencoder SCHEMA trap;
SELECT count(*) > 200 AS operators,
	count(*) FILTER (WHERE oprnamespace <> 'pg_catalog'::regnamespace) AS of_others
FROM pg_amop JOIN pg_operator o ON o.oid = amopopr JOIN pg_am a ON a.oid = amopmethod
WHERE amname = 'rencoder';
SELECT opcname, opcintype::regtype FROM pg_opclass
	JOIN pg_type t ON t.oid = opcintype JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'rencoder' AND typnamespace <> 'pg_catalog'::regnamespace;
DROP EXTENSION rencoder;
-- Nor does it call, or bind to, what fits better.
CREATE FUNCTION trap.format(text, text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RAISE 'trap.format() was called';
END $$;
\set SHOW_CONTEXT never
CREATE EXTENSION rencoder SCHEMA trap;
DROP FUNCTION trap.format(text, text);
CREATE FUNCTION trap.times(integer, float8) RETURNS float8 LANGUAGE sql RETURN 0;
CREATE OPERATOR trap.* (FUNCTION = trap.times, LEFTARG = integer, RIGHTARG = float8);
CREATE EXTENSION rencoder SCHEMA trap;
DROP OPERATOR trap.* (integer, float8);
CREATE FUNCTION trap.rencoder_metapage(regclass) RETURNS int LANGUAGE sql RETURN 1;
CREATE EXTENSION rencoder SCHEMA trap;
\set SHOW_CONTEXT errors
\c :old
SET client_min_messages = warning;
DROP DATABASE regress_rencoder_trap;

DROP SCHEMA trap CASCADE;
DROP SCHEMA privileges CASCADE;
DROP ROLE regress_rencoder_priv_owner, regress_rencoder_priv_reader, regress_rencoder_priv_column,
	regress_rencoder_priv_hidden, regress_rencoder_priv_monitor, regress_rencoder_priv_nobody;
