#!/usr/bin/env bash
# rencoder beside the other indexes of PostgreSQL, on one table, in one run; tables and plots.
#
#   bash bench/compare.sh [--rows MILLIONS] [--only FIGURE] [--columns LIST] [--seed N] [--out DIR]
#       [--lsm3 DIR]
#
# MILLIONS (default 1; 0.05 to 100) of rows with ten columns of different kinds; the indexes are
# built beside each other, and each is seen by the planner alone when it is measured.  Answers are
# compared.
# FIGURES: indexes bits growth updates writes pgbench buffers cold; all, if none is named.
# LIST: the columns of the figure "indexes", as in "uniform,p"; all, if none is named.
# --lsm3: with the LSM index of github.com/postgrespro/lsm3 too, whose source is in that directory.
# What is measured is written to DIR (default bench/results/figures): FIGURE*.csv, with machine,
# versions, settings, seed and load in its head, and FIGURE*.svg.  A run that is interrupted leaves
# nothing running; the same command goes on where it was.
set -euo pipefail

ROWS='' ONLY='' LIST='' SEED=1 OUT='' LSM3=''
while [[ $# -gt 0 ]]; do
    case $1 in
        --rows | --only | --columns | --seed | --out | --lsm3)
            [[ $# -gt 1 ]] || { echo "compare.sh: $1 needs a value" >&2; exit 2; }
            case $1 in
                --rows) ROWS=$2 ;;
                --only) ONLY=$2 ;;
                --columns) LIST=$2 ;;
                --seed) SEED=$2 ;;
                --out) OUT=$2 ;;
                --lsm3) LSM3=$2 ;;
            esac
            shift 2 ;;
        --help | -h) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
        *) echo "compare.sh: unknown argument \"$1\"; see --help" >&2; exit 2 ;;
    esac
done
MILLIONS=${ROWS:-1}
FIGURES=(indexes bits growth updates writes pgbench buffers cold)
COLUMNS=(uniform id at dense clustered skewed thousand uuid domain p)
[[ $MILLIONS =~ ^[0-9]+([.][0-9]+)?$ && $SEED =~ ^[0-9]{1,6}$ ]] ||
    { echo "compare.sh: --rows and --seed take numbers" >&2; exit 2; }
[[ -z $ONLY || " ${FIGURES[*]} " == *" $ONLY "* ]] ||
    { echo "compare.sh: unknown figure \"$ONLY\"; there are: ${FIGURES[*]}" >&2; exit 2; }
[[ -z $ONLY ]] || FIGURES=("$ONLY")
if [[ -n $LIST ]]; then
    IFS=, read -ra chosen <<<"$LIST"
    for column in "${chosen[@]}"; do
        [[ " ${COLUMNS[*]} " == *" $column "* ]] ||
            { echo "compare.sh: unknown column \"$column\"; there are: ${COLUMNS[*]}" >&2; exit 2; }
    done
    COLUMNS=("${chosen[@]}")
fi
ROWS=$(awk -v m="$MILLIONS" 'BEGIN { printf "%d", m * 1e6 }')
((ROWS >= 50000 && ROWS <= 100000000)) ||
    { echo 'compare.sh: --rows takes 0.05 to 100 millions' >&2; exit 2; }

[[ -z $LSM3 || -n ${BENCH_WORK:-} || -f $LSM3/lsm3.control ]] ||
    { echo "compare.sh: \"$LSM3\" is not the source of lsm3" >&2; exit 2; }

