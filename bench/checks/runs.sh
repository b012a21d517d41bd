#!/usr/bin/env bash
# What an index WITH (storage = run) takes and reads, in size, pages and time, against its limits:
#
#   bash bench/checks/runs.sh [MILLIONS [SEED]]
#
# MILLIONS (default 2) million random int8, 35 rows a page: size, pages of queries, the build, times
# beside a btree, random updates, COPY.  A quarter as many rows (5 million at most) of other
# integers, timestamps, points and strings.  Each figure is printed when it is known, and all of
# them as a table at the end.  Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

MILLIONS=${1:-2}
SEED=${2:-1}
ROWS=$((MILLIONS * 1000000))
SMALL=$((MILLIONS < 20 ? ROWS / 4 : 5000000))
QUERIES=1000
LENGTH=64
ROUNDS=3            # of pgbench
ROUND_SECONDS=2
COPY_ROWS=1000000
IDLE_SECONDS=10
WITH='storage = run'

# ---------------------------------------------------------------- the table of figures

heading() { printf '%s\n' "$1"; printf '| **%s** | | |\n' "$1" >>"$WORK/figures"; }

limit() { # FIGURE VALUE OP LIMIT
    bench_limit "  $1" "$2" "$3" "$4"
    printf '| %s | %s %s | %s |\n' "$1" "$3" "$4" "${2:-none}" >>"$WORK/figures"
}

# A figure without a limit.
tell() { # FIGURE VALUE
    printf '  %-56s %10s\n' "$1" "$2"
    printf '| %s | | %s |\n' "$1" "$2" >>"$WORK/figures"
}

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f", a / b; else print "none" }'; }

bits() { bench_value "round(pg_relation_size('$1') * 8 / $2::numeric, 2)"; } # INDEX ROWS

used_bits() { # INDEX ROWS
    bench_value "round((pg_relation_size('$1') - (free_pages + spare_pages) * 8192) * 8 / $2::numeric, 2)
        FROM rencoder_metapage('$1')"
}

# Mean pages of the index and of the table, and false pages, that scans for the intervals of a table
# of queries (lo, hi, matching pages) ask for, in the order "index heap false".
pages() { # INDEX QUERIES
    bench_sql -F ' ' -c "SELECT round(avg(c.index_pages), 2), round(avg(c.pages), 2),
            round(avg(c.pages - q.matching), 2)
        FROM $2 AS q, rencoder_candidates('$1', q.lo, q.hi) AS c"
}

# What the index says beforehand, for queries as its rule thinks of them.
predicted() { bench_value "round(sum(false_pages)::numeric, 2) FROM rencoder_runs('$1')"; } # INDEX

limit_pages() { # WHAT INDEX QUERIES INDEX-LIMIT HEAP-LIMIT
    local index heap
    read -r index heap _ < <(pages "$2" "$3")
    limit "$1: index pages" "$index" '<=' "$4"
    limit "$1: heap pages" "$heap" '<=' "$5"
}

# ---------------------------------------------------------------- uniform integers

# The fillfactor leaves room on each page for two new versions of rows, and 35 rows on it.
make_table() {
    bench_sql -q <<SQL
COPY (SELECT hashint8extended(i, $SEED) FROM (SELECT generate_series(1, $ROWS)) AS s (i))
    TO '$WORK/keys';
BEGIN;
CREATE TABLE t (id int8, filler text DEFAULT repeat('x', 180)) WITH (fillfactor = 96);
ALTER TABLE t ALTER filler SET STORAGE plain;
COPY t (id) FROM '$WORK/keys' (FREEZE);
COMMIT;
ANALYZE t;
-- Of this session's process; the kernel counts in hundredths of a second.
CREATE FUNCTION cpu_ms() RETURNS numeric LANGUAGE sql AS \$\$
    SELECT (f[12]::numeric + f[13]::numeric) * 10
    FROM regexp_split_to_array(regexp_replace(pg_read_file('/proc/self/stat', 0, 2000),
        '.*\) ', ''), ' ') AS f
\$\$;
SELECT format('Table: %s rows, %s pages, %s rows a page.', reltuples, relpages,
    round((reltuples / relpages)::numeric, 1)) FROM pg_class WHERE oid = 't'::regclass;
SQL
    rm "$WORK/keys"
}

