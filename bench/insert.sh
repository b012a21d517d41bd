#!/usr/bin/env bash
# What an index costs those who write: time and WAL of COPY, rate of single-row inserts, rate and WAL of
# random updates.
#
#   bash bench/insert.sh [MILLIONS [SEED [ROUNDS]]]
#
# COPY of 1 million random int8 into a table of MILLIONS (default 2) million rows, at 35 and at 185 rows a
# page, with no index, with rencoder (as it is by default, with a worker; automatic maintenance off; by
# the sessions themselves, because no worker can be had; filters alone), and with a btree.  pgbench inserts
# row by row, without an index, with BRIN minmax and with rencoder, while nobody reads and while 50 queries a
# second ask for values, and updates the indexed column of random rows, with rencoder, with filters and with a
# btree.  ROUNDS (default 5) of each; all limits are for ratios between cases of the same run.  Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

MILLIONS=${1:-2}
SEED=${2:-1}
ROUNDS=${3:-5}
SINGLE_ROUNDS=$ROUNDS
SINGLE_SECONDS=4
UPDATE_ROWS=500000
UPDATE_ROUNDS=$ROUNDS
UPDATES=20000
INDEX_none=''
INDEX_worker='USING rencoder (id)'
INDEX_off='USING rencoder (id) WITH (autosummarize = off)'
INDEX_inline=$INDEX_worker
INDEX_filter='USING rencoder (id) WITH (storage = filter)'
INDEX_btree='USING btree (id)'

# 44 bytes with the line pointer make 185 rows a page; a filler of 188 more, 35.
make_tables() {
    bench_sql -q <<SQL
CREATE TABLE wide (id int8, n int4, filler text);
ALTER TABLE wide ALTER filler SET STORAGE plain;
CREATE TABLE narrow (id int8, n int4);
CREATE TABLE results (tab text, what text, phase text, ms numeric, cpu_ms numeric, wal numeric, left_over int);
INSERT INTO wide SELECT hashint8extended(i, $SEED), i, repeat('x', 184) FROM generate_series(1, $MILLIONS * 1000000) AS i;
INSERT INTO narrow SELECT hashint8extended(i, $SEED), i FROM generate_series(1, $MILLIONS * 1000000) AS i;
VACUUM (FREEZE, ANALYZE) wide, narrow;
COPY (SELECT hashint8extended(i, $SEED), i, repeat('x', 184) FROM generate_series(-999999, 0) AS i) TO '$WORK/wide.copy';
COPY (SELECT hashint8extended(i, $SEED), i FROM generate_series(-999999, 0) AS i) TO '$WORK/narrow.copy';
-- Of this session's process; the kernel counts in hundredths of a second.
CREATE FUNCTION cpu_ms() RETURNS numeric LANGUAGE sql AS \$\$
    SELECT (f[12]::numeric + f[13]::numeric) * 10
    FROM regexp_split_to_array(regexp_replace(pg_read_file('/proc/self/stat', 0, 2000), '.*\) ', ''), ' ') AS f
\$\$;
CREATE FUNCTION worker_is_busy(index regclass) RETURNS bool LANGUAGE sql AS \$\$
    SELECT unindexed >= 16 OR EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'rencoder worker' AND state <> 'idle')
    FROM rencoder_candidates(index, 0::int8, 0::int8)
\$\$;
SELECT format('%s: %s rows a page', t, round(reltuples / relpages)) FROM unnest('{wide,narrow}'::regclass[]) AS t, pg_class WHERE pg_class.oid = t;
SQL
}

# Leaves buffers for the COPY that are free and that were used before, with or without an index.  Else the index
# takes those that the last VACUUM set free, and the COPY pays for memory that the system never gave out yet.
give_buffers() {
    bench_sql -q -c "CREATE UNLOGGED TABLE spare AS SELECT i, repeat('x', 184) FROM generate_series(1, 1300000) AS i" -c 'DROP TABLE spare'
}

