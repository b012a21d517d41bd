#!/usr/bin/env bash
# What CREATE INDEX costs: time beside btree and BRIN, and memory; "run" by default options, "filter"
# with storage = filter, which has no parallel build.
#
#   bash bench/build.sh [MILLIONS [SEED [ROUNDS]]]
#
# Tables of MILLIONS (default 5) million rows, cached as far as the machine's memory allows: "narrow" with 185
# and "wide" with 35 rows a page of random int8, and "text", where keys cost most (a fifth of the rows).  Then, by btree
# and by default alone, "ordered", which has int8 in the order of the table, and "hosts", short strings.  Each
# round builds each index once, in turn.  "serial" means max_parallel_maintenance_workers = 0; "parallel" one
# worker beside the leader.  Times are ratios of medians of the same run, by the clock and by the CPU time of all
# processes of the build.  Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

MILLIONS=${1:-5}
SEED=${2:-1}
ROUNDS=${3:-3}
ROWS=$((MILLIONS * 1000000))

# Name: workers, index.
CASE_btree='0 USING btree (k)'
CASE_btree_par='1 USING btree (k)'
CASE_brin='0 USING brin (k) WITH (pages_per_range = 32)'
CASE_run='0 USING rencoder (k)'
CASE_run_par='1 USING rencoder (k)'
CASE_filter='0 USING rencoder (k) WITH (storage = filter)'

make_tables() {
    bench_sql -q <<SQL
CREATE TABLE results (tab text, what text, ms numeric, cpu_ms numeric, anon_kb int, processes int);
BEGIN;
CREATE TABLE narrow (k int8, n int4) WITH (parallel_workers = 1);
INSERT INTO narrow SELECT hashint8extended(i, $SEED), i FROM generate_series(1, $ROWS) AS i;
CREATE TABLE wide (k int8, filler text) WITH (parallel_workers = 1);
ALTER TABLE wide ALTER filler SET STORAGE plain;
INSERT INTO wide SELECT hashint8extended(i, $SEED), repeat('x', 188) FROM generate_series(1, $ROWS) AS i;
CREATE TABLE text (k text COLLATE "C") WITH (parallel_workers = 1);
INSERT INTO text SELECT 'https://www.example.com/' || md5((i + $SEED)::text) FROM generate_series(1, $ROWS / 5) AS i;
CREATE TABLE ordered (k int8, n int4);
INSERT INTO ordered SELECT i, i FROM generate_series(1, $ROWS) AS i;
CREATE TABLE hosts (k text COLLATE "C");
INSERT INTO hosts SELECT left(translate(md5((i + $SEED)::text), '0123456789abcdef', 'eeeaaoottinnsrhl'), 8 + (i & 7)::int)
    || ('{.com,.com,.org,.net,.info}'::text[])[1 + i % 5] FROM generate_series(1, $ROWS) AS i;
COMMIT;
VACUUM (FREEZE, ANALYZE) narrow, wide, text, ordered, hosts;
-- CPU time of the postmaster's children that have ended: of a session and its workers.
CREATE FUNCTION children_cpu_ms() RETURNS numeric LANGUAGE sql AS \$\$
    SELECT (f[14]::numeric + f[15]::numeric) * 10
    FROM regexp_split_to_array(regexp_replace(pg_read_file(
        '/proc/' || (SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)) || '/stat', 0, 2000), '.*\) ', ''), ' ') AS f
\$\$;
SELECT format('%s: %s pages, %s rows a page', t, relpages, round(reltuples / relpages))
FROM unnest('{narrow,wide,text,ordered,hosts}'::regclass[]) AS t, pg_class WHERE pg_class.oid = t;
SQL
}

# The greatest sum of private memory (RssAnon, kB) of a session and its workers; shared buffers do not
# count.  Looks often enough to see a block of a matrix, which takes a tenth of a second.
watch_memory() { # FILE WITH THE PID, OUTPUT
    local most=0 sum pid
    until [[ -s $1 ]]; do sleep 0.01; done
    pid=$(<"$1")
    while [[ -e /proc/$pid ]]; do
        # shellcheck disable=SC2046  # paths without blanks
        sum=$(cat "/proc/$pid/status" $(worker_files "$pid") 2>/dev/null | awk '$1 == "RssAnon:" { n += $2 } END { print n + 0 }') || true
        ((${sum:-0} <= most)) || most=$sum
        echo "$most" >"$2"
        sleep 0.05
    done
}

worker_files() {
    grep -las "parallel worker for PID $1" /proc/[0-9]*/cmdline | sed 's/cmdline$/status/' || true
}

build_once() { # TABLE CASE KEEP; a session of its own, so that its memory is that of the build
    local tab=$1 what=$2 keep=${3:-yes} case=CASE_$2 cpu ms watcher
    rm -f "$WORK/pid" "$WORK/memory"
    bench_sql -q -c CHECKPOINT
    watch_memory "$WORK/pid" "$WORK/memory" &
    watcher=$!
    cpu=$(bench_sql -c 'SELECT children_cpu_ms()')
    ms=$(bench_sql -q 2>"$WORK/messages" <<SQL
SELECT pg_backend_pid() \g $WORK/pid
SET max_parallel_maintenance_workers = ${!case%% *};
SET client_min_messages = debug1;
SELECT clock_timestamp() AS start \gset
CREATE INDEX tested ON $tab ${!case#* };
SELECT extract(epoch FROM clock_timestamp() - :'start') * 1000;
SQL
)
    wait "$watcher"
    # The session is reaped by the postmaster some moments after psql has gone.
    sleep 0.2
    cpu=$(bench_sql -c "SELECT children_cpu_ms() - $cpu")
    if [[ $keep == yes ]]; then
        bench_sql -q -c "INSERT INTO results VALUES ('$tab', '$what', $ms, $cpu, $(<"$WORK/memory"),
            $(grep -c 'this process has read' "$WORK/messages" || true))"
    fi
    [[ $what == btree* || $what == brin ]] || bench_sql -q -c "SELECT rencoder_index_check('tested', true)" >/dev/null
    bench_sql -q -c 'DROP INDEX tested' 2>/dev/null
}

