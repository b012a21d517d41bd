-- Rows in order: what the index hands out is what a sort of the same rows is, for every type that
-- has an order, both ways, with nulls, bounds, lists and limits, beside what came late.
\getenv abs_srcdir PG_ABS_SRCDIR
\set values :abs_srcdir '/sql/include/values.sql'
\set begin :abs_srcdir '/sql/include/begin.sql'
\set plan_line :abs_srcdir '/sql/include/plan_line.sql'
CREATE SCHEMA ordered;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SET search_path = ordered, public;
\set ECHO none
\i :values
\i :begin
\i :plan_line
\set ECHO all

-- Many values and few; a third is late: entries, deltas, rows that no run covers.
CREATE FUNCTION make_table(type text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DROP TABLE IF EXISTS t;
		CREATE TABLE t (id serial, v %1$s %4$s, few %1$s %4$s, filler text) WITH (fillfactor = 80);
		CREATE FUNCTION pg_temp.fill(first int, last int) RETURNS void LANGUAGE sql AS $fn$
			INSERT INTO t (v, few, filler) SELECT CASE WHEN i %% 40 <> 0 THEN %2$s END,
				(%3$L::%1$s[])[i %% 7 + i / 700 %% 5 + 1], repeat(''x'', 100)
			FROM generate_series(first, last) i;
			INSERT INTO t (v, few) SELECT e, e FROM unnest(%3$L::%1$s[]) e
		$fn$;', type, value_random(type), value_edges(type),
		CASE type WHEN 'text' THEN 'COLLATE "C"' ELSE '' END);
	PERFORM pg_temp.fill(1, 1500);
	CREATE INDEX t_v ON t USING rencoder (v) WITH (autosummarize = off);
	CREATE INDEX t_few ON t USING rencoder (few) WITH (autosummarize = off);
	PERFORM pg_temp.fill(1501, 1800);
	PERFORM rencoder_maintain_index('t_v'), rencoder_maintain_index('t_few');
	UPDATE t SET v = few, few = v WHERE id % 9 = 0;
	DELETE FROM t WHERE id % 11 = 0;
	PERFORM pg_temp.fill(1801, 2000);
	ANALYZE t;
	DROP FUNCTION pg_temp.fill;
END $$;

-- Is a query answered by the index, in order, and as by a sort?
CREATE FUNCTION is_ordered(type text, col text, condition text, direction text, bounds text)
	RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT %1$I AS v, id FROM t WHERE %2$s ORDER BY %1$I %3$s %4$s', col,
		condition, direction, bounds);
	list text := format('SELECT array_agg(v)::text, array_agg(id) FROM (%s) q', query);
	plan json;
	want text;
	want_ids int[];
	got text;
	got_ids int[];
	same boolean;
BEGIN
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true),
		set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
	EXECUTE list INTO want, want_ids;
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true),
		set_config('enable_indexscan', 'on', true);
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	EXECUTE list INTO got, got_ids;
	EXECUTE format('SELECT $1::%1$s[] IS NOT DISTINCT FROM $2::%1$s[]', type) INTO same
	USING got, want;
	IF NOT same OR (SELECT count(DISTINCT id) < count(*) FROM unnest(got_ids) id)
		OR (bounds = '' AND EXISTS (SELECT FROM unnest(got_ids) id FULL JOIN unnest(want_ids) other
			ON id = other WHERE id IS NULL OR other IS NULL)) THEN
		RAISE WARNING '%: wrong, seed %', query, current_setting('compare.seed');
	END IF;
	RETURN plan::text LIKE '%Index Scan%' AND plan::text NOT LIKE '%"Sort"%';
END $$;

