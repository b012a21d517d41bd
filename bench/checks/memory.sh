#!/usr/bin/env bash
# What queries cost where memory is short, beside a btree:
#
#   bash bench/checks/memory.sh [MILLIONS [SEED [QUERIES]]]
#
# MILLIONS (default 20) million random int8, 35 rows a page, default options.  shared_buffers has 128
# MB, effective_cache_size too, and a program throws table and indexes out of the kernel's cache 50
# times a second: so that is all the memory that there is.  One match and absent values, each of them
# asked for once, planned anew ("simple") and by a generic plan.  By turns one index and the other,
# each after enough queries to fill the buffers, QUERIES (default 10000) of each kind, in three rounds:
# mean and median of all, and the pages read into the buffers, which do not depend on the disk.
# Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=$(awk -v m="${1:-20}" 'BEGIN { printf "%d", m * 1000000 }')
SEED=${2:-1}
QUERIES=${3:-10000}
ROUNDS=3

make_table() {
    bench_sql -q <<SQL
SET max_parallel_maintenance_workers = 0;
SET maintenance_work_mem = '1GB';
CREATE UNLOGGED TABLE big (u int8, ub int8, filler text);
ALTER TABLE big ALTER filler SET STORAGE plain;
INSERT INTO big SELECT hashint8extended(i, $SEED), hashint8extended(i, $SEED), repeat('x', 180)
    FROM generate_series(1, $ROWS::int8) AS i;
CREATE INDEX big_rencoder ON big USING rencoder (u);
CREATE INDEX big_btree ON big (ub);
VACUUM ANALYZE big;
CHECKPOINT;
SELECT format('%s: %s MB', relname, round(pg_relation_size(oid) / 1048576.0)) FROM pg_class
WHERE relname IN ('big', 'big_rencoder', 'big_btree') ORDER BY relname;
SELECT format('%s bits a row, %s false pages expected',
    round(pg_relation_size('big_rencoder') * 8.0 / $ROWS, 2), round(false_pages::numeric, 2))
FROM rencoder_runs('big_rencoder');
CREATE TABLE times (kind text, way text, index text, us float8);
CREATE TABLE reads (kind text, index text, queries int, of_index int8, of_table int8);
-- Adds what was read of the disk so far, times "sign", to a kind of queries.
CREATE FUNCTION note_reads(kind text, index text, queries int, sign int) RETURNS void LANGUAGE plpgsql AS \$\$
BEGIN
    PERFORM pg_stat_clear_snapshot();
    INSERT INTO reads SELECT kind, index, queries, sign * i.idx_blks_read, sign * t.heap_blks_read
    FROM pg_statio_user_indexes AS i JOIN pg_statio_user_tables AS t USING (relid)
    WHERE i.indexrelname = 'big_' || index;
END \$\$;
SQL
}

# The function that asks: index and column, planned once or each time, queries number "first" on.
# No number comes twice, so that no value does.
make_functions() {
    local index column
    for index in btree rencoder; do
        column=u
        [[ $index != btree ]] || column=ub
        bench_sql -q <<SQL
CREATE FUNCTION ask_$index(kind text, way text, first int8, n int8) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS \$\$
DECLARE
    value int8;
    start timestamptz;
    found int8;
    spent float8[] := '{}';
BEGIN
    FOR i IN first .. first + n - 1 LOOP
        value := hashint8extended(CASE kind WHEN 'absent' THEN -i
            ELSE 1 + i::int8 * 7919 % $ROWS::int8 END, $SEED);
        start := clock_timestamp();
        IF way = 'simple' THEN
            EXECUTE format('SELECT count(filler) FROM big WHERE $column = %s', value) INTO found;
        ELSE
            SELECT count(filler) INTO found FROM big WHERE $column = value;
        END IF;
        spent := spent || (extract(epoch FROM clock_timestamp() - start) * 1e6)::float8;
        IF found <> (kind <> 'absent')::int THEN
            RAISE '% by %: % rows', value, '$index', found;
        END IF;
    END LOOP;
    INSERT INTO times SELECT kind, way, '$index', us FROM unnest(spent) AS us
    WHERE kind <> 'warm-up';
END \$\$;
SQL
    done
}

