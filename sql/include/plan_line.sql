-- The scans and joins of a plan with their relations, in one line.
CREATE FUNCTION plan_line(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ '(Scan|Join|Loop|BitmapAnd|BitmapOr|Gather)' THEN
			plan := concat_ws(' / ', plan, regexp_replace(line, '^ *(-> *)?', ''));
		END IF;
	END LOOP;
	RETURN plan;
END $$;
