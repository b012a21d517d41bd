-- Points of which no queries are known: filters for boxes that are made of the points themselves.
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
CREATE TABLE t (p point, filler text);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT point(unit(i, 1), unit(i, 2)), repeat('x', 180)
	FROM generate_series(first, last) i
$$;
-- Ranges that 200 boxes of a side visit, of those that are summarized.
CREATE FUNCTION visited(index regclass, side float8) RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(c.candidates - c.unsummarized)::bigint
	FROM generate_series(1, 200) i,
		rencoder_candidates(index, point(unit(i, 3), unit(i, 4)),
		point(unit(i, 3) + side, unit(i, 4) + side)) c
$$;

-- Two groups, one of them growing; made before its rows, and after.  By the rule's shape some
-- 700 ranges of 36,000 were visited.
CREATE INDEX t_before ON t USING rencoder (p)
	WITH (pages_per_range = 32, autosummarize = off, storage = filter);
SELECT fill(1, 12000);
SELECT rencoder_summarize_new_values('t_before') > 0 AS some;
SELECT fill(12001, 200000);
SELECT rencoder_summarize_new_values('t_before') > 0 AS more;
CREATE INDEX t_after ON t USING rencoder (p)
	WITH (pages_per_range = 32, autosummarize = off, storage = filter);
SELECT index, side, visited(index, side) < 150 AS few,
	(SELECT max(ranges) FROM rencoder_candidates(index, point(0, 0),
	point(0, 0))) > 170 AS all_ranges
FROM unnest('{t_before,t_after}'::regclass[]) index, unnest('{0,1e-6,1e-5,1e-4}'::float8[]) side
	ORDER BY index::text, side;
SELECT count(*) > 1 AS groups, bool_and(predicted_fpr BETWEEN 0 AND 0.05) AS predicted
FROM rencoder_groups('t_after') WHERE storage = 'matrix' OR summarized < 128;

-- Large boxes are not given up.
SELECT visited('t_after', 0.01) < 20000 AS large;

-- What retuning rebuilds leaves nothing to gain.
SELECT rencoder_retune('t_after') >= 0 AS once;
SELECT rencoder_retune('t_after') AS again;
SELECT visited('t_after', 1e-5) < 150 AS few;

-- The rows are those of the table.
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE p <@ box(point(0.2, 0.3), point(0.22, 0.31));
SET enable_bitmapscan = off;
SET enable_seqscan = on;
SELECT count(*) FROM t WHERE p <@ box(point(0.2, 0.3), point(0.22, 0.31));
DROP SCHEMA points_default CASCADE;
