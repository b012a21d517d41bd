-- Indexes made WITH (storage = run): the keys of all block ranges are sorted into one
-- run.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
\getenv seed RENCODER_SEED
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\i :compare

CREATE FUNCTION runs_page(index regclass, block int8) RETURNS bytea LANGUAGE sql AS $$
	SELECT pg_read_binary_file(pg_relation_filepath(index), block * size, size)
	FROM (SELECT current_setting('block_size')::int) s (size)
$$;
-- Pages of trees in the file of an index, and a checksum of what is on them; the list of
-- runs and the page that says where the trees are; and those of filters.
CREATE FUNCTION runs_pages(index regclass)
	RETURNS TABLE (trees int8, bytes text, others int8, filters int8) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CHECKPOINT';
	RETURN QUERY
	WITH pages AS (
		SELECT block, page, length(page) AS size,
			greatest(get_byte(page, length(page) - 2), get_byte(page, length(page) - 1)) = 255 AND
			least(get_byte(page, length(page) - 2), get_byte(page, length(page) - 1)) = kind AS is, kind
		FROM generate_series(0, pg_relation_size(index) / current_setting('block_size')::int - 1) block,
			runs_page(index, block) page, unnest('{180,181,186,187,188}'::int[]) kind)
	SELECT count(*) FILTER (WHERE kind = 188),
		md5(string_agg(substr(page, 25, size - 32), '' ORDER BY block) FILTER (WHERE kind = 188)),
		count(*) FILTER (WHERE kind IN (186, 187)), count(*) FILTER (WHERE kind IN (180, 181))
	FROM pages WHERE "is";
END $$;
-- Groups by what their headers say: how many ranges are summarized, whether the same are
-- covered, and by which run.
CREATE FUNCTION runs_groups(index regclass) RETURNS TABLE (groups text) LANGUAGE sql AS $$
	SELECT string_agg(format('%s of %s: %s%s', summarized,
		CASE WHEN get_byte(page, 24 + 6492) > 0 THEN 'run ' || get_byte(page, 24 + 6492)
			ELSE 'no run' END,
		CASE WHEN substr(page, 25 + 6504, 16) = substr(page, 25 + 200, 16) THEN 'all covered'
			WHEN substr(page, 25 + 6504, 16) = decode(repeat('00', 16), 'hex') THEN 'none covered'
			ELSE 'some covered' END,
		CASE WHEN pages > 0 THEN ', ' || storage END), '; ' ORDER BY group_no)
	FROM rencoder_groups(index), runs_page(index, header_block) page
	WHERE attnum = 1
$$;
-- Conditions of which the index and the table give different rows.
CREATE FUNCTION runs_wrong(relation text, VARIADIC conditions text[]) RETURNS TABLE (wrong text)
	LANGUAGE sql AS $$
	SELECT c FROM unnest(conditions) c
	WHERE rows_of(c, true, relation) <> rows_of(c, false, relation)
$$;

--
-- Several columns: with nulls, of few values, with coders, without any value.
--
CREATE TABLE runs (id int8, v int8, few int4, s text COLLATE "C", p point, nothing int4, filler text);
ALTER TABLE runs ALTER filler SET STORAGE plain;
INSERT INTO runs
SELECT i, CASE WHEN i % 7 > 0 AND i NOT BETWEEN 1000 AND 1100 THEN hashint8extended(i, :seed) END,
	i % 50, 'string ' || hashint4extended(i::int4, :seed), point(i % 97, i % 101), NULL,
	repeat('x', 200)
FROM generate_series(1, 8000) i;
CREATE INDEX runs_all ON runs USING rencoder (v, few, s, p, nothing)
	WITH (storage = run, pages_per_range = 1);
VACUUM ANALYZE runs;
SELECT runs_groups('runs_all');
SELECT trees > 0 AS trees, others, filters FROM runs_pages('runs_all');
SELECT attnum, sum(pages), bool_or(has_null) AS nulls, bool_or(has_value) AS values,
	sum(distinct_keys) AS keys, bool_or(state <> 'summarized') AS other
