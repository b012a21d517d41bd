-- Tables and functions of bench/year.sh.
SET check_function_bodies = off;  -- of year_r_0, which comes with its rows
CREATE EXTENSION tsm_system_rows;
CREATE EXTENSION pg_walinspect;

-- Two tables of the same rows: year_r has a rencoder index, year_b a btree.  Some 36 rows a page.
CREATE TABLE year_r (id int8, part int2, v int8, n int, f text) PARTITION BY LIST (part);
CREATE TABLE year_b (LIKE year_r) PARTITION BY LIST (part);
CREATE INDEX year_r_v ON year_r USING rencoder (v);
CREATE INDEX year_b_v ON year_b USING btree (v);
CREATE SEQUENCE came;

-- The value that a row has when it comes.
CREATE FUNCTION value_of(id int8) RETURNS int8 LANGUAGE sql IMMUTABLE AS 'SELECT hashint8extended(id, 1)';

-- A partition of both, of so many rows, which is filled, then attached.
CREATE PROCEDURE add_part(part int, rows int8) LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    last int8 := nextval('came');
BEGIN
    PERFORM setval('came', last + rows);
    FOREACH parent IN ARRAY '{year_r,year_b}'::text[] LOOP
        EXECUTE format($q$
            CREATE TABLE %1$s_%2$s (id int8, part int2 DEFAULT %2$s, v int8, n int DEFAULT 0,
                f text DEFAULT repeat('x', 150)) WITH (fillfactor = 90);
            ALTER TABLE %1$s_%2$s ALTER f SET STORAGE plain;
            INSERT INTO %1$s_%2$s (id, v) SELECT i, value_of(i) FROM generate_series(%3$s + 1, %3$s + %4$s::int8) AS i;
            ALTER TABLE %1$s ATTACH PARTITION %1$s_%2$s FOR VALUES IN (%2$s);
            ANALYZE %1$s_%2$s$q$, parent, part, last, rows);
    END LOOP;
END $$;

-- ---- What writes; pgbench calls it ----

