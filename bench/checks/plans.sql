-- Functions of bench/checks/plans.sh.

-- What is asked.  A generic plan is prepared with these types; "args" are what it is run with.
CREATE TABLE plan_queries (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tab text NOT NULL,
    kind text NOT NULL,
    query text NOT NULL,
    types text,
    args text,
    rows bigint
);
-- Every plan that was seen, by the md5 of its text.
CREATE TABLE plan_times (
    id int NOT NULL,
    plan text NOT NULL,
    short text NOT NULL,
    ms float8 NOT NULL,
    PRIMARY KEY (id, plan)
);
-- A cell: what else there is, and random_page_cost; the plan that is taken by default, and that
-- without any rencoder index.
CREATE TABLE plan_cells (
    id int NOT NULL,
    beside text NOT NULL,
    page_cost text NOT NULL,
    chosen text NOT NULL,
    without text NOT NULL
);
-- What the planner could take there.
CREATE TABLE plan_possible (
    id int NOT NULL,
    beside text NOT NULL,
    plan text NOT NULL
);

CREATE FUNCTION plans_ask(tab text, kind text, condition text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO plan_queries (tab, kind, query)
    VALUES (tab, kind, CASE WHEN condition ~ '^SELECT' THEN condition
        ELSE format('SELECT * FROM %I WHERE %s', tab, condition) END)
$$;
CREATE FUNCTION plans_ask_generic(tab text, kind text, types text, condition text, args text)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO plan_queries (tab, kind, query, types, args)
    VALUES (tab, 'generic: ' || kind, format('SELECT * FROM %I WHERE %s', tab, condition), types,
        args)
$$;

-- The value of a column that so many rows are below.
CREATE FUNCTION plans_value(tab text, col text, rank float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE format('SELECT %1$I::text FROM %2$I WHERE %1$I IS NOT NULL ORDER BY %2$I.%1$I
        OFFSET %3$s LIMIT 1', col, tab, floor(rank)::int8) INTO result;
    RETURN result;
END $$;
-- That of a row that there is.
CREATE FUNCTION plans_one(tab text, col text) RETURNS text LANGUAGE sql AS $$
    SELECT plans_value(tab, col, reltuples::float8 / 7)
    FROM (SELECT sum(reltuples) AS reltuples FROM pg_class WHERE relkind = 'r' AND
        (oid = tab::regclass OR oid IN (
            SELECT inhrelid FROM pg_inherits WHERE inhparent = tab::regclass))) AS s
$$;
-- So many integers that are nowhere, and those given.
CREATE FUNCTION plans_list(n int, there int8[] DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(v::text, ', ')
    FROM (SELECT hashint8extended(i, 99) AS v FROM generate_series(1, n) AS i
        UNION ALL SELECT unnest(there)) AS s
$$;
-- The bounds of so many rows, from a third of all on.
CREATE FUNCTION plans_bounds(tab text, col text, n float8) RETURNS text LANGUAGE sql AS $$
    SELECT format('%s, %s', plans_value(tab, col, below),
        plans_value(tab, col, below + greatest(floor(n), 1) - 1))
    FROM (SELECT floor(reltuples::float8 / 3) AS below FROM pg_class WHERE oid = tab::regclass)
        AS s
$$;
CREATE FUNCTION plans_between(tab text, col text, n float8) RETURNS text LANGUAGE sql AS $$
    SELECT format('%I BETWEEN %s', col, replace(plans_bounds(tab, col, n), ',', ' AND'))
$$;

-- Of the indexes of a table and its partitions, these are there for the planner.
CREATE FUNCTION plans_show(tab text, VARIADIC methods text[]) RETURNS void LANGUAGE sql AS $$
    UPDATE pg_index AS i SET indisvalid = amname = ANY (methods)
    FROM pg_class AS c JOIN pg_am AS a ON a.oid = relam
    WHERE c.oid = indexrelid AND relkind = 'i' AND indisvalid <> (amname = ANY (methods))
        AND (indrelid = tab::regclass OR indrelid IN (
            SELECT inhrelid FROM pg_inherits WHERE inhparent = tab::regclass))
$$;

-- The statement that is explained; prepares it anew if its plan is to be generic.
CREATE FUNCTION plans_prepare(q plan_queries) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF q.types IS NULL THEN
        RETURN q.query;
    END IF;
    PERFORM FROM pg_prepared_statements WHERE name = 'asked';
    IF FOUND THEN
        DEALLOCATE asked;
    END IF;
    EXECUTE format('PREPARE asked (%s) AS %s', q.types, q.query);
    RETURN format('EXECUTE asked (%s)', q.args);
END $$;

-- How a plan reads its tables, in short.
CREATE FUNCTION plans_short(plan jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(DISTINCT word, ' ' ORDER BY word) FROM (
        SELECT CASE
            WHEN node ->> 'Node Type' = 'Nested Loop' THEN 'loop'
            WHEN node ->> 'Node Type' = 'Hash Join' THEN 'hash'
            WHEN node ->> 'Node Type' = 'Merge Join' THEN 'merge'
            WHEN node ->> 'Node Type' = 'Seq Scan' AND node ->> 'Relation Name' !~ '^keys'
                THEN 'seq'
            WHEN node ? 'Index Name' THEN coalesce((SELECT amname::text FROM pg_class AS c
                JOIN pg_am AS a ON a.oid = relam WHERE relname = node ->> 'Index Name'), '?') ||
                CASE WHEN node ->> 'Node Type' = 'Bitmap Index Scan' THEN '' ELSE '-rows' END
            END AS word
        FROM bench_nodes(plan) AS node) AS s
    WHERE word IS NOT NULL
$$;

-- Runs the plan that the settings in force lead to, several times; notes the best time.
CREATE FUNCTION plans_time(q plan_queries, statement text, again boolean DEFAULT false)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    this_plan text := md5(bench_plan_text(statement));
    explained jsonb;
    spent float8 := 0;
    ms_now float8;
    best float8 := 'infinity';
BEGIN
    PERFORM FROM plan_times AS t WHERE t.id = q.id AND t.plan = this_plan;
    IF FOUND AND NOT again THEN
        RETURN this_plan;
    END IF;
    FOR run IN 1 .. 9 LOOP
        explained := bench_explain(statement);
        ms_now := (explained ->> 'Planning Time')::float8
            + (explained ->> 'Execution Time')::float8;
        best := least(best, ms_now);
        spent := spent + ms_now;
        EXIT WHEN run >= 3 AND spent > 200 OR run >= 2 AND spent > 2000;
    END LOOP;
    INSERT INTO plan_times VALUES (q.id, this_plan, plans_short(explained), best)
    ON CONFLICT (id, plan) DO UPDATE SET ms = least(plan_times.ms, excluded.ms);
    UPDATE plan_queries SET rows = (explained -> 'Plan' ->> 'Actual Rows')::numeric
    WHERE id = q.id AND rows IS NULL;
    RETURN this_plan;
END $$;

CREATE FUNCTION plans_enable(seq boolean, plain boolean, bitmap boolean, loops boolean,
    hashes boolean)
RETURNS void LANGUAGE sql AS $$
    SELECT set_config('enable_seqscan', seq::text, false),
        set_config('enable_indexscan', plain::text, false),
        set_config('enable_bitmapscan', bitmap::text, false),
        set_config('enable_nestloop', loops::text, false),
        set_config('enable_hashjoin', hashes::text, false),
        set_config('enable_mergejoin', hashes::text, false)
$$;

-- All plans of a query that can be forced, with some indexes there.
CREATE FUNCTION plans_force(q plan_queries, beside text, again boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    methods text[] := array_remove(ARRAY['rencoder', nullif(beside, 'nothing')], NULL);
    method text;
    joins boolean := q.query ~ 'JOIN|keys';
BEGIN
    FOREACH method IN ARRAY methods || '{seq}' LOOP
        PERFORM plans_show(q.tab, method);
        FOR way IN 1 .. CASE WHEN joins THEN 3 ELSE 1 END LOOP
            -- Of BRIN and GIN there is no plain scan.
            FOR plain IN 0 .. CASE WHEN method IN ('seq', 'brin', 'gin') THEN 0 ELSE 1 END LOOP
                PERFORM plans_enable(method = 'seq', method <> 'seq' AND plain = 1,
                    method <> 'seq' AND plain = 0, way <> 3, way <> 2);
                -- A loop over sequential scans may take for ever.
                CONTINUE WHEN method = 'seq' AND way = 2;
                INSERT INTO plan_possible
                VALUES (q.id, beside, plans_time(q, plans_prepare(q), again));
            END LOOP;
        END LOOP;
    END LOOP;
    PERFORM plans_enable(true, true, true, true, true);
END $$;

-- What stands beside rencoder.
CREATE FUNCTION plans_besides(tab text) RETURNS text[] LANGUAGE sql AS $$
    SELECT CASE tab WHEN 'patterns' THEN '{nothing,gin,hash,btree,brin}'::text[]
        ELSE '{nothing,btree,brin}' END
$$;

CREATE FUNCTION plans_cells(q plan_queries) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    next text;
    cost text;
    statement text;
    plan text;
BEGIN
    PERFORM set_config('plan_cache_mode',
        CASE WHEN q.types IS NULL THEN 'auto' ELSE 'force_generic_plan' END, false);
    FOREACH next IN ARRAY plans_besides(q.tab) LOOP
        FOREACH cost IN ARRAY '{4,1.1}'::text[] LOOP
            PERFORM set_config('random_page_cost', cost, false);
            PERFORM plans_force(q, next);
            PERFORM plans_show(q.tab, 'rencoder', next);
            statement := plans_prepare(q);
            plan := plans_time(q, statement);
            INSERT INTO plan_possible VALUES (q.id, next, plan);
            PERFORM plans_show(q.tab, next);
            INSERT INTO plan_cells VALUES (q.id, next, cost, plan, md5(bench_plan_text(plans_prepare(q))));
        END LOOP;
    END LOOP;
    RESET random_page_cost;
    RESET plan_cache_mode;
END $$;

-- How many times longer than the best possible plan does that of a cell take?  "own": the choice is
-- PostgreSQL's, between plans that have nothing to do with rencoder.
CREATE VIEW plan_ratios AS
SELECT c.id, c.beside, c.page_cost, c.chosen, taken.short, taken.ms, b.plan AS best,
    b.short AS best_short, b.ms AS best_ms, taken.ms / b.ms AS ratio,
    c.chosen = c.without AND b.short !~ 'rencoder' AS own
FROM plan_cells AS c JOIN plan_times AS taken ON taken.id = c.id AND taken.plan = c.chosen,
    LATERAL (SELECT t.* FROM plan_possible AS p JOIN plan_times AS t USING (id, plan)
        WHERE p.id = c.id AND p.beside = c.beside ORDER BY ms LIMIT 1) AS b;

-- Cells that look bad are measured again, all their plans: chance makes times longer, never
-- shorter.
CREATE FUNCTION plans_again(bad float8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    q plan_queries;
    cell record;
BEGIN
    FOR cell IN SELECT * FROM plan_ratios WHERE ratio > bad ORDER BY id LOOP
        SELECT * INTO q FROM plan_queries WHERE id = cell.id;
        PERFORM set_config('plan_cache_mode',
            CASE WHEN q.types IS NULL THEN 'auto' ELSE 'force_generic_plan' END, false);
        PERFORM set_config('random_page_cost', cell.page_cost, false);
        PERFORM plans_force(q, cell.beside, true);
        PERFORM plans_show(q.tab, 'rencoder', cell.beside);
        PERFORM plans_time(q, plans_prepare(q), true);
    END LOOP;
    RESET random_page_cost;
    RESET plan_cache_mode;
END $$;

-- One line a query, six cells each, of patterns ten.
CREATE FUNCTION plans_cell(of int, beside_it text, cost_of_page text, bad float8) RETURNS text
LANGUAGE sql AS $$
    SELECT CASE
        WHEN ratio > bad THEN format('**%s %s** (%s)', short, round(ratio::numeric, 1), best_short)
        WHEN ratio > 1.05 THEN format('%s %s', short, round(ratio::numeric, 1))
        ELSE short END
    FROM plan_ratios WHERE id = of AND beside = beside_it AND page_cost = cost_of_page
$$;
CREATE FUNCTION plans_best(of int, pattern text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN min(ms) < 10 THEN round(min(ms)::numeric, 2)
        ELSE round(min(ms)::numeric, 0) END::text
    FROM plan_times WHERE id = of AND short ~ pattern AND (pattern = 'seq' OR short !~ 'seq')
$$;
CREATE FUNCTION plans_table(bad float8) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT '| table | query | rows | seq | rencoder | btree | BRIN | alone, 4 | 1.1 '
        '| btree, 4 | 1.1 | BRIN, 4 | 1.1 | GIN, 4 | 1.1 | hash, 4 | 1.1 |'
    UNION ALL SELECT '|---|---|--:|--:|--:|--:|--:|---|---|---|---|---|---|---|---|---|---|'
    UNION ALL (
    SELECT '| ' || concat_ws(' | ', tab, kind, rows,
        coalesce(plans_best(id, 'seq'), ''), coalesce(plans_best(id, 'rencoder'), ''),
        coalesce(plans_best(id, 'btree'), ''), coalesce(plans_best(id, 'brin'), ''),
        plans_cell(id, 'nothing', '4', bad), plans_cell(id, 'nothing', '1.1', bad),
        plans_cell(id, 'btree', '4', bad), plans_cell(id, 'btree', '1.1', bad),
        plans_cell(id, 'brin', '4', bad), plans_cell(id, 'brin', '1.1', bad),
        plans_cell(id, 'gin', '4', bad), plans_cell(id, 'gin', '1.1', bad),
        plans_cell(id, 'hash', '4', bad), plans_cell(id, 'hash', '1.1', bad)) || ' |'
    FROM plan_queries ORDER BY id)
$$;
