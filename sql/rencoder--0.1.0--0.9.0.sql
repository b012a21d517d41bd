/* Update script of rencoder 0.1.0 to 0.9.0 */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION rencoder UPDATE TO '0.9.0'" to load this file. \quit

-- The advice: PostgreSQL 20 gives indexes functions of their own for statistics; the view is the same in all
-- versions.  And it promised an order that indexes with functions of users do not have.
-- Names are those of pg_catalog meanwhile, whatever others have made in the schema of the extension.
DO $do$
DECLARE
	path text := pg_catalog.current_setting('search_path');
	definition text;
	f record;
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
		pg_catalog.set_config('quote_all_identifiers', 'off', true),
		pg_catalog.set_config('standard_conforming_strings', 'on', true);
	SELECT pg_get_functiondef(p.oid) INTO STRICT definition
	FROM pg_proc AS p JOIN pg_extension AS e ON e.extnamespace = p.pronamespace
	WHERE e.extname = 'rencoder' AND p.proname = 'rencoder_advise' AND p.prolang = (
		SELECT l.oid FROM pg_language AS l WHERE l.lanname = 'sql')
		AND EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
			AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e');
	FOR f IN SELECT * FROM (VALUES ('numscans', 'idx_scan'), ('tuples_returned', 'idx_tup_read'),
			('tuples_fetched', 'idx_tup_fetch')) AS v (function, col)
	LOOP
		definition := replace(definition, format('pg_stat_get_%s(leaves.indexrelid)', f.function),
			format('coalesce((SELECT s.%s FROM pg_stat_all_indexes AS s '
				'WHERE s.indexrelid = leaves.indexrelid), 0)', f.col));
	END LOOP;
	-- No order by functions that a query does not name, if they are not the server's.
	definition := replace(definition, '(i.indnkeyatts > 4) OR', $$(i.indnkeyatts > 4)
		OR (i.indnkeyatts > 1 OR i.indpred IS NOT NULL) AND EXISTS (
			SELECT FROM pg_depend AS d
			WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
				AND d.refclassid = 'pg_proc'::regclass AND d.refobjid >= 16384) OR$$);
	EXECUTE definition;
	PERFORM pg_catalog.set_config('search_path', path, true);
END $do$;

-- Indexes of sorted runs have no pages of query samples.