# CPU time of a build in the session alone.
build() { # INDEX METHOD
    bench_sql -q <<SQL
SET max_parallel_maintenance_workers = 0;
SELECT cpu_ms() AS cpu \gset
CREATE INDEX $1 ON t USING $2;
SELECT round(cpu_ms() - :'cpu');
SQL
}

# The btree knows which intervals are empty, and where 100 rows end.
draw_queries() {
    bench_sql -q <<SQL
SET enable_seqscan = off;
CREATE TABLE empty AS
SELECT lo, lo + $LENGTH - 1 AS hi, 0 AS matching
FROM (SELECT hashint8extended(i, $SEED + 1) / 2 AS lo
      FROM generate_series(1, 2 * $QUERIES) AS i) AS drawn
WHERE NOT EXISTS (SELECT FROM t WHERE id BETWEEN lo AND lo + $LENGTH - 1)
LIMIT $QUERIES;
CREATE TABLE one AS
SELECT lo, lo + $LENGTH - 1 AS hi, 1 AS matching
FROM (SELECT hashint8extended(1 + (i::numeric * 7919 % $ROWS)::int8, $SEED) - $LENGTH / 2 AS lo
      FROM generate_series(1, 2 * $QUERIES) AS i) AS drawn
WHERE lo BETWEEN -9223372036854775807 + 2 * $LENGTH AND 9223372036854775807 - 2 * $LENGTH
  AND (SELECT count(*) FROM t WHERE id BETWEEN lo AND lo + $LENGTH - 1) = 1
LIMIT $QUERIES;
CREATE TABLE hundred AS
SELECT lo, (SELECT id FROM t WHERE id >= lo ORDER BY id OFFSET 99 LIMIT 1) AS hi, 100 AS matching
FROM (SELECT id AS lo FROM empty, LATERAL (SELECT id FROM t WHERE id >= empty.lo ORDER BY id
                                           LIMIT 1) AS next) AS drawn;
SQL
    local table
    for table in empty one; do
        [[ $(bench_value "count(*) FROM $table") == "$QUERIES" ]] || die 'too few queries were found'
    done
}

# Pages that the planner reads, the second time in a session.
planning_pages() {
    bench_sql <<'SQL' | tail -n 1
SET enable_seqscan = off;
SELECT m.planning_pages FROM (SELECT * FROM empty LIMIT 1) AS q,
    bench_measure(format('SELECT * FROM t WHERE id BETWEEN %s AND %s', lo, hi), 1) AS m
WHERE m.uses = 't_r';
SQL
}

# Time by the clock of a build with the workers that the server gives by default; the index is
# dropped again.
build_in_parallel() { # METHOD
    bench_sql -q <<SQL
SELECT clock_timestamp() AS start \gset
CREATE INDEX in_parallel ON t USING $1;
SELECT round(extract(epoch FROM clock_timestamp() - :'start') * 1000);
DROP INDEX in_parallel;
SQL
}

uniform() {
    local cpu_r cpu_b ms_r ms_b
    heading "$MILLIONS million random int8, 35 rows a page"
    cpu_b=$(build t_b 'btree (id)')
    draw_queries
    cpu_r=$(build t_r "rencoder (id) WITH ($WITH)")
    limit 'size, bits a row' "$(bits t_r "$ROWS")" '<=' 22.3
    tell 'size of a btree, bits a row' "$(bits t_b "$ROWS")"
    limit_pages "empty interval of $LENGTH" t_r empty 12 1.5
    tell 'false pages predicted' "$(predicted t_r)"
    limit_pages 'one match' t_r one 12 2.5
    limit_pages '100 matches' t_r hundred 14 103
    limit 'build, CPU time of a btree / rencoder, both serial' "$(ratio "$cpu_b" "$cpu_r")" '>=' 2
    tell 'build, CPU time, ms' "$cpu_r"
    ms_b=$(build_in_parallel 'btree (id)')
    ms_r=$(build_in_parallel "rencoder (id) WITH ($WITH)")
    limit 'build, time of a btree / rencoder, both with workers' "$(ratio "$ms_b" "$ms_r")" '>=' 1.5
    tell 'build with workers, ms' "$ms_r"
    use_only t_r t_b
    limit 'pages read while planning, the second time' "$(planning_pages)" '<=' 12
}

