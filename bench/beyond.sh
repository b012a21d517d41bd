#!/usr/bin/env bash
# A btree beyond the memory, and rencoder within: queries and inserts.
#
#   bash bench/beyond.sh [MILLIONS [SECONDS [SEED]]]
#
# MILLIONS (default 10) million random int8, about 105 rows a page.  shared_buffers has 12 MB for each
# million, and files are read and written past the kernel's cache (debug_io_direct, PostgreSQL 16 on):
# so that is all the memory that there is, a btree has 1.8 times as much, rencoder a third, the table
# 6 times.  With each index by itself, four clients for SECONDS (default 15) each: queries for a row,
# for absent values, inserts of single rows; then COPY of a hundredth of the rows.  fsync and autovacuum
# are on; single rows do not wait for the disk at commit.  The table goes to bench/results/figures
# (BENCH_OUT names another directory) as beyond.csv, with plots.
set -euo pipefail
bench_at_end=bench_take_figures
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

MILLIONS=${1:-10}
ROWS=$(awk -v m="$MILLIONS" 'BEGIN { printf "%d", m * 1000000 }')
SECONDS_EACH=${2:-15}
SEED=${3:-1}

make_rows() {
    bench_sql -q <<SQL
CREATE TABLE t (v int8, note text);
INSERT INTO t SELECT hashint8extended(i, $SEED), repeat('x', 35) FROM generate_series(1, $ROWS::int8) AS i;
VACUUM (FREEZE, ANALYZE) t;
COPY (SELECT hashint8extended(i, $SEED), repeat('x', 35)
    FROM generate_series($ROWS::int8 * 3 + 1, $ROWS::int8 * 3 + $ROWS / 100) AS i) TO '$WORK/more.copy';
CREATE TABLE result (what text, work text, n serial, tps numeric, bytes bigint, wal_a_row numeric);
SQL
    printf '%s\n' "\\set i random(1, $ROWS)" "SELECT * FROM t WHERE v = hashint8extended(:i, $SEED);" >"$WORK/one.sql"
    printf '%s\n' "\\set i random($ROWS * 10, $ROWS * 20)" \
        "SELECT * FROM t WHERE v = hashint8extended(:i, $SEED);" >"$WORK/absent.sql"
    printf '%s\n' "\\set i random($ROWS * 20, $ROWS * 400)" \
        "INSERT INTO t VALUES (hashint8extended(:i, $SEED), repeat('x', 35));" >"$WORK/insert.sql"
}

# load KIND FILE [SECONDS]: transactions a second of four clients
load() {
    PGOPTIONS='-c synchronous_commit=off -c enable_seqscan=off' "$(bench_bin)/pgbench" -n -M prepared -c 4 -j 1 \
        -T "${2:-$SECONDS_EACH}" -f "$WORK/$1.sql" postgres 2>"$WORK/log/pgbench" | awk '/^tps/ { print $3; exit }'
    ! grep -q ERROR "$WORK/log/pgbench" || { cat "$WORK/log/pgbench" >&2; die 'a client met an error'; }
}

# measure KIND: with that index
measure() {
    local work tps wal
    bench_sql -q -c 'DROP INDEX IF EXISTS t_v'
    [[ $1 == none ]] || bench_sql -q -c "CREATE INDEX t_v ON t USING $1 (v)"
    bench_sql -q -c 'VACUUM ANALYZE t' -c CHECKPOINT
    if [[ $1 == rencoder || $1 == btree ]]; then
        load one 5 >/dev/null
        for work in one absent; do
            tps=$(load "$work")
            bench_sql -q -c "INSERT INTO result VALUES ('$1', '$work', DEFAULT, $tps, pg_relation_size('t_v'))"
        done
    fi
    wal=$(bench_sql -c 'SELECT pg_current_wal_insert_lsn()')
    tps=$(load insert)
    bench_sql -q -c "INSERT INTO result VALUES ('$1', 'insert', DEFAULT, $tps,
        coalesce(pg_relation_size(to_regclass('t_v')), 0),
        (pg_current_wal_insert_lsn() - '$wal') / ($tps * $SECONDS_EACH))"
    bench_sql -q -c CHECKPOINT
    bench_sql -q <<SQL
SELECT clock_timestamp() AS started, pg_current_wal_insert_lsn() AS lsn \gset
COPY t FROM '$WORK/more.copy';
INSERT INTO result SELECT '$1', 'copy', nextval('result_n_seq'),
    $ROWS / 100 / extract(epoch FROM clock_timestamp() - :'started'),
    coalesce(pg_relation_size(to_regclass('t_v')), 0), (pg_current_wal_insert_lsn() - :'lsn') / ($ROWS / 100);
SQL
    echo "measured: $1" >&2
}

main() {
    local kind
    bench_machine
    make_rows
    for kind in rencoder btree brin none; do measure "$kind"; done
    bench_sql --pset=tuples_only=off --pset=format=aligned --pset=footer=off -c "
        SELECT what, work, round(tps) AS \"a second\", round(wal_a_row) AS \"WAL a row\", pg_size_pretty(bytes) AS index
        FROM result ORDER BY n" -c "SELECT pg_size_pretty(pg_relation_size('t')) AS table,
            current_setting('shared_buffers') AS memory"
    bench_csv beyond 'a btree beyond the memory, rencoder within: queries, single rows, rows of COPY a second' \
        "bash bench/beyond.sh $MILLIONS $SECONDS_EACH $SEED" "
        SELECT what, work, round(tps) AS tps, round(wal_a_row) AS wal_a_row, bytes FROM result ORDER BY n"
    echo "Total time: $(($(date +%s) - bench_started)) s."
}

bench_run -p gnuplot autovacuum=on maintenance_work_mem=256MB debug_io_direct=data \
    shared_buffers="$(awk -v m="$MILLIONS" 'BEGIN { printf "%dMB", m * 12 }')" -- "$@"
