-- Lists of values that are no constants of the plan: parameters of generic plans, subqueries.
-- Rows are looked up in them, and not compared with each element, where a list cannot change.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET jit = off;

-- An equality that counts how often it is asked.
CREATE SEQUENCE lr_calls;
CREATE FUNCTION lr_eq(int4, int4) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	PERFORM nextval('lr_calls');
	RETURN $1 = $2;
END $$;
CREATE OPERATOR === (FUNCTION = lr_eq, LEFTARG = int4, RIGHTARG = int4, COMMUTATOR = ===,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES);
CREATE OPERATOR CLASS lr_hash_ops FOR TYPE int4 USING hash AS
	OPERATOR 1 ===, FUNCTION 1 hashint4(int4);
CREATE OPERATOR CLASS lr_ops FOR TYPE int4 USING rencoder AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 ===, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 rencoder_int4_key(int4);

-- Each of 10,000 values twice, far apart, and some nulls.
CREATE TABLE lr (id int4, v int4, t varchar(40), b int8, filler text)
	WITH (autovacuum_enabled = off);
INSERT INTO lr SELECT i, n, 'row ' || n, n, repeat('x', 60)
FROM generate_series(1, 20000) i,
	LATERAL (SELECT CASE WHEN i % 97 > 0 THEN i * 7919 % 10000 END) s(n);
CREATE INDEX lr_v ON lr USING rencoder (v lr_ops) WITH (autosummarize = off);
CREATE INDEX lr_t ON lr USING rencoder (t) WITH (autosummarize = off);
CREATE INDEX lr_b ON lr USING rencoder (b) WITH (autosummarize = off);
VACUUM ANALYZE lr;
CREATE TABLE lr_wanted AS SELECT i * 50 AS w, i % 4 AS k FROM generate_series(1, 150) i;
ANALYZE lr_wanted;

-- What a query finds, whether a sequential scan finds the same, and whether rows were
-- compared with elements: many more times than rows were found.
CREATE FUNCTION lr_ask(query text, OUT answer text, OUT same boolean, OUT compared boolean)
LANGUAGE plpgsql AS $$
DECLARE
	truth text;
	line text;
BEGIN
	PERFORM setval('lr_calls', 1);
	EXECUTE query INTO answer;
	SELECT last_value > 1000 INTO compared FROM lr_calls;
	SET LOCAL enable_bitmapscan = off;
	SET LOCAL enable_seqscan = on;
	EXECUTE replace(query, '===', '=') INTO truth;
	SET LOCAL enable_bitmapscan = on;
	SET LOCAL enable_seqscan = off;
	same := answer IS NOT DISTINCT FROM truth;
END $$;

-- Parameters.  The sequential scan has a plan of its own.
PREPARE p(int[]) AS SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM lr WHERE v === ANY ($1);
EXPLAIN (COSTS OFF) EXECUTE p('{1, 2}');
CREATE FUNCTION lr_execute(list int[], OUT answer text, OUT same boolean, OUT compared boolean)
LANGUAGE plpgsql AS $$
DECLARE
	truth text;
BEGIN
	PERFORM setval('lr_calls', 1);
	EXECUTE format('EXECUTE p(%L)', list) INTO answer;
	SELECT last_value > 1000 INTO compared FROM lr_calls;
	SELECT count(*) || ' ' || coalesce(sum(id), 0) INTO truth
	FROM lr WHERE v IN (SELECT unnest(list));
	same := answer = truth;
END $$;
SELECT label, executed.* FROM (VALUES
	(1, 'long', (SELECT array_agg(w) FROM lr_wanted)),
	(2, 'with nulls', (SELECT array_agg(nullif(w, 50)) || NULL FROM lr_wanted)),
	(3, 'twice', (SELECT array_agg(w) || array_agg(w) FROM lr_wanted)),
	(4, 'matrix', (SELECT array_agg(ARRAY[w, w + 1]) FROM lr_wanted)),
	(5, 'none of them', (SELECT array_agg(w + 10000) FROM lr_wanted)),
	(6, 'one', '{50}'), (7, 'null only', '{NULL}'), (8, 'empty', '{}'), (9, 'null', NULL)
) q(n, label, list), lr_execute(list) executed
ORDER BY n;

-- Subqueries.
SELECT query, asked.* FROM unnest(ARRAY[
	'v === ANY (ARRAY (SELECT w FROM lr_wanted))',
	'v === ANY (ARRAY (SELECT nullif(w, 50) FROM lr_wanted))',
	'v === ANY (ARRAY (SELECT w FROM lr_wanted WHERE w < 0))',
	'v === ANY (ARRAY (SELECT w FROM lr_wanted WHERE w > (SELECT max(w) - 5000 FROM lr_wanted)))',
	'v === ANY (ARRAY (SELECT w FROM lr_wanted)) OR b = ANY (ARRAY (SELECT w + 1 FROM lr_wanted))',
	'v === ANY (ARRAY (SELECT w FROM lr_wanted)) OR b = ANY ((SELECT NULL::int8[])::int8[])',
	'b = ANY ((SELECT array_agg(w) FROM lr_wanted)::int8[])',
	'b = ANY ((SELECT array_agg(w) FROM lr_wanted WHERE w < 0)::int8[])',
	't = ANY (ARRAY (SELECT ''row '' || w FROM lr_wanted))',
	't = ANY (ARRAY (SELECT (''row '' || w)::varchar FROM lr_wanted))']) query,
	lr_ask('SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM lr WHERE ' || query) asked;

