#!/usr/bin/env bash
# Numbers behind the design of the run list (results/catalog.md): pages, bytes of WAL, bits, and CPU
# time of the session, none in wall clock:
#
#   bash bench/checks/catalog.sh [PART [MILLIONS [SEED]]]
#
# PART 1: "resolution = rows" beside "auto" and a btree: size and queries; 2: twenty rounds of
# retention; 3: the end of a growing table that queries read; 4: after a load that nobody has read; 0 (default):
# all.  MILLIONS (default 1) of rows, 35 to 37 a page.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

PART=${1:-0}
ROWS=$(awk -v m="${2:-1}" 'BEGIN { printf "%d", m * 1000000 }')
SEED=${3:-1}

functions() {
    bench_sql -q <<'SQL'
-- CPU time of this session so far, us.
CREATE FUNCTION cpu() RETURNS float8 LANGUAGE sql VOLATILE AS
    $$ SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1000 $$;
-- Waits until the worker has nothing to do: neither WAL nor runs change for some looks.
CREATE PROCEDURE settle() LANGUAGE plpgsql AS $$
DECLARE
    before pg_lsn;
    same int := 0;
BEGIN
    FOR look IN 1 .. 600 LOOP
        before := pg_current_wal_insert_lsn();
        COMMIT;
        PERFORM pg_sleep(0.5);
        same := CASE WHEN pg_current_wal_insert_lsn() = before THEN same + 1 ELSE 0 END;
        EXIT WHEN same >= 12;
    END LOOP;
END $$;
-- Buffers of a query, and rows removed by rechecks.
CREATE FUNCTION buffers(query text, OUT pages bigint, OUT removed bigint) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb := bench_explain(query);
BEGIN
    SELECT bench_node_pages(plan -> 'Plan'),
        (SELECT coalesce(sum((node ->> 'Rows Removed by Index Recheck')::bigint), 0)
            FROM bench_nodes(plan) AS node)
    INTO pages, removed;
END $$;
SQL
}

# ---------------------------------------------------------------- part 1

# One function for each way to ask: by the index with "auto", that with "rows", the btree.
# ask NAME QUERIES KEY WIDTH QUERY: QUERY asks for the column C (all different), or D (10,000 rows a
# value), of values from "a", which is KEY of the query's number i, to "b", an interval of WIDTH rows.
ask() {
    local way query
    local settings='SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_memoize = off'
    for way in a r b; do
        query="SELECT $(sed "s/\<C\>/u$way/g; s/\<D\>/k$way/g" <<< "$5")"
        cat <<SQL
CREATE OR REPLACE FUNCTION ask_$way(n int, first int) RETURNS float8 LANGUAGE plpgsql $settings AS \$\$
DECLARE
    a int8;
    b int8;
    found int8;
    before float8 := cpu();
BEGIN
    FOR i IN first .. first + n - 1 LOOP
        a := $3;
        b := least(a + $4::numeric * 1.8446744e19 / $ROWS, 9e18)::int8;
        $query INTO found;
    END LOOP;
    RETURN (cpu() - before) / n;
END \$\$;
CREATE OR REPLACE FUNCTION pages_$way(n int, first int, OUT pages float8, OUT removed float8)
LANGUAGE plpgsql $settings AS \$\$
DECLARE
    a int8;
    b int8;
    p record;
    query text;
BEGIN
    pages := 0;
    removed := 0;
    FOR i IN first .. first + n - 1 LOOP
        a := $3;
        b := least(a + $4::numeric * 1.8446744e19 / $ROWS, 9e18)::int8;
        query := regexp_replace('$query', '\ma\M', quote_literal(a) || '::int8', 'g');
        p := buffers(regexp_replace(query, '\mb\M', quote_literal(b) || '::int8', 'g'));
        pages := pages + p.pages::float8 / n;
        removed := removed + p.removed::float8 / n;
    END LOOP;
END \$\$;
SQL
    done
    cat <<SQL
TRUNCATE times;
INSERT INTO times SELECT r, ask_a($2, 6 * r * $2), ask_r($2, (6 * r + 1) * $2), ask_b($2, (6 * r + 2) * $2)
FROM generate_series(0, 4) r;
INSERT INTO times SELECT r, ask_a($2, (6 * r + 5) * $2), ask_r($2, (6 * r + 4) * $2), ask_b($2, (6 * r + 3) * $2)
FROM generate_series(0, 4) r;
SELECT format('| %s | %s | %s | %s | %s (%s) | %s (%s) | %s |', '$1', round(m[1]::numeric, 1),
    round(m[2]::numeric, 1), round(m[3]::numeric, 1), round(a.pages::numeric, 1),
    round(a.removed::numeric, 1), round(r.pages::numeric, 1), round(r.removed::numeric, 1),
    round(b.pages::numeric, 1))
FROM (SELECT ARRAY[percentile_cont(0.5) WITHIN GROUP (ORDER BY a),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY r),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY b)] AS m FROM times WHERE round > 0) t,
    pages_a(20, 1000000) a, pages_r(20, 1000000) r, pages_b(20, 1000000) b;
