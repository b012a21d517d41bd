-- What bench/compare.sh measures with, and where it keeps what it has measured.

CREATE SCHEMA results;
SET search_path = made, public;

-- Of the tables.  The statistics would not do: what builds an index says there what it has seen.
CREATE TABLE results.rows AS SELECT :rows::float8 AS n;
-- One row for each index: definition as behind "CREATE INDEX name ON wide USING".
CREATE TABLE results.build (
    col text, what text, definition text, bytes int8, ms numeric, cpu_ms numeric,
    PRIMARY KEY (col, what));
-- Conditions that are asked for.  "hashed" is the form for a btree on a hash of the value.
CREATE TABLE results.queries (
    col text, kind text, no int, matches int8, condition text, hashed text,
    PRIMARY KEY (col, kind, no));
CREATE TABLE results.latency (
    setting text, col text, kind text, what text, round int, queries int, matches numeric,
    ms numeric, p95_ms numeric, cpu_ms numeric, index_pages numeric, pages numeric,
    PRIMARY KEY (setting, col, kind, what, round));
-- Anything else: a number by name.
CREATE TABLE results.figures (
    figure text, what text, x numeric, y text, round int, value numeric,
    PRIMARY KEY (figure, what, x, y, round));
-- When a figure was begun and done, and the load of the machine then.
CREATE TABLE results.steps (figure text PRIMARY KEY, begun timestamptz, load text, done bool);

-- CPU time of this session.  The kernel adds it up when the process gives up its CPU.
CREATE FUNCTION results.cpu_ms() RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_sleep(0.0001);
    RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::numeric / 1e6;
EXCEPTION WHEN undefined_file OR io_error THEN
    RETURN NULL;
END $$;

CREATE FUNCTION results.ms_since(start timestamptz) RETURNS numeric LANGUAGE sql
    RETURN extract(epoch FROM clock_timestamp() - start) * 1000;

-- Of all indexes of a table the planner sees this one alone; none, if it is null.  The cluster is
-- thrown away.
CREATE FUNCTION results.only(tab regclass, index text) RETURNS void LANGUAGE sql AS $$
    UPDATE pg_index SET indisvalid = relname IS NOT DISTINCT FROM index FROM pg_class
    WHERE indrelid = tab AND pg_class.oid = indexrelid
        AND indisvalid IS DISTINCT FROM (relname IS NOT DISTINCT FROM index)
$$;

-- Runs a query and returns its time; counts must be those of the truth.
CREATE FUNCTION results.run_once(query text, truth int8) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    start timestamptz := clock_timestamp();
    ms numeric;
    n int8;
BEGIN
    EXECUTE query;
    ms := results.ms_since(start);
    GET DIAGNOSTICS n = ROW_COUNT;
    IF n <> truth THEN
        RAISE EXCEPTION 'wrong answer: % rows, not %: %', n, truth, query;
    END IF;
    RETURN ms;
END $$;

-- CPU time of a query on average, without that of taking times; of so many executions.
CREATE FUNCTION results.cpu_of(queries text[], n int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    cpu numeric := results.cpu_ms();
BEGIN
    FOR i IN 0 .. n - 1 LOOP
        EXECUTE queries[1 + i % cardinality(queries)];
    END LOOP;
    RETURN (results.cpu_ms() - cpu) / n;
END $$;

-- The latency of the queries of a kind with one index, or by sequential scans ("seq", "parallel").
-- After a warm-up the queries are run for "budget" ms, at least two, and again from the first one.
-- Nothing is done where the index cannot answer them, and for the other rounds and most kinds if
-- one match takes more than 20 ms of CPU time.
CREATE FUNCTION results.latency(tab regclass, s text, c text, k text, w text, r int, budget numeric)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    scan bool := w IN ('seq', 'parallel');
    slow bool := (SELECT coalesce(cpu_ms, ms) > 20 FROM results.latency
        WHERE (setting, col, kind, what, round) = (s, c, 'one', w, 1));
    q text[] := ARRAY(SELECT format('SELECT * FROM %s WHERE %s', tab,
            CASE WHEN w = 'btree_hash' THEN hashed ELSE condition END)
        FROM results.queries
        WHERE (col, kind) = (c, k) AND (w <> 'btree_hash' OR hashed IS NOT NULL) ORDER BY no);
    truth int8[] := ARRAY(SELECT matches FROM results.queries
        WHERE (col, kind) = (c, k) ORDER BY no);
    times numeric[] := '{}';
    explained int := 0;
    cpu numeric;
    start timestamptz;
    plan jsonb;
    index_pages numeric := 0;
    pages numeric := 0;
    seen record;
    i int;
BEGIN
    IF q[1] IS NULL
        OR EXISTS (SELECT FROM results.latency
            WHERE (setting, col, kind, what, round) = (s, c, k, w, r))
        OR slow AND (r > 1 OR k NOT IN ('one', 'empty', '1000'))
    THEN
        RETURN;
    END IF;
    PERFORM results.only(tab, c || '_' || w);
    PERFORM set_config('enable_seqscan', scan::text, true);
    PERFORM set_config('max_parallel_workers_per_gather',
        CASE w WHEN 'parallel' THEN '2' ELSE '0' END, true);
    IF bench_choice(q[1]) <> (CASE WHEN scan THEN 'seq_scan' ELSE c || '_' || w END) THEN
        RETURN;
    END IF;
    start := clock_timestamp();
    FOR i IN 1 .. cardinality(q) LOOP
        PERFORM results.run_once(q[i], truth[i]);
        EXIT WHEN results.ms_since(start) > budget / 4;
    END LOOP;
    cpu := results.cpu_ms();
    start := clock_timestamp();
    FOR n IN 0 .. 100 * cardinality(q) LOOP
        i := 1 + n % cardinality(q);
        times := times || results.run_once(q[i], truth[i]);
        EXIT WHEN n >= 1 AND results.ms_since(start) > budget;
    END LOOP;
    cpu := (results.cpu_ms() - cpu) / cardinality(times);
    -- Of short queries the time goes that taking times costs.
    IF cpu < 5 THEN
        cpu := results.cpu_of(q, cardinality(times));
    END IF;
    start := clock_timestamp();
    FOR i IN 1 .. cardinality(q) LOOP
        plan := bench_explain(q[i]);
        SELECT p.* INTO seen FROM bench_pages(plan) AS p;
        index_pages := index_pages + seen.index_pages;
        pages := pages + seen.total_pages;
        explained := i;
        EXIT WHEN results.ms_since(start) > budget / 4;
    END LOOP;
    INSERT INTO results.latency
    SELECT s, c, k, w, r, cardinality(times),
        (SELECT avg(t) FROM unnest(truth[:cardinality(times)]) AS t),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY t),
        percentile_cont(0.95) WITHIN GROUP (ORDER BY t),
        CASE WHEN w <> 'parallel' THEN cpu END,
        CASE WHEN NOT scan THEN index_pages / explained END, pages / explained
    FROM unnest(times) AS t;
    PERFORM results.only(tab, NULL);
END $$;

CREATE FUNCTION results.half(numeric[]) RETURNS numeric LANGUAGE sql IMMUTABLE
    RETURN (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v)::numeric FROM unnest($1) AS v);
CREATE AGGREGATE made.median(numeric) (
    SFUNC = array_append, STYPE = numeric[], FINALFUNC = results.half);
