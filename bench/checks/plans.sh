#!/usr/bin/env bash
# Does the planner take the fastest plan, and rencoder when it wins?  By measurement:
#
#   bash bench/checks/plans.sh [THOUSANDS [SEED]]
#
# Tables of THOUSANDS (default 300) thousand rows, 35 a page, of a hundredth of that, one that has
# grown since its index was made, one that was loaded device by device, one with 1 to 10,000 rows of
# each value, one of strings, and one of four partitions, on each column a rencoder index, a btree and
# a BRIN, of strings also a GIN of trigrams and a hash index.  Each query is asked with
# rencoder alone, with a btree and with BRIN beside it, with random_page_cost 4 and 1.1: a cell.
# All that can be forced (a sequential scan, each of the indexes as the only one, by plain scans
# and by bitmaps, nested loops, hash joins) is timed as well, the best of several runs of planning
# and executing.  Prints a table and, in its last line, how many cells there are, how many of them
# take 1.5 times as long as the best plan or more, how many of these are PostgreSQL's own (no plan
# with rencoder is the best, and without such an index the same is taken), and the worst.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=$((${1:-300} * 1000))
SEED=${2:-1}
BAD=1.5

# Columns: u is unique and in no order, c in the order of the table; in z few values have most of
# the rows, l has 20 values, n is null in 2 % of the rows.
columns() { # FIRST LAST
    cat <<SQL
SELECT hashint8extended(i, $SEED) AS u, i * 16 AS c,
    floor(exp(ln($ROWS) * random_of(i, $SEED + 1)))::int AS z,
    (random_of(i, $SEED + 2) * 20)::int AS l,
    CASE WHEN random_of(i, $SEED + 3) > 0.02 THEN hashint8extended(i, $SEED + 4) END AS n,
    'https://www.example.com/p/' || (random_of(i, $SEED + 5) * 1000)::int || '/'
        || to_hex(hashint8extended(i, $SEED + 6)) AS t,
    point(random_of(i, $SEED + 7), random_of(i, $SEED + 8)) AS p, repeat('x', 85) AS filler
FROM generate_series($1::int8, $2) AS i
SQL
}

create_indexes() { # TABLE COLUMN..
    local table=$1 column
    for column in "${@:2}"; do
        echo "CREATE INDEX ${table}_${column}_rencoder ON $table USING rencoder ($column);"
        [[ $column == p ]] || echo "CREATE INDEX ${table}_${column}_btree ON $table ($column);
            CREATE INDEX ${table}_${column}_brin ON $table USING brin ($column);"
    done
}

