-- Indexes whose keys are in a sorted run: the same rows as a sequential scan finds, for
-- all kinds of queries, and single heap pages as candidates.
SET enable_indexscan = off;
CREATE SCHEMA runs;
SET search_path = runs, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set begin :abs_srcdir '/sql/include/begin.sql'
\set ECHO none
\i :begin
\set ECHO all
SELECT set_config('runs.seed', :'seed', false) = :'seed' AS set;
SET rencoder.sample_rate = 0;

-- Conditions, for how many of them the rows are the same, and how many the index serves.
CREATE FUNCTION compare(conditions text[], relation text DEFAULT 't')
	RETURNS TABLE (compared int, same int, by_index int) LANGUAGE plpgsql AS $$
DECLARE
	condition text;
	expected text;
	found text;
	plan json;
BEGIN
	compared := 0;
	same := 0;
	by_index := 0;
	FOREACH condition IN ARRAY conditions LOOP
		compared := compared + 1;
		expected := rows_of(condition, false, relation);
		found := rows_of(condition, true, relation);
		IF found = expected AND rows_of(condition, true, relation, true) = expected THEN
			same := same + 1;
		ELSE
			RAISE WARNING 'seed %: % WHERE %: % by index, not %', current_setting('runs.seed'),
				relation, condition, found, expected;
		END IF;
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_bitmapscan = on;
		SET LOCAL enable_indexscan = off;
		EXECUTE format('EXPLAIN (FORMAT json) SELECT * FROM %I WHERE ', relation) || condition
			INTO plan;
		by_index := by_index + (plan::text LIKE '%Bitmap Index Scan%')::int;
	END LOOP;
	RETURN NEXT;
END $$;

-- Heap pages that the index leaves, without those that have a row: false pages.
CREATE FUNCTION false_pages(condition text, relation text DEFAULT 't') RETURNS bigint
	LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	pages bigint;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_bitmapscan = on;
	SET LOCAL enable_indexscan = off;
	EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, FORMAT json) SELECT * FROM %I WHERE ', relation)
		|| condition INTO plan;
	EXECUTE format('SELECT count(DISTINCT (ctid::text::point)[0]) FROM %I WHERE ', relation)
		|| condition INTO pages;
	RETURN coalesce((plan->0->'Plan'->>'Exact Heap Blocks')::bigint, 0) +
		coalesce((plan->0->'Plan'->>'Lossy Heap Blocks')::bigint, 0) - pages;
END $$;

-- Some 560 pages: four groups that are full and one that is not.  Keys that are unique and
-- spread (v), that come in clusters (c), few (few), with the pages (id); nulls.
CREATE TABLE t (id int, v int8, c int8, few int2, s text COLLATE "C", p point, filler text)
	WITH (autovacuum_enabled = off);
INSERT INTO t
SELECT i, CASE WHEN i % 50 <> 0 THEN hashint8extended(i, :seed) END,
	CASE WHEN i % 9 <> 0 THEN (floor(random() * 8) * 1e17 + floor(random() * 3000))::int8 END,
	CASE WHEN i % 7 <> 0 THEN floor(random() * 30)::int2 END,
	CASE WHEN i % 11 <> 0 THEN 'name/' || md5(((i * 7) % 5000)::text) END,
	CASE WHEN i % 13 <> 0 THEN point(random() * 100, random() * 100) END, repeat('x', 60)
FROM generate_series(1, 30000) i;
-- Ranges of nulls only.
UPDATE t SET v = NULL, c = NULL, few = NULL, s = NULL, p = NULL WHERE id BETWEEN 10000 AND 11000;
VACUUM FULL t;
CREATE INDEX t_v ON t USING rencoder (v) WITH (pages_per_range = 1, storage = run);
CREATE INDEX t_many ON t USING rencoder (c, few, id) WITH (pages_per_range = 2, storage = run);
CREATE INDEX t_s ON t USING rencoder (s) WITH (pages_per_range = 3, storage = run);
CREATE INDEX t_p ON t USING rencoder (p) WITH (pages_per_range = 1, storage = run);
CREATE INDEX t_part ON t USING rencoder (v, c) WITH (pages_per_range = 1, storage = run)
	WHERE few = 3;
