#!/usr/bin/env bash
# What queries pay for rows that came after the index was made, while more of them come, beside a
# btree:
#
#   bash bench/checks/late.sh [MILLIONS [ROWSPERPAGE [SECONDS [SEED [CLIENTS]]]]]
#
# MILLIONS (default 1) of rows of uniform int8, some 35 a page (or ROWSPERPAGE, up to 185).  Late
# rows are inserted one by one, until there are so many; then nine queries for one value to one
# insert, by CLIENTS (default 4) for SECONDS (default 4), in turn, twice.  CPU time is that of all
# processes of the server, the worker included, so that other work on the machine does not count.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=$(awk -v m="${1:-1}" 'BEGIN { printf "%d", m * 1000000 }')
PER_PAGE=${2:-35}
SECONDS_OF_LOAD=${3:-4}
SEED=${4:-1}
CLIENTS=${5:-4}
LATE=(0 5000 50000)
ROUNDS=2
declare -A CALLS

make_table() { # INDEX
    local filler=$((8152 / PER_PAGE - 44))
    bench_sql -q <<SQL
CREATE TABLE late_$1 (key int8,
    filler text DEFAULT repeat('x', $((filler < 0 ? 0 : filler))));
ALTER TABLE late_$1 ALTER filler SET STORAGE plain;
INSERT INTO late_$1 SELECT mod(hashint8extended(i, $SEED) & 1125899906842623, $ROWS)
    FROM generate_series(1, $ROWS::int8) AS i;
CREATE INDEX late_$1_i ON late_$1 USING $1 (key);
VACUUM ANALYZE late_$1;
SQL
}

wal_at() { bench_sql -c "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"; }

# pgbench on a table, with other values in each call of an index, or queries would be for the rows
# that came last; sets TRANSACTIONS, TPS, CPU (us a transaction) and WAL (bytes likewise).
load() { # INDEX pgbench arguments
    local index=$1 cpu wal seed
    shift
    CALLS[$index]=$((${CALLS[$index]:-0} + 1))
    seed=$((SEED * 1000 + CALLS[$index]))
    cpu=$(bench_server_cpu) wal=$(wal_at)
    (cd "$WORK/src/bench/pgbench" && PGOPTIONS='-c synchronous_commit=off' pgbench -n -j 1 \
        -c "$CLIENTS" --random-seed="$seed" -D table="late_$index" -D column=key -D min=0 \
        -D max="$((ROWS - 1))" "$@" postgres) >"$WORK/log/pgbench" 2>&1 ||
        { show_log "$WORK/log/pgbench" 20; die 'pgbench failed'; }
    TPS=$(sed -n 's/^tps = \([0-9]*\).*/\1/p' "$WORK/log/pgbench")
    TRANSACTIONS=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' \
        "$WORK/log/pgbench")
    WAL=$((($(wal_at) - wal) / TRANSACTIONS))
    CPU=$((($(bench_server_cpu) - cpu) * 1000 / TRANSACTIONS))
}

late_rows() { bench_sql -c "SELECT count(*) - $ROWS FROM late_$1"; }

# Insert-only, up to so many late rows.
fill() { # INDEX ROWS
    local n=$((($2 - $(late_rows "$1")) / CLIENTS))
    ((n > 0)) || return 0
    load "$1" -f insert.sql -t "$n"
    printf '  insert  %-9s %7s rows/s %6s us %5s bytes of WAL\n' "$1" "$TPS" "$CPU" "$WAL"
}

unindexed() {
    bench_sql -c "SELECT unindexed
        FROM rencoder_candidates('late_rencoder_i', -9::int8, -9::int8)"
}

mixed() { # INDEX
    local tail=''
    [[ $1 != rencoder ]] || tail=$(unindexed)
    [[ $1 != rencoder ]] || bench_sql -q -c "SELECT rencoder_index_stats_reset('late_rencoder_i')" \
        >/dev/null
    load "$1" -f equal.sql@9 -f insert.sql@1 -T "$SECONDS_OF_LOAD"
    printf '  mixed   %-9s %7s tps    %6s us %5s bytes of WAL' "$1" "$TPS" "$CPU" "$WAL"
    [[ $1 != rencoder ]] || bench_sql -F ' ' -c "SELECT format('; a query reads %s index pages, %s '
            || 'of the table, %s in vain as predicted; unindexed %s, then %s pages',
            round(stats.index_pages::numeric / scans, 1), round(stats.pages::numeric / scans, 1),
            stats.predicted_false_pages, $tail, $(unindexed))
        FROM rencoder_index_stats('late_rencoder_i') AS stats"
    [[ $1 == rencoder ]] || echo
}

# Of inserts and queries for themselves, too.
reads() { # INDEX
    load "$1" -f equal.sql -T "$SECONDS_OF_LOAD"
    printf '  read    %-9s %7s tps    %6s us\n' "$1" "$TPS" "$CPU"
}

main() {
    local late round index
    bench_machine
    for index in rencoder btree; do make_table "$index"; done
    bench_sql -c "SELECT format('%s: %s rows a page', relname, round(reltuples / relpages))
        FROM pg_class WHERE relname = 'late_rencoder'"
    for index in rencoder btree; do reads "$index"; done
    for late in "${LATE[@]}"; do
        echo "$late late rows"
        for index in rencoder btree; do fill "$index" "$late"; done
        for ((round = 0; round < ROUNDS; round++)); do
            for index in rencoder btree; do mixed "$index"; done
        done
        bench_sql -F ' ' -c "SELECT format('  late rows: %s; runs %s',
            $(late_rows rencoder),
            (SELECT count(*) FROM rencoder_runs('late_rencoder_i')))"
    done
    bench_sql -q -c "SELECT rencoder_index_check('late_rencoder_i', true)" >/dev/null
}

bench_run max_wal_size=16GB checkpoint_timeout=1h autovacuum=off jit=off -- "$@"
