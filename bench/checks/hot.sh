#!/usr/bin/env bash
# What becomes of an index whose table grows to eleven times its size while old rows are updated:
#
#   bash bench/checks/hot.sh [MILLIONS [ROWSPERPAGE [SEED]]]
#
# MILLIONS (default 0.3) of rows of uniform int8, some 35 a page (or ROWSPERPAGE, up to 180).  In ten
# steps, each as many rows are inserted as there were at first, half of them 1,000 at once and half
# one by one, while another session gives 2 % of the first rows a new value.  Five times a second a
# session notes the pages of base runs and of deltas.  After each step and 10 quiet seconds, 200
# absent values are asked for.  At last, rows are deleted and vacuumed, and the WAL of single inserts
# into their pages is counted.  Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=$(awk -v m="${1:-0.3}" 'BEGIN { printf "%d", m * 1000000 }')
PER_PAGE=${2:-35}
SEED=${3:-1}
STEPS=10

make_objects() {
    local filler=$((8152 / PER_PAGE - 44))
    bench_sql -q <<SQL
CREATE TABLE hot (id int8 GENERATED ALWAYS AS IDENTITY (CACHE 1000), v int8,
    f text DEFAULT repeat('x', $((filler < 0 ? 0 : filler))));
ALTER TABLE hot ALTER f SET STORAGE plain;
INSERT INTO hot (v) SELECT hashint8extended(i, $SEED) FROM generate_series(1, $ROWS::int8) AS i;
ALTER TABLE hot ADD PRIMARY KEY (id);
CREATE INDEX hot_v ON hot USING rencoder (v);
VACUUM ANALYZE hot;
CREATE UNLOGGED TABLE states (step int, base int8, delta int8, pending int8);
CREATE UNLOGGED TABLE asked (step int, index_pages int, heap_pages int);
CREATE SEQUENCE hot_new;
SQL
    bench_sql -q <<'SQL'
CREATE FUNCTION hot_add(n int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO hot (v) SELECT hashint8extended(nextval('hot_new'), 77) FROM generate_series(1, n)
$$;
-- New values for rows from "first" on, 200 a transaction.
CREATE PROCEDURE hot_update(first int8, n int8) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 0 .. (n / 200)::int - 1 LOOP
        UPDATE hot SET v = hashint8extended(id, 99) WHERE id BETWEEN first + i * 200 AND first + i * 200 + 199;
        COMMIT;
        PERFORM pg_sleep(0.01);
        COMMIT;
    END LOOP;
END $$;
CREATE PROCEDURE watch(step int) LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        INSERT INTO states SELECT step, coalesce(sum(pages) FILTER (WHERE kind = 'base'), 0),
            coalesce(sum(pages) FILTER (WHERE kind = 'delta'), 0),
            (SELECT pending_pages FROM rencoder_metapage('hot_v'))
        FROM rencoder_runs('hot_v') WHERE state = 'live';
        COMMIT;
        PERFORM pg_sleep(0.2);
    END LOOP;
END $$;
CREATE PROCEDURE ask(step int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('enable_seqscan', 'off', false), set_config('enable_indexscan', 'off', false);
    FOR i IN 1 .. 200 LOOP
        INSERT INTO asked SELECT step, p.index_pages, p.heap_pages FROM bench_pages(bench_explain(
            'SELECT count(f) FROM hot WHERE v = ' || hashint8extended(i, 5 + step))) AS p;
    END LOOP;
END $$;
SQL
    echo 'SELECT hot_add(1000)' >"$WORK/many.sql"
    echo 'SELECT hot_add(1)' >"$WORK/one.sql"
}

clients() { # TRANSACTIONS FILE
    PGOPTIONS='-c synchronous_commit=off' pgbench -n -M prepared -c 1 -t "$1" -f "$WORK/$2.sql" postgres \
        >"$WORK/log/pgbench-$2" 2>&1 || { show_log "$WORK/log/pgbench-$2" 20; die 'pgbench failed'; }
}

step() { # NUMBER
    local watcher updater
    bench_sql -q -c "CALL watch($1)" 2>/dev/null & watcher=$!
    bench_sql -q -c "CALL hot_update($((ROWS / 50 * ($1 - 1) + 1)), $((ROWS / 50)))" & updater=$!
    clients "$((ROWS / 2000))" many
    clients "$((ROWS / 2))" one
    wait "$updater"
    sleep 10
    bench_sql -q -c "CALL ask($1)"
    bench_sql -q -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL watch%'" >/dev/null
    wait "$watcher" || true
    bench_sql -F ' ' -c "SELECT format('  %s x the rows: base pages %s, delta pages %s at most, %s now (share %s at most); pending %s;'
        ' a query reads %s index pages (max %s), %s of the table', $1 + 1, max(base), max(delta),
        (SELECT coalesce(sum(pages), 0) FROM rencoder_runs('hot_v') WHERE kind = 'delta'),
        round(max(delta::numeric / greatest(base, 1)), 3), max(pending),
        (SELECT round(avg(index_pages), 1) FROM asked WHERE step = $1),
        (SELECT max(index_pages) FROM asked WHERE step = $1),
        (SELECT round(avg(heap_pages), 2) FROM asked WHERE step = $1)) FROM states WHERE step = $1"
    bench_sql -c "SELECT '    pages of runs: ' || string_agg(kind || ' ' || pages, ', ' ORDER BY kind, pages)
        FROM rencoder_runs('hot_v') WHERE state = 'live'"
}

# Bytes of WAL that inserts into pages of a run take for the index: those of the table and one
# index more than those of the table without it.
wal_of_inserts() {
    bench_sql -q <<'SQL'
ALTER TABLE hot DROP CONSTRAINT hot_pkey;
DELETE FROM hot WHERE id <= 40000;
VACUUM hot;
SELECT rencoder_compact('hot_v');
CHECKPOINT;
SQL
    bench_sql <<'SQL'
CREATE TABLE spent (index bool, bytes numeric);
CREATE PROCEDURE spend(index bool) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    FOR i IN 1 .. 2000 LOOP
        EXECUTE 'EXPLAIN (FORMAT json, ANALYZE, WAL, TIMING off) INSERT INTO hot (v) SELECT hashint8extended(' || i || ', 6)'
        INTO plan;
        -- full page images are those of the checkpoint
        IF coalesce((plan -> 0 -> 'Plan' ->> 'WAL FPI')::int, 0) = 0 THEN
            INSERT INTO spent VALUES (index, (plan -> 0 -> 'Plan' ->> 'WAL Bytes')::int);
        END IF;
        COMMIT;
    END LOOP;
END $$;
CALL spend(true);
DROP INDEX hot_v;
CALL spend(false);
SQL
    bench_value "round((SELECT avg(bytes) FROM spent WHERE index) - (SELECT avg(bytes) FROM spent WHERE NOT index), 1)" | tail -n 1
}

main() {
    local number
    bench_machine
    make_objects
    for ((number = 1; number <= STEPS; number++)); do
        step "$number"
    done
    bench_sql -q -c "SELECT rencoder_index_check('hot_v', true)" >/dev/null
    echo 'Checked: the index is sound and has every row.'
    bench_limit 'delta pages, share of the base pages, at most' \
        "$(bench_value 'round(max(delta::numeric / greatest(base, 1)), 3) FROM states')" '<=' 0.1
    bench_limit 'index pages of an absent value after 10 quiet seconds, at most' \
        "$(bench_value 'max(index_pages) FROM asked')" '<=' 20
    bench_limit 'WAL of an insert into a page of a run, bytes' "$(wal_of_inserts | tail -n 1)" '<=' 90
    bench_finish
}

bench_run max_wal_size=16GB checkpoint_timeout=1h autovacuum_naptime=15s jit=off full_page_writes=on -- "$@"