# One COPY; keeps the time, the WAL (all of it, until the worker is done) and how many pages were
# unindexed when it ended.  The rows are taken away again, with the pages they made.
copy_once() {
    local tab=$1 what=$2 phase=$3 check=${4:-0} index=INDEX_$2 left=0 lsn times
    # No checkpoint between CREATE INDEX and COPY: page images depend on how often there is one.
    bench_sql -q -c 'CHECKPOINT'
    [[ -z ${!index} ]] || bench_sql -q -c "CREATE INDEX tested ON $tab ${!index}"
    give_buffers
    lsn=$(bench_sql -c 'SELECT pg_current_wal_insert_lsn()')
    times=$(bench_sql -q <<SQL
SELECT clock_timestamp() AS start, cpu_ms() AS cpu \gset
COPY $tab FROM '$WORK/$tab.copy';
SELECT format('%s, %s', extract(epoch FROM clock_timestamp() - :'start') * 1000, cpu_ms() - :'cpu');
SQL
)
    if [[ ${!index} == *rencoder* ]]; then
        left=$(bench_sql -c "SELECT unindexed FROM rencoder_candidates('tested', 0::int8, 0::int8)")
        [[ $what == off || $what == inline ]] || wait_for_worker
    fi
    bench_sql -q -c "INSERT INTO results SELECT '$tab', '$what', '$phase', $times, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$lsn'), $left"
    if [[ ${!index} == *rencoder* && $check == 1 ]]; then
        bench_sql -q -c "SELECT rencoder_index_check('tested', true)" >/dev/null
    fi
    bench_sql -q -c 'DROP INDEX IF EXISTS tested' -c "DELETE FROM $tab WHERE n <= 0" -c "VACUUM $tab" 2>/dev/null
}

wait_for_worker() {
    local i
    for ((i = 0; i < 100; i++)); do
        [[ $(bench_sql -c "SELECT worker_is_busy('tested')") == t ]] || return 0
        sleep 0.1
    done
    die 'the worker does not come to an end'
}

# All cases of a server with or without workers, in turn, after a round that does not count.
copy_rounds() {
    local phase=$1 round tab what
    shift
    for tab in wide narrow; do
        copy_once "$tab" none warm
        for ((round = 0; round < ROUNDS; round++)); do
            # In turn: what comes first has the cache as VACUUM leaves it.
            for what in "$@"; do copy_once "$tab" "$what" "$phase" "$((round == 0))"; done
            set -- "${@:2}" "$1"
        done
    done
}

median() { # TABLE CASE PHASE COLUMN
    bench_sql -c "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY $4) FROM results WHERE (tab, what, phase) = ('$1', '$2', '$3')"
}

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }

report_copy() { # TABLE CASE PHASE; prints the ratio to no index
    local none ms wal
    none=$(median "$1" none "$3" ms)
    ms=$(median "$1" "$2" "$3" ms)
    wal=$(ratio "$(median "$1" "$2" "$3" wal)" "$(median "$1" none "$3" wal)")
    printf '  %-8s %-8s %6.0f ms (no index %6.0f)  rate %s  (by CPU time of the session %s)  WAL %s  left at the end: %s pages\n' \
        "$1" "$2" "$ms" "$none" "$(ratio "$none" "$ms")" \
        "$(ratio "$(median "$1" none "$3" cpu_ms)" "$(median "$1" "$2" "$3" cpu_ms)")" \
        "$wal" "$(median "$1" "$2" "$3" left_over)"
}

limit_copy() { # TABLE CASE PHASE RATE-LIMIT WAL-LIMIT
    bench_limit "  $1, $2: rows/s, times no index" \
        "$(ratio "$(median "$1" none "$3" ms)" "$(median "$1" "$2" "$3" ms)")" '>=' "$4"
    bench_limit "  $1, $2: WAL, times no index" \
        "$(ratio "$(median "$1" "$2" "$3" wal)" "$(median "$1" none "$3" wal)")" '<=' "$5"
}