VACUUM ANALYZE t;

-- Conditions on columns of all kinds, with values that are there and others.
CREATE FUNCTION conditions(n int) RETURNS text[] LANGUAGE sql AS $$
	SELECT array_agg(condition) FROM (
		SELECT format(unnest('{v = %1$s, v < %1$s, v >= %1$s, v BETWEEN %1$s AND %2$s,
			v BETWEEN %2$s AND %1$s, v IS NULL, v IS NOT NULL AND v < %1$s,
			"v IN (%1$s, %2$s, 1, NULL)", few = 3 AND v = %1$s, few = 3 AND v BETWEEN %1$s AND %2$s,
			few = 3 AND v < %1$s AND c > 10000, few = 3 AND c < 100,
			few = 3 AND v IS NULL}'::text[]),
			a, least(a + 2 ^ (random() * 62)::numeric, 9223372036854775807)::int8) AS condition
		FROM (SELECT hashint8extended(floor(random() * 60000)::int,
			current_setting('runs.seed')::int8) AS a FROM generate_series(1, n)) q
		UNION ALL
		SELECT format(unnest('{c = %1$s, c BETWEEN %1$s AND %1$s + %2$s, few = %3$s, few < %3$s,
			id = %4$s, id BETWEEN %4$s AND %4$s + %2$s, c = %1$s AND few = %3$s,
			c > %1$s AND id < %4$s,
			c IS NULL AND id = %4$s, c IS NOT NULL AND few = %3$s AND id > %4$s,
			few IS NULL AND c = %1$s, c = %1$s AND few = %3$s AND id BETWEEN %4$s AND %4$s + 9000,
			"few IN (1, %3$s) AND id IN (5, %4$s)"}'::text[]),
			(floor(random() * 8) * 1e17 + floor(random() * 3000))::int8, (2 ^ (random() * 12))::int,
			floor(random() * 32)::int, floor(random() * 33000)::int)
		FROM generate_series(1, n)
		UNION ALL
		SELECT format(unnest('{s = ''%1$s'', s < ''%1$s'', s >= ''%1$s'', s LIKE ''%2$s%%'',
			s ^@ ''%2$s'', s BETWEEN ''%1$s'' AND ''%1$s~'',
			"s IN (''%1$s'', ''nothing'', ''%1$s1'')", s IS NULL}'::text[]),
			'name/' || a, 'name/' || left(a, 1 + floor(random() * 5)::int))
		FROM (SELECT md5(floor(random() * 6000)::int::text) AS a FROM generate_series(1, n)) q
		UNION ALL
		SELECT format(unnest('{"p <@ box ''(%1$s,%2$s),(%3$s,%4$s)''",
			"p <@ circle ''<(%1$s,%2$s),%5$s>''", "p ~= point ''(%1$s,%2$s)''",
			p IS NULL}'::text[]),
			a, b, a + d, b + d / 3, d)
		FROM (SELECT random() * 100 AS a, random() * 100 AS b, 100 * random() ^ 4 AS d
			FROM generate_series(1, n)) q) c
$$;
SELECT (compare(conditions(8))).*;
SELECT (compare(array_agg(format('p ~= %L', p)))).* FROM t WHERE id % 1009 = 0 AND p IS NOT NULL;

-- Lists: short, long, of what is there and what is not, with nulls and duplicates.
SELECT (compare(array_agg(format('v = ANY (%L)', list)))).*
FROM generate_series(0, 12) n, LATERAL (
	SELECT array_agg(CASE WHEN i % 17 <> 0
		THEN hashint8extended((i * 31 + n) % 60000, :seed) END) AS list
	FROM generate_series(1, (2 ^ n)::int) i) l;
SELECT (compare(array_agg(format('s = ANY (%L) AND s > ''name/%s''', list, n % 10)))).*
FROM generate_series(0, 11) n, LATERAL (
	SELECT array_agg('name/' || md5((i * 3 + n)::text)) AS list
	FROM generate_series(1, (2 ^ n)::int) i) l;
