#!/usr/bin/env bash
# What a second and a third condition cost on an index of several columns:
#
#   bash bench/checks/conditions.sh [MILLIONS [SEED]]
#
# A table of 1 (or MILLIONS) million rows: tenants of 80 rows, amounts at random, time in the table's
# order, a status of five values, a region that goes with the tenant.  Each query is asked with its
# narrowest condition alone, and with the others: pages read, and CPU time of the session, the least of
# rounds in turn.  With the others it may take 1.2 times as many pages and as long (and 4 pages, and
# 0.02 ms).  A btree on all the columns is measured as well.  Ends with exit code 1 if a limit is
# exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

MILLIONS=${1:-1}
SEED=${2:-1}

make_table() {
    bench_sql -q -o /dev/null <<SQL
SELECT setseed(1 / ($SEED + 1.0));
CREATE TABLE t AS SELECT i AS id, tenant, (random() * 1e6)::int AS amount,
    timestamptz '2026-01-01' + i * interval '1 s' AS created, (random() * 4)::int AS status,
    tenant / 100 AS region, repeat('x', 40) AS pad
FROM (SELECT i, (random() * $MILLIONS * 12500)::int AS tenant
    FROM generate_series(1, ($MILLIONS * 1000000)::int8) AS i) AS q;
CREATE TABLE few AS SELECT (random() * $MILLIONS * 12500)::int AS tenant, 100000 AS least FROM generate_series(1, 100);
VACUUM ANALYZE t, few;

CREATE TABLE cases (n serial, name text, alone text, others text, result text);
INSERT INTO cases (name, alone, others)
SELECT name, 'SELECT count(*) FROM t WHERE ' || narrow, 'SELECT count(*) FROM t WHERE ' || narrow || ' AND ' || more
FROM (VALUES
    ('narrow, wide', 'tenant = 42', 'amount > 100000'),
    ('narrow, half', 'tenant = 42', 'amount > 500000'),
    ('narrow, a tenth', 'tenant = 42', 'amount > 900000'),
    ('narrow, a thousandth', 'tenant = 42', 'amount BETWEEN 5000 AND 6000'),
    ('narrow, narrow', 'tenant = 42', 'amount BETWEEN 5000 AND 5080'),
    ('narrow, wide in order', 'tenant = 42', 'created > ''2026-01-02'''),
    ('narrow, a status', 'tenant = 42', 'status = 1'),
    ('narrow, what goes with it', 'tenant = 4242', 'region = 42'),
    ('narrow, not null', 'tenant = 42', 'amount IS NOT NULL'),
    ('narrow, two wide', 'tenant = 42', 'amount > 100000 AND created > ''2026-01-02'''),
    ('narrow, three wide', 'tenant = 42', 'amount > 100000 AND created > ''2026-01-02'' AND status < 3'),
    ('a list, wide', 'tenant IN (1, 20, 300, 4000, 5000, 6000, 7000)', 'amount > 100000'),
    ('wide range of tenants, wide', 'tenant BETWEEN 42 AND 150', 'amount > 100000'),
    ('wide range of tenants, a hundredth', 'tenant BETWEEN 42 AND 150', 'amount BETWEEN 5000 AND 15000'),
    ('in order, wide', 'created BETWEEN ''2026-01-02'' AND ''2026-01-02 00:20''', 'amount > 100000'),
    ('pages by key', 'tenant = 42', '(created, id) < (''2026-01-09'', 700000) AND created <= ''2026-01-09''')
    ) AS c (name, narrow, more);
INSERT INTO cases (name, alone, others) VALUES
    ('ten of a wide range', 'SELECT id FROM t WHERE tenant BETWEEN 42 AND 1000 LIMIT 10',
     'SELECT id FROM t WHERE tenant BETWEEN 42 AND 1000 AND amount > 100000 LIMIT 10'),
    ('a loop of 100', 'SELECT count(t.pad) FROM few JOIN t ON t.tenant = few.tenant',
     'SELECT count(t.pad) FROM few JOIN t ON t.tenant = few.tenant AND t.amount > few.least'),
    ('a loop of 100, a constant', 'SELECT count(t.pad) FROM few JOIN t ON t.tenant = few.tenant',
     'SELECT count(t.pad) FROM few JOIN t ON t.tenant = few.tenant AND t.created > ''2026-01-02''');

CREATE FUNCTION cpu() RETURNS numeric LANGUAGE sql AS
    \$\$SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::numeric / 1e6\$\$;
-- CPU time of a query, ms: of as many as take long enough to be counted.
CREATE FUNCTION time_of(query text) RETURNS numeric LANGUAGE plpgsql AS \$\$
DECLARE
    since numeric := cpu();
    runs int := 0;
BEGIN
    WHILE runs < 10 OR cpu() - since < 20 LOOP
        EXECUTE query;
        runs := runs + 1;
    END LOOP;
    RETURN (cpu() - since) / runs;
END \$\$;
CREATE TABLE measured (index text, n int, name text, alone_pages int8, pages int8, alone_ms numeric, ms numeric);
CREATE FUNCTION measure(index_name text) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
    c cases;
    r text;
    m measured;
BEGIN
    FOR c IN SELECT * FROM cases ORDER BY n LOOP
        FOR i IN 1 .. 2 LOOP
            m.alone_pages := (bench_pages(bench_explain(c.alone))).total_pages;
            m.pages := (bench_pages(bench_explain(c.others))).total_pages;
        END LOOP;
        m.alone_ms := NULL;
        m.ms := NULL;
        FOR i IN 1 .. 5 LOOP
            m.alone_ms := least(m.alone_ms, time_of(c.alone));
            m.ms := least(m.ms, time_of(c.others));
        END LOOP;
        INSERT INTO measured VALUES (index_name, c.n, c.name, m.alone_pages, m.pages, m.alone_ms, m.ms);
        -- The same answer by each index.
        CONTINUE WHEN c.name LIKE 'ten of%';
        EXECUTE c.others INTO r;
        IF c.result IS NOT NULL AND c.result <> r THEN
            RAISE EXCEPTION '%: % rows, % by the other index', c.name, r, c.result;
        END IF;
        UPDATE cases SET result = r WHERE n = c.n;
    END LOOP;
END \$\$;
SQL
}

