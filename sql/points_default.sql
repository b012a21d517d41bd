-- Filters of points of which no queries are known: for boxes that are made of the points.
-- Rows and boxes are the same each time, so the counts are.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET rencoder.sample_rate = 0;
CREATE SCHEMA points_default;
SET search_path = points_default, public;
-- In [0, 1).
CREATE FUNCTION unit(i int, seed int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
	SELECT ((hashint8extended(i, seed) >> 12) & 4503599627370495)::float8 / 4503599627370496
$$;
CREATE TABLE t (p point, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
INSERT INTO t SELECT point(unit(i, 1), unit(i, 2)), repeat('x', 180)
FROM generate_series(1, 200000) i;
-- Ranges that 200 boxes of a side visit.
CREATE FUNCTION visited(index regclass, side float8) RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(ceil(c.pages / 32.0))::bigint
	FROM generate_series(1, 200) i,
		rencoder_candidates(index, point(unit(i, 3), unit(i, 4)),
		point(unit(i, 3) + side, unit(i, 4) + side)) c
$$;

-- Two blocks.  By the rule's shape some 700 ranges of 36,000 were visited.
CREATE INDEX t_p ON t USING rencoder (p) WITH (pages_per_range = 32, storage = filter);
SELECT side, visited('t_p', side) < 150 AS few FROM unnest('{0,1e-6,1e-5,1e-4}'::float8[]) side;

-- Large boxes are not given up.
SELECT visited('t_p', 0.01) < 20000 AS large;

-- Made again for queries that are known: pages that somebody names are read in any case.
SELECT count(rencoder_add_query_sample('t_p', point(unit(i, 5), unit(i, 6)),
	point(unit(i, 5) + 1e-5, unit(i, 6) + 1e-5))) AS samples FROM generate_series(1, 300) i;
SELECT rencoder_compact('t_p', 0, pg_relation_size('t') / 8192) > 0 AS read;
SELECT visited('t_p', 1e-5) < 150 AS few;

-- The rows are those of the table.
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE p <@ box(point(0.2, 0.3), point(0.22, 0.31));
SET enable_bitmapscan = off;
SET enable_seqscan = on;
SELECT count(*) FROM t WHERE p <@ box(point(0.2, 0.3), point(0.22, 0.31));
DROP SCHEMA points_default CASCADE;