SELECT (compare(array_agg(format('p ~= ANY (%L)', list)))).*
FROM generate_series(0, 9) n, LATERAL (
	SELECT array_agg(p) AS list FROM t WHERE id % 27 = n AND id < 40 * 2 ^ n) l;
SELECT (compare(array_agg(format('p <@ ANY (%L::box[])', list)))).*
FROM generate_series(0, 6) n, LATERAL (
	SELECT array_agg(box(point(x, y), point(x + 3, y + 1)))::text AS list
	FROM (SELECT random() * 100 AS x, random() * 100 AS y
		FROM generate_series(1, (2 ^ n)::int)) q) l;

-- Joins: one search for each outer row, NULL among them.
CREATE TABLE asked (a int8);
INSERT INTO asked SELECT hashint8extended(i * 3001, :seed) FROM generate_series(1, 20) i;
INSERT INTO asked VALUES (NULL), (0);
SET enable_seqscan = off;
SET enable_material = off;
SELECT count(*) AS found, count(DISTINCT t.id) AS rows
FROM asked CROSS JOIN LATERAL (SELECT * FROM t WHERE t.v = asked.a) t;
RESET enable_seqscan;
RESET enable_material;

-- Candidates are pages: where a value is, and hardly any where none is.
SELECT count(*) AS values, min(c.pages) AS least, avg(c.pages) < 3 AS few,
	bool_and(c.unindexed = 0) AS all_indexed
FROM t, LATERAL rencoder_candidates('t_v', t.v, t.v) c
WHERE id % 300 = 1 AND v IS NOT NULL;
SELECT count(*) AS values, avg(c.pages) < 2 AS hardly_any
FROM generate_series(30001, 30100) i, LATERAL (SELECT hashint8extended(i, :seed) AS v) q,
	LATERAL rencoder_candidates('t_v', v, v) c;
SELECT pages < 120 AS single_pages FROM rencoder_candidates('t_s', 'name/00', 'name/01');
-- A whole interval is all pages that have a value; neither limit nor nulls add others.
SELECT c.pages = (SELECT count(DISTINCT (ctid::text::point)[0]) FROM t
	WHERE v IS NOT NULL) AS exact,
	c.table_pages - c.pages AS only_nulls
FROM rencoder_candidates('t_v', '-9223372036854775808'::int8, 9223372036854775807::int8) c;

-- Columns are combined page by page: false pages are few where each column alone has many.
SELECT avg(false_pages(format('c BETWEEN %s AND %s AND few = %s AND id BETWEEN %s AND %s',
	a, a + 100, i % 30, i * 1000, i * 1000 + 500))) < 4 AS combined
FROM generate_series(0, 29) i, LATERAL (SELECT (i % 8 * 1e17)::int8 AS a) q;
-- Boxes are not their hulls.
SELECT avg(false_pages(format('p <@ box(point(%s, 49.5), point(%s, 50.5))',
	i, i + 0.5))) < 6 AS boxes
FROM generate_series(1, 98) i;

-- Keys that come later, into free space of ranges that are covered: pending.
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t
	SELECT i,
		CASE WHEN i % 50 <> 0 THEN hashint8extended(i, current_setting('runs.seed')::int8) END,
		CASE WHEN i % 9 <> 0 THEN (floor(random() * 8) * 1e17 + floor(random() * 3000))::int8 END,
		CASE WHEN i % 7 <> 0 THEN floor(random() * 32)::int2 END,
		CASE WHEN i % 11 <> 0 THEN 'name/' || md5((i % 6000)::text) END,
		CASE WHEN i % 13 <> 0 THEN point(random() * 110, random() * 110) END, repeat('x', 60)
	FROM generate_series(first, last) i
