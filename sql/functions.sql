-- The functions that maintain, inspect and check an index: what they return,
-- and what they refuse.  Tables are small, with wide rows.
SET client_min_messages = warning;
SET rencoder.sample_rate = 0;

CREATE TABLE fn (id int, v int8, few int4, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE fn ALTER filler SET STORAGE plain;
CREATE INDEX fn_v ON fn USING rencoder (v) WITH (autosummarize = off);
CREATE INDEX fn_two ON fn USING rencoder (few, v) WITH (autosummarize = off);
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
-- The pages that runs cover, and those behind the frontier.
CREATE FUNCTION fn_extent(index regclass, OUT covered bigint, OUT behind bigint) LANGUAGE sql AS $$
	SELECT least(frontier, p), greatest(p - frontier, 0)
	FROM rencoder_metapage(index),
		(SELECT pg_relation_size(indrelid) / current_setting('block_size')::int FROM pg_index
		 WHERE indexrelid = index) t (p)
$$;

--
-- An empty index.
--
SELECT * FROM rencoder_metapage('fn_v');
SELECT * FROM rencoder_runs('fn_v');
SELECT * FROM rencoder_candidates('fn_v', 1::int8, 2::int8);
SELECT rencoder_maintain_index('fn_v');
SELECT pages FROM rencoder_maintain('fn_v');
SELECT rencoder_compact('fn_v');
CALL fn_check();

--
-- What has come is read by scans, until it is indexed.
--
CALL fn_fill(1, 70);
SELECT * FROM fn_extent('fn_v');
SELECT table_pages, pages, unindexed FROM rencoder_candidates('fn_v', 1::int8, 2::int8);
SELECT pages AS contradictory FROM rencoder_candidates('fn_v', 2::int8, 1::int8);
CALL fn_check();
SELECT rencoder_maintain_index('fn_v');
SELECT rencoder_maintain_index('fn_v');
SELECT * FROM fn_extent('fn_v');
SELECT table_pages, pages, unindexed FROM rencoder_candidates('fn_v', 1::int8, 2::int8);
SELECT run, attnum, kind, state, rank, from_page, to_page >= 10 AS to_the_end, cut, horizon,
	entries, rows, pages > 0 AS pages, bits_per_entry > 0 AS bits,
	false_pages >= 0 AS predicted, parts > 0 AS parts, nulls, null_pages
FROM rencoder_runs('fn_v');
CALL fn_check();
-- New rows on pages that a run covers are entries.
INSERT INTO fn VALUES (71, 71, 1, '');
SELECT pending_pages FROM rencoder_metapage('fn_v');
SELECT pages, unindexed FROM rencoder_candidates('fn_v', 71::int8, 71::int8);
CALL fn_check();
-- Two columns.
SELECT pages, size = pg_relation_size('fn_two') AS size FROM rencoder_maintain('fn_two');
SELECT run, attnum, kind, state, rank, from_page, rows, nulls FROM rencoder_runs('fn_two');
CALL fn_check();
-- All indexes of a table.
CALL fn_fill(72, 1100);
SELECT index, pages > 100 AS read FROM rencoder_maintain('fn') ORDER BY 1;
SELECT behind FROM fn_extent('fn_v');
CALL fn_check();
SELECT rencoder_compact('fn_v') > 150 AS read;
SELECT count(*), min(from_page), max(rows) FROM rencoder_runs('fn_v');
CALL fn_check();

--
-- Other ways to change a table.
--
UPDATE fn SET v = -1 WHERE ctid = '(4,1)';
CALL fn_check();
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
-- VACUUM cuts off the end of the table; the frontier stays until the next maintenance.
DELETE FROM fn WHERE ctid >= '(30,1)';
VACUUM fn;
SELECT frontier > 30 AS behind_the_end FROM rencoder_metapage('fn_v');
CALL fn_check();
SELECT rencoder_maintain_index('fn_v');
SELECT frontier, entries_to FROM rencoder_metapage('fn_v');
CALL fn_check();
CALL fn_fill(2001, 2400);
CALL fn_check();
TRUNCATE fn;
SELECT * FROM fn_extent('fn_v');
CALL fn_check();
CALL fn_fill(1, 100);
VACUUM fn;
CALL fn_check();

--
-- Bounds of other types.
--
SELECT rencoder_maintain_index('fn_v') IS NOT NULL AS maintained;
SELECT pages, unindexed FROM rencoder_candidates('fn_v', 1::int2, 5::int2);
SELECT pages, unindexed FROM rencoder_candidates('fn_v', 1, 5);
CREATE DOMAIN fn_domain AS int8;
SELECT pages, unindexed FROM rencoder_candidates('fn_v', 1::fn_domain, 5::fn_domain);
-- Contradictory, and beyond all values.
SELECT pages, unindexed FROM rencoder_candidates('fn_v', 5::int8, 1::int8);
SELECT pages, unindexed FROM rencoder_candidates('fn_v', 4294967297::int8,
	9223372036854775807::int8);
SELECT * FROM rencoder_candidates('fn_v', 1.5, 2.5);
SELECT * FROM rencoder_candidates('fn_v', 'one'::text, 'two'::text);

--
-- NULL arguments.
--
SELECT rencoder_maintain_index(NULL), rencoder_compact(NULL);
SELECT * FROM rencoder_maintain(NULL);
SELECT rencoder_index_check(NULL) IS NULL AS is_null,
	rencoder_index_check('fn_v', NULL) IS NULL AS is_null;
SELECT * FROM rencoder_metapage(NULL);
SELECT * FROM rencoder_runs(NULL);
SELECT * FROM rencoder_candidates('fn_v', NULL::int8, 1::int8);

--
-- Not an index of this kind.
--
CREATE TABLE fn_part (v int8) PARTITION BY RANGE (v);
CREATE TABLE fn_part_1 PARTITION OF fn_part FOR VALUES FROM (0) TO (1000);
CREATE INDEX fn_part_v ON fn_part USING rencoder (v) WITH (autosummarize = off);
SELECT rencoder_maintain_index('fn');
SELECT rencoder_maintain_index('fn_btree');
SELECT rencoder_maintain_index('fn_view');
SELECT rencoder_maintain_index('fn_part_v');
SELECT rencoder_maintain_index(4294967295);
SELECT rencoder_compact('fn');
SELECT rencoder_compact('fn_btree');
SELECT rencoder_index_check('fn');
SELECT rencoder_index_check('fn_btree', true);
SELECT rencoder_index_check('fn_part_v');
SELECT * FROM rencoder_metapage('fn');
SELECT * FROM rencoder_metapage('fn_btree');
SELECT * FROM rencoder_metapage('fn_view');
SELECT * FROM rencoder_runs('fn');
SELECT * FROM rencoder_runs('fn_btree');
SELECT * FROM rencoder_candidates('fn', 1::int8, 2::int8);
SELECT * FROM rencoder_candidates('fn_btree', 1::int8, 2::int8);
SELECT * FROM rencoder_candidates('fn_part_v', 1::int8, 2::int8);
INSERT INTO fn_part SELECT i % 1000 FROM generate_series(0, 9999) i;
SELECT rencoder_maintain_index('fn_part_1_v_idx') > 0 AS maintained;
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
CREATE INDEX fn_private_v ON fn_private USING rencoder (v) WITH (pages_per_range = 1);
INSERT INTO fn_private SELECT generate_series(1001, 3000);
ALTER TABLE fn_private OWNER TO regress_rencoder_owner;
GRANT SELECT ON fn_private TO regress_rencoder_reader;

SET ROLE regress_rencoder_nobody;
SELECT rencoder_maintain_index('fn_private_v');
SELECT rencoder_compact('fn_private_v');
SELECT rencoder_index_check('fn_private_v');
SELECT * FROM rencoder_metapage('fn_private_v');
SELECT * FROM rencoder_runs('fn_private_v');
SELECT * FROM rencoder_candidates('fn_private_v', 1::int8, 2::int8);

SET ROLE regress_rencoder_monitor;
SELECT rencoder_index_check('fn_private_v');
SELECT version FROM rencoder_metapage('fn_private_v');
SELECT rows FROM rencoder_runs('fn_private_v');
SELECT * FROM rencoder_candidates('fn_private_v', 1::int8, 2::int8);

SET ROLE regress_rencoder_reader;
SELECT rencoder_compact('fn_private_v');
SELECT rencoder_index_check('fn_private_v');
SELECT version FROM rencoder_metapage('fn_private_v');
SELECT rows FROM rencoder_runs('fn_private_v');
SELECT pages > 0 AS pages FROM rencoder_candidates('fn_private_v', 1::int8, 2::int8);
-- With row security a reader of some rows must not learn of the others.
RESET ROLE;
ALTER TABLE fn_private ENABLE ROW LEVEL SECURITY;
SET ROLE regress_rencoder_reader;
SELECT * FROM rencoder_runs('fn_private_v');
SELECT * FROM rencoder_candidates('fn_private_v', 1::int8, 2::int8);

SET ROLE regress_rencoder_owner;
SELECT rencoder_compact('fn_private_v') > 0 AS compacted;
SELECT rencoder_maintain_index('fn_private_v');
SELECT rencoder_index_check('fn_private_v', true);
SELECT pages > 0 AS pages FROM rencoder_candidates('fn_private_v', 1::int8, 2::int8);
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
	WITH (autosummarize = off, pages_per_range = 1);
RESET ROLE;
INSERT INTO fn_expression VALUES (1), (2), (3);
SELECT rencoder_maintain_index('fn_expression_idx');
SELECT rencoder_index_check('fn_expression_idx', true);
SELECT current_user = session_user AS myself, current_setting('search_path') AS search_path;

--
-- An index that CREATE INDEX CONCURRENTLY did not finish.
--
CREATE INDEX CONCURRENTLY fn_invalid ON fn USING rencoder ((1 / (id - 5)));
SELECT rencoder_maintain_index('fn_invalid');
SELECT rencoder_compact('fn_invalid');
SELECT rencoder_index_check('fn_invalid');
SELECT * FROM rencoder_candidates('fn_invalid', 1, 2);
DROP INDEX fn_invalid;
CREATE INDEX CONCURRENTLY fn_concurrent ON fn USING rencoder (v) WHERE few IS NULL;
SELECT rencoder_index_check('fn_concurrent', true);

--
-- Temporary tables.
--
CREATE TEMP TABLE fn_temp (v int8);
CREATE INDEX fn_temp_v ON fn_temp USING rencoder (v) WITH (autosummarize = off);
INSERT INTO fn_temp SELECT generate_series(1, 3000);
SELECT rencoder_maintain_index('fn_temp_v') > 0 AS maintained;
SELECT rencoder_index_check('fn_temp_v', true);

-- In a read-only transaction: looking is allowed.
BEGIN READ ONLY;
CALL fn_check();
SELECT count(*) > 0 AS some FROM rencoder_runs('fn_v');
ROLLBACK;

DROP OWNED BY regress_rencoder_owner, regress_rencoder_reader, regress_rencoder_monitor;
DROP ROLE regress_rencoder_owner, regress_rencoder_reader, regress_rencoder_monitor,
	regress_rencoder_nobody;
DROP TABLE fn, fn_part, fn_temp CASCADE;
DROP FUNCTION fn_extent, fn_who;
DROP PROCEDURE fn_fill, fn_check;
DROP DOMAIN fn_domain;
