-- Query samples: recorded by scans, added one by one or many at once; what keeps them
-- and what does not.
SET client_min_messages = warning;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET rencoder.sample_rate = 0;

CREATE FUNCTION sa_count(index regclass)
	RETURNS TABLE (attnum smallint, source text, coders bigint, n bigint)
LANGUAGE sql AS $$
	SELECT attnum, source, count(DISTINCT nullif(coder, 0)), count(*)
	FROM rencoder_query_samples(index) GROUP BY 1, 2 ORDER BY 1, 2
$$;
-- Keys of integers are readable.
CREATE FUNCTION sa_list(index regclass) RETURNS TABLE (source text, lo bigint, hi bigint)
	LANGUAGE sql AS $$
	SELECT source, ('x' || substr(lo_key, 3))::bit(64)::bigint # (1::bigint << 63),
		('x' || substr(hi_key, 3))::bit(64)::bigint # (1::bigint << 63)
	FROM rencoder_query_samples(index) WHERE attnum = 1 ORDER BY 2, 3, 1
$$;

-- Seven rows a page: a thousand pages and a little more.
CREATE TABLE sa (id int, v int8, u text, filler text);
ALTER TABLE sa ALTER filler SET STORAGE plain;
INSERT INTO sa SELECT i, i * 10, 'https://example.org/' || md5(i::text), repeat('x', 1000)
FROM generate_series(1, 7280) i;
CREATE INDEX sa_v ON sa USING rencoder (v) WITH (storage = filter);
VACUUM ANALYZE sa;
SELECT * FROM sa_count('sa_v');

--
-- Recording.
--
SELECT count(*) FROM sa WHERE v BETWEEN 5001 AND 5009;
SELECT * FROM sa_list('sa_v');
SET rencoder.sample_rate = 1;
SELECT count(*) FROM sa WHERE v BETWEEN 5001 AND 5009;
SELECT count(*) FROM sa WHERE v = 77::smallint;
SELECT count(*) FROM sa WHERE v BETWEEN 100 AND 120 AND v > 115;
SELECT * FROM sa_list('sa_v');
-- Not what only min and max can answer, nor what nothing can satisfy.
SELECT count(*) FROM sa WHERE v > 100000;
SELECT count(*) FROM sa WHERE v < -100000;
SELECT count(*) FROM sa WHERE v > 5 AND v < 4;
SELECT count(*) FROM sa WHERE v IS NULL;
SELECT count(*) FROM sa WHERE v = NULL;
SELECT count(*) FROM sa_list('sa_v');
-- Of a list one.
SELECT count(*) FROM sa WHERE v = ANY (ARRAY(SELECT 20001 + i * 10 FROM generate_series(1, 100) i));
SELECT count(*), min(lo) > 20000 AS of_the_list FROM sa_list('sa_v') WHERE lo > 20000;
-- In a transaction that must not write, and scans of a join: the first, second, fourth .. of them.
BEGIN READ ONLY;
SELECT count(*) FROM sa WHERE v = -1;
COMMIT;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT count(*) FROM generate_series(1, 7) i, LATERAL (SELECT FROM sa WHERE v = -10 * i) x;
SELECT * FROM sa_list('sa_v') WHERE lo < 0;
-- Neither planning nor the functions are scans.
EXPLAIN (COSTS OFF) SELECT count(*) FROM sa WHERE v = -5;
SELECT table_pages > 0 AS table_pages FROM rencoder_candidates('sa_v', -5::int8, -5::int8);
SELECT count(*) FROM sa_list('sa_v') WHERE lo = -5;
-- One of four: about 100 of 400.
SET rencoder.sample_rate = 4;
DO $$
BEGIN
	FOR i IN 1 .. 400 LOOP
		PERFORM FROM sa WHERE v = -1000 * i;
	END LOOP;
END $$;
SELECT count(*) BETWEEN 50 AND 150 AS a_quarter FROM sa_list('sa_v') WHERE lo <= -1000;
-- A scan that passes everything is recorded, too.
SET rencoder.sample_rate = 1;
SELECT count(*) >= 0 FROM (SELECT FROM sa WHERE v BETWEEN 1 AND 1000000 LIMIT 1) AS x;
SELECT count(*) FROM sa_list('sa_v') WHERE hi = 1000000;
SET rencoder.sample_rate = 0;
SELECT rencoder_index_check('sa_v', true);
SET rencoder.sample_rate = -1;

