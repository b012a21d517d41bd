#!/usr/bin/env bash
# A year of a table in use, in an hour: does anything of the index rise from month to month, beside a btree?
#
#   bash bench/year.sh [SECONDS [SEED]]
#   YEAR_SECONDS=N bash bench/year.sh
#
# SECONDS (default $YEAR_SECONDS, or 3600; 259200 are 72 hours, 240 will do to try the script): 12
# months of four weeks.  Two tables get the same rows and changes, one with a rencoder index on a random int8,
# one with a btree; 400 rows a second of the run live in each (240,000 to 4 million), and a month brings a twelfth
# of them:
#
#   - half of these at once, the others one by one by pgbench, beside updates of random rows that change the key
#     and as many HOT ones, half as many of each as single rows
#   - at the end of each week a crash (pg_ctl stop -m immediate)
#   - once a month a partition of a 48th of the rows that is attached, asked and dropped
#   - retention: the oldest rows go, as many as have come; then VACUUM, and a checkpoint
#
# A standby replays all of it.  On both, a session asks all the time, 1,000 values or an interval, by the index and by
# a sequential scan in one statement.  After each month it notes what stands in bench/README.md.  At last all
# indexes are checked, on the standby, too.  Ends with exit code 1 if an answer is wrong or an index unsound; lines
# that rise are named, and do not fail it.  BENCH_OUT is where figures go, instead of bench/results and docs.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

LENGTH=${1:-${YEAR_SECONDS:-3600}}
SEED=${2:-1}
ROWS=$((LENGTH * 400 < 240000 ? 240000 : LENGTH * 400 > 4000000 ? 4000000 : LENGTH * 400))
BULK=$((ROWS / 24))
WEEKS=4
RESERVE=9                       # seconds that the end of a month takes, as the last one did
COUNTED=0                       # maintenance_wal when it was noted last
SINCE=                          # the WAL is noted up to here

# ---- Servers ----

start_primary() {
    "$(bench_bin)/pg_ctl" -D "$WORK/data" -w -s -l "$WORK/log/server" start || { show_log "$WORK/log/server" 20; die 'the server did not start'; }
}

on_standby() { PGHOST=$WORK/sock_standby bench_sql "$@"; }

standby_catches_up() {
    local lsn i
    lsn=$(bench_value 'pg_current_wal_flush_lsn()')
    for ((i = 0; i < 600; i++)); do
        [[ $(on_standby -c "SELECT pg_last_wal_replay_lsn() >= '$lsn'") == t ]] && return
        sleep 0.2
    done
    die 'the standby did not catch up'
}

# ---- What goes on all the time ----

# asker HOST FILE: compares until the run is over, with pauses of four times as long; a line each.
asker() {
    local begun
    while [[ -e $WORK/run ]]; do
        begun=$(date +%s%N)
        PGHOST=$1 bench_sql -F ' ' -c 'SELECT * FROM compare()' >>"$WORK/$2" 2>>"$WORK/log/$2" || sleep 0.2
        sleep "$((($(date +%s%N) - begun) * 4 / 1000000))e-3"
    done
}

