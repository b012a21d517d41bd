-- The pages of a table that a bitmap scan for the condition visits, by the index that it has.
CREATE FUNCTION pages_of(condition text, relation text DEFAULT 't') RETURNS bigint
	LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = on;
	EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT json) SELECT * FROM %I WHERE ',
		relation) || condition INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Exact Heap Blocks')::int +
		(plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int;
END $$;
