-- Tests of strings begin so: counts by the index and without, and tables to count.
\getenv seed RENCODER_SEED
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
\set plan :abs_srcdir '/sql/include/plan.sql'
\set values :abs_srcdir '/sql/include/values.sql'
\i :values
\i :plan
SELECT setseed(mod(:'seed'::numeric, 1000003) / 1000003) \gset ignored_
SELECT set_config('strings.seed', :'seed', false) \gset ignored_

CREATE FUNCTION st_planner(index_on bool) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('enable_seqscan', (NOT index_on)::text, false),
		set_config('enable_bitmapscan', index_on::text, false),
		set_config('enable_indexscan', 'off', false),
		set_config('enable_indexonlyscan', 'off', false),
		set_config('enable_hashjoin', 'off', false),
		set_config('enable_mergejoin', 'off', false),
		set_config('enable_material', 'off', false),
		set_config('enable_memoize', 'off', false)
$$;

-- Runs a query that returns a number, by any rencoder index and without.
CREATE FUNCTION st_count(query text, OUT rows bigint, OUT verdict text) LANGUAGE plpgsql AS $$
DECLARE
	without bigint;
	line text;
BEGIN
	verdict := 'index not used';
	PERFORM st_planner(true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Bitmap Index Scan|One-Time Filter: false' THEN
			verdict := 'ok';
		END IF;
	END LOOP;
	EXECUTE query INTO rows;
	PERFORM st_planner(false);
	EXECUTE query INTO without;
	IF rows <> without THEN
		verdict := format('WRONG: a sequential scan finds %s', without);
	END IF;
	PERFORM set_config('enable_bitmapscan', 'on', false);
END $$;
CREATE FUNCTION st_counts(tab text, VARIADIC predicates text[])
RETURNS TABLE (predicate text, rows bigint, verdict text) LANGUAGE sql AS $$
	SELECT p, (st_count(format('SELECT count(*) FROM %s WHERE %s', tab, p))).*
	FROM unnest(predicates) p
$$;

-- Each value on a page of its own, and NULL; the dictionary has seen them all.
CREATE FUNCTION st_table(tab text, typ text, vals text[]) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I (id int, v %s, filler text)', tab, typ);
	EXECUTE format('ALTER TABLE %I ALTER filler SET STORAGE plain', tab);
	EXECUTE format('INSERT INTO %I SELECT n, v::%s, repeat(''x'', 4100)
		FROM unnest($1) WITH ORDINALITY u(v, n)',
		tab, regexp_replace(typ, ' COLLATE.*', '')) USING vals;
	EXECUTE format('CREATE INDEX %I ON %I USING rencoder (v)
		WITH (pages_per_range = 1)', tab
		|| '_v', tab);
	RETURN (SELECT frontier FROM rencoder_metapage((tab || '_v')::regclass));
END $$;

-- Which pages the index leaves: one for each row that matches, if it prunes.
CREATE FUNCTION st_pages(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM st_planner(true);
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json, TIMING OFF, SUMMARY OFF) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Exact Heap Blocks')::int +
		(plan->0->'Plan'->>'Lossy Heap Blocks')::int;
END $$;