# A list of values is one pass: no leaf is read twice.
lists() {
    local index heap
    read -r index heap < <(bench_sql -q -F ' ' -c 'SET enable_seqscan = off' -c "
        SELECT (bench_pages(bench_explain(query))).index_pages, bench_heap_blocks(query, 't_r')
        FROM (SELECT format('SELECT * FROM t WHERE id = ANY (%L)', array_agg(lo)) FROM empty) AS q (query)")
    limit "a list of $QUERIES absent values: index pages" "$index" '<=' "$((QUERIES + 25))"
    tell "a list of $QUERIES absent values: heap pages" "$heap"
}

fewer_false_pages() {
    local index heap
    bench_sql -q -c "CREATE INDEX t_fewer ON t USING rencoder (id) WITH ($WITH, false_pages = 0.1)"
    limit 'false_pages = 0.1: bits a row' "$(bits t_fewer "$ROWS")" '<=' 25.2
    read -r index heap _ < <(pages t_fewer empty)
    tell 'false_pages = 0.1, empty interval: index pages' "$index"
    limit 'false_pages = 0.1, empty interval: heap pages' "$heap" '<=' 0.3
    bench_sql -q -c 'DROP INDEX t_fewer'
}

# The first rows of the table, without anything else in them.
growth() {
    local part index heap least='' most=''
    heading 'The same keys in narrow rows'
    for part in 8 4 2 1; do
        bench_sql -q -c "CREATE TABLE narrow AS SELECT id FROM t LIMIT $((ROWS / part))" \
            -c "CREATE INDEX narrow_r ON narrow USING rencoder (id) WITH ($WITH)"
        read -r index heap _ < <(pages narrow_r empty)
        tell "$((ROWS / part)) rows, empty interval: index pages" "$index"
        tell "$((ROWS / part)) rows, empty interval: heap pages" "$heap"
        most=$index least=${least:-$index}
        ((part > 1)) || limit 'size, bits a row' "$(bits narrow_r "$ROWS")" '<=' 19.6
        bench_sql -q -c 'DROP TABLE narrow'
    done
    limit "index pages of $ROWS rows more than of an eighth" "$(bench_value "$most - $least")" '<=' 3
}

# ---------------------------------------------------------------- times

# For the planner there is only one of the two; this cluster is thrown away.
use_only() { # INDEX OTHER
    bench_sql -q -c "UPDATE pg_index SET indisvalid = indexrelid <> '$2'::regclass
        WHERE indexrelid IN ('$1'::regclass, '$2'::regclass)"
    [[ $(bench_value "bench_choice('SELECT * FROM t WHERE id BETWEEN 0 AND 63')") == "$1" ]] ||
        die "the plan does not use $1"
}

latency() { # QUERY PROTOCOL ROUND; average, ms
    pgbench -n -M "$2" -c 1 -T "$ROUND_SECONDS" --random-seed=$((SEED + $3)) \
        -f "$WORK/$1.pgbench" postgres >"$WORK/log/pgbench" 2>&1 ||
        { show_log "$WORK/log/pgbench" 20; die 'pgbench failed'; }
    sed -n 's/^latency average = \([0-9.]*\) ms.*/\1/p' "$WORK/log/pgbench"
}

times() {
    local round query protocol index
    local -A maximum=([prepared]=1.5 [simple]=2)
    heading 'Time beside the btree, average latency of one client'
    cat >"$WORK/empty.pgbench" <<SQL
\set lo random(0, 9000000000000000000)
\set hi :lo + $LENGTH - 1
SELECT * FROM t WHERE id BETWEEN :lo AND :hi;
SQL
    cat >"$WORK/one.pgbench" <<SQL
\set i random(1, $ROWS)
SELECT * FROM t WHERE id = hashint8extended(:i, $SEED);
SQL
    bench_sql -q -c 'CREATE TABLE latency
        (query text, protocol text, round int, r numeric, b numeric)'
    # Round 0 is to warm up.
    for ((round = 0; round <= ROUNDS; round++)); do
        for query in empty one; do
            for protocol in prepared simple; do
                local -A ms=()
                for index in t_r t_b; do
                    if [[ $index == t_r ]]; then use_only t_r t_b; else use_only t_b t_r; fi
                    ms[$index]=$(latency "$query" "$protocol" "$round")
                done
                ((round == 0)) || bench_sql -q -c "INSERT INTO latency
                    VALUES ('$query', '$protocol', $round, ${ms[t_r]}, ${ms[t_b]})"
            done
        done
    done
    for query in empty one; do
        for protocol in prepared simple; do
            limit "$query, $protocol: rencoder / btree" "$(bench_sql -c "
                SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY r / b)::numeric, 2)
                FROM latency WHERE (query, protocol) = ('$query', '$protocol')")" \
                '<=' "${maximum[$protocol]}"
            tell "$query, $protocol: rencoder, ms (median)" "$(bench_sql -c "
                SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY r) FROM latency
                WHERE (query, protocol) = ('$query', '$protocol')")"
        done
    done
    use_only t_r t_b
}