CREATE FUNCTION come(rows int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    last int8 := nextval('came');
BEGIN
    IF rows > 1 THEN
        PERFORM setval('came', last + rows - 1);
    END IF;
    INSERT INTO year_r_0 (id, v) SELECT i, value_of(i) FROM generate_series(last, last + rows - 1) AS i;
    INSERT INTO year_b_0 (id, v) SELECT i, value_of(i) FROM generate_series(last, last + rows - 1) AS i;
END $$;

-- Any row gets another value, or keeps it and is a HOT update.  Both tables look for it by their indexes.
CREATE FUNCTION change(hot bool) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    row record;
    place tid;
    fresh int8 := hashint8extended((random() * 1e15)::int8, 2);
BEGIN
    FOR try IN 1 .. 20 LOOP
        place := format('(%s,%s)', floor(random() * (pg_relation_size('year_b_0') / 8192)), 1 + floor(random() * 36));
        SELECT id, v INTO row FROM year_b_0 WHERE ctid = place;
        EXIT WHEN FOUND;
    END LOOP;
    IF hot THEN
        UPDATE year_r_0 SET n = n + 1 WHERE v = row.v AND id = row.id;
        UPDATE year_b_0 SET n = n + 1 WHERE v = row.v AND id = row.id;
    ELSE
        UPDATE year_r_0 SET v = fresh WHERE v = row.v AND id = row.id;
        UPDATE year_b_0 SET v = fresh WHERE v = row.v AND id = row.id;
    END IF;
END $$;

-- All but the newest rows go.
CREATE FUNCTION retain(rows int8) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
    oldest int8 := (SELECT id FROM year_b_0 ORDER BY id DESC OFFSET rows LIMIT 1);
    gone int8;
BEGIN
    DELETE FROM year_r_0 WHERE id <= oldest;
    DELETE FROM year_b_0 WHERE id <= oldest;
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END $$;

-- ---- What asks; on the standby, too ----

-- 400 values that are there, as many that are not, and 200 of rows that came last.
CREATE FUNCTION some_values() RETURNS int8[] LANGUAGE sql AS $$
    SELECT array_agg(v) || (SELECT array_agg(hashint8extended((random() * 1e15)::int8, 3)) FROM generate_series(1, 400))
        || (SELECT array_agg(value_of(last_value - (random() * 500)::int8)) FROM came, generate_series(1, 200))
    FROM (SELECT v FROM year_r_0 TABLESAMPLE system_rows(400)) AS there
$$;

-- The rows by the index and those by a sequential scan, which v + 0 is for, in one statement: so they are of one
-- snapshot and of the same partitions.  By turns a list of values, and an interval of a 2,000th of all.
CREATE FUNCTION compare(OUT asked int, OUT rows int8, OUT wrong int) LANGUAGE plpgsql AS $$
DECLARE
    low int8 := hashint8extended((random() * 1e15)::int8, 4) / 2;
    list bool := random() < 0.5;
    condition text := CASE WHEN list THEN format('= ANY (%L::int8[])', some_values())
        ELSE format('BETWEEN %s AND %s', low, low + 9223372036854775) END;
    query text := 'SELECT count(*) AS n, md5(string_agg(id || '':'' || v, '' '' ORDER BY id, v)) AS rows FROM year_r WHERE %s ' || condition;
BEGIN
    PERFORM set_config('enable_seqscan', 'off', false), set_config('max_parallel_workers_per_gather', '0', false),
        set_config('jit', 'off', false);
    EXECUTE format('SELECT a.n, ((a.n, a.rows) IS DISTINCT FROM (b.n, b.rows))::int FROM (%s) AS a, (%s) AS b',
        format(query, 'v'), format(query, 'v + 0')) INTO rows, wrong;
    asked := CASE WHEN list THEN 1000 ELSE 1 END;
END $$;

-- Do both halves of a compare read as they are to?
CREATE FUNCTION plans_are_right() RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true);
    RETURN bench_choice('SELECT id FROM year_r WHERE v = ANY (''{1,2,3}'')') = 'year_r_0_v_idx'
        AND bench_choice('SELECT id FROM year_r WHERE v + 0 = ANY (''{1,2,3}'')') = 'seq_scan';
END $$;

-- ---- What is noted, month by month ----

CREATE TABLE figures (month int, panel text, series text, value float8);
CREATE TABLE wal (month int, r float8, b float8);
CREATE TABLE maintenance (month int, bytes float8);
CREATE TABLE writes (month int, rows int8);

-- Pages of a query, of the mean of n of one kind, by both indexes.
CREATE PROCEDURE note_pages(month int, kind text, n int) LANGUAGE plpgsql AS $$
DECLARE
    tab text;
    key int8;
    p record;
    index_pages int8[] := '{0,0}';
    heap_pages int8[] := '{0,0}';
    t int;
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true);
    FOR i IN 1 .. n LOOP
        SELECT CASE kind WHEN 'absent' THEN hashint8extended((random() * 1e15)::int8, 5)
            WHEN 'fresh' THEN (SELECT value_of(last_value - (random() * 200)::int8) FROM came)
            ELSE (SELECT v FROM year_r_0 TABLESAMPLE system_rows(1)) END INTO key;
        FOR t IN 1 .. 2 LOOP
            tab := (ARRAY['year_r_0', 'year_b_0'])[t];
            SELECT * INTO p FROM bench_pages(bench_explain(format('SELECT count(f) FROM %s WHERE v = %s', tab, key)));
            index_pages[t] := index_pages[t] + p.index_pages;
            heap_pages[t] := heap_pages[t] + p.heap_pages;
        END LOOP;
    END LOOP;
    FOR t IN 1 .. 2 LOOP
        tab := (ARRAY['rencoder', 'btree'])[t];
        INSERT INTO figures VALUES (month, 'pages, ' || kind, tab, (index_pages[t] + heap_pages[t]) / n::float8),
            (month, 'index pages, ' || kind, tab, index_pages[t] / n::float8);
    END LOOP;