SQL
}

generic="SET max_parallel_workers_per_gather = 0; SET plan_cache_mode = force_generic_plan;"

questions() {
    local m value="abs(hashint8(i)) % ($ROWS / 10000)"
    echo "$generic"
    ask absent 4000 'hashint8extended(-i, 77)' 0 'count(f) FROM r WHERE C = a'
    ask 'one match' 4000 "hashint8extended(1 + abs(hashint8(i)) % $ROWS::int8, $SEED)" 0 \
        'count(f) FROM r WHERE C = a'
    for m in 10 100 1000 10000; do
        ask "$m matches" $((m < 100 ? 1500 : 100000 / m)) 'hashint8extended(i, 78)' "$m" \
            'count(f) FROM r WHERE C BETWEEN a AND b'
    done
    ask '10,000 of one value' 10 "$value" 0 'count(f) FROM r WHERE D = a'
    ask 'LIMIT 1 of 10,000' 2000 "$value" 0 'count(f) FROM (SELECT f FROM r WHERE D = a LIMIT 1) q'
    ask 'LIMIT 10 of 10,000' 2000 "$value" 0 'count(f) FROM (SELECT f FROM r WHERE D = a LIMIT 10) q'
    ask 'LIMIT 10 of a range of 1,000' 2000 'hashint8extended(i, 78)' 1000 \
        'count(f) FROM (SELECT f FROM r WHERE C BETWEEN a AND b LIMIT 10) q'
    ask 'join of 1,000, found' 10 'i % 10' 0 \
        'count(f) FROM keys JOIN r ON C = keys.there WHERE keys.part = a'
    ask 'join of 1,000, absent' 10 'i % 10' 0 \
        'count(f) FROM keys JOIN r ON C = keys.absent WHERE keys.part = a'
}

fresh_questions() { # NEW
    echo "$generic"
    ask 'fresh row' 4000 "hashint8extended(1 + abs(hashint8(i)) % $1::int8, 4711)" 0 \
        'count(f) FROM r WHERE C = a'
    ask 'absent' 4000 'hashint8extended(-i, 77)' 0 'count(f) FROM r WHERE C = a'
}

runs() {
    bench_sql -c "SELECT string_agg(kind || ' ' || pages, ', ' ORDER BY kind, pages) FROM rencoder_runs('$1')"
}

make_tables() {
    bench_sql -q <<SQL
CREATE TABLE r (ua int8, ur int8, ub int8, ka int, kr int, kb int, s int8, f text);
ALTER TABLE r ALTER f SET STORAGE plain;
CREATE FUNCTION put(first int, last int, of int) RETURNS void LANGUAGE sql AS \$\$
    INSERT INTO r SELECT h, h, h, k, k, k, i, repeat('x', 8152 / 35 - 96)
    FROM (SELECT i, hashint8extended(i, of) AS h, abs(hashint4(i) % ($ROWS / 10000)) AS k
        FROM generate_series(first, last) i) q \$\$;
SELECT put(1, $ROWS, $SEED);
CREATE TABLE y (u uuid, t text, n int, s int8, m int);
INSERT INTO y SELECT md5(i::text || '$SEED')::uuid, 'https://www.example.com/' || md5(i::text),
    hashint4(i::int), i, i / 100 FROM generate_series(1, $ROWS) i;
CREATE TABLE z AS SELECT hashint4(i::int) AS n FROM generate_series(1, $ROWS) i;
CREATE TABLE keys AS SELECT (i % 10)::int8 AS part, hashint8extended($ROWS::int8 / 10000 * i, $SEED) AS there,
    hashint8extended(-i, $SEED) AS absent FROM generate_series(1, 10000) i;
CREATE INDEX ON keys (part);
CREATE TABLE times (round int, a float8, r float8, b float8);
VACUUM ANALYZE r, y, z, keys;
CREATE INDEX r_ua ON r USING rencoder (ua);
CREATE INDEX r_ur ON r USING rencoder (ur) WITH (resolution = rows);
CREATE INDEX r_ub ON r (ub);
CREATE INDEX r_ka ON r USING rencoder (ka);
CREATE INDEX r_kr ON r USING rencoder (kr) WITH (resolution = rows);
CREATE INDEX r_kb ON r (kb);
SQL
}

