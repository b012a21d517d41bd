-- What SECURITY.md promises of functions and operator classes, each of them: nothing runs with
-- other privileges than the caller's; operators and functions that somebody has put in front of
-- the search path are not called, whatever the type; and a role without privileges learns nothing
-- by any function, whatever it is given.  (Who may call what, and the same traps for expressions
-- of indexes: privileges.sql; hidden rows: rowsecurity.sql.)
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE SCHEMA security;
CREATE ROLE regress_rencoder_sec_owner;
CREATE ROLE regress_rencoder_sec_nobody;
GRANT USAGE ON SCHEMA security TO PUBLIC;

-- The functions of the extension.
CREATE VIEW security.functions AS
	SELECT p.oid, p.oid::regprocedure::text AS function, proname, proargtypes, prosecdef, proacl,
		prosqlbody, proconfig, lanname, extnamespace::regnamespace::text AS home,
		'internal'::regtype = ANY (proargtypes::oid[])
			OR '"any"'::regtype = ANY (proargtypes::oid[]) AS inner_one
	FROM pg_proc p
		JOIN pg_language l ON l.oid = prolang
		JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
		JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
			AND extname = 'rencoder';
--
-- Privileges of functions.
--
SELECT function AS with_others_privileges FROM security.functions WHERE prosecdef;
SELECT function AS without_comment FROM security.functions
WHERE obj_description(oid, 'pg_proc') IS NULL;
-- Names in a body are resolved when the extension is made, or by a path of the function's own.
SELECT function AS finds_names_by_the_callers_path FROM security.functions
WHERE lanname <> 'c' AND prosqlbody IS NULL
	AND proconfig IS DISTINCT FROM '{"search_path=pg_catalog, pg_temp"}';
-- What everybody may do with what the extension has: call functions, which check, and read a view.
SELECT function, proacl FROM security.functions WHERE proacl IS NOT NULL;
SELECT relname, relacl::text ~ '[{,]=r/' AS readable, relacl::text ~ '[{,]=r?[^r/]' AS more
FROM pg_class c JOIN pg_depend d ON d.objid = c.oid AND d.classid = 'pg_class'::regclass
	AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid AND extname = 'rencoder';
-- A superuser creates it; whoever may create an index may use it.
SELECT DISTINCT name, superuser, trusted FROM pg_available_extension_versions
WHERE name = 'rencoder';
CREATE SCHEMA security_own AUTHORIZATION regress_rencoder_sec_owner;
SET ROLE regress_rencoder_sec_owner;
CREATE TABLE security_own.secret (v int8, s text COLLATE "C", n numeric);
INSERT INTO security_own.secret SELECT i * 7919 % 3001, 'secret ' || i, i
FROM generate_series(1, 3000) i;
CREATE INDEX secret_any ON security_own.secret USING rencoder (v, s, n)
	WITH (pages_per_range = 1, autosummarize = off);
CREATE INDEX secret_btree ON security_own.secret (v);
VACUUM ANALYZE security_own.secret;
RESET ROLE;
SET ROLE regress_rencoder_sec_nobody;
DROP EXTENSION rencoder;
RESET ROLE;

--
-- Operators and functions of somebody else, for each type that has an operator class, in front of
-- the search path.  Each counts its calls.
--
CREATE SCHEMA trap;
GRANT USAGE ON SCHEMA trap TO PUBLIC;
CREATE SEQUENCE trap.sprung_times;
CREATE TYPE security.mood AS ENUM ('m00', 'm01', 'm02', 'm03', 'm04', 'm05', 'm06', 'm07');
-- The i-th value of a type, as text.
CREATE FUNCTION security.value_of(type regtype, i int) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT CASE
		WHEN type IN ('text'::regtype, 'varchar', 'bpchar', 'name', 'bytea') THEN 'key ' || i
		WHEN type = '"char"'::regtype THEN chr(48 + i % 70)
		WHEN type IN ('date'::regtype, 'timestamp', 'timestamptz')
			THEN (date '2020-01-01' + i)::text
		WHEN type IN ('time'::regtype, 'timetz') THEN (time '00:00' + i * interval '7 s')::text
		WHEN type = 'interval'::regtype THEN i || ' minutes'
		WHEN type = 'uuid'::regtype THEN md5(i::text)
		WHEN type IN ('macaddr'::regtype, 'macaddr8') THEN '08002b' || lpad(to_hex(i), 6, '0')
		WHEN type = 'cidr'::regtype THEN '10.' || i / 256 || '.' || i % 256 || '.0/24'
		WHEN type = 'inet'::regtype THEN '10.0.' || i / 256 || '.' || i % 256
		WHEN type = 'pg_lsn'::regtype THEN '0/' || to_hex(i)
		WHEN type = 'tid'::regtype THEN '(' || i || ',1)'
		WHEN type = 'bit'::regtype THEN (i % 2)::text
		WHEN type = 'varbit'::regtype THEN i::bit(20)::text
		WHEN type = 'point'::regtype THEN '(' || i % 57 || ',' || i % 59 || ')'
		WHEN type = 'box'::regtype THEN '(' || i % 57 || ',0),(' || i % 57 + 3 || ',9)'
		WHEN type = 'circle'::regtype THEN '<(' || i % 57 || ',5),3>'
		WHEN type = 'polygon'::regtype THEN '((' || i % 57 || ',0),(5,9),(9,0))'
		WHEN type = 'security.mood'::regtype THEN 'm0' || i % 8
		WHEN type IN ('regclass'::regtype, 'regnamespace') THEN '0'
		WHEN type::text ~ '\[\]$' THEN '{}'
		WHEN type = 'boolean'::regtype THEN 'true'
		ELSE (i % 30000)::text
	END
