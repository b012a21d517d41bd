#!/usr/bin/env bash
# How many heap pages a rencoder index with runs has a query read on real columns, against those that truly match:
#
#   bash bench/checks/realpages.sh DATADIR [QUERIES [SEED]]
#
# DATADIR holds flights3m, nycflights13, asn_ipv4, words_en, adsb and cities500, each .csv.zst (columns as in load_tables
# below).  Of each column and kind of query QUERIES (default 100) are drawn from its values.  The pages that match are
# those of the rows that the query finds.  Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

DATADIR=${1:?usage: bench/checks/realpages.sh DATADIR [QUERIES [SEED]]}
QUERIES=${2:-100}
SEED=${3:-1}
TABLES=(flights3m nycflights13 asn_ipv4 words_en adsb cities500)

load_tables() {
    local table
    bench_sql -q <<'SQL'
CREATE TABLE flights3m (dep_time timestamp, delay_min int, distance_mi int, origin text, destination text);
CREATE TABLE nycflights13 (sched_dep timestamp, carrier text, flight int, tailnum text, origin text, dest text,
    dep_delay int, arr_delay int, air_time int, distance int);
CREATE TABLE asn_ipv4 (ip_start bigint, ip_end bigint, asn bigint, org text COLLATE "C");
CREATE TABLE words_en (rank int, word text COLLATE "C", logprob float8);
CREATE TABLE adsb (ts timestamp, icao24 text, callsign text, lon float8, lat float8, altitude int, groundspeed int,
    vertical_rate int, p point GENERATED ALWAYS AS (point(lon, lat)) STORED);
CREATE TABLE cities500 (geonameid int, name text, country text, population int, lon float8, lat float8, tz text,
    p point GENERATED ALWAYS AS (point(lon, lat)) STORED);
SQL
    for table in "${TABLES[@]}"; do
        local columns=
        case $table in
            adsb) columns='(ts, icao24, callsign, lon, lat, altitude, groundspeed, vertical_rate)' ;;
            cities500) columns='(geonameid, name, country, population, lon, lat, tz)' ;;
        esac
        zstd -dcq "$WORK/input/$table.csv.zst" | bench_copy "$table $columns"
        bench_sql -q -c "VACUUM (ANALYZE) $table"
    done
}

