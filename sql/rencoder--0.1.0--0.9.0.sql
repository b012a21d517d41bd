/* Update script of rencoder 0.1.0 to 0.9.0 */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION rencoder UPDATE TO '0.9.0'" to load this file. \quit

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
