-- The functions that maintain, inspect and check an index: what they return,
-- and what they refuse.  Tables are small: pages_per_range = 1 and wide rows.
SET client_min_messages = warning;

CREATE TABLE fn (id int, v int8, few int4, filler text);
ALTER TABLE fn ALTER filler SET STORAGE plain;
CREATE INDEX fn_v ON fn USING rencoder (v)
	WITH (autosummarize = off, pages_per_range = 1, storage = filter);
CREATE INDEX fn_two ON fn USING rencoder (few, v)
	WITH (autosummarize = off, pages_per_range = 2, storage = filter);
CREATE INDEX fn_btree ON fn (v);
CREATE VIEW fn_view AS SELECT * FROM fn;
-- Seven rows a page.
CREATE PROCEDURE fn_fill(first int, last int) LANGUAGE sql AS $$
	INSERT INTO fn SELECT i, (i::int8 * 2654435761) % 4294967296, nullif(i % 10, 3),
		repeat('x', 1000)
	FROM generate_series(first, last) i
$$;
-- Both indexes, structure and coverage of all rows.
CREATE PROCEDURE fn_check() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM rencoder_index_check('fn_v', true);
	PERFORM rencoder_index_check('fn_two', heapallindexed => true);
END $$;
CREATE FUNCTION fn_states(index regclass) RETURNS TABLE (state text, ranges bigint)
	LANGUAGE sql AS $$
	SELECT state, count(*) FROM rencoder_ranges(index) WHERE attnum = 1 GROUP BY state
	ORDER BY state
$$;

--
-- An empty index.
--
SELECT * FROM rencoder_metapage('fn_v');
SELECT * FROM rencoder_groups('fn_v');
SELECT * FROM rencoder_ranges('fn_v');
SELECT * FROM rencoder_runs('fn_v');
SELECT ranges, skipped, candidates, unsummarized FROM rencoder_candidates('fn_v', 1::int8, 2::int8);
SELECT rencoder_summarize_new_values('fn_v');
CALL fn_check();

--
-- Summarizing: nothing, one range, all of them.
--
CALL fn_fill(1, 70);
SELECT * FROM fn_states('fn_v');
SELECT candidates = ranges AS visits_all, unsummarized = ranges AS unsummarized
FROM rencoder_candidates('fn_v', 1::int8, 2::int8);
SELECT skipped = ranges AS contradictory FROM rencoder_candidates('fn_v', 2::int8, 1::int8);
CALL fn_check();
SELECT rencoder_summarize_range('fn_v', 4);
SELECT rencoder_summarize_range('fn_v', 4);
SELECT range_no, first_block, attnum, state, always, has_null, has_value, min_key, max_key,
	distinct_keys,
	horizon IS NOT NULL AS horizon
FROM rencoder_ranges('fn_v') WHERE range_no BETWEEN 3 AND 5;
CALL fn_check();
SELECT rencoder_summarize_new_values('fn_v');
SELECT rencoder_summarize_new_values('fn_v');
SELECT * FROM fn_states('fn_v');
-- The partial last range is among them; new rows there are covered at once.
CALL fn_fill(71, 71);
SELECT * FROM fn_states('fn_v');
CALL fn_check();
-- Two columns.
SELECT rencoder_summarize_new_values('fn_two');
SELECT range_no, first_block, attnum, state, always, has_null, has_value, min_key, max_key,
	distinct_keys
FROM rencoder_ranges('fn_two') WHERE range_no < 2;
SELECT group_no, attnum, header_block > 0 AS header, sealed, summarized, summarizing, always,
	shape IS NOT NULL AS shape, storage, pages, min_key, max_key,
	horizon IS NOT NULL AS horizon
FROM rencoder_groups('fn_two');
CALL fn_check();

--
-- A group becomes full: its slices turn into a matrix, and leave free pages.
--
CALL fn_fill(72, 1100);
SELECT rencoder_summarize_new_values('fn_v');
SELECT group_no, sealed, summarized, storage
FROM rencoder_groups('fn_v');
SELECT epoch > 1 AS epoch, directory_pages FROM rencoder_metapage('fn_v');
CALL fn_check();
VACUUM fn;
SELECT * FROM fn_states('fn_two');
CALL fn_check();

