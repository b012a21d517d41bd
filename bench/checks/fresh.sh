#!/usr/bin/env bash
# What queries pay for rows of the last moments, beside a btree on a column with the same values:
#
#   bash bench/checks/fresh.sh [MILLIONS [ROWSPERPAGE [SECONDS [SEED [TYPE]]]]]
#
# MILLIONS (default 1) of rows of uniform int8 (TYPE 1: text, 30 characters; 2: points, asked for by
# a box of one point, beside GiST), some 35 a page (or ROWSPERPAGE, up to 180).  Rows are inserted,
# 200, 1,000 and 5,000 a second one by one, then 1,000 at once twice a second, for
# SECONDS (default 30) each.  Beside that a session asks for a value that is not there, one of an
# old row, one of the newest 1,000 rows and one of the last minute, by turns by the two indexes:
# busy, some 130 queries a second by rencoder, or 32 at once each 4 seconds, for four times as long.
# Then it asks when
# nothing more comes, and at last after 50,000 rows a second, 100 at once, that nobody has asked
# about for half as long again as SECONDS: pages of the first query, of 19 that follow, and of 10 in
# the second after that.  Times are medians and 95th percentiles of the session's clock, pages those
# of EXPLAIN.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=$(awk -v m="${1:-1}" 'BEGIN { printf "%d", m * 1000000 }')
PER_PAGE=${2:-35}
SECONDS_OF_LOAD=${3:-30}
SEED=${4:-1}

# A value of a random int8 h, what a row takes of a page beside its filler, how a value is asked
# for, and the other index.
TYPE=int8 VALUE=h BESIDE=60 MATCH='= key' OTHER=btree
case ${5:-0} in
1) TYPE=text VALUE="'https://example.com/' || to_hex(h)" BESIDE=124 ;;
2) TYPE=point VALUE='point((h >> 32) / 1e6, (h & 4294967295) / 1e6)' BESIDE=76
    MATCH='<@ box(key, key)' OTHER=gist ;;
esac