# ---------------------------------------------------------------- other keys

# Each column by itself has an index.  "dense" has two thirds of the integers up to the number of
# rows, each once or a few times.  The absent values lie between those that are there.
other_integers() {
    local column index heap false
    local -A maximum=([thousand]=9.6 [sorted]=4.6)
    heading "$SMALL rows of other int8 and timestamps, 35 rows a page"
    bench_sql -q <<SQL
CREATE TABLE others (dense int8, thousand int8, most int8, sorted timestamp, filler text);
ALTER TABLE others ALTER filler SET STORAGE plain;
INSERT INTO others
SELECT (h & 9223372036854775807) % $SMALL, (h >> 20 & 1048575) % 1000 * 1000,
    CASE WHEN h & 1048575 < 943718 THEN 0 ELSE g END,
    timestamp '2025-01-01' + i * interval '1 second', repeat('x', 156)
FROM (SELECT i, hashint8extended(i, $SEED) AS h, hashint8extended(i, $SEED + 2) AS g
      FROM generate_series(1, $SMALL) AS i) AS s;
ANALYZE others;
CREATE TABLE empty_dense AS
SELECT lo, lo AS hi, 0 AS matching
FROM (SELECT (hashint8extended(i, $SEED + 3) & 9223372036854775807) % $SMALL AS lo
      FROM generate_series(1, 10 * $QUERIES) AS i) AS drawn
WHERE NOT EXISTS (SELECT FROM others WHERE dense = lo) LIMIT $QUERIES;
CREATE TABLE empty_thousand AS
SELECT i * 1000 + 500 AS lo, i * 1000 + 500 AS hi, 0 AS matching FROM generate_series(1, 999) AS i;
ALTER TABLE empty_thousand ALTER lo TYPE int8, ALTER hi TYPE int8;
CREATE TABLE empty_most AS
SELECT hashint8extended(i, $SEED + 4) AS lo, hashint8extended(i, $SEED + 4) AS hi, 0 AS matching
FROM generate_series(1, $QUERIES) AS i;
CREATE TABLE empty_sorted AS
SELECT at + interval '0.3 s' AS lo, at + interval '0.6 s' AS hi, 0 AS matching
FROM (SELECT timestamp '2025-01-01' + i * ($SMALL / $QUERIES) * interval '1 second' AS at
      FROM generate_series(1, $QUERIES - 1) AS i) AS s;
SQL
    for column in dense thousand most sorted; do
        bench_sql -q -c "CREATE INDEX others_$column ON others
            USING rencoder ($column) WITH ($WITH)"
        if [[ -n ${maximum[$column]:-} ]]; then
            limit "$column: bits a row" "$(bits "others_$column" "$SMALL")" \
                '<=' "${maximum[$column]}"
        else
            tell "$column: bits a row" "$(bits "others_$column" "$SMALL")"
        fi
        read -r index heap false < <(pages "others_$column" "empty_$column")
        tell "$column: index pages of an absent value" "$index"
        tell "$column: heap pages of an absent value" "$heap"
        limit "$column: false pages of an absent value" "$false" '<=' 1
        tell "$column: false pages predicted" "$(predicted "others_$column")"
    done
    bench_sql -q -c 'DROP TABLE others'
}

