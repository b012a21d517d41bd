-- Automatic summarization by the inserting session, whose results are there
-- when the statement ends.  test/t/012_autosummarize.pl has the worker.
--
-- A worker cannot see a table that is not committed yet, nor temporary ones,
-- so the session itself summarizes what is complete: slices of 8 ranges, when
-- the table has grown 2 ranges beyond (1 from 32 pages on).
CREATE FUNCTION grow(tab regclass, pages int, OUT all_ranges bigint, OUT left_over bigint)
	LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %s SELECT i, repeat(''x'', 7000) FROM generate_series(1, %s) i',
		tab, pages);
	SELECT ranges, unsummarized INTO all_ranges, left_over
	FROM rencoder_candidates((tab || '_v')::regclass, 0::int8, 0::int8);
END $$;

BEGIN;
CREATE TABLE auto_new (v int8, filler text);
ALTER TABLE auto_new ALTER filler SET STORAGE plain;
CREATE INDEX auto_new_v ON auto_new USING rencoder (v) WITH (pages_per_range = 2);
SELECT * FROM grow('auto_new', 20);
SELECT * FROM grow('auto_new', 1);
SELECT * FROM grow('auto_new', 15);
SELECT * FROM grow('auto_new', 1);
-- Full groups become matrices.
SELECT * FROM grow('auto_new', 239);
SELECT * FROM grow('auto_new', 1);
SELECT group_no, sealed, summarized, storage FROM rencoder_groups('auto_new_v');
-- Altering the option takes effect at once.
ALTER INDEX auto_new_v SET (autosummarize = off);
SELECT * FROM grow('auto_new', 119);
-- A session makes up for two slices at a time.
ALTER INDEX auto_new_v SET (autosummarize);
SELECT * FROM grow('auto_new', 1);
ALTER INDEX auto_new_v RESET (autosummarize);
SELECT * FROM grow('auto_new', 16);
SELECT rencoder_index_check('auto_new_v', true);
SELECT rencoder_maintain_index('auto_new_v');
SELECT rencoder_index_check('auto_new_v', true);
-- Subtransactions, and cursors that are open meanwhile.
DECLARE c CURSOR FOR SELECT v FROM auto_new WHERE v >= 16;
FETCH 2 FROM c;
SAVEPOINT s;
SELECT * FROM grow('auto_new', 40);
ROLLBACK TO s;
SELECT * FROM grow('auto_new', 1);
SAVEPOINT s;
SELECT * FROM grow('auto_new', 24);
RELEASE s;
MOVE ALL FROM c;
CLOSE c;
SELECT rencoder_index_check('auto_new_v', true);
COMMIT;
-- Truncated in this transaction: a new file, which others do not see either.
BEGIN;
TRUNCATE auto_new;
SELECT * FROM grow('auto_new', 25);
COMMIT;
DROP TABLE auto_new;

-- Rows one by one.  A function that fails for one row must not fail the
-- insertion of others, so expressions and predicates are left alone.
CREATE TEMPORARY TABLE auto_temp (v int8, filler text);
ALTER TABLE auto_temp ALTER filler SET STORAGE plain;
CREATE INDEX auto_temp_v ON auto_temp USING rencoder (v)
	WITH (pages_per_range = 1);
CREATE INDEX auto_temp_expression ON auto_temp USING rencoder ((v + 1))
	WITH (pages_per_range = 1);
CREATE INDEX auto_temp_partial ON auto_temp USING rencoder (v)
	WITH (pages_per_range = 1)
	WHERE v > 0;
DO $$
BEGIN
	FOR i IN 1 .. 50 LOOP
		INSERT INTO auto_temp VALUES (i, repeat('x', 7000));
	END LOOP;
END $$;
SELECT i, ranges, unsummarized
FROM unnest('{auto_temp_v,auto_temp_expression,auto_temp_partial}'::text[]) i,
	rencoder_candidates(i, 0::int8, 0::int8);
SELECT rencoder_index_check('auto_temp_v', true);
DROP TABLE auto_temp;

-- Values out of line: a session does not fetch those of rows that are dead, or
-- may be, which may be gone.  Their ranges are always visited.
CREATE TEMPORARY TABLE auto_toast (v numeric, filler text);
ALTER TABLE auto_toast ALTER filler SET STORAGE plain, ALTER v SET STORAGE external;
CREATE INDEX auto_toast_v ON auto_toast USING rencoder (v)
	WITH (pages_per_range = 1);
INSERT INTO auto_toast
SELECT CASE WHEN i IN (2, 3) THEN repeat(i::text, 9000)::numeric WHEN i <> 5 THEN i END,
	repeat('x', 7000)
FROM generate_series(1, 10) i;
BEGIN;
DELETE FROM auto_toast WHERE v > 1e8999 * 3;
INSERT INTO auto_toast VALUES (0, repeat('x', 7000));
ROLLBACK;
SELECT range_no, state, always, has_null, has_value, min_key, max_key
FROM rencoder_ranges('auto_toast_v') WHERE range_no BETWEEN 1 AND 5 ORDER BY 1;
SELECT rencoder_index_check('auto_toast_v', true);
SET enable_seqscan = off;
SELECT count(*) FROM auto_toast WHERE v > 1e8999 * 3;
RESET enable_seqscan;
DROP TABLE auto_toast;

DROP FUNCTION grow;

-- A group that began without values stays without a coder while sessions fill it: they
-- neither train for it nor start it over.  A group without keys gets a coder.
BEGIN;
CREATE TABLE auto_late (t text COLLATE "C", filler text);
ALTER TABLE auto_late ALTER filler SET STORAGE plain;
CREATE INDEX auto_late_t ON auto_late USING rencoder (t)
	WITH (pages_per_range = 2);
CREATE FUNCTION late_grow(pages int, prefix text) RETURNS void LANGUAGE sql AS $$
	INSERT INTO public.auto_late SELECT prefix || md5(i::text), repeat('x', 7000)
	FROM generate_series(1, pages) i
$$;
CREATE FUNCTION late_state(OUT epoch bigint, OUT groups text) LANGUAGE sql AS $$
	SELECT epoch, (SELECT string_agg(summarized::text, ', ' ORDER BY group_no)
		FROM public.rencoder_groups('public.auto_late_t'))
	FROM public.rencoder_metapage('public.auto_late_t')
$$;
SELECT late_grow(20, NULL);
SELECT * FROM late_state();
SELECT late_grow(16, 'https://example.com/');
SELECT * FROM late_state();
SELECT late_grow(16, 'https://example.com/');
SELECT late_grow(180, 'https://example.com/');
SELECT late_grow(60, 'https://example.com/');
SELECT * FROM late_state();
-- Now there is a coder; but this group has more than a slice of keys without one.
SELECT rencoder_maintain_index('auto_late_t') > 0 AS maintained;
SELECT rencoder_desummarize_range('auto_late_t', 100);
SELECT rencoder_summarize_range('auto_late_t', 100);
SELECT rencoder_index_check('auto_late_t', true);
DROP TABLE auto_late;
DROP FUNCTION late_grow, late_state;
COMMIT;
