-- Functions that the scripts in bench/ load into their temporary cluster.

-- The plan of a query, with what executing it cost.  TIMING OFF: no clock calls per row.
CREATE FUNCTION bench_explain(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN plan::jsonb -> 0;
END $$;

-- All nodes of a plan.
CREATE FUNCTION bench_nodes(plan jsonb) RETURNS SETOF jsonb LANGUAGE sql AS $$
    WITH RECURSIVE nodes AS (
        SELECT plan -> 'Plan' AS node
        UNION ALL
        SELECT child FROM nodes, jsonb_array_elements(node -> 'Plans') AS child)
    SELECT node FROM nodes
$$;

-- Pages that one node and those below it asked for: found in shared buffers, or read.
CREATE FUNCTION bench_node_pages(node jsonb) RETURNS bigint LANGUAGE sql AS $$
    SELECT (node ->> 'Shared Hit Blocks')::bigint + (node ->> 'Shared Read Blocks')::bigint
$$;

-- Page accesses of an executed plan.  A bitmap scan reads the index in a node of its own, so the two
-- can be told apart; a plain index scan mixes both, and then index_pages and heap_pages are null.
CREATE FUNCTION bench_pages(plan jsonb, OUT total_pages bigint, OUT index_pages bigint, OUT heap_pages bigint)
LANGUAGE sql AS $$
    SELECT total, CASE WHEN NOT mixed THEN index END, CASE WHEN NOT mixed THEN total - index END
    FROM (SELECT bench_node_pages(plan -> 'Plan') AS total,
                 coalesce(sum(bench_node_pages(node)) FILTER (WHERE node ->> 'Node Type' = 'Bitmap Index Scan'), 0)::bigint AS index,
                 bool_or(node ->> 'Node Type' IN ('Index Scan', 'Index Only Scan')) AS mixed
          FROM bench_nodes(plan) AS node) AS sums
$$;

-- 'seq_scan', or the names of the indexes that the plan uses.
CREATE FUNCTION bench_plan_uses(plan jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(DISTINCT node ->> 'Index Name', ', '), 'seq_scan')
    FROM bench_nodes(plan) AS node
$$;

-- The lines of a plan.
CREATE FUNCTION bench_plan_text(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    plan text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        plan := concat_ws(E'\n', plan, line);
    END LOOP;
    RETURN plan;
END $$;

-- What the planner would do, without doing it.
CREATE FUNCTION bench_choice(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN bench_plan_uses(plan::jsonb -> 0);
END $$;

-- One warm-up, then the median time of several runs (planning and execution), and the pages of the last.
-- Three are enough where they are long.
CREATE FUNCTION bench_measure(query text, runs int,
    OUT uses text, OUT rows bigint, OUT total_pages bigint, OUT index_pages bigint, OUT heap_pages bigint,
    OUT planning_pages bigint, OUT ms numeric)
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
    times numeric[] := '{}';
BEGIN
    PERFORM bench_explain(query);
    FOR run IN 1 .. runs LOOP
        plan := bench_explain(query);
        times := times || ((plan ->> 'Planning Time')::numeric + (plan ->> 'Execution Time')::numeric);
        EXIT WHEN run >= 3 AND times[run] > 100;
    END LOOP;
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) INTO ms FROM unnest(times) AS t;
    SELECT p.total_pages, p.index_pages, p.heap_pages INTO total_pages, index_pages, heap_pages FROM bench_pages(plan) AS p;
    planning_pages := bench_node_pages(plan -> 'Planning');
    uses := bench_plan_uses(plan);
    rows := (plan -> 'Plan' ->> 'Actual Rows')::numeric;
END $$;

-- Number of rows and md5 of all of them in a fixed order; and which index produced them, so that a
-- comparison of a sequential scan with itself cannot pass for a proof.
CREATE FUNCTION bench_checksum(query text, OUT uses text, OUT rows bigint, OUT md5 text) LANGUAGE plpgsql
SET work_mem = '256MB' AS $$
DECLARE
    checked text := format(
        $q$SELECT count(*), md5(coalesce(string_agg(r, E'\n' ORDER BY r COLLATE "C"), '')) FROM (SELECT q::text AS r FROM (%s) AS q) AS s$q$,
        query);
BEGIN
    uses := bench_choice(checked);
    EXECUTE checked INTO rows, md5;
END $$;

-- Pages of the table that a forced bitmap scan visits, and proof that it is the index that sends it there.
CREATE FUNCTION bench_heap_blocks(query text, expected_index text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb := bench_explain(query);
BEGIN
    IF bench_plan_uses(plan) <> expected_index THEN
        RAISE EXCEPTION 'the plan of "%" uses %, not %', query, bench_plan_uses(plan), expected_index;
    END IF;
    RETURN (SELECT sum(coalesce((node ->> 'Exact Heap Blocks')::bigint, 0) + coalesce((node ->> 'Lossy Heap Blocks')::bigint, 0))
            FROM bench_nodes(plan) AS node);
END $$;

-- Do the index and a sequential scan give the same rows?
CREATE FUNCTION bench_same_rows(query text, expected_index text, OUT rows bigint, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
    truth record;
    answer record;
BEGIN
    SET LOCAL enable_seqscan = on;
    SET LOCAL enable_bitmapscan = off;
    SET LOCAL enable_indexscan = off;
    truth := bench_checksum(query);
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_bitmapscan = on;
    answer := bench_checksum(query);
    IF truth.uses <> 'seq_scan' OR answer.uses <> expected_index THEN
        RAISE EXCEPTION 'the plans of "%" use % and %', query, truth.uses, answer.uses;
    END IF;
    rows := truth.rows;
    same := (truth.rows, truth.md5) = (answer.rows, answer.md5);
END $$;