bench_state=rencoder-compare-$MILLIONS-$SEED${ONLY:+-$ONLY}${LIST:+-${LIST//,/-}}${LSM3:+-lsm3}${BENCH_PG:+-pg$BENCH_PG}
bench_at_end=bench_take_figures
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"
# shellcheck source=bench/compare/figures.sh
. "$bench_root/bench/compare/figures.sh"
# shellcheck source=bench/compare/steps.sh
. "$bench_root/bench/compare/steps.sh"

ROUNDS=3
QUERIES=60          # of a kind, drawn
BUDGET=100          # ms for a kind of queries with an index in a round
CLIENTS=(1 2 4 8 16)
LOAD_ROUNDS=2       # of pgbench
LOAD_SECONDS=2
INDEXES=(rencoder btree btree_hash hash brin32 brin128 brin_multi brin_bloom bloom gin gist spgist)
KINDS=(one absent empty 10 100 1000 in like)
[[ -z $LSM3 ]] || INDEXES+=(lsm3)

say() { printf '[%(%H:%M:%S)T] %s\n' -1 "$*"; }

# An unfinished run can be taken up by the same code only.
check_source() {
    local old=${TMPDIR:-/tmp}/$bench_state/source
    BENCH_SOURCE=$(cd "$bench_root" &&
        find src sql bench/compare* bench/pgbench bench/lib/bench.sh -type f ! -name '*.[ao]' \
            ! -name '*.so' ! -name '*.bc' -print0 | sort -z | xargs -0 md5sum | md5sum)
    export BENCH_SOURCE
    [[ ! -e $old || $BENCH_SOURCE == "$(cat "$old")" ]] ||
        die "the sources have changed since this run was begun; to begin anew: rm -r ${old%/*}"
}

begun() { bench_sql -c "INSERT INTO results.steps VALUES ('$1', now(), '$(bench_load)')
    ON CONFLICT DO NOTHING" -q; }
is_done() { [[ $(bench_sql -c "SELECT done FROM results.steps WHERE figure = '$1'") == t ]]; }

make_tables() {
    [[ ! -e $WORK/tables ]] || return 0
    say "tables of $ROWS rows"
    bench_sql -q -c 'DROP SCHEMA IF EXISTS made, results CASCADE' \
        -c 'CREATE EXTENSION IF NOT EXISTS btree_gin SCHEMA public' \
        -c 'CREATE EXTENSION IF NOT EXISTS bloom SCHEMA public' \
        ${LSM3:+-c 'CREATE EXTENSION IF NOT EXISTS lsm3 SCHEMA public'} 2>/dev/null
    bench_sql -q -v rows="$ROWS" -v seed="$SEED" -f "$WORK/src/bench/compare/data.sql"
    bench_sql -q -v rows="$ROWS" -f "$WORK/src/bench/compare/measure.sql" \
        -f "$WORK/src/bench/compare/queries.sql"
    bench_sql -c "SELECT format('%s: %s rows a page', relname,
            round((reltuples / relpages)::numeric, 1))
        FROM pg_class WHERE oid IN ('made.wide'::regclass, 'made.narrow'::regclass)"
    bench_sql -q -c CHECKPOINT
    touch "$WORK/tables"
}

main() {
    local figure n=0
    echo "$BENCH_SOURCE" >"$WORK/source"
    bench_machine
    bench_sql -q -c 'ALTER DATABASE postgres SET search_path = made, public' \
        -c 'ALTER DATABASE postgres SET client_min_messages = warning'
    make_tables
    mkdir -p "$WORK/figures"
    for figure in "${FIGURES[@]}"; do
        n=$((n + 1))
        is_done "$figure" && continue
        say "figure $n of ${#FIGURES[@]}: $figure"
        begun "$figure"
        "step_$figure"
        "csv_$figure"
        bench_sql -q -c "UPDATE results.steps SET done = true WHERE figure = '$figure'"
        bench_sql -q -c CHECKPOINT
    done
    say 'done'
}

# Input files are lsm3's source.
inputs=() settings=()
if [[ -n $LSM3 ]]; then
    bench_build_more=build_lsm3
    settings=(shared_preload_libraries=lsm3 max_worker_processes=32)
fi

build_lsm3() {
    make -C "$WORK/input" -s USE_PGXS=1 PG_CONFIG="$PG_CONFIG" with_llvm=no install \
        >"$WORK/log/lsm3" 2>&1 || { show_log "$WORK/log/lsm3" 40; die 'lsm3 could not be built'; }
}

[[ -n ${BENCH_WORK:-} ]] || check_source
[[ -z $OUT ]] || export BENCH_OUT=$OUT

[[ -z $LSM3 || -n ${BENCH_WORK:-} ]] ||
    for file in "$LSM3"/{Makefile,*.[ch],*.sql,*.control}; do inputs+=(-i "$file"); done
bench_run -p gnuplot "${inputs[@]}" "${settings[@]}" \
    max_wal_size=16GB checkpoint_timeout=1h autovacuum=on jit=off \
    maintenance_work_mem=256MB max_parallel_maintenance_workers=0 synchronize_seqscans=off \
    -- --rows "$MILLIONS" --seed "$SEED" ${ONLY:+--only "$ONLY"} ${LIST:+--columns "$LIST"} \
    ${LSM3:+--lsm3 "$LSM3"}
