#!/usr/bin/env bash
# No value twice where memory is short: an exclusion constraint beside a unique btree that does not fit.
#
#   bash bench/checks/exclude_cold.sh [MILLIONS [SEED [ROWS]]]
#
# A table of 5 (or MILLIONS) million random uuids, shared_buffers and effective_cache_size 16 MB, and a program throws
# tables and indexes out of the kernel's cache 50 times a second: so that is all the memory that there is.  Then single
# rows come with ON CONFLICT DO NOTHING, ROWS (default 20000) of each kind, in three rounds: new ones, and such as are
# there.  For each row: pages of index and table read, pages written by whomever, processor time of the session, and
# time.  Ends with exit code 1 if more pages are read than with the btree, more than half as many read and written, or
# if a value is there twice.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=$(awk -v m="${1:-5}" 'BEGIN { printf "%d", m * 1000000 }')
SEED=${2:-1}
EACH=${3:-20000}
ROUNDS=3

make_tables() {
    bench_sql -q <<SQL
SET maintenance_work_mem = '1GB';
CREATE FUNCTION id(i int8) RETURNS uuid LANGUAGE sql IMMUTABLE AS \$\$SELECT md5(i || '.$SEED')::uuid\$\$;
CREATE TABLE r (id uuid, filler text);
INSERT INTO r SELECT id(i), repeat('x', 100) FROM generate_series(1, $ROWS::int8) i;
CREATE TABLE b (LIKE r);
INSERT INTO b SELECT * FROM r;
ALTER TABLE r ADD CONSTRAINT r_id EXCLUDE USING rencoder (id WITH =);
ALTER TABLE b ADD CONSTRAINT b_id UNIQUE (id);
VACUUM ANALYZE r, b;
CREATE TABLE came (kind text, method text, cpu numeric, us numeric, of_index int8, of_table int8, written int8);
-- Adds what was read and written so far, times "sign".
CREATE FUNCTION note(kind text, method text, sign int) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
    written int8;
BEGIN
    PERFORM pg_stat_clear_snapshot();
    IF current_setting('server_version_num')::int < 170000 THEN
        SELECT buffers_backend + buffers_clean + buffers_checkpoint INTO written FROM pg_stat_bgwriter;
    ELSE
        SELECT sum(writes) INTO written FROM pg_stat_io WHERE object = 'relation';
    END IF;
    INSERT INTO came SELECT kind, method, 0, 0, sign * idx_blks_read, sign * heap_blks_read, sign * written
    FROM pg_statio_user_tables WHERE relname = method;
END \$\$;
-- Each row is a statement and a transaction.
CREATE PROCEDURE come(k text, m text, first int8, last int8) LANGUAGE plpgsql AS \$\$
DECLARE
    since timestamptz := clock_timestamp();
    cpu float8 := bench_cpu();
BEGIN
    FOR i IN first .. last LOOP
        IF m = 'r' THEN
            INSERT INTO r VALUES (id(i), repeat('x', 100)) ON CONFLICT DO NOTHING;
        ELSE
            INSERT INTO b VALUES (id(i), repeat('x', 100)) ON CONFLICT DO NOTHING;
        END IF;
        COMMIT;
    END LOOP;
    cpu := bench_cpu() - cpu;
    INSERT INTO came VALUES (k, m, cpu, extract(epoch FROM clock_timestamp() - since) * 1e6, 0, 0, 0);
END \$\$;
SQL
}

# Rows of a kind, from a number on.  What they have made dirty is written, too.
come() { # KIND METHOD FIRST
    bench_sql -q -o /dev/null -c CHECKPOINT -c 'SELECT pg_stat_force_next_flush()' -c "SELECT note('$1', '$2', -1)" \
        -c "CALL come('$1', '$2', $3, $(($3 + EACH - 1)))" -c CHECKPOINT -c 'SELECT pg_stat_force_next_flush()' \
        -c "SELECT note('$1', '$2', 1)"
}

main() {
    local round method first files dropper
    bench_machine
    echo "$ROWS rows, seed $SEED, $EACH rows of each kind in $ROUNDS rounds."
    bench_cpu_clock
    make_tables
    bench_make_dropper
    mapfile -t files < <(bench_files r b r_id b_id)
    sync
    "$WORK/drop" "${files[@]}" &
    dropper=$!
    for ((round = 0; round < ROUNDS; round++)); do
        for method in b r; do
            come new "$method" $((ROWS + round * EACH + 1))
            come there "$method" $((round * EACH + 1))
        done
    done
    kill "$dropper" || die "the kernel's cache was not emptied"
    bench_sql -F ' ' -c "SELECT rpad(kind, 6), method, 'pages read of the index', round(sum(of_index) / ($EACH.0 * $ROUNDS), 2),
        'of the table', round(sum(of_table) / ($EACH.0 * $ROUNDS), 2), 'written', round(sum(written) / ($EACH.0 * $ROUNDS), 2),
        'CPU, us', round(sum(cpu) / ($EACH * $ROUNDS), 1), 'us', round(sum(us) / ($EACH * $ROUNDS), 1)
        FROM came GROUP BY kind, method ORDER BY kind, method"
    bench_sql -F ' ' -c "SELECT relname, pg_size_pretty(pg_relation_size(oid)) FROM pg_class WHERE relname IN ('r', 'r_id', 'b_id') ORDER BY 1"
    for kind in new there; do
        bench_limit "rows that are $kind: pages read and written, times the btree's" "$(bench_sql -c "SELECT round(
            sum(of_index + of_table + written) FILTER (WHERE method = 'r') / sum(of_index + of_table + written) FILTER (WHERE method = 'b'), 2)
            FROM came WHERE kind = '$kind'")" '<=' 0.5
        bench_limit "rows that are $kind: pages read, times the btree's" "$(bench_sql -c "SELECT round(
            sum(of_index + of_table) FILTER (WHERE method = 'r') / sum(of_index + of_table) FILTER (WHERE method = 'b'), 2)
            FROM came WHERE kind = '$kind'")" '<=' 1
    done
    bench_limit 'rows that are there twice' "$(bench_sql -c 'SELECT count(*) - count(DISTINCT id) FROM r')" '<=' 0
    bench_limit 'rows that differ' "$(bench_sql -c 'SELECT (SELECT count(*) FROM b) - (SELECT count(*) FROM r)')" '<=' 0
    bench_finish
}

bench_run shared_buffers=16MB effective_cache_size=16MB max_wal_size=16GB checkpoint_timeout=1h synchronous_commit=off \
    autovacuum=off jit=off -- "$@"