CREATE OR REPLACE FUNCTION rencoder_column_size(
	table_pages double precision,
	table_rows double precision,
	rows double precision,
	null_frac double precision,
	n_distinct double precision,
	correlation double precision,
	freqs real[],
	index_rows double precision,
	repeats double precision,
	coder double precision,
	OUT pages double precision,
	OUT share double precision)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
	WITH statistics AS (
		SELECT table_pages AS pages, table_rows / table_pages AS page_rows, rows, n_distinct, correlation,
			freqs, rows * (1 - null_frac) AS valued
		WHERE table_pages > 0 AND table_rows > 0 AND rows > 0 AND n_distinct IS NOT NULL
	), counts AS (
		SELECT s.*, least(index_rows, s.valued) AS n,
			greatest(coalesce(index_rows, s.rows) - s.valued, 0) AS nulls,
			greatest(CASE WHEN s.n_distinct > 0 THEN s.n_distinct
				WHEN s.n_distinct < 0 THEN -s.n_distinct * s.rows ELSE s.valued END, 1) AS all_keys
		FROM statistics AS s
	), keys AS MATERIALIZED (
		SELECT c.*, greatest(1, least(c.n, CASE WHEN c.n < c.valued
				THEN c.all_keys * (1 - exp(-least(c.n / c.all_keys, 99))) ELSE c.all_keys END)) AS keys,
			coalesce((SELECT array_agg(f * c.rows * c.n / greatest(c.valued - a.rows, 1))
				FROM unnest(c.freqs) AS f WHERE f * c.rows <= 1.01 * c.n), '{}') AS common,
			greatest(repeats - a.alike, 0) / greatest(1 - a.alike, 0.001) AS repeated
		FROM counts AS c,
			-- A value with more rows than the index has is not in it.
			LATERAL (SELECT coalesce(sum(f), 0) * c.rows AS rows, coalesce(sum(f ^ 2), 0) AS alike
				FROM unnest(c.freqs) AS f WHERE f * c.rows > 1.01 * c.n) AS a
	), sized AS MATERIALIZED (
		SELECT k.*, coalesce(rencoder_run_bits(k.n, k.keys, k.common, k.correlation, k.repeated, k.pages,
				k.page_rows), 0)
			-- Nulls have places, unless they are everywhere.
			+ CASE WHEN k.nulls < 2.3 * k.pages THEN k.nulls * (2 + ln(greatest(1,
				k.pages * ceil(k.page_rows / 4) / greatest(k.nulls, 1))) / ln(2)) ELSE 0 END AS bits,
			-- Most values are common ones, or none is.
			CASE WHEN k.keys > 2 * cardinality(k.common)
				THEN greatest(k.n - (SELECT coalesce(sum(c), 0) FROM unnest(k.common) AS c), 1)
					/ (k.keys - cardinality(k.common))
				ELSE (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY c) FROM unnest(k.common) AS c) END
				AS value_rows,
			CASE WHEN k.correlation IS NULL THEN k.pages
				ELSE k.pages * sqrt(2 * (1 - least(abs(k.correlation), 1))) END AS spread_pages
		FROM keys AS k
	)
	SELECT CASE WHEN s.pages < 8 THEN 0 ELSE ceil(s.bits / 8 / 8150) + 1 + floor(s.bits / 8 / 8150 / 428) END
			-- It is trained on 512 pages, with the rows of them that the index has.
			+ least(coder, ceil(1 + least(s.keys, 512 * s.page_rows * s.n / s.rows) / 500)),
		least(1 - exp(-least(s.value_rows / s.pages, 99)),
			(s.value_rows / s.page_rows + s.spread_pages + 1) / s.pages)
	FROM sized AS s;
END;

-- Descriptions name what they count.

COMMENT ON ACCESS METHOD rencoder IS
	'small index of sorted runs or range filters, for large tables that mostly grow';
COMMENT ON FUNCTION rencoder_enum_intervals(anyenum, int2, internal) IS
	'rencoder support: intervals of keys for <, <=, >= and >';
COMMENT ON FUNCTION rencoder_inet_intervals(inet, int2, internal) IS
	'rencoder support: intervals of keys for a subnet operator';
COMMENT ON FUNCTION rencoder_exact_bound("any", internal) IS
	'rencoder support: bounds for a type with exact keys';
COMMENT ON FUNCTION rencoder_text_intervals(text, int2, internal) IS
	'rencoder support: intervals of keys for a pattern operator';
COMMENT ON FUNCTION rencoder_bpchar_intervals(bpchar, int2, internal) IS
	'rencoder support: intervals of keys for a pattern operator';
COMMENT ON FUNCTION rencoder_bpchar_pattern_intervals(text, int2, internal) IS
	'rencoder support: intervals of keys for LIKE on char(n)';
COMMENT ON FUNCTION rencoder_bytea_intervals(bytea, int2, internal) IS
	'rencoder support: intervals of keys for LIKE on bytea';
COMMENT ON FUNCTION rencoder_point_intervals(point, int2, internal) IS
	'rencoder support: interval of keys for ~=';
COMMENT ON FUNCTION rencoder_maintain_index(regclass) IS
	'maintains an index as VACUUM does; returns how many pages of the table were not indexed before (owner)';
COMMENT ON FUNCTION rencoder_compact(regclass, bigint, bigint) IS
	'makes one sorted run of all rows, or of the rows on some pages of the table; returns the number of table pages read (owner)';
COMMENT ON FUNCTION rencoder_index_check(regclass, boolean) IS
	'verifies an index and raises an error on the first fault; with heapallindexed, also looks up every visible row of the table (owner)';
COMMENT ON FUNCTION rencoder_runs(regclass) IS
	'the sorted runs of an index, one row for each run and column (owner, readers of the table; pg_stat_scan_tables without keys)';
COMMENT ON FUNCTION rencoder_candidates(regclass, anycompatible, anycompatible) IS
	'pages that a scan for "first column BETWEEN lo AND hi" would visit; points: "<@ box(lo, hi)" (owner, readers of the table)';