# Keys crowd in 20,000 places, of 2^4 to 2^50 integers each, the first more than the last.  Absent
# values are drawn in the same way.
clusters() {
    local index heap
    heading "$SMALL int8 in clusters, 35 rows a page"
    bench_sql -q <<SQL
CREATE FUNCTION part(i int8, seed int8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT (hashint8extended(i, seed) >> 11 & 9007199254740991) / 9007199254740992.0::float8';
CREATE FUNCTION clustered(i int8) RETURNS int8 LANGUAGE sql IMMUTABLE AS \$\$
    SELECT hashint8extended(c, $SEED + 9) / 2
        + (2 ^ (4 + 46 * part(c, $SEED + 10)) * part(i, $SEED + 11))::int8
    FROM CAST(floor(20000 * part(i, $SEED + 12) ^ 2) AS int8) AS c
\$\$;
CREATE TABLE places (k int8, filler text);
ALTER TABLE places ALTER filler SET STORAGE plain;
INSERT INTO places SELECT clustered(i), repeat('x', 184) FROM generate_series(1, $SMALL::int8) AS i;
CREATE INDEX places_k ON places USING rencoder (k) WITH ($WITH);
CREATE TABLE empty_clustered AS
SELECT lo, lo AS hi, 0 AS matching
FROM (SELECT clustered(-i) AS lo FROM generate_series(1, 5 * $QUERIES::int8) AS i) AS drawn
WHERE NOT EXISTS (SELECT FROM places WHERE k = lo) LIMIT $QUERIES;
SQL
    tell 'clusters: bits a row' "$(bits places_k "$SMALL")"
    read -r index heap _ < <(pages places_k empty_clustered)
    tell 'clusters: false pages of a value that is there, predicted' "$(predicted places_k)"
    tell 'clusters, absent value: index pages' "$index"
    limit 'clusters, absent value: false pages' "$heap" '<=' 5
    bench_sql -q -c 'DROP TABLE places'
}

# Boxes of a fiftieth of the mean distance between points: one in 2,500 is not empty.  Names of
# letters that are not equally frequent, of 8 to 16 letters and with one of four endings.
points_and_text() {
    local index heap
    heading "$SMALL points and names, 35 rows a page"
    bench_sql -q <<SQL
CREATE TABLE spots (p point, name text COLLATE "C", filler text);
ALTER TABLE spots ALTER filler SET STORAGE plain;
CREATE FUNCTION coordinate(i int8, seed int8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT (hashint8extended(i, seed) >> 11) / 9007199254740992.0::float8';
CREATE FUNCTION name(i int8) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$
    SELECT left(translate(md5((i + $SEED)::text), '0123456789abcdef', 'eeeaaoottinnsrhl'),
            8 + i::int % 9)
        || ('{.com,.com,.org,.net,.info}'::text[])[1 + i % 5]
\$\$;
INSERT INTO spots
SELECT point(coordinate(i, $SEED), coordinate(i, $SEED + 1)), name(i), repeat('x', 144)
FROM generate_series(1, $SMALL::int8) AS i;
ANALYZE spots;
CREATE INDEX spots_p ON spots USING rencoder (p) WITH ($WITH);
CREATE INDEX spots_name ON spots USING rencoder (name) WITH ($WITH);
CREATE TABLE empty_p AS
SELECT point(x, y) AS lo, point(x + side, y + side) AS hi, 0 AS matching
FROM (SELECT coordinate(i, $SEED + 5) AS x, coordinate(i, $SEED + 6) AS y,
          0.02 / sqrt($SMALL) AS side
      FROM generate_series(1, $QUERIES::int8) AS i) AS s;
CREATE TABLE empty_name AS
SELECT name AS lo, name AS hi, 0 AS matching
FROM (SELECT name($SMALL + i) FROM generate_series(1, $QUERIES::int8) AS i) AS s
WHERE NOT EXISTS (SELECT FROM spots WHERE spots.name = s.name);
SQL
    tell 'points: bits a row' "$(bits spots_p "$SMALL")"
    limit_pages 'points, empty box' spots_p empty_p 30 10
    tell 'names: bits a row' "$(bits spots_name "$SMALL")"
    read -r index heap _ < <(pages spots_name empty_name)
    tell 'names, absent: index pages' "$index"
    limit 'names, absent: false pages' "$heap" '<=' 6
    limit 'names LIKE, 80 to 125 matches: pages more than 1.2 times the matching' "$(bench_sql -q <<SQL
SET enable_seqscan = off;
WITH prefixes AS (
    SELECT left(name, 4) AS prefix, count(DISTINCT (ctid::text::point)[0]) AS matching FROM spots
    GROUP BY 1 HAVING count(*) BETWEEN 80 AND 125 ORDER BY 1 LIMIT 50)
SELECT round(avg(c.pages - 1.2 * matching), 2)
FROM prefixes, bench_heap_blocks(format('SELECT * FROM spots WHERE name LIKE %L', prefix || '%'), 'spots_name') AS c (pages)
SQL
    )" '<=' 10
    bench_sql -q -c 'DROP TABLE spots'
}

# ---------------------------------------------------------------- changes

# The same, "index heap", of queries that are executed: the worker goes by what these have to read.
asked_pages() { # QUERIES
    bench_sql -q -F ' ' -c 'SET enable_seqscan = off' -c 'SET enable_indexscan = off' -c "
        SELECT round(avg(p.index_pages), 2), round(avg(p.heap_pages), 2)
        FROM $1 AS q, bench_pages(bench_explain(format('SELECT * FROM t WHERE id BETWEEN %s AND %s', q.lo, q.hi))) AS p"
}

# Each on top of those before, of an index that was asked before.  Rows that were moved to new pages
# are behind the frontier: the first of the queries read all of these pages.
updates() {
    local percent index heap fresh
    heading 'Random updates of the column, pages of an empty query'
    bench_sql -q -c "CREATE INDEX t_r ON t USING rencoder (id) WITH ($WITH)"
    read -r _ fresh < <(asked_pages empty)
    for percent in 0.01 0.1 1 5 20; do
        bench_sql -q -c "UPDATE t SET id = hashint8extended(id, $SEED + 7) WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM t TABLESAMPLE bernoulli ($percent) REPEATABLE ($SEED)))"
        read -r index heap < <(asked_pages empty)
        limit "$percent %: index pages" "$index" '<=' 20
        limit "$percent %: heap pages" "$heap" '<=' 20
        sleep "$IDLE_SECONDS"
        limit_pages "$percent %, after $IDLE_SECONDS s" t_r empty 18 "$(bench_value "$fresh + 0.5")"
        limit "$percent %: bits a row" "$(bits t_r "$ROWS")" '<=' 31
        tell "$percent %: bits a row, without free pages" "$(used_bits t_r "$ROWS")"
        bench_sql -q -c 'VACUUM t'
        limit_pages "$percent %, VACUUM" t_r empty 18 "$(bench_value "$fresh + 0.5")"
        limit "$percent %, VACUUM: bits a row, without free pages" "$(used_bits t_r "$ROWS")" '<=' 24
    done
    bench_sql -q -c 'DROP INDEX t_r'
}

# Prints ms, CPU ms of the session, and bytes of WAL.
copy_once() { # COMMIT or ROLLBACK
    bench_sql -q -F ' ' <<SQL
CHECKPOINT;
SELECT clock_timestamp() AS start, cpu_ms() AS cpu, pg_current_wal_insert_lsn() AS lsn \gset
BEGIN;
COPY t (id) FROM '$WORK/more';
$1;
SELECT extract(epoch FROM clock_timestamp() - :'start') * 1000, cpu_ms() - :'cpu',
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'lsn');
SQL
}

