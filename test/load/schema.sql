-- The table of the load that test/t/015_crash.pl, 018_replica_load.pl, 019_stress.pl and
-- bench/checks/stress.sh put on indexes, and the functions of its clients (the
-- scripts for pgbench beside this file; "clients" and "maintenance" list them).
--
-- A row is made of a number k below 30000, so that what is looked for is mostly there.
CREATE EXTENSION IF NOT EXISTS rencoder;
CREATE SEQUENCE t_id;
CREATE TABLE t (id int8 DEFAULT nextval('t_id'), v int8, few int4, s varchar(60), p point,
	filler varchar(60)) WITH (fillfactor = 80);

CREATE FUNCTION v_of(k int8) RETURNS int8 LANGUAGE sql IMMUTABLE AS
	'SELECT hashint8extended(k, 1) >> 20';
CREATE FUNCTION s_of(k int8) RETURNS text LANGUAGE sql IMMUTABLE AS
	$$SELECT 'https://www.example.com/' || left(md5(k::text), 4) || '/' || k$$;
CREATE FUNCTION p_of(k int8) RETURNS point LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN k % 97 = 3 THEN point('NaN', k)
		ELSE point(hashint8extended(k, 2) % 10000 / 100.0,
			hashint8extended(k, 3) % 10000 / 100.0) END
$$;
-- n rows; every 50th is different in all columns from those of k alone.
CREATE FUNCTION make_rows(n int, first int8)
	RETURNS TABLE (v int8, few int4, s text, p point, filler text)
LANGUAGE sql AS $$
	SELECT CASE WHEN k % 50 = 0 THEN v_of(k) + first ELSE v_of(k) END,
		nullif((k % 41)::int, 7),
		CASE WHEN k % 50 = 1 THEN md5(first::text) ELSE s_of(k) END,
		p_of(k), repeat('x', 10 + (k % 30)::int)
	FROM (SELECT (first + i * 7919) % 30000 AS k FROM generate_series(1, n) i) numbers
$$;
CREATE FUNCTION put(n int, first int8) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t (v, few, s, p, filler) SELECT * FROM make_rows(n, first)
$$;

SELECT put(16000, 1);
CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 1, storage = run);
CREATE INDEX t_s ON t USING rencoder (s) WITH (pages_per_range = 1);
CREATE INDEX t_p ON t USING rencoder (p) WITH (pages_per_range = 2, storage = run);
CREATE INDEX t_few_v ON t USING rencoder (few, v) WITH (pages_per_range = 1);
-- Inserting sessions leave this one to the worker and VACUUM.
CREATE INDEX t_half ON t USING rencoder ((v / 2))
	WITH (pages_per_range = 1, storage = run) WHERE few IS NOT NULL;

-- A condition that one of the indexes answers.
CREATE FUNCTION condition(r int8) RETURNS text LANGUAGE sql AS $$
	SELECT CASE r % 11
		WHEN 0 THEN format('v = %s', v_of(k))
		WHEN 1 THEN format('v BETWEEN %s AND %s', v_of(k) - 1, v_of(k) + power(10, r % 13)::int8)
		WHEN 2 THEN format('v IN (%s)', (SELECT string_agg(v_of(k + i * 31)::text, ',')
			FROM generate_series(1, 30) i))
		WHEN 3 THEN format('s = %L', s_of(k))
		WHEN 4 THEN format('s LIKE %L', left(s_of(k), 26 + (r % 3)::int) || '%')
		WHEN 5 THEN format('p <@ box(%L::point, %L::point)', p_of(k) - point(0.5, 0.5),
			p_of(k) + point(1, 1))
		WHEN 6 THEN format('few = %s AND v > %s', r % 41, v_of(k))
		WHEN 7 THEN format('few IS NULL AND v < %s', v_of(k))
		WHEN 8 THEN format('few BETWEEN %s AND %s AND v BETWEEN %s AND %s', r % 41, r % 41 + 2,
			v_of(k) - 1000000000000, v_of(k))
		WHEN 9 THEN format('v / 2 = %s AND few IS NOT NULL', v_of(k) / 2)
		ELSE format('p ~= %L::point', p_of(k))
		END
	FROM (SELECT r / 11 % 30000 AS k) number
$$;

-- The rows of a condition, as a number and a sum, by index and by sequential scan.
CREATE FUNCTION rows_by_index(condition text, OUT result text) LANGUAGE plpgsql
SET max_parallel_workers_per_gather = 0 SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = on SET enable_indexscan = off
SET rencoder.enable_scan = on AS $$
BEGIN
	EXECUTE 'SELECT count(*) || '' rows, '' || coalesce(sum(id * id), 0) FROM t WHERE ' || condition
		INTO result;