sizes() {
    local table col name t index
    echo '| bits a row | auto | rows | btree |'
    for t in r:ua:int8 r:ka:10,000_a_value r:s:sorted z:n:int4,_226_a_page y:u:uuid y:t:text y:n:int4 \
        y:s:sorted y:m:sorted,_100_a_value; do
        IFS=: read -r table col name <<< "$t"
        for index in "USING rencoder ($col)" "USING rencoder ($col) WITH (resolution = rows)" "($col)"; do
            bench_sql -q -c "CREATE INDEX sized ON $table $index"
            bench_sql -c "SELECT round(pg_relation_size('sized') * 8.0 / $ROWS, 2)"
            bench_sql -q -c "DROP INDEX sized"
        done | xargs | sed "s/ / | /g; s/.*/| $table.$name | & |/"
    done
}

resolution() {
    local new=$((ROWS / 20)) i
    make_tables >/dev/null
    bench_sql -c "SELECT format('%s: %s rows, %s a page', relname, reltuples, round(reltuples / relpages))
        FROM pg_class WHERE relname IN ('r', 'y', 'z')"
    sizes
    echo '| query | CPU us: auto | rows | btree | pages (rows removed by rechecks): auto | rows | btree |'
    questions | bench_sql -q
    # One row in twenty is new; queries come meanwhile, so that the worker makes runs of the end of the table.
    for ((i = 0; i < 20; i++)); do
        echo "SELECT put($i * $new / 20 + 1, ($i + 1) * $new / 20, 4711); SET enable_seqscan = off;
            SELECT count(f) FROM r WHERE ua = $i; SELECT count(f) FROM r WHERE ur = $i; SELECT pg_sleep(0.2);"
    done | bench_sql -q >/dev/null
    echo "$new rows more, just now: runs auto $(runs r_ua), rows $(runs r_ur)"
    fresh_questions "$new" | bench_sql -q
    bench_sql -q -c 'CALL settle()'
    echo "at rest: runs auto $(runs r_ua), rows $(runs r_ur)"
    fresh_questions "$new" | bench_sql -q
    bench_sql -q -c 'DROP TABLE r, y, z, keys, times'
}

# ---------------------------------------------------------------- part 2

# Bytes of the WAL of a relation since an LSN: all records, and of these whole new pages.
wal_of() { # RELATION FROM TO
    local rel
    rel=$(bench_sql -c "SELECT coalesce(nullif(t.reltablespace, 0), d.dattablespace) || '/' || d.oid || '/' || pg_relation_filenode('$1')
        FROM pg_class t, pg_database d WHERE t.oid = '$1'::regclass AND d.datname = current_database()")
    "$(bench_bin)/pg_waldump" -p "$WORK/data/pg_wal" -R "$rel" -s "$2" -e "$3" 2>/dev/null |
        awk '{ match($0, /len \(rec\/tot\): *[0-9]+\/ *[0-9]+/); l = substr($0, RSTART, RLENGTH); sub(/.*\/ */, "", l)
            all += l; if ($2 == "XLOG") pages += l } END { printf "%d %d\n", all, pages }'
}

lsn() { bench_sql -c 'SELECT pg_current_wal_flush_lsn()'; }

absent_pages() { # COLUMN
    bench_sql -q <<SQL
SET enable_seqscan = off; SET enable_indexscan = off;
SELECT round(avg(p.index_pages), 1) || ' + ' || round(avg(p.heap_pages), 1)
FROM generate_series(1, 200) i, bench_pages(bench_explain(format('SELECT f FROM t WHERE $1 = %s', hashint8extended(-i, 99)))) p;
SQL
}

