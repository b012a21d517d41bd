-- Ranges with too many keys for their group's filters: their keys are not
-- known, their bounds are, and inserts widen these like any other's.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;

-- 150 pages with room in each; the tenth has a key a row, the others two.
CREATE TABLE always (id int, v int8, filler text) WITH (fillfactor = 50);
ALTER TABLE always ALTER filler SET STORAGE plain;
INSERT INTO always
SELECT i, CASE WHEN i / 36 = 9 THEN 1000000 + i * 7919 ELSE hashint8(i / 18) + 3000000000 END,
	repeat('x', 70)
FROM generate_series(0, 36 * 150 - 1) i;
CREATE INDEX always_v ON always USING rencoder (v) WITH (pages_per_range = 1, storage = filter);
SELECT range_no, min_key, max_key FROM rencoder_ranges('always_v') WHERE always;

CREATE FUNCTION always_count(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	by_index int8;
	by_heap int8;
	plan text;
BEGIN
	SET LOCAL enable_seqscan = off;
	EXECUTE 'SELECT count(*) FROM always WHERE ' || condition INTO by_index;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE 'SELECT count(*) FROM always WHERE ' || condition INTO by_heap;
	SET LOCAL enable_bitmapscan = on;
	RETURN format('%s by the index, %s by the table', by_index, by_heap);
END $$;

-- Keys outside the range's bounds, some outside the directory's, in rows of
-- that very page.
UPDATE always SET v = -5 WHERE ctid = '(9,1)' RETURNING (ctid::text::point)[0] AS block;
UPDATE always SET v = 2500000000 WHERE ctid = '(9,2)' RETURNING (ctid::text::point)[0] AS block;
UPDATE always SET v = 9000000000000000000
	WHERE ctid = '(9,3)' RETURNING (ctid::text::point)[0] AS block;
UPDATE always SET v = NULL WHERE ctid = '(9,4)' RETURNING (ctid::text::point)[0] AS block;
SELECT condition, always_count(condition)
FROM unnest('{v = -5,v < 0,v = 2500000000,v > 8999999999999999999,v IS NULL,'
	'v = 1000000 + 7919 * 330}'::text[]) condition;
SELECT range_no, has_null, min_key, max_key FROM rencoder_ranges('always_v') WHERE always;
SELECT rencoder_index_check('always_v', true);

-- A growing group takes more keys than its first ranges had: of a column that was null there, or
-- had one value.
CREATE TABLE more (id int, late int8, few int4);
CREATE INDEX more_grown ON more USING rencoder (late, few)
	WITH (autosummarize = off, pages_per_range = 2, storage = filter);
INSERT INTO more (id, few) SELECT i, 1 FROM generate_series(1, 185 * 20) i;
SELECT rencoder_summarize_new_values('more_grown');
CREATE INDEX more_built ON more USING rencoder (late, few)
	WITH (autosummarize = off, pages_per_range = 2, storage = filter);
INSERT INTO more SELECT i, hashint8(i), i % 20 FROM generate_series(1, 185 * 100) i;
SELECT index, rencoder_summarize_new_values(index), rencoder_index_check(index, true)
FROM unnest('{more_built,more_grown}'::regclass[]) index;
SELECT index, attnum, summarized, always
FROM unnest('{more_built,more_grown}'::regclass[]) index, rencoder_groups(index) ORDER BY 1, 2;

-- Values between those that are there are told apart from them.
SELECT index, value, candidates < 5 AS few FROM unnest('{more_built,more_grown}'::regclass[]) index,
	unnest('{77,1000000}'::int8[]) value, rencoder_candidates(index, value, value);
CREATE TABLE states (state int4);
INSERT INTO states SELECT 1 + i % 3 * 5 FROM generate_series(1, 185 * 300) i;
CREATE INDEX states_state ON states USING rencoder (state)
	WITH (pages_per_range = 1, storage = filter);
SELECT lo, hi, candidates < 10 AS few FROM (VALUES (4, 4), (7, 8), (1, 1)) v (lo, hi),
	rencoder_candidates('states_state', lo, hi);

DROP TABLE always, more, states;
DROP FUNCTION always_count;
