-- What tests compare: the rows of a table that a condition finds by the index, with a bitmap or
-- row by row, and by a sequential scan.
CREATE FUNCTION rows_of(condition text, indexed boolean, relation text DEFAULT 't',
	plain boolean DEFAULT false) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('enable_seqscan', (NOT indexed)::text, true),
		set_config('enable_bitmapscan', (indexed AND NOT plain)::text, true),
		set_config('enable_indexscan', (indexed AND plain)::text, true);
	EXECUTE format('SELECT count(*) || '' rows, '' || coalesce(sum(id::int8 * id), 0) FROM %I',
		relation) || ' WHERE ' || condition INTO result;
	RETURN result;
END $$;
-- Does the index find the rows that the sequential scan has found?  If not, a warning
-- says with which seed.
SELECT set_config('compare.seed', :'seed', false) \gset ignored_
CREATE FUNCTION index_finds(without text, condition text, relation text DEFAULT 't')
	RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	with_index text := rows_of(condition, true, relation);
	row_by_row text := rows_of(condition, true, relation, true);
BEGIN
	IF with_index = without AND row_by_row = without THEN
		RETURN true;
	END IF;
	RAISE WARNING '%: % with the index, % row by row, % without, seed %', left(condition, 1000),
		with_index, row_by_row, without, current_setting('compare.seed');
	RETURN false;
END $$;
-- Does the planner use an index for it, if it can?
CREATE FUNCTION uses_index(condition text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_bitmapscan = on;
	SET LOCAL enable_indexscan = off;
	EXECUTE 'EXPLAIN (FORMAT json) SELECT * FROM t WHERE ' || condition INTO plan;
	RETURN plan::text LIKE '%Bitmap Index Scan%';
END $$;
