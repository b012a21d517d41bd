#!/usr/bin/env bash
# How many block ranges a rencoder index lets through on real columns, against those that truly match:
#
#   bash bench/checks/realdata.sh DATADIR [SEED]
#
# DATADIR holds flights3m.csv.zst, asn_ipv4.csv.zst and nycflights13.csv.zst (columns as in load_tables below).
# On the sorted column flights3m.dep_time it is compared with BRIN minmax.  All rows are compared with those
# of a sequential scan.  Ends with exit code 1 if a limit is exceeded or an answer differs.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

PAGES_PER_RANGE=(8 32)
DATADIR=${1:?usage: bench/checks/realdata.sh DATADIR [SEED]}
SEED=${2:-1}

load_tables() {
    bench_sql -q <<'SQL'
CREATE TABLE flights3m (dep_time timestamp, delay_min int, distance_mi int, origin text, destination text);
CREATE TABLE nycflights13 (sched_dep timestamp, carrier text, flight int, tailnum text, origin text, dest text,
    dep_delay int, arr_delay int, air_time int, distance int);
CREATE TABLE asn_ipv4 (ip_start bigint, ip_end bigint, asn bigint, org text COLLATE "C");
SQL
    zstd -dcq "$WORK/input/flights3m.csv.zst" | bench_copy flights3m
    zstd -dcq "$WORK/input/nycflights13.csv.zst" | bench_copy nycflights13
    zstd -dcq "$WORK/input/asn_ipv4.csv.zst" | bench_copy asn_ipv4
    bench_sql -q -c 'VACUUM (ANALYZE) flights3m' -c 'VACUUM (ANALYZE) nycflights13' -c 'VACUUM (ANALYZE) asn_ipv4'
}

