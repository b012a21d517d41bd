#!/usr/bin/env bash
# What does a long transaction read, while rows come and runs are merged?
#
#   bash bench/checks/long.sh [MINUTES [MILLIONS [SEED]]]
#
# MILLIONS (default 0.5) of rows of uniform int8, 35 a page.  A REPEATABLE READ transaction is begun
# on the primary, another one on a standby.  For MINUTES (default 10) some 500 rows a second come, in
# ones and hundreds, and a session asks for them, so that the worker makes runs and merges.  Each
# half minute both transactions, and a new session, ask for 40 absent values and 40 of old rows.  The
# transactions are to read what new sessions read, from the first minute to the last, although the
# runs are newer than their snapshots.  Ends with exit code 1 if a limit is exceeded, or if a
# transaction finds other rows than before.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

MINUTES=${1:-10}
ROWS=$(awk -v m="${2:-0.5}" 'BEGIN { printf "%d", m * 1000000 }')
SEED=${3:-1}
LOOKS=$((MINUTES * 2))

make_objects() {
    bench_random_table long "$ROWS" "$SEED"
    bench_sql -q <<SQL
CREATE INDEX long_id ON long USING rencoder (id);
VACUUM ANALYZE long;
CREATE SEQUENCE came;
-- Index and heap pages of a query, the mean of absent values and of old rows; and old rows found.
CREATE FUNCTION look(OUT index_pages numeric, OUT heap_pages numeric, OUT old_rows int8) LANGUAGE plpgsql AS \$\$
DECLARE
    plan jsonb;
    n int := 0;
BEGIN
    index_pages := 0;
    heap_pages := 0;
    old_rows := 0;
    FOR kind IN 0 .. 1 LOOP
        FOR i IN 1 .. 40 LOOP
            plan := bench_explain(format('SELECT filler FROM long WHERE id = %s',
                hashint8extended(1 + i * ($ROWS / 41), $SEED + kind * 1000)));
            index_pages := index_pages + (bench_pages(plan)).index_pages;
            heap_pages := heap_pages + (bench_pages(plan)).heap_pages;
            old_rows := old_rows + (plan -> 'Plan' ->> 'Actual Rows')::numeric::int8;
            n := n + 1;
        END LOOP;
    END LOOP;
    index_pages := round(index_pages / n, 2);
    heap_pages := round(heap_pages / n, 2);
END \$\$;
SQL
    echo "INSERT INTO long SELECT hashint8extended(nextval('came'), 77), repeat('x', 188)" >"$WORK/one.sql"
    echo "INSERT INTO long SELECT hashint8extended(nextval('came'), 77), repeat('x', 188)
        FROM generate_series(1, 100)" | tr '\n' ' ' >"$WORK/many.sql"
    echo "SELECT count(filler) FROM long WHERE id = hashint8extended(currval_of_came() - 5, 77)" |
        sed "s/currval_of_came()/(SELECT last_value FROM came)/" >"$WORK/ask.sql"
}

# The transaction of one server: FILE [HOST].  A line each half minute.
transaction() {
    {
        echo "SET enable_seqscan = off; SET enable_indexscan = off;"
        echo "BEGIN ISOLATION LEVEL REPEATABLE READ;"
        for ((i = 0; i <= LOOKS; i++)); do
            echo "SELECT * FROM look(); SELECT pg_sleep(30) WHERE $i < $LOOKS;"
        done
    } | PGHOST=${2:-$PGHOST} bench_sql -q -F ' ' | grep . >"$WORK/$1"
}

# What new sessions read, to be compared with the transactions.
new_sessions() {
    for ((i = 0; i < LOOKS; i++)); do
        sleep 30
        bench_sql -q -F ' ' -c "SET enable_seqscan = off; SET enable_indexscan = off;
            SELECT * FROM look()"
    done >"$WORK/new"
}

load() { # FILE TRANSACTIONS-A-SECOND
    pgbench -n -M prepared -c 1 -R "$2" -T $((MINUTES * 60)) -f "$WORK/$1.sql" postgres >"$WORK/log/pgbench-$1" 2>&1 ||
        { show_log "$WORK/log/pgbench-$1" 20; die 'pgbench failed'; }
}

# The mean of a column but for the first line: mean FILE COLUMN
mean() { tail -n +2 "$WORK/$1" | awk -v c="$2" '{ n += $c } END { printf "%.2f", n / NR }'; }

main() {
    local jobs=() job who
    bench_machine
    make_objects
    bench_make_standby
    trap '"$(bench_bin)/pg_ctl" -D "$WORK/data_standby" -s -m immediate stop || true; stop_clusters' EXIT
    transaction primary & jobs+=($!)
    transaction standby "$WORK/sock_standby" & jobs+=($!)
    sleep 3
    new_sessions & jobs+=($!)
    load one 200 & jobs+=($!)
    load many 3 & jobs+=($!)
    load ask 20 & jobs+=($!)
    for job in "${jobs[@]}"; do wait "$job"; done
    echo 'index and heap pages of a query, old rows found'
    for who in primary standby new; do
        awk -v who="$who" '{ printf "  %-8s %5.1f min  %7.2f %8.2f  %d\n", who, (NR - (who != "new")) / 2, $1, $2, $3 }' "$WORK/$who"
    done
    bench_sql -c "SELECT format('runs now: %s; rows that came: %s', (SELECT string_agg(kind || ' ' || pages, ', ')
        FROM rencoder_runs('long_id')), (SELECT last_value FROM came))"
    for who in primary standby; do
        bench_limit "$who: old rows found, different numbers" "$(awk '{ print $3 }' "$WORK/$who" | sort -u | wc -l)" '<=' 1
        bench_limit "$who: index pages / new sessions'" \
            "$(awk -v a="$(mean "$who" 1)" -v b="$(mean new 1)" 'BEGIN { printf "%.2f", a / b }')" '<=' 1.2
        bench_limit "$who: heap pages more than new sessions'" \
            "$(awk -v a="$(mean "$who" 2)" -v b="$(mean new 2)" 'BEGIN { printf "%.2f", a - b }')" '<=' 2
    done
    bench_finish
}

bench_run autovacuum=on jit=off wal_level=replica max_wal_senders=4 wal_keep_size=2GB -- "$@"
