#!/usr/bin/env bash
# How much WAL does the maintenance of an index write for each row?
#
#   bash bench/checks/wal.sh [SECONDS [THOUSANDS [SEED]]]
#
# THOUSANDS (default 1000) of rows of random int8, 35 a page, with an index.  For SECONDS (default 60) each, five rows
# a statement:
#
#   - 2,000 rows a second are inserted, beside one query a second
#   - the same, beside 40 queries a second
#   - 1,000 rows a second are updated, anywhere in the table, beside one query a second
#
# Before each, the first eighth of the table's pages is emptied and VACUUM run: so rows come to pages that were read.
# Then the worker does what is left.  WAL is what rencoder_index_stats() says of maintenance: all but the entries of
# single rows, which take 80 bytes.  Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

SECONDS_OF_IT=${1:-60}
ROWS=$((${2:-1000} * 1000))
SEED=${3:-1}

make_objects() {
    bench_random_table t "$ROWS" "$SEED"
    bench_sql -q <<'SQL'
CREATE INDEX t_id ON t USING rencoder (id);
VACUUM ANALYZE t;
CREATE PROCEDURE ask(seconds float8, each float8) LANGUAGE plpgsql AS $$
DECLARE
    until timestamptz := clock_timestamp() + seconds * interval '1 s';
BEGIN
    WHILE clock_timestamp() < until LOOP
        PERFORM filler FROM t WHERE id = hashint8extended((random() * 1e9)::int8, 77);
        COMMIT;
        PERFORM pg_sleep(each);
    END LOOP;
END $$;
SQL
    cat >"$WORK/insert.pgbench" <<'SQL'
\set seed random(0, 9000000000000000)
INSERT INTO t SELECT hashint8extended(i, :seed), repeat('x', 188) FROM generate_series(1, 5) AS i;
SQL
    cat >"$WORK/update.pgbench" <<'SQL'
SELECT pg_relation_size('t') / 8192 - 10 AS blocks \gset
\set a random(0, :blocks)
\set b random(0, :blocks)
\set c random(0, :blocks)
\set d random(0, :blocks)
\set e random(0, :blocks)
\set row random(1, 35)
UPDATE t SET id = hashint8extended(id, 3) WHERE ctid IN (format('(%s,%s)', :a, :row)::tid, format('(%s,%s)', :b, :row)::tid,
    format('(%s,%s)', :c, :row)::tid, format('(%s,%s)', :d, :row)::tid, format('(%s,%s)', :e, :row)::tid);
SQL
}

part() { # NAME SCRIPT STATEMENTS SECONDS_BETWEEN_QUERIES LIMIT
    local asking wal rows counted
    bench_sql -q -c "DELETE FROM t WHERE ctid < format('(%s,0)', pg_relation_size('t') / 8192 / 8)::tid" -c 'VACUUM t'
    bench_settle t_id
    counted="n_tup_ins + n_tup_upd FROM pg_stat_user_tables WHERE relname = 't'"
    sleep 2
    wal=$(bench_value "maintenance_wal FROM rencoder_index_stats('t_id')")
    rows=$(bench_value "$counted")
    bench_sql -q -c 'SET enable_seqscan = off' -c "CALL ask($SECONDS_OF_IT, $4)" & asking=$!
    pgbench -n -c 2 -j 2 -T "$SECONDS_OF_IT" -R "$3" --random-seed="$SEED" -f "$WORK/$2" postgres >"$WORK/log/pgbench" 2>&1
    wait "$asking"
    bench_settle t_id
    rows=$(($(bench_value "$counted") - rows))
    wal=$(($(bench_value "maintenance_wal FROM rencoder_index_stats('t_id')") - wal))
    echo "$1: $((rows / SECONDS_OF_IT)) rows a second, $(bench_value "format('%s runs, %s deltas', count(*), count(*) FILTER (WHERE kind = 'delta')) FROM rencoder_runs('t_id')")"
    bench_limit "$1: bytes of WAL a row" "$(awk -v w="$wal" -v r="$rows" 'BEGIN { printf "%.1f", w / r }')" '<=' "$5"
}

main() {
    bench_machine
    echo "$ROWS rows, seed $SEED, $SECONDS_OF_IT s each."
    make_objects
    part 'inserted, few read' insert.pgbench 400 1 60
    part 'inserted, many read' insert.pgbench 400 0.025 90
    part 'updated, few read' update.pgbench 200 1 200
    bench_sql -q -o /dev/null -c "SELECT rencoder_index_check('t_id', true)"
    echo 'Checked: the index is sound and has every row.'
    bench_finish
}

bench_run max_wal_size=16GB synchronous_commit=off autovacuum_naptime=15s checkpoint_timeout=1h -- "$@"
