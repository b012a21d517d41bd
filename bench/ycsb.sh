#!/usr/bin/env bash
# YCSB's workloads A to F by pgbench, with rencoder and with a btree on the key.
#
#   bash bench/ycsb.sh [THOUSANDS [SECONDS [CLIENTS]]]
#
# THOUSANDS (default 1,000) thousand rows of a kilobyte; each workload for SECONDS (default 10) by CLIENTS
# (default 4), rencoder and btree in turn on fresh tables, fsync and autovacuum on.  A: 50 % reads, 50 %
# updates; B: 95, 5; C: reads; D: 95 % reads of the latest rows, 5 % inserts; E: 95 % scans of 1 to 100
# rows, 5 % inserts; F: 50 % reads, 50 % read and modify.  Transactions per second; also as ycsb.csv and
# ycsb.svg in bench/results/figures (BENCH_OUT names another directory).
set -euo pipefail
bench_at_end=bench_take_figures
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

ROWS=$((${1:-1000} * 1000))
SECONDS_EACH=${2:-10}
CLIENTS=${3:-4}
FILES=$bench_root/bench/pgbench
declare -A MIX=([A]='read@50 update@50' [B]='read@95 update@5' [C]='read@1' [D]='latest@95 insert@5'
    [E]='scan@95 insert@5' [F]='read@50 modify@50')

run_workload() { # NAME: transactions per second
    local part arguments=()
    for part in ${MIX[$1]}; do arguments+=(-f "$FILES/ycsb_${part%@*}.sql@${part#*@}"); done
    "$(bench_bin)/pgbench" -n -M prepared -D rows="$ROWS" -c "$CLIENTS" -j 1 -T "$SECONDS_EACH" "${arguments[@]}" \
        postgres 2>"$WORK/log/pgbench" | awk '/^tps/ {printf "%.0f", $3; exit}'
    ! grep -q ERROR "$WORK/log/pgbench" || { cat "$WORK/log/pgbench" >&2; die "a client met an error"; }
}

main() {
    local workload method comma=
    local -A tps
    bench_machine
    for method in rencoder btree; do
        bench_sql -q -v rows="$ROWS" -f "$FILES/ycsb_table.sql" >/dev/null
        bench_sql -q -c "CREATE INDEX usertable_key ON usertable USING $method (ycsb_key)" -c CHECKPOINT
        bench_sql -c "SELECT format('%s: index %s, table %s', '$method', pg_size_pretty(pg_relation_size('usertable_key')),
            pg_size_pretty(pg_relation_size('usertable')))"
        for workload in C B A F D E; do tps[$workload$method]=$(run_workload "$workload"); done
    done
    printf '%-10s %10s %10s %8s\n' workload rencoder btree ratio
    for workload in A B C D E F; do
        awk -v w="$workload" -v r="${tps[${workload}rencoder]}" -v b="${tps[${workload}btree]}" \
            'BEGIN {printf "%-10s %10d %10d %8.2f\n", w, r, b, r / b}'
    done
    bench_csv ycsb "YCSB, $CLIENTS clients, rows of a kilobyte: transactions a second" \
        "bash bench/ycsb.sh $((ROWS / 1000)) $SECONDS_EACH $CLIENTS" "VALUES $(
        for workload in A B C D E F; do
            for method in rencoder btree; do
                printf "%s('%s', '%s', %s)" "${comma:-}" "$workload" "$method" "${tps[$workload$method]}"
                comma=,
            done
        done)"
    sed -i 's/^column1,column2,column3$/workload,what,tps/' "$WORK/figures/ycsb.csv"
    echo "Total time: $(($(date +%s) - bench_started)) s."
}

bench_run -p gnuplot autovacuum=on maintenance_work_mem=256MB -- "$@"