$$;
-- Rows by what they have: each of them is found.
CREATE FUNCTION find_rows(first int, last int)
	RETURNS TABLE (compared int, same int, by_index int) LANGUAGE sql AS $$
	SELECT (compare(array_agg(format(condition, t.v, t.c, t.few, t.s, t.p)))).*
	FROM t, unnest('{v = %1$s, few = 3 AND v = %1$s, c = %2$s AND few = %3$s, "s = %4$L",
		"p ~= %5$L", "p ~= %5$L AND s = %4$L"}'::text[]) condition
	WHERE id BETWEEN first AND last AND v IS NOT NULL AND c IS NOT NULL AND few IS NOT NULL
		AND s IS NOT NULL AND p IS NOT NULL
$$;
DELETE FROM t WHERE id % 30 = 7;
VACUUM t;
SELECT fill(30001, 30800);
SELECT bool_and(pending_pages > 0) AS pending
FROM unnest('{t_v,t_many,t_s,t_p,t_part}'::regclass[]) i, rencoder_metapage(i);
SELECT (compare(conditions(3))).*;
SELECT compared > 100 AS many, compared - same AS lost, compared = by_index AS by_index
FROM find_rows(30001, 30040);
-- What a transaction leaves that is rolled back; rows that change.
BEGIN;
SELECT fill(30801, 30810);
ROLLBACK;
UPDATE t SET v = v + 1, s = s || '~', p = p + point(1, 1) WHERE id % 100 = 9;
SELECT compared - same AS lost FROM find_rows(30109, 30109);
-- Where a value is that came late: that page, and no others but false ones.
SELECT count(*) AS values, min(c.pages - c.unindexed) AS least,
	avg(c.pages - c.unindexed) < 3 AS few
FROM t, LATERAL rencoder_candidates('t_v', t.v, t.v) c
WHERE id BETWEEN 30001 AND 30060 AND v IS NOT NULL;

-- In deltas, and pending beside these.
VACUUM t;
SELECT count(DISTINCT run) FILTER (WHERE kind = 'delta') > 0 AS deltas FROM rencoder_runs('t_v');
SELECT (compare(conditions(3))).*;
SELECT compared - same AS lost FROM find_rows(30061, 30080);
UPDATE t SET c = c + 1, v = v - 1 WHERE id % 120 = 3;
VACUUM t;
DELETE FROM t WHERE id % 30 = 8;
VACUUM t;
SELECT fill(30811, 31500);
SELECT (compare(conditions(3))).*;
SELECT compared - same AS lost FROM find_rows(30811, 30830);

-- Parts of the table that are read again.
ALTER INDEX t_v SET (autosummarize = off);
ALTER INDEX t_many SET (autosummarize = off);
ALTER INDEX t_s SET (autosummarize = off);
ALTER INDEX t_p SET (autosummarize = off);
ALTER INDEX t_part SET (autosummarize = off);
SELECT count(rencoder_compact(i, b, b + 40)) AS made
FROM unnest('{t_v,t_many,t_s,t_p,t_part}'::regclass[]) i, unnest('{3,20,300,500}'::int[]) b;
SELECT (compare(conditions(3))).*;
SELECT bool_and(rencoder_maintain_index(i) > 0) AS summarized
FROM unnest('{t_v,t_many,t_s,t_p,t_part}'::regclass[]) i;
SELECT fill(31501, 31600);
SELECT (compare(conditions(3))).*;
SELECT compared - same AS lost FROM find_rows(31501, 31520);
-- A value far longer than keys, a point that lies nowhere.
INSERT INTO t SELECT 32000, 5, 5, 5, 'name/' || repeat('0', 400), point('NaN', 1), '';
SELECT (compare(ARRAY['s = ''name/' || repeat('0', 400) || '''', 's LIKE ''name/000%''',
	'p ~= point(''NaN'', 1)', 'p <@ box ''(0,0),(3,3)''', 'p <@ circle ''<(1,1),5>''',
	's < ''name/00''', 'c = 5 AND few = 5'])).*;

-- Made anew.
REINDEX TABLE t;
SELECT (compare(conditions(3))).*;
SELECT count(rencoder_index_check(i, true)) AS checked
FROM unnest('{t_v,t_many,t_s,t_p,t_part}'::regclass[]) i;

DROP SCHEMA runs CASCADE;