CREATE FUNCTION check_type(type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	col text;
	direction text;
	bounds text;
	list text;
	condition text;
	asked int := 0;
	ordered int := 0;
BEGIN
	PERFORM make_table(type);
	EXECUTE format('SELECT array_agg(x)::text FROM (SELECT v AS x FROM t WHERE id %% 97 = 1
		UNION ALL SELECT %s FROM generate_series(1, 3)) q', value_random(type)) INTO list;
	FOREACH col IN ARRAY '{v,few}'::text[] LOOP
		FOREACH direction IN ARRAY '{ASC,DESC}'::text[] LOOP
			FOREACH condition IN ARRAY ARRAY['true', format('%I IS NOT NULL', col),
				format('%I > (%L::%s[])[2]', col, list, type),
				format('%I <= (%L::%s[])[5]', col, list, type),
				format('%1$I >= least((%2$L::%3$s[])[3], (%2$L::%3$s[])[4]) AND id %% 3 > 0
					AND %1$I < greatest((%2$L::%3$s[])[3], (%2$L::%3$s[])[4])', col, list, type),
				format('%I = ANY (%L::%s[])', col, list, type)] LOOP
				FOREACH bounds IN ARRAY '{"",LIMIT 1,LIMIT 30 OFFSET 7}'::text[] LOOP
					asked := asked + 1;
					ordered := ordered + is_ordered(type, col, condition, direction, bounds)::int;
				END LOOP;
			END LOOP;
		END LOOP;
	END LOOP;
	RETURN format('%s: %s of %s by the index', type, ordered, asked);
END $$;

SELECT check_type(type)
FROM unnest('{int2,int4,int8,oid,date,timestamp,timestamptz,time,timetz,interval,float4,float8,
	numeric,money,uuid,macaddr,macaddr8,inet,pg_lsn,xid8,bit(70),bytea,text}'::text[]) type;

-- Text has coders: one is trained anew while there are runs by another one.
SELECT rencoder_compact('t_v') IS NOT NULL AS compacted;
INSERT INTO t (v) SELECT 'urn:' || md5(i::text) FROM generate_series(1, 3000) i;
SELECT rencoder_maintain_index('t_v') IS NOT NULL AS maintained;
SELECT condition, direction, bounds, is_ordered('text', 'v', condition, direction, bounds)
FROM (VALUES ('true'), ('v > ''u'''), ('v < ''https://f''')) c (condition),
	(VALUES ('ASC'), ('DESC')) d (direction), (VALUES (''), ('LIMIT 20')) b (bounds);

-- Composite keys: by the first column and then the second; skewed tenants, nulls, rows that come
-- later than what the coder was trained on.
CREATE FUNCTION pairs_ordered(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	list text := format('SELECT array_agg(ROW(a, b)::text) FROM (%s) q', query);
	plan json;
	want text[];
	got text[];
BEGIN
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true),
		set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
	EXECUTE list INTO want;
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true),
		set_config('enable_indexscan', 'on', true);
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	EXECUTE list INTO got;
	IF want IS DISTINCT FROM got THEN
		RAISE WARNING '%: wrong, seed %', query, current_setting('compare.seed');
	END IF;
	RETURN CASE WHEN plan::text LIKE '%Index Scan%' AND plan::text NOT LIKE '%"Sort"%' THEN 'index'
		ELSE 'sort' END;
END $$;
CREATE FUNCTION check_pair(type_a text, type_b text) RETURNS TABLE (query text, plan text)
	LANGUAGE plpgsql AS $$
DECLARE
	list_a text;
	list_b text;
BEGIN
	EXECUTE format('DROP TABLE IF EXISTS pair;
		CREATE TABLE pair (id serial, a %1$s %6$s, b %2$s, filler text);
		CREATE FUNCTION pg_temp.fill(first int, last int) RETURNS void LANGUAGE sql AS $fn$
			INSERT INTO pair (a, b, filler)
			SELECT (%5$L::%1$s[])[1 + floor(power(random(), 3) * 40)::int],
				CASE WHEN i %% 50 > 0 THEN %4$s END, repeat(''x'', 60)
			FROM generate_series(first, last) i;
		$fn$', type_a, type_b, value_random(type_a), value_random(type_b), pair_values(type_a),
		CASE type_a WHEN 'text' THEN 'COLLATE "C"' ELSE '' END);
	PERFORM pg_temp.fill(1, 2500);
	CREATE INDEX pair_a_b ON pair USING rencoder (a, b) WITH (composite = on, autosummarize = off);
	PERFORM pg_temp.fill(2501, 2800);
	PERFORM rencoder_maintain_index('pair_a_b');
	UPDATE pair SET b = NULL WHERE id % 17 = 0;
	DELETE FROM pair WHERE id % 13 = 0;
	PERFORM pg_temp.fill(2801, 3000);
	DROP FUNCTION pg_temp.fill;
	ANALYZE pair;
	SELECT quote_literal(p.a) || '::' || type_a, quote_literal(p.b) || '::' || type_b
	INTO list_a, list_b FROM pair p WHERE id = 1999;
	FOR query IN SELECT format('SELECT a, b FROM pair ' || q, list_a, list_b) FROM unnest(ARRAY[
		'WHERE a = %1$s ORDER BY b', 'WHERE a = %1$s ORDER BY b DESC LIMIT 20',
		'WHERE a = %1$s AND b < %2$s ORDER BY b DESC LIMIT 20',
		'WHERE a = %1$s AND b IS NOT NULL ORDER BY b',
		'WHERE a >= %1$s ORDER BY a, b LIMIT 100', 'WHERE a <= %1$s ORDER BY a DESC, b DESC',
		'ORDER BY a, b', 'ORDER BY a DESC, b DESC LIMIT 40',
		'WHERE b > %2$s ORDER BY a, b LIMIT 30',
		'WHERE a = ANY (ARRAY[%1$s]) ORDER BY a DESC, b DESC LIMIT 30']) q LOOP
		plan := pairs_ordered(query);
		RETURN NEXT;
	END LOOP;
	PERFORM rencoder_index_check('pair_a_b', true);
END $$;
-- Forty values, made once.
CREATE FUNCTION pair_values(type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	list text;
BEGIN
	EXECUTE format('SELECT array_agg(%s)::text FROM generate_series(1, 40)',
		value_random(type)) INTO list;
	RETURN list;
END $$;
SELECT a, b, count(*), count(*) FILTER (WHERE plan = 'index') AS by_index
FROM unnest('{int4,uuid,text,date,int8,text}'::text[],
	'{timestamptz,int4,int8,date,uuid,timestamp}'::text[]) t (a, b), check_pair(a, b)
GROUP BY a, b ORDER BY a, b;

-- Values that share a code, whose second column falls where they rise: no slice ends among them.
DROP TABLE pair;
CREATE TABLE pair (a int8, b int, filler text);
INSERT INTO pair SELECT i % 10, i * 10, repeat('x', 60) FROM generate_series(1, 5000) i;
CREATE INDEX pair_a_b ON pair USING rencoder (a, b) WITH (composite = on, autosummarize = off);
INSERT INTO pair SELECT 1000000000000 + i, -10 * i, repeat('x', 60) FROM generate_series(1, 5000) i;
ANALYZE pair;
PREPARE alike AS SELECT query, pairs_ordered('SELECT a, b FROM pair ' || query)
FROM unnest('{WHERE a > 999 ORDER BY a\, b LIMIT 3, ORDER BY a DESC\, b DESC LIMIT 1000,
	WHERE a > 1000000000100 ORDER BY a\, b LIMIT 1000, ORDER BY a\, b}'::text[]) query;
EXECUTE alike;
SELECT rencoder_maintain_index('pair_a_b') IS NOT NULL AS maintained;
EXECUTE alike;
DROP TABLE pair;

CREATE FUNCTION sorts(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan::text LIKE '%"Sort"%';
END $$;

-- Text by another collation has keys in another order; so has an enum.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE other (t text COLLATE "en-x-icu", m mood, a int, b int, p point);
INSERT INTO other
SELECT md5(i::text), (ARRAY['sad', 'ok', 'happy']::mood[])[i % 3 + 1], i, -i, point(i, i)
FROM generate_series(1, 300) i;
CREATE INDEX other_t ON other USING rencoder (t);
CREATE INDEX other_m ON other USING rencoder (m);
CREATE INDEX other_a_b ON other USING rencoder (a, b);
CREATE INDEX other_f ON other USING rencoder (b) WITH (storage = filter);
CREATE INDEX other_p ON other USING rencoder (p);
VACUUM ANALYZE other;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT sorts('SELECT * FROM other ORDER BY t LIMIT 3');
SELECT sorts('SELECT * FROM other ORDER BY m LIMIT 3');
SELECT sorts('SELECT * FROM other WHERE a > 3 ORDER BY a LIMIT 3');
SELECT sorts('SELECT * FROM other WHERE b > 3 ORDER BY b LIMIT 3');

-- A setting: prepared plans that rely on the order keep it.
CREATE TABLE o (a int, b int);
INSERT INTO o SELECT hashint4(i), i FROM generate_series(1, 5000) i;
CREATE INDEX o_a ON o USING rencoder (a);
CREATE INDEX o_b ON o USING rencoder ((b % 1000)) WHERE b > 500;
ANALYZE o;
PREPARE three AS SELECT a FROM o ORDER BY a DESC LIMIT 3;
EXPLAIN (COSTS OFF) EXECUTE three;
EXECUTE three;
SET rencoder.enable_ordered_scan = off;
SELECT sorts('SELECT a FROM o ORDER BY a DESC LIMIT 3');
EXECUTE three;
RESET rencoder.enable_ordered_scan;

-- What follows by itself: extremes, merge joins, lateral queries, expressions of partial indexes.
SELECT plan_line('SELECT min(a) FROM o'), plan_line('SELECT max(a) FROM o');
SELECT min(a) = (SELECT a FROM o ORDER BY a + 0 LIMIT 1),
	max(a) = (SELECT a FROM o ORDER BY a + 0 DESC LIMIT 1)
FROM o;
SELECT array_agg(x) = (SELECT array_agg(b % 1000 ORDER BY b % 1000) FROM o WHERE b > 500) AS same
FROM (SELECT b % 1000 AS x FROM o WHERE b > 500 ORDER BY b % 1000) q;
SELECT count(*), sum(l.a::int8) = (SELECT sum((SELECT max(a) FROM o p WHERE p.a + 0 < o.a)::int8)
	FROM o WHERE b < 50) AS same
FROM o, LATERAL (SELECT p.a FROM o p WHERE p.a < o.a ORDER BY p.a DESC LIMIT 1) l WHERE o.b < 50;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM o x JOIN o y USING (a);
SELECT count(*) FROM o x JOIN o y USING (a);
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_sort;

-- A value with many rows is not sorted as a whole, few pages are read.
CREATE TABLE status (s text COLLATE "C", n int, filler text);
INSERT INTO status
SELECT (ARRAY['closed', 'open', 'paid', 'refunded', 'sent'])[i % 5 + 1], i, repeat('x', 100)
FROM generate_series(1, 20000) i;
CREATE INDEX status_s ON status USING rencoder (s);
VACUUM ANALYZE status;
CREATE FUNCTION buffers(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int
		+ (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
SELECT buffers('SELECT * FROM status ORDER BY s LIMIT 10') <= 40 AS ascending,
	buffers('SELECT * FROM status ORDER BY s DESC LIMIT 10') <= 40 AS descending,
	buffers('SELECT * FROM o ORDER BY a LIMIT 10') <= 50 AS least,
	buffers('SELECT max(a) FROM o') <= 14 AS greatest;
-- Nor where some came late, or are behind all runs.
INSERT INTO status SELECT (ARRAY['closed', 'sent'])[i % 2 + 1], -i FROM generate_series(1, 400) i;
UPDATE status SET n = n, s = s WHERE n % 100 = 1;
SELECT buffers('SELECT * FROM status ORDER BY s LIMIT 10') <= 80 AS ascending,
	buffers('SELECT * FROM status ORDER BY s DESC LIMIT 10') <= 80 AS descending;

-- Many values with one key are sorted, also where the rows that are found first are gone.
CREATE TABLE alike (id int, u uuid);
INSERT INTO alike SELECT i, ('20000000-0000-0000-' || left(md5(i::text), 4) || '-' ||
	right(md5(i::text), 12))::uuid FROM generate_series(1, 6000) i;
CREATE INDEX alike_u ON alike USING rencoder (u) WITH (autosummarize = off);
UPDATE alike SET u = ('1' || right(u::text, 35))::uuid WHERE id <= 3000;
DELETE FROM alike WHERE id <= 1000;
ANALYZE alike;
SELECT rencoder_maintain_index('alike_u') IS NOT NULL AS maintained;
SELECT entries > 40 AS many FROM rencoder_runs('alike_u') WHERE kind = 'delta';
SELECT plan_line('SELECT u FROM alike ORDER BY u');
SELECT count(*), count(*) FILTER (WHERE u < before) AS out_of_order
FROM (SELECT u, lag(u) OVER () AS before FROM (SELECT u FROM alike ORDER BY u OFFSET 0) o) q;
SELECT count(*), count(*) FILTER (WHERE u > before) AS out_of_order
FROM (SELECT u, lag(u) OVER () AS before FROM (SELECT u FROM alike ORDER BY u DESC OFFSET 0) o) q;

-- If it is known how many rows are wanted, not many more are fetched.
CREATE TABLE wanted (tenant int, at int, filler text);
ALTER TABLE wanted ALTER filler SET STORAGE plain;
INSERT INTO wanted SELECT i % 10, i, repeat('x', 1000) FROM generate_series(1, 3000) i;
CREATE INDEX wanted_idx ON wanted USING rencoder (tenant, at)
	WITH (composite = on, autosummarize = off);
ANALYZE wanted;
PREPARE sixty AS SELECT * FROM wanted WHERE tenant = $1 ORDER BY at DESC LIMIT 60;
SET plan_cache_mode = force_generic_plan;
SELECT buffers('SELECT * FROM wanted WHERE tenant = 3 ORDER BY at DESC LIMIT 60') < 145 AS constant,
	buffers('SELECT * FROM wanted WHERE tenant = 3 ORDER BY at DESC LIMIT 60 FOR UPDATE') < 210
		AS locked,
	buffers('EXECUTE sixty (3)') < 145 AS generic,
	buffers('SELECT * FROM wanted WHERE tenant = 3 AND at < 1000 ORDER BY at DESC LIMIT 1') < 9
		AS one;
RESET plan_cache_mode;
-- A plain scan in any order goes forward, EXPLAIN says, and a kept plan stays what it is.
CREATE FUNCTION scan_direction(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN coalesce(plan->0->'Plan'->>'Scan Direction',
		plan->0->'Plan'->'Plans'->0->>'Scan Direction');
END $$;
PREPARE any_order AS SELECT * FROM o WHERE a = 5;
SELECT scan_direction('EXECUTE any_order') FROM generate_series(1, 3);
SELECT scan_direction('SELECT * FROM o ORDER BY a DESC LIMIT 1'),
	scan_direction('SELECT * FROM o WHERE a BETWEEN 1 AND 1000 LIMIT 1');

-- Rows are fetched twice only where somebody wants their order, and always by servers with
-- assertions from 16 on, which want a plan to have a direction.
SELECT buffers('SELECT * FROM o WHERE a BETWEEN 1 AND 20000000') + 15
	< buffers('SELECT * FROM o WHERE a BETWEEN 1 AND 20000000 ORDER BY a')
	IS DISTINCT FROM (current_setting('debug_assertions')::boolean
		AND current_setting('server_version_num')::int >= 160000) AS fewer;

-- For its order no function of users is called that the query does not name: whoever reads the
-- table need not have the right to, and has rights that its owner has not.
CREATE FUNCTION own(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN v % 100; END';
REVOKE EXECUTE ON FUNCTION own(int) FROM PUBLIC;
CREATE TABLE named (a int, b int);
INSERT INTO named SELECT i % 1000, i FROM generate_series(1, 5000) i;
CREATE INDEX named_two ON named USING rencoder (a, own(b)) WITH (composite = on);
CREATE INDEX named_some ON named USING rencoder (own(b)) WHERE a > 990;
CREATE INDEX named_own ON named USING rencoder ((a % 2), abs(b)) WITH (composite = on);
CREATE INDEX named_case ON named USING rencoder ((CASE a WHEN 5 THEN b END), greatest(a, b))
	WITH (composite = on);
VACUUM ANALYZE named;
CREATE ROLE regress_rencoder_ordered;
GRANT USAGE ON SCHEMA ordered TO regress_rencoder_ordered;
GRANT SELECT ON named TO regress_rencoder_ordered;
SET ROLE regress_rencoder_ordered;
SELECT a FROM named WHERE a > 500 ORDER BY a LIMIT 2;
SELECT count(*) FROM named WHERE a > 990;
SELECT a, b FROM named WHERE a > 990 ORDER BY b LIMIT 2;
SELECT own(1);
SELECT sorts('SELECT * FROM named WHERE a % 2 = 1 ORDER BY abs(b) LIMIT 3');
SELECT sorts('SELECT * FROM named ORDER BY CASE a WHEN 5 THEN b END, greatest(a, b) LIMIT 3');
RESET ROLE;
DROP TABLE named;
REVOKE USAGE ON SCHEMA ordered FROM regress_rencoder_ordered;
DROP ROLE regress_rencoder_ordered;

-- A cursor's rows do not change, nor come twice, whatever becomes of the index meanwhile.
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE c CURSOR FOR SELECT a FROM o ORDER BY a;
FETCH 3 FROM c;
INSERT INTO o SELECT hashint4(-i), -i FROM generate_series(1, 2000) i;
UPDATE o SET a = a + 1 WHERE b % 3 = 0;
SELECT rencoder_maintain_index('o_a') IS NOT NULL AS maintained;
CREATE TEMP TABLE fetched (n serial, a int);
DO $$
DECLARE
	c CONSTANT refcursor := 'c';
	value int;
BEGIN
	LOOP
		FETCH c INTO value;
		EXIT WHEN NOT FOUND;
		INSERT INTO fetched (a) VALUES (value);
	END LOOP;
END $$;
COMMIT;
SELECT count(*), count(*) FILTER (WHERE a < before) AS out_of_order
FROM (SELECT a, lag(a) OVER (ORDER BY n) AS before FROM fetched) f;
DROP SCHEMA ordered CASCADE;
