-- Retuning: groups are rebuilt for the queries that are asked, online, and
-- nothing is lost by it.
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET enable_indexscan = off;
SET jit = off;
SET rencoder.sample_rate = 0;
SELECT setseed(mod(:'seed'::numeric, 1000003) / 1000003);

-- Two full groups and one that grows.  Values of v are sparse, and every third
-- row has a null.
CREATE TABLE retune (id int, v int8, few int, u text COLLATE "C", p point, filler text)
	WITH (fillfactor = 80);
ALTER TABLE retune ALTER filler SET STORAGE plain;
CREATE FUNCTION retune_fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO retune SELECT i, hashint8extended(i, 1) >> 24, nullif(abs(hashint4(i)) % 20, 3),
		'https://example.org/' || md5((i / 3)::text),
		CASE WHEN i % 10 <> 0 THEN point(mod(hashint8extended(i, 2), 1000000) / 1000.0,
			mod(hashint8extended(i, 3), 1000000) / 1000.0) END,
		repeat('x', 60)
	FROM generate_series(first, last) i
$$;
SELECT retune_fill(1, 12000);
CREATE INDEX retune_v ON retune USING rencoder (v)
	WITH (pages_per_range = 1, autosummarize = off, storage = filter);

EXPLAIN (COSTS OFF) SELECT id FROM retune WHERE v = 5;
-- Random queries with the index and without: how many differ, have rows?
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE FUNCTION retune_compare(conditions text[], OUT differ bigint, OUT rows boolean)
	LANGUAGE plpgsql AS $$
DECLARE
	c text;
	by_heap text;
BEGIN
	differ := 0;
	rows := false;
	FOREACH c IN ARRAY conditions LOOP
		by_heap := rows_of(c, false, 'retune');
		rows := rows OR by_heap NOT LIKE '0 rows%';
		differ := differ + (NOT index_finds(by_heap, c, 'retune'))::int;
	END LOOP;
END $$;
-- The row of a random id, in a condition.
CREATE FUNCTION retune_conditions(template text) RETURNS text[] LANGUAGE sql VOLATILE AS $$
	SELECT array_agg(format(template, v, few, u, p, v + 5, v + 12, left(u, 20 + id % 9)))
	FROM (SELECT * FROM retune WHERE v IS NOT NULL AND p IS NOT NULL ORDER BY random() LIMIT 25) r
$$;
-- Ranges that empty queries visit: 8 values from 5 behind one that is there.
CREATE FUNCTION retune_candidates(index regclass) RETURNS float8 LANGUAGE sql AS $$
	SELECT avg((rencoder_candidates(index, v + 5, v + 12)).candidates) FROM retune WHERE id % 40 = 7
$$;
CREATE VIEW retune_groups AS SELECT index::text, group_no, attnum, sealed, summarized, storage
	FROM unnest('{retune_v}'::regclass[]) index, rencoder_groups(index);

--
-- Nothing is known of the queries: nothing to do.
--
SELECT * FROM retune_groups ORDER BY 1, 2, 3;
SELECT rencoder_retune('retune_v');
CREATE TABLE retune_before AS SELECT retune_candidates('retune_v') AS candidates, group_no, shape
	FROM rencoder_groups('retune_v');

--
-- Queries are given.
--
SELECT count(rencoder_add_query_sample('retune_v', v + 5, v + 12)) FROM retune WHERE id % 12 = 0;
SELECT epoch FROM rencoder_metapage('retune_v') \gset before_
SELECT rencoder_retune('retune_v') AS rebuilt;
SELECT epoch > :before_epoch AS bumped FROM rencoder_metapage('retune_v');
SELECT rencoder_retune('retune_v') AS again;
SELECT * FROM retune_groups ORDER BY 1, 2, 3;
SELECT retune_candidates('retune_v') * 3 < max(candidates) AS fewer FROM retune_before;
SELECT group_no, b.shape <> g.shape AS another_shape, g.predicted_fpr <= g.best_fpr * 1.3 AS good
FROM retune_before b JOIN rencoder_groups('retune_v') g USING (group_no) ORDER BY 1;
SELECT rencoder_index_check('retune_v', true);
SELECT * FROM retune_compare(retune_conditions('v = %1$s')
	|| retune_conditions('v BETWEEN %5$s AND %6$s')
	|| retune_conditions('v BETWEEN %1$s - 3000000 AND %1$s')
		|| '{v IS NULL,v < -500000000000}'::text[]);