COMMENT ON FUNCTION rencoder_estimate_count(regclass, anycompatible, anycompatible) IS
	'estimated number of rows with "first column BETWEEN lo AND hi"; points: "<@ box(lo, hi)" (owner, readers of the table)';
COMMENT ON FUNCTION rencoder_index_stats(regclass, boolean) IS
	'pages that scans of an index have read and skipped, and bytes of WAL that maintenance has written (owner, readers of the table, pg_stat_scan_tables)';
COMMENT ON FUNCTION rencoder_index_stats_reset(regclass) IS
	'counts the scans and the maintenance WAL of an index from zero again, or begins to count them (owner)';
COMMENT ON FUNCTION rencoder_run_bits(double precision, double precision, double precision[],
	double precision, double precision, double precision, double precision) IS
	'bits that a sorted run of n keys takes, from the statistics of a column';
COMMENT ON FUNCTION rencoder_look_at(regclass, regclass, int2[]) IS
	'size of an index or a table; for each column, the share of rows equal to the row before, and of rows out of order (readers of the columns)';
COMMENT ON FUNCTION rencoder_column_size(double precision, double precision, double precision,
	double precision, double precision, double precision, real[], double precision, double precision,
	double precision) IS
	'pages that a column takes in an index, from the statistics of the column';
COMMENT ON FUNCTION rencoder_statistics() IS
	'statistics of columns and of index expressions (readers of the columns)';
COMMENT ON FUNCTION rencoder_types() IS
	'types that have a default rencoder operator class';
COMMENT ON FUNCTION rencoder_fixed_pages(double precision) IS
	'pages of an index besides the pages of its columns, by the pages of the table';
COMMENT ON FUNCTION rencoder_estimate(regclass, name[]) IS
	'estimated bytes of an index on these columns, from their statistics; null without statistics (readers of the columns)';
COMMENT ON FUNCTION rencoder_sorting_queries() IS
	'statements in pg_stat_statements that ask for rows in order and that the caller may see';
COMMENT ON FUNCTION rencoder_advise(regnamespace) IS
	'advice for each index of the database, or of a schema: can rencoder replace the index, why, bytes saved, statements to run (indexes of tables that the caller may read)';
COMMENT ON VIEW rencoder_stat_indexes IS
	'size, pages read and skipped by scans, and maintenance WAL of each rencoder index that the reader may inspect';
COMMENT ON FUNCTION rencoder_maintainable(regclass, boolean) IS
	'false, with a warning, for a relation that rencoder_maintain() skips: neither a table nor an index, or an index of another owner';
COMMENT ON FUNCTION rencoder_maintain(regclass) IS
	'maintains an index, or all indexes of a table and its partitions, as VACUUM does; says how many pages of the table were not indexed before (indexes that the caller owns)';

-- Names in functions and views were looked for in the schema of the extension, too.
DO $do$
DECLARE
	strange text;
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	WITH members AS (
		SELECT d.classid, d.objid
		FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'rencoder'
		WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	), parts AS (
		SELECT * FROM members
		UNION ALL
		SELECT 'pg_rewrite'::regclass, r.oid
		FROM pg_rewrite AS r JOIN members AS m ON m.classid = 'pg_class'::regclass AND m.objid = r.ev_class
	)
	SELECT pg_describe_object(d.refclassid, d.refobjid, 0) INTO strange
	FROM parts AS p JOIN pg_depend AS d ON d.classid = p.classid AND d.objid = p.objid
	WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass,
			'pg_class'::regclass)
		AND d.refobjid >= 16384
		AND NOT EXISTS (SELECT FROM members AS m WHERE m.classid = d.refclassid AND m.objid = d.refobjid)
		AND NOT EXISTS (SELECT FROM pg_type AS t JOIN members AS m ON m.classid = 'pg_class'::regclass
				AND m.objid = t.typrelid
			WHERE d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid)
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION '% is part neither of PostgreSQL nor of rencoder', strange
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Create the extension in a schema that has no such object.';
	END IF;
END $do$;
