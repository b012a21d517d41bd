-- Random strings, random queries, whatever the history of the table.  Each
-- kind of string for each type; built with rows, and before there were any.
\getenv abs_srcdir PG_ABS_SRCDIR
\set strings :abs_srcdir '/sql/include/strings.sql'
CREATE SCHEMA strings_random;
SET search_path = strings_random, public;
\set ECHO none
\i :strings
\set ECHO all

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
			WITH (pages_per_range = 1, false_pages = %s)',
			t.name || '_v', t.name, (ARRAY[100, 0.5, 0.0005])[1 + floor(random() * 3)::int]);
		IF t.empty THEN
			PERFORM st_fill(t, 1, 600);
		END IF;
	END LOOP;
END $$;
SELECT * FROM st_run('built', 12);
SELECT st_fill(t, 601, 1500) FROM st_tables t ORDER BY name \g /dev/null
SELECT * FROM st_run('inserted', 8);
SELECT rencoder_maintain_index((name || '_v')::regclass) FROM st_tables
ORDER BY name \g /dev/null
SELECT * FROM st_run('maintained', 12);
SELECT st_each('UPDATE %1$I SET v = st_string(%2$L, %3$L)::%2$I WHERE id %% 7 = 3');
SELECT * FROM st_run('updated', 8);
SELECT st_each('DELETE FROM %1$I WHERE id BETWEEN 300 AND 500 OR id %% 5 = 1');
SELECT string_agg(name, ', ' ORDER BY name) AS tables FROM st_tables \gset
VACUUM :tables;
SELECT st_fill(t, 1501, 1800) FROM st_tables t ORDER BY name \g /dev/null
SELECT * FROM st_run('vacuumed and filled', 8);
SELECT rencoder_compact((name || '_v')::regclass, 5, 40) FROM st_tables ORDER BY name \g /dev/null
VACUUM :tables;
SELECT * FROM st_run('read again', 8);
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
-- Two generations of keys do not mix: runs made before there was anything to
-- learn from, and later ones.
--
CREATE TABLE t_grow (id int, v text, few text);
CREATE INDEX t_grow_v ON t_grow USING rencoder (v, few)
	WITH (pages_per_range = 1);
CREATE FUNCTION st_grow(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t_grow SELECT i, 'https://www.example.com/' || md5(i::text),
		'https://www.example.com/' || i % 20 FROM generate_series(first, last) i
$$;
SELECT st_grow(1, 5000);
SELECT rencoder_maintain_index('t_grow_v') >= 0 AS maintained;
REINDEX INDEX t_grow_v;
SELECT st_grow(5001, 30000);
VACUUM t_grow;
SELECT * FROM st_counts('t_grow', $$few = 'https://www.example.com/7'$$,
	$$few LIKE 'https://www.example.com/1%'$$, $$few = 'https://www.example.com/20'$$,
	$$v = 'https://www.example.com/' || md5('77')$$,
	$$v = 'https://www.example.com/' || md5('29000')$$,
	$$few > 'https://www.example.com/8' AND v < 'https://www.example.com/1'$$);
SELECT rencoder_index_check('t_grow_v', true);

-- Workers, of a condition with many rows.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT st_planner(true) \g /dev/null
ANALYZE t_grow;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t_grow WHERE few LIKE 'https://www.example.com/1%';
SELECT count(*) FROM t_grow WHERE few LIKE 'https://www.example.com/1%';

SET client_min_messages = error;
DROP SCHEMA strings_random CASCADE;