-- Lists that change from one outer row to the next.
SELECT query, answer, same FROM unnest(ARRAY[
	$$SELECT string_agg(k || ': ' || n, ', ' ORDER BY k) FROM (SELECT DISTINCT k FROM lr_wanted) o,
		LATERAL (SELECT count(*) FROM lr
			WHERE b = ANY (ARRAY (SELECT w::int8 FROM lr_wanted i WHERE i.k <= o.k))) s(n)$$,
	$$SELECT string_agg(k || ': ' || n, ', ' ORDER BY k)
		FROM (SELECT k, array_agg(w::int8) AS list FROM lr_wanted GROUP BY k) o,
		LATERAL (SELECT count(*) FROM lr WHERE b = ANY (list)) s(n)$$,
	$$SELECT string_agg(k || ': ' || (SELECT count(*) FROM lr
			WHERE b = ANY (ARRAY (SELECT (w + o.k)::int8 FROM lr_wanted))), ', ' ORDER BY k)
		FROM (SELECT DISTINCT k FROM lr_wanted) o$$,
	$$SELECT string_agg(k || ': ' || n, ', ' ORDER BY k) FROM (SELECT DISTINCT k FROM lr_wanted) o,
		LATERAL (SELECT count(*) FROM lr WHERE id > o.k * 5000
			AND b = ANY (ARRAY (SELECT w::int8 FROM lr_wanted))) s(n)$$]) query, lr_ask(query);

-- Lists that are variables, also while a cursor is open.
CREATE FUNCTION lr_variables() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	list int[] := '{}';
	c CURSOR FOR SELECT v FROM lr WHERE v === ANY (list) ORDER BY v;
	n int;
	got int[] := '{}';
BEGIN
	FOR i IN 1..4 LOOP
		SELECT array_agg(w) INTO list FROM lr_wanted WHERE k < i;
		SELECT count(*) INTO n FROM lr WHERE v === ANY (list);
		RETURN NEXT format('%s for %s', n,
			(SELECT count(*) FROM lr WHERE v IN (SELECT unnest(list))));
	END LOOP;
	OPEN c;
	LOOP
		FETCH c INTO n;
		EXIT WHEN NOT FOUND;
		got := got || n;
		list := '{}';
	END LOOP;
	RETURN NEXT format('%s by a cursor', cardinality(got));
	n := 0;
	SELECT array_agg(w) INTO list FROM lr_wanted;
	FOR n IN SELECT v FROM lr WHERE v === ANY (list) LOOP
		list := ARRAY[n];
		got := got || n;
	END LOOP;
	RETURN NEXT format('%s with a loop', cardinality(got));
END $$;
SELECT * FROM lr_variables();
CREATE FUNCTION lr_many(int[]) RETURNS SETOF int LANGUAGE sql AS
	'SELECT v FROM lr WHERE v === ANY ($1)';
SELECT k, (SELECT count(*) FROM lr_many(array_agg(w)))
FROM lr_wanted GROUP BY k ORDER BY k;

-- Backwards, and again.
BEGIN;
DECLARE lr_cursor SCROLL CURSOR FOR
	SELECT count(*) OVER () FROM lr WHERE v === ANY (ARRAY (SELECT w FROM lr_wanted));
FETCH LAST FROM lr_cursor;
FETCH FIRST FROM lr_cursor;
MOVE LAST FROM lr_cursor;
FETCH RELATIVE -5 FROM lr_cursor;
ROLLBACK;

-- In another process.
PREPARE elsewhere(int8[]) AS SELECT count(*) || ' ' || sum(id) FROM lr WHERE b = ANY ($1);
SELECT set_config(name, 'on', false) FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \gset ignored_
SELECT format('EXECUTE elsewhere(%L)', array_agg(w)) AS asked FROM lr_wanted \gset
:asked;
SELECT count(*) || ' ' || sum(id) FROM lr WHERE b = ANY (ARRAY (SELECT w::int8 FROM lr_wanted));

DROP FUNCTION lr_many, lr_variables, lr_execute, lr_ask;
DROP TABLE lr, lr_wanted;
DROP OPERATOR CLASS lr_ops USING rencoder;
DROP OPERATOR FAMILY lr_ops USING rencoder;
DROP OPERATOR CLASS lr_hash_ops USING hash;
DROP OPERATOR FAMILY lr_hash_ops USING hash;
DROP OPERATOR === (int4, int4);
DROP FUNCTION lr_eq;
DROP SEQUENCE lr_calls;