define_functions() {
    bench_sql -q <<'SQL'
CREATE TABLE tries (seq int GENERATED ALWAYS AS IDENTITY, col text, kind text, bits numeric, matching bigint, pages bigint,
    index_pages bigint, slack int);
-- The pages of the rows that a condition finds, beside those that the index has it read.
CREATE FUNCTION try(tab text, col text, kind text, condition text, slack int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    r tries;
BEGIN
    SET LOCAL enable_seqscan = off;
    EXECUTE format('SELECT count(DISTINCT (ctid::text::point)[0]) FROM %I WHERE %s', tab, condition) INTO r.matching;
    r.pages := bench_heap_blocks(format('SELECT * FROM %I WHERE %s', tab, condition), 'tried');
    r.index_pages := (bench_pages(bench_explain(format('SELECT * FROM %I WHERE %s', tab, condition)))).index_pages;
    INSERT INTO tries (col, kind, bits, matching, pages, index_pages, slack)
    VALUES (tab || '.' || col, kind, (SELECT pg_relation_size('tried') * 8 / reltuples::numeric FROM pg_class
        WHERE oid = tab::regclass), r.matching, r.pages, r.index_pages, slack);
END $$;
SQL
}

# try_column TABLE COLUMN SLACK KIND FORMAT ..: FORMAT makes a condition of a value of the column (%1$L, or %1$s) and a
# number below 50 (%2$s).
try_column() {
    local table=$1 column=$2 slack=$3
    shift 3
    bench_sql -q -c "CREATE INDEX tried ON $table USING rencoder ($column)"
    while [ $# -gt 0 ]; do
        bench_sql -q >/dev/null <<SQL
SELECT 100 * 1.5 * $QUERIES / greatest(reltuples, 1.5 * $QUERIES) AS percent FROM pg_class WHERE relname = '$table' \gset
SELECT try('$table', '$column', '$1', format(\$\$$2\$\$, v, n % 50), $slack)
FROM (SELECT $column AS v, row_number() OVER () AS n FROM $table TABLESAMPLE bernoulli (:percent) REPEATABLE ($SEED)
    WHERE $column IS NOT NULL LIMIT $QUERIES) AS drawn;
SQL
        shift 2
    done
    bench_sql -q -c 'DROP INDEX tried'
}

main() {
    local box='p <@ box((%1$L::point) - point(0.0%2$s, 0.0%2$s), (%1$L::point) + point(0.0%2$s, 0.0%2$s))'
    local away='p <@ box((%1$L::point) + point(0.00%2$s, 0.01), (%1$L::point) + point(0.01%2$s, 0.015))'
    bench_machine
    load_tables
    define_functions
    try_column flights3m dep_time 3 'minute' 'dep_time BETWEEN %1$L AND %1$L::timestamp + %2$s * interval '\''1 minute'\'''
    try_column flights3m delay_min 3 'absent' 'delay_min = %1$s + 100000' 'rare' 'delay_min BETWEEN 60%2$s AND 60%2$s + 10'
    try_column flights3m origin 3 'value' 'origin = %1$L' 'absent' $'origin = %1$L || \'Q\''
    try_column nycflights13 tailnum 3 'value' 'tailnum = %1$L' 'absent' 'tailnum = left(%1$L, 2) || reverse(substr(%1$L, 3))'
    try_column nycflights13 arr_delay 3 'interval' 'arr_delay BETWEEN 300 + 4 * %2$s AND 302 + 4 * %2$s'
    try_column asn_ipv4 asn 3 'value' 'asn = %1$s' 'interval' 'asn BETWEEN %1$s + 1 AND %1$s + %2$s'
    try_column asn_ipv4 ip_start 3 'interval' 'ip_start BETWEEN %1$s + 1 AND %1$s + 10 * %2$s'
    try_column asn_ipv4 org 3 'value' 'org = %1$L' 'absent' 'org = left(%1$L, 4) || reverse(substr(%1$L, 5))'
    try_column words_en word 3 'value' 'word = %1$L' 'absent' $'word = %1$L || \'qz\'' \
        'prefix' $'word LIKE substr(%1$L, 1, 6) || \'%%\''
    try_column adsb icao24 3 'value' 'icao24 = %1$L' 'absent' 'icao24 = left(md5(%1$L), 6)'
    try_column adsb p 10 'box around' "$box" 'box beside' "$away"
    try_column cities500 name 3 'value' 'name = %1$L' 'absent' $'name = %1$L || \'q\''
    try_column cities500 p 10 'box around' "$box" 'box beside' "$away"

    bench_sql --pset=tuples_only=off --pset=format=aligned --pset=footer=off -c "
        SELECT col AS column, kind, count(*) AS queries, round(avg(bits), 1) AS \"bits a row\",
            round(avg(matching), 2) AS matching, round(avg(pages), 2) AS pages, round(avg(index_pages), 1) AS \"index pages\",
            round(avg(pages - 1.1 * matching), 2) AS \"pages - 1.1 * matching\"
        FROM tries GROUP BY col, kind ORDER BY min(seq)"
    bench_limit "queries that find more pages than they read" \
        "$(bench_sql -c 'SELECT count(*) FILTER (WHERE (matching <= pages) IS NOT TRUE) FROM tries')" '<=' 0
    bench_limit "columns above 1.1 * matching + 3 pages (boxes: + 10), mean" \
        "$(bench_sql -c 'SELECT count(*) FILTER (WHERE NOT kept) FROM (SELECT avg(pages - 1.1 * matching) <= avg(slack) AS kept
            FROM tries GROUP BY col, kind) AS t')" '<=' 0
    bench_finish
}

inputs=()
for table in "${TABLES[@]}"; do
    inputs+=(-i "$DATADIR/$table.csv.zst")
done
bench_run -p zstd "${inputs[@]}" wal_level=minimal max_wal_senders=0 maintenance_work_mem=256MB \
    max_parallel_workers_per_gather=0 -- "$@"