# Row by row in prepared statements, two clients; commits do not wait, so that the index is not hidden
# behind the disk.
single_rows() {
    local round what
    for what in none brin rencoder; do
        bench_sql -q -c "CREATE TABLE single_$what (id int8, n int4, filler text)" -c "ALTER TABLE single_$what ALTER filler SET STORAGE plain"
        cat >"$WORK/$what.pgbench" <<SQL
\set n random_gaussian(-2000000000, 2000000000, 3)
INSERT INTO single_$what VALUES (:n * 4611686018::int8, :n, repeat('x', 184));
SQL
    done
    bench_sql -q <<'SQL'
CREATE INDEX ON single_brin USING brin (id) WITH (pages_per_range = 32);
CREATE INDEX single_rencoder_id ON single_rencoder USING rencoder (id) WITH (pages_per_range = 32);
CREATE TABLE rates (what text, round int, tps numeric);
SQL
    cat >"$WORK/reader.pgbench" <<'SQL'
\set n random_gaussian(-2000000000, 2000000000, 3)
SELECT count(filler) FROM single_rencoder WHERE id = :n * 4611686018::int8;
SQL
    # Round 0 is to warm up.
    for ((round = 0; round <= SINGLE_ROUNDS; round++)); do
        for what in none brin rencoder; do insert_singles "$what" "$what" "$round"; done
    done
    report_singles rencoder none 0.95
    report_singles rencoder brin 0.97
    # The same reader in both cases.
    for ((round = 0; round <= SINGLE_ROUNDS; round++)); do
        for what in none rencoder; do
            pgbench -n -M prepared -c 1 -R 50 -T 1000 -f "$WORK/reader.pgbench" postgres >"$WORK/log/reader" 2>&1 &
            insert_singles "$what" "$what, read" "$round"
            kill $!
            wait $! || true
        done
    done
    report_singles 'rencoder, read' 'none, read' 0.85
    bench_sql -q -c "SELECT rencoder_index_check('single_rencoder_id', true)" >/dev/null
}

insert_singles() { # TABLE CASE ROUND
    PGOPTIONS='-c synchronous_commit=off' pgbench -n -M prepared -c 2 -j 2 -T "$SINGLE_SECONDS" --random-seed=$((SEED + $3)) \
        -f "$WORK/$1.pgbench" postgres >"$WORK/log/pgbench" 2>&1 || { show_log "$WORK/log/pgbench" 20; die 'pgbench failed'; }
    (($3 == 0)) || bench_sql -q -c "INSERT INTO rates VALUES ('$2', $3, $(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$WORK/log/pgbench"))"
}

report_singles() { # CASE OTHER-CASE LIMIT
    bench_sql -c "SELECT format('  %s: %s rows/s, %s: %s', '$1', round(avg(tps) FILTER (WHERE what = '$1')), '$2', round(avg(tps) FILTER (WHERE what = '$2'))) FROM rates"
    bench_limit "  single rows, $1: rows/s, times those of $2" "$(bench_sql -c "SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY r.tps / b.tps)::numeric, 3)
        FROM rates AS r JOIN rates AS b USING (round) WHERE r.what = '$1' AND b.what = '$2'")" '>=' "$3"
}

