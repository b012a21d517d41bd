-- Indexes made WITH (storage = run): the keys of all rows are sorted into one run.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
\getenv seed RENCODER_SEED
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\i :compare

-- What an index is like, after it has been checked: pages that runs cover, those behind them, and
-- the trees of its run.
CREATE FUNCTION runs_extent(index regclass) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM rencoder_index_check(index, true);
	RETURN (SELECT format('%s pages, %s behind', least(frontier, p), greatest(p - frontier, 0))
	FROM rencoder_metapage(index), (SELECT pg_relation_size(indrelid)
		/ current_setting('block_size')::int AS p FROM pg_index WHERE indexrelid = index) t);
END $$;
CREATE FUNCTION runs_trees(index regclass) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format('%s %s %s: %s', run, kind, state,
		CASE WHEN entries > 0 THEN rows || ' rows' ELSE 'no tree' END), '; ' ORDER BY attnum)
	FROM rencoder_runs(index)
$$;
-- Conditions for which the index is not used, or finds other rows than there are.
CREATE FUNCTION runs_wrong(relation text, VARIADIC conditions text[]) RETURNS SETOF text
	LANGUAGE plpgsql AS $$
DECLARE
	condition text;
BEGIN
	FOREACH condition IN ARRAY conditions LOOP
		IF NOT index_finds(rows_of(condition, false, relation), condition, relation) THEN
			RETURN NEXT condition;
		END IF;
	END LOOP;
END $$;

--
-- Several columns: with nulls, of few values, with coders, without any value.
--
CREATE TABLE runs (id int8, v int8, few int4, s text COLLATE "C", p point, nothing int4,
	filler text);
ALTER TABLE runs ALTER filler SET STORAGE plain;
INSERT INTO runs
SELECT i, CASE WHEN i % 7 > 0 AND i NOT BETWEEN 1000 AND 1100 THEN hashint8extended(i, :seed) END,
	i % 50 / 10, 'string ' || hashint4extended(i::int4, :seed), point(i % 97, i % 101), NULL,
	repeat('x', 200)
FROM generate_series(1, 8000) i;
CREATE INDEX runs_all ON runs USING rencoder (v, few, s, p, nothing)
	WITH (storage = run, pages_per_range = 1);
SELECT runs_extent('runs_all');
SELECT runs_trees('runs_all');
SELECT count(*) AS rows, count(v) AS values FROM runs;
-- A row is an entry; or a page, where its rows follow each other.
SELECT attnum, entries BETWEEN 0.9 * count AND 1.01 * count AS entries
FROM rencoder_runs('runs_all'),
	(SELECT count(v) AS v, count(DISTINCT few || ' ' || page) AS few
	 FROM runs, LATERAL (SELECT split_part(ctid::text, ',', 1) AS page) l
	 WHERE v IS NOT NULL OR few IS NOT NULL) c,
	LATERAL (SELECT CASE attnum WHEN 1 THEN v WHEN 2 THEN few END AS count) n
WHERE attnum <= 2 ORDER BY attnum;
VACUUM ANALYZE runs;
SELECT * FROM runs_wrong('runs', 'v = hashint8extended(5, ' || :seed || ')', 'v < 0',
	'v IS NULL AND few = 3', 'few = 51', 'few = 4', 's > ''string 7''', 's LIKE ''string -1%''',
	'p <@ box(point(3, 4), point(5, 9))', 'nothing = 5', 'nothing IS NULL AND few = 1',
	'nothing IS NOT NULL');

--
-- Small tables.
--
CREATE TABLE runs_small (LIKE runs);
INSERT INTO runs_small SELECT * FROM runs ORDER BY id LIMIT 1000;
CREATE INDEX runs_eight ON runs_small USING rencoder (id) WITH (storage = run);
SELECT runs_extent('runs_eight'), runs_trees('runs_eight');
SELECT * FROM runs_wrong('runs_small', 'id = 1', 'id = 1000', 'id > 1000');
-- Nothing but nulls, and nothing at all.
TRUNCATE runs_small;
INSERT INTO runs_small SELECT NULL, v, few, s, p, nothing, filler FROM runs WHERE id <= 1000;
REINDEX INDEX runs_eight;
SELECT runs_extent('runs_eight'), runs_trees('runs_eight');
SELECT * FROM runs_wrong('runs_small', 'id = 1', 'id IS NULL', 'id IS NOT NULL');
TRUNCATE runs_small;
SELECT runs_extent('runs_eight'), runs_trees('runs_eight');
DROP TABLE runs_small;

