#!/usr/bin/env bash
# Ten indexes on one table: what do writers pay for each?
#
#   bash bench/ten.sh [THOUSANDS [SEED [SECONDS]]]
#
# A table of THOUSANDS (default 1,000) thousand rows with ten columns of random int8, without an index,
# and with 1, 2, 5 and 10 btrees, BRINs, rencoders of one column each, and one rencoder of ten columns.
# Each case has a copy of the table.  First COPY of half as many rows, one case after the other.  Then
# single-row inserts by pgbench, in ROUNDS rounds in which each case has a turn of SECONDS (default 5):
# medians of the rounds.  Rows per second, by the clock and by the CPU time of all processes of the
# server, and bytes of WAL a row; rencoder's worker is waited for and counted.  fsync and full_page_writes
# are on, a checkpoint comes before each turn; autovacuum is off, or it would work on one case's table in
# the turn of another.  Single rows do not wait for the disk at commit (synchronous_commit = off), or its
# speed would be all that is seen.  The table goes to bench/results/figures (BENCH_OUT names another
# directory) as ten.csv, with the plot ten.svg.
set -euo pipefail
bench_at_end=bench_take_figures
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

ROWS=$((${1:-1000} * 1000))
SEED=${2:-1}
SECONDS_EACH=${3:-5}
ROUNDS=5
COLUMNS_OF_TABLE=(a b c d e f g h i j)

make_rows() {
    local list
    list=$(printf ', hashint8extended(i, %s)' $(seq "$SEED" $((SEED + 9))))
    bench_sql -q <<SQL
CREATE TABLE base (n int8, $(printf '%s int8, ' "${COLUMNS_OF_TABLE[@]}") note text);
INSERT INTO base SELECT i$list, repeat('x', 60) FROM generate_series(1, $ROWS) AS i;
COPY (SELECT i$list, repeat('x', 60) FROM generate_series($ROWS + 1, $ROWS + $ROWS / 2) AS i) TO '$WORK/more.copy';
CREATE TABLE copied (kind text, indexes int, rate numeric, by_cpu numeric, wal numeric);
CREATE TABLE single (kind text, indexes int, round int, rate numeric, by_cpu numeric, wal numeric);
SELECT format('%s rows in %s pages, %s more by COPY', $ROWS, pg_relation_size('base') / 8192, $ROWS / 2);
SQL
    {
        echo "\\set n random(1, 1000000000)"
        echo "INSERT INTO t SELECT :n$(printf ', hashint8extended(:n, %s)' $(seq $((SEED + 20)) $((SEED + 29)))), repeat('x', 60);"
    } >"$WORK/single.sql"
}

# The cases: kind and number of indexes, a line each.
cases() {
    local count kind
    echo none 0
    for count in 1 2 5 10; do
        for kind in btree brin rencoder; do echo "$kind $count"; done
    done
    echo one_rencoder 10
}

# make_case KIND COUNT: its table, called KIND_COUNT, and indexes
make_case() {
    local kind=$1 count=$2 column table=$1_$2
    bench_sql -q -c "CREATE TABLE $table AS TABLE base"
    if [[ $kind == one_rencoder ]]; then
        bench_sql -q -c "CREATE INDEX ON $table USING rencoder ($(IFS=,; echo "${COLUMNS_OF_TABLE[*]:0:count}"))"
    else
        for column in "${COLUMNS_OF_TABLE[@]:0:count}"; do
            bench_sql -q -c "CREATE INDEX ON $table USING $kind ($column)"
        done
    fi
    bench_sql -q -c "VACUUM (ANALYZE) $table"
}

# Until no worker is there: it stays for some seconds, and may find work when no more rows come.
wait_for_worker() {
    bench_sql -q -c "DO 'BEGIN WHILE EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = ''rencoder worker'')
        LOOP PERFORM pg_sleep(0.1); END LOOP; END'"
}

# copy_rows KIND COUNT
copy_rows() {
    local kind=$1 count=$2 rate wal cpu
    bench_sql -q -c CHECKPOINT
    cpu=$(bench_server_cpu)
    wal=$(bench_sql -c 'SELECT pg_current_wal_insert_lsn()')
    rate=$(bench_sql -q <<SQL
SELECT clock_timestamp() AS started \gset
COPY ${kind}_$count FROM '$WORK/more.copy';
SELECT $ROWS / 2 / extract(epoch FROM clock_timestamp() - :'started');
SQL
    )
    wait_for_worker
    cpu=$(($(bench_server_cpu) - cpu))
    bench_sql -q -c "INSERT INTO copied VALUES ('$kind', $count, $rate, $ROWS / 2 / ($cpu / 1000.0),
        (pg_current_wal_insert_lsn() - '$wal') / ($ROWS / 2))"
}

