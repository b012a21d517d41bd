#!/usr/bin/env bash
# Ten indexes on one table: what do writers pay for each?
#
#   bash bench/ten.sh [THOUSANDS [SEED [SECONDS]]]
#
# A table of THOUSANDS (default 1,000) thousand rows with ten columns of random int8, without an index,
# and with 1, 2, 5 and 10 btrees, BRINs, rencoders of one column each, and one rencoder of ten columns.
# With each, on a fresh copy of the table: COPY of half as many rows, then single-row inserts by pgbench
# for SECONDS (default 5): rows per second, by the clock and by the CPU time of all processes of the
# server (until rencoder's worker is done), and bytes of WAL a row.  fsync, autovacuum and full_page_writes are on;
# single rows do not wait for the disk at commit (synchronous_commit = off), or its speed would be all
# that is seen.  The cases take turns; the sizes of all indexes come last.  The table goes to bench/results/figures
# (BENCH_OUT names another directory) as ten.csv, with the plots ten.svg, ten_single.svg, ten_wal.svg.
set -euo pipefail
bench_at_end=bench_take_figures
# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ROWS=$((${1:-1000} * 1000))
SEED=${2:-1}
SECONDS_EACH=${3:-5}
COLUMNS_OF_TABLE=(a b c d e f g h i j)

make_rows() {
    local list
    list=$(printf ', hashint8extended(i, %s)' $(seq "$SEED" $((SEED + 9))))
    bench_sql -q <<SQL
CREATE TABLE base (n int8, $(printf '%s int8, ' "${COLUMNS_OF_TABLE[@]}") note text);
INSERT INTO base SELECT i$list, repeat('x', 60) FROM generate_series(1, $ROWS) AS i;
COPY (SELECT i$list, repeat('x', 60) FROM generate_series($ROWS + 1, $ROWS + $ROWS / 2) AS i) TO '$WORK/more.copy';
CREATE TABLE result (kind text, indexes int, copied numeric, copied_wal numeric, single numeric,
    single_wal numeric, size bigint, copied_cpu numeric, single_cpu numeric);
SELECT format('%s rows in %s pages, %s more by COPY', $ROWS, pg_relation_size('base') / 8192, $ROWS / 2);
SQL
    {
        echo "\\set n random(1, 1000000000)"
        echo "INSERT INTO t SELECT :n$(printf ', hashint8extended(:n, %s)' $(seq $((SEED + 20)) $((SEED + 29)))), repeat('x', 60);"
    } >"$WORK/single.sql"
}

# The indexes of a case: make_indexes KIND COUNT
make_indexes() {
    local kind=$1 count=$2 column
    if [[ $kind == "one rencoder" ]]; then
        bench_sql -q -c "CREATE INDEX ON t USING rencoder ($(IFS=,; echo "${COLUMNS_OF_TABLE[*]:0:count}"))"
        return
    fi
    for column in "${COLUMNS_OF_TABLE[@]:0:count}"; do
        bench_sql -q -c "CREATE INDEX ON t USING $kind ($column)"
    done
}

# Until no worker is at work.
wait_for_worker() {
    bench_sql -q -c "DO 'BEGIN WHILE EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = ''rencoder worker''
        AND state <> ''idle'') LOOP PERFORM pg_sleep(0.1); END LOOP; END'"
}

# measure KIND COUNT
measure() {
    local kind=$1 count=$2 tps wal cpu
    bench_sql -q -c 'DROP TABLE IF EXISTS t' -c 'CREATE TABLE t AS TABLE base'
    make_indexes "$kind" "$count"
    bench_sql -q -c 'VACUUM (ANALYZE) t' -c CHECKPOINT
    cpu=$(bench_server_cpu)
    bench_sql -q <<SQL
SELECT pg_current_wal_insert_lsn() AS lsn, clock_timestamp() AS started \gset
COPY t FROM '$WORK/more.copy';
INSERT INTO result SELECT '$kind', $count, $ROWS / 2 / extract(epoch FROM clock_timestamp() - :'started'),
    (pg_current_wal_insert_lsn() - :'lsn') / ($ROWS / 2);
SQL
    wait_for_worker
    cpu=$(($(bench_server_cpu) - cpu))
    bench_sql -q -c "UPDATE result SET copied_cpu = $ROWS / 2 / ($cpu / 1000.0) WHERE (kind, indexes) = ('$kind', $count)" \
        -c CHECKPOINT
    cpu=$(bench_server_cpu)
    wal=$(bench_sql -c 'SELECT pg_current_wal_insert_lsn()')
    tps=$(PGOPTIONS='-c synchronous_commit=off' "$(bench_bin)/pgbench" -n -f "$WORK/single.sql" -c 2 -j 1 -M prepared -T "$SECONDS_EACH" postgres 2>/dev/null |
        awk '/^tps/ {print $3; exit}')
    wait_for_worker
    cpu=$(($(bench_server_cpu) - cpu))
    bench_sql -q -c "UPDATE result SET single = $tps, single_cpu = $tps * $SECONDS_EACH / ($cpu / 1000.0),
            single_wal = (pg_current_wal_insert_lsn() - '$wal') / ($tps * $SECONDS_EACH),
            size = (SELECT sum(pg_relation_size(indexrelid)) FROM pg_index WHERE indrelid = 't'::regclass)
        WHERE (kind, indexes) = ('$kind', $count)"
    echo "measured: $kind, $count" >&2
}

main() {
    local count kind
    bench_machine
    make_rows
    measure none 0
    for count in 1 2 5 10; do
        for kind in btree brin rencoder; do measure "$kind" "$count"; done
    done
    measure 'one rencoder' 10
    bench_sql --pset=tuples_only=off --pset=format=aligned --pset=footer=off -c "
        SELECT r.kind, r.indexes, round(r.copied) AS \"COPY, rows/s\", round(r.copied_cpu) AS \"by CPU\",
            round(r.copied_cpu / n.copied_cpu, 2) AS part, round(r.copied_wal) AS \"WAL a row\",
            round(r.single) AS \"single, rows/s\", round(r.single_cpu) AS \"by CPU \",
            round(r.single_cpu / n.single_cpu, 2) AS \"part \", round(r.single_wal) AS \"WAL a row \",
            coalesce(pg_size_pretty(r.size), '') AS size
        FROM result r, result n WHERE n.kind = 'none' ORDER BY r.indexes, r.kind"
    bench_csv ten 'ten indexes on one table: rows a second of COPY and of single inserts by two clients
# by the clock and by the CPU time of the server; bytes of WAL' \
        "bash bench/ten.sh $((ROWS / 1000)) $SEED $SECONDS_EACH" "
        SELECT replace(kind, ' ', '_') AS what, indexes, round(copied) AS copy_rows_a_second,
            round(copied_cpu) AS copy_rows_a_cpu_second, round(copied_wal) AS copy_wal_a_row,
            round(single) AS single_rows_a_second, round(single_cpu) AS single_rows_a_cpu_second,
            round(single_wal) AS single_wal_a_row, coalesce(size, 0) AS bytes
        FROM result ORDER BY kind, indexes"
    echo "Total time: $(($(date +%s) - bench_started)) s."
}

bench_run -p gnuplot fsync=on autovacuum=on full_page_writes=on maintenance_work_mem=256MB -- "$@"
