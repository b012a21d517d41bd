-- Several columns of one index, with a condition on each: what is found, and what is read for it.
-- A scan searches the column that promises the fewest entries, and others only where that pays.
SET rencoder.sample_rate = 0;
CREATE SCHEMA conditions;
SET search_path = conditions, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set begin :abs_srcdir '/sql/include/begin.sql'
\set polygon_ops :abs_srcdir '/sql/include/polygon_ops.sql'
\set ECHO none
\i :begin
\i :polygon_ops
\set ECHO all

-- A few values, many values, words, the order of the table, nulls, and areas, which have no key.
CREATE TABLE t (id int, a int, b int, c text, d timestamptz, n int, g polygon, other int,
	filler text)
	WITH (fillfactor = 75, autovacuum_enabled = off);
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, random() * 300, random() * 1e6, 'word ' || (random() * 2000)::int,
		timestamptz '2026-01-01' + i * interval '1 min',
		CASE WHEN random() < 0.3 THEN random() * 500 END,
		polygon(box(point(i % 997, i % 991),
			CASE WHEN i % 1500 = 7 THEN point(i % 997 + 2, i % 991 + 2)
			ELSE point(i % 997, i % 991) END)), 0, repeat('x', 60)
	FROM generate_series(first, last) i
$$;
SELECT fill(1, 20000);
CREATE INDEX t_idx ON t USING rencoder (a, b, c, d, n, g)
	WITH (pages_per_range = 1, autosummarize = off);
VACUUM ANALYZE t;