# Takes back what was appended to the table, and its pages.
remove_copied() { # PAGES
    bench_sql -q -c 'SET client_min_messages = warning' -c 'DROP INDEX IF EXISTS t_r' \
        -c "DELETE FROM t WHERE ctid >= '($1,0)'" -c 'VACUUM t'
    [[ $(bench_value "pg_relation_size('t') / 8192") == "$1" ]] || die 'the table has kept pages'
}

# Into a table without holes; the rounds without and with the index take turns.
copy() {
    local ms cpu wal index heap round heap_pages
    heading "COPY of $COPY_ROWS rows, pages of an empty query"
    bench_sql -q -c 'SET client_min_messages = warning' -c 'DROP INDEX IF EXISTS t_r, t_b' \
        -c "COPY (SELECT hashint8extended(-i, $SEED)
        FROM generate_series(1, $COPY_ROWS) AS i) TO '$WORK/more'" \
        -c 'CREATE TABLE copies (round int, index bool, ms numeric, cpu numeric, wal numeric)'
    heap_pages=$(bench_value "pg_relation_size('t') / 8192")
    # Round 0 is to warm up.
    for ((round = 0; round <= ROUNDS; round++)); do
        read -r ms cpu wal < <(copy_once COMMIT)
        bench_sql -q -c "INSERT INTO copies VALUES ($round, false, $ms, $cpu, $wal)"
        remove_copied "$heap_pages"
        bench_sql -q -c "CREATE INDEX t_r ON t USING rencoder (id) WITH ($WITH)"
        read -r ms cpu wal < <(copy_once COMMIT)
        bench_sql -q -c "INSERT INTO copies VALUES ($round, true, $ms, $cpu, $wal)"
        ((round == ROUNDS)) || remove_copied "$heap_pages"
    done
    read -r ms cpu wal < <(bench_sql -F ' ' -c "
        WITH pair AS (SELECT n.ms / r.ms AS ms, n.cpu / r.cpu AS cpu, r.wal / n.wal AS wal
            FROM copies AS r JOIN copies AS n USING (round)
            WHERE r.index AND NOT n.index AND round > 0)
        SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 2),
            round(percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu)::numeric, 2),
            round(percentile_cont(0.5) WITHIN GROUP (ORDER BY wal)::numeric, 2) FROM pair")
    limit 'rows/s, times no index' "$ms" '>=' 0.95
    tell 'rows/s, times no index, by CPU time of the session' "$cpu"
    tell 'WAL, times no index, when COPY ends' "$wal"
    sleep "$IDLE_SECONDS"
    limit_pages "after $IDLE_SECONDS s" t_r empty 40 8
    bench_sql -q -c 'VACUUM t'
    limit_pages 'after VACUUM' t_r empty 35 4
    tell 'after VACUUM: bits a row' "$(bits t_r "($ROWS + $COPY_ROWS)")"
    bench_sql -q -c "SELECT rencoder_compact('t_r')" >/dev/null
    read -r index heap _ < <(pages t_r empty)
    tell 'after rencoder_compact: index pages' "$index"
    tell 'after rencoder_compact: heap pages' "$heap"
    tell 'after rencoder_compact: bits a row' "$(bits t_r "($ROWS + $COPY_ROWS)")"
    bench_sql -q -c "SELECT rencoder_index_check('t_r', true)" >/dev/null
    remove_copied "$heap_pages"
}

main() {
    bench_machine
    echo "Seed: $SEED.  WITH ($WITH).  shared_buffers $(bench_value "current_setting('shared_buffers')")."
    make_table
    uniform
    lists
    fewer_false_pages
    times
    growth
    other_integers
    clusters
    points_and_text
    copy
    updates
    printf '\n| figure | limit | measured |\n|---|---|---|\n'
    cat "$WORK/figures"
    bench_finish
}

bench_run wal_level=minimal max_wal_senders=0 max_wal_size=16GB checkpoint_timeout=1h \
    autovacuum=off maintenance_work_mem=256MB -- "$MILLIONS" "$SEED"
