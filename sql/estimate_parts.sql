-- rencoder_estimate_count() where many ranges of groups are not covered: it reads no page for each
-- of them.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;

-- Every second range is summarized anew, and its keys are in slices from then on.
CREATE TABLE ep (v int8, s text COLLATE "C", filler text)
	WITH (autovacuum_enabled = off, fillfactor = 50);
INSERT INTO ep SELECT hashint8extended(i, 1), 'key ' || md5(i::text), repeat('x', 8)
FROM generate_series(1, 45000) i;
CREATE INDEX ep_v ON ep USING rencoder (v)
	WITH (storage = run, autosummarize = off, pages_per_range = 1);
CREATE INDEX ep_s ON ep USING rencoder (s)
	WITH (storage = run, autosummarize = off, pages_per_range = 1);
DO $$
BEGIN
	FOR block IN 0 .. pg_relation_size('ep') / 8192 - 1 BY 2 LOOP
		PERFORM rencoder_desummarize_range('ep_v', block);
		PERFORM rencoder_desummarize_range('ep_s', block);
	END LOOP;
END $$;
SELECT sum(rencoder_summarize_new_values(i)) > 0 AS summarized
FROM unnest('{ep_v, ep_s}'::regclass[]) i;
CREATE FUNCTION ep_uncovered(i regclass) RETURNS int8 LANGUAGE sql AS
	'SELECT count(*) FROM rencoder_ranges(i) WHERE attnum = 1 AND NOT covered';
SELECT ep_uncovered('ep_v') > 300 AS ranges, ep_uncovered('ep_s') > 300 AS of_strings;

-- Pages of the index that are read.
CREATE FUNCTION ep_reads(i regclass, lo anyelement, hi anyelement) RETURNS int8
LANGUAGE plpgsql AS $$
DECLARE
	before int8 := pg_stat_get_xact_blocks_fetched(i);
BEGIN
	PERFORM rencoder_estimate_count(i, lo, hi);
	RETURN pg_stat_get_xact_blocks_fetched(i) - before;
END $$;
SELECT ep_reads('ep_v', -9e18::int8, 9e18::int8) < ep_uncovered('ep_v') / 2 AS wide,
	ep_reads('ep_v', 0::int8, 1e17::int8) < ep_uncovered('ep_v') / 2 AS narrow,
	ep_reads('ep_s', 'key 3'::text, 'key 5') < ep_uncovered('ep_s') / 2 AS strings;

-- Estimates that are wrong by more than 3 % and 100 rows.
SELECT k, e.estimate, t.truth
FROM generate_series(1, 60) k,
	LATERAL (SELECT hashint8extended(k, 2) / 2 AS lo,
		hashint8extended(k, 2) / 2 + 10 ^ (14 + k % 5) AS hi) q,
	LATERAL (SELECT rencoder_estimate_count('ep_v', lo::int8, hi::int8) AS estimate) e,
	LATERAL (SELECT count(*) AS truth FROM ep WHERE v BETWEEN lo::int8 AND hi::int8) t
WHERE abs(estimate - truth) > 100 + truth * 0.03;
SELECT k, e.estimate, t.truth
FROM generate_series(1, 15) k,
	LATERAL (SELECT 'key ' || to_hex(k) AS lo, 'key ' || to_hex(k) || '7' AS hi) q,
	LATERAL (SELECT rencoder_estimate_count('ep_s', lo, hi) AS estimate) e,
	LATERAL (SELECT count(*) AS truth FROM ep WHERE s BETWEEN lo AND hi) t
WHERE abs(estimate - truth) > 100 + truth * 0.03;
SELECT rencoder_estimate_count('ep_v', -9223372036854775808, 9223372036854775807) AS all_rows;

DROP TABLE ep;
DROP FUNCTION ep_uncovered, ep_reads;