-- The old matrices are free, and are used again.
SELECT free_pages > 0 AS free FROM rencoder_metapage('retune_v');
SELECT pg_relation_size('retune_v') AS size \gset before_
-- What comes now is covered as ever; the growing group is done when it is full.
SELECT retune_fill(12001, 12500);
UPDATE retune SET v = v + 1 WHERE id % 50 = 0;
SELECT * FROM retune_compare(retune_conditions('v = %1$s'));
SELECT retune_fill(12501, 16000);
VACUUM retune;
SELECT * FROM retune_groups ORDER BY 1, 2, 3;
SELECT rencoder_retune('retune_v') <= 1 AS little;
SELECT rencoder_index_check('retune_v', true);
SELECT * FROM retune_compare(retune_conditions('v = %1$s')
	|| retune_conditions('v BETWEEN %5$s AND %6$s'));
-- Back again: other queries take the place of those.
SELECT count(rencoder_add_query_sample('retune_v', v + 1, v + 1)) FROM retune WHERE id % 6 = 0;
SELECT rencoder_retune('retune_v') BETWEEN 0 AND 4 AS done, rencoder_retune('retune_v') AS again;
SELECT rencoder_index_check('retune_v', true);
SELECT * FROM retune_compare(retune_conditions('v = %1$s')
	|| retune_conditions('v BETWEEN %5$s AND %6$s'));

--
-- VACUUM does it, too: all of a small table.  It was made for long intervals anywhere.
--
SELECT count(rencoder_add_query_sample('retune_v', x, x + 10000000)) FROM retune,
	LATERAL (SELECT hashint8extended(id, 5) >> 24) AS r (x) WHERE id % 6 = 0;
REINDEX INDEX retune_v;
SELECT count(rencoder_add_query_sample('retune_v', v + 5, v + 12)) FROM retune WHERE id % 12 = 0;
CREATE TEMPORARY TABLE retune_shapes AS SELECT group_no, shape FROM rencoder_groups('retune_v');
VACUUM retune;
-- A shape found by another way may be as good for one of them.
SELECT count(*) AS groups, count(*) FILTER (WHERE g.shape <> s.shape) >= 3 AS other_shapes
FROM rencoder_groups('retune_v') g JOIN retune_shapes s USING (group_no);
-- Who asks for it gets more than VACUUM does by itself.
SELECT FROM rencoder_retune('retune_v');
SELECT rencoder_retune('retune_v') AS nothing_left;
SELECT rencoder_index_check('retune_v', true);
-- It does nothing when it knows nothing new.
SELECT epoch FROM rencoder_metapage('retune_v') \gset before_
VACUUM retune;
SELECT epoch = :before_epoch AS same FROM rencoder_metapage('retune_v');
-- Filters most of whose keys have come since, to pages that VACUUM has emptied.
DROP INDEX retune_v;
CREATE INDEX retune_v ON retune USING rencoder (v)
	WITH (pages_per_range = 1, autosummarize = off, storage = filter);
SELECT max(max_key) AS key FROM rencoder_groups('retune_v') WHERE group_no < 5 \gset before_
UPDATE retune SET v = v + 1000000000000;
VACUUM retune;
UPDATE retune SET v = v + 1000000000000;
UPDATE retune SET v = v + 1000000000000;
-- Four groups each time, from one on that chance decides: at least three of the first five.
VACUUM retune;
VACUUM retune;
VACUUM retune;
VACUUM retune;
SELECT count(*) >= 3 AS anew FROM rencoder_groups('retune_v')
WHERE group_no < 5 AND sealed AND min_key > :'before_key';
-- What is not worth it for VACUUM.
SELECT rencoder_retune('retune_v') <= 4 AS few_left;
SELECT rencoder_retune('retune_v') AS nothing_left;
SELECT rencoder_index_check('retune_v', true);
SELECT * FROM retune_compare(retune_conditions('v = %1$s')
	|| retune_conditions('v BETWEEN %5$s AND %6$s'));
