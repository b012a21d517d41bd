#!/usr/bin/env bash
# Shapes of filters where no query is known: what queries visit that match nothing, and builds.
#
#   bash bench/checks/shapes.sh [RANGES [SEED]]
#
# A table of RANGES (default 684) ranges of 32 pages at 35 rows; an index of filters on each column.
# 3,000 queries of each kind, none of which matches a row: candidates (ranges) and index pages, mean;
# and the CPU time of CREATE INDEX, median of five.  Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

RANGES=${1:-684}
SEED=${2:-1}

make_table() {
    bench_sql -q -v rows=$((RANGES * 32 * 35)) -v seed="$SEED" -f "$(dirname "${BASH_SOURCE[0]}")/shapes.sql"
}

# KIND LIMIT: of candidates, at the default size.  Some of these contend for the same bits: values in
# clusters and gaps between them, strings and their prefixes.
measure() {
    local kind=$1 limit=$2 row
    row=$(bench_sql -c "SELECT queries, round(candidates, 3), round(pages, 1) FROM visited('$kind')")
    bench_limit "$kind: candidates, mean of $(cut -d'|' -f1 <<< "$row"); $(cut -d'|' -f3 <<< "$row") index pages" \
        "$(cut -d'|' -f2 <<< "$row")" '<=' "$limit"
}

main() {
    local column
    bench_machine
    bench_cpu_clock
    make_table
    for column in u c t h p; do
        echo "build of $column: $(bench_sql -c "SET client_min_messages = warning" -c "SELECT round(build_ms('$column'), 1)" | tail -n 1) ms," \
            "$(bench_sql -c "SELECT round(pg_relation_size('t_$column') * 8.0 / ($RANGES * 32 * 35), 2)") bits a row"
    done
    measure 'uniform' 0.08
    measure 'clusters: absent value' 0.3
    measure 'clusters: 64 long' 0.6
    measure 'clusters: gap, 10^6 long' 25
    measure 'timestamps: a value' 0.085
    measure 'timestamps: 60 s' 1.4
    measure 'text: = absent' 0.1
    measure 'text: LIKE, 6 hex digits' 0.5
    measure 'points: box of 0.1' 0.4
    measure 'points: box of 1' 1.7
    bench_finish
}

bench_run wal_level=minimal max_wal_senders=0 maintenance_work_mem=256MB max_parallel_maintenance_workers=0 -- "$@"
