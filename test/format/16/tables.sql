-- The tables and indexes whose files lie beside this text.
CREATE TABLE runs (id int, v int8, s text COLLATE "C", few int, filler text)
	WITH (fillfactor = 60, autovacuum_enabled = off);
CREATE TABLE filters (id int, v int8, few int, n numeric, s text, p point, ip inet, filler text)
	WITH (fillfactor = 90, autovacuum_enabled = off);
ALTER TABLE runs ALTER filler SET STORAGE plain;
ALTER TABLE filters ALTER filler SET STORAGE plain;

-- Fails when told to, so that a reading is given up.
CREATE FUNCTION half(n numeric) RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('format.fail', true) = 'yes' THEN
		RAISE EXCEPTION 'told to fail';
	END IF;
	RETURN n / 2;
END $$;

CREATE INDEX runs_all ON runs USING rencoder (v, s, few)
	WITH (autosummarize = off, pages_per_range = 1, storage = run);
CREATE INDEX runs_auto ON runs USING rencoder (v, few)
	WITH (autosummarize = off, pages_per_range = 2);
CREATE INDEX filters_v ON filters USING rencoder (v, few)
	WITH (autosummarize = off, pages_per_range = 1, bits_per_key = 24, storage = filter);
CREATE INDEX filters_few ON filters USING rencoder (few)
	WITH (autosummarize = off, pages_per_range = 1, storage = filter);
CREATE INDEX filters_s ON filters USING rencoder (s)
	WITH (autosummarize = off, pages_per_range = 1, storage = filter);
CREATE INDEX filters_p ON filters USING rencoder (p)
	WITH (autosummarize = off, pages_per_range = 1, storage = filter);
CREATE INDEX filters_ip ON filters USING rencoder (ip)
	WITH (autosummarize = off, pages_per_range = 4, bits_per_key = 12, storage = filter);
CREATE INDEX filters_n ON filters USING rencoder (half(n))
	WITH (autosummarize = off, pages_per_range = 1, storage = filter) WHERE id > 100;

CREATE FUNCTION fill_runs(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO runs SELECT i, hashint8extended(i, 1) >> 20,
		'https://example.org/' || left(md5((i / 6)::text), 16),
		nullif(abs(hashint4(i)) % 30, 7), repeat('x', 130)
	FROM generate_series(first, last) i
$$;
CREATE FUNCTION fill_filters(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO filters SELECT i, hashint8extended(i, 1), nullif(i % 29, 7), i / 7.0,
		'https://www.example.com/' || left(md5(i::text), 12), point(i % 50, i / 50),
		CASE WHEN i % 3 > 0 THEN '10.0.0.0'::inet + i * 7919 % 60000 END, repeat('x', 900)
	FROM generate_series(first, last) i
$$;
CREATE FUNCTION change_runs(k int) RETURNS void LANGUAGE sql AS $$
	UPDATE runs SET v = hashint8extended(id, k) >> 20, few = (few + 1) % 30 WHERE id % 41 = k
$$;

-- What an index says of itself, which must not change: one line each.
CREATE FUNCTION state_of(i regclass) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s %s pages of %s a range, %s bits, version %s, frontier %s, entries to %s, %s runs, '
		'%s pending, %s free', i, pg_relation_size(i) / 8192, pages_per_range, bits_per_key,
		catalog_version, frontier, entries_to, runs, pending_pages, free_pages)
	FROM rencoder_metapage(i)
	UNION ALL
	SELECT format('%s run %s.%s %s %s, rank %s, %s to %s, cut %s, %s entries, %s rows, %s pages, %s nulls',
		i, run, attnum, kind, state, rank, from_page, to_page, cut, entries, rows, pages, nulls)
	FROM rencoder_runs(i)
	UNION ALL
	SELECT format('%s sample %s %s [%s, %s]', i, attnum, source, lo_key, hi_key)
	FROM rencoder_query_samples(i) WHERE source = 'added'
$$;

-- What queries would visit.
CREATE FUNCTION visited(index regclass, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	tab regclass := (SELECT indrelid FROM pg_index WHERE indexrelid = index);
	name regclass;
	plan json;
BEGIN
	-- Without the other indexes.
	FOR name IN SELECT indexrelid FROM pg_index WHERE indrelid = tab AND indexrelid <> index LOOP
		EXECUTE 'DROP INDEX ' || name;
	END LOOP;
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = off; -- which does not say how many
	EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT json) SELECT * FROM %s WHERE %s',
		tab, condition) INTO plan;
	RAISE EXCEPTION 'back';
EXCEPTION WHEN raise_exception THEN
	RETURN format('%s %s: %s pages', index, condition,
		(plan -> 0 -> 'Plan' ->> 'Exact Heap Blocks')::int +
		(plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int);
END $$;
CREATE FUNCTION all_visited() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT visited(i::regclass, replace(condition, '$', number::text))
	FROM generate_series(100, 2500, 400) number,
		(VALUES
			('runs_all', 'v = hashint8extended($, 1) >> 20'),
			('runs_all', 'v BETWEEN hashint8extended($, 1) AND hashint8extended($, 1) + 1000000'),
			('runs_all', 's LIKE ''https://example.org/'' || left(md5(''$''), 5) || ''%'''),
			('runs_all', 'few = $ % 30 AND v < 0'),
			('runs_auto', 'v = hashint8extended($, 1) >> 20'),
			('filters_v', 'v = hashint8extended($, 1)'),
			('filters_v', 'v BETWEEN $ AND $ * 100000000000000'),
			('filters_v', 'few IS NULL AND v > 0'),
			('filters_few', 'few = $ % 31'),
			('filters_s', 's = ''https://www.example.com/'' || left(md5(''$''), 12)'),
			('filters_p', 'p <@ box(point($ % 50, $ / 50), point($ % 50 + 1, $ / 50 + 1))'),
			('filters_ip', 'ip << inet ''10.0.0.0/28'' + $ * 16'),
			('filters_n', 'id > 100 AND half(n) BETWEEN $ / 14.0 AND $ / 14.0 + 0.2'))
		AS asked (i, condition)
$$;