--
-- Adding.
--
SELECT rencoder_add_query_sample('sa_v', 123456789::int8, 123456799::int8);
SELECT rencoder_add_query_sample('sa_v', 5::int2, 7::int2);
SELECT rencoder_add_query_sample('sa_v', 6, 7),
	rencoder_add_query_sample('sa_v', 6, 6, attnum => 1);
SELECT * FROM sa_list('sa_v') WHERE source = 'added';
SELECT rencoder_add_query_sample('sa_v', 7, 6);
SELECT rencoder_add_query_sample('sa_v', '6'::text, '7'::text);
SELECT rencoder_add_query_sample('sa_v', 6.5, 7.5);
SELECT rencoder_add_query_sample('sa_v', 6, 7, 0);
SELECT rencoder_add_query_sample('sa_v', 6, 7, 2);
SELECT rencoder_add_query_sample('sa', 6, 7);
SELECT rencoder_add_query_sample(NULL, 6, 7) IS NULL AS is_null,
	rencoder_add_query_sample('sa_v', NULL::int, 7) IS NULL AS is_null;
-- The ring is full; the oldest go.
SELECT count(rencoder_add_query_sample('sa_v', 1000000 + i, 1000000 + i))
FROM generate_series(1, 2000) i;
SELECT source, count(*), min(lo) > 1000100 AS the_newest FROM sa_list('sa_v') GROUP BY source;
SELECT rencoder_index_check('sa_v', true);


--
-- What keeps them: not what builds the index again.
--
VACUUM sa;
SELECT * FROM sa_count('sa_v');
BEGIN;
TRUNCATE sa;
SELECT * FROM sa_count('sa_v');
ROLLBACK;
SELECT * FROM sa_count('sa_v');
REINDEX INDEX sa_v;
SELECT * FROM sa_count('sa_v');
SELECT rencoder_index_check('sa_v', true);

--
-- Strings.
--
CREATE INDEX sa_u ON sa USING rencoder (id, u) WITH (storage = filter);
SELECT * FROM sa_count('sa_u');
SET rencoder.sample_rate = 1;
SELECT count(*) FROM sa WHERE u = 'https://example.org/' || md5('17');
SET rencoder.sample_rate = 0;
SELECT count(*) FROM sa WHERE u LIKE 'https://example.org/c%';
SELECT rencoder_add_query_sample('sa_u', 'https://example.org/' || md5('17'), 'https://example.org/'
	|| md5('17'), 2);
SELECT source, lo_key = hi_key AS equality, count(*), count(DISTINCT lo_key)
FROM rencoder_query_samples('sa_u') WHERE attnum = 2 GROUP BY 1, 2
	ORDER BY 1, 2;
SELECT count(DISTINCT lo_key) FROM rencoder_query_samples('sa_u') WHERE attnum = 2
	AND lo_key = hi_key;
SELECT count(rencoder_add_query_sample('sa_u', md5(i::text), md5(i::text) || 'x', 2))
FROM generate_series(1, 300) i;
SELECT * FROM sa_count('sa_u');
SELECT count(rencoder_add_query_sample('sa_u', md5(i::text), md5(i::text) || 'x', 2))
FROM generate_series(1, 2000) i;
SELECT * FROM sa_count('sa_u');
-- Their keys mean nothing to another dictionary.
REINDEX INDEX sa_u;
SELECT * FROM sa_count('sa_u');
SELECT rencoder_index_check('sa_u', true);
DROP INDEX sa_u;

--
-- Small tables have no pages for samples until somebody gives some.
--
CREATE TABLE sa_small (v int8, filler text);
INSERT INTO sa_small SELECT i, repeat('x', 500) FROM generate_series(1, 3000) i;
CREATE INDEX sa_small_v ON sa_small USING rencoder (v) WITH (storage = filter);
VACUUM sa_small;
SELECT pg_relation_size('sa_small_v') AS before \gset
SET rencoder.sample_rate = 1;
SELECT count(*) FROM sa_small WHERE v = 5;
SELECT * FROM sa_count('sa_small_v');
SELECT rencoder_add_query_sample('sa_small_v', 1, 2);
SELECT (pg_relation_size('sa_small_v') - :before) / current_setting('block_size')::int AS pages;
SELECT count(*) FROM sa_small WHERE v = 5;
SELECT * FROM sa_list('sa_small_v');
SELECT rencoder_index_check('sa_small_v', true);
DROP TABLE sa_small;
-- VACUUM makes them when the table has grown.
CREATE TABLE sa_grown (v int8, filler text);
CREATE INDEX sa_grown_v ON sa_grown USING rencoder (v) WITH (storage = filter);
INSERT INTO sa_grown SELECT i, repeat('x', 1500) FROM generate_series(1, 6000) i;
VACUUM sa_grown;
SELECT count(*) FROM sa_grown WHERE v = 5;
SELECT * FROM sa_list('sa_grown_v');
SELECT rencoder_index_check('sa_grown_v', true);
DROP TABLE sa_grown;