-- A condition on a column: a point, narrow, wide, empty, a list.
CREATE FUNCTION condition(col int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r t;
	k int := 1 + (random() * 19999)::int;
	w int := (ARRAY[0, 0, 1, 10, 100, 1000])[1 + (random() * 5)::int];
BEGIN
	SELECT * INTO r FROM t WHERE id = k;
	RETURN CASE col
		WHEN 1 THEN (ARRAY[format('a = %s', r.a), format('a BETWEEN %s AND %s', r.a, r.a + w / 5),
			format('a > %s', r.a), format('a IN (%s, %s, 7, -3)', r.a, r.a + 9), 'a = -1',
			format('a = %s', r.a)])[1 + (random() * 5)::int]
		WHEN 2 THEN (ARRAY[format('b = %s', r.b), format('b BETWEEN %s AND %s', r.b, r.b + w * 50),
			format('b > %s', r.b), format('b <> %s AND b < %s', r.b, r.b), 'b > 2000000',
			'b > 100000'])[1 + (random() * 5)::int]
		WHEN 3 THEN (ARRAY[format('c = %L', r.c), format('c >= %L', r.c),
			format('c LIKE %L', left(r.c, 6) || '%'),
			format('c IN (%L, %L)', r.c, 'word'), 'c IS NOT NULL',
			'c IS NULL'])[1 + (random() * 5)::int]
		WHEN 4 THEN (ARRAY[format('d = %L', r.d), format('d > %L', r.d),
			format('d BETWEEN %L AND %L',
			r.d, r.d + w * interval '1 min'), format('d < %L', r.d)])[1 + (random() * 3)::int]
		WHEN 5 THEN (ARRAY['n IS NULL', 'n IS NOT NULL', format('n = %s', coalesce(r.n, 5)),
			format('n < %s', coalesce(r.n, 250))])[1 + (random() * 3)::int]
		ELSE (ARRAY[format('g && %L::polygon', r.g),
			format('g && %L::polygon', polygon(box(point(box(r.g)),
			point(box(r.g)) + point(w, w)))), 'g && ''((-9,-9))''::polygon',
			(SELECT format('g && %L::polygon', q.g) FROM t q WHERE area(box(q.g)) > 0
				ORDER BY random()
				LIMIT 1)])[1 + (random() * 3)::int] END;
END $$;
-- Conditions on two or three columns: how many find other rows by the index?
CREATE FUNCTION compare(times int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c text;
	without text;
	found int := 0;
	lost int := 0;
BEGIN
	FOR i IN 1 .. times LOOP
		SELECT string_agg(condition(col), ' AND ') INTO c
		FROM (SELECT col FROM generate_series(1, 6) col ORDER BY random() LIMIT 2 + i % 2) q;
		without := rows_of(c, false);
		found := found + (without !~ '^0 ')::int;
		lost := lost + (NOT index_finds(without, c))::int;
	END LOOP;
	RETURN format('%s, %s others',
		CASE WHEN found * 5 > times THEN 'many found' ELSE 'few found' END, lost);
END $$;
SELECT compare(60);

-- Rows that came later: updated ones in a delta, and in the pending list; HOT ones; new ones, in
-- filters.
UPDATE t SET a = a + 1, b = 1000000 - b WHERE id % 13 = 0;
UPDATE t SET c = 'word ' || id % 77, n = nullif(n, 3), g = polygon(box(point(5, 5), point(8, 8)))
WHERE id % 1999 = 0;
UPDATE t SET other = other + 1 WHERE id % 5 = 0;
SELECT compare(40);
VACUUM t;
SELECT count(*) > 0 AS has_deltas FROM rencoder_runs('t_idx') WHERE kind = 'delta';
UPDATE t SET other = other + 1 WHERE id % 3 = 0;
UPDATE t SET b = b / 2 WHERE id % 17 = 0;
UPDATE t SET a = 7, g = polygon(box(point(5, 5), point(8, 8))) WHERE id % 1499 = 0;
SELECT fill(20001, 26000);
SELECT rencoder_maintain_index('t_idx') > 0 AS maintained;
UPDATE t SET a = a + 1 WHERE id % 37 = 0;
-- Rows that came late to ranges with filters, whose second column, which is left out of the search,
-- is like that of no other row there.
UPDATE t SET a = 301, d = '2026-01-02' WHERE id BETWEEN 20500 AND 25500 AND id % 250 = 0;
SELECT c, rows_of(c, false), index_finds(rows_of(c, false), c)
FROM unnest('{"a = 301 AND d < ''2026-01-12''"}'::text[]) c;
SELECT compare(80);
SET work_mem = '64kB';
SELECT compare(40);
RESET work_mem;
-- Several base runs.
SELECT rencoder_compact('t_idx') IS NOT NULL AS compacted;
UPDATE t SET b = b + 1 WHERE id % 11 = 0;
SELECT compare(40);
SELECT rencoder_index_check('t_idx', true);

-- What is read of the index: for a second, wide condition, next to nothing more.
CREATE TABLE w (id int, tenant int, amount int, created timestamptz, state int, filler text)
	WITH (autovacuum_enabled = off);
INSERT INTO w SELECT i, hashint4(i) & 4095, abs(hashint4(-i)) % 1000000,
	timestamptz '2026-01-01' + i * interval '1 min', i % 3, repeat('x', 40)
FROM generate_series(1, 200000) i;
CREATE INDEX w_idx ON w USING rencoder (tenant, amount, created, state) WITH (autosummarize = off);
VACUUM ANALYZE w;
CREATE FUNCTION pages_read(query text, OUT index_pages int, OUT heap_pages int)
LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	node jsonb;
BEGIN
	SET LOCAL enable_seqscan = off;
	FOR i IN 1 .. 2 LOOP
		EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json, TIMING OFF) ' || query INTO plan;
	END LOOP;
	node := plan -> 0 -> 'Plan';
	heap_pages := (node ->> 'Shared Hit Blocks')::int + (node ->> 'Shared Read Blocks')::int;
	WHILE node ? 'Plans' LOOP
		node := node -> 'Plans' -> 0;
	END LOOP;
	index_pages := 0;
	IF node ->> 'Node Type' = 'Bitmap Index Scan' THEN
		index_pages := (node ->> 'Shared Hit Blocks')::int + (node ->> 'Shared Read Blocks')::int;
		heap_pages := heap_pages - index_pages;
	END IF;
END $$;
CREATE FUNCTION compare_pages(one text, more text, slack int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	p record;
	q record;
BEGIN
	SET LOCAL enable_indexscan = off;
	SELECT * INTO p FROM pages_read('SELECT * FROM w WHERE ' || one);
	SELECT * INTO q FROM pages_read('SELECT * FROM w WHERE ' || one || ' AND ' || more);
	RETURN CASE WHEN q.index_pages <= p.index_pages + slack AND q.heap_pages <= p.heap_pages
		THEN 'no more'
		ELSE format('%s and %s pages, %s and %s alone', q.index_pages, q.heap_pages, p.index_pages,
			p.heap_pages) END;
END $$;
SELECT more, compare_pages('tenant = 42', more, 4)
FROM unnest('{amount > 100000, amount > 900000, created > ''2026-02-01'', state = 1,
	state IS NOT NULL,
	"amount > 100000 AND created > ''2026-02-01'' AND state < 2"}'::text[]) more;
SELECT more, compare_pages('tenant BETWEEN 42 AND 60', more, 5)
FROM unnest('{amount > 100000, created > ''2026-02-01'', state = 1}'::text[]) more;
-- A narrow one is searched: it saves more than it costs.
SELECT 2 * q.heap_pages < p.heap_pages AS saves
FROM pages_read('SELECT * FROM w WHERE tenant BETWEEN 42 AND 60') p,
	pages_read('SELECT * FROM w WHERE tenant BETWEEN 42 AND 60 AND amount BETWEEN 5000 AND 9000') q;
-- Memory that is short is not what the wide one needs.
SET work_mem = '64kB';
SELECT compare_pages('tenant = 42', 'amount > 100000', 3);
SELECT compare_pages('tenant BETWEEN 42 AND 60', 'amount < 200000', 30);
RESET work_mem;
-- Some rows soon: the search ends early.
SELECT heap_pages < 40 AS few
FROM pages_read('SELECT id FROM w WHERE tenant BETWEEN 42 AND 600 AND amount > 100000 LIMIT 10');
-- And with rows that came later.
UPDATE w SET amount = 1000000 - amount WHERE id % 20 = 0;
VACUUM w;
UPDATE w SET tenant = tenant + 1 WHERE id % 400 = 0;
SELECT more, compare_pages('tenant = 42', more, 8)
FROM unnest('{amount > 100000, created > ''2026-02-01'', state = 1}'::text[]) more;

DROP SCHEMA conditions CASCADE;
