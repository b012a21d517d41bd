#!/usr/bin/env bash
# Everything together, for a long time; wrong answers are not tolerated:
#
#   bash bench/checks/stress.sh [MINUTES [SEED]]
#
# 3 clients of pgbench insert, COPY, update, delete, roll back and query a table with five indexes, 2 others
# VACUUM, maintain, compact, REINDEX (CONCURRENTLY), check and checkpoint them, and the worker makes runs
# (test/load has the scripts).  Every query is asked by an index and by a sequential scan in one
# REPEATABLE READ snapshot.  Then each index is checked against the table.  Default 10 minutes.
# Ends with exit code 1 if an answer is wrong, a client meets an error or an index is unsound.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

MINUTES=${1:-10}
SEED=${2:-$RANDOM}

# run_clients LIST NUMBER SEED: pgbench with the scripts that test/load/LIST names.
run_clients() {
    local list=$1 scripts=()
    mapfile -t scripts <"$list"
    pgbench -n -c "$2" -T "$((MINUTES * 60))" --random-seed="$3" --max-tries=1000 \
        -D "copy_file=$WORK/rows.copy" "${scripts[@]/#/-f}" postgres >"$WORK/log/$list" 2>&1
}

# transactions LIST [SCRIPT]: how many were done.
transactions() {
    if (($# == 1)); then
        sed -n 's/^number of transactions actually processed: //p' "$WORK/log/$1"
    else
        awk -v script="$2" '/^SQL script/ {this = $NF} this == script && $3 == "transactions" {print $2; exit}' "$WORK/log/$1"
    fi
}

# One line for each script of a list.
print_totals_of() {
    local script scripts
    mapfile -t scripts <"$1"
    for script in "${scripts[@]%@*}"; do
        printf '  %-20s %8s\n' "${script%.sql}" "$(transactions "$1" "$script")"
    done
}

# How often pgbench or the server says something in any of the logs.
count_in_logs() { cat "$WORK"/log/clients "$WORK"/log/maintenance "$WORK"/log/server | grep -cE "$1" || true; }

main() {
    local pid status=0 looks
    bench_machine
    echo "Seed: $SEED.  $MINUTES minute(s), 3 clients and 2 maintainers."
    cd "$bench_root/test/load"
    bench_sql -q -f schema.sql -c "COPY (SELECT * FROM make_rows(300, 5)) TO '$WORK/rows.copy'" >/dev/null 2>&1
    run_clients maintenance 2 "$((SEED + 1))" &
    pid=$!
    run_clients clients 3 "$SEED" || status=1
    wait "$pid" || status=1
    if ((status != 0)); then
        grep -hE 'ERROR|FATAL|error:' -A3 "$WORK/log/clients" "$WORK/log/maintenance" | head -n 40
    fi
    echo "Transactions:"
    print_totals_of clients
    print_totals_of maintenance
    bench_sql -c "SELECT format('Table: %s rows, %s; %s rows inserted, %s updated (%s HOT), %s deleted; index %s: %s scans, %s',
            (SELECT count(*) FROM t), pg_size_pretty(pg_relation_size('t')), n_tup_ins, n_tup_upd, n_tup_hot_upd, n_tup_del,
            i.indexrelname, i.idx_scan, pg_size_pretty(pg_relation_size(indexrelid)))
        FROM pg_stat_user_tables AS u JOIN pg_stat_user_indexes AS i USING (relid) WHERE relid = 't'::regclass" |
        sed '2,$s/^.*deleted; /                     /'

    looks=$(($(transactions clients look.sql) + 5 * $(transactions clients look_again.sql)))
    bench_limit "pgbench runs that failed" "$status" '<=' 0
    bench_limit "answers compared" "$looks" '>=' $((MINUTES * 600))
    bench_limit "wrong answers" "$(count_in_logs 'wrong answer')" '<=' 0
    bench_limit "transactions that failed" \
        "$(sed -n 's/^number of failed transactions: \([0-9]*\).*/\1/p' "$WORK/log/clients" "$WORK/log/maintenance" | awk '{n += $1} END {print n + 0}')" '<=' 0
    grep -E '(ERROR|FATAL|PANIC|WARNING): |TRAP:|terminated by signal' "$WORK/log/server" |
        grep -v 'deadlock detected' >"$WORK/log/errors" || true
    head -n 40 "$WORK/log/errors"
    bench_limit "errors in the server's log (deadlocks are tried again)" "$(wc -l <"$WORK/log/errors")" '<=' 0
    bench_limit "indexes that are sound and cover every row" "$(bench_sql -q -c 'SELECT drop_invalid_indexes()' \
        -c "SELECT count(*) FROM (SELECT rencoder_index_check(indexrelid, true) FROM pg_index WHERE indrelid = 't'::regclass OFFSET 0) AS c" |
        tail -n 1)" '>=' 5
    bench_finish
}

bench_run shared_buffers=8MB synchronous_commit=off deadlock_timeout=200ms autovacuum=on autovacuum_naptime=5s -- "$MINUTES" "$SEED"
