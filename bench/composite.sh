#!/usr/bin/env bash
# Composite keys beside btrees of several columns: sizes, pages, time, and the same after retention.
#
#   bash bench/composite.sh [MILLIONS [SEED]]
#
# 3 (or MILLIONS) million rows in the order of time, of 100,000 tenants, the r-th of which has 1 / r of the
# rows of the first.  Indexes on (tenant, at), (uuid, at), (tenant, id), (tenant, code): bits a row.  Then
# 200 queries each of "tenant = x AND at BETWEEN .." and "tenant = x AND code = y", for rows drawn at random:
# pages of the table, and CPU time of the session, the least of rounds in turn.  Then half of the rows, the
# oldest, are deleted, VACUUM, as many newer ones come, six times: sizes and queries again.  Ends with exit code 1
# if a composite index takes more than 28 bits a row when fresh, 1.1 times the btree's pages of the table, or 1.7
# times its CPU time.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

MILLIONS=${1:-3}
SEED=${2:-1}
ROWS=$(awk -v m="$MILLIONS" 'BEGIN {printf "%.0f", m * 1000000}')

make_table() {
    bench_sql -q -o /dev/null <<SQL
SELECT setseed(1 / ($SEED + 1.0));
CREATE TABLE t (id int8, tenant int4, uuid uuid, at timestamptz, code text COLLATE "C", filler text);
CREATE FUNCTION fill(first int8, n int8) RETURNS void LANGUAGE sql AS \$\$
    INSERT INTO t SELECT i, r * 7919 % 100003, md5(r::text)::uuid, timestamptz '2026-01-01' + i * interval '1 s',
        'c' || substr(md5(random()::text), 1, 12), repeat('x', 40)
    FROM (SELECT i, power(100000, random())::int8 AS r FROM generate_series(first, first + n - 1) i) s
\$\$;
SELECT fill(1, $ROWS);
VACUUM ANALYZE t;
CREATE FUNCTION cpu() RETURNS numeric LANGUAGE sql AS
    'SELECT bench_cpu()::numeric / 1000';
CREATE TABLE asked (kind text, query text);
CREATE TABLE measured (kind text, method text, pages int8, ms numeric, result text);
CREATE PROCEDURE draw() LANGUAGE sql AS \$\$
    DELETE FROM asked;
    DELETE FROM measured;
    INSERT INTO asked SELECT k, format('SELECT count(filler) FROM t WHERE tenant = %s AND ', tenant) ||
        CASE k WHEN 'at' THEN format('at BETWEEN %L AND %L', at - interval '1 hour', at + interval '1 hour')
            ELSE format('code = %L', code) END
    FROM (SELECT * FROM t ORDER BY random() LIMIT 200) s, unnest('{at,code}'::text[]) k;
\$\$;
CREATE FUNCTION measure(k text, m text) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
    q text;
    n int8;
    pages int8 := 0;
    result int8 := 0;
    since numeric;
    least_ms numeric;
BEGIN
    FOR q IN SELECT query FROM asked WHERE kind = k LOOP
        pages := pages + (bench_pages(bench_explain(q))).heap_pages;
    END LOOP;
    FOR round IN 1 .. 5 LOOP
        since := cpu();
        result := 0;
        FOR q IN SELECT query FROM asked WHERE kind = k LOOP
            EXECUTE q INTO n;
            result := result + n;
        END LOOP;
        least_ms := least(least_ms, cpu() - since);
    END LOOP;
    INSERT INTO measured VALUES (k, m, pages, least_ms, result);
END \$\$;
SQL
}

# index NAME COLUMNS: both of them
make_indexes() {
    bench_sql -q -c "CREATE INDEX $1_b ON t ($2)" -c "CREATE INDEX $1_r ON t USING rencoder ($2) WITH (composite = on)"
}

bits() { bench_sql -c "SELECT round(pg_relation_size('$1') * 8.0 / $ROWS, 1)"; }

# Queries by one kind of index: those of the other are hidden.
measure() {
    bench_sql -q -c 'CALL draw()'
    local method kind
    for method in b r; do
        bench_sql -q -c "UPDATE pg_index SET indisvalid = indexrelid::regclass::text LIKE '%\\_$method' WHERE indrelid = 't'::regclass"
        for kind in at code; do
            bench_sql -q -o /dev/null -c 'SET enable_seqscan = off' -c 'SET enable_indexscan = off' \
                -c "SELECT measure('$kind', '$method')"
        done
    done
    bench_sql -q -c "UPDATE pg_index SET indisvalid = true WHERE indrelid = 't'::regclass"
    bench_sql -F ' ' -c "SELECT r.kind, 'pages', r.pages, 'btree', b.pages, 'us', round(r.ms * 5, 1), 'btree', round(b.ms * 5, 1)
        FROM measured r JOIN measured b USING (kind) WHERE r.method = 'r' AND b.method = 'b' ORDER BY 1"
    [[ $(bench_sql -c "SELECT count(DISTINCT (kind, result)) FROM measured") == 2 ]] || die "the indexes find different rows"
    local pages ms
    while IFS='|' read -r kind pages ms; do
        bench_limit "$1, $kind: pages, times the btree's" "$pages" '<=' 1.1
        bench_limit "$1, $kind: CPU, times the btree's" "$ms" '<=' 1.7
    done < <(bench_sql -c "SELECT kind, round(r.pages::numeric / b.pages, 3), round(r.ms / b.ms, 3)
        FROM measured r JOIN measured b USING (kind) WHERE r.method = 'r' AND b.method = 'b' ORDER BY 1")
}

main() {
    local name round
    bench_machine
    bench_cpu_clock
    echo "$MILLIONS million rows, seed $SEED."
    make_table
    make_indexes tenant_at 'tenant, at'
    make_indexes tenant_code 'tenant, code'
    make_indexes tenant_id 'tenant, id'
    make_indexes uuid_at 'uuid, at'
    for name in tenant_at uuid_at tenant_id tenant_code; do
        echo "$name: btree $(bits "${name}_b") bits a row"
        bench_limit "$name, bits a row" "$(bits "${name}_r")" '<=' 28
    done
    bench_sql -q -c 'DROP INDEX uuid_at_b, uuid_at_r, tenant_id_b, tenant_id_r'
    measure fresh
    for round in 1 2 3 4 5 6; do
        bench_sql -q -o /dev/null -c "DELETE FROM t WHERE id <= $ROWS / 2 * $round" -c 'VACUUM t' \
            -c "SELECT fill($ROWS / 2 * ($round + 1) + 1, $ROWS / 2)"
    done
    bench_sql -q -c 'VACUUM ANALYZE t'
    for name in tenant_at tenant_code; do
        echo "$name after retention: btree $(bits "${name}_b") bits a row, rencoder $(bits "${name}_r")"
    done
    measure retention
    bench_finish
}

bench_run autovacuum=off synchronize_seqscans=off jit=off max_parallel_workers_per_gather=0 maintenance_work_mem=256MB -- "$@"
