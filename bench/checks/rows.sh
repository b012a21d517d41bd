#!/usr/bin/env bash
# What runs that name rows cost and gain, beside a btree:
#
#   bash bench/checks/rows.sh [MILLIONS [ROWSPERPAGE [SEED]]]
#
# MILLIONS (default 5) of rows of uniform int8, of values with 10,000 rows each and sorted, and as many
# lines of orders in order, four each, some 38 a page (or up to 185: ROWSPERPAGE; above 120 in two tables of 16 bytes a row), in an unlogged table
# that is cached.  Sizes in bits a row; then
# queries by generic plans, by turns for the two indexes, in three rounds and one to warm up: the
# least mean CPU time of each.  No number is asked twice: who comes second would find its pages in
# shared buffers.  By rencoder as the planner chooses, and by plain scans and bitmaps alone.
# Rows that a scan checks are counted by EXPLAIN.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=$(awk -v m="${1:-5}" 'BEGIN { printf "%d", m * 1000000 }')
PER_PAGE=${2:-38}
SEED=${3:-1}

# The table of the values with 10,000 rows each, and of the sorted ones.
VALUES=big
((PER_PAGE <= 120)) || VALUES=big_values_table

make_table() {
    local filler=$((8152 / PER_PAGE - 72))
    local random="hashint8extended(i, $SEED), hashint8extended(i, $SEED)"
    local values="abs(hashint4(i::int) % ($ROWS / 10000)), abs(hashint4(i::int) % ($ROWS / 10000)), i"
    local rows="generate_series(1, $ROWS::int8) i"
    if [[ $VALUES == big ]]; then
        bench_sql -q <<SQL
CREATE UNLOGGED TABLE big (u int8, ub int8, k int, kb int, s int8, f text);
ALTER TABLE big ALTER f SET STORAGE plain;
INSERT INTO big SELECT $random, $values, repeat('x', $((filler < 0 ? 0 : filler))) FROM $rows;
SQL
    else
        bench_sql -q <<SQL
CREATE UNLOGGED TABLE big (u int8, ub int8);
INSERT INTO big SELECT $random FROM $rows;
CREATE UNLOGGED TABLE $VALUES (k int, kb int, s int8);
INSERT INTO $VALUES SELECT $values FROM $rows;
SQL
    fi
    filler=$((8152 / PER_PAGE - 48))
    bench_sql -q <<SQL
CREATE UNLOGGED TABLE lines (o int, ob int, f text);
ALTER TABLE lines ALTER f SET STORAGE plain;
INSERT INTO lines SELECT i / 4, i / 4, CASE WHEN $filler > 0 THEN repeat('x', $filler) END
FROM generate_series(1, $ROWS::int8) i;
VACUUM ANALYZE lines;
VACUUM ANALYZE big;
VACUUM ANALYZE $VALUES;
SELECT format('%s rows, %s a page, %s pages', reltuples, round(reltuples / relpages), relpages)
FROM pg_class WHERE relname = 'big';
SQL
}

make_index() { # NAME "USING .." [TABLE]
    local start=${EPOCHREALTIME/./}
    bench_sql -q -c "SET max_parallel_maintenance_workers = 0" -c "SET maintenance_work_mem = '1GB'" \
        -c "CREATE INDEX big_$1 ON ${3:-big} $2"
    bench_sql -F ' ' -c "SELECT format('  %-14s %6s bits a row, %5s s', '$1',
        round(pg_relation_size('big_$1') * 8.0 / $ROWS, 2),
        round((${EPOCHREALTIME/./} - $start) / 1e6, 1))"
    bench_numbers "SELECT 'index $1', 'bits a row', pg_relation_size('big_$1') * 8.0 / $ROWS, 'bits', NULL, NULL, 1"
}

