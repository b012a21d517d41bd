#!/usr/bin/env bash
# How many pages does a query read while the worker gets hardly any time, or is not allowed?
#
#   bash bench/checks/starved.sh [QUERIES [THOUSANDS [SEED]]]
#
# THOUSANDS (default 1000) of rows of random int8, 35 a page, with an index, beside 20 sessions that compute and
# as many as 20 to each CPU of two.  Then, with a worker and without one (rencoder.max_workers = 0):
#
#   - two sessions update some hundred rows a statement, of pages anywhere, 20,000 a second or, if that is less, what they can
#   - one COPY of 200,000 rows
#
# Beside the updates, or after the COPY, one session asks QUERIES (default 300, at least 200) times for one value,
# every other one of which is there.  Pages are those of EXPLAIN (ANALYZE, BUFFERS).  Ends with exit code 1 if a
# limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

QUERIES=${1:-300}
ROWS=$((${2:-1000} * 1000))
SEED=${3:-1}
LOADED=200000
RATE=150                        # statements a second, of some 150 rows
MOST=40                         # pages of the index, and of the table

make_objects() {
    bench_sql -q -c 'CREATE EXTENSION tsm_system_rows'
    bench_sql -q <<'SQL'
CREATE TABLE asked (part text, index_pages int, heap_pages int);

-- Each query is a transaction of its own.
CREATE PROCEDURE ask(part text, tab text, queries int) LANGUAGE plpgsql AS $$
DECLARE
    key int8;
    p record;
BEGIN
    PERFORM set_config('enable_seqscan', 'off', false), set_config('enable_indexscan', 'off', false);
    FOR i IN 1 .. queries LOOP
        key := hashint8extended(i, 77);
        IF i % 2 = 0 THEN
            EXECUTE format('SELECT id FROM %I TABLESAMPLE system_rows(1)', tab) INTO key;
        END IF;
        SELECT * FROM bench_pages(bench_explain(format('SELECT filler FROM %I WHERE id = %s', tab, key))) INTO p;
        INSERT INTO asked VALUES (part, p.index_pages, p.heap_pages);
        COMMIT;
        PERFORM pg_sleep(0.05);
    END LOOP;
END $$;
SQL
    cat >"$WORK/compute.pgbench" <<'SQL'
SELECT sum(sqrt(i)) FROM generate_series(1, 100000) AS i;
SQL
    cat >"$WORK/update.pgbench" <<'SQL'
SELECT pg_relation_size('t') / 8192 - 10 AS blocks \gset
\set block random(0, :blocks)
UPDATE t SET id = hashint8extended(id, 3)
    WHERE ctid >= format('(%s,0)', :block)::tid AND ctid < format('(%s,0)', :block + 5)::tid;
SQL
}

# The table and its index, as new.
make_table() {
    bench_sql -q -c 'DROP TABLE IF EXISTS t'
    bench_random_table t "$ROWS" "$SEED"
    bench_sql -q -c 'CREATE INDEX t_id ON t USING rencoder (id)' -c 'VACUUM ANALYZE t'
}

report() { # PART
    local index heap
    bench_sql -c "SELECT format('  index pages: median %s, most %s; of the table: median %s, most %s', percentile_disc(0.5) WITHIN GROUP (ORDER BY index_pages),
        max(index_pages), percentile_disc(0.5) WITHIN GROUP (ORDER BY heap_pages), max(heap_pages)) FROM asked WHERE part = '$1'"
    bench_sql -c "SELECT format('  at last %s runs, %s deltas, %s pages pending, %s behind the frontier', count(*), count(*) FILTER (WHERE kind = 'delta'),
        (SELECT pending_pages FROM rencoder_metapage('t_id')), (SELECT unindexed FROM rencoder_candidates('t_id', 0::int8, 0::int8)))
        FROM rencoder_runs('t_id')"
    index=$(bench_value "percentile_disc(0.95) WITHIN GROUP (ORDER BY index_pages) FROM asked WHERE part = '$1'")
    heap=$(bench_value "percentile_disc(0.95) WITHIN GROUP (ORDER BY heap_pages) FROM asked WHERE part = '$1'")
    bench_limit "$1: index pages, 95th percentile" "$index" '<=' "$MOST"
    bench_limit "$1: table pages, 95th percentile" "$heap" '<=' "$MOST"
}

updates() { # NAME
    local clients before begun seconds
    make_table
    begun=$(date +%s%N)
    before=$(bench_value "n_tup_upd FROM pg_stat_user_tables WHERE relname = 't'")
    pgbench -n -c 2 -j 2 -T 3600 -R "$RATE" --random-seed="$SEED" -f "$WORK/update.pgbench" postgres >"$WORK/log/pgbench" 2>&1 & clients=$!
    bench_sql -q -c "CALL ask('$1', 't', $QUERIES)"
    kill "$clients"
    wait "$clients" || true
    seconds=$((($(date +%s%N) - begun) / 1000000))
    sleep 2
    bench_value "format('$1: %s rows a second were updated, for %s s', round((n_tup_upd - $before) / ($seconds / 1000.0)), $((seconds / 1000))) FROM pg_stat_user_tables WHERE relname = 't'"
    report "$1"
}

load() { # NAME
    make_table
    bench_sql -q -c "COPY (SELECT hashint8extended(i, 5), repeat('x', 188) FROM generate_series(1, $LOADED) AS i) TO STDOUT" |
        bench_sql -q -c 'COPY t FROM STDIN'
    bench_sql -q -c "CALL ask('$1', 't', $QUERIES)"
    echo "$1:"
    report "$1"
}

# A worker comes and goes.
renice_worker() {
    while sleep 0.2; do
        for pid in $(bench_value "pid FROM pg_stat_activity WHERE backend_type = 'rencoder worker'"); do
            renice -n 19 -p "$pid" >/dev/null || true
        done
    done
}

main() {
    local computing renicing
    bench_machine
    echo "$ROWS rows, $QUERIES queries, seed $SEED."
    ((QUERIES >= 200)) || die 'a 95th percentile wants 200 queries'
    make_objects
    pgbench -n -c 20 -j 2 -T 7200 -f "$WORK/compute.pgbench" postgres >"$WORK/log/compute" 2>&1 & computing=$!
    load 'COPY, worker starved'
    updates 'updates, worker starved'
    renice_worker & renicing=$!
    load 'COPY, worker niced'
    updates 'updates, worker niced'
    kill "$renicing"
    bench_sql -q -c "LOAD 'rencoder'" -c 'ALTER SYSTEM SET rencoder.max_workers = 0' -c 'SELECT pg_reload_conf()' -o /dev/null
    load 'COPY, no worker'
    updates 'updates, no worker'
    kill "$computing"
    wait "$computing" || true
    bench_sql -q -o /dev/null -c "SELECT rencoder_index_check('t_id', true)"
    echo 'Checked: the index is sound and has every row.'
    bench_finish
}

bench_run max_wal_size=16GB synchronous_commit=off autovacuum_naptime=5s checkpoint_timeout=1h -- "$@"
