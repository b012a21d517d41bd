#!/usr/bin/env bash
# What becomes of an index whose column is updated at random for minutes, as fast as it can be:
#
#   bash bench/checks/churn.sh [MINUTES [MILLIONS [SEED]]]
#
# 2 clients of pgbench update the int8 column of single random rows of a table of MILLIONS (default
# 5) million, 35 rows a page, for MINUTES (default 10); autovacuum and the worker do what they do by
# default, and halfway the index is compacted.  Meanwhile one session notes how many runs and
# pending pages there are, another asks for 1,000 values, by index and by sequential scan in one
# snapshot.  Ends with exit code 1 if a limit is exceeded or an answer is wrong.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

MINUTES=${1:-10}
MILLIONS=${2:-5}
SEED=${3:-1}
SECONDS_OF_IT=$(awk -v minutes="$MINUTES" 'BEGIN { print int(minutes * 60) }')
ROWS=$(awk -v millions="$MILLIONS" 'BEGIN { print int(millions * 1000000) }')

make_objects() {
    bench_random_table t "$ROWS" "$SEED"
    bench_sql -q <<'SQL'
CREATE INDEX t_r ON t USING rencoder (id);
VACUUM ANALYZE t;
CREATE UNLOGGED TABLE states (at timestamptz, runs int, deltas int, pending int, size int8);
CREATE UNLOGGED TABLE answers (at timestamptz, found int, wrong int, ms float8);

-- What the index is like, every tenth of a second.
CREATE PROCEDURE watch(seconds int) LANGUAGE plpgsql AS $$
DECLARE
    until timestamptz := clock_timestamp() + make_interval(secs => seconds);
BEGIN
    WHILE clock_timestamp() < until LOOP
        INSERT INTO states SELECT clock_timestamp(), m.runs,
            (SELECT count(*) FROM rencoder_runs('t_r') WHERE kind = 'delta'), m.pending_pages,
            pg_relation_size('t_r')
        FROM rencoder_metapage('t_r') AS m;
        COMMIT;
        PERFORM pg_sleep(0.1);
    END LOOP;
END $$;

-- 500 values that are there, of pages anywhere, and 500 that hardly are.
CREATE FUNCTION some_values() RETURNS int8[] LANGUAGE sql AS $$
    SELECT array_agg(id) || (SELECT array_agg(hashint8extended(i, (random() * 1e9)::int8))
        FROM generate_series(1, 500) AS i)
    FROM (SELECT id FROM t TABLESAMPLE system_rows(500)) AS there
$$;

CREATE FUNCTION rows_of(wanted int8[], by_index bool, OUT number int, OUT rows text)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('enable_seqscan', CASE WHEN by_index THEN 'off' ELSE 'on' END, true),
        set_config('enable_bitmapscan', by_index::text, true);
    SELECT count(*), string_agg(ctid::text || id, ' ' ORDER BY ctid) INTO number, rows
    FROM t WHERE id = ANY (wanted);
END $$;

-- Each transaction has one snapshot (REPEATABLE READ is the session's default).  About a fifth of
-- one core's time goes into the sequential scans.
CREATE PROCEDURE ask(seconds int) LANGUAGE plpgsql AS $$
DECLARE
    until timestamptz := clock_timestamp() + make_interval(secs => seconds);
    begun timestamptz;
    wanted int8[];
    a record;
    b record;
    ms float8;
BEGIN
    WHILE clock_timestamp() < until LOOP
        wanted := some_values();
        begun := clock_timestamp();
        SELECT * FROM rows_of(wanted, true) INTO a;
        ms := 1000 * extract(epoch FROM clock_timestamp() - begun);
        begun := clock_timestamp();
        SELECT * FROM rows_of(wanted, false) INTO b;
        INSERT INTO answers
            VALUES (begun, b.number, (a.rows IS DISTINCT FROM b.rows)::int, ms);
        COMMIT;
        PERFORM pg_sleep(4 * extract(epoch FROM clock_timestamp() - begun));
        COMMIT;
    END LOOP;
END $$;
SQL
}

# The row may have gone elsewhere: then nothing is updated.
write_update() {
    cat <<SQL
\set block random(0, $1 - 1)
\set place random(1, 35)
\set id random(0, 9000000000000000000)
UPDATE t SET id = :id WHERE ctid = format('(%s,%s)', :block, :place)::tid;
SQL
}

churn() {
    local watcher asker clients status=0
    bench_sql -q -c "CALL watch($SECONDS_OF_IT)" & watcher=$!
    PGOPTIONS='-c default_transaction_isolation=repeatable\ read' \
        bench_sql -q -c "CALL ask($SECONDS_OF_IT)" & asker=$!
    pgbench -n -c 2 -j 2 -T "$SECONDS_OF_IT" --random-seed="$SEED" -f "$WORK/update.pgbench" \
        postgres >"$WORK/log/pgbench" 2>&1 & clients=$!
    sleep "$((SECONDS_OF_IT / 2))"
    echo "Compacted halfway: $(bench_value "rencoder_compact('t_r')") pages read."
    wait "$clients" || status=1
    wait "$watcher" || status=1
    wait "$asker" || status=1
    ((status == 0)) || { show_log "$WORK/log/pgbench" 20; show_log "$WORK/log/server" 20; }
    bench_limit 'sessions that failed' "$status" '<=' 0
}

main() {
    local fresh
    bench_machine
    echo "Seed: $SEED.  $MINUTES minute(s), $MILLIONS million rows."
    bench_sql -q -c 'CREATE EXTENSION tsm_system_rows'
    make_objects
    write_update "$(bench_value "pg_relation_size('t') / 8192")" >"$WORK/update.pgbench"
    fresh=$(bench_value "pg_relation_size('t_r')")
    churn
    bench_sql -c "SELECT format('Rows updated: %s, %s a second; dead rows %s; %s times vacuumed',
        n_tup_upd, n_tup_upd / $SECONDS_OF_IT, n_dead_tup, autovacuum_count)
        FROM pg_stat_user_tables WHERE relname = 't'"
    bench_sql -c "SELECT format('Runs %s at most, deltas %s; pending pages: median %s, most %s',
        max(runs), max(deltas), percentile_disc(0.5) WITHIN GROUP (ORDER BY pending), max(pending))
        FROM states"
    bench_sql -F ' ' -c "SELECT 'file, times the fresh one, from second', s, 'on:', round(max(size)::numeric / $fresh, 2)
        FROM (SELECT 15 * floor(extract(epoch FROM at - min(at) OVER ()) / 15)::int AS s, size FROM states) AS t
        GROUP BY s ORDER BY s"
    bench_limit 'states noted' "$(bench_value 'count(*) FROM states')" '>=' "$SECONDS_OF_IT"
    bench_limit 'runs, at most' "$(bench_value 'max(runs) FROM states')" '<=' 64
    bench_limit 'pending pages, 99th percentile' \
        "$(bench_value 'percentile_disc(0.99) WITHIN GROUP (ORDER BY pending) FROM states')" '<=' 32
    bench_limit 'file, times the fresh one' \
        "$(bench_value "round(max(size)::numeric / $fresh, 2) FROM states")" '<=' 2.5
    bench_limit 'answers compared, of 1,000 values each' "$(bench_value 'count(*) FROM answers')" '>=' \
        "$((SECONDS_OF_IT / 60))"
    bench_limit 'rows found, each time' "$(bench_value 'min(found) FROM answers')" '>=' 400
    bench_limit 'wrong answers' "$(bench_value 'sum(wrong) FROM answers')" '<=' 0
    bench_sql -q -c "SELECT rencoder_index_check('t_r', true)" >/dev/null
    echo 'Checked: the index is sound and has every row.'
    bench_finish
}

bench_run max_wal_size=16GB synchronous_commit=off autovacuum_naptime=15s \
    -- "$MINUTES" "$MILLIONS" "$SEED"