FROM rencoder_groups('runs_all') JOIN rencoder_ranges('runs_all') USING (attnum)
GROUP BY attnum ORDER BY attnum;
-- Bounds and null flags are those of an index with filters.
CREATE INDEX runs_filters ON runs USING rencoder (v, few, s, p, nothing)
	WITH (storage = filter, pages_per_range = 1);
SELECT count(*) AS ranges, count(*) FILTER (WHERE r IS DISTINCT FROM f) AS differ
FROM (SELECT range_no, attnum, always, has_null, has_value, min_key, max_key
	  FROM rencoder_ranges('runs_all')) r
	FULL JOIN (SELECT range_no, attnum, always, has_null, has_value, min_key, max_key
			   FROM rencoder_ranges('runs_filters')) f USING (range_no, attnum);
DROP INDEX runs_filters;
SELECT * FROM runs_wrong('runs', 'v = 5', 'v < 0', 'v IS NULL AND few = 3', 'few = 51', 'few = 17',
	's = ''string 7''', 's LIKE ''string -1%''', 'p <@ box(point(3, 4), point(5, 9))',
	'nothing = 5', 'nothing IS NULL AND few = 1', 'nothing IS NOT NULL');

--
-- What becomes of an index whose storage changes, and of small tables.
--
ALTER INDEX runs_all SET (storage = filter);
REINDEX INDEX runs_all;
SELECT trees, others, filters > 0 AS filters FROM runs_pages('runs_all');
ALTER INDEX runs_all SET (storage = auto);
REINDEX INDEX runs_all;
SELECT trees, others, filters > 0 AS filters FROM runs_pages('runs_all');
ALTER INDEX runs_all SET (storage = run);
REINDEX INDEX runs_all;
SELECT trees > 0 AS trees, others, filters FROM runs_pages('runs_all');
-- Seven ranges, and eight.
CREATE TABLE runs_small (LIKE runs);
INSERT INTO runs_small SELECT * FROM runs ORDER BY id LIMIT 1000;
SELECT (pages + 6) / 7 AS seventh, (pages + 7) / 8 AS eighth
FROM (SELECT pg_relation_size('runs_small') / current_setting('block_size')::int AS pages) s \gset
CREATE INDEX runs_seven ON runs_small USING rencoder (v)
	WITH (storage = run, pages_per_range = :seventh);
CREATE INDEX runs_eight ON runs_small USING rencoder (v)
	WITH (storage = run, pages_per_range = :eighth);
SELECT runs_groups('runs_seven'), runs_groups('runs_eight');
SELECT trees, others FROM runs_pages('runs_seven');
SELECT trees, others FROM runs_pages('runs_eight');
DELETE FROM runs_small;
VACUUM runs_small;
REINDEX TABLE runs_small;
SELECT trees, others FROM runs_pages('runs_eight');
-- Nothing but nulls: a run without a tree.
INSERT INTO runs_small SELECT id, NULL, few FROM runs;
REINDEX INDEX runs_eight;
SELECT runs_groups('runs_eight');
SELECT trees, others FROM runs_pages('runs_eight');
SELECT * FROM runs_wrong('runs_small', 'v = 5', 'v IS NULL', 'v IS NOT NULL');
DROP TABLE runs_small;

--
-- Kinds of builds.
--
CREATE INDEX runs_kind ON runs USING rencoder ((few * 2), lower(s))
	WITH (storage = run, pages_per_range = 1) WHERE v > 0;
SELECT runs_groups('runs_kind');
SELECT trees > 0 AS trees, others, filters FROM runs_pages('runs_kind');
SELECT * FROM runs_wrong('runs', 'few * 2 = 34 AND v > 0', 'lower(s) = ''string 5'' AND v > 0');
DROP INDEX runs_kind;
CREATE INDEX CONCURRENTLY runs_kind ON runs USING rencoder (few, v)
	WITH (storage = run, pages_per_range = 1);
SELECT runs_groups('runs_kind');
SELECT trees > 0 AS trees, others, filters FROM runs_pages('runs_kind');
SELECT * FROM runs_wrong('runs', 'few = 34', 'few = 51', 'v = 5');
DROP INDEX runs_kind;
CREATE UNLOGGED TABLE runs_unlogged AS SELECT * FROM runs;
CREATE INDEX runs_kind ON runs_unlogged USING rencoder (few)
	WITH (storage = run, pages_per_range = 1);
