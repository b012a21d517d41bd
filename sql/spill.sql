-- Groups whose keys are too many for maintenance_work_mem: filters are filled
-- range by range, in full groups and in the last one alike.
SET client_min_messages = warning;
SET enable_indexscan = off;
\getenv seed RENCODER_SEED
SELECT setseed(mod(:seed, 1000003) / 1000003.0);

-- 185 rows a page, 600 pages.  Some ranges hold only nulls, most few keys, and the last ones so
-- many that they are left out.
CREATE TABLE spill (v int8, few int4);
INSERT INTO spill
SELECT CASE WHEN i BETWEEN 20000
	AND 23000 THEN NULL WHEN i < 105000 THEN hashint8extended(i, :seed) % 50
	ELSE hashint8extended(i, :seed) END,
	abs(hashint4extended(i, :seed)) % 3000
FROM generate_series(1, 111000) i;
VACUUM ANALYZE spill;

-- What an index is like, whether it is sound and covers all rows.
CREATE FUNCTION spill_build(memory text, pages int) RETURNS TABLE (groups text, size_kept bool)
	LANGUAGE plpgsql AS $$
DECLARE
	keys text;
BEGIN
	PERFORM set_config('maintenance_work_mem', memory, true);
	EXECUTE format('CREATE INDEX spill_idx ON spill USING rencoder (v, few) '
		'WITH (autosummarize = off, pages_per_range = %s, storage = filter)',
		pages);
	PERFORM rencoder_index_check('spill_idx', true);
	SELECT string_agg(format('%s.%s %s%s', group_no, attnum, storage,
		CASE WHEN always > 0 THEN ' always' ELSE '' END),
					  ', ' ORDER BY group_no, attnum) INTO groups FROM rencoder_groups('spill_idx');
	size_kept := pg_relation_size('spill_idx') < pg_relation_size('spill') / 2;
	RETURN NEXT;
	PERFORM set_config('maintenance_work_mem', '64MB', true);
END $$;

-- A full group and a partial one, each with memory enough and without.
SELECT * FROM spill_build('64MB', 4);
DROP INDEX spill_idx;
SELECT * FROM spill_build('1MB', 4);
DROP INDEX spill_idx;
-- Only a partial group.
SELECT * FROM spill_build('64MB', 16);
DROP INDEX spill_idx;
SELECT * FROM spill_build('1MB', 16);
-- It goes on growing until it is full.
INSERT INTO spill SELECT hashint8extended(i, :seed), i % 3000 FROM generate_series(1, 300000) i;
SELECT rencoder_summarize_new_values('spill_idx') > 90 AS summarized;
SELECT storage, summarized FROM rencoder_groups('spill_idx') WHERE attnum = 1 AND group_no = 0;
SELECT rencoder_index_check('spill_idx', true);
DROP INDEX spill_idx;
-- Ranges of more keys than there is memory for.
SELECT * FROM spill_build('1MB', 1024);

-- The answers.
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION spill_query(condition text, by_index bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('enable_seqscan', (NOT by_index)::text, true),
		set_config('enable_bitmapscan', by_index::text, true);
	EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(hashint8(v)::int8 + few), 0) '
		'FROM spill WHERE '
		|| condition INTO result;
	RETURN result;
END $$;
SELECT condition AS wrong
FROM (SELECT CASE i % 3 WHEN 0 THEN format('v BETWEEN %s AND %1$s + 50',
	floor(random() * 600 - 300))
			 WHEN 1 THEN format('v = hashint8extended(%s, %s)', floor(random() * 400000), :'seed')
			 ELSE format('few = %s AND v > %s', floor(random() * 3100),
			 	(random() - 0.5) * 1e19::float8) END
	  FROM generate_series(1, 30) i) AS conditions (condition)
WHERE spill_query(condition, true) <> spill_query(condition, false);

DROP TABLE spill;
DROP FUNCTION spill_build, spill_query;