median() { # TABLE CASE EXPRESSION
    bench_sql -c "SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ($3)::numeric)::numeric, 3) FROM results WHERE (tab, what) = ('$1', '$2')"
}

ratio() { # TABLE CASE CASE COLUMN
    awk -v a="$(median "$1" "$2" "$4")" -v b="$(median "$1" "$3" "$4")" 'BEGIN { printf "%.2f", a / b }'
}

report() { # TABLE
    local what
    for what in btree btree_par brin run run_par filter; do
        printf '  %-7s %-13s %7.0f ms  CPU %7.0f ms  private memory %6.0f kB\n' "$1" "$what" \
            "$(median "$1" "$what" ms)" "$(median "$1" "$what" cpu_ms)" "$(median "$1" "$what" anon_kb)"
    done
    printf '  %-7s run / btree %s (CPU %s), btree / filter %s (CPU %s), filter / BRIN %s (CPU %s), serial / parallel run %s\n' \
        "$1" "$(ratio "$1" run btree ms)" "$(ratio "$1" run btree cpu_ms)" \
        "$(ratio "$1" btree filter ms)" "$(ratio "$1" btree filter cpu_ms)" \
        "$(ratio "$1" filter brin ms)" "$(ratio "$1" filter brin cpu_ms)" "$(ratio "$1" run run_par ms)"
}

main() {
    local tab what round
    bench_machine
    echo "Seed: $SEED.  $MILLIONS million rows; medians of $ROUNDS."
    make_tables
    for tab in narrow wide text; do
        build_once "$tab" brin warm
        for ((round = 0; round < ROUNDS; round++)); do
            for what in btree btree_par brin run run_par filter; do build_once "$tab" "$what"; done
        done
        report "$tab"
    done
    for tab in ordered hosts; do
        for ((round = 0; round <= ROUNDS; round++)); do
            for what in btree run; do build_once "$tab" "$what" "$( ((round > 0)) && echo yes || echo warm)"; done
        done
        printf '  %-7s run / btree %s (CPU %s)\n' "$tab" "$(ratio "$tab" run btree ms)" "$(ratio "$tab" run btree cpu_ms)"
    done
    bench_numbers "WITH r AS (SELECT row_number() OVER (PARTITION BY tab, what) AS round, * FROM results),
            m AS (SELECT tab, what, percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu_ms) AS cpu, min(cpu_ms) AS least, max(cpu_ms) AS most
                FROM r GROUP BY tab, what)
        SELECT replace(tab, 'text', 'urls'), CASE what WHEN 'run' THEN 'rencoder' WHEN 'run_par' THEN 'rencoder, two processes'
            WHEN 'btree_par' THEN 'btree, two processes' ELSE what END || ', CPU', cpu, 'ms', least, most, $ROUNDS FROM m
        UNION ALL SELECT replace(tab, 'text', 'urls'), CASE a.what WHEN 'run' THEN 'rencoder' ELSE 'filter' END || ', CPU, times the btree''s',
            a.cpu / b.cpu, 'times', (SELECT min(x.cpu_ms / y.cpu_ms) FROM r x JOIN r y USING (tab, round)
                WHERE (x.tab, x.what, y.what) = (a.tab, a.what, 'btree')),
            (SELECT max(x.cpu_ms / y.cpu_ms) FROM r x JOIN r y USING (tab, round)
                WHERE (x.tab, x.what, y.what) = (a.tab, a.what, 'btree')), $ROUNDS
        FROM m a JOIN m b USING (tab) WHERE a.what IN ('run', 'filter') AND b.what = 'btree' ORDER BY 1, 2"
    bench_limit 'narrow: time of a btree / filters (CPU)' "$(ratio narrow btree filter cpu_ms)" '>=' 3
    for tab in narrow wide text; do
        bench_limit "$tab: time of runs / btree (CPU)" "$(ratio "$tab" run btree cpu_ms)" '<=' 0.5
    done
    for tab in narrow wide; do
        bench_limit "$tab: time of filters / BRIN minmax (CPU)" "$(ratio "$tab" filter brin cpu_ms)" '<=' 2.5
        bench_limit "$tab: private memory of filters beyond BRIN's, MB" \
            "$(awk -v a="$(median "$tab" filter anon_kb)" -v b="$(median "$tab" brin anon_kb)" 'BEGIN { printf "%.1f", (a - b) / 1024 }')" '<=' 64
    done
    bench_limit 'text: time of a serial build / parallel, of runs' "$(ratio text run run_par ms)" '>=' 1.6
    bench_limit 'text: processes of a parallel build' "$(median text run_par processes)" '>=' 2
    bench_finish
}

bench_run max_wal_size=16GB checkpoint_timeout=1h autovacuum=off maintenance_work_mem=64MB -- "$MILLIONS" "$SEED" "$ROUNDS"