--
-- Kinds of builds.
--
CREATE INDEX runs_kind ON runs USING rencoder ((few * 2), lower(s))
	WITH (storage = run, pages_per_range = 1) WHERE v > 0;
SELECT runs_extent('runs_kind');
SELECT runs_trees('runs_kind') = format('1 base live: %s rows; 1 base live: %1$s rows', count(*))
FROM runs WHERE v > 0;
SELECT * FROM runs_wrong('runs', 'few * 2 = 8 AND v > 0', 'lower(s) > ''string 5'' AND v > 0');
DROP INDEX runs_kind;
CREATE INDEX CONCURRENTLY runs_kind ON runs USING rencoder (few, v)
	WITH (storage = run, pages_per_range = 1);
SELECT runs_extent('runs_kind'), runs_trees('runs_kind');
REINDEX INDEX CONCURRENTLY runs_kind;
SELECT runs_extent('runs_kind'), runs_trees('runs_kind');
SELECT * FROM runs_wrong('runs', 'few = 4', 'few = 51', 'v < 0');
DROP INDEX runs_kind;
CREATE UNLOGGED TABLE runs_unlogged (LIKE runs);
INSERT INTO runs_unlogged SELECT * FROM runs;
CREATE INDEX runs_kind ON runs_unlogged USING rencoder (few)
	WITH (storage = run, pages_per_range = 1);
SELECT runs_extent('runs_kind'), runs_trees('runs_kind');
SELECT * FROM runs_wrong('runs_unlogged', 'few = 4', 'few = 51');
DROP TABLE runs_unlogged;
CREATE TEMP TABLE runs_temp (LIKE runs);
INSERT INTO runs_temp SELECT * FROM runs;
CREATE INDEX runs_kind ON runs_temp USING rencoder (few) WITH (storage = run, pages_per_range = 1);
SELECT runs_extent('runs_kind'), runs_trees('runs_kind');
SELECT * FROM runs_wrong('runs_temp', 'few = 4', 'few = 51');
DROP TABLE runs_temp;
-- A function that writes: pages that it may have written to are behind the frontier.
CREATE TABLE runs_log (id int8);
CREATE FUNCTION runs_write() RETURNS void LANGUAGE sql VOLATILE AS
	'INSERT INTO public.runs_log VALUES (1)';