--
-- Desummarizing: the range is always visited until it is summarized again.
--
SELECT rencoder_desummarize_range('fn_v', 4);
SELECT rencoder_desummarize_range('fn_v', 4);
SELECT range_no, first_block, attnum, state, always, has_null, has_value, min_key, max_key,
	distinct_keys, horizon
FROM rencoder_ranges('fn_v') WHERE range_no = 4;
SELECT group_no, sealed, summarized, storage FROM rencoder_groups('fn_v');
SELECT unsummarized, candidates >= 1 AS visited
FROM rencoder_candidates('fn_v', -2::int8, -1::int8);
CALL fn_check();
UPDATE fn SET v = -1 WHERE ctid = '(4,1)';
CALL fn_check();
SELECT rencoder_summarize_range('fn_v', 4);
SELECT group_no, sealed, summarized, storage FROM rencoder_groups('fn_v');
SELECT unsummarized FROM rencoder_candidates('fn_v', -2::int8, -1::int8);
CALL fn_check();

--
-- Other ways to change a table.
--
DELETE FROM fn WHERE id % 2 = 0;
VACUUM fn;
CALL fn_check();
INSERT INTO fn VALUES (1, NULL, NULL, 'x'), (2, 9223372036854775807, 2147483647, 'x'),
	(3, -9223372036854775808, -2147483648, 'x');
CALL fn_check();
UPDATE fn SET few = 77 WHERE id % 7 = 0;
CALL fn_check();
CLUSTER fn USING fn_btree;
CALL fn_check();
VACUUM FULL fn;
CALL fn_check();
REINDEX TABLE fn;
CALL fn_check();
-- VACUUM cuts off the end of the table; summaries behind it stay.
DELETE FROM fn WHERE ctid >= '(30,1)';
VACUUM fn;
SELECT count(*) > 0 AS behind_the_end FROM rencoder_ranges('fn_v')
WHERE first_block >= pg_relation_size('fn') / current_setting('block_size')::int;
CALL fn_check();
CALL fn_fill(2001, 2400);
CALL fn_check();
TRUNCATE fn;
SELECT * FROM fn_states('fn_v');
CALL fn_check();
CALL fn_fill(1, 100);
VACUUM fn;
SELECT * FROM fn_states('fn_v');
CALL fn_check();

--
-- Bounds of other types.
--
SELECT skipped + candidates = ranges AS adds_up, unsummarized
FROM rencoder_candidates('fn_v', 1::int2, 5::int2);
SELECT skipped + candidates = ranges AS adds_up, unsummarized
FROM rencoder_candidates('fn_v', 1, 5);
CREATE DOMAIN fn_domain AS int8;
SELECT skipped + candidates = ranges AS adds_up, unsummarized
FROM rencoder_candidates('fn_v', 1::fn_domain, 5::fn_domain);
-- Contradictory, and beyond all values.
SELECT skipped, candidates FROM rencoder_candidates('fn_v', 5::int8, 1::int8);
SELECT skipped, candidates FROM rencoder_candidates('fn_v', 4294967297::int8,
	9223372036854775807::int8);
SELECT * FROM rencoder_candidates('fn_v', 1.5, 2.5);
SELECT * FROM rencoder_candidates('fn_v', 'one'::text, 'two'::text);

--
-- NULL arguments.
--
SELECT rencoder_summarize_new_values(NULL);
SELECT rencoder_summarize_range(NULL, 1), rencoder_summarize_range('fn_v', NULL);
SELECT rencoder_desummarize_range('fn_v', NULL) IS NULL AS is_null;
SELECT rencoder_index_check(NULL) IS NULL AS is_null,
	rencoder_index_check('fn_v', NULL) IS NULL AS is_null;
SELECT * FROM rencoder_metapage(NULL);
SELECT * FROM rencoder_groups(NULL);
SELECT * FROM rencoder_ranges(NULL);
SELECT * FROM rencoder_runs(NULL);
SELECT * FROM rencoder_candidates('fn_v', NULL::int8, 1::int8);

