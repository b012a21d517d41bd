-- Randomised: whatever the data, the query and the history of the table, a
-- scan of the index finds the rows that a sequential scan finds.
--
-- RENCODER_SEED=n in the environment gives other data and queries.  Output is
-- the same for all seeds; a difference is reported with its seed and query.
\getenv seed RENCODER_SEED
SELECT set_config('diff.seed', :'seed', false) \gset ignored_
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET timezone = 'UTC';
SET datestyle = 'ISO';

--
-- Values.  Five kinds of data for each type; edges are always among them.
--
CREATE TABLE diff_types (typ text PRIMARY KEY, others text[], edges text[]);
INSERT INTO diff_types VALUES
	('int2', '{int4,int8}', '{-32768,-32767,32766,32767,0,-1,1}'),
	('int4', '{int2,int8}', '{-2147483648,2147483647,0,-1,1,32768,-32769}'),
	('int8', '{int2,int4}',
	'{-9223372036854775808,-9223372036854775807,9223372036854775807,0,-1,1,2147483648,'
		'-2147483649}'),
	('oid', '{}', '{0,1,2147483647,2147483648,4294967295}'),
	('date', '{timestamp,timestamptz}',
	 '{-infinity,infinity,4713-01-01 BC,5874897-12-31,294276-12-31,294277-01-01,1999-12-31,'
	 '2000-01-01}'),
	('timestamp', '{date,timestamptz}',
	 '{-infinity,infinity,4713-01-01 00:00:00 BC,294276-12-31 23:59:59.999999,'
	 '1999-12-31 23:59:59.999999,2000-01-01 00:00:00}'),
	('timestamptz', '{date,timestamp}',
	 '{-infinity,infinity,4713-01-01 00:00:00+00 BC,294276-12-31 23:59:59.999999+00,'
	 '2000-01-01 00:00:00+00}');

CREATE FUNCTION diff_pick(anyarray) RETURNS anyelement LANGUAGE sql VOLATILE
AS 'SELECT $1[1 + floor(random() * cardinality($1))::int]';

-- A number of about "spread" times a random one, as the kind of data has it.
CREATE FUNCTION diff_number(kind text, domain numeric) RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE
	spread numeric := least(domain, 2000);
BEGIN
	RETURN CASE kind
		WHEN 'uniform' THEN trunc((random()::numeric + random()::numeric / 1e15) * domain)
		WHEN 'narrow' THEN trunc(domain / 2 + (random()::numeric - 0.5) * spread)
		WHEN 'clusters' THEN trunc(domain / 9 * (1 + floor(random() * 8))::numeric
			+ random()::numeric * 20)
		WHEN 'few' THEN trunc(domain / 21 * (1 + floor(random() * 20))::numeric)
		ELSE trunc(domain / 3) END;
END $$;