make_table() {
    local filler=$((8152 / PER_PAGE - BESIDE))
    bench_sql -q <<SQL
CREATE TABLE fresh (id int8 GENERATED ALWAYS AS IDENTITY (CACHE 100), at timestamptz DEFAULT clock_timestamp(), v $TYPE, w $TYPE,
    f text DEFAULT repeat('x', $((filler < 0 ? 0 : filler))));
ALTER TABLE fresh ALTER f SET STORAGE plain;
CREATE FUNCTION value(h int8) RETURNS $TYPE LANGUAGE sql IMMUTABLE AS \$\$ SELECT $VALUE \$\$;
INSERT INTO fresh (v, w) SELECT value(h), value(h)
    FROM (SELECT hashint8extended(i, $SEED) AS h FROM generate_series(1, $ROWS::int8) i) s;
VACUUM ANALYZE fresh;
CREATE INDEX fresh_v ON fresh USING rencoder (v);
CREATE INDEX fresh_w ON fresh USING $OTHER (w);
CREATE FUNCTION old_value() RETURNS $TYPE LANGUAGE sql AS
    'SELECT value(hashint8extended(1 + (random() * ($ROWS - 1))::int8, $SEED))';
CREATE TABLE asked (load text, kind text, col text, first bool, us float8, index_pages int, heap_pages int);
SELECT format('%s rows, %s a page', reltuples, round(reltuples / relpages))
FROM pg_class WHERE relname = 'fresh';
SQL
    sed "s/KEYTYPE/$TYPE/; s/= key/$MATCH/" <<'SQL' | bench_sql -q
CREATE SEQUENCE fresh_new;
CREATE FUNCTION fresh_add(n int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO fresh (v, w) SELECT value(h), value(h)
    FROM (SELECT hashint8extended(nextval('fresh_new'), 77) AS h FROM generate_series(1, n)) s
$$;
-- Pages of a query: of the index, and of the table.
CREATE FUNCTION pages(query text, OUT index_pages int, OUT heap_pages int) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
    child jsonb;
BEGIN
    SET LOCAL enable_indexscan = off;
    EXECUTE 'EXPLAIN (FORMAT json, ANALYZE, BUFFERS, TIMING off) ' || query INTO plan;
    SET LOCAL enable_indexscan = on;
    plan := plan -> 0 -> 'Plan' -> 'Plans' -> 0;
    child := plan -> 'Plans' -> 0;
    index_pages := (child ->> 'Shared Hit Blocks')::int + (child ->> 'Shared Read Blocks')::int;
    heap_pages := (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int - index_pages;
END $$;
-- Asks by turns, each kind and each index first as often as the others; "each": 0: pauses of 20 ms
-- between eight queries, else so many seconds for 32 queries by each index.
CREATE PROCEDURE ask(load text, seconds float8, each float8) LANGUAGE plpgsql AS $$
DECLARE
    until timestamptz := clock_timestamp() + seconds * interval '1 s';
    start timestamptz;
    took float8;
    late int8;
    minute int8 := 1;
    key KEYTYPE;
    asked_of int8;
    found int8;
    n int := 0;
    kind int;
    by_v bool;
    p record;
BEGIN
    PERFORM set_config('enable_seqscan', 'off', false), set_config('enable_indexonlyscan', 'off', false);
    FOR round IN 1 .. 1000000 LOOP
        EXIT WHEN clock_timestamp() > until;
        SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO late FROM fresh_new;
        FOR place IN 0 .. 3 LOOP
            kind := 1 + (place + round) % 4;
            asked_of := CASE kind WHEN 3 THEN late - 50 - (random() * 1000)::int8
                ELSE late - 50 - (random() * least(late, 60 * greatest(late / greatest(1, seconds), 1)))::int8 END;
            key := CASE kind WHEN 1 THEN value(hashint8extended(round, 5)) WHEN 2 THEN old_value()
                ELSE value(hashint8extended(greatest(asked_of, 1), 77)) END;
            FOR turn IN 0 .. 1 LOOP
                by_v := (turn + round / 4) % 2 = 0;
                COMMIT;
                start := clock_timestamp();
                IF by_v THEN
                    SELECT count(f) INTO found FROM fresh WHERE v = key;
                ELSE
                    SELECT count(f) INTO found FROM fresh WHERE w = key;
                END IF;
                took := extract(epoch FROM clock_timestamp() - start) * 1e6;
                SELECT NULL::int AS index_pages, NULL::int AS heap_pages INTO p;
                IF by_v AND round % 5 = 0 THEN
                    p := pages(replace('SELECT count(f) FROM fresh WHERE v = key', 'key', quote_literal(key)));
                END IF;
                INSERT INTO asked VALUES (load, (ARRAY['absent', 'old', 'newest 1,000', 'last minute'])[kind],
                    CASE WHEN by_v THEN 'v' ELSE 'w' END, place + turn = 0, took, p.index_pages, p.heap_pages);
                n := n + 1;
            END LOOP;
        END LOOP;
        COMMIT;
        IF each = 0 THEN
            PERFORM pg_sleep(0.02);
        ELSIF n >= 64 THEN
            n := 0;
            PERFORM pg_sleep(each);
        END IF;
    END LOOP;
END $$;
SQL
}

report() { # LOAD
    bench_sql -F ' ' -c "SELECT format('  %-12s %6s / %6s us, btree %5s / %5s: %4s times; pages %5s + %5s (p95 %3s + %3s, max %s)',
        kind, m[1], m[2], b[1], b[2], round(m[1]::numeric / b[1], 2), i, h, ip, hp, mx)
        FROM (SELECT kind, percentile_cont('{0.5,0.95}'::float8[]) WITHIN GROUP (ORDER BY us) FILTER (WHERE col = 'v')::int[] AS m,
            percentile_cont('{0.5,0.95}'::float8[]) WITHIN GROUP (ORDER BY us) FILTER (WHERE col = 'w')::int[] AS b,
            round(avg(index_pages), 1) AS i, round(avg(heap_pages), 1) AS h, max(index_pages + heap_pages) AS mx,
            percentile_disc(0.95) WITHIN GROUP (ORDER BY index_pages) AS ip,
            percentile_disc(0.95) WITHIN GROUP (ORDER BY heap_pages) AS hp
        FROM asked WHERE load = '$1' GROUP BY kind) s
        ORDER BY array_position('{absent,old,\"newest 1,000\",last minute}', kind)"
    bench_sql -F ' ' -c "SELECT format('  first after a pause, all kinds: %s us, btree %s: %s times',
        m::int, b::int, round((m / b)::numeric, 2))
        FROM (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY us) FILTER (WHERE col = 'v') AS m,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY us) FILTER (WHERE col = 'w') AS b
        FROM asked WHERE load = '$1' AND first) s"
    bench_sql -F ' ' -c "SELECT format('  runs: %s; pages behind %s; pending pages %s',
        (SELECT string_agg(kind || ' ' || pages, ', ' ORDER BY kind, pages) FROM rencoder_runs('fresh_v')),
        (SELECT unindexed FROM rencoder_candidates('fresh_v', -9::int8, -9::int8)),
        (SELECT pending_pages FROM rencoder_metapage('fresh_v')))"
}