END $$;
CREATE FUNCTION rows_by_plain_scan(condition text, OUT result text) LANGUAGE plpgsql
SET max_parallel_workers_per_gather = 0 SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_indexscan = on
SET rencoder.enable_scan = on AS $$
BEGIN
	EXECUTE 'SELECT count(*) || '' rows, '' || coalesce(sum(id * id), 0) FROM t WHERE ' || condition
		INTO result;
END $$;
CREATE FUNCTION rows_by_heap(condition text, OUT result text) LANGUAGE plpgsql
SET max_parallel_workers_per_gather = 0 SET jit = off
SET enable_seqscan = on SET enable_bitmapscan = off SET enable_indexscan = off
SET rencoder.enable_scan = off AS $$
BEGIN
	EXECUTE 'SELECT count(*) || '' rows, '' || coalesce(sum(id * id), 0) FROM t WHERE ' || condition
		INTO result;
END $$;
-- Compares them; within a transaction of one snapshot.
CREATE FUNCTION look(r int8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	asked text := condition(r);
	by_index text := rows_by_index(asked);
	by_plain_scan text := rows_by_plain_scan(asked);
	by_heap text := rows_by_heap(asked);
BEGIN
	IF by_index <> by_heap OR by_plain_scan <> by_heap THEN
		RAISE EXCEPTION 'wrong answer: % by the index, % by a plain scan, % by the heap: %',
			by_index, by_plain_scan, by_heap, asked;
	END IF;
END $$;

-- A plain scan that is open for a while, beside rows of its own transaction, and all others.
CREATE FUNCTION look_by_cursor(r int8, ms float8) RETURNS void LANGUAGE plpgsql
SET max_parallel_workers_per_gather = 0 SET jit = off
SET enable_seqscan = on SET enable_bitmapscan = off SET enable_indexscan = on
SET rencoder.enable_scan = on AS $$
DECLARE
	asked text := condition(r);
	by_index refcursor;
	by_heap refcursor;
	row_id int8;
	handed_out int8[];
	expected int8[];
BEGIN
	PERFORM put(1, r), set_config('enable_seqscan', 'off', true);
	OPEN by_index NO SCROLL FOR EXECUTE 'SELECT id FROM t WHERE ' || asked;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
	OPEN by_heap NO SCROLL FOR EXECUTE 'SELECT id FROM t WHERE ' || asked;
	LOOP
		FETCH by_index INTO row_id;
		EXIT WHEN NOT FOUND;
		handed_out := handed_out || row_id;
		IF cardinality(handed_out) IN (1, 40, 400) THEN
			PERFORM put(30, r + cardinality(handed_out)), pg_sleep(ms / 1000);
		END IF;
	END LOOP;
	LOOP
		FETCH by_heap INTO row_id;
		EXIT WHEN NOT FOUND;
		expected := expected || row_id;
	END LOOP;
	IF (SELECT array_agg(i ORDER BY i) FROM unnest(handed_out) i) IS DISTINCT FROM
		(SELECT array_agg(i ORDER BY i) FROM unnest(expected) i) THEN
		RAISE EXCEPTION 'wrong answer: % rows by a cursor, % by the heap: %',
			cardinality(handed_out), cardinality(expected), asked;
	END IF;
END $$;

-- One of the valid indexes of t; its caller has locked the table.
CREATE FUNCTION some_index(r int8) RETURNS regclass LANGUAGE sql AS $$
	SELECT (array_agg(indexrelid ORDER BY indexrelid::regclass::text))[1 + r % count(*)]::regclass
	FROM pg_index WHERE indrelid = 't'::regclass AND indisvalid
$$;
-- What REINDEX CONCURRENTLY leaves when it is interrupted.
CREATE FUNCTION drop_invalid_indexes() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	i regclass;
BEGIN
	FOR i IN SELECT indexrelid FROM pg_index WHERE indrelid = 't'::regclass AND NOT indisvalid LOOP
		EXECUTE format('DROP INDEX %s', i);
	END LOOP;
END $$;
-- Queries to tune for, of a kind that changes.
CREATE FUNCTION ask(r int8) RETURNS void LANGUAGE sql AS $$
	SELECT rencoder_add_query_sample('t_v', v_of(k) + r % 3 * 1000,
		v_of(k) + r % 3 * 1000 + power(10, r % 7)::int8),
		rencoder_add_query_sample('t_s', left(s_of(k), 30), left(s_of(k), 30) || '~')
	FROM generate_series(r % 100, r % 100 + 60) k
$$;