# Bits a row of an index: of its file, of runs, of free pages; number of runs.
bits() { # INDEX
    local size="round(pg_relation_size('$1') * 8.0 / $ROWS, 1)"
    if [[ $1 != t_a ]]; then
        bench_sql -c "SELECT $size"
        return
    fi
    bench_sql -F ' ' -c "SELECT $size,
        round((SELECT sum(pages) FROM rencoder_runs('$1')) * 65536.0 / $ROWS, 1),
        round((SELECT free_pages FROM rencoder_metapage('$1')) * 65536.0 / $ROWS, 1),
        (SELECT count(*) FROM rencoder_runs('$1'))"
}

# One round of retention: the oldest twentieth goes, VACUUM, as many rows come; then it is waited until
# nothing is maintained any more.
retention_round() { # NUMBER
    local batch=$((ROWS / 20)) from to index all pages
    from=$(lsn)
    bench_sql -q -c "DELETE FROM t WHERE id <= $1 * $batch" -c 'VACUUM t'
    echo 'SELECT add(100)' >"$WORK/insert.sql"
    PGOPTIONS='-c synchronous_commit=off' pgbench -n -M prepared -c 1 -R 200 -t $((batch / 100)) \
        -f "$WORK/insert.sql" postgres >"$WORK/log/pgbench" 2>&1 ||
        { show_log "$WORK/log/pgbench" 20; die 'pgbench failed'; }
    bench_sql -q -c 'CALL settle()'
    to=$(lsn)
    for index in t_a t_b; do
        read -r all pages <<< "$(wal_of "$index" "$from" "$to")"
        printf '  round %2s, %s: bytes of WAL a row %s, of it new pages %s; ' "$1" "$index" \
            $((all / batch)) $((pages / batch))
        bits "$index"
    done
}

retention() {
    local filler=$((8152 / 35 - 68)) r
    bench_sql -q <<SQL
CREATE TABLE t (id int8, a int8, b int8, f text);
ALTER TABLE t ALTER f SET STORAGE plain;
CREATE SEQUENCE t_new;
CREATE FUNCTION add(n int) RETURNS void LANGUAGE sql AS \$\$
    INSERT INTO t SELECT i, h, h, repeat('x', $filler)
    FROM (SELECT i, hashint8extended(i, $SEED) AS h
        FROM (SELECT nextval('t_new') AS i FROM generate_series(1, n)) s) s \$\$;
SELECT add($ROWS);
CREATE INDEX t_id ON t (id);
CREATE INDEX t_a ON t USING rencoder (a);
CREATE INDEX t_b ON t (b);
ANALYZE t;
SQL
    echo "Retention, $ROWS rows: bits a row of the file, of runs, of free pages; number of runs"
    printf '  fresh: '
    bits t_a
    for ((r = 1; r <= 20; r++)); do retention_round "$r"; done
    echo "  an absent value, index + heap pages: $(absent_pages a)"
    bench_sql -q -c "SELECT rencoder_index_check('t_a', true)" >/dev/null
    bench_sql -q -c 'DROP TABLE t'
}

# ---------------------------------------------------------------- part 3

# 2,000 rows a second one by one for eight seconds, and so many queries of absent values.
growing() { # QUERIES
    local filler=$((8152 / 35 - 68)) from to all pages
    bench_sql -q <<SQL
CREATE TABLE t (id int8, a int8, b int8, f text);
ALTER TABLE t ALTER f SET STORAGE plain;
INSERT INTO t SELECT i, h, h, repeat('x', $filler)
FROM (SELECT i, hashint8extended(i, $SEED) AS h FROM generate_series(1, 150000) i) s;
CREATE INDEX t_a ON t USING rencoder (a);
VACUUM ANALYZE t;
CREATE UNLOGGED TABLE asked (index_pages int, heap_pages int);
CREATE PROCEDURE grow(seconds int, queries int) LANGUAGE plpgsql AS \$\$
DECLARE
    began timestamptz := clock_timestamp();
    pages record;
BEGIN
    FOR tick IN 1 .. seconds * 100 LOOP
        PERFORM pg_sleep(greatest(0, extract(epoch FROM began - clock_timestamp()) + tick / 100.0));
        FOR i IN tick * 20 .. tick * 20 + 19 LOOP
            INSERT INTO t VALUES (i, hashint8extended(-i, 5), 0, repeat('x', $filler));
        END LOOP;
        COMMIT;
        FOR q IN 1 .. queries * tick / 100 - queries * (tick - 1) / 100 LOOP
            pages := bench_pages(bench_explain(format('SELECT f FROM t WHERE a = %s', hashint8extended(tick * 64 + q, 99))));
            INSERT INTO asked VALUES (pages.index_pages, pages.heap_pages);
            COMMIT;
        END LOOP;
    END LOOP;
END \$\$;
SQL
    from=$(lsn)
    bench_sql -q -c 'SET enable_seqscan = off' -c 'SET enable_indexscan = off' \
        -c "CALL grow(8, $1)"
    to=$(lsn)
    read -r all pages <<< "$(wal_of t_a "$from" "$to")"
    printf '| %s queries/s | %s | WAL a row %s, of it new pages %s | ' "$1" \
        "$(bench_sql -c "SELECT round(avg(index_pages), 1) || ' + ' || round(avg(heap_pages), 1) || ' (' ||
            max(index_pages + heap_pages) || ')' FROM asked")" \
        "$(awk -v n="$all" 'BEGIN { printf "%.1f", n / 16000 }')" "$(awk -v n="$pages" 'BEGIN { printf "%.1f", n / 16000 }')"
    bench_sql -c "SELECT 'runs ' || count(DISTINCT run) || ', worker CPU ms ' || coalesce((SELECT
        round(split_part(pg_read_file('/proc/' || pid || '/schedstat'), ' ', 1)::numeric / 1000000)
        FROM pg_stat_activity WHERE backend_type = 'rencoder worker' LIMIT 1)::text, '-') FROM rencoder_runs('t_a')"
    bench_sql -q -c "SELECT rencoder_index_check('t_a', true)" >/dev/null
    bench_sql -q -c 'DROP TABLE t, asked; DROP PROCEDURE grow'
}