make_tables() {
    bench_sql -q <<SQL
SET client_min_messages = warning;
-- Evenly from 0 to 1.
CREATE FUNCTION random_of(i int8, seed int8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT (hashint8extended(i, seed) / 2.0^64 + 0.5)::float8';
CREATE TABLE large (u int8, c int8, z int, l int, n int8, t text COLLATE "C", p point, filler text);
CREATE TABLE small (LIKE large);
CREATE TABLE grown (LIKE large);
CREATE TABLE filtered (LIKE large);
INSERT INTO large $(columns 1 $ROWS);
INSERT INTO small $(columns 1 $((ROWS / 100)));
$(create_indexes large u c z l n t p)
$(create_indexes small u c z l n t p)
-- Half of it before its indexes, the rest after; then VACUUM, updates, a tail.
INSERT INTO grown $(columns 1 $((ROWS / 2)));
$(create_indexes grown u c t)
INSERT INTO grown $(columns $((ROWS / 2 + 1)) $((ROWS * 9 / 10)));
VACUUM grown;
UPDATE grown SET u = u + 1 WHERE c % 1600 = 0;
INSERT INTO grown $(columns $((ROWS * 9 / 10 + 1)) $((ROWS * 92 / 100)));

-- With filters, not runs.
INSERT INTO filtered SELECT * FROM large;
$(create_indexes filtered u c t | sed '/rencoder (/s/;/ WITH (storage = filter);/')

-- In no order, but page by page: 1, 6, 60, 600 pages have one of 15 stretches of the values.
CREATE TABLE clustered (p1 int, p6 int, p60 int, p600 int, filler text);
INSERT INTO clustered
SELECT $(for pages in 1 6 60 600; do
    echo "(floor(random_of(i / (35 * $pages), $SEED + $pages) * 15) * 1000000
        + random_of(i, $SEED + 1000 + $pages) * 1000000)::int,"
done) repeat('x', 170) FROM generate_series(1, $ROWS::int8) AS i;
$(create_indexes clustered p1 p6 p60 p600)

-- So many rows of each value; 50, 25, 40 values; a key in order, 4 lines each, with a primary key.
CREATE TABLE counted (m1 int, m10 int, m100 int, m1000 int, m10000 int, few50 int, few25 int,
    few40 int, at timestamptz, o int, line int, filler text);
INSERT INTO counted
SELECT $(for rows in 1 10 100 1000 10000; do
    echo "(random_of(i, $SEED + $rows) * $ROWS / $rows)::int,"
done) (random_of(i, $SEED + 2) * 50)::int, (random_of(i, $SEED + 3) * 25)::int,
    (random_of(i, $SEED + 4) * 40)::int, timestamptz '2026-01-01 00:00+00' + i * interval '1 min',
    i / 4, i % 4, repeat('x', 80)
FROM generate_series(1, $ROWS::int8) AS i;
$(create_indexes counted m1 m10 m100 m1000 m10000 few50 few25 few40 at)
CREATE INDEX counted_o_rencoder ON counted USING rencoder (o);
CREATE INDEX counted_o_btree ON counted (o, line);
CREATE TABLE keys_o AS SELECT (random_of(i, $SEED) * $ROWS / 4)::int AS a
    FROM generate_series(1, 1000) AS i;

-- Patterns, beside indexes that know more of them, or less.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE TABLE patterns (t text COLLATE "C", tag text COLLATE "C", filler text);
INSERT INTO patterns SELECT 'https://www.example.com/' || md5(i::text), md5((i % 2000)::text),
    repeat('x', 80)
FROM generate_series(1, $ROWS::int8) AS i;
$(create_indexes patterns t tag)
$(for column in t tag; do
    echo "CREATE INDEX ON patterns USING gin ($column gin_trgm_ops);
        CREATE INDEX ON patterns USING hash ($column);"
done)

CREATE TABLE events (at timestamptz, id uuid, order_no int8, url text COLLATE "C",
    sku varchar(20) COLLATE "C", ip inet, place point, amount numeric(12, 2), refund int8,
    filler text) PARTITION BY RANGE (at);
$(for month in 1 2 3 4; do
    echo "CREATE TABLE events_$month PARTITION OF events
        FOR VALUES FROM ('2026-0$month-01 00:00+00') TO ('2026-0$((month + 1))-01 00:00+00');"
done)
INSERT INTO events
SELECT timestamptz '2026-01-01 00:00+00' + i * (interval '119 days' / $ROWS),
    md5(i::text || $SEED)::uuid, hashint8extended(i, $SEED),
    '/p/' || (random_of(i, $SEED + 5) * 1000)::int || '/' || to_hex(hashint8extended(i, $SEED + 6)),
    'SKU-' || lpad(to_hex(hashint8extended(i, $SEED + 7)), 16, '0'),
    inet '10.0.0.0' + (random_of(i, $SEED + 8) * 16777215)::int8,
    point(8 + random_of(i, $SEED + 9), 47 + random_of(i, $SEED + 10)),
    (exp(random_of(i, $SEED + 11) * 14))::numeric(12, 2),
    CASE WHEN random_of(i, $SEED + 12) > 0.02 THEN i END, repeat('x', 60)
FROM generate_series(1, $ROWS::int8) AS i;
SQL
    bench_sql -q <<SQL
$(for column in at id order_no url sku ip place amount refund; do
    echo "CREATE INDEX ON events USING rencoder ($column);"
    [[ $column == place ]] || echo "CREATE INDEX ON events ($column);
        CREATE INDEX ON events USING brin ($column);"
done)
-- Keys to join with: of large, most of them absent; of events.
CREATE TABLE keys5 AS SELECT u AS a FROM large WHERE c % (16 * $ROWS / 5) = 0;
CREATE TABLE keys100 AS SELECT u AS a FROM large WHERE c % (16 * $ROWS / 100) = 0;
CREATE TABLE keys_new AS SELECT hashint8extended(i, $SEED + 20) AS a
    FROM generate_series(1, 95) AS i UNION ALL SELECT a FROM keys5;
CREATE TABLE keys_events AS SELECT order_no AS a FROM events ORDER BY md5(order_no::text) LIMIT 100;
CREATE TABLE keys_ids AS SELECT id AS a FROM events ORDER BY md5(order_no::text) LIMIT 5;
VACUUM ANALYZE large, small, filtered, clustered, counted, patterns, events, keys5, keys100, keys_new,
    keys_events, keys_ids, keys_o;
ANALYZE grown;
SQL
    bench_sql -q -f "$bench_root/bench/checks/plans.sql"
}