# insert_rows KIND COUNT ROUND
insert_rows() {
    local kind=$1 count=$2 round=$3 tps wal cpu
    sed "s/INTO t /INTO ${kind}_$count /" "$WORK/single.sql" >"$WORK/single_case.sql"
    bench_sql -q -c CHECKPOINT
    cpu=$(bench_server_cpu)
    wal=$(bench_sql -c 'SELECT pg_current_wal_insert_lsn()')
    tps=$(PGOPTIONS='-c synchronous_commit=off' "$(bench_bin)/pgbench" -n -f "$WORK/single_case.sql" \
        -c 2 -j 1 -M prepared -T "$SECONDS_EACH" postgres 2>/dev/null | awk '/^tps/ {print $3; exit}')
    wait_for_worker
    cpu=$(($(bench_server_cpu) - cpu))
    bench_sql -q -c "INSERT INTO single VALUES ('$kind', $count, $round, $tps, $tps * $SECONDS_EACH / ($cpu / 1000.0),
        (pg_current_wal_insert_lsn() - '$wal') / ($tps * $SECONDS_EACH))"
}

main() {
    local kind count round
    bench_machine
    make_rows
    while read -r kind count; do
        make_case "$kind" "$count"
        copy_rows "$kind" "$count"
        echo "COPY: $kind, $count" >&2
    done < <(cases)
    for ((round = 1; round <= ROUNDS; round++)); do
        while read -r kind count; do insert_rows "$kind" "$count" "$round" </dev/null; done < <(cases)
        echo "single rows: round $round of $ROUNDS" >&2
    done
    # A case's part of the rate without an index is that of the same round.
    bench_sql -q -c "CREATE VIEW result AS
        SELECT s.kind, s.indexes, c.rate AS copied, c.by_cpu AS copied_cpu, c.wal AS copied_wal, s.rate AS single,
            s.by_cpu AS single_cpu, s.wal AS single_wal, c.by_cpu / (SELECT by_cpu FROM copied WHERE kind = 'none') AS copied_part,
            s.part AS single_part, s.least AS single_least, s.most AS single_most, s.wal_least, s.wal_most,
            (SELECT coalesce(sum(pg_relation_size(indexrelid)), 0) FROM pg_index
             WHERE indrelid = (s.kind || '_' || s.indexes)::regclass) AS size
        FROM copied AS c JOIN (
            SELECT s.kind, s.indexes, percentile_cont(0.5) WITHIN GROUP (ORDER BY s.rate)::numeric AS rate,
                percentile_cont(0.5) WITHIN GROUP (ORDER BY s.by_cpu)::numeric AS by_cpu,
                percentile_cont(0.5) WITHIN GROUP (ORDER BY s.wal)::numeric AS wal,
                percentile_cont(0.5) WITHIN GROUP (ORDER BY s.by_cpu / n.by_cpu)::numeric AS part,
                min(s.by_cpu / n.by_cpu) AS least, max(s.by_cpu / n.by_cpu) AS most, min(s.wal) AS wal_least, max(s.wal) AS wal_most
            FROM single AS s JOIN single AS n USING (round) WHERE n.kind = 'none'
            GROUP BY s.kind, s.indexes) AS s USING (kind, indexes)"
    bench_sql --pset=tuples_only=off --pset=format=aligned --pset=footer=off -c "
        SELECT kind, indexes, round(copied) AS \"COPY, rows/s\", round(copied_cpu) AS \"by CPU\",
            round(copied_part, 2) AS part, round(copied_wal) AS \"WAL a row\",
            round(single) AS \"single, rows/s\", round(single_cpu) AS \"by CPU \", round(single_part, 2) AS \"part \",
            round(single_least, 2) || ' to ' || round(single_most, 2) AS \"of rounds\",
            round(single_wal) AS \"WAL a row \", pg_size_pretty(size) AS size
        FROM result ORDER BY indexes, kind"
    bench_csv ten 'ten indexes on one table: rows a second of COPY, and of single inserts by two clients
# (medians of rounds in which the cases took turns), by the clock and by the CPU time of the server; bytes of WAL' \
        "bash bench/ten.sh $((ROWS / 1000)) $SEED $SECONDS_EACH" "
        SELECT kind AS what, indexes, round(copied) AS copy_rows_a_second,
            round(copied_cpu) AS copy_rows_a_cpu_second, round(copied_wal) AS copy_wal_a_row,
            round(single) AS single_rows_a_second, round(single_cpu) AS single_rows_a_cpu_second,
            round(single_wal) AS single_wal_a_row, size AS bytes,
            round(single_part, 3) AS single_part, round(single_least, 3) AS single_part_least,
            round(single_most, 3) AS single_part_most
        FROM result ORDER BY kind, indexes"
    bench_numbers "SELECT CASE kind WHEN 'none' THEN 'no index' WHEN 'one_rencoder' THEN 'one rencoder of ' || indexes || ' columns'
            ELSE indexes || ' ' || kind END, v.*
        FROM result, LATERAL (VALUES ('COPY, of CPU time', copied_cpu, 'rows/s', NULL, NULL, 1),
            ('COPY, WAL a row', copied_wal, 'bytes', NULL, NULL, 1),
            ('single rows, of CPU time', single_cpu, 'rows/s', NULL, NULL, $ROUNDS),
            ('single rows, part of no index', single_part, 'times', single_least, single_most, $ROUNDS),
            ('single rows, WAL a row', single_wal, 'bytes', wal_least, wal_most, $ROUNDS),
            ('size', size, 'bytes', NULL, NULL, 1)) AS v ORDER BY indexes, kind, 2"
    echo "Total time: $(($(date +%s) - bench_started)) s."
}

bench_run -p gnuplot autovacuum=off full_page_writes=on maintenance_work_mem=256MB shared_buffers=2GB -- "$@"