DROP INDEX retune_v;

--
-- Several columns: few values, many, strings.
--
CREATE INDEX retune_more ON retune USING rencoder (few, v, u)
	WITH (pages_per_range = 1, autosummarize = off, storage = filter);
SELECT count(rencoder_add_query_sample('retune_more', v + 5, v + 12, 2)) FROM retune
WHERE id % 12 = 0;
SELECT rencoder_retune('retune_more') > 0 AS rebuilt, rencoder_retune('retune_more') AS again;
SELECT attnum, count(*) FROM rencoder_groups('retune_more') GROUP BY 1 ORDER BY 1;
SELECT rencoder_index_check('retune_more', true);
SELECT * FROM retune_compare(retune_conditions('v = %1$s AND u = %3$L')
	|| retune_conditions('v BETWEEN %5$s AND %6$s')
	|| retune_conditions('few = 7 AND v BETWEEN %1$s - 9000000 AND %1$s')
		|| retune_conditions('u LIKE ''%7$s%%''')
	|| '{few IS NULL,few = 5 AND v IS NULL,few = 4}'::text[]);
UPDATE retune SET few = few + 20, v = v - 1000000 WHERE id % 30 = 0;
SELECT * FROM retune_compare(retune_conditions('v = %1$s AND few = 24')
	|| '{few = 25,few > 30}'::text[]);
SELECT rencoder_retune('retune_more') >= 0 AS done, rencoder_index_check('retune_more', true);
DROP INDEX retune_more;

--
-- An index that was made without rows learns the coders of strings and points when its
-- first ranges are summarized.
--
CREATE TABLE retune_later (LIKE retune) WITH (fillfactor = 30);
CREATE INDEX retune_later_u ON retune_later USING rencoder (u, p)
	WITH (pages_per_range = 1, autosummarize = off, storage = filter);
INSERT INTO retune_later SELECT * FROM retune WHERE id <= 9000 ORDER BY id;
SELECT rencoder_summarize_new_values('retune_later_u') > 128 AS summarized;
SELECT count(*) FILTER (WHERE candidates > 20) AS bad FROM
	(SELECT (rencoder_candidates('retune_later_u', u, u)).candidates FROM retune_later
		WHERE id % 900 = 1) r;
SELECT rencoder_retune('retune_later_u') >= 0 AS retuned,
	rencoder_retune('retune_later_u') AS again;
SELECT rencoder_index_check('retune_later_u', true);
-- The rows that come now have keys by the new coders.
INSERT INTO retune_later SELECT * FROM retune WHERE id > 9000;
SELECT rencoder_summarize_new_values('retune_later_u') > 0 AS summarized,
	rencoder_index_check('retune_later_u', true);
-- One of two columns has no values to learn from: the other is left alone.
TRUNCATE retune_later;
INSERT INTO retune_later SELECT id, v, few, u, NULL, filler FROM retune WHERE id <= 9000;
SELECT rencoder_summarize_new_values('retune_later_u') > 0 AS summarized;
SELECT rencoder_retune('retune_later_u') >= 0 AS retuned,
	rencoder_retune('retune_later_u') AS again;
SELECT rencoder_index_check('retune_later_u', true);
-- Groups that were summarized when there was no value to learn from keep their keys until
-- they are rebuilt.
TRUNCATE retune_later;
INSERT INTO retune_later SELECT id, v, few, NULL, NULL, filler FROM retune WHERE id <= 9000
ORDER BY id;
SELECT rencoder_summarize_new_values('retune_later_u') > 128 AS summarized;
UPDATE retune_later l SET u = r.u, p = r.p FROM retune r WHERE r.id = l.id;
SELECT count(*) FILTER (WHERE candidates > 20) > 0 AS bad FROM
	(SELECT (rencoder_candidates('retune_later_u', u, u)).candidates FROM retune_later
		WHERE id % 900 = 1) r;