# The same kinds for a table of ROWS rows.
ask_table() { # TABLE ROWS
    local t=$1 rows=$2
    cat <<SQL
SELECT plans_ask('$t', 'u = one', format('u = %s', plans_one('$t', 'u'))),
    plans_ask('$t', 'u = absent', 'u = 77'),
    plans_ask('$t', 'u BETWEEN, none', 'u BETWEEN 77 AND 5000'),
    plans_ask('$t', 'u BETWEEN, one', plans_between('$t', 'u', 1)),
    plans_ask('$t', 'u BETWEEN, 0.01 %', plans_between('$t', 'u', $rows * 0.0001)),
    plans_ask('$t', 'u BETWEEN, 0.1 %', plans_between('$t', 'u', $rows * 0.001)),
    plans_ask('$t', 'u BETWEEN, 1 %', plans_between('$t', 'u', $rows * 0.01)),
    plans_ask('$t', 'u BETWEEN, 30 %', plans_between('$t', 'u', $rows * 0.3)),
    plans_ask('$t', 'u > tail', format('u > %s', plans_value('$t', 'u', $rows * 0.9999 - 1))),
    plans_ask('$t', 'c = one', format('c = %s', plans_one('$t', 'c'))),
    plans_ask('$t', 'c = absent', 'c = 77'),
    plans_ask('$t', 'c BETWEEN, 0.01 %', plans_between('$t', 'c', $rows * 0.0001)),
    plans_ask('$t', 'c BETWEEN, 1 %', plans_between('$t', 'c', $rows * 0.01)),
    plans_ask('$t', 'c BETWEEN, 30 %', plans_between('$t', 'c', $rows * 0.3)),
    plans_ask('$t', 'z = rare', format('z = %s', plans_value('$t', 'z', $rows * 0.9))),
    plans_ask('$t', 'z = frequent', 'z = 5'),
    plans_ask('$t', 'z = most frequent', 'z = 1'),
    plans_ask('$t', 'z BETWEEN, 1 %', plans_between('$t', 'z', $rows * 0.01)),
    plans_ask('$t', 'z > rare', format('z > %s', plans_value('$t', 'z', $rows * 0.999))),
    plans_ask('$t', 'l = one of 20', 'l = 7'),
    plans_ask('$t', 'l = absent', 'l = 21'),
    plans_ask('$t', 'l BETWEEN, 30 %', 'l BETWEEN 3 AND 8'),
    plans_ask('$t', 'n IS NULL, 2 %', 'n IS NULL'),
    plans_ask('$t', 'u = AND l =', format('l = 7 AND u = %s', plans_one('$t', 'u'))),
    plans_ask('$t', 'u = OR c =', 'u = 77 OR c = 3200'),
    plans_ask('$t', 'u IN 10', (SELECT format('u IN (%s)', string_agg(u::text, ', '))
        FROM (SELECT u FROM $t WHERE c % 1600 = 0 ORDER BY c LIMIT 10) AS s)),
    plans_ask('$t', 'u IN 100 absent', format('u IN (%s)', plans_list(100))),
    plans_ask('$t', 'u IN 1000, 57 there', (SELECT format('u IN (%s)',
            plans_list(943, array_agg(u)))
        FROM (SELECT u FROM $t WHERE c % 160 = 0 ORDER BY c LIMIT 57) AS s)),
    plans_ask('$t', 'LIMIT 1 of 1 %', format('SELECT * FROM $t WHERE %s LIMIT 1',
        plans_between('$t', 'u', $rows * 0.01))),
    plans_ask('$t', 'LIMIT 10 of 1 %', format('SELECT * FROM $t WHERE %s LIMIT 10',
        plans_between('$t', 'u', $rows * 0.01))),
    plans_ask('$t', 'LIMIT 1 of a frequent value', 'SELECT * FROM $t WHERE l = 7 LIMIT 1'),
    plans_ask('$t', 'EXISTS, rare', format('SELECT EXISTS (SELECT FROM $t WHERE z = %s)',
        plans_value('$t', 'z', $rows * 0.9))),
    plans_ask('$t', 'semi-join 100 keys', 'SELECT * FROM keys_new
        WHERE EXISTS (SELECT FROM $t WHERE u BETWEEN a AND a + 1000)'),
    plans_ask('$t', 'z IN 100 absent', (SELECT format('z IN (%s)',
        string_agg((-i)::text, ', ')) FROM generate_series(1, 100) AS i)),
    plans_ask('$t', 't = one', format('t = %L', plans_one('$t', 't'))),
    plans_ask('$t', 't = absent', 't = ''https://www.example.com/p/7/none'''),
    plans_ask('$t', 't LIKE needle', format('t LIKE %L', plans_one('$t', 't') || '%')),
    plans_ask('$t', 't LIKE, 0.1 %', 't LIKE ''https://www.example.com/p/777/%'''),
    plans_ask('$t', 't LIKE, 1 %', 't LIKE ''https://www.example.com/p/77%'''),
    plans_ask('$t', 't LIKE, 11 %', 't LIKE ''https://www.example.com/p/7%'''),
    plans_ask('$t', 't LIKE, all', 't LIKE ''https://www%'''),
    plans_ask('$t', 'box, none', 'p <@ box ''(0.3, 0.3, 0.30001, 0.30001)'''),
    plans_ask('$t', 'box, 0.01 %', 'p <@ box ''(0.3, 0.3, 0.31, 0.31)'''),
    plans_ask('$t', 'box, 1 %', 'p <@ box ''(0.3, 0.3, 0.4, 0.4)'''),
    plans_ask('$t', 'box, 30 %', 'p <@ box ''(0.3, 0.3, 0.85, 0.85)'''),
    plans_ask('$t', 'circle, 0.03 %', 'p <@ circle ''<(0.3, 0.3), 0.01>'''),
    plans_ask('$t', 'join 5 keys', 'SELECT * FROM keys5 JOIN $t ON u = a'),
    plans_ask('$t', 'join 100 keys', 'SELECT * FROM keys100 JOIN $t ON u = a'),
    plans_ask('$t', 'join 100 keys, 5 there', 'SELECT * FROM keys_new JOIN $t ON u = a'),
    plans_ask('$t', 'anti-join 100 keys, 5 there', 'SELECT * FROM keys_new
        WHERE NOT EXISTS (SELECT FROM $t WHERE u = a)'),
    plans_ask('$t', '= ANY of a subquery, 100', 'SELECT * FROM $t
        WHERE u = ANY (ARRAY(SELECT a FROM keys100))'),
    plans_ask('$t', 'join of intervals', 'SELECT * FROM keys5 JOIN $t ON u BETWEEN a AND a + 1000'),
    plans_ask_generic('$t', 'u = \$1', 'int8', 'u = \$1', plans_one('$t', 'u')),
    plans_ask_generic('$t', 'u BETWEEN, none', 'int8, int8', 'u BETWEEN \$1 AND \$2', '77, 5000'),
    plans_ask_generic('$t', 'u BETWEEN, 0.01 %', 'int8, int8', 'u BETWEEN \$1 AND \$2',
        plans_bounds('$t', 'u', $rows * 0.0001)),
    plans_ask_generic('$t', 'c BETWEEN, 1 %', 'int8, int8', 'c BETWEEN \$1 AND \$2',
        plans_bounds('$t', 'c', $rows * 0.01)),
    plans_ask_generic('$t', 'u = ANY, 100 absent', 'int8[]', 'u = ANY (\$1)',
        quote_literal('{' || plans_list(100) || '}')),
    plans_ask_generic('$t', 't LIKE needle', 'text', 't LIKE \$1',
        format('%L', plans_one('$t', 't') || '%')),
    plans_ask_generic('$t', 'box, 0.01 %', 'box', 'p <@ \$1', '''(0.3, 0.3, 0.31, 0.31)''');
SQL
}

# Of tables that have indexes on u, c and t only.
ask_few() { # TABLE
    cat <<SQL
SELECT plans_ask('$1', 'u = one', format('u = %s', plans_one('$1', 'u'))),
    plans_ask('$1', 'u BETWEEN, none', 'u BETWEEN 77 AND 5000'),
    plans_ask('$1', 'u BETWEEN, 0.01 %', plans_between('$1', 'u', $ROWS * 0.0001)),
    plans_ask('$1', 'u BETWEEN, 1 %', plans_between('$1', 'u', $ROWS * 0.01)),
    plans_ask('$1', 'u BETWEEN, 30 %', plans_between('$1', 'u', $ROWS * 0.3)),
    plans_ask('$1', 'c BETWEEN, 1 %', plans_between('$1', 'c', $ROWS * 0.01)),
    plans_ask('$1', 'c > tail, 1 %', format('c > %s', plans_value('$1', 'c', $ROWS * 0.91))),
    plans_ask('$1', 'u IN 100 absent', format('u IN (%s)', plans_list(100))),
    plans_ask('$1', 't LIKE needle', format('t LIKE %L', plans_one('$1', 't') || '%')),
    plans_ask('$1', 'join 100 keys', 'SELECT * FROM keys100 JOIN $1 ON u = a'),
    plans_ask('$1', 'anti-join 100 keys, 5 there', 'SELECT * FROM keys_new
        WHERE NOT EXISTS (SELECT FROM $1 WHERE u = a)'),
    plans_ask_generic('$1', 'u BETWEEN, none', 'int8, int8', 'u BETWEEN \$1 AND \$2', '77, 5000');
SQL
}

# A quarter, half of a stretch, one, two of the 15.
ask_clustered() {
    local pages share
    for pages in 1 6 60 600; do
        for share in 0.016 0.033 0.067 0.133; do
            echo "SELECT plans_ask('clustered', 'stretches of $pages pages, $share of the rows',
                plans_between('clustered', 'p$pages', $ROWS * $share));"
        done
    done
}

# Who wants one or ten of so many rows; several conditions; keys in order.
ask_counted() {
    local rows limit
    for rows in 1 10 100 1000 10000; do
        for limit in 'LIMIT 1' 'LIMIT 10' ''; do
            echo "SELECT plans_ask('counted', '${limit:-all} of $rows',
                format('SELECT * FROM counted WHERE m$rows = %s $limit',
                plans_one('counted', 'm$rows')));"
        done
        echo "SELECT plans_ask('counted', 'EXISTS, $rows', format('SELECT EXISTS (SELECT FROM counted
            WHERE m$rows = %s)', plans_one('counted', 'm$rows')));"
    done
    for rows in 10 100 1000; do
        echo "SELECT plans_ask('counted', 'the last $rows, LIMIT 10',
            format('SELECT * FROM counted WHERE o > %s LIMIT 10', ($ROWS - $rows) / 4));
        SELECT plans_ask('counted', '$rows minutes, LIMIT 1', format('SELECT * FROM counted
            WHERE at BETWEEN %1\$L AND %1\$L::timestamptz + interval ''$rows min'' LIMIT 1',
            plans_value('counted', 'at', $ROWS * 0.9)));
        SELECT plans_ask('counted', 'EXISTS, later than the last $rows', format('SELECT EXISTS (
            SELECT FROM counted WHERE at > %L)', plans_value('counted', 'at', $ROWS - $rows)));"
    done
    cat <<SQL
SELECT plans_ask('counted', 'sorted = one', format('o = %s', $ROWS / 8)),
    plans_ask('counted', 'sorted = absent', 'o = -7'),
    plans_ask('counted', 'sorted BETWEEN, 1 %', format('o BETWEEN %s AND %s', $ROWS / 8,
        $ROWS / 8 + $ROWS / 400)),
    plans_ask('counted', 'sorted, join 1000 keys', 'SELECT * FROM keys_o JOIN counted ON o = a'),
    plans_ask('counted', 'sorted, semi-join 1000 keys', 'SELECT * FROM keys_o
        WHERE EXISTS (SELECT FROM counted WHERE o = a AND few25 > 3)'),
    plans_ask('counted', '1 of 50 by BETWEEN', 'few50 BETWEEN 7 AND 7'),
    plans_ask('counted', '5 of 50', 'few50 BETWEEN 7 AND 11'),
    plans_ask('counted', '15 of 50', 'few50 BETWEEN 1 AND 15'),
    plans_ask('counted', '30 % AND 4 %', 'few50 BETWEEN 1 AND 15 AND few25 = 7'),
    plans_ask('counted', '30 % AND 4 % AND 10 %',
        'few50 BETWEEN 1 AND 15 AND few25 = 7 AND few40 IN (3, 5, 7, 9)'),
    plans_ask('counted', '100 rows AND 4 %', format('few25 = 7 AND m100 = %s',
        plans_one('counted', 'm100'))),
    plans_ask('counted', '1000 rows AND 2 %', format('few50 = 7 AND m1000 = %s',
        plans_one('counted', 'm1000'))),
    plans_ask('counted', 'OR of three ANDs', '(few50 BETWEEN 1 AND 5 AND few25 = 7
        AND few40 IN (1, 2, 3, 4)) OR (few50 BETWEEN 1 AND 10 AND few25 = 8 AND few40 IN (5, 6, 7, 8))
        OR (few50 BETWEEN 1 AND 15 AND few25 = 9 AND few40 IN (9, 10, 11, 12))');
SQL
}

# Beside GIN and hash, too: see plans_besides().
ask_patterns() {
    cat <<SQL
SELECT plans_ask('patterns', 'LIKE prefix%', 't LIKE ''https://www.example.com/abc%'''),
    plans_ask('patterns', 'LIKE needle', format('t LIKE %L', plans_one('patterns', 't'))),
    plans_ask('patterns', 'LIKE prefix%x%', 't LIKE ''https://%abc12%'''),
    plans_ask('patterns', 'LIKE long prefix%x%', 't LIKE ''https://www.example.com/a%bc1%'''),
    plans_ask('patterns', 'LIKE %x%', 'tag LIKE ''%abc1%'''),
    plans_ask('patterns', '~ x', 'tag ~ ''abc1'''),
    plans_ask('patterns', '~ ^x.*y', 't ~ ''^https://www.*abc12'''),
    plans_ask('patterns', '= one', format('tag = %L', plans_one('patterns', 'tag')));
SQL
}

# The kinds that an event log is asked.
ask_events() {
    cat <<SQL
SELECT plans_ask('events', 'uuid = one', format('id = %L', plans_one('events', 'id'))),
    plans_ask('events', 'order_no = one', format('order_no = %s', plans_one('events', 'order_no'))),
    plans_ask('events', 'order_no = absent', 'order_no = 77'),
    plans_ask('events', 'uuid IN 10', (SELECT format('id IN (%s)',
            string_agg(format('%L', id), ', '))
        FROM (SELECT id FROM events WHERE order_no % 1000 = 7 ORDER BY at LIMIT 10) AS s)),
    plans_ask('events', 'order_no IN 10', (SELECT format('order_no IN (%s)',
            plans_list(0, array_agg(a)))
        FROM (SELECT a FROM keys_events LIMIT 10) AS s)),
    plans_ask('events', 'order_no IN 100', (SELECT format('order_no IN (%s)',
            plans_list(0, array_agg(a)))
        FROM keys_events)),
    plans_ask('events', 'order_no IN 1000, 57 there', (SELECT format('order_no IN (%s)',
            plans_list(943, array_agg(a)))
        FROM (SELECT a FROM keys_events LIMIT 57) AS s)),
    plans_ask('events', 'BETWEEN, one', plans_between('events', 'order_no', 1)),
    plans_ask('events', 'BETWEEN, 10', plans_between('events', 'order_no', 10)),
    plans_ask('events', 'BETWEEN, 69', plans_between('events', 'order_no', 69)),
    plans_ask('events', 'BETWEEN, 622', plans_between('events', 'order_no', 622)),
    plans_ask('events', 'BETWEEN, 10 %', plans_between('events', 'order_no', $ROWS * 0.1)),
    plans_ask('events', '> tail',
        format('order_no > %s', plans_value('events', 'order_no', $ROWS - 5))),
    plans_ask('events', 'IS NULL, 2 %', 'refund IS NULL'),
    plans_ask('events', 'url = one', format('url = %L', plans_one('events', 'url'))),
    plans_ask('events', 'LIKE needle', format('url LIKE %L', plans_one('events', 'url') || '%')),
    plans_ask('events', 'LIKE /p/NNN/a%', 'url LIKE ''/p/555/a%'''),
    plans_ask('events', '^@', format('url ^@ %L', left(plans_one('events', 'url'), 12))),
    plans_ask('events', 'LIKE /p/1%, 11 %', 'url LIKE ''/p/1%'''),
    plans_ask('events', 'LIKE %x%', 'url LIKE ''%abcd%'''),
    plans_ask('events', 'starts_with', 'starts_with(url, ''/p/555/a'')'),
    plans_ask('events', '~ ^', 'url ~ ''^/p/555/a'''),
    plans_ask('events', 'varchar = one', format('sku = %L', plans_one('events', 'sku'))),
    plans_ask('events', 'varchar::text LIKE', format('sku::text LIKE %L',
        left(plans_one('events', 'sku'), 12) || '%')),
    plans_ask('events', 'ip = one', format('ip = %L', plans_one('events', 'ip'))),
    plans_ask('events', 'ip << /28', 'ip << ''10.77.7.16/28'''),
    plans_ask('events', 'ip <<= /24', 'ip <<= ''10.77.7.0/24'''),
    plans_ask('events', 'ip << /16', 'ip << ''10.77.0.0/16'''),
    plans_ask('events', 'box of 100 m', 'place <@ box ''(8.3, 47.3, 8.301, 47.301)'''),
    plans_ask('events', 'box of 1 km', 'place <@ box ''(8.3, 47.3, 8.313, 47.309)'''),
    plans_ask('events', 'circle', 'place <@ circle ''<(8.3, 47.3), 0.003>'''),
    plans_ask('events', 'box of 10 km', 'place <@ box ''(8.3, 47.3, 8.43, 47.39)'''),
    plans_ask('events', 'numeric > rare',
        format('amount > %s', plans_value('events', 'amount', $ROWS - 5))),
    plans_ask('events', 'numeric BETWEEN dense', 'amount BETWEEN 2 AND 5'),
    plans_ask('events', 'uuid AND month',
        format('id = %L AND at >= ''2026-02-01 00:00+00''
        AND at < ''2026-03-01 00:00+00''', plans_one('events', 'id'))),
    plans_ask('events', 'uuid AND last hour', format('at >= ''2026-04-29 22:00+00'' AND id = %L',
        plans_one('events', 'id'))),
    plans_ask('events', 'OR of two', 'order_no = 77 OR ip = ''10.1.1.1'''),
    plans_ask('events', 'AND of two', 'ip << ''10.77.7.0/24'' AND amount > 1000'),
    plans_ask('events', 'ORDER BY LIMIT',
        format('SELECT * FROM events WHERE order_no = %s ORDER BY at LIMIT 10',
        plans_one('events', 'order_no'))),
    plans_ask('events', 'LIMIT 1', format('SELECT * FROM events WHERE id = %L LIMIT 1',
        plans_one('events', 'id'))),
    plans_ask('events', 'EXISTS', 'SELECT EXISTS (SELECT FROM events WHERE order_no = 77)'),
    plans_ask('events', 'LATERAL LIMIT 1',
        'SELECT * FROM keys_ids, LATERAL (SELECT * FROM events WHERE id = a
        ORDER BY at LIMIT 1) AS s'),
    plans_ask('events', 'join 5 keys', 'SELECT * FROM keys_ids JOIN events ON id = a'),
    plans_ask('events', 'IN (subquery) 5',
        'SELECT * FROM events WHERE id IN (SELECT a FROM keys_ids)'),
    plans_ask('events', 'join 100 keys', 'SELECT * FROM keys_events JOIN events ON order_no = a'),
    plans_ask('events', 'anti-join 100 keys', 'SELECT * FROM keys_new
        WHERE NOT EXISTS (SELECT FROM events WHERE order_no = a)'),
    plans_ask('events', '= ANY (ARRAY(subquery)), 100', 'SELECT * FROM events
        WHERE order_no = ANY (ARRAY(SELECT a FROM keys_events))'),
    plans_ask('events', 'order_no = numeric', 'order_no = 77::numeric'),
    plans_ask('events', 'at BETWEEN, an hour',
        'at BETWEEN ''2026-03-03 12:00+00'' AND ''2026-03-03 13:00+00'''),
    plans_ask_generic('events', 'order_no =',
        'int8', 'order_no = \$1', plans_one('events', 'order_no')),
    plans_ask_generic('events', 'order_no = ANY',
        'int8[]', 'order_no = ANY (\$1)', '''{77,78,79}'''),
    plans_ask_generic('events', 'BETWEEN, none',
        'int8, int8', 'order_no BETWEEN \$1 AND \$2', '77, 5000'),
    plans_ask_generic('events', 'LIKE needle', 'text', 'url LIKE \$1',
        format('%L', plans_one('events', 'url') || '%')),
    plans_ask_generic('events', 'LIKE \$1 || %', 'text', 'url LIKE \$1 || ''%''',
        format('%L', plans_one('events', 'url'))),
    plans_ask_generic('events', 'ip <<', 'inet', 'ip << \$1', '''10.77.7.16/28'''),
    plans_ask_generic('events', 'place <@',
        'box', 'place <@ \$1', '''(8.3, 47.3, 8.301, 47.301)'''),
    plans_ask_generic('events', '> tail',
        'int8', 'order_no > \$1', plans_value('events', 'order_no', $ROWS - 5));
SQL
}

main() {
    bench_machine
    echo "$ROWS rows, seed $SEED, shared_buffers $(bench_sql -c 'SHOW shared_buffers')."
    make_tables
    bench_sql -q -o /dev/null <<SQL
$(ask_table large "$ROWS")
$(ask_table small $((ROWS / 100)))
$(ask_few grown)
$(ask_few filtered)
$(ask_clustered)
$(ask_counted)
$(ask_patterns)
$(ask_events)
SQL
    # Each changes rows of pg_index, the old ones of which would make planning slow.
    bench_sql -q -o /dev/null <<SQL
SELECT format('SELECT plans_cells(q) FROM plan_queries AS q WHERE id = %s', id),
    'VACUUM pg_catalog.pg_index'
FROM plan_queries ORDER BY id
\gexec
SQL
    for _ in 1 2 3; do
        bench_sql -q -o /dev/null -c "SELECT plans_again($BAD)" -c 'VACUUM pg_catalog.pg_index'
    done
    bench_sql <<SQL
\echo
\echo Times in ms.  Cells: the plan that is taken, how many times longer than the best it takes.
\echo
SELECT plans_table($BAD);
\echo
SELECT format('%s cells, %s of them worse than $BAD times the best, %s of these of plans without '
    'rencoder, chosen as if there were no such index; the worst: %s times (%s, %s, %s beside it, '
    'random_page_cost %s)',
    count(*), count(*) FILTER (WHERE ratio > $BAD), count(*) FILTER (WHERE ratio > $BAD AND own),
    round(max(ratio)::numeric, 1),
    (array_agg(tab ORDER BY ratio DESC))[1], (array_agg(kind ORDER BY ratio DESC))[1],
    (array_agg(beside ORDER BY ratio DESC))[1], (array_agg(page_cost ORDER BY ratio DESC))[1])
FROM plan_ratios JOIN plan_queries USING (id);
SQL
}

# A node that is disabled has a cost that would have everything compiled.
bench_run autovacuum=off jit=off -- "$@"