# Updates of the indexed column of random rows; a run has their pages, where there is room for them.
# WAL without full page images, which depend on how often there is a checkpoint, and with them.
random_updates() {
    local round what pages
    bench_sql -q <<SQL
CREATE TABLE upd_rencoder (n int4, id int8) WITH (fillfactor = 80, autovacuum_enabled = off);
CREATE TABLE upd_filter (LIKE upd_rencoder) WITH (fillfactor = 80, autovacuum_enabled = off);
CREATE TABLE upd_btree (LIKE upd_rencoder) WITH (fillfactor = 80, autovacuum_enabled = off);
INSERT INTO upd_rencoder SELECT i, hashint8extended(i, $SEED) FROM generate_series(1, $UPDATE_ROWS) AS i;
INSERT INTO upd_filter TABLE upd_rencoder;
INSERT INTO upd_btree TABLE upd_rencoder;
CREATE UNIQUE INDEX ON upd_rencoder (n);
CREATE UNIQUE INDEX ON upd_filter (n);
CREATE UNIQUE INDEX ON upd_btree (n);
CREATE INDEX upd_rencoder_id ON upd_rencoder USING rencoder (id);
CREATE INDEX upd_filter_id ON upd_filter USING rencoder (id) WITH (storage = filter);
CREATE INDEX upd_btree_id ON upd_btree USING btree (id);
CREATE TABLE updates (what text, round int, pages text, tps numeric, wal numeric);
SQL
    for what in btree rencoder filter; do
        cat >"$WORK/$what.pgbench" <<SQL
\set n random(1, $UPDATE_ROWS)
\set id random(0, 9000000000000000000)
UPDATE upd_$what SET id = :id WHERE n = :n;
SQL
    done
    for ((round = 0; round <= 2 * UPDATE_ROUNDS; round++)); do
        # Round 0 is to warm up.
        if ((round <= UPDATE_ROUNDS)); then pages=off; else pages=on; fi
        bench_sql -q -c "ALTER SYSTEM SET full_page_writes = $pages" -c 'SELECT pg_reload_conf()' >/dev/null
        for what in btree rencoder filter; do update_once "$what" "$round" "$pages"; done
    done
    bench_sql -q -c 'ALTER SYSTEM RESET full_page_writes' -c 'SELECT pg_reload_conf()' >/dev/null
    bench_sql -c "SELECT format('  %s, full page images %s: %s updates/s, %s bytes of WAL each', what, pages, round(avg(tps)), round(avg(wal))) FROM updates GROUP BY pages, what ORDER BY pages, what"
    bench_limit '  random updates: rows/s, times btree' "$(update_ratio 'r.tps / b.tps' off)" '>=' 1.0
    bench_limit '  random updates: WAL, times btree' "$(update_ratio 'r.wal / b.wal' off)" '<=' 1.0
    bench_limit '  random updates after a checkpoint: WAL, times btree' "$(update_ratio 'r.wal / b.wal' on)" '<=' 1.0
    bench_sql -q -c "SELECT rencoder_index_check('upd_rencoder_id', true), rencoder_index_check('upd_filter_id', true)" >/dev/null
}

update_once() { # CASE ROUND FULL-PAGE-IMAGES
    local lsn
    bench_sql -q -c "VACUUM upd_$1" -c CHECKPOINT
    lsn=$(bench_sql -c 'SELECT pg_current_wal_insert_lsn()')
    PGOPTIONS='-c synchronous_commit=off' pgbench -n -M prepared -c 2 -j 2 -t "$UPDATES" --random-seed=$((SEED + $2)) \
        -f "$WORK/$1.pgbench" postgres >"$WORK/log/pgbench" 2>&1 || { show_log "$WORK/log/pgbench" 20; die 'pgbench failed'; }
    (($2 == 0)) || bench_sql -q -c "INSERT INTO updates VALUES ('$1', $2, '$3', $(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$WORK/log/pgbench"),
        pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$lsn') / (2.0 * $UPDATES))"
}

update_ratio() { # EXPRESSION FULL-PAGE-IMAGES
    bench_sql -c "SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY $1)::numeric, 3)
        FROM updates AS r JOIN updates AS b USING (round) WHERE r.what = 'filter' AND b.what = 'btree' AND r.pages = '$2' AND b.pages = '$2'"
}