# The worker comes and goes: notes what each of its processes has used, "pid start ticks".
worker_watch() {
    local server file pid
    while [[ -e $WORK/run ]]; do
        server=$(head -n 1 "$WORK/data/postmaster.pid" 2>/dev/null || echo none)
        while read -r file; do
            pid=${file#/proc/} pid=${pid%/*}
            awk -v server="$server" -v pid="$pid" '{ sub(/.*\) /, "") } $2 == server { print pid, $20, $12 + $13 }' \
                "/proc/$pid/stat" 2>/dev/null || true
        done < <(grep -lsa 'rencoder worker' /proc/[0-9]*/cmdline) >>"$WORK/worker"
        sleep 0.3
    done
}

# CPU seconds of the worker so far.
worker_cpu() { awk '{ used[$1 " " $2] = $3 } END { for (p in used) n += used[p]; print n / 100 }' "$WORK/worker"; }

# ---- What is noted ----

# Notes the WAL since the last time; with "skip" that of partitions that come and go is not noted.
note_wal() { # MONTH [skip]
    local bytes
    bytes=$(bench_value "maintenance_wal FROM rencoder_index_stats('year_r_0_v_idx')")
    [[ -n ${2:-} ]] || bench_sql -q -c "SELECT note_wal($1, '$SINCE') WHERE pg_current_wal_flush_lsn() > '$SINCE'" \
        -c "INSERT INTO maintenance VALUES ($1, $bytes - $COUNTED)" >/dev/null
    SINCE=$(bench_value 'pg_current_wal_flush_lsn()') COUNTED=$bytes
}

# The counts of the index are not logged: a crash takes them back to the last checkpoint.
crash() { # MONTH
    note_wal "$1"
    "$(bench_bin)/pg_ctl" -D "$WORK/data" -m immediate -w -s stop
    start_primary
    # Not from before the crash, which may have torn a record.
    SINCE=$(bench_value 'pg_current_wal_flush_lsn()')
    COUNTED=$(bench_value "maintenance_wal FROM rencoder_index_stats('year_r_0_v_idx')")
}

note() { # MONTH PANEL SERIES VALUE
    bench_sql -q -c "INSERT INTO figures VALUES ($1, '$2', '$3', $4)"
}

# ---- A month ----

# pgbench's transactions of a script.
done_of() { awk -v script="$1" '/^SQL script/ { this = $NF } this ~ script && $3 == "transactions" { print $2; exit }' "$WORK/log/pgbench"; }

# A fixed number of transactions, at the rate that takes so many seconds; in the last week queries for fresh rows.
week() { # MONTH WEEK SECONDS
    local clients n=$((ROWS / 96))
    (cd "$WORK" && PGOPTIONS='-c enable_seqscan=off -c synchronous_commit=off' pgbench -n -M prepared -c 2 -j 1 -t "$n" -R "$((2 * n / $3))" \
        --random-seed="$((SEED * 1000 + $1 * 10 + $2))" -f one.sql@2 -f key.sql@1 -f hot.sql@1 postgres) >"$WORK/log/pgbench" 2>&1 &
    clients=$!
    if (($2 == WEEKS)); then
        sleep "$((($3 + 1) / 2))"
        bench_sql -q -c "CALL note_pages($1, 'fresh', 200)"
    fi
    wait "$clients" || { show_log "$WORK/log/pgbench" 20; die 'pgbench failed'; }
    bench_sql -q -c "INSERT INTO writes VALUES ($1, $(($(done_of one.sql) + $(done_of key.sql))))"
    crash "$1"
}

# CPU seconds of VACUUM.
vacuum() { # MONTH TABLE SERIES
    local cpu
    mapfile -t cpu < <(bench_sql -q -c 'SELECT bench_cpu()' -c "VACUUM (ANALYZE) $2" -c 'SELECT bench_cpu()')
    note "$1" 'CPU s a month' "VACUUM, $3" "(${cpu[1]} - ${cpu[0]}) / 1e6"
}

# One that comes and goes.
partition() { # MONTH
    note_wal "$1"
    bench_sql -q -c "CALL add_part(1, $((ROWS / 48)))"
    bench_sql -F ' ' -c 'SELECT * FROM compare()' >>"$WORK/asked"
    bench_sql -q -c 'DROP TABLE year_r_1, year_b_1'
    note_wal "$1" skip
}

month() { # MONTH DEADLINE
    local week left begun cpu
    cpu=$(worker_cpu)
    bench_sql -q -c "SELECT come($BULK)" -c "INSERT INTO writes VALUES ($1, $BULK)" >/dev/null
    for ((week = 1; week <= WEEKS; week++)); do
        left=$((($2 - RESERVE - $(date +%s)) / (WEEKS + 1 - week)))
        week "$1" "$week" "$((left > 3 ? left - 1 : 2))"
    done
    begun=$(date +%s)
    partition "$1"
    bench_sql -q -c "SELECT retain($ROWS)" >/dev/null
    # So that no snapshot, here or on the standby, still needs the rows.
    sleep 3
    vacuum "$1" year_r_0 rencoder
    vacuum "$1" year_b_0 btree
    sleep 3
    note_wal "$1"
    # Without it each crash would take back what VACUUM has told of free space, as no real month does.
    bench_sql -q -c CHECKPOINT
    bench_sql -q -c "CALL note_pages($1, 'absent', 200)" -c "CALL note_pages($1, 'present', 200)" -c "CALL note_month($1)"
    note "$1" 'CPU s a month' worker "$(worker_cpu) - $cpu"
    RESERVE=$(($(date +%s) - begun))
    bench_sql -c "SELECT format('month %2s: rencoder %s MB, %s bits a row; btree %s MB, %s bits', $1, $(figure 'MB of the index' rencoder),
        $(figure 'bits a live row' rencoder), $(figure 'MB of the index' btree), $(figure 'bits a live row' btree))
        FROM figures WHERE month = $1"
}