# measure NAME "METHOD (COLUMNS)"
measure() {
    bench_sql -q -c "CREATE INDEX t_idx ON t USING $2" -c 'VACUUM ANALYZE t'
    bench_sql -q -o /dev/null -c 'SET enable_seqscan = off' -c 'SET enable_hashjoin = off' \
        -c 'SET enable_mergejoin = off' -c 'SET random_page_cost = 1.1' \
        -c "SELECT measure('$1')"
    echo "$1: $(bench_sql -c "SELECT pg_size_pretty(pg_relation_size('t_idx'))")"
    bench_sql -q -c 'DROP INDEX t_idx'
}

main() {
    local name pages alone ms alone_ms
    bench_machine
    echo "$MILLIONS million rows, seed $SEED."
    make_table
    measure btree 'btree (tenant, amount, created, status, region)'
    measure rencoder 'rencoder (tenant, amount, created, status, region)'
    bench_sql -F ' ' -c "SELECT r.n, r.name, 'pages', r.alone_pages, r.pages, 'btree', b.pages,
        'ms', round(r.alone_ms, 3), round(r.ms, 3), 'btree', round(b.ms, 3),
        'times', round(r.ms / r.alone_ms, 2)
        FROM measured r JOIN measured b USING (n) WHERE r.index = 'rencoder' AND b.index = 'btree' ORDER BY n"
    while IFS='|' read -r name alone pages alone_ms ms; do
        bench_limit "$name: pages" "$pages" '<=' "$(awk -v n="$alone" 'BEGIN { print int(1.2 * n + 4) }')"
        bench_limit "$name: CPU, ms" "$ms" '<=' "$(awk -v n="$alone_ms" 'BEGIN { print 1.2 * n + 0.02 }')"
    done < <(bench_sql -c "SELECT name, alone_pages, pages, round(alone_ms, 4), round(ms, 4) FROM measured
        WHERE index = 'rencoder' ORDER BY n")
    bench_finish
}

bench_run autovacuum=off jit=off max_parallel_workers_per_gather=0 -- "$@"