$$;
-- Operators of each class: the type of the column, the operator, the type at its right.
CREATE TABLE security.operators AS
	SELECT CASE opcintype WHEN 'anyenum'::regtype THEN 'security.mood'::regtype
			ELSE opcintype::regtype END AS type, oprname AS operator, oprcode::oid AS code,
		CASE amoprighttype WHEN 'anyenum'::regtype THEN 'security.mood'::regtype
			ELSE amoprighttype::regtype END AS other
	FROM pg_opclass c JOIN pg_am m ON m.oid = opcmethod AND amname = 'rencoder'
		JOIN pg_amop ON amopfamily = opcfamily AND amoplefttype = opcintype
		JOIN pg_operator o ON o.oid = amopopr;
DO $$
DECLARE
	this record;
	body text := 'BEGIN PERFORM pg_catalog.nextval(''trap.sprung_times''); RETURN NULL; END';
BEGIN
	FOR this IN SELECT DISTINCT type, operator, other FROM security.operators LOOP
		EXECUTE format('CREATE OR REPLACE FUNCTION trap.sprung(%s, %s) RETURNS bool
			LANGUAGE plpgsql AS %L', this.type, this.other, body);
		EXECUTE format('CREATE OPERATOR trap.%s (FUNCTION = trap.sprung, LEFTARG = %s,
			RIGHTARG = %s)', this.operator, this.type, this.other);
	END LOOP;
	-- What the operators call, what compares and hashes values, and what the extension calls.
	FOR this IN SELECT proname, proargtypes::regtype[] AS types, prorettype::regtype AS returns
		FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND NOT proretset
			AND cardinality(proargtypes) > 0 AND 'internal'::regtype <> ALL (proargtypes::oid[])
			AND prorettype <> 'internal'::regtype AND prorettype <> 'void'::regtype
			AND (oid IN (SELECT code FROM security.operators)
				OR oid IN (SELECT amproc FROM pg_amproc))
	UNION ALL SELECT proname, proargtypes::regtype[], 'int8'
		FROM security.functions WHERE cardinality(proargtypes) > 0 AND NOT inner_one
	LOOP
		EXECUTE format('CREATE OR REPLACE FUNCTION trap.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L',
			this.proname, array_to_string(this.types, ', '), this.returns, body);
	END LOOP;
END $$;

CREATE FUNCTION security.sprung() RETURNS int8 LANGUAGE sql
	RETURN (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM trap.sprung_times);
-- Runs a statement with the traps in front, and returns how many of them were sprung.
CREATE FUNCTION security.under_traps(statement text) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
	before int8 := security.sprung();
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'trap, pg_catalog, public', true);
	EXECUTE statement;
	PERFORM pg_catalog.set_config('search_path', 'public', true);
	RETURN security.sprung() - before;