--
-- Block numbers.
--
SELECT rencoder_summarize_range('fn_v', -1);
SELECT rencoder_summarize_range('fn_v', 4294967295);
SELECT rencoder_summarize_range('fn_v', 9223372036854775807);
SELECT rencoder_desummarize_range('fn_v', -1);
SELECT rencoder_desummarize_range('fn_v', 4294967295);
-- Behind the end of the table.
SELECT rencoder_summarize_range('fn_v', 4294967294);
SELECT rencoder_desummarize_range('fn_v', 4294967294);
SELECT rencoder_summarize_range('fn_v', 1000000);
CALL fn_check();

--
-- Not an index of this kind.
--
CREATE TABLE fn_part (v int8) PARTITION BY RANGE (v);
CREATE TABLE fn_part_1 PARTITION OF fn_part FOR VALUES FROM (0) TO (1000);
CREATE INDEX fn_part_v ON fn_part USING rencoder (v) WITH (autosummarize = off, storage = filter);
SELECT rencoder_summarize_new_values('fn');
SELECT rencoder_summarize_new_values('fn_btree');
SELECT rencoder_summarize_new_values('fn_view');
SELECT rencoder_summarize_new_values('fn_part_v');
SELECT rencoder_summarize_new_values(4294967295);
SELECT rencoder_summarize_range('fn', 0);
SELECT rencoder_summarize_range('fn_btree', 0);
SELECT rencoder_desummarize_range('fn', 0);
SELECT rencoder_desummarize_range('fn_btree', 0);
SELECT rencoder_desummarize_range('fn_part_v', 0);
SELECT rencoder_index_check('fn');
SELECT rencoder_index_check('fn_btree', true);
SELECT rencoder_index_check('fn_part_v');
SELECT * FROM rencoder_metapage('fn');
SELECT * FROM rencoder_metapage('fn_btree');
SELECT * FROM rencoder_metapage('fn_view');
SELECT * FROM rencoder_groups('fn');
SELECT * FROM rencoder_groups('fn_btree');
SELECT * FROM rencoder_ranges('fn');
SELECT * FROM rencoder_ranges('fn_btree');
SELECT * FROM rencoder_runs('fn');
SELECT * FROM rencoder_runs('fn_btree');
SELECT * FROM rencoder_candidates('fn', 1::int8, 2::int8);
SELECT * FROM rencoder_candidates('fn_btree', 1::int8, 2::int8);
SELECT * FROM rencoder_candidates('fn_part_v', 1::int8, 2::int8);
INSERT INTO fn_part SELECT generate_series(0, 999);
SELECT rencoder_summarize_new_values('fn_part_1_v_idx') > 0 AS summarized;
SELECT rencoder_index_check('fn_part_1_v_idx', true);

--
-- Somebody else's index.
--
CREATE ROLE regress_rencoder_owner;
CREATE ROLE regress_rencoder_reader;
CREATE ROLE regress_rencoder_monitor IN ROLE pg_stat_scan_tables;
CREATE ROLE regress_rencoder_nobody;
CREATE TABLE fn_private (v int8);
INSERT INTO fn_private SELECT generate_series(1, 1000);
CREATE INDEX fn_private_v ON fn_private USING rencoder (v)
	WITH (pages_per_range = 1, storage = filter);
ALTER TABLE fn_private OWNER TO regress_rencoder_owner;
GRANT SELECT ON fn_private TO regress_rencoder_reader;

SET ROLE regress_rencoder_nobody;
SELECT rencoder_summarize_new_values('fn_private_v');
SELECT rencoder_summarize_range('fn_private_v', 0);
SELECT rencoder_desummarize_range('fn_private_v', 0);
SELECT rencoder_index_check('fn_private_v');
SELECT * FROM rencoder_metapage('fn_private_v');
SELECT * FROM rencoder_groups('fn_private_v');
SELECT * FROM rencoder_ranges('fn_private_v');
SELECT * FROM rencoder_runs('fn_private_v');
SELECT * FROM rencoder_candidates('fn_private_v', 1::int8, 2::int8);
-- Who asks for a block out of range is told so first, as by BRIN.
SELECT rencoder_desummarize_range('fn_private_v', -1);

SET ROLE regress_rencoder_monitor;
SELECT rencoder_index_check('fn_private_v');
SELECT version FROM rencoder_metapage('fn_private_v');
SELECT summarized > 0 AS summarized, min_key, max_key FROM rencoder_groups('fn_private_v');
SELECT state, min_key, max_key FROM rencoder_ranges('fn_private_v') LIMIT 1;
SELECT * FROM rencoder_candidates('fn_private_v', 1::int8, 2::int8);