END $$;

-- WAL of the indexes from a place on: what is of neither resource manager is of tables, but for new pages of runs.
-- Records have a header for each page of the WAL beside them, and are aligned; else not all was read.
CREATE FUNCTION note_wal(month int, since pg_lsn) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    upto pg_lsn := pg_current_wal_flush_lsn();
    sums record;
BEGIN
    SELECT coalesce(sum(size) FILTER (WHERE name ~ '^Generic|^XLOG/FPI$'), 0) AS r,
        coalesce(sum(size) FILTER (WHERE name ~ '^Btree'), 0) AS b, coalesce(sum(size), 0) AS all_of_it INTO sums
    FROM pg_get_wal_stats(since, upto, true) AS s (name, count, count_percentage, record_size, record_size_percentage, fpi_size,
        fpi_size_percentage, size);
    IF sums.all_of_it < (upto - since) * 0.85 - 100000 THEN
        RAISE EXCEPTION 'of the WAL from % to % only % bytes were read', since, upto, sums.all_of_it;
    END IF;
    INSERT INTO wal VALUES (month, sums.r, sums.b);
END $$;

CREATE PROCEDURE note_month(of_month int) LANGUAGE sql AS $$
    INSERT INTO figures
    SELECT of_month, 'MB of the index', name, pg_relation_size(index) / 1e6
    FROM (VALUES ('rencoder', 'year_r_0_v_idx'), ('btree', 'year_b_0_v_idx')) AS i (name, index)
    UNION ALL SELECT of_month, 'MB of the index', 'pages in use', coalesce(sum(pages), 0) * 8192 / 1e6
    FROM rencoder_runs('year_r_0_v_idx') WHERE state = 'live'
    UNION ALL SELECT of_month, 'bits a live row', name, pg_relation_size(index) * 8.0 / (SELECT count(*) FROM year_b_0)
    FROM (VALUES ('rencoder', 'year_r_0_v_idx'), ('btree', 'year_b_0_v_idx')) AS i (name, index)
    UNION ALL SELECT of_month, 'MB of the table', name, pg_relation_size(tab) / 1e6
    FROM (VALUES ('rencoder', 'year_r_0'), ('btree', 'year_b_0')) AS i (name, tab)
    UNION ALL SELECT of_month, 'WAL a row', name, bytes / (SELECT sum(rows) FROM writes WHERE month = of_month)
    FROM (SELECT 'rencoder' AS name, sum(r) AS bytes FROM wal WHERE month = of_month
        UNION ALL SELECT 'btree', sum(b) FROM wal WHERE month = of_month
        UNION ALL SELECT 'of it maintenance', sum(bytes) FROM maintenance WHERE month = of_month) AS w
    UNION ALL SELECT of_month, 'runs', kind, count(DISTINCT run) FROM rencoder_runs('year_r_0_v_idx') WHERE state = 'live' GROUP BY kind
$$;

-- Does a line rise?  The slope of the least squares of months 2 to 12, times 10, against a tenth of the mean of months
-- 2 and 3.
CREATE VIEW verdicts AS
SELECT panel, series, early, month12, rise, CASE WHEN rise > 0.1 * early THEN 'rises' WHEN rise < -0.1 * early THEN 'falls' ELSE 'flat' END AS verdict
FROM (SELECT panel, series, avg(value) FILTER (WHERE month IN (2, 3)) AS early, sum(value) FILTER (WHERE month = 12) AS month12,
        10 * regr_slope(value, month) FILTER (WHERE month BETWEEN 2 AND 12) AS rise
    FROM figures WHERE panel <> 'runs' GROUP BY panel, series) AS s;
