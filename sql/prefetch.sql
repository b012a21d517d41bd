-- Reading ahead changes nothing of what a scan finds or reads: several base runs, deltas, pending
-- pages, groups of filters and a tail, with and without effective_io_concurrency.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET rencoder.sample_rate = 0;
\getenv abs_srcdir PG_ABS_SRCDIR
\set pages_of :abs_srcdir '/sql/include/pages_of.sql'
\i :pages_of

-- Four rows a page, 512 a group.
CREATE TABLE pf (id int, v int8, s text COLLATE "C", p point, filler text)
	WITH (autovacuum_enabled = off, fillfactor = 50);
ALTER TABLE pf ALTER filler SET STORAGE plain;
CREATE FUNCTION pf_fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO pf SELECT i, hashint8extended(i, 1) >> 20, 'key ' || md5(i::text),
		point(hashint4(i) % 1000, hashint4(-i) % 1000), repeat('x', 850)
	FROM generate_series(first, last) i
$$;
SELECT pf_fill(1, 5200);
CREATE INDEX pf_idx ON pf USING rencoder (v, s, p)
	WITH (storage = run, autosummarize = off, pages_per_range = 1);
-- Groups that fill later are other runs; half of the rows change twice.
SELECT pf_fill(5201, 7000);
VACUUM pf;
UPDATE pf SET v = v + 1 WHERE id % 40 = 1;
VACUUM pf;
UPDATE pf SET v = v + 1 WHERE id % 40 = 3;
SELECT pf_fill(7001, 7400);
SELECT rencoder_compact('pf_idx', frontier) > 0 AS made FROM rencoder_metapage('pf_idx');
SELECT pf_fill(7401, 7500);
SELECT count(DISTINCT run) FILTER (WHERE kind = 'base') > 1 AS base_runs,
	count(DISTINCT run) FILTER (WHERE kind = 'delta') > 0 AS deltas
FROM rencoder_runs('pf_idx');
SELECT pending_pages > 2 AS pending FROM rencoder_metapage('pf_idx');

CREATE TABLE pf_queries AS
SELECT format('v = ANY (%L)', array_agg(v)) AS condition FROM pf WHERE id % 50 = 0
UNION ALL SELECT format('v BETWEEN %s AND %s', -1e12::int8, 1e12::int8)
UNION ALL SELECT 'v < 0 AND s BETWEEN ''key 5'' AND ''key 7'''
UNION ALL SELECT format('s = ANY (%L)', array_agg(s)) FROM pf WHERE id % 40 = 0
UNION ALL SELECT 'p <@ box ''(-400,-400),(100,100)'''
UNION ALL SELECT 's IS NULL'
UNION ALL SELECT 'v = 77';
CREATE FUNCTION pf_ask(concurrency int, OUT condition text, OUT answer text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('effective_io_concurrency', concurrency::text, true);
	RETURN QUERY SELECT q.condition, pages_of(q.condition, 'pf')::text FROM pf_queries q
		UNION ALL SELECT 'an interval', c::text
		FROM rencoder_candidates('pf_idx', -1000000000000, 1000000000000) c;
END $$;
CREATE TABLE pf_answers AS SELECT n, a.condition, a.answer
FROM unnest(ARRAY[0, 1, 3, 16, 1000]) n, pf_ask(n) a;
SELECT n, count(*) AS queries FROM pf_answers GROUP BY n ORDER BY n;
SELECT left(condition, 40) AS condition, array_agg(n || ': ' || answer ORDER BY n) AS answers
FROM pf_answers GROUP BY pf_answers.condition HAVING count(DISTINCT answer) > 1;
SELECT count(DISTINCT answer) > 4 AS different FROM pf_answers WHERE n = 0;

-- Rows one by one, in order and as they come, of which pages of the table are fetched ahead.
CREATE INDEX pf_v ON pf USING rencoder (v) WITH (autosummarize = off);
SELECT pf_fill(7501, 7600);
CREATE FUNCTION pf_rows(query text, OUT ids text, OUT buffers int) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('SELECT array_agg(id)::text FROM (%s) q', query) INTO ids;
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT json) ' || query INTO plan;
	IF plan::text !~ '"Index Name": "pf_(v|idx)"' THEN
		RAISE EXCEPTION 'another plan: %', plan;
	END IF;
	buffers := (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int
		+ (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
END $$;
CREATE TABLE pf_plain AS
SELECT format('SELECT id FROM pf WHERE v BETWEEN %s AND %s %s %s', lo, lo + 2e12::int8, wanted,
	bound) AS query
FROM unnest('{-4000000000000,0,3000000000000}'::int8[]) lo,
	unnest(ARRAY['', 'ORDER BY v, id', 'ORDER BY v DESC']) wanted,
	unnest(ARRAY['', 'LIMIT 7', 'LIMIT 300']) bound;
CREATE FUNCTION pf_ask_plain(concurrency int, OUT query text, OUT ids text, OUT buffers int)
RETURNS SETOF record LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off AS $$
BEGIN
	PERFORM set_config('effective_io_concurrency', concurrency::text, true);
	RETURN QUERY SELECT q.query, r.* FROM pf_plain q, pf_rows(q.query) r;
END $$;
CREATE TABLE pf_plain_answers AS SELECT n, a.*
FROM unnest(ARRAY[0, 1, 3, 16, 1000]) n, pf_ask_plain(n) a;
SELECT n, count(*) AS queries, count(ids) AS found FROM pf_plain_answers GROUP BY n ORDER BY n;
SELECT query, array_agg(DISTINCT buffers) AS buffers, count(DISTINCT ids) AS answers
FROM pf_plain_answers
GROUP BY query HAVING count(DISTINCT (ids, buffers)) > 1;
SELECT count(DISTINCT ids) > 10 AS different FROM pf_plain_answers WHERE n = 0;

DROP TABLE pf, pf_queries, pf_answers, pf_plain, pf_plain_answers;
DROP FUNCTION pf_fill, pf_ask, pages_of, pf_rows, pf_ask_plain;