figure() { echo "max(round(value::numeric, 1)) FILTER (WHERE panel = '$1' AND series = '$2')"; }

# ---- At last ----

make_objects() {
    bench_cpu_clock
    bench_sql -q -f "$bench_root/bench/year.sql"
    bench_sql -q -c "CALL add_part(0, $ROWS)" -c 'VACUUM ANALYZE'
    echo 'SELECT come(1)' >"$WORK/one.sql"
    echo 'SELECT change(false)' >"$WORK/key.sql"
    echo 'SELECT change(true)' >"$WORK/hot.sql"
    [[ $(bench_value 'plans_are_right()') == t ]] || die 'a compare would not read the index, or not the table'
}

# The figures, month by month, and whether each line rises.
report() {
    local panel
    for panel in 'MB of the index' 'bits a live row' 'MB of the table' 'pages, absent' 'pages, present' 'pages, fresh' \
        'index pages, absent' 'index pages, present' 'index pages, fresh' 'WAL a row' 'CPU s a month' runs; do
        echo "$panel, months 1 to 12"
        bench_sql -F ' ' -c "SELECT format('  %-18s %s', series, string_agg(lpad(round(value::numeric, CASE WHEN value < 100 THEN 1 ELSE 0 END)::text, 6), ' ' ORDER BY month))
            FROM figures WHERE panel = '$panel' GROUP BY series ORDER BY series DESC"
    done
    echo 'Does it rise?  10 times the slope of months 2 to 12, against a tenth of the mean of months 2 and 3'
    bench_sql -F ' ' -c "SELECT format('  %-22s %-18s %9s, month 12 %9s, slope x 10 %9s (%s %%)  %s', panel, series, round(early::numeric, 2),
        round(month12::numeric, 2), round(rise::numeric, 2), round((100 * rise / nullif(early, 0))::numeric), verdict) FROM verdicts ORDER BY panel, series DESC"
}

answers() { awk -v field="$1" '{ n += field == 0 ? 1 : $field } END { print n + 0 }' "$WORK/asked" "$WORK/asked_standby"; }

check() {
    local errors
    echo "Compares: $(answers 0), $(wc -l <"$WORK/asked_standby") of them on the standby; of $(answers 1) values and intervals, which have $(answers 2) rows"
    bench_limit 'answers compared' "$(answers 0)" '>=' "$((LENGTH / 10))"
    bench_limit 'answers compared on the standby' "$(wc -l <"$WORK/asked_standby")" '>=' "$((LENGTH / 20))"
    bench_limit 'wrong answers' "$(answers 3)" '<=' 0
    bench_limit 'rows that one table has and the other has not' \
        "$(bench_value "count(*) FROM (SELECT id, v, n FROM year_r) AS r FULL JOIN (SELECT id, v, n FROM year_b) AS b USING (id, v, n)
            WHERE r IS NULL OR b IS NULL")" '<=' 0
    standby_catches_up
    bench_limit 'indexes sound, with all rows: primary' \
        "$(bench_sql -q -c "SELECT count(*) FROM (SELECT rencoder_index_check('year_r_0_v_idx', true) OFFSET 0) AS c" || true)" '>=' 1
    bench_limit 'indexes sound, with all rows: standby' \
        "$(on_standby -q -c "SELECT count(*) FROM (SELECT rencoder_index_check('year_r_0_v_idx', true) OFFSET 0) AS c" || true)" '>=' 1
    errors=$(cat "$WORK/log/server" "$WORK/log/standby" | grep -cE ' (ERROR|PANIC):|TRAP:|terminated by signal' || true)
    ((errors == 0)) || grep -hE ' (ERROR|PANIC):|TRAP:|terminated by signal' -A2 "$WORK/log/server" "$WORK/log/standby" | head -n 20
    bench_limit "errors in the servers' logs" "$errors" '<=' 0
}

