-- Query samples weigh how wide the cells of a run are.  Whatever they say, no row is lost.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET rencoder.sample_rate = 0;
SET check_function_bodies = off;
\getenv seed RENCODER_SEED
\getenv abs_srcdir PG_ABS_SRCDIR
\set compare :abs_srcdir '/sql/include/compare.sql'
\i :compare

CREATE TABLE asked (id int4, v int8);
INSERT INTO asked SELECT i, hashint8extended(i, :seed) FROM generate_series(1, 60000) i;
-- Above every 100th value, and long intervals of a hundredth of all.
CREATE TABLE asked_near AS SELECT v + 1 AS lo, v + 1 AS hi FROM asked WHERE id % 100 = 0;
CREATE TABLE asked_long AS SELECT v AS lo, v + 180000000000000000 AS hi FROM asked
WHERE id % 100 = 0 AND v < 9000000000000000000;
CREATE TABLE asked_sizes (name text, bits float8, near int8, long int8);
-- Above other values, and between them: pages without a row of it.
CREATE FUNCTION asked_measure(name text) RETURNS void LANGUAGE sql AS $$
	INSERT INTO asked_sizes SELECT name,
		(SELECT bits_per_entry FROM rencoder_runs('asked_v') WHERE kind = 'base'),
		(SELECT sum(pages) FROM asked,
			rencoder_candidates('asked_v', v + 1, v + 1) WHERE id % 100 = 7),
		(SELECT sum(pages) FROM asked,
			rencoder_candidates('asked_v', v, v + 180000000000000000)
			WHERE id % 1000 = 7 AND v < 9000000000000000000)
$$;
CREATE FUNCTION asked_wrong() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	condition text;
BEGIN
	PERFORM rencoder_index_check('asked_v', true);
	FOR condition IN
		SELECT format('v BETWEEN %s AND %s', v - d, v + d) FROM asked,
			unnest('{0, 1, 1000000, 10000000000000000}'::int8[]) d
		WHERE id % 6000 = 11 AND abs(v) < 9000000000000000000
		UNION ALL SELECT format('v = %s', v + 1) FROM asked WHERE id % 6000 = 13
	LOOP
		IF NOT index_finds(rows_of(condition, false, 'asked'), condition, 'asked') THEN
			RETURN NEXT condition;
		END IF;
	END LOOP;
END $$;

CREATE INDEX asked_v ON asked USING rencoder (v) WITH (storage = run, pages_per_range = 1);
SELECT asked_measure('none');
SELECT asked_wrong();

-- Compacting takes samples in that have come since.
SELECT count(rencoder_add_query_sample('asked_v', lo, hi)) > 500 AS added
FROM asked_long;
SELECT rencoder_compact('asked_v');
SELECT asked_measure('long, compacted');
SELECT asked_wrong();
DROP INDEX asked_v;

CREATE INDEX asked_v ON asked USING rencoder (v) WITH (storage = run, pages_per_range = 1);
SELECT count(rencoder_add_query_sample('asked_v', lo, hi)) > 500 AS added
FROM asked_near;
SELECT rencoder_compact('asked_v');
SELECT asked_measure('near');
SELECT asked_wrong();
-- An owner who says how many bits a row takes gets them.
ALTER INDEX asked_v SET (bits_per_key = 16);
REINDEX INDEX asked_v;
SELECT asked_measure('bits');
SELECT asked_wrong();

-- Long ones get wider cells, at the price of pages; near misses narrower ones.
SELECT s.name, s.bits < n.bits - 1.5 AS much_smaller, s.bits > n.bits + 1 AS larger,
	s.near < 0.8 * n.near AS fewer_near, s.near > 2 * n.near AS more_near,
	s.long < 1.15 * n.long AS long_as_before
FROM asked_sizes s, asked_sizes n WHERE n.name = 'none' AND s.name IN
	('long, compacted', 'near') ORDER BY 1;
SELECT bits BETWEEN 14 AND 18 AS as_wanted FROM asked_sizes WHERE name = 'bits';
DROP TABLE asked, asked_near, asked_long, asked_sizes;
DROP FUNCTION asked_measure, asked_wrong, rows_of, index_finds, uses_index;