# What the texts tell.
told() {
    bench_numbers "WITH r AS (SELECT row_number() OVER (PARTITION BY tab, what, phase) AS round, * FROM results WHERE phase <> 'warm'),
            m AS (SELECT tab, phase, what, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms, min(ms) AS least, max(ms) AS most,
                percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu_ms) AS cpu,
                percentile_cont(0.5) WITHIN GROUP (ORDER BY wal) AS wal FROM r GROUP BY 1, 2, 3),
            p AS (SELECT a.tab, a.phase, a.what, min(n.ms / a.ms) AS least, max(n.ms / a.ms) AS most
                FROM r a JOIN r n USING (tab, phase, round) WHERE n.what = 'none' GROUP BY 1, 2, 3)
        SELECT 'COPY, ' || CASE m.tab WHEN 'wide' THEN 35 ELSE 185 END || ' rows a page: ' || CASE m.what WHEN 'worker' THEN 'rencoder'
            WHEN 'off' THEN 'rencoder, nothing maintained' WHEN 'inline' THEN 'rencoder, no worker to be had'
            WHEN 'none' THEN 'no index' || CASE m.phase WHEN 'workers' THEN '' ELSE ', no worker to be had' END ELSE m.what END, v.*
        FROM m JOIN m AS n ON (n.tab, n.phase, n.what) = (m.tab, m.phase, 'none') JOIN p ON (p.tab, p.phase, p.what) = (m.tab, m.phase, m.what),
        LATERAL (VALUES ('by the clock', 1e9 / m.ms, 'rows/s', 1e9 / m.most, 1e9 / m.least, $ROUNDS),
            ('of CPU time of the session', 1e9 / m.cpu, 'rows/s', NULL, NULL, $ROUNDS),
            ('part of no index', n.ms / m.ms, 'times', p.least, p.most, $ROUNDS),
            ('part of no index, of CPU time', n.cpu / m.cpu, 'times', NULL, NULL, $ROUNDS),
            ('WAL a row', m.wal / 1e6, 'bytes', NULL, NULL, $ROUNDS)) AS v ORDER BY m.tab DESC, m.phase DESC, m.what, v.column3"
    bench_numbers "SELECT 'single rows: ' || what, 'by the clock', percentile_cont(0.5) WITHIN GROUP (ORDER BY tps), 'rows/s', min(tps), max(tps), $ROUNDS
        FROM rates GROUP BY what
        UNION ALL SELECT 'updates, full page images ' || pages || ': ' || what, v.* FROM (SELECT what, pages,
                percentile_cont(0.5) WITHIN GROUP (ORDER BY tps) AS tps, min(tps) AS least, max(tps) AS most,
                percentile_cont(0.5) WITHIN GROUP (ORDER BY wal) AS wal, min(wal) AS wal_least, max(wal) AS wal_most
            FROM updates GROUP BY pages, what) AS u, LATERAL (VALUES ('by the clock', tps, 'rows/s', least, most, $ROUNDS),
            ('WAL a row', wal, 'bytes', wal_least, wal_most, $ROUNDS)) AS v"
}

main() {
    local tab what
    bench_machine
    echo "Seed: $SEED.  COPY of 1 million rows into $MILLIONS million; medians of $ROUNDS."
    make_tables
    copy_rounds workers none worker off filter btree
    for tab in wide narrow; do
        for what in worker off filter btree; do report_copy "$tab" "$what" workers; done
    done
    single_rows
    random_updates
    bench_sql -q -c 'ALTER SYSTEM SET max_worker_processes = 0'
    "$(bench_bin)/pg_ctl" -D "$WORK/data" -w -s -l "$WORK/log/server" restart
    copy_rounds no-workers none inline
    for tab in wide narrow; do report_copy "$tab" inline no-workers; done
    told
    for what in worker off; do
        limit_copy wide "$what" workers 0.93 1.05
        limit_copy narrow "$what" workers 0.9 1.35
    done
    limit_copy wide filter workers 0.95 1.10
    limit_copy narrow filter workers 0.95 1.15
    limit_copy wide inline no-workers 0.75 1.10
    limit_copy narrow inline no-workers 0.75 1.15
    bench_finish
}

bench_run max_wal_size=16GB checkpoint_timeout=1h -- "$MILLIONS" "$SEED" "$ROUNDS"