--
-- Unlogged and temporary tables.
--
CREATE UNLOGGED TABLE sa_unlogged AS SELECT * FROM sa;
CREATE INDEX sa_unlogged_v ON sa_unlogged USING rencoder (v) WITH (storage = filter);
CREATE TEMPORARY TABLE sa_temporary AS SELECT * FROM sa;
CREATE INDEX sa_temporary_v ON sa_temporary USING rencoder (v) WITH (storage = filter);
SELECT count(*) FROM sa_unlogged WHERE v = 5;
SELECT count(*) FROM sa_temporary WHERE v = 5;
SELECT rencoder_add_query_sample('sa_unlogged_v', 1, 2),
	rencoder_add_query_sample('sa_temporary_v', 1, 2);
SELECT * FROM sa_list('sa_unlogged_v');
SELECT * FROM sa_list('sa_temporary_v');
REINDEX INDEX sa_unlogged_v;
SELECT * FROM sa_list('sa_unlogged_v');
REINDEX INDEX sa_temporary_v;
SELECT * FROM sa_list('sa_temporary_v');
SELECT rencoder_index_check('sa_unlogged_v', true), rencoder_index_check('sa_temporary_v', true);
DROP TABLE sa_unlogged, sa_temporary;
SET rencoder.sample_rate = 0;

--
-- Rights.
--
CREATE ROLE regress_rencoder_owner;
CREATE ROLE regress_rencoder_reader;
CREATE ROLE regress_rencoder_monitor IN ROLE pg_stat_scan_tables;
CREATE ROLE regress_rencoder_nobody;
CREATE TABLE sa_private AS SELECT id, v FROM sa;
ALTER TABLE sa_private OWNER TO regress_rencoder_owner;
CREATE INDEX sa_private_v ON sa_private USING rencoder (v) WITH (storage = filter);
GRANT SELECT ON sa_private TO regress_rencoder_reader;
CREATE ROLE regress_rencoder_stats IN ROLE pg_read_all_stats;
GRANT SELECT ON sa_private TO regress_rencoder_stats;
SET ROLE regress_rencoder_owner;
SELECT rencoder_add_query_sample('sa_private_v', 1, 2);
SELECT * FROM sa_list('sa_private_v');
SET ROLE regress_rencoder_reader;
SELECT rencoder_add_query_sample('sa_private_v', 1, 2);
SELECT * FROM sa_list('sa_private_v');
SET ROLE regress_rencoder_monitor;
SELECT * FROM rencoder_query_samples('sa_private_v');
SET ROLE regress_rencoder_nobody;
SELECT * FROM rencoder_query_samples('sa_private_v');
SELECT rencoder_add_query_sample('sa_private_v', 1, 2);
RESET ROLE;
-- Keys of what others asked for are the owner's, and of those who may see statistics of everybody.
SET rencoder.sample_rate = 1;
DO $$
BEGIN
	-- A scan that passes much is not always recorded.
	FOR i IN 1 .. 1000 LOOP
		PERFORM count(*) FROM public.sa_private WHERE v BETWEEN 123 AND 125;
		EXIT WHEN EXISTS (SELECT FROM public.sa_count('sa_private_v') WHERE source = 'scan');
	END LOOP;
END $$;
SET rencoder.sample_rate = 0;
SET ROLE regress_rencoder_reader;
SELECT DISTINCT * FROM sa_list('sa_private_v');
SET ROLE regress_rencoder_stats;
SELECT DISTINCT * FROM sa_list('sa_private_v');
SET ROLE regress_rencoder_owner;
SELECT DISTINCT * FROM sa_list('sa_private_v');
RESET ROLE;
DROP TABLE sa_private;
DROP ROLE regress_rencoder_owner, regress_rencoder_reader, regress_rencoder_monitor,
	regress_rencoder_nobody, regress_rencoder_stats;

DROP TABLE sa;
DROP FUNCTION sa_count, sa_list;