SELECT rencoder_retune('retune_later_u') > 0 AS rebuilt, rencoder_retune('retune_later_u') AS again;
SELECT count(*) FILTER (WHERE candidates > 20) AS bad FROM
	(SELECT (rencoder_candidates('retune_later_u', u, u)).candidates FROM retune_later
		WHERE id % 900 = 1) r;
SELECT rencoder_index_check('retune_later_u', true);
DROP TABLE retune_later;

--
-- Points: boxes that are asked for.
--
CREATE INDEX retune_p ON retune USING rencoder (p)
	WITH (pages_per_range = 1, autosummarize = off, storage = filter);
SELECT rencoder_retune('retune_p');
SELECT count(rencoder_add_query_sample('retune_p', p + point(0.2, 0.2), p + point(0.5, 0.6)))
FROM retune WHERE id % 12 = 1;
SELECT avg((rencoder_candidates('retune_p', p + point(0.2, 0.2),
	p + point(0.5, 0.6))).candidates) AS candidates FROM retune WHERE id % 40 = 7 \gset before_
SELECT rencoder_retune('retune_p') > 0 AS rebuilt, rencoder_retune('retune_p') AS again;
SELECT avg((rencoder_candidates('retune_p', p + point(0.2, 0.2),
	p + point(0.5, 0.6))).candidates) < 0.8 * :before_candidates AS fewer FROM retune
WHERE id % 40 = 7;
SELECT rencoder_index_check('retune_p', true);
SELECT * FROM retune_compare(retune_conditions('p ~= %4$L')
	|| retune_conditions('p <@ box(%4$L::point, %4$L::point + point(3, 3))')
	|| retune_conditions('p <@ circle(%4$L::point, 2)') || '{p IS NULL}'::text[]);
DROP INDEX retune_p;

--
-- Ranges that always match, until their group has another size.
--
CREATE TABLE retune_always (id int, v int8, filler text) WITH (fillfactor = 50);
ALTER TABLE retune_always ALTER filler SET STORAGE plain;
INSERT INTO retune_always
SELECT i, CASE WHEN i / 36 = 9 THEN 1000000 + i * 7919 ELSE hashint8(i / 18) + 3000000000 END,
	repeat('x', 70)
FROM generate_series(0, 36 * 150 - 1) i;
CREATE INDEX retune_always_v ON retune_always USING rencoder (v)
	WITH (pages_per_range = 1, storage = filter);
SELECT sum(always) AS always FROM rencoder_groups('retune_always_v');
SELECT rencoder_retune('retune_always_v') AS nothing;
UPDATE retune_always SET v = v + id * 7919;
SELECT rencoder_retune('retune_always_v') > 0 AS rebuilt,
	rencoder_retune('retune_always_v') AS again;
SELECT sum(always) AS always FROM rencoder_groups('retune_always_v') WHERE sealed;
SELECT rencoder_index_check('retune_always_v', true);
DROP TABLE retune_always;

--
-- A column that nothing but nulls has, an empty table, a table without groups.
--
CREATE TABLE retune_null (v int8, filler text);
CREATE INDEX retune_null_v ON retune_null USING rencoder (v)
	WITH (pages_per_range = 1, storage = filter);
SELECT rencoder_retune('retune_null_v');
INSERT INTO retune_null SELECT NULL, repeat('x', 1000) FROM generate_series(1, 1500);
SELECT rencoder_summarize_new_values('retune_null_v') > 0 AS summarized;
SELECT rencoder_retune('retune_null_v') <= 2 AS done, rencoder_retune('retune_null_v') AS again;
UPDATE retune_null SET v = (ctid::text::point)[0];
SELECT rencoder_retune('retune_null_v') BETWEEN 0 AND 3 AS done,
	rencoder_retune('retune_null_v') AS again;
SELECT rencoder_index_check('retune_null_v', true);
DROP TABLE retune_null;

