-- What tests of one index, t_i of the table t, ask: of how many conditions there are rows, and
-- those by which the index, which is also checked, finds others than a sequential scan.
CREATE FUNCTION compare_all(conditions text[], OUT asked bigint, OUT lost text)
	LANGUAGE plpgsql AS $$
DECLARE
	c text;
	line text;
	plan text;
	seen bigint;
	found bigint;
BEGIN
	asked := 0;
	lost := '';
	FOREACH c IN ARRAY conditions LOOP
		PERFORM set_config('enable_seqscan', 'on', true),
			set_config('enable_bitmapscan', 'off', true),
			set_config('enable_indexscan', 'off', true);
		EXECUTE 'SELECT count(*) FROM t WHERE ' || c INTO seen;
		PERFORM set_config('enable_seqscan', 'off', true),
			set_config('enable_bitmapscan', 'on', true);
		plan := '';
		FOR line IN EXECUTE 'EXPLAIN SELECT count(*) FROM t WHERE ' || c LOOP
			plan := plan || line;
		END LOOP;
		EXECUTE 'SELECT count(*) FROM t WHERE ' || c INTO found;
		asked := asked + (seen > 0)::int;
		IF seen <> found OR plan NOT LIKE '%Bitmap Index Scan on t_i%' THEN
			lost := lost || format('%s: %s, %s; ', c, seen, found);
		END IF;
	END LOOP;
	PERFORM rencoder_index_check('t_i', true);
END $$;