END $$;
-- Statements for a table "t" of a type, with an index "i": all that reads its keys.
CREATE FUNCTION security.statements(type regtype, home text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format(s, home, type, security.value_of(type, 5), security.value_of(type, 90))
	FROM unnest(array[
		'CREATE INDEX i ON security.t USING rencoder (v) WITH (pages_per_range = 1)',
		'INSERT INTO security.t TABLE security.more',
		'SELECT %1$s.rencoder_maintain(''security.i'')',
		'INSERT INTO security.t TABLE security.more',
		'SELECT %1$s.rencoder_maintain_index(''security.i'')',
		'SELECT %1$s.rencoder_compact(''security.i'')',
		'SELECT %1$s.rencoder_candidates(''security.i'', %3$L::%2$s, %3$L::%2$s)',
		'SELECT %1$s.rencoder_candidates(''security.i'', %3$L, %3$L)',
		'SELECT %1$s.rencoder_estimate_count(''security.i'', %3$L, %3$L)',
		'SELECT %1$s.rencoder_index_stats(''security.i'')',
		'SELECT %1$s.rencoder_index_stats_reset(''security.i'')',
		'SELECT %1$s.rencoder_add_query_sample(''security.i'', %3$L::%2$s, %3$L::%2$s)',
		'SELECT * FROM %1$s.rencoder_query_samples(''security.i'')',
		'SELECT %1$s.rencoder_runs(''security.i'')',
		'SELECT %1$s.rencoder_metapage(''security.i'')',
		'SELECT * FROM %1$s.rencoder_stat_indexes',
		'SELECT %1$s.rencoder_index_check(''security.i'', true)',
		'REINDEX INDEX security.i',
		'ANALYZE security.t',
		'SELECT %1$s.rencoder_estimate(''security.t'', ''v'')',
		'CREATE INDEX f ON security.t USING rencoder (v)
			WITH (storage = filter, pages_per_range = 1)',
		'SELECT %1$s.rencoder_index_check(''security.f'', true)',
		'DROP INDEX security.f']) WITH ORDINALITY u (s, n) ORDER BY n
$$;
-- Functions that are missing there, but those that rencoder_estimate(), rencoder_maintain() call.
SELECT function AS not_tried FROM security.functions
WHERE proargtypes[0] = 'regclass'::regtype
	AND proname NOT IN ('rencoder_look_at', 'rencoder_maintainable')
	AND NOT EXISTS (SELECT FROM security.statements('int8', '') s WHERE s ~ (proname || '\('));
-- Conditions with PostgreSQL's operators, by name, and how many rows the index finds of those that
-- are there.
CREATE FUNCTION security.differences(type regtype) RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	this record;
	query text;
	found int8[];
	n int8;
	different int := 0;
BEGIN
	FOR this IN SELECT o.operator, o.other FROM security.operators o WHERE o.type = type LOOP
		query := format('SELECT count(*) FROM security.t WHERE v OPERATOR(pg_catalog.%s) %L::%s',
			this.operator, security.value_of(this.other, 5), this.other);
		found := '{}';
		FOR i IN 0 .. 1 LOOP
			PERFORM pg_catalog.set_config('enable_seqscan', (i = 0)::text, true),
				pg_catalog.set_config('rencoder.enable_scan', (i = 1)::text, true),
				pg_catalog.set_config('search_path', 'trap, pg_catalog, public', true);
			EXECUTE query INTO n;
			PERFORM pg_catalog.set_config('search_path', 'public', true);
			found := found || n;
		END LOOP;
		IF found[1] <> found[2] THEN
			different := different + 1;
		END IF;
	END LOOP;
	RETURN different;
END $$;
CREATE TABLE security.results (type regtype, operators int, statements int, sprung int8,
	different int);
DO $$
DECLARE
	home text := (SELECT min(f.home) FROM security.functions f);
	this record;
	statement text;
	n int;
	sprung int8;
	different int;
BEGIN
	FOR this IN SELECT type, count(*) AS operators FROM security.operators GROUP BY type LOOP
		EXECUTE format('CREATE TABLE security.t (v %s)', this.type);
		EXECUTE format('INSERT INTO security.t
			SELECT security.value_of(%L, i)::%s FROM generate_series(0, 999) i',
			this.type, this.type);
		CREATE TABLE security.more AS SELECT * FROM security.t LIMIT 500;
		n := 0;
		sprung := 0;
		FOR statement IN SELECT * FROM security.statements(this.type, home) LOOP
			sprung := sprung + security.under_traps(statement);
			n := n + 1;
		END LOOP;
		sprung := sprung - security.sprung();
		different := security.differences(this.type);
		sprung := sprung + security.sprung();
		INSERT INTO security.results VALUES (this.type, this.operators, n, sprung, different);
		DROP TABLE security.t, security.more;
	END LOOP;
END $$;
SELECT security.under_traps(format('SELECT * FROM %s.rencoder_advise()', min(home))) AS sprung
FROM security.functions;
SELECT type, operators, statements, sprung, different FROM security.results
WHERE sprung > 0 OR different > 0 ORDER BY type::text COLLATE "C";
-- The traps work.
SELECT type, operator, other AS no_trap FROM security.operators
WHERE security.under_traps(format('SELECT NULL::%s %s NULL::%s', type, operator, other)) <> 1;
SELECT count(*) >= 30 AS types, sum(operators) > 200 AS operators,
	sum(statements) > 600 AS statements
FROM security.results;
-- A condition with the trap is not one of the index.
SET search_path = trap, pg_catalog;
EXPLAIN (COSTS OFF) SELECT FROM security_own.secret WHERE n = 5::numeric;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT FROM security_own.secret WHERE n OPERATOR(pg_catalog.=) 5::numeric;
RESET enable_seqscan;
RESET search_path;

--
-- Each function that SQL can call, with arguments of each kind, by a role without privileges.
--
CREATE TABLE security.kinds AS SELECT kind, coalesce(oid, 0) AS oid
FROM (VALUES ('index', 'security_own.secret_any'), ('btree', 'security_own.secret_btree'),
		('table', 'security_own.secret'), ('catalog', 'pg_authid'),
		('its index', 'pg_authid_oid_index'), ('view', 'security.functions'),
		('sequence', 'trap.sprung_times'), ('absent', NULL)) k (kind, name)
	LEFT JOIN pg_class ON oid = name::regclass;
CREATE TABLE security.calls AS
SELECT function, coalesce(kind, '') AS kind,
	format('SELECT count(*) FROM %s.%I(%s) r WHERE NOT r IS NULL', home, proname,
		array_to_string(array(
		SELECT CASE
			WHEN nulls AND type = 'name[]'::regtype THEN 'VARIADIC NULL'
			WHEN nulls THEN 'NULL'
			WHEN type = 'regclass'::regtype THEN quote_literal(k.oid) || '::regclass'
			WHEN type = 'anycompatible'::regtype THEN '5::int8'
			WHEN type = 'anyenum'::regtype THEN '''m01''::security.mood'
			WHEN type = 'name[]'::regtype THEN 'VARIADIC ''{v,s}''::name[]'
			WHEN type = 'regnamespace'::regtype THEN '''security_own'''
			WHEN type::text ~ '\[\]$' THEN format('''{}''::%s', type)
			ELSE format('%L::%s', security.value_of(type, i), type)
		END || CASE WHEN NOT nulls THEN ''
			WHEN type = 'anycompatible'::regtype THEN '::int8'
			WHEN type = 'anyenum'::regtype THEN '::security.mood'
			ELSE '::' || type END
		FROM unnest(proargtypes::regtype[]) WITH ORDINALITY u (type, n) ORDER BY n), ', ')) AS call
FROM security.functions
	LEFT JOIN security.kinds k ON 'regclass'::regtype = ANY (proargtypes::oid[]),
	(VALUES (false, 1), (false, 29999), (true, 0)) v (nulls, i)
WHERE NOT inner_one;
GRANT SELECT ON security.calls TO PUBLIC;
CREATE FUNCTION security.state_of(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int8;
BEGIN
	EXECUTE call INTO n;
	RETURN CASE WHEN n = 0 THEN 'nothing' ELSE 'something' END;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SET ROLE regress_rencoder_sec_nobody;
SET client_min_messages = error;
CREATE TEMP TABLE states AS
SELECT function, split_part(function, '(', 1) AS short, kind, security.state_of(call) AS state
FROM security.calls;
SET client_min_messages = warning;
SELECT count(*) > 300 AS many_calls, count(DISTINCT function) > 40 AS of_many FROM states;
-- With a relation: denied (42501), of the wrong kind (42809), absent (42704), or nothing.
SELECT kind, string_agg(DISTINCT state, ', ' ORDER BY state) AS states FROM states
WHERE kind <> '' AND short <> 'rencoder_maintainable' GROUP BY kind ORDER BY kind COLLATE "C";
-- Of these, who gets no error: what skips what is not the caller's; and null of null.
SELECT short, string_agg(DISTINCT state, ', ' ORDER BY state) AS states
FROM states WHERE kind = 'index' GROUP BY short ORDER BY short COLLATE "C";
SELECT short AS something_of_nothing FROM states
WHERE kind = 'absent' AND state = 'something' GROUP BY short;
-- Others take values, and return what they make of them; or have what the caller may see.
SELECT short, string_agg(DISTINCT state, ', ' ORDER BY state) AS states
FROM states WHERE kind = '' AND short !~ '_key$' GROUP BY short ORDER BY short COLLATE "C";
SELECT function AS error_of_a_key, state FROM states
WHERE short ~ '_key$' AND state !~ 'thing';
SELECT count(*) AS statistics FROM rencoder_statistics() r WHERE r::text ~ 'secret';
SELECT count(*) AS advice FROM rencoder_advise() r WHERE r::text ~ 'secret';
SELECT count(*) AS indexes FROM rencoder_stat_indexes r WHERE r::text ~ 'secret';
RESET ROLE;
-- The owner is told of them.
SET ROLE regress_rencoder_sec_owner;
SELECT count(*) > 0 AS advice FROM rencoder_advise() r WHERE r::text ~ 'secret';
SELECT count(*) AS indexes FROM rencoder_stat_indexes r WHERE r::text ~ 'secret';
RESET ROLE;

DROP TABLE states;
DROP SCHEMA trap, security, security_own CASCADE;
DROP ROLE regress_rencoder_sec_owner, regress_rencoder_sec_nobody;