load() { # NAME RATE ROWS CLIENTS EACH [SECONDS]
    local inserter seconds=${6:-$SECONDS_OF_LOAD}
    printf '%s\n' "$1"
    echo "SELECT fresh_add($3)" >"$WORK/insert.sql"
    PGOPTIONS='-c synchronous_commit=off' pgbench -n -M prepared -c "$4" -j 1 -R "$2" -T $((seconds + 2)) -f "$WORK/insert.sql" postgres \
        >"$WORK/log/pgbench" 2>&1 &
    inserter=$!
    sleep 2
    bench_sql -q -c "CALL ask('$1', $seconds, $5)"
    wait "$inserter" || { show_log "$WORK/log/pgbench" 20; die 'pgbench failed'; }
    report "$1"
}

# Of an index that was asked before the load, as all its life here.
unread() {
    local i
    echo '50,000 rows/s that nobody asks about; pages of each query that follows'
    echo 'SELECT fresh_add(100)' >"$WORK/insert.sql"
    PGOPTIONS='-c synchronous_commit=off' pgbench -n -M prepared -c 4 -j 1 -R 500 -T $((SECONDS_OF_LOAD * 3 / 2)) -f "$WORK/insert.sql" \
        postgres >"$WORK/log/pgbench" 2>&1 || { show_log "$WORK/log/pgbench" 20; die 'pgbench failed'; }
    sed -n 's/^tps = \([0-9]*\).*/  \100 rows came a second/p' "$WORK/log/pgbench"
    for ((i = 1; i <= 30; i++)); do
        echo "SELECT index_pages || '+' || heap_pages FROM pages(replace('SELECT count(f) FROM fresh WHERE v $MATCH', 'key', quote_literal(value($i))));"
        ((i < 20)) || echo 'SELECT pg_sleep(0.1);'
    done | PGOPTIONS='-c enable_seqscan=off' bench_sql -q | xargs echo ' '
}

main() {
    bench_machine
    make_table
    load '200 rows/s' 200 1 1 0
    load '1,000 rows/s' 1000 1 1 0
    load '5,000 rows/s' 5000 1 4 0
    load '1,000 rows, twice a second' 2 1000 1 0
    # Longer, as it asks seldom.
    load '1,000 rows/s, sparse reader' 1000 1 1 4 $((4 * SECONDS_OF_LOAD))
    sleep 3
    echo 'nothing comes'
    bench_sql -q -c "CALL ask('nothing comes', 5, 0)"
    report 'nothing comes'
    unread
    bench_sql -q -c "SELECT rencoder_index_check('fresh_v', true)" >/dev/null
}

bench_run max_wal_size=16GB checkpoint_timeout=1h autovacuum=off jit=off plan_cache_mode=force_generic_plan -- "$@"