read_tail() {
    local queries
    echo '| queries | index + heap pages of a query (most) | bytes |'
    for queries in 0 20 200; do growing "$queries"; done
}

# ---------------------------------------------------------------- part 4

# 200,000 rows in one statement, then a query for an absent value each 25 ms: pages of each, and when the last one
# read more than 20.
after_load() {
    local filler=$((8152 / 35 - 60))
    bench_sql -q <<SQL
CREATE TABLE l (id int8, a int8, f text);
ALTER TABLE l ALTER f SET STORAGE plain;
INSERT INTO l SELECT i, hashint8extended(i, $SEED), repeat('x', $filler) FROM generate_series(1, 150000) i;
CREATE INDEX l_a ON l USING rencoder (a);
VACUUM ANALYZE l;
CREATE UNLOGGED TABLE asked (ms float8, index_pages int, heap_pages int);
CREATE PROCEDURE ask_load(n int) LANGUAGE plpgsql AS \$\$
DECLARE
    began timestamptz := clock_timestamp();
    at timestamptz;
    pages record;
BEGIN
    FOR i IN 1 .. n LOOP
        at := clock_timestamp();
        pages := bench_pages(bench_explain(format('SELECT f FROM l WHERE a = %s', hashint8extended(i, 99))));
        INSERT INTO asked VALUES (1000 * extract(epoch FROM at - began), pages.index_pages, pages.heap_pages);
        COMMIT;
        PERFORM pg_sleep(greatest(0, extract(epoch FROM began - clock_timestamp()) + i * 0.025));
    END LOOP;
END \$\$;
INSERT INTO l SELECT -i, hashint8extended(-i, $SEED), repeat('x', $filler) FROM generate_series(1, 200000) i;
SQL
    bench_sql -q -c 'SET enable_seqscan = off' -c 'SET enable_indexscan = off' \
        -c 'CALL ask_load(60)'
    bench_sql -c "SELECT 'After a load, ms: index + heap pages: ' || string_agg(round(ms) || ': ' || index_pages || '+' || heap_pages, ', ' ORDER BY ms) FROM asked"
    bench_limit '  ms from the first query to the last one that reads more than 20 pages' \
        "$(bench_sql -c 'SELECT coalesce(round(max(ms)), 0) FROM asked WHERE index_pages + heap_pages > 20')" '<=' 500
    bench_sql -q -c "SELECT rencoder_index_check('l_a', true)" >/dev/null
    bench_sql -q -c 'DROP TABLE l, asked; DROP PROCEDURE ask_load'
}

main() {
    bench_machine
    functions
    ((PART != 0 && PART != 1)) || resolution
    ((PART != 0 && PART != 2)) || retention
    ((PART != 0 && PART != 3)) || read_tail
    ((PART != 0 && PART != 4)) || after_load
    bench_finish
}

bench_run max_wal_size=16GB wal_keep_size=20GB checkpoint_timeout=1h autovacuum=off jit=off -- "$@"
