-- Pages of the index that a bitmap scan of "relation" for k = value reads.
CREATE FUNCTION index_pages(relation text, value text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT json, ANALYZE, BUFFERS, TIMING off)
		SELECT * FROM %I WHERE k = %L', relation, value) INTO plan;
	plan := plan -> 0 -> 'Plan' -> 'Plans' -> 0;
	RETURN (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int +
		(plan ->> 'Local Hit Blocks')::int + (plan ->> 'Local Read Blocks')::int;
END $$;
