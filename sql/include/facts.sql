-- What tests of facts ask of a table "fact": the intervals of a table "asked".
SET enable_seqscan = off;
SET enable_indexscan = off;
CREATE FUNCTION pages_asked(col text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT sum(pages_of(format('%I BETWEEN %s AND %s', col, lo, hi), 'fact')) FROM asked);
END $$;
-- Pages with a row, query by query.
CREATE FUNCTION pages_with_rows(col text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	result bigint;
BEGIN
	EXECUTE format('SELECT count(DISTINCT (asked.n, (f.ctid::text::point)[0]::int))
		FROM asked, fact f WHERE %I BETWEEN lo AND hi', col) INTO result;
	RETURN result;
END $$;
-- Pages read in vain in four rounds; were those of the first saved in each of the last two?
CREATE FUNCTION rounds_of(col text, OUT first_vain bool, OUT third_vain bigint,
	OUT fourth_vain bigint, OUT all_saved bool) LANGUAGE plpgsql AS $$
DECLARE
	rows bigint := pages_with_rows(col);
	before bigint := (SELECT saved_pages FROM rencoder_index_stats('fact_' || col));
	pages bigint := pages_asked(col);
BEGIN
	first_vain := pages > rows;
	PERFORM pages_asked(col);
	third_vain := pages_asked(col) - rows;
	fourth_vain := pages_asked(col) - rows;
	all_saved := (SELECT saved_pages FROM rencoder_index_stats('fact_' || col)) - before
		>= 2 * (pages - rows);
END $$;
-- Does the index find what a sequential scan finds?
CREATE FUNCTION finds(col text, lo int8, hi int8) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	condition text := format('%I BETWEEN %s AND %s', col, lo, hi);
BEGIN
	RETURN rows_of(condition, true, 'fact') = rows_of(condition, false, 'fact');
END $$;