# What the first process does with the figures, when all of them are there.
take_year() {
    local to=${BENCH_OUT:-}
    [[ -e $WORK/figures/year.svg ]] || return 0
    [[ -z $to ]] || mkdir -p "$to"
    cp "$WORK/figures/year.csv" "${to:-$bench_root/bench/results/figures}/"
    grep -v '^number:' "$WORK/figures/year.txt" >"${to:-$bench_root/bench/results}/year.txt"
    cp "$WORK/figures/year.svg" "${to:-$bench_root/docs}/"
}
bench_at_end=take_year

main() {
    local month pids begun
    bench_machine
    echo "12 months in $LENGTH seconds; $ROWS rows live in each table, seed $SEED; rencoder $BENCH_COMMIT"
    trap 'rm -f "$WORK/run"; stop_clusters' EXIT
    make_objects
    bench_make_standby 'wal_retrieve_retry_interval = 500ms' 'wal_keep_size = 0'
    touch "$WORK/run" "$WORK/worker" "$WORK/asked" "$WORK/asked_standby"
    asker "$PGHOST" asked & pids=$!
    asker "$WORK/sock_standby" asked_standby & pids+=" $!"
    worker_watch & pids+=" $!"
    SINCE=$(bench_value 'pg_current_wal_flush_lsn()')
    COUNTED=$(bench_value "maintenance_wal FROM rencoder_index_stats('year_r_0_v_idx')")
    begun=$(date +%s)
    for ((month = 1; month <= 12; month++)); do
        month "$month" "$((begun + month * LENGTH / 12))"
    done
    echo "The year took $(($(date +%s) - begun)) s, with $((12 * WEEKS)) crashes."
    rm "$WORK/run"
    # shellcheck disable=SC2086
    wait $pids
    report
    bench_numbers "SELECT panel, v.* FROM (SELECT panel, series, max(value) FILTER (WHERE month = 12) AS last, min(value) FILTER (WHERE month > 3) AS least,
                max(value) FILTER (WHERE month > 3) AS most, CASE WHEN panel LIKE 'MB%' THEN 'MB' WHEN panel LIKE 'bits%' THEN 'bits' WHEN panel LIKE '%pages%' THEN 'pages'
                WHEN panel LIKE 'WAL%' THEN 'bytes' WHEN panel LIKE 'CPU%' THEN 's' ELSE 'runs' END AS unit FROM figures GROUP BY panel, series) AS f,
            LATERAL (VALUES (series || ', month 12', last, unit, NULL::numeric, NULL::numeric, 1),
            (series || ', months 4 to 12: least', least, unit, NULL, NULL, 9), (series || ', months 4 to 12: most', most, unit, NULL, NULL, 9)) AS v ORDER BY 1, 2"
    bench_numbers "SELECT 'answers compared', 'all', $(answers 0), 'answers', NULL, NULL, 1 UNION ALL SELECT 'rows that live', 'all', $ROWS, 'rows', NULL, NULL, 1"
    bench_csv year 'A simulated year; month, what, of which index, value' "bash bench/year.sh $LENGTH $SEED" \
        'SELECT * FROM figures ORDER BY panel, series, month'
    awk -f "$bench_root/bench/lib/panels.awk" "$WORK/figures/year.csv" >"$WORK/figures/year.svg"
    check
    bench_finish
}

# What main prints goes to a file, too.
if [[ -n ${BENCH_WORK:-} ]]; then
    mkdir -p "$BENCH_WORK/figures"
    exec > >(tee "$BENCH_WORK/figures/year.txt")
fi
bench_run max_wal_size=4GB wal_keep_size=8GB autovacuum=on autovacuum_naptime=15s jit=off -- "$LENGTH" "$SEED"

