#!/usr/bin/env bash
# Each index of PostgreSQL that has operators for a random bigint, one at a time: size, and pages that a
# query reads.  Then seven columns of 2 to a million values, as pg_lion's benchmark has them: sizes.
#
#   bash bench/peers.sh [MILLIONS]
#
# The first table is that of README.md's first example, of a million rows; the second has MILLIONS
# (default 5) million.  Sizes and pages are exact.  Pages are means of 20 queries, each asked once, by a
# bitmap scan: of the index, then of the table.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

ROWS=$(awk -v m="${1:-5}" 'BEGIN {printf "%.0f", m * 1000000}')
# In words of the function pages: a value that is there, an interval that has none.
ONE='order_no = O'
ABSENT='order_no BETWEEN O + 50000000000000 AND O + 50000000100000'

make_orders() {
    bench_sql -q <<'SQL'
CREATE EXTENSION btree_gin; CREATE EXTENSION btree_gist; CREATE EXTENSION bloom;
CREATE TABLE orders (order_no bigint, customer int, note text);
SELECT setseed(0.1) \g /dev/null
INSERT INTO orders SELECT (random() * 9e18)::bigint, (random() * 1e5)::int, repeat('x', 180)
    FROM generate_series(1, 1000000);
VACUUM ANALYZE orders;
CREATE TABLE asked AS SELECT order_no, customer FROM orders WHERE ctid IN (SELECT format('(%s,5)', i * 1400)::tid
    FROM generate_series(0, 20) AS i);
-- On average; of the index, and of the table.  The first query is to read the catalogs.
CREATE FUNCTION pages(condition text) RETURNS text LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_indexscan = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
    plan json;
    value asked;
    of_index numeric := 0;
    of_all numeric := 0;
    n int := 0;
    first bool := true;
BEGIN
    FOR value IN SELECT * FROM asked LOOP
        EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM orders WHERE '
            || replace(replace(condition, 'O', value.order_no::text), 'C', value.customer::text) INTO plan;
        plan := plan -> 0 -> 'Plan';
        IF plan ->> 'Node Type' <> 'Bitmap Heap Scan' THEN RETURN 'cannot'; END IF;
        IF first THEN first := false; CONTINUE; END IF;
        of_all := of_all + (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int;
        plan := plan -> 'Plans' -> 0;
        of_index := of_index + (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int;
        n := n + 1;
    END LOOP;
    RETURN format('%s, %s', round(of_index / n, 1), round((of_all - of_index) / n, 1));
END $$;
SQL
}

peer() { # NAME ONE "USING .."
    bench_sql -q -c "CREATE INDEX peer ON orders USING $3"
    bench_sql -c "SELECT format('| %-18s | %-8s | %-14s | %-14s |', '$1', pg_size_pretty(pg_relation_size('peer')),
        pages('$2'), CASE WHEN '$3' ~ 'customer' THEN 'cannot' ELSE pages('$ABSENT') END)"
    bench_numbers "SELECT '$1', v.* FROM (SELECT string_to_array(pages('$2'), ', ') AS one, CASE WHEN '$3' !~ 'customer'
            THEN string_to_array(pages('$ABSENT'), ', ') END AS none) AS p,
        LATERAL (VALUES ('size', pg_relation_size('peer')::text, 'bytes', NULL, NULL, 1), ('one row, of the index', one[1], 'pages', NULL, NULL, 20),
            ('one row, of the table', one[2], 'pages', NULL, NULL, 20), ('no row, of the index', none[1], 'pages', NULL, NULL, 20),
            ('no row, of the table', none[2], 'pages', NULL, NULL, 20)) AS v WHERE v.column2 <> 'cannot'"
    bench_sql -q -c 'DROP INDEX peer'
}

make_seven() {
    bench_sql -q <<SQL
CREATE TABLE seven AS SELECT i AS id, (hashint8extended(i, 1) & 1)::int AS a,
    abs(hashint8extended(i, 2) % 10)::int AS b, abs(hashint8extended(i, 3) % 100)::int AS c,
    abs(hashint8extended(i, 4) % 1000)::int AS d, abs(hashint8extended(i, 5) % 10000)::int AS e,
    CASE WHEN i % 10 > 0 THEN abs(hashint8extended(i, 6) % 100000)::int END AS f,
    abs(hashint8extended(i, 7) % 1000000)::int AS g
FROM generate_series(1, $ROWS) AS i;
VACUUM ANALYZE seven;
SQL
}

seven() { # METHOD COLUMNS..
    local columns
    for columns in "${@:2}"; do bench_sql -q -c "CREATE INDEX ON seven USING $1 ($columns)"; done
    bench_sql -c "SELECT format('| %-40s | %-8s |', '$(($# - 1)) $1', pg_size_pretty(pg_indexes_size('seven')))"
    bench_numbers "SELECT 'seven columns: $(($# - 1)) $1', 'size', pg_indexes_size('seven'), 'bytes', NULL, NULL, 1"
    bench_sql -q -c "DO \$\$ DECLARE i regclass; BEGIN
        FOR i IN SELECT indexrelid FROM pg_index WHERE indrelid = 'seven'::regclass LOOP
            EXECUTE format('DROP INDEX %s', i); END LOOP; END \$\$"
}

main() {
    bench_machine
    make_orders
    bench_sql -c "SELECT format('%s rows, %s pages', count(*), pg_relation_size('orders') / 8192) FROM orders"
    printf '| %-18s | %-8s | %-14s | %-14s |\n' index size 'one row' 'no row'
    peer rencoder "$ONE" 'rencoder (order_no)'
    peer btree "$ONE" 'btree (order_no)'
    peer hash "$ONE" 'hash (order_no)'
    peer 'BRIN minmax' "$ONE" 'brin (order_no)'
    peer 'BRIN minmax-multi' "$ONE" 'brin (order_no int8_minmax_multi_ops)'
    peer 'BRIN bloom' "$ONE" 'brin (order_no int8_bloom_ops)'
    peer GIN "$ONE" 'gin (order_no)'
    peer GiST "$ONE" 'gist (order_no)'
    peer 'bloom, customer' 'customer = C' 'bloom (customer)'
    make_seven
    bench_sql -c "SELECT format('%s rows, %s', $ROWS, pg_size_pretty(pg_relation_size('seven')))"
    bench_numbers "SELECT 'seven columns: table', 'size', pg_relation_size('seven'), 'bytes', NULL, NULL, 1
        UNION ALL SELECT 'table', 'size', pg_relation_size('orders'), 'bytes', NULL, NULL, 1
        UNION ALL SELECT 'table', 'pages', pg_relation_size('orders') / 8192, 'pages', NULL, NULL, 1"
    seven btree a b c d e f g
    seven gin a b c d e f g
    seven rencoder a b c d e f g
    seven rencoder 'a, b, c, d, e, f, g'
}

bench_run autovacuum=off -- "$@"
