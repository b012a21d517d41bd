-- EXPLAIN (COSTS OFF), less what only PostgreSQL 18 says: that a node is disabled,
-- which here it is meant to be.
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line !~ '^ *Disabled: true$' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;