SELECT trees > 0 AS trees, others, filters FROM runs_pages('runs_kind');
SELECT * FROM runs_wrong('runs_unlogged', 'few = 34', 'few = 51');
DROP TABLE runs_unlogged;
CREATE TEMP TABLE runs_temp AS SELECT * FROM runs;
CREATE INDEX runs_kind ON runs_temp USING rencoder (few) WITH (storage = run, pages_per_range = 1);
SELECT count(*), sum(summarized), sum(pages) FROM rencoder_groups('runs_kind');
SELECT * FROM runs_wrong('runs_temp', 'few = 34', 'few = 51');
DROP TABLE runs_temp;
-- A function that writes: the ranges of a group that it may have written to are not
-- summarized, so the run does not cover them.
CREATE TABLE runs_log (id int8);
CREATE FUNCTION runs_write() RETURNS void LANGUAGE sql VOLATILE AS
	'INSERT INTO runs_log VALUES (1)';
CREATE FUNCTION runs_logged(id int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF id = 1 THEN
		PERFORM runs_write();
	END IF;
	RETURN id;
END $$;
CREATE INDEX runs_kind ON runs USING rencoder (runs_logged(id))
	WITH (storage = run, pages_per_range = 1);
SELECT runs_groups('runs_kind');
SELECT * FROM runs_wrong('runs', 'runs_logged(id) = 34', 'runs_logged(id) = 5000');
DROP INDEX runs_kind;
DROP TABLE runs_log;

--
-- Size: false pages are few, or the owner says how many bits a row takes.
--
CREATE TABLE runs_large AS
SELECT i AS id, hashint8extended(i, :seed) AS v, (hashint4extended(i, :seed) % 3)::int4 AS few
FROM generate_series(1, 120000) i;
CREATE FUNCTION runs_bits(options text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	bits numeric;
BEGIN
	EXECUTE 'CREATE INDEX runs_size ON runs_large USING rencoder (v) WITH (storage = run' || options || ')';
	SELECT trees * current_setting('block_size')::int * 8 / 120000.0 INTO bits
	FROM runs_pages('runs_size');
	DROP INDEX runs_size;
	RETURN bits;
END $$;
SELECT runs_bits('') BETWEEN 8 AND 20 AS by_pages, runs_bits(', bits_per_key = 30') BETWEEN 28 AND 32 AS thirty,
	runs_bits(', bits_per_key = 20') BETWEEN 18 AND 22 AS twenty;

--
-- Memory that is short, and several processes, change nothing of the run.  Of "few" equal
-- pairs are united.
--
CREATE FUNCTION runs_spilled() RETURNS int8 LANGUAGE sql VOLATILE AS
	'SELECT temp_files FROM pg_stat_database WHERE datname = current_database()';
CREATE INDEX runs_one ON runs_large USING rencoder (v, few) WITH (storage = run, pages_per_range = 1);
SELECT pg_stat_force_next_flush();
SELECT runs_spilled() AS before \gset
SET maintenance_work_mem = '1MB';
CREATE INDEX runs_two ON runs_large USING rencoder (v, few) WITH (storage = run, pages_per_range = 1);
SELECT pg_stat_force_next_flush();
SELECT runs_spilled() - :before AS files;
SET maintenance_work_mem = '128MB';
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
CREATE INDEX runs_three ON runs_large USING rencoder (v, few) WITH (storage = run, pages_per_range = 1);
SELECT pg_stat_force_next_flush();
SELECT runs_spilled() - :before AS files;
SELECT count(DISTINCT trees) AS sizes, count(DISTINCT bytes) AS contents
FROM unnest('{runs_one,runs_two,runs_three}'::regclass[]) i, runs_pages(i);
SELECT i, runs_groups(i) FROM unnest('{runs_one,runs_two,runs_three}'::regclass[]) i;
DROP INDEX runs_one, runs_two;
SELECT * FROM runs_wrong('runs_large', 'v BETWEEN 0 AND 1000000000000000', 'few = 2', 'few = 3');

DROP TABLE runs, runs_large;
DROP FUNCTION runs_page, runs_pages, runs_groups, runs_wrong, runs_write, runs_logged, runs_bits, runs_spilled, rows_of;
