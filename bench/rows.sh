#!/usr/bin/env bash
# What runs that name rows cost and gain, beside a btree:
#
#   bash bench/rows.sh [MILLIONS [ROWSPERPAGE [SEED]]]
#
# MILLIONS (default 5) of rows of uniform int8, of 1,000 values and sorted, some 38 a page (or up to
# 120: ROWSPERPAGE), in an unlogged table that is cached.  Sizes in bits a row; then queries
# by generic plans for intervals that hold no row, or some number of rows on average, by turns
# for the two indexes, in three rounds: the least mean time of each.  Rows that a scan checks are
# counted by EXPLAIN.
set -euo pipefail
# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ROWS=$(awk -v m="${1:-5}" 'BEGIN { printf "%d", m * 1000000 }')
PER_PAGE=${2:-38}
SEED=${3:-1}

make_table() {
    local filler=$((8152 / PER_PAGE - 68))
    bench_sql -q <<SQL
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET maintenance_work_mem = '1GB';
CREATE UNLOGGED TABLE big (u int8, ub int8, k int, s int8, f text);
ALTER TABLE big ALTER f SET STORAGE plain;
INSERT INTO big SELECT hashint8extended(i, $SEED), hashint8extended(i, $SEED + 1),
    abs(hashint4(i::int) % 1000), i, repeat('x', $((filler < 0 ? 0 : filler)))
    FROM generate_series(1, $ROWS::int8) i;
VACUUM ANALYZE big;
SELECT format('%s rows, %s a page, %s pages', reltuples, round(reltuples / relpages), relpages)
FROM pg_class WHERE relname = 'big';
SQL
}

make_index() { # NAME "USING .."
    local start=${EPOCHREALTIME/./}
    bench_sql -q -c "SET max_parallel_maintenance_workers = 0" -c "SET maintenance_work_mem = '1GB'" \
        -c "CREATE INDEX big_$1 ON big $2"
    bench_sql -F ' ' -c "SELECT format('  %-14s %6s bits a row, %5s s', '$1',
        round(pg_relation_size('big_$1') * 8.0 / $ROWS, 2),
        round((${EPOCHREALTIME/./} - $start) / 1e6, 1))"
}

make_functions() {
    bench_sql -q <<'SQL'
-- Mean microseconds of n queries, whose intervals are the same for both columns.
CREATE FUNCTION ask(col text, width int8, n int, seed float8) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    start timestamptz;
    lo int8;
    found int8;
BEGIN
    PERFORM setseed(seed);
    EXECUTE format('PREPARE ask_%s (int8, int8) AS SELECT count(f) FROM big WHERE %s BETWEEN $1 AND $2',
        col, col);
    start := clock_timestamp();
    FOR i IN 1 .. n LOOP
        lo := ((random() - 0.5) * 1.6e19)::int8;
        EXECUTE format('EXECUTE ask_%s (%s, %s)', col, lo, lo + width) INTO found;
    END LOOP;
    EXECUTE 'DEALLOCATE ask_' || col;
    RETURN extract(epoch FROM clock_timestamp() - start) * 1e6 / n;
END $$;
CREATE FUNCTION checked(width int8) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE format('EXPLAIN (FORMAT json, ANALYZE, TIMING off) SELECT f FROM big
        WHERE u BETWEEN 1000000 AND 1000000 + %s', width) INTO plan;
    plan := plan -> 0 -> 'Plan';
    RETURN round(1 + (plan ->> 'Rows Removed by Index Recheck')::numeric /
        nullif((plan ->> 'Actual Rows')::numeric, 0), 1);
END $$;
SQL
}

measure() {
    bench_sql -q -F ' ' <<SQL
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;
CREATE TEMP TABLE times AS
    SELECT m, round, ask('ub', w, n, 0.1 * round) AS btree, ask('u', w, n, 0.1 * round) AS rencoder
    FROM (SELECT m, (m * 1.8446744e19 / $ROWS)::int8, least(3000, 200000 / greatest(m, 10))
        FROM unnest('{0,10,100,1000,10000}'::int[]) m) v (m, w, n), generate_series(0, 3) round;
SELECT format('  %6s matches: btree %9s us, rencoder %9s us, %s times, %s rows checked for each', m,
    round(min(btree)::numeric, 1), round(min(rencoder)::numeric, 1),
    round((min(rencoder) / min(btree))::numeric, 2), coalesce(
        checked((m * 1.8446744e19 / $ROWS)::int8)::text, '-'))
FROM times WHERE round > 0 GROUP BY m ORDER BY m;
SELECT format('  false pages expected: %s', round(false_pages::numeric, 2))
FROM rencoder_runs('big_rencoder');
SQL
}

main() {
    bench_machine
    make_table
    make_index btree '(ub)'
    make_index rencoder 'USING rencoder (u)'
    make_index values 'USING rencoder (k)'
    make_index sorted 'USING rencoder (s)'
    make_functions
    measure
    bench_sql -q -c 'DROP INDEX big_values, big_sorted'
    make_index pages 'USING rencoder (u) WITH (resolution = pages, false_pages = 1)'
    make_index rows 'USING rencoder (u) WITH (resolution = rows)'
    make_index tenth 'USING rencoder (u) WITH (false_pages = 0.1)'
}

bench_run max_wal_size=16GB checkpoint_timeout=1h autovacuum=off jit=off -- "$@"