# One index, all kinds: as many queries to warm up as fill the buffers twice.
ask() { # INDEX FIRST
    local kind first
    echo "SELECT ask_$1('warm-up', 'generic', $2, 32768);"
    for kind in 'one match' absent; do
        first=$2
        [[ $kind == absent ]] || first=$(($2 + 32768))
        echo "SELECT pg_stat_force_next_flush();"
        echo "SELECT note_reads('$kind', '$1', 0, -1);"
        echo "SELECT ask_$1('$kind', 'generic', $first, $QUERIES);"
        echo "SELECT ask_$1('$kind', 'simple', $first + $QUERIES, $QUERIES);"
        echo "SELECT pg_stat_force_next_flush();"
        echo "SELECT note_reads('$kind', '$1', 2 * $QUERIES, 1);"
    done
}

report() {
    bench_sql -q -F ' ' <<'SQL'
SELECT format('%s, %s: btree mean %s us (median %s), rencoder %s (%s): %s (%s) times', kind, way,
    round(b.mean), round(b.median), round(r.mean), round(r.median),
    round((r.mean / b.mean)::numeric, 2), round((r.median / b.median)::numeric, 2))
FROM (SELECT kind, way, avg(us)::numeric AS mean,
        (percentile_cont(0.5) WITHIN GROUP (ORDER BY us))::numeric AS median
    FROM times WHERE index = 'btree' GROUP BY kind, way) AS b
JOIN (SELECT kind, way, avg(us)::numeric AS mean,
        (percentile_cont(0.5) WITHIN GROUP (ORDER BY us))::numeric AS median
    FROM times WHERE index = 'rencoder' GROUP BY kind, way) AS r USING (kind, way)
ORDER BY kind DESC, way;
SELECT format('%s, by %s: %s pages of the index read and %s of the table a query', kind, index,
    round(sum(of_index) / sum(queries), 2), round(sum(of_table) / sum(queries), 2))
FROM reads GROUP BY kind, index ORDER BY kind DESC, index;
SQL
}

# The ratio of the means of one kind, of both ways.
ratio() { # KIND
    bench_sql -c "SELECT round((avg(us) FILTER (WHERE index = 'rencoder')
        / avg(us) FILTER (WHERE index = 'btree'))::numeric, 2) FROM times WHERE kind = '$1'"
}

main() {
    local round index first=1 files dropper
    bench_machine
    echo "Seed: $SEED.  Rows: $ROWS.  shared_buffers: $(bench_sql -c 'SHOW shared_buffers')," \
        "effective_cache_size: $(bench_sql -c 'SHOW effective_cache_size')"
    make_table
    make_functions
    bench_make_dropper
    mapfile -t files < <(bench_files big big_rencoder big_btree)
    sync
    "$WORK/drop" "${files[@]}" &
    dropper=$!
    for ((round = 1; round <= ROUNDS; round++)); do
        for index in btree rencoder; do
            ask "$index" "$first" | bench_sql -q -o /dev/null
            first=$((first + 32768 + 2 * QUERIES))
        done
    done
    kill "$dropper" || die "the kernel's cache was not emptied"
    report
    echo "one match: $(bench_sql -c "SELECT round(sum(of_index + of_table) FILTER (WHERE index = 'rencoder')
        / sum(of_index + of_table) FILTER (WHERE index = 'btree'), 2) FROM reads
        WHERE kind = 'one match'") times the btree's reads"
    bench_limit 'one match: rencoder / btree' "$(ratio 'one match')" '<=' 0.75
    bench_limit 'absent: rencoder / btree' "$(ratio absent)" '<=' 0.6
    bench_finish
}

bench_run shared_buffers=128MB effective_cache_size=128MB max_wal_size=16GB checkpoint_timeout=1h autovacuum=off jit=off \
    max_parallel_workers_per_gather=0 -- "$@"