CREATE FUNCTION diff_value(typ text, kind text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	n numeric;
BEGIN
	IF kind <> 'same' AND random() < 0.01 THEN
		RETURN (SELECT diff_pick(edges) FROM diff_types t WHERE t.typ = diff_value.typ);
	END IF;
	CASE typ
		WHEN 'int2' THEN RETURN (diff_number(kind, 65535) - 32768)::text;
		WHEN 'int4' THEN RETURN (diff_number(kind, 4294967295) - 2147483648)::text;
		WHEN 'int8' THEN RETURN (diff_number(kind,
			18446744073709551615) - 9223372036854775808)::text;
		WHEN 'oid' THEN RETURN diff_number(kind, 4294967295)::text;
		WHEN 'date' THEN
			-- Half of the dates within the years of timestamps.
			n := diff_number(kind, CASE WHEN random() < 0.5 THEN 2147483493 ELSE 109203527 END);
			RETURN date '2000-01-01' + (n - 2451545)::int;
		ELSE
			-- Microseconds, thousands of seconds or days apart.
			n := diff_number(kind, CASE kind WHEN 'uniform' THEN 109203527 ELSE 20000000 END);
			IF kind = 'uniform' THEN
				RETURN (timestamp '4713-01-01 BC' + (n + random()::numeric) * interval '1 day')
					|| CASE typ WHEN 'timestamptz' THEN '+00' ELSE '' END;
			END IF;
			RETURN (timestamp '1999-12-31' + n * interval '12.345678 s')
				|| CASE typ WHEN 'timestamptz' THEN '+00' ELSE '' END;
	END CASE;
END $$;

--
-- Tables.  Columns: id is unique, v has the type, w is an integer; rows from
-- a fifth of a page to a whole one, or many to a page.
--
CREATE TABLE diff_tables (
	name text PRIMARY KEY, typ text, kind text, wide bool, rows int,
	pages_per_range int, bits int, two bool, indexed bool DEFAULT false);

CREATE FUNCTION diff_fill(t diff_tables, first int, last int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	-- Rows of a stretch, some block ranges of the table, all have NULL.
	null_from int := first + (random() * (last - first))::int;
	null_to int := null_from + (random() * (last - first) / 3)::int;
BEGIN
	EXECUTE format(
		'INSERT INTO %I SELECT i,
			CASE WHEN i BETWEEN %s AND %s OR random() < 0.02 THEN NULL
				ELSE diff_value(%L, %L) END::%s,
			CASE WHEN random() < 0.1 THEN NULL ELSE (random() * 100)::int END,
			CASE WHEN %L THEN repeat(''x'', (1400 + random() * 6500)::int) END
		 FROM generate_series(%s, %s) i',
		t.name, null_from, null_to, t.typ, t.kind, t.typ, t.wide, first, last);
END $$;

CREATE FUNCTION diff_create() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	t diff_tables;
	i int := 0;
BEGIN
	FOR t IN
		SELECT typ || '_' || kind, typ, kind, NULL, NULL, NULL, NULL, NULL, false
		FROM diff_types, unnest('{uniform,narrow,clusters,few,same}'::text[]) kind
		ORDER BY 1
	LOOP
		i := i + 1;
		t.name := 'diff_' || t.name;
		t.wide := i % 2 = 0;
		t.two := i % 3 = 0;
		t.rows := CASE WHEN t.wide THEN 400 ELSE 4000 END;
		t.pages_per_range := diff_pick('{1,1,2,8}'::int[]);
		t.bits := diff_pick('{4,10,20,20,64}'::int[]);
		INSERT INTO diff_tables SELECT t.*;
	END LOOP;
	INSERT INTO diff_tables VALUES
		('diff_one_row', 'int8', 'uniform', false, 1, 1, 20, false),
		('diff_no_row', 'int4', 'uniform', false, 0, 2, 20, false),
		('diff_later', 'timestamptz', 'narrow', true, 0, 1, 20, true);
	FOR t IN SELECT * FROM diff_tables ORDER BY name LOOP
		EXECUTE format('CREATE TABLE %I (id int PRIMARY KEY, v %s, w int4, filler text) '
			'WITH (autovacuum_enabled = off)',
					   t.name, t.typ);
		EXECUTE format('ALTER TABLE %I ALTER filler SET STORAGE plain', t.name);
		PERFORM diff_fill(t, 1, t.rows);
		EXECUTE format('CREATE INDEX %I ON %I USING rencoder (v %s) '
			'WITH (pages_per_range = %s, bits_per_key = %s, false_pages = %s, autosummarize = %s, '
			'storage = %s)',
					   t.name || '_v', t.name, CASE WHEN t.two THEN ', w' ELSE '' END,
					   t.pages_per_range, t.bits, least(100, 2.0 ^ (16 - t.bits)), t.bits <> 20,
					   CASE WHEN length(t.name) % 2 = 0 THEN 'filter' ELSE 'run' END);
	END LOOP;
END $$;

--
-- Queries.
--

-- A literal to compare with: of the type or another of its family; a value of
-- the table, as the time zone has it, one beside it, an edge or a random one.
CREATE FUNCTION diff_literal(t diff_tables, zone text, cross_type bool) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	types diff_types;
	target text;
	val text;
	bound text;
	r float8 := random();
BEGIN
	SELECT * INTO types FROM diff_types d WHERE d.typ = t.typ;
	IF r < 0.4 AND t.rows > 0 THEN
		EXECUTE format('SELECT v::text FROM %I WHERE id >= %s AND v IS NOT NULL '
			'ORDER BY id LIMIT 1',
					   t.name, floor(random() * t.rows)) INTO val;
	ELSIF r < 0.5 THEN
		val := diff_pick(types.edges);
	END IF;
	val := coalesce(val, diff_value(t.typ,
		CASE WHEN random() < 0.2 THEN 'uniform' ELSE t.kind END));
	target := t.typ;
	bound := format('%L::%s', val, t.typ);
	IF random() < 0.3 THEN
		bound := bound || CASE
			WHEN t.typ LIKE 'int_' OR t.typ = 'date' THEN ' + '
				|| diff_pick('{-40,-2,-1,1,2,40}'::text[])
			WHEN t.typ LIKE 'timestamp%' THEN format(' + interval %L',
				diff_pick('{-20 h,-1 us,1 us,1 s,20 h}'::text[]))
			ELSE '' END;
	END IF;
	IF cross_type AND random() < 0.3 AND types.others <> '{}' THEN
		target := diff_pick(types.others);
	END IF;
	BEGIN
		IF target = 'timestamptz' AND t.typ <> target THEN
			bound := format('(%s)::timestamp AT TIME ZONE %L', bound, zone);
		ELSIF t.typ = 'timestamptz' AND t.typ <> target THEN
			bound := format('(%s) AT TIME ZONE %L', bound, zone);
		END IF;
		EXECUTE format('SELECT (%s)::%s::text', bound, target) INTO bound;
	EXCEPTION WHEN OTHERS THEN
		-- Out of range.
		target := t.typ;
		bound := val;
	END;
	RETURN format('%L::%s', bound, target);
END $$;

-- A predicate on v.  Parts that may become parameters are in the array.
CREATE FUNCTION diff_predicate(t diff_tables, zone text, OUT predicate text, OUT args text[])
LANGUAGE plpgsql AS $$
DECLARE
	kind int := floor(random() * 13);
	-- IN with dates and timestamps would compare all as timestamps.
	cross_type bool := kind <> 9 OR t.typ !~ 'date|time';
	a text := diff_literal(t, zone, cross_type);
	b text := diff_literal(t, zone, cross_type);
	greatest_edge numeric;
BEGIN
	args := ARRAY[a, b];
	predicate := CASE kind
		WHEN 0 THEN 'v = $1'
		WHEN 1 THEN 'v < $1'
		WHEN 2 THEN 'v <= $1'
		WHEN 3 THEN 'v >= $1'
		WHEN 4 THEN 'v > $1'
		WHEN 5 THEN 'v > $1 AND v < $2'
		WHEN 6 THEN 'v >= $1 AND v < $2'
		WHEN 7 THEN '$1 <= v AND $2 >= v'
		WHEN 8 THEN 'v = $1 AND v > $2'
		WHEN 9 THEN 'v IN ($1, $2, NULL)'
		WHEN 10 THEN 'v IS NULL'
		WHEN 11 THEN 'v BETWEEN $1 AND $2'
		ELSE 'v IS NOT NULL AND v <= $1'
		END;
	IF kind >= 10 AND kind <> 11 OR kind < 5 THEN
		args := CASE WHEN kind = 10 THEN '{}' ELSE args[1:1] END;
	END IF;
	-- Most intervals are short ones.
	IF kind IN (5, 6, 7, 11) AND random() < 0.6 THEN
		IF t.typ LIKE 'int_' THEN
			SELECT max(e::numeric) INTO greatest_edge
			FROM diff_types d, unnest(d.edges) e WHERE d.typ = t.typ;
			EXECUTE format('SELECT format(''%%L::int8'', least(%s::numeric + %s, %s))',
						   a, diff_pick('{0,1,7,100}'::text[]), greatest_edge) INTO b;
		ELSE
			b := a;
		END IF;
		args := ARRAY[a, b];
	END IF;
	-- In both orders alike, if it is not meant to be contradictory.
	IF kind IN (5, 6, 7, 11) AND random() < 0.8 THEN
		EXECUTE format('SELECT CASE WHEN %s > %s THEN ARRAY[%L, %L] ELSE %L END',
					   args[1], args[2], args[2], args[1], args) INTO args;
	END IF;
	IF t.two AND random() < 0.5 THEN
		predicate := CASE WHEN random() < 0.2 THEN '' ELSE predicate || ' AND ' END ||
			diff_pick('{w = 7,w < 3,w IS NULL,w BETWEEN 20 AND 25,w > 100::int8}'::text[]);
		IF predicate NOT LIKE '%$1%' THEN
			args := '{}';
		END IF;
	END IF;
END $$;

CREATE FUNCTION diff_planner(index_on bool) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('enable_seqscan', (NOT index_on)::text, false),
		set_config('enable_bitmapscan', index_on::text, false),
		set_config('enable_indexscan', 'off', false),
		set_config('enable_indexonlyscan', 'off', false),
		set_config('enable_hashjoin', 'off', false),
		set_config('enable_mergejoin', 'off', false),
		set_config('plan_cache_mode', 'force_generic_plan', false)
$$;

-- Complains unless a plan uses the index of the table.
CREATE FUNCTION diff_check_plan(t diff_tables, query text) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ ('Bitmap Index Scan on ' || t.name || '_v')
			OR line ~ 'One-Time Filter: false' THEN
			RETURN true;
		END IF;
		plan := plan || E'\n' || line;
	END LOOP;
	RAISE WARNING 'seed %: the index is not used by: % %', current_setting('diff.seed'), query,
		plan;
	RETURN false;
END $$;

-- Runs a query with the index and without; true if the answers are the same.
CREATE FUNCTION diff_compare(t diff_tables, zone text, source text, args text[]) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT count(*), sum(t.id), bit_xor(hashint4(t.id)) ' || source;
	prepare text;
	run text;
	expected record;
	got record;
	ok bool := true;
BEGIN
	PERFORM set_config('timezone', zone, false);
	IF args <> '{}' AND random() < 0.3 THEN
		-- A prepared statement with a generic plan.
		prepare := format('PREPARE diff_query (%s) AS %s',
						  (SELECT string_agg(split_part(arg, '::', 2), ', ') FROM unnest(args) arg),
						  query);
		EXECUTE prepare;
		run := format('EXECUTE diff_query(%s)', array_to_string(args, ', '));
	ELSE
		FOR i IN REVERSE cardinality(args)..1 LOOP
			query := replace(query, '$' || i, args[i]);
		END LOOP;
		run := query;
	END IF;
	PERFORM diff_planner(false);
	EXECUTE run INTO expected;
	IF prepare IS NOT NULL THEN
		DEALLOCATE diff_query;
		EXECUTE prepare;
	END IF;
	PERFORM diff_planner(true);
	ok := diff_check_plan(t, run);
	EXECUTE run INTO got;
	IF prepare IS NOT NULL THEN
		DEALLOCATE diff_query;
	END IF;
	IF got IS DISTINCT FROM expected THEN
		RAISE WARNING 'seed %, time zone %: % %: expected %, got %', current_setting('diff.seed'),
			zone, query, args, expected, got;
		ok := false;
	END IF;
	PERFORM diff_planner(false), set_config('timezone', 'UTC', false);
	RETURN ok;
END $$;

-- A join that scans the index once for each of some values.
CREATE FUNCTION diff_join(t diff_tables) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	vals text;
	join_on text := diff_pick('{t.v = p.a,t.v <= p.a AND t.v >= p.a,'
		't.v = p.a AND t.v IS NOT NULL}'::text[]);
BEGIN
	SELECT string_agg(format('(%L::%s)',
		CASE WHEN i = 3 THEN NULL ELSE diff_value(t.typ, t.kind) END, t.typ), ', ')
		INTO vals FROM generate_series(1, 6) i;
	RETURN diff_compare(t, 'UTC',
		format('FROM (VALUES %s) p(a) JOIN %I t ON %s', vals, t.name, join_on), '{}');
END $$;

-- Runs "n" queries on each table and checks the index; returns what failed.
CREATE FUNCTION diff_run(phase text, n int) RETURNS TABLE (failed_in text, failures bigint)
LANGUAGE plpgsql AS $$
DECLARE
	t diff_tables;
	p record;
	zone text;
	bad int := 0;
BEGIN
	FOR t IN SELECT * FROM diff_tables ORDER BY name LOOP
		FOR i IN 1..n LOOP
			zone := CASE WHEN t.typ ~ 'date|time' THEN
				diff_pick('{UTC,America/New_York,Asia/Kolkata,Pacific/Kiritimati,<+150>-150,'
					'<-150>+150,AAA-167:59BBB}'::text[])
				ELSE 'UTC' END;
			p := diff_predicate(t, zone);
			IF NOT diff_compare(t, zone, format('FROM %I t WHERE %s', t.name, p.predicate),
				p.args) THEN
				bad := bad + 1;
			END IF;
		END LOOP;
		IF NOT diff_join(t) THEN
			bad := bad + 1;
		END IF;
		PERFORM rencoder_index_check((t.name || '_v')::regclass, true);
	END LOOP;
	RETURN QUERY SELECT phase, bad::bigint WHERE bad > 0;
END $$;

-- Runs a command for each table.
CREATE FUNCTION diff_each(command text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	t diff_tables;
BEGIN
	FOR t IN SELECT * FROM diff_tables ORDER BY name LOOP
		EXECUTE format(command, t.name, t.rows);
	END LOOP;
END $$;

--
-- The history of a table.
--
SELECT setseed(mod(:seed, 1000003) / 1000003.0);
SELECT diff_create();
SELECT string_agg(name, ', ' ORDER BY name) AS tables FROM diff_tables \gset
SELECT * FROM diff_run('built', 25);

-- Rows that no summary knows, in new ranges and, after the first DELETE and
-- VACUUM, in old ones.
SELECT diff_fill(t, t.rows + 1, t.rows + 100 + t.rows / 2) FROM diff_tables t
WHERE name <> 'diff_no_row' ORDER BY name \g /dev/null
UPDATE diff_tables SET rows = rows + 100 + rows / 2 WHERE name <> 'diff_no_row';
SELECT * FROM diff_run('inserted', 12);

SELECT sum(rencoder_maintain_index((name || '_v')::regclass)) > 100 AS summarized
FROM diff_tables;
SELECT * FROM diff_run('maintained', 12);

SELECT diff_each('UPDATE %1$I SET v = (SELECT v FROM %1$I o WHERE o.id = 1 + %1$I.id %% %2$s) '
	'WHERE id %% 7 = 3');
SELECT * FROM diff_run('updated', 12);

-- Whole ranges become empty.
SELECT diff_each('DELETE FROM %1$I WHERE id BETWEEN %2$s / 4 AND %2$s / 2 OR id %% 5 = 1');
SELECT * FROM diff_run('deleted', 12);

VACUUM :tables;
SELECT * FROM diff_run('vacuumed', 12);

SELECT diff_fill(t, t.rows + 1, t.rows + 1 + t.rows / 4) FROM diff_tables t
ORDER BY name \g /dev/null
UPDATE diff_tables SET rows = rows + 1 + rows / 4;
SELECT * FROM diff_run('filled up', 12);

-- A part of the table is read again, then all of it.
SELECT rencoder_compact((name || '_v')::regclass, pages / 3, pages / 3 + 2)
FROM diff_tables, LATERAL (SELECT pg_relation_size(name::regclass)
	/ current_setting('block_size')::int) p (pages)
WHERE pages > 0 ORDER BY name \g /dev/null
SELECT * FROM diff_run('read again', 12);

SELECT sum(rencoder_compact((name || '_v')::regclass)) > 0 AS compacted
FROM diff_tables WHERE pg_relation_size(name::regclass) > 0;
VACUUM :tables;
SELECT * FROM diff_run('compacted', 12);

-- In the order of another column, and of the column itself.
SELECT diff_each('CREATE INDEX %1$s_btree ON %1$I (v, id)');
SELECT diff_each('CLUSTER %1$I USING %1$s_btree');
SELECT diff_each('DROP INDEX %1$s_btree');
SELECT * FROM diff_run('clustered', 12);

VACUUM FULL :tables;
SELECT * FROM diff_run('vacuum full', 12);

SELECT diff_each('REINDEX INDEX %1$s_v');
SELECT * FROM diff_run('reindexed', 12);

-- What a new session sees.
\c -
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT set_config('diff.seed', :'seed', false) \gset ignored_
SELECT setseed(mod(:seed + 1, 1000003) / 1000003.0);
SELECT * FROM diff_run('new session', 12);

SELECT diff_each('TRUNCATE %1$I');
SELECT * FROM diff_run('truncated', 3);
SELECT diff_fill(t, 1, t.rows / 2) FROM diff_tables t ORDER BY name \g /dev/null
SELECT * FROM diff_run('filled again', 6);
VACUUM :tables;
SELECT * FROM diff_run('vacuumed again', 6);

SELECT diff_each('DROP TABLE %1$I');
DROP TABLE diff_tables CASCADE;
DROP TABLE diff_types CASCADE;
DROP FUNCTION diff_pick, diff_number, diff_value, diff_planner, diff_run, diff_each;