# Times in one session, in which a function's plans are generic: question by question.
# ask NAME QUERIES KEY WIDTH QUERY: QUERY asks for the column C, or D, of values from "a", which is
# KEY of the query's number i, to "b", so that an interval of WIDTH rows, or the column O of the lines;
# F and G are other columns of the first two tables.  A QUERY with %s in it is planned anew for each value.  Four functions: by the
# btree, by rencoder as the planner has it, by its plain scans and by its bitmaps.
ask() {
    local way columns settings query c d f g o
    for way in btree rencoder plain bitmap; do
        columns='u k ub o' settings=
        [[ $way != btree ]] || columns='ub kb u ob'
        [[ $way != plain ]] || settings='SET enable_bitmapscan = off'
        [[ $way != bitmap ]] || settings='SET enable_indexscan = off'
        read -r c d f o <<< "$columns"
        g=s
        [[ $VALUES != big ]] || f=f g=f
        query="SELECT $(sed "s/\<C\>/$c/g; s/\<D\>/$d/g; s/\<F\>/$f/g; s/\<G\>/$g/g; s/\<O\>/$o/g" <<< "$5")"
        [[ $query != *%s* ]] || query="EXECUTE format('$query', a)"
        cat <<SQL
CREATE FUNCTION ask_${way}(n int, first int) RETURNS float8 LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_memoize = off $settings AS \$\$
DECLARE
    start float8;
    a int8;
    b int8;
    found int8;
    spent float8 := 0;
    there int8[] := (SELECT array_agg(there) FROM (SELECT * FROM keys LIMIT 1000) k);
    absent int8[] := (SELECT array_agg(absent) FROM (SELECT * FROM keys LIMIT 1000) k);
BEGIN
    FOR i IN first .. first + n - 1 LOOP
        a := $3;
        b := least(a + $4::numeric * 1.8446744e19 / $ROWS, 9e18)::int8;
        start := bench_cpu();
        $query INTO found;
        spent := spent + bench_cpu() - start;
    END LOOP;
    RETURN spent / n;
END \$\$;
SQL
    done
    cat <<SQL
INSERT INTO times (name, btree, rencoder, plain, bitmap)
SELECT '$1', ask_btree($2, 4 * r * $2), ask_rencoder($2, (4 * r + 1) * $2),
    ask_plain($2, (4 * r + 2) * $2), ask_bitmap($2, (4 * r + 3) * $2)
FROM generate_series(0, 3) r;
DROP FUNCTION ask_btree, ask_rencoder, ask_plain, ask_bitmap;
SELECT format('  %-22s btree %10s us, rencoder %10s us: %5s times; plain scan %5s, bitmap %5s', name,
    round(min(btree)::numeric, 1), round(min(rencoder)::numeric, 1),
    round((min(rencoder) / min(btree))::numeric, 2), round((min(plain) / min(btree))::numeric, 2),
    round((min(bitmap) / min(btree))::numeric, 2))
FROM times WHERE name = '$1' GROUP BY name;
SQL
}

questions() {
    local key="hashint8extended(1 + abs(hashint8(i)) % $ROWS::int8, $SEED)" m
    cat <<SQL
SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;
CREATE TABLE keys AS SELECT hashint8extended($ROWS::int8 / 10000 * i, $SEED) AS there,
    hashint8extended(-i, $SEED) AS absent FROM generate_series(1, 10000) i;
CREATE TABLE times (n serial, name text, btree float8, rencoder float8, plain float8, bitmap float8);
CREATE TABLE orders AS SELECT abs(hashint8(i)) % ($ROWS / 4) AS number FROM generate_series(1, 10000) i;
ANALYZE keys, times, orders;
SQL
    ask absent 3000 'hashint8extended(-i, 77)' 0 'count(F) FROM big WHERE C = a'
    ask 'one match' 3000 "$key" 0 'count(F) FROM big WHERE C = a'
    ask 'absent, simple' 3000 'hashint8extended(-i, 79)' 0 'count(F) FROM big WHERE C = %s'
    ask 'one match, simple' 3000 "${key/i)/-i)}" 0 'count(F) FROM big WHERE C = %s'
    for m in 10 100 1000 10000; do
        ask "$m matches" $((m < 100 ? 1000 : 60000 / m)) 'hashint8extended(i, 78)' "$m" \
            'count(F) FROM big WHERE C BETWEEN a AND b'
    done
    ask 'loop of 10,000' 1 0 0 'count(F) FROM keys JOIN big ON C = keys.there'
    ask 'loop, absent' 1 0 0 'count(F) FROM keys JOIN big ON C = keys.absent'
    ask 'loop of 10,000 orders' 1 0 0 'count(ctid) FROM (SELECT lines.ctid FROM orders JOIN lines ON O = number) q'
    ask 'EXISTS of 10,000 orders' 1 0 0 'count(*) FROM orders WHERE EXISTS (SELECT FROM lines WHERE O = number AND ctid IS NOT NULL)'
    ask 'IN of 1,000' 5 0 0 'count(F) FROM big WHERE C = ANY (there)'
    ask 'IN of 1,000, absent' 5 0 0 'count(F) FROM big WHERE C = ANY (absent)'
    ask 'LIMIT 1 of 10,000' 200 "abs(hashint8(i)) % ($ROWS / 10000)" 0 \
        "count(G) FROM (SELECT G FROM $VALUES WHERE D = a LIMIT 1) q"
    ask 'LIMIT 10 of 10,000' 200 "abs(hashint8(i)) % ($ROWS / 10000)" 0 \
        "count(G) FROM (SELECT G FROM $VALUES WHERE D = a LIMIT 10) q"
    ask 'LIMIT 10 of interval' 200 'hashint8extended(i, 78)' 10000 \
        'count(F) FROM (SELECT F FROM big WHERE C BETWEEN a AND b LIMIT 10) q'
    ask 'EXISTS, 10,000' 200 "abs(hashint8(i)) % ($ROWS / 10000)" 0 \
        "EXISTS (SELECT FROM $VALUES WHERE D = a)::int"
}