SET ROLE regress_rencoder_reader;
SELECT rencoder_desummarize_range('fn_private_v', 0);
SELECT rencoder_index_check('fn_private_v');
SELECT version FROM rencoder_metapage('fn_private_v');
SELECT min_key, max_key FROM rencoder_groups('fn_private_v');
SELECT ranges > 0 AS ranges FROM rencoder_candidates('fn_private_v', 1::int8, 2::int8);
-- With row security a reader of some rows must not learn of the others.
RESET ROLE;
ALTER TABLE fn_private ENABLE ROW LEVEL SECURITY;
SET ROLE regress_rencoder_reader;
SELECT min_key, max_key FROM rencoder_groups('fn_private_v');
SELECT * FROM rencoder_candidates('fn_private_v', 1::int8, 2::int8);

SET ROLE regress_rencoder_owner;
SELECT rencoder_desummarize_range('fn_private_v', 0);
SELECT rencoder_summarize_new_values('fn_private_v');
SELECT rencoder_index_check('fn_private_v', true);
SELECT ranges > 0 AS ranges FROM rencoder_candidates('fn_private_v', 1::int8, 2::int8);
RESET ROLE;

-- Index expressions run as the table's owner, with a safe search path.
CREATE FUNCTION fn_who(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF v = 1 AND current_user <> session_user THEN
		RAISE WARNING '% with search_path %', current_user, current_setting('search_path');
	END IF;
	RETURN v;
END $$;
GRANT CREATE ON SCHEMA public TO regress_rencoder_owner;
SET ROLE regress_rencoder_owner;
CREATE TABLE fn_expression (v int8);
CREATE INDEX fn_expression_idx ON fn_expression USING rencoder (fn_who(v))
	WITH (autosummarize = off, pages_per_range = 1, storage = filter);
RESET ROLE;
INSERT INTO fn_expression VALUES (1), (2), (3);
SELECT rencoder_summarize_new_values('fn_expression_idx');
SELECT rencoder_index_check('fn_expression_idx', true);
SELECT current_user = session_user AS myself, current_setting('search_path') AS search_path;

--
-- An index that CREATE INDEX CONCURRENTLY did not finish.
--
CREATE INDEX CONCURRENTLY fn_invalid ON fn USING rencoder ((1 / (id - 5))) WITH (storage = filter);
SELECT rencoder_summarize_new_values('fn_invalid');
SELECT rencoder_summarize_range('fn_invalid', 0);
SELECT rencoder_desummarize_range('fn_invalid', 0);
SELECT rencoder_index_check('fn_invalid');
SELECT * FROM rencoder_candidates('fn_invalid', 1, 2);
DROP INDEX fn_invalid;
CREATE INDEX CONCURRENTLY fn_concurrent ON fn USING rencoder (v)
	WITH (storage = filter) WHERE few IS NULL;
SELECT rencoder_index_check('fn_concurrent', true);

--
-- Temporary tables.
--
CREATE TEMP TABLE fn_temp (v int8);
CREATE INDEX fn_temp_v ON fn_temp USING rencoder (v)
	WITH (autosummarize = off, pages_per_range = 1, storage = filter);
INSERT INTO fn_temp SELECT generate_series(1, 3000);
SELECT rencoder_summarize_new_values('fn_temp_v') > 0 AS summarized;
SELECT rencoder_index_check('fn_temp_v', true);

-- In a read-only transaction: looking is allowed.
BEGIN READ ONLY;
CALL fn_check();
SELECT count(*) > 0 AS some FROM rencoder_ranges('fn_v');
ROLLBACK;

DROP OWNED BY regress_rencoder_owner, regress_rencoder_reader, regress_rencoder_monitor;
DROP ROLE regress_rencoder_owner, regress_rencoder_reader, regress_rencoder_monitor,
	regress_rencoder_nobody;
DROP TABLE fn, fn_part, fn_temp CASCADE;
DROP FUNCTION fn_states, fn_who;
DROP PROCEDURE fn_fill, fn_check;
DROP DOMAIN fn_domain;