define_functions() {
    bench_sql -q <<'SQL'
CREATE TABLE uncorrelated (seq int GENERATED ALWAYS AS IDENTITY, query text, pages_per_range int, rows bigint, same boolean,
    ranges bigint, matching bigint, candidates bigint, unindexed bigint, index_pages bigint, blocks bigint);

-- One interval of one column: truth from the positions of the rows, candidates from the index, and the
-- pages that a scan really visits, which must lie in as many ranges as there are candidates.
CREATE FUNCTION try_interval(tab text, col text, lo bigint, hi bigint, pages_per_range int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    condition text := format('%I BETWEEN %s AND %s', col, lo, hi);
    query text := format('SELECT * FROM %I WHERE %s', tab, condition);
    r uncorrelated;
    column_type text;
BEGIN
    SELECT s.rows, s.same INTO r.rows, r.same FROM bench_same_rows(query, 'tried') AS s;
    r.blocks := bench_heap_blocks(query, 'tried');
    SET LOCAL enable_seqscan = on;
    SET LOCAL enable_bitmapscan = off;
    EXECUTE format('SELECT count(DISTINCT (ctid::text::point)[0]::bigint / %s) FROM %I WHERE %s', pages_per_range, tab, condition)
        INTO r.matching;
    -- Both bounds have the type of the column.
    SELECT format_type(atttypid, atttypmod) INTO STRICT column_type FROM pg_attribute WHERE attrelid = tab::regclass AND attname = col;
    r.ranges := ceil(pg_relation_size(tab::regclass) / current_setting('block_size')::numeric / pages_per_range);
    EXECUTE format('SELECT c.pages, c.unindexed, c.index_pages FROM rencoder_candidates(''tried'', %s::%s, %s::%2$s) AS c',
                   quote_literal(lo), column_type, quote_literal(hi))
        INTO r.candidates, r.unindexed, r.index_pages;
    INSERT INTO uncorrelated (query, pages_per_range, rows, same, ranges, matching, candidates, unindexed, index_pages, blocks)
    VALUES (tab || '.' || condition, pages_per_range, r.rows, r.same, r.ranges, r.matching, ceil(r.candidates / pages_per_range::numeric), r.unindexed, r.index_pages, r.blocks);
END $$;
SQL
}

# try_column TABLE COLUMN 'LO HI' ..
try_column() {
    local table=$1 column=$2 per_range interval
    shift 2
    for per_range in "${PAGES_PER_RANGE[@]}"; do
        bench_sql -q -c "CREATE INDEX tried ON $table USING rencoder ($column) WITH (pages_per_range = $per_range, storage = filter)"
        for interval in "$@"; do
            bench_sql -q -c "SELECT try_interval('$table', '$column', ${interval% *}, ${interval#* }, $per_range)" >/dev/null
        done
        bench_sql -q -c 'DROP INDEX tried'
    done
}

# The same intervals through rencoder and BRIN, one after the other: the lengths a user might ask for, at
# times that are in the table.
try_sorted_column() {
    local per_range
    bench_sql -q <<SQL
CREATE TABLE intervals AS
SELECT dep_time AS lo, dep_time + length AS hi, length
FROM unnest('{1 minute,1 hour,1 day,7 days,30 days}'::interval[]) WITH ORDINALITY AS lengths (length, l),
     generate_series(1, 4) AS i,
     LATERAL (SELECT dep_time FROM flights3m OFFSET abs(hashint8extended(l * 100 + i, $SEED) % 3000000) LIMIT 1) AS picked;
CREATE TABLE sorted (pages_per_range int, lo timestamp, length interval, rows bigint, same boolean, rencoder bigint, brin bigint);
SQL
    for per_range in "${PAGES_PER_RANGE[@]}"; do
        bench_sql -q <<SQL
SET enable_seqscan = off;
CREATE FUNCTION pg_temp.query(i intervals) RETURNS text LANGUAGE sql AS
    \$\$ SELECT format('SELECT * FROM flights3m WHERE dep_time BETWEEN %L AND %L', i.lo, i.hi) \$\$;
CREATE INDEX tried ON flights3m USING rencoder (dep_time) WITH (pages_per_range = $per_range, storage = filter);
INSERT INTO sorted
SELECT $per_range, lo, length, s.rows, s.same, bench_heap_blocks(pg_temp.query(i), 'tried')
FROM intervals AS i, bench_same_rows(pg_temp.query(i), 'tried') AS s;
DROP INDEX tried;
CREATE INDEX brin ON flights3m USING brin (dep_time) WITH (pages_per_range = $per_range);
UPDATE sorted AS s SET brin = bench_heap_blocks(pg_temp.query(i), 'brin')
FROM intervals AS i WHERE (s.pages_per_range, s.lo, s.length) = ($per_range, i.lo, i.length);
DROP INDEX brin;
SQL
    done
}

aligned() { bench_sql --pset=tuples_only=off --pset=format=aligned --pset=footer=off "$@"; }

main() {
    bench_machine
    load_tables
    define_functions
    try_column flights3m delay_min '600 660'
    try_column asn_ipv4 asn '64512 65534'
    try_column nycflights13 arr_delay '600 660' '400 405' '-86 -70'
    try_column nycflights13 dep_delay '600 660' '400 405' '-43 -25'
    try_sorted_column

    echo "Columns that are not correlated with the order of the table (bits_per_key is the default):"
    aligned -c "SELECT query, pages_per_range AS \"pages/range\", rows, ranges, matching, candidates,
            round(1.2 * matching + 0.001 * ranges, 1) AS \"limit\", index_pages AS \"index pages\", blocks AS \"table pages\"
        FROM uncorrelated ORDER BY seq"
    bench_limit "intervals with other rows than a sequential scan" \
        "$(bench_sql -c 'SELECT count(*) FILTER (WHERE same IS NOT TRUE) FROM uncorrelated')" '<=' 0
    bench_limit "intervals above 1.2 x matching + 0.1 % of the ranges" \
        "$(bench_sql -c 'SELECT count(*) FILTER (WHERE (candidates <= 1.2 * matching + 0.001 * ranges) IS NOT TRUE) FROM uncorrelated')" '<=' 0
    # The last range of the table may have fewer pages.
    bench_limit "intervals whose scan visits other than the candidates" \
        "$(bench_sql -c 'SELECT count(*) FILTER (WHERE (candidates = ceil(blocks / pages_per_range::numeric)) IS NOT TRUE) FROM uncorrelated')" '<=' 0

    printf '\nA column in the order of the table: flights3m.dep_time, correlation %s, seed %s\n' \
        "$(bench_sql -c "SELECT round(correlation::numeric, 4) FROM pg_stats WHERE (tablename, attname) = ('flights3m', 'dep_time')")" "$SEED"
    aligned -c "SELECT pages_per_range AS \"pages/range\", length AS interval, count(*) AS queries, round(avg(rows)) AS \"rows\",
            round(avg(rencoder), 1) AS \"table pages, rencoder\", round(avg(brin), 1) AS \"table pages, BRIN\"
        FROM sorted GROUP BY 1, 2 ORDER BY 1, 2"
    bench_limit "queries tried" "$(bench_sql -c 'SELECT count(*) FILTER (WHERE rencoder > 0 AND brin > 0) FROM sorted')" '>=' 40
    bench_limit "queries with other rows than a sequential scan" \
        "$(bench_sql -c 'SELECT count(*) FILTER (WHERE same IS NOT TRUE) FROM sorted')" '<=' 0
    bench_limit "queries that read more table pages than with BRIN" \
        "$(bench_sql -c 'SELECT count(*) FILTER (WHERE (rencoder <= brin) IS NOT TRUE) FROM sorted')" '<=' 0
    bench_finish
}

# Parallel plans report the pages of the leader only.
bench_run -p zstd -i "$DATADIR/flights3m.csv.zst" -i "$DATADIR/nycflights13.csv.zst" -i "$DATADIR/asn_ipv4.csv.zst" \
    wal_level=minimal max_wal_senders=0 maintenance_work_mem=256MB max_parallel_workers_per_gather=0 -- "$DATADIR" "$SEED"