measure() {
    questions | bench_sql -q -F ' '
    bench_numbers "WITH t AS (SELECT name, min(n) AS no, min(btree) AS b, max(btree) AS b_most, min(rencoder) AS r,
            max(rencoder) AS r_most, min(rencoder / btree) AS least, max(rencoder / btree) AS most FROM times GROUP BY name)
        SELECT t.name, v.* FROM t, LATERAL (VALUES ('rencoder, CPU', r, 'us', r, r_most, 4), ('btree, CPU', b, 'us', b, b_most, 4),
            ('times the btree''s', r / b, 'times', least, most, 4)) AS v ORDER BY no, 2 DESC"
    bench_sql -q -F ' ' <<'SQL'
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION checked(width int8) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE format('EXPLAIN (FORMAT json, ANALYZE, TIMING off) SELECT ub FROM big
        WHERE u BETWEEN 1000000 AND 1000000 + %s', width) INTO plan;
    plan := plan -> 0 -> 'Plan';
    RETURN round(1 + (plan ->> 'Rows Removed by Index Recheck')::numeric /
        nullif((plan ->> 'Actual Rows')::numeric, 0), 1);
END $$;
SELECT format('  %s matches: %s rows checked for each', m,
    checked((m * 1.8446744e19 / reltuples)::int8))
FROM unnest('{100,1000,10000}'::int[]) m, pg_class WHERE oid = 'big'::regclass;
SET enable_indexscan = off;
SELECT format('  false pages: %s of 1,000 absent values, %s expected', (SELECT round(avg(heap_pages), 2)
        FROM generate_series(1, 1000) AS i, bench_pages(bench_explain(format(
            'SELECT ub FROM big WHERE u = %s', hashint8extended(-i, 80))))),
    round(false_pages::numeric, 2))
FROM rencoder_runs('big_rencoder');
SQL
}

main() {
    bench_machine
    bench_cpu_clock
    make_table
    make_index btree '(ub)'
    make_index rencoder 'USING rencoder (u)'
    make_index values_btree '(kb)' "$VALUES"
    make_index values 'USING rencoder (k)' "$VALUES"
    make_index sorted 'USING rencoder (s)' "$VALUES"
    make_index orders_btree '(ob)' lines
    make_index orders 'USING rencoder (o)' lines
    measure
    bench_sql -q -c 'DROP INDEX big_values, big_values_btree, big_sorted, big_orders, big_orders_btree'
    make_index pages 'USING rencoder (u) WITH (resolution = pages, false_pages = 1)'
    make_index rows 'USING rencoder (u) WITH (resolution = rows)'
    make_index tenth 'USING rencoder (u) WITH (false_pages = 0.1)'
}

bench_run max_wal_size=16GB checkpoint_timeout=1h autovacuum=off jit=off -- "$@"