CREATE FUNCTION runs_logged(id int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF id = 1 THEN
		PERFORM public.runs_write();
	END IF;
	RETURN id;
END $$;
CREATE INDEX runs_kind ON runs USING rencoder (runs_logged(id))
	WITH (storage = run, pages_per_range = 1);
SELECT runs_extent('runs_kind'), runs_trees('runs_kind');
SELECT * FROM runs_wrong('runs', 'runs_logged(id) = 34', 'runs_logged(id) = 5000');
SELECT rencoder_maintain_index('runs_kind') > 0 AS maintained;
SELECT runs_extent('runs_kind');
SELECT * FROM runs_wrong('runs', 'runs_logged(id) = 34', 'runs_logged(id) = 5000');
DROP INDEX runs_kind;
DROP TABLE runs_log;

--
-- Size: false pages are few, or as few as the owner wants, at a bit for each halving.
--
CREATE TABLE runs_large (id int4, v int8, few int4);
INSERT INTO runs_large
SELECT i, hashint8extended(i, :seed), (hashint4extended(i, :seed) % 3)::int4
FROM generate_series(1, 120000) i;
CREATE FUNCTION runs_size(options text) RETURNS TABLE (bits float8, false_pages float8)
	LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE INDEX runs_size ON runs_large USING rencoder (v) WITH (storage = run'
		|| options || ')';
	RETURN QUERY SELECT r.bits_per_entry, r.false_pages FROM rencoder_runs('runs_size') r;
	DROP INDEX runs_size;
END $$;
SELECT bits < 16 AS small, false_pages BETWEEN 0.5 AND 2 AS few
FROM runs_size(', resolution = pages, false_pages = 1');
SELECT bits < 22 AS small, false_pages BETWEEN 0.25 AND 1 AS few FROM runs_size('');
SELECT bits BETWEEN 28 AND 32 AS wanted, false_pages < 0.001 AS few
FROM runs_size(', false_pages = 0.001');

--
-- Memory that is short, and several processes, change nothing of the run.  Of "few" equal
-- pairs are united, so what is in memory then need not be spilled.
--
CREATE FUNCTION runs_file(index regclass) RETURNS bytea LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CHECKPOINT';
	RETURN pg_read_binary_file(pg_relation_filepath(index));
END $$;
-- What stands on the pages of trees, whose last byte but one or last is 184.
CREATE FUNCTION runs_bytes(index regclass) RETURNS TABLE (pages int8, bytes text)
	LANGUAGE sql AS $$
	SELECT count(*), md5(string_agg(substr(page, 25, size - 32), '' ORDER BY block))
	FROM (SELECT current_setting('block_size')::int) s (size), runs_file(index) f,
		generate_series(0, length(f) / size - 1) block,
		LATERAL (SELECT substr(f, block * size + 1, size) AS page) p
	WHERE 184 IN (get_byte(page, size - 2), get_byte(page, size - 1))
$$;
CREATE FUNCTION runs_files() RETURNS int8 LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_stat_force_next_flush();
	RETURN (SELECT temp_files FROM pg_stat_database WHERE datname = current_database());
END $$;
SELECT runs_files() IS NULL AS ignored \gset
SELECT runs_files() AS before \gset
CREATE INDEX runs_one ON runs_large USING rencoder (v, few)
	WITH (storage = run, resolution = pages, pages_per_range = 1);
SELECT runs_files() IS NULL AS ignored \gset
SELECT runs_files() - :before AS files;
SET maintenance_work_mem = '1MB';
CREATE INDEX runs_two ON runs_large USING rencoder (v, few)
	WITH (storage = run, resolution = pages, pages_per_range = 1);
SELECT runs_files() IS NULL AS ignored \gset
SELECT runs_files() - :before AS files;
SET maintenance_work_mem = '128MB';
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
CREATE INDEX runs_three ON runs_large USING rencoder (v, few)
	WITH (storage = run, resolution = pages, pages_per_range = 1);
SELECT count(*), min(pages) > 15 AS many, count(DISTINCT pages) AS sizes,
	count(DISTINCT bytes) AS contents
FROM unnest('{runs_one,runs_two,runs_three}'::regclass[]) i, runs_bytes(i);
SELECT i, runs_extent(i), runs_trees(i)
FROM unnest('{runs_one,runs_two,runs_three}'::regclass[]) i;
DROP INDEX runs_one, runs_two;
SELECT * FROM runs_wrong('runs_large', 'v BETWEEN 0 AND 1000000000000000', 'few = 2', 'few = 3');

DROP TABLE runs, runs_large;
DROP FUNCTION runs_extent, runs_trees, runs_wrong, runs_write, runs_logged, runs_size, runs_file,
	runs_bytes, runs_files, rows_of, index_finds, uses_index;

-- Keys of which many are equal, crowded, or powers of two, and both ends of the type.
CREATE TABLE rb_skewed AS
SELECT CASE i % 4 WHEN 0 THEN 7 WHEN 1 THEN 1::int8 << (i % 63) WHEN 2 THEN hashint8extended(i, 1)
	ELSE '-9223372036854775808'::int8 + i % 300 END AS k
FROM generate_series(1, 40000) i;
CREATE INDEX rb_skewed_k ON rb_skewed USING rencoder (k);
SELECT rencoder_index_check('rb_skewed_k');
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SELECT array_agg(k) = (SELECT array_agg(k ORDER BY k) FROM rb_skewed) AS sorted,
	count(*)
FROM (SELECT k FROM rb_skewed ORDER BY k OFFSET 0) AS in_order;
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_sort;
DROP TABLE rb_skewed;