--
-- Desummarized ranges of a full group wait for their summaries.
--
CREATE INDEX retune_v ON retune USING rencoder (v)
	WITH (pages_per_range = 1, autosummarize = off, storage = filter);
SELECT count(rencoder_add_query_sample('retune_v', v + 5, v + 12)) FROM retune WHERE id % 12 = 0;
SELECT rencoder_desummarize_range('retune_v', 7);
SELECT rencoder_retune('retune_v') > 0 AS others;
SELECT rencoder_summarize_new_values('retune_v'), rencoder_retune('retune_v') AS this_one,
	rencoder_retune('retune_v') AS again;
SELECT rencoder_index_check('retune_v', true);
-- What is rolled back is done all the same: nothing depends on it.
REINDEX INDEX retune_v;
SELECT count(rencoder_add_query_sample('retune_v', v + 1, v + 1)) FROM retune WHERE id % 6 = 0;
BEGIN;
SELECT rencoder_retune('retune_v') >= 0 AS rolled_back;
ROLLBACK;
SELECT rencoder_retune('retune_v') AS done_all_the_same, rencoder_index_check('retune_v', true);

--
-- Expressions and predicates.
--
CREATE INDEX retune_expression ON retune USING rencoder ((v * 2))
	WITH (pages_per_range = 1, storage = filter)
	WHERE few < 10;
SELECT count(rencoder_add_query_sample('retune_expression', v * 2 + 11, v * 2 + 25)) FROM retune
WHERE id % 12 = 0;
SELECT rencoder_retune('retune_expression') > 0 AS rebuilt,
	rencoder_retune('retune_expression') AS again;
SELECT rencoder_index_check('retune_expression', true);
SELECT * FROM retune_compare(retune_conditions('v * 2 = %1$s::int8 * 2 AND few < 10'));
DROP INDEX retune_expression;

--
-- Who may, and on what.
--
CREATE ROLE regress_rencoder_retuner;
GRANT SELECT ON retune TO regress_rencoder_retuner;
SET ROLE regress_rencoder_retuner;
SELECT rencoder_retune('retune_v');
RESET ROLE;
SELECT rencoder_retune('retune');
SELECT rencoder_retune('retune_groups');
SELECT rencoder_retune(0);
SELECT rencoder_retune(NULL) IS NULL AS is_null;
CREATE INDEX retune_btree ON retune (v);
SELECT rencoder_retune('retune_btree');
-- As BRIN's functions, it changes no table and is allowed here.
BEGIN READ ONLY;
SELECT rencoder_retune('retune_v');
COMMIT;
REVOKE SELECT ON retune FROM regress_rencoder_retuner;
DROP ROLE regress_rencoder_retuner;

DROP VIEW retune_groups;
DROP TABLE retune, retune_before;
DROP FUNCTION retune_fill, rows_of, index_finds, uses_index, retune_compare, retune_conditions,
	retune_candidates;

-- A new group with fewer keys than a look at a shape costs, summarized in slices
-- after the queries have changed: it starts from the shape of the group before,
-- whose rate for these queries nobody has computed.
CREATE TABLE retune_few (v int8, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE retune_few ALTER filler SET STORAGE plain;
INSERT INTO retune_few SELECT hashint8extended(i, 1), repeat('x', 900)
FROM generate_series(1, 1024) i;
CREATE INDEX retune_few_v ON retune_few USING rencoder (v)
	WITH (pages_per_range = 1, autosummarize = off, storage = filter);
SELECT count(rencoder_add_query_sample('retune_few_v', i * 1000, i * 1000 + 7))
FROM generate_series(1, 5) i;
SELECT rencoder_retune('retune_few_v');
INSERT INTO retune_few SELECT hashint8extended(i, 2), repeat('x', 900)
FROM generate_series(1, 64) i;
SELECT rencoder_add_query_sample('retune_few_v', 77777, 77784);
VACUUM retune_few;
SELECT rencoder_index_check('retune_few_v', true);
SELECT count(*) AS groups, sum(summarized) AS summarized FROM rencoder_groups('retune_few_v');
DROP TABLE retune_few;
